"""Answers that are words: the letter of an option, yes or no, a sentence.

math-verify would take them for products of variables, or pick a number out of a sentence.
"""

from __future__ import annotations

import re

from ..answers import normal_form
from .mending import is_prose

_OPTION = re.compile(r'\(?([A-H])\)?')
_OPTIONS = re.compile(r'[A-H]{2,8}')
_BETWEEN_OPTIONS = re.compile(r'[,;&.()]|[和与及]|and')
_OPTION_AND_TEXT = re.compile(r'(?:\(([A-H])\)|([A-H])[.:)])(?!\s*\(?[A-H]\b)', re.ASCII)
_OPTION_FIRST = re.compile(
    r'\(?([A-H])(?:\)|[.:](?=\D)|,|(?=[\u4e00-\u9fff]))(?!\s*(?:and\b|or\b|和|或)?\s*\(?[A-H](?![a-z]))'
)
_YES = frozenset({'yes', 'true', '是', '是的', '对', '正确'})
_NO = frozenset({'no', 'false', '否', '不是', '错', '错误', '不正确'})
_STATED = re.compile(r'([a-zA-Z]+|[\u4e00-\u9fff]+)(?=[.,;:!]|$)')

_FORMULA = re.compile(r'\$[^$]*\$|\\\(.*?\\\)|\\\[.*?\\\]', re.DOTALL)
_NUMBER = re.compile(r'-?[0-9]+(?:\.[0-9]+)?')
_IN_FORMULA = re.compile(r'[\\=^${}]')
_LONGEST_SENTENCE = 200
_CHINESE = re.compile('[\u4e00-\u9fff]')
_SHORTEST_CHINESE = 4  # less is a unit or a conjunction
_NOISE = re.compile(r'\b(?:the|an?)\b|[^\w\\]', re.IGNORECASE)


def agree(reference: str, answer: str) -> bool | None:
    """Whether `answer` says what `reference` says, or None where `reference` is not words.

    A sentence agrees with the same sentence up to articles, case and punctuation. One that states several
    values also agrees with an answer that has the same numbers in the same order.

    >>> agree('C', '(C) 12'), agree('No.', 'No, it is not stable.'), agree('5', 'five')
    (True, True, None)
    """
    option = _options(normal_form(reference), normal_form(answer))
    if option is not None:
        return option
    polarity = _yes_or_no(normal_form(reference), normal_form(answer))
    return polarity if polarity is not None else _sentences(reference, answer)


def _options(reference: str, answer: str) -> bool | None:
    if option := _OPTION.fullmatch(reference):
        chosen = _OPTION.fullmatch(answer) or _OPTION_FIRST.match(answer)
        return chosen[1] == option[1] if chosen else None
    if _OPTIONS.fullmatch(reference):
        chosen_all = _BETWEEN_OPTIONS.sub('', answer)
        return set(chosen_all) == set(reference) if _OPTIONS.fullmatch(chosen_all) else None
    if option := _OPTION_AND_TEXT.match(reference):
        chosen = _OPTION.fullmatch(answer)
        return chosen[1] == (option[1] or option[2]) if chosen else None
    return None


def _yes_or_no(reference: str, answer: str) -> bool | None:
    expected, given = _polarity(reference), _STATED.match(answer)
    if expected is None or reference.casefold() not in _YES | _NO or given is None:
        return None
    stated = _polarity(given[0])
    return None if stated is None else stated == expected


def _polarity(word: str) -> bool | None:
    word = word.casefold()
    return True if word in _YES else False if word in _NO else None


def _sentences(reference: str, answer: str) -> bool | None:
    numbers = _NUMBER.findall(reference)
    if not _is_sentence(reference) or len(numbers) == 1:
        return None
    if _words(reference) == _words(answer):
        return True
    return bool(numbers) and not _IN_FORMULA.search(reference) and numbers == _NUMBER.findall(answer)


def _is_sentence(text: str) -> bool:
    if len(text) > _LONGEST_SENTENCE or r'\boxed' in text:
        return False
    plain = _FORMULA.sub('', text)
    if chinese := _CHINESE.findall(plain):
        return len(chinese) >= _SHORTEST_CHINESE
    return is_prose(plain)


def _words(text: str) -> list[str]:
    return _NOISE.sub(' ', normal_form(text).casefold()).split()
