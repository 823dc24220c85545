"""The speed benchmarks: the shortest still runs, and what guards CI tells what became slower."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import guard, score_counts
from benchmarks.measuring import Cost


@pytest.mark.slow
def test_a_benchmark_still_runs() -> None:
    """At its smallest size it gives a table without gaps, and compares what agrees."""
    section = score_counts.measure('tiny')
    assert section.rows
    assert all(len(row) == len(section.heads) and all(row) for row in section.rows)
    assert section.headlines


def test_the_guard_names_the_stage_what_was_measured_and_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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
