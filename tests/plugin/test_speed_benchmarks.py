"""The speed benchmarks: the shortest form of each still runs, and what guards CI tells what became slower."""

from __future__ import annotations

from importlib import import_module

import pytest


@pytest.mark.slow
@pytest.mark.parametrize('name', ['expansion', 'metric', 'models', 'report', 'score', 'stage'])
def test_a_benchmark_still_runs(name):
    pytest.importorskip('opencompass', reason='opencompass is not installed in this environment')
    section = import_module(f'benchmarks.{name}').measure('tiny')
    assert section.rows
    assert all(cell for row in section.rows for cell in row.values())
    assert section.overview
