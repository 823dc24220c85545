"""`gpassk plan`: how many samples and how many questions an interval of a wanted width takes."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..arguments import as_whole
from ..errors import InputError
from ..metrics import Metric
from ..tables import Cell, Column, Table
from .options import Several, listed, path

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


def add_arguments(parser: ArgumentParser) -> None:
    """What is wanted, and how hard the questions are."""
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

    _check(arguments)
    metric = Metric.parse(arguments.metric or f'mG-Pass@{arguments.k}')
    if not metric.steps:
        raise InputError(f'{metric.name} is 0 for every model; take k of at least 2')
    population, questions = _population(arguments)
    questions = arguments.questions or questions
    ns = sorted(set(arguments.n or [multiple * metric.k for multiple in MULTIPLES]))
    wanted = arguments.half_width / 100
    plans = plan(population, metric, wanted, ns, questions, arguments.level)
    twice = plan(population, metric, wanted, ns, questions and 2 * questions, arguments.level)
    mean = population.moments(metric, metric.k)[0]
    print(
        f'{metric.name}, expected {100 * mean:.1f} %, for ±{arguments.half_width:g} points at '
        f'{100 * arguments.level:g} %:\n'
    )
    print(_table(plans, twice, questions).to_terminal())
    _say_what_is_refused(plans, arguments.half_width, questions)
    _say_what_helps(population, metric, questions, arguments.level)
    return 0


def _check(arguments: Namespace) -> None:
    """Numbers that the computation would take as not given, or could not count up to."""
    if not _NARROWEST <= arguments.half_width < 100:
        raise InputError(
            f'--half-width {arguments.half_width:g}: expected points from {_NARROWEST} to less than 100'
        )
    for name in ('questions', 'translations'):
        if getattr(arguments, name) is not None:
            as_whole(f'--{name}', getattr(arguments, name), 1, _MOST_QUESTIONS)


def _population(arguments: Namespace) -> tuple[Population, int | None]:
    """The hardness, and how many questions a pilot has."""
    from ..results.read import read
    from ..uncertainty import Population, fit_population

    if arguments.pilot and arguments.pilot.is_dir():
        raise InputError(
            f'--pilot {arguments.pilot} is a folder; give one result file: …/results/<model>/<dataset>.json'
        )
    if arguments.beta:
        translations = arguments.translations or 1
        a, b = arguments.beta
        return Population(a, b, translations, arguments.correlation), None
    pilot = read(arguments.pilot)
    if pilot.n < 2:
        raise InputError(f'{arguments.pilot}: one answer a question does not tell how hard it is; take n ≥ 2')
    questions = len(pilot.uids)
    translations = arguments.translations or max(1, round(questions / len(set(pilot.problems))))
    found = fit_population(pilot.counts, pilot.n, translations, arguments.correlation)
    print(
        f'{arguments.pilot.name}: {questions} questions × {pilot.n} samples, hardness Beta({found.a:.3g}, '
        f'{found.b:.3g}), {translations} questions a source problem'
    )
    return found, questions


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
    """Where reports would print no interval, on average over runs."""
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
    """What is left when nothing more can be won by samples."""
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
