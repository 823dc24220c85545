"""`gpassk plan`: how many samples and questions an interval, or a margin of `gpassk compare`, takes."""

from __future__ import annotations

from argparse import ArgumentParser
from bisect import bisect_left
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..metrics import Kind, Metric, value_table
from ..text import Table, say, show
from .options import add_json, add_several, examples, path, points, positive


def add_arguments(parser: ArgumentParser) -> None:
    """Add what is wanted, and the pilot."""
    parser.epilog = examples(
        'gpassk plan outputs/run --half-width 2  # a score to ±2 points',
        'gpassk plan outputs/run --margin 3      # until equal runs pass compare',
        'gpassk plan --half-width 2              # whatever the model',
    )
    add = parser.add_argument
    pilot = 'a record, or a folder with one, of some questions'
    add('pilot', type=path, nargs='?', metavar='PILOT', help=pilot)
    width = 'of the 95 %% interval of a score: 2 is ±2 points'
    add('--half-width', type=points, metavar='POINTS', help=width)
    margin = 'with which two equal runs shall pass four times in five'
    add('--margin', type=points, metavar='POINTS', help=margin)
    add('--metric', type=Metric.parse, help='by its name (default: mG-Pass@16, or of the k of the pilot)')
    sizes = 'samples a question to look at (default: 1, 2, 3, 4, 6, 12 times k)'
    add_several(parser, '--n', sizes, type=positive)
    add_json(parser)


def run(
    *,
    pilot: Path | None,
    half_width: float | None,
    margin: float | None,
    metric: Metric | None,
    n: Sequence[int],
) -> int:
    """Print what it takes; the exit code is 0."""
    from ..statistics import least_margin, mean_interval, plan

    goals = {'--half-width': half_width, '--margin': margin}
    given = {goal: wanted for goal, wanted in goals.items() if wanted is not None}
    for goal, wanted in given.items():
        if not 0.01 <= wanted < 100:
            raise InputError(f'{goal} {wanted:g}: expected points from 0.01 to less than 100')
    if not given:
        raise InputError('expected --half-width or --margin: what shall the samples be enough for?')
    counts, size, problems, ks = _pilot(pilot)
    metric = metric or Metric(Kind.MG_PASS, max(ks))
    ns = sorted({*n} or {times * metric.k for times in (1, 2, 3, 4, 6, 12)})
    most = min(size, ns[0])
    if not metric.steps or metric.k > most:
        raise InputError(f'{metric}: expected k from 2 (1 for others) to the {most} of a question')
    if margin is not None:  # no samples help below so many problems
        needed = 1 + bisect_left(range(1, 50_000), -margin, key=lambda many: -100 * least_margin(many))
        say(f'Two equal runs pass a margin of {margin:g} points only with {needed} problems or more.')
    table_of = partial(value_table, metric)
    found = mean_interval(table_of(size)[counts], problems, metric.top)
    if pilot and margin is not None:
        least = f'{100 * least_margin(found.problems):.2f} points on (about 278/J for J problems)'
        say(f'With the {found.problems} problems of the pilot they pass from {least}.')
    if pilot:
        score, low, high = (100 * float(share) for share in (found.estimate, *found.at()))
        about = f'{len(counts)} questions of {found.problems} problems, {size} samples each'
        say(f'pilot: {about}: {metric} {score:.2f} [{low:.2f}, {high:.2f}]')
    else:
        given.pop('--margin', None)  # of which all is said
        said = 'no pilot: the most that any model takes, one that is always right or always wrong'
        say(*[said] * len(given))
    for goal, wanted in given.items():
        what = {goal[2:].replace('-', '_'): wanted / 100}
        plans = plan(counts, size, table_of, ns, problems=problems, **what)
        title = f'{metric}, {"a margin of " if goal == "--margin" else "±"}{wanted:g} points'
        shown = Table(title, ['samples a question', 'questions', 'samples in all', 'more samples remove'])
        shown.rows += [[one.n, one.questions, one.samples, f'{100 * one.removable:.1f} %'] for one in plans]
        shown.data = [{'goal': next(iter(what)), 'points': wanted, **one._asdict()} for one in plans]
        say('', f'{title}:')
        show(shown)
    if given:
        share = 'More samples remove only their share of the variance of a score. The rest is which questions'
        say('', f'{share} were asked: half the width takes four times as many questions.')
    return 0


def _pilot(pilot: Path | None) -> tuple[NDArray[Any], int, list[str], list[int]]:
    """Return the counts of a pilot, its n, the problem of each question and its k.

    Without a pilot: no answers vary more between questions than these, so nothing takes more.
    """
    if pilot is None:
        return np.array([0, 16] * 5_000), 16, list(map(str, range(10_000))), [16]
    from ..collect import collect_one

    result = collect_one(pilot)
    least, most = result.table.n.min(), result.n
    if least != most or most < 2:
        told = f'{pilot}: {least} to {most} samples a question'
        raise InputError(f'{told}; expected two or more, as many of each')
    return result.table.c, result.n, list(result.table.problem), result.ks
