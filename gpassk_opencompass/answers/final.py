r"""The final answer of a response.

A response states its answer in a box (`\boxed{…}`, `\fbox{…}`) or in words ("the answer is …", "答案是…").
The last box wins; without a box, the last spoken form; otherwise there is no answer. Whatever a model writes
up to `</think>` counts only if nothing after it holds an answer. All of it takes time linear in the response.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_THOUGHT = ('<think>', '</think>')

# Up to four backslashes: a response that was escaped once too often, or a line break before the box.
_BOX_OR_BRACE = re.compile(r'(?P<box>\\{1,4}(?:boxed|fbox|framebox)(?![a-zA-Z])\s*)|\\.|[{}]', re.DOTALL)
_FIRST_BOX = re.compile(r'(?<!\\)\\+(?:boxed|fbox|framebox)(?![a-zA-Z])')
_SOLID = re.compile(r'\S')
_BARE_BOX = re.compile(r'[-+]?[0-9](?:[0-9.,/]*[0-9])?|[A-Z](?![A-Za-z])')

# What may stand between two boxes that make one answer: "\boxed{1} \text{ apples or } x = \boxed{2}".
_FILLER = re.compile(r'\s|\$|\\[()\[\],;: ]|\\q?quad|\\text|[{}*]')
_JOINER = re.compile(r'[^.。\\]*(?:and|or|&|和|或者?|与|及|[,;，；、])(?:\w{1,8}=)?')
_LONGEST_JOINER = 60

_SPOKEN = re.compile(
    r'(?i:\banswers?)'
    r'(?:(?i:\s{1,3}(?:to|for|of)\b[^.:\n]{0,80}?)?'
    r'(?i:\s{1,3}(?:is|are|=|(?:should|must|would|will)\s{1,3}be)(?!\w))'
    r'|["”*_ ]{0,6}[:：])'
    r'|(?im:^[ #*_]{0,6}(?:the\s)?(?:final\s)?answers?[ #*_]{0,6}$)'
    r'|答案(?:应该是|应是|应为|是|为|选|["”*_ ]{0,6}[:：])'
    r'|最终答案'
    r'|(?:故|应|因此|所以)选'
)
_WINDOW = 2000
_ATTEMPTS = 3
_SENTENCE_END = re.compile(r'\.(?=\s|$)|[。？\n]|，(?=[\u4e00-\u9fff])|,?\s(?:because|since)\b')
_MATH = (('$$', '$$'), ('$', '$'), (r'\[', r'\]'), (r'\(', r'\)'))
_SET_OFF = re.compile(r'[\s:：=]{0,9}(?:"(?P<quoted>[^"\n]*)"|\*\*(?=\S)(?P<bold>[^*\n]+)(?<=\S)\*\*)')
_LEADING = ' \t\r\n*_`:：=，,是为'
_TRAILING = ' \t\r*_`"”.,;:，；：。'

# A text without an answer that stops after one of these was not finished.
_UNFINISHED = re.compile(r'[A-Za-z\u4e00-\u9fff,，、;；:：=+\-*/^_<(\[{（\\]$')


class FinalAnswer(NamedTuple):
    """The final answer of a response, as written (use `answers.normal_form` to compare it)."""

    text: str
    """The answer; '' where the response has none."""
    boxed: bool
    """Whether the answer stood in a box."""
    cut_off: bool
    """Whether the response looks cut off: its last box or its thinking is not closed, or it has no answer
    and stops in the middle of a sentence. An answer may have been found before that place."""


class _Box(NamedTuple):
    """Where a box stands in the text, and what it holds (places, not copies: boxes nest)."""

    start: int
    end: int
    content: tuple[int, int]


class _Found(NamedTuple):
    text: str
    boxed: bool
    open_box: bool


def final_answer(response: str) -> FinalAnswer:
    r"""The final answer that `response` states.

    - The last box with balanced braces counts; text after it does not matter. Boxes tied to it by no more
      than a comma, "and", "or" (also in Chinese) make one answer together: taking the last alone would make
      a guess of several values right. A box in a box is opened; an empty one is passed over.
    - Without a box, what follows the last "the answer is", "Answer:", "答案是", "最终答案", … up to the end
      of the sentence, without its math delimiters.
    - If the last box never closes, the last one that does is taken, then a spoken form.

    >>> final_answer(r'So $x = \boxed{\frac{1}{2}}$, as claimed.')
    FinalAnswer(text='\\frac{1}{2}', boxed=True, cut_off=False)
    >>> final_answer('<think>Perhaps \\boxed{3}?</think> 所以答案是 $4$。').text
    '4'
    >>> final_answer(r'Therefore the result is \boxed{12')
    FinalAnswer(text='', boxed=False, cut_off=True)
    """
    thought, closed, reply = response.rpartition(_THOUGHT[1])
    found = _search(reply)
    cut_off = found.open_box or _THOUGHT[0] in reply or (not found.text and _unfinished(reply))
    if closed and not found.text:
        found = _search(thought)
    return FinalAnswer(found.text, found.boxed, cut_off)


def _search(text: str) -> _Found:
    boxes, open_box = _boxes(text)
    if boxes:
        return _Found(', '.join(_last_answer(text, boxes)), True, open_box)
    return _Found(_spoken(text), False, open_box)


def _unfinished(reply: str) -> bool:
    return bool(_UNFINISHED.search(reply.rstrip()[-1:]))


def _boxes(text: str) -> tuple[list[_Box], bool]:
    """The complete, non-empty boxes that lie in no other one, and whether the last box is left open."""
    boxes: list[_Box] = []
    # Where the content starts; where the box starts, if it is one.
    open_braces: list[tuple[int, int | None]] = []
    box_start: int | None = None
    # Braces before the first box change nothing, and a response is mostly that.
    first = _FIRST_BOX.search(text)
    for match in _BOX_OR_BRACE.finditer(text, first.start()) if first else ():
        if match['box']:
            box_start = match.start()
            if not text.startswith('{', match.end()):
                boxes.extend(_bare_box(text, match))
                box_start = None
        elif match[0] == '{':
            open_braces.append((match.end(), box_start))
            box_start = None
        elif match[0] == '}' and open_braces:
            content, start = open_braces.pop()
            if start is not None:
                _close(boxes, text, start, content, match.start())
    open_box = max((start for _, start in open_braces if start is not None), default=-1)
    return boxes, open_box > (boxes[-1].start if boxes else -1)


def _bare_box(text: str, command: re.Match[str]) -> Iterator[_Box]:
    r"""`\boxed 5`: TeX boxes one token; a whole number or one letter is meant."""
    if value := _BARE_BOX.match(text, command.end()):
        yield _Box(command.start(), value.end(), value.span())


def _close(boxes: list[_Box], text: str, start: int, content: int, end: int) -> None:
    """Add the box that ends at `end`, in the place of those inside it."""
    inner = None
    while boxes and boxes[-1].start > start:
        inner = boxes.pop()
    if inner and not _SOLID.search(text, content, inner.start) and not _SOLID.search(text, inner.end, end):
        boxes.append(_Box(start, end + 1, inner.content))
    elif _SOLID.search(text, content, end):
        boxes.append(_Box(start, end + 1, (content, end)))


def _last_answer(text: str, boxes: list[_Box]) -> list[str]:
    """The content of the last box and of those tied to it, in the order of the text, each once."""
    first = len(boxes) - 1
    while first and _tied(text[boxes[first - 1].end : boxes[first].start]):
        first -= 1
    return list(dict.fromkeys(text[slice(*box.content)].strip() for box in boxes[first:]))


def _tied(between: str) -> bool:
    if len(between) > _LONGEST_JOINER:
        return False
    return bool(_JOINER.fullmatch(_FILLER.sub('', between)))


def _spoken(text: str) -> str:
    ends = [match.end() for match in _SPOKEN.finditer(text)]
    statements = (_statement(text[end : end + _WINDOW]) for end in reversed(ends[-_ATTEMPTS:]))
    return next((statement for statement in statements if statement), '')


def _statement(rest: str) -> str:
    if set_off := _SET_OFF.match(rest):
        rest = set_off['quoted'] or set_off['bold'] or ''
    rest = rest.lstrip(_LEADING)
    return _formula(rest) or _sentence(rest)


def _formula(rest: str) -> str:
    """The formula that `rest` starts with, if nothing follows it in its sentence; '' otherwise."""
    for opener, closer in _MATH:
        if rest.startswith(opener):
            formula, _, after = rest[len(opener) :].partition(closer)
            return '' if _sentence(after) else formula.strip()
    return ''


def _sentence(rest: str) -> str:
    return _SENTENCE_END.split(rest, maxsplit=1)[0].strip(_TRAILING).strip()
