"""All judge servers gone in the middle of an evaluation, through the `opencompass` command."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from forks import Forks
from hosts import (
    dataset_config,
    results_of,
    wait_until,
    write_bench,
    write_config,
)
from judge_server import Act, Asked, Hang, JudgeServer

pytestmark = pytest.mark.e2e

QUESTIONS, N = 8, 4
ANSWERED = 5
PATIENCE = 10.0
BUSY = 90.0
"""Seconds that a busy machine may be late."""


def number_in(asked: Asked) -> int:
    """Which of the answers is asked for."""
    return int(re.findall(r'number (\d+) ', asked.prompt)[-1])


def verdict(asked: Asked) -> str:
    return r'\boxed{yes}' if number_in(asked) % 3 == 0 else r'\boxed{no}'


def answers_a_few(cured: threading.Event) -> Callable[[Asked], Act]:
    """Hangs after some replies until it is cured."""
    return lambda asked: verdict(asked) if asked.number < ANSWERED or cured.is_set() else Hang()


def config_of(folder: Path, urls: list[str]) -> Path:
    """Distinct answers to some questions, judged at these addresses."""
    bench = write_bench(folder / 'data', {'AMC_en': [(f'Question {i}?', '$7$') for i in range(QUESTIONS)]})
    judge = {'type': 'llm', 'model': 'judge', 'urls': urls, 'patience': PATIENCE, 'concurrency': 4}
    evaluator = {'type': 'gpassk_opencompass.GPassKEvaluator', 'judge': judge}
    model = {'type': 'scripted.ScriptedModel', 'abbr': 'scripted', 'path': '', 'numbered': True}
    settings = {'batch_size': 4, 'max_out_len': 64, 'run_cfg': {'num_gpus': 0}}
    dataset = dataset_config(bench, k=[2, 4], n=N, eval_cfg={'evaluator': evaluator})
    return write_config(folder / 'run.py', model | settings, dataset)


def verdicts_in(work_dir: Path) -> int:
    """How many were kept so far."""
    return sum(file.read_text().count('"verdict": ') for file in work_dir.glob('*/verdicts/*.jsonl'))


def run_until_all_are_dead(forks: Forks, config: Path, work_dir: Path, *servers: JudgeServer) -> str:
    """Start the command, stop the servers once all hang; what it says, and it may not say more later."""
    copy = forks.start('opencompass', config, '-w', work_dir, folder=config.parent)
    wait_until(lambda: all(len(server.asked) > ANSWERED for server in servers), copy)
    wait_until(lambda: verdicts_in(work_dir) == ANSWERED * len(servers), copy)
    for server in servers:
        server.stop()
    copy.wait(PATIENCE + BUSY)
    return copy.said


def test_all_judges_dead_is_an_error_in_time_and_a_resume_asks_for_the_rest(
    forks: Forks, tmp_path: Path
) -> None:
    """No result file, every address in the log; with a server back, -r asks only for what is missing."""
    cured, out = threading.Event(), tmp_path / 'out'
    with JudgeServer(answers_a_few(cured)) as first, JudgeServer(answers_a_few(cured)) as second:
        config = config_of(tmp_path, [first.url, second.url])
        said = run_until_all_are_dead(forks, config, out, first, second)
        assert 'IncompleteError: no server answers' in said
        assert all(f'{url}/v1/chat/completions' in said for url in (first.url, second.url))
        assert results_of(out) == []
        kept = {number_in(asked) for server in (first, second) for asked in server.asked[:ANSWERED]}
        before = len(first.asked)
        cured.set()
        first.start()
        forks.opencompass(config, out, '-r')
        resumed = [number_in(asked) for asked in first.asked[before:]]
    assert len(kept) == 2 * ANSWERED
    assert sorted(resumed) == sorted(set(range(QUESTIONS * N)) - kept)
    [result] = results_of(out)
    expected = [sum((QUESTIONS * replica + i) % 3 == 0 for replica in range(N)) for i in range(QUESTIONS)]
    assert result['gpassk']['counts']['c'] == expected
    assert result['gpassk']['judge']['statistics']['stored'] == len(kept)
