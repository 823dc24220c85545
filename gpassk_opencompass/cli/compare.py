"""`gpassk compare`: runs with each other, or beside a published leaderboard and what that can tell apart."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from .files import write_file
from .options import path
from .shown import printable

if TYPE_CHECKING:
    from ..report.agreement import Pairing
    from ..report.published import Published
    from ..report.scores import Score

_EPILOG = """\
examples:
  gpassk compare report published_results.json
  gpassk compare outputs published_results.json --map my-model=DeepSeek-Math-7B-RL -o agreement.csv
  gpassk compare published_results.json --neighbours
  gpassk compare outputs lighteval_results

Folders alone: every two runs on the same questions, whatever host asked them, question by question.

The published scores come without counts, so they have no intervals: "inside" means that the published score
lies in our interval. Which neighbours of the published table can be told apart at all follows from how many
questions it has, under the assumptions of --n, --between-translations and --between-models.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """What to compare, how names are matched, and the assumptions."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument(
        'paths',
        nargs='+',
        type=path,
        metavar='PATH',
        help='reports or folders of results, and last the published leaderboard (JSON), or none',
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
    parser.add_argument('-o', '--output', type=path, metavar='FILE', help='write the comparison there (CSV)')
    parser.add_argument('--strict', action='store_true', help='exit with 1 where a score is outside')


def run(arguments: Namespace) -> int:
    """Print our scores beside theirs, then what theirs can tell apart; of folders alone, runs by pairs.

    Returns:
        The exit code: 0, or 1 with --strict where a published score is outside our interval.
    """
    *ours, theirs = arguments.paths
    if theirs.is_dir() and not all(path.is_dir() for path in ours):
        raise InputError(
            f'{theirs} is a folder; the last path is the published leaderboard, a JSON file, '
            'or all paths are folders'
        )
    if files := [path for path in ours if not path.is_dir()]:
        raise InputError(
            f'{files[0]} is no folder; only the last path may be a file, a published leaderboard. To compare '
            'runs with each other give the folders above their results'
        )
    _check_options(arguments, beside_published=bool(ours) and not theirs.is_dir())
    if not theirs.is_dir():
        return _beside_published(arguments, ours, theirs)
    from .compare_runs import print_runs

    print_runs(arguments.paths, arguments.metric, arguments.level)
    return 0


def _check_options(arguments: Namespace, *, beside_published: bool) -> None:
    """Refuse options that nothing would come of: with --strict a script would take silence for agreement."""
    needing = {'-o': arguments.output, '--map': arguments.map, '--strict': arguments.strict}
    if useless := [name for name, given in needing.items() if given and not beside_published]:
        raise InputError(
            f'{", ".join(useless)} goes with results and last a published leaderboard beside them, got '
            f'{" ".join(map(str, arguments.paths))}'
        )
    if arguments.neighbours and arguments.paths[-1].is_dir():
        raise InputError('--neighbours are those of a published leaderboard, a JSON file as the last path')


def _beside_published(arguments: Namespace, ours: Sequence[Path], theirs: Path) -> int:
    from ..report.agreement import OUTSIDE, pair_scores
    from ..report.neighbours import Assumptions
    from ..report.published import read_published
    from .compare_tables import pairs_csv, print_neighbours, print_pairs

    published = read_published(theirs)
    assumptions = Assumptions(
        arguments.n, arguments.between_translations, arguments.between_models, arguments.level
    )
    pairs: list[Pairing] = []
    if ours:
        scores = [score for path in ours for score in _scores(path, published, arguments.level)]
        pairs, alone = pair_scores(scores, published, _names(arguments.map))
        print_pairs(pairs, alone)
        if arguments.output:
            write_file(arguments.output, pairs_csv(pairs))
    print_neighbours(published, arguments.metric, assumptions, arguments.neighbours)
    if ours and not pairs:
        raise InputError('no score of ours has a published one beside it: see above, and --map OURS=THEIRS')
    return int(arguments.strict and any(pair.verdict == OUTSIDE for pair in pairs))


def _scores(path: Path, published: Published, level: float) -> list[Score]:
    """Of a report, or of results that are scored now."""
    from ..report.leaderboard import boards
    from ..report.scores import read_scores, scores_of
    from ..report.tables import SCORES_FILE
    from ..results.read import collect

    if (path / SCORES_FILE).is_file():
        return read_scores(path / SCORES_FILE)
    found, left_out = boards(collect([path], details=False).results, _largest_k(published), level)
    for line in left_out:
        print(f'left out: {printable(line)}')
    return [score for board in found for row in scores_of(board) for score in row.values()]


def _largest_k(published: Published) -> int:
    from ..uncertainty import kernel_of

    if '@' not in published.leading:
        raise InputError('the leaderboard has only greedy accuracies; give one with G-Pass@k, or a report')
    return kernel_of(published.leading).k


def _names(pairs: Sequence[str]) -> dict[str, str]:
    names = {}
    for pair in pairs:
        ours, equals, theirs = pair.partition('=')
        if not (ours and equals and theirs):
            raise InputError(f'--map {pair!r}: expected OURS=THEIRS')
        names[ours] = theirs
    return names
