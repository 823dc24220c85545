"""What an answer says in words: the options that it chooses, and what its last sentence states."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from .normal import normal_form

UNWRAPPED = re.compile(r'\\(?:text\w*|mbox|mathrm)\s*\{([^{}]*)\}')

_WRAPPERS = re.compile(
    r'\\(?:text\w*|math(?:rm|bf|sf)|mbox|boxed|fbox|displaystyle|left|right)(?![a-zA-Z])'
    r'|[${}*_`~"“”]|\\[,;!() ]|\\q?quad'
)
_BRACKETED = re.compile(
    r'(?:(?P<round>[(（])|(?P<square>\[)|[【〔])\s*(?P<letter>[A-H])\s*(?(round)[)）]|(?(square)\]|[】〕]))'
)
_CHOOSES = re.compile(
    r'^(?:(?:the\s+)?(?:correct\s+|right\s+|final\s+)?(?:answers?|options?|choices?)\s*(?:is|are|:|：)?\s*'
    r'|(?:正确)?(?:的)?(?:答案|选项)\s*(?:是|为|:|：)?\s*|故?选择?\s*[:：]?\s*)+',
    re.IGNORECASE,
)  # fmt: skip
_LETTERS = re.compile(r'[A-H](?:\s*(?:[,，、;；和与及&/]|and|以及)?\s*(?:and\s+)?[A-H])*')
_LETTER_AND_TEXT = re.compile(
    r'(?:\(([A-H])\)|([A-H])\s*(?:[.．:：、，,)）。；;]|(?=[\u4e00-\u9fff]|\s+[A-Z][a-z]{2})))\s*(.*)',
    re.DOTALL,
)
_SECOND_LETTER = re.compile(r'(?:and|or|和|或|与)?\s*\(?[A-H](?![A-Za-z])')
_CONCLUDED = re.compile(
    r"(?:(?:.*[.,;:]\s*)?(?:(?:therefore|thus|hence|so)\b,?(?:\s(?:I think|that))?\s(?:it's|it is)"
    r'|(?:(?:so|the|correct|final|la)\s)*(?:answer is|réponse est)))?(?:\s*for sure)?\s+(?-i:([A-H]))'
    r"(?:[.,]?\s(?:it\s(?:can't be|is not)|and not|not|non)\s[A-H](?:\sor\s[A-H])*)?[.]?",
    re.DOTALL | re.IGNORECASE,
)
_MARK = re.compile(
    r'(?:(?<![A-Za-z0-9\\])\(\s*([A-H])\s*\)|(?<![A-Za-z0-9\\$({])([A-H])\s*[.．:：、)）](?!\s*[A-H]\s*[.．、)）]))\s*'
)
_BEFORE_MARKS = re.compile(r'\\ |\\q?quad(?![a-zA-Z])|&|~|\*\*|\$(?=[A-H]\))')
_SQUARE = re.compile(r'\[([A-H])\](?=\s)')
_SMALL_LETTER = re.compile(r'\A((?:[$\s*]|\\text\s*\{)*\(?)([a-h])(?=[).]|[\s}$*]*\Z)')
_SMALL_LETTERS = re.compile(r'(?:(?<=\n)|(?<=\n\s))(?:\([a-h]\)|[a-h][.)])(?=\s)')
_END = re.compile(r'[\s.;；,，。\\]*(?:\\q?quad|\\\\|\n\s*[-*•]?)*[\s.;；,，。]*$')


def in_capitals(text: str, question: str) -> str:
    """Return a text with its letter as a capital where the question lists its options with small ones."""
    listed = _SMALL_LETTERS.search(question)
    return _SMALL_LETTER.sub(lambda one: one[1] + one[2].upper(), text) if listed else text


def letters_of(text: str) -> frozenset[str] | None:
    """Return the letters that `text` chooses, if that is all it does, else None; `BA` is a product.

    >>> sorted(letters_of('Option B')), sorted(letters_of('A、B、D')), letters_of('5')
    (['B'], ['A', 'B', 'D'], None)
    """
    if not re.search('[A-H]', text):  # most have none
        return None
    text = _bare(text)
    letters = re.findall('[A-H]', text) if _LETTERS.fullmatch(text) else []
    return frozenset(letters) if letters and letters == sorted({*letters}) else None


def _bare(text: str) -> str:
    text = _WRAPPERS.sub('', text).strip().rstrip('.。;；,，')
    if _BRACKETED.fullmatch(text) or text[:1] != '(' or len(_BRACKETED.findall(text)) > 1:
        text = _BRACKETED.sub(r'\g<letter>', text)
    return _CHOOSES.sub('', text).strip()


def chosen_in(text: str, options: Mapping[str, str]) -> tuple[str, str, bool] | None:
    """Return the letter of `(B) 12` or "so it's B", its text, and whether that is the option's."""
    if concluded := _CONCLUDED.fullmatch(text.strip()):
        return concluded[1], '', False
    if (match := _LETTER_AND_TEXT.fullmatch(_bare(text))) is None:
        return None
    letter, said = match[1] or match[2], match[3].strip()
    in_full = normal_form(said).casefold() == normal_form(options.get(letter, '')).casefold() != ''
    return None if _SECOND_LETTER.match(said) and not in_full else (letter, said, in_full)


