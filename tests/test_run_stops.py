"""`gpassk run`: one at a time in a work directory, and what a stop or a kill leaves."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest
from fake_opencompass import behave, called, calls, run, write, write_configs

from gpassk_opencompass.errors import IncompleteError
from gpassk_opencompass.runs.examine import examine
from gpassk_opencompass.runs.lock import Holder, WorkDirLock, holder_of
from gpassk_opencompass.runs.plan import planned_runs
from gpassk_opencompass.runs.processes import Stop, end_groups
from gpassk_opencompass.runs.state import State
from gpassk_opencompass.runs.work_dir import Start, Starts, time_dirs

pytestmark = pytest.mark.slow


def test_a_work_directory_in_use_is_left_alone(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The other runs go on, and the exit code says that not all is complete."""
    write_configs(sweep, 'a', 'ok')
    with WorkDirLock(sweep / 'out' / 'a'):
        assert run() == 1
    assert f'in use by process {os.getpid()} on {socket.gethostname()}' in capsys.readouterr().out
    assert called(sweep) == ['ok']


def test_a_lock_that_a_dead_process_left_is_taken_over(tmp_path: Path) -> None:
    """One of another machine is not: nobody can tell whether that one is dead."""
    write(tmp_path / '.gpassk' / 'lock', [2**22 + 1, socket.gethostname(), 'then'])
    with WorkDirLock(tmp_path):
        pass
    write(tmp_path / '.gpassk' / 'lock', [1, 'elsewhere', 'then'])
    with pytest.raises(
        IncompleteError, match=r'process 1 on elsewhere since then: .* remove its .gpassk/lock'
    ):
        WorkDirLock(tmp_path).__enter__()


def is_running(pid: int) -> bool:
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] not in 'ZX'
    except OSError:
        return False


