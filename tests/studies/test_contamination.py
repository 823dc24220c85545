"""Greedy accuracy against mG-Pass@k over rounds: the slope, its intervals, and the command."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_results import board_of, made_result, write_results
from scipy.stats import linregress, t

from gpassk_opencompass.cli import main
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.metrics import ACCURACY, Metric
from gpassk_opencompass.results.result import Result
from gpassk_opencompass.studies.contamination import OTHERS, differences, series_of, slope_of
from gpassk_opencompass.studies.contamination_figure import round_labels

N = 16


def trained(name: str, follows: float, rounds: Sequence[int] = (0, 1, 2, 3), seed: int = 0) -> list[Result]:
    """Rounds of a training on the questions: each knows more of them greedily.

    Args:
        follows: the share of the newly known questions that are solved in all samples, too.
    """
    generator = np.random.default_rng(seed)
    order, steady = generator.permutation(80), generator.random(80) < follows
    results = []
    for number in rounds:
        known = order < 20 + 15 * number
        always = (order < 20) | (known & steady)
        c = np.where(always, N, np.where(known, N // 4, 0))
        results.append(made_result(f'{name}-round{number}_t0_l100', known.astype(int), 1, [1]))
        results.append(made_result(f'{name}-round{number}_t1-0_l100', c, N))
    return results


def values_of(rounds: int, questions: int, seed: int) -> np.ndarray:
    """Greedy accuracy and mG-Pass@k of each round and question."""
    return np.random.default_rng(seed).random((2, rounds, questions))


@pytest.mark.parametrize('rounds', [3, 5, 12])
def test_slope_and_interval_are_those_of_scipy(rounds: int) -> None:
    """`linregress` on the means of the rounds, with Student's t."""
    values = values_of(rounds, 30, rounds)
    line = linregress(*values.mean(axis=2))
    found = slope_of(values, list(map(str, range(30))), replicates=10)
    half = t.ppf(0.975, rounds - 2) * line.stderr
    expected = line.slope, line.intercept, line.slope - half, line.slope + half
    told = found.estimate, found.intercept, found.rounds.low, found.rounds.high
    assert told == pytest.approx(expected, rel=1e-9)


def test_the_interval_for_new_questions_holds_the_truth_as_often_as_it_says() -> None:
    """Four rounds with known probabilities, 100 questions at a time: 95 % of 150 intervals, give or take."""
    generator = np.random.default_rng(0)
    hits, problems = 0, list(map(str, range(100)))
    for _ in range(150):
        level = generator.random(100)
        chance = np.array([[np.clip(level + 0.1 * number, 0, 1) for number in range(4)]] * 2)
        chance[1] **= 2
        values = generator.random(chance.shape) < chance
        found = slope_of(values, problems, replicates=200).questions
        hits += found.low < TRUTH < found.high
    assert 0.88 < hits / 150 < 0.99


def _truth() -> float:
    """The slope over infinitely many questions, by the integral over the level of one."""
    level = (np.arange(100_000) + 0.5) / 100_000
    chance = np.array([np.clip(level + 0.1 * number, 0, 1) for number in range(4)])
    return float(linregress(chance.mean(axis=1), (chance**2).mean(axis=1)).slope)


TRUTH = _truth()


def test_rounds_are_read_from_the_names_of_models() -> None:
    """`…-round3` is round 3 of a series, whatever its rank in the table; the rest is a series of its own."""
    other = [made_result('Other-7B_t0_l100', [1] * 40 + [0] * 40, 1)]
    other.append(made_result('Other-7B_t1-0_l100', [9] * 40 + [0] * 40, N))
    board = board_of([*trained('Leaky', 0.1), *other])
    series, left_out = series_of(board)
    assert left_out == []
    assert [(one.name, one.numbers) for one in series] == [('Leaky', (0, 1, 2, 3)), (OTHERS, (None,))]
    metric = Metric.mg_pass_at(16)
    for place, entry in enumerate(series[0].entries):
        assert entry.greedy is not None
        assert series[0].means[0][place] == pytest.approx(entry.greedy.values(ACCURACY).mean())
        assert series[0].means[1][place] == pytest.approx(entry.result.values(metric).mean())


@pytest.mark.parametrize(
    ('model', 'series', 'number'),
    [
        ('checkpoint-500', 'checkpoint', 500),
        ('Step20', 'step', 20),
        ('My-7B_step200', 'My-7B', 200),
        ('My-7B-epoch-2', 'My-7B', 2),
        ('my-ground2', OTHERS, None),
        ('Qwen-backstep2', OTHERS, None),
        ('My-7B-round', OTHERS, None),
    ],
)
def test_a_round_is_a_word_of_its_own(model: str, series: str, number: int | None) -> None:
    """At the beginning of a name or behind a separator; other words that end like it stay whole."""
    known = [1] * 40 + [0] * 40
    board = board_of([made_result(f'{model}_t0_l100', known, 1), made_result(f'{model}_t1-0_l100', known, N)])
    [found], _ = series_of(board)
    assert (found.name, found.numbers) == (series, (number,))


def test_a_contaminated_training_has_the_smaller_slope() -> None:
    """Where most of what is learnt is solved in every sample mG follows, and where little is it does not."""
    board = board_of([*trained('clean', 0.9), *trained('leaked', 0.1, seed=1)])
    series, _ = series_of(board)
    clean, leaked = series
    assert clean.slope.estimate > 0.7
    assert leaked.slope.estimate < 0.25
    assert leaked.slope.questions.high < clean.slope.questions.low
    [difference] = differences(series, board.entries[0].result.problems)
    assert (difference.first, difference.second) == ('clean', 'leaked')
    assert difference.slope.estimate == leaked.slope.estimate - clean.slope.estimate
    assert difference.slope.high < 0


