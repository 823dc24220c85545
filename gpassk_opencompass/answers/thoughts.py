"""What a response thinks aloud, apart from what it says."""

from __future__ import annotations

import re
from typing import NamedTuple

# How models mark what they think aloud: DeepSeek, Qwen and most others, Seed-OSS; Magistral; OpenThinker;
# Kimi; gpt-oss, whose thought ends where another channel begins, with its special tokens and without; Gemma.
# A group stands where the mark is an end.
_MARK = re.compile(
    r'<(?:(/))?(?:[a-z0-9_-]{1,12}:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad)>'
    r'|(?-i:\[(?:(/))?THINK\])'  # in small letters it is a heading
    r'|<\|(?:begin|(end))_of_thought\|>|◁(?:(/))?think▷'
    r'|<\|channel\|>(?:analysis|(final|commentary))(?:<\|message\|>)?|<unused(?:94>(?:thought)?|(95)>)'
    r'|(?-i:\Aanalysis\s?(?=[A-Z\u4e00-\u9fff])|(assistantfinal))',
    re.IGNORECASE,
)
# A substring is found faster than a pattern; each mark in angle brackets holds one, in small letters.
_HINTS = (
    'think> thinking> think▷ thought reasoning> reason> reflection> analysis> scratchpad> |channel| <unused9'
).split()
_QUOTATIONS = frozenset({'``', '""', "''", '“”', '‘’', '「」', '《》'})


class Parted(NamedTuple):
    """A text taken apart at its thought."""

    said: str
    """The last of what stands outside thoughts that is not blank: mostly what follows the last end."""
    thought: str
    """The thoughts, one behind the other, without their marks."""
    open: bool
    """Whether the last thought has no end."""
    doubtful: bool = False
    """Whether a mark within a line begins a thought that has no end: it may be one, or be talked about."""


def part(text: str, quotable: str = '') -> Parted:  # noqa: C901
    """Take the text of a model apart at its thought, in linear time.

    A mark in quotation marks is talked about and marks nothing; one that stands in `quotable`, what the text
    replies to, begins a thought only where the text begins with it. Where the first mark is an end, all
    before it is a thought: templates of chats often begin one.

    >>> part('<think>2 + 2 = 4</think>It is 4.')
    Parted(said='It is 4.', thought='2 + 2 = 4', open=False, doubtful=False)
    >>> part('<think>2 + 2').open, part('Such a thought begins with "<think>".').thought
    (True, '')
    """
    if not (text.startswith('analysis') or 'THINK]' in text or 'assistantfinal' in text):
        plain = text.casefold() if '<' in text or '◁' in text else ''
        if not any(hint in plain for hint in _HINTS):
            return Parted(text, '', False)
    spoken: list[str] = []
    thoughts: list[str] = []
    start = 0  # of what stands behind the last end
    opened: tuple[re.Match[str], bool] | None = None  # and whether it begins its line
    for mark in _MARK.finditer(text):
        at, end = mark.span()
        before = text[at - 2 : at - 1]
        # Where text touches the first quotation mark, it ends a quotation, and the thought with it.
        touched = before in frozenset('.,;!?)]}') or (before.isascii() and before.isalnum())
        if text[at - 1 : at] + text[end : end + 1] in _QUOTATIONS and not touched:
            continue
        if mark.lastindex:
            begin = opened[0] if opened else None
            if begin or thoughts:
                spoken.append(text[start : (begin or mark).start()])
            if begin or not thoughts:
                thoughts.append(text[begin.end() if begin else 0 : mark.start()])
            start, opened = mark.end(), None
        elif opened is None or not opened[1]:
            blank = at
            while blank > start and text[blank - 1].isspace():
                blank -= 1
            leads = blank == start
            begins_line = leads or '\n' in text[blank:at] or text.startswith('<|', at)
            if (begins_line or opened is None) and (leads or mark[0] not in quotable):
                opened = mark, begins_line
    last = opened[0] if opened and opened[1] else None
    spoken.append(text[start : last.start() if last else len(text)])
    thoughts += [text[last.end() :]] if last else []
    said = next((span for span in reversed(spoken) if span.strip()), spoken[-1])
    return Parted(said, ''.join(thoughts), last is not None, opened is not None and last is None)


def thought_in(text: str) -> int | None:
    """Return how many characters at the beginning of a response are its thought; None where there is none."""
    parted = part(text)
    return len(text) - len(parted.said) if parted.thought and text.endswith(parted.said) else None


def opening_of(prompt: str) -> str:
    """Return the mark of the thought that a prompt ends with, as a chat template may; '' if with none."""
    end = prompt[-64:].rstrip()
    return next((one[0] for one in _MARK.finditer(end) if one.end() == len(end) and not one.lastindex), '')


def without_ends(text: str) -> str:
    """Return a text without the marks that end a thought."""
    return _MARK.sub(lambda mark: '' if mark.lastindex else mark[0], text)
