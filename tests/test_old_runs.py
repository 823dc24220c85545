"""Old runs, and logs of runs at work, found while others remove what lies beside them."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import old_work_dir as old
import pytest

from gpassk_opencompass.runs.examine import is_judging
from gpassk_opencompass.sources.opencompass import find_runs


@pytest.fixture
def vanishing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """A folder that is still listed, and gone when it is to be searched."""

    def vanish(folder: Path) -> None:
        scandir = os.scandir

        def gone(path: Any = '.') -> Any:
            if Path(path) == folder:
                raise FileNotFoundError(2, 'No such file or directory', str(path))
            return scandir(path)

        monkeypatch.setattr(os, 'scandir', gone)
        if hasattr(pathlib, '_normal_accessor'):  # Python 3.10 looks through one of its own
            monkeypatch.setattr(pathlib._normal_accessor, 'scandir', gone)

    return vanish


@pytest.mark.parametrize('inside', ['other', f'{old.TIME}/predictions/other'])
def test_a_folder_that_is_removed_meanwhile_is_passed_over(
    tmp_path: Path, vanishing: Callable[[Path], None], inside: str
) -> None:
    """The runs beside it are found."""
    root = old.write(tmp_path / 'old', old.rows())
    known = find_runs(root).runs
    (root / inside).mkdir()
    vanishing(root / inside)
    found = find_runs(root).runs
    assert [run.name for run in found] == [run.name for run in known] == [f'm/{old.NAME}']
    assert found[0].parts == known[0].parts


def test_logs_that_are_removed_meanwhile_do_not_end_a_run(
    tmp_path: Path, vanishing: Callable[[Path], None]
) -> None:
    """Its GPUs are taken for in use then."""
    log = tmp_path / '20260101_000000' / 'logs' / 'eval' / 'm' / 'd.out'
    log.parent.mkdir(parents=True)
    log.write_text('')
    assert is_judging(tmp_path, 0)
    vanishing(log.parent)
    assert not is_judging(tmp_path, 0)
