"""A run that is judged once; each test gets files of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from exported_runs import scored_responses


@pytest.fixture(scope='session')
def judged_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scored_responses(tmp_path_factory.mktemp('judged'))


@pytest.fixture
def theirs(judged_once: Path, tmp_path: Path) -> Path:
    """The result of responses of a model that is called theirs, in `tmp_path`."""
    for file in judged_once.parent.iterdir():
        shutil.copy(file, tmp_path / file.name)
    return tmp_path / judged_once.name
