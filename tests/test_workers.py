"""The pool of worker processes keeps its promises whatever a job does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpassk_opencompass.errors import IncompleteError
from gpassk_opencompass.judges import workers as pool
from gpassk_opencompass.judges.workers import Outcome, Workers

pytestmark = pytest.mark.slow

YES, NO = {'do': 'answer', 'with': True}, {'do': 'answer', 'with': False}


def make(**settings: Any) -> Workers:
    return Workers('misbehaving:misbehave', **{'count': 2, 'timeout': 0.3, 'memory_mb': 512} | settings)


@pytest.fixture(scope='module')
def workers() -> Iterator[Workers]:
    """One pool for all tests that leave it usable, which is what they promise."""
    shared = make()
    yield shared
    shared.close()


def test_outcomes_come_in_the_order_of_the_jobs(workers: Workers) -> None:
    """However the jobs are spread over processes."""
    jobs = [YES if place % 3 else NO for place in range(200)]
    assert workers.run(jobs) == [Outcome.YES if place % 3 else Outcome.NO for place in range(200)]


@pytest.mark.parametrize(
    ('deed', 'outcome'),
    [
        ('spin', Outcome.TIMEOUT), ('die', Outcome.CRASH), ('raise', Outcome.CRASH),
        ('recurse', Outcome.CRASH), ('hog', Outcome.MEMORY), ('print', Outcome.YES),
    ],
)  # fmt: skip
def test_a_misdeed_costs_its_own_job_alone(workers: Workers, deed: str, outcome: Outcome) -> None:
    """A hang, a death, an exception, a memory hog and a chatterbox, each between good jobs."""
    assert workers.run([YES, NO, {'do': deed}, NO, YES]) == [
        Outcome.YES, Outcome.NO, outcome, Outcome.NO, Outcome.YES
    ]  # fmt: skip


def test_all_misdeeds_at_once() -> None:
    """Each job of a mixed run has its own outcome."""
    deeds = {'spin': Outcome.TIMEOUT, 'die': Outcome.CRASH, 'hog': Outcome.MEMORY, 'raise': Outcome.CRASH}
    jobs, expected = [], []
    for deed, outcome in deeds.items():
        jobs += [YES, {'do': deed}, NO]
        expected += [Outcome.YES, outcome, Outcome.NO]
    mixed = make()
    assert mixed.run(jobs) == expected
    mixed.close()


def test_a_worker_killed_once_loses_not_even_its_own_job(workers: Workers, tmp_path: Path) -> None:
    """A job whose worker was killed from outside gets a second one."""
    assert workers.run([YES, {'do': 'die once', 'mark': str(tmp_path / 'mark')}, NO]) == [
        Outcome.YES, Outcome.YES, Outcome.NO
    ]  # fmt: skip


def test_a_worker_that_neither_works_nor_answers_is_killed_by_the_clock() -> None:
    """Processor time alone would not end a stopped process."""
    stopped = make(timeout=0.01)
    assert stopped.run([{'do': 'stop'}, YES]) == [Outcome.TIMEOUT, Outcome.YES]
    stopped.close()


def test_a_job_that_a_busy_machine_holds_up_is_not_timed_out() -> None:
    """It has 0.5 s of processor time and needs 0.3, for which it waits more than four times 0.5 s."""
    slow = make(timeout=0.5)
    started = time.monotonic()
    assert slow.run([{'do': 'work slowly', 'seconds': 0.3, 'share': 0.1}]) == [Outcome.YES]
    assert time.monotonic() - started > 4 * 0.5
    slow.close()


def test_a_rehearsal_is_not_charged_to_the_first_job() -> None:
    """Nor does it matter what becomes of it."""
    rehearsed = make(timeout=0.2, rehearsals=[{'do': 'raise'}, {'do': 'load', 'seconds': 0.6}])
    assert rehearsed.run([{'do': 'load', 'seconds': 0.6}, NO]) == [Outcome.YES, Outcome.NO]
    assert make(timeout=0.2).run([{'do': 'load', 'seconds': 0.6}]) == [Outcome.TIMEOUT]
    rehearsed.close()


def test_fresh_workers_have_one_job_each(tmp_path: Path) -> None:
    """What a job leaves behind in its process does not reach the next one; starting costs nothing anew."""
    fresh = make(fresh=True, count=1)
    places = [tmp_path / str(number) for number in range(4)]
    jobs = [{'do': 'pid', 'path': str(place)} for place in places]
    assert fresh.run([*jobs[:2], {'do': 'spin'}, *jobs[2:]]) == [
        Outcome.YES, Outcome.YES, Outcome.TIMEOUT, Outcome.YES, Outcome.YES
    ]  # fmt: skip
    assert len({place.read_text() for place in places}) == 4
    assert fresh.started == 1
    fresh.close()


def test_a_time_out_costs_no_new_start(workers: Workers) -> None:
    """What takes long to import is there already."""
    hasty = make(count=1, timeout=0.05)
    assert hasty.run([{'do': 'spin'}] * 20) == [Outcome.TIMEOUT] * 20
    assert hasty.started == 1
    hasty.close()


def test_workers_are_started_when_needed_and_kept(workers: Workers) -> None:
    """No job, no process; a few jobs, one process; the next run uses it again."""
    lazy = make(count=4)
    assert lazy.run([]) == []
    assert lazy.started == 0
    lazy.run([YES] * 3)
    lazy.run([NO] * 3)
    assert lazy.started == 1
    lazy.close()


def test_a_closed_pool_starts_again(workers: Workers) -> None:
    """Closing ends processes, not the pool; closing twice is harmless."""
    closing = make()
    closing.run([YES])
    closing.close()
    closing.close()
    assert closing.run([NO]) == [Outcome.NO]
    closing.close()


def test_a_worker_does_not_load_what_the_parent_has_loaded(workers: Workers) -> None:
    """It is a fresh process, so the threads and libraries of the parent do not matter."""
    assert workers.run([{'do': 'loaded', 'module': 'pytest'}, {'do': 'loaded', 'module': 'math_verify'}]) == [
        Outcome.NO, Outcome.NO
    ]  # fmt: skip


def test_runs_from_a_thread(workers: Workers) -> None:
    """No signal handler is needed in the parent."""
    outcomes: list[Outcome] = []
    thread = threading.Thread(target=lambda: outcomes.extend(workers.run([YES, NO])))
    thread.start()
    thread.join()
    assert outcomes == [Outcome.YES, Outcome.NO]


def test_an_interrupt_ends_the_workers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ctrl-C while waiting leaves no process behind, and the pool usable."""
    interrupted, place = make(), tmp_path / 'pid'
    interrupted.run([{'do': 'pid', 'path': str(place)}])
    with monkeypatch.context() as patch:
        patch.setattr(pool.os, 'read', lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            interrupted.run([{'do': 'spin'}])
    assert _ends(int(place.read_text()), seconds=5)
    assert interrupted.run([YES]) == [Outcome.YES]
    interrupted.close()


@pytest.mark.parametrize('last_job', [{'do': 'answer', 'with': True}, {'do': 'spin'}])
def test_workers_end_with_a_killed_parent(tmp_path: Path, last_job: dict[str, object]) -> None:
    """Idle ones at the end of their input, busy ones at the end of their time."""
    place = tmp_path / 'pid'
    program = (
        'import os, signal, threading\n'
        'from gpassk_opencompass.judges.workers import Workers\n'
        "workers = Workers('misbehaving:misbehave', count=1, timeout=0.5, memory_mb=512)\n"
        f"workers.run([{{'do': 'pid', 'path': {str(place)!r}}}])\n"
        f'threading.Thread(target=workers.run, args=([{last_job!r}],), daemon=True).start()\n'
        'os.kill(os.getpid(), signal.SIGKILL)\n'
    )
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(filter(None, sys.path))}
    parent = subprocess.run([sys.executable, '-c', program], env=environment, check=False, timeout=30)
    assert parent.returncode == -signal.SIGKILL
    assert _ends(int(place.read_text()), seconds=20)


def _ends(pid: int, seconds: float) -> bool:
    """Whether the process, which is nobody's child here any more, is gone or a zombie in time."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        try:
            state = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == 'Z':
            return True
    return False


def test_workers_that_cannot_start_are_an_error() -> None:
    """The message says what the process itself said."""
    broken = Workers('no_such_module:function', count=1, timeout=1, memory_mb=512)
    with pytest.raises(IncompleteError, match="No module named 'no_such_module'"):
        broken.run([YES])
