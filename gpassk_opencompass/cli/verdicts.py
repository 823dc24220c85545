"""`gpassk verdicts`: what stands in a verdict store."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ..chat.served import served_of
from ..judges.protocol import Verdict
from ..judges.store import STORE_VARIABLE, Line
from ..judges.stored import StoredVerdicts, find_stores
from ..tables import Column, Table
from ..unseen import printable
from .options import add_actions, path, positive
from .shown import add_table_options, show
from .verdict_export import FORMATS, export

_SEARCHED = ('question', 'reference', 'answer', 'reply')


@dataclass(frozen=True)
class Selection:
    """Which verdicts are meant; None where it does not matter."""

    verdict: str | None
    language: str | None
    judge: str | None
    search: str | None
    limit: int | None

    def of(self, verdicts: StoredVerdicts) -> Iterator[Line]:
        """Yield the verdicts that are meant."""
        return islice((line for line in verdicts if self._holds(line)), self.limit)

    def _holds(self, line: Line) -> bool:
        model, prompts, _, language = _group(line)
        return (
            self.verdict in (None, line.verdict.value)
            and self.language in (None, language)
            and (self.judge is None or self.judge.casefold() in f'{model}\n{prompts}'.casefold())
            and (self.search is None or _is_found(self.search.casefold(), line))
        )


def add_arguments(parser: ArgumentParser) -> None:
    """Add the actions list, count and export."""
    about = {
        'list': 'one line a verdict',
        'count': 'how many of which judge, and what is wrong with the store',
        'export': 'all of each verdict, fit for `gpassk judge-agreement`',
    }
    where = f'a verdict store, or a work directory with stores below it; default: ${STORE_VARIABLE}'
    actions = add_actions(parser, about, 'stores', nargs='*', metavar='STORE', help=where)
    listing, counting, exporting = actions.values()
    add_table_options(counting)
    for action in (listing, exporting):
        _add_filters(action)
    exporting.add_argument('-o', '--output', type=path, metavar='FILE', help='default: standard output')
    exporting.add_argument('--format', choices=FORMATS, help="default: by FILE's ending, else jsonl")
    exporting.add_argument('--source', metavar='NAME', help="the records' source; default: the judge's model")


def run(arguments: Namespace) -> int:
    """Do what was asked and return the exit code."""
    verdicts = StoredVerdicts(find_stores(arguments.stores))
    if arguments.action == 'count':
        _count(verdicts)
        return 0
    selection = Selection(
        arguments.verdict, arguments.language, arguments.judge, arguments.search, arguments.limit
    )
    if arguments.action == 'list':
        _list(selection.of(verdicts))
    else:
        _export(selection.of(verdicts), verdicts.stores, arguments.output, arguments.format, arguments.source)
    if verdicts.damaged:
        print(f'{verdicts.damaged} damaged lines were skipped', file=sys.stderr)
    return 0


def _add_filters(parser: ArgumentParser) -> None:
    parser.add_argument('--verdict', choices=[Verdict.CORRECT.value, Verdict.INCORRECT.value])
    parser.add_argument('--language', metavar='CODE', help='e.g. en, cn')
    parser.add_argument('--judge', metavar='TEXT', help='part of the name of model or prompts')
    parser.add_argument(
        '--search',
        metavar='TEXT',
        help='part of question, reference, answer or reply, or the start of the key',
    )
    parser.add_argument('--limit', type=positive, metavar='N', help='stop after that many')


def _list(lines: Iterator[Line]) -> None:
    shown = 0
    for line in lines:
        print(_row(line))
        shown += 1
    if shown == 0:
        print('no such verdict', file=sys.stderr)


def _export(
    lines: Iterator[Line], stores: list[Path], output: Path | None, kind: str | None, source: str | None
) -> None:
    count = export(lines, output, kind, source, stores)
    if output is not None:
        print(f'{count} verdicts in {output}')


def _count(verdicts: StoredVerdicts) -> None:
    cells: dict[tuple[str, ...], Counter[Verdict]] = defaultdict(Counter)
    for line in verdicts:
        cells[_group(line)][line.verdict] += 1
    columns = (Verdict.CORRECT, Verdict.INCORRECT)
    texts = [Column(name, 'left') for name in ('model', 'prompts', 'sampling', 'language')]
    table = Table('verdicts', [*texts, *(Column(verdict.value, 'right') for verdict in columns)])
    for group, counts in sorted(cells.items()):
        table.add(*group, *(counts[verdict] for verdict in columns))
    show(table)
    print(
        f'\n{len(verdicts)} verdicts, {verdicts.repeated} repeated, {len(verdicts.contradictions)} '
        f'contradictions, {verdicts.damaged} damaged lines; {verdicts.files} files, '
        f'{len(verdicts.stores)} stores'
    )
    _print_contradictions(verdicts)


def _print_contradictions(verdicts: StoredVerdicts) -> None:
    for said in verdicts.contradictions.values():
        answer, reference = printable(said.answer, 40), printable(said.reference, 40)
        print(
            f'{said.key}  both verdicts, {said.counts.value} counts  {answer}  (reference: {reference})  '
            f'{printable(said.question, 60)}'
        )


def _is_found(text: str, line: Line) -> bool:
    return line.key.startswith(text) or any(
        text in str(line.about.get(name, '')).casefold() for name in _SEARCHED
    )


def _group(line: Line) -> tuple[str, str, str, str]:
    """Return model with what was served as it, prompts, sampling, language; '?' where a line does not say."""
    judge = line.about.get('judge')
    said = judge if isinstance(judge, dict) else {}
    sampling = said.get('sampling')
    settings = sampling.items() if isinstance(sampling, dict) else ()
    model = str(said.get('model', '?'))
    served = [
        f'{name} {what}' for name, what in served_of(said.get('served')).told().items() if what != model
    ]
    return (
        f'{model} ({", ".join(served)})' if served else model,
        str(said.get('prompts', '?')),
        ', '.join(f'{name}={value}' for name, value in settings) or '?',
        str(line.about.get('language', '?')),
    )


def _row(line: Line) -> str:
    model, _, _, language = _group(line)
    answer, reference, question = (
        printable(line.about.get(name, '?'), width)
        for name, width in (('answer', 40), ('reference', 40), ('question', 60))
    )
    head = f'{line.key[:8]}  {line.verdict.value:9}  {printable(language, 8)}  {printable(model, 40)}'
    return f'{head}  {answer}  (reference: {reference})  {question}'
