"""`gpassk score`: G-Pass@k of samples of any program, or of a result once more."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arguments import as_threshold, as_whole
from ..errors import InputError
from ..metrics import SHOWN_THRESHOLDS
from ..sources.finding import FoundRun, find_runs, record_name
from ..sources.rows import KINDS
from ..sources.selection import Selection
from ..sources.source import SOURCES, Reading, Run
from ..tables import Table
from ..unseen import printable
from .files import write_file, write_record
from .judge_options import add_judge_options, chosen_judge
from .options import add_several, listed, path, requested
from .shown import add_table_options, show

if TYPE_CHECKING:
    from ..sources.scored import Choices, Scored

_EPILOG = """\
examples:
  gpassk score samples.jsonl                                   responses, judged by the rule
  gpassk score samples.jsonl --judge llm --model Qwen2.5-72B-Instruct --url http://node1:23333
  gpassk score labels.jsonl --k 4 8 16 --threshold 0.5 0.75 1  somebody else's verdicts
  gpassk score counts.jsonl.gz                                 c of n, up to millions of questions
  gpassk score outputs/…/results/<model>/<dataset>.json --k 2 --first 24
  gpassk score samples_aime_2026-11-21.jsonl logs/*.eval       files of other harnesses, docs/sources.md
  gpassk score logs --judge both                               their verdicts and those of the rule
  gpassk score table.csv --group-by problem                    a row a sample
  gpassk score outputs/old --judge rule -o scores              old runs of OpenCompass, judged anew

A row is a question, a JSON object a line:
  responses  {"question": "1 + 1?", "answer": "2", "responses": ["It is \\\\boxed{2}.", …]}
  labels     {"correct": [true, false, null, …]}, perhaps with the final "answers": ["2", "3", "", …]
  counts     {"n": 16, "c": 11}
each perhaps with uid, split, language and problem (what the translations of one problem share).
Scores and intervals are in percent; docs/scoring.md says what they mean.
"""

_POLICIES = ('wrong', 'right', 'leave-out', 'refuse')
BOTH = 'both'
"""Of `--judge`: the verdicts that responses came with, beside those of a judge."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument(
        'paths', nargs='+', metavar='PATH', help='files and folders of any program that --from names'
    )
    _add_metrics(parser)
    _add_choice(parser)
    add_judge_options(
        parser,
        'judges responses anew, as for gpassk judge-agreement; both: beside the verdicts that they have '
        '(default: those, or the rule)',
        'keeps the verdicts',
    )
    add = parser.add_argument
    add(
        '-o',
        '--output',
        type=path,
        metavar='OUT',
        help='write a result record to OUT.json, the table to OUT.csv, or a record a run into a folder OUT',
    )
    add('--labelled-by', metavar='NAME', help='of -o, for labels and counts: who judged')
    add('--name', metavar='MODEL', help='of -o: what the model is called (default: as PATH)')
    add('--dataset', help='of -o: what the data set is called (default: samples)')
    add_table_options(parser)


def _add_metrics(parser: ArgumentParser) -> None:
    usual = 'answers drawn (default: 4 8 16, or those of a result)'
    add_several(parser, '--k', usual, type=listed(int), metavar='K')
    taus = 'τ (default: %(default)s)'
    add_several(parser, '--threshold', taus, SHOWN_THRESHOLDS, type=listed(float), metavar='TAU')
    agree = 'TARa@N, distinct answers and their entropy'
    parser.add_argument('--agreement', action='store_true', help=agree)
    add_several(parser, '--majority', 'maj@M and the stability of it', type=listed(int), metavar='M')


def _add_choice(parser: ArgumentParser) -> None:
    add = parser.add_argument
    wrote = 'what wrote them (default: as the files themselves tell)'
    add('--from', '--source', dest='source', choices=list(SOURCES), help=wrote)
    add_several(parser, '--only', 'runs with one of these in <model>/<data set>', metavar='TEXT')
    add('--as', dest='kind', choices=list(KINDS), help='what to score, where there is more than one of these')
    add('--group-by', metavar='NAME', help='of tables: the column that tells the questions apart')
    least = 'the least number that is a verdict of correct (default: 1: partial credit is incorrect)'
    add('--correct-from', type=float, default=1.0, metavar='VALUE', help=least)
    field = 'the field YOURS of PATH is what gpassk calls NAME, e.g. responses=output'
    add_several(parser, '--field', field, type=_pair, metavar='NAME=YOURS')
    size = parser.add_mutually_exclusive_group()
    size.add_argument('--first', type=int, metavar='N', help='the first N samples of each question')
    size.add_argument('--n', type=int, metavar='N', help='the mean over all subsets of N of its samples')
    add_several(parser, '--split', 'only these splits')
    add_several(parser, '--language', 'only these languages')
    add('--uid', type=path, metavar='FILE', help='only the questions whose uids stand in FILE, one a line')
    meaning = 'what samples without a verdict count as (default: %(default)s)'
    add('--unjudged', choices=_POLICIES, default='wrong', help=meaning)


@dataclass(frozen=True)
class ScoreRequest:
    """What `gpassk score` is asked to do; `judge_options` are those that were given.

    `both` has the judge's verdicts beside those that responses came with.
    """

    paths: Sequence[str]
    source: str | None
    reading: Reading
    only: Sequence[str]
    choices: Choices
    judge: Mapping[str, Any]
    judge_options: Sequence[str]
    both: bool
    output: Path | None
    labelled_by: str | None
    name: str | None
    dataset: str | None

    def names(self, found: FoundRun) -> dict[str, str]:
        """Return what model and data set of a run are called in a record."""
        given = {'model': self.name, 'dataset': self.dataset}
        return {**found.names, **{key: name for key, name in given.items() if name}}

    def target(self, found: FoundRun) -> Path | None:
        """Return where a run is written to."""
        if self.output is None or self.output.suffix:
            return self.output
        return self.output / record_name(self.names(found))

    def kind(self, run: Run) -> str:
        """Return as what a run is scored.

        Raises:
            InputError: it does not hold what is asked for.
        """
        if self.choices.kind is None and self.judge_options and 'responses' in run.kinds:
            return 'responses'
        return run.kind(self.choices.kind)


def run(arguments: Namespace) -> int:
    """Score, print the tables, write what was asked for; returns the exit code 0.

    Raises:
        InputError: a run cannot be scored; of several the others are, all the same.
    """
    request = _request(arguments)
    found = find_runs(request.paths, request.reading, request.source)
    if found.passed_over:
        shown = ', '.join(map(str, found.passed_over[:5])) + (', …' if len(found.passed_over) > 5 else '')
        print(printable(f'passed over {len(found.passed_over)} files: {shown}'), file=sys.stderr)
    chosen = _chosen(found.runs, request)
    for one in chosen:
        _check_options(request, one)
    for why in found.failed:
        print(printable(f'not scored: {why}'), file=sys.stderr)
    failed = len(found.failed)
    for number, one in enumerate(chosen):
        print(end='\n' if number else '')
        try:
            _score_both(request, one) if request.both else _score(request, one)
        except InputError as error:
            told = error if one.place in str(error) else InputError(f'{one.place}: {error}')
            if len(chosen) == 1 and not failed:
                raise told from error
            print(printable(f'not scored: {one.name}: {told}'), file=sys.stderr)
            failed += 1
    if failed:
        raise InputError(f'{failed} of {len(chosen) + len(found.failed)} runs were not scored, see above')
    return 0


def _request(arguments: Namespace) -> ScoreRequest:
    """Return what is asked for; what can be refused before a file is opened is refused here."""
    for name, values in (('k', arguments.k), ('--majority', arguments.majority)):
        for value in values:
            as_whole(name, value, 1, 100_000)
    for name in ('first', 'n'):
        if getattr(arguments, name) is not None:
            as_whole(f'--{name}', getattr(arguments, name), 1, 1_000_000)
    for threshold in arguments.threshold:
        as_threshold(threshold)
    if not 0 < arguments.correct_from < inf:
        raise InputError(f'--correct-from {arguments.correct_from}: expected a number above 0')
    choices = _choices(arguments)
    _check_output(arguments, choices)
    both = arguments.judge == BOTH
    if both and arguments.kind:
        raise InputError(f'--judge both scores both verdicts; leave out --as {arguments.kind}')
    if both:
        arguments.judge = 'llm' if arguments.model else None
    judge = chosen_judge(arguments, f'{Path(arguments.paths[0]).stem}.verdicts')
    return requested(
        ScoreRequest,
        arguments,
        reading=_reading(arguments, choices, judge, both),
        choices=choices,
        judge=judge,
        judge_options=[
            f'--{name}' for name in ('judge', 'model', 'url', 'store') if getattr(arguments, name)
        ],
        both=both,
    )


def _reading(arguments: Namespace, choices: Choices, judge: Mapping[str, Any], both: bool) -> Reading:
    """Return what is asked of the sources: texts are left out where nobody looks at them."""
    anew = both or arguments.judge or arguments.kind == 'responses'
    return Reading(
        arguments.kind,
        dict(arguments.field),
        choices.selection.takes,
        bool(anew or choices.keep or choices.votes),
        arguments.correct_from,
        arguments.group_by,
        needs_questions=judge['type'] != 'rule',
    )


def _choices(arguments: Namespace) -> Choices:
    from ..sources.scored import Choices
    from ..sources.summary import Settings
    from ..sources.tally import Unjudged

    settings = Settings(
        tuple(sorted(set(arguments.k))),
        tuple(dict.fromkeys(arguments.threshold)),
        arguments.n,
        arguments.agreement,
        tuple(sorted(set(arguments.majority))),
    )
    uids = _uids(arguments.uid) if arguments.uid else None
    selection = Selection(set(arguments.split), set(arguments.language), uids, arguments.first)
    keep = bool(arguments.output and arguments.output.suffix != '.csv')
    return Choices(arguments.kind, selection, settings, Unjudged(arguments.unjudged), keep)


def _uids(file: Path) -> set[str]:
    try:
        lines = file.read_text(encoding='utf-8-sig').splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f'--uid: cannot read {file}: {error}') from error
    uids = {line.strip() for line in lines if line.strip()}
    if not uids:
        raise InputError(f'--uid: {file} is empty; expected a uid a line')
    return uids


def _check_output(arguments: Namespace, choices: Choices) -> None:
    output: Path | None = arguments.output
    if output is None:
        return
    if arguments.judge == BOTH and output.suffix != '.csv':
        raise InputError(
            f'-o {output} with --judge both: expected a name that ends in .csv, of the samples on which the '
            'two differ; for a record choose whose verdicts it holds'
        )
    if output.suffix not in {'.json', '.csv', ''}:
        raise InputError(
            f'-o {output}: expected a name that ends in .json (a record) or .csv (the table), or one without '
            'an ending, of a folder for a record a run'
        )
    if output.suffix and output.is_dir():
        raise InputError(f'-o {output} is a folder; give the name of a file')
    if output.resolve() in {Path(path).resolve() for path in arguments.paths}:
        raise InputError(f'-o {output} would overwrite what is to be scored; give another name')
    if choices.keep and choices.settings.size is not None:
        raise InputError('-o OUT.json with --n: a record holds whole counts; use --first or no --n')
    if choices.keep and choices.unjudged.value in {'right', 'leave-out'}:
        raise InputError(
            f'-o OUT.json with --unjudged {choices.unjudged.value}: a record counts unjudged samples as '
            'wrong and gives bounds'
        )


def _chosen(found: Sequence[FoundRun], request: ScoreRequest) -> list[FoundRun]:
    """Return the runs to score, each of which gets a file of its own."""
    runs = [one for one in found if not request.only or any(text in one.name for text in request.only)]
    names = ', '.join(one.name for one in (runs or found)[:10])
    if not runs:
        raise InputError(f'no run has one of --only {list(request.only)} in its name; there are {names}')
    targets = [request.target(one) for one in runs]
    if request.output and len(set(targets)) < len(targets):
        raise InputError(
            f'-o {request.output}: several runs would be written to one file; choose one with --only, give a '
            'folder, a name without an ending, for a record each, or score runs of one name one by one. '
            f'There are {names}'
        )
    return runs


def _score(request: ScoreRequest, found: FoundRun) -> None:
    """Score one run: print its table, and write it."""
    from ..judges.build import build_judge
    from ..sources.scored import score_run
    from ..sources.tables import described, scores_table

    kind, run = request.kind(found.run), found.run
    if request.labelled_by:
        run = replace(run, judge={'name': request.labelled_by})
    with ExitStack() as stack:
        scored = score_run(
            run,
            kind,
            request.choices,
            lambda: stack.enter_context(closing(build_judge(dict(request.judge)))),
        )
        print(f'{_told(found)}{_described(scored)}\n')
        _say(described(scored.lines, scored.counts, scored.ballots, scored.settings), found)
        target = request.target(found)
        record, samples = None, None
        if request.choices.keep and target:
            record, samples = scored.record(request.names(found), request.labelled_by, target.parent)
        for text in scored.remarks(record):
            print(printable(text))
    if target and record:
        write_record(target, record, samples)
    elif target:
        write_file(target, scores_table(scored.lines).to_csv(), make_folder=True)


def _score_both(request: ScoreRequest, found: FoundRun) -> None:
    """Score one run by its own verdicts and by a judge: print both, and on which samples they differ."""
    from ..judges.build import build_judge
    from ..sources.both import both_judged, described_both, differing_table

    if not {'labels', 'responses'} <= set(found.run.kinds):
        raise InputError(
            f'--judge both needs responses with verdicts, and there are {" and ".join(found.run.kinds)} alone'
        )
    with closing(build_judge(dict(request.judge))) as judge:
        judged = both_judged(found.run, request.choices, judge)
    print(f'{_told(found)}{_described(judged.theirs)}\n')
    _say(described_both(judged), found)
    if request.output:
        write_file(request.output, differing_table(judged).to_csv(), make_folder=True)


def _say(told: Iterable[Table | str], found: FoundRun) -> None:
    """Print tables, of which the notes stand among what is said after them, and the rest."""
    for one in told:
        if isinstance(one, Table):
            show(one, of=found.name, notes=False)
            print()
        else:
            print(printable(one))


def _check_options(request: ScoreRequest, found: FoundRun) -> None:
    try:
        kind = request.kind(found.run)
    except InputError as error:
        raise InputError(f'{found.place}: {error}') from error
    if kind != 'responses' and request.judge_options:
        raise InputError(f'{request.judge_options[0]} goes with responses; {found.place} holds {kind}')
    if kind not in {'labels', 'counts'} and request.labelled_by:
        raise InputError(f'--labelled-by goes with labels and counts; {found.place} holds {kind}')


def _told(found: FoundRun) -> str:
    """Return where a run is, what wrote it, and its name."""
    parts = [found.place, found.run.written_by, found.run.name]
    return printable(''.join(f'{part}: ' for part in parts if part))


def _described(scored: Scored) -> str:
    counts = scored.counts
    sizes = sorted({kind.n for kind, weight in zip(counts.kinds, counts.weights, strict=True) if weight})
    shown = f'{sizes[0]}' if len(sizes) == 1 else f'{sizes[0]} to {sizes[-1]}'
    of = f' of {len(counts.clusters[1])} problems' if counts.problems is not None else ''
    by = f', judged by {printable(scored.judge["name"], 60)}' if 'name' in scored.judge else ''
    kind = 'a result' if scored.kind == 'result' else scored.kind
    if kind == 'labels' and 'responses' in scored.run.kinds:
        kind = 'responses with verdicts, which count (--judge rule judges anew)'
    return f'{kind}; {len(counts)} questions{of}, n = {shown}, {counts.samples} samples{by}'


def _pair(text: str) -> tuple[str, str]:
    name, equals, yours = text.partition('=')
    if not (name and equals and yours):
        raise ArgumentTypeError(f'expected NAME=YOURS, e.g. responses=output, got {text!r}')
    return name, yours
