"""The states of runs as a table, for people and for programs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ..runs.state import Finding, State
from ..tables import Column, Table
from ..unseen import printable

HEAD, TAIL = 90, 50
"""Characters of the start and the end of a long detail: messages start with the fact and end in a way out."""

_MODULE = re.compile(r'\b(?:\w+\.)+(?=[A-Z]\w*Error: )')


def states_table(findings: Sequence[Finding]) -> Table:
    """Return a table with a row a run, in the order given; programs get all that is known."""
    shown = [Column('run', 'left'), Column('state', 'left'), Column('time', 'left')]
    of_programs = ('work_dir', 'predictions', 'expected', 'results', 'logs')
    hidden = [Column(name, hidden=True) for name in of_programs]
    table = Table('runs', [*shown, Column('detail', 'left', _shortened), *hidden])
    for finding in findings:
        table.add(
            *(finding.name, finding.state.value, finding.time),
            finding.detail.replace(f'{finding.work_dir}/', ''),
            *(str(finding.work_dir), finding.predictions, finding.expected),
            [str(path) for path in finding.results],
            [{'path': str(path), 'lines': list(lines)} for path, lines in finding.logs],
        )
    return table


def _shortened(detail: str) -> str:
    """Return a detail without the module of an exception and, if it is long, without its middle."""
    text = printable(_MODULE.sub('', detail, count=1))
    return text if len(text) <= HEAD + 3 + TAIL else f'{text[:HEAD].rstrip()} … {text[-TAIL:].lstrip()}'


def summary(findings: Sequence[Finding]) -> str:
    """Return how many are in which state, in words.

    >>> summary([Finding('a', State.COMPLETE), Finding('b', State.FAILED), Finding('c', State.COMPLETE)])
    '3 runs: 2 complete, 1 failed'
    >>> summary([Finding('a', State.COMPLETE, 'all n = 8 responses are one text for 5 of 5 questions')])
    '1 run: 1 complete (1 of them with a remark)'
    """
    counts = Counter(finding.state for finding in findings)
    remarked = sum(finding.state is State.COMPLETE and bool(finding.detail) for finding in findings)
    remarks = {State.COMPLETE: f' ({remarked} of them with a remark)'} if remarked else {}
    parts = [f'{counts[one]} {one.value}{remarks.get(one, "")}' for one in reversed(State) if counts[one]]
    return f'{len(findings)} run{"" if len(findings) == 1 else "s"}: {", ".join(parts) or "none"}'


def failed_alike(findings: Sequence[Finding]) -> list[str]:
    """Return a line for each reason for which several runs failed."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.state is State.FAILED:
            groups.setdefault(_reason(finding), []).append(finding)
    lines = []
    for alike in (group for group in groups.values() if len(group) > 1):
        first = alike[0]
        reason = _shortened(first.detail.replace(f'{first.work_dir}/', ''))
        lines.append(
            f'{printable(first.name)} failed: {reason}\n… and {len(alike) - 1} more for the same reason'
        )
    return lines


class Failures:
    """The runs that have failed so far, by their reasons."""

    def __init__(self) -> None:
        self.count = 0
        self._first: dict[str, str] = {}

    def add(self, finding: Finding) -> str | None:
        """Take one more; return the first one of another name that failed for the same reason, if any."""
        self.count += 1
        first = self._first.setdefault(_reason(finding), finding.name)
        return None if first == finding.name else first


def _reason(finding: Finding) -> str:
    """Return why a run failed, without what is its own: its name, its folder, and how far it came."""
    reason = finding.detail.replace(str(finding.work_dir), '')
    reason = re.sub(rf'(?<![\w-]){re.escape(finding.name)}(?![\w-])', '', reason)
    progress = finding.progress
    return reason.replace(progress, '') if progress else reason


def log_lines(finding: Finding, count: int) -> list[str]:
    """Return the last lines of the logs of what failed, each log under its path."""
    return [printable(line, 400) for path, lines in finding.logs for line in (f'--- {path}', *lines[-count:])]
