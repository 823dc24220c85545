"""Labelled pairs from a file of JSON lines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..answers import final_answer, hedges
from ..errors import InputError
from ..json_lines import JsonRows
from ..judges.protocol import TAIL_LENGTH, Pair
from ..results.read import is_named_as_result, read
from ..results.result import Result

FIELDS = {
    'question': ('question', 'problem', 'prompt'),
    'reference': ('reference', 'gold', 'ground_truth', 'reference_answer', 'gold_answer'),
    'answer': ('answer', 'pred', 'prediction', 'candidate', 'model_answer'),
    'label': ('label', 'correct', 'is_correct'),
    'language': ('language', 'lang'),
    'source': ('source', 'dataset'),
}
"""What a line says → the names that it may have. Question, language and source may be missing; what has
another name is ignored."""

_NEEDED = ('reference', 'answer', 'label')
_LABELS = {'correct': True, 'incorrect': False, 'true': True, 'false': False, 'yes': True, 'no': False}


class LabelledPair(NamedTuple):
    """A pair and what somebody said of it."""

    pair: Pair
    label: bool
    source: str
    line: int
    """Its line in the file, from 1."""
    name: str
    """Its `id`, or ''."""
    hedged: bool = False
    """Of a whole response: whether it states more answers than are asked for, so that no judge is asked."""


def read_labelled(path: str | os.PathLike[str], *, responses: bool = False) -> list[LabelledPair]:
    """Read a file of JSON lines, a pair a line.

    Args:
        path: each line an object; see `FIELDS` for the names; or the result file of a run, whose verdicts
            then stand where labels would. A label is true or false, 1 or 0, or
            'correct' or 'incorrect'. Numbers are taken as they are written, null as empty text.
        responses: the answers are whole responses, to be judged by their final answers as in a run.

    Raises:
        InputError: names the file and the line.
    """
    if is_named_as_result(Path(path)):
        return _of_result(read(Path(path)))
    rows = JsonRows(path)
    pairs: list[LabelledPair] = []
    for line, row in rows:
        if 'gpassk' in row:
            return _of_result(read(Path(path)))
        pairs.append(_labelled(rows.place(line), line, row, responses))
    if not pairs:
        raise InputError(f'{path} holds no pairs; expected a JSON object a line')
    return pairs


def _of_result(result: Result) -> list[LabelledPair]:
    """Return the samples of a run, with the verdicts of its judge as labels; without unjudged ones."""
    if not (result.verdicts and result.answers and result.questions):
        raise InputError(f'{result.path} holds counts and no answers with verdicts; expected those of a run')
    pairs = []
    for row, (uid, group) in enumerate(zip(result.uids, result.groups, strict=True)):
        asked = result.questions[row], result.references[row]
        language = group.rpartition('_')[2] or 'en'
        for answer, verdict in zip(result.answers[row], result.verdicts[row], strict=True):
            if verdict != '?':
                pair = Pair(*asked, answer, language)
                pairs.append(LabelledPair(pair, verdict == '1', result.dataset_abbr, row + 1, uid))
    return pairs


def _labelled(place: str, line: int, row: Mapping[str, Any], responses: bool) -> LabelledPair:
    values = {name: _field(place, name, row) for name in FIELDS}
    label = label_of(place, values.pop('label'))
    question, reference, answer, language, source = (
        _text(place, name, value) for name, value in values.items()
    )
    tail, hedged = '', False
    if responses:
        found, response = final_answer(answer), answer
        answer, hedged = found.text, hedges(found, reference)
        tail = '' if answer else response[-TAIL_LENGTH:]
    pair = Pair(question, reference, answer, language or 'en', tail)
    return LabelledPair(pair, label, source, line, str(row.get('id', '')), hedged)


def _field(place: str, name: str, row: Mapping[str, Any]) -> Any:
    given = [spelling for spelling in FIELDS[name] if spelling in row]
    if len(given) > 1:
        raise InputError(f'{place} has {" and ".join(given)}, both names of the {name}; keep one of them')
    if not given and name in _NEEDED:
        raise InputError(
            f'{place} has no {name}: expected one of {", ".join(FIELDS[name])}; it has {", ".join(row)}'
        )
    return row[given[0]] if given else None


def label_of(place: str, value: Any) -> bool:
    """Return what a label says.

    Args:
        place: where it stands, for the message.
        value: true or false, 1 or 0, or a word in any case: correct, incorrect, true, false, yes, no.

    Raises:
        InputError: it is none of these.
    """
    if isinstance(value, str) and value.strip().lower() in _LABELS:
        return _LABELS[value.strip().lower()]
    if isinstance(value, (bool, int)) and value in (0, 1):
        return bool(value)
    raise InputError(f'{place}: the label is {value!r}; expected true or false, "correct" or "incorrect"')


def _text(place: str, name: str, value: Any) -> str:
    if value is None:
        return ''
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise InputError(f'{place}: the {name} is {value!r} ({type(value).__name__}); expected a text')
    return str(value)