def test_a_command_that_outlives_its_driver_keeps_the_lock(tmp_path: Path) -> None:
    """After a kill -9 of `gpassk run`, OpenCompass goes on; nobody may start a second one beside it."""
    text = (
        'import os, subprocess, sys\n'
        'from pathlib import Path\n'
        'from gpassk_opencompass.runs.lock import WorkDirLock\n'
        'lock = WorkDirLock(Path(sys.argv[1])).__enter__()\n'
        "sleep = ['sleep', '600']\n"
        'child = subprocess.Popen(sleep, pass_fds=(lock.fileno,), start_new_session=True, stdout=2)\n'
        'lock.note_group(child.pid)\n'
        'print(child.pid, flush=True)\n'
        'os.kill(os.getpid(), 9)\n'
    )
    killed = subprocess.run(
        [sys.executable, '-c', text, str(tmp_path)], stdout=subprocess.PIPE, text=True, check=False
    )
    child = int(killed.stdout)
    with pytest.raises(
        IncompleteError, match=rf'left, since \S+T\S+Z: wait for it, or end it: kill -- -{child}$'
    ):
        WorkDirLock(tmp_path).__enter__()
    os.killpg(child, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while is_running(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    with WorkDirLock(tmp_path):
        pass


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_sweep_leaves_no_process_and_goes_on(
    sweep: Path, capsys: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    """Ctrl-C, or the end of a job of a cluster: the tasks end too, and the message says how to go on."""
    write_configs(sweep, 'hang', 'never')
    hanging = sweep / 'control' / 'hanging'
    noted: list[Holder | None] = []

    def interrupt() -> None:
        deadline = time.monotonic() + 60
        while not (hanging.exists() and hanging.read_text()) and time.monotonic() < deadline:
            time.sleep(0.01)
        noted.append(holder_of(sweep / 'out' / 'hang'))
        os.kill(os.getpid(), number)

    Thread(target=interrupt).start()
    assert run('--jobs', '1', '--', '--retry', '0') == 130
    said = capsys.readouterr()
    assert 'hang: partial' in said.out
    assert '16 of 32 predictions' in said.out
    assert 'gpassk run configs -w out --jobs 1 -- --retry 0' in said.err
    assert not is_running(int(hanging.read_text()))
    assert [holder and holder.group for holder in noted] == [calls(sweep)[0]['pid']], 'for after a kill -9'
    assert called(sweep) == ['hang']
    behave(sweep, 'hang', 'ok')
    behave(sweep, 'never', 'ok')
    assert run() == 0
    assert '-r' in calls(sweep)[1]['arguments']


def test_in_a_hurry_a_command_is_killed_with_what_it_has_started(tmp_path: Path) -> None:
    """Also what has left its group, as servers do; and what ignores SIGTERM."""
    code = (
        'import signal, subprocess, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n'
        "child = subprocess.Popen(['sleep', '600'], start_new_session=True, stdout=2)\n"
        'print(child.pid, flush=True); signal.pause()'
    )
    command = subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE, start_new_session=True)
    assert command.stdout is not None
    with command.stdout as said:
        child = int(said.readline())
    began = time.monotonic()
    end_groups([command], lambda: time.monotonic() - began > 0.5)
    assert time.monotonic() - began < 10
    assert command.wait(10) == -signal.SIGKILL
    assert not is_running(child)


def test_after_a_kill_of_the_driver_its_notes_still_serve(tmp_path: Path) -> None:
    """A line without an end, or a torn one, is no obstacle; the workers of the start are known."""
    starts = Starts(tmp_path)
    starts.begin(Start('20260101_000000', None, 4, '/c.py', 'x'))
    path = tmp_path / '.gpassk' / 'starts.jsonl'
    with path.open('a') as file:
        file.write('{"started": "2026')
    starts = Starts(tmp_path)
    starts.begin(Start('20260101_000100', '20260101_000005', 4, '/c.py', 'x'))
    starts.end(0, stopped=False)
    starts = Starts(tmp_path)
    made, last = starts.made('20260101_000005'), starts.last_of('20260101_000005')
    assert made is not None
    assert last is not None
    assert (made.workers, made.code) == (4, None)
    assert (last.resumes, last.code) == ('20260101_000005', 0)
    assert len(path.read_text().splitlines()) == 4


@pytest.mark.parametrize('has_time_dir', [True, False])
@pytest.mark.parametrize(
    ('code', 'stopped', 'said'),
    [
        (-9, False, 'killed by signal 9 (SIGKILL) before anything was sampled'),
        (-15, True, 'stopped before anything was sampled'),
        (None, False, 'gpassk run was killed, or its machine went down, before anything was sampled'),
    ],
)
def test_of_a_run_that_was_ended_before_its_first_sample_it_is_said_how(
    sweep: Path, code: int | None, stopped: bool, said: str, has_time_dir: bool
) -> None:
    """With or without a directory that OpenCompass has made."""
    config = write_configs(sweep, 'a') / 'a.py'
    [run_of] = planned_runs([config]).runs
    starts = Starts(sweep / 'out' / 'a')
    starts.begin(Start('20260101_000000', None, None, str(config), run_of.sha256 or '', utc=True))
    if code is not None:
        starts.end(code, stopped=stopped)
    if has_time_dir:
        write(sweep / 'out' / 'a' / '20260101_000005' / 'configs' / 'c.py', config.read_text())
    finding = examine(run_of, sweep / 'out' / 'a')
    assert finding.detail == said
    assert finding.state is (State.PARTIAL if has_time_dir else State.MISSING)


def test_nohup_keeps_its_promise() -> None:
    """The end of a terminal stops a sweep, unless the user has said that it shall not."""
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Stop() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with Stop() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert stop
    finally:
        signal.signal(signal.SIGHUP, former)


def test_a_command_that_died_before_its_first_sample_is_as_new_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In Tokyo: a directory named in UTC at 9 is younger than one named at 12 by the clock on the wall."""
    monkeypatch.setenv('TZ', 'JST-9')
    time.tzset()
    try:
        for name in ('20260101_120000', '20260101_090000'):
            (tmp_path / name).mkdir()
        named = [found.time for found in time_dirs(tmp_path)]
        Starts(tmp_path).begin(Start('20260101_085959', None, 4, '/c.py', 'x', utc=True))
        told = [found.time for found in time_dirs(tmp_path)]
    finally:
        monkeypatch.undo()
        time.tzset()
    assert named == ['20260101_120000', '20260101_090000']
    assert told == ['20260101_090000', '20260101_120000']
