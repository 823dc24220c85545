"""What `gpassk run` notes in a work directory: which command it started there, and how that ended.

OpenCompass keeps neither its options nor its exit code, and a resumed run needs the number of workers of its
start. The notes are in `<work_dir>/.gpassk/`, a name that sorts before the time directories: OpenCompass
takes the last name of the work directory for the latest run (`-r`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..files import parse_json

NOTES = '.gpassk'
"""The folder of the notes in a work directory."""

_TIME_NAME = re.compile(r'\d{8}_\d{6}')

_FILE = 'starts.jsonl'


@dataclass(frozen=True)
class Start:
    """One `opencompass` command."""

    started: str
    """In the form of the time directories, see `utc`."""
    resumes: str | None
    """The time directory given with -r; None: OpenCompass made one soon after `started`."""
    workers: int | None
    """--max-num-workers; None: it was not given."""
    config: str
    sha256: str
    """Of the config's bytes."""
    mode: str = 'all'
    """-m: 'all', 'infer' or 'eval'."""
    options: tuple[str, ...] = ()
    """All that were given."""
    code: int | None = None
    """Exit code, negative for a signal; None while it runs, and after a kill of `gpassk run` itself."""
    stopped: bool = False
    """By Ctrl-C in `gpassk run`."""
    utc: bool = False
    """Whether `started`, and the time directory that it made, are named in UTC and not in local time."""


class Starts:
    """The commands that were started in a work directory, oldest first."""

    def __init__(self, work_dir: Path) -> None:
        self._work_dir = work_dir
        self._path = work_dir / NOTES / _FILE
        self._starts = _read(self._path)

    @property
    def last(self) -> Start | None:
        """The latest one."""
        return self._starts[-1] if self._starts else None

    def made(self, time: str) -> Start | None:
        """The command that made a time directory; None for one that `gpassk run` did not start.

        A command makes one directory, the first one from its start on, and before the next command starts.
        """
        left = sorted({*times_in(self._work_dir), time})
        for number, start in enumerate(self._starts):
            # One that resumes it came later, whatever the clock said by then.
            later = (one for one in self._starts[number + 1 :] if one.resumes != time)
            following = next(later, None)
            own = [one for one in left if _is_between(one, start, following)]
            if start.resumes is None and own:
                left.remove(own[0])
                if own[0] == time:
                    return start
        return None

    def last_of(self, time: str) -> Start | None:
        """The latest command that worked in a time directory."""
        maker = self.made(time)
        own = [start for start in self._starts if start is maker or start.resumes == time]
        return own[-1] if own else None

    def begin(self, start: Start) -> None:
        """Note a command that is about to start."""
        self._append(start)
        self._starts.append(start)

    def end(self, code: int, stopped: bool) -> None:
        """Note how the latest command ended."""
        ended = replace(self._starts[-1], code=code, stopped=stopped)
        self._append(ended)
        self._starts[-1] = ended

    def _append(self, start: Start) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        torn = self._path.exists() and not self._path.read_bytes().endswith(b'\n')
        with self._path.open('a', encoding='utf-8') as file:
            file.write(('\n' if torn else '') + json.dumps(asdict(start)) + '\n')
            file.flush()
            os.fsync(file.fileno())


def times_in(work_dir: Path) -> list[str]:
    """The names of its time directories."""
    try:
        return [path.name for path in work_dir.iterdir() if _TIME_NAME.fullmatch(path.name) and path.is_dir()]
    except OSError:
        return []


def _is_between(time: str, start: Start, following: Start | None) -> bool:
    if following is None or following.started < start.started:  # by then the clock was set back
        return start.started <= time
    return start.started <= time <= following.started


def _read(path: Path) -> list[Start]:
    """A line that was torn by a kill is left out; the end of a command takes the place of its start."""
    starts: list[Start] = []
    try:
        lines = path.read_text(encoding='utf-8', errors='replace').splitlines()
    except OSError:
        return starts
    for line in lines:
        start = _start(line)
        if start is not None and starts and start.code is not None and _same(start, starts[-1]):
            starts[-1] = start
        elif start is not None:
            starts.append(start)
    return starts


def _start(line: str) -> Start | None:
    try:
        fields: Any = parse_json(line)
        return Start(**{**fields, 'options': tuple(fields['options'])}) if _is_start(fields) else None
    except (ValueError, TypeError, KeyError):
        return None


def _is_start(fields: Mapping[str, Any]) -> bool:
    texts = all(isinstance(fields[name], str) for name in ('started', 'config'))
    return texts and isinstance(fields['code'], (int, type(None)))


def _same(ended: Start, begun: Start) -> bool:
    return begun.code is None and (ended.started, ended.resumes) == (begun.started, begun.resumes)
