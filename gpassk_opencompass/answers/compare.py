r"""Whether an answer says what its reference says: options of a choice, a last sentence, typed values.

>>> sorted(letters_of('Option B')), sorted(letters_of('A、B、D')), letters_of('5')
(['B'], ['A', 'B', 'D'], None)
>>> options_of('Which is prime? (A) 4 (B) 5 (C) 6')
{'A': '4', 'B': '5', 'C': '6'}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from .equal import ALL_RULES, Equality, best_of, by_rule
from .formula import Unread
from .normal import normal_form
from .numeric import Number, equal, symbols
from .read import read
from .values import Chain, Formula, Text, Value

_LAST = 'H'
_UNWRAPPED = re.compile(r'\\(?:text\w*|mbox|mathrm)\s*\{([^{}]*)\}')
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
_SET = re.compile(r'\\ |&|~')
_SQUARE = re.compile(r'\[([A-H])\](?=\s)')
_IN_FORMULA = re.compile(r'\$(?=[A-H]\))')
_SMALL_LETTER = re.compile(r'\A((?:[$\s*]|\\text\s*\{)*\(?)([a-h])(?=[).]|[\s}$*]*\Z)')
_LOWER = re.compile(r'(?:(?<=\n)|(?<=\n\s))(?:\([a-h]\)|[a-h][.)])(?=\s)')
"""Letters of options in small letters, each at the beginning of its line."""
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
    question = _SQUARE.sub(r'(\1)', _UNWRAPPED.sub(r'\1', question).replace('**', ''))
    question = _LOWER.sub(lambda found: found[0].upper(), _SET.sub(' ', _IN_FORMULA.sub('$ ', question)))
    marks = list(_MARK.finditer(question))
    for start in range(len(marks) - 1, -1, -1):
        if (marks[start][1] or marks[start][2]) == 'A':
            found = _listed(question, marks[start:])
            if len(found) >= 2:
                return found
    return {}


def _in_capitals(found: re.Match[str]) -> str:
    return found[1] + found[2].upper()


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


_DENIED = re.compile(
    r"\b(?:not?|never|neither|nor|cannot|\w+n't|except|unless|if|or|wrong|incorrect|suppose|assume|instead|than|"
    r'maybe|perhaps|possibly|might|nobody|hardly|few|false|doubt|unlikely|unsure|says?|claims?|twice|double|'
    r'half|minus|plus|reciprocal|inverse|opposite|negative'
    r'|(?:square|cube|root|multiple) of|times (?:the|that|it))\b'
    r'|[不非没无若设假错]|如果|相反数|倒数|平方根?(?=[是为])|立方(?=[是为])|[倍半](?=[是为])|[加减乘]',
    re.IGNORECASE,
)
_STATED = re.compile(
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
    said = _STATED.fullmatch(_last_sentence(answer))
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


_WORDS = re.compile('[^\\W\\d_]{2,}[ ,،]|[\u4e00-\u9fff]{3}')
_UNREAD = 'unread'


class Answered(NamedTuple):
    """What comparing an answer with its reference came to."""

    equal: bool
    kind: str
    """The type that decided: 'number', 'set', 'choice', …; 'unread' where a side could not be read."""
    rules: frozenset[str] = frozenset()


_SPACE = re.compile(r'\\[ ,;:]|\\q?quad(?![a-zA-Z])|~')
_REMARK = re.compile(
    r'[\s,;，(（]*(?:(?:(?:is|are|being)\s)?(?:the\s)?(?:only|unique)\s(?:real\s|possible\s)?(?:solution|answer|root|value)s?'
    r'|(?:is|are)\sthe\s(?:final\s)?(?:answer|solution)s?'
    r'|only|(?:where\s)?[nkm]\sis\sa\s(?:positive\s|natural\s)?(?:integer|number)'
    r'|(?:holds?\s)?(?:(?:for|where|with)\s(?:all|every|any|each)|\\forall)(?:\s(?:real\s(?:numbers?)?|reals?|numbers?)(?![a-z]))?'
    r'(?:\s*\$?\s*[a-zA-Z](?![a-zA-Z])\s*(?:\\in\s*\\mathbb\s*\{?R\}?)?\$?)?'
    r'|(?:for|where|with)\s(?:all|every|any|each)(?:\s(?:natural|positive))?(?:\s(?:numbers?|integers?))?'
    r'\s*\$?\s*[nkm](?![a-zA-Z])\s*(?:\\in\s*\\mathbb\s*\{?[NZ]\}?[_^]?\{?[+*]?\}?|\\geq?\s*[01])?\$?'
    r')[\s)）.]*\Z'
)
"""What may stand behind a value and restricts nothing."""
_ASKS = re.compile(
    r'(?i:find|compute|determine|evaluate|calculate|what\sis|the\svalue\sof|what\sare)|求|计算'
)
_MATH_IN = re.compile(r'\$([^$]{1,200})\$|\\\((.{1,200}?)\\\)')
_ROUNDING = re.compile(
    r'\bround|\bnearest|decimal place|significant (?:digit|figure)|近似|保留|精确到|四舍五入', re.IGNORECASE
)
_PERCENTAGE = re.compile(r'(?<![0-9])(?<![0-9][ -])(?:percent|\\?%|百分)', re.IGNORECASE)


def compare_answers(
    reference: str, answer: str, *, question: str = '', rules: frozenset[str] = ALL_RULES
) -> Answered:
    r"""Return whether `answer` says what `reference` says.

    Args:
        reference, answer: final answers, LaTeX or plain, English or Chinese.
        question: of which the options of a choice count, the expressions that it asks for, and whether it
            asks for a percentage; '' where it is not known.
        rules: the lenient rules that are allowed, see `RULES`.

    >>> compare_answers(r'\frac{1}{2}', '0.5').equal, compare_answers('5 cm', '5').rules
    (True, frozenset({'unit-missing'}))
    >>> compare_answers('B', 'blue', question='(A) red (B) blue')[:2]
    (True, 'choice')
    >>> compare_answers('75', 'm + n = 75', question='Find $m + n$.').equal
    True
    """
    asked = (
        (bool(_PERCENTAGE.search(question)), bool(_ROUNDING.search(question))) if question else (None, False)
    )
    if _LOWER.search(question):
        reference, answer = (_SMALL_LETTER.sub(_in_capitals, text) for text in (reference, answer))
    if (choice := _choice(reference, answer, options_of(question), rules)) is not None:
        return choice
    found = _compare_values(reference, answer, rules, *asked)
    readings = (
        ('asked', reference, _of_asked(answer, question)),
        ('remark', reference, _without_remark(answer)),
    )
    for rule, ours, theirs in (*readings, ('remark', _without_remark(reference), _without_remark(answer))):
        if not found.equal and rule in rules and (ours, theirs) != (reference, answer):
            found = _by_rule(rule, _compare_values(ours, theirs, rules, *asked))
    return found


def _by_rule(rule: str, found: Answered) -> Answered:
    return found._replace(rules=found.rules | {rule}) if found.equal else found


def _without_remark(answer: str) -> str:
    """Return an answer without a remark behind it that restricts nothing."""
    plain = re.sub(r'\s+', ' ', _SPACE.sub(' ', _UNWRAPPED.sub(r' \1 ', answer)))
    found = _REMARK.search(plain)
    return plain[: found.start()] if found and found.start() else answer


def _of_asked(answer: str, question: str) -> str:
    """Return what an answer says of an expression that the question asks for by itself."""
    name, equals, value = answer.partition('=')
    if not equals or not (asked := _asked(question)):
        return answer
    return value if normal_form(name) in asked or _is_one_of(name, asked) else answer


def _is_one_of(name: str, asked: frozenset[str]) -> bool:
    """Return whether an expression with a variable is worth one of those asked for."""
    one = _read(name)[0]
    if not isinstance(one, Formula) or next(symbols(one.expression), None) is None:
        return False
    others = [_read(text)[0] for text in asked]
    return any(isinstance(other, Formula) and equal(one.expression, other.expression) for other in others)


@lru_cache(maxsize=4096)
def _asked(question: str) -> frozenset[str]:
    """Return the expressions behind a verb that asks, up to the end of its sentence, in normal form."""
    found = []
    for verb in _ASKS.finditer(question):
        sentence = re.split(r'[.?!。？！](?:\s|$)', question[verb.end() :], maxsplit=1)[0]
        found += [one or other for one, other in _MATH_IN.findall(sentence)]
    return frozenset(normal_form(text) for text in found)


def _compare_values(
    reference: str, answer: str, rules: frozenset[str], percent: bool | None = None, rounded: bool = False
) -> Answered:
    equality = _equality(rules, percent, rounded)
    expected, given = _read(reference), _read(answer)
    compared = best_of(equality.compare(ours, theirs) for ours in expected for theirs in given)
    if not compared.equal and 'stated' in rules and _WORDS.search(answer):
        stated = best_of(
            equality.compare(ours, theirs) for ours in expected for theirs in _stated(ours, answer)
        )
        compared = by_rule('stated', stated)
    kind = _kind(expected[0])
    if not compared.equal and isinstance(expected[0], Text) | isinstance(given[0], Text):
        kind = _UNREAD
    return Answered(compared.equal, kind, compared.rules)


@lru_cache(maxsize=8)
def _equality(rules: frozenset[str], percent: bool | None, rounded: bool) -> Equality:
    return Equality(rules, percent, rounded)


@lru_cache(maxsize=4096)  # every sample of a question is compared with one reference, many say the same
def _read(text: str) -> tuple[Value, ...]:
    try:
        return read(text)
    except (Unread, RecursionError, ValueError):  # of more brackets or digits than Python can take
        return (Text((text,)),)


def is_read(text: str) -> bool:
    """Return whether a text is read as a value, or as the letter of an option."""
    return letters_of(text) is not None or not isinstance(_read(text)[0], Text)


def _stated(reference: Value, answer: str) -> Iterator[Value]:
    """Return what the last sentence of the answer says that something is."""
    said = [stated_formula(_UNWRAPPED.sub(r' \1 ', answer))]
    if isinstance(reference, Formula) and isinstance(reference.expression, Number):
        said.append(concluded_number(answer))
    for text in filter(None, said):
        for value in _read(text):
            if not isinstance(value, Text):
                yield value


def _kind(value: Value) -> str:
    if isinstance(value, Chain):
        return _kind(value.value)
    if isinstance(value, Formula):
        return 'number' if next(symbols(value.expression), None) is None else 'expression'
    return type(value).__name__.lower()


def _choice(
    reference: str, answer: str, options: Mapping[str, str], rules: frozenset[str]
) -> Answered | None:
    """Return the verdict where the reference or the answer is a letter of a choice; None where neither is."""
    expected, given = letters_of(reference), letters_of(answer)
    if expected is None and (whole := _with_its_text(reference, options)) is not None:
        expected = frozenset(whole[0])
    if expected and given:
        return Answered(expected == given, 'choice')
    if expected:
        return _letter_against_text(expected, answer, options, rules)
    if given and len(given) == 1:
        [letter] = given
        chosen = chosen_in(reference)
        if chosen:
            return Answered(chosen[0] == letter, 'choice')
        if letter in options:
            return _as_choice(_compare_values(reference, options[letter], rules))
    return None


def _letter_against_text(
    expected: frozenset[str], answer: str, options: Mapping[str, str], rules: frozenset[str]
) -> Answered | None:
    if len(expected) != 1:
        return None
    [letter] = expected
    chosen = _with_its_text(answer, options) or chosen_in(answer)
    if chosen:
        text, said = options.get(letter, ''), chosen[1].strip()
        other = chosen[0] == letter and said and text and not _says(text, said, options, rules)
        return Answered(chosen[0] == letter and not other, 'choice')
    if letter not in options:
        return None
    found = {name: _compare_values(text, answer, rules) for name, text in options.items()}
    equal = [name for name, compared in found.items() if compared.equal]
    return _as_choice(found[letter]) if equal == [letter] else Answered(False, 'choice')


def _says(text: str, said: str, options: Mapping[str, str], rules: frozenset[str]) -> bool:
    """Whether what stands behind a letter is not the text of another option."""
    if _compare_values(text, said, rules).equal:
        return True
    return not any(_compare_values(other, said, rules).equal for other in options.values())


def _with_its_text(answer: str, options: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the letter of `(B) A square` where that is what option B says."""
    match = _LETTER_AND_TEXT.fullmatch(_bare(answer))
    if match is None or (letter := match[1] or match[2]) not in options:
        return None
    said, text = (normal_form(one).casefold() for one in (match[3], options[letter]))
    return (letter, match[3]) if said == text else None


def _as_choice(compared: Answered) -> Answered:
    return compared._replace(kind='choice')
