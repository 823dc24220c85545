"""What a report says of itself at its end: where the page is, and what else there is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized
from pathlib import Path
from typing import NamedTuple

from ..files import mapping, read_json
from ..unseen import printable


class Written(NamedTuple):
    """What is in the folder of a report now.

    parts: each that was written, with its files.
    removed: files of an earlier report.
    """

    parts: Mapping[str, Sequence[Path]]
    removed: Sequence[Path]


def summary_of(folder: Path, written: Written) -> Iterator[str]:
    """Yield a line for the page, which comes first, the tables, the figures, and what was removed."""
    if pages := [path for path in written.parts.get('page', ()) if path.name == 'index.html']:
        yield f'the page, for a browser: {printable(pages[0])}'
    if tables := written.parts.get('tables'):
        names = [path.name for path in tables if path.parent == folder]
        latex = sum(path.suffix == '.tex' for path in tables)
        more = f' and {latex} LaTeX tables in tables/' if latex else ''
        yield f'the tables: {printable(folder)}: {", ".join(names)}{more}'
    if figures := written.parts.get('figures'):
        drawn = sum(path.suffix == '.svg' for path in figures)
        yield f'{drawn} figures: {printable(folder / "figures")}{_left_out(figures)}'
    if written.removed:
        yield f'removed {_files(written.removed)} of an earlier report from {printable(folder)}'


def _left_out(figures: Sequence[Path]) -> str:
    """Return how many figures there was nothing to draw of, which the index of the figures explains."""
    index = next((path for path in figures if path.name == 'figures.json'), None)
    count = len(mapping(read_json(index)).get('left_out', ())) if index else 0
    return f' ({count} more have nothing to show here: figures.json says why)' if count else ''


def _files(files: Sized) -> str:
    return f'{len(files)} file{"" if len(files) == 1 else "s"}'
