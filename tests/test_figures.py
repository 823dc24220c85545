"""Figures: the numbers behind their lines by brute force, their files, and names of any kind."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations
from math import comb
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from doc_pages import page
from installed import install, python
from made_results import board_of, made_result, made_sweep, write_results

from gpassk_opencompass import InputError, MissingExtraError
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.registry import Registry
from gpassk_opencompass.report.leaderboard import Board, boards
from gpassk_opencompass.uncertainty import compare, mean_interval, rerun_interval
from gpassk_opencompass.uncertainty.rerun import subset_squares

pytest.importorskip('matplotlib')

from matplotlib.text import Text

from gpassk_opencompass.report import figures
from gpassk_opencompass.report.figures import (
    board_names,
    drawings,
    labels,
    write_figures,
    write_formula_figures,
)
from gpassk_opencompass.report.figures.curves import draws, sensitivity, series, steps, thresholds
from gpassk_opencompass.report.figures.drawing import Drawing, LeftOut
from gpassk_opencompass.report.figures.formulas import RERUNS, simulate
from gpassk_opencompass.report.figures.greedy import (
    free_places,
    gap,
    gaps_of,
    potential,
    told,
    with_greedy,
)
from gpassk_opencompass.report.figures.labels import columns, cut_middle, drawable, labelled
from gpassk_opencompass.report.figures.questions import MOST_COLUMNS, columns_of, questions, shares_of
from gpassk_opencompass.report.figures.samples import (
    half_widths,
    question_error,
    rerun_error,
    samples,
    sizes,
    subset_variances,
)
from gpassk_opencompass.report.figures.style import house_style

pytestmark = pytest.mark.slow

PAGE = page('extending')
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
            100 * np.mean([share_of_draws(c, 8, 4, needed) for c in entry.result.counts])
            for needed in (1, 2, 3, 4)
        ]
        assert line.get_xdata() == pytest.approx([0.25, 0.5, 0.75, 1.0])
        assert line.get_ydata() == pytest.approx(wanted)


def test_lines_over_k_are_shares_of_draws() -> None:
    """pass@k and G-Pass@k at 0.5, 0.75 and 1.0 for k = 1, 2, 4, 8, and nothing at odd places."""
    board = small_board()
    needed = {'pass@k': (1, 1, 1, 1), 'G-Pass@k_0.5': (1, 1, 2, 4), 'G-Pass@k_0.75': (1, 2, 3, 6)}
    needed['G-Pass@k_1.0'] = (1, 2, 4, 8)
    with house_style():
        panels = only(draws(board)).figure.axes
    for axes, entry in zip(panels, board.entries, strict=True):
        lines = {line.get_label(): line for line in axes.lines}
        for name, steps_of in needed.items():
            cells = [
                [share_of_draws(c, 8, k, step) for c in entry.result.counts]
                for k, step in zip((1, 2, 4, 8), steps_of, strict=True)
            ]
            assert lines[name].get_xdata() == pytest.approx([1, 2, 4, 8])
            assert lines[name].get_ydata() == pytest.approx(100 * np.mean(cells, axis=1))


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


def test_a_threshold_of_one_seventh_asks_for_one_of_seven() -> None:
    """τ = i/k has no binary or decimal rounding in it: the first point is pass@7."""
    board = board_of([made_result('m_t1.0_l64', COUNTS, 8, [7])])
    with house_style():
        [line] = only(thresholds(board)).figure.axes[0].lines
    assert line.get_ydata()[0] == pytest.approx(100 * np.mean([share_of_draws(c, 8, 7, 1) for c in COUNTS]))


def test_many_thresholds_are_thinned_evenly() -> None:
    """At most 32 points, the first and the last among them."""
    assert steps(5) == [1, 2, 3, 4, 5]
    assert (len(steps(256)), steps(256)[0], steps(256)[-1]) == (32, 1, 256)


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


def test_errors_with_all_samples_are_those_of_the_tables() -> None:
    """At m = n both are what `mean_interval` and `rerun_interval` say."""
    entry = board_of(made_sweep(['a'], (0.7,), (1.0,))).entries[0]
    metric, result = Metric.parse('mG-Pass@16'), entry.result
    wide = question_error(result.counts, 48, 48, metric, result.problems)
    assert wide == pytest.approx(entry.interval(Metric.parse('mG-Pass@16')).error)
    assert rerun_error(result.counts, 48, 48, metric) == pytest.approx(
        rerun_interval(result.counts, 48, metric).error
    )


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


def test_funnels_narrow_from_k_to_n_with_3k_among_their_points() -> None:
    """More samples never widen either interval."""
    entry = board_of(made_sweep(['a'], (0.7,), (1.0,), n=64)).entries[0]
    points, wide, narrow = half_widths(entry, 16)
    assert points == sizes(64, 16)
    assert (points[0], points[-1]) == (16, 64)
    assert 48 in points
    assert np.all(np.diff(wide) <= 1e-9)
    assert np.all(np.diff(narrow) < 0)


def test_more_answers_than_there_are_cannot_be_chosen() -> None:
    """m > n is an error that says so."""
    with pytest.raises(InputError, match='at most the n = 4'):
        subset_squares(Metric.parse('accuracy'), 4, 5)


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
    """One run at n = k, no greedy run, no second setting: three families have nothing, and say why."""
    board = board_of([made_result('m_t0.3_l64', COUNTS, 8, [8])])
    with house_style():
        found = list(drawings(board))
    reasons = {one.name: one.reason for one in found if isinstance(one, LeftOut)}
    assert 'more samples than k = 8' in reasons['samples']
    assert 'differ in top_p alone' in reasons['sensitivity-top-p']
    assert 'no greedy run' in reasons['potential'] == reasons['gap']
    drawn = [one.name for one in found if isinstance(one, Drawing)]
    assert drawn == ['thresholds', 'draws', 'questions']


def test_the_map_has_the_hardest_question_first() -> None:
    """c/n of each run, columns sorted by their mean; runs may have their questions in different orders."""
    board = small_board()
    uids, shares = shares_of(board.entries)
    assert np.all(np.diff(shares.mean(0)) >= 0)
    for row, entry in zip(shares, board.entries, strict=True):
        of_uid = dict(zip(entry.result.uids, entry.result.counts / 8, strict=True))
        assert row == pytest.approx([of_uid[uid] for uid in uids])
    with house_style():
        image = only(questions(board)).figure.axes[0].images[0].get_array()
    assert np.asarray(image) == pytest.approx(shares)


def test_many_questions_share_columns() -> None:
    """Neighbours are averaged; the mean of a row stays, to the last digits."""
    shares = np.random.default_rng(0).random((3, 4 * MOST_COLUMNS))
    wide, names = columns_of(shares, [''] * shares.shape[1])
    assert wide.shape == (3, MOST_COLUMNS)
    assert not names
    assert wide.mean(1) == pytest.approx(shares.mean(1))


def test_the_gap_is_the_paired_difference() -> None:
    """Largest first, and what stands beside it is what `compare` says."""
    board = board_of(made_sweep(['a', 'b'], questions=60))
    gaps = gaps_of(with_greedy(board), Metric.g_pass_at(16, 1.0))
    found = [one.difference.difference for one in gaps]
    assert found == sorted(found, reverse=True)
    entry = gaps[0].run.entry
    assert entry.greedy is not None
    values = entry.result.values(Metric.parse('G-Pass@16_1.0'))
    wanted = compare(entry.greedy.values(Metric.parse('accuracy')), values, entry.result.problems)
    assert gaps[0].difference == wanted
    assert told(wanted) == (
        f'{100 * wanted.difference:.2f}  [{100 * wanted.low:.1f}, {100 * wanted.high:.1f}]'
    )


def test_a_refused_gap_has_no_interval() -> None:
    """Ten problems are too few; the number stands alone."""
    [first, _] = gaps_of(with_greedy(small_board()), Metric.g_pass_at(4, 1.0))
    assert told(first.difference).endswith('no interval')


def test_potential_shows_each_run_where_it_is() -> None:
    """Greedy accuracy across, mG-Pass@k upwards."""
    board = small_board()
    with house_style():
        axes = only(potential(board)).figure.axes[0]
    [best] = [line for line in axes.lines if line.get_label() == 'named']
    top = board.entries[0]
    assert best.get_xdata() == pytest.approx([50.0])
    assert best.get_ydata() == pytest.approx([100 * top.result.values(Metric.parse('mG-Pass@4')).mean()])


@pytest.mark.parametrize(('spot', 'points'), [(50.0, 20), (98.0, 5)])
def test_numbers_of_points_keep_apart(spot: float, points: int) -> None:
    """Points on one spot, in the middle or in a corner: numbers keep apart, and within the axes."""
    places = free_places(np.full((points, 2), spot), range(points), 3.0, (0.0, 100.0))
    apart = np.hypot(*(places[:, None] - places).T) + 10 * np.eye(points)
    assert apart.min() > 2.0
    assert places.max() < 100


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


def test_bars_stay_within_the_figure() -> None:
    """Intervals reach further than the points, the more so where models are few."""
    runs = [
        made_result('m_t0.3_l64', [0, 4, 4, 2] * 6, 4, [4]),
        made_result('m_t0_l64', [0, 1, 1, 0] * 6, 1),
    ]
    with house_style():
        axes = only(potential(board_of(runs))).figure.axes[0]
    [bars] = axes.collections
    [[_, low], [_, high]] = bars.get_segments()[0]
    assert axes.get_ylim()[0] < low < high < axes.get_ylim()[1]


def test_the_index_names_every_figure_and_what_is_missing(tmp_path: Path) -> None:
    """A caption for each pair of files, a reason for each figure left out."""
    *files, index = write_figures([small_board()], tmp_path)
    told_of = json.loads(index.read_text(encoding='utf-8'))
    stems = [path.stem for path in files if path.suffix == '.png']
    assert [one['file'] for one in told_of['figures']] == stems
    assert all(one['caption'] for one in told_of['figures'])
    assert {one['figure'] for one in told_of['left_out']} == {
        *(f'sensitivity-{setting}' for setting in ('top-p', 'top-k', 'repetition-penalty')),
    }


@pytest.mark.parametrize('write', [lambda folder: write_figures([], folder), write_formula_figures])
def test_without_matplotlib_no_folder_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], object]
) -> None:
    """The error says what to install."""
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    with pytest.raises(MissingExtraError, match='matplotlib is not installed'):
        write(tmp_path / 'report')
    assert not (tmp_path / 'report').exists()


def test_no_board_gives_an_index_alone(tmp_path: Path) -> None:
    """Nothing to draw is no error."""
    [index] = write_figures([], tmp_path)
    assert json.loads(index.read_text(encoding='utf-8')) == {'figures': [], 'left_out': []}


def test_names_of_any_kind_are_drawn_as_they_are(tmp_path: Path) -> None:
    """Dollars are no formulas, brackets no markup, Chinese no boxes; warnings would be errors here."""
    runs = [made_result(name, COUNTS, 8, [4]) for name in ODD_NAMES]
    board = board_of(runs)
    paths = write_figures([board], tmp_path)
    for path in paths:
        if path.suffix == '.svg':
            ElementTree.parse(path)
    with house_style():
        shown = [axes.get_title(loc='left') for axes in only(draws(board)).figure.axes]
    assert {'cost_$5_or_$6', 'a&b<c>"d"', 'no\\nbreak\\x00'} <= set(shown)


def test_what_no_font_can_draw_is_written_as_python_writes_it() -> None:
    """A character without glyph, and one of the private use area."""
    assert drawable('a\U000e0041b') == 'a\\U000e0041b'
    assert drawable('\ue000') == '\\ue000'


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


def test_without_a_chinese_font_names_stay_different(monkeypatch: pytest.MonkeyPatch) -> None:
    """No boxes that look alike: the characters' numbers."""
    monkeypatch.setattr(labels, '_glyphs', lambda: (frozenset(range(0x250)),))
    assert drawable('é数') == 'é\\u6570'


