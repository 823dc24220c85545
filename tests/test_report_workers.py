"""A report whose parts are computed by processes is the one that one process writes."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from made_pages import made_results
from result_files import write_three

from gpassk_opencompass.errors import IncompleteError, InputError, MissingExtraError
from gpassk_opencompass.report import workers as workers_module
from gpassk_opencompass.report.figures import write_figures, write_formula_figures
from gpassk_opencompass.report.leaderboard import boards, compute_ranks
from gpassk_opencompass.report.page import page_of
from gpassk_opencompass.report.scores import scores_of
from gpassk_opencompass.report.workers import Workers
from gpassk_opencompass.results.read import collect

SMALL = {'LiveMathBench-v202412': (40, 16), 'MATH500-L5': (44, 16)}

# The functions of this module that workers call: theirs is imported by its name, as `tests` is on the path.


def square(number: int) -> int:
    """Answer."""
    return number * number


def where(_: int) -> int:
    """Answer with the process."""
    return os.getpid()


def refuse(number: int) -> int:
    """Fail at 3 with one of our errors."""
    if number == 3:
        raise InputError('3 cannot be drawn')
    return number


def lack(_: int) -> int:
    """Fail with an error whose __init__ takes other arguments than those that it keeps."""
    raise MissingExtraError('matplotlib', 'report')


def fail_locally(_: int) -> int:
    """Fail with an error that cannot be pickled."""

    class OddError(Exception):
        pass

    raise OddError('odd')


_kept: list[list[int]] = []


def keep(given: list[int]) -> None:
    """Keep what is given before the work."""
    _kept[:] = [given]


def kept(_: int) -> list[int]:
    """Answer with what was given."""
    return _kept[0]


def end(_: int) -> int:
    """Be killed, as by a system that has no memory."""
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def sleep_after_alarm(pid: int) -> None:
    """Interrupt a process, if one is named, and sleep."""
    if pid:
        os.kill(pid, signal.SIGALRM)
    time.sleep(300)


def sleep_after(number: int) -> None:
    """Sleep, unless asked first."""
    time.sleep(300 if number else 0)


def threads(_: int) -> str | None:
    """Answer with how many threads numpy may start."""
    return os.environ.get('OPENBLAS_NUM_THREADS')


@pytest.fixture
def two() -> Iterator[Workers]:
    """Two processes, whatever this machine has."""
    with Workers(2) as pool:
        yield pool


def alive(pids: set[int]) -> set[int]:
    """Those that still run."""
    return {pid for pid in pids if Path(f'/proc/{pid}').exists()}


def test_answers_come_in_the_order_of_the_items_from_other_processes(two: Workers) -> None:
    """Two of them, each with one thread."""
    assert list(two.each(square, range(50))) == [number * number for number in range(50)]
    pids = set(two.each(where, range(50)))
    assert len(pids) == 2
    assert os.getpid() not in pids
    assert set(two.each(threads, range(4))) == {'1'}


@pytest.mark.parametrize(('count', 'items'), [(1, 3), (4, 1)])
def test_one_processor_or_one_item_takes_no_process(count: int, items: int) -> None:
    """This one does it."""
    with Workers(count) as pool:
        assert set(pool.each(where, range(items))) == {os.getpid()}
        assert not pool.running


def test_processors_are_those_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that has one core of many has no processes."""
    monkeypatch.setattr(os, 'sched_getaffinity', lambda _: {5})
    with Workers() as pool:
        assert set(pool.each(where, range(3))) == {os.getpid()}


