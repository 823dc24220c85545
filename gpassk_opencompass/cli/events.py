"""What happens to a sweep as JSON, an object a line, for programs: see `schemas/event.schema.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, TextIO

from ..runs.progress import Progress
from ..runs.state import Finding, State
from ..times import utc_now
from ..unseen import json_text
from .board import LOG_LINES


class Events:
    """Writes events; no other line may be written there.

    Args:
        out: where to.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._told: dict[str, Progress] = {}

    def started(self, name: str, how: str) -> None:
        """Tell that somebody works on a run."""
        self._write('started', run=name, how=how)

    def progress(self, told: Sequence[Progress]) -> None:
        """Tell how far runs are, those that have moved."""
        for one in told:
            before = self._told.get(one.name)
            if before is None or _moved(one, before):
                self._told[one.name] = one
                self._write('progress', run=one.name, **_without_name(one))

    def ended(self, finding: Finding, seconds: float | None, told: Progress) -> None:
        """Tell in which state a run is, at which nobody works any more.

        Args:
            seconds: that its command took; None if none was seen.
            told: how far it came.
        """
        self._told.pop(finding.name, None)
        fields = _without_name(told) | {'state': finding.state.value}
        logs = [{'path': str(path), 'lines': list(lines[-LOG_LINES:])} for path, lines in finding.logs]
        self._write(
            'ended',
            run=finding.name,
            detail=finding.detail,
            work_dir=str(finding.work_dir),
            time_dir=finding.time,
            seconds=None if seconds is None else round(seconds, 1),
            logs=logs,
            **fields,
        )

    def planned(self, finding: Finding) -> None:
        """Tell the state of a run of which nothing was started."""
        self._write('planned', run=finding.name, state=finding.state.value, detail=finding.detail)

    def summary(self, runs: int, findings: Sequence[Finding], *, stopped: bool) -> None:
        """Tell the states of all runs, as the last event."""
        counts = Counter(finding.state for finding in findings)
        states = {one.value: counts[one] for one in State if counts[one]}
        complete = counts[State.COMPLETE] == runs
        self._write('summary', runs=runs, states=states, complete=complete, stopped=stopped)

    def _write(self, event: str, **fields: Any) -> None:
        self._out.write(json_text({'event': event, 'time': utc_now(), **fields}) + '\n')
        self._out.flush()


def _moved(now: Progress, before: Progress) -> bool:
    names = ('state', 'samples', 'total', 'judged', 'accuracy', 'tokens')
    return any(getattr(now, name) != getattr(before, name) for name in names)


def _without_name(told: Progress) -> dict[str, Any]:
    return {name: value for name, value in told.as_json().items() if name != 'name'}
