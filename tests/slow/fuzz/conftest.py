"""A folder for what is drawn."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For the files of all inputs of a test file, one after the other."""
    return tmp_path_factory.mktemp('fuzz')
