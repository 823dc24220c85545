"""`check`, which refuses a record of which a part is damaged or contradicts another one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from pydantic import ValidationError

from ..errors import ForeignFileError, InputError
from ..judges.protocol import Verdict
from .record import DOUBTS, SCHEMA, SYMBOLS, Measures, data_of
from .samples import TOLD
from .schema import SCORE, ReadRecord

DEEPEST = 60
"""Levels of JSON in each other; a record has 6. What can just be read may be too deep to be written."""

TOLERANCE = 1e-6
"""Points by which a stored score may differ from its counts: other machines add in another order."""

_LARGEST_TABLE = 10_000
"""Samples a question up to which stored scores are computed again; for more, that takes seconds a file."""


def check(name: str, record: object) -> None:
    """Refuse a record of which a part is missing, damaged, or contradicts another one.

    Args:
        name: of the file, for the message.
        record: as JSON has it.

    Raises:
        InputError: one line that says which part, what it is, and what is allowed.
    """
    block = record.get('gpassk') if isinstance(record, dict) else None
    if not isinstance(record, dict) or not isinstance(block, dict):
        if isinstance(record, dict) and 'error' in record:  # as OpenCompass notes it
            raise InputError(f'{name} says that its evaluation failed: {str(record["error"])[:200]}')
        raise ForeignFileError(f'{name} is no result of G-Pass@k: it has no "gpassk"')
    if block.get('schema') != SCHEMA:
        raise InputError(f'{name} has schema {block.get("schema")!r:.60}; this version reads {SCHEMA}')
    try:
        _check_depth(record)
        ReadRecord.model_validate(record)
        _check_questions(block)
        _check_details(block, record.get('details') or {})
        _check_scores(block, record)
    except ValidationError as error:
        raise InputError(f'{name} is damaged: {_first(error)}') from None
    except _Contradiction as error:
        raise InputError(f'{name} is damaged: {error}') from None


_ALLOWED = {
    'string_type': 'a text',
    'string_pattern_mismatch': 'what fits {pattern}',
    'int_type': 'a whole number',
    'float_type': 'a number',
    'finite_number': 'a finite number',
    'greater_than_equal': 'at least {ge}',
    'less_than_equal': 'at most {le}',
    'literal_error': '{expected}',
    'list_type': 'a list',
    'dict_type': 'an object',
    'model_type': 'an object',
    'too_short': 'at least {min_length} entries',
    'too_long': 'at most {max_length} entries',
}
"""Kind of error of pydantic -> what is allowed, in the words of every other message."""


_NESTED = frozenset([dict, list])
"""What JSON has parts in."""


class _Contradiction(ValueError):
    """Two parts of a record do not fit together."""


def _first(error: ValidationError) -> str:
    """Return the first complaint in a line: place, what is there, what is allowed."""
    first = error.errors(include_url=False)[0]
    place = ''.join(f'[{step}]' if isinstance(step, int) else f'.{step}' for step in first['loc'])[1:]
    if first['type'] == 'missing':
        return f'{place} is missing'
    allowed = _ALLOWED.get(first['type'], first['msg']).format(**first.get('ctx', {}))
    return f'{place} = {first["input"]!r:.60}; expected {allowed}'


def _check_depth(record: object) -> None:
    level: list[Any] = [record]
    for _ in range(DEEPEST):
        parts = (whole.values() if isinstance(whole, dict) else whole for whole in level)
        # Most are lists of texts alone, whose entries are many.
        deeper = (part for part in parts if not _NESTED.isdisjoint(map(type, part)))
        level = [one for part in deeper for one in part if isinstance(one, (dict, list))]
        if not level:
            return
    raise _Contradiction(f'nested more than {DEEPEST} levels deep')


def _check_questions(block: Mapping[str, Any]) -> None:
    """Refuse columns of the counts that are not of the same questions, and samples that count twice."""
    n, counts = block['n'], block['counts']
    questions = len(counts['uid'])
    for name in ('problem', 'group', 'c', *DOUBTS):
        _same(f'gpassk.counts.{name} has {{}} entries', len(counts.get(name, counts['uid'])), questions)
    _check_names(counts)
    if wrong := [k for k in block['k'] if k > n]:
        raise _Contradiction(f'gpassk.k = {wrong[0]}; expected whole numbers from 1 to n = {n}')
    _check_samples(n, counts)
    for name in DOUBTS:
        if name in counts and name in block:
            _same(f'gpassk.{name} is {{}}', block[name], sum(counts[name]), 'sum of its column')
    _same('gpassk.samples is {}', block.get('samples', n * questions), n * questions, 'n times questions')
    _same('gpassk.data.questions is {}', block['data']['questions'], questions)
    if 'sample_file' in block:
        rows = block['sample_file']['rows']
        _same('gpassk.sample_file.rows is {}', rows, n * questions, 'n times questions')


def _check_names(counts: Mapping[str, Any]) -> None:
    for name in ('uid', 'problem', 'group'):
        if not _is_whole(''.join(counts[name])):
            wrong = next(text for text in counts[name] if not _is_whole(text))
            raise _Contradiction(f'gpassk.counts.{name} has {wrong!r:.60}; expected whole characters')
    if len(set(counts['uid'])) < len(counts['uid']):
        twice = [uid for uid, times in Counter(counts['uid']).items() if times > 1]
        raise _Contradiction(f'gpassk.counts.uid names a question twice: {twice[0]!r:.60}')


def _check_samples(n: int, counts: Mapping[str, Any]) -> None:
    """Refuse a question with more samples in its columns than n."""
    room = [n] * len(counts['uid'])
    for name in ('c', *DOUBTS):
        parts = counts.get(name, [0] * len(room))
        if not any(parts):
            continue
        for uid, part, most in zip(counts['uid'], parts, room, strict=True):
            if part > most:
                raise _Contradiction(
                    f'gpassk.counts.{name} of {uid!r:.60} is {part}; c, unjudged and undecided are at most '
                    f'n = {n} together'
                )
        room = [most - part for most, part in zip(room, parts, strict=True)]


def _is_whole(text: str) -> bool:
    """Return whether any file can hold the text: no UTF-8 has halves of surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _same(what: str, found: int, expected: int, why: str = 'number of questions') -> None:
    if found != expected:
        raise _Contradiction(f'{what.format(found)}; expected {expected}, the {why}')


