"""math-verify asked about one pair: what runs inside a worker process, and nowhere else.

It may hang, exhaust memory or crash on some answers, so nothing here belongs in the process that judges.
Works with math-verify 0.5.2 and later.
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
from sympy import Expr, N

from .mending import Reading, readings
from .relations import as_interval

# Digits after the point in which two numbers must agree. A reference with a decimal point is a rounded value
# itself, and math-verify's 6 digits are right; an exact one is not met by 0.3333333.
_ROUNDED, _EXACT = 6, 10
_DECIMAL = re.compile(r'[0-9][.,][0-9]')
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


def _same(expected: Any, given: Any, digits: int) -> bool:
    # The order matters: math-verify treats its first argument as the reference.
    same = verify([expected], [given], timeout_seconds=_NO_TIMEOUT, **{_DIGITS: digits})
    return bool(same) and not _tiny_and_different(expected, given)


def _tiny_and_different(expected: Any, given: Any) -> bool:
    """Whether both are numbers near 0, where so many equal digits say nothing: 1/2^100 is not 1/3^100."""
    if not all(isinstance(value, Expr) and value.is_number for value in (expected, given)):
        return False
    try:
        if max(abs(_value(expected)), abs(_value(given))) > _TINY:
            return False
        if _value(expected) == 0 or _value(given) == 0:
            return bool(expected.doit() != given.doit())
        return abs(_value(given / expected) - 1) > _SAME
    except (TypeError, ValueError, OverflowError):  # not a finite number
        return False


def _value(number: Any) -> complex:
    return complex(N(number.doit()))
