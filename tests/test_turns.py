"""Whose turn it is: which runs start, on which GPUs, and what waits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fake_opencompass import config_text, write
from hypothesis import given
from hypothesis import strategies as st

from gpassk_opencompass.runs.gpus import Gpu, free_gpus, why_never
from gpassk_opencompass.runs.plan import Planned, planned_runs
from gpassk_opencompass.runs.state import Finding, State
from gpassk_opencompass.runs.turns import Task, Turn, Turns

ONE, TWO, FOUR = (tuple(Gpu(str(number), str(number)) for number in range(count)) for count in (1, 2, 4))


def task(
    folder: Path, name: str, gpus: int = 1, *, sampled: bool = False, workers: int = 1, **more: Any
) -> Task:
    """A run of a config in a file."""
    text = config_text(name, run_cfg={'num_gpus': gpus})
    for field, value in more.items():
        text += f'{field} = {value!r}\n'
    [run] = planned_runs([write(folder / f'{name}.py', text)]).runs
    return Task(run, Finding(name, State.MISSING, sampled=sampled), workers)


def told(turns: list[Turn]) -> list[tuple[str, str]]:
    return [(turn.run.name, ','.join(turn.gpus)) for turn in turns]


def test_a_run_starts_when_its_gpus_are_free(tmp_path: Path) -> None:
    """Large ones first, so that small ones do not keep them waiting; else in the order given."""
    tasks = [task(tmp_path, 'a'), task(tmp_path, 'large', 2), task(tmp_path, 'b'), task(tmp_path, 'c')]
    turns = Turns(tasks, FOUR, None)
    first = turns.next()
    assert told(first) == [('large', '0,1'), ('a', '2'), ('b', '3')]
    assert turns.next() == []
    turns.ended(first[1])
    assert told(turns.next()) == [('c', '2')]
    assert not turns


def test_jobs_bound_commands(tmp_path: Path) -> None:
    """Those on GPUs, and those that need none: one unless more are allowed."""
    tasks = [task(tmp_path, name, gpus) for name, gpus in (('a', 1), ('b', 1), ('x', 0), ('y', 0), ('z', 0))]
    assert told(Turns(tasks, TWO, 1).next()) == [('a', '0'), ('x', '')]
    assert told(Turns(tasks, TWO, None).next()) == [('a', '0'), ('b', '1'), ('x', '')]
    assert told(Turns(tasks, TWO, 2).next()) == [('a', '0'), ('b', '1'), ('x', ''), ('y', '')]
    assert told(Turns(tasks, (), 3).next()) == [('a', ''), ('b', ''), ('x', '')]


def test_workers_have_gpus_of_their_own_as_far_as_there_are_free_ones(tmp_path: Path) -> None:
    """With --max-num-workers OpenCompass has a task on each."""
    turns = Turns([task(tmp_path, 'a', workers=8), task(tmp_path, 'b')], FOUR, None)
    assert told(turns.next()) == [('a', '0,1,2,3')]
    turns = Turns([task(tmp_path, 'pair', 2, workers=2), task(tmp_path, 'a', workers=3)], FOUR[:3], None)
    assert told(turns.next()) == [('pair', '0,1'), ('a', '2')]


def test_what_runs_elsewhere_or_is_sampled_takes_no_gpu(tmp_path: Path) -> None:
    """Not even where none has as many; a config that samples on the CPU sees none."""
    elsewhere = {'runner': {'type': 'opencompass.runners.SlurmSequentialRunner'}}
    tasks = [
        task(tmp_path, 'cluster', 8, infer=elsewhere),
        task(tmp_path, 'judged', 8, sampled=True),
        task(tmp_path, 'cpu', 0),
    ]
    turns = Turns(tasks, ONE, 3)
    assert not turns.refused
    assert [(turn.run.name, turn.gpus, turn.hides) for turn in turns.next()] == [
        ('cluster', (), False),
        ('judged', (), False),
        ('cpu', (), True),
    ]


def test_what_never_fits_is_refused(tmp_path: Path) -> None:
    """With who has the others."""
    [(refused, why)] = Turns([task(tmp_path, 'a', 2)], ONE, None, ['7']).refused
    assert (refused.run.name, why) == ('a', 'needs 2 GPUs, and 1 may be used: 0 (judge_serve has 7)')
    parts = (Gpu('MIG-a'), Gpu('MIG-b'))
    assert 'a model takes only one MIG device' in why_never(2, parts)
    assert free_gpus(parts, {'MIG-a'}, 1) == ('MIG-b',)


def test_neighbours_are_taken_together() -> None:
    """From a multiple of their number on, where such are free."""
    assert free_gpus(FOUR, {'0'}, 2) == ('2', '3')
    assert free_gpus(FOUR, {'0', '2'}, 2) == ('1', '3')
    assert free_gpus(FOUR, {'0', '1', '2'}, 2) is None


class Made(Planned):
    """A run whose config is in memory; its signature says how many GPUs it takes."""

    def values(self) -> dict[str, Any]:
        return {'models': [{'run_cfg': {'num_gpus': int(self.signature or 0)}}]}


@given(st.data())
def test_whatever_happens_no_gpu_is_given_twice_and_all_come_to_their_turn(data: st.DataObject) -> None:
    """Commands end in any order, with any bound on them."""
    needs = data.draw(st.lists(st.integers(0, 4), max_size=12))
    jobs = data.draw(st.none() | st.integers(1, 3))
    tasks = []
    for number, gpus in enumerate(needs):
        run = Made(f'r{number}', signature=str(gpus))
        tasks.append(Task(run, Finding(run.name, State.MISSING), data.draw(st.integers(1, 3))))
    turns = Turns(tasks, FOUR, jobs)
    working: list[Turn] = []
    done: list[str] = []
    while turns or working:
        working += turns.next()
        assert working, 'nothing is at work, and nothing starts'
        used = [gpu for turn in working for gpu in turn.gpus]
        assert len(used) == len(set(used))
        on_gpus = sum(bool(turn.gpus) for turn in working)
        assert on_gpus <= (jobs or 4)
        assert len(working) - on_gpus <= (jobs or 1)
        ended = data.draw(st.sampled_from(working))
        working.remove(ended)
        turns.ended(ended)
        done.append(ended.run.name)
    assert sorted(done) == sorted(one.run.name for one in tasks)
