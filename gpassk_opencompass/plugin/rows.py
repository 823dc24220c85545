"""Rows of an OpenCompass data set: as samples to score, and compared with the predictions of them.

OpenCompass pairs responses with questions by their number. Each row of its predictions also tells the prompt
(`origin_prompt`), the reference (`gold`) and, if this package sampled it, a fingerprint of all that it was
drawn from; they are compared with the rows of the data set.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import pyarrow  # type: ignore[import-untyped]

from ..benchmarks import language_of
from ..errors import IncompleteError, InputError
from ..record import digest_of
from ..samples import Samples
from .dataset import LIMITS
from .handover import Sample

QUESTION_COLUMNS = ('question', 'problem', 'prompt')
"""Where a data set keeps its question; the first that it has counts."""

BOOKKEEPING = ('subdivision', 'idx', 'replica', LIMITS)


def samples_of(
    rows: Any,
    responses: Sequence[Any],
    references: Sequence[Any] | None,
    told: Mapping[str, Sequence[Any]],
    *,
    any_rows: bool = False,
) -> Samples:
    """Return samples of the rows of a data set of this package or, if it has what is needed, another.

    Args:
        told: more columns of `Samples`.
        any_rows: also those without a question or references, which somebody else judges: what is no text
            is shown as JSON, and a row without a column for its question is its own question.

    Raises:
        InputError: no question, or no references.
    """
    names = [name for name in QUESTION_COLUMNS if name in rows.column_names]
    if references is None and 'answer' in rows.column_names and not any_rows:
        references = column_of(rows, 'answer')
    if not any_rows and (not names or references is None):
        raise InputError(f'need columns question and answer (or references), got {rows.column_names}')
    content = [name for name in rows.column_names if name not in BOOKKEEPING]
    shown = column_of(rows, names[0]) if names else rows.select_columns(content).to_list()
    questions = list(map(_as_text, shown))
    uids = uids_of(rows)
    # A foreign column of one of these names may hold anything.
    own = ('replica', 'split', 'language', 'problem') if 'uid' in rows.column_names else ()
    columns = {name: column_of(rows, name) for name in own if name in rows.column_names}
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
    if rows._indices is not None or rows.format['type'] is not None:
        return list(rows[name])
    column = rows.data.column(name)
    if not (pyarrow.types.is_string(column.type) or pyarrow.types.is_integer(column.type)):
        return list(rows[name])
    values: list[Any] = []
    known: dict[tuple[int, ...], list[Any]] = {}
    for chunk in column.chunks:
        place = (chunk.offset, len(chunk), *(one.address if one else 0 for one in chunk.buffers()))
        if place not in known:
            known[place] = chunk.to_pylist()
        values += known[place]
    return values


def _as_text(value: Any) -> str:
    if value is None:
        return ''
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def uids_of(rows: Any) -> list[str]:
    """Return the name of each row's question, the same in all replicas.

    It is the column of this package, or made of the two that OpenCompass adds.
    """
    names = rows.column_names
    if 'uid' in names:
        return list(map(_as_text, column_of(rows, 'uid')))
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


SHOWN = 3
"""How many rows an error names."""

WAY_OUT = (
    'move the file away and run the same command with -r to sample its rows anew; to score these responses '
    "by the data as they are now, on purpose: accept_changed=['{what}'] of GPassKEvaluator"
)
"""What to do with finished predictions of other data."""

CHANGES = ('questions', 'references', 'settings')
"""What `GPassKEvaluator(accept_changed=…)` may name."""

TEXT_COLUMNS = ('prompt', 'question', 'problem')
"""Where a data set keeps what a prompt must hold."""

_PROBED = 50
_LONGEST = 80


class Asked(NamedTuple):
    """The rows of a data set that predictions are compared with, a column each."""

    texts: Sequence[Sequence[str]]
    """Columns of which one stands in the prompts: the prompt that the data set gives, its question."""
    references: Sequence[Any] | None
    """None where they cannot be compared, as a postprocessor changes them."""
    samples: Sequence[Sample] | None
    """Which sample each row is; None for a data set without uid and replica."""
    sent: Sequence[int] = ()
    """Which of `texts` the template names; where it is not known, one of them is likely to be sent."""


def asked_of(rows: Any, references: Sequence[Any] | None, template: Any = None) -> Asked:
    """Collect what is compared from the rows of a data set.

    Args:
        template: of the prompts, as far as it is known: of the columns it tells which are sent.
    """
    columns = {name: column_of(rows, name) for name in TEXT_COLUMNS if name in rows.column_names}
    names = [name for name, column in columns.items() if all(isinstance(one, str) for one in column)]
    told = json.dumps(template, default=str)
    sent = [number for number, name in enumerate(names) if f'{{{name}}}' in told]
    own = {'uid', 'replica'} <= set(rows.column_names)
    samples = list(map(Sample, column_of(rows, 'uid'), column_of(rows, 'replica'))) if own else None
    return Asked([columns[name] for name in names], references, samples, sent)


def fingerprint(
    question: str, reference: Any, prompt: Any, settings: str, sample: Sample, seed: int | None
) -> str:
    """Return 32 hexadecimal digits that change with anything that the sample was drawn from.

    Args:
        question: the first of `Asked.texts`.
        prompt: as it was sent.
        settings: `Provenance.digest`.
    """
    return fingerprint_of_json(question, _as_json(reference), _as_json(prompt), settings, sample, seed)


def fingerprint_of_json(
    question: str, reference: Any, prompt: Any, settings: str, sample: Sample, seed: int | None
) -> str:
    """Return `fingerprint` of a reference and a prompt as a file has them, which is what it is made of."""
    return digest_of([question, reference, prompt, settings, *sample, seed])[:32]


def fingerprints_digest(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a digest of the fingerprints of rows of predictions, '' where one has none."""
    marks = [(sample_of_row(row) or {}).get('fingerprint') for row in rows]
    return digest_of(marks) if all(marks) else ''


