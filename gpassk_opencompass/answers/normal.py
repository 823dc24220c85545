r"""The normal form of an answer: one spelling for what differs only in how it is typed.

It knows spelling, not mathematics: `\dfrac12` is `\frac{1}{2}`, but `0.5` and `1/2` stay different, and so
does all that can be read in two ways (`1 2` and `12`, `1, 234` and `1,234`, `1 -2` and `1-2`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence


def _commands(characters: str, names: str) -> dict[str, str]:
    return {char: f'\\{name} ' for char, name in zip(characters, names.split(), strict=True)}


def _vulgar_fraction(char: str) -> str:
    return r'\frac{{{}}}{{{}}}'.format(*unicodedata.normalize('NFKC', char).split('⁄'))


_CHARACTERS: dict[str, str | None] = {
    **{chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},  # full width
    **dict.fromkeys('\u200b\u200c\u200d\u2060\ufeff'),
    **dict.fromkeys('\u00a0\u2002\u2003\u2009\u200a\u202f\u3000', ' '),
    **_commands('≤≥≠×÷·⋅±∓∞≈∈→°', 'le ge ne times div cdot cdot pm mp infty approx in to degree'),
    **_commands('∪∩∅⊂⊆', 'cup cap emptyset subset subseteq'),
    **_commands('αβγδεθλμ', 'alpha beta gamma delta epsilon theta lambda mu'),
    **_commands('πρστφωΔΩ', 'pi rho sigma tau phi omega Delta Omega'),
    **{char: _vulgar_fraction(char) for char in '½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞'},
    '−': '-', '、': ',', '…': r'\dots ', '⁄': '/', '。': '.',
}  # fmt: skip
_TABLE = str.maketrans(_CHARACTERS)
_SUPERSCRIPT = re.compile('[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+')
_PLAIN = str.maketrans('⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻', '0123456789+-')

# 10{,}000 and 10\,000 and 10,\!000; after a leading zero it would be a decimal comma.
_THOUSANDS = re.compile(r'(?<![0-9.,])[1-9][0-9]{0,2}(?:(?:\{,\}|\\,|,\\!\s{0,3})[0-9]{3})+(?![0-9])')
_SEPARATOR = re.compile(r'\{,\}|\\,|,\\!\s{0,3}')
_TOKEN = re.compile(r'\\[a-zA-Z]+|\\.|[0-9]+|\s+|.', re.DOTALL)

_SPACES = frozenset(
    {r'\,', r'\:', r'\;', r'\ ', '\\\n', '~', r'\quad', r'\qquad', r'\enspace', r'\thinspace'}
)
_DELIMITER_SIZES = frozenset(
    '\\' + size + side for size in ('big', 'Big', 'bigg', 'Bigg') for side in ('', 'l', 'm', 'r')
) | {r'\left', r'\right', r'\middle'}
_DROPPED = _DELIMITER_SIZES | frozenset(
    {'$', r'\(', r'\)', r'\[', r'\]', r'\!', r'\displaystyle', r'\textstyle', r'\limits', r'\nolimits'}
)
_WRAPPERS = frozenset(
    {
        r'\text',
        r'\textbf',
        r'\textit',
        r'\textrm',
        r'\textnormal',
        r'\mathrm',
        r'\mbox',
        r'\hbox',
        r'\operatorname',
    }
    | {r'\boxed', r'\fbox', r'\framebox'}
)
_UNWRITTEN = _DROPPED | _WRAPPERS
SYNONYMS = {
    r'\dfrac': r'\frac', r'\tfrac': r'\frac', r'\cfrac': r'\frac', r'\leq': r'\le', r'\leqslant': r'\le',
    r'\geq': r'\ge', r'\geqslant': r'\ge', r'\neq': r'\ne', r'\rightarrow': r'\to', r'\ldots': r'\dots',
    r'\cdots': r'\dots', r'\varnothing': r'\emptyset', r'\lbrace': r'\{', r'\rbrace': r'\}', r'\lbrack': '[',
    r'\rbrack': ']', r'\lvert': '|', r'\rvert': '|', r'\vert': '|', r'\%': '%', r'\gt': '>', r'\lt': '<',
}  # fmt: skip


# What is in its normal form already, by far the most of all answers.
_PLAIN_ANSWER = re.compile(r'[0-9A-Za-z+\-/=<>:()\[\]|%.,]*[0-9A-Za-z)\]%]')


def normal_form(answer: str) -> str:
    r"""Return `answer` in one spelling, for comparing; '' for one of blanks and delimiters alone.

    Math delimiters, text wrappers and boxes, sizes of delimiters, thin spaces, full-width characters and
    the final stop go; synonyms become one command. Two answers that could mean different things never
    become equal. Takes time linear in the answer, and applying it twice changes nothing.

    >>> normal_form(r'$\left( \dfrac12 ,\, 10{,}000 \right)$.')
    '(\\frac{1}{2},10000)'
    >>> normal_form('（ 2π, ＋∞ ）') == normal_form(r'(2\pi,+\infty)')
    True
    """
    if _PLAIN_ANSWER.fullmatch(answer):
        return answer
    before, after = '', answer
    while after != before:  # removing a wrapper can join two digits, which then read as one number
        before, after = after, _respelled(after)
    return after


def _respelled(answer: str) -> str:
    spelled = join_thousands(ascii_latex(_unmarked(answer)))
    tokens = _spaced(_unwrapped(_TOKEN.findall(spelled)))
    return _joined(_grouped(_unpunctuated(tokens)))


def ascii_latex(text: str) -> str:
    r"""Return `text` with mathematical and full-width characters as ASCII or commands.

    >>> ascii_latex('（½，x²⁺¹≤π）')
    '(\\frac{1}{2},x^{2+1}\\le \\pi )'
    """
    return _SUPERSCRIPT.sub(lambda run: f'^{{{run[0].translate(_PLAIN)}}}', text).translate(_TABLE)


def join_thousands(text: str) -> str:
    r"""Return `text` with `10{,}000`, `10\,000` and `10,\!000` as `10000`.

    >>> join_thousands(r'10{,}000 \text{ and } 0{,}125')
    '10000 \\text{ and } 0{,}125'
    """
    return _THOUSANDS.sub(lambda number: _SEPARATOR.sub('', number[0]), text)


def _unmarked(answer: str) -> str:
    """Return it without Markdown emphasis or code quotes around the whole."""
    answer = answer.strip()
    for mark in ('**', '`'):
        inside = answer[len(mark) : -len(mark)]
        if answer == f'{mark}{inside}{mark}' and mark not in inside:
            answer = inside.strip()
    return answer


def _unwrapped(tokens: Sequence[str]) -> list[str]:
    """Return it without delimiters, sizes and wrappers; synonyms in one spelling; blanks as one ' '."""
    out: list[str] = []
    groups: list[bool] = []  # for each open brace, whether it is written out
    after = ''
    for token in tokens:
        if token.isspace() or token in _SPACES:
            out.append(' ')
            continue
        before, after = after, token
        if token == '{':
            groups.append(before not in _WRAPPERS)
        kept = groups.pop() if token == '}' and groups else token != '{' or groups[-1]
        if kept and token not in _UNWRITTEN and not (token == '.' and before in _DELIMITER_SIZES):
            out.extend(('^', r'\circ') if token == r'\degree' else (SYNONYMS.get(token, token),))
    return out


def _spaced(tokens: Sequence[str]) -> list[str]:
    """Return it without the blanks that mean nothing."""
    out: list[str] = []
    for place, token in enumerate(tokens):
        if token != ' ':
            if place and tokens[place - 1] == ' ' and _parted(out, tokens[place : place + 2]):
                out.append(' ')
            out.append(token)
    return out


def _parted(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether a blank here may mean something: `1 2`, `no one`, `1, 234`, `1 -2`, `5! !`."""
    if not left or (len(left[-1]) > 1 and left[-1].startswith('\\')):
        return False
    before, after = left[-1][-1], right[0][0]
    if before == ',':
        return len(left) > 1 and left[-2].isdigit() and right[0].isdigit() and len(right[0]) == 3
    if after in '+-':
        return (_in_word(before) or before in ')]}') and len(right) > 1 and right[1] != ' '
    if before in '0123456789.':
        return after in '0123456789.'
    return before == after not in '()[]{}' or (_in_word(before) and _in_word(after))


