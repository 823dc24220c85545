r"""The last answer that a response puts into boxes, with what belongs to it beside them."""

from __future__ import annotations

import re
from typing import NamedTuple

OPTION = re.compile(r'(?:\\text\{)?\(?[A-H]\)?\}?')
"""The letter of an option."""


class Boxes(NamedTuple):
    """The last answer in boxes."""

    answers: list[str]
    """The contents of the last box and of those tied to it, with their signs, in the order of the text."""
    end: int
    """Where the last box ends; 0 where there is none."""
    open: bool
    """Whether a later box never closes."""


# Up to four backslashes: a response that was escaped once too often, or a line break before the box.
_BOX_OR_BRACE = re.compile(r'(?P<box>\\{1,4}(?:boxed|fbox|framebox)(?![a-zA-Z])\s*)|\\.|[{}]', re.DOTALL)
_FIRST_BOX = re.compile(r'(?<!\\)\\+(?:boxed|fbox|framebox)(?![a-zA-Z])')
# TeX boxes one token of `\boxed 5`.
_BARE_BOX = re.compile(r'[-+]?[0-9](?:[0-9.,/]*[0-9])?|[A-Z](?![A-Za-z])')
_MOST_TIED = 50  # boxes of one answer: nobody asks for more


def last_boxes(text: str) -> Boxes:  # noqa: C901
    r"""Return what the last box of `text` holds, and what those hold that make one answer with it.

    Two boxes are tied where no more than this stands between them: a unit, a comma or a stop, "and" or "or",
    a line break, the marker of a list, `x =`; or a short passage that voices doubt ("it could also be").

    >>> last_boxes(r'$x = \boxed{2}$ or $x = -\boxed{3}$.').answers
    ['2', '-3']
    """
    # Start and end of each, and of its content: places, as boxes nest.
    boxes: list[tuple[int, int, int, int]] = []
    # Where the content starts, and where the box does; -1 if it is none.
    open_braces: list[tuple[int, int]] = []
    start = -1
    # Braces before the first box change nothing, and a response is mostly that.
    named = text.find('box')
    before = max(0, named - 6)
    while before and text[before - 1] == '\\':
        before -= 1
    first = _FIRST_BOX.search(text, before) if named >= 0 else None
    for match in _BOX_OR_BRACE.finditer(text, first.start()) if first else ():
        if match['box']:
            start = match.start()
            if not text.startswith('{', match.end()):
                if value := _BARE_BOX.match(text, match.end()):
                    boxes.append((start, value.end(), *value.span()))
                start = -1
        elif match[0] == '{':
            open_braces.append((match.end(), start))
            start = -1
        elif match[0] == '}' and open_braces:
            content, box = open_braces.pop()
            if box < 0:
                continue
            inner = None
            while boxes and boxes[-1][0] > box:
                inner = boxes.pop()
            end = match.start()
            if inner and not text[content : inner[0]].strip() and not text[inner[1] : end].strip():
                boxes.append((box, end + 1, *inner[2:]))
            elif _NOT_BLANK.search(text, content, end):
                boxes.append((box, end + 1, content, end))
    is_open = max((box for _, box in open_braces), default=-1) > (boxes[-1][0] if boxes else -1)
    if not boxes:
        return Boxes([], 0, is_open)
    last = len(boxes) - 1
    while last and _are_tied(text, boxes[last - 1][1], boxes[last][0]):
        last -= 1
    tied = [(begin, end, text[inner:outer].strip()) for begin, end, inner, outer in boxes[last:]]
    many = len(tied) > _MOST_TIED
    answers = [box[2] if many else _with_sides(text, *box) for box in tied]
    return Boxes(answers, boxes[-1][1], is_open)


_NOT_BLANK = re.compile(r'\S')
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
    r'|(?:即|也即|或)?(?:大约|约等于|约为|约是|约))(?:\s*(?:equal to|is|=))?\s*\Z'
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


