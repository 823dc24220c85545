"""How much memory does the evaluation of a very large run take, and how long?

    python -m benchmarks.large_run            # 10,000 questions × 64 samples of 500 characters
    python -m benchmarks.large_run --quick    # 1,000 × 64

Our evaluator in the task of `gpassk run`, which takes each response apart as it reads it, and in the one of
OpenCompass, which loads all predictions before. Floor: reading the predictions and writing the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from .eval_stage import GUEST, MadeRun, predictions_of, prepared
from .measuring import Cost, progress
from .sections import Section, Size, added, duration, headline, main, megabytes, times

N, LENGTH = 64, 500
QUESTIONS: Mapping[Size, int] = {'tiny': 12, 'quick': 1_000, 'full': 10_000}


def measure(size: Size) -> Section:
    """The run of this size, once each way."""
    with TemporaryDirectory() as folder:
        progress(f'large run: {QUESTIONS[size]:,} × {N}, made and evaluated once')
        run = prepared(Path(folder, 'run'), QUESTIONS[size], N, LENGTH)
        sides = {'the task of `gpassk run`': 'ours', "OpenCompass's task": GUEST}
        found = {}
        for name, side in sides.items():
            progress(f'large run: {name}')
            found[name] = run.cost(side)
        return _section(run, predictions_of(run.root, 'ours').stat().st_size, found, run.floor())


def _section(run: MadeRun, size: int, found: Mapping[str, Cost], floor: Cost) -> Section:
    what = f'{run.questions:,} × {N} predictions → result'
    ours, guest = found.values()
    return Section(
        'A large run',
        f'{what}, {size / 1e6:,.0f} MB of predictions: our evaluator in two tasks, and the floor: reading '
        'the predictions, writing the result.',
        ['task', 'processor time', 'a sample', '/ floor', 'memory'],
        [
            *(_cells(name, cost, run, floor) for name, cost in found.items()),
            ['floor', duration(floor.cpu), duration(floor.cpu / run.questions / N), '1.0×', megabytes(floor)],
        ],
        headlines=[headline(what, "OpenCompass's task", ours, guest)],
    )


def _cells(name: str, cost: Cost, run: MadeRun, floor: Cost) -> list[str]:
    sample = duration(cost.cpu / run.questions / N)
    return [name, duration(cost.cpu), sample, times(cost.cpu / floor.cpu), added(cost)]


if __name__ == '__main__':
    main(measure, __doc__)
