"""How long a leaderboard of 100 models × 25 runs takes by `runs/schedule.py`, beside the least that it could.

    python -m benchmarks.schedule

Nothing is sampled: a simulator of made models, whose times to load and to sample are drawn with fixed seeds,
asks the schedule what to start whenever something ends, as `gpassk run` does. The schedule is told what
`gpassk run` knows, samples × the longest response allowed, not how long a run will take.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from gpassk_opencompass.runs.gpus import Gpu
from gpassk_opencompass.runs.schedule import Demand, Slot, Waiting, is_share, next_step, shards_of
from gpassk_opencompass.runs.sessions import Need

from .sections import Headline, Section, Size, main, times

START = 25.0
"""Seconds until a plain `opencompass` does anything: its imports, in three processes."""

WARM = 2.0
"""Seconds until one that is forked from a warm process does."""

SETTINGS = (1, 16, 16, 48, 48)
"""Samples a question, of each setting: greedy, and some temperatures."""

SHORT = (1, 1, 1, 4, 4)
"""Of a leaderboard that is drawn in a day."""


class Run(NamedTuple):
    """A config: how many samples, of which length."""

    name: str
    rows: int
    length: float
    """Tokens of a response, on average: what a schedule does not know."""
    longest: int
    """Tokens at most."""


class Model(NamedTuple):
    """A session."""

    name: str
    need: Need
    load: float
    """Seconds."""
    rate: float
    """Tokens a second of one copy."""
    runs: tuple[Run, ...]

    def seconds(self, run: Run, slots: int = 1) -> float:
        """To sample a run on so many copies, of which the slowest counts."""
        return math.ceil(run.rows / slots) * run.length / self.rate


class Event(NamedTuple):
    """A run on its slots."""

    session: str
    run: str
    slots: tuple[tuple[str, ...], ...]
    begin: float
    end: float
    loads: int
    """How many of its slots loaded the model first."""


@dataclass
class _Clock:
    """What is at work, and what waits."""

    models: Sequence[Model]
    waiting: dict[str, list[Run]] = field(default_factory=dict)
    slots: list[Slot] = field(default_factory=list)
    ends: list[tuple[float, int, Event]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


def simulate(models: Sequence[Model], gpus: Sequence[Gpu], overhead: float = WARM) -> list[Event]:
    """What runs when, in the order of the starts; seconds from the beginning."""
    clock = _Clock(models, {model.name: list(model.runs) for model in models})
    numbers, now = count(), 0.0
    while True:
        _start(clock, gpus, now, overhead, numbers)
        if not clock.ends:
            return clock.events
        now, _, event = heapq.heappop(clock.ends)
        done = [event]
        while clock.ends and clock.ends[0][0] == now:
            done.append(heapq.heappop(clock.ends)[2])
        ended = {(event.session, slot) for event in done for slot in event.slots}
        clock.slots = [
            slot._replace(busy=slot.busy and (slot.session, slot.gpus) not in ended) for slot in clock.slots
        ]


def _start(clock: _Clock, gpus: Sequence[Gpu], now: float, overhead: float, numbers: Iterator[int]) -> None:
    by_name = {model.name: model for model in clock.models}
    step = next_step([_demand(model, clock.waiting[model.name]) for model in clock.models], clock.slots, gpus)
    clock.slots = [slot for slot in clock.slots if slot not in step.closed]
    for launch in step.launches:
        model = by_name[launch.session]
        [run] = [run for run in clock.waiting[launch.session] if run.name == launch.run]
        clock.waiting[launch.session].remove(run)
        loaded = {slot.gpus for slot in clock.slots if slot.session == launch.session}
        loads = sum(gpus_of not in loaded for gpus_of in launch.slots)
        end = now + overhead + (model.load if loads else 0.0) + model.seconds(run, len(launch.slots))
        event = Event(launch.session, launch.run, launch.slots, now, end, loads)
        clock.slots = [slot for slot in clock.slots if (slot.session, slot.gpus) not in _keys(event)] + [
            _slot(model, gpus_of) for gpus_of in launch.slots
        ]
        clock.events.append(event)
        heapq.heappush(clock.ends, (end, next(numbers), event))


def _demand(model: Model, runs: Sequence[Run]) -> Demand:
    waiting = (Waiting(run.name, run.rows * run.longest, shards_of(run.rows)) for run in runs)
    return Demand(model.name, model.need, tuple(waiting))


def _keys(event: Event) -> set[tuple[str, tuple[str, ...]]]:
    return {(event.session, gpus) for gpus in event.slots}


def _slot(model: Model, gpus: tuple[str, ...]) -> Slot:
    return Slot(model.name, gpus, True, model.need.memory if is_share(model.need) else None)


def makespan(events: Sequence[Event]) -> float:
    """Seconds until all is done."""
    return max((event.end for event in events), default=0.0)


def bound(models: Sequence[Model], gpus: int, overhead: float = WARM) -> float:
    """Seconds that no schedule can be faster than.

    All work and one load a model, spread evenly over all GPUs; or the longest run, divided as far as it can.
    """
    area = sum(
        model.need.gpus * (model.load + sum(model.seconds(run) + overhead for run in model.runs))
        for model in models
    )
    chain = max(
        model.load + overhead + model.seconds(run, min(shards_of(run.rows), gpus // model.need.gpus))
        for model in models
        for run in model.runs
    )
    return max(area / gpus, chain)


def one_by_one(models: Sequence[Model], gpus: int, *, sharded: bool) -> float:
    """Seconds for a command a run, one after the other, each of which loads its model.

    Args:
        models: what there is to run.
        gpus: of the machine.
        sharded: --max-num-workers is given, so that every run takes all GPUs; else it takes those of a model.
    """
    total = 0.0
    for model in models:
        for run in model.runs:
            slots = min(shards_of(run.rows), gpus // model.need.gpus) if sharded else 1
            total += START + model.load + model.seconds(run, slots)
    return total


def fleet(seed: int, models: int = 100, settings: Sequence[int] = SETTINGS) -> list[Model]:
    """Models of 1 to 8 GPUs, each with 5 benchmarks × as many numbers of samples a question."""
    draw = random.Random(seed)
    return [_model(draw, number, settings) for number in range(models)]


_SIZES = ((1, 60, 60, 180, 3000), (2, 20, 120, 300, 2500), (4, 12, 180, 420, 2000), (8, 8, 300, 600, 1500))
"""GPUs, share of the models in %, seconds to load from … to …, tokens a second."""

_BENCHMARKS = (('aime', 30), ('amc', 46), ('ccee', 100), ('math', 138), ('livemath', 238))


def _model(draw: random.Random, number: int, settings: Sequence[int]) -> Model:
    [(gpus, _, least, most, rate)] = draw.choices(_SIZES, [size[1] for size in _SIZES])
    reasons = draw.random() < 0.4
    longest = 32768 if reasons else 8192
    length = draw.uniform(4000, 12000) if reasons else draw.uniform(500, 1500)
    runs = tuple(
        Run(f'{benchmark}-{setting}', questions * n, length * draw.uniform(0.8, 1.25), longest)
        for benchmark, questions in _BENCHMARKS
        for setting, n in enumerate(settings)
    )
    return Model(f'm{number}', Need(gpus), draw.uniform(least, most), rate * draw.uniform(0.7, 1.3), runs)


def measure(size: Size) -> Section:
    """Fleets on 8 and on 64 GPUs."""
    models, seeds = (12, 1) if size == 'tiny' else (100, 1 if size == 'quick' else 3)
    found = [
        _Outcome.of(fleet(seed, models, settings), gpus, settings)
        for gpus in (8, 64)
        for settings in (SETTINGS, SHORT)
        for seed in range(seeds)
    ]
    return Section(
        title='Schedule of a leaderboard',
        about=(
            f'{models} models × 25 runs, simulated: 1, 2, 4 and 8 GPUs a model, 1 to 10 minutes to load, '
            'benchmarks of 30 to 238 questions. The bound is what no schedule can beat: all work and one '
            'load a model spread evenly over the GPUs, or the longest run divided as far as it can be. All '
            'figures but hours and loads are multiples of it.'
        ),
        heads=(
            'Samples a question',
            'GPUs',
            'Bound',
            '`gpassk run`',
            '÷ bound',
            'A command a run, all GPUs: ÷ bound',
            'A command a run: ÷ bound',
            'Loads',
        ),
        rows=[one.row() for one in found],
        notes=(
            'A command a run is what `opencompass` does for each config, one after the other: with '
            '`--max-num-workers` each takes all GPUs and loads its model on all of them, without it each '
            'takes those of one copy. The schedule knows only samples × the longest response allowed. '
            f'{START:.0f} s a command for imports by hand, {WARM:.0f} s where they are kept.',
        ),
        headlines=[found[index * seeds].headline() for index in range(4)],
    )


@dataclass(frozen=True)
class _Outcome:
    """Of a fleet; seconds."""

    models: int
    samples: str
    gpus: int
    least: float
    ours: float
    sharded: float
    plain: float
    loads: int

    @classmethod
    def of(cls, models: Sequence[Model], gpus: int, settings: Sequence[int]) -> _Outcome:
        """Simulate it."""
        events = simulate(models, [Gpu(str(number), 80.0, str(number)) for number in range(gpus)])
        return cls(
            len(models),
            ', '.join(map(str, settings)),
            gpus,
            bound(models, gpus),
            makespan(events),
            one_by_one(models, gpus, sharded=True),
            one_by_one(models, gpus, sharded=False),
            sum(event.loads for event in events),
        )

    def row(self) -> list[str]:
        """In the table."""
        hours = [f'{seconds / 3600:,.1f} h' for seconds in (self.least, self.ours)]
        ratios = [f'{self.ours / self.least:.3f}']
        ratios += [f'{seconds / self.least:.2f}' for seconds in (self.sharded, self.plain)]
        return [self.samples, f'{self.gpus}', *hours, *ratios, f'{self.loads}']

    def headline(self) -> Headline:
        """In the overview."""
        return Headline(
            f'{self.models} models × 25 runs (n = {self.samples}) on {self.gpus} GPUs, simulated',
            'a command a run, over all GPUs',
            f'{self.ours / 3600:,.1f} h',
            f'{self.sharded / 3600:,.1f} h',
            times(self.sharded / self.ours),
            '–',
        )


if __name__ == '__main__':
    main(measure, __doc__)
