"""Four figures of each board as SVG and PNG: legible in grey, to colour-blind readers, the same at every run.

    thresholds   G-Pass@k_τ over τ, a line a k, a panel a run
    samples      how far mG-Pass@k can be off over the number of samples, for new and for the same questions
    sensitivity  the metrics over a setting of the sampling, a panel a model
    questions    the share of right answers, run × question

A figure shows as many runs as a reader tells apart: the best of each model first; the tables have all.
"""

from __future__ import annotations

import io
import os
import textwrap
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from pandas import DataFrame

from ..errors import MissingExtraError
from ..files import write_file
from ..metrics import Kind, Metric, value_table
from ..statistics import REACH, mean_interval, rerun_error, value_variance
from ..text import progress
from .frame import GREEDY, SETTINGS, Board, Entry, Floats, Scores, scores_of
from .tables import file_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 6  # of a figure, and lines of a panel: as many as there are colours
MOST_STEPS = 32  # points of a line over τ: of a larger k so many of 1/k, 2/k, …, 1, evenly spread
MOST_ROWS, MOST_COLUMNS, NAMED_COLUMNS = 50, 400, 48
"""Runs and questions of the map, of more questions neighbours share a column; so many have names below."""

PALETTE = ('#2c5ac1', '#b2451b', '#268168', '#51195c', '#b1892a', '#cf5595')
"""Blue, orange, green, purple, gold, pink: told apart by readers who see no red, no green or no blue, and by
lightness in grey, with a contrast of at least 3 to white."""

_DASHES = ('-', '--', '-.', (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))
LOOKS: list[dict[str, Any]] = [
    {'color': colour, 'linestyle': line, 'marker': marker}
    for colour, line, marker in zip(PALETTE, _DASHES, 'os^DvX', strict=True)
]
"""Colour, line and marker: each alone tells lines apart."""

FAINT = '#767676'
_STYLE = {
    **{'font.size': 8.0, 'xtick.labelsize': 7.0, 'ytick.labelsize': 7.0, 'axes.titlesize': 8.0},
    **{'axes.titlelocation': 'left', 'axes.edgecolor': FAINT, 'axes.linewidth': 0.6, 'axes.axisbelow': True},
    **{'axes.spines.top': False, 'axes.spines.right': False},
    **{'axes.grid': True, 'grid.color': '#e4e4e4', 'grid.linewidth': 0.5},
    **{'lines.linewidth': 1.3, 'lines.markersize': 3.5, 'legend.frameon': False, 'legend.handlelength': 3.0},
    **{'text.color': '#222222', 'text.parse_math': False},  # names of models are no formulas
    **{'svg.fonttype': 'path', 'svg.hashsalt': 'gpassk_opencompass'},
}

_WITH_CHINESE = (
    *('Noto Sans CJK SC', 'Noto Sans SC', 'Source Han Sans SC', 'WenQuanYi Micro Hei', 'WenQuanYi Zen Hei'),
    *('Noto Sans CJK JP', 'Droid Sans Fallback', 'Microsoft YaHei', 'SimHei', 'PingFang SC'),
    *('Hiragino Sans GB', 'Arial Unicode MS'),
)
"""The first that is installed serves for what DejaVu Sans, which comes with matplotlib, lacks.

Of a file with several fonts matplotlib sees the first: of Debian's fonts-noto-cjk the one called JP.
"""

Figures = dict[str, list[tuple[str, str]]]
"""Title of a board → caption and SVG of each of its figures."""


class Drawing(NamedTuple):
    """A figure with its name, and what a reader who cannot see it is told."""

    name: str
    title: str
    caption: str
    figure: Figure


