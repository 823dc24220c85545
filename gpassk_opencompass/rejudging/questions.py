"""Which question each row of an old run was of: its text, reference, name, contest and language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice, product
from typing import Any

from ..errors import IncompleteError, InputError
from ..question_sets import live_math_bench_names, live_math_bench_questions
from .old_runs import OldRun
from .predictions import Row
from .prompts import Asked, asked_in


@dataclass(frozen=True)
class Question:
    """One question of a run, as `scoring.Samples` wants it."""

    uid: str
    text: str
    reference: str
    split: str
    language: str
    problem: str


@dataclass(frozen=True)
class Questions:
    """All questions of a run, and how they are known."""

    rows: list[Question]
    whole_prompts: int = 0
    """Questions whose text is the whole prompt, as it could not be cut out."""
    named: bool = True
    """Whether contest, language and place in its file are known, so that names are those of new runs."""


def questions_in(run: OldRun, rows: Sequence[Row], data: str | None = None) -> Questions:
    """The questions of a run.

    Args:
        rows: the first row of each.
        data: a folder or hub name of LiveMathBench's questions; None: what the prompts and the config tell.

    Raises:
        IncompleteError: the run has one sample a question, in parts, and other questions than its data.
        InputError: a row has no reference answer, or `data` does not hold its question with that reference.
    """
    if data is not None:
        return Questions(_from_data(run, rows, data))
    _check_all_asked(run, rows, live_math_bench_questions(run.version, run.splits, run.languages) or 0)
    asked = asked_in(run, [row.prompt for row in rows])
    references = [_reference(run, number, row) for number, row in enumerate(rows)]
    names = _names(run, asked)
    found = [
        Question(
            f'{run.dataset}/{number}', one.question, reference, 'all', one.language, f'{run.dataset}/{number}'
        )
        for number, (one, reference) in enumerate(zip(asked, references, strict=True))
    ]
    if names:
        found = [replace(question, **name) for question, name in zip(found, names, strict=True)]
    return Questions(found, sum(not one.exact for one in asked), bool(names))


def _check_all_asked(run: OldRun, rows: Sequence[Row], expected: int) -> None:
    """That no part is missing or of another split: with n > 1 the rows tell, and a whole file is whole."""
    if run.n == 1 and run.in_parts and not run.part_of_rows and expected and len(rows) != expected:
        raise IncompleteError(
            f'{len(run.parts)} parts of {run.dataset} hold {len(rows)} questions, and its data {expected}: '
            'finish the run with opencompass -r and the --max-num-workers of its start; or, if it had other '
            'data, give that with --questions DATA'
        )


def _reference(run: OldRun, number: int, row: Row) -> str:
    if not row.gold:
        raise InputError(
            f'{run.parts[0]}, row {number} has no reference answer (gold); give them: --questions DATA'
        )
    return row.gold


def _names(run: OldRun, asked: Sequence[Asked]) -> list[dict[str, str]]:
    """uid, problem, split and language of each question by its place; none where that cannot be told."""
    sizes = {} if run.part_of_rows else _group_sizes(run, [one.language for one in asked])
    texts = iter([one.question for one in asked])
    return [
        {'uid': uid, 'problem': problem, 'split': split, 'language': language}
        for (split, language), size in sizes.items()
        for uid, problem in live_math_bench_names(
            run.version,
            split,
            language,
            list(islice(texts, size)),
            {sizes[split, other] for other in run.languages},
        )
    ]


def _group_sizes(run: OldRun, languages: Sequence[str]) -> dict[tuple[str, str], int]:
    """How many questions are of each split × language, which lie one after the other in this order.

    Where the language of the prompts changes, the next group begins; or the published sizes say where. {} if
    neither fits.
    """
    groups = list(product(run.splits, run.languages))
    if len(set(groups)) < len(groups):  # one asked twice: a question would have two names
        return {}
    runs = [(language, len(list(rows))) for language, rows in groupby(languages)]
    spoken = ['en' if language == 'en' else 'cn' for _, language in groups]
    if [language for language, _ in runs] == spoken:
        return dict(zip(groups, (size for _, size in runs), strict=True))
    known = [live_math_bench_questions(run.version, [split], [language]) for split, language in groups]
    sizes = [size for size in known if size]
    expected = [language for language, size in zip(spoken, sizes, strict=False) for _ in range(size)]
    if len(sizes) == len(groups) and expected == list(languages):
        return dict(zip(groups, sizes, strict=True))
    return {}


def _from_data(run: OldRun, rows: Sequence[Row], data: str) -> list[Question]:
    from ..questions.benchmarks import live_math_bench_rows

    known = live_math_bench_rows(data, run.version, run.splits, run.languages)
    _check_all_asked(run, rows, len(known))
    if any(row.prompt for row in rows):
        known = list(_by_text(run, rows, known, data))
    elif len(rows) != len(known):
        raise InputError(
            f'{data} has {len(known)} questions and the run {len(rows)}; as its files hold no prompts, '
            'questions are told by their place, which takes the same ones in the same order'
        )
    return [_of_data(run, number, row, known[number]) for number, row in enumerate(rows)]


def _by_text(
    run: OldRun, rows: Sequence[Row], known: Sequence[dict[str, Any]], data: str
) -> Iterator[dict[str, Any]]:
    """The entry of each row's question."""
    asked = asked_in(run, [row.prompt for row in rows])
    by_text: dict[str, list[int]] = {}
    for place, entry in enumerate(known):
        by_text.setdefault(entry['question'], []).append(place)
    taken: Counter[str] = Counter()
    for number, (row, one) in enumerate(zip(rows, asked, strict=True)):
        text = one.question if one.exact else _longest_in(row.prompt, by_text)
        places = by_text.get(text, [])
        if taken[text] >= len(places):
            raise InputError(
                f'{data} does not hold the question of row {number}, {text or row.prompt!r:.80}: it is of '
                'another version, or the run had other questions'
            )
        yield known[places[taken[text]]]
        taken[text] += 1


def _longest_in(prompt: str, texts: dict[str, list[int]]) -> str:
    """The longest question that the prompt holds."""
    return max((text for text in texts if text in prompt), key=len, default='')


def _of_data(run: OldRun, number: int, row: Row, entry: dict[str, Any]) -> Question:
    if row.gold not in {None, entry['answer']}:
        raise InputError(
            f'row {number} of {run.name} was asked with the reference {row.gold!r:.60}, but the data has '
            f'{entry["answer"]!r:.60} for its question: they are of another version'
        )
    return Question(
        entry['uid'],
        entry['question'],
        entry['answer'],
        entry['split'],
        entry['language'],
        entry['problem'],
    )
