"""`gpassk compare`: runs with each other, or beside a published leaderboard."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..metrics import Metric
from ..unseen import printable
from .files import write_file
from .options import WITH_LIMITED, leaderboard, path, positive, requested
from .shown import add_table_options, show

if TYPE_CHECKING:
    from ..report.compare import Pairing
    from ..report.published import Published
    from ..report.scores import Measure, Score

_EPILOG = """\
examples:
  gpassk compare report published
  gpassk compare outputs published --map my-model=DeepSeek-Math-7B-RL -o agreement.csv
  gpassk compare outputs lighteval_results
  gpassk compare outputs --against Qwen2.5-7B_t0.7_l8192 --top 20
  gpassk compare outputs -o pairs.csv

`published` is the leaderboard page of the authors of G-Pass@k, `published-readme` the tables of their README;
both come with this package. A file is JSON in the layout of that page, or Markdown with a table a benchmark.

Results alone: runs on the same questions, whatever host asked them, question by question. Every two of those
that are best by what they are compared by (--metric), or all with one of them (--against). Intervals and
p-values are of all pairs in the table at once, as ranks are; with --chosen of each pair alone, for pairs that
were chosen before anybody saw results.

The published scores come without counts, so they have no intervals: "inside" means that the published score
lies in our interval.
"""


MOST_RUNS = 10
"""Runs of which every two are shown, unless --top says otherwise."""


@dataclass(frozen=True)
class CompareRequest:
    """What to compare, and how.

    Args:
        ours: reports, results, folders of results, logs of other programs.
        published: the published leaderboard; None: the runs of `ours` with each other.
        against: of runs: all with this one; None: every two.
        chosen: of runs: pairs were chosen beforehand; intervals and p-values are of each alone.
        top: of runs: so many of the best, and `against`; None: as many as a screen holds, all with `against`.
        metric: of the runs; None: mG-Pass@k.
        names: our name of a model → the published one.
        level: of confidence.
        output: where the comparison goes as CSV.
        strict: a score outside our interval is a failure.
        with_limited: also trials on some of the questions.
    """

    ours: Sequence[Path]
    published: Path | None
    against: str | None
    chosen: bool
    top: int | None
    metric: Measure | None
    names: Mapping[str, str]
    level: float
    output: Path | None
    strict: bool
    with_limited: bool


def add_arguments(parser: ArgumentParser) -> None:
    """Add what to compare, and how names are matched."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument(
        'paths',
        nargs='+',
        type=leaderboard,
        metavar='PATH',
        help='reports, results or folders of them; last a published leaderboard (file, `published`), or none',
    )
    parser.add_argument(
        '--map',
        action='append',
        default=[],
        metavar='OURS=THEIRS',
        help='the published name of a model of ours, as often as needed',
    )
    parser.add_argument('--metric', help='of the runs (default: mG-Pass@k)')
    add = parser.add_argument
    one = 'of runs: compare all others with this one, by its name or a part that no other has'
    add('--against', metavar='RUN', help=one)
    alone = (
        'with --against: these pairs were chosen before anybody saw results; intervals and p-values are of '
        'each pair alone (default: of all pairs in the table at once)'
    )
    add('--chosen', action='store_true', help=alone)
    best = (
        f'of runs: only the N that are best by --metric, and RUN of --against (default: {MOST_RUNS}, or with '
        '--against or -o all)'
    )
    add('--top', type=positive, metavar='N', help=best)
    add('--level', type=float, default=0.95, help='of confidence (default: 0.95)')
    what = 'write the comparison there (CSV)'
    parser.add_argument('-o', '--output', type=path, metavar='FILE', help=what)
    parser.add_argument('--with-limited', action='store_true', help=WITH_LIMITED)
    strict = 'exit with 1 where a published score is outside our interval'
    parser.add_argument('--strict', action='store_true', help=strict)
    add_table_options(parser)