def write_figures(boards: Sequence[Board], data: DataFrame, folder: Path, dpi: int = 150) -> Figures:
    """Draw all boards into `folder/figures`, SVG and PNG; a figure that would show nothing is left out."""
    written, taken = Figures(), set[str]()
    (folder / 'figures').mkdir(parents=True, exist_ok=True)
    with house_style():
        for board in progress('drawing figures', boards):
            for name, title, caption, figure in drawings(board, data):
                stem, content = file_name(f'{board.title}-{name}', taken), b''
                about = {'Title': title, 'Description': caption}
                for form, dates in (('png', {'Software': None}), ('svg', {'Date': None, 'Creator': None})):
                    drawn = io.BytesIO()
                    figure.savefig(drawn, format=form, dpi=dpi, metadata={**about, **dates})
                    content = drawn.getvalue()
                    write_file(folder / f'figures/{stem}.{form}', content)
                written.setdefault(board.title, []).append((f'{title}. {caption}', content.decode()))
    return written


def drawings(board: Board, data: DataFrame) -> Iterator[Drawing]:
    """Draw the figures of a board, one at a time; within `house_style`."""
    yield thresholds(board)
    if any(entry.result.n > board.k for entry in board.entries):
        yield samples(board)
    scores = scores_of(data[(data.benchmark == board.title) & (data.group == '')])
    for setting in ('temperature', 'top_p', 'top_k', 'repetition_penalty'):
        if found := series(board, setting):
            yield sensitivity(board, scores, setting, found)
    yield questions(board)


