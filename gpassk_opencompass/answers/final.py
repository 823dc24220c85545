r"""The final answer of a response.

A response states its answer in a box (`\boxed{…}`, `\fbox{…}`) or in words ("the answer is …", "答案是…").
The last box wins, unless a later statement takes it back; without a box, the last spoken form; otherwise
there is no answer. Several that differ are no choice: see `hedges`. What a model thinks aloud (`thoughts`) is
no answer: only what follows the thought can be one. All of it takes time linear in the response.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from .boxes import last_boxes
from .candidates import (
    alike,
    asks_for,
    covering,
    distinct,
    is_option,
    is_plain_number,
    letter_first,
    repeats,
    values_of,
)
from .thoughts import Parted, part

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
    r'|\b(?:some|others|people|many|nobody|no one|few|first|once|initially|to)\s(?:says?|thinks?|claims?|believes?|thought|believed)(?:\sthat)?(?:\sthe)?)\s{1,3}$'
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
_ADVERB = re.compile(r'(?:clearly|definitely|certainly|simply|just|exactly|indeed|obviously|then|now|therefore|thus)\s', re.IGNORECASE)
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
    r'\n\s*(?:Human|User|USER|Question|Problem|Q|问题|题目)\s?[:：]|<\|im_start\|>\s?user|\n\s*###\s?(?:Instruction|Question)'
)
_BEHIND_A_MARK = re.compile(
    r'(?:^|\n)\s*(?:####\s*(?P<hashes>[^\n]+)|<answer>(?P<tag>[^<>]+)</answer>)\s*\Z', re.IGNORECASE
)
_CHOSEN = re.compile(r'(?:(?:应|故)?选\s?|(?i:the )?(?i:option|choice)\s)(?P<value>[A-H])[.。]?\Z')
_TOLD = re.compile(r'答[:：]\s*(?P<value>[^\n]{1,40})\s*\Z')
_ONE_FORMULA = re.compile(r'\$[^$\n]+\$|\\\([^\n]+?\\\)')
_TOKENS = re.compile(r'(?:\s*(?:<\|[^<>|\n]{1,30}\|>|</?s>))+\s*\Z|\A\s*(?:<\|[^<>|\n]{1,30}\|>\s*)+')
_JSON = re.compile(r'\s*\{(?:[^{}]*,)?\s*"(?:final_)?answer"\s*:\s*(?P<value>"[^"{}]*"|-?[0-9.]+)\s*(?:,\s*"(?!(?:final_)?answer)[^{}]*)?\}\s*')
_COUNTED = re.compile(r'([^0-9]{0,20}?(?:有|为|是|要|需要?|花了?|用了?|等于|得))\s*([-$\\]*[0-9].*)')
_CHANGED = re.compile('[不非没未无若至最超多少约从每第倍]')
_TUPLE = re.compile(r'[(\[]\s*[-+]?[0-9./]+(?:\s*,\s*[-+]?[0-9./]+)+\s*[)\]]')
_LONGEST_ALONE = 60


def _alone(text: str) -> str:
    """Return the value that is all a response says, or its last line behind a mark; '' if there is none."""
    text = _TOKENS.sub('', text)
    if marked := _BEHIND_A_MARK.search(text):
        return (marked['hashes'] or marked['tag']).strip()
    whole = text.strip()
    if (told := _TOLD.search(whole)) and len(re.findall(r'[0-9]+', told['value'])) == 1:
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
    return is_option(text) or is_plain_number(text) or bool(
        _ANSWER_WORD.fullmatch(text) or _ONE_FORMULA.fullmatch(text) or _TUPLE.fullmatch(text)
    )


def _without_steps(answers: list[str]) -> list[str]:
    """Return answers without those that end in the last one: 1024 − 56 = 968 and 968 are one."""
    ends = [re.split(r'=|\\(?:Right|Longright)arrow|\\implies|⇒', answer)[-1] for answer in answers]
    return [
        answer
        for answer, end in zip(answers, ends, strict=True)
        if answer is answers[-1] or end == answer or not alike(end.strip(_TRAILING), answers[-1])
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
