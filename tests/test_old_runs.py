"""Logs of runs at work, read while others remove them."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpassk_opencompass.runs.examine import is_judging


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
