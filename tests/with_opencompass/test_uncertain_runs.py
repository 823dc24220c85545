"""`gpassk run --until … --uncertain-first` with the real `opencompass`: rounds of some questions alone."""

from __future__ import annotations

import json
import time
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from forks import Copy, Forks
from hosts import READER, dataset_config, import_plugin, write_bench, write_config
from judge_server import PROMPTS, Asked, JudgeServer

from gpassk_opencompass.demo import MODEL
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.results.read import collect, read
from gpassk_opencompass.sources.opencompass import find_runs

import_plugin()
from kept_model import TRACE, asked  # noqa: E402

from gpassk_opencompass.plugin.dataset import LiveMathBenchDataset  # noqa: E402

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('uncertain')]

QUESTIONS, ROUNDS, K, BATCH = 24, (4, 8, 12), 4, 16
CAP = '--until', 'rerun-half-width<=0.01', '--uncertain-first'
"""A goal that only the cap ends."""


class Lab:
    """A folder in which one config is run, of n = 12 and k = 4."""

    def __init__(self, forks: Forks, root: Path, kind: str, **judge: Any) -> None:
        self.forks, self.root = forks, root
        write_bench(root / 'data', {'AMC_en': [(f'{i}+{i + 30}=?', '$7$') for i in range(QUESTIONS)]})
        model = {'type': f'kept_model.{kind}', 'abbr': 'kept', 'path': MODEL, 'random_seed': 42}
        model |= {'max_out_len': 64, 'batch_size': BATCH, 'run_cfg': {'num_gpus': 0}}
        evaluator = {'type': 'gpassk_opencompass.GPassKEvaluator', **judge}
        data = dataset_config(root / 'data', k=K, n=ROUNDS[-1], eval_cfg={'evaluator': evaluator})
        write_config(root / 'run.py', model, data)

    def start(self, *options: str, command: str = 'run') -> Copy:
        """Type a command."""
        told = {TRACE: str(self.root / 'trace'), 'GPASSK_REUSE': '', 'GPASSK_SAMPLES': ''}
        line = ('gpassk', 'run', 'run.py', '-w', 'out') if command == 'run' else ('gpassk', command, 'out')
        return self.forks.start(*line, *options, folder=self.root, variables=told)

    @property
    def asked(self) -> Counter[str]:
        """Sample → how often it was asked for."""
        return asked(self.root / 'trace')

    @property
    def notes(self) -> dict[str, Any]:
        """What stands in the work directory; {} before the first look."""
        path = self.root / 'out/run-until/.gpassk/until.json'
        return json.loads(path.read_text()) if path.exists() else {}

    @property
    def inner(self) -> Path:
        """Where the rounds of some questions are."""
        return self.root / 'out/run-until/.gpassk/uncertain'

    def verdicts(self) -> dict[str, str]:
        """Uid → the verdict of each of its 12 samples, which a run of all of them tells."""
        assert self.start().wait() == 0
        [result] = collect([self.root / 'out/run']).results
        return dict(zip(result.uids, result.verdicts, strict=True))


@pytest.fixture
def lab(forks: Forks, tmp_path: Path) -> Lab:
    """With a model that draws the same sample again."""
    return Lab(forks, tmp_path, 'SeededModel')


def value(n: int, c: int, goes_on: list[str]) -> float:
    """The mean mG-Pass@4 of the first 4 answers, over all orders that end with c of n right."""
    found = []
    for answers in product((0, 1), repeat=n):
        before = [(at, sum(answers[:at])) for at in ROUNDS if at < n]
        there = all(goes_on[look][right] == '1' for look, (_, right) in enumerate(before))
        if there and sum(answers) == c:
            first = sum(answers[:K])
            found.append(((first >= 3) + (first >= 4)) / 2)
    return sum(found) / len(found)


def stopped_at(verdicts: str, goes_on: list[str], last: int) -> tuple[int, int]:
    """n and c of a question after look number `last`, from 0."""
    for look, n in enumerate(ROUNDS[: last + 1]):
        right = verdicts[:n].count('1')
        if look == last or goes_on[look][right] == '0':
            break
    return n, right


def expected(lab: Lab, verdicts: dict[str, str]) -> list[tuple[float, int]]:
    """The score and the number of samples at each look, from the verdicts of all samples."""
    goes_on, found = lab.notes['uncertain_first'], []
    for last in range(len(ROUNDS)):
        states = [stopped_at(row, goes_on, last) for row in verdicts.values()]
        values = {state: value(*state, goes_on) for state in set(states)}
        score = 100 * sum(values[state] for state in states) / QUESTIONS
        found.append((score, sum(n for n, _ in states)))
    return found


def test_some_questions_of_a_data_set_are_those_that_a_whole_run_asks(tmp_path: Path) -> None:
    """Of a limited one, too; each with its uid, and none that it does not have."""
    questions = {'AMC_en': [(f'{i}+{i + 30}=?', '$7$') for i in range(6)]}
    settings = {'path': str(write_bench(tmp_path, questions)), 'dataset_splits': ['AMC']}
    settings |= {'dataset_languages': ['en'], 'reader_cfg': READER, 'k': 2, 'n': 2}
    whole = LiveMathBenchDataset(limit=4, **settings).dataset
    uids = list(dict.fromkeys(whole['uid']))
    some = LiveMathBenchDataset(limit=4, chosen=[uids[3], uids[1]], **settings).dataset
    assert (some['uid'], some['replica']) == (2 * [uids[1], uids[3]], [0, 0, 1, 1])
    assert set(some['gpassk_limits']) == {'{"limit": 4, "of": 6, "chosen": 2}'}
    left = set(LiveMathBenchDataset(**settings).dataset['uid']) - set(uids)
    with pytest.raises(InputError, match='not in the data'):
        LiveMathBenchDataset(limit=4, chosen=list(left)[:1], **settings)


