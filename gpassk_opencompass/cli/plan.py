"""`gpassk plan`: how many samples and questions an interval of a wanted width takes, or a budget buys."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import InputError
from ..metrics import Metric
from ..tables import Cell, Column, Table
from .options import Several, listed, path
from .plan_budget import add_budget_arguments, refuse_options, run_budget
from .plan_pilot import USUAL_K, hardness_of, metric_and_sizes
from .shown import add_table_options, show

if TYPE_CHECKING:
    from ..uncertainty import Population
    from ..uncertainty.planning import Plan

_EPILOG = """\
examples:
  gpassk plan --half-width 2 --k 16 --pilot outputs/…/results/MODEL/DATASET.json
  gpassk plan --half-width 3 --k 16 --beta 0.3 0.3 --questions 238 --translations 2
  gpassk plan --budget 2e9tokens --pilot outputs/…/results/MODEL/DATASET.json --against OLD.json -o plan.png
  gpassk plan --budget 500GPUh --beta 0.5 1.5 --tokens-per-sample 8000 --tokens-per-second 2500

Half-widths are in points (percent). Questions differ in hardness as a Beta distribution: of the counts of the
pilot, or the one given (0.3 0.3: most questions always or never solved; 1 1: all chances alike;
0.5 1.5: hard).
"""

_NARROWEST = 0.001


@dataclass(frozen=True)
class PlanRequest:
    """What to plan for.

    Args:
        half_width: wanted, in points.
        metric: whose interval is meant.
        ns: numbers of samples to look at.
        level: of confidence.
    """

    half_width: float
    metric: Metric
    ns: Sequence[int]
    level: float


def add_arguments(parser: ArgumentParser) -> None:
    """Add what is wanted, and how hard the questions are."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument('--half-width', type=float, metavar='POINTS', help='wanted: 2 is ±2 points')
    wanted.add_argument(
        '--budget', metavar='AMOUNT', help='what there is to spend: 2e9tokens, 500GPUh, 300USD, 40000samples'
    )
    drawn = f'answers drawn, of mG-Pass@k (default: {USUAL_K}); --metric says it itself'
    parser.add_argument('--k', type=int, help=drawn)
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
    add_budget_arguments(parser)
    add_table_options(parser)


def run(arguments: Namespace) -> int:
    """Print the table; the exit code is 0."""
    from ..uncertainty import plan

    if arguments.budget is not None:
        return run_budget(arguments)
    request = _request(arguments)
    metric = request.metric
    known = hardness_of(arguments)
    population, questions = known.population, known.questions
    wanted = request.half_width / 100
    plans = plan(population, metric, wanted, request.ns, questions, request.level)
    twice = plan(population, metric, wanted, request.ns, questions and 2 * questions, request.level)
    mean = population.moments(metric, metric.k)[0]
    print(
        f'{metric}, expected {100 * mean:.1f} %, for ±{request.half_width:g} points at '
        f'{100 * request.level:g} %:\n'
    )
    show(_table(plans, twice, questions))
    _say_what_is_refused(plans, request.half_width, questions)
    _say_what_helps(population, metric, questions, request.level)
    return 0


def _request(arguments: Namespace) -> PlanRequest:
    """Return what was asked for.

    Raises:
        InputError: a number that would be taken for none, that nothing could be counted up to, a metric
            without a plan, or an option of budgets.
    """
    if not _NARROWEST <= arguments.half_width < 100:
        raise InputError(
            f'--half-width {arguments.half_width:g}: expected points from {_NARROWEST} to less than 100'
        )
    refuse_options(arguments)
    metric, ns = metric_and_sizes(arguments)
    return PlanRequest(arguments.half_width, metric, ns, arguments.level)


def _table(plans: Sequence[Plan], twice: Sequence[Plan], questions: int | None) -> Table:
    """Return a row a number of samples; half-widths stand in it where there is a number of questions."""
    names = ['samples a question', 'questions', 'samples in all', 'more samples could remove']
    halves = [f'± with {questions} questions', f'± with {2 * questions}'] if questions else []
    raised = Column('raised', hidden=True)
    share = '{:.1f} %'
    columns = [Column(name, 'right', share if name == names[-1] else '{:.2f}') for name in (*names, *halves)]
    table = Table('plan', [*columns, raised])
    for row, doubled in zip(plans, twice, strict=True):
        table.add(
            row.n,
            Cell(row.questions, more='*' if row.raised else ''),
            row.samples,
            100 * row.within_share,
            *(_half_width(one) for one in (row, doubled) if questions),
            row.raised or None,
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
