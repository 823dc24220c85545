"""The run that a planned one will be compared with, and how alike the two are."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from ..errors import InputError
from ..metrics import ACCURACY, Metric
from .plan_pilot import Hardness, fitted, read_run

if TYPE_CHECKING:
    from ..results.result import Result
    from ..uncertainty import Population
    from ..uncertainty.rivals import Rival

LIKENESS = 0.8
"""Of two models whose runs are not at hand; docs/statistics.md says what it rests on."""


def rival_of(arguments: Namespace, known: Hardness, metric: Metric) -> Rival:
    """Return the run to compare with, and say how alike the two are.

    Args:
        known: the run that is planned.
        metric: of the comparison.

    Raises:
        InputError: a run that cannot be compared, or two whose likeness nothing tells.
    """
    from ..uncertainty.rivals import Rival

    said: float | None = arguments.between_models
    if said is not None and not 0 <= said <= 1:
        raise InputError(f'--between-models {said:g}: expected a correlation from 0 to 1')
    if arguments.against is None:
        likeness, how = (LIKENESS, 'assumed') if said is None else (said, 'as you say')
        print(f'compared with a run of the same hardness and n; likeness of the two {likeness:g}, {how}')
        return Rival(known.population, likeness)
    other = _other(arguments, known.pilot, metric)
    its = fitted(other, arguments)
    if said is None:
        likeness, how = _likeness(arguments, (known, other), its, metric)
    else:
        likeness, how = said, f'{said:g}, as you say'
    print(f'compared with {other.model_abbr}, n = {other.n}; likeness of the two {how}')
    return Rival(its, likeness, other.n)


def _other(arguments: Namespace, pilot: Result | None, metric: Metric) -> Result:
    """Return the run of --against."""
    other = read_run(arguments.against)
    if arguments.pilot is not None and arguments.against.samefile(arguments.pilot):
        raise InputError(
            f'--against {arguments.against} is the pilot itself: give the result of another run, or leave it '
            'out and say how alike the two will be with --between-models'
        )
    if other.n < metric.k:
        raise InputError(
            f'--against {arguments.against} has n = {other.n} samples a question, fewer than k = {metric.k}: '
            'take a smaller --k, or leave it out and say how alike the two are with --between-models'
        )
    if pilot is not None:
        _check_comparable(pilot, other)
    return other


def _check_comparable(pilot: Result, other: Result) -> None:
    """Refuse two runs that no gate would compare; one that was made smaller has a part of the questions."""
    from ..report.leaderboard import judge_line
    from ..report.several_hosts import judges_differ

    if judges_differ([pilot, other]):
        raise InputError(
            f'--against {other.path}: another judge than that of the pilot, or one with other settings or '
            f'packages ({judge_line(pilot)} and {judge_line(other)}): runs under two judges are not compared'
        )
    if pilot.data != other.data and not (pilot.limits or other.limits):
        shared = len(set(pilot.uids) & set(other.uids))
        raise InputError(
            f'--against {other.path}: other questions or references than those of the pilot '
            f'({len(other.uids)} and {len(pilot.uids)} questions, {shared} of the same name)'
        )


def _likeness(
    arguments: Namespace, runs: tuple[Hardness, Result], its: Population, metric: Metric
) -> tuple[float, str]:
    """Return the likeness of two runs on the questions that both have, and a text on it."""
    from ..uncertainty.rivals import likeness_of

    (known, other), pilot = runs, runs[0].pilot
    if pilot is None:
        raise InputError(
            '--against: how alike two runs are takes both: give --pilot, or say it with --between-models'
        )
    of = metric if pilot.n >= metric.k else ACCURACY
    both = set(pilot.uids).intersection(other.uids)
    shared = [uid for uid in pilot.uids if uid in both]
    first, second = (run.values(of)[run.rows_of(shared)] for run in (pilot, other))
    noise = (known.population.moments(of, pilot.n)[2], its.moments(of, other.n)[2])
    problems = [pilot.problems[row] for row in pilot.rows_of(shared)]
    try:
        likeness, error = likeness_of(first, second, noise, problems)
    except InputError as refused:
        raise InputError(
            f'--against {arguments.against}: {len(shared)} questions are in both runs; {refused}. Say it '
            'with --between-models'
        ) from refused
    return likeness, f'{likeness:.2f} ± {error:.2f}, of their {of} on {len(set(problems))} problems'
