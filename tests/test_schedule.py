"""What starts next on which GPUs: nothing is oversubscribed, nothing is left out, nothing idles."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.schedule import Event, Model, Run, bound, fleet, makespan, one_by_one, simulate
from gpassk_opencompass.runs.gpus import Gpu
from gpassk_opencompass.runs.schedule import (
    LOAD,
    Demand,
    Launch,
    Slot,
    Waiting,
    next_step,
    shards_of,
    why_never,
)
from gpassk_opencompass.runs.sessions import Need

SMALL, LONG = LOAD // 10, 1000 * LOAD


def machine(count: int, memory: float | None = 80.0) -> list[Gpu]:
    return [Gpu(str(number), memory, str(number)) for number in range(count)]


def demand(session: str, need: Need, *works: float, shards: int = 1) -> Demand:
    runs = (Waiting(f'{session}{number}', work, shards) for number, work in enumerate(works))
    return Demand(session, need, tuple(runs))


def slots_of(launches: Sequence[Launch]) -> dict[str, tuple[tuple[str, ...], ...]]:
    return {launch.run: launch.slots for launch in launches}


def test_large_models_go_first_then_the_longest_work() -> None:
    """So that no large one waits until GPUs happen to be free at the same time."""
    step = next_step(
        [
            demand('a', Need(1), SMALL),
            demand('b', Need(1), LONG, SMALL),
            demand('c', Need(4), SMALL),
            demand('d', Need(2), SMALL),
            demand('e', Need(1), SMALL, SMALL),
        ],
        [],
        machine(8),
    )
    assert slots_of(step.launches) == {
        'c0': (('0', '1', '2', '3'),),
        'd0': (('4', '5'),),
        'b0': (('6',),),
        'e0': (('7',),),
    }


def test_the_next_run_goes_where_its_model_is_loaded() -> None:
    """The longest one, though a larger model waits."""
    slots = [Slot('a', ('0',)), Slot('b', ('1',), busy=True)]
    demands = [demand('a', Need(1), SMALL, LONG), demand('b', Need(1), SMALL), demand('c', Need(2), LONG)]
    step = next_step(demands, slots, machine(2))
    assert step.closed == ()
    assert step.launches == (Launch('a', 'a1', (('0',),)),)


def test_gpus_are_free_as_soon_as_a_session_has_nothing_left() -> None:
    """And the next one takes them."""
    step = next_step([demand('b', Need(2), SMALL)], [Slot('a', ('0',)), Slot('c', ('1',))], machine(2))
    assert [slot.session for slot in step.closed] == ['a', 'c']
    assert slots_of(step.launches) == {'b0': (('0', '1'),)}


def test_idle_gpus_take_a_second_copy_when_nothing_else_waits() -> None:
    """Of the session with the most work left; not before every model is loaded once."""
    demands = [demand('a', Need(1), LONG, LONG), demand('b', Need(2), LONG)]
    busy = [Slot('a', ('0',), busy=True)]
    assert slots_of(next_step(demands, busy, machine(2)).launches) == {}, 'b waits for two'
    assert slots_of(next_step(demands[:1], busy, machine(3)).launches) == {'a0': (('1',),), 'a1': (('2',),)}


def test_what_is_quickly_done_is_worth_no_second_copy() -> None:
    """Loading would take longer."""
    step = next_step([demand('a', Need(1), SMALL, SMALL)], [], machine(2))
    assert slots_of(step.launches) == {'a0': (('0',),)}


def test_a_long_run_is_divided_among_idle_gpus() -> None:
    """As far as shards have rows enough; two runs share them evenly."""
    [alone] = next_step([demand('a', Need(2), LONG, shards=3)], [], machine(8)).launches
    assert alone.slots == (('0', '1'), ('2', '3'), ('4', '5'))
    both = next_step([demand(name, Need(1), LONG, shards=99) for name in 'ab'], [], machine(8))
    assert [len(launch.slots) for launch in both.launches] == [4, 4]
    busy = [Slot('b', ('1',), busy=True)]
    waits = [demand('a', Need(1), LONG, shards=9), demand('c', Need(4), LONG)]
    assert slots_of(next_step(waits, busy, machine(4)).launches) == {'a0': (('0',),)}, 'c still waits'


def test_a_copy_that_is_loaded_already_takes_a_shard_of_anything() -> None:
    """It costs no load."""
    slots = [Slot('a', ('0',)), Slot('a', ('1',)), Slot('a', ('2',))]
    step = next_step([demand('a', Need(1), SMALL, shards=2)], slots, machine(8))
    assert slots_of(step.launches) == {'a0': (('0',), ('1',))}
    assert step.closed == (Slot('a', ('2',)),)


def test_parts_of_gpus_are_packed_while_whole_ones_are_wanted() -> None:
    """First-fit decreasing: 50 + 30 and 40 + 40 GiB on two GPUs of 80."""
    shares = {'p': 30.0, 'q': 40.0, 'r': 50.0, 's': 40.0}
    demands = [demand('whole', Need(1), SMALL)]
    demands += [demand(name, Need(1, memory), SMALL) for name, memory in shares.items()]
    step = next_step(demands, [], machine(3))
    assert slots_of(step.launches) == {
        'whole0': (('0',),),
        'r0': (('1',),),
        'q0': (('2',),),
        's0': (('2',),),
        'p0': (('1',),),
    }


def test_parts_of_gpus_are_spread_where_nothing_else_waits() -> None:
    """Two on one GPU slow each other."""
    step = next_step([demand(name, Need(1, 20.0), SMALL) for name in 'abc'], [], machine(2))
    assert slots_of(step.launches) == {'a0': (('0',),), 'b0': (('1',),), 'c0': (('0',),)}


def test_a_copy_never_shares_a_gpu_with_the_copy_before_it() -> None:
    """It would have to be told apart by more than its GPUs, and be no faster."""
    step = next_step([demand('a', Need(1, 10.0), LONG, LONG, LONG, shards=9)], [], machine(2))
    gpus = [slot for launch in step.launches for slot in launch.slots]
    assert sorted(gpus) == [('0',), ('1',)]


def test_a_gpu_of_unknown_memory_is_not_divided() -> None:
    """Nobody can tell whether two fit."""
    demands = [demand('a', Need(1, 1.0), SMALL), demand('b', Need(1, 1.0), SMALL)]
    assert slots_of(next_step(demands, [], machine(1, None)).launches) == {'a0': (('0',),)}


def test_mig_devices_are_never_put_together() -> None:
    """CUDA shows one of them to a process."""
    gpus = [Gpu('MIG-a', 10.0), Gpu('0', 80.0, '0'), Gpu('MIG-b', 10.0), Gpu('1', 80.0, '1')]
    step = next_step([demand('a', Need(2), LONG), demand('b', Need(1, 8.0), LONG)], [], gpus)
    assert slots_of(step.launches) == {'a0': (('0', '1'),), 'b0': (('MIG-a',),)}


@pytest.mark.parametrize(
    ('need', 'gpus', 'message'),
    [
        (Need(8), machine(4), 'needs 8 GPUs, and 4 may be used: 0, 1, 2, 3'),
        (Need(1, 90.0), machine(2), 'needs 90 GB of a GPU, and the largest has 80 GB'),
        (Need(2), [Gpu('MIG-a'), Gpu('MIG-b')], 'and a model takes only one MIG device'),
        (Need(1, 90.0), machine(1, None), ''),
        (Need(4), machine(4), ''),
        (Need(1, 10.0), [Gpu('MIG-a', 10.0)], ''),
    ],
)
def test_what_can_never_be_loaded_is_told(need: Need, gpus: list[Gpu], message: str) -> None:
    """Before anything starts."""
    told = why_never(need, gpus)
    assert message in told
    assert bool(message) == bool(told)


def test_no_more_start_than_may() -> None:
    """A model that is loaded and has runs left stays loaded."""
    demands = [demand('a', Need(1), SMALL, SMALL), demand('b', Need(1), SMALL)]
    assert len(next_step(demands, [], machine(8), 1).launches) == 1
    waiting = next_step(demands, [Slot('a', ('0',))], machine(8), 0)
    assert waiting == ((), ())


PARTS = st.sampled_from([Need(1, memory) for memory in (10.0, 25.0, 40.0, 55.0, 80.0)])


@st.composite
def fleets(draw: st.DrawFn, *, parts: bool = True) -> tuple[list[Model], list[Gpu]]:
    """Some models with some runs each, all of which fit on the machine."""
    rooms = draw(st.integers(1, 8))
    whole = st.sampled_from([Need(gpus) for gpus in range(1, rooms + 1)])
    need = st.one_of(whole, PARTS) if parts else whole
    run = st.tuples(st.integers(1, 400), st.integers(1, 20_000))
    models = []
    for number, runs in enumerate(draw(st.lists(st.lists(run, min_size=1, max_size=5), max_size=9))):
        told = tuple(
            Run(f'{number}-{index}', rows, length * draw(st.sampled_from([0.1, 0.5, 1.0])), length)
            for index, (rows, length) in enumerate(runs)
        )
        load = draw(st.sampled_from([0.0, 60.0, 600.0]))
        models.append(Model(f'm{number}', draw(need), load, 1000.0, told))
    return models, machine(rooms)


def at(events: Sequence[Event], moment: float) -> Iterator[tuple[str, str]]:
    """GPU and session of all that is at work at a moment."""
    for event in events:
        if event.begin <= moment < event.end:
            yield from ((gpu, event.session) for slot in event.slots for gpu in slot)


def left(models: Sequence[Model], events: Sequence[Event], gpus: Sequence[Gpu], moment: float) -> Any:
    """GiB left of each GPU at a moment, None where it is somebody's own."""
    needs = {model.name: model.need for model in models}
    rooms: dict[str, float | None] = {gpu.id: gpu.memory for gpu in gpus}
    for gpu, session in at(events, moment):
        room, need = rooms[gpu], needs[session]
        assert room is not None, 'two where one has all of it'
        if need.memory is None:
            assert room == 80.0, 'a whole GPU that is shared'
        rooms[gpu] = None if need.memory is None else room - need.memory
        assert (rooms[gpu] or 0.0) >= 0.0, 'more memory than there is'
    return rooms


