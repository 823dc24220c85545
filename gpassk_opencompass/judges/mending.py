r"""Answers rewritten so that math-verify reads them as they were meant.

math-verify reads LaTeX. Left alone, it takes `0.\overline{3}` for 0, `1+2\mathrm{i}` for 3 and `5\,000` for
0, and gives up on `√9`, `pi/4`, `2.5e-2`, Chinese units, or an inequality where the reference is an
interval. Each step here rewrites one such form and leaves everything else alone. The steps run in the
worker, under its time limit, so that no answer can hold up the judge with a slow pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from ..answers import ascii_latex, join_thousands
from .relations import condition_of_set, rising_chain

Mend = Callable[[str], str]


class Reading(NamedTuple):
    """How math-verify shall read an answer."""

    text: str
    formula: bool
    """True: `text` is one LaTeX formula. False: a number or formula is to be found in it."""


_FUNCTIONS = 'sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log gcd lcm max min'
_LETTERS = (
    'alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi chi psi omega '
    'Gamma Delta Theta Lambda Sigma Phi Psi Omega'
)
_OTHER_MATH_WORDS = 'and or if mod inf infinity sqrt exp abs percent pct percentage'
_MATH_WORDS = frozenset(f'{_FUNCTIONS} {_LETTERS} {_OTHER_MATH_WORDS}'.split())

_WHOLE = re.compile(r'(?:\$\$|\$|\\\[|\\\()(?P<inside>.*?)(?:\$\$|\$|\\\]|\\\))', re.DOTALL)
_DELIMITER = re.compile(r'(?<!\\)\$|\\[()\[\]]|\\boxed|\\fbox')
_TEXT = re.compile(r'\\(?:text(?:bf|it|rm|normal)?|math(?:rm|bf)|mbox)\s*\{([^{}]*)\}')
_ENVIRONMENT = re.compile(r'\\(?:begin|end)\s*\{[a-zA-Z*]*\}')
_WORD = re.compile(r'(?<![\\a-zA-Z])[a-zA-Z]{2,}')
_FOREIGN = re.compile(r'[^\W\d_\u0000-\u03ff\u2460-\u24ff]{2,}')
_CHINESE = re.compile('[\u4e00-\u9fff]')
_NUMBER = re.compile(r'[-+]?(?:[0-9]{1,3}(?:[ ,][0-9]{3})+(?:\.[0-9]*)?|[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*%?')
_DECIMAL_COMMA = re.compile(r'[-+]?[0-9]+,[0-9]+')


def readings(answer: str) -> list[Reading]:
    """The mended form of `answer`: one, or two where `1,22` may be a decimal comma or a list.

    >>> readings('$-1.$')
    [Reading(text='-1', formula=False)]
    >>> readings('√2/2')
    [Reading(text='$\\\\sqrt{2}/2$', formula=True)]
    """
    text = _mended(_bare(answer), _EVERYWHERE)
    if _DELIMITER.search(text) or is_prose(text):
        return [Reading(text, formula=False)]
    text = _mended(text, _IN_FORMULAS)
    if _NUMBER.fullmatch(text):
        return [Reading(text, formula=False)]
    formula = [Reading(f'${text}$', formula=True)]
    return [*formula, Reading(text, formula=False)] if _DECIMAL_COMMA.fullmatch(text) else formula


def is_prose(text: str) -> bool:
    r"""Whether `text` has words outside `\text{…}`, more than a unit.

    >>> is_prose('no solution'), is_prose('2 sin x or 5 cm')
    (True, False)
    """
    text = _ENVIRONMENT.sub('', _TEXT.sub('', text))
    words = [word for word in _WORD.findall(text) if word not in _MATH_WORDS and not word.isupper()]
    return len(words) > 1 or bool(_CHINESE.search(text) or _FOREIGN.search(text))


def _mended(text: str, mends: tuple[Mend, ...]) -> str:
    for mend in mends:
        text = mend(text)
    return text


def _bare(answer: str) -> str:
    """Without quotes, final punctuation and the delimiters of a single formula."""
    text = answer.strip(' \t\r\n"”“`').rstrip(' \t\r\n"”,;。，；')
    whole = _WHOLE.fullmatch(text.removesuffix('.').rstrip())
    if whole and not _DELIMITER.search(whole['inside']):
        text = whole['inside'].strip()
    return text if text.endswith('..') else text.removesuffix('.')


def _spaces(text: str) -> str:
    return re.sub(r'\\[,;:]|~', ' ', join_thousands(text).replace(r'\!', ''))


_CONJUNCTION = re.compile('或者?|和|以及|与|及')


def _conjunctions(text: str) -> str:
    text = _TEXT.sub(lambda group: f' {group[1]} ' if _CHINESE.search(group[1]) else group[0], text)
    return _CONJUNCTION.sub(' or ', text)


_NEGATIVE = re.compile(r'^负(?=[0-9\\])')
_LEADING_CHINESE = re.compile('^(?!.*(?:不|非|没|无|大于|小于|超过|至少|至多))[\u4e00-\u9fff]+[:：,，\\s]*')
_TRAILING_CHINESE = re.compile('(?<=[0-9})\\]%a-zA-Z])\\s*[\u4e00-\u9fff]+(?:/[\u4e00-\u9fff]+)?[.!]?\\s*$')


def _chinese(text: str) -> str:
    """Without Chinese before the value ("共有") and after it (units)."""
    text = _NEGATIVE.sub('-', text)
    return _TRAILING_CHINESE.sub('', _LEADING_CHINESE.sub('', text)).strip() or text


_LETTER_IN_TEXT = re.compile(
    r'\\(?:mathrm|text|rm)\s*(?:\{\s*([ie])\s*\}|([ie])(?![a-zA-Z]))|\{\\rm\s+([ie])\}'
)
_REALS = re.compile(r'\\(?:mathbb|mathbf|Bbb)\s*(?:\{\s*R\s*\}|R(?![a-zA-Z]))|\\R(?![a-zA-Z])')
_IMAGINARY = re.compile(r'(?<=[0-9])i(?![a-zA-Z])')  # math-verify tells a complex number by a lone i
_DEGREES = re.compile(r'\^\s*\{\s*\\circ\s*\}|\\degree(?![a-zA-Z])')


def _constants(text: str) -> str:
    text = _LETTER_IN_TEXT.sub(lambda letter: f' {letter[1] or letter[2] or letter[3]} ', text)
    text = _IMAGINARY.sub(' i', text)
    text = re.sub(r'\\varnothing(?![a-zA-Z])', r'\\emptyset ', _REALS.sub(r'\\mathbb{R}', text))
    return _DEGREES.sub(r'^\\circ ', text)


_REPEATING = re.compile(
    r'(?<![0-9.])(?P<whole>[0-9]{1,12})\.(?P<fixed>[0-9]{0,12}?)'
    r'(?:\\overline\s*\{(?P<bar>[0-9]{1,12})\}|\((?P<round>[0-9]{1,12})\)'
    r'|\\dot\s*\{?(?P<first>[0-9])\}?(?:(?P<middle>[0-9]{0,12})\\dot\s*\{?(?P<last>[0-9])\}?)?'
    r'|(?P<shown>[0-9]{1,6}?)(?P=shown){2,20}\s*(?:\.\.\.|\\[lc]?dots\s*))(?![0-9])'
)


def _repeating_decimals(text: str) -> str:
    return _REPEATING.sub(_as_fraction, text)


def _as_fraction(decimal: re.Match[str]) -> str:
    dotted = ''.join(decimal[name] or '' for name in ('first', 'middle', 'last'))
    block = decimal['bar'] or decimal['round'] or decimal['shown'] or dotted
    shift = 10 ** len(decimal['fixed'])
    value = Fraction(int(decimal['whole'] + decimal['fixed']), shift)
    value += Fraction(int(block), (10 ** len(block) - 1) * shift)
    return rf'\frac{{{value.numerator}}}{{{value.denominator}}}'


_ROWS = re.compile(r'\[([^\[\]();]*,[^\[\]();]*(?:;[^\[\]();]*,[^\[\]();]*)+)\]')


_LIST_OF_ROWS = re.compile(r'\[\s*\[([^\[\]()]*\](?:\s*,\s*\[[^\[\]()]*\])+)\s*\]')
_NEXT_ROW = re.compile(r'\]\s*,\s*\[')


def _matrices(text: str) -> str:
    """`[1, 2; 3, 4]` and `[[1, 2], [3, 4]]` as a LaTeX matrix."""
    text = _LIST_OF_ROWS.sub(lambda rows: f'[{_NEXT_ROW.sub(";", rows[1])}', text)
    return _ROWS.sub(_as_matrix, text)


def _as_matrix(rows: re.Match[str]) -> str:
    cells = rows[1].replace(',', ' & ').replace(';', r' \\ ')
    return rf'\begin{{bmatrix}}{cells}\end{{bmatrix}}'


_CIRCLED = {0x2460 + number: f' {number + 1} ' for number in range(20)}
_NUMBERS_ONLY = re.compile(r'[0-9\s,]+')


def _circled(text: str) -> str:
    """`①③` as `1, 3`."""
    spread = text.translate(_CIRCLED)
    return (
        ', '.join(spread.replace(',', ' ').split())
        if spread != text and _NUMBERS_ONLY.fullmatch(spread)
        else text
    )


_BALANCED = r'\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)'
_ROOT = re.compile(r'(?:√|(?<![\\a-zA-Z])sqrt)\s*(?:' + _BALANCED + r'|([0-9]+|[a-zA-Z](?![a-zA-Z])))')
_DEEPEST_ROOT = 4


def _roots(text: str) -> str:
    for _ in range(_DEEPEST_ROOT):
        text = _ROOT.sub(lambda root: rf'\sqrt{{{root[1] or root[2]}}}', text)
    return text


_EXP = re.compile(r'(?<![\\a-zA-Z])\\?exp\s*' + _BALANCED)
_ABS = re.compile(r'(?<![\\a-zA-Z])abs\s*' + _BALANCED)
_SCIENTIFIC = re.compile(r'(?<![\w.\\^{])([-+]?[0-9]+(?:\.[0-9]+)?)[eE]([-+]?[0-9]{1,4})(?![\w.])')
_POWER = re.compile(r'\^\s*(?:(-?[0-9]{2,}|-[0-9a-zA-Z])(?![0-9])|' + _BALANCED + ')')
_NAMED = re.compile(rf'(?<![\\a-zA-Z])({"|".join((_FUNCTIONS + " " + _LETTERS).split())})(?![a-zA-Z])')


def _typed(text: str) -> str:
    """What is typed as in a program: `2**3`, `exp(x)`, `2.5e-2`, `pi`, `theta^2`."""
    text = _ABS.sub(r'|\1|', _EXP.sub(r'e^{\1}', text.replace('**', '^').replace(r'\*', '*')))
    text = _SCIENTIFIC.sub(lambda number: rf'{number[1]} \times 10^{{{int(number[2])}}}', text)
    text = _POWER.sub(lambda power: f'^{{{power[1] or power[2]}}}', text)
    return _NAMED.sub(r'\\\1 ', text)


_GLUED_UNIT = re.compile(r'([-+]?[0-9][0-9.,/]*)(?:ft|[cdk]m|mm|[km]g|ml|mph)(?:\^\{?[23]\}?)?')
_PERCENT_WORD = re.compile(r'(?<=[0-9])\s*(?:percentage|percent|pct)(?![a-zA-Z])')
_WITH_UNIT = re.compile(
    r'(?P<value>[-+]?(?:[0-9][0-9.,/]*|\\frac\{[0-9]+\}\{[0-9]+\}))\s+'
    r'(?!(?:percent|pct|percentage|pi|and|or|in|mod)\b)[a-zA-Z]{2,}(?:[ /][a-zA-Z]+){0,3}(?:\^\{?[23]\}?)?'
)


def _units(text: str) -> str:
    text = _PERCENT_WORD.sub(r'\\%', text)
    measured = _WITH_UNIT.fullmatch(text) or _GLUED_UNIT.fullmatch(text)
    return measured[1] if measured else text


_LEADING_ZERO = re.compile(r'([-+]?0),([0-9]+)')


def _decimal_comma(text: str) -> str:
    """`0,111`, which no thousands and no list begin with; `1,22` may be either (see `readings`)."""
    return _LEADING_ZERO.sub(r'\1.\2', text) if _LEADING_ZERO.fullmatch(text) else text


_PLUS_MINUS = re.compile(r'\\pm\s*([^-+=,;<>]+)')


def _plus_minus(text: str) -> str:
    r"""`\pm 2` as the two numbers that it is."""
    return _PLUS_MINUS.sub(r'\1, -\1', text) if _PLUS_MINUS.fullmatch(text) else text


_MIXED = re.compile(r'([-+]?[0-9]+)\s+([0-9]+)\s*/\s*([0-9]+)')
_NUMBERS = re.compile(r'[-+]?[0-9.]+(?:\s+[-+]?[0-9.]+)+')


def _blanks(text: str) -> str:
    """`2 1/4` as a mixed number, `1 2` as a list."""
    if mixed := _MIXED.fullmatch(text):
        return r'{}\frac{{{}}}{{{}}}'.format(*mixed.groups())
    return ', '.join(text.split()) if _NUMBERS.fullmatch(text) and not _NUMBER.fullmatch(text) else text


_INDEX_RANGE = re.compile(r'[,\s]*\(\s*[a-zA-Z]\s*\\in(?![a-zA-Z])[^()]*\)$')


def _index_range(text: str) -> str:
    r"""`2n-1 (n \in N^*)` without the range of its index."""
    return _INDEX_RANGE.sub('', text) or text


_EVERYWHERE: tuple[Mend, ...] = (
    _circled,
    ascii_latex,
    _repeating_decimals,
    _spaces,
    _conjunctions,
    _chinese,
    _constants,
    _matrices,
)
_IN_FORMULAS: tuple[Mend, ...] = (
    _roots,
    _typed,
    _units,
    _decimal_comma,
    _plus_minus,
    _blanks,
    _index_range,
    condition_of_set,
    rising_chain,
)
