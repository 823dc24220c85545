"""`gpassk audit`: how far wrong verdicts may move the scores of a finished run."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..audit.tables import described, kinds_table, metrics_table, notes
from ..errors import InputError
from ..results.record import digest_of
from .audit_asking import ask, save
from .files import check_table_name, write_file
from .judge_options import add_judge_options, chosen_judge
from .options import Several, path, positive

if TYPE_CHECKING:
    from ..audit.findings import Findings
    from ..audit.judged import Run
    from ..audit.sheet import Sheet
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
    """Those of the subcommand."""
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
    add(
        '--trust',
        action=Several,
        default=[],
        metavar='TYPE',
        help='types whose verdicts are taken for right and not asked about, e.g. string integer',
    )
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


def run(arguments: Namespace) -> int:
    """Draw, ask or read, print the tables and write what was asked for; returns the exit code 0."""
    _check(arguments)
    from ..audit.findings import check_level, findings
    from ..audit.judged import read_run

    check_level(arguments.level)
    result = _result(arguments.run_file)
    judged = read_run(str(result.path), result.record)
    print(described(result.model, result.benchmark, result.judge, judged))
    sheet, asked = _sheet(arguments, result, judged)
    planned = not sheet.labels and asked is None
    labels = _agreeing(sheet) if planned else sheet.labels
    found = findings(judged, sheet.drawn, labels, arguments.level)
    metrics = metrics_table(found)
    shown = metrics.without('as audited') if planned else metrics
    print(f'\n{kinds_table(found, planned).to_terminal()}\n\n{shown.to_terminal()}\n')
    for note in notes(found, sheet, arguments.level, planned):
        print(note)
    if arguments.output:
        _write(arguments, found, sheet, {'result': str(result.path), 'asked': asked})
    return 0


def _check(arguments: Namespace) -> None:
    """Refuse what can be refused before anything is read."""
    check_table_name(arguments.output)
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
    _check_files(arguments)


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
    """Return the one result that is meant."""
    from ..results.collect import collect
    from ..results.read import read

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


def _sheet(arguments: Namespace, result: Result, judged: Run) -> tuple[Sheet, Any]:
    """Return the sample with its labels, and who was asked: the identity of a judge, a file, or None."""
    from ..audit.drawing import Plan
    from ..audit.sheet import new_sheet, read_sheet

    file: Path | None = arguments.labels
    if file and (file.exists() or not arguments.ask):
        sheet = read_sheet(file, judged)
    else:
        pairs = DEFAULT_PAIRS if arguments.pairs is None else arguments.pairs
        plan = Plan(judged.digest, arguments.seed or 0, pairs, tuple(sorted(set(arguments.trust))))
        sheet = new_sheet(judged, plan)
    if file:
        return ask(file, sheet) if arguments.ask else sheet, str(file)
    asked = None
    if arguments.judge:
        sheet, asked = _judged(arguments, result, sheet)
    if arguments.write:
        save(arguments.write, sheet)
        print(f'wrote {arguments.write}')
    return sheet, asked


def _judged(arguments: Namespace, result: Result, sheet: Sheet) -> tuple[Sheet, dict[str, Any]]:
    """Return the sample with a judge's labels, and its identity; what it leaves open has none."""
    from ..judges.build import build_judge
    from ..judges.protocol import Verdict

    config = chosen_judge(arguments, f'{arguments.run_file.stem}.verdicts')
    if config['type'] == 'llm':
        config.setdefault('accept_equal', False)  # whether equal spellings are equal answers is asked, too
    answers = sheet.unlabelled
    with closing(build_judge(config)) as judge:
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


def _agreeing(sheet: Sheet) -> dict[str, bool]:
    return {answer.name: answer.kind.accepted for answer in sheet.unlabelled}


def _write(arguments: Namespace, found: Findings, sheet: Sheet, about: dict[str, Any]) -> None:
    if arguments.output.suffix == '.csv':
        write_file(arguments.output, metrics_table(found).to_csv())
        return
    plan = sheet.plan
    drawn = {'run': plan.run, 'seed': plan.seed, 'pairs': plan.pairs, 'trust': list(plan.trusted)}
    content = {
        **about,
        'level': arguments.level,
        'draw': drawn,
        'labels': len(sheet.labels),
        'kinds': [{**one.kind._asdict(), **one._asdict()} for one in found.kinds],
        'metrics': [one._asdict() for one in found.metrics],
    }
    for kind in content['kinds']:
        del kind['kind']
    write_file(arguments.output, json.dumps(content, ensure_ascii=False, indent=1, default=str) + '\n')
