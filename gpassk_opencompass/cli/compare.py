"""`gpassk compare`: is a new run better than an old one, as good, or worse? Or beside published scores."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from ..errors import InputError
from ..text import say, show
from .options import add_json, add_several, examples, path, points

PUBLISHED = 'published'
"""In the place of the old run: the leaderboard of the authors of G-Pass@k, which comes with this package."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the runs, what they are compared by, and where the answer goes."""
    lines = examples(
        'gpassk compare outputs/step-2000 outputs/step-1000 --margin 2',
        'gpassk compare new1.jsonl old1.jsonl new2.jsonl old2.jsonl --judge rule',
        'gpassk compare outputs published',
    )
    parser.epilog = f'{lines}\n\nexit codes of --margin: 0 not worse; 1 worse; 2 not decided; 3 no answer'
    add = parser.add_argument
    what = 'NEW OLD [RERUNS of either]: records, work directories, logs of other programs'
    add('paths', nargs='+', type=path, metavar='PATH', help=what)
    margin = 'be a gate: POINTS that do not matter, chosen beforehand, e.g. 2'
    add('--margin', type=points, metavar='POINTS', help=margin)
    about = 'these questions again, or new ones (default: same with --margin, else new)'
    add('--questions', choices=('same', 'new'), help=about)
    add_several(parser, '--metric', 'by what (default: mG-Pass@k with the largest k of both)')
    only = 'only these, by parts of names (default: those of OLD)'
    add_several(parser, '--benchmark', only, metavar='NAME')
    add('--against', metavar='NAME', help='the published model, where a run is called otherwise')
    sd = 'how much the score moves from run to run, where it is known (standard deviation)'
    add('--run-sd', type=points, metavar='POINTS', help=sd)
    add('--judge', choices=('rule',), help='judge all answers anew, where programs judged differently')
    add('--level', type=float, default=0.95, help='of confidence (default: 0.95)')
    add('--markdown', type=path, metavar='FILE', help='write a comment for a pull request there')
    add_json(parser)


def run(
    *,
    paths: Sequence[Path],
    margin: float | None,
    questions: str | None,
    metric: Sequence[str],
    benchmark: Sequence[str],
    against: str | None,
    run_sd: float | None,
    judge: str | None,
    level: float,
    markdown: Path | None,
) -> int:
    """Print the answer, then what it rests on; the exit code is the answer's with --margin, else 0."""
    from ..files import save
    from ..metrics import Metric
    from ..report.compare import beside_published, compare

    if str(paths[-1]) == PUBLISHED and not paths[-1].exists():
        if margin is not None or len(paths) < 2:
            raise InputError(
                '`published` stands behind results, without --margin: published scores have no counts'
            )
        table = beside_published(paths[:-1], level, against)
        inside = sum(row[-1] == 'inside' for row in table.rows)
        say(f'{len(table.rows)} published scores: {inside} inside our {100 * level:g} % interval', '')
        show(table)
        return 0
    if margin is not None and not 0 < margin < 100:  # not of NaN either
        raise InputError(f'--margin {margin:g}: expected points above 0 and below 100, e.g. 2')
    if run_sd is not None and not 0 <= run_sd < 100:
        raise InputError(f'--run-sd {run_sd:g}: expected points from 0 to below 100, e.g. 1.5')
    answer = compare(
        paths,
        margin=None if margin is None else margin / 100,
        questions=questions or ('new' if margin is None else 'same'),
        metrics=[Metric.parse(name) for name in metric],
        benchmarks=benchmark,
        run_sd=None if run_sd is None else run_sd / 100,
        level=level,
        judge=judge,
    )
    say(answer.line, '', answer.basis, '')
    show(answer.table())
    if markdown:
        save(markdown, answer.markdown())
        say(f'\nwrote {markdown}')
    return answer.exit_code
