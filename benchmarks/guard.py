"""Has a stage become slower? Ratios to the floor of each, measured in the same run, against what they may be.

    python -m benchmarks.guard         # for CI: half a minute; exit status 1 where one is above its limit

Seconds say nothing on a machine of somebody else; how many times its floor a stage costs hardly depends on
it. A limit is about twice what was measured on a quiet machine. The least of several measurements counts, as
whatever else runs there only adds. Another stage is one more line of `GUARDED`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from .eval_stage import prepared
from .growth import count_work, report_work
from .made import QUESTIONS
from .measuring import Cost, progress
from .sections import times
from .start_up import score_work

REPEATS = 3


class Guarded(NamedTuple):
    """A stage, and what its ratio may be."""

    name: str
    against: str
    ratio: Callable[[Path], float]
    """Measures it in an empty folder."""
    allowed: float


class Found(NamedTuple):
    """What was measured of a stage."""

    stage: Guarded
    measured: float

    @property
    def is_above(self) -> bool:
        """Whether the stage has become slower."""
        return self.measured > self.stage.allowed

    @property
    def line(self) -> str:
        """Which stage, measured, allowed."""
        verdict = 'too slow' if self.is_above else 'ok'
        stage = self.stage
        said = f'{times(self.measured)} of {stage.against}, allowed {times(stage.allowed)}'
        return f'{verdict}: {stage.name}: {said}'


def _evaluation(against: str, folder: Path) -> float:
    run = prepared(folder, QUESTIONS, 16, 4_000)
    other = run.floor if against == 'floor' else partial(run.cost, against)
    return _ratio(partial(run.cost, 'ours'), other)


def _counts(folder: Path) -> float:
    return _ratio(*count_work(folder, 100_000))


def _start_up(folder: Path) -> float:
    return _ratio(*score_work(folder))


def _report(folder: Path) -> float:
    return _ratio(*report_work(folder, 100, ['--only', 'tables']))


def _ratio(ours: Callable[[], Cost], other: Callable[[], Cost]) -> float:
    pairs = [(ours().cpu, other().cpu) for _ in range(REPEATS)]
    mine, others = (min(costs) for costs in zip(*pairs, strict=True))
    return mine / others


GUARDED = (
    Guarded('evaluation of 238 × 16', 'its floor', partial(_evaluation, 'floor'), 20.0),
    Guarded('evaluation of 238 × 16', "OpenCompass's", partial(_evaluation, 'OpenCompass'), 0.8),
    Guarded('tables of 100 runs', 'parsing their files', _report, 190.0),
    Guarded('scoring 100,000 counts', 'parsing with orjson', _counts, 16.0),
    Guarded('start of gpassk score', 'numpy and scipy.special', _start_up, 3.2),
)


def main() -> int:
    """Measure every stage; 1 if one is above what it may be."""
    found = []
    for stage in GUARDED:
        progress(f'guard: {stage.name}, against {stage.against}')
        with TemporaryDirectory() as folder:
            found.append(Found(stage, stage.ratio(Path(folder))))
        print(found[-1].line, flush=True)
    return 1 if any(one.is_above for one in found) else 0


if __name__ == '__main__':
    sys.exit(main())