def run(arguments: Namespace) -> int:
    """Print our scores beside theirs; of results alone, runs by pairs.

    Returns:
        The exit code: 0, or 1 with --strict where a published score is outside our interval.
    """
    request = _request(arguments)
    if request.published is None:
        from .compare_runs import compare_runs

        compare_runs(request)
        return 0
    return _beside_published(request, request.published)


def _request(arguments: Namespace) -> CompareRequest:
    """Return what was asked for.

    Raises:
        InputError: paths of another kind than the options need.
    """
    from ..report.published import SHIPPED, metric_name
    from ..report.scores import measure_of

    *ours, theirs = arguments.paths
    if not theirs.exists():
        raise InputError(f'{theirs}: no such file; leaderboards that come along: {", ".join(SHIPPED)}')
    if early := [path for path in ours if _is_leaderboard(path)]:
        raise InputError(f'{early[0]}: the last path is the published leaderboard, got {theirs} behind it')
    _check_options(arguments)
    return requested(
        CompareRequest,
        arguments,
        ours=ours if _is_leaderboard(theirs) else arguments.paths,
        published=theirs if _is_leaderboard(theirs) else None,
        metric=measure_of(metric_name(arguments.metric)) if arguments.metric else None,
        names=names_of(arguments.map),
    )


def _is_leaderboard(path: Path) -> bool:
    """Whether a file is a published leaderboard, JSON or Markdown; of the others, only results end so."""
    from ..collect import holds_record

    return path.suffix in {'.json', '.md'} and not path.is_dir() and not holds_record(path)


def _check_options(arguments: Namespace) -> None:
    """Refuse options without effect: with --strict a script would take silence for agreement."""
    runs_alone = not _is_leaderboard(arguments.paths[-1])
    of_runs = {name: getattr(arguments, name[2:]) for name in ('--against', '--chosen', '--top', '--metric')}
    of_published = {'--map': arguments.map, '--strict': arguments.strict}
    if useless := [name for name, given in (of_published if runs_alone else of_runs).items() if given]:
        goes = 'results and last a published leaderboard' if runs_alone else 'results alone'
        raise InputError(f'{", ".join(useless)} goes with {goes}, got {" ".join(map(str, arguments.paths))}')
    if arguments.chosen and not arguments.against:
        raise InputError(
            '--chosen goes with --against RUN: of every two runs of a table nobody chose each beforehand'
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


def _beside_published(request: CompareRequest, theirs: Path) -> int:
    from ..report.compare import OUTSIDE, pair_scores, pairs_csv
    from ..report.published import read_published

    published = read_published(theirs)
    if not request.ours:
        raise InputError(
            f'{theirs} is a published leaderboard alone; give reports or folders of results before it'
        )
    scores = [score for path in request.ours for score in _scores(path, published, request)]
    pairs, alone = pair_scores(scores, published, request.names)
    _print_pairs(pairs, alone)
    if request.output:
        write_file(request.output, pairs_csv(pairs))
    if not pairs:
        raise InputError('no score of ours has a published one beside it: see above, and --map OURS=THEIRS')
    return int(request.strict and any(pair.verdict == OUTSIDE for pair in pairs))


def _scores(path: Path, published: Published, request: CompareRequest) -> list[Score]:
    """Return the scores of a report, or of results that are scored now."""
    from ..collect import collect
    from ..report.leaderboard import boards
    from ..report.scores import read_scores, scores_of
    from ..report.tables import SCORES_FILE

    if (path / SCORES_FILE).is_file():
        return read_scores(path / SCORES_FILE)
    if not isinstance(published.leading, Metric):
        raise InputError('the leaderboard has only greedy accuracies; give one with G-Pass@k, or a report')
    results = collect([path]).results
    k, level = published.leading.k, request.level
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
        show(pairs_table(pairs))
        print(
            f'\n{len(pairs)} published scores: {inside} inside our interval, {outside} outside, {without} '
            'where ours has none. Theirs come without counts and have no interval.\n'
            'interval: for new questions of the same kind. rerun: two runs of one model on the same '
            'questions lie no further apart;\n'
            'what is beyond that comes from another judge, prompt, engine or setting.'
        )
    for line in alone:
        print(f'not compared: {printable(line)}')
