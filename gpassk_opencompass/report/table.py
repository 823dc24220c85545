"""The table that people read first: a run a row, the published columns."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tabulate import tabulate

from ..metrics import g_pass_name, mg_pass_name, pass_name
from ..unseen import escaped

SHOWN_THRESHOLDS = (0.5, 0.75, 1.0)
"""The τ of the published tables."""

_FORMULA = r'[=+\-@＝＋－＠\t\r\n]'
"""What begins a formula in a spreadsheet."""


class Run(NamedTuple):
    """One result file: which model on which data set, and what the evaluator wrote."""

    model: str
    dataset: str
    record: Mapping[str, Any]


class Table(NamedTuple):
    """Cells are texts, numbers (percent) or None where a run has no such metric."""

    headers: list[str]
    rows: list[list[Any]]

    def to_markdown(self) -> str:
        """For a terminal and for a README."""
        headers, *rows = ([markdown_cell(cell) for cell in row] for row in [self.headers, *self.rows])
        return tabulate(rows, headers, tablefmt='github', floatfmt='.2f', missingval='-')

    def without(self, header: str) -> Table:
        """The same table with one column less."""
        column = self.headers.index(header)
        headers, *rows = ([*row[:column], *row[column + 1 :]] for row in [self.headers, *self.rows])
        return Table(headers, rows)

    def to_csv(self) -> str:
        """All digits; an empty cell where there is nothing."""
        return csv_text([self.headers, *self.rows])


class _Lines(list[str]):
    """Takes what csv.writer writes, a line at a time."""

    write = list.append


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Rows for a spreadsheet, which takes no text for a formula."""
    lines = _Lines()
    # With this end of a line csv.writer quotes cells with either of its characters.
    csv.writer(lines, lineterminator='\r\n').writerows(map(csv_cell, row) for row in rows)
    return ''.join(f'{line[:-2]}\n' for line in lines)


def csv_cell(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets an apostrophe before it.

    >>> csv_cell('=HYPERLINK(1)'), csv_cell('m'), csv_cell(-1.5)
    ("'=HYPERLINK(1)", 'm', -1.5)
    """
    if not isinstance(value, str):
        return value
    text = value.replace('\0', '\ufffd')  # which Python 3.10 cannot write into CSV
    return f"'{text}" if re.match(rf"'*{_FORMULA}", text) else text


def read_csv_cell(text: str) -> str:
    """The text that `csv_cell` was given.

    >>> read_csv_cell("'=HYPERLINK(1)"), read_csv_cell("'m")
    ('=HYPERLINK(1)', "'m")
    """
    return text[1:] if re.match(rf"'+{_FORMULA}", text) else text


def markdown_cell(value: Any) -> Any:
    """A text on one line that neither ends its cell nor is taken for HTML; other values as they are.

    >>> markdown_cell('a|b <i>')
    'a\\\\|b &lt;i>'
    """
    return markdown_line(value).replace('|', r'\|') if isinstance(value, str) else value


def markdown_line(text: str) -> str:
    """A text on one line that is not taken for HTML."""
    return one_line(text).replace('<', '&lt;')


def one_line(text: str) -> str:
    r"""A text with one space for each gap, and escapes for what cannot be seen.

    Among the controls is one that tabulate takes for a line between rows.

    >>> one_line('a\n b\x01')
    'a b\\x01'
    """
    return escaped(' '.join(text.split()))


def results_table(runs: Sequence[Run], *, every_metric: bool = False) -> Table:
    """One row a run, in the order given: the columns of the published tables, or every metric."""
    metrics = _metric_columns([run.record for run in runs], every_metric)
    rows = [
        [run.model, run.dataset, run.record['gpassk']['n']]
        + [run.record.get(metric) for metric in metrics]
        + [run.record['gpassk']['unjudged']]
        for run in runs
    ]
    return Table(['model', 'dataset', 'n', *metrics, 'unjudged'], rows)


def breakdown_table(runs: Sequence[Run], *, every_metric: bool = False) -> Table:
    """One row a run and contest × language."""
    metrics = _metric_columns([run.record for run in runs], every_metric)
    rows = [
        [run.model, run.dataset, group] + [run.record.get(f'{group}/{metric}') for metric in metrics]
        for run in runs
        for group in dict.fromkeys(run.record['gpassk']['counts']['group'])
    ]
    return Table(['model', 'dataset', 'group', *metrics], rows)


def _metric_columns(records: Iterable[Mapping[str, Any]], every_metric: bool) -> list[str]:
    """accuracy, then the largest k at the published τ and mG-Pass, or all that any record has."""
    sampled = [record['gpassk'] for record in records if record['gpassk']['n'] > 1]
    ks = sorted({k for block in sampled for k in block['k']})
    thresholds = sorted({threshold for block in sampled for threshold in block['thresholds']})
    if not every_metric:
        ks = ks[-1:]
        thresholds = [tau for tau in thresholds if tau in SHOWN_THRESHOLDS] or thresholds
    columns = ['accuracy']
    for k in ks:
        columns += [pass_name(k)] if every_metric else []
        columns += [g_pass_name(k, threshold) for threshold in thresholds]
        columns += [mg_pass_name(k)] if k > 1 else []
    return columns
