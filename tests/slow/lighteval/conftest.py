"""These tests run where Lighteval is installed (`make test-lighteval`); elsewhere they are not collected."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version

import pytest

# Not find_spec: with tests/ on the path, this folder would be found under that name.
try:
    version('lighteval')
    collect_ignore_glob = []
except PackageNotFoundError:
    collect_ignore_glob = ['test_*.py']


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch, tmp_path):
    """Neither the variables nor the verdicts of whoever runs the tests."""
    for variable in [name for name in os.environ if name.startswith('GPASSK_')]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))


@pytest.fixture
def warnings_logged():
    from loguru import logger

    lines: list[str] = []
    sink = logger.add(lines.append, level='WARNING', format='{message}')
    yield lines
    logger.remove(sink)
