"""Which question each row of an old run was of: its text, reference, name, contest and language.

The text is cut out of the prompt, by the prompt template in the run's config.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count, groupby, islice, product
from typing import Any, NamedTuple

from ..errors import InputError, MissingExtraError
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


def questions_in(run: OldRun, rows: Sequence[Row], remarks: list[str]) -> list[Responded]:
    """Return the questions of a run, as its prompts and its config tell them.

    Args:
        rows: its questions as the prediction files have them.
        remarks: gets what a reader should know of them.

    Raises:
        InputError: a row has no reference answer; or the run has one sample a question, in parts, and other
            questions than its data.
    """
    _check_all_asked(run, rows)
    if without := [number for number, row in enumerate(rows) if not row.gold]:
        raise InputError(f'{run.parts[0]}, row {without[0]} has no reference answer (gold)')
    asked = asked_in(run, [row.prompt for row in rows])
    if whole := sum(not one.exact for one in asked):
        remarks.append(
            f'the question cannot be cut out of {whole} prompts: a judge that reads questions is shown the '
            'whole prompt'
        )
    names = _names(run, asked)
    if not names:
        remarks.append(
            'contest, language and place of the questions are not known, so they are numbered: this result '
            'cannot be paired with those of new runs'
        )
        uids = [f'{run.dataset}/{number}' for number in range(len(rows))]
        names = [
            About(number, uid, uid, 'all', one.language)
            for number, (uid, one) in enumerate(zip(uids, asked, strict=True), 1)
        ]
    return [
        Responded(about, one.question, row.gold or '', row.responses, row.generations, places=row.places)
        for about, one, row in zip(names, asked, rows, strict=True)
    ]


def _check_all_asked(run: OldRun, rows: Sequence[Row]) -> None:
    """Raise InputError if a part is missing, or of another split, in a run of one sample a question.

    With n > 1 the rows tell, and a whole file is whole.
    """
    expected = live_math_bench_questions(run.version, run.splits, run.languages) or 0
    if run.n == 1 and run.in_parts and not run.part_of_rows and expected and len(rows) != expected:
        raise InputError(
            f'{len(run.parts)} parts of {run.dataset} hold {len(rows)} questions, and its data {expected}: '
            'finish the run with opencompass -r and the --max-num-workers of its start'
        )


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
