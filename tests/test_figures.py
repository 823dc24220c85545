"""Figures: the numbers behind their lines by brute force, their files, and names of any kind."""

from __future__ import annotations

import re
import sys
from itertools import combinations
from math import comb
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from made_results import board_of, made_result, made_sweep

from gpassk_opencompass import MissingExtraError
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.report.leaderboard import Board
from gpassk_opencompass.uncertainty import mean_interval
from gpassk_opencompass.uncertainty.rerun import subset_squares

pytest.importorskip('matplotlib')

from matplotlib.text import Text

from gpassk_opencompass.report.figures import drawings, labels, write_figures
from gpassk_opencompass.report.figures.curves import sensitivity, series, thresholds
from gpassk_opencompass.report.figures.drawing import Drawing, LeftOut
from gpassk_opencompass.report.figures.questions import questions, shares_of
from gpassk_opencompass.report.figures.samples import (
    question_error,
    subset_variances,
)
from gpassk_opencompass.report.figures.style import house_style

pytestmark = pytest.mark.slow

DOCS = Path(__file__).resolve().parents[1] / 'docs'
COUNTS = (0, 1, 3, 4, 6, 8, 8, 2, 5, 7)
ODD_NAMES = ('cost_$5_or_$6', 'a&b<c>"d"', '数学-模型_t', 'x^{2}\\alpha', 'no\nbreak\x00', 'عربى')


def small_board(n: int = 8, k: int = 4) -> Board:
    """Two runs of one model on ten questions, and its greedy run."""
    runs = [made_result(f'm_t{t}_l64', list(c), n, [k]) for t, c in (('0.3', COUNTS), ('1.0', COUNTS[::-1]))]
    return board_of([*runs, made_result('m_t0_l64', [1, 0] * 5, 1)])


def share_of_draws(c: int, n: int, k: int, needed: int) -> float:
    """The share of all draws of k of n answers with at least so many of the c right ones, by counting."""
    draws = list(combinations([1] * c + [0] * (n - c), k))
    return sum(sum(draw) >= needed for draw in draws) / len(draws)


def only(found: object) -> Drawing:
    """The one drawing of a family."""
    [one] = list(found)  # type: ignore[call-overload]
    assert isinstance(one, Drawing)
    return one


def test_a_line_over_thresholds_is_the_share_of_draws() -> None:
    """Each point counts the draws of 4 of 8 answers, in the order of the table."""
    board = small_board()
    with house_style():
        [axes] = only(thresholds(board)).figure.axes
    assert len(axes.lines) == len(board.entries)
    for line, entry in zip(axes.lines, board.entries, strict=True):
        wanted = [
            100 * np.mean([share_of_draws(c, 8, 4, needed) for c in entry.result.table.c])
            for needed in (1, 2, 3, 4)
        ]
        assert line.get_xdata() == pytest.approx([0.25, 0.5, 0.75, 1.0])
        assert line.get_ydata() == pytest.approx(wanted)


def test_bands_are_the_clustered_intervals_and_stop_where_those_are_refused() -> None:
    """A band has as its edges the intervals of the table; a refused one leaves a gap and a note."""
    board = board_of(made_sweep(['a'], (0.3,), (1.0,), questions=60, seed=4))
    [entry] = board.entries
    with house_style():
        one = only(thresholds(board))
    band = one.figure.axes[0].collections[0].get_paths()[0].vertices
    interval = entry.interval(Metric.parse('G-Pass@16_0.5'))
    at_half = sorted(y for x, y in band if x == 0.5)
    assert {round(at_half[0], 9), round(at_half[-1], 9)} == {
        round(100 * interval.low, 9),
        round(100 * interval.high, 9),
    }
    with house_style():
        few = only(thresholds(small_board()))
    assert not any(len(path.vertices) for c in few.figure.axes[0].collections for path in c.get_paths())
    assert any('too few problems' in text.get_text() for text in few.figure.texts)


