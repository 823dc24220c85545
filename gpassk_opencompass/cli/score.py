"""`gpassk score`: G-Pass@k of responses, labels or counts of any program, or of a result once more."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arguments import as_threshold, as_whole
from ..errors import InputError
from ..metrics import SHOWN_THRESHOLDS
from ..rescoring.fields import KINDS
from ..unseen import printable
from .files import write_file
from .judge_options import add_judge_options, chosen_judge
from .options import Several, listed, path

if TYPE_CHECKING:
    from ..judges.protocol import Judge
    from ..rescoring.rows import Question
    from ..rescoring.selection import Selection
    from ..rescoring.source import Source
    from ..rescoring.summary import Settings
    from ..rescoring.tally import Counts
    from ..rescoring.votes import Ballot

_EPILOG = """\
examples:
  gpassk score samples.jsonl                                   responses, judged by the rule
  gpassk score samples.jsonl --judge llm --model Qwen2.5-72B-Instruct --url http://node1:23333
  gpassk score labels.jsonl --k 4 8 16 --threshold 0.5 0.75 1  somebody else's verdicts
  gpassk score counts.jsonl.gz --also pass^k                   c of n, up to millions of questions
  gpassk score outputs/…/results/<model>/<dataset>.json --k 2 --first 24

A row is a question, a JSON object a line:
  responses  {"question": "1 + 1?", "answer": "2", "responses": ["It is \\\\boxed{2}.", …]}
  labels     {"correct": [true, false, null, …]}, perhaps with the final "answers": ["2", "3", "", …]
  counts     {"n": 16, "c": 11}
each perhaps with uid, split, language and problem (what the translations of one problem share).
Scores and intervals are in percent; docs/scoring.md says what they mean.
"""

_DEFAULT_KS = (4, 8, 16)
_POLICIES = ('wrong', 'right', 'leave-out', 'refuse')
_ALSO = ('pass^k', 'avg@n', 'agreement')


def add_arguments(parser: ArgumentParser) -> None:
    """Those of the subcommand."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument('file', metavar='FILE', help='JSON lines, also .gz, or a result file')
    _add_metrics(parser)
    _add_choice(parser)
    add_judge_options(
        parser, 'of responses: as for gpassk judge-agreement (default: rule)', 'keeps the verdicts'
    )
    add = parser.add_argument
    add(
        '-o',
        '--output',
        type=path,
        metavar='OUT',
        help='write a result record to OUT.json, or the table to OUT.csv',
    )
    add('--labelled-by', metavar='NAME', help='of -o, for labels and counts: who judged')
    add('--name', metavar='MODEL', help='of -o: what the model is called (default: as FILE)')
    add('--dataset', help='of -o: what the data set is called (default: samples)')


def _add_metrics(parser: ArgumentParser) -> None:
    add, taus = parser.add_argument, list(SHOWN_THRESHOLDS)
    add(
        '--k',
        action=Several,
        type=listed(int),
        metavar='K',
        help='answers drawn (default: 4 8 16, or those of a result)',
    )
    add(
        '--threshold',
        action=Several,
        type=listed(float),
        default=taus,
        metavar='TAU',
        help='τ (default: %(default)s)',
    )
    add('--also', action=Several, choices=_ALSO, default=[], metavar='WHAT', help=f'more: {", ".join(_ALSO)}')
    add(
        '--majority',
        action=Several,
        type=listed(int),
        default=[],
        metavar='M',
        help='maj@M and the stability of it',
    )