def test_a_system_without_processes_makes_it_slower_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user may start no more of them."""

    def refused(*_: object, **__: object) -> None:
        raise BlockingIOError(11, 'Resource temporarily unavailable')

    monkeypatch.setattr(workers_module.subprocess, 'Popen', refused)
    with Workers(2) as pool:
        assert set(pool.each(where, range(3))) == {os.getpid()}


@pytest.mark.parametrize('count', [1, 2])
def test_work_may_be_begun_before_somebody_asks_for_it(count: int) -> None:
    """Several kinds of it, asked for in any order, and once."""
    with Workers(count) as pool:
        pool.expect(['json', 'there_is_no_such_module'])
        pool.begin('squares', square, range(9))
        pool.begin('pids', where, range(9))
        assert list(pool.each(refuse, [1, 2])) == [1, 2]
        assert pool.has_begun('squares')
        assert len(set(pool.begun('pids') or ())) <= count
        assert list(pool.begun('squares') or ()) == [number * number for number in range(9)]
        assert pool.begun('squares') is None


def test_an_error_is_the_same_as_without_processes(two: Workers) -> None:
    """Behind what was found before; who catches it may go on."""
    found = two.each(refuse, range(20))
    assert [next(found) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(InputError, match=r'^3 cannot be drawn$') as caught:
        next(found)
    assert 'in refuse' in str(caught.value.__cause__)
    assert list(two.each(square, range(5))) == [0, 1, 4, 9, 16]


def test_errors_with_other_arguments_or_of_local_classes_arrive(two: Workers) -> None:
    """With their text."""
    with pytest.raises(MissingExtraError, match='matplotlib is not installed'):
        list(two.each(lack, range(2)))
    with pytest.raises(RuntimeError, match='OddError: odd'):
        list(two.each(fail_locally, range(2)))


def test_who_stops_asking_gets_no_stale_answers(two: Workers) -> None:
    """The next round is its own."""
    found = two.each(square, range(100))
    assert next(found) == 0
    found.close()
    assert list(two.each(refuse, [7, 8])) == [7, 8]


def test_a_killed_process_is_an_error_and_leaves_no_other() -> None:
    """Not a wait without end."""
    with Workers(2) as pool:
        pids = set(pool.each(where, range(40)))
        with pytest.raises(IncompleteError, match='was ended, perhaps for want of memory'):
            list(pool.each(end, range(2)))
    assert len(pids) == 2
    assert not alive(pids)


def test_processes_are_gone_behind_the_block() -> None:
    """Those that have nothing to do."""
    with Workers(2) as pool:
        pids = set(pool.each(where, range(40)))
    assert len(pids) == 2
    assert not alive(pids)


@pytest.mark.parametrize('alarms', [1, 2])
def test_processes_at_work_are_killed_at_an_interrupt(alarms: int) -> None:
    """They would sleep for minutes; a second interrupt may come at any moment."""
    pids: set[int] = set()

    def interrupted() -> None:
        with Workers(2) as pool:
            pids.update(pool.each(where, range(40)))
            list(pool.each(sleep_after_alarm, [os.getpid()] * alarms + [0] * (4 - alarms)))

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    finally:
        signal.signal(signal.SIGALRM, before)
    gc.collect()  # the second may have come before the first was handled: they end with the pool
    assert len(pids) == 2
    assert not alive(pids)


def test_an_interrupt_of_who_reads_waits_for_nothing() -> None:
    """Nor does who stops asking: what is still computed is no answer to anybody."""
    began = time.monotonic()
    pids: set[int] = set()

    def interrupted() -> None:
        with Workers(2) as pool:
            pids.update(pool.each(where, range(40)))
            for _ in pool.each(sleep_after, range(4)):
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(pids) == 2
    assert not alive(pids)
    assert time.monotonic() - began < 200


def test_a_process_ends_with_the_one_that_started_it(tmp_path: Path) -> None:
    """Which was killed and could tell it nothing."""
    told = tmp_path / 'pids'
    script = (
        'import os, pathlib, signal, sys, test_report_workers as ours\n'
        'pool = ours.Workers(2).__enter__()\n'
        'pids = set(pool.each(ours.where, range(40)))\n'
        'pathlib.Path(sys.argv[1]).write_text(" ".join(map(str, pids)))\n'
        'os.kill(os.getpid(), signal.SIGKILL)\n'
    )
    path = os.pathsep.join(map(str, sys.path))
    done = subprocess.run(
        [sys.executable, '-c', script, told], check=False, env={**os.environ, 'PYTHONPATH': path}
    )
    assert done.returncode == -signal.SIGKILL
    pids = set(map(int, told.read_text().split()))
    assert len(pids) == 2
    deadline = time.monotonic() + 60
    while alive(pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(pids)


def test_a_process_is_given_what_there_was_when_the_work_was_begun() -> None:
    """Not what it has become while other work was done."""
    given = [7]
    with Workers(2) as pool:
        found = pool.each(kept, range(3), partial(keep, given))
        given.append(8)
        assert list(found) == [[7]] * 3


def test_files_that_processes_read_are_those_that_one_process_reads(tmp_path: Path, two: Workers) -> None:
    """Results, and what is said of a file that is damaged or something else."""
    write_three(tmp_path)
    results = sorted(tmp_path.rglob('*.json'))
    (tmp_path / 'damaged.gpassk.json').write_text(results[0].read_text()[:500])
    (tmp_path / 'other.gpassk.json').write_text('{"accuracy": 50.0}')
    one, other = collect([tmp_path]), collect([tmp_path], each=two.each)
    assert two.running
    assert len(one.results) == 3
    assert [unread.path.name for unread in one.unread] == ['damaged.gpassk.json', 'other.gpassk.json']
    assert one == other
    assert collect([tmp_path], details=False) == collect([tmp_path], details=False, each=two.each)


def files_in(folder: Path) -> dict[str, bytes]:
    """Path below the folder → content."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob('*') if path.is_file()
    }


