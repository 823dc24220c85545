"""Tables as a reader sees them: cells with intervals, notes below, Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tabulate import LATEX_ESCAPE_RULES, tabulate

from .scores import Score
from .table import markdown_cell, markdown_line, one_line

NOTHING = '–'


@dataclass
class TextTable:
    """A title, columns of texts, and notes that cells refer to."""

    title: str
    headers: list[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def score(self, score: Score | None) -> str:
        """Two decimals and the interval with one, or the letter of the note that says why there is none.

        The letter of the score's own note comes behind.
        """
        if score is None:
            return NOTHING
        more = f' [{self.note(score.note)}]' if score.note else ''
        if score.low is None or score.high is None:
            return f'{score.value:.2f} [{self.note(f"no interval: {score.refused}")}]{more}'
        return f'{score.value:.2f} [{score.low:.1f}, {score.high:.1f}]{more}'

    def note(self, text: str) -> str:
        """The letter of a note, which is added where it is new; exact numbers are left to the CSV."""
        short = short_reason(text)
        if short not in self.notes:
            self.notes.append(short)
        return letter(self.notes.index(short))

    def to_markdown(self) -> str:
        """The table and its notes; what would end a cell, or be HTML, is escaped."""
        headers, *rows = ([markdown_cell(cell) for cell in row] for row in [self.headers, *self.rows])
        table = tabulate(rows, headers, 'github', colalign=self._alignment(), disable_numparse=True)
        notes = (f'[{letter(i)}] {markdown_line(note)}  ' for i, note in enumerate(self.notes))
        return '\n'.join([table, '', *notes, ''])

    def to_latex(self, titled: bool = False) -> str:
        """A tabular for the package booktabs, the title as a comment or above it, the notes below."""
        headers, *rows = ([one_line(cell) for cell in row] for row in [self.headers, *self.rows])
        table = tabulate(rows, headers, 'latex_booktabs', colalign=self._alignment(), disable_numparse=True)
        # A row that begins with [ or * would be read as an argument of the line break or rule before it.
        table = re.sub(r'(\\\\|\\midrule)\n(\s*)([\[*])', r'\1\n\2{}\3', _as_typed(table))
        notes = [rf'\\{{\footnotesize [{letter(i)}] {_latex(note)}}}' for i, note in enumerate(self.notes)]
        table = table.replace(r'\begin', r'\noindent\begin', 1)
        title = rf'\noindent{{\small {_latex(self.title)}}}\par' if titled else f'% {one_line(self.title)}'
        return '\n'.join([title, table, *notes, ''])

    def _alignment(self) -> Sequence[str]:
        return ['left'] + ['right'] * (len(self.headers) - 1)


def short_reason(refused: str) -> str:
    """Without the number of the single score, so that many scores share one reason.

    >>> short_reason('too few problems solved: 1.2 in effect, fewer than 6')
    'too few problems solved'
    """
    return re.sub(r': [0-9.]+ in (?:effect|all), .*', '', refused)


def letter(number: int) -> str:
    """a, b, …, z, aa, …

    >>> letter(0), letter(25), letter(26)
    ('a', 'z', 'aa')
    """
    head, last = divmod(number, 26)
    return (letter(head - 1) if head else '') + chr(ord('a') + last)


def _latex(text: str) -> str:
    return _as_typed(''.join(LATEX_ESCAPE_RULES.get(character, character) for character in one_line(text)))


def _as_typed(escaped: str) -> str:
    """Without what TeX's usual fonts make of two hyphens (a dash) and of a bar (another one)."""
    return re.sub('-(?=-)', '-{}', escaped).replace('|', r'\textbar{}')
