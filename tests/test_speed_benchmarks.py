"""The speed benchmarks: the shortest still runs, and what guards CI tells what became slower."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import guard, score_counts
from benchmarks.growth import exponent


@pytest.mark.slow
def test_a_benchmark_still_runs() -> None:
    """At its smallest size it gives a table without gaps, and compares what agrees."""
    section = score_counts.measure('tiny')
    assert section.rows
    assert all(len(row) == len(section.heads) and all(row) for row in section.rows)
    assert section.headlines


def test_the_exponent_is_that_of_a_power() -> None:
    """3 x^1.7 has the slope 1.7, whatever its factor."""
    sizes = [1, 10, 100]
    assert exponent(sizes, [3 * size**1.7 for size in sizes]) == pytest.approx(1.7)


def test_the_guard_names_the_stage_what_was_measured_and_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One stage above its limit fails the whole; each gets a folder that is there, and empty."""

    def stage(ratio: float) -> guard.Guarded:
        def measure(folder: Path) -> float:
            assert list(folder.iterdir()) == []
            return ratio

        return guard.Guarded('a stage', 'its floor', measure, 2.0)

    monkeypatch.setattr(guard, 'GUARDED', (stage(1.5), stage(2.5)))
    assert guard.main() == 1
    assert capsys.readouterr().out.splitlines() == [
        'ok: a stage: 1.5× of its floor, allowed 2.0×',
        'too slow: a stage: 2.5× of its floor, allowed 2.0×',
    ]
    monkeypatch.setattr(guard, 'GUARDED', (stage(1.5),))
    assert guard.main() == 0
