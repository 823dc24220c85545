r"""An answer with one token changed, so that it says something else: what no judge should accept for it.

The text itself is changed, not what was read of it, so that a token that the reader passes over is tried too.
What is changed leaves no doubt in nearly all answers: a digit, a sign, a relation, an end of an interval, a
letter or its case, a unit for another one, a word for its opposite, an element that is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

from gpassk_opencompass.answers import letters_of
from gpassk_opencompass.answers.values import UNITS

FUNCTIONS = frozenset(
    'sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log lg exp gcd lcm max min abs'.split()
)
GREEK = frozenset(
    'alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi rho sigma tau phi chi psi omega '
    'Gamma Delta Theta Lambda Sigma Phi Psi Omega ell'.split()
)
MOST_MUTANTS = 40
"""Of one answer."""

_LONGEST = 2000


class Mutant(NamedTuple):
    """An answer with one token changed."""

    kind: str
    """What was changed: 'digit', 'sign', 'relation', 'end', 'letter', 'unit', …"""
    text: str


class _Piece(NamedTuple):
    """A token of the text as written, and where it stands."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


_PIECE = re.compile(
    r'(?P<layout>\\(?:begin|end)\s*\{[^{}]*\}|\\(?:left|right|[bB]igg?[lrm]?)(?![a-zA-Z])|\s+|[$~]'
    r'|\\[,;:! ()\[\]]|\\(?:q?quad|displaystyle)(?![a-zA-Z]))'
    r'|(?P<command>\\[a-zA-Z]+|\\.)'
    r'|(?P<number>[0-9]+(?:\.[0-9]+)?|\.[0-9]+)'
    r'|(?P<word>[A-Za-z]+)'
    r'|(?P<chinese>[\u4e00-\u9fff]+)'
    r'|(?P<mark>[<>!]=|.)',
    re.DOTALL,
)
_QUOTED = re.compile(r'\\(?:text\w*|math(?:rm|bf|it)|mbox|hbox|operatorname)\s*\{([^{}]*)\}')

