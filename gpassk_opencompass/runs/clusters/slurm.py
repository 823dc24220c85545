"""Sessions as arrays of Slurm jobs."""

from __future__ import annotations

import re
import secrets
import shlex
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from ...errors import InputError
from ...times import utc_folder
from ..cluster_jobs import ENDED, MISSING, ask
from .cluster import Phase, Seen
from .work import TO_BE_CONTINUED, WORKS, Notes, Work, read_works, write_works

NOTICE = 120
"""Seconds before the end of its time limit at which a job is told, by SIGUSR1."""

LARGEST_ARRAY = 1000
"""What Slurm allows unless a site has another MaxArraySize."""

_BY_THE_CLUSTER = frozenset({'BOOT_FAIL', 'NODE_FAIL', 'PREEMPTED', 'TIMEOUT', 'LAUNCH_FAILED'})
_USUAL = frozenset(
    {
        *('None', '', 'Resources', 'Priority', 'BeginTime', 'Dependency', 'JobArrayTaskLimit', 'Cleaning'),
        *('Prolog', 'NodeDown', 'Reservation'),
    }
)
"""Reasons to wait that need no word: they end by themselves."""

_PASSING = re.compile(r'timed out|unable to contact|connection refused|temporar|try again', re.IGNORECASE)
_ATTEMPTS = 5
_FINISHED = 'finished'
_FORMAT = '%j|%F|%K|%T|%N|%r'
_GONE = 'no longer known to Slurm'


class _Line(NamedTuple):
    """A job as squeue tells of it."""

    state: str
    node: str
    reason: str


class _Task(NamedTuple):
    """A job that was submitted: its array, and its index in the folder of that array."""

    folder: Path
    number: int


class Slurm:
    """Jobs of Slurm, an array for all sessions that need the same.

    Args:
        folder: keeps what each job does, and its output; all nodes see it under this path.
        options: for sbatch, behind our own: of two that speak of the same the last one counts.
        at_once: jobs of an array that may run at a time; None: as many as Slurm lets.
        say: is told when Slurm does not answer.
    """

    name = 'Slurm'
    interval = 5.0

    def __init__(
        self, folder: Path, options: Sequence[str], at_once: int | None, say: Callable[[str], None]
    ) -> None:
        self._folder, self._options, self._at_once, self._say = folder, tuple(options), at_once, say
        self._tasks: dict[str, _Task] = {}
        self._missed: dict[str, int] = {}
        self._last: dict[str, Seen] = {}
        self._silent_since: float | None = None

    def adopt(self, runs: Collection[str]) -> Mapping[str, Work]:
        """See `Cluster`; jobs are found by their names, which are those of the folders."""
        folders = [path.parent for path in self._folder.glob(f'*/{WORKS}')]
        folders = [folder for folder in sorted(folders) if not (folder / _FINISHED).exists()]
        if not folders:
            return {}
        listed = _squeue([folder.name for folder in folders])
        if listed is None:
            raise InputError('squeue does not answer, so jobs that may be at work cannot be found: try again')
        found: dict[str, Work] = {}
        for folder in folders:
            found.update(self._alive_in(folder, listed, runs))
        return found

    def _alive_in(
        self, folder: Path, listed: Mapping[str, dict[str, _Line]], runs: Collection[str]
    ) -> Iterator[tuple[str, Work]]:
        lines = listed.get(folder.name, {})
        alive = [job for job, line in lines.items() if line.state not in ENDED]
        works = read_works(folder)
        if not alive:
            (folder / _FINISHED).touch()
        for job in alive:
            index = int(job.rpartition('_')[2])
            if index < len(works) and not set(runs).isdisjoint(works[index].runs):
                self._tasks[job] = _Task(folder, index)
                yield job, works[index]

    def submit(self, works: Sequence[Work]) -> Mapping[str, Work]:
        """See `Cluster`."""
        placed: dict[str, Work] = {}
        try:
            for gpus, alike in groupby(sorted(works, key=lambda work: work.gpus), lambda work: work.gpus):
                group, largest = list(alike), _largest_array()
                for first in range(0, len(group), largest):
                    placed.update(self._submit_array(group[first : first + largest], gpus))
        except BaseException:
            self._scancel(list(placed))
            for job in placed:
                del self._tasks[job]
            raise
        return placed

    def _submit_array(self, works: Sequence[Work], gpus: int) -> dict[str, Work]:
        folder = self._folder / f'gpassk-{utc_folder()}-{secrets.token_hex(3)}'
        write_works(folder, works)
        script = folder / 'job.sh'
        script.write_text(_script(folder), encoding='utf-8')
        array = _sbatch([*self._own_options(folder, works, gpus), *self._options, str(script)], folder.name)
        placed = {f'{array}_{index}': work for index, work in enumerate(works)}
        self._tasks.update({job: _Task(folder, index) for index, job in enumerate(placed)})
        return placed

    def _own_options(self, folder: Path, works: Sequence[Work], gpus: int) -> list[str]:
        at_once = f'%{self._at_once}' if self._at_once else ''
        return [
            f'--job-name={folder.name}',
            f'--array=0-{len(works) - 1}{at_once}',
            f'--output={str(folder).replace("%", "%%")}/%a.log',
            f'--chdir={works[0].here}',
            *('--open-mode=append', '--nodes=1', '--ntasks=1', '--requeue', f'--signal=B:USR1@{NOTICE}'),
            *([f'--gres=gpu:{gpus}'] if gpus else []),
        ]

    def look(self) -> Mapping[str, Seen]:
        """See `Cluster`; while squeue does not answer, nothing has changed."""
        left = {task.folder.name for job, task in self._tasks.items() if not self._has_ended(job)}
        listed = _squeue(sorted(left)) if left else {}
        self._note_silence(listed is None)
        if listed is not None:
            for job, task in self._tasks.items():
                if not self._has_ended(job):
                    self._last[job] = self._seen(job, task, listed.get(task.folder.name, {}).get(job))
        return dict(self._last)

    def _has_ended(self, job: str) -> bool:
        return job in self._last and self._last[job].phase is Phase.ENDED

    def _note_silence(self, silent: bool) -> None:
        if not silent:
            if self._silent_since is not None:
                self._say('squeue answers again')
            self._silent_since = None
        elif self._silent_since is None:
            self._silent_since = time.monotonic()
            self._say('squeue does not answer; the jobs go on, and it is asked again')

    def _seen(self, job: str, task: _Task, line: _Line | None) -> Seen:
        notes = Notes(task.folder, task.number)
        if line is None:
            self._missed[job] = self._missed.get(job, 0) + 1
            if self._missed[job] < 2:  # an answer with a part of the jobs
                return self._last.get(job) or Seen(Phase.WAITING, _GONE, notes.log)
            line = _Line(_from_accounting(job), '', '')
        if line.state in ENDED or line.state == _GONE:
            return _ended(line.state, notes)
        if line.state == 'PENDING':
            says = '' if line.reason in _USUAL else f'job {job} waits: {line.reason}'
            return Seen(Phase.WAITING, f'PENDING ({line.reason})', notes.log, says=says)
        return Seen(Phase.RUNNING, line.state, notes.log, line.node or None)

    def cancel(self, hurry: bool) -> None:
        """See `Cluster`; jobs at work get a SIGTERM, in a hurry Slurm kills them after its KillWait."""
        left = [job for job in self._tasks if not self._has_ended(job)]
        if left and not hurry:
            ask('scancel', '--state=PENDING', *left)
            ask('scancel', '--signal=TERM', '--batch', *left)
        elif left:
            self._scancel(left)

    def close(self) -> None:
        """Do nothing: jobs are no part of this process."""

    def _scancel(self, jobs: Sequence[str]) -> None:
        if jobs:
            ask('scancel', *jobs)


