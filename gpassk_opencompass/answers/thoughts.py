"""What a response thinks aloud, apart from what it says."""

from __future__ import annotations

import re
from typing import NamedTuple

# How models mark what they think aloud: DeepSeek, Qwen and most others, Seed-OSS; Magistral; OpenThinker;
# Kimi; gpt-oss, whose thought ends where another channel begins.
_MARK = re.compile(
    r'<(?P<end>/?)(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning)>'
    r'|\[(?P<end2>/?)think\]'
    r'|<\|(?:begin|(?P<end3>end))_of_thought\|>'
    r'|◁(?P<end4>/?)think▷'
    r'|<\|channel\|>(?:analysis|(?P<end5>final|commentary))(?:<\|message\|>)?',
    re.IGNORECASE,
)
_HINTS = ('think>', 'thinking>', 'think]', 'think▷', 'thought', 'reasoning>', '|channel|')
"""Every mark holds one of them; most responses hold none, and substrings are found faster than a pattern."""

_QUOTES = frozenset('`"\'“”‘’「」')


class Parted(NamedTuple):
    """A text taken apart at its thought."""

    said: str
    """What follows the last end of a thought; where another one begins there and has no end, what stands
    between the two."""
    thought: str
    """All before the last end; of one without an end, all from where it begins. Marks at its ends are left
    out."""
    open: bool
    """Whether the last thought has no end."""


def part(text: str, quotable: str = '') -> Parted:
    """Take a text apart at its thought; takes time linear in the text.

    A mark in quotation marks is talked about and marks nothing.

    Args:
        text: of a model.
        quotable: what the text replies to. A mark that stands in it may be quoted without quotation marks; it
            begins a thought only where the text begins with it.

    >>> part('<think>2 + 2 = 4</think>It is 4.')
    Parted(said='It is 4.', thought='2 + 2 = 4', open=False)
    >>> part('<think>2 + 2')
    Parted(said='', thought='2 + 2', open=True)
    >>> part('Such a thought begins with "<think>".').thought
    ''
    """
    plain = text.casefold()
    if not any(hint in plain for hint in _HINTS):
        return Parted(text, '', False)
    begin = end = start = 0  # of what was thought, and of what is said
    opened: re.Match[str] | None = None
    for mark in _MARK.finditer(text):
        if _is_quoted(text, mark):
            continue
        if any(mark.groups()):
            end, start, opened = mark.start(), mark.end(), None
        elif opened is None:
            leads = not text[start : mark.start()].strip()
            if leads or mark[0] not in quotable:
                opened = mark
            if leads and not start:
                begin = mark.end()
    if opened is None:
        return Parted(text[start:], text[begin:end], False)
    return Parted(text[start : opened.start()], text[opened.end() :], True)


def without_ends(text: str) -> str:
    """Return a text without the marks that end a thought.

    >>> without_ends('2 + 2</think> = 4')
    '2 + 2 = 4'
    """
    return _MARK.sub(lambda mark: '' if any(mark.groups()) else mark[0], text)


def _is_quoted(text: str, mark: re.Match[str]) -> bool:
    before, after = text[mark.start() - 1 : mark.start()], text[mark.end() : mark.end() + 1]
    return before in _QUOTES and after in _QUOTES
