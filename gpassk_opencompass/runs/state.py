"""The states of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import NamedTuple


class Excerpt(NamedTuple):
    """The end of a log."""

    path: Path
    lines: tuple[str, ...]


class State(str, Enum):
    """What can be said of a run, the worst first."""

    MISSING = 'missing'
    STALE = 'stale'
    """The config was changed since."""
    WRONG_N = 'wrong n'
    """The result is of another number of samples a question."""
    DAMAGED = 'damaged'
    """The result file cannot be read, or its parts contradict each other."""
    FAILED = 'failed'
    """A task ended with an error, or left a file that cannot be read."""
    PARTIAL = 'partial'
    """Stopped or killed, or still at work."""
    COMPLETE = 'complete'


@dataclass(frozen=True)
class Finding:
    """The state of a run, and what it rests on."""

    name: str
    state: State
    detail: str = ''
    """Why it is in this state; of a complete run, what has to be known before its scores are quoted."""
    work_dir: Path = Path()
    time: str | None = None
    """The time directory that it is about."""
    resumable: bool = False
    """Whether the samples in that directory are of the config as it is now."""
    predictions: int | None = None
    expected: int | None = None
    sampled: bool = False
    """Whether all samples are drawn."""
    results: tuple[Path, ...] = ()
    in_the_way: tuple[Path, ...] = ()
    """Files that OpenCompass would take for finished ones, and that must be put aside to go on."""
    logs: tuple[Excerpt, ...] = field(default=(), repr=False)
    """The ends of the logs of what failed."""

    @property
    def progress(self) -> str:
        """Return how many predictions there are."""
        expected = '?' if self.expected is None else self.expected
        return f'{self.predictions or 0} of {expected} predictions'


def merged(findings: list[Finding]) -> Finding:
    """Return one finding for several models or data sets: the worst state, and all files.

    >>> merged([Finding('run', State.COMPLETE), Finding('run', State.FAILED, 'NameError')]).detail
    '1 of 2 results: NameError'
    """
    worst = min(findings, key=lambda finding: list(State).index(finding.state))
    bad = sum(finding.state is not State.COMPLETE for finding in findings)
    if bad == 0:
        detail = '; '.join(dict.fromkeys(finding.detail for finding in findings if finding.detail))
    elif len(findings) == 1:
        detail = worst.detail
    else:
        detail = f'{bad} of {len(findings)} results: {worst.detail}'
    return replace(
        worst,
        detail=detail,
        resumable=all(finding.resumable for finding in findings),
        sampled=all(finding.sampled for finding in findings),
        results=_all(finding.results for finding in findings),
        in_the_way=_all(finding.in_the_way for finding in findings),
    )


def _all(paths: Iterable[tuple[Path, ...]]) -> tuple[Path, ...]:
    return tuple(path for part in paths for path in part)