def sample_of_row(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what a row of predictions says of its sample; None where it says nothing."""
    told = row.get('sample')
    return told if isinstance(told, dict) else None


def check_rows(
    rows: Sequence[Mapping[str, Any]],
    asked: Asked,
    where: Callable[[int], str],
    accepted: Sequence[str] = (),
    way_out: str = WAY_OUT,
) -> list[str]:
    """Compare each row of predictions with the row of the data set in its place.

    Args:
        rows: of the predictions, in the order of the data set; too many or too few are none of its business.
        where: says where the row of a number stands.
        accepted: of `CHANGES`: differences that the user knows of.
        way_out: what to do other than putting the data back, with `{what}` for what changed.

    Returns:
        Warnings: what could not be compared, and what was accepted.

    Raises:
        IncompleteError: rows differ; the first of them are named, with what was and what is.
    """
    warnings: list[str] = []
    for what, found in (
        ('questions', _other_questions(rows, asked, warnings)),
        ('references', _other_references(rows, asked)),
    ):
        first = list(islice(found, SHOWN))
        if not first:
            continue
        lines = '; '.join(f'{where(number)}: {text}' for number, text in first)
        if what not in accepted:
            raise IncompleteError(
                f'the predictions are of other {what} than the data set has now. {lines}. Put the data back '
                f'as they were sampled, or {way_out.format(what=what)}'
            )
        warnings.append(f'scored although {what} changed since sampling, as accept_changed says: {lines}')
    return warnings


def check_fingerprints(
    rows: Sequence[Mapping[str, Any]], asked: Asked, where: Callable[[int], str], accepted: Sequence[str] = ()
) -> None:
    """Check that rows which carry a fingerprint are as they were drawn, all with one set of settings.

    Raises:
        IncompleteError: a row was changed since, or rows are of different settings.
    """
    told = [sample_of_row(row) for row in rows]
    if not any(told):
        return
    settings = str(next(one for one in told if one).get('settings'))
    for number, (row, one) in enumerate(zip(rows, told, strict=True)):
        if one is None or one.get('settings') != settings:
            what = 'without a fingerprint' if one is None else 'drawn with other settings'
            raise IncompleteError(
                f'{where(number)} is {what} than the rows before it: two runs lie in one folder; sample anew '
                'in another work directory'
            )
        if 'questions' in accepted:
            continue
        sample = Sample(str(one.get('uid')), int(one.get('replica', -1)))
        text = asked.texts[0][number] if asked.texts else ''
        drawn_from = text, row.get('gold'), row.get('origin_prompt'), settings, sample, one.get('seed')
        if fingerprint_of_json(*drawn_from) != one.get('fingerprint'):
            raise IncompleteError(
                f'{where(number)} is not as it was drawn: its prompt, reference, seed or question was '
                'changed since; put the file back from a copy, or sample anew in another work directory'
            )


def _other_questions(
    rows: Sequence[Mapping[str, Any]], asked: Asked, warnings: list[str]
) -> Iterator[tuple[int, str]]:
    """Find the rows that were asked something else, with what."""
    for number, (row, sample) in enumerate(zip(rows, asked.samples or (), strict=False)):
        one = sample_of_row(row)
        if one and (one.get('uid'), one.get('replica')) != tuple(sample):
            yield (
                number,
                (
                    f'the response is to {one.get("uid")}, replica {one.get("replica")}; the data set has '
                    f'{sample.uid}, replica {sample.replica}'
                ),
            )
    prompts = _all_solid([_text_in(row.get('origin_prompt')) for row in rows])
    if not any(prompts):
        warnings.append('the predictions hold no prompts: they were not compared with the questions')
    elif not asked.texts:
        warnings.append('the data set has no column question, problem or prompt: prompts were not compared')
    else:
        yield from _other_prompts(prompts, asked, warnings)


def _other_prompts(prompts: Sequence[str], asked: Asked, warnings: list[str]) -> Iterator[tuple[int, str]]:
    """Find the rows whose prompt does not hold their question."""
    texts = [asked.texts[number] for number in asked.sent] or asked.texts
    found = [(text, *_not_held(prompts, _all_solid(text))) for text in texts]
    if not asked.sent:
        found = [next((column for column in found if not column[2]), found[-1])]
    if all(rewritten and not missing for _, missing, rewritten in found):
        warnings.append('no prompt holds its question as the data set spells it: they were not compared')
    for text, missing, _ in found:
        for number in missing:
            whole = text[number]  # of which the beginning may be instructions, the same in all rows
            shown = repr(whole) if len(whole) <= _LONGEST else f'… {whole[-_LONGEST:]!r}'
            yield number, f'its prompt does not hold {shown}'


def _not_held(prompts: Sequence[str], texts: Sequence[str]) -> tuple[list[int], bool]:
    """Return the rows whose prompt does not hold their text, and whether that is so for all of them.

    Then a template may write questions in its own way, and rows only count whose prompt holds another.
    """
    held = [text in prompt for prompt, text in zip(prompts, texts, strict=False)]
    missing = [number for number, is_there in enumerate(held) if not is_there]
    if any(held):
        return missing, False
    others = set(filter(None, texts))
    return [number for number in missing[:_PROBED] if any(other in prompts[number] for other in others)], True


def _other_references(rows: Sequence[Mapping[str, Any]], asked: Asked) -> Iterator[tuple[int, str]]:
    if asked.references is None:
        return
    told = any(row.get('gold') is not None for row in rows)
    for number, (row, reference) in enumerate(zip(rows, asked.references, strict=False)):
        gold = row.get('gold')
        if gold is None:  # OpenCompass leaves out what is empty or 0
            if told and reference:
                yield number, f'the reference was empty or 0, and is {reference!r:.60}'
        elif gold != _as_json(reference) and repr(gold) != repr(reference):  # nan is not nan
            yield number, f'the reference was {gold!r:.60}, and is {reference!r:.60}'


def _text_in(prompt: Any) -> str:
    """Return all text of a prompt, which is a string or messages."""
    if isinstance(prompt, str):
        return prompt
    if isinstance(prompt, Mapping):
        return '\n'.join(_text_in(prompt.get(name)) for name in ('prompt', 'content') if prompt.get(name))
    if isinstance(prompt, (list, tuple)):
        return '\n'.join(map(_text_in, prompt))
    return ''


def _all_solid(texts: Sequence[str]) -> list[str]:
    """Return texts without their blanks; equal ones, as replicas are, as one."""
    solid = {text: ''.join(text.split()) for text in dict.fromkeys(texts)}
    return [solid[text] for text in texts]


def _as_json(value: Any) -> Any:
    """Return a value as it comes back from a file."""
    return value if isinstance(value, (str, type(None))) else json.loads(json.dumps(value, default=str))
