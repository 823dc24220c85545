"""`gpassk audit`: have some verdicts of a finished run checked, and say how many of all are wrong."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..files import write_file as write_whole
from ..record import digest_of
from ..unseen import printable
from .files import check_table_name, write_file
from .judge_options import add_judge_options, chosen_judge
from .options import add_several, path, positive
from .shown import add_table_options, show

if TYPE_CHECKING:
    from ..audit.sample import Answer, Run, Sheet
    from ..record import Result

DEFAULT_PAIRS = 200

_EPILOG = """\
examples:
  gpassk audit RUN                                     how narrow would the limits be?
  gpassk audit RUN --write labels.jsonl                draw answers for a person, who fills in each "label"
  gpassk audit RUN --labels labels.jsonl               what the labels say, also where some are missing
  gpassk audit RUN --labels labels.jsonl --ask         the person is asked here, one answer after the other
  gpassk audit RUN --judge llm --model Qwen2.5-72B-Instruct --url http://node1:23333

RUN is a result file, …/results/<model>/<dataset>.json or one of gpassk score, or a folder with one result. A
verdict is wrong where the label says otherwise; docs/audit.md says more.
"""

_KEYS = 'y correct, n incorrect, s skip, b back, q quit'
_LABELS = {'y': True, 'n': False}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    add = parser.add_argument
    add('run_file', type=path, metavar='RUN', help='a result file, or a folder with one result')
    pairs = f'different answers to ask about, of all kinds together (default: {DEFAULT_PAIRS})'
    add('--pairs', type=positive, metavar='N', help=pairs)
    add('--seed', type=int, metavar='S', help='of the draw (default: 0)')
    trusted = 'types whose verdicts are taken for right and not asked about, e.g. string integer'
    add_several(parser, '--trust', trusted, metavar='TYPE')
    where = parser.add_mutually_exclusive_group().add_argument
    where('--labels', type=path, metavar='FILE', help='the drawn answers with the labels of a person')
    writes = 'write the drawn answers (with --judge: its labels) to FILE.jsonl'
    where('--write', type=path, metavar='FILE', help=writes)
    asks = 'of --labels: ask for those that are missing; FILE may be a new one'
    add('--ask', action='store_true', help=asks)
    judge = 'who is asked: llm, a class by its dotted path, or the judge of a config as JSON'
    add_judge_options(parser, judge, 'its verdicts')
    add('--level', type=float, default=0.95, help='of confidence (default: %(default)s)')
    output = 'write the table to OUT.csv, or all of it to OUT.json'
    add('-o', '--output', type=path, metavar='OUT', help=output)
    add_table_options(parser)


def run(arguments: Namespace) -> int:
    """Draw, ask or read, print the table and write what was asked for; returns the exit code 0."""
    from ..audit.rates import check_level, notes, rates, rates_table
    from ..audit.sample import check_trusted, read_run
    from ..collect import collect_one

    check_table_name(arguments.output)
    _check_judge(arguments)
    _check_files(arguments)
    check_level(arguments.level)
    judge = chosen_judge(arguments, f'{arguments.run_file.stem}.verdicts') if arguments.judge else None
    result = collect_one(arguments.run_file)
    judged = read_run(result)
    print(
        f'{printable(result.model)} on {printable(result.benchmark)}: {judged.questions} questions, '
        f'n = {judged.n}, {len(judged.answers)} different answers of {result.health.samples} samples, '
        f'judged by {printable(result.judge.get("name", "an unnamed judge"), 60)}\n'
    )
    trusted = sorted(set(arguments.trust))
    check_trusted(judged, trusted)
    sheet, asked = _sheet(arguments, judge, result, judged, trusted)
    planned = not sheet.labels and asked is None
    labels = {one.name: one.kind.accepted for one in sheet.unlabelled} if planned else sheet.labels
    found = rates(judged, sheet.drawn, labels, trusted, arguments.level)
    table = rates_table(found, planned)
    show(table)
    print()
    for note in notes(found, trusted, arguments.level, planned):
        print(note)
    if arguments.output and arguments.output.suffix == '.csv':
        write_file(arguments.output, table.to_csv())
    elif arguments.output:
        content = {
            'result': str(result.path),
            'asked': asked,
            'level': arguments.level,
            'trusted': trusted,
            'labels': len(sheet.labels),
            'kinds': [one._asdict() for one in found],
        }
        write_file(arguments.output, json.dumps(content, ensure_ascii=False, indent=1, default=str) + '\n')
    return 0


def _check_judge(arguments: Namespace) -> None:
    """Refuse options that do not say clearly who is asked."""
    if arguments.ask and not arguments.labels:
        raise InputError('--ask keeps each answer at once: give --labels FILE, a new file or one of before')
    if arguments.labels and (arguments.judge or arguments.model or arguments.url or arguments.verdicts):
        raise InputError('--labels has the labels of a person, --judge asks a judge: give one of them')
    if not arguments.judge and (arguments.model or arguments.url or arguments.verdicts):
        raise InputError('--model, --url and --verdicts go with --judge llm')
    if arguments.judge in {'rule', 'cascade'}:
        raise InputError(
            f'--judge {arguments.judge}: a rule would accept its own errors; give llm, or a judge as JSON'
        )


def _check_files(arguments: Namespace) -> None:
    """Refuse what could not be written, or would be lost."""
    if arguments.write and arguments.write.exists():
        raise InputError(
            f'--write {arguments.write}: it is there already and may hold labels; give another name, or '
            f'--labels {arguments.write} to go on with it'
        )
    for file in (arguments.output, arguments.write, arguments.labels):
        if file and not file.parent.is_dir():
            raise InputError(f'there is no folder {file.parent} to write {file.name} to')
    inputs = [place.resolve() for place in (arguments.run_file, arguments.labels, arguments.write) if place]
    if arguments.output and arguments.output.resolve() in inputs:
        raise InputError(f'-o {arguments.output} is read or written as another file, too; give another name')
    if arguments.ask and arguments.labels.suffix == '.gz':
        raise InputError(f'--ask writes {arguments.labels} after each reply: unpack it first')
    drawing = [name for name in ('pairs', 'seed') if getattr(arguments, name) is not None]
    if drawing and arguments.labels and arguments.labels.exists():
        raise InputError(f'--{drawing[0]}: {arguments.labels} says how it was drawn; leave the option out')


def _sheet(
    arguments: Namespace,
    judge: Mapping[str, Any] | None,
    result: Result,
    judged: Run,
    trusted: Sequence[str],
) -> tuple[Sheet, Any]:
    """Return the sample with its labels, and who was asked: the identity of a judge, a file, or None."""
    from ..audit.sample import Sheet, draw, read_sheet

    file: Path | None = arguments.labels
    if file and (file.exists() or not arguments.ask):
        sheet = read_sheet(file, judged)
    else:
        drawn = draw(judged, arguments.pairs or DEFAULT_PAIRS, arguments.seed or 0, trusted)
        sheet = Sheet(judged.digest, drawn, {}, {})
    if file:
        return _ask(file, sheet) if arguments.ask else sheet, str(file)
    asked = None
    if judge:
        sheet, asked = _judged(judge, result, sheet)
    if arguments.write:
        _save(arguments.write, sheet)
        print(f'wrote {arguments.write}')
    return sheet, asked


def _judged(config: Mapping[str, Any], result: Result, sheet: Sheet) -> tuple[Sheet, dict[str, Any]]:
    """Return the sample with a judge's labels, none for what it leaves open, and the judge's identity."""
    from ..judges.build import build_judge
    from ..judges.protocol import Verdict

    # Whether equal spellings are equal answers is asked, too.
    more = {'accept_equal': False} if config['type'] == 'llm' else {}
    answers = sheet.unlabelled
    with closing(build_judge({**more, **config})) as judge:
        if digest_of(judge.identity()) == result.judge_digest:
            raise InputError(
                'the judge that is asked is the one that judged the run, and would agree with itself'
            )
        said = judge.judge([answer.pair for answer in answers])
        identity = dict(judge.identity())
    labels = {
        answer.name: one.verdict is Verdict.CORRECT
        for answer, one in zip(answers, said, strict=True)
        if one.verdict is not Verdict.UNJUDGED
    }
    return sheet._replace(labels=labels), identity


def _ask(file: Path, sheet: Sheet) -> Sheet:
    """Ask for the labels that are missing, up to `q` or the end of the input; each reply is kept at once."""
    _save(file, sheet)
    answers, place = sheet.unlabelled, 0
    print(f'{len(answers)} answers have no label. Do answer and reference say the same? {_KEYS}')
    while place < len(answers):
        reply = _reply(answers[place], place + 1, len(answers))
        if reply == 'q':
            break
        if reply in _LABELS:
            sheet = sheet._replace(labels={**sheet.labels, answers[place].name: _LABELS[reply]})
            _save(file, sheet)
        place = max(place - 1, 0) if reply == 'b' else place + 1
    print(f'\n{file} holds {len(sheet.labels)} labels\n')
    return sheet


def _reply(answer: Answer, number: int, of: int) -> str:
    """Return a key of `_KEYS`; the end of the input is `q`."""
    pair = answer.pair
    print(f'\n[{number} of {of}]')
    for name, text in (('question', pair.question), ('reference', pair.reference), ('answer', pair.answer)):
        print(f'{name + ":":<11}{printable(text, keep=chr(10))}')
    while True:
        try:
            said = input('y/n/s/b/q? ').strip().lower()
        except EOFError:
            return 'q'
        if said in {'y', 'n', 's', 'b', 'q'}:
            return said
        print(_KEYS)


def _save(file: Path, sheet: Sheet) -> None:
    """Write the sample in one step: what was there stays until all is written."""
    try:
        write_whole(file, sheet.text().encode())
    except OSError as error:
        raise InputError(f'cannot write {file}: {error.strerror}') from error
