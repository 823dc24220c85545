"""Rows of an OpenCompass data set: as samples to draw and to score, and compared with rows without marks."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import count
from typing import Any

import pyarrow  # type: ignore[import-untyped]

from ..benchmarks import language_of
from ..errors import IncompleteError, InputError
from ..marks import as_json
from ..predictions import Predictions, Sample
from ..record import digest_of
from ..samples import Samples
from .dataset import LIMITS

QUESTION_COLUMNS = ('question', 'problem', 'prompt')
"""Where a data set keeps its question; the first that it has counts."""


def samples_asked(
    rows: Any,
    inputs: Sequence[str],
    output: str | None,
    settings: Any,
    name: str,
    stem: str | None = None,
    before: Sequence[Any] = (),
) -> list[Sample]:
    """Return the samples that the rows of a data set ask for, without prompts.

    `inputs` and `output` are the columns of its reader, `name` its abbreviation, and of a shard `stem` that
    with its number, and `before` the numbers of the questions of all rows before it.
    """
    told = json.dumps(settings, default=str)
    filled = [one for one in rows.column_names if one in inputs or f'{{{one}}}' in told]  # into the template
    names = {*filled, 'idx', 'replica', output} & {*rows.column_names}
    columns = {one: column_of(rows, one) for one in names}
    uids, numbers = uids_of(rows), columns.get('idx') or range(len(rows))
    if 'uid' not in rows.column_names and stem is not None:  # OpenCompass calls parts of a shard by its name
        uids = [f'{name}{uid.removeprefix(stem)}' for uid in uids]
    replicas = columns.get('replica') or _occurrences([*before, *numbers])[len(before) :]
    references = columns.get(output or '') or [None] * len(rows)
    parts = [columns[one] for one in filled]
    contents = zip(*parts, strict=True) if parts else [()] * len(rows)
    # Of a question once, not of each of its samples.
    mark, mark_of = digest_of(settings)[:16], cache(lambda content: digest_of(json.loads(content))[:16])
    questions = (mark_of(json.dumps(content, default=str)) for content in contents)
    each = zip(uids, replicas, numbers, questions, map(as_json, references), strict=True)
    return [Sample(*one, mark) for one in each]


def samples_of(
    rows: Any,
    responses: Sequence[Any],
    references: Sequence[Any] | None,
    told: Mapping[str, Sequence[Any]],
    *,
    any_rows: bool = False,
) -> Samples:
    """Return samples of the rows of a data set of this package or, if it has what is needed, another.

    With `any_rows` also of those without a question or references, which somebody else judges: what is no
    text is shown as JSON, and a row without a column for its question is its own question.
    """
    there = rows.column_names
    names = [name for name in QUESTION_COLUMNS if name in there]
    if references is None and 'answer' in there and not any_rows:
        references = column_of(rows, 'answer')
    if not any_rows and (not names or references is None):
        raise InputError(f'need columns question and answer (or references), got {there}')
    content = [name for name in there if name not in ('subdivision', 'idx', 'replica', LIMITS)]
    shown = column_of(rows, names[0]) if names else rows.select_columns(content).to_list()
    questions, uids = list(map(_as_text, shown)), uids_of(rows)
    # A foreign column of one of these names may hold anything.
    own = {'replica', 'split', 'language', 'problem'} & {*there} if 'uid' in there else ()
    columns = {name: column_of(rows, name) for name in own}
    splits = columns.get('split') or ['all'] * len(uids)
    languages = columns.get('language') or [language_of(question) for question in questions]
    return Samples(
        {
            'uid': uids,
            'replica': columns.get('replica') or _occurrences(uids),
            'question': questions,
            'reference': [''] * len(uids) if references is None else list(map(_as_text, references)),
            'response': responses,
            'group': [f'{split}_{language}' for split, language in zip(splits, languages, strict=True)],
            'language': languages,
            'problem': list(map(_as_text, columns.get('problem') or uids)),
            **told,
        }
    )


def column_of(rows: Any, name: str) -> Sequence[Any]:
    """Return a column; replicas whose texts lie in memory once share them here too."""
    column = rows.data.column(name)
    kinds = pyarrow.types.is_string(column.type) or pyarrow.types.is_integer(column.type)
    if rows._indices is not None or rows.format['type'] is not None or not kinds:
        return list(rows[name])
    values: list[Any] = []
    known: dict[tuple[int, ...], list[Any]] = {}
    for chunk in column.chunks:
        place = (chunk.offset, len(chunk), *(one.address if one else 0 for one in chunk.buffers()))
        if place not in known:
            known[place] = chunk.to_pylist()
        values += known[place]
    return values


def uids_of(rows: Any) -> list[str]:
    """Return the name of each row's question, the same in all replicas, where need be from its number."""
    names = rows.column_names
    if 'uid' in names:
        return list(map(_as_text, column_of(rows, 'uid')))
    if {'subdivision', 'idx'} <= set(names):
        return [f'{part}/{idx}' for part, idx in zip(rows['subdivision'], rows['idx'], strict=True)]
    raise InputError(f'rows have neither uid nor subdivision and idx, only {names}: cannot group replicas')


