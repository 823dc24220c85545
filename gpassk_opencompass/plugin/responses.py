"""What an engine's answer to one prompt is: the text that OpenCompass gets, and how it came to its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..answers.thoughts import opening_of, part, without_ends
from ..completion import ENDS, Reply, Trouble, reply_of
from ..health import CUT_OFF, NOT_DRAWN, Generation, state_of

OPEN, CLOSE = '<think>', '</think>'


def response_of(
    completion: Any, seconds: float | None = None, think_tag: str = CLOSE
) -> tuple[str, Generation]:
    """Return the text of a chat completion (JSON or `Reply`), and what its server tells of it.

    Reasoning that a server sends apart comes before the content, closed by `think_tag`; where there is no
    content it stays open (`<think>…`), so that nobody takes what stands in it for the answer. Whatever is no
    usual response has a state of `health.STATES`; of those in `NOT_DRAWN` the text is ''.

    >>> message = {'reasoning': '6 · 7', 'content': '42'}
    >>> response_of({'choices': [{'message': message, 'finish_reason': 'stop'}]})[0]
    '6 · 7</think>42'
    >>> message = {'reasoning': '6 · 7 is', 'content': None}
    >>> response_of({'choices': [{'message': message, 'finish_reason': 'length'}]})[0]
    '<think>6 · 7 is'
    >>> response_of({'choices': []})[1].state
    'no choice'
    """
    try:
        reply = completion if isinstance(completion, Reply) else reply_of(completion)
    except Trouble as trouble:
        return '', Generation(state='no choice' if trouble.reason == 'no choice' else 'failed')
    end = ENDS.get(reply.finish.casefold())
    text, state = _text_of(reply, think_tag), _state_of(reply, end)
    told = {
        'finish_reason': CUT_OFF if end == 'cut' else reply.finish,
        'prompt_tokens': reply.prompt_tokens,
        'output_tokens': reply.output_tokens,
        'seconds': seconds,
        'reasoning_tokens': reply.reasoning_tokens,
        'state': state,
    }
    if state in NOT_DRAWN:
        return '', Generation.from_json(told)
    # What was sent apart is no part of the text that tells, whatever `think_tag` is.
    telling = reply.text if reply.text.strip() else text
    return text, with_states([telling], [Generation.from_json(told)])[0]


def with_states(texts: Sequence[str], told: Sequence[Generation]) -> list[Generation]:
    """Return what an engine told of its responses, with the states that their texts show.

    For engines that name none themselves.

    >>> [one.state for one in with_states(['', 'It is 4.'], [Generation('stop'), Generation('stop')])]
    ['empty', None]
    """
    return [
        one._replace(state=one.state or state_of(text, part(text).said, None, one.finish_reason))
        for text, one in zip(texts, told, strict=True)
    ]


def mended(text: str, told: Generation, prompt: str) -> str:
    """Return the text of an engine in this process as it is kept.

    One that was not drawn has none, whatever the engine put there. A thought that the prompt (with its chat
    template) began and the limit cut gets its mark: some templates end with `<think>`, and a response that
    never got to `</think>` looks like an answer. One that ended by itself is left: its model did not think.

    >>> mended('6 · 7 is', Generation('length'), '<|Assistant|><think>')
    '<think>6 · 7 is'
    >>> mended('6 · 7</think>It is 4', Generation('length'), '<|Assistant|><think>')
    '6 · 7</think>It is 4'
    >>> mended('internal error', Generation('error', state='aborted'), '<|Assistant|>')
    ''
    """
    if told.state in NOT_DRAWN:
        return ''
    opening = opening_of(prompt) if told.finish_reason == CUT_OFF else ''
    return f'{opening}{text}' if opening and not part(text).thought else text


def _text_of(reply: Reply, think_tag: str) -> str:
    content = reply.text if reply.text.strip() else reply.refusal or reply.text
    if not reply.thought:
        return content
    if content.strip():
        return f'{reply.thought}{think_tag}{content}'
    return f'{OPEN}{without_ends(reply.thought)}'  # an end within it would make an answer of what follows


def _state_of(reply: Reply, end: str | None) -> str | None:
    """Return the state that a server names; None where only the text can tell."""
    if reply.refusal or reply.finish.casefold() == 'refusal':
        return 'refusal'
    if end in NOT_DRAWN:
        return end
    return 'tool call' if reply.calls_tool and not reply.text.strip() and end != 'cut' else None
