"""Whose turn it is: which runs may start now, on which GPUs, and which models are not needed any more."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .config_file import dicts_of
from .gpus import ORDER, VISIBLE, Gpu
from .plan import Planned
from .schedule import Demand, Slot, Waiting, is_share, next_step, shards_of, why_never
from .sessions import Need, Session, sessions_of
from .state import Finding

QUESTIONS = 100
"""Of a benchmark whose number is not known before it is loaded."""

LONGEST = 4096
"""Tokens of a response, where a config does not say."""

COMMANDS = 2
"""At a time on a slot: one samples, while the answers of the one before are judged."""

SESSION = 'GPASSK_SESSION'
"""Environment variable of a command: the runs with which it shares a loaded model."""

GPUS = 'GPASSK_GPUS'
"""Environment variable of a command: the ids of its GPUs; CUDA_VISIBLE_DEVICES has 0, 1, … for them."""

PART = 'GPASSK_GPU_MEMORY'
"""Environment variable of a command: GiB that its model takes of its GPU, which it shares with others."""


@dataclass(frozen=True, eq=False)
class Turn:
    """A run that may start now."""

    run: Planned
    session: str
    slots: tuple[tuple[str, ...], ...] = ()
    """The GPUs of each slot that works on it; none: it needs no GPU."""
    memory: float | None = None
    """GiB of its GPU that it takes, where it shares it."""

    @property
    def gpus(self) -> tuple[str, ...]:
        """Return all its GPUs, those of a slot one after the other."""
        return tuple(gpu for slot in self.slots for gpu in slot)

    def variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return what a command is told of its session and of its GPUs, beside its environment."""
        told = {SESSION: self.session}
        if self.gpus:
            told |= {GPUS: ','.join(self.gpus), VISIBLE: ','.join(map(str, range(len(self.gpus))))}
            if self.memory is not None:
                told |= {PART: f'{self.memory:g}'}
            if VISIBLE not in environment:  # then numbers are those of nvidia-smi
                told |= {ORDER: environment.get(ORDER, 'PCI_BUS_ID')}
        return told


class Unneeded(NamedTuple):
    """A model that nothing waits for any more."""

    session: str
    gpus: tuple[str, ...] = ()
    """Of a copy, where others are still needed; none: all copies."""


class Task(NamedTuple):
    """A run that has to be done, and in what state it is."""

    run: Planned
    finding: Finding
    workers: int | None
    """The number that it was begun with, or that was asked for; None: any."""