@pytest.mark.parametrize('name', ['accuracy', 'G-Pass@2_1.0', 'mG-Pass@3'])
def test_errors_over_n_are_those_of_all_subsets(name: str) -> None:
    """Mean squares and variances over every subset of m of 7 answers; the mean never moves."""
    metric, n = Metric.parse(name), 7
    for m in range(metric.k, n + 1):
        for c in range(n + 1):
            row = [1] * c + [0] * (n - c)
            values = []
            for subset in combinations(row, m):
                chosen = list(combinations(subset, metric.k))
                values.append(np.mean([metric.scores()[sum(draw)] for draw in chosen]))
            assert subset_squares(metric, n, m)[c] == pytest.approx(np.mean(np.square(values)), abs=1e-12)
            assert subset_variances(metric, n, m)[c] == pytest.approx(np.var(values), abs=1e-12)


def test_the_error_for_new_questions_is_the_mean_over_all_subsets() -> None:
    """Every choice of 2 of 3 answers to each of 4 questions from 2 problems, as many as there are."""
    metric, counts, n, m = Metric.parse('G-Pass@2_1.0'), np.array([1, 2, 3, 2]), 3, 2
    problems = ['p', 'p', 'q', 'r']
    squares, weights = [], []
    for numbers in np.ndindex(3, 3, 3, 3):
        ways = [comb(c, a) * comb(n - c, m - a) for c, a in zip(counts, numbers, strict=True)]
        values = [float(a == m) for a in numbers]
        squares.append(mean_interval(values, problems).error ** 2)
        weights.append(np.prod(ways))
    wanted = np.average(squares, weights=weights)
    assert question_error(counts, n, m, metric, problems) ** 2 == pytest.approx(wanted)


def test_the_rerun_error_is_right_on_average() -> None:
    """Its unbiased part, averaged over all counts of 6 answers, is the variance of a rerun with 4 of them."""
    metric, n, m, chance = Metric.parse('G-Pass@2_1.0'), 6, 4, 0.6
    from gpassk_opencompass.uncertainty import value_table
    from gpassk_opencompass.uncertainty.rerun import pair_table

    def chances(size: int) -> list[float]:
        return [comb(size, c) * chance**c * (1 - chance) ** (size - c) for c in range(size + 1)]

    values = value_table(metric, m)
    truth = np.average(values**2, weights=chances(m)) - np.average(values, weights=chances(m)) ** 2
    unbiased = subset_squares(metric, n, m) - pair_table(metric, n)
    assert np.average(unbiased, weights=chances(n)) == pytest.approx(truth)


def test_sensitivity_keeps_the_other_settings_fixed() -> None:
    """A series for each model and top_p, its values in order, its points those of the table."""
    board = board_of(made_sweep(['a', 'b'], (0.7, 0.3, 1.0), (0.8, 1.0), questions=40))
    found = series(board, 'temperature')
    assert sorted((one.model, one.others) for one in found) == [
        (model, f'p={p}') for model in 'ab' for p in ('0.8', '1')
    ]
    assert all(one.values == [0.3, 0.7, 1.0] for one in found)
    with house_style():
        one = next(iter(sensitivity(board)))
        assert isinstance(one, Drawing)
        lines = {line.get_label(): line for line in one.figure.axes[0].lines}
    wanted = [100 * entry.result.values(Metric.parse('mG-Pass@16')).mean() for entry in found[0].entries]
    assert lines['mG-Pass@16'].get_ydata() == pytest.approx(wanted)


def test_nothing_to_show_is_left_out_with_a_reason() -> None:
    """One run at n = k, no second setting: two families have nothing, and say why."""
    board = board_of([made_result('m_t0.3_l64', COUNTS, 8, [8])])
    with house_style():
        found = list(drawings(board))
    reasons = {one.name: one.reason for one in found if isinstance(one, LeftOut)}
    assert 'more samples than k = 8' in reasons['samples']
    assert 'differ in top_p alone' in reasons['sensitivity-top-p']
    drawn = [one.name for one in found if isinstance(one, Drawing)]
    assert drawn == ['thresholds', 'questions']


