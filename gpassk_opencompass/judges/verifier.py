"""math-verify asked about expressions that were read already: what runs in a worker process.

It may hang, exhaust memory or crash, so nothing here belongs in the process that judges. It gets expressions
as trees, never text: what it is asked about is what was read. Works with math-verify 0.5.2 and later.
"""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy
from math_verify import verify

_DIGITS = 40
_MOST_DIGITS = 100  # that are computed where digits cancel
_SAME = sympy.Float(10, _DIGITS) ** -60
_POINTS = 3
_NO_TIMEOUT = 0  # the worker has its own; math-verify's alarm would not fire inside C code


def equivalent(pair: Sequence[str]) -> bool:
    """Return whether each expression of the first text equals its counterpart in the second.

    Args:
        pair: two JSON lists of as many trees (`answers.expressions.as_tree`), reference first. With `[]` as
            the second one, each expression of the first is compared with 0 by math-verify alone: a trial of
            whether it can be worked on at all.

    They are equal if they agree in 60 digits at random points, case kept, and math-verify accepts them.

    >>> root = '[["Power", ["Number", "4"], ["Number", "1/2"]]]'
    >>> equivalent((root, '[["Number", "2"]]')), equivalent((root, '[["Number", "3"]]'))
    (True, False)
    """
    logging.disable(logging.WARNING)  # math-verify warns of every time-out that is switched off
    reference, answer = (json.loads(trees) for trees in pair)
    if not answer:
        return all([_accepted(_expression(ours), sympy.Integer(0)) for ours in reference])
    return all(
        _same(_expression(ours), _expression(theirs)) for ours, theirs in zip(reference, answer, strict=True)
    )


def _same(ours: Any, theirs: Any) -> bool:
    if not _agree(ours, theirs):
        return False
    if not (ours.free_symbols or theirs.free_symbols):
        return True  # two numbers with 60 digits in common; math-verify would compare fewer
    return _accepted(ours, theirs)


def _accepted(ours: Any, theirs: Any) -> bool:
    return bool(verify([ours], [theirs], timeout_seconds=_NO_TIMEOUT))


def _agree(ours: Any, theirs: Any) -> bool:
    names = sorted(ours.free_symbols | theirs.free_symbols, key=str)
    chance = random.Random('points')
    for _ in range(_POINTS if names else 1):
        point = {name: sympy.Rational(chance.randint(1001, 2999), 1000) for name in names}
        values = [expression.subs(point).evalf(_DIGITS) for expression in (ours, theirs)]
        if not all(value.is_number and value.is_finite for value in values):
            return False
        # Not the difference of the values: e^100 + 1 and e^100 have 40 digits in common.
        apart = abs((ours - theirs).subs(point).evalf(_DIGITS, maxn=_MOST_DIGITS))
        if not (apart.is_finite and apart <= _SAME * max(1, abs(values[0]))):
            return False
    return True


def _expression(tree: Sequence[Any]) -> Any:
    kind, *parts = tree
    if kind == 'Number':
        return sympy.Rational(parts[0])
    if kind == 'Symbol':
        return _CONSTANTS[parts[0]] if parts[0] in _CONSTANTS else sympy.Symbol(parts[0], positive=True)
    if kind == 'Call':
        name, *arguments = parts
        function = _FUNCTIONS.get(name) or sympy.Function(name)
        return function(*map(_expression, arguments))
    return _OPERATIONS[kind](*map(_expression, parts))


_OPERATIONS: Mapping[str, Callable[..., Any]] = {'Sum': sympy.Add, 'Product': sympy.Mul, 'Power': sympy.Pow}
_CONSTANTS: Mapping[str, Any] = {'pi': sympy.pi, 'e': sympy.E, 'i': sympy.I, 'oo': sympy.oo}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    'ln': sympy.log, 'abs': sympy.Abs, 'binom': sympy.binomial, 'factorial': sympy.factorial,
    'max': sympy.Max,
    'min': sympy.Min, 'floor': sympy.floor, 'ceiling': sympy.ceiling, 'gcd': sympy.gcd, 'lcm': sympy.lcm,
    'arcsin': sympy.asin, 'arccos': sympy.acos, 'arctan': sympy.atan,
    **{name: getattr(sympy, name) for name in ('sin', 'cos', 'tan', 'cot', 'sec', 'csc', 'sinh', 'cosh',
    'tanh')},
}  # fmt: skip
