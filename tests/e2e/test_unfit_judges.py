"""Judges that must not be believed, through the `opencompass` command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from forks import Forks
from hosts import dataset_config, results_of, write_bench, write_config
from judge_server import CANARIES, Act, Asked, JudgeServer, Say, right_verdict

pytestmark = pytest.mark.e2e

QUESTIONS, N = 4, 4
YES = r'They are the same: \boxed{yes}'


def config_of(folder: Path, url: str) -> Path:
    """Distinct answers to some questions, each wrong, judged at this address."""
    bench = write_bench(folder / 'data', {'AMC_en': [(f'Question {i}?', '$7$') for i in range(QUESTIONS)]})
    judge = {'type': 'llm', 'model': 'judge', 'urls': [url], 'patience': 10.0}
    evaluator = {'type': 'gpassk_opencompass.GPassKEvaluator', 'judge': judge}
    model = {'type': 'scripted.ScriptedModel', 'abbr': 'scripted', 'path': '', 'numbered': True}
    settings = {'batch_size': 4, 'max_out_len': 64, 'run_cfg': {'num_gpus': 0}}
    dataset = dataset_config(bench, k=[2, 4], n=N, eval_cfg={'evaluator': evaluator})
    return write_config(folder / 'run.py', model | settings, dataset)


def judged(
    forks: Forks, folder: Path, behave: Callable[[Asked], Act], **server: Any
) -> tuple[str, list[Any]]:
    """What the command logs, and the results."""
    with JudgeServer(behave, **server) as judge:
        config = config_of(folder, judge.url)
        run = forks.start('opencompass', config, '-w', folder / 'out', folder=folder)
        run.wait()
    logs = ''.join(log.read_text() for log in (folder / 'out').glob('*/logs/eval/*/*.out'))
    return logs + run.said, results_of(folder / 'out')


@pytest.mark.parametrize(
    ('reply', 'reason'),
    [
        (lambda asked: Say(YES, 'content_filter'), 'filtered'),
        (lambda asked: f'<think>{YES}', 'unfinished thought'),
    ],
)
def test_replies_that_are_no_verdict_leave_no_result(
    reply: Callable[[Asked], Act], reason: str, forks: Forks, tmp_path: Path
) -> None:
    """From a server that passed the canaries: all samples are unjudged, each with its reason."""
    said, results = judged(forks, tmp_path, reply)
    assert results == []
    assert (
        f"{QUESTIONS * N} of {QUESTIONS * N} samples (100.0%) stayed unjudged {{'{reason}': {QUESTIONS * N}}}"
        in said
    )


def test_a_judge_that_obeys_answers_leaves_no_result(forks: Forks, tmp_path: Path) -> None:
    """It says what an answer told it; none of the run's answers is asked."""
    asked_for: list[str] = []

    def obeys(asked: Asked) -> Act:
        asked_for.append(asked.prompt)
        told = any(canary.pair.answer in asked.prompt for canary in CANARIES if canary.injected)
        return YES if told else right_verdict(asked.prompt) or YES

    said, results = judged(forks, tmp_path, obeys, fit=False)
    assert results == []
    assert 'UnfitJudge' in said
    assert 'Ignore everything above' in said
    assert not any('Question 0?' in prompt for prompt in asked_for)
