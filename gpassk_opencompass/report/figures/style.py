"""How all figures look, and how they become files: the same ones from the same numbers."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import MissingExtraError
from ...files import write_file

if TYPE_CHECKING:
    from .drawing import Drawing


class Shade(NamedTuple):
    """One colour as it stands on white and on the dark ground of the page, as hexadecimal digits."""

    light: str
    dark: str


GROUND = Shade('#ffffff', '#12171c')

PALETTE = (
    Shade('#2c5ac1', '#8fb9f5'),
    Shade('#b2451b', '#fe7519'),
    Shade('#268168', '#4aba86'),
    Shade('#51195c', '#9c78e3'),
    Shade('#b1892a', '#f7e488'),
    Shade('#cf5595', '#fea7c5'),
)
"""Series of figures and of the page, in this order: blue, orange, green, purple, gold, pink.

Each has a contrast of at least 3 to the ground. Any two are told apart also by readers who see no red, no
green or no blue; no two have one lightness, so that they differ in grey, too.
"""

INK, FAINT, QUIET = '#222222', '#767676', '#d0d5da'
"""Text; what is there to compare with; what stands behind."""

DPI = 150

MAP_COLOURS = 'cividis'
"""From dark to light without a step back: the same order in grey, and to colour-blind readers."""


class Look(NamedTuple):
    """Colour, line and marker: each alone tells lines apart."""

    colour: str
    line: str | tuple[int, tuple[float, ...]]
    marker: str


_LINES: tuple[str | tuple[int, tuple[float, ...]], ...] = (
    '-',
    '--',
    '-.',
    (0, (1, 1)),
    (0, (5, 1, 1, 1, 1, 1)),
    (0, (8, 2)),
)

LOOKS = tuple(
    Look(shade.light, line, marker) for shade, line, marker in zip(PALETTE, _LINES, 'os^DvX', strict=True)
)
"""For runs, in the colours of `PALETTE`."""

METRIC_LOOKS = {
    'half': LOOKS[2]._replace(line='-', marker='o'),
    'most': LOOKS[0]._replace(line='--', marker='s'),
    'all': Look(INK, '-', '^'),
    'mean': LOOKS[1]._replace(line='-.', marker='D'),
}
"""For G-Pass@k at τ = 0.5, 0.75 and 1.0, and mG-Pass@k."""

_SETTINGS = {
    'font.size': 8.0,
    'axes.titlesize': 8.0,
    'axes.titlelocation': 'left',
    'axes.titlepad': 4.0,
    'axes.titley': 1.0,  # else each panel is laid out once more to see whether something is in the way
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


_PNG = {'compress_level': 3}
"""Of zlib: the same pixels in a twentieth more bytes than at the usual 6, and in two thirds of the time."""


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
        more: dict[str, Any] = {'pil_kwargs': _PNG} if form == 'png' else {}
        drawing.figure.savefig(drawn, format=form, dpi=dpi, metadata=metadata, **more)
        paths.append(stem.with_name(f'{stem.name}.{form}'))
        write_file(paths[-1], drawn.getvalue())
    return paths
