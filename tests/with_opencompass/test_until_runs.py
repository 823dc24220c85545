"""`gpassk run --until` with the real `opencompass`: rounds over the sample store, killed and gone on with."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from forks import Copy, Forks
from hosts import dataset_config, import_plugin, numbers, results_of, write_bench, write_config
from judge_server import PROMPTS, JudgeServer

from gpassk_opencompass.demo import MODEL

import_plugin()
from kept_model import TRACE, asked  # noqa: E402

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('until')]

QUESTIONS, ROUNDS, BATCH = 24, (2, 4, 6), 16
CAP = '--until', 'rerun-half-width<=0.01'
"""A goal that only the cap ends."""


class Lab:
    """A folder in which one config is run, of n = 6 and k = 2."""

    def __init__(self, forks: Forks, root: Path, kind: str, **judge: Any) -> None:
        self.forks, self.root = forks, root
        write_bench(root / 'data', {'AMC_en': [(f'{i}+{i + 30}=?', '$7$') for i in range(QUESTIONS)]})
        model = {'type': f'kept_model.{kind}', 'abbr': 'kept', 'path': MODEL, 'random_seed': 42}
        model |= {'max_out_len': 64, 'batch_size': BATCH, 'run_cfg': {'num_gpus': 0}}
        evaluator = {'type': 'gpassk_opencompass.GPassKEvaluator', **judge}
        data = dataset_config(root / 'data', k=2, n=ROUNDS[-1], eval_cfg={'evaluator': evaluator})
        self.config = write_config(root / 'run.py', model, data)

    def start(self, *options: str, reuse: str = '') -> Copy:
        """Type the command."""
        told = {TRACE: str(self.root / 'trace'), 'GPASSK_REUSE': reuse, 'GPASSK_SAMPLES': ''}
        line = ('gpassk', 'run', 'run.py', '-w', 'out', *options)
        return self.forks.start(*line, folder=self.root, variables=told)

    @property
    def asked(self) -> Counter[str]:
        """Sample → how often it was asked for."""
        return asked(self.root / 'trace')

    @property
    def looks(self) -> list[dict[str, Any]]:
        """What the notes say so far."""
        path = self.root / 'out/run-until/.gpassk/until.json'
        return json.loads(path.read_text())['looks'] if path.exists() else []

    def last(self, name: str = 'run-until') -> dict[str, Any]:
        """The result of the last round."""
        return results_of(self.root / 'out' / name)[-1]


@pytest.fixture
def lab(forks: Forks, tmp_path: Path) -> Lab:
    """With a model that draws the same sample again."""
    return Lab(forks, tmp_path, 'SeededModel')


def same(result: dict[str, Any]) -> dict[str, Any]:
    """A result without what must differ: moments, names of files, and that samples were taken."""
    compared = numbers(result)
    compared['gpassk']['provenance'].pop('reused', None)
    return compared


def test_a_round_adds_what_is_missing(lab: Lab) -> None:
    """Each sample is drawn once; the last record is that of the config as it was given, which draws none."""
    assert lab.start(*CAP).wait() == 0
    assert (lab.asked.total(), len(lab.asked)) == (QUESTIONS * 6, QUESTIONS * 6)
    assert [(look['n'], look['state']) for look in lab.looks] == [
        (2, 'goes on'),
        (4, 'goes on'),
        (6, 'at the cap'),
    ]
    before = lab.asked.total()
    assert lab.start().wait() == 0
    assert lab.asked.total() == before
    assert same(lab.last()) == same(lab.last('run'))
    again = lab.start(*CAP)
    assert again.wait() == 0
    assert lab.asked.total() == before
    assert '[1/1] run-until: look 3 of 3, n = 6 of 6: mG-Pass@2 ' in again.said


def test_a_goal_that_is_reached_saves_the_rest(lab: Lab) -> None:
    """The first look is wide enough; the table says what was not drawn."""
    done = lab.start('--until', 'rerun-half-width<=49')
    assert done.wait() == 0
    assert lab.asked.total() == QUESTIONS * 2
    assert '| run-until |   2 |    6 |    1/3 |        48 |      96 |' in done.said
    assert 'stopped' in done.said


def test_a_kill_between_rounds_draws_nothing_twice(lab: Lab) -> None:
    """kill -9 as soon as the first look is noted: only the batch under way is asked for again."""
    killed = lab.start(*CAP)
    while not lab.looks:
        assert killed.poll() is None, killed.said
        time.sleep(0.002)
    killed.kill()
    assert [look['n'] for look in lab.looks] == [2]
    assert lab.start(*CAP).wait() == 0
    assert len(lab.asked) == QUESTIONS * 6
    assert lab.asked.total() <= QUESTIONS * 6 + BATCH
    assert lab.looks[-1]['state'] == 'at the cap'
    assert lab.start().wait() == 0
    assert same(lab.last()) == same(lab.last('run'))


@pytest.mark.parametrize('reuse', ['', 'none'])
def test_rounds_of_a_hosted_model_are_one_run(forks: Forks, tmp_path: Path, reuse: str) -> None:
    """Nothing promises its samples a second time: those of earlier rounds are the run's own, and told so."""
    lab = Lab(forks, tmp_path, 'HostedModel')
    assert lab.start(*CAP, reuse=reuse).wait() == 0
    assert (lab.asked.total(), len(lab.asked)) == (QUESTIONS * 6, QUESTIONS * 6)
    told = lab.last()['gpassk']['provenance']
    assert not told['warnings']
    assert told['reused']['drawn'] == QUESTIONS * 2
    assert {one['why'].partition(' of')[0] for one in told['reused']['from']} == {'an earlier round'}


def test_a_judge_is_asked_about_the_answers_of_a_round_once(forks: Forks, tmp_path: Path) -> None:
    """Its verdicts are kept for all rounds; those of each lie where they always do."""
    with JudgeServer(lambda _: r'\boxed{yes}') as server:
        judge = {'type': 'llm', 'model': 'judge', 'urls': [server.url], 'prompts': PROMPTS, 'progress': False}
        lab = Lab(forks, tmp_path, 'SeededModel', judge=judge)
        done = lab.start(*CAP)
        assert done.wait() == 0, done.said
        asked_for = [one.prompt for one in server.asked]
    assert len(asked_for) == len(set(asked_for))
    assert len(list(tmp_path.glob('out/run-until/2*/verdicts/*.jsonl'))) >= len(ROUNDS)
