"""What a report says of itself at its end: where the page is, and what else there is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..files import mapping, read_json
from ..unseen import printable


def summary_of(folder: Path, parts: Mapping[str, Sequence[Path]]) -> Iterator[str]:
    """Yield a line for the page, which comes first, the tables, and the figures."""
    if pages := [path for path in parts.get('page', ()) if path.name == 'index.html']:
        yield f'the page, for a browser: {printable(pages[0])}'
    if tables := parts.get('tables'):
        names = [path.name for path in tables if path.parent == folder]
        latex = sum(path.suffix == '.tex' for path in tables)
        more = f' and {latex} LaTeX tables in tables/' if latex else ''
        yield f'the tables: {printable(folder)}: {", ".join(names)}{more}'
    if figures := parts.get('figures'):
        drawn = sum(path.suffix == '.svg' for path in figures)
        yield f'{drawn} figures: {printable(folder / "figures")}{_left_out(figures)}'


def _left_out(figures: Sequence[Path]) -> str:
    """Return how many figures there was nothing to draw of, which the index of the figures explains."""
    index = next((path for path in figures if path.name == 'figures.json'), None)
    count = len(mapping(read_json(index)).get('left_out', ())) if index else 0
    return f' ({count} more have nothing to show here: figures.json says why)' if count else ''