@lru_cache(maxsize=4096)
def options_of(question: str) -> dict[str, str]:
    """Return the options of the last list in `question`, from A on; before it may stand points A, B, C."""
    question = _BEFORE_MARKS.sub(' ', _SQUARE.sub(r'(\1)', UNWRAPPED.sub(r'\1', question)))
    question = _SMALL_LETTERS.sub(lambda one: one[0].upper(), question)
    marks = list(_MARK.finditer(question))
    for start in range(len(marks) - 1, -1, -1):
        options: dict[str, str] = {}
        for place, mark in enumerate(marks[start:], start):
            letter = mark[1] or mark[2]
            if letter != chr(ord('A') + place - start):
                break
            last = place + 1 == len(marks)
            text = question[mark.end() : None if last else marks[place + 1].start()]
            text = _END.sub('', text.strip().split('\n', 1)[0] if last else text)
            text = re.sub(r'\\textbf\s*\{?\s*$|\\qquad|\\quad', '', text).strip().lstrip('})').strip()
            options[letter] = text if text.count('$') % 2 == 0 else text.replace('$', '').strip()
        if len(options) > 1 and all(options.values()):
            return options
    return {}


_DENIED = re.compile(
    r"\b(?:not?|never|neither|nor|cannot|\w+n't|except|unless|if|or|wrong|incorrect|suppose|assume|instead|than|"
    r'maybe|perhaps|possibly|might|nobody|hardly|few|false|doubt|unlikely|unsure|says?|claims?|twice|double|'
    r'half|minus|plus|reciprocal|inverse|opposite|negative'
    r'|(?:square|cube|root|multiple) of|times (?:the|that|it))\b'
    r'|[不非没无若设假错]|如果|相反数|倒数|平方根?(?=[是为])|立方(?=[是为])|[倍半](?=[是为])|[加减乘]',
    re.IGNORECASE,
)
_STATED = re.compile(
    r'(?P<before>.*?(?:\b(?:is|are|be|equals?|equal to|that|thus|therefore|hence|so|answer|get|find'
    r'|obtain|have)|为|是|得|等于|=|:|：))\s*(?P<value>\$\$?[^$]+\$\$?|\\\(.+?\\\)|\\\[.+?\\\]|\(?\\?[-+0-9(\[][^$]*)'
    r'(?:\s*(?:is (?:the|our|my) (?:final )?(?:answer|solution)))?[\s.。]*',
    re.DOTALL | re.IGNORECASE,
)
_SENTENCE_END = re.compile(r'[.!?]\s+(?=[A-Z<]|$)|[。\n！？।]')
_AFTERWARDS = re.compile(r'(?:\s|<\|\w+\|>(?:user|assistant)?|I hope (?:it|this) is correct\.?)+"?\Z')
_FORMULAS = re.compile(r'\$[^$]*\$')
_WORD = re.compile(r'(?<![\\A-Za-z])[^\W\d_]{2,}|[\u4e00-\u9fff]')
_NAME = re.compile(r'[^\s=$]+\s*=\Z')
_CONCLUSION = re.compile(
    r'.*(?:\b(?:therefore|thus|hence|so|donc|in conclusion|en conclusion|final answer)\b'
    r'|因此|所以|结论|综上|لذا|इसलिए)',
    re.IGNORECASE | re.DOTALL,
)
_SUM = re.compile(r'[0-9][0-9.,+*/×÷ ()-]*=\s*')
_BOLD = re.compile(r'\*\*([^*]+)\*\*')
_NUMBER = re.compile(
    r'(?<![A-Za-z0-9.,/^\\_:+*×÷-])(?P<number>-?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?%?)'
    r'(?![A-Za-z0-9^/_\\:+*×÷-]|[.,][0-9]'
    r'|\s*(?:[万亿千百几多余]|hundred|thousand|million|billion|trillion|percent|%|[-+*/^=<>]))'
)
_NOT_EXACTLY = re.compile(
    r'\b(?:least|most|under|over|up to|about|almost|nearly|approximately|around|pas|moins|plus de)\b'
    r'|[至约近超]|[多少大小高低]于|以[上下内外]|第',
    re.IGNORECASE,
)


def stated_in(answer: str, counts: bool) -> Iterator[str]:
    """Yield what the last sentence says that something is, and, if it `counts`, its one number.

    A sentence that denies something, or has other numbers, says nothing: "The area is not $5$". Sums before
    the number (3 + 10 = 13) do not count as others, and a number in bold is the one that is meant.
    """
    tail = _AFTERWARDS.sub('', answer[-2000:])
    sentences = [part.strip() for part in _SENTENCE_END.split(tail) if part.strip(' .<>|')]
    sentence = sentences[-1][-300:] if sentences else ''
    if said := _STATED.fullmatch(UNWRAPPED.sub(r' \1 ', sentence)):
        before = said['before']
        other_number = re.search('[0-9]', _FORMULAS.sub('', before))
        if _WORD.search(before) and not _DENIED.search(before) and not other_number:
            name = _NAME.search(before)
            yield (name[0] if name else '') + said['value']
    if counts and (conclusion := _CONCLUSION.match(sentence)):
        clause = sentence[conclusion.end() :]
        bold = _BOLD.findall(clause)
        said_last = _SUM.sub('', bold[0] if len(bold) == 1 else clause)
        numeral = _NUMBER.search(said_last)
        if numeral and not _DENIED.search(clause) and not _NOT_EXACTLY.search(clause):
            others = said_last[: numeral.start()] + said_last[numeral.end() :]
            yield from () if re.search('[0-9]', others) else (numeral['number'],)