_RELATIONS = {
    **dict.fromkeys((r'\le', r'\leq', r'\leqslant', '≤', '<='), ('<', r'\ge ')),
    **dict.fromkeys((r'\ge', r'\geq', r'\geqslant', '≥', '>='), ('>', r'\le ')),
    **dict.fromkeys((r'\ne', r'\neq', '≠', '!='), ('=',)),
    '<': ('>', r'\le '), '>': ('<', r'\ge '), '=': (r'\ne ',), r'\in': (r'\notin ',), '∈': ('∉',),
    r'\lt': ('>',), r'\gt': ('<',), r'\equiv': (r'\not\equiv ',),
    r'\parallel': (r'\perp ',), r'\perp': (r'\parallel ',),
}  # fmt: skip
_SIGNS = {r'\pm': ('+', '-'), r'\mp': ('-', '+'), '±': ('+', '-'), '∓': ('-', '+')}
_FUNCTIONS = {
    'sin': 'cos', 'cos': 'sin', 'tan': 'cot', 'cot': 'tan', 'arcsin': 'arccos', 'arccos': 'arcsin',
    'arctan': 'arcsin', 'ln': 'sin', 'log': 'sin', 'lg': 'sin', 'max': 'min', 'min': 'max', 'cup': 'cap',
    'cap': 'cup', 'sec': 'csc', 'csc': 'sec', 'gcd': 'lcm', 'lcm': 'gcd',
}  # fmt: skip
_HALF_DAY = re.compile(r'(?<![A-Za-z])[ap]\. ?m\.', re.IGNORECASE)
_OPERATORS = {r'\times': '+', r'\cdot': '+', '×': '+', '·': '+', r'\div': '+', '÷': '+', '∪': '∩', '∩': '∪'}
_ENDS = {'(': '[', '[': '(', ')': ']', ']': ')'}
_CLOSING = {'(': ')]', '[': ')]', '{': '}', r'\{': r'\}'}
_OPENING = frozenset({'(', '[', '{', r'\{'})
_SHUT = frozenset({')', ']', '}', r'\}'})
_JOINTS = frozenset({',', ';', '，', '；', '、', r'\cup', '∪', 'or', 'and', '或', '和'})
_OPERANDS = frozenset({r'\frac', r'\dfrac', r'\tfrac', r'\sqrt', r'\pi', r'\infty', r'\arccos', r'\arcsin'})
_BEFORE_OPERAND = frozenset({'(', '[', '{', ',', '=', '<', '>', '|', ';', r'\{', *_RELATIONS})
_OPPOSITES = (
    'increasing decreasing; even odd; sufficient necessary; positive negative; parallel perpendicular; '
    'maximum minimum; east west; north south; left right; yes no; true false; always never; all some; '
    'Alice Bob; convergent divergent; converges diverges; rational irrational; prime composite; '
    'finite infinite; greater less; convex concave; first second; acute obtuse; inside outside; '
    '充分 必要; 递增 递减; 奇 偶; 正 负; 大 小; 平行 垂直; 收敛 发散; 有理 无理; 有限 无限; 锐角 钝角; '
    '左 右; 上 下; 增 减; 东 西; 南 北; 先 后; 甲 乙; 内 外; 凸 凹; 真 假; 对 错'
)
_OPPOSITE = {
    word: other for pair in _OPPOSITES.split('; ') for word, other in (pair.split(), reversed(pair.split()))
}
_CHINESE_OPPOSITE = re.compile('|'.join(sorted((w for w in _OPPOSITE if not w.isascii()), key=len)[::-1]))
_FIGURES = ('one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve')
_NUMERALS = {
    **dict(zip('一二两三四五六七八九', '二三三四五六七八九八', strict=True)),
    **dict(zip(_FIGURES, (*_FIGURES[1:], 'eleven'), strict=True)),
}
_NEGATIONS = frozenset('not no non never 不 非 无 没'.split())
_DENIABLE = frozenset('is are was were has have does do can will'.split())
_FILLERS = frozenset(
    'the and for that this with from which when where each both there their they them then than such into '
    'have been being also only more less most least same other another equal equals answer value number '
    'condition but per its has are is was were all any can will are text points point it'.split()
)


def mutants_of(answer: str, most: int = MOST_MUTANTS) -> list[Mutant]:
    r"""Return `answer` with one token changed, in at most `most` ways, always the same ones.

    All kinds of changes come before a second one of any kind. An answer above 2,000 characters has none.

    >>> [mutant.text for mutant in mutants_of('[0, 1)', 4)]
    ['[1, 1)', '[0, -1)', '(0, 1)', '[1)']
    """
    if len(answer) > _LONGEST or not answer.strip():
        return []
    if letters_of(answer):
        kinds: Iterable[Iterator[Mutant]] = [_options(answer)]
    else:
        pieces = list(_pieces(answer))
        kinds = [kind(answer, pieces) for kind in _KINDS]
    rounds = chain.from_iterable(zip_longest(*kinds))
    found = dict.fromkeys(mutant for mutant in rounds if mutant and mutant.text != answer)
    return list(found)[:most]


def _pieces(answer: str) -> Iterator[_Piece]:
    quoted = [match.span(1) for match in _QUOTED.finditer(answer)]
    for match in _PIECE.finditer(answer):
        kind = str(match.lastgroup)
        if kind == 'word' and any(start <= match.start() < end for start, end in quoted):
            kind = 'quoted'
        if kind != 'layout':
            yield _Piece(kind, match[0], match.start())


def _with(answer: str, piece: _Piece, text: str) -> str:
    return answer[: piece.start] + text + answer[piece.end :]


