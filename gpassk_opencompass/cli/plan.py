"""`gpassk plan`: how many samples and how many questions an interval of a wanted width takes."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..arguments import as_whole
from ..errors import InputError
from ..metrics import Metric
from ..tables import Cell, Column, Table
from .options import Several, listed, path, requested

if TYPE_CHECKING:
    from ..uncertainty import Population
    from ..uncertainty.planning import Plan

_EPILOG = """\
examples:
  gpassk plan --half-width 2 --k 16 --pilot outputs/…/results/MODEL/DATASET.json
  gpassk plan --half-width 3 --k 16 --beta 0.3 0.3 --questions 238 --translations 2

Half-widths are in points (percent). Questions differ in hardness as a Beta distribution: of the counts of the
pilot, or the one given (0.3 0.3: most questions always or never solved; 1 1: all chances alike;
0.5 1.5: hard).
"""

MULTIPLES = (1, 2, 3, 4, 6, 9, 12)
"""Numbers of samples looked at, in units of k, unless --n says which."""

_NARROWEST = 0.001
_MOST_QUESTIONS = 1_000_000_000
_LARGEST_K = 100_000


@dataclass(frozen=True)
class PlanRequest:
    """What to plan for.

    Args:
        half_width: wanted, in points.
        metric: whose interval is meant.
        pilot, beta: a result to take the hardness of the questions from, or a and b of it.
        questions: at hand; None: as many as the pilot has.
        translations: questions a source problem; None: those of the pilot, else 1.
        correlation: between the translations of a problem.
        ns: numbers of samples to look at.
        level: of confidence.
    """

    half_width: float
    metric: Metric
    pilot: Path | None
    beta: tuple[float, float] | None
    questions: int | None
    translations: int | None
    correlation: float
    ns: Sequence[int]
    level: float


def add_arguments(parser: ArgumentParser) -> None:
    """Add what is wanted, and how hard the questions are."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument(
        '--half-width', type=float, required=True, metavar='POINTS', help='wanted: 2 is ±2 points'
    )
    parser.add_argument('--k', type=int, default=16, help='answers drawn (default: 16)')
    parser.add_argument('--metric', help='mG-Pass@k (the default), G-Pass@k_τ, pass@k or accuracy by name')
    hardness = parser.add_mutually_exclusive_group(required=True)
    hardness.add_argument(
        '--pilot', type=path, metavar='RESULT', help='a result file to take the hardness from'
    )
    hardness.add_argument('--beta', type=float, nargs=2, metavar=('A', 'B'), help='the hardness')
    parser.add_argument('--questions', type=int, help='at hand: what half-width do they give?')
    parser.add_argument(
        '--translations', type=int, help='questions a source problem (default: of the pilot, else 1)'
    )
    parser.add_argument(
        '--correlation', type=float, default=0.9, help='between the translations of a problem (default: 0.9)'
    )
    parser.add_argument(
        '--n', type=listed(int), action=Several, help='numbers of samples a question to look at'
    )
    parser.add_argument('--level', type=float, default=0.95, help='of confidence (default: 0.95)')


def run(arguments: Namespace) -> int:
    """Print the table; the exit code is 0."""
    from ..uncertainty import plan

    request = _request(arguments)
    metric = request.metric
    population, questions = _population(request)
    wanted = request.half_width / 100
    plans = plan(population, metric, wanted, request.ns, questions, request.level)
    twice = plan(population, metric, wanted, request.ns, questions and 2 * questions, request.level)
    mean = population.moments(metric, metric.k)[0]
    print(
        f'{metric}, expected {100 * mean:.1f} %, for ±{request.half_width:g} points at '
        f'{100 * request.level:g} %:\n'
    )
    print(_table(plans, twice, questions).to_terminal())
    _say_what_is_refused(plans, request.half_width, questions)
    _say_what_helps(population, metric, questions, request.level)
    return 0


