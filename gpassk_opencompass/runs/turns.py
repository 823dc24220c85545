"""Whose turn it is: which runs may start now, and on which GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..files import mapping
from .config_file import Config, dicts_of, is_local, runner_of
from .gpus import Gpu, free_gpus, why_never
from .plan import Planned
from .state import Finding


class Task(NamedTuple):
    """A run that has to be done, and in what state it is."""

    run: Planned
    finding: Finding
    workers: int = 1
    """Tasks that OpenCompass does at a time, each on GPUs of its own."""


class Turn(NamedTuple):
    """A run that may start now."""

    run: Planned
    gpus: tuple[str, ...] = ()
    """The ids of its GPUs; none: it has no GPU of its own."""
    hides: bool = False
    """Whether it is to see no GPU: it samples on the CPU, or asks a server."""


class Turns:
    """What waits, and what is at work.

    A run gets its GPUs when as many are free; those that need many start first, else the order is as given.

    Args:
        tasks: what has to be done.
        gpus: that may be used; none: all runs wait for `jobs` alone.
        jobs: commands at a time; None: as many as fit on the GPUs, and one that needs none.
        judges: GPUs that are left out of these, as servers of judges have them.
    """

    def __init__(
        self, tasks: Sequence[Task], gpus: Sequence[Gpu], jobs: int | None, judges: Sequence[str] = ()
    ) -> None:
        self._gpus, self._jobs, self._judges = gpus, jobs, judges
        self._waiting: list[tuple[Task, int]] = []
        self._working: list[Turn] = []
        self.refused: list[tuple[Task, str]] = []
        """Runs whose models do not fit, and why."""
        for task in tasks:
            count = self._count(task)
            if why := why_never(count, gpus) if count else '':
                theirs = f' (judge_serve has {", ".join(judges)})' if judges else ''
                self.refused.append((task, f'{why}{theirs}'))
            else:
                self._waiting.append((task, count))
        self._waiting.sort(key=lambda one: -one[1])

    def __bool__(self) -> bool:
        """Whether anything waits."""
        return bool(self._waiting)

    def next(self) -> list[Turn]:
        """Return the runs that may start now; they count as at work until `ended`."""
        started = []
        for waiting in list(self._waiting):
            task, count = waiting
            place = self._place(task, count)
            if place is not None:
                self._waiting.remove(waiting)
                started.append(Turn(task.run, place, self._hides(task, count)))
                self._working.append(started[-1])
        return started

    def ended(self, turn: Turn) -> None:
        """Take note that the command of a run has ended, or never started."""
        self._working.remove(turn)

    def _count(self, task: Task) -> int:
        """Return how many GPUs a run needs now; all of them, as by hand, where nobody can tell."""
        if task.finding.sampled or not (self._gpus or self._judges):
            return 0
        needed = gpus_needed(task.run.values())
        if needed is None:
            wholes = sum(not gpu.is_part for gpu in self._gpus)
            return max(wholes, min(1, len(self._gpus) + len(self._judges)))
        return needed

    def _hides(self, task: Task, count: int) -> bool:
        local = is_local(runner_of(task.run.values() or {}, 'infer'))
        return bool(self._gpus) and not count and not task.finding.sampled and local

    def _place(self, task: Task, count: int) -> tuple[str, ...] | None:
        """Return free GPUs for a run, for as many workers as there is room; None if it cannot start now."""
        alike = sum(bool(turn.gpus) == bool(count) for turn in self._working)
        if not count:
            return () if alike < (self._jobs or 1) else None
        if self._jobs is not None and alike >= self._jobs:
            return None
        used = {gpu for turn in self._working for gpu in turn.gpus}
        most = min(task.workers, len(self._gpus) // count)
        places = (free_gpus(self._gpus, used, copies * count) for copies in range(most, 0, -1))
        return next((place for place in places if place is not None), None)


def gpus_needed(config: Config | None) -> int | None:
    """Return how many GPUs of this machine the largest model of a config takes: tp × pp.

    None where a config computes its values, and so does not tell; 0 where its tasks run elsewhere.
    """
    if config is None:
        return None
    if not is_local(runner_of(config, 'infer')):
        return 0
    return max(map(_gpus_of, dicts_of(config, 'models')), default=0)


def _gpus_of(model: Mapping[str, Any]) -> int:
    count = mapping(model.get('run_cfg')).get('num_gpus', 0)
    return max(0, count) if isinstance(count, int) else 0
