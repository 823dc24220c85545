"""The published leaderboard: read, compared with ours, and what its numbers of questions can tell apart."""

from __future__ import annotations

import csv
import json
import math
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from result_files import ABBR, write_result
from scipy import stats

from gpassk_opencompass import InputError
from gpassk_opencompass.cli import main
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.report.neighbours import (
    Assumptions,
    fit_to_means,
    neighbours,
    published_table,
    resolved,
    write_published,
)
from gpassk_opencompass.report.published import BENCHMARKS, SHIPPED, Published, read_published
from gpassk_opencompass.report.scores import measure_of
from gpassk_opencompass.uncertainty import Population, mean_interval, value_table

METRICS = ('G-Pass@16_0.5', 'G-Pass@16_0.75', 'G-Pass@16_1.0', 'mG-Pass@16')
MEAN = Metric.mg_pass_at(16)
HALF, ALL = (Metric.g_pass_at(16, tau) for tau in (0.5, 1.0))
BENCH = 'LiveMathBench-2412'


def means_of(a: float, b: float) -> dict[str, float]:
    """The metrics of a Beta population by quadrature over its quantiles."""
    chances = stats.beta.ppf((np.arange(20_000) + 0.5) / 20_000, a, b)
    draws = stats.binom.pmf(np.arange(17), 16, chances.clip(1e-15)[:, None])
    return {metric: 100 * float((draws @ Metric.parse(metric).scores()).mean()) for metric in METRICS}


def leaderboard(**models: dict[str, float | None]) -> dict[str, Any]:
    return {
        model: {'link': '', **{metric.replace('_', '-'): {BENCH: value} for metric, value in scores.items()}}
        for model, scores in models.items()
    }