def test_the_pictures_of_the_docs_are_small_and_complete() -> None:
    """One for every figure that the page describes, none above 60 kB."""
    page = (DOCS / 'figures.md').read_text(encoding='utf-8')
    shown = [DOCS / path for path in re.findall(r'!\[[^]]*\]\(([^)]*)\)', page)]
    assert sorted(shown) == sorted((DOCS / 'images' / 'figures').glob('*.png'))
    assert all(path.stat().st_size < 60_000 for path in shown)
    assert all(f'`{path.stem}`' in page for path in shown)


def test_long_names_lose_their_middle() -> None:
    """Beginning and end stay; wide characters count twice; never more than the width."""
    assert cut_middle('abcdefghij', 7) == 'abc…hij'
    assert cut_middle('abc', 3) == 'abc'
    for width in range(3, 20):
        assert columns(cut_middle('数学模型-of-a-name-数学', width)) <= width
    with pytest.raises(InputError, match='at least 3'):
        cut_middle('abcd', 2)


def test_labels_tell_runs_apart() -> None:
    """Only settings that differ are shown; names alike after cutting get their place in the table."""
    board = board_of(made_sweep(['a', 'b'], questions=40))
    assert {run.label for run in labelled(board)} == {
        f'{model} t={t:g} p={p:g}' for model in 'ab' for t in (0.3, 0.5, 0.7, 1.0) for p in (0.8, 1.0)
    }
    long = [f'{"x" * 40}{number}{"y" * 40}' for number in range(4)]
    labels = [run.label for run in labelled(board_of([made_result(name, COUNTS, 8, [4]) for name in long]))]
    assert len(set(labels)) == len(long)