def _check_details(block: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    """Refuse samples that are not those which were counted, and questions that were not asked."""
    n, counts = block['n'], block['counts']
    for name, column in details.items():
        if isinstance(column, list):
            _same(f'details.{name} has {{}} entries', len(column), len(counts['uid']))
    for name in ('verdicts', 'answers', 'judged_by', *TOLD):
        column = details.get(name, ())
        if isinstance(column, list) and set(map(len, column)) == {n}:
            continue
        for uid, samples in zip(counts['uid'], column, strict=False):
            if len(samples) != n:
                what = f'details.{name} of {uid!r:.60} has {len(samples)} samples'
                raise _Contradiction(f'{what}; expected n = {n}')
    _check_verdicts(counts, details)
    if unknown := set(''.join(details.get('judged_by', ()))) - set(details.get('judges', ())):
        raise _Contradiction(f'details.judged_by has {min(unknown)!r}, which details.judges does not explain')
    texts = [counts['uid'], *(details.get(name) for name in ('question', 'reference'))]
    if all(texts) and _sum_of(*map(tuple, texts)) != block['data']['sha256']:
        raise _Contradiction('the questions in details are not those that were scored (gpassk.data.sha256)')


@lru_cache(maxsize=8)
def _sum_of(uid: tuple[str, ...], question: tuple[str, ...], reference: tuple[str, ...]) -> str:
    """Return the hash of what was asked, which all runs on one benchmark have in common."""
    return str(data_of(uid, question, reference)['sha256'])


def _check_verdicts(counts: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    symbols = {'c': SYMBOLS[Verdict.CORRECT], 'unjudged': SYMBOLS[Verdict.UNJUDGED]}
    for row, verdicts in enumerate(details.get('verdicts', ())):
        for name, symbol in symbols.items():
            counted = counts[name][row] if name in counts else 0
            if verdicts.count(symbol) != counted:
                raise _Contradiction(
                    f'details.verdicts of {counts["uid"][row]!r:.60} are {verdicts!r:.60}, but '
                    f'gpassk.counts.{name} is {counted}; evaluate again'
                )


def _check_scores(block: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    """Refuse scores that are not those of the counts."""
    stored = {key: value for key, value in record.items() if re.fullmatch(SCORE, key)}
    if not stored or block['n'] > _LARGEST_TABLE:
        return
    measures = Measures(block['n'], block['k'], block['thresholds'])
    correct = np.array(block['counts']['c'], dtype=np.int64)
    expected = measures(correct) | measures.by_group(correct, block['counts']['group'])
    for key in stored.keys() & expected.keys():
        value = stored[key]
        fits = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not fits or not abs(value - expected[key]) <= TOLERANCE:
            raise _Contradiction(f'{key} = {value!r:.60}, but its counts give {expected[key]:.6f}')