def test_series_may_be_given_and_share_a_model() -> None:
    """The order is that of the user; the base stands in both."""
    board = board_of(trained('m', 0.5))
    given = {'up': ['m-round0', 'm-round2', 'm-round3'], 'other': ['m-round0', 'm-round1']}
    series, left_out = series_of(board, given)
    assert [one.name for one in series] == ['other', 'up']
    assert [entry.model for entry in series[1].entries] == given['up']
    assert left_out == []
    _, left_out = series_of(board, {'up': given['up']})
    assert left_out == ['m-round1_t1-0_l100: in no series of --rounds']


def test_sampling_settings_have_a_series_each() -> None:
    """Rounds are compared at one temperature."""
    results = trained('m', 0.5)
    hotter = [
        made_result(one.model_abbr.replace('t1-0', 't0-5'), one.counts.tolist(), N) for one in results[1::2]
    ]
    series, _ = series_of(board_of([*results, *hotter]))
    assert [one.name for one in series] == ['m t=0.5', 'm t=1']


def test_a_model_that_is_not_there_is_named() -> None:
    """With those that are."""
    with pytest.raises(InputError, match=r"no run of 'm-9'; there are m-round0, m-round1"):
        series_of(board_of(trained('m', 0.5)), {'m': ['m-9']})


@pytest.mark.parametrize(
    ('change', 'slope', 'why'),
    [
        (lambda values: values[:, :1], False, 'one round'),
        (lambda values: values[:, :2], True, 'fewer than three rounds'),
        (
            lambda values: np.array([values[0] * 0, values[1]]),
            False,
            'greedy accuracy is the same in all rounds',
        ),
    ],
    ids=['one', 'two', 'same'],
)
def test_where_no_line_goes_there_is_none(
    change: Callable[[np.ndarray], np.ndarray], slope: bool, why: str
) -> None:
    """Undefined is named."""
    found = slope_of(change(values_of(4, 30, 0)), list(map(str, range(30))), replicates=50)
    assert np.isfinite(found.estimate) == slope
    assert found.rounds.refused == why
    assert bool(found.questions.refused) != slope


def studied(folder: Path, *options: str) -> dict[str, Any]:
    """What the command writes for the only board."""
    out = folder / 'out'
    assert main(['study', 'contamination', str(folder), '-o', str(out), *options]) == 0
    [file] = out.glob('*.json')
    content: dict[str, Any] = json.loads(file.read_text('utf-8'))
    return content


def test_the_command_writes_points_slopes_and_the_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And prints the same; the figure has no warning and its files are not empty."""
    write_results([*trained('clean', 0.9), *trained('leaked', 0.1, seed=1)], tmp_path)
    content = studied(tmp_path)
    assert [one['series'] for one in content['series']] == ['clean', 'leaked']
    for one in content['series']:
        line = linregress(one['greedy'], one['stable'])
        assert one['more_rounds']['estimate'] == pytest.approx(line.slope, rel=1e-9)
        assert one['intercept'] == pytest.approx(line.intercept, rel=1e-9)
    shown = capsys.readouterr().out
    assert 'leaked less clean' in shown
    assert sorted(path.suffix for path in (tmp_path / 'out').iterdir()) == ['.csv', '.json', '.png', '.svg']
    assert all(path.stat().st_size > 500 for path in (tmp_path / 'out').iterdir())


def test_series_without_room_in_the_figure_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seven series, six looks: the figure and the command say so; six are all drawn."""
    for count in (6, 7):
        folder = tmp_path / str(count)
        write_results([one for name in 'abcdefg'[:count] for one in trained(name, 0.5, (0, 1))], folder)
        assert len(studied(folder)['series']) == count
        [figure] = (folder / 'out').glob('*.svg')
        for text in (capsys.readouterr().out, figure.read_text('utf-8')):
            assert ('Drawn: the first 6 of 7 series, by' in text) == (count == 7)


def test_two_series_of_one_name_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """None is dropped without a word."""
    write_results(trained('m', 0.5), tmp_path)
    given = ['--rounds', 'up=m-round0,m-round1', '--rounds', 'up=m-round2,m-round3']
    assert main(['study', 'contamination', str(tmp_path), '-o', str(tmp_path / 'out'), *given]) == 2
    assert "there are 2 series 'up'; expected a name of its own for each" in capsys.readouterr().err


def test_rounds_at_one_place_share_a_label() -> None:
    """Amidst them, in the order of the rounds; models that are no rounds have none."""
    points = [(0, 50.0, 40.0), (None, 50.0, 40.0), (1, 60.0, 40.0), (2, 60.0, 45.0), (3, 50.5, 41.0)]
    assert round_labels(points, near=1.5) == [('0, 3', 50.25, 40.5), ('1', 60.0, 40.0), ('2', 60.0, 45.0)]
    assert [text for text, *_ in round_labels(points, near=0.5)] == ['0', '1', '2', '3']


def test_models_without_a_greedy_run_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message says how a template gets one."""
    write_results(trained('m', 0.5)[1::2], tmp_path)
    assert main(['study', 'contamination', str(tmp_path), '-o', str(tmp_path / 'out')]) == 2
    told = capsys.readouterr().err
    assert 'no greedy run (temperature 0) of this model' in told
    assert 'temperatures = [0.0, 1.0]' in told


@pytest.mark.parametrize('text', ['m', '=a,b', 'm=a,,b', 'm=a,a'])
def test_a_series_that_cannot_be_read_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With what is expected."""
    with pytest.raises(SystemExit):
        main(['study', 'contamination', 'x', '--rounds', text])
    assert 'NAME=MODEL,MODEL,…' in capsys.readouterr().err