def test_the_map_has_the_hardest_question_first() -> None:
    """c/n of each run, columns sorted by their mean; runs may have their questions in different orders."""
    board = small_board()
    uids, shares = shares_of(board.entries)
    assert np.all(np.diff(shares.mean(0)) >= 0)
    for row, entry in zip(shares, board.entries, strict=True):
        of_uid = dict(zip(entry.result.counts.uid, entry.result.table.c / 8, strict=True))
        assert row == pytest.approx([of_uid[uid] for uid in uids])
    with house_style():
        image = only(questions(board)).figure.axes[0].images[0].get_array()
    assert np.asarray(image) == pytest.approx(shares)


def test_files_are_what_they_say_and_the_same_every_time(tmp_path: Path) -> None:
    """PNG and SVG of every figure, in two runs the same bytes, whatever the user's settings are."""
    import matplotlib as mpl

    board = small_board()
    first = write_figures([board], tmp_path / 'a', dpi=40)
    with mpl.rc_context({'font.size': 30, 'axes.facecolor': 'red', 'svg.hashsalt': None}):
        second = write_figures([board], tmp_path / 'b', dpi=40)
        assert mpl.rcParams['font.size'] == 30
    assert [path.name for path in first] == [path.name for path in second]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    for path in first:
        if path.suffix == '.png':
            assert path.read_bytes().startswith(b'\x89PNG\r\n')
        elif path.suffix == '.svg':
            assert ElementTree.parse(path).getroot().tag == '{http://www.w3.org/2000/svg}svg'
    assert {path.suffix for path in first[:-1]} == {'.png', '.svg'}


def test_without_matplotlib_no_folder_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    with pytest.raises(MissingExtraError, match=r'matplotlib is not installed.*gpassk_opencompass\[report\]'):
        write_figures([], tmp_path / 'report')
    assert not (tmp_path / 'report').exists()


def test_names_of_any_kind_are_drawn_as_they_are(tmp_path: Path) -> None:
    """Dollars are no formulas, brackets no markup, Chinese no boxes; warnings would be errors here."""
    runs = [made_result(name, COUNTS, 8, [4]) for name in ODD_NAMES]
    board = board_of(runs)
    paths = write_figures([board], tmp_path)
    for path in paths:
        if path.suffix == '.svg':
            ElementTree.parse(path)
    with house_style():
        [axes] = only(thresholds(board)).figure.axes
        shown = {line.get_label() for line in axes.lines}
    assert {'cost_$5_or_$6', 'a&b<c>"d"', 'no\\nbreak\\x00'} <= shown


def test_without_a_chinese_font_notes_are_spelt_like_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names of runs without an interval, too: a glyph that is missing would be a box."""
    monkeypatch.setattr(labels, '_glyphs', lambda: (frozenset(range(0x250)),))
    runs = [made_result(f'千问_t{t}_l64', [0, 1, 2] * 8, 4, [4]) for t in ('0.3', '0.7')]
    with house_style():
        for one in drawings(board_of(runs)):
            if isinstance(one, Drawing):
                shown = ''.join(text.get_text() for text in one.figure.findobj(Text))
                assert '千' not in shown
                assert r'\u5343' in shown


def test_the_pictures_of_the_docs_are_small_and_complete() -> None:
    """One for every figure that the page describes, none above 60 kB."""
    page = (DOCS / 'figures.md').read_text(encoding='utf-8')
    shown = [DOCS / path for path in re.findall(r'!\[[^]]*\]\(([^)]*)\)', page)]
    assert sorted(shown) == sorted((DOCS / 'images' / 'figures').glob('*.png'))
    assert all(path.stat().st_size < 60_000 for path in shown)
    assert all(f'`{path.stem}`' in page for path in shown)
