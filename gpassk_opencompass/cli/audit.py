"""`gpassk audit`: how far wrong verdicts may move the scores of a finished run."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..audit.tables import described, kinds_table, metrics_table, notes
from ..errors import InputError
from ..results.record import digest_of
from .audit_asking import ask, save
from .files import check_table_name, write_file
from .judge_options import add_judge_options, chosen_judge
from .options import add_several, path, positive, requested
from .shown import add_table_options, show

if TYPE_CHECKING:
    from ..audit.findings import Findings
    from ..audit.sample import Run, Sheet
    from ..results.result import Result

DEFAULT_PAIRS = 200

_EPILOG = """\
examples:
  gpassk audit RUN                                     how narrow would the bounds be?
  gpassk audit RUN --write labels.jsonl                draw answers for a person, who fills in each "label"
  gpassk audit RUN --labels labels.jsonl               what the labels say, also where some are missing
  gpassk audit RUN --labels labels.jsonl --ask         the person is asked here, one answer after the other
  gpassk audit RUN --judge llm --model Qwen2.5-72B-Instruct --url http://node1:23333

RUN is a result file, …/results/<model>/<dataset>.json or one of gpassk score, or a folder with one result. A
verdict is wrong where the label says otherwise. The lowest and the highest value of a metric are over all
sets of wrong verdicts that the labels do not rule out; docs/audit.md says how.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    add = parser.add_argument
    add('run_file', type=path, metavar='RUN', help='a result file, or a folder with one result')
    add(
        '--pairs',
        type=positive,
        metavar='N',
        help=f'different answers to ask about, of all kinds together (default: {DEFAULT_PAIRS})',
    )
    add('--seed', type=int, metavar='S', help='of the draw (default: 0)')
    trusted = 'types whose verdicts are taken for right and not asked about, e.g. string integer'
    add_several(parser, '--trust', trusted, metavar='TYPE')
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        '--labels', type=path, metavar='FILE', help='the drawn answers with the labels of a person'
    )
    where.add_argument(
        '--write',
        type=path,
        metavar='FILE',
        help='write the drawn answers (with --judge: its labels) to FILE.jsonl',
    )
    add(
        '--ask',
        action='store_true',
        help='of --labels: ask for those that are missing; FILE may be a new one',
    )
    add_judge_options(
        parser,
        'who is asked: llm, a class by its dotted path, or the judge of a config as JSON',
        'its verdicts',
    )
    add(
        '--level',
        type=float,
        default=0.95,
        help='of confidence, for all bounds at once (default: %(default)s)',
    )
    add(
        '-o',
        '--output',
        type=path,
        metavar='OUT',
        help='write the scores to OUT.csv, or all of it to OUT.json',
    )
    add_table_options(parser)


@dataclass(frozen=True)
class AuditRequest:
    """What `gpassk audit` is asked to do; `judge` is asked in the place of a person."""

    run_file: Path
    labels: Path | None
    ask: bool
    judge: Mapping[str, Any] | None
    pairs: int
    seed: int
    trust: tuple[str, ...]
    level: float
    write: Path | None
    output: Path | None


def run(arguments: Namespace) -> int:
    """Draw, ask or read, print the tables and write what was asked for; returns the exit code 0."""
    from ..audit.findings import findings
    from ..audit.sample import read_run

    request = _request(arguments)
    result = _result(request.run_file)
    judged = read_run(result)
    print(described(result.model, result.benchmark, result.judge, judged))
    sheet, asked = _sheet(request, result, judged)
    planned = not sheet.labels and asked is None
    labels = {one.name: one.kind.accepted for one in sheet.unlabelled} if planned else sheet.labels
    found = findings(judged, sheet.drawn, labels, request.level)
    metrics = metrics_table(found)
    shown = metrics.without('as audited') if planned else metrics
    for table in (kinds_table(found, planned), shown):
        print()
        show(table)
    print()
    for note in notes(found, sheet, request.level, planned):
        print(note)
    if request.output and request.output.suffix == '.csv':
        write_file(request.output, metrics.to_csv())
    elif request.output:
        content = {'result': str(result.path), 'asked': asked, **_content(request.level, found, sheet)}
        write_file(request.output, json.dumps(content, ensure_ascii=False, indent=1, default=str) + '\n')
    return 0


