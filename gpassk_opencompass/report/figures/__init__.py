"""Figures of boards as PNG and SVG: legible in grey, to colour-blind readers, and the same at every run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ...counting import step
from ...files import write_file
from ...unseen import json_text
from ..leaderboard import Board
from ..tables import free_name
from .chosen import with_picked
from .curves import sensitivity, thresholds
from .drawing import Drawing, LeftOut
from .questions import questions
from .samples import samples
from .style import DPI, house_style, save

Figure = Callable[[Board], Iterable[Drawing | LeftOut]]
"""Draws a board, on one sheet or several, or says why there is nothing to draw."""

FIGURES: Mapping[str, Figure] = {
    'thresholds': thresholds,
    'samples': samples,
    'sensitivity': sensitivity,
    'questions': questions,
}
"""Name → `Figure`, in the order in which they are drawn."""

INDEX = 'figures.json'
"""Beside the figures: board, title and a caption for each file; and what was left out, and why."""


def write_figures(
    boards: Sequence[Board],
    folder: Path,
    dpi: int = DPI,
    names: Sequence[str] | None = None,
    runs: Sequence[str] = (),
) -> list[Path]:
    """Draw figures of all boards.

    A figure with nothing to show is left out: the reason stands in `figures.json`.

    Args:
        boards: of `report.leaderboard`.
        folder: of the report; the figures go to its folder `figures`, as `<board>-<figure>.png` and `.svg`.
        dpi: of the PNG files.
        names: of `FIGURES`; None: all.
        runs: parts of the names of runs that stand in figures which cannot show all; (): the best of each
            model first.

    Returns:
        The files, `figures.json` last.

    Raises:
        InputError: no run of such a name.
        MissingExtraError: matplotlib is not installed.
    """
    boards = with_picked(boards, runs)
    target = folder / 'figures'
    paths: list[Path] = []
    index: dict[str, list[dict[str, str]]] = {'figures': [], 'left_out': []}
    with house_style():
        target.mkdir(parents=True, exist_ok=True)
        for board, prefix in zip(boards, board_names(boards), strict=True):
            for one in drawings(board, names):
                about = {'board': board.title, 'figure': one.name}
                if isinstance(one, LeftOut):
                    index['left_out'].append({**about, 'reason': one.reason})
                    continue
                file = free_name(f'{prefix}-{one.name}', [told['file'] for told in index['figures']])
                paths += save(one, target / file, dpi)
                index['figures'].append({**about, 'file': file, 'title': one.title, 'caption': one.caption})
    paths.append(target / INDEX)
    write_file(paths[-1], f'{json_text(index, indent=1)}\n'.encode())
    return paths


def drawings(board: Board, names: Sequence[str] | None = None) -> Iterator[Drawing | LeftOut]:
    """Draw figures of a board, one at a time; within `style.house_style`.

    Args:
        board: of `report.leaderboard`.
        names: of `FIGURES`; None: all.
    """
    for name in FIGURES if names is None else names:
        step()
        yield from FIGURES[name](board)


def board_names(boards: Iterable[Board]) -> list[str]:
    """Return a file name for each board, different ones for different boards, on any file system."""
    names: list[str] = []
    for board in boards:
        name = re.sub(r'[^A-Za-z0-9+]+', '-', board.title).strip('-')[:80] or 'board'
        names.append(free_name(name, names))
    return names
