"""`gpassk compare`: runs with each other, or beside a published leaderboard and what that can tell apart."""

from __future__ import annotations

import math
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..metrics import Metric
from ..unseen import printable
from .files import write_file
from .options import WITH_LIMITED, leaderboard, path, requested

if TYPE_CHECKING:
    from ..report.compare import Pairing
    from ..report.neighbours import Assumptions, Neighbours
    from ..report.published import Published
    from ..report.scores import Measure, Score

_EPILOG = """\
examples:
  gpassk compare report published
  gpassk compare outputs published --map my-model=DeepSeek-Math-7B-RL -o agreement.csv
  gpassk compare published --neighbours
  gpassk compare published-readme published --audit
  gpassk compare outputs lighteval_results

`published` is the leaderboard page of the authors of G-Pass@k, `published-readme` the tables of their README;
both come with this package. A file is JSON in the layout of that page, or Markdown with a table a benchmark.

Folders alone: every two runs on the same questions, whatever host asked them, question by question.

The published scores come without counts, so they have no intervals: "inside" means that the published score
lies in our interval. Which neighbours of the published table can be told apart at all follows from how many
questions it has, under the assumptions of --n, --between-translations and --between-models.
"""


@dataclass(frozen=True)
class CompareRequest:
    """What to compare, and how.

    Args:
        ours: reports or folders of results.
        published: the published leaderboard; None: the runs of `ours` with each other.
        metric: of the neighbours, or of the runs; None: mG-Pass@k.
        names: our name of a model → the published one.
        assumptions: of what the published leaderboard does not tell, and the level of confidence.
        every_pair: list all neighbouring pairs.
        output: where the comparison goes as CSV.
        strict: a score outside our interval is a failure.
        with_limited: also runs that were made smaller with --limit or --samples.
    """

    ours: Sequence[Path]
    published: Path | None
    metric: Measure | None
    names: Mapping[str, str]
    assumptions: Assumptions
    every_pair: bool
    output: Path | None
    strict: bool
    with_limited: bool