def _request(arguments: Namespace) -> PlanRequest:
    """Return what was asked for.

    Raises:
        InputError: a number that would be taken for none, that nothing could be counted up to, or a metric
            without a plan.
    """
    if not _NARROWEST <= arguments.half_width < 100:
        raise InputError(
            f'--half-width {arguments.half_width:g}: expected points from {_NARROWEST} to less than 100'
        )
    for name in ('questions', 'translations'):
        if getattr(arguments, name) is not None:
            as_whole(f'--{name}', getattr(arguments, name), 1, _MOST_QUESTIONS)
    if arguments.pilot and arguments.pilot.is_dir():
        raise InputError(
            f'--pilot {arguments.pilot} is a folder; give one result file: …/results/<model>/<dataset>.json'
        )
    metric = Metric.parse(arguments.metric or f'mG-Pass@{arguments.k}')
    as_whole('k', metric.k, 1, _LARGEST_K)
    if not metric.steps:
        raise InputError(f'{metric} is 0 for every model; take k of at least 2')
    ns = sorted(set(arguments.n or [multiple * metric.k for multiple in MULTIPLES]))
    return requested(PlanRequest, arguments, metric=metric, ns=ns)


def _population(request: PlanRequest) -> tuple[Population, int | None]:
    """Return the hardness, and how many questions are at hand."""
    from ..results.read import read
    from ..uncertainty import Population, fit_population

    if request.beta:
        a, b = request.beta
        return Population(a, b, request.translations or 1, request.correlation), request.questions
    if request.pilot is None:
        raise InputError('give the hardness with --beta or --pilot')
    pilot = read(request.pilot)
    if pilot.n < 2:
        raise InputError(f'{request.pilot}: one answer a question does not tell how hard it is; take n ≥ 2')
    questions = len(pilot.uids)
    translations = request.translations or max(1, round(questions / len(set(pilot.problems))))
    found = fit_population(pilot.counts, pilot.n, translations, request.correlation)
    print(
        f'{request.pilot.name}: {questions} questions × {pilot.n} samples, hardness Beta({found.a:.3g}, '
        f'{found.b:.3g}), {translations} questions a source problem'
    )
    return found, request.questions or questions


def _table(plans: Sequence[Plan], twice: Sequence[Plan], questions: int | None) -> Table:
    """Return a row a number of samples; half-widths stand in it where there is a number of questions."""
    names = ['samples a question', 'questions', 'samples in all', 'more samples could remove']
    halves = [f'± with {questions} questions', f'± with {2 * questions}'] if questions else []
    table = Table('plan', [Column(name, 'right') for name in (*names, *halves)])
    for row, doubled in zip(plans, twice, strict=True):
        table.add(
            row.n,
            f'{row.questions} *' if row.raised else row.questions,
            row.samples,
            f'{100 * row.within_share:.1f} %',
            *(_half_width(one) for one in (row, doubled) if questions),
        )
    return table


def _half_width(row: Plan) -> Cell:
    return Cell('', refused=row.refused) if row.refused else Cell(100 * row.half_width)


def _say_what_is_refused(plans: list[Plan], half_width: float, questions: int | None) -> None:
    """Say where reports would print no interval, on average over runs."""
    if raised := [row for row in plans if row.raised]:
        print(
            f'\n* as many as an interval takes at all. ±{half_width:g} points alone would take fewer, but '
            f'none would be printed: {raised[-1].raised}.'
        )
    if refused := [row for row in plans if row.refused]:
        ns = ', '.join(str(row.n) for row in refused)
        where = f' and {ns} samples a question' if len(refused) < len(plans) else ''
        print(f'\nWith {questions} questions{where} no interval would be printed: {refused[-1].refused}.')


def _say_what_helps(population: Population, metric: Metric, questions: int | None, level: float) -> None:
    """Say what is left when nothing more can be won by samples."""
    from ..uncertainty.planning import expected_refusal, half_width_of

    print(
        '\nmore samples could remove: the share of the variance that comes from sampling n answers; the rest '
        'comes from which questions were asked, and only more questions make it smaller (four times as many '
        'for half the width).'
    )
    if questions is None:
        return
    problems, variance = questions // population.translations, population.true_variance(metric)
    if not expected_refusal(population.moments(metric, metric.k)[0], variance, problems):
        floor = half_width_of(variance, problems, level)
        print(f'With {questions} questions and any number of samples: ±{100 * floor:.2f} points.')