@given(fleets())
@settings(max_examples=60)
def test_no_gpu_is_oversubscribed_and_every_run_is_done_once(made: tuple[list[Model], list[Gpu]]) -> None:
    """On as many GPUs as its model needs, in at most as many parts as it has."""
    models, gpus = made
    events = simulate(models, gpus)
    by_name = {run.name: (model, run) for model in models for run in model.runs}
    assert sorted(event.run for event in events) == sorted(by_name)
    for event in events:
        model, run = by_name[event.run]
        assert event.session == model.name
        used = [gpu for slot in event.slots for gpu in slot]
        assert len(used) == len(set(used))
        assert {len(slot) for slot in event.slots} == {model.need.gpus}
        assert len(event.slots) <= shards_of(run.rows)
    for moment in {event.begin for event in events}:
        left(models, events, gpus, moment)


@given(fleets())
@settings(max_examples=60)
def test_nothing_idles_while_a_session_that_waits_would_fit(made: tuple[list[Model], list[Gpu]]) -> None:
    """At every moment at which something ends."""
    models, gpus = made
    events = simulate(models, gpus)
    begun = {model.name: min(one.begin for one in events if one.session == model.name) for model in models}
    for moment in {0.0, *(event.end for event in events)}:
        rooms = left(models, events, gpus, moment)
        free = [gpu for gpu, room in rooms.items() if room == 80.0]
        for model in models:
            if begun[model.name] > moment:
                if model.need.memory is None:
                    assert len(free) < model.need.gpus
                else:
                    assert all(room is None or room < model.need.memory for room in rooms.values())


