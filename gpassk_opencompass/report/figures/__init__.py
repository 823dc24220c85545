"""Figures of boards as PNG and SVG: legible in grey, to colour-blind readers, and the same at every run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from loguru import logger

from ...errors import InputError
from ...registry import Registry
from ...unseen import json_text
from ..leaderboard import Board
from ..written import free_name, write_file
from .drawing import Drawing, LeftOut, Sheet
from .formulas import formulas
from .style import DPI, house_style, save

__all__ = [
    'FIGURES',
    'Drawing',
    'Figure',
    'LeftOut',
    'Sheet',
    'board_names',
    'drawings',
    'write_figures',
    'write_formula_figures',
]

Figure = Callable[[Board], Iterable[Drawing | LeftOut]]
"""Draws a board, on one sheet or several, or says why there is nothing to draw."""

FIGURES: Registry[Figure] = Registry(
    'gpassk_opencompass.figures',
    'figure',
    {
        'thresholds': f'{__name__}.curves:thresholds',
        'draws': f'{__name__}.curves:draws',
        'samples': f'{__name__}.samples:samples',
        'sensitivity': f'{__name__}.curves:sensitivity',
        'scaling': f'{__name__}.scaling:scaling',
        'questions': f'{__name__}.questions:questions',
        'potential': f'{__name__}.greedy:potential',
        'gap': f'{__name__}.greedy:gap',
    },
    lambda _, found: callable(found),
    'a function of a board',
)
"""Name → `Figure`, in the order in which they are drawn; other packages bring more as entry points."""

INDEX = 'figures.json'
"""Beside the figures: board, title and a caption for each file; and what was left out, and why."""


def write_figures(
    boards: Sequence[Board], folder: Path, dpi: int = DPI, names: Sequence[str] | None = None
) -> list[Path]:
    """Draw figures of all boards.

    A figure with nothing to show is left out: the reason is logged, and stands in `figures.json`.

    Args:
        boards: of `report.leaderboard`.
        folder: of the report; the figures go to its folder `figures`, as
            `<board>-<figure>.png` and `.svg`, with `-1`, `-2`, … where one would be too full.
        dpi: of the PNG files.
        names: of `FIGURES`; None: all.

    Returns:
        The files, `figures.json` last.

    Raises:
        InputError: no such figure, or one of another package that cannot be drawn.
        MissingExtraError: matplotlib is not installed.
    """
    target = folder / 'figures'
    paths: list[Path] = []
    index: dict[str, list[dict[str, str]]] = {'figures': [], 'left_out': []}
    with house_style():
        target.mkdir(parents=True, exist_ok=True)
        for board, prefix in zip(boards, board_names(boards), strict=True):
            for one in drawings(board, names):
                about = {'board': board.title, 'figure': one.name}
                if isinstance(one, LeftOut):
                    logger.info(f'{board.title}: no figure {one.name}: {one.reason}')
                    index['left_out'].append({**about, 'reason': one.reason})
                    continue
                file = free_name(f'{prefix}-{one.name}', [told['file'] for told in index['figures']])
                paths += save(one, target / file, dpi)
                index['figures'].append({**about, 'file': file, 'title': one.title, 'caption': one.caption})
    paths.append(target / INDEX)
    write_file(paths[-1], f'{json_text(index, indent=1)}\n'.encode())
    return paths


def write_formula_figures(folder: Path, dpi: int = DPI) -> list[Path]:
    """Draw the figures of the formulas, which need no results, straight into `folder`.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    with house_style():
        folder.mkdir(parents=True, exist_ok=True)
        return [path for one in formulas() for path in save(one, folder / one.name, dpi)]


def drawings(board: Board, names: Sequence[str] | None = None) -> Iterator[Drawing | LeftOut]:
    """Draw figures of a board, one at a time; within `style.house_style`.

    Args:
        board: of `report.leaderboard`.
        names: of `FIGURES`; None: all.

    Raises:
        InputError: no such figure, or a drawing whose name is no name of a file. Where all are drawn, one
            that cannot be imported is left out.
    """
    chosen = FIGURES.each() if names is None else ((name, FIGURES[name]) for name in names)
    for name, figure in chosen:
        if isinstance(figure, InputError):
            yield LeftOut(name, str(figure))
            continue
        for one in figure(board):
            if not re.fullmatch(r'[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}', one.name):
                raise InputError(
                    f'figure {name!r} ({FIGURES.place(name)}) calls a drawing {one.name!r}: expected '
                    'letters, digits, dots and dashes, for its name is part of that of a file'
                )
            yield one


def board_names(boards: Iterable[Board]) -> list[str]:
    """Return a file name for each board, different ones for different boards, on any file system."""
    names: list[str] = []
    for board in boards:
        name = re.sub(r'[^A-Za-z0-9+]+', '-', board.title).strip('-')[:80] or 'board'
        names.append(free_name(name, names))
    return names
