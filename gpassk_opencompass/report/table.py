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
        headers, *rows = ([_shown(cell) for cell in row] for row in [self.headers, *self.rows])
        sides = ['left' if _has_text(column) else 'right' for column in zip(*self.rows, strict=True)]
        return tabulate(rows, headers, 'github', colalign=sides or None, disable_numparse=True)

    def without(self, header: str) -> Table:
        """The same table with one column less."""
        column = self.headers.index(header)
        headers, *rows = ([*row[:column], *row[column + 1 :]] for row in [self.headers, *self.rows])
        return Table(headers, rows)

    def to_csv(self) -> str:
        """All digits; an empty cell where there is nothing."""
        return csv_text([self.headers, *self.rows])


def _shown(cell: Any) -> str:
    """Of a text that looks like a number nothing is made but the text: a model may be called 1e5."""
    if cell is None:
        return '-'
    return f'{cell:.2f}' if isinstance(cell, float) else str(markdown_cell(cell))


def _has_text(column: Iterable[Any]) -> bool:
    return any(isinstance(cell, str) for cell in column)


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
    r"""Return a text for a spreadsheet: what cannot be seen is escaped, what would be a formula is quoted.

    It is quoted by an apostrophe. Line breaks and tabs stay; other values are returned as they are.

    >>> csv_cell('=HYPERLINK(1)'), csv_cell('m\x1b[2J'), csv_cell(-1.5)
    ("'=HYPERLINK(1)", 'm\\x1b[2J', -1.5)
    """
    if not isinstance(value, str):
        return value
    text = escaped(value, keep='\n\t')
    return f"'{text}" if re.match(rf"'*{_FORMULA}", text) else text


def read_csv_cell(text: str) -> str:
    """Return the text that `csv_cell` was given, with the escapes that it made.

    >>> read_csv_cell("'=HYPERLINK(1)"), read_csv_cell("'m")
    ('=HYPERLINK(1)', "'m")
    """
    return text[1:] if re.match(rf"'+{_FORMULA}", text) else text


def markdown_cell(value: Any) -> Any:
    """Return a text for a cell of a Markdown table, which it does not end; other values as they are.

    >>> markdown_cell('a|b <i>')
    'a\\\\|b &lt;i>'
    """
    return _as_text(value).replace('|', r'\|') if isinstance(value, str) else value


def markdown_line(text: str) -> str:
    """Return a text for a line of its own in which Markdown finds nothing but the text.

    No HTML, no image, no link, also none that is made of a bare address, no code and no emphasis. Names with
    underscores between letters or digits stay as they are.

    >>> markdown_line('![x](http://e.org) Qwen2.5-7B_t1-0 a*b')
    '![x\\\\](http:&#47;/e.org) Qwen2.5-7B_t1-0 a\\\\*b'
    """
    return _AT_ENDS.sub(lambda found: f'{found[0][:-1]}\\{found[0][-1]}', _as_text(text))


def _as_text(text: str) -> str:
    plain = one_line(text)
    alone = len(_EDGE.findall(plain)) < 2  # one underscore is no emphasis, e.g. before settings: _t1-0_l8192
    return _MARKUP.sub(
        lambda found: '_' if alone and found[0] == '_' else _PLAIN.get(found[0], f'\\{found[0]}'), plain
    )


_EDGE = re.compile(r'(?<![^\W_])_|_(?![^\W_])')
"""An underscore that is not within a word."""


_MARKUP = re.compile(
    r"""<
    | &(?=\#|\w+;)                         # what would be read as another character
    | \\(?=[!-/:-@\[-`{-~]|$)              # what would take the meaning of the next character away
    | [*`~]
    | (?<![^\W_])_ | _(?![^\W_])            # emphasis, as `_EDGE`
    | \](?=[(\[:])                         # a link, an image, what a link refers to
    | (?<=:)/(?=/) | (?<=www)\.            # addresses that some readers make links of
    """,
    re.VERBOSE | re.IGNORECASE,
)

_AT_ENDS = re.compile(r'^[-+>#\[]|^\d+[.)](?= |$)|#(?=#*$)')
"""What begins a list, a quotation, a heading or the target of a link, and what ends a heading."""

_PLAIN = {'<': '&lt;', '&': '&amp;', '~': '&#126;', '/': '&#47;'}
"""Of characters before which a backslash is not taken away by every reader of Markdown."""


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
