"""Expressions in an exact form, in which equal ones are (nearly always) the same.

An expression becomes a quotient of two polynomials with rational coefficients. What a polynomial is made
of, its *generators*, are symbols, π, e, i, primes to a broken power (√12 = 2·3^(1/2)), powers with a symbol
in the exponent, and functions of exact forms. Two quotients are equal if their cross products are; that
proves equality. Where it fails, the expressions may still be equal by a law that is not known here
(√(2-√3), sin² + cos²).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from functools import lru_cache, reduce
from math import comb, factorial, prod

from .expressions import Expression, Number, Power, Product, Sum, Symbol

Generator = Hashable
Monomial = frozenset[tuple[Generator, Fraction]]
Polynomial = dict[Monomial, Fraction]
Form = tuple[Polynomial, Polynomial]
"""Numerator and denominator."""

_CONSTANT: Monomial = frozenset()
_ONE: Polynomial = {_CONSTANT: Fraction(1)}
_MOST_TERMS = 100
_MOST_PRODUCTS = 1600  # of terms, in one multiplication
_LARGEST_EXPONENT = 24  # of a sum; a longer one stays a power
_MOST_BITS = 220_000  # of a number
_LARGEST_TRIAL = 10_000  # a prime factor above it is not looked for
_LARGEST_FACTORIAL = 500
_LARGEST_BINOMIAL = 40_000


class TooLarge(ArithmeticError):
    """Raised for what has no exact form of a bearable size, or none at all (1/0)."""


def exact_form(expression: Expression) -> Form:
    """Return the exact form of `expression`.

    Raises:
        TooLarge: it would be too large, or divides by zero.
    """
    if (form := _known_form(expression)) is None:
        raise TooLarge
    return form


@lru_cache(maxsize=2048)  # a reference is compared with many answers, each several times
def _known_form(expression: Expression) -> Form | None:
    try:
        return _form(expression)
    except TooLarge:
        return None


def _form(expression: Expression) -> Form:
    if isinstance(expression, Number):
        return _rational(expression.value), _ONE
    if isinstance(expression, Symbol):
        return _generator((expression.name,)), _ONE
    if isinstance(expression, Sum):
        return reduce(_added, map(_form, expression.terms))
    if isinstance(expression, Product):
        return reduce(_multiplied, map(_form, expression.factors))
    if isinstance(expression, Power):
        return _power(_form(expression.base), _form(expression.exponent))
    return _call(expression.name, [_form(argument) for argument in expression.arguments])


def same_form(one: Form, other: Form) -> bool:
    """Return whether two exact forms are the same quotient."""
    if one == other:
        return True
    return _product(one[0], other[1]) == _product(other[0], one[1])


def rational_value(expression: Expression) -> Fraction | None:
    """Return the value of `expression` if it is a rational number, else None.

    >>> rational_value(Product((Number(Fraction(2)), Power(Number(Fraction(4)), Number(Fraction(-1, 2))))))
    Fraction(1, 1)
    """
    if isinstance(expression, Number):
        return expression.value
    try:
        return _value(exact_form(expression))
    except TooLarge:
        return None


def proportional(one: Form, other: Form) -> bool:
    """Return whether the numerators of two forms are multiples of each other by a number other than 0."""
    ours, theirs = one[0], other[0]
    if not ours or ours.keys() != theirs.keys():
        return False
    ratios = {ours[monomial] / theirs[monomial] for monomial in ours}
    return len(ratios) == 1


def is_zero(form: Form) -> bool:
    """Return whether the form is that of 0."""
    return not form[0]


def _rational(value: Fraction) -> Polynomial:
    return {_CONSTANT: _bearable(value)} if value else {}


def _generator(name: Generator, exponent: Fraction = Fraction(1)) -> Polynomial:
    return {frozenset({(name, exponent)}): Fraction(1)}


def _value(form: Form) -> Fraction | None:
    above, below = form
    if not above:
        return Fraction(0)
    if above.keys() <= {_CONSTANT} and below.keys() <= {_CONSTANT}:
        return above[_CONSTANT] / below[_CONSTANT]
    return None


def _added(one: Form, other: Form) -> Form:
    if one[1] == other[1]:
        return _plus(one[0], other[0]), one[1]
    above = _plus(_product(one[0], other[1]), _product(other[0], one[1]))
    return above, _product(one[1], other[1])


def _multiplied(one: Form, other: Form) -> Form:
    return _product(one[0], other[0]), _product(one[1], other[1])


def _plus(one: Polynomial, other: Polynomial) -> Polynomial:
    total = dict(one)
    for monomial, coefficient in other.items():
        _add(total, monomial, coefficient)
    return total


def _add(total: Polynomial, monomial: Monomial, coefficient: Fraction) -> None:
    """Add a term to `total`, in place."""
    value = total.get(monomial, Fraction(0)) + coefficient
    if value:
        total[monomial] = _bearable(value)
    else:
        total.pop(monomial, None)


def _bearable(value: Fraction) -> Fraction:
    if value.numerator.bit_length() + value.denominator.bit_length() > _MOST_BITS:
        raise TooLarge
    return value


def _product(one: Polynomial, other: Polynomial) -> Polynomial:
    if one == _ONE:
        return other
    if other == _ONE:
        return one
    if len(one) * len(other) > _MOST_PRODUCTS:
        raise TooLarge
    total: Polynomial = {}
    for ours, coefficient in one.items():
        for theirs, factor in other.items():
            _add(total, *_merged(ours, theirs, coefficient * factor))
    if len(total) > _MOST_TERMS:
        raise TooLarge
    return total


def _merged(one: Monomial, other: Monomial, coefficient: Fraction) -> tuple[Monomial, Fraction]:
    """Return the product of two monomials: exponents added, what becomes a number taken out."""
    if not one or not other:
        return one or other, coefficient
    exponents = dict(one)
    for name, exponent in other:
        exponents[name] = exponents.get(name, Fraction(0)) + exponent
    kept: dict[Generator, Fraction] = {}
    for name, total in exponents.items():
        exponent = total
        whole = exponent.numerator // exponent.denominator
        if isinstance(name, int):  # a prime: whole powers belong to the coefficient
            coefficient *= Fraction(name) ** whole
            exponent -= whole
        elif name == ('i',):
            exponent = exponent % 4
            if exponent >= 2:
                coefficient, exponent = -coefficient, exponent - 2
        if exponent:
            kept[name] = exponent
    return frozenset(kept.items()), coefficient


def _power(base: Form, exponent: Form) -> Form:
    value = _value(exponent)
    if value is None:
        return _symbolic_power(base, exponent)
    if value.denominator == 1 and abs(value.numerator) <= _LARGEST_EXPONENT:
        form = base if value >= 0 else _inverse(base)
        return _whole_power(form, abs(value.numerator))
    if not base[0]:
        if value > 0:
            return {}, _ONE
        raise TooLarge
    if len(base[0]) == len(base[1]) == 1:
        above, below = _monomial_power(base[0], value), _monomial_power(base[1], value)
        return _multiplied((above, _ONE), _inverse((below, _ONE)))
    if value.denominator == 1:
        return _generator(('power', _key(base)), value), _ONE
    whole = value.numerator // value.denominator
    root = _generator(('power', _key(base), value - whole)), _ONE
    return _multiplied(_power(base, (_rational(Fraction(whole)), _ONE)), root)


def _inverse(form: Form) -> Form:
    above, below = form
    if not above:
        raise TooLarge
    if len(above) == 1:  # a monomial is inverted in place, so that e^(-x) and 1/e^x are one
        [(monomial, coefficient)] = above.items()
        turned = {frozenset((name, -exponent) for name, exponent in monomial): 1 / coefficient}
        return _product(below, _product(turned, {_CONSTANT: Fraction(1)})), _ONE
    return below, above


def _whole_power(form: Form, exponent: int) -> Form:
    result: Form = (_ONE, _ONE)
    for _ in range(exponent):
        result = _multiplied(result, form)
    return result


def _monomial_power(polynomial: Polynomial, exponent: Fraction) -> Polynomial:
    """Raise a single term to a rational power: √(12x) would be 2·3^(1/2)·x^(1/2)."""
    [(monomial, coefficient)] = polynomial.items()
    if exponent.denominator != 1 and any(_loses_sign(name, power) for name, power in monomial):
        return _generator(('power', _key((polynomial, _ONE)), exponent))
    total = _number_power(coefficient, exponent)
    for name, power in monomial:
        total = _product(total, {frozenset({(name, power * exponent)}): Fraction(1)})
    return total


def _loses_sign(name: Generator, power: Fraction) -> bool:
    """Whether a root of this power is not simply a smaller power: √(x²) is |x|."""
    return not isinstance(name, int) and name not in {('pi',), ('e',)} and power != 1


def _number_power(value: Fraction, exponent: Fraction) -> Polynomial:
    if exponent.denominator == 1:
        bits = max(value.numerator.bit_length(), value.denominator.bit_length())
        if bits * abs(exponent.numerator) > _MOST_BITS:
            raise TooLarge
        return _rational(value**exponent.numerator)
    total: Polynomial = dict(_ONE)
    if value < 0:
        if exponent.denominator == 2:
            turns = frozenset({(('i',), Fraction(exponent.numerator))})
            total = dict([_merged(turns, frozenset({(('i',), Fraction(0))}), Fraction(1))])
        elif exponent.denominator % 2:
            total = {_CONSTANT: Fraction(-1 if exponent.numerator % 2 else 1)}
        else:
            return _generator(('power', value, exponent))
    for prime, times in _factors(value):
        total = _product(total, _prime_power(prime, exponent * times))
    return total


def _prime_power(prime: int, exponent: Fraction) -> Polynomial:
    whole = exponent.numerator // exponent.denominator
    if abs(whole) * prime.bit_length() > _MOST_BITS:
        raise TooLarge
    rest = exponent - whole
    monomial: Monomial = frozenset({(prime, rest)}) if rest else _CONSTANT
    return {monomial: Fraction(prime) ** whole}


def _factors(value: Fraction) -> list[tuple[int, int]]:
    """Return primes and their exponents; a large factor without a small prime counts as a prime."""
    found: dict[int, int] = {}
    for number, sign in ((abs(value.numerator), 1), (value.denominator, -1)):
        prime, rest = 2, number
        while prime * prime <= rest and prime <= _LARGEST_TRIAL:
            while rest % prime == 0:
                found[prime] = found.get(prime, 0) + sign
                rest //= prime
            prime += 1 if prime == 2 else 2
        if rest > 1:
            found[rest] = found.get(rest, 0) + sign
    return list(found.items())


def _symbolic_power(base: Form, exponent: Form) -> Form:
    """Return base^(a·n + b·m + c) as (base^n)^a · (base^m)^b · base^c, a number base by its primes."""
    value = _value(base)
    if exponent[1] != _ONE and len(exponent[1]) > 1:
        return _generator(('power', _key(base), _key(exponent))), _ONE
    [(divisor, share)] = exponent[1].items()
    bases: list[tuple[Generator, int]] = [(_key(base), 1)]
    if value is not None and value > 0:
        bases = [(('number', prime), times) for prime, times in _factors(value)]
    elif base == (_generator(('e',)), _ONE):
        bases = [(('e',), 1)]
    result: Form = (_ONE, _ONE)
    for monomial, coefficient in exponent[0].items():
        factor = coefficient / share
        if not monomial and not divisor:
            result = _multiplied(result, _power(base, (_rational(factor), _ONE)))
            continue
        for name, times in bases:
            result = _multiplied(
                result, (_generator(('raised', name, monomial, divisor), factor * times), _ONE)
            )
    return result


def _call(name: str, arguments: list[Form]) -> Form:
    values = [_value(argument) for argument in arguments]
    known = _KNOWN.get(name)
    if known and all(value is not None for value in values):
        result = known(*values)
        if result is not None:
            return result, _ONE
    if name == 'ln' and arguments[0] == (_generator(('e',)), _ONE):
        return _ONE, _ONE
    return _generator((name, *map(_key, arguments))), _ONE


def _logarithm(value: Fraction) -> Polynomial | None:
    if value <= 0:
        return None
    total: Polynomial = {}
    for prime, times in _factors(value):
        total = _plus(total, {frozenset({(('ln', prime), Fraction(1))}): Fraction(times)})
    return total


def _factorial(value: Fraction) -> Polynomial | None:
    if value.denominator != 1 or not 0 <= value <= _LARGEST_FACTORIAL:
        return None
    return _rational(Fraction(factorial(value.numerator)))


def _double_factorial(value: Fraction) -> Polynomial | None:
    if value.denominator != 1 or not 0 <= value <= _LARGEST_FACTORIAL:
        return None
    return _rational(Fraction(prod(range(value.numerator, 0, -2))))


def _binomial(above: Fraction, below: Fraction) -> Polynomial | None:
    if above.denominator != 1 or below.denominator != 1 or not 0 <= below <= above <= _LARGEST_BINOMIAL:
        return None
    return _rational(Fraction(comb(above.numerator, below.numerator))) if below <= 1000 else None


def _floor(value: Fraction) -> Polynomial | None:
    return _rational(Fraction(value.numerator // value.denominator))


def _ceiling(value: Fraction) -> Polynomial | None:
    return _rational(Fraction(-(-value.numerator // value.denominator)))


def _absolute(value: Fraction) -> Polynomial | None:
    return _rational(abs(value))


_KNOWN: Mapping[str, Callable[..., Polynomial | None]] = {
    'ln': _logarithm,
    'factorial': _factorial,
    'double factorial': _double_factorial,
    'binom': _binomial,
    'floor': _floor,
    'ceiling': _ceiling,
    'abs': _absolute,
}


def _key(form: Form) -> Generator:
    """Return a key to look a form up by, which forms that differ by a common number share."""
    above, below = form
    if not above:
        return 'zero'
    scale = next(iter(below.values())) if len(below) == 1 else Fraction(1)
    return (
        frozenset((monomial, coefficient / scale) for monomial, coefficient in above.items()),
        frozenset((monomial, coefficient / scale) for monomial, coefficient in below.items()),
    )