def test_boards_with_like_titles_have_different_files() -> None:
    """Titles that differ in what a file name cannot hold, or in case alone."""
    first, second, third = (
        Board(title, '', '', 4, small_board().entries) for title in ('数学 a/b', 'A b', 'a-b')
    )
    names = board_names([first, second, third])
    assert len({name.lower() for name in names}) == 3
    assert all(name.isascii() and '/' not in name for name in names)


def test_a_small_board_in_every_way_is_drawn(tmp_path: Path) -> None:
    """One question of one problem, all right or all wrong, k = 2, and runs with different n."""
    for number, c in enumerate(([0], [4])):
        assert write_figures([board_of([made_result('m_t1.0_l64', c, 4, [2])])], tmp_path / str(number))
    mixed = board_of([made_result('a_t1.0_l64', COUNTS, 8, [4]), made_result('b_t1.0_l64', COUNTS, 16, [4])])
    assert write_figures([mixed], tmp_path / 'mixed')


def test_formula_figures_are_written(tmp_path: Path) -> None:
    """pass@k against G-Pass@k over k and over c, and the simulation."""
    names = [path.name for path in write_formula_figures(tmp_path) if path.suffix == '.png']
    assert names == ['formula-over-k.png', 'formula-over-c.png', 'formula-unbiased.png']


