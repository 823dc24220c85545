"""All figures of a report, as files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from loguru import logger

from ...unseen import json_text
from ..leaderboard import Board
from ..written import free_name, write_file
from .curves import draws, thresholds
from .drawing import Drawing, LeftOut
from .formulas import formulas
from .gap import gap
from .potential import potential
from .samples import samples
from .sensitivity import sensitivity
from .stability import questions
from .style import DPI, house_style, save

Family = Callable[[Board], Iterable[Drawing | LeftOut]]

FAMILIES: tuple[Family, ...] = (thresholds, draws, samples, sensitivity, questions, potential, gap)

INDEX = 'figures.json'
"""Beside the figures: board, title and a caption for each file; and what was left out, and why."""


def write_figures(boards: Sequence[Board], folder: Path, dpi: int = DPI) -> list[Path]:
    """Draw all figures of all boards.

    A figure with nothing to show is left out: the reason is logged, and stands in `figures.json`.

    Args:
        boards: of `report.leaderboard`.
        folder: of the report; the figures go to its folder `figures`, as
            `<board>-<figure>.png` and `.svg`, with `-1`, `-2`, … where one would be too full.
        dpi: of the PNG files.

    Returns:
        The files, `figures.json` last.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    target = folder / 'figures'
    paths: list[Path] = []
    index: dict[str, list[dict[str, str]]] = {'figures': [], 'left_out': []}
    with house_style():
        target.mkdir(parents=True, exist_ok=True)
        for board, prefix, one in _named_drawings(boards):
            about = {'board': board.title, 'figure': one.name}
            if isinstance(one, LeftOut):
                logger.info(f'{board.title}: no figure {one.name}: {one.reason}')
                index['left_out'].append({**about, 'reason': one.reason})
                continue
            paths += save(one, target / f'{prefix}-{one.name}', dpi)
            told = {'title': one.title, 'caption': one.caption}
            index['figures'].append({**about, 'file': f'{prefix}-{one.name}', **told})
    paths.append(target / INDEX)
    write_file(paths[-1], f'{json_text(index, indent=1)}\n'.encode())
    return paths


def write_formula_figures(folder: Path, dpi: int = DPI) -> list[Path]:
    """The figures of the formulas, which need no results, straight into `folder`.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    with house_style():
        folder.mkdir(parents=True, exist_ok=True)
        return [path for one in formulas() for path in save(one, folder / one.name, dpi)]


def _named_drawings(boards: Sequence[Board]) -> Iterator[tuple[Board, str, Drawing | LeftOut]]:
    """All figures with their board and what their files begin with, made one at a time."""
    for board, prefix in zip(boards, board_names(boards), strict=True):
        for one in drawings(board):
            yield board, prefix, one


def drawings(board: Board) -> Iterator[Drawing | LeftOut]:
    """All figures of a board, made one at a time; within `style.house_style`."""
    for family in FAMILIES:
        yield from family(board)


def board_names(boards: Iterable[Board]) -> list[str]:
    """A file name for each board, different ones for different boards, on any file system."""
    names: list[str] = []
    for board in boards:
        name = re.sub(r'[^A-Za-z0-9+]+', '-', board.title).strip('-')[:80] or 'board'
        names.append(free_name(name, names))
    return names
