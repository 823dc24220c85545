"""`gpassk score`: G-Pass@k of responses, labels or counts of any program, or of a result once more."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arguments import as_threshold, as_whole
from ..errors import InputError
from ..metrics import SHOWN_THRESHOLDS
from ..sources.finding import find_runs
from ..sources.rows import KINDS
from ..sources.selection import Selection
from ..sources.source import SOURCES, Reading, Run
from ..unseen import printable
from .files import write_file
from .judge_options import add_judge_options, chosen_judge
from .options import add_several, listed, path, requested

if TYPE_CHECKING:
    from ..sources.scored import Choices, Scored

_EPILOG = """\
examples:
  gpassk score samples.jsonl                                   responses, judged by the rule
  gpassk score samples.jsonl --judge llm --model Qwen2.5-72B-Instruct --url http://node1:23333
  gpassk score labels.jsonl --k 4 8 16 --threshold 0.5 0.75 1  somebody else's verdicts
  gpassk score counts.jsonl.gz --also pass^k                   c of n, up to millions of questions
  gpassk score outputs/…/results/<model>/<dataset>.json --k 2 --first 24
  gpassk score outputs/old -o scores                           all old LiveMathBench runs of OpenCompass

A row is a question, a JSON object a line:
  responses  {"question": "1 + 1?", "answer": "2", "responses": ["It is \\\\boxed{2}.", …]}
  labels     {"correct": [true, false, null, …]}, perhaps with the final "answers": ["2", "3", "", …]
  counts     {"n": 16, "c": 11}
