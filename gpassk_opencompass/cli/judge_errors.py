"""`gpassk judge-errors`: what a judge that errs makes of G-Pass@k."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..judge_errors import ErrorRates, by_answers, mean_reported, reported_of_beta
from ..metrics import SHOWN_THRESHOLDS, Metric
from ..tables import Table
from .files import check_table_name, write_file
from .options import Several, listed, path
from .shown import add_table_options, show
from .true_counts import Truth, read_truth

_EPILOG = """\
examples:
  gpassk judge-errors --false-negative 0.01 --k 16
  gpassk judge-errors --false-negative 0.01 0.05 --false-positive 0 0.01 --k 4 8 16 --beta 0.3 0.3
  gpassk judge-errors --false-negative 0.02 --k 16 --counts outputs/…/results/<model>/<dataset>.json

The rates are shares from 0 to 1: false negatives of what is correct, false positives of what is not, as
gpassk judge-agreement measures them. In the table, in percent, what is expected to be reported where the
verdicts err
  independent    each for itself: every response is judged anew
  by answer      alike on equal answers to a question, as in a run (only with --counts of a result file)
  together       alike on all correct and on all incorrect answers to a question
and in the first row the true value.
"""

if TYPE_CHECKING:
    from ..tables.table import Value

Case = Callable[[ErrorRates], dict[str, float]]


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    for name, share, default in (
        ('--false-negative', 'missed share of correct answers', None),
        ('--false-positive', 'accepted share of incorrect answers (default: 0)', [0.0]),
    ):
        parser.add_argument(
            name,
            action=Several,
            type=listed(float),
            metavar='RATE',
            help=share,
            default=default,
            required=not default,
        )
    parser.add_argument(
        '--k', action=Several, type=listed(int), required=True, metavar='K', help='answers drawn'
    )
    parser.add_argument(
        '--threshold',
        action=Several,
        type=listed(float),
        default=list(SHOWN_THRESHOLDS),
        metavar='TAU',
        help='the τ of G-Pass@k_τ (default: %(default)s)',
    )
    truth = parser.add_mutually_exclusive_group()
    truth.add_argument(
        '--counts',
        type=path,
        metavar='FILE',
        help='the truth: a result file, or rows {"n": …, "c": …} as JSON lines; without it and --beta a '
        'model that is always right',
    )
    truth.add_argument(
        '--beta',
        nargs=2,
        type=float,
        metavar=('A', 'B'),
        help='the truth: questions whose chance of success is Beta(A, B); below 1 is U-shaped',
    )
    parser.add_argument('--n', type=int, help='of --counts: answers a question, where rows do not say it')
    parser.add_argument(
        '-o', '--output', type=path, metavar='FILE', help='write the table to FILE.csv or FILE.json'
    )
    add_table_options(parser)


def run(arguments: Namespace) -> int:
    """Compute and print the table, write it where it was asked for, and return the exit code 0."""
    if arguments.n is not None and not arguments.counts:
        raise InputError('--n goes with --counts: the metrics of a population do not depend on n')
    check_table_name(arguments.output)
    truth: Truth | tuple[float, float]
    if arguments.beta:
        truth = tuple(arguments.beta)
    else:
        truth = read_truth(str(arguments.counts), arguments.n) if arguments.counts else _perfect(arguments.k)
    rates = [ErrorRates(*both) for both in product(arguments.false_negative, arguments.false_positive)]
    table = _table(rates, _cases(truth, arguments.k, arguments.threshold), arguments.k)
    show(table)
    if arguments.output:
        _write(arguments.output, table)
    return 0


def _table(rates: Sequence[ErrorRates], cases: Mapping[str, Case], ks: Sequence[int]) -> Table:
    truth = cases['independent'](ErrorRates(0.0, 0.0))
    left_out = {Metric.pass_at(k).name for k in ks} | {Metric.mg_pass_at(1).name}
    names = [name for name in truth if name not in left_out]
    rows: list[Sequence[Value]] = [[0.0, 0.0, 'none', *(100 * truth[name] for name in names)]]
    for rate in rates:
        for errors, case in cases.items():
            values = case(rate)
            percent = [round(100 * share, 10) for share in rate]  # 7, not 7.000000000000001
            rows.append([*percent, errors, *(100 * values[name] for name in names)])
    return Table('reported', ['false neg. %', 'false pos. %', 'errors', *names], rows)


def _cases(truth: Truth | tuple[float, float], ks: Sequence[int], taus: Sequence[float]) -> dict[str, Case]:
    """Return what errs alike → the values reported at some rates; `truth` is counts, or a and b of a Beta."""
    if not isinstance(truth, Truth):
        population = partial(reported_of_beta, *truth, ks, thresholds=taus)
        return {'independent': population, 'together': partial(population, together=True)}
    counted = partial(mean_reported, truth.counts, ks, thresholds=taus)
    alike = partial(by_answers, truth.answers, truth.correct, ks, thresholds=taus)
    return {
        'independent': counted,
        **({'by answer': alike} if truth.answers else {}),
        'together': partial(counted, together=True),
    }


def _perfect(ks: Sequence[int]) -> Truth:
    n = max(1, *ks)
    return Truth({n: [n]}, [], [])


def _write(path: Path, table: Table) -> None:
    records = json.dumps(table.records(), ensure_ascii=False, indent=1)
    text = table.to_csv() if path.suffix == '.csv' else f'{records}\n'
    write_file(path, text)
