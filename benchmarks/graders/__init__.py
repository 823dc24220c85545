"""Verdicts of other programs' graders, each in an environment and a process of its own.

No two of these programs go into one environment, and a pair can hang any of them or end it. So each grader
runs in a process of its own Python (`adapters.py`), gets one pair at a time, and is started anew after a pair
on which it gave no verdict in time. Such a pair, and one on which it raised an exception, is not accepted and
is counted as failed.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gpassk_opencompass.json_rows import json_rows

from .. import ROOT
from .adapters import GRADERS

ADAPTERS = Path(__file__).with_name('adapters.py')
START = 300.0
"""Seconds in which a grader must be imported: OpenCompass takes its time."""
IN_A_ROW = 20
"""So many pairs without an answer, one after another, and the grader is broken rather than the pairs."""


class Asked(NamedTuple):
    """A pair as a grader gets it."""

    reference: str
    answer: str


class Graded(NamedTuple):
    """What a grader made of all pairs."""

    version: str
    accepted: list[bool]
    failed: Counter[str]
    """Why there was no verdict → on how many pairs; these are not accepted."""


class NoGrader(Exception):
    """The grader is not installed, cannot be imported or gives no verdicts; the message says which."""


def python_of(name: str) -> Path:
    """Return the Python that has this grader where `make graders` and its sisters put it.

    Raises:
        NoGrader: there is none.
    """
    python = ROOT / GRADERS[name].environment / 'bin' / 'python'
    if not python.is_file():
        raise NoGrader(f'not installed, there is no {GRADERS[name].environment}')
    return python


def grade(
    command: Sequence[str | os.PathLike[str]], pairs: Sequence[Asked], limit: float, kept: Path | None = None
) -> Graded:
    """Return a grader's verdict on each pair; equal pairs are asked once.

    Args:
        command: what runs the grader and speaks as `adapters.py` does.
        pairs: references and answers.
        limit: seconds for one pair.
        kept: a file of verdicts, written as they come; what it has of the same version is not asked again.

    Raises:
        NoGrader: it does not start, or fails on `IN_A_ROW` pairs in a row for no reason that it names.
    """
    process = _Process(command)
    try:
        process.start()
        said = _kept(kept, process.version)
        new = [pair for pair in dict.fromkeys(pairs) if pair not in said]
        for pair, verdict in _each(process, new, limit):
            said[pair] = verdict
            if kept:
                _keep(kept, {**pair._asdict(), 'version': process.version, **verdict})
    finally:
        process.end()
    failed = Counter(said[pair]['failed'] for pair in pairs if 'failed' in said[pair])
    return Graded(process.version, [said[pair].get('equal') is True for pair in pairs], failed)


def _each(
    process: _Process, pairs: Iterable[Asked], limit: float
) -> Iterator[tuple[Asked, Mapping[str, Any]]]:
    silent = 0
    for pair in pairs:
        said, spoke = process.ask(pair, limit)
        silent = 0 if spoke else silent + 1
        if silent == IN_A_ROW:
            raise NoGrader(f'no verdict on {silent} pairs in a row, the last time: {said["failed"]}')
        yield pair, said


def _kept(path: Path | None, version: str) -> dict[Asked, Mapping[str, Any]]:
    if path is None or not path.is_file():
        return {}
    rows = [row for _, row in json_rows(path)]
    return {Asked(row['reference'], row['answer']): row for row in rows if row['version'] == version}


def _keep(path: Path, row: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open('a', encoding='utf-8') as file:
        file.write(json.dumps(row) + '\n')


class _Process:
    """The process of a grader, started when it is asked, and again after it had to be ended."""

    def __init__(self, command: Sequence[str | os.PathLike[str]]) -> None:
        self._command = command
        self._running: subprocess.Popen[bytes] | None = None
        self._unread = b''
        self.version = ''

    def ask(self, pair: Asked, limit: float) -> tuple[Mapping[str, Any], bool]:
        """Return what it said, and whether that was a reply of its own and no silence."""
        if self._running is None:
            self.start()
        assert self._running is not None
        assert self._running.stdin is not None
        try:
            self._running.stdin.write(json.dumps(pair._asdict()).encode() + b'\n')
            said = self._reply(limit)
            if isinstance(said.get('equal'), bool) or isinstance(said.get('failed'), str):
                return said, True
            reason = 'no verdict'
        except TimeoutError:
            reason = 'time'
        except (OSError, EOFError):
            reason = 'crash'
        except ValueError:
            reason = 'no verdict'
        self.end()
        return {'failed': reason}, False

    def start(self) -> None:
        """Start it and learn its version.

        Raises:
            NoGrader: it is not installed, or says nothing.
        """
        self._unread = b''
        self._running = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=_environment(),
            start_new_session=True,
        )
        try:
            said = self._reply(START)
        except (TimeoutError, EOFError, ValueError) as error:
            raise NoGrader(f'{self._command[0]} does not start it: {error}') from error
        if 'version' not in said:
            raise NoGrader(f'not installed: {said.get("missing", said)}')
        self.version = str(said['version'])

    def _reply(self, limit: float) -> dict[str, Any]:
        """The next line.

        Raises:
            TimeoutError: there is none in time.
            EOFError: there will be none.
            ValueError: it holds no JSON object.
        """
        assert self._running is not None
        assert self._running.stdout is not None
        output = self._running.stdout.fileno()
        end = time.monotonic() + limit
        while b'\n' not in self._unread:
            ready, _, _ = select.select([output], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f'no reply within {limit:g} s')
            found = os.read(output, 1 << 16)
            if not found:
                raise EOFError('it ended without a reply')
            self._unread += found
        line, _, self._unread = self._unread.partition(b'\n')
        said = json.loads(line)
        if not isinstance(said, dict):
            raise ValueError(f'expected a JSON object, got {line[:100]!r}')
        return said

    def end(self) -> None:
        """End the process with all that it started."""
        if self._running is None:
            return
        running, self._running = self._running, None
        with running:
            os.killpg(running.pid, signal.SIGKILL)


def _environment() -> dict[str, str]:
    """Without this package, which no grader's environment has, and without the hub."""
    kept = {name: value for name, value in os.environ.items() if name != 'PYTHONPATH'}
    return {**kept, 'PYTHONWARNINGS': 'ignore', 'HF_HUB_OFFLINE': '1', 'TOKENIZERS_PARALLELISM': 'false'}