@given(fleets(parts=False))
@settings(max_examples=80)
def test_all_is_done_within_twice_what_it_takes_at_least(made: tuple[list[Model], list[Gpu]]) -> None:
    """Twice the larger of all work on all GPUs and the longest session, beside one load.

    Whenever a session waits, what runs then and what runs a longest session later are together more GPUs
    than there are: else it had started (Garey and Graham). A second copy ends at most a load after the first
    one would have done its work.
    """
    models, gpus = made
    events = simulate(models, gpus)
    area = sum((one.end - one.begin) * sum(map(len, one.slots)) for one in events) / len(gpus)
    alone = [model.load + sum(2.0 + model.seconds(run) for run in model.runs) for model in models]
    load = max((model.load for model in models), default=0.0)
    assert makespan(events) <= 2 * max(area, *alone, 0.0) + load + 1e-6


@given(fleets())
@settings(max_examples=15)
def test_the_same_is_decided_again(made: tuple[list[Model], list[Gpu]]) -> None:
    """No set or clock has a say."""
    assert simulate(*made) == simulate(*made)


def optimum(models: Sequence[Model], gpus: int) -> float:
    """The least time in which undivided runs can be done, by trying everything.

    Runs of a session are put together in all ways, each group loads the model and is one block; of blocks,
    some order in which each starts as early as it can is the best.
    """
    best = float('inf')
    for grouping in product(*(groupings(list(model.runs)) for model in models)):
        blocks = [
            (model.need.gpus, model.load + sum(model.seconds(run) for run in group))
            for model, groups in zip(models, grouping, strict=True)
            for group in groups
        ]
        best = min([best, *(earliest(order, gpus) for order in set(permutations(blocks)))])
    return best