def _ended(state: str, notes: Notes) -> Seen:
    ended = notes.ended
    code = ended.code if ended else None
    by_the_cluster = state in _BY_THE_CLUSTER or (code == TO_BE_CONTINUED and state != 'CANCELLED')
    lost = state == _GONE and ended is None
    return Seen(
        Phase.ENDED,
        state,
        notes.log,
        notes.node,
        code,
        ended.says if ended else '',
        may_go_on=by_the_cluster or lost,
    )


def _script(folder: Path) -> str:
    job = shlex.join([sys.executable, '-m', 'gpassk_opencompass.cli.run_in_job', str(folder)])
    return (
        '#!/bin/sh\n'
        f'# A job of `gpassk run --slurm`: {WORKS} beside this file says what each index of the array does.\n'
        f'exec {job}\n'
    )


def _sbatch(words: Sequence[str], name: str) -> str:
    """Submit an array; return its number.

    Raises:
        InputError: Slurm refuses it, or does not answer.
    """
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(Slurm.interval)
            if known := (_squeue([name]) or {}).get(name):  # it was submitted, but the answer was lost
                return next(iter(known)).partition('_')[0]
        asked = ask('sbatch', '--parsable', *words)
        if asked.returncode == 0:
            return asked.stdout.strip().splitlines()[-1].partition(';')[0]
        if asked.returncode == MISSING:
            raise InputError('there is no sbatch here: run this where Slurm is, such as on a login node')
        if not _PASSING.search(asked.stderr):
            break
    why = ' '.join(asked.stderr.split()) or f'code {asked.returncode}'
    partitions = ask('sinfo', '--noheader', '--format=%R').stdout.split()
    known_ones = f'; the partitions there are: {", ".join(partitions)}' if partitions else ''
    raise InputError(f'sbatch refused the job: {why}{known_ones}. What it was given: {shlex.join(words)}')


def _squeue(names: Sequence[str]) -> dict[str, dict[str, _Line]] | None:
    """Return name → job → what squeue says of all jobs with these names; None if it does not answer."""
    asked = ask(
        'squeue',
        '--noheader',
        '--array',
        '--states=all',
        f'--name={",".join(names)}',
        f'--format={_FORMAT}',
    )
    if asked.returncode:
        return None
    found: dict[str, dict[str, _Line]] = {name: {} for name in names}
    for line in asked.stdout.splitlines():
        name, array, index, *told = line.strip().split('|')
        if name in found and len(told) == 3:
            found[name][f'{array}_{index}'] = _Line(*told)
    return found


def _from_accounting(job: str) -> str:
    """Return the state of a job that squeue no longer knows, where the site keeps account of jobs."""
    asked = ask('sacct', '--noheader', '--allocations', '--parsable2', f'--jobs={job}', '--format=State')
    told = asked.stdout.split() if asked.returncode == 0 else []
    return told[-1] if told and told[-1] in ENDED else _GONE


def _largest_array() -> int:
    for line in ask('scontrol', 'show', 'config').stdout.splitlines():
        name, _, value = line.partition('=')
        if name.strip() == 'MaxArraySize' and value.strip().isdigit():
            return max(1, min(LARGEST_ARRAY, int(value) - 1))
    return LARGEST_ARRAY