def thresholds(board: Board) -> Drawing:
    """Draw G-Pass@k_τ over τ: a panel a run, a line a k, a band for the k of the tables."""
    entries = best_of_each(board.entries, MOST_PANELS)
    ks = sorted({k for e in entries for k in (*e.result.ks, board.k) if k > 1})[-len(LOOKS) :]
    title = 'G-Pass@k over the threshold τ'
    figure, panels = _sheet(len(entries), title, board)
    for axes, entry in zip(panels, entries, strict=True):
        for k, look in zip(ks, LOOKS, strict=False):
            if k > entry.result.n:
                continue
            steps = sorted({round(i) for i in np.linspace(1, k, min(k, MOST_STEPS))})
            values = np.stack([entry.result.values(Metric(Kind.G_PASS, k, step / k)) for step in steps])
            found, taus = mean_interval(values, entry.result.counts.problem), [step / k for step in steps]
            axes.plot(taus, 100 * found.estimate, **look, markevery=max(1, k // 8), label=f'k = {k}')
            if k == board.k:
                low, high = found.at(board.level)
                axes.fill_between(taus, 100 * low, 100 * high, color=look['color'], alpha=0.16, linewidth=0)
        axes.set_title(drawable(entry.name, 40))
        axes.set_xlim(0, 1.02)
    points = 'Points: τ = 1/k, which is pass@k, to 1, all k of k right.'
    notes = [f'{points} Band: {_interval(board)}, k = {board.k}.', *_chosen(entries, board.entries)]
    _finish(figure, panels, 'τ', 'G-Pass@k_τ, percent', notes)
    caption = f'Lines that fall as τ grows to 1, a panel for each of {len(entries)} runs, a line for each k.'
    return Drawing('thresholds', title, caption, figure)


def samples(board: Board) -> Drawing:
    """Draw the half-widths of both intervals of mG-Pass@k with m samples a question, a line a run."""
    metric = board.ranked_by
    able = [entry for entry in board.entries if entry.result.n > board.k]
    entries = best_of_each(able, MOST_PANELS)
    title = f'How far {metric} can be off, over the samples a question'
    figure, panels = _sheet(2, title, board, share_y=False)
    own = {entry.result.n for entry in entries}
    sizes = sorted(own | {round(size) for size in np.geomspace(board.k, 4 * max(own), 24)})
    for entry, look in zip(entries, LOOKS, strict=False):
        halves, place = half_widths(entry, metric, sizes, board.level), sizes.index(entry.result.n)
        for axes, half in zip(panels, halves, strict=True):
            axes.plot(sizes, half, **look, markevery=4, label=drawable(entry.name, 40))
            ring = {'marker': 'o', 'markersize': 8, 'markerfacecolor': 'none', 'color': look['color']}
            axes.plot(sizes[place], half[place], **ring)
    ticks = [size for size in (board.k * 2**i for i in range(20)) if size <= 4 * max(own)]
    headings = 'for new questions of the same kind', 'for the same questions again'
    for axes, heading in zip(panels, headings, strict=True):
        axes.set_title(heading)
        axes.set_xscale('log', base=2)
        axes.set_xticks(ticks, list(map(str, ticks)))
        axes.set_ylim(bottom=0)
    note = 'Ring: the samples that the run has; beyond it the lines say what more samples would bring.'
    _finish(figure, panels, 'samples a question', '± points', [note, *_chosen(entries, able)])
    caption = f'Lines that fall as samples are added: how many points {metric} can be off.'
    return Drawing('samples', title, caption, figure)


def half_widths(entry: Entry, metric: Metric, sizes: Sequence[int], level: float) -> tuple[Floats, Floats]:
    """Return the half-widths in points for new and for the same questions, with m samples a question each.

    With m the variance of a question's value is that of X ~ Binomial(m, (c + ½)/(n + 1)) right answers.
    """
    n, c = entry.result.n, entry.result.table.c
    found = mean_interval(entry.result.values(metric), entry.result.counts.problem, metric.top)
    again = float(rerun_error(c, n, partial(value_table, metric)))
    chances = (np.arange(n + 1) + 0.5) / (n + 1)
    variances = [value_variance(value_table(metric, m), chances) for m in (n, *sizes)]
    own, *parts = np.array(variances) @ np.bincount(c, minlength=n + 1) / len(c) ** 2
    new = np.sqrt(np.maximum(float(found.error) ** 2 + np.array(parts) - own, 0))
    low, high = found._replace(bounds=(-np.inf, np.inf)).at(level)
    half = float(high - low) / 2 / float(found.error)
    return 100 * half * new, 100 * REACH * again * np.sqrt(np.array(parts) / own if own else parts)


def series(board: Board, setting: str) -> list[list[Entry]]:
    """Return for each model with two values of a setting, all else the same, its runs by that value."""
    groups: defaultdict[Any, dict[float, Entry]] = defaultdict(dict)
    for entry in board.entries:
        sampling = dict(entry.result.sampling)
        value = sampling.pop(setting, None)
        if value is not None:
            groups[entry.result.model, str(sorted(sampling.items()))].setdefault(float(value), entry)
    wide = [[runs[value] for value in sorted(runs)] for runs in groups.values() if len(runs) > 1]
    firsts = best_of_each([runs[0] for runs in wide], MOST_PANELS)
    return [runs for runs in wide if runs[0] in firsts]


def sensitivity(board: Board, scores: Scores, setting: str, found: Sequence[Sequence[Entry]]) -> Drawing:
    """Draw the metrics of the tables over a setting, its values evenly spread: a panel a series of runs."""
    title = f'Sensitivity to {setting}'
    figure, panels = _sheet(len(found), title, board)
    names = list(map(str, board.metrics))[-len(LOOKS) :]
    for axes, runs in zip(panels, found, strict=True):
        for number, (name, look) in enumerate(zip(names, LOOKS, strict=False)):
            x = np.arange(len(runs)) + 0.07 * (number - (len(names) - 1) / 2)  # so that no bar hides another
            own = [scores[board.title, run.name, '', name] for run in runs]
            axes.plot(x, [one.value for one in own], **look, label=name)
            lows, highs = [one.low for one in own], [one.high for one in own]
            axes.vlines(x, lows, highs, color=look['color'], linewidth=1.0)
        greedy = (scores.get((board.title, run.name, '', GREEDY)) for run in runs)
        if level := next(filter(None, greedy), None):
            axes.axhline(level.value, color=FAINT, linestyle=':', label='greedy run, accuracy')
        sampling = runs[0].result.sampling
        axes.set_xticks(range(len(runs)), [f'{run.result.sampling[setting]:g}' for run in runs])
        axes.set_xlim(-0.5, len(runs) - 0.5)
        fixed = (f'{SETTINGS[name]}={value:g}' for name, value in sampling.items() if name != setting)
        others = [text for text in fixed if text in runs[0].name]
        axes.set_title(drawable(' '.join([runs[0].result.model, *others]), 40))
    _finish(figure, panels, setting, 'percent', [f'Bars: {_interval(board)}.'])
    caption = f'A panel for each of {len(found)} series of runs: the metrics at each value of {setting}.'
    return Drawing(f'sensitivity-{setting.replace("_", "-")}', title, caption, figure)


def questions(board: Board) -> Drawing:
    """Draw the map of c/n, questions from the hardest to the easiest by the mean of all runs."""
    shares = np.stack([c / n for n, c, _ in board.counts(entry.result for entry in board.entries)])
    order = np.argsort(shares.mean(0), kind='stable')
    entries = best_of_each(board.entries, MOST_ROWS)
    shares = shares[[board.entries.index(entry) for entry in entries]][:, order]
    notes = ['Stable: all dark or all light. Unstable: in between. Questions: hardest first.']
    if len(order) > MOST_COLUMNS:
        parts = np.array_split(np.arange(len(order)), MOST_COLUMNS)
        shares = np.stack([shares[:, part].mean(1) for part in parts], axis=1)
        notes.append(f'Each column is the mean of {len(order) / MOST_COLUMNS:.1f} questions.')
    title, named = 'Share of right answers, question by question', len(order) <= NAMED_COLUMNS
    height = 1.7 + 0.155 * max(len(entries), 6) + (0.9 if named else 0)
    figure, [axes] = _sheet(1, title, board, size=(9.1, height))
    look: dict[str, Any] = {'cmap': 'cividis', 'vmin': 0, 'vmax': 1}
    image = axes.imshow(shares, aspect='auto', interpolation='nearest', rasterized=True, **look)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.set_yticks(range(len(entries)), [drawable(entry.name, 40) for entry in entries])
    shown = [drawable(board.uids[place], 18) for place in order] if named else []
    axes.set_xticks(range(len(shown)), shown, rotation=90, size=6)
    bar = figure.colorbar(image, ax=axes, orientation='vertical', ticks=[0, 0.5, 1], shrink=0.8, pad=0.01)
    bar.ax.set_yticklabels(['0 %', '50 %', '100 % right'])
    _finish(figure, [], '', '', [*notes, *_chosen(entries, board.entries)])
    caption = f'A map of {len(entries)} runs by {len(order)} questions: the share of right answers, c/n.'
    return Drawing('questions', title, caption, figure)


def best_of_each(entries: Sequence[Entry], most: int) -> list[Entry]:
    """Return at most so many runs, in their order: the best of each model first."""
    seen: Counter[str] = Counter()
    places = []
    for place, entry in enumerate(entries):
        places.append((seen[entry.result.model], place))
        seen[entry.result.model] += 1
    return [entries[place] for place in sorted(place for _, place in sorted(places)[:most])]


# The sheet that all stand on


def _sheet(
    count: int, title: str, board: Board, share_y: bool = True, size: tuple[float, float] | None = None
) -> tuple[Figure, list[Axes]]:
    """Return a figure with title and panels in rows."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    columns = min(count, 2 if count in (2, 4) else 3)
    rows = -(-count // columns)
    width, height = {1: (6.2, 3.6), 2: (3.9, 3.0)}.get(columns, (2.9, 2.4))
    size = size or (columns * width + 0.4, rows * height + 1.1)
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.09, h_pad=0.06))
    grid = figure.subplots(rows, columns, squeeze=False, sharey=share_y).ravel().tolist()
    for axes in grid[count:]:
        axes.remove()
    figure.suptitle(f'{title}\n{drawable(board.title, 80)}: {board.size}.', x=0.01, ha='left', size=9.5)
    return figure, grid[:count]


def _finish(figure: Figure, panels: Sequence[Axes], x: str, y: str, notes: Sequence[str]) -> None:
    """Show percents as 0 to 100, the labels of the axes, one legend for all panels, and notes below."""
    wide = float(figure.get_size_inches()[0])
    text = '\n'.join(textwrap.wrap(' '.join(notes), int(wide * 17), break_on_hyphens=False))
    handles: Mapping[str, Any] = {}
    for axes in panels:
        if y.endswith('percent'):
            axes.set_ylim(-3, 103)  # with room for the markers at the ends
            axes.set_yticks(range(0, 101, 25))
        axes.set_xlabel(x)
        place = axes.get_subplotspec()
        axes.set_ylabel(y if place and place.is_first_col() else '')
        own, labels = axes.get_legend_handles_labels()
        handles = {**handles, **dict(zip(labels, own, strict=True))}
    if handles:
        per_row = max(1, int(wide // (0.7 + 0.07 * max(map(columns_of, handles)))))
        look = {'title': text, 'title_fontsize': 7, 'alignment': 'left', 'ncols': per_row}
        figure.legend(handles.values(), handles, loc='outside lower left', **look)
    else:
        figure.supxlabel(text, x=0.01, ha='left', size=7)
    figure.draw_without_rendering()
    figure.set_layout_engine('none')  # all is in its place


def _interval(board: Board) -> str:
    return f'the {100 * board.level:g} % interval for new questions of the same kind'


def _chosen(shown: Sequence[Entry], able: Sequence[Entry]) -> list[str]:
    line = f'Shown: {len(shown)} of {len(able)} runs, the best of each model first; the tables have all.'
    return [line] if len(shown) < len(able) else []


@contextmanager
def house_style() -> Iterator[None]:
    """Have figures look the same whatever matplotlibrc says; an error where matplotlib is not installed.

    `MPLBACKEND` is hidden: a notebook sets it for all that it starts, also where its backend is not there.
    """
    chosen = os.environ.pop('MPLBACKEND', None)
    try:
        from matplotlib import style
    except ImportError as error:
        raise MissingExtraError('matplotlib', 'report') from error
    finally:
        if chosen is not None:
            os.environ['MPLBACKEND'] = chosen
    with style.context(['default', {**_STYLE, 'font.family': _fonts()[0]}]):
        yield


@lru_cache(maxsize=1)
def _fonts() -> tuple[list[str], frozenset[int]]:
    """Return the fonts, and the characters that one of them has."""
    from matplotlib.font_manager import findfont, fontManager, get_font

    installed = {font.name for font in fontManager.ttflist}
    fonts = ['DejaVu Sans', *[name for name in _WITH_CHINESE if name in installed][:1]]
    return fonts, frozenset(code for family in fonts for code in get_font(findfont(family)).get_charmap())


def columns_of(text: str) -> int:
    """Return the width of a text: wide characters take two columns."""
    return sum(2 if unicodedata.east_asian_width(char) in 'WF' else 1 for char in text)


def drawable(text: str, width: int) -> str:
    """Return the text on one line, with escapes for what no font can draw, its middle cut out if too long.

    >>> drawable('a\\nb', 20), drawable('model-with-a-long-name_t0-3_p0-8', 20)
    ('a\\\\nb', 'model-wit…_t0-3_p0-8')
    """
    glyphs = _fonts()[1]
    whole = ''.join(
        c if c.isprintable() and ord(c) in glyphs else c.encode('unicode_escape').decode() for c in text
    )
    if columns_of(whole) <= width:
        return whole
    head, tail = whole, whole
    while columns_of(tail) > width // 2:
        tail = tail[1:]
    while columns_of(head) + columns_of(tail) + 1 > width:
        head = head[:-1]
    return f'{head}…{tail}'
