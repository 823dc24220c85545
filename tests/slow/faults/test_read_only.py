"""Stores that can be read and not written to."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from judge_server import JudgeServer, fair, pairs_of
from judging import judge_with

from gpassk_opencompass import InputError
from gpassk_opencompass.judges.verdicts import VerdictStore

pytestmark = pytest.mark.e2e


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """The folder on a disk that cannot be written to, or without the permission to."""
    if os.geteuid():
        folder.chmod(0o555)
        yield
        folder.chmod(0o755)
        return
    aside = folder.with_name('aside')
    shutil.copytree(folder, aside)
    line = ['mount', '-t', 'tmpfs', 'tmpfs', str(folder)]
    made = subprocess.run(line, capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f'root is kept from no folder, and may not mount here: {made.stderr.strip()}')
    try:
        shutil.copytree(aside, folder, dirs_exist_ok=True)
        subprocess.run(['mount', '-o', 'remount,ro', str(folder)], check=True)
        yield
    finally:
        subprocess.run(['umount', '-l', str(folder)], check=True)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """With the verdicts of twenty pairs."""
    with JudgeServer(lambda asked: fair(asked.prompt)) as server:
        judge = judge_with(tmp_path / 'store', server)
        judge.judge(pairs_of(0, 20))
        judge.close()
    return tmp_path / 'store'


def test_what_is_stored_is_known_without_writing(store: Path) -> None:
    """Nobody is asked, nothing is written, nothing fails."""
    with JudgeServer(lambda asked: fair(asked.prompt)) as server, read_only(store):
        judge = judge_with(store, server)
        judgements = judge.judge(pairs_of(0, 20))
        judge.close()
        assert [judgement.verdict.value == 'correct' for judgement in judgements] == [True, False] * 10
        assert not server.asked


def test_what_cannot_be_kept_is_an_error(store: Path) -> None:
    """Before more is asked than is under way at once; what was there is there."""
    with JudgeServer(lambda asked: fair(asked.prompt)) as server, read_only(store):
        judge = judge_with(store, server)
        with pytest.raises(InputError, match=f'cannot write verdicts to {store}: .*name another folder'):
            judge.judge(pairs_of(10, 100))
        judge.close()
        assert len(server.asked) <= 8
    assert len(VerdictStore(store)) == 20
