"""The states of runs as a table, for people and for programs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tabulate import tabulate

from ..runs.state import Finding, State
from ..unseen import printable

HEAD, TAIL = 90, 50
"""Characters of the start and the end of a long detail: messages start with the fact and end in a way out."""

_MODULE = re.compile(r'\b(?:\w+\.)+(?=[A-Z]\w*Error: )')


def states_table(findings: Sequence[Finding]) -> str:
    """Return a table with a row a run, in the order given."""
    rows = [
        [
            printable(finding.name),
            finding.state.value,
            finding.time or '-',
            _shortened(finding.detail.replace(f'{finding.work_dir}/', '')),
        ]
        for finding in findings
    ]
    return tabulate(rows, ['run', 'state', 'time', 'detail'], 'github', disable_numparse=True)


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


def log_lines(finding: Finding, count: int) -> list[str]:
    """Return the last lines of the logs of what failed, each log under its path."""
    return [printable(line, 400) for path, lines in finding.logs for line in (f'--- {path}', *lines[-count:])]


def states_json(findings: Sequence[Finding]) -> str:
    """Return the states as JSON: a list of objects."""
    return json.dumps([_fields(finding) for finding in findings], ensure_ascii=False, indent=2)


def _fields(finding: Finding) -> dict[str, Any]:
    return {
        'run': finding.name,
        'state': finding.state.value,
        'detail': finding.detail,
        'work_dir': str(finding.work_dir),
        'time': finding.time,
        'predictions': finding.predictions,
        'expected': finding.expected,
        'results': [str(path) for path in finding.results],
        'logs': [{'path': str(path), 'lines': list(lines)} for path, lines in finding.logs],
    }
