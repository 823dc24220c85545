r"""The normal form of an answer: one spelling for what differs only in how it is typed.

It knows spelling, not mathematics: `\dfrac12` is `\frac{1}{2}`, but `0.5` and `1/2` stay different, and so
does all that can be read in two ways (`1 2` and `12`, `1, 234` and `1,234`, `1 -2` and `1-2`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence


def commands(characters: str, names: str) -> dict[str, str]:
    """Return characters with the LaTeX command that each stands for, from the names of the commands."""
    return {char: f'\\{name} ' for char, name in zip(characters, names.split(), strict=True)}


_CHARACTERS: dict[str, str | None] = {
    **{chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},  # full width
    **dict.fromkeys('\u200b\u200c\u200d\u2060\ufeff'),
    **dict.fromkeys('\u00a0\u2002\u2003\u2009\u200a\u202f\u3000', ' '),
    **commands('≤≥≠×÷·⋅±∓∞≈∈→°∪∩∅⊂⊆', 'le ge ne times div cdot cdot pm mp infty approx in to degree '
               'cup cap emptyset subset subseteq'),
    **commands('αβγδεθλμπρστφωΔΩ', 'alpha beta gamma delta epsilon theta lambda mu pi rho sigma tau phi '
               'omega Delta Omega'),
    **{
        char: r'\frac{{{}}}{{{}}}'.format(*unicodedata.normalize('NFKC', char).split('⁄'))
        for char in '½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞'
    },
    '−': '-', '、': ',', '…': r'\dots ', '⁄': '/', '。': '.',
}  # fmt: skip
_TABLE = str.maketrans(_CHARACTERS)
_SUPERSCRIPT = re.compile('[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+')
_PLAIN = str.maketrans('⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻', '0123456789+-')

# 10{,}000 and 10\,000 and 10,\!000; after a leading zero it would be a decimal comma.
_THOUSANDS = re.compile(r'(?<![0-9.,])[1-9][0-9]{0,2}(?:(?:\{,\}|\\,|,\\!\s{0,3})[0-9]{3})+(?![0-9])')
_SEPARATOR = re.compile(r'\{,\}|\\,|,\\!\s{0,3}')
_TOKEN = re.compile(r'\\[a-zA-Z]+|\\.|[0-9]+|\s+|.', re.DOTALL)

_SPACES = frozenset({'\\ ', '\\\n', *r'\, \: \; ~ \quad \qquad \enspace \thinspace'.split()})
SIZES = frozenset(rf'\{size}{side}' for size in 'big Big bigg Bigg'.split() for side in ('', *'lmr'))
SIZES |= {r'\left', r'\right', r'\middle'}  # what is written before a delimiter
_WRAPPERS = frozenset(
    r'\text \textbf \textit \textrm \textnormal \mathrm \mbox \hbox \operatorname'
    r' \boxed \fbox \framebox'.split()
)
_UNWRITTEN = _WRAPPERS | SIZES | set(r'$ \( \) \[ \] \! \displaystyle \textstyle \limits \nolimits'.split())
SYNONYMS = {
    r'\dfrac': r'\frac', r'\tfrac': r'\frac', r'\cfrac': r'\frac', r'\leq': r'\le', r'\leqslant': r'\le',
    r'\geq': r'\ge', r'\geqslant': r'\ge', r'\neq': r'\ne', r'\rightarrow': r'\to', r'\ldots': r'\dots',
    r'\cdots': r'\dots', r'\varnothing': r'\emptyset', r'\lbrace': r'\{', r'\rbrace': r'\}', r'\lbrack': '[',
    r'\rbrack': ']', r'\lvert': '|', r'\rvert': '|', r'\vert': '|', r'\%': '%', r'\gt': '>', r'\lt': '<',
}  # fmt: skip

_LONE = re.compile(
    r'([\^_])\{(?:(\\[a-zA-Z]+)(?=\}(?![a-zA-Z]))|([0-9]+)(?=\}(?![0-9.]))|([^\W\d_])(?=\}(?![^\W_])))\}'
)
_FRACTION, _ROOT = re.compile(r'\\frac([0-9])([0-9])(?![0-9])'), re.compile(r'\\sqrt([0-9])(?![0-9])')
_PLAIN_ANSWER = re.compile(r'[0-9A-Za-z+\-/=<>:()\[\]|%.,]*[0-9A-Za-z)\]%]')  # most are in normal form


def normal_form(answer: str) -> str:  # noqa: C901
    r"""Return `answer` in one spelling, for comparing; '' for one of blanks and delimiters alone.

    Math delimiters, text wrappers and boxes, sizes of delimiters, thin spaces, full-width characters and
    the final stop go; synonyms become one command. Two answers that could mean different things never
    become equal. Takes time linear in the answer, and applying it twice changes nothing.

    >>> normal_form(r'$\left( \dfrac12 ,\, 10{,}000 \right)$.')
    '(\\frac{1}{2},10000)'
    """
    if _PLAIN_ANSWER.fullmatch(answer):
        return answer
    bare = answer.strip()
    for mark in ('**', '`'):  # around the whole
        inside = bare[len(mark) : -len(mark)]
        if bare == f'{mark}{inside}{mark}' and mark not in inside:
            bare = inside.strip()
    tokens: list[str] = []
    groups: list[bool] = []  # for each open brace, whether it is written out
    before = ''
    for token in _TOKEN.findall(join_thousands(ascii_latex(bare))):
        if token.isspace() or token in _SPACES:
            tokens.append(' ')
            continue
        if token == '{':
            groups.append(before not in _WRAPPERS)
        written = groups.pop() if token == '}' and groups else token != '{' or groups[-1]
        if written and token not in _UNWRITTEN and not (token == '.' and before in SIZES):
            tokens += ('^', r'\circ') if token == r'\degree' else (SYNONYMS.get(token, token),)
        before = token
    spaced: list[str] = []  # a blank only where it tells, or ends a command
    for place, token in enumerate(tokens):
        if token == ' ':
            continue
        ends = bool(spaced) and spaced[-1][0] == '\\' and spaced[-1][1:].isalpha() and token[0].isalpha()
        if ends or (place and tokens[place - 1] == ' ' and _are_apart(spaced, tokens[place : place + 2])):
            spaced.append(' ')
        spaced.append(token)
    # A stop, comma or line break at the end goes; an ellipsis stays.
    while spaced and spaced[-1] in {'.', ',', ';', ' ', '\\', '\\\\'} and spaced[-2:] != ['.', '.']:
        spaced.pop()
    # `x^{2}` as `x^2`, `\frac12` as `\frac{1}{2}`, `\sqrt2` as `\sqrt{2}`, if it can mean no more
    text = _LONE.sub(r'\1\2\3\4', ''.join(spaced))
    text = _ROOT.sub(r'\\sqrt{\1}', _FRACTION.sub(r'\\frac{\1}{\2}', text))
    return text if text == answer else normal_form(text)  # without a wrapper two digits are one number


def ascii_latex(text: str) -> str:
    """Return a text with mathematical and full-width characters as ASCII or commands."""
    if text.isascii():
        return text
    return _SUPERSCRIPT.sub(lambda run: f'^{{{run[0].translate(_PLAIN)}}}', text).translate(_TABLE)


def join_thousands(text: str) -> str:
    r"""Return a text with `10{,}000`, `10\,000` and `10,\!000` as `10000`."""
    return _THOUSANDS.sub(lambda number: _SEPARATOR.sub('', number[0]), text)


def _are_apart(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether a blank here may mean something: `1 2`, `no one`, `1, 234`, `1 -2`, `5! !`."""
    if not left or (len(left[-1]) > 1 and left[-1].startswith('\\')):
        return False
    before, after = left[-1][-1], right[0][0]
    if before == ',':
        return len(left) > 1 and left[-2].isdigit() and right[0].isdigit() and len(right[0]) == 3
    if after in '+-':
        binds = before in ')]}' or (before.isalnum() and before < '\u2e80')
        return binds and len(right) > 1 and right[1] != ' '
    if before in '0123456789.':
        return after in '0123456789.'
    return before == after not in '()[]{}' or (
        before.isalnum() and after.isalnum() and max(before, after) < '\u2e80'
    )
