"""Whose turn it is: what starts when something is sampled, has ended, or never started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fake_opencompass import config_text, write
from hypothesis import given, settings
from hypothesis import strategies as st

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


def test_a_runner_of_a_cluster_takes_no_gpu_of_this_machine(tmp_path: Path) -> None:
    """Not even where none has as many."""
    run = task(tmp_path, 'a', gpus=8).run
    assert run.config is not None
    write(
        run.config, run.config.read_text() + "infer = {'runner': {'type': 'opencompass.runners.DLCRunner'}}\n"
    )
    turns = Turns([Task(run, Finding('a', State.MISSING), None)], ONE, None)
    assert turns.refused == []
    assert [turn.gpus for turn in turns.next()] == [()]


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


class Made(Planned):
    """A run whose config is in memory."""

    def values(self) -> dict[str, Any]:
        """One model; runs of the same letter share it."""
        letter, gpus, part, length = self.signature.split() if self.signature else ('', '0', '', '0')
        asked: dict[str, Any] = {
            'num_gpus': int(gpus),
            **({'gpu_memory': float(part)} if part != '-' else {}),
        }
        model = {'type': 'm', 'path': letter, 'run_cfg': asked, 'max_out_len': int(length)}
        return {'models': [model], 'datasets': []}


NEEDS = st.sampled_from(['0 -', '1 -', '1 -', '2 -', '3 -', '1 20', '1 50', '1 80'])


@given(st.data())
@settings(max_examples=150)
def test_whatever_happens_no_gpu_is_given_twice_and_all_come_to_their_turn(data: st.DataObject) -> None:
    """Runs are sampled, end, or never start in any order, with any bound on commands."""
    needs = data.draw(st.lists(NEEDS, min_size=1, max_size=5))
    tasks = []
    for letter, need in zip('abcde', needs, strict=False):
        for number in range(data.draw(st.integers(1, 4))):
            length = data.draw(st.sampled_from([10, 10**6]))
            name = f'{letter}{number}'
            wanted = (Wanted('m', 'd', 4, None, data.draw(st.sampled_from([4, 30]))),)
            run = Made(name, wanted, f'{letter} {need} {length}')
            finding = Finding(name, State.MISSING, sampled=data.draw(st.integers(0, 9)) == 0)
            tasks.append(Task(run, finding, data.draw(st.sampled_from([None, 1, 2]))))
    gpus = [Gpu(str(number), 80.0, str(number)) for number in range(data.draw(st.integers(1, 4)))]
    jobs = data.draw(st.sampled_from([None, 1, 2, 5]))
    turns = Turns(tasks, gpus, jobs)
    working: list[Turn] = []
    sampling: list[Turn] = []
    seen: list[str] = []
    while working or turns:
        started = turns.next()
        assert working or started, 'nothing is at work, and what waits never starts'
        gone = turns.done_with()
        seen += names(started)
        working += started
        sampling += started
        check(sampling, working, jobs)
        for session, gpus_of in gone:
            holders = [turn for turn in sampling if turn.session == session]
            assert (
                not (set(gpus_of) & {gpu for turn in holders for gpu in turn.gpus})
                if gpus_of
                else not holders
            )
        turn = data.draw(st.sampled_from(working))
        if turn in sampling and data.draw(st.booleans()):
            sampling.remove(turn)
            turns.sampled(turn)
        else:
            working.remove(turn)
            sampling = [one for one in sampling if one is not turn]
            turns.ended(turn)
    refused = [task.run.name for task, _ in turns.refused]
    assert sorted(seen + refused) == sorted(task.run.name for task in tasks)


def check(sampling: list[Turn], working: list[Turn], jobs: int | None) -> None:
    """No GPU has more than it can, and no more commands are at work than may."""
    on: dict[str, list[float | None]] = {}
    for turn in sampling:
        for gpu in turn.gpus:
            on.setdefault(gpu, []).append(turn.memory)
    for there in on.values():
        assert there == [None] or (None not in there and sum(map(float, filter(None, there))) <= 80)
    plain = [turn for turn in working if not turn.slots]
    assert len(plain) <= (jobs or 1)
    assert jobs is None or len(working) - len(plain) <= jobs
