"""A folder for what is drawn."""

from __future__ import annotations

import pytest


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """For the files of all inputs of a test file, one after the other."""
    return tmp_path_factory.mktemp('fuzz')
