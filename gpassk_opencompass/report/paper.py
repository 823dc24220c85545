"""Tables in the layout of the paper: models by kind, a column a metric, one digit, the best in bold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..metrics import ACCURACY, Kind, Metric
from ..naming.manifest import ModelFacts
from ..tables import NOTHING, markdown_cell, markdown_line
from ..tables.escapes import latex_text
from .leaderboard import Board, Entry
from .published import Published
from .scores import Measure, measures_of
from .tables import file_names
from .written import write_texts

SECTIONS: Mapping[str, str] = {
    'general': 'General LLMs',
    'mathematical': 'Mathematical Reasoning LLMs',
    'o1-like': 'o1-like Reasoning LLMs',
    '': 'Other LLMs',
}
"""Kind of a model, '' where nobody says it → the head of its section."""

CLOSED, STANDS_IN = '†', '‡'

MARKS: Mapping[str, str] = {
    CLOSED: 'Its weights are not published: it was asked through an API.',
    STANDS_IN: 'No temperature was set: for greedy decoding stands the mean accuracy of the samples.',
}
"""Mark of a model or a number → what it says."""

_LATEX_MARKS = {CLOSED: r'\dag', STANDS_IN: r'\ddag'}


class Number(NamedTuple):
    """A percentage, None where there is none, and its mark."""

    value: float | None
    mark: str = ''

    @property
    def text(self) -> str:
        """One digit, as in the paper."""
        return NOTHING if self.value is None else f'{self.value:.1f}'


class Line(NamedTuple):
    """The row of a model."""

    model: str
    kind: str
    """A key of `SECTIONS`."""
    mark: str
    numbers: Sequence[Number]
    """One a column."""


@dataclass(frozen=True)
class PaperTable:
    """A table of one benchmark, or of a part of it."""

    title: str
    columns: Sequence[Measure]
    lines: Sequence[Line]
    about: str = ''
    """A sentence that stands below."""

    def to_markdown(self) -> str:
        """Return the table, with a row for the head of each section, and what the marks mean below."""
        width = len(self.columns) + 1
        rows = [['LLMs', *map(_markdown_head, self.columns)], ['---'] + ['---:'] * len(self.columns)]
        for section, lines in self._sections():
            rows += [[f'**{section}**', *[''] * (width - 1)]] if section else []
            rows += [
                [_marked(markdown_cell(line.model), line.mark), *self._texts(line, '**{}**', _marked)]
                for line in lines
            ]
        below = [f'{mark} {markdown_line(MARKS[mark])}  ' for mark in self._marks()]
        below += [markdown_line(self.about)] if self.about else []
        return '\n'.join([*(f'| {" | ".join(row)} |' for row in rows), *([''] if below else []), *below, ''])

    def to_latex(self) -> str:
        """Return a tabular for the package booktabs, with what the marks mean below it."""
        alone = sum(not isinstance(column, Metric) for column in self.columns)
        width = len(self.columns) + 1
        ks = {column.k for column in self.columns if isinstance(column, Metric)}
        over = f'G-Pass@{ks.pop()}' if len(ks) == 1 else 'G-Pass@$k$'
        names = [r'\textbf{LLMs}', *(rf'\textbf{{{column}}}' for column in self.columns[:alone])]
        body = []
        for section, lines in self._sections():
            head = rf'\multicolumn{{{width}}}{{c}}{{\textbf{{{section}}}}} \\'
            body += ([r'\midrule', head] if section else []) + [r'\midrule']
            body += [
                ' & '.join(
                    [
                        _latex_marked(latex_text(line.model), line.mark),
                        *self._texts(line, r'\textbf{{{}}}', _latex_marked),
                    ]
                )
                + r' \\'
                for line in lines
            ]
        below = [
            rf'\\[2pt]{{\footnotesize ${_LATEX_MARKS[mark]}$ {latex_text(MARKS[mark])}}}'
            for mark in self._marks()
        ]
        below += [rf'\\[2pt]{{\footnotesize {latex_text(self.about)}}}'] if self.about else []
        return '\n'.join(
            [
                f'% {latex_text(self.title)}',
                rf'\noindent\begin{{tabular}}{{l{"c" * len(self.columns)}}}',
                r'\toprule',
                ' & '.join([*names, rf'\multicolumn{{{width - 1 - alone}}}{{c}}{{\textbf{{{over}}} / \%}}'])
                + r' \\',
                rf'\cmidrule(lr){{{alone + 2}-{width}}}',
                ' & '.join([*[''] * (alone + 1), *map(_latex_head, self.columns[alone:])]) + r' \\',
                *body,
                r'\bottomrule',
                r'\end{tabular}',
                *below,
                '',
            ]
        )

    def _sections(self) -> Iterator[tuple[str, list[Line]]]:
        """Return each head with its rows; one without a head where no kind is known."""
        known = any(line.kind for line in self.lines)
        for kind, head in SECTIONS.items():
            if lines := [line for line in self.lines if line.kind == kind]:
                yield head if known else '', lines

    def _marks(self) -> list[str]:
        used = {line.mark for line in self.lines}
        used |= {number.mark for line in self.lines for number in line.numbers}
        return [mark for mark in MARKS if mark in used]

    def _texts(self, line: Line, bold: str, marked: Callable[[str, str], str]) -> list[str]:
        """Return the numbers of a row, those that none exceeds in print in bold."""
        return [
            marked(bold.format(number.text) if number.text == best else number.text, number.mark)
            for number, best in zip(line.numbers, self._best, strict=True)
        ]

    @cached_property
    def _best(self) -> list[str]:
        """Return the largest number of each column as it is printed."""
        columns = zip(*(line.numbers for line in self.lines), strict=True)
        known = [[one.value for one in column if one.value is not None] for column in columns]
        return [Number(max(values)).text if values else '' for values in known]


def paper_tables(board: Board, types: Mapping[str, str] | None = None) -> dict[str, list[PaperTable]]:
    """Return the tables of a board, by what stands behind the dot in the names of their files.

    'paper' has the one over all questions; 'contests' one for each contest with its languages pooled, where
    there are several; 'types' one for each type of question, where `types` tells them.

    Args:
        board: of `leaderboard.boards`.
        types: uid of a question → its type.
    """
    first = board.entries[0].result
    contests = [group.rpartition('_')[0] or group for group in first.groups]
    tables = {'paper': [_table(board, board.title, first.uids)]}
    if len(set(contests)) > 1:
        tables['contests'] = _tables_of(board, contests)
    if known := [types.get(uid, '') for uid in first.uids] if types else []:
        tables['types'] = _tables_of(board, known)
    return {kind: found for kind, found in tables.items() if found}


def published_paper_tables(published: Published) -> list[PaperTable]:
    """Return a table for each benchmark of a published leaderboard, rows in its order.

    Their titles say that they are published: they may stand among tables of the same benchmarks.
    """
    columns = sorted(published.metrics, key=lambda one: isinstance(one, Metric))
    return [
        PaperTable(
            f'published: {benchmark}',
            columns,
            [
                Line(
                    model,
                    published.kinds.get(model, ''),
                    CLOSED if model in published.closed else '',
                    [Number(published.values.get((model, benchmark, column))) for column in columns],
                )
                for model in published.models
                if any((model, benchmark, column) in published.values for column in columns)
            ],
        )
        for benchmark in published.benchmarks
    ]


def write_paper(
    boards: Sequence[Board],
    folder: Path,
    published: Published | None = None,
    types: Mapping[str, str] | None = None,
) -> list[Path]:
    """Write `paper.md`, and `tables/<benchmark>.paper.tex`, `.contests.tex` and `.types.tex`.

    Args:
        boards: of `leaderboard.boards`.
        folder: is made.
        published: a leaderboard whose tables go into `tables/published.paper.tex`, and behind those of ours.
        types: as in `paper_tables`.

    Returns:
        The paths written.
    """
    texts, parts = {}, ['# Tables in the layout of the paper\n']
    for board, name in zip(boards, file_names(boards), strict=True):
        for kind, tables in paper_tables(board, types).items():
            texts[f'tables/{name}.{kind}.tex'] = _together(tables)
            parts += _in_markdown(tables)
    if published:
        tables = published_paper_tables(published)
        texts['tables/published.paper.tex'] = _together(tables)
        parts += _in_markdown(tables)
    return write_texts(folder, {'paper.md': '\n'.join(parts), **texts})


def kind_of(facts: ModelFacts) -> str:
    """Return the key of a model's section.

    >>> kind_of(ModelFacts(mathematical=True)), kind_of(ModelFacts(o1_like=False)), kind_of(ModelFacts())
    ('mathematical', 'general', '')
    """
    if facts.o1_like or facts.mathematical:
        return 'o1-like' if facts.o1_like else 'mathematical'
    return '' if facts.o1_like is None and facts.mathematical is None else 'general'


def _tables_of(board: Board, labels: Sequence[str]) -> list[PaperTable]:
    """Return a table for the questions of each label, which are in the order of the first entry's."""
    uids: dict[str, list[str]] = {}
    for uid, label in zip(board.entries[0].result.uids, labels, strict=True):
        uids.setdefault(label, []).append(uid)
    return [_table(board, f'{board.title}: {label}', of) for label, of in uids.items() if label]


