r"""The final answer of a response.

A response states its answer in a box (`\boxed{…}`, `\fbox{…}`) or in words ("the answer is …", "答案是…").
The last box wins, unless a later statement takes it back; without a box, the last spoken form; otherwise
there is no answer. Several that differ are no choice: see `hedges`. What a model thinks aloud (`thoughts`) is
no answer: only what follows the thought can be one. All of it takes time linear in the response.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from .formula import Unread, read_expression, tokens_of
from .normal import ascii_latex, join_thousands, normal_form
from .numeric import value_of
from .thoughts import Parted, part

_REACH = 80  # characters before the box that are looked at

_BOX_LEAD = (
    r'(?:\$\$?|\\[(\[,;:! ]|\\q?quad(?![a-zA-Z])|\\left(?![a-zA-Z])|\\displaystyle(?![a-zA-Z])|[{*~`\s])*$'
)
_ANY = re.compile(r'[-−–±∓<>≤≥≠]|\\(?:pm|mp|le|ge|lt|gt|ne|not)')
_SIGN_BEFORE = re.compile(r'(?P<sign>\\pm(?![a-zA-Z])|\\mp(?![a-zA-Z])|[±∓−–-])(?P<gap>' + _BOX_LEAD + ')')
_RELATED = re.compile(
    r'(?P<left>(?<![a-zA-Z\\])(?:\\[a-zA-Z]+|[a-zA-Z])(?:_\{?\w{1,4}\}?|\([a-zA-Z]\))?\s*)?'
    r'(?P<relation>\\(?:leqslant|geqslant|leq|geq|le|ge|lt|gt|neq|ne|not\s?=)(?![a-zA-Z])|(?:<|>)=?|[≤≥≠])'
    + _BOX_LEAD
)
_AFTER_RELATION = re.compile(
    r'(?:=|[<>≤≥≠≈]|\\(?:leqslant|geqslant|leq|geq|le|ge|lt|gt|neq|ne|approx|equiv)(?![a-zA-Z]))\s*$'
)
_AFTER_OPENER = re.compile(r'(?:(?:^|[\s:：,，(（*\u4e00-\u9fff])\$\$?|\\\(|\\\[)\s*$')
_ARROW_OR_TAG = re.compile(r'(?:[-=]>|</?[a-zA-Z|][^<>\n]*>|(?:^|\n)\s*>)\s*' + _BOX_LEAD)
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


_TERM = (
    r'[-+*/^_(){}\[\]|!0-9a-zA-Z.\s·×%]|\\%'
    r'|\\(?:[cdt]?frac|sqrt|pi|cdot|times|log|ln|sin|cos|tan|[lr]floor|circ)(?![a-zA-Z])'
)
_MEMBER = re.compile(f'(?:{_TERM})*')
_SCALE_AFTER = re.compile(
    r'[\s$*~]*(?:\\[ ,;])?\s*(?:\\text\s*\{\s*)?(?P<scale>(?:hundred|thousand|million'
    r'|billion|trillion|dozen)s?|percent'
    r'|tenths|hundredths|thousandths|[百千万亿])(?![a-zA-Z])'
)
_SPACING = re.compile(r'\\[,;:! ]|\\q?quad(?![a-zA-Z])|~|\\(?:displaystyle|left|right)(?![a-zA-Z])')
_RELATION_SIGN = (
    r'=|[<>≤≥≠≈,，;；&]|\\\\'
    r'|\\(?:leq?|geq?|leqslant|geqslant|neq?|lt|gt|approx|equiv|to|Rightarrow|implies|q?quad)(?![a-zA-Z])'
)
_NEW_MEMBER = re.compile(f'.*(?:{_RELATION_SIGN}|[:：])', re.DOTALL)
_MEMBER_ENDS = re.compile(rf'\$|\\[)\]]|\n|\\text(?![a-zA-Z])|{_RELATION_SIGN}')
_OPENS = re.compile(r'(?<!\\)\$\$?|\\[(\[]')
_LONGEST_LINE = 400
_ALONE_BEHIND, _ALONE_BEFORE = frozenset({'$', '['}), frozenset({'', '$', '.', '\n'})
"""What stands on both sides of a box that is a formula of its own, as most are."""
_MOST_TIED = 50  # boxes of one answer: nobody asks for more


def with_factors(text: str, box: _Box, content: str) -> tuple[int, str]:
    r"""Return where the member of a formula begins in which a box stands, and that member, not the box alone.

    A box before an equals sign is a blank that is filled in, and one of two terms is the answer.

    >>> last_boxes(r'$2 \cdot \boxed5$').answers, last_boxes(r'$3 \cdot \boxed4 = 12$').answers
    (['2 \\cdot(5)'], ['4'])
    """
    if scale := _SCALE_AFTER.match(text, box.end):
        return box.start, rf'{content} \text{{ {scale["scale"]}}}'
    if text[box.start - 1 : box.start] in _ALONE_BEHIND and text[box.end : box.end + 1] in _ALONE_BEFORE:
        return box.start, content
    before, after = _sides_of(text, box)
    begins = box.start - len(before)
    before, after = (_SPACING.sub(' ', part).strip() for part in (before, after.rstrip(' .')))
    beside = before.strip('+-−{ ') or after.strip('{} ')
    a_term = not after and before[-1:] in {'+', '-', '−'}
    if beside and not a_term and not re.fullmatch(r'\^\s*\{?\s*\\circ\s*\}?', after):
        whole = f'{before}({content}){after}' if before else f'({content}){after}'
        if whole.count('{') == whole.count('}') and all(map(_MEMBER.fullmatch, (before, after))):
            return begins, whole
    return box.start, content


def _sides_of(text: str, box: _Box) -> tuple[str, str]:
    """Return what stands beside a box in its member of a formula; '' where it is in none or a blank."""
    line = max(text.rfind('\n', max(0, box.start - _LONGEST_LINE), box.start) + 1, box.start - _LONGEST_LINE)
    opened = list(_OPENS.finditer(text, line, box.start))
    closed = opened and opened[-1][0][0] == '$' and sum(one[0][0] == '$' for one in opened) % 2 == 0
    before = text[opened[-1].end() if opened else line : box.start]
    behind = text[box.end : box.end + _LONGEST_LINE]
    end = _MEMBER_ENDS.search(behind)
    after = behind[: end.start()] if end else behind
    filled_in = end is not None and end[0] in {'=', r'\approx', '≈'}
    member = _NEW_MEMBER.match(before)
    part = before[member.end() :] if member else before
    listed = not opened and _MARKER.search(part)
    a_line = text.startswith('\\\\', box.start)
    if closed or filled_in or listed or a_line or _ENGLISH.search(f'{before} {after}'):
        return '', ''
    return part, after


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
_NOT_BLANK = re.compile(r'\S')
_BARE_BOX = re.compile(r'[-+]?[0-9](?:[0-9.,/]*[0-9])?|[A-Z](?![A-Za-z])')

# What stands between two boxes is looked at from its end: "\boxed{1} \text{ apples}\n2. or $x = \boxed{2}".
_LONGEST_TIE = 120
_UNWRITTEN = re.compile(r'\$|\\[()\[\],;:! ]|\\q?quad|\\(?:text|mathrm|textbf)(?![a-zA-Z])|[{}*`~]')
_COMMAND = re.compile(r'(\\[a-zA-Z]+)\s+')
_SIGN = re.compile(r'(?:[-−–±∓]|\\pm|\\mp)\s*$')
_NAME = re.compile(
    r'[^\s,，、;；.。=\u4e00-\u9fff]{1,60}\s*(?:=|[<>≤≥≠]|\\(?:le|ge|lt|gt|ne)(?:q|qslant)?(?![a-zA-Z]))\s*$'
)
_ENGLISH = re.compile(r'(?<![\\a-zA-Z])[a-zA-Z]{2,}')
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
    r'[\s,，.。(（]*(?:(?:or|and|that is|which is|i\.e\.|or,)?\s*(?:about|approximately|roughly)|\\approx|≈'
    r'|(?:即|也即|或)?(?:大约|约等于|约为|约是|约))'
    r'(?:\s*(?:equal to|is|=))?\s*\Z'
)
_REMARK = re.compile(r'[^.。\n=\\]{0,60}')
_UNIT = re.compile(r'\s*(?:[^\W\d_][\w/^°]*\s*){0,3}')
_DOUBTS = re.compile(
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
    contents = [(box, text[slice(*box.content)].strip()) for box in boxes[first:]]
    if len(contents) > _MOST_TIED:
        answers = [content for _, content in contents]
    else:
        answers = [with_sign(text, *with_factors(text, box, content)) for box, content in contents]
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
                _close_box(boxes, text, start, content, match.start())
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


def _close_box(boxes: list[_Box], text: str, start: int, content: int, end: int) -> None:
    """Add the box that ends at `end`, in the place of those inside it."""
    inner = None
    while boxes and boxes[-1].start > start:
        inner = boxes.pop()
    if (
        inner
        and not _NOT_BLANK.search(text, content, inner.start)
        and not _NOT_BLANK.search(text, inner.end, end)
    ):
        boxes.append(_Box(start, end + 1, inner.content))
    elif _NOT_BLANK.search(text, content, end):
        boxes.append(_Box(start, end + 1, (content, end)))


def _tied(text: str, start: int, end: int) -> bool:
    """Whether the boxes before and behind this passage make one answer."""
    if end - start > _LONGEST_TIE:
        return False
    between = _COMMAND.sub(r'\1', _UNWRITTEN.sub('', text[start:end]))
    if _DOUBTS.search(between) and not _DECISION.search(between):
        return True
    return _joins(_without_name(between))


def _without_name(between: str) -> str:
    """Return it without `x =`, `f(x) =` or `x = -` at its end, or the minus of `or -`."""
    unsigned = _SIGN.sub('', between)
    if any(before.search(unsigned) for before in (_NAME, _AND_OR, _STOP)):
        between = unsigned
    name = _NAME.search(between)
    return between[: name.start()] if name and not _ENGLISH.search(name[0]) else between


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


def evaluated(text: str) -> float | None:
    r"""Return the value of `text` where it is a formula without variables, else None.

    >>> evaluated('2x'), round(evaluated(r'2\sqrt[3]{8} - 1') or 0, 6)
    (None, 3.0)
    """
    if len(text) > _LONGEST_FORM or not _COMPUTED.search(text):
        return None
    try:
        value = value_of(read_expression(tokens_of(text)))
        return None if value is None else float(value)
    except (Unread, RecursionError, OverflowError, ValueError):
        return None


_LONGEST_FORM = 200  # characters of a closed form
_COMPUTED = re.compile(r'[0-9π]|\\pi')


_LONGEST = 1000  # characters of an answer that are searched for several values

_WRAPPER = re.compile(r'\\(?:text(?:bf|it|rm|normal)?|math(?:rm|bf)|mbox)\s*\{([^{}]*)\}')
_DELIMITER = re.compile(r'(?<!\\)\$|\\[()\[\]!]|\\(?:left|right|displaystyle)(?![a-zA-Z])|\*\*|`')
_BLANK = re.compile(r'\\[,;: ]|~|\s+')
_GAP = re.compile(r'\\q?quad(?![a-zA-Z])')
_DOUBT = r'(?:\s*(?:也?(?:可能|许)是?|maybe|possibly|perhaps|even|also)(?![a-zA-Z]))?'
_TOKEN = re.compile(
    r'\\[{}]|\\[a-zA-Z]+|[(\[{（【]|[)\]}）】]'
    r'|(?P<apart>,(?![0-9])|(?<![0-9]),|[;，、；]|(?<![a-zA-Z\\])(?:and|or|versus|vs\.?)(?![a-zA-Z])|&|以及|和|或者?是?|与|及)'
    + _DOUBT,
    re.IGNORECASE,
)
_CLOSING = frozenset({')', ']', '}', '）', '】', r'\}'})
_OPENING = frozenset({'(', '[', '{', '（', '【', r'\{'})

_LEAD = re.compile(
    r'^\s*(?:(?:either|both|maybe|possibly|perhaps|approximately|about|约|也?可能是?|是|为|即)(?![a-zA-Z])\s*|'
    r'(?:\\[a-zA-Z]+|[a-zA-Z])(?:_\{?\w{1,4}\}?|\([^()=]{1,40}\))?\s*=\s*)+',
    re.IGNORECASE,
)
_OPTION = re.compile(r'\(?[A-H]\)?')
_ALL_LETTERS = re.compile(r'[A-H]{1,8}')
_LETTER_SEPARATOR = re.compile(r'[\s,，、;；&.。()]|和|与|或|and|or')
_MAY_LIST = re.compile(
    r'[,;&、，；和或与及±∓]|以及|\\pm|\\mp|quad|(?:and|or|vs|versus)(?![a-zA-Z])', re.IGNORECASE
)
_RELATION = re.compile(
    r'[<>≤≥≠∈:|]|\\(?:leq?|geq?|leqslant|geqslant|neq?|in|notin|mid|to|dots|ldots|cdots)(?![a-zA-Z])|\.\.\.'
)
_WORD = re.compile(r'(?<![\\a-zA-Z])[a-zA-Z]{2,}|[\u4e00-\u9fff]+')
_MEASURED = re.compile(
    r'(?P<number>[-+]?(?:[0-9][0-9.,/]*|\\d?frac\{[^{}]*\}\{[^{}]*\}))\s*(?P<unit>(?:[a-zA-Z]{2,}|[\u4e00-\u9fff]+)(?:\s[a-zA-Z]+){0,2})\.?'
)
_SOLID = re.compile(r'[0-9]|\\(?:pi|infty|emptyset|sqrt|theta|alpha|beta)(?![a-zA-Z])|^[-+]?[a-zA-Z]$')
_PLUS_MINUS = re.compile(r'\\pm(?![a-zA-Z])|\\mp(?![a-zA-Z])|±|∓')
_TUPLE = re.compile(r'(?:\\\{|[(\[{]).*[,;].*(?:\\\}|[)\]}])', re.DOTALL)

_ANY_SEPARATOR = re.compile(
    r'[,;，、；&\n]|\\\\|\\cup|\\pm|\\mp|±|(?<![a-zA-Z\\])(?:and|or)(?![a-zA-Z])|[和或与及]|(?<=[0-9])\s+(?=[-+]?[0-9])'
    r'|(?<=[0-9]\))\s*(?=\([0-9])|[\u2460-\u2473]|=',
    re.IGNORECASE,
)
_IN_BRACES = re.compile(r'\\\{(.*)\\\}', re.DOTALL)
_UNION = re.compile(r'\\cup(?![a-zA-Z])|∪')
_OPTIONS = re.compile(r'(?:\\text\{|\$)?[A-H]{2,8}\}?\$?')
_THOUSANDS = re.compile(r'[-+$\\]*[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?\$?')

_LIST = re.compile(r'[-+]?[0-9]+(?:,[-+]?[0-9]+){2,}')  # `1,2` may be a decimal

_NUMBER = re.compile(
    r'(?P<sign>[-+]?)(?:(?P<whole>[0-9]+)\s+)?(?:\\frac\{(?P<above>[0-9]+)\}\{(?P<below>[0-9]+)\}|(?P<over>[0-9]+)/(?P<under>[0-9]+))'
    r'|(?P<plain>[-+]?(?:[0-9]+(?:\.(?P<digits>[0-9]*))?|\.(?P<more>[0-9]+)))'
)
_NUMBER_UNIT = re.compile(
    r'\\?%|\^\s?(?:\\circ|\{\\circ\}|°)|\\circ|°|\\?\$|(?<![\\a-zA-Z])[a-zA-Z]{2,}(?:\s[a-zA-Z]+){0,3}\.?$|[\u4e00-\u9fff]{1,6}$'
)
_LONGEST_NUMBER = 60
_COMPARED = 20  # values that are held against one another
_ROUNDING = 1e-9
_LEAST_DIGITS = 2  # behind the point, below which a number is no rounded one


class _Number(NamedTuple):
    value: Fraction | float
    digits: int | None
    """Behind its decimal point, if it has one: it may be rounded."""
    percent: bool


def asks_for(reference: str, values: list[str]) -> int:
    """Return the most values that `reference` may be read as, by its separators.

    Args:
        reference: as it stands in the data set.
        values: those of the answer: where all of them are pairs or intervals, such are counted.
    """
    return _most(reference, bool(values) and all(_TUPLE.fullmatch(value.strip()) for value in values))


@lru_cache(maxsize=4096)
def _most(reference: str, tuples: bool) -> int:
    if _OPTIONS.fullmatch(reference.strip()):
        return len(reference.strip())
    if _THOUSANDS.fullmatch(reference.strip()):
        return 1
    if tuples:
        listed = _IN_BRACES.fullmatch(reference.strip().strip('$'))
        return len(_split(_UNION.sub(',', _plain(listed[1] if listed else reference))))
    separators = _ANY_SEPARATOR.findall(join_thousands(reference))
    equals = separators.count('=')
    return 1 + len(separators) - min(equals, 1)


def values_of(answer: str) -> list[str]:
    r"""Return the values that `answer` lists, each once; the whole of it where it is no list of values.

    A list in brackets is one value, and so are `2 hours and 5 minutes` and what holds words or conditions.

    >>> values_of(r'x = 4 \text{ or } x = 5'), values_of('(4, 5)'), values_of('5, which is odd')
    (['4', '5'], ['(4, 5)'], ['5, which is odd'])
    """
    if len(answer) > _LONGEST or not _MAY_LIST.search(answer):
        return [answer]
    return list(_values(answer))


@lru_cache(maxsize=4096)  # n samples of a question give few answers
def _values(answer: str) -> Sequence[str]:
    parts = [_LEAD.sub('', part).strip(' .。:：') for part in _split(_plain(answer))]
    parts = [part for part in parts if part]
    if len(parts) > 1 and (not all(map(_is_listed, parts)) or _is_one_measure(parts)):
        return [answer]
    if len(parts) == 2 and len(list(filter(is_option, parts))) == 1:
        return [answer]
    if any(_PLUS_MINUS.search(part) for part in parts) and not any(map(_TUPLE.fullmatch, parts)):
        parts = [_PLUS_MINUS.sub(sign, part) for part in parts for sign in '+-']
    return distinct(parts) if len(parts) > 1 else [answer]


def distinct(answers: list[str]) -> list[str]:
    """Return `answers` without repetitions; of two spellings of one value the last counts."""
    if len(answers) < 2:
        return answers
    kept: dict[str, str] = {}
    names: dict[str, str] = {}
    numbers: list[tuple[_Number, str]] = []
    for answer in answers:
        name, form, number = _name(answer), normal_form(_LEAD.sub('', answer)), _number(answer)
        if number is not None:
            same = next(((seen, known) for seen, known in numbers[-_COMPARED:] if _same(seen, number)), None)
            form = same[1] if same else form
            numbers.append((number, form))
            if same and form in kept and number.digits is not None and same[0].digits is None:
                continue  # an exact value stands for what it is rounded to
        if name and names.setdefault(form, name) != name:
            form = f'{name}{form}'  # x = 2 and y = 2
        kept[form] = answer
    return list(kept.values())


def _name(answer: str) -> str:
    lead = _LEAD.match(answer)
    return normal_form(lead[0]) if lead and '=' in lead[0] else ''


def covering(answers: list[str]) -> list[str]:
    r"""Return the last of `answers` that lists all the values of the others, alone; else all of them.

    >>> covering(['3', '4', '3, 4']), covering(['BC', 'B', 'C']), covering(['3', '4'])
    (['3, 4'], ['BC'], ['3', '4'])
    """
    if not 1 < len(answers) <= _COMPARED:
        return answers
    listed = [_listed(answer) for answer in answers]
    every = len(distinct([value for values in listed for value in values]))
    whole = [answer for answer, values in zip(answers, listed, strict=True) if len(distinct(values)) == every]
    return whole[-1:] or answers


def letter_first(answers: list[str]) -> list[str]:
    """Return `answers` with the letter of an option before all else, if there is just one."""
    letters = [answer for answer in answers if is_option(answer)]
    return letters + [answer for answer in answers if answer not in letters] if len(letters) == 1 else answers


def is_option(answer: str) -> bool:
    """Return whether `answer` is the letter of an option."""
    return bool(_OPTION.fullmatch(_plain(answer).strip(' .')))


def alike(one: str, other: str) -> bool:
    r"""Return whether two answers are one in another spelling: `5`, `x = 5`, `5 \text{ cm}`; `0.5`, `50\%`.

    It knows plain numbers and spelling, no mathematics.
    """
    if _letters(one) or _letters(other):
        return _letters(one) == _letters(other)
    return any(len(distinct([left, right])) == 1 for left in _sides(one) for right in _sides(other))


def repeats(stated: str, answer: str) -> bool:
    """Return whether each value of `stated` is one of `answer`, in whatever spelling."""
    if alike(stated, answer):
        return True
    ours, theirs = _listed(stated), _listed(answer)
    return len(theirs) > 1 and all(any(alike(value, other) for other in theirs) for value in ours[:_COMPARED])


def is_plain_number(answer: str) -> bool:
    """Return whether `answer` is a whole number, a decimal or a fraction, perhaps with a unit."""
    return _number(answer) is not None


def _listed(answer: str) -> list[str]:
    return list(_letters(answer)) or values_of(answer)


def _letters(answer: str) -> str:
    """Return the letters of options that `answer` consists of, in their order; '' if it is anything else."""
    text = _LETTER_SEPARATOR.sub('', _plain(answer))
    return ''.join(sorted(text)) if _ALL_LETTERS.fullmatch(text) else ''


def _sides(answer: str) -> list[str]:
    return [answer, *re.split(r'=|\\approx|≈', answer)[-3:]]


def _plain(answer: str) -> str:
    text = _WRAPPER.sub(r' \1 ', join_thousands(answer).replace(r'\$', ''))
    text = _BLANK.sub(' ', _GAP.sub(' ; ', _DELIMITER.sub(' ', text))).strip()
    return text.replace(',', ', ') if _LIST.fullmatch(text) and not _THOUSANDS.fullmatch(text) else text


def _split(text: str) -> list[str]:
    """Split at the separators that stand in no brackets."""
    parts, start, depth = [], 0, 0
    for token in _TOKEN.finditer(text):
        if token[0] in _OPENING:
            depth += 1
        elif token[0] in _CLOSING:
            depth = max(0, depth - 1)
        elif token['apart'] and not depth:
            parts.append(text[start : token.start()])
            start = token.end()
    return [part for part in [*parts, text[start:]] if part.strip()]


def _is_listed(part: str) -> bool:
    if _OPTION.fullmatch(part) or _MEASURED.fullmatch(part):
        return True
    if _RELATION.search(part) or '=' in part or _WORD.search(part):
        return False
    return bool(_SOLID.search(part))


def _is_one_measure(parts: list[str]) -> bool:
    """Whether each part has a unit of its own, as in 2 hours and 5 minutes."""
    units = [measured['unit'] for part in parts if (measured := _MEASURED.fullmatch(part))]
    return len(units) == len(parts) == len(set(units))


def _number(answer: str) -> _Number | None:
    text = answer.strip()
    if len(text) > _LONGEST_NUMBER:
        return None
    text = _LEAD.sub('', ascii_latex(_plain(text))).replace(r'\dfrac', r'\frac').replace(r'\tfrac', r'\frac')
    text = re.sub(r'\\frac\s?([0-9])\s?([0-9])', r'\\frac{\1}{\2}', text)
    percent = '%' in text
    text = _NUMBER_UNIT.sub('', text.strip(' .')).strip(' .')
    if _THOUSANDS.fullmatch(text):
        text = text.replace(',', '')
    if not (found := _NUMBER.fullmatch(text)):
        value = evaluated(text)
        return None if value is None else _Number(value, None, percent)
    if found['plain']:
        digits = found['digits'] or found['more']
        return _Number(Fraction(found['plain'].rstrip('.')), len(digits) if digits else None, percent)
    below = int(found['below'] or found['under'])
    if not below:
        return None
    fraction = int(found['whole'] or 0) + Fraction(int(found['above'] or found['over']), below)
    return _Number(-fraction if found['sign'] == '-' else fraction, None, percent)


def _same(one: _Number, other: _Number) -> bool:
    """Whether two are equal, a percentage and its number, or a decimal and what it rounds."""
    if one.value == other.value or _close(one.value, other.value):
        return True
    if one.percent != other.percent and (one.value * 100 == other.value or one.value == other.value * 100):
        return True
    if one.digits == other.digits:
        return False
    digits = min(number.digits for number in (one, other) if number.digits is not None)
    return digits >= _LEAST_DIGITS and abs(float(one.value) - float(other.value)) < 10**-digits


def _close(one: Fraction | float, other: Fraction | float) -> bool:
    """Whether one of them is a root or a multiple of π, and the other the same."""
    inexact = isinstance(one, float) or isinstance(other, float)
    return inexact and math.isclose(one, other, rel_tol=_ROUNDING)


_SPOKEN = re.compile(
    r'(?i:\banswers?)'
    r'(?:(?i:\s{1,3}(?:to|for|of)\b[^.:\n]{0,80}?)?'
    r'(?i:\s{1,3}(?:is|are|=|(?:should|must|would|will|could|may|might)\s{1,3}be)(?!\w))'
    r'|["”*_ ]{0,6}[:：])'
    r'|(?im:^[ #*_]{0,6}(?:the\s)?(?:final\s)?answers?[ #*_]{0,6}$)'
    r'|[【\[]答案[】\]]'
    r'|答案(?:(?:应该|应|可能|也许|大概)?(?:是|为)|选(?!项)|["”*_ ]{0,6}[:：])'
    r'|最终答案'
    r'|(?i:\b(?:correct|right|best)\s(?:option|choice)\s(?:is|:))'
    r'|正确(?:的)?(?:选项|答案)(?:应该|应)?(?:是|为|[:：])'
    r'|(?:故|应|因此|所以|本题)(?:应)?[选填]'
)
_CORRECTED = re.compile(
    r'(?i:\bcorrection)["”*_ ]{0,6}[:：]|(?:更正|纠正|修正)(?:一下)?(?:为|[:：])'
    r'|(?i:\b(?:wait|no|actually|sorry|oops|correction|rather)\b)[^.:\n\\]{0,40}?(?i:\bit(?:\sshould\sbe|\sis|\x27s)(?!\w))'
    r'|(?:不对|更正|等等|抱歉)[^。\n\\]{0,20}?(?:应该是|应是|应为)'
)
_PARTIAL = re.compile(
    r'(?i:\s(?:to|for|of)\b[^.:\n]{0,80}?\b(?:part|parts|step|first|second|third|subproblem|case)\b)'
)
# What stands before "answer" where the statement is about something else, or taken back at once.
_OF_ANOTHER = re.compile(
    r'(?:\b(?:wrong|incorrect|(?:twice|half|double|of|than|times|plus|minus)(?:\s(?:the|this|that|our|my))?)'
    r'|\b(?:wrong|incorrect|false|doubt|unlikely|not\s(?:true|sure|certain))(?:\s\w{1,12}){0,3}\sthat(?:\sthe)?'
    r'|\b(?:some|others|people|many|nobody|no one|few|first|once|initially|to)\s'
    r'(?:says?|thinks?|claims?|believes?|thought|believed)(?:\sthat)?(?:\sthe)?)\s{1,3}$'
    r'|(?:错误的?|不正确的?|不)$',
    re.IGNORECASE,
)
_BEFORE = 60
_WINDOW = 2000
_ATTEMPTS = 3
_ABBREVIATIONS = ('i.e', 'e.g', 'vs', 'cf', 'approx', 'resp', 'viz', 'ca')
_ABBREVIATED = ''.join(rf'(?<!\b{re.escape(one)})' for one in _ABBREVIATIONS)
_SENTENCE_END = re.compile(
    _ABBREVIATED + r'\.(?=\s|$)(?!(?<=\betc\.)\s{1,3}[a-z,])(?!(?<=\bNo\.)\s?[0-9])(?!\s{1,3}[Oo]r\b)'
    r'|[。？]|\s?<[/|]?[a-zA-Z_|]{1,20}>|\n(?!\s{0,9}or\b)|，(?=[\u4e00-\u9fff])(?!也?可能|也?许|或|和|与|及|以及|即)|,?\s(?:because|since)\b'
)
_MATH = (('$$', '$$'), ('$', '$'), (r'\[', r'\]'), (r'\(', r'\)'))
_SET_OFF = re.compile(r'[\s:：=]{0,9}(?:"(?P<quoted>[^"\n]*)"|\*\*(?=\S)(?P<bold>[^*\n]+)(?<=\S)\*\*)')
_GOES_ON = re.compile(
    r'\s{0,3}(?:[,，、;；/&]|or\b|and\b|vs\b|或|和|与|及|以及)\s{0,3}["$*0-9A-Z\\-]|\s{0,3}，?(?:也?可能|也许|或)'
)
_ADVERB = re.compile(
    r'(?:clearly|definitely|certainly|simply|just|exactly|indeed|obviously|then|now|therefore|thus)\s',
    re.IGNORECASE,
)
_AND_NOT = re.compile(r'(?<=[\w$)}]),?\s(?:and\s)?not\s\S{1,20}\Z')
_LEADING = ' \t\r\n*_`:：=，,是为】}'
_TRAILING = ' \t\r*_`"”.,;:，；：。'

# What a later statement may be so that it takes the place of a box: a value, not a remark.
_LONGEST_VALUE = 100
_CLAUSE = re.compile(
    r'\s*[(（].*|\s*[,，;；]\s*(?![-+$\\0-9]|[A-H](?![a-zA-Z])).*|\s(?:and|which|as|where|with|for|not|in)\b.*',
    re.DOTALL,
)
_WORDS = re.compile(r'(?<![\\a-zA-Z])[a-zA-Z]{2,}')
_ANSWER_WORD = re.compile(
    r'(?i:yes|no|true|false|none|no (?:real )?solutions?)|是|否|对|错|正确|错误|无解|不存在'
)
_EXACT = re.compile(r'\\(?:sqrt|pi|frac|log|ln|sin|cos|tan)|[a-zA-Z]|\^|√|π')
_DECIMAL = re.compile(r'[0-9]\.[0-9]')
_VALUE = (
    r'(?:\$|\\\(|\\boxed\{)?\s{0,3}(?:[a-zA-Z]\s{0,3}=\s{0,3})?'
    r'(?P<value>[-+−]?[0-9]+(?:[.,/][0-9]+)*|\\d?frac\{[0-9]+\}\{[0-9]+\}|[A-H](?![a-zA-Z_0-9]))'
)
_OR_ELSE = re.compile(
    r'(?:\s|\$|\\[)\]]|\*\*|[,，;；]|\.(?=\s)|[(（]|[}])*(?:\\text\{\s?)?(?:[oO]r|或者|或是|或)(?![a-zA-Z])\s?\}?'
    r'(?:(?i:\s?(?:maybe|possibly|perhaps|even|else|also))|\s?也?可能是?)?\s{0,3}'
    + _VALUE
    + r'(?P<unit>\\?\$?\s?[a-zA-Z\u4e00-\u9fff])?'
)
_DOUBTED = re.compile(
    r'(?:(?i:\b(?:it|answer|result|value)\s(?:could|might|may)(?:\s(?:also|well|even|possibly|equally)){0,2}\sbe)\s{1,3}'
    r'|(?i:\b(?:alternatively|possibly|maybe|perhaps)),?\s{1,3}|(?:答案|结果)?也(?:有)?(?:可能|许)(?:是|为)\s{0,3})'
    + _VALUE
    + r'(?=[\s$*)]{0,4}(?:[.。!?？\n]|$))'
)
_SPEAKS = re.compile(r'[^\W0-9_]')  # a letter of any script: nothing is stated without one
_DOUBT_WINDOW = 200  # characters behind a box in which a doubt is one about the box


def spoken_answer(text: str) -> str:
    """Return the answer of the last statement in words, without its math delimiters; '' if there is none."""
    ends = [match.end() for match in _SPOKEN.finditer(text) if not _is_of_another(text, match)]
    statements = (_statement(text[end : end + _WINDOW]) for end in reversed(ends[-_ATTEMPTS:]))
    return next((statement for statement in statements if statement), '')


def _is_of_another(text: str, found: re.Match[str]) -> bool:
    return bool(_OF_ANOTHER.search(text[max(0, found.start() - _BEFORE) : found.start()]))


def later_answer(rest: str, boxed: list[str]) -> str:
    """Return the answer in `rest`, the text behind the box, that takes the place of `boxed`; '' if none does.

    Only the last statement of a value counts; one that agrees with the box, with one of several, or with a
    rounded form of it takes nothing back, and neither does a value behind the letter of an option.
    """
    matches = [*_SPOKEN.finditer(rest), *_CORRECTED.finditer(rest)]
    ends = sorted({match.end() for match in matches if not _PARTIAL.search(match[0])})
    for end in reversed(ends[-_ATTEMPTS:]):
        stated = _value(_statement(rest[end : end + _WINDOW]))
        if stated:
            return stated if _contradicts(stated, boxed) else ''
    return ''


def other_candidate(rest: str, boxed: str) -> str:
    r"""Return the other number or letter that `rest`, the text behind `boxed`, offers beside it; '' if none.

    >>> other_candidate('$ or 6.', '5'), other_candidate(' or 5.0', '5')
    ('6', '')
    """
    at_once, later = _OR_ELSE.match(rest), _DOUBTED.search(rest, 0, _DOUBT_WINDOW)
    found = at_once['value'] if at_once and not at_once['unit'] else ''
    found = found or (later['value'] if later else '')
    if not found:
        return ''
    comparable = is_plain_number(boxed) if is_plain_number(found) else is_option(boxed)
    return found if comparable and not alike(boxed, found) else ''


def _statement(rest: str) -> str:
    set_off = _SET_OFF.match(rest)
    if set_off and not _GOES_ON.match(rest, set_off.end()):
        rest = set_off['quoted'] or set_off['bold'] or ''
    rest = _ADVERB.sub('', rest.lstrip(_LEADING))
    return _formula(rest) or _sentence(rest)


def _formula(rest: str) -> str:
    """Return the formula that `rest` starts with, if nothing follows it in its sentence; '' otherwise."""
    for opener, closer in _MATH:
        if rest.startswith(opener):
            formula, _, after = rest[len(opener) :].partition(closer)
            return '' if _sentence(after) else formula.strip()
    return ''


def _sentence(rest: str) -> str:
    sentence = _SENTENCE_END.split(rest, maxsplit=1)[0].replace('**', '').strip(_TRAILING).strip()
    sentence = _AND_NOT.sub('', sentence)
    return sentence if '{' in sentence else sentence.rstrip('} \n"')  # of {"answer": 4}


def _value(statement: str) -> str:
    """Return `statement` if it is nothing but a value, or the value before a remark; '' otherwise."""
    for stated in (statement, _CLAUSE.sub('', statement)):
        text = stated.strip(_TRAILING).strip()
        if text and len(text) <= _LONGEST_VALUE and r'\boxed' not in text and _is_value(text):
            return text
    return ''


def _is_value(text: str) -> bool:
    if _ANSWER_WORD.fullmatch(text) or is_option(text) or is_plain_number(text):
        return True
    if not re.search(r'[0-9]|\\(?:pi|infty|emptyset)', text):
        return False
    return not any(
        word not in {'or', 'and'} for word in _WORDS.findall(re.sub(r'\\text\{[^{}]*\}', '', text))
    ) and not re.search(r'[\u4e00-\u9fff]{4,}', text)


def _contradicts(stated: str, boxed: list[str]) -> bool:
    whole = ', '.join(boxed)
    if any(repeats(stated, answer) for answer in [whole, *boxed]):
        return False
    if any(map(is_option, boxed)) and not is_option(stated):
        return False
    return not (_DECIMAL.search(stated) and _EXACT.search(whole))


# A text without an answer that stops after one of these was not finished.
_UNFINISHED = re.compile(r'[A-Za-z\u4e00-\u9fff,，、;；:：=+\-*/^_<(\[{（\\]$')


class FinalAnswer(NamedTuple):
    """The final answer of a response, as written (use `answers.normal_form` to compare it)."""

    text: str
    """The answer; '' where the response has none. Several are joined with ', '."""
    boxed: bool
    """Whether the answer stood in a box."""
    cut_off: bool
    """Whether the response looks cut off: its last box or its thinking is not closed, or it has no answer
    and stops in the middle of a sentence. An answer may have been found before that place."""
    hedged: bool = False
    """Whether the response states several answers that differ, in boxes of their own or in words. They can
    be right only where the reference asks for several, see `hedges`."""


class _Found(NamedTuple):
    answers: list[str]
    boxed: bool
    open_box: bool


def final_answer(response: str) -> FinalAnswer:
    r"""Return the final answer that `response` states.

    - The last box with balanced braces counts, with the sign and the relation before it. Boxes tied to it
      make one answer together: taking the last alone would make a guess of several values right. A box in a
      box is opened; an empty one is passed over.
    - A later "the answer is …" or "Correction: …" with another value takes the place of the box; a later
      "or 6" is one more answer.
    - Without a box, what follows the last "the answer is", "Answer:", "答案是", "最终答案", … up to the end
      of the sentence, without its math delimiters.
    - If the last box never closes, the last one that does is taken, then a spoken form.
    - What is thought is not looked at, and a thought without an end is cut off; see `thoughts.part`.

    >>> final_answer(r'So $x = \boxed{\frac{1}{2}}$, as claimed.')
    FinalAnswer(text='\\frac{1}{2}', boxed=True, cut_off=False, hedged=False)
    >>> final_answer('<think>Perhaps \\boxed{3}?</think> 所以答案是 $4$。').text
    '4'
    >>> final_answer(r'\boxed{4} or \boxed{5}').hedged
    True
    >>> final_answer(r'Therefore the result is \boxed{12').cut_off
    True
    """
    return answer_of(part(response))


def answer_of(response: Parted) -> FinalAnswer:
    """Return the final answer of a response that was taken apart; see `final_answer`."""
    found = _search(response.said)
    cut_off = response.open or found.open_box or (not found.answers and _unfinished(response.said))
    return FinalAnswer(', '.join(found.answers), found.boxed, cut_off, _several(found))


def hedges(answer: FinalAnswer, reference: str) -> bool:
    r"""Return whether `answer` states more values than `reference` asks for: such an answer is incorrect.

    Values that are equal as plain numbers or in normal form are one. What `reference` asks for is read
    generously, by its commas, conjunctions and the like.

    >>> hedges(final_answer(r'\boxed{4} or \boxed{5}'), '5'), hedges(final_answer('答案是4或5'), '4, 5')
    (True, False)
    """
    values = values_of(answer.text)
    count = max(len(values), 2 if answer.hedged else 1)
    return count > 1 and count > asks_for(_stated(reference), values)


@lru_cache(maxsize=4096)  # every sample of a question is held against one reference
def _stated(reference: str) -> str:
    """Return the final answer of a reference that is a whole solution, else itself."""
    return final_answer(reference).text or reference


_RUNAWAY = re.compile(
    r'\n[ \t]{0,9}(?:(?:Human|User|USER|Question|Problem|Q|问题|题目)\s?[:：]|###\s?(?:Instruction|Question))'
    r'|<\|im_start\|>\s?user'
)
_BEHIND_A_MARK = re.compile(
    r'(?:^|\n)\s*(?:####\s*(?P<hashes>[^\n]+)|<answer>(?P<tag>[^<>]+)</answer>)\s*\Z', re.IGNORECASE
)
_CHOSEN = re.compile(r'(?:(?:应|故)?选\s?|(?i:the )?(?i:option|choice)\s)(?P<value>[A-H])[.。]?\Z')
_TOLD = re.compile(r'答[:：]\s*(?P<value>[^\n]{1,40})\s*\Z')
_ONE_FORMULA = re.compile(r'\$[^$\n]+\$|\\\([^\n]+?\\\)')
_TOKENS = re.compile(r'(?:\s*(?:<\|[^<>|\n]{1,30}\|>|</?s>))+\s*\Z|\A\s*(?:<\|[^<>|\n]{1,30}\|>\s*)+')
_JSON = re.compile(
    r'\s*\{(?:[^{}]*,)?\s*"(?:final_)?answer"\s*:\s*'
    r'(?P<value>"[^"{}]*"|-?[0-9.]+)\s*(?:,\s*"(?!(?:final_)?answer)[^{}]*)?\}\s*'
)
_COUNTED = re.compile(r'([^0-9]{0,20}?(?:有|为|是|要|需要?|花了?|用了?|等于|得))\s*([-$\\]*[0-9].*)')
_CHANGED = re.compile('[不非没未无若至最超多少约从每第倍]')
_POINT = re.compile(r'[(\[]\s*[-+]?[0-9./]+(?:\s*,\s*[-+]?[0-9./]+)+\s*[)\]]')
_LONGEST_ALONE = 60
_LONGEST_TAIL = 400
"""Characters at the end in which a value behind a mark is looked for."""


def _alone(text: str) -> str:
    """Return the value that is all a response says, or its last line behind a mark; '' if there is none."""
    text = text.strip()
    text = text[:-_LONGEST_TAIL] + _TOKENS.sub('', text[-_LONGEST_TAIL:])
    if marked := _BEHIND_A_MARK.search(text[-_LONGEST_TAIL:]):
        return (marked['hashes'] or marked['tag']).strip()
    whole = text.strip()
    if (told := _TOLD.search(whole[-_LONGEST_TAIL:])) and len(re.findall(r'[0-9]+', told['value'])) == 1:
        value = told['value'].strip(_TRAILING)
        counted = _COUNTED.fullmatch(value)
        return value if counted is None or _CHANGED.search(counted[1]) else counted[2]
    if chosen := _CHOSEN.match(whole):
        return chosen['value']
    bare = whole.strip(_TRAILING).strip()
    bare = bare if _ONE_FORMULA.fullmatch(bare) else bare.strip('$').strip(_TRAILING).strip()
    return whole if '\n' not in whole and len(whole) <= _LONGEST_ALONE and _is_alone(bare) else ''


def _of_json(text: str) -> str:
    """Return the answer of `{"answer": 4}`; '' where the response is another one."""
    found = _JSON.fullmatch(text) if text.lstrip()[:1] == '{' else None
    return found['value'].strip('"').strip() if found else ''


def _is_alone(text: str) -> bool:
    return (
        is_option(text)
        or is_plain_number(text)
        or bool(_ANSWER_WORD.fullmatch(text) or _ONE_FORMULA.fullmatch(text) or _POINT.fullmatch(text))
    )


def _without_steps(answers: list[str]) -> list[str]:
    """Return answers without those that end in the last one: 1024 − 56 = 968 and 968 are one."""
    if len(answers) == 1:
        return answers
    named = answers[-1].partition('=')[0].strip() if '=' in answers[-1] else ''
    ends = [re.split(r'=|\\(?:Right|Longright)arrow|\\implies|⇒', answer)[-1] for answer in answers]
    return [
        answer
        for answer, end in zip(answers, ends, strict=True)
        if answer is answers[-1]
        or end == answer
        or named not in {'', answer.partition('=')[0].strip()}
        or not alike(end.strip(_TRAILING), answers[-1])
    ]


def _search(text: str) -> _Found:
    if runaway := _RUNAWAY.search(text):
        before = text[: runaway.start()]
        if last_boxes(before).answers or _value(spoken_answer(before)):
            text = before
    boxes = last_boxes(text)
    if not boxes.answers:
        spoken = _of_json(text) or spoken_answer(text) or _alone(text)
        return _Found([spoken] if spoken else [], False, boxes.open)
    rest = text[boxes.end :]
    speaks = _SPEAKS.search(rest) is not None
    if speaks and (later := later_answer(rest, boxes.answers)):
        return _Found([later], False, boxes.open)
    other = other_candidate(rest, boxes.answers[-1]) if speaks else ''
    answers = covering(distinct(_without_steps([*boxes.answers, *([other] if other else [])])))
    return _Found(letter_first(answers) if len(answers) == 2 else answers, True, boxes.open)


def _several(found: _Found) -> bool:
    """Whether several answers were found; the letter of an option and what it says are one."""
    if len(found.answers) == 2 and sum(map(is_option, found.answers)) == 1:
        return False
    return len(found.answers) > 1 or (not found.boxed and len(values_of(''.join(found.answers))) > 1)


def _unfinished(reply: str) -> bool:
    return bool(_UNFINISHED.search(reply.rstrip()[-1:]))
