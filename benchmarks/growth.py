"""How does the cost of a stage grow with its input: processor time and the most memory?

    python -m benchmarks.growth            # each stage at sizes ×1, ×10, ×100
    python -m benchmarks.growth --quick    # smaller ones

The exponent is the slope of log(processor time) on log(size), by least squares: 1 is linear, 2 quadratic;
below 1 a part does not grow. "Last step": between the two largest sizes alone. The floor is what no program
that does this work goes below. Another stage is one more line of `STAGES`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from .eval_stage import prepared
from .expansion import TEMPLATE, run_command, written_again
from .measuring import COMPILED, Cost, command_cost, cost, progress
from .report_of_many_runs import LIVE, make_results
from .report_of_many_runs import PARSE as PARSE_RECORDS
from .score_counts import FLOOR, write_counts
from .sections import Section, Size, added, duration, headline, main, megabytes, times

STEPS: Mapping[Size, tuple[int, ...]] = {'tiny': (1, 2), 'quick': (1, 4, 16), 'full': (1, 10, 100)}
"""How many times the smallest input."""

LENGTH = 500
"""Characters of a response."""


class Work(NamedTuple):
    """What is measured of one input."""

    ours: Callable[[], Cost]
    floor: Callable[[], Cost]


class Stage(NamedTuple):
    """A stage, and how its input is made."""

    name: str
    size: str
    """What grows, of an input of the size in the place of {}."""
    smallest: int
    prepare: Callable[[Path, int], Work]
    """Makes the input of a size in an empty folder."""


class Point(NamedTuple):
    """What one size cost."""

    size: int
    ours: Cost
    floor: Cost


def _of_questions(folder: Path, questions: int) -> Work:
    run = prepared(folder, questions, 16, LENGTH)
    return Work(partial(run.cost, 'ours'), run.floor)


def _of_samples(folder: Path, n: int) -> Work:
    run = prepared(folder, 100, n, LENGTH)
    return Work(partial(run.cost, 'ours'), run.floor)


def count_work(folder: Path, questions: int) -> Work:
    """Return `gpassk score` on that many lines of counts, and parsing them with orjson."""
    path = folder / 'counts.jsonl'
    write_counts(path, questions, False)
    score = [sys.executable, '-m', 'gpassk_opencompass.cli', 'score', path]
    lines = score, [sys.executable, '-c', FLOOR, path]
    return Work(*(partial(command_cost, line, environment=COMPILED) for line in lines))


def report_work(folder: Path, runs: int, only: Sequence[str] = ()) -> Work:
    """Return `gpassk report` on that many runs of 40 questions × 16 samples, and parsing their files."""
    outputs = folder / 'outputs'
    cost(partial(make_results, outputs, runs, {LIVE: 40}, 16))
    report = [sys.executable, '-m', 'gpassk_opencompass.cli', 'report', outputs, '-o', folder / 'report']
    floor = [sys.executable, '-c', PARSE_RECORDS, outputs]
    return Work(partial(command_cost, [*report, *only]), partial(command_cost, floor))


def _expansion(folder: Path, models: int) -> Work:
    template, written = folder / 'template.py', folder / 'configs'
    template.write_text(TEMPLATE.format(models=models, seeds=1), encoding='utf-8')
    ours = partial(cost, partial(run_command, template, written))
    return Work(ours, partial(written_again, written, folder / 'copy'))


STAGES = (
    # First: a process that is started has at least the memory of who starts it.
    Stage('Report', '{:,} runs', 10, report_work),
    Stage('Expansion', '{:,} models, 97 configs each', 1, _expansion),
    Stage('Scoring counts', '{:,} questions', 10_000, count_work),
    Stage('Evaluation', '{:,} questions × 16', 100, _of_questions),
    Stage('Evaluation', '100 questions × {:,}', 4, _of_samples),
)


def measure(size: Size) -> Section:
    """Every stage at each size."""
    return _section([(stage, _points(stage, STEPS[size])) for stage in STAGES])


def _points(stage: Stage, steps: Sequence[int]) -> list[Point]:
    points = []
    for step in steps:
        size = stage.smallest * step
        progress(f'growth: {stage.name}, {stage.size.format(size)}')
        with TemporaryDirectory() as folder:
            work = stage.prepare(Path(folder), size)
            points.append(Point(size, work.ours(), work.floor()))
    return points


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return the slope of log(cost) on log(size), by least squares.

    >>> round(exponent([1, 10, 100], [3, 30, 300]), 6), round(exponent([1, 10], [1, 100]), 6)
    (1.0, 2.0)
    """
    x, y = ([math.log(value) for value in values] for values in (sizes, costs))
    mean = sum(x) / len(x)
    return sum((a - mean) * b for a, b in zip(x, y, strict=True)) / sum((a - mean) ** 2 for a in x)


def _section(found: Sequence[tuple[Stage, Sequence[Point]]]) -> Section:
    return Section(
        'Growth',
        'Each stage at several sizes of its input: processor time and the most memory, and the exponent of '
        'both times by least squares on logarithms. Floor: see the section of the stage.',
        [
            *('stage, size', 'ours', 'floor', 'ours / floor', 'memory, ours', 'floor'),
            *('exponent, ours', 'its last step', 'floor'),
        ],
        [row for stage, points in found for row in _rows(stage, points)],
        headlines=[
            headline(f'{stage.name}, {stage.size.format(last.size)}', 'its floor', last.ours, last.floor)
            for stage, last in ((stage, points[-1]) for stage, points in found)
        ],
    )


def _rows(stage: Stage, points: Sequence[Point]) -> list[list[str]]:
    sizes = [point.size for point in points]
    ours, floor = [point.ours.cpu for point in points], [point.floor.cpu for point in points]
    slopes = exponent(sizes, ours), exponent(sizes[-2:], ours[-2:]), exponent(sizes, floor)
    rows = [
        [
            f'{stage.name}, {stage.size.format(point.size)}',
            duration(point.ours.cpu),
            duration(point.floor.cpu),
            times(point.ours.cpu / point.floor.cpu),
            added(point.ours),
            megabytes(point.floor),
            *('–', '–', '–'),
        ]
        for point in points
    ]
    rows[-1][-3:] = [f'{slope:.2f}' for slope in slopes]
    return rows


if __name__ == '__main__':
    main(measure, __doc__)
