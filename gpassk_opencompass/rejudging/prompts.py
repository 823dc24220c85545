"""The question in a prompt: what OpenCompass put around it is taken off again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import MissingExtraError
from ..files import mapping
from ..judges.prompts import protocol_constants
from ..questions.wording import language_of
from .old_runs import OldRun

PROTOCOL = {'en': 'PROMPT_EN', 'cn': 'PROMPT_CN'}
"""Language → the name of its prompt in OpenCompass; all but 'en' are asked in Chinese."""


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
    """The question of each prompt, cut out by the prompt template in the run's config.

    The language is that of the protocol's prompt around it, where that is the one; else that of the text.
    """
    frames = list(_frames(run.config))
    return [_asked(prompt, frames, bool(run.config.get('cot', True))) for prompt in prompts]


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
    for slot, inner in (('{question}', [_Frame('', '', None)]), ('{prompt}', _protocol())):
        if template.count(slot) == 1:
            before, _, after = template.partition(slot)
            yield from (_Frame(before + one.before, one.after + after, one.language) for one in inner)


def _protocol() -> list[_Frame]:
    """The protocol's own prompts; none where OpenCompass is not installed."""
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
    """What the model is asked, of a template of one message; '' for any other."""
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
