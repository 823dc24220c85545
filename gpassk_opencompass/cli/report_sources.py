"""What a report takes of files that no result is: runs of other programs, of which it writes records."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..errors import InputError
from ..unseen import printable
from .files import write_record

if TYPE_CHECKING:
    from ..sources.finding import FoundRun

RECORDS = 'records'
"""The folder in a report with the records that it wrote."""


class Taken(NamedTuple):
    """What was taken.

    records: the files that were written.
    paths: the given files and folders with at least one run.
    left_out: what was left out and why.
    """

    records: list[Path]
    paths: list[Path]
    left_out: list[str]


def holds_result(path: Path) -> bool:
    """Whether a file is a result of G-Pass@k: a record, or Lighteval's details of a task of this package."""
    from ..sources.finding import detected
    from ..sources.lighteval_details import is_ours
    from ..sources.source import Place

    place = Place(path)
    source = detected(place)
    return source == 'result' or (
        source == 'lighteval' and place.schema is not None and is_ours(place.schema)
    )


def write_records(paths: Sequence[Path], source: str | None, folder: Path, k: int | None) -> Taken:
    """Score the runs in files and folders of other programs, and write a record of each.

    Verdicts that are there count; responses without are judged by the rule.

    Args:
        paths: see `find_runs`.
        source: what wrote them; None: as they themselves tell.
        folder: of the report.
        k: of the metrics; None: the usual ones.
    """
    from ..sources.finding import find_runs
    from ..sources.source import Reading

    written: dict[Path, str] = {}
    taken = Taken([], [], [])
    for path in paths:
        try:
            found = find_runs([path], Reading(), source)
        except InputError as error:
            taken.left_out.append(str(error))
            continue
        taken.left_out.extend(f'{one}: no source recognises it' for one in found.passed_over)
        taken.left_out.extend(found.failed)
        before = len(written)
        for one in found.runs:
            print(printable(f'{one.place}: {one.run.written_by or one.source}: {one.run.name}'))
            try:
                _written(one, folder / RECORDS, k, written)
            except InputError as error:
                taken.left_out.append(f'{one.place}: {one.run.name}: {error}')
        if len(written) > before:
            taken.paths.append(path)
    taken.records.extend(written)
    return taken


def _written(found: FoundRun, folder: Path, k: int | None, written: dict[Path, str]) -> None:
    from ..judges.build import build_judge
    from ..metrics import DEFAULT_THRESHOLDS
    from ..sources.finding import record_name
    from ..sources.scored import Choices, score_run
    from ..sources.selection import Selection
    from ..sources.summary import Settings
    from ..sources.tally import Unjudged

    run = found.run
    names = found.names
    target = folder / record_name(names)
    if target in written:
        raise InputError(
            f'{names["model"]} on {names["dataset"]} is in {written[target]} too; give them names with '
            'gpassk score -o'
        )
    settings = Settings((k,) if k else (), tuple(DEFAULT_THRESHOLDS))
    choices = Choices(None, Selection(), settings, Unjudged.WRONG, keep=True)
    with ExitStack() as stack:
        scored = score_run(
            run,
            run.kind(None),
            choices,
            lambda: stack.enter_context(closing(build_judge({'type': 'rule'}))),
        )
        record, samples = scored.record(names, None, folder)
    write_record(target, record, samples)
    written[target] = found.place