def groupings(runs: list[Run]) -> list[list[list[Run]]]:
    if not runs:
        return [[]]
    found = []
    for rest in groupings(runs[1:]):
        found.append([[runs[0]], *rest])
        for index in range(len(rest)):
            found.append([*rest[:index], [runs[0], *rest[index]], *rest[index + 1 :]])
    return found


def earliest(order: Sequence[tuple[int, float]], gpus: int) -> float:
    placed: list[tuple[float, float, int]] = []

    def fits(begin: float, seconds: float, need: int) -> bool:
        moments = [begin, *(start for start, _, _ in placed if begin < start < begin + seconds)]
        return all(
            sum(used for start, end, used in placed if start <= moment < end) + need <= gpus
            for moment in moments
        )

    for need, seconds in order:
        begins = sorted({0.0, *(end for _, end, _ in placed)})
        begin = next(begin for begin in begins if fits(begin, seconds, need))
        placed.append((begin, begin + seconds, need))
    return max((end for _, end, _ in placed), default=0.0)


def tiny(seed: int) -> list[Model]:
    """Two to four sessions of five runs in all, none of which can be divided."""
    draw = random.Random(seed)
    sizes = draw.choice([(2, 2, 1), (1, 1, 1, 1), (3, 1, 1), (2, 1), (3, 2)])
    models = []
    for number, size in enumerate(sizes):
        length = draw.randint(20_000, 400_000)
        runs = [
            Run(f'{number}-{index}', 16, float(length), length * draw.randint(1, 4)) for index in range(size)
        ]
        models.append(
            Model(f'm{number}', Need(draw.randint(1, 2)), float(draw.randint(0, 300)), 1000.0, (*runs,))
        )
    return models


def test_tiny_cases_come_close_to_the_best_of_all_schedules() -> None:
    """Never below it, which also checks the bound; on average within a tenth, at worst within twice."""
    ratios = []
    for seed in range(40):
        models = tiny(seed)
        best = optimum(models, 2)
        ours = makespan(simulate(models, machine(2), overhead=0.0))
        assert bound(models, 2, overhead=0.0) <= best + 1e-6
        assert best <= ours + 1e-6
        ratios.append(ours / best)
    assert max(ratios) <= 2
    assert sum(ratios) / len(ratios) <= 1.1, ratios


@pytest.mark.slow
def test_a_leaderboard_is_done_almost_as_fast_as_it_can_be() -> None:
    """The simulated one of docs/benchmarks.md, with fewer models."""
    models = fleet(7, 20)
    events = simulate(models, machine(8))
    assert bound(models, 8) <= makespan(events) <= 1.05 * bound(models, 8)
    assert makespan(events) < one_by_one(models, 8, sharded=True) < one_by_one(models, 8, sharded=False)
