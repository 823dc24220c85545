"""The file of drawn answers that a person fills in: JSON lines, as `gpassk judge-agreement` reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..agreement.labelled import label_of
from ..errors import InputError
from ..files import mapping
from ..json_lines import JsonRows
from ..unseen import json_text
from .drawing import Plan, draw, in_turn
from .findings import Labels
from .judged import Answer, Kind, Run

_FIELDS = {'id', 'question', 'reference', 'answer', 'label', 'language', 'draw'}


class Sheet(NamedTuple):
    """A drawn sample and what was said of it."""

    plan: Plan
    drawn: Mapping[Kind, Sequence[Answer]]
    labels: Labels
    notes: Mapping[str, Mapping[str, Any]] = {}
    """Name of an answer → fields of its line that somebody added."""

    @property
    def unlabelled(self) -> list[Answer]:
        """What is still to be asked, in the order of the file."""
        return [answer for answer in in_turn(self.drawn) if answer.name not in self.labels]

    def text(self) -> str:
        """Return the file: a line an answer, kinds mixed, so that its first half is half of each kind.

        What the judge said is not in it: who knows it agrees too often.
        """
        drawn = {'run': self.plan.run, 'seed': self.plan.seed, 'pairs': self.plan.pairs}
        drawn |= {'trust': list(self.plan.trusted)}
        return ''.join(json_text(self._line(answer, drawn)) + '\n' for answer in in_turn(self.drawn))

    def _line(self, answer: Answer, drawn: Mapping[str, Any]) -> dict[str, Any]:
        pair = answer.pair
        return {
            'id': answer.name,
            'question': pair.question,
            'reference': pair.reference,
            'answer': pair.answer,
            'label': self.labels.get(answer.name),
            'language': pair.language,
            'draw': drawn,
            **self.notes.get(answer.name, {}),
        }


def new_sheet(run: Run, plan: Plan) -> Sheet:
    """Return a sample without labels; errors are those of `drawing.draw`."""
    return Sheet(plan, draw(run, plan), {})


def read_sheet(path: Path, run: Run) -> Sheet:
    """Return the sample of a file and its labels.

    Lines may be missing or stand in another order, and further fields are kept as notes; what was asked and
    answered is taken from the run. A label is null or '' where there is none.

    Raises:
        InputError: the file is none of `gpassk audit`, of another run, or damaged; names the line.
    """
    rows = JsonRows(path)
    sheet: Sheet | None = None
    names: set[str] = set()
    labels: dict[str, bool] = {}
    notes: dict[str, dict[str, Any]] = {}
    for number, row in rows:
        place = rows.place(number)
        plan = _plan(place, row, run)
        if sheet is None:
            sheet = new_sheet(run, plan)
            names = {answer.name for answer in in_turn(sheet.drawn)}
        name = _name(place, row, plan, sheet, names)
        notes.setdefault(name, {}).update((key, row[key]) for key in row if key not in _FIELDS)
        if row.get('label') not in (None, ''):
            label = label_of(place, row['label'])
            if labels.setdefault(name, label) is not label:
                raise InputError(f'{place}: {name} stands there twice, with both labels; keep one line')
    if sheet is None:
        raise InputError(f'{path} is empty; gpassk audit RUN --write FILE draws a sample anew')
    return sheet._replace(labels=labels, notes=notes)


def _plan(place: str, row: Mapping[str, Any], run: Run) -> Plan:
    told = mapping(row.get('draw'))
    digest, seed, pairs, trusted = (told.get(name) for name in ('run', 'seed', 'pairs', 'trust'))
    sound = isinstance(digest, str) and type(seed) is int and type(pairs) is int and isinstance(trusted, list)
    if not sound or not all(isinstance(name, str) for name in trusted or ()):
        raise InputError(
            f'{place} has no "draw" with run, seed, pairs and trust, as gpassk audit RUN --write FILE writes '
            'it; labels of other pairs are compared with gpassk judge-agreement'
        )
    if digest != run.digest:
        raise InputError(
            f'{place}: drawn from run {digest:.20}, this one is {run.digest}: other answers or other '
            'verdicts. Give the result that it was drawn from, or draw anew with --write'
        )
    return Plan(str(digest), int(seed or 0), int(pairs or 0), tuple(trusted or ()))


def _name(place: str, row: Mapping[str, Any], plan: Plan, sheet: Sheet, names: set[str]) -> str:
    if plan != sheet.plan:
        raise InputError(f'{place}: its "draw" is not that of the line before; a file holds one sample')
    name = row.get('id')
    if not isinstance(name, str) or name not in names:
        raise InputError(
            f'{place}: id {name!r:.40} is not of the sample; leave the lines as they were written'
        )
    return name
