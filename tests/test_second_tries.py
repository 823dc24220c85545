"""Second tries are fair to all references, alone in fresh processes, and end with their budget."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from gpassk_opencompass.judges import second_tries as module
from gpassk_opencompass.judges.second_tries import SecondTries
from gpassk_opencompass.judges.workers import Outcome, Workers


class CountedWorkers:
    """Says yes to every job, and remembers them and when its process was ended."""

    def __init__(self) -> None:
        self.given: list[str] = []

    def run(self, jobs: Sequence[Sequence[str]]) -> list[Outcome]:
        self.given += [job[1] for job in jobs]
        return [Outcome.YES] * len(jobs)

    def close(self) -> None:
        self.given.append('|')


def test_each_job_is_alone_in_a_fresh_process() -> None:
    """Nothing that another one left there, or does meanwhile, can be why it fails."""
    workers = CountedWorkers()
    tries = SecondTries(workers, 10.0)  # type: ignore[arg-type]
    assert tries.run([['r', 'a'], ['r', 'b']]) == [Outcome.YES] * 2
    assert workers.given == ['a', '|', 'b', '|']


def test_no_reference_uses_up_the_budget_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first answer to each goes before the second one to any."""
    seconds = iter(range(100))
    monkeypatch.setattr(module, '_spent', lambda: float(next(seconds)))
    workers = CountedWorkers()
    tries = SecondTries(workers, 3.0)  # type: ignore[arg-type]
    jobs = [['r', 'a'], ['r', 'b'], ['r', 'c'], ['s', 'd'], ['t', 'e']]
    assert tries.run(jobs) == [Outcome.YES, None, None, Outcome.YES, Outcome.YES]
    assert tries.run([['u', 'f']]) == [None]
    assert [name for name in workers.given if name != '|'] == ['a', 'd', 'e']


@pytest.mark.slow
def test_the_budget_is_of_processor_time() -> None:
    """Jobs that use half a second each: the one under way when two thirds are spent is the last."""
    workers = Workers('misbehaving:misbehave', count=1, timeout=0.5, memory_mb=512)
    tries = SecondTries(workers, 0.7)
    outcomes = tries.run([{0: 'r', 'do': 'spin'} for _ in range(4)])  # type: ignore[misc]
    assert outcomes == [Outcome.TIMEOUT, Outcome.TIMEOUT, None, None]
    tries.close()


@pytest.mark.slow
def test_a_second_try_is_not_that_of_a_process_in_use(tmp_path: Path) -> None:
    """Also where the workers had another job before."""
    workers = Workers('misbehaving:misbehave', count=1, timeout=0.5, memory_mb=512)
    places = [tmp_path / str(number) for number in range(3)]
    SecondTries(workers, 60.0).run([{0: 'r', 'do': 'pid', 'path': str(place)} for place in places])  # type: ignore[misc]
    processes = {place.read_text() for place in places}
    assert len(processes) == 3
    assert str(os.getpid()) not in processes
