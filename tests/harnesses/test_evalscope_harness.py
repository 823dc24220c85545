"""EvalScope itself: logs that it writes now are read back, and G-Pass@k stands in its reports.

In an environment of its own, see constraints/harness-evalscope.txt.
"""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from evalscope_truth import N, exact, symbols_of, truth_of

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.sources.finding import find_runs
from gpassk_opencompass.sources.source import Reading, Responded

if find_spec('evalscope') is None:
    pytest.skip('no EvalScope here: it has an environment of its own', allow_module_level=True)

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings('ignore')]

KS = [2, 4]
THRESHOLDS = [0.25, 0.5, 0.75, 1.0]
RUN = f"""
from pathlib import Path
from make_evalscope_logs import run
from gpassk_opencompass.hosts.evalscope import g_pass_at_k
args = g_pass_at_k({KS}, {THRESHOLDS})
run(Path('FOLDER'), 'sums', dataset_args=dict.fromkeys(('aime24', 'math_500'), args))
"""


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work directory of a run with the aggregation."""
    folder = tmp_path_factory.mktemp('evalscope') / 'sums'
    here = Path(__file__).parent
    path = f'import sys; sys.path[:0] = {[str(here), str(here.parents[1])]}'
    command = [sys.executable, '-c', f'{path}{RUN.replace("FOLDER", str(folder))}']
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=here)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_fresh_logs_are_read_back(folder: Path) -> None:
    """Each question has the verdicts of the script, whichever thread drew which sample."""
    known = truth_of(folder)
    runs = [found.run for found in find_runs([folder], Reading()).runs]
    assert {run.dataset for run in runs} == set(known)
    for run in runs:
        questions = [one for one in run.questions if isinstance(one, Responded)]
        assert {one.about.uid: sorted(one.verdicts) for one in questions} == {
            uid: sorted(symbols_of(told)) for uid, told in known[run.dataset].items()
        }


@pytest.mark.parametrize('benchmark', ['aime24', 'math_500'])
def test_the_report_has_the_exact_values(folder: Path, benchmark: str) -> None:
    """Rounded to four digits as EvalScope rounds, and in full beside it; of each subset and of all."""
    report = json.loads((folder / 'reports' / 'scripted-1' / f'{benchmark}.json').read_text())
    found = {
        (metric['identity']['aggregation'], *metric['identity']['dimensions'].values()): metric
        for metric in report['metrics']
    }
    names: dict[tuple[Any, ...], tuple[int, list[Fraction]]] = {}
    for k in KS:
        names['pass_at_k', k] = k, [Fraction(0)]
        names['mg_pass_at_k', k] = k, [Fraction(i, k) for i in range(k // 2 + 1, k + 1)]
        for threshold in THRESHOLDS:
            names['g_pass_at_k', k, threshold] = k, [Fraction(threshold)]
    assert set(found) == {('mean',), *names}
    right: dict[str, list[int]] = {}
    for told in truth_of(folder)[benchmark].values():
        right.setdefault(told['subset'], []).append(symbols_of(told).count('1'))
    for name, (k, thresholds) in names.items():

        def mean(counts: list[int], k: int = k, thresholds: list[Fraction] = thresholds) -> Fraction:
            values = [exact(N, c, k, one) for c in counts for one in thresholds]
            return sum(values, Fraction(0)) / len(values)

        [category] = found[name]['categories']
        assert {subset['name'] for subset in category['subsets']} == set(right)
        for subset in category['subsets']:
            value = float(mean(right[subset['name']]))
            assert subset['score'] == round(value, 4)
            assert math.isclose(subset['metadata']['value'], value, abs_tol=1e-12)
            assert subset['num'] == len(right[subset['name']])
        pooled = float(mean([c for counts in right.values() for c in counts]))
        assert abs(found[name]['score'] - pooled) <= 1e-4
    assert report['primary_metric_identity'] == {
        'name': 'accuracy',
        'aggregation': 'g_pass_at_k',
        'dimensions': {'k': 4, 'threshold': 1},
    }


def test_samples_that_were_not_scored_are_counted_beside_the_value(folder: Path) -> None:
    """One failed, and four have a reference that EvalScope does not take; were they right, more would be."""
    report = json.loads((folder / 'reports' / 'scripted-1' / 'aime24.json').read_text())
    told = [metric['categories'][0]['subsets'][0]['metadata'] for metric in report['metrics'][1:]]
    assert {one['unjudged'] for one in told} == {5}
    assert all(one['if_right'] > one['value'] for one in told)


def scores_of(right: list[list[float | None]], repeats: int | None = None) -> list[Any]:
    """Scores as EvalScope hands them to an aggregation, in no order; None was not scored.

    Args:
        repeats: of the run; without it the largest number of samples.
    """
    from evalscope.api.metric import SampleScore, Score
    from evalscope.constants import ScoreStatus

    size = repeats or max(map(len, right))
    scores = [
        SampleScore(
            score=Score(value={'acc': value}) if value is not None else Score(status=ScoreStatus.PARSE_ERROR),
            sample_id=size * group + replica,
            group_id=group,
            generation_index=replica,
        )
        for group, values in enumerate(right)
        for replica, value in enumerate(values)
    ]
    random.Random(1).shuffle(scores)
    return scores


def aggregated(right: list[list[float | None]], repeats: int | None = None, **options: Any) -> dict[str, Any]:
    from evalscope.api.registry import get_aggregation

    from gpassk_opencompass.hosts.evalscope import g_pass_at_k

    found = get_aggregation(g_pass_at_k(**options)['aggregation'])()(scores_of(right, repeats))
    return {(one.metadata or {}).get('metric', one.aggregation): one for one in found}


def test_many_questions_have_an_interval_for_new_ones() -> None:
    """That of this package, where there are enough questions."""
    from gpassk_opencompass.uncertainty.intervals import mean_interval

    counts = [random.Random(place).randint(0, 16) for place in range(40)]
    found = aggregated([[1.0] * c + [0.0] * (16 - c) for c in counts], k=[8, 16], thresholds=[0.5])
    values = [float(exact(16, c, 8, Fraction(1, 2))) for c in counts]
    expected = mean_interval(values)
    beside = found['G-Pass@8_0.5'].metadata
    assert found['G-Pass@8_0.5'].score == pytest.approx(sum(values) / 40, abs=1e-12)
    assert (beside['low'], beside['high']) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert (beside['n'], found['G-Pass@8_0.5'].num) == (16, 40)
    assert found['mean'].score == pytest.approx(sum(counts) / 640)


def test_missing_and_unscored_samples_count_as_incorrect_and_are_told() -> None:
    """n is the highest number of a sample: what is missing of a question was not scored either."""
    found = aggregated([[1, 1, 1, 1], [1, None, 1], [0.5, 0, 1, 1]], k=4, thresholds=[0.5, 1.0])
    one = found['G-Pass@4_1.0']
    assert one.score == pytest.approx(1 / 3)
    assert (one.metadata['unjudged'], one.metadata['if_right']) == (2, pytest.approx(2 / 3))
    half = aggregated([[0.5, 0.5], [0.5, 0]], k=2, thresholds=[1.0], correct_from=0.5)
    assert half['G-Pass@2_1.0'].score == 0.5


def test_a_score_that_is_no_number_is_unjudged() -> None:
    """NaN says that nobody knows, not that the sample is wrong."""
    found = aggregated([[1, 1], [1, math.nan]], k=2, thresholds=[1.0])['G-Pass@2_1.0']
    assert found.score == 0.5
    assert (found.metadata['unjudged'], found.metadata['if_right']) == (1, 1.0)


@pytest.mark.parametrize('questions', [1, 3])
def test_a_repeat_that_failed_for_all_questions_is_missing(questions: int) -> None:
    """Nothing of it is in the scores; where n is the largest k, that is known all the same."""
    right: list[list[float | None]] = [[1, 1, 1] for _ in range(questions)]
    found = aggregated(right, 4, k=[2, 4], thresholds=[1.0])
    assert found['G-Pass@4_1.0'].score == 0
    assert found['G-Pass@2_1.0'].score == pytest.approx(1 / 2)
    assert found['G-Pass@4_1.0'].metadata['n'] == 4
    assert found['G-Pass@4_1.0'].metadata['unjudged'] == questions
    assert found['G-Pass@4_1.0'].metadata['if_right'] == 1


def test_the_repeats_of_a_run_are_known_without_the_last() -> None:
    """By the numbers of samples and questions; not of the first question alone, nor of other numbers."""
    from gpassk_opencompass.hosts.evalscope import repeats_in

    assert repeats_in(scores_of([[1], [1, 1], [1]], 16)) == 16
    assert repeats_in(scores_of([[1, 1]], 16)) is None
    assert repeats_in([*scores_of([[1], [1]], 16), *scores_of([[1], [1]], 8)]) is None
    assert repeats_in([]) is None


def test_what_cannot_be_is_refused() -> None:
    """By what was given, and what to do."""
    from gpassk_opencompass.hosts.evalscope import GPassK, g_pass_at_k

    with pytest.raises(InputError, match=r'k = 8 of g_pass_at_k .* there are 4: give TaskConfig repeats=8'):
        aggregated([[1, 1, 1, 1]] * 2, k=[2, 8])
    with pytest.raises(InputError, match='sample 0 of question 0 is there twice'):
        GPassK()([*scores_of([[1.0, 0.0]]), *scores_of([[1.0]])])
    with pytest.raises(InputError, match='k must be from 1'):
        g_pass_at_k(k=0)
    with pytest.raises(InputError, match='threshold'):
        g_pass_at_k(k=4, thresholds=[1.5])
    assert GPassK()([]) == []


def test_the_name_alone_takes_the_usual_k_as_far_as_there_are_samples() -> None:
    """4, 8 and 16; of fewer samples than 4 all of them."""
    from gpassk_opencompass.hosts.evalscope import GPassK

    for n, ks in ((3, {3}), (10, {4, 8}), (16, {4, 8, 16})):
        found = GPassK()(scores_of([[1.0] * n]))
        assert {one.dimensions['k'] for one in found if one.dimensions} == ks


def test_the_example_runs(tmp_path: Path) -> None:
    """With questions from a folder, since no hub is reached here; the report lies in a folder of its time."""
    from make_evalscope_logs import Question, Script, served

    replies = '1' * 12 + '0' * 4
    data = tmp_path / 'data'
    data.mkdir()
    row = {'problem': 'What is 1 + 2?', 'answer': '3'}
    (data / 'test.jsonl').write_text(f'{json.dumps(row)}\n')
    root = Path(__file__).parents[2]
    with served(Script([Question('default', 1, 2, replies)])) as url:
        command = [sys.executable, str(root / 'examples' / 'evalscope' / 'aime24.py'), 'm', url, str(data)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, 'PYTHONPATH': str(root)},
        )
    assert done.returncode == 0, done.stderr[-3000:]
    [file] = tmp_path.glob('outputs/*/reports/m/aime24.json')
    report = json.loads(file.read_text())
    found = {
        metric['categories'][0]['subsets'][0]['metadata']['metric']: metric['score']
        for metric in report['metrics'][1:]
    }
    for k in (4, 8, 16):
        assert found[f'G-Pass@{k}_0.75'] == round(float(exact(16, 12, k, Fraction(3, 4))), 4)
    [run] = [one.run for one in find_runs([tmp_path / 'outputs'], Reading()).runs]
    assert sorted(next(iter(run.questions)).verdicts) == sorted(replies)  # type: ignore[union-attr]
