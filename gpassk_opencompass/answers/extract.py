r"""The final answer of a response.

A response states its answer in a box (`\boxed{…}`, `\fbox{…}`) or in words ("the answer is …", "答案是…").
The last box wins, unless a later statement takes it back; without a box, the last spoken form, or a response
that is nothing but a value; otherwise there is no answer. Several that differ are no choice: see `hedges`.
What a model thinks aloud (`thoughts`) is no answer: only what follows the thought can be one. All of it takes
time linear in the response.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from .boxes import last_boxes
from .choices import letters_of
from .equal import LENIENT, distinct, read_answer
from .normal import join_thousands, normal_form
from .numeric import Number, Symbol
from .thoughts import Parted, part
from .values import PAIRS, Amount, Named, Relation, Several, Value, Words


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
    text = response.said
    if runaway := _RUNAWAY.search(text):
        before = text[: runaway.start()]
        if last_boxes(before).answers or _value_of(_spoken(before)):
            text = before
    boxes = last_boxes(text)
    answers, boxed = boxes.answers, bool(boxes.answers)
    if boxed:
        rest = text[boxes.end :]
        if _SPEAKS.search(rest):
            if later := _later(rest, answers):
                answers, boxed = [later], False
            elif other := _offered(rest, answers[-1]):
                answers = [*answers, other]
        answers = _without_repetitions(answers)
    elif spoken := json['value'].strip('" ') if (json := _JSON.fullmatch(text)) else _spoken(text):
        answers = [spoken]
    elif alone := _alone(text):
        answers = [alone]
    hedged = len(answers) > 1 or (not boxed and len(_values_in(''.join(answers))) > 1)
    # The letter of an option and what it says are one.
    if len(answers) == 2 and sum(map(_is_option, answers)) == 1:
        answers, hedged = sorted(answers, key=_is_option, reverse=True), False
    cut_off = response.open or boxes.open or (not answers and bool(_UNFINISHED.search(text.rstrip()[-1:])))
    return FinalAnswer(', '.join(answers), boxed, cut_off, hedged)


def hedges(answer: FinalAnswer, reference: str) -> bool:
    r"""Return whether `answer` states more values than `reference` asks for: such an answer is incorrect.

    Values that are equal, but for a unit or by rounding, are one. What `reference` asks for is read
    generously, by its commas, conjunctions and the like.

    >>> hedges(final_answer(r'\boxed{4} or \boxed{5}'), '5'), hedges(final_answer('答案是4或5'), '4, 5')
    (True, False)
    """
    values = _values_in(answer.text)
    count = max(len(values), 2 if answer.hedged else 1)
    return count > 1 and count > _asked_for(reference, all(map(_is_tuple, values)))


def _is_tuple(value: Value) -> bool:
    return isinstance(value, Several) and (value.kind == 'tuple' or value.kind in PAIRS)


@lru_cache(maxsize=4096)  # every sample of a question is held against one reference
def _asked_for(reference: str, tuples: bool) -> int:
    """Return the most values that `reference` may be read as: of `tuples`, pairs and intervals."""
    reference = final_answer(reference).text or reference  # it may be a whole solution
    if letters := letters_of(reference):
        return len(letters)
    value, *others = (reading.value for reading in read_answer(reference))
    if isinstance(value, Amount) and value.unit is None and not others:
        return 1
    if tuples and isinstance(value, Several):
        return len(value.items) if value.kind in {'list', 'set', 'union'} else 1
    separators = _ANY_SEPARATOR.findall(join_thousands(reference))
    return 1 + len(separators) - min(separators.count('='), 1)


_RUNAWAY = re.compile(
    r'\n[ \t]{0,9}(?:(?:Human|User|USER|Question|Problem|Q|问题|题目)\s?[:：]|###\s?(?:Instruction|Question))'
    r'|<\|im_start\|>\s?user'
)
_JSON = re.compile(
    r'\s*\{(?:[^{}]*,)?\s*"(?:final_)?answer"\s*:\s*'
    r'(?P<value>"[^"{}]*"|-?[0-9.]+)\s*(?:,\s*"(?!(?:final_)?answer)[^{}]*)?\}\s*'
)
_SPEAKS = re.compile(r'[^\W0-9_]')  # a letter of any script: nothing is stated without one
# A text without an answer that stops after one of these was not finished.
_UNFINISHED = re.compile(r'[A-Za-z\u4e00-\u9fff,，、;；:：=+\-*/^_<(\[{（\\]$')

# Values: which an answer lists, and which of them are one in two spellings

_COMPARED = 20  # answers that are held against one another
_LONGEST_LIST = 1000  # characters of an answer that are searched for several values
_VOICED = re.compile(
    r'(?<![a-zA-Z\\])(?:maybe|possibly|perhaps|even|also|either|both|approximately|about)(?![a-zA-Z])|也?可能是?|也许是?|或者?是',
    re.IGNORECASE,
)
_LETTERS = frozenset(map(Symbol, 'ABCDEFGH'))
_OPENS_WITH_OR = re.compile(r'[\s.,;]*(?:or|and|或|和|about|approximately|roughly|大?约)', re.IGNORECASE)
_APART = re.compile(r'\\q?quad(?![a-zA-Z])|(?<![a-zA-Z])(?:versus|vs\.?)(?![a-zA-Z])|、')
_ANY_SEPARATOR = re.compile(
    r'[,;，、；&\n]|\\\\|\\cup|\\pm|\\mp|±|(?<![a-zA-Z\\])(?:and|or)(?![a-zA-Z])|[和或与及]|(?<=[0-9])\s+(?=[-+]?[0-9])'
    r'|(?<=[0-9]\))\s*(?=\([0-9])|=',
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)  # n samples of a question give few answers
def _values_in(answer: str) -> Sequence[Value]:
    r"""Return the values that `answer` lists, each once; the whole of it where it is no list of values.

    A list in brackets is one value, and so are `2 hours and 5 minutes` and what holds words or conditions.
    """
    if len(answer) > _LONGEST_LIST:
        return [Words('text', (answer,))]
    bare = _APART.sub(' , ', _VOICED.sub(lambda one: '或' if one[0].startswith('或') else ' ', answer))
    value = read_answer(bare)[0].value
    items = value.items if isinstance(value, Several) and value.kind == 'list' else ()
    plain = [item.value if isinstance(item, Named) else item for item in items]
    units = [item.unit for item in items if isinstance(item, Amount) and item.unit]
    one_measure = len({*units}) == len(units) == len(items)
    letters = [item for item in plain if isinstance(item, Amount) and item.expression in _LETTERS]
    letter_and_text = len(items) == 2 and len(letters) == 1
    has_words = any(isinstance(item, Words | Relation) for item in plain)
    if not (one_measure or letter_and_text or has_words):
        return distinct(items, LENIENT)
    return [read_answer(answer)[0].value]


def _without_repetitions(answers: list[str]) -> list[str]:
    """Return answers each once; of two spellings of one value the last counts, or the exact one."""
    kept = list({normal_form(answer): answer for answer in answers}.values()) if len(answers) > 1 else answers
    if not 1 < len(kept) <= _COMPARED:
        return kept
    answers, kept = kept, []
    for answer in answers:
        same = next((one for one in kept if _are_alike(one, answer)), '')
        if not same:
            kept.append(answer)
        elif not _is_rounded(answer) or _is_rounded(same):
            kept[kept.index(same)] = answer
    return kept


def _number_in(answer: str) -> Amount | None:
    """Return the number that an answer is, perhaps with a name and a unit."""
    value = read_answer(answer)[0].value if len(answer) <= 200 and not _OPENS_WITH_OR.match(answer) else None
    value = value.value if isinstance(value, Named) else value
    return value if isinstance(value, Amount) and not value.expression.variables else None


def _is_rounded(answer: str) -> bool:
    number = _number_in(answer)
    return (
        number is not None and isinstance(number.expression, Number) and number.expression.digits is not None
    )


def _is_option(answer: str) -> bool:
    return len(letters_of(answer) or ()) == 1


@lru_cache(maxsize=4096)
def _are_alike(one: str, other: str) -> bool:
    r"""Return whether two answers are one in another spelling: `x = 5`, `5 \text{ cm}`; `50\%`."""
    letters = letters_of(one), letters_of(other)
    if any(letters):
        return letters[0] == letters[1]
    return LENIENT.texts(one, other).equal or LENIENT.texts(other, one).equal


# Statements in words

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
# What stands before "answer" where the statement is about something else, or taken back at once.
_OF_ANOTHER = re.compile(
    r'(?:\b(?:wrong|incorrect|(?:twice|half|double|of|than|times|plus|minus)(?:\s(?:the|this|that|our|my))?)'
    r'|\b(?:wrong|incorrect|false|doubt|unlikely|not\s(?:true|sure|certain))(?:\s\w{1,12}){0,3}\sthat(?:\sthe)?'
    r'|\b(?:some|others|people|many|nobody|no one|few|first|once|initially|to)\s'
    r'(?:says?|thinks?|claims?|believes?|thought|believed)(?:\sthat)?(?:\sthe)?)\s{1,3}$'
    r'|(?:错误的?|不正确的?|不)$',
    re.IGNORECASE,
)
_WINDOW = 2000
_ATTEMPTS = 3
_SENTENCE_END = re.compile(
    ''.join(rf'(?<!\b{one})' for one in (r'i\.e', r'e\.g', 'vs', 'cf', 'approx', 'resp', 'viz', 'ca'))
    + r'\.(?=\s|$)(?!(?<=\betc\.)\s{1,3}[a-z,])(?!(?<=\bNo\.)\s?[0-9])(?!\s{1,3}[Oo]r\b)'
    r'|[。？]|\s?<[/|]?[a-zA-Z_|]{1,20}>|\n(?!\s{0,9}or\b)'
    r'|，(?=[\u4e00-\u9fff])(?!也?可能|也?许|或|和|与|及|以及|即)|,?\s(?:because|since)\b'
)
_ADVERB = re.compile(
    r'(?:clearly|definitely|certainly|simply|just|exactly|indeed|obviously|then|now|therefore|thus)\s',
    re.IGNORECASE,
)
_AND_NOT = re.compile(r'(?<=[\w$)}]),?\s(?:and\s)?not\s\S{1,20}\Z')
_LEADING = ' \t\r\n*_`:：=，,是为】}'
_TRAILING = ' \t\r*_`"”.,;:，；：。'
_ANSWER_WORD = re.compile(
    r'(?i:yes|no|true|false|none|no (?:real )?solutions?)|是|否|对|错|正确|错误|无解|不存在'
)
_EXACT = re.compile(r'\\(?:sqrt|pi|frac|log|ln|sin|cos|tan)|[a-zA-Z]|\^|√|π')
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


def _spoken(text: str) -> str:
    """Return the answer of the last statement in words, without its math delimiters; '' if there is none."""
    matches = _SPOKEN.finditer(text)
    ends = [
        one.end() for one in matches if not _OF_ANOTHER.search(text[max(0, one.start() - 60) : one.start()])
    ]
    statements = (_statement(text[end : end + _WINDOW]) for end in reversed(ends[-_ATTEMPTS:]))
    return next((statement for statement in statements if statement), '')


def _later(rest: str, boxed: list[str]) -> str:
    """Return the answer in `rest`, the text behind the box, that takes the place of `boxed`; '' if none does.

    Only the last statement of a value counts; one that agrees with the box, with one of several, or with a
    rounded form of it takes nothing back, and neither does a value behind the letter of an option.
    """
    ends = sorted({match.end() for pattern in (_SPOKEN, _CORRECTED) for match in pattern.finditer(rest)})
    values = (_value_of(_statement(rest[end : end + _WINDOW])) for end in reversed(ends[-_ATTEMPTS:]))
    stated, whole = next((value for value in values if value), ''), ', '.join(boxed)
    if not stated or (any(map(_is_option, boxed)) and not _is_option(stated)):
        return ''
    if re.search(r'[0-9]\.[0-9]', stated) and _EXACT.search(whole):
        return ''
    theirs = _values_in(whole)
    repeated = all(
        any(LENIENT.values(one, other) is not None for other in theirs)
        for one in _values_in(stated)[:_COMPARED]
    )
    return '' if repeated or any(_are_alike(stated, one) for one in (whole, *boxed)) else stated


def _offered(rest: str, boxed: str) -> str:
    """Return the other number or letter that the text behind a box offers beside it; '' if none."""
    at_once, later = _OR_ELSE.match(rest), _DOUBTED.search(rest, 0, 200)
    other = at_once['value'] if at_once and not at_once['unit'] else later['value'] if later else ''
    kind = _is_option if _is_option(other) else _number_in
    return other if other and kind(boxed) and not _are_alike(boxed, other) else ''


def _statement(rest: str) -> str:
    """Return the formula that `rest` starts with, if nothing follows it, else the sentence."""
    rest = _ADVERB.sub('', rest.lstrip(_LEADING))
    for opener, closer in (('$$', '$$'), ('$', '$'), (r'\[', r'\]'), (r'\(', r'\)')):
        if rest.startswith(opener):
            formula, _, after = rest[len(opener) :].partition(closer)
            if formula.strip() and not _sentence(after):
                return formula.strip()
            break
    return _sentence(rest)


def _sentence(rest: str) -> str:
    sentence = (
        _SENTENCE_END.split(rest, maxsplit=1)[0].replace('**', '').replace('\\"', '').strip(_TRAILING).strip()
    )
    sentence = _AND_NOT.sub('', sentence)
    return sentence if '{' in sentence else sentence.rstrip('} \n"')  # of {"answer": 4}


def _value_of(statement: str) -> str:
    """Return `statement` if it is nothing but a value; '' otherwise."""
    text = statement.strip(_TRAILING).strip()
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
_TAIL = 400
"""Characters at the end in which a value behind a mark is looked for."""


def _alone(text: str) -> str:
    """Return the value that is all a response says, or its last line behind a mark; '' if there is none."""
    text = text.strip()
    whole = (text[:-_TAIL] + _TOKENS.sub('', text[-_TAIL:])).strip()
    if marked := _BEHIND_A_MARK.search(whole[-_TAIL:]):
        return (marked['hashes'] or marked['tag']).strip()
    if (told := _TOLD.search(whole[-_TAIL:])) and len(re.findall(r'[0-9]+', told['value'])) == 1:
        value = told['value'].strip(_TRAILING)
        counted = _COUNTED.fullmatch(value)
        return value if counted is None or _CHANGED.search(counted[1]) else counted[2]
    if chosen := _CHOSEN.match(whole):
        return chosen['value']
    if '\n' in whole or len(whole) > 60:
        return ''
    bare = whole.strip(_TRAILING).strip()
    bare = bare if _ONE_FORMULA.fullmatch(bare) else bare.strip('$').strip(_TRAILING).strip()
    patterns = (_ANSWER_WORD, _ONE_FORMULA, _POINT)
    return (
        whole if _is_option(bare) or _number_in(bare) or any(one.fullmatch(bare) for one in patterns) else ''
    )