def _table(board: Board, title: str, uids: Sequence[str]) -> PaperTable:
    columns = measures_of(board)
    taken = [entry.model for entry in board.entries]
    lines = [
        Line(
            entry.model if taken.count(entry.model) == 1 else entry.name,
            kind_of(entry.result.facts),
            CLOSED if entry.result.facts.open_source is False else '',
            [_number(entry, column, uids) for column in columns],
        )
        for entry in board.entries
    ]
    return PaperTable(title, columns, lines, f'{len(uids)} questions, judge: {board.judge}.')


def _number(entry: Entry, column: Measure, uids: Sequence[str]) -> Number:
    if isinstance(column, Metric):
        return Number(_mean(entry.result.values(column)[entry.result.rows_of(uids)]))
    if entry.greedy:
        return Number(_mean(entry.greedy.values(ACCURACY)[entry.greedy.rows_of(uids)]))
    told = entry.result.manifest or entry.result.settings
    if told and entry.result.temperature is None:
        return Number(_mean(entry.result.values(ACCURACY)[entry.result.rows_of(uids)]), STANDS_IN)
    return Number(None)


def _mean(values: NDArray[np.float64]) -> float:
    return 100 * float(values.mean())


def _together(tables: Iterable[PaperTable]) -> str:
    """Return the LaTeX of one table, or of several with their titles."""
    tables = list(tables)
    if len(tables) == 1:
        return tables[0].to_latex()
    return '\n'.join(
        rf'\noindent{{\small {latex_text(table.title)}}}\par\nopagebreak\smallskip'
        + f'\n{table.to_latex()}\\par\\bigskip\n'
        for table in tables
    )


def _in_markdown(tables: Iterable[PaperTable]) -> list[str]:
    return [f'## {markdown_line(table.title)}\n\n{table.to_markdown()}' for table in tables]


def _markdown_head(column: Measure) -> str:
    return f'G-Pass@{column.k}_→0' if isinstance(column, Metric) and _is_limit(column) else str(column)


def _latex_head(column: Measure) -> str:
    if not isinstance(column, Metric) or column.threshold is None:
        return rf'\textbf{{{latex_text(str(column))}}}'
    threshold = r'\to 0' if _is_limit(column) else str(column).rpartition('_')[2]
    return rf'\textbf{{G-Pass@{column.k}}}$_{{{threshold}}}$'


def _is_limit(column: Metric) -> bool:
    """Return whether it is the limit of small thresholds: at least one correct."""
    return column.kind is Kind.G_PASS and column.threshold == 0


def _marked(text: str, mark: str) -> str:
    return f'{text} {mark}' if mark else text


def _latex_marked(text: str, mark: str) -> str:
    return f'{text} $^{{{_LATEX_MARKS[mark]}}}$' if mark else text
