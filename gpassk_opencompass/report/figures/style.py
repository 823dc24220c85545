"""How all figures look, and how they become files: the same ones from the same numbers."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...errors import MissingExtraError
from ..written import write_file

if TYPE_CHECKING:
    from .drawing import Drawing

INK, FAINT = '#222222', '#8a8a8a'

DPI = 150

MAP_COLOURS = 'cividis'
"""From dark to light without a step back: the same order in grey, and to colour-blind readers."""


class Look(NamedTuple):
    """Colour, line and marker: each alone tells lines apart."""

    colour: str
    line: str | tuple[int, tuple[float, ...]]
    marker: str


LOOKS = (
    Look('#000000', '-', 'o'),
    Look('#d55e00', '--', 's'),
    Look('#0072b2', '-.', '^'),
    Look('#e69f00', '-', 'D'),
    Look('#009e73', (0, (1, 1)), 'v'),
    Look('#56b4e9', (0, (5, 1, 1, 1, 1, 1)), 'X'),
)
"""Okabe and Ito's colours, for runs."""

METRIC_LOOKS = {
    'pass': Look('#9a9a9a', (0, (1, 1)), '.'),
    'half': Look('#56b4e9', '-', 'o'),
    'most': Look('#0072b2', '--', 's'),
    'all': Look('#000000', '-', '^'),
    'mean': Look('#d55e00', '-.', 'D'),
}
"""For pass@k, G-Pass@k at τ = 0.5, 0.75 and 1.0, and mG-Pass@k; darker is stricter."""

STRICTER = (
    ('pass@k', METRIC_LOOKS['pass'], 0.0),
    ('G-Pass@k_0.5', METRIC_LOOKS['half'], 0.5),
    ('G-Pass@k_0.75', METRIC_LOOKS['most'], 0.75),
    ('G-Pass@k_1.0', METRIC_LOOKS['all'], 1.0),
)
"""The metrics of one question that stand together over k or c, ever stricter: name, look, τ."""

_SETTINGS = {
    'font.size': 8.0,
    'axes.titlesize': 8.0,
    'axes.titlelocation': 'left',
    'axes.titlepad': 4.0,
    'axes.labelsize': 8.0,
    'axes.edgecolor': FAINT,
    'axes.linewidth': 0.6,
    'axes.grid': True,
    'axes.axisbelow': True,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'grid.color': '#e4e4e4',
    'grid.linewidth': 0.5,
    'lines.linewidth': 1.3,
    'lines.markersize': 3.5,
    'legend.fontsize': 8.0,
    'legend.frameon': False,
    'legend.handlelength': 3.0,
    'xtick.labelsize': 7.0,
    'ytick.labelsize': 7.0,
    'xtick.color': INK,
    'ytick.color': INK,
    'text.color': INK,
    'text.parse_math': False,  # names of models are no formulas
    'svg.fonttype': 'path',
    'svg.hashsalt': 'gpassk_opencompass',
}


@contextmanager
def house_style() -> Iterator[None]:
    """Have figures made and saved within look the same whatever the user's matplotlibrc says; it is put back.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        with _no_backend_chosen():
            from matplotlib import style

        from .labels import font_families
    except ImportError as error:
        raise MissingExtraError('matplotlib', 'report') from error
    with style.context(['default', {**_SETTINGS, 'font.family': list(font_families())}]):
        yield


@contextmanager
def _no_backend_chosen() -> Iterator[None]:
    """Hide `MPLBACKEND`: files are drawn by Agg whatever it says, and one that is not there stops the import.

    A notebook sets it for all that it starts, also for programs of environments that lack its backend.
    """
    chosen = os.environ.pop('MPLBACKEND', None)
    try:
        yield
    finally:
        if chosen is not None:
            os.environ['MPLBACKEND'] = chosen


def save(drawing: Drawing, stem: Path, dpi: int = DPI) -> list[Path]:
    """Write `stem`.png and `stem`.svg, without dates; title and caption go into their metadata."""
    about = {'Title': drawing.title, 'Description': drawing.caption}
    forms = {'png': {**about, 'Software': None}, 'svg': {**about, 'Date': None, 'Creator': None}}
    paths = []
    for form, metadata in forms.items():
        drawn = io.BytesIO()
        drawing.figure.savefig(drawn, format=form, dpi=dpi, metadata=metadata)
        paths.append(stem.with_name(f'{stem.name}.{form}'))
        write_file(paths[-1], drawn.getvalue())
    return paths