def _request(arguments: Namespace) -> AuditRequest:
    """Return what is asked for; what can be refused before anything is read is refused here."""
    from ..audit.findings import check_level

    check_table_name(arguments.output)
    _check_judge(arguments)
    _check_files(arguments)
    check_level(arguments.level)
    judge = chosen_judge(arguments, f'{arguments.run_file.stem}.verdicts') if arguments.judge else None
    if judge and judge['type'] == 'llm':
        judge.setdefault('accept_equal', False)  # whether equal spellings are equal answers is asked, too
    return requested(
        AuditRequest,
        arguments,
        judge=judge,
        pairs=arguments.pairs or DEFAULT_PAIRS,
        seed=arguments.seed or 0,
        trust=tuple(sorted(set(arguments.trust))),
    )


def _check_judge(arguments: Namespace) -> None:
    """Refuse options that do not say clearly who is asked."""
    if arguments.ask and not arguments.labels:
        raise InputError('--ask keeps each answer at once: give --labels FILE, a new file or one of before')
    if arguments.labels and (arguments.judge or arguments.model or arguments.url or arguments.store):
        raise InputError('--labels has the labels of a person, --judge asks a judge: give one of them')
    if not arguments.judge and (arguments.model or arguments.url or arguments.store):
        raise InputError('--model, --url and --store go with --judge llm')
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
    drawing = [name for name in ('pairs', 'seed', 'trust') if getattr(arguments, name) not in (None, [])]
    if drawing and arguments.labels and arguments.labels.exists():
        raise InputError(f'--{drawing[0]}: {arguments.labels} says how it was drawn; leave the option out')


def _result(place: Path) -> Result:
    """Return the result in a file, or the only one in a folder."""
    from ..results.read import collect, read

    if not place.is_dir():
        return read(place)
    found = collect([place])
    if len(found.results) == 1:
        return found.results[0]
    if not found.results:
        why = f': {found.passed_over[0]}' if found.passed_over else ''
        raise InputError(f'{place} holds no result of G-Pass@k{why}')
    names = ', '.join(str(result.path) for result in found.results[:5])
    raise InputError(f'{place} holds {len(found.results)} results; give one of the files: {names}')


def _sheet(request: AuditRequest, result: Result, judged: Run) -> tuple[Sheet, Any]:
    """Return the sample with its labels, and who was asked: the identity of a judge, a file, or None."""
    from ..audit.sample import Plan, new_sheet, read_sheet

    file = request.labels
    if file and (file.exists() or not request.ask):
        sheet = read_sheet(file, judged)
    else:
        sheet = new_sheet(judged, Plan(judged.digest, request.seed, request.pairs, request.trust))
    if file:
        return ask(file, sheet) if request.ask else sheet, str(file)
    asked = None
    if request.judge:
        sheet, asked = _judged(request.judge, result, sheet)
    if request.write:
        save(request.write, sheet)
        print(f'wrote {request.write}')
    return sheet, asked


def _judged(config: Mapping[str, Any], result: Result, sheet: Sheet) -> tuple[Sheet, dict[str, Any]]:
    """Return the sample with a judge's labels, none for what it leaves open, and the judge's identity."""
    from ..judges.build import build_judge
    from ..judges.protocol import Verdict

    answers = sheet.unlabelled
    with closing(build_judge(dict(config))) as judge:
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


def _content(level: float, found: Findings, sheet: Sheet) -> dict[str, Any]:
    """Return what is written as JSON, beside the result and who was asked."""
    kinds = [{**one.kind._asdict(), **one._asdict()} for one in found.kinds]
    for kind in kinds:
        del kind['kind']
    return {
        'level': level,
        'draw': sheet.plan.as_json(),
        'labels': len(sheet.labels),
        'kinds': kinds,
        'metrics': [one._asdict() for one in found.metrics],
    }
