"""Tables that people make themselves: a row a sample, or a row a question with lists, columns or counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import parse_json
from ..json_rows import Row
from ..metrics import LARGEST_N
from .format import NO_OPTIONS, OF_QUESTION, OF_SAMPLE, Format, Options, at, has, number_in

_ALIASES = """
uid: uid id idx question_id task_id doc_id problem_idx problem_id
question: question prompt query input problem
problem: problem problem_id cluster
reference: reference gold ground_truth gt target expected_answer answer
response: response responses output outputs completion completions generation generations samples text
correct: correct is_correct verdict verdicts label labels acc accuracy score scores
answer: answer answers final_answer pred preds prediction extracted_answer parsed_answer
replica: replica sample sample_index repeat epoch
split: split subset category
language: language lang
model: model model_name model_id llm
dataset: dataset benchmark task
finish_reason: finish_reason stop_reason
output_tokens: output_tokens completion_tokens
prompt_tokens: prompt_tokens input_tokens
seconds: seconds latency
thought: thought reasoning reasoning_content
n: n num_samples
c: c num_correct n_correct
"""
ALIASES = {
    field: names.split() for field, names in (line.split(': ') for line in _ALIASES.strip().splitlines())
}
"""Field → the names that a column of it may have; of two fields the first takes a name that both know."""

ALIASES |= {name: [name] for name in (*OF_QUESTION, *OF_SAMPLE) if name not in (*ALIASES, 'run')}

_NAMES = frozenset(name for names in ALIASES.values() for name in names)
_COUNTS = 'n', 'c', 'unjudged'
_NUMBERS = frozenset({'score', 'scores', 'acc', 'accuracy'})
"""In which '10' is a number, and not two labels."""

_WEAK = frozenset({'label', 'score'})
"""Columns that data of any kind has: alone they make no file one of samples."""

_NUMBERED = re.compile(r'(.*?)[_\-. ]?(\d+)')


class _Layout:
    """Which columns of a table hold what, as its first row shows."""

    def __init__(self, first: Row, options: Options) -> None:
        self.first, self.given, self.kind = first, options.fields, options.kind
        self.columns: dict[str, str] = {}  # in small letters → as it is written
        for name in (name for name in first if name not in ('_row', '_file')):
            if (known := self.columns.setdefault(name.strip().lower(), name)) != name:
                raise InputError(f'{known!r} and {name!r} differ in capitals and blanks alone; rename one')
        names = [name[:40] for name in self.columns.values()]
        self.shown = ', '.join([*names[:20], *['…'] * (len(names) > 20)]) or 'none'
        self.raw = {*self.columns.values(), '_row', '_file'}
        for path in self.given.values():
            if not has(first, path) and at(first, path) is None:
                raise InputError(f'there is no column {path!r}; there is {self.shown}')
        self.lists = self._lists()  # field → the column with a list of all samples of a row
        wide = {} if self.lists else self._numbered()
        self.wide = {f'{names[0]} … {names[-1]}': names for names in wide.values()}
        self.lists |= zip(wide, self.wide, strict=True)
        self.names = self._names()  # field → the column that holds it, of all but the lists

    def known(self, field: str) -> list[str]:
        """Return the columns that may be of a field, the best one first; what is given is of no other one."""
        if field in self.given:
            return [self.given[field]]
        there = (self.columns[one] for one in ALIASES.get(field, ()) if one in self.columns)
        return [name for name in there if name not in self.given.values()]

    def need(self, fields: Iterable[str], what: str = '') -> None:
        for field in fields:
            if field not in self.names:
                expected = f'expected {what}{field} is one of {", ".join(ALIASES[field])}'
                option = f'or give its name: --field {field}=NAME'
                raise InputError(f'there is no {field}: {expected}, {option}; there is {self.shown}')

    def _lists(self) -> dict[str, str]:
        """Return where a row a question has its samples, field by field; {} where a row is a sample."""
        lists: dict[str, str] = {}
        for field in OF_SAMPLE:
            names = self.known(field)
            found = [name for name in names if _is_list(field, name, at(self.first, name))]
            if found and field == 'correct' and found[0] != names[0] and 'response' not in lists:
                # Beside a response and its verdict a list is what the verdict is made of.
                texts = (self.first.get(name) for name in self.known('response'))
                alone = not isinstance(self.first.get(names[0]), (list, type(None)))
                found = [] if alone and str in map(type, texts) else found
            lists |= {field: found[0]} if found else {}
        if not {'response', 'correct'} & lists.keys():
            return {}
        try:
            sizes = {field: len(_values(self.first, name) or ()) for field, name in lists.items()}
        except ValueError as error:
            raise InputError(str(error)) from error
        if lists.get('answer') == 'answer' and sizes.pop('answer') not in sizes.values():
            del lists['answer']  # the reference, in a list of its own
        return lists

    def _numbered(self) -> dict[str, list[str]]:
        """Return field → the columns of a name that are numbered, from 0 or 1.

        One without a number whose name is better counts: `correct` before `score_1`, of which it may be made.
        """
        numbered: dict[str, dict[int, str]] = {}
        for called, name in self.columns.items():
            if parts := _NUMBERED.fullmatch(called):
                numbered.setdefault(parts[1], {})[int(parts[2])] = name
        found: dict[str, list[str]] = {}
        for field in (one for one in OF_SAMPLE if one not in self.given):
            for base in ALIASES.get(field, ()):
                wide = numbered.get(base, {})
                if field in ('response', 'correct') and base in self.columns and not wide:
                    break
                if sorted(wide) in (list(range(len(wide))), list(range(1, len(wide) + 1))) and len(wide) > 1:
                    found[field] = [wide[place] for place in sorted(wide)]
                    break
                if wide and base == field:  # of other names no column is known to be one
                    raise InputError(f'there is {next(iter(wide.values()))} without all those before it')
        return found if {'response', 'correct'} & found.keys() else {}

    def _with_lists(self, row: Row) -> Row:
        """Return a row with its numbered columns as lists; a question may have fewer samples than columns."""
        row = dict(row)
        for label, names in self.wide.items():
            values = [row.get(name) for name in names]
            while values and values[-1] is None:
                values.pop()
            row[label] = values or None
        return row

    def _names(self) -> dict[str, str]:
        names, counts = dict(self.given), self.known('n') and self.known('c')
        of_lists = {*self.lists.values(), *chain.from_iterable(self.wide.values())}
        for field in ALIASES:
            if field in self.given or (self.lists and field in OF_SAMPLE):
                continue
            taken = {*names.values(), *of_lists}
            there = [self.columns[one] for one in ALIASES[field] if one in self.columns]
            if field == 'question':
                # The column that tells questions apart may be their text.
                taken.discard(self.given.get('uid', ''))
                if 'response' not in self.lists and (self.lists or counts):
                    taken.add(self.columns.get('problem', ''))  # it is what translations share
            names |= next(({field: name} for name in there if name not in taken), {})
        return names

    # ---- formats

    def format(self) -> Format:
        """Return the format of the table, which refuses columns that only later rows have.

        Raises:
            InputError: nothing can be scored in it.
        """
        counts = {'n', 'c'} <= self.names.keys()
        made = self._of_questions() if self.lists else self._of_counts() if counts else self._of_samples()
        written_by, fields, expand, about = made

        def checked(row: Row) -> Iterable[Row]:
            for name in () if row.keys() <= self.raw else row.keys() - self.raw:
                base = _NUMBERED.fullmatch(name)
                if name in _NAMES or (base and base[1] in _NAMES):
                    late = f'has {name!r}, which the first row does not have'
                    raise ValueError(f'{late}; write it in all rows, null where it is not known')
            return expand(row)

        return Format(_recognises, fields, checked, about=lambda row: {**about, 'written_by': written_by})

    def _of_samples(self) -> _Made:
        names = self.names
        if 'uid' not in names and 'question' not in names:
            nothing = 'nothing tells the questions apart; say which column does: --field uid=NAME'
            raise InputError(f'{nothing}. There is {self.shown}')
        alone = 'correct' in names and not {'response', 'answer'} & names.keys()
        if alone and 'reference' not in self.given and names.get('reference', '').strip().lower() == 'answer':
            names['answer'] = names.pop('reference')  # beside verdicts alone it is what was judged
        if 'correct' not in names:
            self.need(('n', 'c') if 'n' in names or 'c' in names else ())
            self.need(
                ('question', 'reference', 'response'), 'verdicts, or question, reference and response; '
            )
        about = {'judge': {'name': f'column {names["correct"]}'}} if 'correct' in names else {}
        fields = {'uid': names.get('question', ''), **names}
        return 'a table with a row a sample', fields, lambda row: ({},), about

    def _of_counts(self) -> _Made:
        n_name, c_name, doubt = (self.names.get(key, '') for key in _COUNTS)

        def check(row: Row) -> Iterable[Row]:
            n, c, unjudged = row.get(n_name), row.get(c_name), row.get(doubt, 0)  # whole numbers, mostly
            if not (type(n) is type(c) is type(unjudged) is int):
                n, c, unjudged = (number_in(at(row, name)) for name in (n_name, c_name, doubt))
                unjudged = unjudged or 0
            whole = type(n) is type(c) is type(unjudged) is int
            if not (whole and 0 <= c <= n - unjudged <= n and 1 <= n <= LARGEST_N):
                told = f'n = {n!r:.40}, c = {c!r:.40}, unjudged = {unjudged!r:.40}; expected whole numbers'
                raise ValueError(f'{told}, 1 <= n <= {LARGEST_N} and 0 <= c <= n - unjudged')
            return ({},)

        of_question = ('uid', 'problem', 'split', 'language', 'model', 'dataset', *_COUNTS)
        fields = {'uid': '_row', **{key: name for key, name in self.names.items() if key in of_question}}
        return 'counts, a row a question', fields, check, {}

    def _of_questions(self) -> _Made:
        lists, names = self.lists, self.names
        if 'correct' not in lists:
            self.need(('question', 'reference'))

        def expand(row: Row) -> Iterable[Row]:
            row = self._with_lists(row) if self.wide else row
            values = {field: _values(row, name) for field, name in lists.items()}
            sizes = {lists[field]: len(one) for field, one in values.items() if one is not None}
            if not sizes or 0 in sizes.values():
                raise ValueError(f'{" and ".join(lists.values())} is empty; expected a value a sample')
            n, told = next(iter(sizes.values())), number_in(at(row, names['n'])) if 'n' in names else None
            if len(set(sizes.values())) > 1:
                found = ' and '.join(f'{size} {name}' for name, size in sizes.items())
                raise ValueError(f'{found}; expected one of each a sample')
            if type(told) in (int, float) and told != n:
                raise ValueError(f'{names["n"]} = {told}, and there are {n} samples; are some missing?')
            for place in range(n):
                yield {'replica': place} | {field: one and one[place] for field, one in values.items()}

        fields = {'uid': '_row', **{key: name for key, name in names.items() if key not in _COUNTS}}
        remarks, used = [], [*names.values(), *lists.values()]
        verdicts, others = (
            [self.columns[one] for one in ALIASES[field] if one in self.columns and one not in _WEAK]
            for field in ('correct', 'reference')
        )
        others = [name for name in others if name not in used]
        if verdicts and 'correct' not in lists:
            remarks.append(
                f'{verdicts[0]} has one verdict a question and none of each sample: it is not taken'
            )
        judged_anew = 'response' in lists and self.kind != 'labels'
        if others and judged_anew and 'reference' in names and 'reference' not in self.given:
            more = f'so may {" or ".join(others)} be: --field reference=NAME'
            remarks.append(f'the reference is {names["reference"]}; {more}')
        judge = {'name': f'column {lists["correct"]}'} if 'correct' in lists else {}
        return 'a table with a row a question', fields, expand, {'judge': judge, 'remarks': remarks}


_Made = tuple[str, Mapping[str, str], Callable[[Row], Iterable[Row]], Mapping[str, Any]]


def _is_list(field: str, name: str, value: Any) -> bool:
    if not isinstance(value, str) or len(value) < 2:
        return isinstance(value, list)
    called = name.strip().lower()
    labels = field == 'correct' and called not in _NUMBERS and not value.strip('01?')
    several = field == 'correct' or called[-1:] == 's'
    return labels or (several and value[0] == '[' and value.rstrip()[-1] == ']')


def _values(row: Row, name: str) -> list[Any] | None:
    """Return the values of the samples of a row; None where there is nothing."""
    value = at(row, name)
    if isinstance(value, str) and value and not value.strip('01?'):
        return list(value)
    if isinstance(value, str) and value[:1] == '[':
        try:
            value = parse_json(value)
        except ValueError as error:
            raise ValueError(f'{name} is no list in JSON: {error}') from error
    if value is None or isinstance(value, list):
        return value
    raise ValueError(f'{name} is {value!r:.60}; expected the list of all samples, or labels like "10?1"')


def _recognises(path: Path, first: Row | None) -> bool:
    """Whether a file has rows of samples, of questions with lists, or of counts, and says which question."""
    try:
        layout = _Layout(first or {}, NO_OPTIONS)
        fields = {**layout.format().fields, **layout.lists}
    except InputError:
        return False
    if fields['uid'] == '_row' and 'question' not in fields:
        return False
    verdict = fields.get('correct', '').strip().lower()
    whole = 'c' in fields or {'question', 'reference', 'response'} <= fields.keys()
    return whole or (bool(verdict) and verdict not in _WEAK)


TABLE = Format(_recognises, specialise=lambda first, options: _Layout(first, options).format())