each perhaps with uid, split, language and problem (what the translations of one problem share).
Scores and intervals are in percent; docs/scoring.md says what they mean.
"""

_POLICIES = ('wrong', 'right', 'leave-out', 'refuse')
_ALSO = ('pass^k', 'avg@n', 'agreement')


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument(
        'file', metavar='FILE', help='JSON lines, also .gz, a result file, or files of --source'
    )
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
        help='write a result record to OUT.json, the table to OUT.csv, or a record a run into a folder OUT',
    )
    add('--labelled-by', metavar='NAME', help='of -o, for labels and counts: who judged')
    add('--name', metavar='MODEL', help='of -o: what the model is called (default: as FILE)')
    add('--dataset', help='of -o: what the data set is called (default: samples)')


def _add_metrics(parser: ArgumentParser) -> None:
    usual = 'answers drawn (default: 4 8 16, or those of a result)'
    add_several(parser, '--k', usual, type=listed(int), metavar='K')
    taus = 'τ (default: %(default)s)'
    add_several(parser, '--threshold', taus, SHOWN_THRESHOLDS, type=listed(float), metavar='TAU')
    add_several(parser, '--also', f'more: {", ".join(_ALSO)}', choices=_ALSO, metavar='WHAT')
    add_several(parser, '--majority', 'maj@M and the stability of it', type=listed(int), metavar='M')


def _add_choice(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add('--source', choices=list(SOURCES), help='what wrote FILE (default: as the file itself tells)')
    add_several(parser, '--only', 'runs with one of these in <model>/<data set>', metavar='TEXT')
    add('--as', dest='kind', choices=list(KINDS), help='what to score, where there is more than one of these')
    field = 'the field YOURS of FILE is what gpassk calls NAME, e.g. responses=output'
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
    """What `gpassk score` is asked to do; `judge_options` are those that were given."""

    file: str
    source: str | None
    reading: Reading
    only: Sequence[str]
    choices: Choices
    judge: Mapping[str, Any]
    judge_options: Sequence[str]
    output: Path | None
    labelled_by: str | None
    name: str | None
    dataset: str | None

    def names(self, run: Run) -> dict[str, str]:
        """Return what model and data set of a run are called in a record."""
        return {
            'model': self.name or run.model or Path(self.file).name.split('.')[0],
            'dataset': self.dataset or run.dataset or 'samples',
        }

    def target(self, run: Run) -> Path | None:
        """Return where a run is written to."""
        if self.output is None or self.output.suffix:
            return self.output
        return self.output / f'{"@".join(self.names(run).values())}.gpassk.json'.replace('/', '_')


def run(arguments: Namespace) -> int:
    """Score, print the tables, write what was asked for; returns the exit code 0."""
    request = _request(arguments)
    try:
        found = [run for _, _, run in find_runs([request.file], request.reading, request.source).runs]
        for number, one in enumerate(_chosen(found, request)):
            print(end='\n' if number else '')
            _score(request, one, f'{printable(one.name)}: ' if len(found) > 1 else '')
    except InputError as error:
        named = str(error).startswith(request.file)
        raise error if named else InputError(f'{request.file}: {error}') from error
    return 0


def _request(arguments: Namespace) -> ScoreRequest:
    """Return what is asked for; what can be refused before the file is opened is refused here."""
    for name, values in (('k', arguments.k), ('--majority', arguments.majority)):
        for value in values:
            as_whole(name, value, 1, 100_000)
    for name in ('first', 'n'):
        if getattr(arguments, name) is not None:
            as_whole(f'--{name}', getattr(arguments, name), 1, 1_000_000)
    for threshold in arguments.threshold:
        as_threshold(threshold)
    choices = _choices(arguments)
    _check_output(arguments.output, arguments.file, choices)
    return requested(
        ScoreRequest,
        arguments,
        reading=Reading(arguments.kind, dict(arguments.field), choices.selection.takes),
        choices=choices,
        judge=chosen_judge(arguments, f'{Path(arguments.file).stem}.verdicts'),
        judge_options=[
            f'--{name}' for name in ('judge', 'model', 'url', 'store') if getattr(arguments, name)
        ],
    )


def _choices(arguments: Namespace) -> Choices:
    from ..sources.scored import Choices
    from ..sources.summary import Settings
    from ..sources.tally import Unjudged

    settings = Settings(
        tuple(sorted(set(arguments.k))),
        tuple(dict.fromkeys(arguments.threshold)),
        arguments.n,
        frozenset(arguments.also),
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


def _check_output(output: Path | None, file: str, choices: Choices) -> None:
    if output is None:
        return
    if output.suffix not in {'.json', '.csv', ''}:
        raise InputError(
            f'-o {output}: expected a name that ends in .json (a record) or .csv (the table), or one without '
            'an ending, of a folder for a record a run'
        )
    if output.suffix and output.is_dir():
        raise InputError(f'-o {output} is a folder; give the name of a file')
    if output.resolve() == Path(file).resolve():
        raise InputError(f'-o {output} would overwrite what is to be scored; give another name')
    if choices.keep and choices.settings.size is not None:
        raise InputError('-o OUT.json with --n: a record holds whole counts; use --first or no --n')
    if choices.keep and choices.unjudged.value in {'right', 'leave-out'}:
        raise InputError(
            f'-o OUT.json with --unjudged {choices.unjudged.value}: a record counts unjudged samples as '
            'wrong and gives bounds'
        )


def _chosen(found: Sequence[Run], request: ScoreRequest) -> list[Run]:
    """Return the runs to score, each of which gets a file of its own."""
    runs = [one for one in found if not request.only or any(text in one.name for text in request.only)]
    names = ', '.join(one.name or 'one without a name' for one in (runs or found)[:10])
    if not runs:
        raise InputError(f'no run has one of --only {list(request.only)} in its name; there are {names}')
    targets = [request.target(one) for one in runs]
    if request.output and len(set(targets)) < len(targets):
        raise InputError(
            f'-o {request.output}: several runs would be written to one file; choose one with --only, or '
            f'give a folder, a name without an ending, for a record each. There are {names}'
        )
    return runs


def _score(request: ScoreRequest, run: Run, name: str) -> None:
    """Score one run: print its table, and write it."""
    from ..judges.build import build_judge
    from ..results.samples import sample_file_beside
    from ..sources.scored import score_run
    from ..sources.tables import described, scores_table

    kind = run.kind(request.choices.kind)
    _check_options(request, kind)
    with ExitStack() as stack:
        scored = score_run(
            run,
            kind,
            request.choices,
            lambda: stack.enter_context(closing(build_judge(dict(request.judge)))),
        )
        print(f'{request.file}: {name}{_described(scored)}\n')
        for text in described(scored.lines, scored.counts, scored.ballots, scored.settings):
            print(text)
        target = request.target(run)
        record, samples = None, None
        if request.choices.keep and target:
            record, samples = scored.record(request.names(run), request.labelled_by, target.parent)
        for text in scored.remarks(record):
            print(printable(text))
    if target and record:
        with sample_file_beside(target, record, samples):
            write_file(target, json.dumps(record, ensure_ascii=False, indent=1) + '\n', make_folder=True)
    elif target:
        write_file(target, scores_table(scored.lines).to_csv(), make_folder=True)


def _check_options(request: ScoreRequest, kind: str) -> None:
    if kind != 'responses' and request.judge_options:
        raise InputError(f'{request.judge_options[0]} goes with responses; {request.file} holds {kind}')
    if kind not in {'labels', 'counts'} and request.labelled_by:
        raise InputError(f'--labelled-by goes with labels and counts; {request.file} holds {kind}')


def _described(scored: Scored) -> str:
    counts = scored.counts
    sizes = sorted({kind.n for kind, weight in zip(counts.kinds, counts.weights, strict=True) if weight})
    shown = f'{sizes[0]}' if len(sizes) == 1 else f'{sizes[0]} to {sizes[-1]}'
    of = f' of {len(counts.clusters[1])} problems' if counts.problems is not None else ''
    by = f', judged by {printable(scored.judge["name"], 60)}' if 'name' in scored.judge else ''
    kind = 'a result' if scored.kind == 'result' else scored.kind
    return f'{kind}; {len(counts)} questions{of}, n = {shown}, {counts.samples} samples{by}'


def _pair(text: str) -> tuple[str, str]:
    name, equals, yours = text.partition('=')
    if not (name and equals and yours):
        raise ArgumentTypeError(f'expected NAME=YOURS, e.g. responses=output, got {text!r}')
    return name, yours