def _as_text(value: Any) -> str:
    if value is None:
        return ''
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _occurrences(values: Sequence[Any]) -> list[int]:
    seen: defaultdict[Any, count[int]] = defaultdict(count)
    return [next(seen[value]) for value in values]


# Rows without marks


def check_by_place(
    found: Predictions, rows: Any, references: Sequence[Any], template: Any, keep: Collection[str]
) -> None:
    """Compare rows without marks with the rows of the data set at their places.

    OpenCompass pairs responses with questions by their number. Its predictions tell the prompt and the
    reference of each, which must hold the question (the columns that the template names), and be the
    reference, that are there now. What could not be compared, and what was accepted, goes to the warnings.
    """
    golds = [one.told.get('gold') for one in found.rows]
    others = {'questions': _other_questions(found, rows, template), 'references': list[tuple[int, str]]()}
    known = any(gold is not None for gold in golds)
    for at, (gold, now) in enumerate(zip(golds, references, strict=False)):
        # OpenCompass leaves out what is empty or 0; nan is not nan.
        if (known and bool(now)) if gold is None else (gold != now and repr(gold) != repr(now)):
            was = 'empty or 0' if gold is None else f'{gold!r:.60}'
            others['references'].append((at, f'the reference was {was}, and is {now!r:.60}'))
    for what, wrong in others.items():
        first = [(found.rows[at], text) for at, text in wrong[:3]]
        lines = '; '.join(f'{one.path.name}, row {one.number}: {text}' for one, text in first)
        if lines and what not in keep:
            raise IncompleteError(
                f'the predictions are of other {what} than the data set has now. {lines}. Put the data back, '
                'or move the file away and run the same command with -r to sample its rows anew; to score '
                f"them all the same: keep=['{what}'] of GPassKEvaluator, or --keep {what} of gpassk run"
            )
        if lines:
            found.warnings.append(f'scored although {what} changed since sampling, as keep says: {lines}')


def _other_questions(found: Predictions, rows: Any, template: Any) -> list[tuple[int, str]]:
    """Find the rows whose prompt holds not what their template names, or else none of the questions."""
    columns = {name: column_of(rows, name) for name in QUESTION_COLUMNS if name in rows.column_names}
    texts = {name: _solid(one) for name, one in columns.items() if all(isinstance(text, str) for text in one)}
    prompts = _solid([_text_in(one.told.get('origin_prompt')) for one in found.rows])
    if not any(prompts) or not texts:
        who = 'the predictions hold no prompts' if texts else f'the data set has none of {QUESTION_COLUMNS}'
        found.warnings.append(f'{who}: prompts were not compared with the questions')
        return []
    written = json.dumps(template, default=str)
    named = [name for name in texts if f'{{{name}}}' in written]
    names = named or [*texts]
    absent = [[name for name in names if texts[name][at] not in prompts[at]] for at in range(len(rows))]
    enough = 1 if named else len(texts)  # one of them is enough where the template names none
    wrong = [at for at, missing in enumerate(absent) if len(missing) >= enough]
    if len(wrong) == len(prompts):
        # A template may write questions in its own way: then rows count whose prompt holds another's.
        others = {text for name in names for text in texts[name]} - {''}
        wrong = [at for at in wrong[:50] if any(text in prompts[at] for text in others)]
        if not wrong:
            told = 'no prompt holds its question as the data set spells it: they were not compared'
            found.warnings.append(told)
    # The beginning of a question may be instructions, the same in all rows.
    asked = [(at, columns[absent[at][0]][at]) for at in wrong]
    return [
        (at, f'its prompt does not hold {f"… {one[-80:]}" if len(one) > 80 else repr(one)}')
        for at, one in asked
    ]


def _text_in(prompt: Any) -> str:
    """Return all text of a prompt, which is a string or messages."""
    if isinstance(prompt, Mapping):
        prompt = [prompt.get(name) for name in ('prompt', 'content')]
    return prompt if isinstance(prompt, str) else '\n'.join(map(_text_in, filter(None, prompt or ())))


def _solid(texts: Sequence[str]) -> list[str]:
    """Return texts without their blanks; equal ones, as replicas are, as one."""
    solid = {text: ''.join(text.split()) for text in dict.fromkeys(texts)}
    return [solid[text] for text in texts]