def test_questions_that_are_sure_are_sampled_no_further(lab: Lab) -> None:
    """Each sample is drawn once; scores are those over all orders; the result has all questions."""
    done = lab.start(*CAP)
    assert done.wait() == 0, done.said
    looks, drawn = lab.notes['looks'], lab.asked
    assert [(look['n'], look['state']) for look in looks] == [
        (4, 'goes on'),
        (8, 'goes on'),
        (12, 'at the cap'),
    ]
    assert set(drawn.values()) == {1}
    assert drawn.total() == looks[-1]['samples'] < QUESTIONS * ROUNDS[-1]
    verdicts = lab.verdicts()
    assert set(lab.asked.values()) == {1}
    for look, (score, samples) in zip(looks, expected(lab, verdicts), strict=True):
        assert (look['estimate'], look['samples']) == (pytest.approx(score), samples)
    assert f'| {looks[-1]["samples"] / QUESTIONS:.1f} |' in done.said
    assert f'n = 12 of 12 for {looks[-1]["asked"]} of {QUESTIONS} questions' in done.said


def test_no_reader_takes_a_round_of_some_questions_for_a_result(lab: Lab) -> None:
    """The result is the first look; the report says what the others add, and in which scores it is not."""
    assert lab.start(*CAP).wait() == 0
    [result] = collect([lab.root / 'out']).results
    assert collect([lab.root / 'out']).passed_over == []
    assert (result.n, len(result.uids), dict(result.limits)) == (ROUNDS[0], QUESTIONS, {})
    inner = sorted(lab.inner.glob('*/results/*/*.json'))
    assert len(inner) == len(ROUNDS) - 1
    for path in inner:
        with pytest.raises(InputError, match='went on because of their counts'):
            read(path)
    assert not list(lab.inner.glob('*/summary/*.csv'))
    found = find_runs(lab.root / 'out')
    assert (found.runs, len(found.left_alone)) == ([], 1)
    last = lab.notes['looks'][-1]
    reported = lab.start(command='report')
    assert reported.wait() == 0, reported.said
    assert f'mG-Pass@4 is {last["estimate"]:.1f} [{last["low"]:.1f}, {last["high"]:.1f}]' in reported.said
    assert 'they are of the first look, n = 4 of all questions' in reported.said


def test_a_kill_within_a_round_of_some_questions_draws_nothing_twice(lab: Lab) -> None:
    """kill -9 when the round has begun: only the batch under way is asked for again."""
    killed = lab.start(*CAP)
    while lab.asked.total() <= QUESTIONS * ROUNDS[0]:
        assert killed.poll() is None, killed.said
        time.sleep(0.002)
    killed.kill()
    assert len(lab.notes['looks']) == 1
    done = lab.start(*CAP)
    assert done.wait() == 0, done.said
    drawn, samples = lab.asked, lab.notes['looks'][-1]['samples']
    assert len(drawn) == samples
    assert drawn.total() <= samples + BATCH
    scores = expected(lab, lab.verdicts())
    assert [look['estimate'] for look in lab.notes['looks']] == pytest.approx([score for score, _ in scores])
    again = lab.start(*CAP)
    assert again.wait() == 0
    assert 'look 3 of 3, n = 12 of 12 for ' in again.said
    assert lab.asked.total() <= QUESTIONS * ROUNDS[-1] + BATCH


def test_samples_of_a_hosted_model_are_drawn_once(forks: Forks, tmp_path: Path) -> None:
    """Nothing promises them a second time: those of all questions' round are the run's own."""
    lab = Lab(forks, tmp_path, 'HostedModel')
    done = lab.start(*CAP)
    assert done.wait() == 0, done.said
    assert set(lab.asked.values()) == {1}
    assert lab.asked.total() == lab.notes['looks'][-1]['samples']


def test_a_judge_is_asked_about_an_answer_once(forks: Forks, tmp_path: Path) -> None:
    """Its verdicts are kept for all rounds together."""

    def behave(one: Asked) -> str:
        return rf'\boxed{{{"no" if crc32(one.prompt.encode()) % 3 else "yes"}}}'

    with JudgeServer(behave) as server:
        judge = {'type': 'llm', 'model': 'judge', 'urls': [server.url], 'prompts': PROMPTS, 'progress': False}
        lab = Lab(forks, tmp_path, 'SeededModel', judge=judge)
        done = lab.start(*CAP)
        assert done.wait() == 0, done.said
        prompts = [one.prompt for one in server.asked]
    assert len(prompts) == len(set(prompts))
    assert len(prompts) < lab.asked.total()  # equal answers are asked about once
    assert lab.notes['looks'][-1]['asked'] < QUESTIONS
    shared = lab.root / 'out/run-until/.gpassk/verdicts'
    assert {path.resolve() for path in lab.inner.glob('2*/verdicts')} == {shared}