def saved(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path


def made(tmp_path: Path, *populations: tuple[float, float]) -> Published:
    models = {f'm{number}': means_of(*population) for number, population in enumerate(populations)}
    return read_published(saved(tmp_path / 'p.json', leaderboard(**models)))


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


@pytest.mark.parametrize(('a', 'b'), [(0.3, 0.3), (0.5, 1.5), (2.0, 1.0), (0.1, 0.6)])
def test_hardness_is_found_again_from_the_scores(a: float, b: float) -> None:
    """The published metrics of a Beta population give its a and b."""
    means = tuple(
        (Metric.parse(metric), mean / 100) for metric, mean in means_of(a, b).items() if metric != str(MEAN)
    )
    assert fit_to_means(means) == pytest.approx((a, b), rel=0.02)


def test_all_right_or_all_wrong_tells_no_hardness() -> None:
    """There is nothing to fit."""
    assert fit_to_means(((HALF, 0.0), (ALL, 0.0))) is None
    assert fit_to_means(((HALF, 1.0),)) is None
    assert fit_to_means(()) is None


def test_the_least_difference_is_that_of_a_simulation(tmp_path: Path) -> None:
    """Two models whose true values correlate: t·SD of the simulated difference of their scores.

    Each problem of the second model has the chance of the first model's, or one of its own, so that the
    values correlate as assumed; both languages of a problem have one chance.
    """
    a, b, correlation, n = 0.3, 0.3, 0.8, 48
    assumptions = Assumptions(n=n, translations=1.0, models=correlation)
    [pair] = neighbours(made(tmp_path, (a, b), (a, b)), BENCH, MEAN, assumptions)
    generator, runs, problems = np.random.default_rng(1), 3000, 119
    first = generator.beta(a, b, (runs, problems))
    second = np.where(
        generator.random((runs, problems)) < correlation, first, generator.beta(a, b, (runs, problems))
    )
    values = value_table(MEAN, n)
    scores = [
        values[generator.binomial(n, chance[..., None], (runs, problems, 2))].mean((1, 2))
        for chance in (first, second)
    ]
    t = stats.t.ppf(0.975, problems - 1)
    expected = 100 * t * np.hypot((scores[0] - scores[1]).std(), np.sqrt(2) / problems)
    assert pair.least == pytest.approx(expected, rel=0.05)
    assert pair.unpaired is not None
    assert pair.least is not None
    assert pair.unpaired / pair.least == pytest.approx(1.9, abs=0.2)


def test_pairing_of_models_makes_the_least_difference_smaller(tmp_path: Path) -> None:
    """The more two models have in common, the less they must differ."""
    published = made(tmp_path, (0.5, 0.4), (0.4, 0.5))
    least = []
    for models in (0.0, 0.5, 0.9):
        [pair] = neighbours(published, BENCH, MEAN, Assumptions(models=models))
        assert pair.least is not None
        least.append(pair.least)
    assert least == sorted(least, reverse=True)
    unpaired = neighbours(published, BENCH, MEAN)[0].unpaired
    assert unpaired is not None
    added = 100 * stats.t.ppf(0.975, 118) * np.sqrt(2) / 119
    assert least[0] == pytest.approx(np.hypot(unpaired, added))


def test_too_few_solved_problems_tell_nothing(tmp_path: Path) -> None:
    """As for an interval; and 15 problems never do."""
    [pair] = neighbours(made(tmp_path, (0.01, 3.0), (0.02, 3.0)), BENCH, ALL)
    assert (pair.least, pair.distinguishable) == (None, False)
    assert 'too few problems solved' in pair.refused
    assert BENCHMARKS['AIME2025'].problems < 20


@pytest.mark.parametrize(
    ('values', 'message'),
    [
        ({'n': 0}, 'n = 0 samples a question: expected at least 1'),
        ({'models': 1.5}, 'correlation between models 1.5: expected a number from 0 to 1'),
        ({'translations': -0.1}, 'correlation between translations -0.1'),
        ({'level': 1.0}, 'level = 1.0: expected a confidence between 0 and 1'),
    ],
)
def test_assumptions_out_of_range_are_refused(values: dict[str, Any], message: str) -> None:
    """Correlations from 0 to 1, at least one sample, a level between 0 and 1."""
    with pytest.raises(InputError, match=re.escape(message)):
        Assumptions(**values)


def test_a_benchmark_of_unknown_size_is_refused(tmp_path: Path) -> None:
    """Nothing is guessed; nor is a population of a greedy answer."""
    published = made(tmp_path, (1.0, 1.0))
    with pytest.raises(InputError, match='questions are not known'):
        neighbours(published, 'Other', MEAN)
    with pytest.raises(InputError, match='no population'):
        neighbours(published, BENCH, 'Greedy')


@pytest.mark.slow
def test_the_published_neighbours_are_mostly_too_close() -> None:
    """24 of the 27 neighbours on LiveMathBench lie closer than what 119 problems resolve, about 5.4."""
    pairs = neighbours(read_published(SHIPPED['published']), BENCH, MEAN)
    found = resolved(pairs)
    assert (found['pairs'], found['apart']) == (27, 3)
    assert 4.9 < found['median'] < 5.9
    assert all(first.worse == second.better for first, second in pairwise(pairs))


@pytest.mark.slow
def test_the_published_leaderboard_goes_through_our_tables(tmp_path: Path) -> None:
    """Every published number comes out again; none has an interval."""
    published = read_published(SHIPPED['published'])
    paths = write_published(published, tmp_path)
    assert all(path.is_file() for path in paths)
    with (tmp_path / 'published.csv').open() as file:
        rows = {
            (row['model'], row['benchmark'], measure_of(row['metric'])): float(row['value'])
            for row in csv.DictReader(file)
        }
    assert rows == dict(published.values)
    table = published_table(published, BENCH)
    assert len(table.rows) == 28
    assert not any('[' in cell for row in table.texts() for cell in row)
    assert 'no interval can be given' in table.notes[0]


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


def test_the_published_leaderboard_comes_last(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The other way round is told from a file that cannot be read."""
    assert main(['compare', str(their_scores(tmp_path)), str(ours(tmp_path, 50))]) == 2
    assert 'the last path is the published leaderboard' in capsys.readouterr().err


def test_result_files_are_compared_by_the_folders_above_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two of them are no leaderboard."""
    [*_, file] = ours(tmp_path, 50).rglob('results/*/*.json')
    assert main(['compare', str(file), str(file)]) == 2
    assert 'To compare runs with each other give the folders above' in capsys.readouterr().err


@pytest.mark.parametrize('option', ['--map a=b', '--strict', '--neighbours'])
def test_options_that_nothing_would_come_of_are_refused(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of a comparison with published scores, of folders or of a leaderboard alone."""
    outputs, theirs = str(ours(tmp_path, 50)), str(their_scores(tmp_path))
    assert main(['compare', outputs, outputs, *option.split()]) == 2
    assert option.partition(' ')[0] in capsys.readouterr().err
    assert main(['compare', theirs, *option.split()]) == (0 if option == '--neighbours' else 2)


@pytest.mark.parametrize('option', ['--against m', '--top 3'])
def test_options_of_runs_are_refused_beside_published_scores(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They would have no effect."""
    assert main(['compare', str(ours(tmp_path, 50)), str(their_scores(tmp_path)), *option.split()]) == 2
    assert option.partition(' ')[0] in capsys.readouterr().err


def test_a_leaderboard_alone_has_nothing_for_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its neighbours are printed."""
    assert main(['compare', str(their_scores(tmp_path)), '-o', 'table.csv']) == 2
    assert '-o' in capsys.readouterr().err


def test_other_questions_are_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A benchmark of the same name with another number of questions."""
    outputs = tmp_path / 'outputs'
    write_result(outputs, ABBR.format(1), [24] * 30, n=48, k=[16], dataset='LiveMathBench-v202412')
    assert main(['compare', str(outputs), str(their_scores(tmp_path))]) == 2
    assert '30 questions here, 238 in LiveMathBench-2412' in capsys.readouterr().out


def test_a_leaderboard_alone_tells_its_neighbours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With every assumption in the text; with --neighbours every pair."""
    models = {'strong': means_of(2.0, 0.5), 'weak': means_of(0.5, 2.0)}
    path = saved(tmp_path / 'p.json', leaderboard(**models))
    assert main(['compare', str(path), '--neighbours', '--n', '64']) == 0
    printed = capsys.readouterr().out
    assert '1 of 1 pairs (238 questions of 119 problems' in printed
    assert 'Assumed: 64 samples a question' in printed
    assert 'weak' in printed.partition('told apart')[2]


def test_a_report_of_a_leaderboard_alone_has_its_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """gpassk report --published FILE, without any result of ours."""
    path = saved(tmp_path / 'p.json', leaderboard(a=means_of(1.0, 1.0)))
    folder = tmp_path / 'report'
    assert main(['report', '--published', str(path), '-o', str(folder), '--only', 'tables']) == 0
    assert 'no interval can be given' in (folder / 'published.md').read_text()
    assert not (folder / 'scores.csv').exists()
    assert f'the tables: {folder}: published.md' in capsys.readouterr().out


def test_a_population_of_two_languages_varies_as_it_says() -> None:
    """What neighbours rests on: Var of a problem's mean = between·(1 + ρ)/2 + within/2."""
    population = Population(0.3, 0.3, 2, 0.9)
    _, between, within = population.moments(MEAN, 48)
    assert population.variance(MEAN, 48) == pytest.approx(between * 0.95 + within / 2)
    assert math.isfinite(between)
