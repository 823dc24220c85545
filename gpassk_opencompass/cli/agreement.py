"""`gpassk judge-agreement`: a judge against labels, or the judges of verdict stores against each other."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..agreement.tables import Cells, cells_of, shown_table
from ..errors import InputError
from ..judges.protocol import Verdict
from ..tables import csv_text
from ..unseen import printable
from .files import check_table_name, write_file
from .judge_options import add_judge_options, chosen_judge
from .options import add_several, path, requested
from .shown import add_table_options, show

_EPILOG = """\
examples:
  gpassk judge-agreement pairs.jsonl --judge rule
  gpassk judge-agreement pairs.jsonl --judge llm --model Qwen2.5-72B-Instruct --url http://node1:23333
  gpassk judge-agreement pairs.jsonl --judge '{"type": "rule", "timeout": 10}' --disagreements wrong.jsonl
  gpassk judge-agreement --stores outputs/with_72B outputs/with_7B -o agreement.csv

A line of PAIRS is a JSON object with a reference, an answer and a label (true or false, "correct" or
"incorrect"), and, if there are, question, language and source. Agreement, precision, recall and the rate of
false positives are percentages, κ is a number up to 1; in [brackets] the 95 % interval.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument('pairs', nargs='?', metavar='PAIRS', help='labelled pairs, a JSON object a line')
    add_several(parser, '--stores', 'instead of PAIRS: verdict stores or work directories', metavar='STORE')
    add_judge_options(
        parser,
        'rule (the default), llm, cascade (the rule, then the LLM), one of another package by its name, '
        'a class by its dotted path, or the judge of a config as JSON: a file or the text itself',
        'keeps the verdicts (default: <name of PAIRS>.verdicts)',
    )
    parser.add_argument(
        '--responses',
        action='store_true',
        help='the answers are whole responses: judge the final answer of each, as a run does',
    )
    add_several(parser, '--only', 'of --stores: judges with this in their name', metavar='NAME')
    parser.add_argument(
        '--disagreements', type=path, metavar='FILE', help='write them there, a JSON object a line'
    )
    parser.add_argument(
        '-o', '--output', type=path, metavar='FILE', help='write the table to FILE.csv or FILE.json'
    )
    add_table_options(parser)


@dataclass(frozen=True)
class AgreementRequest:
    """What `gpassk judge-agreement` is asked to do: with `pairs`, or with `stores`."""

    pairs: str | None
    stores: Sequence[str]
    responses: bool
    judge: Mapping[str, Any]
    only: Sequence[str]
    disagreements: Path | None
    output: Path | None


class Compared(NamedTuple):
    """What is shown and written."""

    cells: list[Cells]
    """The rows of the table."""
    about: dict[str, Any]
    """What is said below it."""
    disagreements: list[dict[str, Any]]


def run(arguments: Namespace) -> int:
    """Compare, print the table, write what was asked for.

    Returns:
        The exit code: 0, or 1 where nothing could be compared.
    """
    request = _request(arguments)
    compared = _with_labels(request, request.pairs) if request.pairs else _stores(request)
    if compared.cells:
        show(shown_table(compared.cells))
    else:
        print('no pairs in common')
    _say(compared.cells, compared.about)
    if request.output:
        _write_table(request.output, compared)
    if request.disagreements:
        lines = [json.dumps(one, ensure_ascii=False) + '\n' for one in compared.disagreements]
        write_file(request.disagreements, ''.join(lines))
    return 0 if any(row['agreement'] is not None for row in compared.cells) else 1


def _request(arguments: Namespace) -> AgreementRequest:
    """Return what is asked for; all that can be refused before anybody is asked is refused here."""
    pairs, stores = arguments.pairs, arguments.stores
    if bool(pairs) == bool(stores):
        raise InputError('give either a file of labelled pairs or --stores with verdict stores')
    ours = ('judge', 'model', 'url', 'verdicts', 'responses') if stores else ('only',)
    if useless := [f'--{name}' for name in ours if getattr(arguments, name)]:
        raise InputError(f'{", ".join(useless)} does not go with {"--stores" if stores else "PAIRS"}')
    check_table_name(arguments.output)
    for file in (arguments.output, arguments.disagreements):
        if file and not file.parent.is_dir():
            raise InputError(f'there is no folder {file.parent} to write {file.name} to')
    judge = {} if stores else chosen_judge(arguments, f'{Path(pairs).stem}.verdicts')
    return requested(AgreementRequest, arguments, judge=judge)


def _with_labels(request: AgreementRequest, pairs: str) -> Compared:
    from ..agreement.comparisons import against_labels, read_labelled
    from ..judges.build import build_judge

    labelled = read_labelled(pairs, responses=request.responses)
    start = time.perf_counter()
    with closing(build_judge(dict(request.judge))) as judge:
        compared = against_labels(labelled, judge)
        statistics, identity = dict(judge.statistics()), dict(judge.identity())
    unjudged = [one for one in compared.disagreements if one['verdict'] == Verdict.UNJUDGED.value]
    about = {
        'pairs': pairs,
        'judge': {**identity, 'statistics': statistics},
        'unjudged_reasons': dict(Counter(one['reason'] or one['origin'] for one in unjudged)),
        'unanswered': sum(bool(one.pair.tail) for one in labelled),
        'seconds': round(time.perf_counter() - start, 3),
    }
    cells = [
        cells_of(dict(zip(('source', 'language'), row.group, strict=True)), row.found)
        for row in compared.rows
    ]
    return Compared(cells, about, compared.disagreements)


def _stores(request: AgreementRequest) -> Compared:
    from ..agreement.comparisons import between_stores

    duels = between_stores(request.stores, request.only)
    cells = [
        cells_of({'first': duel.first, 'second': duel.second, 'language': row.group[0]}, row.found)
        for duel in duels
        for row in duel.rows
    ]
    counts = [
        {
            'first': duel.first,
            'second': duel.second,
            'shared': duel.rows[-1].found.pairs if duel.rows else 0,
            'only_first': duel.only_first,
            'only_second': duel.only_second,
        }
        for duel in duels
    ]
    disagreements = [one for duel in duels for one in duel.disagreements]
    return Compared(cells, {'stores': request.stores, 'judges': counts}, disagreements)


def _say(cells: Sequence[Cells], about: Mapping[str, Any]) -> None:
    """Print what the table does not tell: the time, and what was left out."""
    for judges in about.get('judges', ()):
        first, second = printable(judges['first']), printable(judges['second'])
        print(
            f'{first} (first) and {second} (second): {judges["shared"]} answers judged by both, '
            f'{judges["only_first"]} only by the first, {judges["only_second"]} only by the second'
        )
    if 'seconds' in about:
        _say_of_run(cells[-1], about)


def _say_of_run(total: Cells, about: Mapping[str, Any]) -> None:
    print(f'{total["pairs"]} pairs in {about["seconds"]:.1f} s')
    if about['unjudged_reasons']:
        print(f'unjudged, by reason: {about["unjudged_reasons"]}; the rates are of the others')
    if about['unanswered']:
        print(
            f'{about["unanswered"]} answers hold no final answer; leave out --responses where answers are '
            'no whole responses'
        )


def _write_table(path: Path, compared: Compared) -> None:
    cells = compared.cells
    if path.suffix == '.json':
        content = {**compared.about, 'rows': cells}
        write_file(path, json.dumps(content, ensure_ascii=False, indent=1, default=str) + '\n')
    else:
        write_file(path, csv_text([list(cells[0]) if cells else [], *(row.values() for row in cells)]))
