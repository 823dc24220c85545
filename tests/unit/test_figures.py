"""Figures: the numbers behind lines, what a reader can tell apart, their files, and names of any kind."""

from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from made_results import board_of, made_result, made_sweep

from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.report.frame import frame

pytest.importorskip('matplotlib')

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from gpassk_opencompass.report import figures
from gpassk_opencompass.report.figures import (
    best_of_each,
    drawings,
    half_widths,
    house_style,
    series,
    write_figures,
)

pytestmark = pytest.mark.slow

COUNTS = (0, 1, 3, 4, 6, 8, 8, 2, 5, 7)
ODD_NAMES = ('cost_$5_or_$6', 'a&b<c>"d"', '数学-模型_t', 'x^{2}\\alpha', 'no\nbreak\x00', 'عربى')
LONG = 'organisation-of-models-with-a-name-of-ninety-characters-for-mathematics-instruct-step-{}'


def drawn(board):
    with house_style():
        return {one.name: one.figure for one in drawings(board, frame([board]))}


def small_board():
    """Two runs of one model on ten questions, and its greedy run."""
    runs = [
        made_result(f'm_t{t}_l64', list(c), 8, [2, 4]) for t, c in (('0.3', COUNTS), ('1.0', COUNTS[::-1]))
    ]
    return board_of([*runs, made_result('m_t0_l64', [1, 0] * 5, 1)])


def large_board():
    """Twelve models with long and Chinese names at two temperatures, each with its greedy run."""
    models = [f'通义千问-{number}' if number % 3 else LONG.format(number) for number in range(12)]
    return board_of(made_sweep(models, (0.3, 0.7), (0.8,), questions=60, seed=4))


def test_a_line_over_thresholds_is_the_share_of_draws():
    board = small_board()
    panels = drawn(board)['thresholds'].axes
    assert [axes.get_title(loc='left') for axes in panels] == [entry.name for entry in board.entries]
    for axes, entry in zip(panels, board.entries, strict=True):
        lines = {line.get_label(): line for line in axes.lines}
        assert list(lines) == ['k = 2', 'k = 4']
        for k in (2, 4):
            answers = [[1] * c + [0] * (8 - c) for c in entry.result.table.c]
            right = np.array([[sum(draw) for draw in combinations(one, k)] for one in answers])
            shares = [100 * (right >= need).mean() for need in range(1, k + 1)]
            assert lines[f'k = {k}'].get_xdata() == pytest.approx([need / k for need in range(1, k + 1)])
            assert lines[f'k = {k}'].get_ydata() == pytest.approx(shares)


def test_half_widths_over_n_are_those_of_the_tables_and_fall():
    """At the n of the run they are the numbers of the frame; a rerun error falls as 1/√m far out."""
    board = board_of(made_sweep(['a'], (0.7,), (1.0,), questions=100, seed=4))
    [entry] = board.entries
    new, same = half_widths(entry, board.ranked_by, [16, 48, 192, 768], board.level)
    row = frame([board]).query('group == "" and metric == "mG-Pass@16"').iloc[0]
    assert (row.low, row.high) == pytest.approx(
        ((row.low + row.high) / 2 - new[1], (row.low + row.high) / 2 + new[1])
    )
    assert same[1] == pytest.approx(1.959964 * row.rerun)
    assert new[0] > new[1] > new[2] > new[3]
    assert same[2] / same[3] == pytest.approx(2, rel=0.05)


def test_sensitivity_keeps_the_other_settings_fixed():
    """A series for each model and top_p, its values in order, its points those of the table."""
    board = board_of(made_sweep(['a', 'b'], (0.7, 0.3, 1.0), (0.8, 1.0), questions=40))
    found = series(board, 'temperature')
    assert sorted({(runs[0].result.model, runs[0].result.sampling['top_p']) for runs in found}) == [
        (model, p) for model in 'ab' for p in (0.8, 1.0)
    ]
    assert all([run.result.sampling['temperature'] for run in runs] == [0.3, 0.7, 1.0] for runs in found)
    figure = drawn(board)['sensitivity-temperature']
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    wanted = [100 * run.result.values(Metric.parse('mG-Pass@16')).mean() for run in found[0]]
    assert lines['mG-Pass@16'].get_ydata() == pytest.approx(wanted)
    assert 'greedy run, accuracy' in lines


