r"""Answers to a multiple-choice question: the letters chosen, and the options that the question offers.

>>> sorted(letters_of('Option B')), sorted(letters_of('A、B、D')), letters_of('5')
(['B'], ['A', 'B', 'D'], None)
>>> options_of('Which is prime? (A) 4 (B) 5 (C) 6')
{'A': '4', 'B': '5', 'C': '6'}
"""

from __future__ import annotations

import re
from functools import lru_cache

_LAST = 'H'
_WRAPPERS = re.compile(
    r'\\(?:text\w*|math(?:rm|bf|sf)|mbox|boxed|fbox|displaystyle|left|right)(?![a-zA-Z])'
    r'|[${}*_`~"“”]|\\[,;!() ]|\\q?quad'
)
_BRACKETED = re.compile(
    r'(?:(?P<round>[(（])|(?P<square>\[)|(?P<other>[【〔]))\s*([A-H])\s*(?(round)[)）])(?(square)\])(?(other)[】〕])'
)
_SAID = re.compile(
    r'^(?:(?:the\s+)?(?:correct\s+|right\s+|final\s+)?(?:answers?|options?|choices?)\s*(?:is|are|:|：)?\s*'
    r'|(?:正确)?(?:的)?(?:答案|选项)\s*(?:是|为|:|：)?\s*|故?选择?\s*[:：]?\s*)+',
    re.IGNORECASE,
)  # fmt: skip
_LETTERS = re.compile(r'[A-H](?:\s*(?:[,，、;；和与及&/]|and|以及)?\s*(?:and\s+)?[A-H])*', re.ASCII)
_LETTER_AND_TEXT = re.compile(
    r'(?:\(([A-H])\)|([A-H])\s*(?:[.．:：、，,)）。；;]|(?=[\u4e00-\u9fff]|\s+[A-Z][a-z]{2})))\s*(.*)',
    re.DOTALL,
)
_LETTER_THEN_WORDS = re.compile(r'([A-H])(?:项|选项|正确|是正确的|is correct|is right)[.。]?')
_CONCLUDED = re.compile(
    r"(?:(?:.*[.,;:]\s*)?(?:(?:therefore|thus|hence|so)\b,?(?:\s(?:I think|that))?\s(?:it's|it is)"
    r'|(?:(?:so|the|correct|final|la)\s)*(?:answer is|réponse est)))?'
    r'(?:\s*for sure)?\s+(?-i:([A-H]))'
    r"(?:[.,]?\s(?:it\s(?:can't be|is not)|and not|not|non)\s[A-H](?:\sor\s[A-H])*)?[.]?",
    re.DOTALL | re.IGNORECASE,
)
_MARK = re.compile(
    r'(?:(?<![A-Za-z0-9\\])\(\s*([A-H])\s*\)|(?<![A-Za-z0-9\\$({])([A-H])\s*[.．:：、)）](?!\s*[A-H]\s*[.．、)）]))\s*'
)
_END = re.compile(r'[\s.;；,，。\\]*(?:\\q?quad|\\\\|\n)*[\s.;；,，。]*$')


def letters_of(text: str) -> frozenset[str] | None:
    """Return the letters that `text` chooses, if that is all it does, else None.

    Several letters stand in the order of the alphabet: `BA` is a product or a segment.
    """
    text = _bare(text)
    if match := _LETTER_THEN_WORDS.fullmatch(text):
        return frozenset(match[1])
    if _LETTERS.fullmatch(text):
        letters = re.findall(r'[A-H]', text.replace('and', ''))
        return frozenset(letters) if letters == sorted(set(letters)) else None
    return None


def chosen_in(text: str) -> tuple[str, str] | None:
    """Return the letter and the text of an answer such as `(B) 12`, `B. 12` or "so it's B", else None.

    An answer that goes on to a second letter ("A and B", "A or C") chooses nothing.
    """
    if concluded := _CONCLUDED.fullmatch(text.strip()):
        return concluded[1], ''
    match = _LETTER_AND_TEXT.fullmatch(_bare(text))
    if match is None:
        return None
    rest = match[3].strip()
    if re.match(r'(?:and|or|和|或|与)?\s*\(?[A-H](?![A-Za-z])', rest):
        return None
    return match[1] or match[2], rest


@lru_cache(maxsize=4096)
def options_of(question: str) -> dict[str, str]:
    """Return the options that `question` lists, letter by letter from A on; {} if it lists none.

    The last list counts: what stands before it may name points A, B, C.
    """
    marks = list(_MARK.finditer(question))
    for start in range(len(marks) - 1, -1, -1):
        if (marks[start][1] or marks[start][2]) == 'A':
            found = _listed(question, marks[start:])
            if len(found) >= 2:
                return found
    return {}


def _listed(question: str, marks: list[re.Match[str]]) -> dict[str, str]:
    options: dict[str, str] = {}
    for place, mark in enumerate(marks):
        letter = mark[1] or mark[2]
        if letter != chr(ord('A') + place) or letter > _LAST:
            break
        end = marks[place + 1].start() if place + 1 < len(marks) else len(question)
        text = question[mark.end() : end]
        if place + 1 == len(marks):
            text = text.strip().split('\n', 1)[0]
        options[letter] = _clean(text)
    return options if all(options.values()) else {}


def _clean(text: str) -> str:
    text = re.sub(r'\\textbf\s*\{?\s*$|\\qquad|\\quad', '', _END.sub('', text)).strip()
    text = re.sub(r'^\s*[})\s]*(?:\\ |~)?\s*', '', text) if text.startswith(('}', '\\ ', '~', ')')) else text
    return text.strip() if text.count('$') % 2 == 0 else text.replace('$', '').strip()


def _bare(text: str) -> str:
    text = _WRAPPERS.sub('', text).strip().rstrip('.。;；,，')
    text = _BRACKETED.sub(r'\4', text) if _BRACKETED.fullmatch(text) or text[:1] != '(' else text
    if len(list(_BRACKETED.finditer(text))) > 1:
        text = _BRACKETED.sub(r'\4', text)
    return _SAID.sub('', text).strip()
