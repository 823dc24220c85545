"""Old runs for a reader: what was found of each, and its old scores beside the new ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..metrics import SHOWN_THRESHOLDS, metric_names
from ..results.health import undecided_notes
from ..tables import NOTHING, Table
from ..unseen import printable
from .rejudged import COPIES, changes, flips

if TYPE_CHECKING:
    from ..tables.table import Value
    from .opencompass import Found, OldRun
    from .rejudged import Read


class Outcome(NamedTuple):
    """What stays of a rejudged run when its responses are let go."""

    rows: list[Sequence[Value]]
    """The rows of all metrics, with the columns of `_HEADERS`."""
    headline: set[str]
    """The metrics that are shown."""
    notes: list[str]


_JUDGES = {'LiveMathBenchEvaluator': 'rules', '': 'no evaluator that the config names'}

_HEADERS = ['run', 'n', 'metric', 'old', 'new', 'change']


def described(old: Path, found: Found, runs: Sequence[OldRun]) -> str:
    """Return how many runs there are, and what is left alone."""
    lines = [f'{old}: {len(runs)} of {len(found.runs)} LiveMathBench runs']
    lines += [f'left alone: {printable(name)}: {printable(why)}' for name, why in found.left_alone.items()]
    return '\n'.join(lines)


def findings_of(read: Read) -> str:
    """Return of one run how much of it there is, and what is known to be wrong with it."""
    run = read.run
    evaluator = run.evaluator_class
    judge = 'an LLM' if run.had_llm_judge else _JUDGES.get(evaluator) or printable(evaluator)
    head = (
        f'\n{printable(run.place / run.name)}: {len(read.questions.rows)} questions, n = {read.n}, '
        f'k = {", ".join(map(str, run.ks))}; judged by {judge}; questions from {read.data or "the prompts"}'
    )
    told = [printable(finding) for finding in read.findings] or ['nothing wrong was found']
    return '\n'.join([head, *(f'  - {finding}' for finding in told)])


def outcome(read: Read, record: Mapping[str, Any]) -> Outcome:
    """Return what stays of one run and its new record."""
    rows: list[Sequence[Value]] = [
        [
            str(read.run.place / read.run.name),
            read.n,
            change.metric,
            change.old,
            change.new,
            None if change.old is None else change.new - change.old,
        ]
        for change in changes(read, record)
    ]
    return Outcome(rows, _headline(record), _notes(read, record))


def comparison(outcomes: Sequence[Outcome]) -> tuple[Table, list[str], str]:
    """Return the headline metrics and notes, for people, and all metrics as CSV."""
    shown = [row for one in outcomes for row in one.rows if row[_HEADERS.index('metric')] in one.headline]
    notes = [note for one in outcomes for note in one.notes]
    everything = Table('old and new', _HEADERS, [row for one in outcomes for row in one.rows])
    said = [*notes, f'percent; {NOTHING} where there was no old score']
    return Table('old and new', _HEADERS, shown), said, everything.to_csv()


def _headline(record: Mapping[str, Any]) -> set[str]:
    k = max(record['gpassk']['k'])
    return {'accuracy', *metric_names(k, SHOWN_THRESHOLDS)}


def _notes(read: Read, record: Mapping[str, Any]) -> list[str]:
    name = printable(read.run.place / read.run.name)
    block = record['gpassk']
    notes = [f'{name}: {warning}' for warning in read.findings if warning.startswith(COPIES)]
    if changed := flips(read, record):
        notes.append(
            f'{name}: of {block["samples"]} samples {changed.now_right} were wrong and are right, '
            f'{changed.now_wrong} were right and are wrong'
        )
    if block['unjudged']:
        notes.append(f'{name}: {block["unjudged"]} samples are unjudged and count as wrong')
    return notes + [f'{name}: {note}' for note in undecided_notes(block)]
