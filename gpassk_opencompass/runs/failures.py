"""Why a run has no result: told apart from a kill by how its command and its logs ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from .starts import Start
from .state import Excerpt
from .work_dir import LOG, changed_at, last_lines

LOG_LINES = 40
"""Lines of a log that are worth showing."""

_TRACEBACK = 'Traceback (most recent call last):'


class Failure(NamedTuple):
    """What went wrong, in a line, and the logs that say so."""

    text: str
    logs: tuple[Excerpt, ...] = ()


def failure_in(work_dir: Path, logs: Sequence[Path], start: Start | None) -> Failure | None:
    """Why there is no result; None if everything was stopped or killed before it could fail.

    Args:
        logs: of the tasks that have not done what they should.
        start: the command that worked last, if `gpassk run` started it.
    """
    if start is not None and start.code is not None:
        if start.stopped or start.code < 0:
            return None
        return _shown(work_dir, logs, start.code)
    for log in logs:
        lines = last_lines(log)
        error = _error_in(lines)
        if error:
            return Failure(error, (_end_of(log, lines),))
    return None


def _shown(work_dir: Path, logs: Sequence[Path], code: int) -> Failure:
    """The log with an error in it, else the end of the newest log of a task, else that of the command."""
    own = work_dir / LOG
    said = last_lines(own)
    tasks = [(log, lines) for log in sorted(logs, key=changed_at, reverse=True) if (lines := last_lines(log))]
    log, lines = next(((log, lines) for log, lines in tasks if _error_in(lines)), (own, said))
    text = _error_in(lines)
    if code == 0 and tasks and log == own:  # killed for memory, aborted by CUDA, refused by srun, …
        log, lines = tasks[0]
        text = f'{lines[-1].strip()} (end of {log.name}, which has no traceback)'
    errors = [line for line in said if ' ERROR ' in line or ' failed with code ' in line]
    more = (_end_of(own, errors[-2:]),) if errors and log != own else ()
    return Failure(text or _ended_with(code, said), (_end_of(log, lines), *more))


def _ended_with(code: int, said: Sequence[str]) -> str:
    if code == 0:
        return 'no task left a result'
    return f'opencompass ended with code {code}' + (f': {said[-1].strip()}' if said else '')


def _end_of(log: Path, lines: Sequence[str]) -> Excerpt:
    return Excerpt(log, tuple(lines[-LOG_LINES:]))


def _error_in(lines: Sequence[str]) -> str:
    """The line with the exception of the last traceback; '' without one, and for a Ctrl-C."""
    places = [place for place, line in enumerate(lines) if line == _TRACEBACK]
    if not places:
        return ''
    after = (line for line in lines[places[-1] + 1 :] if not line.startswith(' '))
    error = next(after, '')
    return '' if error.startswith('KeyboardInterrupt') else error
