"""What to start next on which GPUs: a pure function of what waits, what is loaded and what is free.

A *slot* is the GPUs on which one copy of a session's model is loaded. It takes the session's runs one after
the other, and its GPUs are free as soon as none is left. It is list scheduling: no GPU stays idle while a
session without a slot fits on it, so all is done within twice the time that the work takes at least (Garey
and Graham 1975), beside one load of a model; see `benchmarks/schedule.py` for how close it comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .gpus import Gpu
from .sessions import Need

LEAST_ROWS = 16
"""Samples of a shard: OpenCompass makes no smaller ones."""

LOAD = 1_000_000
"""Tokens at most that a model could sample in about the time of its loading: less is worth no other copy."""


class Waiting(NamedTuple):
    """A run that waits for its model."""

    name: str
    work: float
    """Tokens at most: samples that are left × the longest response."""
    shards: int = 1
    """How many slots can work on it at once; 1 where it cannot be divided any more."""


class Demand(NamedTuple):
    """A session, and those of its runs that wait."""

    session: str
    need: Need
    waiting: tuple[Waiting, ...]


class Slot(NamedTuple):
    """A copy of a loaded model."""

    session: str
    gpus: tuple[str, ...]
    busy: bool = False
    memory: float | None = None
    """GiB that it takes of its GPU; None: its GPUs are its own."""


class Launch(NamedTuple):
    """A run to start, on the GPUs of each slot that shall work on it."""

    session: str
    run: str
    slots: tuple[tuple[str, ...], ...]


class Step(NamedTuple):
    """What to do now: first unload, then start."""

    closed: tuple[Slot, ...]
    """Slots whose GPUs are wanted by others, or whose sessions have nothing left for them."""
    launches: tuple[Launch, ...]


def shards_of(rows: int) -> int:
    """Return into how many parts a run of so many samples can be divided.

    >>> shards_of(30), shards_of(238 * 48)
    (1, 714)
    """
    return max(1, rows // LEAST_ROWS)


def why_never(need: Need, gpus: Sequence[Gpu]) -> str:
    """Return why a model can never be loaded here, for a message; '' if it can.

    >>> why_never(Need(4), [Gpu('0'), Gpu('1')])
    'needs 4 GPUs, and 2 may be used: 0, 1'
    """
    names = ', '.join(gpu.id for gpu in gpus) or 'none'
    wholes = sum(not gpu.is_part for gpu in gpus)
    if need.gpus > len(gpus):
        return f'needs {_count(need.gpus)}, and {len(gpus)} may be used: {names}'
    if need.gpus > 1 and need.gpus > wholes:
        return f'needs {_count(need.gpus)}, and a model takes only one MIG device; may be used: {names}'
    largest = max((gpu.memory for gpu in gpus if gpu.memory is not None), default=None)
    if is_share(need) and largest is not None and all(not _has(gpu, need) for gpu in gpus):
        return f'needs {need.memory:g} GB of a GPU, and the largest has {largest:.4g} GB'
    return ''


def next_step(
    demands: Sequence[Demand], slots: Sequence[Slot], gpus: Sequence[Gpu], at_most: int | None = None
) -> Step:
    """Say what to unload and what to start.

    A slot takes the next run of its session, the longest first. Then each session without a slot gets one,
    large models first, then those with the most work; parts of GPUs are packed. Only when no session is left
    without one, idle GPUs take second copies of models with more runs, and shards of the runs that start.

    Args:
        demands: all sessions with runs that wait, whose models fit on these GPUs when all are free.
        slots: what is loaded.
        gpus: all that may be used; neighbours first where models take several.
        at_most: runs that may start; None: as many as fit.
    """
    queues = [_Queue(number, demand) for number, demand in enumerate(demands) if demand.waiting]
    plan = _Plan(queues, slots, gpus, at_most)
    lacking = [queue for queue in queues if not plan.has(queue)]
    plan.close_idle({queue.session: queue.most(shared=not lacking) for queue in queues})
    for queue in queues:
        while queue.waiting and (idle := plan.idle(queue)):
            if not plan.start(queue, idle[0]):
                break
    packed = any(not is_share(queue.need) for queue in lacking)
    for queue in sorted(lacking, key=_Queue.order):
        if place := plan.room(queue, packed):
            plan.start(queue, place)
    if all(plan.has(queue) for queue in queues):
        plan.add_copies()
        plan.add_shards()
    plan.close_idle({queue.session: len(queue.waiting) for queue in queues})
    return plan.step()


def is_share(need: Need) -> bool:
    """Whether a model takes only a part of one GPU."""
    return need.gpus == 1 and need.memory is not None and need.memory > 0


class _Queue:
    """The runs of a session that wait, the longest first."""

    def __init__(self, number: int, demand: Demand) -> None:
        self.session, self.need = demand.session, demand.need
        self.waiting = sorted(demand.waiting, key=lambda run: -run.work)
        self._number, self._all = number, self.work

    @property
    def work(self) -> float:
        return sum(run.work for run in self.waiting)

    def most(self, shared: bool) -> int:
        """Return how many slots it can use, with several a run where those can be shared."""
        return sum(run.shards if shared else 1 for run in self.waiting)

    def order(self) -> tuple[float, float, float, int]:
        """Return a key: large models first, then parts of GPUs by size, then the most work."""
        memory = self.need.memory if is_share(self.need) else None
        return -self.need.gpus, float('-inf') if memory is None else -memory, -self._all, self._number


class _Start:
    """A run that starts, on one slot or more."""

    def __init__(self, queue: _Queue, run: Waiting, gpus: tuple[str, ...]) -> None:
        self.queue, self.run, self.slots = queue, run, [gpus]

    @property
    def share(self) -> float:
        return self.run.work / len(self.slots)


class _Plan:
    """A step in the making."""

    def __init__(
        self, queues: Sequence[_Queue], slots: Sequence[Slot], gpus: Sequence[Gpu], at_most: int | None
    ) -> None:
        self._queues, self._slots, self._gpus = queues, list(slots), gpus
        self._left = sum(len(queue.waiting) for queue in queues) if at_most is None else at_most
        self._closed: list[Slot] = []
        self._starts: list[_Start] = []

    def step(self) -> Step:
        launches = (Launch(one.queue.session, one.run.name, tuple(one.slots)) for one in self._starts)
        return Step(tuple(self._closed), tuple(launches))

    def has(self, queue: _Queue) -> bool:
        return any(slot.session == queue.session for slot in self._slots)

    def idle(self, queue: _Queue) -> list[tuple[str, ...]]:
        return [slot.gpus for slot in self._slots if slot.session == queue.session and not slot.busy]

    def close_idle(self, wanted: dict[str, int]) -> None:
        """Free idle slots: of each session those beyond the number that it can use."""
        kept: list[Slot] = []
        for slot in self._slots:
            if slot.busy or wanted.get(slot.session, 0) > 0:
                kept.append(slot)
            else:
                self._closed.append(slot)
            if not slot.busy and slot.session in wanted:
                wanted[slot.session] -= 1
        self._slots = kept

    def start(self, queue: _Queue, gpus: tuple[str, ...]) -> bool:
        """Start the next run of a session, unless as many as may have started."""
        if self._left <= 0:
            return False
        self._left -= 1
        self._starts.append(_Start(queue, queue.waiting.pop(0), gpus))
        self._use(queue, gpus)
        return True

    def add_copies(self) -> None:
        """Load models once more that have runs worth it, those with the most work first."""
        more = True
        while more:
            more = False
            for queue in sorted(self._queues, key=lambda queue: -queue.work):
                if queue.work >= LOAD and (place := self.room(queue)):
                    more = self.start(queue, place)
                    break

    def add_shards(self) -> None:
        """Divide the runs that start among idle slots of their sessions, then among idle GPUs."""
        more = True
        while more:
            more = False
            for start in sorted(self._starts, key=lambda start: -start.share):
                place = self._place_of_shard(start)
                if place is not None:
                    start.slots.append(place)
                    self._use(start.queue, place)
                    more = True
                    break

    def _place_of_shard(self, start: _Start) -> tuple[str, ...] | None:
        number = len(start.slots) + 1
        if number > start.run.shards:
            return None
        if idle := self.idle(start.queue):
            return idle[0]
        return self.room(start.queue) if start.run.work / number >= LOAD else None

    def room(self, queue: _Queue, packed: bool = False) -> tuple[str, ...] | None:
        """Return GPUs for a copy of a model; None if it does not fit now.

        Args:
            queue: of the session.
            packed: a part of a GPU goes to the first one with room; else to the one with the most.
        """
        if not is_share(queue.need):
            return self._free_gpus(queue.need.gpus)
        own = {gpu for slot in self._slots if slot.session == queue.session for gpu in slot.gpus}
        rooms = {gpu.id: self._memory(gpu) for gpu in self._gpus if gpu.id not in own}
        memory = queue.need.memory or 0.0
        fitting = [name for name, left in rooms.items() if left is not None and left >= memory]
        if not fitting:
            return None
        used = {gpu for slot in self._slots for gpu in slot.gpus}
        if packed:
            return (min(fitting, key=lambda name: name not in used),)
        return (max(fitting, key=lambda name: rooms[name] or 0.0),)

    def _free_gpus(self, count: int) -> tuple[str, ...] | None:
        """Return GPUs with nothing on them: neighbours from a multiple of the number on, else the first."""
        used = {gpu for slot in self._slots for gpu in slot.gpus}
        able = [gpu.id for gpu in self._gpus if count == 1 or not gpu.is_part]
        blocks = (able[start : start + count] for start in range(0, len(able) - count + 1, count))
        for block in (*blocks, [name for name in able if name not in used][:count]):
            if len(block) == count and used.isdisjoint(block):
                return tuple(block)
        return None

    def _memory(self, gpu: Gpu) -> float | None:
        """Return GiB that are left of a GPU; None where nothing is, or where a part of it cannot be told."""
        on_it = [slot.memory for slot in self._slots if gpu.id in slot.gpus]
        if None in on_it or (on_it and gpu.memory is None):
            return None
        total = float('inf') if gpu.memory is None else gpu.memory
        return total - sum(memory or 0.0 for memory in on_it)

    def _use(self, queue: _Queue, gpus: tuple[str, ...]) -> None:
        """Set a slot to work; one that is not there is loaded."""
        self._slots = [slot for slot in self._slots if (slot.session, slot.gpus) != (queue.session, gpus)]
        memory = queue.need.memory if is_share(queue.need) else None
        self._slots.append(Slot(queue.session, gpus, busy=True, memory=memory))


def _has(gpu: Gpu, need: Need) -> bool:
    return gpu.memory is None or need.memory is None or gpu.memory >= need.memory


def _count(gpus: int) -> str:
    return '1 GPU' if gpus == 1 else f'{gpus} GPUs'