@pytest.mark.parametrize('tau', [0.5, 0.75, 1.0])
def test_the_simulation_shows_that_the_estimate_is_unbiased(tau: float) -> None:
    """At every n within four standard errors of the true value; the plugged-in formula is not."""
    simulated = simulate(tau)
    errors = simulated.estimates.std(1) / np.sqrt(RERUNS)
    assert np.all(np.abs(simulated.estimates.mean(1) - simulated.truth) < 4 * errors)
    assert abs(simulated.plugged.mean(1)[0] - simulated.truth) > 10 * errors[0]


def test_without_matplotlib_the_extra_is_named(tmp_path: Path) -> None:
    """One line with the pip command, from the call and not from the import."""
    code = (
        'import sys; sys.modules["matplotlib"] = None\n'
        'from pathlib import Path\n'
        'from gpassk_opencompass.report.figures import write_formula_figures\n'
        'try: write_formula_figures(Path(sys.argv[1]))\n'
        'except ImportError as error: print(type(error).__name__, error)'
    )
    done = subprocess.run(
        [sys.executable, '-c', code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert 'MissingExtraError' in done.stdout
    assert 'gpassk_opencompass[report]' in done.stdout


def test_neither_pyplot_nor_the_backend_is_touched(tmp_path: Path) -> None:
    """Drawing leaves no global figure behind, and imports no window system."""
    code = (
        'import sys\n'
        'from pathlib import Path\n'
        'from gpassk_opencompass.report.figures import write_formula_figures\n'
        'assert "matplotlib" not in sys.modules\n'
        'write_formula_figures(Path(sys.argv[1]))\n'
        'print("matplotlib.pyplot" in sys.modules)'
    )
    done = subprocess.run(
        [sys.executable, '-c', code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == 'False'


def test_a_family_without_sampled_runs_gets_no_board() -> None:
    """Greedy runs alone make no board, so there is nothing to draw."""
    assert boards([made_result('m_t0_l64', [1, 0], 1)])[0] == []


def test_both_families_of_greedy_runs_say_what_is_missing() -> None:
    """Reasons, not empty pictures."""
    board = board_of([made_result('m_t1.0_l64', COUNTS, 8, [4])])
    assert [type(one) for family in (potential, gap) for one in family(board)] == [LeftOut, LeftOut]
    with house_style():
        assert isinstance(only(samples(board)), Drawing)


def test_a_figure_of_another_package_is_drawn_by_gpassk_report(tmp_path: Path) -> None:
    """The one of docs/extending.md: it stands among the others, and can be asked for by name."""
    [points] = [block.text for block in PAGE.blocks('toml') if '.figures' in block.text]
    [code] = [block.text for block in PAGE.blocks('python') if 'report.figures' in block.text]
    points = points.replace("project.entry-points.'", '').replace("'", '')
    install(tmp_path / 'site', 'theirs', points, figures=code)
    write_results(made_sweep(['m'], temperatures=(1.0,), top_ps=(1.0,), questions=40), tmp_path / 'results')
    folder = tmp_path / 'out' / 'figures'
    for names in (['counts'], ['draws', 'counts']):
        done = report_figures(tmp_path, *names)
        assert done.returncode == 0, done.stderr
        index = json.loads((folder / 'figures.json').read_text())
        assert [one['figure'] for one in index['figures']] == names
        assert (folder / 'LiveMathBench-vmade-counts.svg').is_file()
        assert (folder / 'LiveMathBench-vmade-draws.svg').is_file() == ('draws' in names)
    done = report_figures(tmp_path, 'no-such-figure')
    assert done.returncode == 2
    assert "'no-such-figure': expected one of thresholds, draws, " in done.stderr
    assert done.stderr.endswith(', gap, counts\n')


def report_figures(folder: Path, *names: str) -> subprocess.CompletedProcess[str]:
    """Run `gpassk report --figures` with what is installed in the folder `site`."""
    line = ['-m', 'gpassk_opencompass.cli', 'report', 'results', '-o', 'out', '--only', 'figures']
    return python(folder, folder / 'site', *line, '--figures', *names)


def test_a_drawing_whose_name_is_no_name_of_a_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be written anywhere."""
    astray = Drawing('../astray', 't', 'c', None)  # type: ignore[arg-type]
    monkeypatch.setattr(figures, 'FIGURES', Registry('none', 'figure', {'astray': 'made_figures:astray'}))
    monkeypatch.setitem(sys.modules, 'made_figures', SimpleNamespace(astray=lambda board: [astray]))
    with pytest.raises(InputError, match=r"'\.\./astray': expected letters"):
        list(drawings(small_board()))