class Turns:
    """What waits, and what is at work.

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
        by_name = {task.run.name: task for task in tasks}
        sessions = sessions_of([task.run for task in tasks])
        self._needs = {session.name: self._need(session) for session in sessions}
        self._plain: deque[Turn] = deque()
        self._queues: dict[str, dict[str, tuple[Planned, Waiting]]] = {}
        self.refused: list[tuple[Task, str]] = []
        """Runs whose models do not fit, and why."""
        for session in sessions:
            for run in session.runs:
                self._add(session.name, by_name[run.name])
        self._slots: list[Slot] = []
        self._on_slots: Counter[tuple[str, ...]] = Counter()
        self._sampling: list[Turn] = []
        self._working: list[Turn] = []
        self._held: list[str] = []
        self._closed: list[Slot] = []

    def __bool__(self) -> bool:
        """Whether anything waits."""
        return bool(self._plain) or any(self._queues.values())

    def next(self) -> list[Turn]:
        """Return the runs that may start now; they count as at work until `ended`."""
        started: list[Turn] = []
        busy = sum(not turn.slots for turn in self._working)
        while self._plain and busy + len(started) < (self._jobs or 1):
            started.append(self._plain.popleft())
        started += self._on_gpus()
        self._working += started
        self._sampling += started
        self._held = list(dict.fromkeys([*self._held, *(turn.session for turn in started)]))
        return started

    def sampled(self, turn: Turn) -> None:
        """Take note that a run has all its samples: its slots may take the next one of its session."""
        if turn in self._sampling:
            self._sampling.remove(turn)
            self._free(turn.session)

    def ended(self, turn: Turn) -> None:
        """Take note that the command of a run has ended, or never started."""
        self._working.remove(turn)
        self._on_slots.subtract(_keys(turn))
        self.sampled(turn)
        self._free(turn.session)

    def done_with(self) -> list[Unneeded]:
        """Return the models that are not needed any more, each of them once; their GPUs are given away."""
        needed = {turn.session for turn in self._sampling} | {turn.session for turn in self._plain}
        needed |= {session for session, queue in self._queues.items() if queue}
        done = [session for session in self._held if session not in needed]
        copies = [Unneeded(slot.session, slot.gpus) for slot in self._closed if slot.session not in done]
        self._held = [session for session in self._held if session in needed]
        self._closed = []
        return [*copies, *map(Unneeded, done)]

    def _need(self, session: Session) -> Need:
        """Return what a session needs; nothing where a cluster draws its samples.

        One whose models are not known takes all GPUs, as by hand.
        """
        if not session.is_here:
            return Need()
        if session.is_known:
            return session.need
        wholes = sum(not gpu.is_part for gpu in self._gpus)
        return Need(max(wholes, min(1, len(self._gpus) + len(self._judges))))

    def _add(self, session: str, task: Task) -> None:
        run, need = task.run, self._needs[session]
        counted = bool(self._gpus or self._judges)
        if not counted or need.gpus < 1 or task.finding.sampled:
            self._plain.append(Turn(run, session))
        elif why := why_never(need, self._gpus):
            theirs = f' (judge_serve has {", ".join(self._judges)})' if self._judges else ''
            self.refused.append((task, f'{why}{theirs}'))
        else:
            self._queues.setdefault(session, {})[run.name] = (run, waiting_of(task))

    def _on_gpus(self) -> list[Turn]:
        left = None
        if self._jobs is not None:
            left = max(0, self._jobs - sum(bool(turn.slots) for turn in self._working))
        demands = [
            Demand(session, self._needs[session], tuple(waiting for _, waiting in queue.values()))
            for session, queue in self._queues.items()
        ]
        step = next_step(demands, self._slots, self._gpus, left)
        self._slots = [slot for slot in self._slots if slot not in step.closed]
        self._closed += step.closed
        turns = []
        for launch in step.launches:
            run, _ = self._queues[launch.session].pop(launch.run)
            need = self._needs[launch.session]
            memory = need.memory if is_share(need) else None
            turns.append(Turn(run, launch.session, launch.slots, memory))
            self._take(turns[-1])
        return turns

    def _take(self, turn: Turn) -> None:
        keys = _keys(turn)
        self._slots = [slot for slot in self._slots if (slot.session, *slot.gpus) not in keys]
        self._slots += [Slot(turn.session, gpus, busy=True, memory=turn.memory) for gpus in turn.slots]
        self._on_slots.update(keys)

    def _free(self, session: str) -> None:
        """Set free what nothing samples on, unless too many commands are still at work there."""
        busy = {key for turn in self._sampling for key in _keys(turn)}
        more = bool(self._queues.get(session))
        for number, slot in enumerate(self._slots):
            key = (slot.session, *slot.gpus)
            if slot.session == session:
                crowded = more and self._on_slots[key] >= COMMANDS
                self._slots[number] = slot._replace(busy=key in busy or crowded)


def _keys(turn: Turn) -> list[tuple[str, ...]]:
    return [(turn.session, *gpus) for gpus in turn.slots]


def waiting_of(task: Task) -> Waiting:
    """Return what a schedule knows of a run: how much there is to sample at most, and into how many parts.

    The manifest tells it without a look into the config.
    """
    entry = task.run.entry
    longest = entry.settings.get('max_out_len', 0) if entry is not None else _longest(task.run)
    rows = sum((one.n or 1) * (one.questions or QUESTIONS) for one in task.run.wanted) or QUESTIONS
    drawn = (task.finding.predictions or 0) if task.finding.resumable else 0
    shards = shards_of(rows) if task.workers is None else task.workers
    return Waiting(task.run.name, max(rows - drawn, 1) * (longest or LONGEST), shards)


def _longest(run: Planned) -> float:
    models = dicts_of(run.values() or {}, 'models')
    found = [model.get('max_out_len') for model in models]
    return max((length for length in found if isinstance(length, int)), default=0)
