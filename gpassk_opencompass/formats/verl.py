"""verl's dumps, `trainer.rollout_data_dir` and `validation_data_dir`: `<step>.jsonl`, a row an output.

Each step is another model, and a run. Where all uids are verl's own, `<uid>_<rollout>_<output>`, they tell
questions and rollouts apart, and the last output of a rollout is the sample; else input and ground truth do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..json_rows import Row
from .format import Format, rows_of

_EARLIER = (
    '{count} earlier turns of rollouts with several outputs are not counted: the last one is the sample'
)
_BY_SCORE = '{count} samples have no acc: their score says whether they are correct'
_SEVERAL = '{count} inputs have several ground truths: each of them is a question of its own'
_REPEATED = '{count} questions are there several times under other uids, and each time is a question'


def _parts(row: Row) -> tuple[str, int, int] | None:
    """Return question, rollout and output of verl's own uid; None of another uid."""
    parts = str(row.get('uid')).rsplit('_', 2)
    if len(parts) != 3 or not (parts[1].isdecimal() and parts[2].isdecimal()):
        return None
    return parts[0], int(parts[1]), int(parts[2])


def _are_rollouts(path: Path) -> bool:
    """Return whether the uids of a file are verl's own: `aime_2024_0` ends in two numbers too.

    Then the same first part stands for different questions, or the same uid for different outputs.
    """
    questions: dict[str, tuple[str, Any]] = {}
    outputs: dict[str, Any] = {}
    for row in rows_of(path):
        parts, asked = _parts(row), str(row.get('input'))
        if parts is None:
            return False
        first, truth = questions.setdefault(parts[0], (asked, row.get('gts')))
        alike = truth == row.get('gts') and (asked.startswith(first) or first.startswith(asked))
        if not alike or outputs.setdefault(row['uid'], row.get('output')) != row.get('output'):
            return False
    return True


def _rows(path: Path) -> Iterator[Row]:
    """Yield the last output of each rollout, with the first input and a uid that all steps share."""
    rollouts = _are_rollouts(path)
    first: Row | None = None
    before: Row | None = None
    uids: dict[str, str] = {}
    taken: set[str] = set()
    truths: dict[str, set[str | None]] = {}
    for row in rows_of(path):
        first, parts, said = first or row, _parts(row) if rollouts else None, []
        asked, truth = row.get('input'), _truth(row)
        if before and parts and parts[:2] == before['_parts'][:2] and parts[2] > before['_parts'][2]:
            asked, said = before['_asked'], [*before['_said'], _EARLIER]
        elif before:
            yield before
        uid = uids.get(parts[0], '') if parts else ''
        if not uid:
            uid = sha256(json.dumps([asked, truth or '']).encode()).hexdigest()[:16]
            known = truths.setdefault(str(asked), set())
            said += [_SEVERAL] if known and truth not in known else []
            known.add(truth)
        if parts and parts[0] not in uids:
            if uid in taken:
                said.append(_REPEATED)
                uid = f'{uid}-{len(uids)}'
            uids[parts[0]] = uid
            taken.add(uid)
        own = {'_asked': asked, '_uid': uid, '_parts': parts, '_first': first, '_said': said}
        before = {**row, **own}
    if before:
        yield before


def _truth(row: Row) -> str | None:
    truth = row.get('gts')
    return truth if truth is None or isinstance(truth, str) else json.dumps(truth, ensure_ascii=False)


def _sample(row: Row) -> Iterator[Row]:
    """Yield the row with its verdict: what acc says, or the score where there is none."""
    first = row['_first']
    for name in ('input', 'output'):
        if not isinstance(row[name], str):
            raise ValueError(f'{name} is {row[name]!r:.60}; expected a text')
    if row['step'] != first['step']:
        raise ValueError(
            f'it is of step {row["step"]!r:.20}, the first row of step {first["step"]}: at each step the '
            'model is another one, give a file a step'
        )
    by_acc = row.get('acc') is not None
    said = row['_said'] if by_acc or 'acc' not in first else [*row['_said'], _BY_SCORE]
    yield {**row, '_correct': row['acc'] if by_acc else row['score'], '_said': said}


def _about(paths: Sequence[Path], row: Row) -> Mapping[str, Any]:
    return {
        'model': f'step {row["step"]}',
        'dataset': paths[0].absolute().parent.name,
        'written_by': 'verl',
        'judge': {'name': f'verl {"acc" if "acc" in row else "score"}'},
    }


FORMAT = Format(
    fields={
        'uid': '_uid',
        'replica': lambda row: row['_parts'] and row['_parts'][1],
        'question': '_asked',
        'reference': _truth,
        'response': 'output',
        'answer': lambda row: '' if row.get('pred') == '[INVALID]' else row.get('pred'),
        'correct': '_correct',
    },
    needs=frozenset({'input', 'output', 'score', 'step'}),
    recognises=lambda path, row: (
        row is not None and [type(row[name]) for name in ('input', 'output', 'step')] == [str, str, int]
    ),
    rows=_rows,
    expand=_sample,
    about=_about,
)
