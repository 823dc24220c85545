"""What a reader can tell apart in figures: colours, runs, and texts that do not lie on each other."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_results import board_of, made_sweep

from gpassk_opencompass import InputError
from gpassk_opencompass.report.leaderboard import Board

pytest.importorskip('matplotlib')

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from gpassk_opencompass.report.figures import drawings, write_figures
from gpassk_opencompass.report.figures.chosen import MOST, chosen, with_picked
from gpassk_opencompass.report.figures.curves import sensitivity, thresholds
from gpassk_opencompass.report.figures.drawing import Drawing
from gpassk_opencompass.report.figures.style import (
    FAINT,
    GROUND,
    INK,
    LOOKS,
    METRIC_LOOKS,
    PALETTE,
    Shade,
    house_style,
)

pytestmark = pytest.mark.slow

LONG = 'organisation-of-models-with-a-name-of-ninety-characters-for-mathematics-instruct-step-{}'

BLIND = {
    'no red': (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    'no green': (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    'no blue': (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
    'all': ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
}
"""What linear red, green and blue are to each kind of reader: Machado, Oliveira and Fernandes 2009."""

TO_XYZ = (
    (0.4124564, 0.3575761, 0.1804375),
    (0.2126729, 0.7151522, 0.0721750),
    (0.0193339, 0.1191920, 0.9503041),
)
WHITE = (0.95047, 1.0, 1.08883)


def linear(colour: str) -> np.ndarray:
    """Red, green and blue light of `#rrggbb`, as IEC 61966-2-1 has it."""
    parts = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(light: np.ndarray) -> np.ndarray:
    """CIE L*a*b* under D65."""
    share = np.asarray(TO_XYZ) @ light / WHITE
    root = np.where(share > 216 / 24389, np.cbrt(share), (24389 / 27 * share + 16) / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""
    low, high = sorted(float(np.asarray(TO_XYZ)[1] @ linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def small_board() -> Board:
    """Two models at three temperatures."""
    return board_of(made_sweep(['model-A', 'model-B'], (0.3, 0.7, 1.0), (0.8,), questions=40, seed=5))


def large_board() -> Board:
    """Twelve models with long and Chinese names at two temperatures, each with its greedy run."""
    models = [f'通义千问-{number}' if number % 3 else LONG.format(number) for number in range(12)]
    return board_of(made_sweep(models, (0.3, 0.7), (0.8,), questions=60, seed=4))


@pytest.mark.parametrize('mode', Shade._fields)
def test_every_series_stands_out_from_its_ground(mode: str) -> None:
    """A contrast of at least 3, on white and on the dark ground of the page."""
    assert GROUND == ('#ffffff', '#12171c')
    for shade in PALETTE:
        assert contrast(getattr(shade, mode), getattr(GROUND, mode)) >= 3
    for colour in (FAINT, INK, *(look.colour for look in (*LOOKS, *METRIC_LOOKS.values()))):
        assert contrast(colour, GROUND.light) >= 3


@pytest.mark.parametrize('eyes', list(BLIND))
@pytest.mark.parametrize('mode', Shade._fields)
def test_series_are_told_apart_by_every_reader(eyes: str, mode: str) -> None:
    """Any two are 12 apart in L*a*b*, five times what is just noticed; also without one kind of cones."""
    seen = [lab(np.clip(np.asarray(BLIND[eyes]) @ linear(getattr(one, mode)), 0, 1)) for one in PALETTE]
    assert min(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2)) > 12


@pytest.mark.parametrize('mode', Shade._fields)
def test_series_differ_in_grey_by_lightness_marker_and_dash(mode: str) -> None:
    """No two have one lightness; each has a marker and a dash of its own."""
    lightness = sorted(lab(linear(getattr(shade, mode)))[0] for shade in PALETTE)
    assert min(after - before for before, after in pairwise(lightness)) > 3
    assert len(PALETTE) == len({look.marker for look in LOOKS}) == len({look.line for look in LOOKS}) >= 6
    assert [look.colour for look in LOOKS] == [shade.light for shade in PALETTE]


def out_of_view(axis: Any) -> list[Text]:
    """The labels of ticks beyond the ends of an axis, which are not drawn."""
    low, high = sorted(axis.get_view_interval())
    beyond = [tick for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high]
    return [text for tick in beyond for text in (tick.label1, tick.label2)]


def boxes(drawing: Drawing) -> dict[str, tuple[float, float, float, float]]:
    """The texts of a figure that are seen, and where, in inches."""
    figure = drawing.figure
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    hidden = {text for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for text in out_of_view(axis)}
    found = {}
    for number, text in enumerate(figure.findobj(Text)):
        lines = text.get_text().strip()
        if lines and text not in hidden and text.get_visible():
            box = text.get_window_extent(canvas.get_renderer())
            found[f'{number} {lines}'] = tuple(side / figure.dpi for side in box.extents)
    return found


def crowded_board() -> Board:
    """Seventy models, some without a greedy run, of two lengths: every note is written."""
    runs = made_sweep([LONG.format(number) for number in range(70)], (0.3,), (0.8,), questions=20, seed=4)
    short = made_sweep(['short'], (0.3, 0.7), (0.8,), questions=20, seed=4)
    short = [run for run in short if run.n > 1]
    for run in short:
        run.run.model = run.run.model.replace('_l8192', '_l64')
    return board_of([*runs, *short])


@pytest.mark.parametrize(
    'board', [small_board(), large_board(), crowded_board()], ids=['small', 'large', 'crowded']
)
def test_no_text_lies_on_another_or_beyond_the_edge(board: Board) -> None:
    """Of any figure, with long and Chinese names; and no figure is larger than a page."""
    with house_style():
        for one in drawings(board):
            if isinstance(one, Drawing):
                width, height = one.figure.get_size_inches()
                assert width <= 10
                assert height <= 12
                placed = boxes(one)
                for name, (left, low, right, high) in placed.items():
                    assert (left >= 0, low >= 0, right <= width, high <= height) == (True,) * 4, (
                        one.name,
                        name,
                    )
                for (first, a), (second, b) in combinations(placed.items(), 2):
                    apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
                    assert apart, (one.name, first, second)


def test_a_figure_has_six_runs_at_most_and_says_which_and_how_to_see_others() -> None:
    """The best run of each of the first six models; all of six runs."""
    board = large_board()
    found = chosen(board)
    first = {}
    for place, entry in enumerate(board.entries):
        first.setdefault(entry.model, place)
    shown = [board.entries.index(run.entry) for run in found.runs]
    assert shown == list(first.values())[:MOST]
    assert len(found.runs) + len(found.others) == len(board.entries)
    assert found.note == [
        'Shown: 6 of 24 runs, the best run of each model first. '
        'Other runs: gpassk report --runs NAME; the tables have all.'
    ]
    assert chosen(small_board()).note == []
    assert len(chosen(small_board()).runs) == 6
    few = board_of(made_sweep(['a', 'b'], (0.1, 0.3, 0.5, 0.7), (1.0,), questions=40))
    assert sorted(run.entry.model for run in chosen(few).runs) == ['a'] * 3 + ['b'] * 3


def test_the_other_runs_stand_behind_in_grey() -> None:
    """Of 24 runs six lines with a marker, eighteen without a name; the number of figures does not grow."""
    with house_style():
        [one] = thresholds(large_board())
        [axes] = one.figure.axes
        names = [drawing.name for drawing in drawings(large_board()) if isinstance(drawing, Drawing)]
    assert [line.get_marker() for line in axes.lines].count('None') == 18
    assert len(axes.lines) == 24
    assert names == [
        *('thresholds', 'samples', 'sensitivity-temperature', 'questions'),
    ]


def test_runs_can_be_asked_for() -> None:
    """By a part of the name, in upper or lower case; of series, too."""
    [board] = with_picked([large_board()], ['STEP-9', '通义千问-1_t0.7'])
    names = [run.entry.name for run in chosen(board).runs]
    assert len(names) == 3
    assert all('step-9' in name or '通义千问-1_t0.7' in name for name in names)
    assert 'those that were asked for' in chosen(board).note[0]
    with house_style():
        one = next(iter(sensitivity(board)))
        assert isinstance(one, Drawing)
        assert len(one.figure.axes) == 2


def test_a_name_that_no_run_has_is_refused(tmp_path: Path) -> None:
    """With some of the names that there are, before anything is written."""
    with pytest.raises(InputError, match=r"--runs 'gpt': no run of the tables .*model-B.* and 2 more"):
        write_figures([small_board()], tmp_path, runs=['model', 'gpt'])
    assert list(tmp_path.iterdir()) == []
