"""Whose turn it is: what starts when something is sampled, has ended, or never started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fake_opencompass import config_text, write

from gpassk_opencompass.naming.manifest import Entry
from gpassk_opencompass.runs.gpus import Gpu
from gpassk_opencompass.runs.plan import Planned, planned_runs
from gpassk_opencompass.runs.state import Finding, State
from gpassk_opencompass.runs.turns import Task, Turn, Turns, waiting_of
from gpassk_opencompass.runs.work_dir import Wanted

ONE = [Gpu('0', 80.0, '0')]


def task(
    folder: Path, name: str, path: str = 'org/a', gpus: int = 1, max_out_len: int = 9, **finding: Any
) -> Task:
    text = config_text(name, path=path, run_cfg={'num_gpus': gpus}, max_out_len=max_out_len)
    config = write(folder / f'{name}.py', text)
    return Task(planned_runs([config]).runs[0], Finding(name, State.MISSING, **finding), None)


def names(turns: list[Turn]) -> list[str]:
    return [turn.run.name for turn in turns]


def test_one_samples_and_one_is_judged_on_a_slot(tmp_path: Path) -> None:
    """No third one: a slow judge would pile up commands."""
    turns = Turns([task(tmp_path, name) for name in 'abcd'], ONE, None)
    [first] = turns.next()
    assert turns.next() == []
    turns.sampled(first)
    [second] = turns.next()
    turns.sampled(second)
    assert turns.next() == []
    turns.ended(first)
    assert names(turns.next()) == ['c']
    assert {turn.gpus for turn in (first, second)} == {('0',)}


def test_the_last_one_leaves_its_gpu_when_it_is_sampled(tmp_path: Path) -> None:
    """The model is released before another one is loaded, while the answers are still judged."""
    turns = Turns([task(tmp_path, 'a'), task(tmp_path, 'b', 'org/b')], ONE, None)
    [first] = turns.next()
    assert turns.done_with() == []
    turns.sampled(first)
    assert names(turns.next()) == ['b']
    assert turns.done_with() == [('a', ())]
    turns.ended(first)
    assert turns.done_with() == []


def test_a_copy_that_nothing_is_left_for_is_given_back(tmp_path: Path) -> None:
    """While the other copy still samples."""
    gpus = [*ONE, Gpu('1', 80.0, '1')]
    turns = Turns([task(tmp_path, name) for name in 'ab'], gpus, None)
    assert names(turns.next()) == ['a']
    assert turns.done_with() == []
    long = [task(tmp_path, name, max_out_len=10**6) for name in 'ab']
    turns = Turns(long, gpus, None)
    first, second = turns.next()
    turns.ended(second)
    assert turns.next() == []
    assert turns.done_with() == [('a', second.gpus)]
    turns.ended(first)
    turns.next()
    assert turns.done_with() == [('a', ())]


def test_a_judged_one_counts_as_a_job(tmp_path: Path) -> None:
    """--jobs bounds commands, whatever they do."""
    turns = Turns([task(tmp_path, name) for name in 'ab'], ONE, 1)
    [first] = turns.next()
    turns.sampled(first)
    assert turns.next() == []
    turns.ended(first)
    assert names(turns.next()) == ['b']


def test_what_never_started_leaves_its_slot(tmp_path: Path) -> None:
    """As one that is in use elsewhere."""
    turns = Turns([task(tmp_path, name) for name in 'ab'], ONE, None)
    [first] = turns.next()
    turns.ended(first)
    assert names(turns.next()) == ['b']
    assert not turns


@pytest.mark.parametrize(('jobs', 'first'), [(None, ['a']), (2, ['a', 'c']), (9, ['a', 'c', 'b'])])
def test_without_gpus_runs_of_a_model_follow_each_other(
    tmp_path: Path, jobs: int | None, first: list[str]
) -> None:
    """So many at a time; its model stays until the last of them has ended."""
    tasks = [task(tmp_path, 'a'), task(tmp_path, 'b', 'org/b'), task(tmp_path, 'c')]
    turns = Turns(tasks, (), jobs)
    started = turns.next()
    assert names(started) == first
    assert turns.next() == []
    released: list[str] = []
    while started:
        turns.ended(started.pop(0))
        started += turns.next()
        released += [session for session, _ in turns.done_with()]
    assert released == ['a', 'b']


def test_runs_that_are_sampled_need_neither_gpu_nor_room(tmp_path: Path) -> None:
    """They are judged, one at a time unless more are allowed."""
    tasks = [task(tmp_path, 'a', gpus=8, sampled=True), task(tmp_path, 'b', gpus=8)]
    turns = Turns(tasks, ONE, None)
    assert [(turn.run.name, turn.gpus) for turn in turns.next()] == [('a', ())]
    assert [(refused.run.name, why) for refused, why in turns.refused] == [
        ('b', 'needs 8 GPUs, and 1 may be used: 0')
    ]


def test_work_is_what_is_left_to_sample(tmp_path: Path) -> None:
    """From the manifest alone, where it says enough: the config is not there."""
    settings = {'max_out_len': 1000}
    entry = Entry('a.py', 't', 'm', 'm', 'm', 'd', settings, 'd', (4,), 16, 30, 's', 'x')
    run = Planned('a', (Wanted('m', 'd', 16, (4,), 30),), 's', tmp_path / 'a.py', 'x', entry)
    new = waiting_of(Task(run, Finding('a', State.MISSING), None))
    assert (new.work, new.shards) == (16 * 30 * 1000, 16 * 30 // 16)
    half = Finding('a', State.PARTIAL, resumable=True, predictions=240, expected=480)
    assert waiting_of(Task(run, half, 1))[1:] == (240 * 1000, 1)
    stale = Finding('a', State.STALE, predictions=240)
    assert waiting_of(Task(run, stale, 8))[1:] == (480 * 1000, 8)


def test_a_config_without_a_manifest_tells_its_longest_response(tmp_path: Path) -> None:
    """And one that tells nothing is given the usual ones."""
    told = write(tmp_path / 'told.py', config_text('told', n=2, max_out_len=50))
    silent = write(tmp_path / 'silent.py', config_text('silent', n=2))
    works = [
        waiting_of(Task(planned_runs([config]).runs[0], Finding('x', State.MISSING), None)).work
        for config in (told, silent)
    ]
    assert works == [2 * 100 * 50, 2 * 100 * 4096]
