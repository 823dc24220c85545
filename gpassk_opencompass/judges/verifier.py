"""math-verify asked about one pair: what runs inside a worker process, and nowhere else.

It may hang, exhaust memory or crash on some answers, so nothing here belongs in the process that judges.
Works with math-verify 0.5.2 and later; what the older one gets wrong of two numbers or equations that it
could read is decided here, by both alike.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Any

from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify
from sympy import Basic, Eq, Expr, Float, N, cancel, nan, zoo

from .mending import Reading, readings
from .relations import as_interval

# Digits after the point in which two numbers must agree. A reference with a decimal point is a rounded value
# itself, and math-verify's 6 digits are right; an exact one is not met by 0.3333333.
_ROUNDED, _EXACT = 6, 10
_DECIMAL = re.compile(r'[0-9][.,][0-9]')
_PERCENT = re.compile(r'\$?([-+]?[0-9]+)\s*(\\?%|)\$?\.?')
_TINY, _SAME = 1e-6, 1e-9

_FORMULA = (LatexExtractionConfig(),)
_TEXT = (LatexExtractionConfig(), ExprExtractionConfig())
_DIGITS = 'float_rounding' if 'float_rounding' in inspect.signature(verify).parameters else 'precision'
_NO_TIMEOUT = 0  # the worker has its own; math-verify's alarm would not fire inside C code


def equivalent(pair: Sequence[str]) -> bool:
    """Whether `pair`, a reference and an answer in this order, mean the same.

    >>> equivalent(['1/3', '0.333...']), equivalent(['1/3', '0.333333'])
    (True, False)
    """
    logging.disable(logging.WARNING)  # math-verify warns of every time-out that is switched off
    reference, answer = pair
    if _same_percent(reference, answer):
        return True
    digits = _ROUNDED if _DECIMAL.search(reference) else _EXACT
    answers = _parsed(readings(as_interval(answer, reference)))
    return any(
        _same(expected, given, digits) for expected, given in product(_parsed_reference(reference), answers)
    )


@lru_cache(maxsize=1024)  # every sample of a question is compared with one reference
def _parsed_reference(reference: str) -> list[Any]:
    return _parsed(readings(reference))


def _parsed(texts: Sequence[Reading]) -> list[Any]:
    found: list[Any] = []
    for text, formula in texts:
        found += parse(text, _FORMULA if formula else _TEXT, parsing_timeout=_NO_TIMEOUT)
    return found


def _same_percent(reference: str, answer: str) -> bool:
    """28 % and 28: the sign is often left to the question."""
    expected, given = _PERCENT.fullmatch(reference.strip()), _PERCENT.fullmatch(answer.strip())
    return bool(expected and given) and int(expected[1]) == int(given[1])  # type: ignore[index]


def _same(expected: Any, given: Any, digits: int) -> bool:
    if any(isinstance(value, Basic) and value in (zoo, nan) for value in (expected, given)):
        return False  # 12:00 and 1:00 are both 1/0
    if _equates_no_numbers(expected) and _equates_no_numbers(given):
        return all(_same(getattr(expected, side), getattr(given, side), digits) for side in ('lhs', 'rhs'))
    # The order matters: math-verify treats its first argument as the reference.
    if verify([expected], [given], timeout_seconds=_NO_TIMEOUT, **{_DIGITS: digits}):
        return not _tiny_and_different(expected, given)
    return _rounds_to(expected, given, digits) or _same_equation(expected, given)


def _equates_no_numbers(value: Any) -> bool:
    """(x, y) = (1, 2) or S = {1, 2}: equations are compared by lhs - rhs, and these have none."""
    return isinstance(value, Eq) and not all(isinstance(side, Expr) for side in value.args)


def _rounds_to(expected: Any, given: Any, digits: int) -> bool:
    """Whether one is a decimal of the other, a number like π/2."""
    if not all(isinstance(value, Expr) and value.is_number for value in (expected, given)):
        return False
    if isinstance(expected, Float) == isinstance(given, Float):
        return False
    try:
        return bool(expected.doit().round(digits) == given.doit().round(digits))
    except (TypeError, ValueError, AttributeError):  # not real, or not finite
        return False


def _same_equation(expected: Any, given: Any) -> bool:
    """Whether both are polynomial equations and one is a multiple of the other."""
    sides = [side for value in (expected, given) if isinstance(value, Eq) for side in value.args]
    if len(sides) < 4 or not all(isinstance(side, Expr) for side in sides):
        return False
    ours, theirs = ((value.lhs - value.rhs).doit() for value in (expected, given))
    if not (ours.is_polynomial() and theirs.is_polynomial() and ours.free_symbols == theirs.free_symbols):
        return False
    ratio = cancel(ours / theirs)
    return bool(ratio.is_number and ratio.is_finite and ratio != 0)


def _tiny_and_different(expected: Any, given: Any) -> bool:
    """Whether both are numbers near 0, where so many equal digits say nothing: 1/2^100 is not 1/3^100."""
    if not all(isinstance(value, Expr) and value.is_number for value in (expected, given)):
        return False
    try:
        if max(abs(_value(expected)), abs(_value(given))) > _TINY:
            return False
        if _value(expected) == 0 or _value(given) == 0:
            return not (expected.doit() - given.doit()).is_zero
        return abs(_value(given / expected) - 1) > _SAME
    except (TypeError, ValueError, OverflowError):  # not a finite number
        return False


def _value(number: Any) -> complex:
    return complex(N(number.doit()))
