"""A published leaderboard in our tables: aggregates without counts, so without intervals."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .layout import NOTHING, TextTable
from .neighbours import Neighbours, neighbours
from .published import BENCHMARKS, Published
from .table import Table, markdown_line
from .written import write_texts

NO_COUNTS = 'aggregates without counts: no interval can be given'


def write_published(published: Published, folder: Path) -> list[Path]:
    """`published.md`, `published.csv` and `tables/published.tex`; the folder is made.

    Returns:
        The paths written.
    """
    tables = [published_table(published, benchmark) for benchmark in published.benchmarks]
    files = {
        'published.md': '# Published scores\n\n'
        + '\n'.join(f'## {markdown_line(table.title)}\n\n{table.to_markdown()}' for table in tables),
        'published.csv': _csv(published),
        'tables/published.tex': '\n'.join(table.to_latex(titled=True) for table in tables),
    }
    return write_texts(folder, files)


def published_table(published: Published, benchmark: str) -> TextTable:
    """One row a model, best first, with its lead over the next one and whether that can be told."""
    ranked_by = published.leading
    models = published.ranked(benchmark, ranked_by)
    table = TextTable(benchmark, ['model', *published.metrics, 'lead', 'told apart'], notes=[NO_COUNTS])
    leads = _leads(published, benchmark, ranked_by)
    for model in models:
        cells = [published.values.get((model, benchmark, metric)) for metric in published.metrics]
        shown = [NOTHING if value is None else f'{value:.2f}' for value in cells]
        table.rows.append([model, *shown, *_lead(table, leads.get(model))])
    return table


def _leads(published: Published, benchmark: str, metric: str) -> Mapping[str, Neighbours]:
    """Model → it and the next one; none where the number of questions is not known."""
    if benchmark not in BENCHMARKS or not metric.startswith(('G-Pass', 'mG-Pass')):
        return {}
    return {pair.better: pair for pair in neighbours(published, benchmark, metric)}


def _lead(table: TextTable, pair: Neighbours | None) -> list[str]:
    if pair is None:
        return [NOTHING, NOTHING]
    if pair.least is None:
        return [f'{pair.gap:.1f}', f'[{table.note(f"no statement: {pair.refused}")}]']
    return [f'{pair.gap:.1f} of {pair.least:.1f}', 'yes' if pair.distinguishable else 'no']


def _csv(published: Published) -> str:
    rows = [[*key, value] for key, value in published.values.items()]
    return Table(['model', 'benchmark', 'metric', 'value'], rows).to_csv()