def _in_word(char: str) -> bool:
    return char.isalnum() and char < '\u2e80'  # Chinese needs no blanks


def _unpunctuated(tokens: list[str]) -> list[str]:
    """Return it without the stop, comma or line break at its end (an ellipsis stays)."""
    while tokens and tokens[-1] in {'.', ',', ';', ' ', '\\', '\\\\'} and tokens[-2:] != ['.', '.']:
        tokens.pop()
    return tokens


def _grouped(tokens: Sequence[str]) -> list[str]:
    r"""Write `x^{2}` as `x^2`, `\frac12` as `\frac{1}{2}`, `\sqrt2` as `\sqrt{2}`, if it can mean no more."""
    out: list[str] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        following = tokens[place + 1] if place + 1 < len(tokens) else ''
        width = 1
        if token in {'^', '_'} and _lone(tokens[place + 1 : place + 5]):
            out += [token, tokens[place + 2]]
            width = 4
        elif token == r'\frac' and following.isdigit() and len(following) == 2:
            out += [token, '{', following[0], '}', '{', following[1], '}']
            width = 2
        elif token == r'\sqrt' and following.isdigit() and len(following) == 1:
            out += [token, '{', following, '}']
            width = 2
        else:
            out.append(token)
        place += width
    return out


def _lone(tokens: Sequence[str]) -> bool:
    """Whether `tokens` are a group of one token and perhaps a token that does not run into it."""
    if len(tokens) < 3 or tokens[0] != '{' or tokens[2] != '}':
        return False
    value, after = tokens[1], tokens[3] if len(tokens) > 3 else ' '
    if value[0] == '\\':
        return len(value) > 1 and value[1].isalpha()
    if value.isdigit():
        return not (after.isdigit() or after == '.')
    return value.isalpha() and not after[0].isalnum()


def _joined(tokens: Sequence[str]) -> str:
    out = ''
    pieces: list[str] = []
    for token in tokens:
        if len(out) > 1 and out[0] == '\\' and out[1].isalpha() and token[0].isalpha():
            pieces.append(' ')
        pieces.append(token)
        out = token
    return ''.join(pieces)
