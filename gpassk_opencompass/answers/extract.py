r"""The final answer of a response.

It stands in a box, in words ("the answer is …", "答案是…"), or is all that a response says, outside of what
it thinks aloud. Several that differ are no choice: see `hedges`. All of it takes time linear in the response.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from .choices import letters_of
from .equal import LENIENT, distinct, read_answer
from .normal import join_thousands, normal_form
from .numeric import Expression, Symbol
from .thoughts import Parted, part
from .values import PAIRS, Amount, Named, Relation, Several, Value, Words


class FinalAnswer(NamedTuple):
    """The final answer of a response, as written (use `answers.normal_form` to compare it)."""

    text: str
    """The answer; '' where the response has none. Several are joined with ', '."""
    boxed: bool
    """Whether the answer stood in a box."""
    cut_off: bool
    """Whether its last box or its thinking is not closed, or it has no answer and stops within a sentence."""
    hedged: bool = False
    """Whether it states several answers that differ: right only where the reference asks for several."""


_RUNAWAY = re.compile(
    r'\n[ \t]{0,9}(?:(?:Human|User|USER|Question|Problem|Q|问题|题目)\s?[:：]|###\s?(?:Instruction|Question))'
    r'|<\|im_start\|>\s?user'
)
_JSON = re.compile(
    r'\s*\{(?:[^{}]*,)?\s*"(?:final_)?answer"\s*:\s*'
    r'(?P<value>"[^"{}]*"|-?[0-9.]+)\s*(?:,\s*"(?!(?:final_)?answer)[^{}]*)?\}\s*'
)
_LETTER = re.compile(r'[^\W0-9_]')  # of any script: nothing is stated without one
# A text without an answer that stops after one of these was not finished.
_UNFINISHED = re.compile(r'[A-Za-z\u4e00-\u9fff,，、;；:：=+\-*/^_<(\[{（\\]$')


def final_answer(response: str) -> FinalAnswer:
    r"""Return the final answer that `response` states.

    - The last box with balanced braces counts, with the sign and the relation before it. Boxes tied to it
      make one answer together: taking the last alone would make a guess of several values right.
    - A later "the answer is …" or "Correction: …" with another value takes the place of the box; a later
      "or 6" is one more answer.
    - Without a box, what follows the last "the answer is", "Answer:", "答案是", … in its sentence.
    - What is thought is not looked at, and a thought without an end is cut off; see `thoughts.part`.

    >>> final_answer(r'So $x = \boxed{\frac{1}{2}}$, as claimed.')
    FinalAnswer(text='\\frac{1}{2}', boxed=True, cut_off=False, hedged=False)
    >>> final_answer('<think>Perhaps \\boxed{3}?</think> 所以答案是 $4$。').text
    '4'
    """
    return answer_of(part(response))


def answer_of(response: Parted) -> FinalAnswer:
    """Return the final answer of a response that was taken apart; see `final_answer`."""
    text = response.said
    if runaway := _RUNAWAY.search(text):
        before = text[: runaway.start()]
        if _last_boxes(before)[0] or _plain_value(_spoken(before)):
            text = before
    answers, end, is_open = _last_boxes(text)
    boxed = bool(answers)
    if boxed and _LETTER.search(rest := text[end:]):
        if later := _later(rest, answers):
            answers, boxed = [later], False
        elif other := _offered(rest, answers[-1]):
            answers = [*answers, other]
    if not answers:
        json = _JSON.fullmatch(text)
        stated = json['value'].strip('" ') if json else _spoken(text).strip() or _alone(text)
        answers = [stated] if stated else []
    answers = _without_repetitions(answers)
    hedged = len(answers) > 1 or (not boxed and len(_values_in(''.join(answers))) > 1)
    # The letter of an option and what it says are one.
    if len(answers) == 2 and sum(map(_is_option, answers)) == 1:
        answers, hedged = sorted(answers, key=_is_option, reverse=True), False
    cut_off = response.open or is_open or (not answers and bool(_UNFINISHED.search(text.rstrip()[-1:])))
    return FinalAnswer(', '.join(answers), boxed, cut_off, hedged)


def hedges(answer: FinalAnswer, reference: str) -> bool:
    r"""Return whether `answer` states more different values than `reference` asks for: it is incorrect.

    >>> hedges(final_answer(r'\boxed{4} or \boxed{5}'), '5'), hedges(final_answer('答案是4或5'), '4, 5')
    (True, False)
    """
    values = _values_in(answer.text)
    count = max(len(values), 2 if answer.hedged else 1)
    are_tuples = all(isinstance(one, Several) and one.kind in PAIRS | {'tuple'} for one in values)
    return count > 1 and count > _most_values(reference, are_tuples)


@lru_cache(maxsize=4096)  # every sample of a question is held against one reference
def _most_values(reference: str, tuples: bool) -> int:
    """Return the most values that `reference` may be read as, by its commas, conjunctions and the like."""
    reference = final_answer(reference).text or reference  # it may be a whole solution
    if letters := letters_of(reference):
        return len(letters)
    match [reading.value for reading in read_answer(reference)]:
        case [Amount(unit=None)]:
            return 1
        case [Several(kind, items), *_] if tuples:
            return len(items) if kind in {'list', 'set', 'union'} else 1
    separators = _ANY_SEPARATOR.findall(join_thousands(reference))
    return 1 + len(separators) - min(separators.count('='), 1)


# Values: which an answer lists, and which of them are one in two spellings

_COMPARED = 20  # answers that are held against one another
_VOICED = re.compile(
    r'(?<![a-zA-Z\\])(?:maybe|possibly|perhaps|even|also|either|both|approximately|about)(?![a-zA-Z])|也?可能是?|也许是?|(或者?)是',
    re.IGNORECASE,
)
_APART = re.compile(r'\\q?quad(?![a-zA-Z])|(?<![a-zA-Z])(?:versus|vs\.?)(?![a-zA-Z])|、')
_ANY_SEPARATOR = re.compile(
    r'[,;，、；&\n]|\\\\|\\cup|\\pm|\\mp|±|(?<![a-zA-Z\\])(?:and|or)(?![a-zA-Z])|[和或与及]|(?<=[0-9])\s+(?=[-+]?[0-9])'
    r'|(?<=[0-9]\))\s*(?=\([0-9])|=',
    re.IGNORECASE,
)
_LETTERS = frozenset(map(Symbol, 'ABCDEFGH'))
_OPENS_WITH_OR = re.compile(r'[\s.,;]*(?:or|and|或|和|about|approximately|roughly|大?约)', re.IGNORECASE)


@lru_cache(maxsize=4096)  # n samples of a question give few answers
def _values_in(answer: str) -> Sequence[Value]:
    """Return the values that `answer` lists, each once; of `2 hours and 5 minutes`, or words, the whole."""
    if len(answer) > 1000:
        return [Words('text', (answer,))]
    value = read_answer(_APART.sub(' , ', _VOICED.sub(lambda one: (one[1] and '或') or ' ', answer)))[0].value
    items = value.items if isinstance(value, Several) and value.kind == 'list' else ()
    plain = [item.value if isinstance(item, Named) else item for item in items]
    units = [item.unit for item in items if isinstance(item, Amount) and item.unit]
    one_measure = len({*units}) == len(units) == len(items)
    letters = [one for one in plain if isinstance(one, Amount) and one.expression in _LETTERS]
    letter_and_text = len(items) == 2 and len(letters) == 1
    if one_measure or letter_and_text or any(isinstance(item, Words | Relation) for item in plain):
        return [read_answer(answer)[0].value]
    return distinct(items, LENIENT)


def _without_repetitions(answers: list[str]) -> list[str]:
    """Return answers each once; of two spellings of one value the last counts, or the exact one."""
    last = list({normal_form(answer): answer for answer in answers}.values()) if len(answers) > 1 else answers
    if len(last) > _COMPARED:
        return last
    kept: list[str] = []
    for answer in last:
        same = next((one for one in kept if _are_alike(one, answer)), None)
        digits = [getattr(_number_in(one), 'digits', None) for one in (answer, same or '')]
        if same is None:
            kept.append(answer)
        elif digits[0] is None or digits[1] is not None:
            kept[kept.index(same)] = answer
    return kept


def _number_in(answer: str) -> Expression | None:
    """Return the number that an answer is, perhaps with a name and a unit."""
    value = read_answer(answer)[0].value if len(answer) <= 200 and not _OPENS_WITH_OR.match(answer) else None
    value = value.value if isinstance(value, Named) else value
    return value.expression if isinstance(value, Amount) and not value.expression.variables else None


def _is_option(answer: str) -> bool:
    return len(letters_of(answer) or ()) == 1


@lru_cache(maxsize=4096)
def _are_alike(one: str, other: str) -> bool:
    r"""Return whether two answers are one in another spelling: `x = 5`, `5 \text{ cm}`; `50\%`."""
    letters = letters_of(one), letters_of(other)
    if any(letters):
        return letters[0] == letters[1]
    return LENIENT.texts(one, other).equal or LENIENT.texts(other, one).equal


# Boxes. Up to four backslashes: a response that was escaped once too often, or a line break before the box

_BOX_OR_BRACE = re.compile(r'(?P<box>\\{1,4}(?:boxed|fbox|framebox)(?![a-zA-Z])\s*)|\\.|[{}]', re.DOTALL)
_BARE_BOX = re.compile(r'[-+]?[0-9](?:[0-9.,/]*[0-9])?|[A-Z](?![A-Za-z])')  # of `\boxed 5`
_NOT_BLANK = re.compile(r'\S')


def _last_boxes(text: str) -> tuple[list[str], int, bool]:  # noqa: C901
    """Return what the last box holds and those tied to it, where it ends, and whether a later one is open."""
    boxes: list[tuple[int, int, int, int]] = []  # start and end of each, and of its content
    open_braces: list[tuple[int, int]] = []  # where the content starts, and the box; -1 if it is none
    start = -1
    first = text.find('box')  # braces before it change nothing, and a response is mostly that
    for match in _BOX_OR_BRACE.finditer(text, max(0, first - 9)) if first >= 0 else ():
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
    last = max(len(boxes) - 1, 0)
    while last and _are_tied(text, boxes[last - 1][1], boxes[last][0]):
        last -= 1
    many = len(boxes) - last > 50  # nobody asks for more
    answers = [
        content if many else _with_sides(text, begin, end, content)
        for begin, end, content in [(*box[:2], text[slice(*box[2:])].strip()) for box in boxes[last:]]
    ]
    return answers, boxes[-1][1] if boxes else 0, is_open


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
    """Return whether two boxes make one answer: a joint, marker, name, unit or doubt is all between them."""
    if end - start > 120:
        return False
    between = _COMMAND.sub(r'\1', _UNWRITTEN.sub('', text[start:end]))
    if _DOUBTS.search(between) and not _DECISION.search(between):
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

_MEMBER = re.compile(
    r'(?:[-+*/^_(){}\[\]|!0-9a-zA-Z.\s·×%]|\\%'
    r'|\\(?:[cdt]?frac|sqrt|pi|cdot|times|log|ln|sin|cos|tan|[lr]floor|circ)(?![a-zA-Z]))*'
)
_SCALE_AFTER = re.compile(
    r'[\s$*~]*(?:\\[ ,;])?\s*(?:\\text\s*\{\s*)?(?P<scale>'
    r'(?:hundred|thousand|million|billion|trillion|dozen)s?|percent|tenths|hundredths|thousandths|[百千万亿]'
    r'|(?:or|and)\s(?:more|less|fewer|higher|lower|greater|larger|above|below|up)(?=[\s$*}]*(?:[.,;]|\Z))|以[上下])(?![a-zA-Z])'
)
_SPACE = r'\\[,;:! ]|\\(?:q?quad|displaystyle|left|right)(?![a-zA-Z])|~'
_SPACING = re.compile(_SPACE)
_RELATION_SIGN = (
    r'=|[<>≤≥≠≈,，;；&]|\\\\'
    r'|\\(?:leq?|geq?|leqslant|geqslant|neq?|lt|gt|approx|equiv|to|Rightarrow|implies|q?quad)(?![a-zA-Z])'
)
_NEW_MEMBER = re.compile(f'.*(?:{_RELATION_SIGN}|[:：])', re.DOTALL)
_MEMBER_ENDS = re.compile(rf'\$|\\[)\]]|\n|\\text(?![a-zA-Z])|{_RELATION_SIGN}')
_OPENS = re.compile(r'(?<!\\)\$\$?|\\[(\[]')
_LONGEST_LINE = 400
_BOX_LEAD = rf'(?:{_SPACE}|[$\s{{*`]|\\[(\[])*$'
_RELATION = r'(?:\\(?:[lg]eqslant|[lg]eq?|[lg]t|neq?|not\s?=)(?![a-zA-Z])|[<>]=?|[≤≥≠])'
_SIGNED = re.compile(r'[-−–±∓<>≤≥≠]|\\(?:pm|mp|le|ge|lt|gt|ne|not)')  # most have none
_SIGN_BEFORE = re.compile(rf'(?P<sign>\\pm(?![a-zA-Z])|\\mp(?![a-zA-Z])|[±∓−–-])(?P<gap>{_BOX_LEAD})')
_RELATED = re.compile(
    r'(?P<left>(?<![a-zA-Z\\])(?:\\[a-zA-Z]+|[a-zA-Z])(?:_\{?\w{1,4}\}?|\([a-zA-Z]\))?\s*)?'
    rf'(?P<relation>{_RELATION}){_BOX_LEAD}'
)
_UNARY = re.compile(
    rf'(?:[=≈]|\\(?:approx|equiv)|{_RELATION}|(?:^|[\s:：,，(（*\u4e00-\u9fff])\$\$?|\\[(\[])\s*$'
)
_ARROW_OR_TAG = re.compile(rf'(?:[-=]>|</?[a-zA-Z|][^<>\n]*>|(?:^|\n)\s*>)\s*{_BOX_LEAD}')
_SPELLED = {'±': r'\pm ', '∓': r'\mp ', r'\pm': r'\pm ', r'\mp': r'\mp '}
_RELATION_INSIDE = re.compile(r'[=<>≤≥≠]|\\(?:le|ge|ne|in)(?:q|qslant)?(?![a-zA-Z])')


def _with_sides(text: str, start: int, end: int, content: str) -> str:
    """Return the content of a box with its member of a formula, sign (no dash or bullet) and relation."""
    if scale := _SCALE_AFTER.match(text, end, end + 99):  # white space may go on
        content = rf'{content} \text{{ {scale["scale"]}}}'
    elif not (text[start - 1 : start] in {'$', '['} and text[end : end + 1] in {'', '$', '.', '\n'}):
        start, content = _member(text, start, end, content)
    before = text[max(0, start - 80) : start]
    if not _SIGNED.search(before) or _RELATION_INSIDE.search(content) or _is_option(content):
        return content
    if sign := _SIGN_BEFORE.search(before):
        left, gap = before[: sign.start()], sign['gap']
        alone = not left or left[-1] in ' \t\n:：,，(（{*' or '\u4e00' <= left[-1] <= '\u9fff'
        if _UNARY.search(left) or (alone and not gap[:1].isspace()):
            content = f'({content})' if re.search(r'[-+−]|\\pm', content) else content
            before, content = left, _SPELLED.get(sign['sign'], '-') + content
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
    is_angle = re.fullmatch(r'\^\s*\{?\s*\\circ\s*\}?', after)
    whole = f'{before}({content}){after}'
    balanced = whole.count('{') == whole.count('}') and _MEMBER.fullmatch(before) and _MEMBER.fullmatch(after)
    return (begins, whole) if beside and balanced and not a_term and not is_angle else (start, content)


# Statements in words

_SPOKEN = re.compile(
    r'(?i:\banswers?)(?:(?i:\s{1,3}(?:to|for|of)\b[^.:\n]{0,80}?)?'
    r'(?i:\s{1,3}(?:is|are|=|(?:should|must|would|will|could|may|might)\s{1,3}be)(?!\w))'
    r'|["”*_ ]{0,6}[:：])'
    r'|(?im:^[ #*_]{0,6}(?:the\s)?(?:final\s)?answers?[ #*_]{0,6}$)'
    r'|[【\[]答案[】\]]|最终答案|答案(?:(?:应该|应|可能|也许|大概)?(?:是|为)|选(?!项)|["”*_ ]{0,6}[:：])'
    r'|(?i:\b(?:correct|right|best)\s(?:option|choice)\s(?:is|:))'
    r'|正确(?:的)?(?:选项|答案)(?:应该|应)?(?:是|为|[:：])'
    r'|(?:故|应|因此|所以|本题)(?:应)?[选填]'
)
_CORRECTED = re.compile(
    r'(?i:\bcorrection)["”*_ ]{0,6}[:：]|(?:更正|纠正|修正)(?:一下)?(?:为|[:：])'
    r'|(?i:\b(?:wait|no|actually|sorry|oops|correction|rather)\b)[^.:\n\\]{0,40}?(?i:\bit(?:\sshould\sbe|\sis|\x27s)(?!\w))'
    r'|(?:不对|更正|等等|抱歉)[^。\n\\]{0,20}?(?:应该是|应是|应为)'
)
# What stands before "answer" where the statement is about something else, or taken back at once.
_OF_ANOTHER = re.compile(
    r'(?:\b(?:wrong|incorrect|(?:twice|half|double|of|than|times|plus|minus)(?:\s(?:the|this|that|our|my))?)'
    r'|\b(?:wrong|incorrect|false|doubt|unlikely|not\s(?:true|sure|certain))(?:\s\w{1,12}){0,3}\sthat(?:\sthe)?'
    r'|\b(?:some|others|people|many|nobody|no one|few|first|once|initially|to)\s'
    r'(?:says?|thinks?|claims?|believes?|thought|believed)(?:\sthat)?(?:\sthe)?)\s{1,3}$'
    r'|(?:错误的?|不正确的?|不|怀疑)$',
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(
    ''.join(rf'(?<!\b{one})' for one in (r'i\.e', r'e\.g', 'vs', 'cf', 'approx', 'resp', 'viz', 'ca'))
    + r'\.(?=\s|$)(?!(?<=\betc\.)\s{1,3}[a-z,])(?!(?<=\bNo\.)\s?[0-9])(?!\s{1,3}[Oo]r\b)'
    r'|[。？]|\s?<[/|]?[a-zA-Z_|]{1,20}>|\n(?!\s{0,9}or\b)'
    r'|，(?=[\u4e00-\u9fff])(?!也?可能|也?许|或|和|与|及|以及|即)|,?\s(?:because|since)\b'
)
_ADVERB = re.compile(
    r'(?i:clearly|definitely|certainly|simply|just|exactly|indeed|obviously|then|now|therefore|thus)\s'
)
_OPENER = re.compile(r'\$\$?|\\[(\[]')
_CLOSERS = {r'\(': r'\)', r'\[': r'\]'}
_AND_NOT = re.compile(r'(?<=[\w$)}]),?\s(?:and\s)?not\s\S{1,20}\Z')
_TRAILING = ' \t\r\n*_`"”.,;:，；：。'
_ANSWER_WORD = re.compile(
    r'(?i:yes|no|true|false|none|no (?:real )?solutions?|[是否对错]|正确|错误|无解|不存在)'
)
_EXACT = re.compile(r'\\(?:sqrt|pi|frac|log|ln|sin|cos|tan)|[a-zA-Z]|\^|√|π')
_VALUE = (
    r'(?:\$|\\\(|\\boxed\{)?\s{0,3}(?:[a-zA-Z]\s{0,3}=\s{0,3})?'
    r'(?P<value>[-+−]?[0-9]+(?:[.,/][0-9]+)*|\\d?frac\{[0-9]+\}\{[0-9]+\}|[A-H](?![a-zA-Z_0-9]))'
)
_OR_ELSE = re.compile(
    r'(?:\s|\$|\\[)\]]|\*\*|[,，;；]|\.(?=\s)|[(（]|[}])*(?:\\text\{\s?)?(?:[oO]r|或者|或是|或)(?![a-zA-Z])\s?\}?'
    r'(?:(?i:\s?(?:maybe|possibly|perhaps|even|else|also))|\s?也?可能是?)?\s{0,3}'
    rf'{_VALUE}(?P<unit>\\?\$?\s?[a-zA-Z\u4e00-\u9fff])?'
)
_DOUBTED = re.compile(
    r'(?:(?i:\b(?:it|answer|result|value)\s(?:could|might|may)(?:\s(?:also|well|even|possibly|equally)){0,2}\sbe)\s{1,3}'
    r'|(?i:\b(?:alternatively|possibly|maybe|perhaps)),?\s{1,3}|(?:答案|结果)?也(?:有)?(?:可能|许)(?:是|为)\s{0,3})'
    rf'{_VALUE}(?=[\s$*)]{{0,4}}(?:[.。!?？\n]|$))'
)


def _statements(text: str, marks: list[re.Match[str]]) -> Iterator[str]:
    """Yield the formula behind each of the last three of these marks, or the sentence, the last one first."""
    for mark in reversed(marks[-3:]):
        rest = text[mark.end() : mark.end() + 2000].lstrip(' \t\r\n*_`:：=，,是为】}')
        opener = _OPENER.match(rest := _ADVERB.sub('', rest))
        opened = opener[0] if opener else ''
        formula, _, after = rest[len(opened) :].partition(_CLOSERS.get(opened, opened) or '\n')
        whole = opened and formula.strip() and not _sentence(after)
        yield formula.strip() if whole else _sentence(rest)


def _spoken(text: str) -> str:
    """Return the answer of the last statement in words, without its math delimiters; '' if there is none."""
    meant = (
        one
        for one in reversed([*_SPOKEN.finditer(text)])
        if not _OF_ANOTHER.search(text, max(0, one.start() - 60), one.start())
    )
    marks = [*islice(meant, 3)][::-1]
    corrected = [*_CORRECTED.finditer(text, marks[-1].end())] if marks else []
    values = map(_plain_value, _statements(text, corrected))
    return next(filter(None, (*values, *_statements(text, marks))), '')


def _later(rest: str, boxed: list[str]) -> str:
    """Return the last value stated behind the box, if it takes back `boxed`, agreeing with none; or ''."""
    marks = sorted((*_SPOKEN.finditer(rest), *_CORRECTED.finditer(rest)), key=re.Match.end)
    stated = next(filter(None, map(_plain_value, _statements(rest, marks))), '')
    whole = ', '.join(boxed)
    if not stated or (any(map(_is_option, boxed)) and not _is_option(stated)):
        return ''
    if re.search(r'[0-9]\.[0-9]', stated) and _EXACT.search(whole):
        return ''
    theirs, ours = _values_in(whole), _values_in(stated)[:_COMPARED]
    repeated = all(any(LENIENT.values(one, other) is not None for other in theirs) for one in ours)
    return '' if repeated or any(_are_alike(stated, one) for one in (whole, *boxed)) else stated


def _offered(rest: str, boxed: str) -> str:
    """Return the other number or letter that the text behind a box offers beside it; '' if none."""
    at_once, later = _OR_ELSE.match(rest), _DOUBTED.search(rest, 0, 200)
    other = at_once['value'] if at_once and not at_once['unit'] else later['value'] if later else ''
    kind = _is_option if _is_option(other) else _number_in
    return other if other and kind(boxed) and not _are_alike(boxed, other) else ''


def _sentence(rest: str) -> str:
    sentence = _SENTENCE_END.split(rest, maxsplit=1)[0].replace('**', '').replace('\\"', '')
    sentence = _AND_NOT.sub('', sentence.strip(_TRAILING))
    return sentence if '{' in sentence else sentence.rstrip('} \n"')  # of {"answer": 4}


def _plain_value(statement: str) -> str:
    """Return `statement` if it is nothing but a value; '' otherwise."""
    text = statement.strip(_TRAILING)
    if not text or len(text) > 100 or r'\boxed' in text:
        return ''
    if _ANSWER_WORD.fullmatch(text) or _is_option(text) or _number_in(text):
        return text
    words = {*re.findall(r'(?<![\\a-zA-Z])[a-zA-Z]{2,}', re.sub(r'\\text\{[^{}]*\}', '', text))}
    solid = re.search(r'[0-9]|\\(?:pi|infty|emptyset)', text)
    return text if solid and words <= {'or', 'and'} and not re.search(r'[\u4e00-\u9fff]{4,}', text) else ''


_BEHIND_A_MARK = re.compile(
    r'(?:^|\n)\s*(?:####\s*(?P<hashes>[^\n]+)|<answer>(?P<tag>[^<>]+)</answer>)\s*\Z', re.IGNORECASE
)
_CHOSEN = re.compile(r'(?:(?:应|故)?选\s?|(?i:the )?(?i:option|choice)\s)(?P<value>[A-H])[.。]?\Z')
_TOLD = re.compile(r'答[:：]\s*(?P<value>[^\n]{1,40})\s*\Z')
_ONE_FORMULA = re.compile(r'\$[^$\n]+\$|\\\([^\n]+?\\\)')
_TOKENS = re.compile(r'(?:\s*(?:<\|[^<>|\n]{1,30}\|>|</?s>))+\s*\Z|\A\s*(?:<\|[^<>|\n]{1,30}\|>\s*)+')
_COUNTED = re.compile(r'([^0-9]{0,20}?(?:有|为|是|要|需要?|花了?|用了?|等于|得))\s*([-$\\]*[0-9].*)')
_CHANGED = re.compile('[不非没未无若至最超多少约从每第倍]')
_POINT = re.compile(r'[(\[]\s*[-+]?[0-9./]+(?:\s*,\s*[-+]?[0-9./]+)+\s*[)\]]')


def _alone(text: str) -> str:
    """Return the value that is all a response says, or its last line behind a mark; '' if there is none."""
    text = text.strip()
    whole = (text[:-400] + _TOKENS.sub('', text[-400:])).strip()
    if marked := _BEHIND_A_MARK.search(whole[-400:]):
        return (marked['hashes'] or marked['tag']).strip()
    if (told := _TOLD.search(whole[-400:])) and len(re.findall(r'[0-9]+', told['value'])) == 1:
        value = told['value'].strip(_TRAILING)
        counted = _COUNTED.fullmatch(value)
        return value if counted is None or _CHANGED.search(counted[1]) else counted[2]
    if chosen := _CHOSEN.match(whole):
        return chosen['value']
    if '\n' in whole or len(whole) > 60:
        return ''
    bare = whole.strip(_TRAILING)
    bare = bare if _ONE_FORMULA.fullmatch(bare) else bare.strip('$').strip(_TRAILING)
    is_value = any(one.fullmatch(bare) for one in (_ANSWER_WORD, _ONE_FORMULA, _POINT))
    return whole if is_value or _is_option(bare) or _number_in(bare) else ''
