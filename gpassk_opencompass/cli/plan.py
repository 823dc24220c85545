"""`gpassk plan`: how many samples and questions an interval of a wanted width takes."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import InputError
from ..metrics import Metric, as_whole
from ..tables import Cell, Column, Table
from .options import Several, listed, path
from .shown import add_table_options, show

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

_USUAL_K = 16

_MULTIPLES = (1, 2, 3, 4, 6, 9, 12)
"""Numbers of samples looked at, in units of k, unless --n says which."""

_CORRELATION = 0.9
"""Between the true values of the translations of a problem."""

_NARROWEST = 0.001
_MOST_QUESTIONS = 1_000_000_000
_LARGEST_K = 100_000


def add_arguments(parser: ArgumentParser) -> None:
    """Add what is wanted, and how hard the questions are."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    add = parser.add_argument
    add('--half-width', type=float, required=True, metavar='POINTS', help='wanted: 2 is ±2 points')
    drawn = f'answers drawn, of mG-Pass@k (default: {_USUAL_K}); --metric says it itself'
    add('--k', type=int, help=drawn)
    add('--metric', help='mG-Pass@k (the default), G-Pass@k_τ, pass@k or accuracy by name')
    hardness = parser.add_mutually_exclusive_group(required=True)
    hardness.add_argument(
        '--pilot', type=path, metavar='RESULT', help='a result file to take the hardness from'
    )
    hardness.add_argument('--beta', type=float, nargs=2, metavar=('A', 'B'), help='the hardness')
    add('--questions', type=int, help='at hand: what half-width do they give? (default: of the pilot)')
    add('--translations', type=int, help='questions a source problem (default: of the pilot, else 1)')
    add('--n', type=listed(int), action=Several, help='numbers of samples a question to look at')
    add('--level', type=float, default=0.95, help='of confidence (default: 0.95)')
    add_table_options(parser)


def run(arguments: Namespace) -> int:
    """Print the table; the exit code is 0."""
    from ..uncertainty import plan

    wanted, level = arguments.half_width, arguments.level
    if not _NARROWEST <= wanted < 100:
        raise InputError(f'--half-width {wanted:g}: expected points from {_NARROWEST} to less than 100')
    metric, ns = _metric_and_sizes(arguments)
    population, questions = _hardness(arguments)
    plans = plan(population, metric, wanted / 100, ns, questions, level)
    twice = plan(population, metric, wanted / 100, ns, questions and 2 * questions, level)
    mean = population.moments(metric, metric.k)[0]
    print(f'{metric}, expected {100 * mean:.1f} %, for ±{wanted:g} points at {100 * level:g} %:\n')
    show(_table(plans, twice, questions))
    _say_what_is_refused(plans, wanted, questions)
    _say_what_helps(population, metric, questions, level)
    return 0


def _metric_and_sizes(arguments: Namespace) -> tuple[Metric, Sequence[int]]:
    """Return the metric, and the numbers of samples to look at.

    Raises:
        InputError: a number that would be taken for none, that nothing could be counted up to, or a metric
            without a plan.
    """
    for name in ('questions', 'translations'):
        if getattr(arguments, name) is not None:
            as_whole(f'--{name}', getattr(arguments, name), 1, _MOST_QUESTIONS)
    if arguments.metric and arguments.k is not None:
        raise InputError(f'--metric {arguments.metric} says k itself: leave --k {arguments.k} out')
    metric = Metric.parse(arguments.metric or f'mG-Pass@{_USUAL_K if arguments.k is None else arguments.k}')
    as_whole('k', metric.k, 1, _LARGEST_K)
    if not metric.steps:
        raise InputError(f'{metric} is 0 for every model; take k of at least 2')
    ns = sorted(set(arguments.n or [multiple * metric.k for multiple in _MULTIPLES]))
    if ns[0] < metric.k:
        raise InputError(f'--n {ns[0]} is below k = {metric.k} of {metric}: take n of {metric.k} or more')
    return metric, ns


def _hardness(arguments: Namespace) -> tuple[Population, int | None]:
    """Return how hard questions are, said where a pilot tells it, and how many are at hand, if that is known.

    Raises:
        InputError: numbers that are none of a population, or a pilot that tells nothing of it.
    """
    from ..uncertainty import Population, fit_population

    if arguments.beta:
        a, b = arguments.beta
        return Population(a, b, arguments.translations or 1, _CORRELATION), arguments.questions
    from ..adapter import unequal
    from ..collect import collect_one

    pilot = collect_one(arguments.pilot)
    if why := unequal(pilot):
        raise InputError(f'{arguments.pilot}: {why}')
    if pilot.n < 2:
        raise InputError(f'{arguments.pilot}: one answer a question does not tell how hard it is; take n ≥ 2')
    questions = len(pilot.table)
    translations = arguments.translations or max(1, round(questions / len(set(pilot.counts.problem))))
    found = fit_population(pilot.table.c, pilot.n, translations, _CORRELATION)
    print(
        f'{arguments.pilot.name}: {questions} questions × {pilot.n} samples, hardness '
        f'Beta({found.a:.3g}, {found.b:.3g}), {translations} questions a source problem'
    )
    return found, arguments.questions or questions


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
