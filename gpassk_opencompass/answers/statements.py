"""What the last sentence of an answer says that something is."""

from __future__ import annotations

import re

_DENIED = re.compile(
    r"\b(?:not?|never|neither|nor|cannot|\w+n't|except|unless|if|or|wrong|incorrect|suppose|assume|instead|than|"
    r'maybe|perhaps|possibly|might|nobody|hardly|few|false|doubt|unlikely|unsure|says?|claims?|twice|double|'
    r'half|minus|plus|reciprocal|inverse|opposite|negative'
    r'|(?:square|cube|root|multiple) of|times (?:the|that|it))\b'
    r'|[不非没无若设假错]|如果|相反数|倒数|平方根?(?=[是为])|立方(?=[是为])|[倍半](?=[是为])|[加减乘]',
    re.IGNORECASE,
)
_SAID = re.compile(
    r'(?P<before>.*?(?:\b(?:is|are|be|equals?|equal to|that|thus|therefore|hence|so|answer|get|find|obtain'
    r'|have)'
    r'|为|是|得|等于|=|:|：))\s*(?P<value>VALUE)'
    r'(?:\s*(?:is (?:the|our|my) (?:final )?(?:answer|solution)))?[\s.。]*'.replace(
        'VALUE', r'\$\$?[^$]+\$\$?|\\\(.+?\\\)|\\\[.+?\\\]|\(?\\?[-+0-9(\[][^$]*'
    ),
    re.DOTALL | re.IGNORECASE,
)
_SENTENCE_END = re.compile(r'[.!?]\s+(?=[A-Z<]|$)|[。\n！？।]')
_AFTERWARDS = re.compile(r'(?:\s|<\|\w+\|>(?:user|assistant)?|I hope (?:it|this) is correct\.?)+"?\Z')
_FORMULAS = re.compile(r'\$[^$]*\$')
_DIGITS = re.compile('[0-9]')
_WORD = re.compile(r'(?<![\\A-Za-z])[^\W\d_]{2,}|[\u4e00-\u9fff]')
_NAME = re.compile(r'[^\s=$]+\s*=\Z')
_LONGEST_SENTENCE = 300
_LONGEST_TAIL = 2000

_CONCLUSION = re.compile(
    r'.*(?:\b(?:therefore|thus|hence|so|donc|in conclusion|en conclusion|final answer)\b'
    r'|因此|所以|结论|综上|لذا|इसलिए)',
    re.IGNORECASE | re.DOTALL,
)
_SUM = re.compile(r'[0-9][0-9.,+*/×÷ ()-]*=\s*')
_BOLD = re.compile(r'\*\*([^*]+)\*\*')
_NUMBER = re.compile(
    r'(?<![A-Za-z0-9.,/^\\_:+*×÷-])(?P<number>-?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?%?)'
    r'(?![A-Za-z0-9^/_\\:+*×÷-]|[.,][0-9]|\s*(?:[万亿千百几多余]|hundred|thousand|million|billion|trillion|percent|%|[-+*/^=<>]))'
)
_NOT_EXACTLY = re.compile(
    r'\b(?:least|most|under|over|up to|about|almost|nearly|approximately|around|pas|moins|plus de)\b'
    r'|[至约近超]|[多少大小高低]于|以[上下内外]|第',
    re.IGNORECASE,
)


def stated_formula(answer: str) -> str:
    """Return what the last sentence says that something is; '' if it denies that or has other numbers.

    >>> stated_formula('Then x = 3. So the area is $5$.'), stated_formula('The area is not $5$.')
    ('$5$', '')
    """
    said = _SAID.fullmatch(_last_sentence(answer))
    if said is None or _DENIED.search(said['before']) or _DIGITS.search(_FORMULAS.sub('', said['before'])):
        return ''
    if _WORD.search(said['before']) is None:
        return ''  # a formula alone, of which what stands before its = is a part
    name = _NAME.search(said['before'])
    return (name[0] if name else '') + said['value']


def concluded_number(answer: str) -> str:
    """Return the one number of a last sentence that concludes: "So there are 12 ways in all"; else ''.

    Sums before it (3 + 10 = 13) do not count, and a number in bold is the one that is meant. What it counts
    is left to the reader, so it says something about a plain number alone.

    >>> concluded_number('3 and 4. So there are 7 of them.'), concluded_number('So there are at least 7.')
    ('7', '')
    """
    found = _CONCLUSION.match(sentence := _last_sentence(answer))
    if found is None:
        return ''
    clause = sentence[found.end() :]
    if _DENIED.search(clause) or _NOT_EXACTLY.search(clause):
        return ''
    bold = _BOLD.findall(clause)
    said = _SUM.sub('', bold[0] if len(bold) == 1 else clause)
    number = _NUMBER.search(said)
    if number is None or _DIGITS.search(said, 0, number.start()) or _DIGITS.search(said, number.end()):
        return ''
    return number['number']


def _last_sentence(answer: str) -> str:
    text = answer[-_LONGEST_TAIL:]
    text = text[: afterwards.start()] if (afterwards := _AFTERWARDS.search(text)) else text
    sentences = [part.strip() for part in _SENTENCE_END.split(text) if part.strip(' .<>|')]
    return sentences[-1][-_LONGEST_SENTENCE:] if sentences else ''
