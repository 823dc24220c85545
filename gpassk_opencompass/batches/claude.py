"""What stands in a message of Anthropic's API: its text and thought, how it ended and what it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..chat.completion import Reply
from ..files import mapping

OWN_ENDS = frozenset({'end_turn', 'stop_sequence'})
"""Stop reasons of a message that came to its own end, which a chat completion calls 'stop'."""

HIDDEN_THOUGHT = '[redacted]'
"""Stands for a thought that the API does not show, where there is nothing else."""

_THOUGHTS = frozenset({'thinking', 'redacted_thinking'})


def reply_in(message: Mapping[str, Any]) -> Reply:
    """Return what stands in a message.

    Args:
        message: as `result.message` of a batch has it.

    >>> blocks = [{'type': 'thinking', 'thinking': '2+2'}, {'type': 'text', 'text': '4'}]
    >>> reply_in({'content': blocks, 'stop_reason': 'end_turn'})[:2]
    ('4', 'stop')
    """
    content = message.get('content')
    blocks = [mapping(block) for block in content] if isinstance(content, list) else []
    text, thought = _joined(blocks, 'text'), _joined(blocks, 'thinking')
    if not text and not thought and any(block.get('type') in _THOUGHTS for block in blocks):
        thought = HIDDEN_THOUGHT
    reason, usage = str(message.get('stop_reason') or ''), mapping(message.get('usage'))
    return Reply(
        text,
        'stop' if reason in OWN_ENDS else reason,
        str(message.get('model') or ''),
        thought=thought,
        calls_tool=any(block.get('type') == 'tool_use' for block in blocks),
        prompt_tokens=_prompt_tokens(usage),
        output_tokens=usage.get('output_tokens'),
        reasoning_tokens=mapping(usage.get('output_tokens_details')).get('thinking_tokens'),
    )


def _prompt_tokens(usage: Mapping[str, Any]) -> int | None:
    """Return the tokens of the prompt, of which `input_tokens` are those that were not cached."""
    parts = [usage.get(f'{part}input_tokens') for part in ('', 'cache_creation_', 'cache_read_')]
    known = [part for part in parts if isinstance(part, int)]
    return sum(known) if known else None


def _joined(blocks: Sequence[Mapping[str, Any]], kind: str) -> str:
    parts = [block.get(kind) for block in blocks if block.get('type') == kind]
    return ''.join(part for part in parts if isinstance(part, str))
