"""Has a stage become slower? Ratios to the floor of each, measured in the same run, against what they may be.

    python -m benchmarks.guard         # for CI: half a minute; exit status 1 where one is above its limit

Seconds say nothing on somebody else's machine; how many times its floor a stage costs hardly depends on it. A
limit is one and a half times what was measured, and never above OpenCompass's own cost. The least of three
measurements counts, as whatever else runs there only adds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from .made import QUESTIONS
from .measuring import Cost, cost, gpassk, progress, python
from .report import LIVE, PARSE, make_results
from .score import PARSE_LINES, write_counts
from .stage import made_run
from .tables import times

REPEATS = 3
Work = tuple[Callable[[], Cost], Callable[[], Cost]]
"""Ours and the floor of it."""


class Guarded(NamedTuple):
    """A stage, and what its ratio may be."""

    name: str
    against: str
    prepare: Callable[[Path], Work]
    """Makes the input in an empty folder."""
    allowed: float


def evaluation(against: str, folder: Path) -> Work:
    """Evaluate 238 × 16 responses of 4,000 characters."""
    run = made_run(folder, QUESTIONS, 16, 4_000)
    return partial(run.evaluate, 'ours'), run.floor if against == 'floor' else partial(run.evaluate, against)


def report_tables(folder: Path) -> Work:
    """Write the tables of 100 runs of 40 questions × 16 samples."""
    outputs = folder / 'outputs'
    cost(partial(make_results, outputs, 100, {LIVE: 40}, 16))
    return partial(gpassk, 'report', outputs, '-o', folder / 'report', '--only', 'tables'), partial(
        python, PARSE, outputs
    )


def counts(folder: Path, questions: int) -> Work:
    """Score lines of counts."""
    write_counts(path := folder / 'counts.jsonl', questions)
    return partial(gpassk, 'score', path), partial(python, PARSE_LINES, path)


def start_up(folder: Path) -> Work:
    """Score 100 lines of counts: nearly all of it is the start."""
    return counts(folder, 100)[0], partial(python, 'import numpy, scipy.special')


GUARDED = (
    Guarded('evaluation of 238 × 16', 'its floor', partial(evaluation, 'floor'), 20.0),
    Guarded('evaluation of 238 × 16', "OpenCompass's", partial(evaluation, 'OpenCompass'), 0.8),
    Guarded('tables of 100 runs', 'parsing their files', report_tables, 50.0),
    Guarded('scoring 100,000 counts', 'parsing them', partial(counts, questions=100_000), 11.0),
    Guarded('start of gpassk score', 'numpy and scipy.special', start_up, 3.2),
)


def main() -> int:
    """Measure every stage; 1 if one is above what it may be."""
    slower = False
    for stage in GUARDED:
        progress(f'guard: {stage.name}, against {stage.against}')
        with TemporaryDirectory() as folder:
            ours, floor = stage.prepare(Path(folder))
            pairs = [(ours().cpu, floor().cpu) for _ in range(REPEATS)]
        measured = min(pair[0] for pair in pairs) / min(pair[1] for pair in pairs)
        verdict = 'too slow' if measured > stage.allowed else 'ok'
        slower |= measured > stage.allowed
        ratio = f'{times(measured)} of {stage.against}, allowed {times(stage.allowed)}'
        print(f'{verdict}: {stage.name}: {ratio}', flush=True)
    return 1 if slower else 0


if __name__ == '__main__':
    sys.exit(main())