@pytest.mark.slow
def test_figures_of_processes_are_those_of_one_process(tmp_path: Path, two: Workers) -> None:
    """Byte by byte, all files, those of the formulas too; and in the index the same order."""
    pytest.importorskip('matplotlib')
    tables, _ = boards(made_results(12, SMALL))
    for name, pool in (('one', None), ('two', two)):
        write_figures(tables, tmp_path / name, workers=pool)
        write_formula_figures(tmp_path / name / 'figures', workers=pool)
    assert two.running
    one = files_in(tmp_path / 'one')
    assert len(one) > 20
    assert one == files_in(tmp_path / 'two')


@pytest.mark.slow
def test_numbers_of_processes_are_those_of_one_process(two: Workers) -> None:
    """Ranks, scores and the page with its answers."""
    results = made_results(64, {'MATH500-L5': (44, 16)})
    pages = []
    for pool in (None, two):
        tables, _ = boards(results)
        compute_ranks(tables, pool or Workers(1))
        scores = [scores_of(board) for board in tables]
        pages.append((page_of(tables, workers=pool), repr(scores)))
    assert two.running
    assert pages[0] == pages[1]


@pytest.mark.slow
def test_an_interrupt_ends_a_report_and_its_processes(tmp_path: Path) -> None:
    """With the exit code of an interrupt and without a traceback, while figures are drawn."""
    pytest.importorskip('matplotlib')
    outputs = tmp_path / 'outputs'
    write_three(outputs / 'one')
    write_three(outputs / 'two')
    for path in (outputs / 'two').rglob('*.json'):  # another benchmark
        path.rename(path.with_name(f'Other{path.name}'))
    script = (
        'import os, sys; os.sched_getaffinity = lambda _: {0, 1}; '
        'from gpassk_opencompass.cli import main; sys.exit(main())'
    )
    line = ['report', outputs, '-o', tmp_path / 'report', '--only', 'figures']
    process = subprocess.Popen(
        [sys.executable, '-c', script, *map(str, line)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(map(str, sys.path))},
        text=True,
    )
    drawn = tmp_path / 'report' / 'figures'
    while process.poll() is None and not (drawn.is_dir() and any(drawn.iterdir())):
        time.sleep(0.02)
    children = {
        int(pid)
        for task in Path(f'/proc/{process.pid}/task').iterdir()
        for pid in (task / 'children').read_text().split()
    }
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert 'gpassk report: stopped' in said
    assert 'Traceback' not in said
    assert len(children) == 2
    assert not alive(children)
