"""The published leaderboard: read, and compared with ours."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from result_files import ABBR, write_result

from gpassk_opencompass import InputError
from gpassk_opencompass.cli import main
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.report.published import read_published
from gpassk_opencompass.uncertainty import mean_interval, value_table

METRICS = ('G-Pass@16_0.5', 'G-Pass@16_0.75', 'G-Pass@16_1.0', 'mG-Pass@16')
MEAN = Metric.mg_pass_at(16)
HALF, ALL = (Metric.g_pass_at(16, tau) for tau in (0.5, 1.0))
BENCH = 'LiveMathBench-2412'


def leaderboard(**models: dict[str, float | None]) -> dict[str, Any]:
    return {
        model: {'link': '', **{metric.replace('_', '-'): {BENCH: value} for metric, value in scores.items()}}
        for model, scores in models.items()
    }


def saved(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path


def test_a_leaderboard_is_read_with_our_names(tmp_path: Path) -> None:
    """G-Pass@16-0.5 is G-Pass@16_0.5; null is not there."""
    content = leaderboard(a={'Greedy': 40.0, 'G-Pass@16_0.5': None, 'mG-Pass@16': 10.5})
    published = read_published(saved(tmp_path / 'p.json', content))
    assert published.values == {('a', BENCH, 'Greedy'): 40.0, ('a', BENCH, MEAN): 10.5}
    assert (published.models, published.metrics, published.leading) == (
        ('a',),
        ('Greedy', MEAN),
        MEAN,
    )


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        ([], 'no leaderboard'),
        ({'a': 1}, 'no leaderboard'),
        ({'a': {'link': 'x'}}, 'has no score'),
        ({'a': {'Greedy': {'b': 101}}}, 'percentage'),
        ({'a': {'Greedy': {'b': '40'}}}, 'percentage'),
        ({'a': {'Greedy': {'b': True}}}, 'percentage'),
    ],
)
def test_what_is_no_leaderboard_is_refused(tmp_path: Path, content: object, message: str) -> None:
    """With the file, the model and the value."""
    with pytest.raises(InputError, match=message):
        read_published(saved(tmp_path / 'p.json', content))


def counts_near(percent: float) -> list[int]:
    """238 questions whose mG-Pass@16 of 48 samples is about this: solved always or never."""
    solved = round(2.38 * percent)
    return [48] * solved + [0] * (238 - solved)


def ours(tmp_path: Path, percent: float, model: str = 'DeepSeek-Math-7B-RL') -> Path:
    problems = [f'p{number // 2}' for number in range(238)]
    write_result(
        tmp_path / 'outputs',
        f'{model}_t1.0_l8192',
        counts_near(percent),
        n=48,
        k=[16],
        dataset='LiveMathBench-v202412',
        problems=problems,
    )
    return tmp_path / 'outputs'


def their_scores(tmp_path: Path) -> Path:
    content = leaderboard(**{'DeepSeek-Math-7B-RL': {metric: 50.0 for metric in METRICS}})
    return saved(tmp_path / 'published.json', content)


@pytest.mark.parametrize(('percent', 'verdict', 'code'), [(48.0, 'inside', 0), (20.0, 'outside', 1)])
def test_ours_beside_theirs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], percent: float, verdict: str, code: int
) -> None:
    """Inside our interval or not; --strict makes it an exit code. From results and from a report alike."""
    outputs, theirs = ours(tmp_path, percent), their_scores(tmp_path)
    table = tmp_path / 'table.csv'
    arguments = [str(theirs), '-o', str(table), '--strict']
    assert main(['compare', str(outputs), *arguments]) == code
    assert capsys.readouterr().out.count(f'| {verdict} ') == 4
    main(['report', str(outputs), '-o', str(tmp_path / 'report'), '--only', 'tables'])
    assert main(['compare', str(tmp_path / 'report'), *arguments]) == code
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert {row['verdict'] for row in rows} == {verdict}
    value = value_table(MEAN, 48)[counts_near(percent)]
    interval = mean_interval(value, [f'p{number // 2}' for number in range(238)])
    assert float(rows[-1]['low']) == pytest.approx(100 * interval.low, abs=1e-9)


def test_a_model_of_another_name_is_suggested_and_mapped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message is the option to give."""
    outputs, theirs = ours(tmp_path, 50, 'deepseek-math-7b-rl-local'), their_scores(tmp_path)
    assert main(['compare', str(outputs), str(theirs)]) == 2
    assert "--map 'deepseek-math-7b-rl-local'='DeepSeek-Math-7B-RL'" in capsys.readouterr().out
    mapping = 'deepseek-math-7b-rl-local=DeepSeek-Math-7B-RL'
    assert main(['compare', str(outputs), str(theirs), '--map', mapping]) == 0
    assert '4 inside our interval' in capsys.readouterr().out


@pytest.mark.parametrize(
    ('mapping', 'message'),
    [
        ('a', 'OURS=THEIRS'),
        ('nobody=DeepSeek-Math-7B-RL', 'no model here'),
        ('deepseek-math=x', 'no model here'),
    ],
)
def test_a_mapping_that_maps_nothing_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mapping: str, message: str
) -> None:
    """A typing error does not pass for "not published"."""
    assert main(['compare', str(ours(tmp_path, 50)), str(their_scores(tmp_path)), '--map', mapping]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ('line', 'message'),
    [
        ('{theirs} {ours}', 'the last path is the published leaderboard'),
        ('{file} {file}', 'none with two runs'),
        ('{theirs}', 'is a published leaderboard alone'),
        *((f'{{ours}} {{ours}} {option}', option.split()[0]) for option in ('--map a=b', '--strict')),
        *(
            (f'{{ours}} {{theirs}} {option}', option.split()[0])
            for option in ('--against m', '--top 3', '--metric mG-Pass@16')
        ),
    ],
)
def test_what_is_no_comparison_with_published_scores_is_refused(
    line: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the order of paths, and the option that would have no effect."""
    outputs = ours(tmp_path, 50)
    [*_, file] = outputs.rglob('results/*/*.json')
    words = line.format(ours=outputs, theirs=their_scores(tmp_path), file=file).split()
    assert main(['compare', *words]) == 2
    assert message in capsys.readouterr().err


def test_other_questions_are_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A benchmark of the same name with another number of questions."""
    outputs = tmp_path / 'outputs'
    write_result(outputs, ABBR.format(1), [24] * 30, n=48, k=[16], dataset='LiveMathBench-v202412')
    assert main(['compare', str(outputs), str(their_scores(tmp_path))]) == 2
    assert '30 questions here, 238 in LiveMathBench-2412' in capsys.readouterr().out