def test_the_map_has_the_hardest_question_first():
    board = small_board()
    image = np.asarray(drawn(board)['questions'].axes[0].images[0].get_array())
    shares = np.stack([entry.result.table.c / 8 for entry in board.entries])
    assert image == pytest.approx(shares[:, np.argsort(shares.mean(0), kind='stable')])


def test_a_figure_has_six_runs_at_most_the_best_of_each_model_first():
    board = large_board()
    models = [entry.result.model for entry in board.entries]
    first = sorted({model: models.index(model) for model in models}.values())[:6]
    assert [board.entries.index(entry) for entry in best_of_each(board.entries, 6)] == first
    figure = drawn(board)['thresholds']
    said = ' '.join(text.get_text() for text in figure.findobj(Text))
    assert 'Shown: 6 of 24 runs' in said.replace('\n', ' ')


@pytest.mark.parametrize('board', [small_board(), large_board()], ids=['small', 'large'])
def test_no_text_lies_on_another_or_beyond_the_edge(board):
    """Of any figure, with long and Chinese names; and no figure is larger than a page."""
    for name, figure in drawn(board).items():
        width, height = figure.get_size_inches()
        assert (width <= 10, height <= 12) == (True, True)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        hidden = set()
        for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
            low, high = sorted(axis.get_view_interval())
            beyond = [tick for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high]
            hidden |= {text for tick in beyond for text in (tick.label1, tick.label2)}
        texts = [
            text
            for text in figure.findobj(Text)
            if text.get_text().strip() and text not in hidden and text.get_visible()
        ]
        placed = [
            (text.get_text(), [side / figure.dpi for side in text.get_window_extent().extents])
            for text in texts
        ]
        for text, (left, low, right, high) in placed:
            assert (left >= 0, low >= 0, right <= width, high <= height) == (True,) * 4, (name, text)
        for (first, a), (second, b) in combinations(placed, 2):
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], (name, first, second)


def test_files_are_what_they_say_and_the_same_every_time(tmp_path):
    """PNG and SVG of every figure, in two runs the same bytes, whatever the user's settings are."""
    import matplotlib as mpl

    board = small_board()
    data = frame([board])
    first = write_figures([board], data, tmp_path / 'a', dpi=40)
    with mpl.rc_context({'font.size': 30, 'axes.facecolor': 'red', 'svg.hashsalt': None}):
        write_figures([board], data, tmp_path / 'b', dpi=40)
        assert mpl.rcParams['font.size'] == 30
    files = sorted(path.relative_to(tmp_path / 'a') for path in (tmp_path / 'a').rglob('*.*'))
    names = ('questions', 'samples', 'sensitivity-temperature', 'thresholds')
    assert [file.stem for file in files[::2]] == [f'LiveMathBench-vmade-{name}' for name in names]
    assert len(files) == 2 * len(names) == 2 * len(first[board.title])
    for file in files:
        content = (tmp_path / 'a' / file).read_bytes()
        assert content == (tmp_path / 'b' / file).read_bytes()
        if file.suffix == '.svg':
            assert ElementTree.fromstring(content).tag == '{http://www.w3.org/2000/svg}svg'
        else:
            assert content.startswith(b'\x89PNG\r\n')


def test_names_of_any_kind_are_drawn_as_they_are(monkeypatch):
    """Dollars are no formulas, brackets no markup, and what no font has is an escape, not a box."""
    monkeypatch.setattr(figures, '_fonts', lambda: (['DejaVu Sans'], frozenset(range(0x250))))
    board = board_of([made_result(name, COUNTS, 8, [4]) for name in ODD_NAMES])
    said = {text.get_text() for one in drawn(board).values() for text in one.findobj(Text)}
    assert {'cost_$5_or_$6', 'a&b<c>"d"', 'no\\nbreak\\x00', '\\u6570\\u5b66-\\u6a21\\u578b_t'} <= said
    assert '数' not in ''.join(said)
