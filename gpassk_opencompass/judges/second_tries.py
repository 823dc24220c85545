"""Jobs that ran out of time or memory or crashed, tried once more where nothing else can be the reason."""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Sequence

from loguru import logger

from .workers import Outcome, Workers

BUDGET = 120
"""Jobs' worth of processor time for all second tries of a run; with 5 seconds a job that is 10 minutes."""


class SecondTries:
    """Tries jobs one after another, each in a fresh process, until the budget is spent.

    Args:
        workers: one worker; ended after each job.
        seconds: processor time that all jobs together may take, the start of their processes included.
            The job under way when it is spent is finished.
    """

    def __init__(self, workers: Workers, seconds: float) -> None:
        self._workers = workers
        self._left = seconds

    def run(self, jobs: Sequence[Sequence[str]]) -> list[Outcome | None]:
        """Return the outcome of each job, in their order; None where the budget did not suffice.

        Of jobs that begin with the same text, such as the answers to one reference, the first ones go
        before the second ones, and so on: no reference uses up the budget of the others.

        Raises:
            IncompleteError: the process cannot start.
        """
        outcomes: list[Outcome | None] = [None] * len(jobs)
        if jobs:
            logger.info(f'{len(jobs)} answers took too much time or memory; each is tried once more, alone')
        for place in _in_turn([job[0] for job in jobs]):
            if self._left <= 0:
                break
            outcomes[place] = self._alone(jobs[place])
        return outcomes

    def close(self) -> None:
        """End the process. May be called twice."""
        self._workers.close()

    def _alone(self, job: Sequence[str]) -> Outcome:
        before = _spent()
        [outcome] = self._workers.run([job])
        self._workers.close()
        self._left -= _spent() - before
        return outcome


def _in_turn(keys: Sequence[str]) -> list[int]:
    """Return the places of `keys`, the first one of each key before the second ones.

    >>> _in_turn(['a', 'a', 'a', 'b', 'c', 'b'])
    [0, 3, 4, 1, 5, 2]
    """
    seen: Counter[str] = Counter()
    turns = []
    for key in keys:
        turns.append(seen[key])
        seen[key] += 1
    return sorted(range(len(keys)), key=lambda place: (turns[place], place))


def _spent() -> float:
    """Return the processor time of all child processes that have ended, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
