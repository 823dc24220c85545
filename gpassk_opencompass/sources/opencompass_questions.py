"""Which question each row of an old run was of: its text, reference, name, contest and language.

The text is that of the questions' data, if that is given; else it is cut out of the prompt, by the prompt
template in the run's config.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, groupby, islice, product
from typing import Any, NamedTuple

from ..errors import IncompleteError, InputError, MissingExtraError
from ..files import mapping
from ..judges.prompts import protocol_constants
from ..question_sets import live_math_bench_names, live_math_bench_questions
from ..questions.wording import language_of
from .opencompass import OldRun, Row
from .source import About, Responded

PROTOCOL = {'en': 'PROMPT_EN', 'cn': 'PROMPT_CN'}
"""Language → the name of its prompt in OpenCompass; all but 'en' are asked in Chinese."""

_MOST_KNOWN = 100_000
"""Prompts that are remembered."""


@dataclass(frozen=True)
class Questions:
    """All questions of a run, and how they are known."""

    rows: list[Responded]
    whole_prompts: int = 0
    """Questions whose text is the whole prompt, as it could not be cut out."""
    named: bool = True
    """Whether contest, language and place in its file are known, so that names are those of new runs."""


def questions_in(run: OldRun, rows: Sequence[Row], data: str | None = None) -> Questions:
    """Return the questions of a run.

    Args:
        rows: its questions as the prediction files have them.
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
    abouts = names or [
        About(number + 1, uid, uid, 'all', one.language)
        for number, one in enumerate(asked)
        for uid in [f'{run.dataset}/{number}']
    ]
    found = [
        Responded(about, one.question, reference, row.responses, row.generations, places=row.places)
        for about, one, reference, row in zip(abouts, asked, references, rows, strict=True)
    ]
    return Questions(found, sum(not one.exact for one in asked), bool(names))


def _check_all_asked(run: OldRun, rows: Sequence[Row], expected: int) -> None:
    """Raise IncompleteError if a part is missing, or of another split, in a run of one sample a question.

    With n > 1 the rows tell, and a whole file is whole.
    """
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


def _names(run: OldRun, asked: Sequence[Asked]) -> list[About]:
    """Return the names of the questions, as new runs have them, by their places; [] if these do not tell."""
    sizes = {} if run.part_of_rows else _group_sizes(run, [one.language for one in asked])
    texts = iter([one.question for one in asked])
    numbers = count(1)
    return [
        About(next(numbers), uid, problem, split, language)
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
    """Count the questions of each split × language, which lie one after the other in this order.

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


def _from_data(run: OldRun, rows: Sequence[Row], data: str) -> list[Responded]:
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
    """Find the entry of each row's question in the data, by its text."""
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
    """Return the longest question that the prompt holds; '' if there is none."""
    return max((text for text in texts if text in prompt), key=len, default='')


def _of_data(run: OldRun, number: int, row: Row, entry: dict[str, Any]) -> Responded:
    if row.gold not in {None, entry['answer']}:
        raise InputError(
            f'row {number} of {run.name} was asked with the reference {row.gold!r:.60}, but the data has '
            f'{entry["answer"]!r:.60} for its question: they are of another version'
        )
    about = About(number + 1, entry['uid'], entry['problem'], entry['split'], entry['language'])
    return Responded(
        about, entry['question'], entry['answer'], row.responses, row.generations, places=row.places
    )


class Asked(NamedTuple):
    """One question, as a prompt shows it."""

    question: str
    language: str
    exact: bool
    """Whether everything around the question is known; else `question` is the whole prompt."""


class _Frame(NamedTuple):
    """What stands before and after a question."""

    before: str
    after: str
    language: str | None


def asked_in(run: OldRun, prompts: Sequence[str]) -> list[Asked]:
    """Return the question of each prompt, cut out by the prompt template in the run's config.

    The language is that of the protocol's prompt around it, where that is the one; else that of the text.
    """
    return list(map(asker(run), prompts))


def asker(run: OldRun) -> Callable[[str], Asked]:
    """Return what returns the question of a prompt; prompts that come again are looked at once."""
    frames, cot = list(_frames(run.config)), bool(run.config.get('cot', True))
    return lru_cache(_MOST_KNOWN)(lambda prompt: _asked(prompt, frames, cot))


def _asked(prompt: str, frames: Sequence[_Frame], cot: bool) -> Asked:
    for frame in frames:
        if (question := _between(prompt, frame, cot)) is not None:
            return Asked(question, frame.language or language_of(question), True)
    return Asked(prompt, language_of(prompt), False)


def _between(prompt: str, frame: _Frame, cot: bool) -> str | None:
    if not prompt.endswith(frame.after):
        return None
    if prompt.startswith(frame.before):
        return prompt[len(frame.before) : len(prompt) - len(frame.after)]
    if cot or frame.language is None:
        return None
    # Without chain of thought OpenCompass cuts a piece out of the protocol's line.
    line = prompt[: prompt.find('\n') + 1]
    return prompt[len(line) : len(prompt) - len(frame.after)] if _is_shortened(line, frame.before) else None


def _is_shortened(line: str, full: str) -> bool:
    """Whether `line` is `full` with one piece cut out."""
    cut = len(full) - len(line)
    return 0 < cut < len(line) and any(line == full[:at] + full[at + cut :] for at in range(len(line) + 1))


def _frames(config: Mapping[str, Any]) -> Iterator[_Frame]:
    template = _template(config)
    plain = [_Frame('', '', None)]
    for slot, inner in (('{question}', plain), ('{problem}', plain), ('{prompt}', _protocol())):
        if template.count(slot) == 1:
            before, _, after = template.partition(slot)
            yield from (_Frame(before + one.before, one.after + after, one.language) for one in inner)


def _protocol() -> list[_Frame]:
    """Return what the protocol's own prompts put around a question; [] where OpenCompass is not installed."""
    try:
        texts = protocol_constants()
    except MissingExtraError:
        return []
    frames = []
    for language, name in PROTOCOL.items():
        before, _, after = str(texts.get(name, '')).partition('{question}')
        if before:
            frames.append(_Frame(before.format(), after.format(), language))
    return frames


def _template(config: Mapping[str, Any]) -> str:
    """Return what the model is asked, of a template of one message; '' for any other."""
    found: Any = config.get('infer_cfg')
    for name in ('prompt_template', 'template'):
        found = mapping(found).get(name)
    if isinstance(found, str):
        return found
    messages = mapping(found).get('round')
    asked = [
        message['prompt']
        for message in (messages if isinstance(messages, list) else [])
        if isinstance(message, dict) and message.get('role') == 'HUMAN' and 'prompt' in message
    ]
    return str(asked[0]) if len(asked) == 1 else ''
