"""Figures of boards as PNG and SVG: legible in grey, to colour-blind readers, and the same at every run."""

from __future__ import annotations

import atexit
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ...counting import step
from ...errors import InputError
from ...registry import Registry
from ...unseen import json_text
from ..leaderboard import Board
from ..workers import Workers
from ..written import free_name, write_file
from .chosen import with_picked
from .drawing import Drawing, LeftOut, Sheet
from .formulas import FORMULAS
from .style import DPI, forms_of, house_style, write_forms

__all__ = [
    'FIGURES',
    'Drawing',
    'Figure',
    'LeftOut',
    'Sheet',
    'begin_figures',
    'begin_formula_figures',
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


FEWEST = 12
"""Figures that are worth starting processes, which take about two seconds for their imports."""


class _Picture(NamedTuple):
    """A drawing as the contents of its files."""

    name: str
    title: str
    caption: str
    forms: Mapping[str, bytes]


class _Drawn(NamedTuple):
    """What a process draws of."""

    boards: Sequence[Board]
    dpi: int


_Task = tuple[int, str]
"""Place of a board, and the name of a figure."""

_drawn: list[_Drawn] = []
"""In a process that draws: what of."""

_style = ExitStack()
"""In a process that draws: keeps the look of its figures."""
atexit.register(_style.close)  # before the modules that it needs are taken apart


def write_figures(
    boards: Sequence[Board],
    folder: Path,
    dpi: int = DPI,
    names: Sequence[str] | None = None,
    runs: Sequence[str] = (),
    workers: Workers | None = None,
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
        workers: draw where there are many; None: this process does. The files are the same.

    Returns:
        The files, `figures.json` last.

    Raises:
        InputError: no such figure, one of another package that cannot be drawn, or no run of such a name.
        MissingExtraError: matplotlib is not installed.
    """
    boards = with_picked(boards, runs)
    target = folder / 'figures'
    paths: list[Path] = []
    index: dict[str, list[dict[str, str]]] = {'figures': [], 'left_out': []}
    prefixes = board_names(boards)
    with house_style():
        target.mkdir(parents=True, exist_ok=True)
        for place, one in _pictures(_Drawn(boards, dpi), names, workers or Workers(1)):
            about = {'board': boards[place].title, 'figure': one.name}
            if isinstance(one, LeftOut):
                index['left_out'].append({**about, 'reason': one.reason})
                continue
            file = free_name(f'{prefixes[place]}-{one.name}', [told['file'] for told in index['figures']])
            paths += write_forms(one.forms, target / file)
            index['figures'].append({**about, 'file': file, 'title': one.title, 'caption': one.caption})
    paths.append(target / INDEX)
    write_file(paths[-1], f'{json_text(index, indent=1)}\n'.encode())
    return paths


def begin_figures(
    boards: Sequence[Board],
    names: Sequence[str] | None,
    runs: Sequence[str],
    workers: Workers,
    dpi: int = DPI,
) -> None:
    """Begin `write_figures`, if workers draw; what is wrong with the arguments that one says."""
    with suppress(InputError):
        drawn = _Drawn(with_picked(boards, runs), dpi)
        tasks = _tasks(drawn, _chosen(names))
        if len(tasks) >= FEWEST:
            workers.begin('figures', _drawn_there, tasks, partial(_begin, drawn))


_Chosen = list[tuple[str, Figure | InputError]]
"""Names of figures, and what draws them or why they cannot be drawn."""


def _chosen(names: Sequence[str] | None) -> _Chosen:
    return list(FIGURES.each()) if names is None else [(name, FIGURES[name]) for name in names]


def _tasks(drawn: _Drawn, chosen: _Chosen) -> list[_Task]:
    able = [name for name, one in chosen if not isinstance(one, InputError)]
    return [(place, name) for place in range(len(drawn.boards)) for name in able]


def _pictures(
    drawn: _Drawn, names: Sequence[str] | None, workers: Workers
) -> Iterator[tuple[int, _Picture | LeftOut]]:
    """Yield the place of a board with each of its pictures, in the order of boards and names."""
    chosen = _chosen(names)
    tasks = _tasks(drawn, chosen)
    found: Iterator[list[_Picture | LeftOut]] | None = workers.begun('figures')
    if found is None and len(tasks) >= FEWEST:
        found = workers.each(_drawn_there, tasks, partial(_begin, drawn))
    elif found is None:
        found = map(partial(_drawn_here, drawn), tasks)
    for place in range(len(drawn.boards)):
        for name, one in chosen:
            pictures = [LeftOut(name, str(one))] if isinstance(one, InputError) else next(found)
            step()
            yield from ((place, picture) for picture in pictures)


def _begin(drawn: _Drawn) -> None:
    """Begin to draw in a process of its own, whose style stays until it ends."""
    _style.enter_context(house_style())
    _drawn[:] = [drawn]


def _drawn_there(task: _Task) -> list[_Picture | LeftOut]:
    return _drawn_here(_drawn[0], task)


def _drawn_here(drawn: _Drawn, task: _Task) -> list[_Picture | LeftOut]:
    place, name = task
    return [
        one if isinstance(one, LeftOut) else _picture(one, drawn.dpi)
        for one in drawings(drawn.boards[place], [name])
    ]


def _picture(drawing: Drawing, dpi: int) -> _Picture:
    return _Picture(drawing.name, drawing.title, drawing.caption, forms_of(drawing, dpi))


def write_formula_figures(folder: Path, dpi: int = DPI, workers: Workers | None = None) -> list[Path]:
    """Draw the figures of the formulas, which need no results, straight into `folder`.

    Args:
        workers: draw, if they are running anyway; None: this process does.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    places, paths = range(len(FORMULAS)), []
    with house_style():  # refuses where there is no matplotlib, before a folder is made
        folder.mkdir(parents=True, exist_ok=True)
    begun = workers.begun('formulas') if workers else None
    if workers and begun is None and workers.running:
        begin_formula_figures(workers, dpi)
        begun = workers.begun('formulas')
    for one in begun or map(partial(_formula, dpi), places):
        paths += write_forms(one.forms, folder / one.name)
    return paths


def begin_formula_figures(workers: Workers, dpi: int = DPI) -> None:
    """Begin `write_formula_figures`."""
    workers.begin('formulas', partial(_formula, dpi), range(len(FORMULAS)))


def _formula(dpi: int, place: int) -> _Picture:
    with house_style():  # a process that drew no board has another
        return _picture(FORMULAS[place](), dpi)


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
