"""Questions of somebody's own: a JSON Lines file of any length, without a benchmark around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..question_sets import content_uids
from .benchmarks import ANSWER_FIELDS, QUESTION_FIELDS
from .files import read_lines, text_of
from .wording import language_of

_UIDS = ('uid', 'id', 'unique_id')


def own_rows(file: Path) -> list[dict[str, Any]]:
    """Read questions from a JSON Lines file, as `benchmark_rows` gives those of a benchmark.

    A line has the question (`question`, `problem` or `prompt`) and its `answer`, a text or a number; perhaps
    `uid` (or `id`), `problem_id` (what translations of one problem share), `split` and `language`. Without a
    uid a question is named by the file and a digest of its text.

    Raises:
        InputError: naming the file and line, and what was expected.
    """
    lines = read_lines(file).lines
    questions = [text_of(row, QUESTION_FIELDS, where) for where, row in lines]
    named = zip(lines, questions, content_uids(file.stem, questions), strict=True)
    rows = [_row(where, row, question, uid) for (where, row), question, uid in named]
    twice = [uid for uid, count in Counter(row['uid'] for row in rows).items() if count > 1]
    if twice:
        raise InputError(f'{file}: {twice[0]!r:.80} is the uid of several questions; give each its own')
    return rows


def _row(where: str, row: Mapping[str, Any], question: str, digest: str) -> dict[str, Any]:
    uid = next((_text(row[name]) for name in _UIDS if _text(row.get(name))), digest)
    return {
        'question': question,
        'answer': _answer(row, where),
        'uid': uid,
        'problem': _text(row.get('problem_id')) or uid,
        'split': _text(row.get('split')) or 'all',
        'language': _text(row.get('language')) or language_of(question),
    }


def _answer(row: Mapping[str, Any], where: str) -> str:
    numbers = {name: _text(row[name]) for name in ANSWER_FIELDS if isinstance(row.get(name), (int, float))}
    return text_of({**row, **numbers}, ANSWER_FIELDS, where)


def _text(value: Any) -> str:
    """Return a text or a number as text; '' for anything else."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ''
    return str(value).strip()
