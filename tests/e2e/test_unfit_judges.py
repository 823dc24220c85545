"""Judges that must not be believed, or are gone in the middle, through the `opencompass` command."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import pytest
from hosts import dataset_config, results_of, wait_until, write_bench, write_config
from judge_server import Act, Asked, Hang, JudgeServer, Say

pytestmark = pytest.mark.e2e

N = 4
YES = r'They are the same: \boxed{yes}'
PATIENCE = 10.0


def config_of(folder: Path, questions: int, *servers: JudgeServer, **judge: Any) -> Path:
    """Distinct answers to some questions, each wrong, judged by these servers."""
    bench = write_bench(folder / 'data', {'AMC_en': [(f'Question {i}?', '$7$') for i in range(questions)]})
    judge |= {
        'type': 'llm',
        'model': 'judge',
        'urls': [server.url for server in servers],
        'patience': PATIENCE,
    }
    evaluator = {'type': 'gpassk_opencompass.GPassKEvaluator', 'judge': judge}
    model = {'type': 'scripted.ScriptedModel', 'abbr': 'scripted', 'path': '', 'numbered': True}
    settings = {'batch_size': 4, 'max_out_len': 64, 'run_cfg': {'num_gpus': 0}}
    dataset = dataset_config(bench, k=[2, 4], n=N, eval_cfg={'evaluator': evaluator})
    return write_config(folder / 'run.py', model | settings, dataset)


@pytest.mark.parametrize(
    ('reply', 'reason'),
    [
        (lambda asked: Say(YES, 'content_filter'), 'filtered'),
        (lambda asked: f'<think>{YES}', 'unfinished thought'),
    ],
)
def test_replies_that_are_no_verdict_leave_no_result(reply, reason, forks, tmp_path):
    """From a server that passed the canaries: all samples are unjudged, each with its reason."""
    with JudgeServer(reply) as judge:
        run = forks.start(
            'opencompass', config_of(tmp_path, 4, judge), '-w', tmp_path / 'out', folder=tmp_path
        )
        run.wait()
    assert results_of(tmp_path / 'out') == []
    said = ''.join(log.read_text() for log in tmp_path.glob('out/*/logs/eval/*/*.out')) + run.said
    assert f"16 of 16 samples (100.0%) stayed unjudged {{'{reason}': 16}}" in said


def number_in(asked: Asked) -> int:
    """Which of the answers is asked for; every third one is taken for right."""
    return int(re.findall(r'number (\d+) ', asked.prompt)[-1])


def test_all_judges_dead_is_an_error_in_time_and_a_resume_asks_for_the_rest(forks, tmp_path):
    """No result file, every address in the log; with a server back, -r asks only for what is missing."""
    answered, cured, out = 5, threading.Event(), tmp_path / 'out'

    def behave(asked: Asked) -> Act:
        if asked.number < answered or cured.is_set():
            return r'\boxed{yes}' if number_in(asked) % 3 == 0 else r'\boxed{no}'
        return Hang()

    def stored() -> int:
        return sum(file.read_text().count('"verdict": ') for file in out.glob('*/verdicts/*.jsonl'))

    with JudgeServer(behave) as first, JudgeServer(behave) as second:
        config = config_of(tmp_path, 8, first, second, concurrency=4)
        run = forks.start('opencompass', config, '-w', out, folder=tmp_path)
        wait_until(lambda: len(first.asked) > answered and len(second.asked) > answered, run)
        wait_until(lambda: stored() == 2 * answered, run)
        first.stop()
        second.stop()
        run.wait(PATIENCE + 90.0)  # seconds that a busy machine may be late
        assert 'IncompleteError: no server answers' in run.said
        assert all(f'{server.url}/v1/chat/completions' in run.said for server in (first, second))
        assert results_of(out) == []
        kept = {number_in(asked) for server in (first, second) for asked in server.asked[:answered]}
        before = len(first.asked)
        cured.set()
        first.start()
        forks.opencompass(config, out, '-r')
        resumed = [number_in(asked) for asked in first.asked[before:]]
    assert len(kept) == 2 * answered
    assert sorted(resumed) == sorted(set(range(8 * N)) - kept)
    [result] = results_of(out)
    expected = [sum((8 * replica + i) % 3 == 0 for replica in range(N)) for i in range(8)]
    assert result['gpassk']['counts']['c'] == expected
    assert result['gpassk']['judge']['statistics']['stored'] == len(kept)
