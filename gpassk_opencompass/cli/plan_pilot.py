"""What plans are made for and of: the metric, how hard the questions are, and the run that a pilot is."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..arguments import as_whole
from ..errors import InputError
from ..metrics import Metric

if TYPE_CHECKING:
    from ..results.result import Result
    from ..uncertainty import Population

MULTIPLES = (1, 2, 3, 4, 6, 9, 12)
"""Numbers of samples looked at, in units of k, unless --n says which."""

USUAL_K = 16

MOST_QUESTIONS = 1_000_000_000
_LARGEST_K = 100_000


@dataclass(frozen=True)
class Hardness:
    """How hard questions are, how many there are, and the run that tells it.

    Args:
        population: of the questions.
        questions: at hand; None where that is not known.
        pilot: the run; None where the hardness was given.
    """

    population: Population
    questions: int | None
    pilot: Result | None


def metric_and_sizes(arguments: Namespace) -> tuple[Metric, Sequence[int]]:
    """Return the metric, and the numbers of samples to look at.

    Raises:
        InputError: a number that would be taken for none, that nothing could be counted up to, or a metric
            without a plan.
    """
    for name in ('questions', 'translations'):
        if getattr(arguments, name) is not None:
            as_whole(f'--{name}', getattr(arguments, name), 1, MOST_QUESTIONS)
    for name in ('pilot', 'against'):
        _check_file(f'--{name}', getattr(arguments, name))
    metric = _metric(arguments)
    ns = sorted(set(arguments.n or [multiple * metric.k for multiple in MULTIPLES]))
    if ns[0] < metric.k:
        raise InputError(f'--n {ns[0]} is below k = {metric.k} of {metric}: take n of {metric.k} or more')
    return metric, ns


def _metric(arguments: Namespace) -> Metric:
    """Return the metric of --metric, or mG-Pass@k of --k."""
    if arguments.metric and arguments.k is not None:
        raise InputError(f'--metric {arguments.metric} says k itself: leave --k {arguments.k} out')
    metric = Metric.parse(arguments.metric or f'mG-Pass@{USUAL_K if arguments.k is None else arguments.k}')
    as_whole('k', metric.k, 1, _LARGEST_K)
    if not metric.steps:
        raise InputError(f'{metric} is 0 for every model; take k of at least 2')
    return metric


def hardness_of(arguments: Namespace) -> Hardness:
    """Return the hardness, said where a pilot tells it, and how many questions are at hand.

    Raises:
        InputError: numbers that are none of a population, or a pilot that tells nothing of it.
    """
    from ..uncertainty import Population

    if arguments.beta:
        a, b = arguments.beta
        return Hardness(
            Population(a, b, arguments.translations or 1, arguments.correlation), arguments.questions, None
        )
    if arguments.pilot is None:
        raise InputError('give the hardness with --beta or --pilot')
    pilot = read_run(arguments.pilot)
    found = fitted(pilot, arguments)
    print(
        f'{arguments.pilot.name}: {len(pilot.uids)} questions × {pilot.n} samples, hardness '
        f'Beta({found.a:.3g}, {found.b:.3g}), {found.translations} questions a source problem'
    )
    return Hardness(found, arguments.questions or len(pilot.uids), pilot)


def read_run(file: Path) -> Result:
    """Read a result that tells how hard questions are.

    Raises:
        InputError: it cannot be read, or has one answer a question.
    """
    from ..results.read import read

    run = read(file)
    if run.n < 2:
        raise InputError(f'{file}: one answer a question does not tell how hard it is; take n ≥ 2')
    return run


def fitted(run: Result, arguments: Namespace) -> Population:
    """Return how hard a run's questions are, with the translations that it or the option tells."""
    from ..uncertainty import fit_population

    translations = arguments.translations or max(1, round(len(run.uids) / len(set(run.problems))))
    return fit_population(run.counts, run.n, translations, arguments.correlation)


def _check_file(option: str, file: Path | None) -> None:
    if file and file.is_dir():
        raise InputError(
            f'{option} {file} is a folder; give one result file: …/results/<model>/<dataset>.json'
        )
