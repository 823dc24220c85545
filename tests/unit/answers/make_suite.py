"""Write `suite.jsonl`: the pairs of `written.tsv`, then generated ones.

    python tests/unit/answers/make_suite.py     # writes suite.jsonl beside it

A generated pair is equal or not by construction, and an oracle that shares no code with the judge confirms
it: Fraction for numbers, sympy for expressions, plain tuples for all that is made of them. What the oracle
does not confirm stops the script.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import NamedTuple

import sympy

HERE = Path(__file__).parent
SEED = 20261122
PER_FAMILY = 260


class Case(NamedTuple):
    """One pair of the suite."""

    type: str
    equal: bool
    reference: str
    answer: str
    reason: str
    question: str = ''


Family = Callable[[Random], Case]


def written() -> Iterator[Case]:
    """Yield the pairs written by hand; adversarial ones first."""
    for line in (HERE / 'written.tsv').read_text(encoding='utf-8').splitlines():
        kind, sign, reference, answer, reason, *question = line.split('\t')
        yield Case(kind, sign == '=', reference, answer, reason, ''.join(question).replace('\\n', '\n'))


def generated(count: int, seed: int = SEED) -> Iterator[Case]:
    """Yield `count` pairs of each family."""
    for family in FAMILIES:
        chance = Random(f'{seed} {family.__name__}')
        for _ in range(count):
            yield family(chance)


# Numbers

_CHINESE = '零一二三四五六七八九'
_BELOW = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 25]


def _either(same: bool, equal: str, other: str) -> str:
    return equal if same else other


def _decimal(value: Fraction) -> str:
    """Write it out; '' where it has no end."""
    rest = value.denominator
    while rest % 2 == 0 or rest % 5 == 0:
        rest //= 2 if rest % 2 == 0 else 5
    if rest > 1:
        return ''
    text = f'{Decimal(value.numerator) / value.denominator:f}'
    return text.rstrip('0').rstrip('.') if '.' in text else text


def _spellings(value: Fraction) -> list[str]:
    """Ways to write `value`, each checked by reading it back."""
    sign, above, below = '-' if value < 0 else '', abs(value.numerator), value.denominator
    forms = [f'{sign}{above}', f'${sign}{above}$', f'{sign}{above}.0'] if below == 1 else []
    if below > 1:
        last = rf'$-\frac{{{above}}}{{{below}}}$' if sign else rf'\({above}/{below}\)'
        fractions = rf'{sign}\frac{{{above}}}{{{below}}}', rf'\dfrac{{{sign}{above}}}{{{below}}}'
        forms = [f'{sign}{above}/{below}', *fractions, last]
        whole, rest = divmod(above, below)
        if whole:
            forms += [rf'{sign}{whole}\frac{{{rest}}}{{{below}}}', f'{sign}{whole} {rest}/{below}']
        elif above < 10 and below < 10:
            forms.append(f'{"负" if sign else ""}{_CHINESE[below]}分之{_CHINESE[above]}')
    if decimal := _decimal(value):
        assert Fraction(decimal) == value
        forms += [decimal, _decimal(value * 100) + r'\%', _decimal(value * 100) + ' percent']
    return forms


def _fraction(chance: Random) -> Fraction:
    return Fraction(chance.randint(-60, 60) or 7, chance.choice(_BELOW))


def equal_numbers(chance: Random) -> Case:
    while len(forms := _spellings(_fraction(chance))) < 2:
        pass
    return Case('number', True, *chance.sample(forms, 2), 'one rational number in two notations')


def different_numbers(chance: Random) -> Case:
    while True:
        value = _fraction(chance)
        others = [-value, 1 / value, value + 1, value - Fraction(1, value.denominator), value * 10]
        other = chance.choice(others)
        if other != value and abs(other) * 100 != abs(value) and abs(value) * 100 != abs(other):
            one, two = chance.choice(_spellings(value)), chance.choice(_spellings(other))
            return Case('number', False, one, two, f'{value} is not {other}')


def large_integers(chance: Random) -> Case:
    """Integers of up to forty digits, with one digit changed or not, grouped or not."""
    digits = [str(chance.randint(1, 9)), *(str(chance.randint(0, 9)) for _ in range(chance.randint(3, 39)))]
    other, place = list(digits), chance.randrange(len(digits))
    equal = chance.random() < 0.3
    if not equal:
        other[place] = str((int(digits[place]) + chance.randint(1, 9)) % 10)
    one, two = int(''.join(digits)), int(''.join(other))
    grouped = chance.choice([*(f'{two:,}'.replace(',', comma) for comma in (',', '{,}', r'\,')), str(two)])
    reason = _either(equal, 'all digits agree', f'digit {place + 1} differs')
    return Case('number', one == two, str(one), grouped, reason)


def roots(chance: Random) -> Case:
    a, b = chance.randint(-9, 9), chance.randint(2, 9)
    c, k = chance.choice([2, 3, 5, 6, 7, 10]), chance.randint(1, 4)
    reference = rf'{a or ""}{"+" if a else ""}{b}\sqrt{{{c}}}'
    equal = chance.random() < 0.5
    inner, tail = b * b * c if equal else b * b * c + k, f'{a:+d}' if a else ''
    forms = rf'\sqrt{{{inner}}}', f'√{inner}', f'sqrt({inner})', rf'\sqrt {{{inner}}} '
    answer = chance.choice(forms) + tail
    assert (sympy.simplify(b * sympy.sqrt(c) - sympy.sqrt(inner)) == 0) is equal
    return Case('number', equal, reference, answer, f'√{inner} is {"" if equal else "not "}{b}√{c}')


# Expressions

_NAMES = ('x', 'y', 'a', 'b', 'n', 't', 'R', 'S')


def _polynomial(chance: Random, names: list[sympy.Symbol]) -> sympy.Expr:
    total = sympy.Integer(chance.randint(-9, 9))
    for _ in range(chance.randint(1, 3)):
        term = sympy.Integer(chance.randint(1, 9) * chance.choice([-1, 1]))
        for name in chance.sample(names, chance.randint(1, len(names))):
            term *= name ** chance.randint(1, 3)
        total += term
    return total


def expressions(chance: Random) -> Case:
    """A product of polynomials, expanded; mutated in a coefficient, sign, power or the case of a symbol."""
    names = [sympy.Symbol(name) for name in chance.sample(_NAMES, chance.randint(1, 2))]
    whole = sympy.Integer(1)
    while not whole.free_symbols:
        one, two = _polynomial(chance, names), _polynomial(chance, names)
        whole = sympy.expand(one * two)
    mutated, reason = whole, 'multiplied out'
    if chance.random() < 0.5:
        name = sorted(whole.free_symbols, key=str)[0]
        mutated, reason = chance.choice([
            (whole + name, 'one term more'), (whole - 1, 'another constant'), (-whole, 'the sign'),
            (whole.subs(name, sympy.Symbol(str(name).swapcase())), 'the case of a symbol'),
            (whole * name, 'one power more'),
        ])  # fmt: skip
    answer = chance.choice([sympy.latex, str])(sympy.expand(mutated))
    return Case('expression', sympy.expand(whole - mutated) == 0, sympy.latex(one * two), answer, reason)


def quotients(chance: Random) -> Case:
    x = sympy.Symbol(chance.choice(_NAMES))
    a, b, c = (chance.randint(1, 9) for _ in range(3))
    equal = chance.random() < 0.5
    value, other = (sympy.Integer(above) / (x + b) + c for above in (a, a if equal else a + 1))
    assert (sympy.simplify(value - other) == 0) is equal
    reason = _either(equal, 'brought together', 'a + 1 for a')
    return Case('expression', equal, sympy.latex(value), sympy.latex(sympy.together(other)), reason)


# Intervals, sets, points


def _ends(chance: Random) -> tuple[int, int]:
    low = chance.randint(-20, 19)
    return low, chance.randint(low + 1, 21)


def _interval_forms(low: int, high: int, left: bool, right: bool) -> list[str]:
    (below, turned_below), (above, turned_above) = (
        (r'\le', r'\ge') if closed else ('<', '>') for closed in (left, right)
    )
    interval = f'{"[" if left else "("}{low},{high}{"]" if right else ")"}'
    return [
        interval, rf'$x \in {interval}$', f'{low} {below} x {above} {high}',
        rf'\{{x \mid {low} {below} x {above} {high}\}}', f'{high} {turned_above} x {turned_below} {low}',
        rf'\left{interval[0]} {low}, {high} \right{interval[-1]}',
    ]  # fmt: skip


def intervals(chance: Random) -> Case:
    """An interval as such, as inequality, membership or set; mutated in an end or a bracket."""
    low, high = _ends(chance)
    left, right = chance.random() < 0.5, chance.random() < 0.5
    one = other = low, high, left, right
    if chance.random() < 0.5:
        brackets = (low, high, not left, right), (low, high, left, not right)
        ends = (low - 1, high, left, right), (low, high + 1, left, right)
        other = chance.choice([*ends, *brackets, (-high, -low, left, right)])
    reference, answer = chance.choice(_interval_forms(*one)), chance.choice(_interval_forms(*other))
    reason = _either(one == other, 'the same ends', f'{one} is not {other}')
    return Case('interval', one == other, reference, answer, reason)


def half_lines(chance: Random) -> Case:
    low, high = _ends(chance)
    sign, turned, close, opened = (r'\le \ge ] [', '< > ) (')[chance.random() < 0.5].split()
    equal = chance.random() < 0.5
    shift = 0 if equal else chance.choice([1, -1])
    union = rf'(-\infty,{low}{close}\cup{opened}{high + shift},+\infty)'
    in_words = rf'x {sign} {low} \text{{ or }} x {turned} {high}', f'x{sign} {low} 或 x{turned} {high}'
    words = chance.choice(in_words)
    pair = (words, union) if chance.random() < 0.5 else (union, words)
    return Case('interval', equal, *pair, _either(equal, 'the same ends', 'another end'))


def sets(chance: Random) -> Case:
    items = chance.sample(range(-20, 40), chance.randint(2, 5))
    other = chance.sample(items, len(items))
    if chance.random() < 0.5:
        other = chance.choice([other[1:], [*other, 41], [*other[1:], 42]])
    equal = set(items) == set(other)
    ours, theirs = (', '.join(map(str, values)) for values in (items, other))
    forms = rf'\{{{theirs}\}}', theirs, rf'\left\{{{theirs}\right\}}', theirs.replace(', ', ' 或 ')
    reason = _either(equal, 'the same elements', 'other elements')
    return Case('set', equal, rf'\{{{ours}\}}', chance.choice(forms), reason)


def points(chance: Random) -> Case:
    items = [_fraction(chance) for _ in range(chance.randint(2, 4))]
    other = list(items)
    if chance.random() < 0.5:
        at = chance.randrange(len(items))
        turned = [*items[:at], -items[at], *items[at + 1 :]]
        other = chance.choice([items[::-1], turned, [*items, Fraction(1)]])
    one, two = ('(' + ', '.join(map(str, values)) + ')' for values in (items, other))
    answer = chance.choice([two, f'${two}$', rf'\left{two[:-1]}\right)'])
    equal = items == other
    return Case('tuple', equal, one, answer, _either(equal, 'the same coordinates', 'other coordinates'))


def named(chance: Random) -> Case:
    one, two = chance.sample(['p', 'q', 'a', 'b', 'x', 'y', 'm'], 2)
    u, v = chance.sample(range(1, 30), 2)
    equal, answer, reason = chance.choice([
        (True, f'{two}={v}, {one}={u}', 'named, so in any order'),
        (True, f'{u}, {v}', 'in the order of the names'),
        (False, f'{v}, {u}', 'not in the order of the names'),
        (False, f'{one}={v}, {two}={u}', 'exchanged'),
        (False, f'{one}={u}', 'one is missing'),
        (True, f'({one},{two})=({u},{v})', 'two notations'),
        (False, f'{one}={u}; {two.upper()}={v}', 'another name'),
    ])  # fmt: skip
    return Case('record', equal, f'{one}={u}, {two}={v}', answer, reason)


def parts(chance: Random) -> Case:
    """Numbered answers, of which the last must not be taken for all."""
    u, v, w = chance.sample(range(1, 50), 3)
    equal, answer, reason = chance.choice([
        (True, f'(1) {u}, (2) {v}', 'other punctuation'),
        (False, f'(1) ${w}$; (2) ${v}$', 'the first differs'),
        (False, f'{v}', 'only the last'),
        (False, f'(1) ${v}$; (2) ${u}$', 'exchanged'),
        (True, f'(1)${u}$；(2)${v}$', 'full width'),
    ])  # fmt: skip
    return Case('parts', equal, f'(1) ${u}$; (2) ${v}$', answer, reason)


# Quantities, choices

_UNITS = {
    'length': 'mm=1/1000 cm=1/100 厘米=1/100 m=1 米=1 km=1000 千米=1000',
    'mass': 'g=1 克=1 kg=1000 千克=1000 吨=1000000',
    'time': 'seconds=1 秒=1 minutes=60 分钟=60 hours=3600 小时=3600 days=86400',
    'money': '元=1 yuan=1 角=1/10',
}


def quantities(chance: Random) -> Case:
    """A quantity in another unit of its dimension, converted or only renamed."""
    line = _UNITS[chance.choice(sorted(_UNITS))]
    table = {name: Fraction(factor) for name, factor in (entry.split('=') for entry in line.split())}
    one, other = chance.sample(sorted(table), 2)
    amount = Fraction(chance.randint(1, 99))
    converted = amount * table[one] / table[other]
    given = converted if chance.random() < 0.5 and _decimal(converted) else amount
    answer = f'{_decimal(given)}{" " if other.isascii() else ""}{other}'
    latin = [f'{amount} {one}', rf'{amount}\text{{ {one}}}']
    spelled = chance.choice(latin) if one.isascii() else f'{amount}{one}'
    equal = given == converted
    return Case('quantity', equal, spelled, answer, _either(equal, 'converted', 'another unit'))


def choices(chance: Random) -> Case:
    """A letter against the text of the options that stand in the question."""
    values = chance.sample(range(1, 60), 4)
    style = chance.choice(['({}) {}', '{}. {}', '{}、{}', r'\textbf{{({})}} {}'])
    options = [style.format(letter, value) for letter, value in zip('ABCD', values, strict=True)]
    listed = chance.choice(['  ', '\n', r' \qquad ']).join(options)
    right, given = chance.randrange(4), chance.randrange(4)
    if chance.random() < 0.4:
        given = right
    letter, value = 'ABCD'[given], str(values[given])
    forms = value, f'{value}.0', f'Option {letter}', f'({letter}) {value}', f'【{letter}】', f'选{letter}'
    reason = _either(right == given, 'the same option', 'another option')
    question = f'How many are there? {listed}'
    return Case('choice', right == given, 'ABCD'[right], chance.choice(forms), reason, question)


# Equations, matrices, logarithms


def equations(chance: Random) -> Case:
    x, y = sympy.symbols('x y')
    a, b, c = chance.randint(1, 9), chance.randint(1, 9), chance.randint(-9, 9)
    k = chance.choice([-3, -2, 2, 3])
    other = [k * a, k * b, k * c]
    if chance.random() < 0.5:
        other[chance.randrange(3)] += 1
    equal = other[0] * b == other[1] * a and other[0] * c == other[2] * a
    answer = f'{sympy.latex(other[0] * x + other[1] * y)}={-other[2]}'
    if equal and chance.random() < 0.4:
        answer = 'y=' + sympy.latex(sympy.Rational(-a, b) * x + sympy.Rational(-c, b))
    reference = sympy.latex(a * x + b * y + c) + '=0'
    return Case('equation', equal, reference, answer, _either(equal, 'a multiple', 'another line'))


def matrices(chance: Random) -> Case:
    rows = [[chance.randint(-9, 9) for _ in range(2)] for _ in range(2)]
    other = rows
    if chance.random() < 0.5:
        transposed = [list(row) for row in zip(*rows, strict=True)]
        other = transposed if chance.random() < 0.5 else [[rows[0][0] + 1, rows[0][1]], rows[1]]
    latex = r'\begin{pmatrix}' + r' \\ '.join(' & '.join(map(str, row)) for row in other) + r'\end{pmatrix}'
    equal = rows == other
    return Case('matrix', equal, str(rows), latex, _either(equal, 'the same entries', 'other entries'))


def logarithms(chance: Random) -> Case:
    a, b, k = chance.randint(2, 9), chance.randint(2, 9), chance.randint(2, 5)
    equal = chance.random() < 0.5
    s = 0 if equal else 1
    e, ratio, log = sympy.E, sympy.Rational, sympy.log
    forms = [
        (rf'\ln {a * b}', rf'\ln {a}+\ln {b + s}', log(ratio(b, b + s))),
        (rf'\log_{{{a}}} {a**k}', str(k + s), sympy.Integer(-s)),
        (rf'e^{{{k}}}\cdot e', f'e^{{{k + 1 + s}}}', e ** (k + 1) - e ** (k + 1 + s)),
        (rf'{a}\ln {b}', rf'\ln {b**a + s}', log(ratio(b**a, b**a + s))),
        (rf'\frac{{{a}\pi}}{{{b}}}', rf'\frac{{{a + s}}}{{{b}}}\pi', ratio(-s, b) * sympy.pi),
    ]
    reference, answer, value = chance.choice(forms)
    assert (sympy.simplify(value) == 0) is equal
    return Case('number', equal, reference, answer, _either(equal, 'rewritten', 'another number'))


FAMILIES: tuple[Family, ...] = (
    equal_numbers, different_numbers, large_integers, roots, expressions, quotients, intervals,
    half_lines, sets, points, named, parts, quantities, choices, equations,
    matrices, logarithms,
)  # fmt: skip


def main() -> None:
    cases: dict[tuple[str, str, str], Case] = {}  # each once
    for case in [*written(), *generated(PER_FAMILY)]:
        cases.setdefault((case.question, case.reference, case.answer), case)
    lines = [json.dumps(case._asdict(), ensure_ascii=False) + '\n' for case in cases.values()]
    (HERE / 'suite.jsonl').write_text(''.join(lines), encoding='utf-8')


if __name__ == '__main__':
    main()
