"""Rows of an OpenCompass data set as samples to score."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import InputError
from ..questions.wording import language_of
from ..scoring import Samples

QUESTION_COLUMNS = ('question', 'problem', 'prompt')
"""Where a data set keeps its question; the first that it has counts."""

BOOKKEEPING = ('subdivision', 'idx', 'replica')


def samples_of(
    rows: Any,
    responses: Sequence[Any],
    references: Sequence[str] | None,
    told: Mapping[str, Sequence[Any]] | None = None,
) -> Samples:
    """Return the columns that scoring needs, from a data set of this package or, if it has them, another.

    Args:
        told: more columns of `Samples`.
    """
    names = [name for name in QUESTION_COLUMNS if name in rows.column_names]
    if references is None and 'answer' in rows.column_names:
        references = rows['answer']
    if not names or references is None:
        raise InputError(f'need columns question and answer (or references), got {rows.column_names}')
    return _samples(rows, responses, rows[names[0]], references, told)


def _samples(
    rows: Any,
    responses: Sequence[Any],
    questions: Sequence[str],
    references: Sequence[str],
    told: Mapping[str, Sequence[Any]] | None,
) -> Samples:
    uids = uids_of(rows)
    # A foreign column of one of these names may hold anything.
    own = ('replica', 'split', 'language', 'problem') if 'uid' in rows.column_names else ()
    columns = {name: rows[name] for name in own if name in rows.column_names}
    return Samples(
        uid=uids,
        replica=columns.get('replica') or _occurrences(uids),
        question=questions,
        reference=references,
        response=responses,
        split=columns.get('split') or ['all'] * len(uids),
        language=columns.get('language') or [language_of(question) for question in questions],
        problem=columns.get('problem') or uids,
        **(told or {}),
    )


def any_samples(
    rows: Any,
    responses: Sequence[Any],
    references: Sequence[Any] | None,
    told: Mapping[str, Sequence[Any]] | None = None,
) -> Samples:
    """Return the columns that scoring needs from any data set of OpenCompass.

    What is no text is shown as JSON; a row without a column for its question is its own question.
    """
    names = [name for name in QUESTION_COLUMNS if name in rows.column_names]
    content = [name for name in rows.column_names if name not in BOOKKEEPING]
    shown = rows[names[0]] if names else rows.select_columns(content).to_list()
    given = [''] * len(rows) if references is None else references
    return _samples(
        rows, responses, [_as_text(item) for item in shown], [_as_text(item) for item in given], told
    )


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def uids_of(rows: Any) -> list[str]:
    """Return the name of each row's question, the same in all replicas.

    It is the column of this package, or made of the two that OpenCompass adds.
    """
    names = rows.column_names
    if 'uid' in names:
        return list(rows['uid'])
    if {'subdivision', 'idx'} <= set(names):
        return [f'{part}/{idx}' for part, idx in zip(rows['subdivision'], rows['idx'], strict=True)]
    raise InputError(f'rows have neither uid nor subdivision and idx, only {names}: cannot group replicas')


def _occurrences(uids: Sequence[str]) -> list[int]:
    seen: Counter[str] = Counter()
    replicas = []
    for uid in uids:
        replicas.append(seen[uid])
        seen[uid] += 1
    return replicas