def _digits(answer: str, pieces: Sequence[_Piece]) -> Iterator[Mutant]:
    """Change the last, the first and the middle digit of each number, never to a leading zero."""
    places = (
        place
        for piece in pieces
        if piece.kind == 'number'
        for place in dict.fromkeys((piece.end - 1, piece.start, (piece.start + piece.end) // 2))
        if answer[place].isdigit()
    )
    for place in places:
        digit = str(int(answer[place]) + 1) if answer[place] < '9' else '8'
        yield Mutant('digit', answer[:place] + digit + answer[place + 1 :])


def _numerals(answer: str, pieces: Sequence[_Piece]) -> Iterator[Mutant]:
    for piece in pieces:
        if piece.kind == 'chinese':
            for place, char in enumerate(piece.text, piece.start):
                if char in _NUMERALS:
                    yield Mutant('digit', answer[:place] + _NUMERALS[char] + answer[place + 1 :])
        elif _is_latin(piece) and piece.text.lower() in _NUMERALS:
            yield Mutant('digit', _with(answer, piece, _NUMERALS[piece.text.lower()]))


def _signs(answer: str, pieces: Sequence[_Piece]) -> Iterator[Mutant]:
    for place, piece in enumerate(pieces):
        if piece.text in _SIGNS:
            for sign in _SIGNS[piece.text]:
                yield Mutant('sign', _with(answer, piece, sign))
        elif piece.text == '+':
            yield Mutant('sign', _with(answer, piece, '-'))
        elif piece.text in '-−' and not _in_word(answer, piece):
            alone = not place or pieces[place - 1].text in _BEFORE_OPERAND
            yield Mutant('sign', _with(answer, piece, '' if alone else '+'))


def _in_word(answer: str, piece: _Piece) -> bool:
    """Whether a hyphen joins two words."""
    beside = answer[max(0, piece.start - 2) : piece.start], answer[piece.end : piece.end + 2]
    return all(len(letters) == 2 and letters.isalpha() for letters in beside)


def _minus(answer: str, pieces: Sequence[_Piece]) -> Iterator[Mutant]:
    """Put a sign where there is none."""
    for place, piece in enumerate(pieces):
        before = pieces[place - 1].text if place else '{'
        if place > 1 and before == '{' and pieces[place - 2].text[:5] in (r'\text', r'\mbox', r'\math'):
            continue
        operand = piece.text in _OPERANDS or (piece.kind == 'number' and piece.text.strip('0.') != '')
        if before in _BEFORE_OPERAND and (operand or _is_symbol(answer, pieces, place)):
            yield Mutant('sign', f'{answer[: piece.start]}-{answer[piece.start :]}')


def _relations(answer: str, pieces: Sequence[_Piece]) -> Iterator[Mutant]:
    for piece in pieces:
        for other in _RELATIONS.get(piece.text, ()):
            yield Mutant('relation', _with(answer, piece, other))


def _ends(answer: str, pieces: Sequence[_Piece]) -> Iterator[Mutant]:
    """Open or close each bracket of two values."""
    for start, end in _brackets(pieces):
        inside = _parts(pieces, start + 1, end)
        if pieces[start].text in _ENDS and pieces[end].text in _ENDS and len(inside) == 2:
            for piece in (pieces[start], pieces[end]):
                yield Mutant('end', _with(answer, piece, _ENDS[piece.text]))


def _letters(answer: str, pieces: Sequence[_Piece]) -> Iterator[Mutant]:
    """Write each symbol in the other case, and another one in its place."""
    for place, piece in enumerate(pieces):
        if _is_symbol(answer, pieces, place):
            yield Mutant('case', _with(answer, piece, piece.text.swapcase()))
            other = next(letter for letter in 'wuzqk' if letter not in answer)
            yield Mutant('letter', _with(answer, piece, other))
        elif piece.kind == 'command' and piece.text[1:] in GREEK | {'pi'}:
            other = r'\beta' if piece.text == r'\alpha' else r'\alpha'
            yield Mutant('letter', _with(answer, piece, other))


def _is_symbol(answer: str, pieces: Sequence[_Piece], place: int) -> bool:
    """Whether a letter stands for something: no article of a text, no unit behind `/`, no half of a day."""
    piece = pieces[place]
    if piece.kind != 'word' or len(piece.text) > 1:
        return False
    after = pieces[place + 1] if place + 1 < len(pieces) else None
    article = piece.text in 'AaI' and after is not None and after.kind == 'word' and len(after.text) > 1
    unit = place > 1 and pieces[place - 1].text == '/' and len(pieces[place - 2].text) > 1
    half = any(start <= piece.start < end for start, end in (m.span() for m in _HALF_DAY.finditer(answer)))
    return not (article or half or (unit and _is_latin(pieces[place - 2])))


def _names(answer: str, pieces: Sequence[_Piece]) -> Iterator[Mutant]:
    """Write another function or operator, or none."""
    for place, piece in enumerate(pieces):
        name = piece.text.lstrip('\\')
        if name in _FUNCTIONS and piece.kind in ('command', 'word'):
            yield Mutant('function', _with(answer, piece, piece.text.replace(name, _FUNCTIONS[name])))
        elif piece.text in (r'\sqrt', '√') and pieces[place + 1 : place + 2]:
            yield Mutant('function', _with(answer, piece, ' '))
        elif piece.text == '!' and place:
            yield Mutant('function', _with(answer, piece, ''))
        elif piece.text in _OPERATORS:
            yield Mutant('operator', _with(answer, piece, _OPERATORS[piece.text]))


def _units(answer: str, pieces: Sequence[_Piece]) -> Iterator[Mutant]:
    for place, piece in enumerate(pieces):
        counted = any(before.kind == 'number' for before in pieces[max(0, place - 6) : place])
        if piece.text in (r'\circ', '°') and counted:
            yield Mutant('unit', _with(answer, piece, r'\text{ rad}'))
        elif piece.text == r'\$':
            yield Mutant('unit', _with(answer, piece, '€'))
        elif counted and (piece.kind in ('quoted', 'chinese') or len(piece.text) > 1):
            for other in _other_units(piece.text):
                yield Mutant('unit', _with(answer, piece, other))


def _other_units(name: str) -> list[str]:
    """Return a unit of another size and one of another dimension, in the same script; [] for no unit."""
    unit = UNITS.get(name)
    if unit is None:
        return []
    same = [(other, about) for other, about in UNITS.items() if other.isascii() == name.isascii()]
    sizes = [other for other, about in same if about.dimension == unit.dimension and about != unit]
    dimensions = [other for other, about in same if about.dimension != unit.dimension]
    return [*sizes[:1], *dimensions[:1]]


def _opposites(answer: str, pieces: Sequence[_Piece]) -> Iterator[Mutant]:
    for piece in pieces:
        if _is_latin(piece):
            other = _OPPOSITE.get(piece.text) or _OPPOSITE.get(piece.text.lower())
            if other:
                yield Mutant('opposite', _with(answer, piece, other))
        elif piece.kind == 'chinese':
            for match in _CHINESE_OPPOSITE.finditer(piece.text):
                start, end = piece.start + match.start(), piece.start + match.end()
                yield Mutant('opposite', answer[:start] + _OPPOSITE[match[0]] + answer[end:])


def _negations(answer: str, pieces: Sequence[_Piece]) -> Iterator[Mutant]:
    """Put in or take away a word that denies."""
    for piece in pieces:
        if piece.kind == 'chinese':
            places = [place for place, char in enumerate(piece.text, piece.start) if char in _NEGATIONS]
            for place in places:
                yield Mutant('negation', answer[:place] + answer[place + 1 :])
        elif _is_latin(piece) and piece.text.lower() in _NEGATIONS:
            yield Mutant('negation', _with(answer, piece, ''))
        elif _is_latin(piece) and piece.text.lower() in _DENIABLE:
            yield Mutant('negation', _with(answer, piece, f'{piece.text} not'))
    first = pieces[0].text.lower() if pieces else ''
    if first not in _NEGATIONS:
        yield Mutant('negation', f'不{answer}' if first[:1] > '\u4e00' else f'not {answer}')


def _elements(answer: str, pieces: Sequence[_Piece]) -> Iterator[Mutant]:
    """Leave out one element of a list, set, point or union."""
    for start, end in [(-1, len(pieces)), *_brackets(pieces)]:
        parts = _parts(pieces, start + 1, end)
        texts = [''.join(piece.text for piece in pieces[low:high]) for low, high in parts]
        related = {any(piece.text in _RELATIONS for piece in pieces[low:high]) for low, high in parts}
        if len(parts) < 2 or len(related) > 1 or not all(texts):
            continue
        for place, (low, high) in enumerate(parts):
            if texts.count(texts[place]) == 1:
                first, last = (low, parts[1][0]) if not place else (parts[place - 1][1], high)
                until = pieces[last].start if not place else pieces[last - 1].end
                yield Mutant('element', answer[: pieces[first].start] + answer[until:])


def _brackets(pieces: Sequence[_Piece]) -> list[tuple[int, int]]:
    """Return the places of the brackets that belong together."""
    opened: list[int] = []
    found = []
    for place, piece in enumerate(pieces):
        if piece.text in _OPENING:
            opened.append(place)
        elif piece.text in _SHUT and opened:
            start = opened.pop()
            if piece.text in _CLOSING[pieces[start].text]:
                found.append((start, place))
    return sorted(found)


def _parts(pieces: Sequence[_Piece], start: int, end: int) -> list[tuple[int, int]]:
    """Return where the elements between two places begin and end; the comma of 10,000 parts nothing."""
    parts, depth = [], 0
    for place in range(start, end):
        text = pieces[place].text
        depth += (text in _OPENING) - (text in _SHUT)
        if depth == 0 and text.lower() in _JOINTS and not _is_thousands(pieces, place):
            parts.append((start, place))
            start = place + 1
    parts.append((start, end))
    return parts


def _is_thousands(pieces: Sequence[_Piece], place: int) -> bool:
    beside = pieces[max(0, place - 1) : place + 2]
    if len(beside) < 3 or beside[1].text != ',':
        return False
    before, _, after = beside
    return before.kind == after.kind == 'number' and before.end + 1 == after.start and len(after.text) == 3


def _replaced(answer: str, pieces: Sequence[_Piece]) -> Iterator[Mutant]:
    """Replace a word, or a character of a Chinese text, by one that has nothing to do with it."""
    for piece in pieces:
        if piece.kind == 'chinese':
            for place in range(piece.start, piece.end):
                yield Mutant('word', f'{answer[:place]}桌{answer[place + 1 :]}')
        elif _is_content(piece):
            yield Mutant('word', _with(answer, piece, 'table'))


def _is_content(piece: _Piece) -> bool:
    """Whether a word says something, and is no function and none of those that only hold a text together."""
    return _is_latin(piece) and len(piece.text) > 3 and piece.text.lower() not in _FILLERS | FUNCTIONS


def _is_latin(piece: _Piece) -> bool:
    return piece.kind in ('word', 'quoted')


def _options(answer: str) -> Iterator[Mutant]:
    """Choose another letter."""
    for place in [match.start() for match in re.finditer(r'(?<![A-Za-z])[A-H](?![a-z])', answer)]:
        for letter in 'ABCDE':
            if letter not in answer:
                yield Mutant('choice', answer[:place] + letter + answer[place + 1 :])


_KINDS = (
    _digits, _minus, _signs, _relations, _ends, _elements, _letters, _names, _units, _opposites,
    _negations, _numerals, _replaced,
)  # fmt: skip