def _are_tied(text: str, start: int, end: int) -> bool:
    """Return whether the boxes before and behind this passage make one answer; it is read from its end."""
    if end - start > _LONGEST_TIE:
        return False
    between = _COMMAND.sub(r'\1', _UNWRITTEN.sub('', text[start:end]))
    decides = _DECISION.search(between)
    if _DOUBTS.search(between) and not decides:
        return True
    unsigned = _SIGN.sub('', between)  # `x = -`, or the minus of `or -`
    if any(before.search(unsigned) for before in (_NAME, _AND_OR, _STOP)):
        between = unsigned
    if (name := _NAME.search(between)) and not _ENGLISH.search(name[0]):
        between = between[: name.start()]
    if _ROUGHLY.fullmatch(between):
        return True
    marked = _MARKER.sub('', between)
    joined = _AND_OR.sub('', marked)
    rest = _STOP.sub('', joined)
    # Words may stand here only where something joins what follows them: not "\boxed{3} gives \boxed{5}".
    allowed = _REMARK if joined != marked else _UNIT
    between_words = rest != marked and allowed.fullmatch(rest) and not _DECISION.search(rest)
    return not rest.strip() or bool(between_words)


# What stands beside a box and belongs to it: factors, terms, a scale, a sign, a relation
_TERM = (
    r'[-+*/^_(){}\[\]|!0-9a-zA-Z.\s·×%]|\\%'
    r'|\\(?:[cdt]?frac|sqrt|pi|cdot|times|log|ln|sin|cos|tan|[lr]floor|circ)(?![a-zA-Z])'
)
_MEMBER = re.compile(f'(?:{_TERM})*')
_SCALE_AFTER = re.compile(
    r'[\s$*~]*(?:\\[ ,;])?\s*(?:\\text\s*\{\s*)?(?P<scale>'
    r'(?:hundred|thousand|million|billion|trillion|dozen)s?|percent|tenths|hundredths|thousandths|[百千万亿])(?![a-zA-Z])'
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
_BOX_LEAD = (
    r'(?:\$\$?|\\[(\[,;:! ]|\\q?quad(?![a-zA-Z])|\\left(?![a-zA-Z])|\\displaystyle(?![a-zA-Z])|[{*~`\s])*$'
)
_SIGNED = re.compile(r'[-−–±∓<>≤≥≠]|\\(?:pm|mp|le|ge|lt|gt|ne|not)')
_SIGN_BEFORE = re.compile(r'(?P<sign>\\pm(?![a-zA-Z])|\\mp(?![a-zA-Z])|[±∓−–-])(?P<gap>' + _BOX_LEAD + ')')
_RELATED = re.compile(
    r'(?P<left>(?<![a-zA-Z\\])(?:\\[a-zA-Z]+|[a-zA-Z])(?:_\{?\w{1,4}\}?|\([a-zA-Z]\))?\s*)?'
    r'(?P<relation>\\(?:leqslant|geqslant|leq|geq|le|ge|lt|gt|neq|ne|not\s?=)(?![a-zA-Z])|(?:<|>)=?|[≤≥≠])'
    + _BOX_LEAD
)
_UNARY = re.compile(
    r'(?:=|[<>≤≥≠≈]|\\(?:leqslant|geqslant|leq|geq|le|ge|lt|gt|neq|ne|approx|equiv)(?![a-zA-Z]))\s*$'
    r'|(?:(?:^|[\s:：,，(（*\u4e00-\u9fff])\$\$?|\\\(|\\\[)\s*$'
)
_ARROW_OR_TAG = re.compile(r'(?:[-=]>|</?[a-zA-Z|][^<>\n]*>|(?:^|\n)\s*>)\s*' + _BOX_LEAD)
_SPELLED = {'±': r'\pm ', '∓': r'\mp ', r'\pm': r'\pm ', r'\mp': r'\mp ', '−': '-', '–': '-', '-': '-'}
_RELATION_INSIDE = re.compile(r'[=<>≤≥≠]|\\(?:le|ge|ne|in)(?:q|qslant)?(?![a-zA-Z])')


def _with_sides(text: str, start: int, end: int, content: str) -> str:
    r"""Return the content of a box with what belongs to it: its member of a formula, its sign and relation.

    A box before an equals sign is a blank that is filled in, and one of two terms is the answer. A hyphen is
    a sign behind a relation, at the start of a formula, and where it touches the box behind a blank; it is
    none as a dash, as the bullet of a list, or between two terms. `=` and `\approx` go.

    >>> last_boxes(r'$2 \cdot \boxed5$').answers, last_boxes(r'$3 \cdot \boxed4 = 12$').answers
    (['2 \\cdot(5)'], ['4'])
    """
    if scale := _SCALE_AFTER.match(text, end):
        content = rf'{content} \text{{ {scale["scale"]}}}'
    elif not (text[start - 1 : start] in {'$', '['} and text[end : end + 1] in {'', '$', '.', '\n'}):
        start, content = _member(text, start, end, content)
    before = text[max(0, start - 80) : start]
    if not _SIGNED.search(before) or _RELATION_INSIDE.search(content) or OPTION.fullmatch(content):
        return content
    sign = _SIGN_BEFORE.search(before)
    if sign:
        left, gap = before[: sign.start()], sign['gap']
        alone = not left or left[-1] in ' \t\n:：,，(（{*' or '\u4e00' <= left[-1] <= '\u9fff'
        if _UNARY.search(left) or (alone and not gap[:1].isspace()):
            before, has_terms = left, re.search(r'[-+−]|\\pm', content)
            content = _SPELLED[sign['sign']] + (f'({content})' if has_terms else content)
    if _ARROW_OR_TAG.search(before) or not (related := _RELATED.search(before)):
        return content
    return f'{(related["left"] or "").strip()} {related["relation"]} {content}'.strip()


def _member(text: str, start: int, end: int, content: str) -> tuple[int, str]:
    """Return where the member of a formula begins in which a box stands, and that member."""
    line = max(text.rfind('\n', max(0, start - _LONGEST_LINE), start) + 1, start - _LONGEST_LINE, 0)
    opened = list(_OPENS.finditer(text, line, start))
    closed = opened and opened[-1][0][0] == '$' and sum(one[0][0] == '$' for one in opened) % 2 == 0
    before, after = text[opened[-1].end() if opened else line : start], text[end : end + _LONGEST_LINE]
    stop = _MEMBER_ENDS.search(after)
    after = after[: stop.start()] if stop else after
    has_words = _ENGLISH.search(f'{before} {after}')
    member = _NEW_MEMBER.match(before)
    before = before[member.end() :] if member else before
    filled_in = stop is not None and stop[0] in {'=', r'\approx', '≈'}
    in_list = not opened and _MARKER.search(before)
    if closed or filled_in or in_list or text.startswith('\\\\', start) or has_words:
        return start, content
    begins = start - len(before)
    before, after = (_SPACING.sub(' ', side).strip() for side in (before, after.rstrip(' .')))
    if before[:1] == '[' and ']' not in before + after[:-1]:  # of a display that lost its backslashes
        before = before[1:].lstrip()
    if after[-1:] == ']' and '[' not in before + after:
        after = after[:-1].rstrip()
    beside = before.strip('+-−{ ') or after.strip('{} ')
    a_term = not after and before[-1:] in {'+', '-', '−'}
    if not beside or a_term or re.fullmatch(r'\^\s*\{?\s*\\circ\s*\}?', after):
        return start, content
    whole = f'{before}({content}){after}' if before else f'({content}){after}'
    if whole.count('{') != whole.count('}') or not (_MEMBER.fullmatch(before) and _MEMBER.fullmatch(after)):
        return start, content
    return begins, whole
