"""The speed benchmarks: the shortest form of each still runs, and what guards CI tells what became slower."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from benchmarks import guard, schedule
from benchmarks.measuring import Cost


@pytest.mark.slow
@pytest.mark.parametrize('name', ['expansion', 'metric', 'models', 'report', 'score', 'stage'])
def test_a_benchmark_still_runs(name):
    pytest.importorskip('opencompass', reason='opencompass is not installed in this environment')
    section = import_module(f'benchmarks.{name}').measure('tiny')
    assert section.rows
    assert all(cell for row in section.rows for cell in row.values())
    assert section.overview


def test_the_pool_comes_near_the_bound():
    """100 models on 8 GPUs: no order is better than the bound, and the pool's is not 5 % worse."""
    entries = schedule.fleet(0)
    assert 1 <= schedule.makespan(entries, 8) / schedule.bound(entries, 8) < 1.05


def test_the_guard_names_the_stage_what_was_measured_and_what_is_allowed(monkeypatch, capsys):
    """One stage above its limit fails the whole; each gets a folder that is there, and empty."""

    def stage(ratio: float) -> guard.Guarded:
        def prepare(folder: Path) -> guard.Work:
            assert list(folder.iterdir()) == []
            return lambda: Cost(ratio, ratio, 0.0), lambda: Cost(1.0, 1.0, 0.0)

        return guard.Guarded('a stage', 'its floor', prepare, 2.0)

    monkeypatch.setattr(guard, 'GUARDED', (stage(1.5), stage(2.5)))
    assert guard.main() == 1
    assert capsys.readouterr().out.splitlines() == [
        'ok: a stage: 1.5× of its floor, allowed 2.0×',
        'too slow: a stage: 2.5× of its floor, allowed 2.0×',
    ]
    monkeypatch.setattr(guard, 'GUARDED', (stage(1.5),))
    assert guard.main() == 0
