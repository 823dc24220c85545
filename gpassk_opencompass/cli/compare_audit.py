"""`gpassk compare --audit`: what is impossible or doubtful in published leaderboards."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..unseen import printable
from .compare import USUAL_N
from .files import write_file
from .shown import show

if TYPE_CHECKING:
    from ..report.published import Published
    from ..report.published_audit import Finding


def run_audit(arguments: Namespace, names: Mapping[str, str]) -> int:
    """Print the findings in each leaderboard, and where it differs from the last one.

    Args:
        arguments: of `gpassk compare`.
        names: name of a model in one of the first leaderboards → its name in the last one.

    Returns:
        The exit code: 0, or 1 with --strict where something was found.

    Raises:
        InputError: a path is no leaderboard, or an option has no effect here.
    """
    from ..report.published import read_published
    from ..report.published_audit import audit, differences, findings_csv

    _check(arguments)
    n = USUAL_N if arguments.n is None else arguments.n
    tables = {_name(path): read_published(path) for path in arguments.paths}
    *others, last = tables
    _check_names(names, [tables[name] for name in others])
    found: list[tuple[str, Finding]] = []
    for name, table in tables.items():
        rows = len({(model, benchmark) for model, benchmark, _ in table.values})
        told = f'{name}: checking {rows} rows with {n} samples a question'
        print(printable(told), file=sys.stderr, flush=True)
        wrong = audit(table, n)
        _print(f'{name}{f" ({table.source})" if table.source else ""}: {len(wrong)} findings', wrong)
        found += [(name, one) for one in wrong]
    for name in others:
        beside = differences(tables[name], tables[last], names)
        lacking = f'; {last} lacks {_listed(beside.alone)}' if beside.alone else ''
        _print(
            f'{name} beside {last}: {beside.shared + len(beside.alone)} rows, {beside.shared} in both, '
            f'{len(beside.findings)} of them differ{lacking}',
            beside.findings,
        )
        found += [(name, one) for one in beside.findings]
    _explain([finding for _, finding in found], n)
    if arguments.output:
        write_file(arguments.output, findings_csv(found))
    return int(arguments.strict and bool(found))


def _check(arguments: Namespace) -> None:
    if folders := [path for path in arguments.paths if path.is_dir()]:
        raise InputError(
            f'{folders[0]} is a folder; --audit looks at published leaderboards: `published` or files'
        )
    useless = {'--neighbours': arguments.neighbours, '--metric': arguments.metric}
    if given := [option for option, value in useless.items() if value]:
        raise InputError(f'{", ".join(given)} has no meaning with --audit')
    if len({_name(path) for path in arguments.paths}) < len(arguments.paths):
        raise InputError('--audit: the same leaderboard twice')


def _check_names(names: Mapping[str, str], others: Sequence[Published]) -> None:
    known = {model for table in others for model in table.models}
    if unknown := [name for name in names if name not in known]:
        raise InputError(f'--map: {unknown[0]!r} is no model of the leaderboards before the last one')


def _name(path: Path) -> str:
    """Return what a leaderboard is called: its name in this package, or its path."""
    from ..report.published import SHIPPED

    return next((name for name, shipped in SHIPPED.items() if shipped == path), str(path))


def _print(title: str, findings: Sequence[Finding]) -> None:
    from ..report.published_audit import findings_table

    print(printable(title))
    if findings:
        print()
        show(findings_table(findings), of=title.partition(':')[0])
        print()


def _listed(alone: Sequence[tuple[str, str]]) -> str:
    """Return models with the number of their rows."""
    models = [model for model, _ in alone]
    return ', '.join(f'{model} ({models.count(model)})' for model in dict.fromkeys(models))


def _explain(findings: Sequence[Finding], n: int) -> None:
    from ..report.published_audit import KINDS

    for kind, meaning in KINDS.items():
        if count := sum(finding.kind == kind for finding in findings):
            print(f'{kind} ({count}): {meaning}')
    print(f'Assumed: {n} samples a question (--n), values rounded to the digits that are printed.')
