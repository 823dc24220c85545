r"""Boxes in a response: where they stand, what they hold, the sign before them, and which make one answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_REACH = 80  # characters before the box that are looked at

_OPENING = (
    r'(?:\$\$?|\\[(\[,;:! ]|\\q?quad(?![a-zA-Z])|\\left(?![a-zA-Z])|\\displaystyle(?![a-zA-Z])|[{*~`\s])*$'
)
_ANY = re.compile(r'[-−–±∓<>≤≥≠]|\\(?:pm|mp|le|ge|lt|gt|ne|not)')
_SIGN_BEFORE = re.compile(r'(?P<sign>\\pm(?![a-zA-Z])|\\mp(?![a-zA-Z])|[±∓−–-])(?P<gap>' + _OPENING + ')')
_RELATED = re.compile(
    r'(?P<left>(?<![a-zA-Z\\])(?:\\[a-zA-Z]+|[a-zA-Z])(?:_\{?\w{1,4}\}?|\([a-zA-Z]\))?\s*)?'
    r'(?P<relation>\\(?:leqslant|geqslant|leq|geq|le|ge|lt|gt|neq|ne|not\s?=)(?![a-zA-Z])|(?:<|>)=?|[≤≥≠])'
    + _OPENING
)
_AFTER_RELATION = re.compile(
    r'(?:=|[<>≤≥≠≈]|\\(?:leqslant|geqslant|leq|geq|le|ge|lt|gt|neq|ne|approx|equiv)(?![a-zA-Z]))\s*$'
)
_AFTER_OPENER = re.compile(r'(?:(?:^|[\s:：,，(（*\u4e00-\u9fff])\$\$?|\\\(|\\\[)\s*$')
_ARROW_OR_TAG = re.compile(r'(?:[-=]>|</?[a-zA-Z|][^<>\n]*>|(?:^|\n)\s*>)\s*' + _OPENING)
_SPELLED = {'±': r'\pm ', '∓': r'\mp ', r'\pm': r'\pm ', r'\mp': r'\mp ', '−': '-', '–': '-', '-': '-'}
_LETTER = re.compile(r'(?:\\text\{)?\(?[A-Z]\)?\}?')
_RELATION_INSIDE = re.compile(r'[=<>≤≥≠]|\\(?:le|ge|ne|in)(?:q|qslant)?(?![a-zA-Z])')


def with_sign(text: str, start: int, content: str) -> str:
    r"""Return `content` of the box that starts at `start` of `text`, with its sign and relation.

    A hyphen is a sign behind a relation, at the start of a formula, and where it touches the box behind a
    blank; it is none as a dash, as the bullet of a list, or between two terms. `=` and `\approx` go.

    >>> response = r'so $x = -\boxed{5}$'
    >>> with_sign(response, response.index('\\boxed'), '5')
    '-5'
    """
    before = text[max(0, start - _REACH) : start]
    if not _ANY.search(before) or _RELATION_INSIDE.search(content) or _LETTER.fullmatch(content):
        return content
    sign = _SIGN_BEFORE.search(before)
    if sign and _unary(before[: sign.start()], sign['gap']):
        content = _SPELLED[sign['sign']] + _grouped(content)
        before = before[: sign.start()]
    if _ARROW_OR_TAG.search(before):
        return content
    related = _RELATED.search(before)
    if not related:
        return content
    left = (related['left'] or '').strip()
    return f'{left} {related["relation"]} {content}'.strip()


_MEMBER_BEFORE = re.compile(
    r'(?:[-+*/^_(){}\[\]|!0-9a-zA-Z.\s·×]|\\(?:[cdt]?frac|sqrt|pi|cdot|times|log|ln|sin|cos|tan|left|lfloor)(?![a-zA-Z]))*\Z'
)
_MEMBER_AFTER = re.compile(
    r'(?:[-+*/^_(){}\[\]|!0-9a-zA-Z.\s·×%]|\\%|\\(?:[cdt]?frac|sqrt|pi|cdot|times|log|ln|sin|cos|tan|right|rfloor|circ)(?![a-zA-Z]))*'
)
_SCALE_AFTER = re.compile(
    r'[\s$*~]*(?:\\[ ,;])?\s*(?:\\text\s*\{\s*)?(?P<scale>hundreds?|thousands?|millions?|billions?|trillions?|dozens?|percent|tenths|hundredths'
    r'|thousandths|[百千万亿])(?![a-zA-Z])'
)
_SPACING = re.compile(r'\\[,;:! ]|\\q?quad(?![a-zA-Z])|~|\\(?:displaystyle|left|right)(?![a-zA-Z])')
_NEW_MEMBER = re.compile(r'.*(?:=|[<>≤≥≠≈:：,，;；&]|\\(?:leq?|geq?|leqslant|geqslant|neq?|lt|gt|approx|equiv|to|Rightarrow|implies|quad|\\)(?![a-zA-Z]))', re.DOTALL)
_OPENS = re.compile(r'(?<!\\)\$\$?|\\[(\[]')
_CLOSES = re.compile(r'\$|\\[)\]]|=|[<>≤≥≠≈,，;；&\n]|\\(?:leq?|geq?|neq?|lt|gt|approx|equiv|to|Rightarrow|implies|quad|qquad|text|\\)(?![a-zA-Z])')
_LONGEST_LINE = 400


def with_factors(text: str, box: _Box, content: str) -> tuple[int, str]:
    r"""Return where the member of a formula begins in which a box stands, and that member, not the box alone.

    A box beside an equals sign that follows it is a blank that is filled in: it is the answer.

    >>> last_boxes(r'$2 \cdot \boxed5$').answers, last_boxes(r'$3 \cdot \boxed4 = 12$').answers
    (['2\\cdot (5)'], ['4'])
    """
    if scale := _SCALE_AFTER.match(text, box.end):
        return box.start, rf'{content} \text{{ {scale["scale"]}}}'
    line = max(text.rfind('\n', 0, box.start) + 1, box.start - _LONGEST_LINE)
    opened = list(_OPENS.finditer(text, line, box.start))
    if opened and opened[-1][0][0] == '$' and sum(one[0][0] == '$' for one in opened) % 2 == 0:
        return box.start, content
    before = text[opened[-1].end() if opened else line : box.start]
    behind = text[box.end : box.end + _LONGEST_LINE]
    end = _CLOSES.search(behind)
    after = behind[: end.start()] if end else behind
    if (end and end[0] in {'=', r'\approx', '≈'}) or _WORD.search(f"{before} {after}"):
        return box.start, content
    if member := _NEW_MEMBER.match(before):
        before = before[member.end() :]
    begins = box.start - len(before)
    before, after = (_SPACING.sub(' ', part).strip() for part in (before, after))
    after = after.rstrip(' .')
    if not (before.strip('+-−{ ') or after.strip('{} ')) or re.fullmatch(r'\^\s*\{?\s*\\circ\s*\}?', after):
        return box.start, content
    if not _MEMBER_BEFORE.match(before) or not _MEMBER_AFTER.fullmatch(after):
        return box.start, content
    whole = f'{before}({content}){after}' if before else f'({content}){after}'
    return (begins, whole) if whole.count('{') == whole.count('}') else (box.start, content)


def _unary(before: str, gap: str) -> bool:
    """Whether a sign between `before` and the box is one of the box alone."""
    if _AFTER_RELATION.search(before) or _AFTER_OPENER.search(before):
        return True
    if gap and gap[0].isspace():
        return False
    return not before or before[-1] in ' \t\n:：,，(（{*' or '\u4e00' <= before[-1] <= '\u9fff'


def _grouped(content: str) -> str:
    r"""Put it in brackets where a sign before it would reach only its first term."""
    return f'({content})' if re.search(r'[-+−]|\\pm', content) else content


# Up to four backslashes: a response that was escaped once too often, or a line break before the box.
_BOX_OR_BRACE = re.compile(r'(?P<box>\\{1,4}(?:boxed|fbox|framebox)(?![a-zA-Z])\s*)|\\.|[{}]', re.DOTALL)
_FIRST_BOX = re.compile(r'(?<!\\)\\+(?:boxed|fbox|framebox)(?![a-zA-Z])')
_LONGEST_PREFIX = len('frame')
"""Of what stands before 'box' in the name of a command."""
_PLAIN = r'[^{}\\]*(?:\\.[^{}\\]*)*'
_ONE_BOX = re.compile(
    rf'(?<!\\)\\boxed\s*\{{(?P<content>{_PLAIN}(?:\{{{_PLAIN}(?:\{{{_PLAIN}\}}{_PLAIN})*\}}{_PLAIN})*)\}}',
    re.DOTALL,
)
"""A box with balanced braces, of which up to two are open at once inside it."""
_SOLID = re.compile(r'\S')
_BARE_BOX = re.compile(r'[-+]?[0-9](?:[0-9.,/]*[0-9])?|[A-Z](?![A-Za-z])')

# What stands between two boxes is looked at from its end: "\boxed{1} \text{ apples}\n2. or $x = \boxed{2}".
_LONGEST_TIE = 120
_UNWRITTEN = re.compile(r'\$|\\[()\[\],;:! ]|\\q?quad|\\(?:text|mathrm|textbf)(?![a-zA-Z])|[{}*`~]')
_COMMAND = re.compile(r'(\\[a-zA-Z]+)\s+')
_SIGN = re.compile(r'(?:[-−–±∓]|\\pm|\\mp)\s*$')
_NAME = re.compile(
    r'[^\s,，、;；.。=\u4e00-\u9fff]{1,60}\s*(?:=|[<>≤≥≠]|\\(?:le|ge|lt|gt|ne)(?:q|qslant)?(?![a-zA-Z]))\s*$'
)
_WORD = re.compile(r'(?<![\\a-zA-Z])[a-zA-Z]{2,}')
_MARKER = re.compile(
    r'(?:(?:^|\n)\s*[-+•]|[(（]?(?<![^\W_])[0-9a-zA-ZⅠ-Ⅻ一二三四五六]{1,3}[.)、．）](?<!\w\.\w\.)|[①-⑳]'
    r'|(?i:option|case|answer|solution|candidate|part|选项|情况|答案|解)\s{0,2}[0-9a-zA-Z一二三四]{1,2}\s?[:：.)])\s*$'
)
_AND_OR = re.compile(
    r'(?:(?<![a-zA-Z])(?:and|or|versus|vs\.?)|&|/|以及|和|或者|或是|或|与|及)'
    r'(?:\s(?:maybe|possibly|perhaps|also|even|else|about|approximately|roughly))?\s*$'
)
_STOP = re.compile(r'[,，、;；.。]\s*$')
_ROUGHLY = re.compile(
    r'[\s,，.。(（]*(?:(?:or|and|that is|which is|i\.e\.|or,)?\s*(?:about|approximately|roughly)|\\approx|≈|(?:即|也即|或)?(?:大约|约等于|约为|约是|约))'
    r'(?:\s*(?:equal to|is|=))?\s*\Z'
)
_REMARK = re.compile(r'[^.。\n=\\]{0,60}')
_UNIT = re.compile(r'\s*(?:[^\W\d_][\w/^°]*\s*){0,3}')
_DOUBT = re.compile(
    r'(?i)\b(?:maybe|perhaps|possibly|alternatively|either|else|another|could|might|may)\b|可能|也许|或许|抑或|要么'
)
_DECISION = re.compile(
    r'(?i)\b(?:no|not|wait|actually|correct\w*|mistake\w*|error|wrong|instead|rather|should|therefore|thus|hence|so'
    r'|final\w*|conclu\w+|check\w*|verif\w+|because|since|then|express\w*|writ\w+|simpl\w+|equivalent\w*)\b'
    r'|不|更正|错|应|因此|所以|故|最终|综上|等等|检查|检验|验证|则|写'
)


class Boxes(NamedTuple):
    """The last answer in boxes."""

    answers: list[str]
    """The contents of the last box and of those tied to it, with their signs, in the order of the text."""
    end: int
    """Where the last box ends; 0 where there is none."""
    open: bool
    """Whether a later box never closes."""


class _Box(NamedTuple):
    """Where a box stands in the text, and what it holds (places, not copies: boxes nest)."""

    start: int
    end: int
    content: tuple[int, int]


def last_boxes(text: str) -> Boxes:
    r"""Return what the last box of `text` holds, and what those hold that make one answer with it.

    Two boxes are tied where no more than this stands between them: a unit, a comma or a stop, "and" or "or",
    a line break, the marker of a list, `x =`; or a short passage that voices doubt ("it could also be").

    >>> last_boxes(r'$x = \boxed{2}$ or $x = -\boxed{3}$.').answers
    ['2', '-3']
    """
    if (only := _only_box(text)) is not None:
        return only
    boxes, open_box = _boxes(text)
    if not boxes:
        return Boxes([], 0, open_box)
    first = len(boxes) - 1
    while first and _tied(text, boxes[first - 1].end, boxes[first].start):
        first -= 1
    answers = [
        with_sign(text, *with_factors(text, box, text[slice(*box.content)].strip())) for box in boxes[first:]
    ]
    return Boxes(answers, boxes[-1].end, open_box)


def _only_box(text: str) -> Boxes | None:
    """Return the one box of a text that has one at its end, as most have; None where one has to look closer.

    Such a box is found from the end, and what a response consists of is gone through once at most.
    """
    found = _ONE_BOX.match(text, max(0, text.rfind('box') - 1))
    if found is None:
        return None
    start, end = found.span()
    content = found['content'].strip()
    # What closes behind the box may be one around it; a command needs a backslash, which is found at once.
    if (
        not content
        or text.find('}', end) >= 0
        or 0 <= text.find('\\', 0, start) <= text.rfind('box', 0, start)
    ):
        return None
    box = _Box(start, end, found.span('content'))
    return Boxes([with_sign(text, *with_factors(text, box, content))], end, False)


def _boxes(text: str) -> tuple[list[_Box], bool]:
    """Return the complete, non-empty, outermost boxes, and whether the last box is left open."""
    boxes: list[_Box] = []
    # Where the content starts; where the box starts, if it is one.
    open_braces: list[tuple[int, int | None]] = []
    box_start: int | None = None
    # Braces before the first box change nothing, and a response is mostly that.
    first = _first_box(text)
    for match in () if first is None else _BOX_OR_BRACE.finditer(text, first):
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


def _first_box(text: str) -> int | None:
    """Return where the first command of a box starts; a substring is found faster than a pattern."""
    named = text.find('box')
    if named < 0:
        return None
    before = text[: max(0, named - _LONGEST_PREFIX)]
    found = _FIRST_BOX.search(text, len(before.rstrip('\\')))
    return found.start() if found else None


def _bare_box(text: str, command: re.Match[str]) -> Iterator[_Box]:
    r"""Read `\boxed 5`: TeX boxes one token; a whole number or one letter is meant."""
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


def _tied(text: str, start: int, end: int) -> bool:
    """Whether the boxes before and behind this passage make one answer."""
    if end - start > _LONGEST_TIE:
        return False
    between = _COMMAND.sub(r'\1', _UNWRITTEN.sub('', text[start:end]))
    if _DOUBT.search(between) and not _DECISION.search(between):
        return True
    return _joins(_without_name(between))


def _without_name(between: str) -> str:
    """Return it without `x =`, `f(x) =` or `x = -` at its end, or the minus of `or -`."""
    unsigned = _SIGN.sub('', between)
    if any(before.search(unsigned) for before in (_NAME, _AND_OR, _STOP)):
        between = unsigned
    name = _NAME.search(between)
    return between[: name.start()] if name and not _WORD.search(name[0]) else between


def _joins(between: str) -> bool:
    if _ROUGHLY.fullmatch(between):
        return True
    marked = _MARKER.sub('', between)
    joined = _AND_OR.sub('', marked)
    rest = _STOP.sub('', joined)
    if not rest.strip():
        return True
    # Words may stand here only where something joins what follows them: not "\boxed{3} gives \boxed{5}".
    if joined != marked:
        return bool(_REMARK.fullmatch(rest)) and not _DECISION.search(rest)
    return rest != marked and bool(_UNIT.fullmatch(rest)) and not _DECISION.search(rest)