def _add_choice(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add('--as', dest='kind', choices=list(KINDS), help='what the rows are (default: by their fields)')
    add(
        '--field',
        action=Several,
        type=_pair,
        default=[],
        metavar='NAME=YOURS',
        help='the field YOURS of FILE is what gpassk calls NAME, e.g. responses=output',
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument('--first', type=int, metavar='N', help='the first N samples of each question')
    size.add_argument('--n', type=int, metavar='N', help='the mean over all subsets of N of its samples')
    add('--split', action=Several, default=[], help='only these splits')
    add('--language', action=Several, default=[], help='only these languages')
    add('--uid', type=path, metavar='FILE', help='only the questions whose uids stand in FILE, one a line')
    meaning = 'what samples without a verdict count as (default: %(default)s)'
    add('--unjudged', choices=_POLICIES, default='wrong', help=meaning)


def run(arguments: Namespace) -> int:
    """Score, print the table, write what was asked for; returns the exit code 0."""
    _check(arguments)
    from ..rescoring.fields import Naming
    from ..rescoring.source import open_source
    from ..rescoring.summary import summarise
    from ..rescoring.tables import described, scores_table

    selection = _selection(arguments)
    with ExitStack() as stack:
        naming = Naming(dict(arguments.field), arguments.kind)
        kept: list[Question] = []
        try:
            judge = partial(_judge, arguments, stack)
            source = open_source(arguments.file, naming, selection, judge)
            _check_kind(arguments, source.kind)
            counts, ballots = _read(arguments, source, kept)
            selection.check(len(counts))
            settings = _settings(arguments, source.ks, counts)
            lines = summarise(counts, ballots, settings)
        except InputError as error:
            raise _in_file(arguments.file, error) from error
        print(f'{_described(arguments.file, source, counts)}\n')
        for text in described(lines, counts, ballots, settings):
            print(text)
        for text in source.remarks:
            print(printable(text))
        if arguments.output:
            csv = scores_table(lines).to_csv() if arguments.output.suffix == '.csv' else None
            text = csv or _record(arguments, source, kept, settings, counts)
            write_file(arguments.output, text, make_folder=True)
    return 0


def _check(arguments: Namespace) -> None:
    """What can be refused before the file is opened."""
    for name, values in (('k', arguments.k or ()), ('--majority', arguments.majority)):
        for value in values:
            as_whole(name, value, 1, 100_000)
    for name in ('first', 'n'):
        if getattr(arguments, name) is not None:
            as_whole(f'--{name}', getattr(arguments, name), 1, 1_000_000)
    for threshold in arguments.threshold:
        as_threshold(threshold)
    if arguments.output:
        _check_output(arguments, arguments.output)


def _check_output(arguments: Namespace, output: Path) -> None:
    if output.suffix not in {'.json', '.csv'}:
        raise InputError(f'-o {output}: expected a name that ends in .json (a record) or .csv (the table)')
    if output.is_dir():
        raise InputError(f'-o {output} is a folder; give the name of a file')
    if output.resolve() == Path(arguments.file).resolve():
        raise InputError(f'-o {output} would overwrite what is to be scored; give another name')
    if output.suffix == '.json' and arguments.n is not None:
        raise InputError('-o OUT.json with --n: a record holds whole counts; use --first or no --n')
    if output.suffix == '.json' and arguments.unjudged in {'right', 'leave-out'}:
        raise InputError(
            f'-o OUT.json with --unjudged {arguments.unjudged}: a record counts unjudged samples as '
            'wrong and gives bounds'
        )


def _check_kind(arguments: Namespace, kind: str) -> None:
    if kind != 'responses' and (
        useless := [f'--{name}' for name in ('judge', 'model', 'url', 'store') if getattr(arguments, name)]
    ):
        raise InputError(f'{useless[0]} goes with responses; {arguments.file} holds {kind}')
    if kind not in {'labels', 'counts'} and arguments.labelled_by:
        raise InputError(f'--labelled-by goes with labels and counts; {arguments.file} holds {kind}')


def _selection(arguments: Namespace) -> Selection:
    from ..rescoring.selection import Selection

    uids = None
    if arguments.uid:
        try:
            lines = arguments.uid.read_text(encoding='utf-8-sig').splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f'--uid: cannot read {arguments.uid}: {error}') from error
        uids = {line.strip() for line in lines if line.strip()}
        if not uids:
            raise InputError(f'--uid: {arguments.uid} is empty; expected a uid a line')
    return Selection(set(arguments.split), set(arguments.language), uids, arguments.first)


def _judge(arguments: Namespace, stack: ExitStack, unjudged: Counts) -> Judge:
    """The judge, once it is known that what it will say can be scored."""
    from ..judges.build import build_judge
    from ..rescoring.summary import check_sizes

    _check_kind(arguments, 'responses')
    check_sizes(unjudged, _settings(arguments, (), unjudged))
    config = chosen_judge(arguments, f'{Path(arguments.file).stem}.verdicts')
    return stack.enter_context(closing(build_judge(config)))


def _read(arguments: Namespace, source: Source, kept: list[Question]) -> tuple[Counts, list[Ballot]]:
    """The counts of all questions; their answers and they themselves only where they are needed."""
    from ..rescoring.ballots import ballot_of
    from ..rescoring.tally import Tally, Unjudged

    policy, tally = Unjudged(arguments.unjudged), Tally()
    ballots: list[Ballot] = []
    answers = bool(arguments.majority) or 'agreement' in arguments.also
    keep = arguments.output is not None and arguments.output.suffix == '.json'
    for question in source.questions:
        tally.add(question)
        if answers:
            ballots.append(ballot_of(question, policy))
        if keep:
            kept.append(question)
    return tally.counts(policy), ballots


def _settings(arguments: Namespace, known: Sequence[int], counts: Counts) -> Settings:
    """The metrics that were asked for; without any k, those that are known or usual."""
    from ..rescoring.summary import Settings

    least = arguments.n or min(counts.sizes)
    ks = arguments.k or [k for k in known or _DEFAULT_KS if k <= least] or [max(least, 1)]
    return Settings(
        tuple(sorted(set(ks))),
        tuple(dict.fromkeys(arguments.threshold)),
        arguments.n,
        frozenset(arguments.also),
        tuple(sorted(set(arguments.majority))),
    )


def _described(file: str, source: Source, counts: Counts) -> str:
    sizes = sorted({kind.n for kind, weight in zip(counts.kinds, counts.weights, strict=True) if weight})
    shown = f'{sizes[0]}' if len(sizes) == 1 else f'{sizes[0]} to {sizes[-1]}'
    problems = len(counts.clusters[1])
    of = f' of {problems} problems' if counts.problems is not None else ''
    judge = f', judged by {printable(source.judge["name"], 60)}' if 'name' in source.judge else ''
    kind = 'a result' if source.kind == 'result' else source.kind
    return f'{file}: {kind}; {len(counts)} questions{of}, n = {shown}, {counts.samples} samples{judge}'


def _record(
    arguments: Namespace, source: Source, kept: list[Question], settings: Settings, counts: Counts
) -> str:
    from ..rescoring.written import result_record
    from ..results.record import Measures

    [n] = {kind.n for kind in counts.kinds}
    judge: Mapping[str, Any] = source.judge or {'name': arguments.labelled_by or source.kind}
    run = {'model': Path(arguments.file).name.split('.')[0], 'dataset': 'samples', **source.run}
    run |= {'model': arguments.name} if arguments.name else {}
    run |= {'dataset': arguments.dataset} if arguments.dataset else {}
    record = result_record(
        kept,
        Measures(n, settings.ks, settings.thresholds),
        judge,
        run,
        source.judged,
        source.undecided,
    )
    return json.dumps(record, ensure_ascii=False, indent=1) + '\n'


def _in_file(file: str, error: InputError) -> InputError:
    """The error with the name of the file, if it lacks it."""
    return error if str(error).startswith(file) else InputError(f'{file}: {error}')


def _pair(text: str) -> tuple[str, str]:
    name, equals, yours = text.partition('=')
    if not (name and equals and yours):
        raise ArgumentTypeError(f'expected NAME=YOURS, e.g. responses=output, got {text!r}')
    return name, yours
