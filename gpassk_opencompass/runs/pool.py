"""Which work starts when, and on which GPUs: that which needs many first, then that which takes long."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from ..errors import InputError
from ..serving import Served, Server
from .plan import Planned
from .state import Excerpt

VISIBLE = 'CUDA_VISIBLE_DEVICES'

CLIENTS = 4
"""Runs that ask a server at a time: more do not make it faster, and each is a process."""


@dataclass(frozen=True)
class Task:
    """A command that has to be started for a run: all of it, or only its samples or its evaluation."""

    run: Planned
    mode: str = 'all'
    workers: int | None = None


@dataclass(eq=False)
class Entry:
    """What gets GPUs of the pool: a model behind servers with the runs that ask them, or a run by itself."""

    tasks: list[Task]  # that wait
    gpus: int = 0  # that a server, or the run, takes
    served: Served | None = None  # None: the run loads its model itself, or needs none
    after: set[str] = field(default_factory=set)  # runs that have to be sampled before
    size: float = 0.0  # how much work it is; more goes first
    given: tuple[str, ...] = ()  # the GPUs that it has
    hardware: str = ''  # of a server, for the records of its clients
    servers: list[Server] = field(default_factory=list)
    commands: list[Generator[bool]] = field(default_factory=list)  # each gives True as long as it is at work
    cause: str = ''  # why its server cannot be asked any more
    logs: tuple[Excerpt, ...] = ()


class Pool:
    """Entries that wait and that are at work: `jobs` at a time, or as many as fit on the GPUs."""

    def __init__(self, entries: Iterable[Entry], gpus: Sequence[str], jobs: int | None = None) -> None:
        self.waiting = sorted(entries, key=lambda entry: (-entry.gpus, -entry.size))
        self.working: list[Entry] = []
        self._gpus, self._jobs = gpus, jobs

    def next(self) -> list[tuple[Entry, tuple[str, ...]]]:
        """Return what starts now, with its GPUs; it counts as at work until `ended`.

        Where nothing waits any more a model at work may get GPUs for one more server, if runs of it wait.
        """
        started = []
        for entry in [entry for entry in self.waiting if not entry.after]:
            gpus = self._place(entry)
            if gpus is not None:
                entry.given = gpus
                self.waiting.remove(entry)
                self.working.append(entry)
                started.append((entry, gpus))
        if not started and not self.waiting and self._gpus:
            able = [entry for entry in self.working if entry.served and entry.gpus and entry.tasks]
            for entry in sorted(able, key=lambda one: -len(one.tasks) * one.gpus / len(one.given)):
                if more := free_gpus(self._gpus, self._used(), entry.gpus):
                    entry.given += more
                    return [(entry, more)]
        return started

    def ended(self, entry: Entry) -> None:
        """Take note that an entry has ended."""
        self.working.remove(entry)

    def _used(self) -> set[str]:
        return {gpu for entry in self.working for gpu in entry.given}

    def _place(self, entry: Entry) -> tuple[str, ...] | None:
        needs_gpus = bool(entry.gpus and self._gpus)
        alike = sum(bool(other.given) == needs_gpus for other in self.working)
        if alike >= (self._jobs or (len(self._gpus) if needs_gpus else 1)):
            return None
        if not needs_gpus:
            return ()
        used = self._used()
        if entry.served is None:  # workers of one OpenCompass take what there is
            copies = min(entry.tasks[0].workers or 1, len(self._gpus) // entry.gpus)
        else:  # as many servers as its runs can make use of, and nobody else waits for
            others = sum(other.gpus for other in self.waiting if other is not entry)
            left = (len(self._gpus) - len(used) - others) // entry.gpus
            copies = max(1, min(-(-len(entry.tasks) // CLIENTS), left))
        places = (free_gpus(self._gpus, used, number * entry.gpus) for number in range(copies, 0, -1))
        return next((place for place in places if place is not None), None)


def free_gpus(gpus: Sequence[str], used: Collection[str], count: int) -> tuple[str, ...] | None:
    """Return free GPUs: neighbours from a multiple of `count` on, else the first ones; None: too few.

    >>> free_gpus([str(number) for number in range(6)], {'0'}, 2)
    ('2', '3')
    """
    blocks = [gpus[start : start + count] for start in range(0, len(gpus) - count + 1, count)]
    for block in (*blocks, [gpu for gpu in gpus if gpu not in used][:count]):
        if len(block) == count and not {*block} & {*used}:
            return tuple(block)
    return None


def usable_gpus(wanted: str | None, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the GPUs to use, as CUDA_VISIBLE_DEVICES takes them: numbers, 'GPU-…' or 'MIG-…'.

    Those of `--gpus`, if wanted, which have to be there; else those of CUDA_VISIBLE_DEVICES, which Slurm sets
    too, else all that `nvidia-smi` lists.
    """
    visible = environment.get(VISIBLE)
    if wanted is None and visible is not None:  # CUDA stops at the first that is none, as at -1
        named = (word.strip() for word in visible.split(','))
        return tuple(dict.fromkeys(takewhile(re.compile(r'\d+|(?:GPU|MIG)-[\w/-]+').fullmatch, named)))
    listed, trouble = _listed()
    if wanted is None:
        return tuple(gpu for gpu in listed if gpu.isdigit())
    found = [word.strip() for word in wanted.split(',')]
    if not any(found):
        raise InputError(
            f'--gpus {wanted!r} names no GPU (is a variable empty?): leave it out for all; for none, set '
            f"{VISIBLE}=''"
        )
    if not listed:
        raise InputError(f'--gpus {wanted}: there is no GPU to use here: {trouble}')
    for gpu in found:
        if gpu not in listed:
            raise InputError(f'--gpus: {gpu!r} is no GPU of this machine; there are {", ".join(listed)}')
        if found.count(gpu) > 1:
            raise InputError(f'--gpus {wanted!r}: it names {gpu} twice')
    return tuple(found)


def _listed() -> tuple[list[str], str]:
    """Return the number and the UUID of each GPU and MIG device that there is; or none, and why."""
    if shutil.which('nvidia-smi') is None:
        return [], 'nvidia-smi is not in $PATH'
    line = ['nvidia-smi', '-L']
    try:
        done = subprocess.run(line, capture_output=True, text=True, errors='replace', timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [], f'nvidia-smi: {error}'
    found = re.findall(r'^GPU (\d+): |\(UUID: ((?:GPU|MIG)-[^)]+)\)', done.stdout, re.MULTILINE)
    said = (done.stderr.strip() or done.stdout.strip() or 'nothing').splitlines()[0]
    if done.returncode or not found:
        return [], f'nvidia-smi ended with code {done.returncode}: {said}'
    return [number or uuid for number, uuid in found], ''
