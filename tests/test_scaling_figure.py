"""The figure of two ways to spend tokens: each point by brute force, and when there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from statistics import mean

import numpy as np
import pytest
from made_results import board_of, made_result

from gpassk_opencompass.report.leaderboard import Board
from gpassk_opencompass.results.result import Result

pytest.importorskip('matplotlib')

from gpassk_opencompass.report.figures.drawing import Drawing, LeftOut
from gpassk_opencompass.report.figures.scaling import scaling, ways_of
from gpassk_opencompass.report.figures.style import house_style

pytestmark = pytest.mark.slow

N, K = 12, 3
RIGHT = '7'


def run_of(
    links: int,
    tokens: int | None,
    answers: Sequence[Sequence[str]],
    model: str = 'm',
    known: bool = True,
    text: str | None = None,
) -> Result:
    """A run with these answers, of which 7 is right, so many tokens in all, and links of this text."""
    counts = [row.count(RIGHT) for row in answers]
    made = made_result(f'{model}_t1-0_sl{links}_l64', counts, N, [K])
    block = dict(made.record['gpassk'])
    if tokens is not None:
        block['output_tokens'] = tokens
    if text is not None:
        block['provenance'] = {'model': {'serial_links': links, 'serial_link_text': text}}
    verdicts = [''.join('1' if one == RIGHT else '0' for one in row) for row in answers]
    details = {'answers': [list(row) for row in answers], 'verdicts': verdicts} if known else {}
    return Result(made.model_abbr, made.dataset_abbr, {'gpassk': block, 'details': details}, made.path)


def drawn_answers(seed: int) -> list[list[str]]:
    chances = [[0.8, 0.1, 0.1, 0.0], [0.4, 0.3, 0.2, 0.1], [0.2, 0.5, 0.1, 0.2], [0.5, 0.2, 0.1, 0.2]]
    random = np.random.default_rng(seed)
    return [[str(one) for one in random.choice([RIGHT, '8', '9', ''], N, p=each)] for each in chances]


FIRST, SECOND = drawn_answers(1), drawn_answers(2)


def board() -> Board:
    return board_of([run_of(0, 4 * N * 50, FIRST), run_of(2, 4 * N * 90, SECOND)])


def g_pass(rights: Sequence[bool], needed: int) -> float:
    """The share of all draws of K with so many right ones."""
    return mean(sum(draw) >= needed for draw in combinations(rights, K))


def votes(row: Sequence[str], size: int) -> list[bool]:
    """Whether the most frequent answer of each group is right; of equal ones the first, '' is none."""
    groups = [row[start : start + size] for start in range(0, len(row) - size + 1, size)]
    tops = [Counter(one for one in group if one).most_common(1) for group in groups]
    return [bool(top) and top[0][0] == RIGHT for top in tops]


def wanted(rows: Sequence[Sequence[bool]]) -> list[float]:
    """G-Pass@3 at 0.5, 0.75 and 1.0 (2, 3 and 3 of 3), and mG-Pass@3, in percent."""
    at = {needed: 100 * mean(g_pass(row, needed) for row in rows) for needed in (2, 3)}
    return [at[2], at[3], at[3], 2 / 3 * at[3]]


def test_the_points_are_those_of_brute_force() -> None:
    """A run a point, and votes of 1 to 4 samples of the run without links, at as many times its tokens."""
    [ways], _ = ways_of(board())
    assert ways.name == 'm'
    serial = [(point.size, point.tokens) for point in ways.serial]
    assert serial == [(0, 50), (2, 90)]
    for point, answers in zip(ways.serial, (FIRST, SECOND), strict=True):
        scores = [100 * one.estimate for one in point.scores]
        assert scores == pytest.approx(wanted([[one == RIGHT for one in row] for row in answers]))
    assert [(point.size, point.tokens) for point in ways.parallel] == [(j, 50 * j) for j in (1, 2, 3, 4)]
    for point in ways.parallel:
        scores = [100 * one.estimate for one in point.scores]
        assert scores == pytest.approx(wanted([votes(row, point.size) for row in FIRST]))


def test_a_panel_a_metric_shows_both_curves() -> None:
    """Over tokens, with the links and the voters at the points."""
    shown = board()
    [ways], _ = ways_of(shown)
    with house_style():
        [one] = list(scaling(shown))
    assert isinstance(one, Drawing)
    assert [axes.get_title('left') for axes in one.figure.axes] == [str(metric) for metric in shown.metrics]
    for place, axes in enumerate(one.figure.axes):
        serial, parallel = axes.lines
        assert list(serial.get_xdata()) == [50, 90]
        assert list(parallel.get_xdata()) == [50, 100, 150, 200]
        for line, points in ((serial, ways.serial), (parallel, ways.parallel)):
            assert line.get_ydata() == pytest.approx([100 * point.scores[place].estimate for point in points])
        assert [text.get_text() for text in axes.texts] == ['0', '2', '1', '2', '3', '4']
        left, right = axes.get_xlim()
        assert left < 50
        assert right > 200
    assert f'0: {100 * ways.serial[0].scores[-1].estimate:.1f} at 50' in one.caption


def test_tokens_of_samples_that_were_broken_off_are_not_those_of_responses() -> None:
    """They were spent, but no response has them."""
    told = [[50] * 11 + [5000]] * 4
    states = [[None] * 11 + ['aborted']] * 4
    runs = []
    for links in (0, 1):
        made = run_of(links, 4 * (11 * 50 + 5000), FIRST)
        block = {**made.record['gpassk'], 'states': {'aborted': 4}}
        details = {**made.record['details'], 'output_tokens': told, 'state': states}
        runs.append(
            Result(made.model_abbr, made.dataset_abbr, {'gpassk': block, 'details': details}, made.path)
        )
    [ways] = ways_of(board_of(runs))[0]
    assert [point.tokens for point in ways.serial] == [50, 50]


def test_without_answers_there_is_no_vote() -> None:
    """The serial curve is drawn alone, and the figure says why."""
    runs = [run_of(0, 4 * N * 50, FIRST, known=False), run_of(1, 4 * N * 90, SECOND, known=False)]
    with house_style():
        [one] = list(scaling(board_of(runs)))
    assert isinstance(one, Drawing)
    assert all(len(axes.lines) == 1 for axes in one.figure.axes)
    assert any('No votes' in text.get_text() for text in one.figure.texts)


def test_each_model_has_a_figure() -> None:
    """Numbered, in the order of the table."""
    runs = [run_of(links, 4 * N * 50, FIRST, model) for model in 'ab' for links in (0, 1)]
    with house_style():
        assert [one.name for one in scaling(board_of(runs))] == ['scaling-1', 'scaling-2']


@pytest.mark.parametrize(
    ('runs', 'reason'),
    [
        ([run_of(1, 600, FIRST)], 'no model has two runs that differ in serial_links alone'),
        ([run_of(0, None, FIRST), run_of(1, 600, FIRST)], 'm: the engine does not tell how many tokens'),
        (
            [run_of(1, 600, FIRST, text='Wait'), run_of(2, 700, FIRST, text='Hm')],
            "m: its runs have different links, 'Hm' and 'Wait'",
        ),
    ],
    ids=['one run', 'no tokens', 'other links'],
)
def test_where_there_is_nothing_to_show_the_reason_is_told(runs: list[Result], reason: str) -> None:
    """As for other figures."""
    [one] = list(scaling(board_of(runs)))
    assert isinstance(one, LeftOut)
    assert one.reason.startswith(reason)
