"""One command at a time in a work directory, and what is left of one that has just ended."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpassk_opencompass.errors import IncompleteError
from gpassk_opencompass.runs import lock
from gpassk_opencompass.runs.lock import LOCK, WorkDirLock, holder_of
from gpassk_opencompass.runs.work_dir import NOTES


@contextmanager
def locked_without_a_name(work_dir: Path, seconds: float) -> Iterator[None]:
    """Have another process hold the lock, as a command does whose `gpassk run` has just left."""
    path = work_dir / NOTES / LOCK
    path.parent.mkdir(parents=True)
    path.touch()
    hold = 'import fcntl, sys, time; file = open(sys.argv[1], "r+"); fcntl.flock(file, 2); print()'
    words = [sys.executable, '-u', '-c', f'{hold}; time.sleep({seconds})', str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


def test_a_lock_that_names_nobody_is_waited_for(tmp_path: Path) -> None:
    """The command of one that has just ended holds it for another moment."""
    with locked_without_a_name(tmp_path, seconds=1), WorkDirLock(tmp_path):
        holder = holder_of(tmp_path)
        assert holder is not None
        assert holder.pid == os.getpid()


def test_but_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is an error that changes nothing."""
    monkeypatch.setattr(lock, 'MOMENT', 0.3)
    with locked_without_a_name(tmp_path, seconds=60):
        with pytest.raises(IncompleteError, match='in use by another process'), WorkDirLock(tmp_path):
            pass
        with (tmp_path / NOTES / LOCK).open('rb') as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)


def test_one_that_names_its_holder_is_an_error_at_once(tmp_path: Path) -> None:
    """It says who that is."""
    with WorkDirLock(tmp_path):
        began = time.monotonic()
        with pytest.raises(IncompleteError, match=f'in use by process {os.getpid()} '), WorkDirLock(tmp_path):
            pass
    assert time.monotonic() - began < lock.MOMENT
