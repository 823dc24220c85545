"""Tables that people make themselves: a row a sample, or a row a question with lists, columns or counts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..json_rows import Row
from ..metrics import LARGEST_N
from .format import NO_OPTIONS, OF_QUESTION, OF_SAMPLE, Field, Format, Options, at, has, number_in

ALIASES: dict[str, tuple[str, ...]] = {
    'uid': ('uid', 'id', 'idx', 'question_id', 'task_id', 'doc_id', 'problem_idx', 'problem_id'),
    'question': ('question', 'prompt', 'query', 'input', 'problem'),
    'problem': ('problem', 'problem_id', 'cluster'),
    'reference': ('reference', 'gold', 'ground_truth', 'gt', 'target', 'expected_answer', 'answer'),
    'response': (
        *('response', 'responses', 'output', 'outputs', 'completion', 'completions'),
        *('generation', 'generations', 'samples', 'text'),
    ),
    'correct': (
        *('correct', 'is_correct', 'verdict', 'verdicts', 'label', 'labels'),
        *('acc', 'accuracy', 'score', 'scores'),
    ),
    'answer': (
        *('answer', 'answers', 'final_answer', 'pred', 'preds', 'prediction'),
        *('extracted_answer', 'parsed_answer'),
    ),
    'replica': ('replica', 'sample', 'sample_index', 'repeat', 'epoch'),
    'split': ('split', 'subset', 'category'),
    'language': ('language', 'lang'),
    'model': ('model', 'model_name', 'model_id', 'llm'),
    'dataset': ('dataset', 'benchmark', 'task'),
    'finish_reason': ('finish_reason', 'stop_reason'),
    'output_tokens': ('output_tokens', 'completion_tokens'),
    'prompt_tokens': ('prompt_tokens', 'input_tokens'),
    'seconds': ('seconds', 'latency'),
    'thought': ('thought', 'reasoning', 'reasoning_content'),
    'n': ('n', 'num_samples'),
    'c': ('c', 'num_correct', 'n_correct'),
}
"""Field → the names that a column of it may have; of two fields the first takes a name that both know."""

ALIASES |= {name: (name,) for name in (*OF_QUESTION, *OF_SAMPLE) if name not in (*ALIASES, 'run')}

_NAMES = frozenset(name for names in ALIASES.values() for name in names)
_COUNTS = 'n', 'c', 'unjudged'
_NUMBERS = frozenset({'score', 'scores', 'acc', 'accuracy'})
"""In which '10' is a number, and not two labels."""

_WEAK = frozenset({'label', 'score'})
"""Columns that data of any kind has: alone they make no file one of samples."""

_NUMBERED = re.compile(r'(.*?)[_\-. ]?(\d+)')
Lists = Mapping[str, str | list[str]]
"""Field of samples → the column with a list, or the columns of one sample each."""


def _specialise(first: Row, options: Options) -> Format:
    """Return the format of a table by its first row; refuse one in which nothing can be scored."""
    columns: dict[str, str] = {}
    for name in first:
        if name not in ('_row', '_file') and columns.setdefault(name.strip().lower(), name) != name:
            raise InputError(
                f'{columns[name.strip().lower()]!r} and {name!r} are one name, as capitals and blanks do not '
                'count; rename one of them'
            )
    given = options.fields
    for path in given.values():
        if not has(first, path) and at(first, path) is None:
            raise InputError(f'there is no column {path!r}; there is {_shown(columns)}')
    lists = _lists(first, columns, given)
    names = _names(columns, given, lists)
    if options.kind == 'counts' or ({'n', 'c'} <= names.keys() and not lists):
        return _of_counts(names, columns)
    if lists:
        return _of_questions(names, lists, columns, options)
    return _of_samples(names, columns, given)


def _lists(first: Row, columns: Mapping[str, str], given: Mapping[str, str]) -> Lists:
    """Return where a row a question has its samples: in lists, or in columns that are numbered."""
    lists: dict[str, str | list[str]] = {}
    for field in OF_SAMPLE:
        known = [columns[one] for one in ALIASES.get(field, ()) if one in columns]
        names = [given[field]] if field in given else [one for one in known if one not in given.values()]
        if listed := [name for name in names if _is_list(field, name, at(first, name))]:
            lists[field] = listed[0]
        if field == 'correct' and field in lists and lists[field] != names[0] and 'response' not in lists:
            said = [first.get(columns.get(one, '')) for one in ALIASES['response']]
            if type(first.get(names[0])) not in (list, type(None)) and str in map(type, said):
                del lists[field]  # what the verdict beside a response is made of
    if not {'response', 'correct'} & lists.keys():
        return _numbered(columns, given)
    try:
        sizes = {len(_values(first, where) or ()) for key, where in lists.items() if key != 'answer'}
        if lists.get('answer') == 'answer' and len(_values(first, 'answer') or ()) not in sizes:
            del lists['answer']  # the reference, in a list of its own
    except ValueError as error:
        raise InputError(str(error)) from error
    return lists


def _numbered(columns: Mapping[str, str], given: Mapping[str, str]) -> Lists:
    """Return where columns of samples are numbered, `response_1`, `response_2`, ….

    A column without a number whose name is a better one counts before them: `correct` before the `score_1`,
    `score_2` that it may be made of.

    Raises:
        InputError: there are different numbers of them.
    """
    lists: dict[str, str | list[str]] = {}
    numbered: dict[str, dict[int, str]] = {}
    for called, name in columns.items():
        if found := _NUMBERED.fullmatch(called):
            numbered.setdefault(found[1], {})[int(found[2])] = name
    for field in (one for one in OF_SAMPLE if one not in given):
        for base in ALIASES.get(field, ()):
            if field in ('response', 'correct') and base in columns and base not in numbered:
                break
            wide = numbered.get(base, {})
            if sorted(wide) in (list(range(len(wide))), list(range(1, len(wide) + 1))) and len(wide) > 1:
                lists.setdefault(field, [wide[place] for place in sorted(wide)])
            elif wide and base == field:  # of other names no column is known to be one
                lists.setdefault(field, next(iter(wide.values())))
    if all(isinstance(lists.get(field, ''), str) for field in ('response', 'correct')):
        return {}
    if len({isinstance(wide, list) and len(wide) for wide in lists.values()}) > 1:
        told = ', '.join(
            f'{len(wide)} of {field}' if isinstance(wide, list) else f'{wide} without all those before it'
            for field, wide in lists.items()
        )
        raise InputError(f'there are numbered columns for different numbers of samples: {told}')
    return lists


def _is_list(field: str, name: str, value: Any) -> bool:
    if not isinstance(value, str) or len(value) < 2:
        return isinstance(value, list)
    called = name.strip().lower()
    labels = field == 'correct' and called not in _NUMBERS and not value.strip('01?')
    several = field == 'correct' or called[-1:] == 's'
    return labels or (several and value[0] == '[' and value.rstrip()[-1] == ']')


def _names(columns: Mapping[str, str], given: Mapping[str, str], lists: Lists) -> dict[str, str]:
    """Return which column holds what, of all but the lists; case and blanks of its name do not count."""
    names = dict(given)
    of_lists = {name for wide in lists.values() for name in ([wide] if isinstance(wide, str) else wide)}
    counts = all(any(one in columns for one in ALIASES[name]) for name in ('n', 'c'))
    for field, aliases in ALIASES.items():
        if field in given or (lists and field in OF_SAMPLE):
            continue
        taken = {*names.values(), *of_lists}
        if field == 'question':
            taken.discard(given.get('uid', ''))  # the column that tells questions apart may be their text
        if field == 'question' and 'response' not in lists and (lists or counts):
            taken.add(columns.get('problem', ''))  # it is what translations share
        free = [columns[one] for one in aliases if one in columns and columns[one] not in taken]
        if free:
            names[field] = free[0]
    return names


def _of_samples(names: dict[str, str], columns: Mapping[str, str], given: Mapping[str, str]) -> Format:
    if 'uid' not in names and 'question' not in names:
        raise InputError(
            'nothing tells the questions apart; say which column does: --field uid=NAME. There is '
            f'{_shown(columns)}'
        )
    alone = 'correct' in names and not {'response', 'answer'} & names.keys()
    if alone and 'reference' not in given and names.get('reference', '').strip().lower() == 'answer':
        names['answer'] = names.pop('reference')  # beside verdicts alone it is what was judged
    if 'correct' not in names:
        if 'n' in names or 'c' in names:
            _need(names, ('n', 'c'), columns)
        needed = ('question', 'reference', 'response')
        _need(names, needed, columns, 'verdicts, or question, reference and response')
    fields = {'uid': names.get('question', ''), **names}
    about = {'written_by': 'a table with a row a sample'}
    return _format(fields, columns, about, lambda row: (row,), names.get('correct', ''))


def _of_counts(names: dict[str, str], columns: Mapping[str, str]) -> Format:
    _need(names, ('n', 'c'), columns)

    n_name, c_name, doubt = (names.get(key, '') for key in _COUNTS)

    def check(row: Row) -> Iterable[Row]:
        n, c = row.get(n_name), row.get(c_name)  # whole numbers, mostly
        if type(n) is int and type(c) is int and doubt not in row and 0 <= c <= n <= LARGEST_N and n:
            return (row,)
        n, c, unjudged = (number_in(at(row, names[key])) if key in names else 0 for key in _COUNTS)
        unjudged = 0 if unjudged is None else unjudged
        whole = type(n) is int and type(c) is int and type(unjudged) is int
        if not (whole and 0 <= c <= n - unjudged <= n and 1 <= n <= LARGEST_N):
            raise ValueError(
                f'n = {n!r:.40}, c = {c!r:.40}, unjudged = {unjudged!r:.40}; expected whole numbers, '
                f'1 <= n <= {LARGEST_N} and 0 <= c <= n - unjudged'
            )
        return (row,)

    of_question = ('uid', 'problem', 'split', 'language', 'model', 'dataset', *_COUNTS)
    fields = {'uid': '_row', **{key: name for key, name in names.items() if key in of_question}}
    return _format(fields, columns, {'written_by': 'counts, a row a question'}, check)


def _of_questions(
    names: dict[str, str], lists: Lists, columns: Mapping[str, str], options: Options
) -> Format:
    if 'correct' not in lists:
        _need(names, ('question', 'reference'), columns)

    def expand(row: Row) -> Iterable[Row]:
        values = {field: _values(row, where) for field, where in lists.items()}
        sizes = {_called(lists[field]): len(one) for field, one in values.items() if one is not None}
        if not sizes or 0 in sizes.values():
            raise ValueError(
                f'{" and ".join(map(_called, lists.values()))} is empty; expected a value a sample'
            )
        if len(set(sizes.values())) > 1:
            found = ' and '.join(f'{size} {name}' for name, size in sizes.items())
            raise ValueError(f'{found}; expected one of each a sample')
        n = next(iter(sizes.values()))
        said = number_in(at(row, names['n'])) if 'n' in names else None
        if type(said) in (int, float) and said != n:
            raise ValueError(f'{names["n"]} = {said}, and there are {n} samples; are some missing?')
        samples: list[Row] = [{**row, '_replica': place} for place in range(n)]
        for field, of_samples in values.items():
            for sample, value in zip(samples, of_samples or [None] * n, strict=True):
                sample[f'_{field}'] = value
        return samples

    fields = {'uid': '_row', **{key: name for key, name in names.items() if key not in _COUNTS}}
    fields |= {'replica': '_replica', **{field: f'_{field}' for field in lists}}
    remarks: list[str] = []
    about = {'written_by': 'a table with a row a question', 'remarks': remarks}
    verdicts = [columns[one] for one in ALIASES['correct'] if one in columns and one not in _WEAK]
    if verdicts and 'correct' not in lists:
        remarks.append(f'{verdicts[0]} has one verdict a question and none of each sample: it is not taken')
    used = (*names.values(), *lists.values())
    others = [columns[one] for one in ALIASES['reference'] if one in columns and columns[one] not in used]
    judged = 'response' in lists and options.kind != 'labels' and 'reference' not in options.fields
    if judged and 'reference' in names and others:
        remarks.append(
            f'the reference is {names["reference"]}; so may {" or ".join(others)} be: --field reference=NAME'
        )
    return _format(fields, columns, about, expand, _called(lists['correct']) if 'correct' in lists else '')


def _values(row: Row, where: str | list[str]) -> list[Any] | None:
    """Return the values of the samples of a row; None where there is nothing."""
    if not isinstance(where, str):
        values = [at(row, name) for name in where]
        while values and values[-1] is None:  # a question with fewer samples
            values.pop()
        return values or None
    value = at(row, where)
    if isinstance(value, str) and value and not value.strip('01?'):
        return list(value)
    if isinstance(value, str) and value[:1] == '[':
        try:
            value = json.loads(value)
        except ValueError as error:
            raise ValueError(f'{where} is no list in JSON: {error}') from error
    if value is None or isinstance(value, list):
        return value
    raise ValueError(
        f'{where} is {value!r:.60}; expected the list of all samples of the question, or labels like "10?1"'
    )


def _called(where: str | list[str]) -> str:
    return where if isinstance(where, str) else f'{where[0]} … {where[-1]}'


def _need(
    names: Mapping[str, str], fields: Iterable[str], columns: Mapping[str, str], what: str = ''
) -> None:
    for field in fields:
        if field not in names:
            expected = f'{what}; ' if what else ''
            raise InputError(
                f'there is no {field}: expected {expected}{field} is one of {", ".join(ALIASES[field])}, or '
                f'give its name: --field {field}=NAME; there is {_shown(columns)}'
            )


def _format(
    fields: Mapping[str, Field],
    columns: Mapping[str, str],
    about: Mapping[str, Any],
    expand: Callable[[Row], Iterable[Row]],
    verdict: str = '',
) -> Format:
    """Return the format of a table, which refuses columns that only later rows have."""
    about = {**about, **({'judge': {'name': f'column {verdict}'}} if verdict else {})}
    known = {*columns.values(), '_row', '_file'}

    def checked(row: Row) -> Iterable[Row]:
        if row.keys() <= known:
            return expand(row)
        for name in row.keys() - known:
            base = _NUMBERED.fullmatch(name)
            if name in _NAMES or (base and base[1] in _NAMES):
                raise ValueError(
                    f'has {name!r}, which the first row does not have; write it in all rows, null where it '
                    'is not known'
                )
        return expand(row)

    return Format(fields, expand=checked, about=lambda files, row: about)


def _recognises(path: Path, first: Row | None) -> bool:
    """Whether a file has rows of samples, of questions with lists, or of counts, and says which question."""
    try:
        fields = _specialise(first, NO_OPTIONS).fields if first else {}
    except InputError:
        return False
    if not fields or (fields['uid'] == '_row' and 'question' not in fields):
        return False
    verdict = str(fields.get('correct', '')).strip().lower()
    whole = 'c' in fields or {'question', 'reference', 'response'} <= fields.keys()
    return whole or (bool(verdict) and verdict not in _WEAK)


def _shown(columns: Mapping[str, str]) -> str:
    names = [name[:40] for name in list(columns.values())[:20]]
    return ', '.join(names) + (', …' if len(columns) > len(names) else '') if names else 'none'


TABLE = Format(recognises=_recognises, specialise=_specialise)