def add_arguments(parser: ArgumentParser) -> None:
    """Add what to compare, how names are matched, and the assumptions."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument(
        'paths',
        nargs='+',
        type=leaderboard,
        metavar='PATH',
        help='reports or folders of results, and last a published leaderboard (a file, `published`), or none',
    )
    parser.add_argument(
        '--map',
        action='append',
        default=[],
        metavar='OURS=THEIRS',
        help='the published name of a model of ours, as often as needed',
    )
    parser.add_argument('--metric', help='of the neighbours, or of the runs (default: mG-Pass@k)')
    parser.add_argument('--neighbours', action='store_true', help='list all neighbouring pairs')
    add = parser.add_argument
    add('--n', type=int, default=48, help='samples a question of the published runs (default: 48)')
    translations = 'correlation between the languages of a problem (default: 0.9)'
    add('--between-translations', type=float, default=0.9, metavar='R', help=translations)
    models = 'correlation between two models on the same questions (default: 0.8)'
    add('--between-models', type=float, default=0.8, metavar='R', help=models)
    add('--level', type=float, default=0.95, help='of confidence (default: 0.95)')
    wrong = (
        'name what is impossible or doubtful in published leaderboards, and where others differ from the last'
    )
    parser.add_argument('--audit', action='store_true', help=wrong)
    what = 'write the comparison, or the findings, there (CSV)'
    parser.add_argument('-o', '--output', type=path, metavar='FILE', help=what)
    parser.add_argument('--with-limited', action='store_true', help=WITH_LIMITED)
    strict = 'exit with 1 where a score is outside, or something was found'
    parser.add_argument('--strict', action='store_true', help=strict)


def run(arguments: Namespace) -> int:
    """Print our scores beside theirs, then what theirs can tell apart; of folders alone, runs by pairs.

    Returns:
        The exit code: 0, or 1 with --strict where a published score is outside our interval, or with
        --audit something was found.
    """
    if arguments.audit:
        from .compare_audit import run_audit

        return run_audit(arguments, names_of(arguments.map))
    request = _request(arguments)
    if request.published is None:
        _print_runs(request)
        return 0
    return _beside_published(request, request.published)


def _request(arguments: Namespace) -> CompareRequest:
    """Return what was asked for.

    Raises:
        InputError: paths of another kind than the options need.
    """
    from ..report.neighbours import Assumptions
    from ..report.published import metric_name
    from ..report.scores import measure_of

    *ours, theirs = arguments.paths
    if theirs.is_dir() and not all(path.is_dir() for path in ours):
        raise InputError(
            f'{theirs} is a folder; the last path is the published leaderboard, a file or `published`, '
            'or all paths are folders'
        )
    if files := [path for path in ours if not path.is_dir()]:
        raise InputError(
            f'{files[0]} is no folder; only the last path may be a file, a published leaderboard. To compare '
            'runs with each other give the folders above their results'
        )
    _check_options(arguments, beside_published=bool(ours) and not theirs.is_dir())
    assumptions = (arguments.n, arguments.between_translations, arguments.between_models, arguments.level)
    return requested(
        CompareRequest,
        arguments,
        ours=arguments.paths if theirs.is_dir() else ours,
        published=None if theirs.is_dir() else theirs,
        metric=measure_of(metric_name(arguments.metric)) if arguments.metric else None,
        names=names_of(arguments.map),
        assumptions=Assumptions(*assumptions),
        every_pair=arguments.neighbours,
    )


def _check_options(arguments: Namespace, *, beside_published: bool) -> None:
    """Refuse options without effect: with --strict a script would take silence for agreement."""
    needing = {'-o': arguments.output, '--map': arguments.map, '--strict': arguments.strict}
    if useless := [name for name, given in needing.items() if given and not beside_published]:
        raise InputError(
            f'{", ".join(useless)} goes with results and last a published leaderboard beside them, got '
            f'{" ".join(map(str, arguments.paths))}'
        )
    if arguments.neighbours and arguments.paths[-1].is_dir():
        raise InputError(
            '--neighbours are those of a published leaderboard, a file or `published` as the last path'
        )


def names_of(pairs: Sequence[str]) -> dict[str, str]:
    """Return what --map says: our name of a model → theirs.

    Raises:
        InputError: a pair is none.
    """
    names = {}
    for pair in pairs:
        ours, equals, theirs = pair.partition('=')
        if not (ours and equals and theirs):
            raise InputError(f'--map {pair!r}: expected OURS=THEIRS')
        names[ours] = theirs
    return names


def _print_runs(request: CompareRequest) -> None:
    """Print, for each table of a report, every two of its runs, best first.

    Raises:
        InputError: nothing to compare, or no such metric.
    """
    from ..report.compare import differences_table
    from ..report.leaderboard import boards
    from ..report.tables import heading
    from ..results.read import collect

    found = collect(request.ours, details=False)
    level, limited = request.assumptions.level, request.with_limited
    tables, left_out = boards(found.results, level=level, with_limited=limited)
    for line in (*found.passed_over, *left_out):
        print(f'left out: {printable(line)}')
    pairs = [board for board in tables if len(board.entries) > 1]
    if not pairs:
        raise InputError(
            f'{len(found.results)} results in {len(tables)} tables, none with two runs: only runs on the '
            'same questions, judged by the same judge, can be compared'
        )
    if request.metric is not None and not isinstance(request.metric, Metric):
        raise InputError('--metric Greedy: runs are compared by their samples; take accuracy or G-Pass@k')
    for board in pairs:
        table = differences_table(board, request.metric or board.ranked_by)
        print(printable(f'{table.title}\n{heading(board)}\n\n{table.to_terminal()}\n', keep='\n'))


def _beside_published(request: CompareRequest, theirs: Path) -> int:
    from ..report.compare import OUTSIDE, pair_scores, pairs_csv
    from ..report.published import read_published

    published = read_published(theirs)
    pairs: list[Pairing] = []
    if request.ours:
        scores = [score for path in request.ours for score in _scores(path, published, request)]
        pairs, alone = pair_scores(scores, published, request.names)
        _print_pairs(pairs, alone)
        if request.output:
            write_file(request.output, pairs_csv(pairs))
    _print_neighbours(published, request)
    if request.ours and not pairs:
        raise InputError('no score of ours has a published one beside it: see above, and --map OURS=THEIRS')
    return int(request.strict and any(pair.verdict == OUTSIDE for pair in pairs))


def _scores(path: Path, published: Published, request: CompareRequest) -> list[Score]:
    """Return the scores of a report, or of results that are scored now."""
    from ..report.leaderboard import boards
    from ..report.scores import read_scores, scores_of
    from ..report.tables import SCORES_FILE
    from ..results.read import collect

    if (path / SCORES_FILE).is_file():
        return read_scores(path / SCORES_FILE)
    if not isinstance(published.leading, Metric):
        raise InputError('the leaderboard has only greedy accuracies; give one with G-Pass@k, or a report')
    results = collect([path], details=False).results
    k, level = published.leading.k, request.assumptions.level
    found, left_out = boards(results, k, level, with_limited=request.with_limited)
    for line in left_out:
        print(f'left out: {printable(line)}')
    return [score for board in found for row in scores_of(board) for score in row.values()]


def _print_pairs(pairs: Sequence[Pairing], alone: Sequence[str]) -> None:
    """Print ours, theirs, whether they agree, and what was not compared."""
    from ..report.compare import INSIDE, OPEN, OUTSIDE, pairs_table

    if pairs:
        inside, outside, without = (
            sum(pair.verdict == verdict for pair in pairs) for verdict in (INSIDE, OUTSIDE, OPEN)
        )
        print(pairs_table(pairs).to_terminal())
        print(
            f'\n{len(pairs)} published scores: {inside} inside our interval, {outside} outside, {without} '
            'where ours has none. Theirs come without counts and have no interval.\n'
            'interval: for new questions of the same kind. rerun: two runs of one model on the same '
            'questions lie no further apart;\n'
            'what is beyond that comes from another judge, prompt, engine or setting.'
        )
    for line in alone:
        print(f'not compared: {printable(line)}')


def _print_neighbours(published: Published, request: CompareRequest) -> None:
    """Print a line a benchmark, and every pair if asked.

    Raises:
        InputError: the leaderboard does not have the metric.
    """
    from ..report.compare import neighbours_table
    from ..report.neighbours import neighbours
    from ..report.published import BENCHMARKS

    assumptions, metric = request.assumptions, request.metric or published.leading
    if metric not in published.metrics:
        raise InputError(f'--metric {metric}: the leaderboard has {", ".join(map(str, published.metrics))}')
    print(
        f'\nNeighbours by {metric} that a paired comparison could tell apart '
        f'({100 * assumptions.level:g} %).\n'
        f'Assumed: {assumptions.n} samples a question; hardness as the published G-Pass values tell; '
        f'correlation {assumptions.translations:g} between\nthe languages of a problem, '
        f'{assumptions.models:g} between models.'
    )
    for benchmark in published.benchmarks:
        if benchmark not in BENCHMARKS:
            print(f'{printable(benchmark)}: its number of questions is not known')
            continue
        pairs = neighbours(published, benchmark, metric, assumptions)
        print(_summary(benchmark, pairs))
        if request.every_pair:
            print(f'\n{neighbours_table(pairs).to_terminal()}\n')


def _summary(benchmark: str, pairs: Sequence[Neighbours]) -> str:
    from ..report.neighbours import resolved
    from ..report.published import BENCHMARKS
    from ..tables import short_reason

    known, found = BENCHMARKS[benchmark], resolved(pairs)
    median = found['median']
    least = '' if math.isnan(median) else f'; median least difference {median:.1f} points'
    reasons = [short_reason(pair.refused) for pair in pairs if pair.refused]
    refused = f'; no statement on {len(reasons)}: {", ".join(dict.fromkeys(reasons))}' if reasons else ''
    return (
        f'- {benchmark}: {found["apart"]} of {found["pairs"]} pairs ({known.questions} questions of '
        f'{known.problems} problems{least}{refused})'
    )
