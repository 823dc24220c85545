"""Powers too large to be computed, found in a text before anything computes them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

MOST_BITS = 2.0**30
"""Binary digits of a number that is worth a try: nobody waits until math-verify has one of this size."""

_TOWER = re.compile(r'(?<![\w.])(?P<powers>[0-9]+(?:\s*(?:\^|\*\*)\s*[{(]?\s*[0-9]+)+)(?P<end>[\s)}]*)')
_DIGITS = re.compile('[0-9]+')
_OPENING, _CLOSING = re.compile('[({]'), re.compile('[)}]')


def too_large(text: str) -> bool:
    """Return whether a power of whole numbers in `text` has more than `MOST_BITS` binary digits.

    Only what stands there in figures is seen, and nothing is computed that could take long.

    >>> too_large('2^{2^{2024}} - 1'), too_large('2^{2024} - 1'), too_large('2^{10^{9}-10^{9}}')
    (True, False, False)
    """
    return any(
        _is_whole(found) and _bits([int(digits) for digits in _DIGITS.findall(found['powers'])]) > MOST_BITS
        for found in _TOWER.finditer(text)
    )


def _is_whole(found: re.Match[str]) -> bool:
    """Return whether all brackets are closed, so that nothing else stands in an exponent."""
    return len(_OPENING.findall(found['powers'])) <= len(_CLOSING.findall(found['end']))


def _bits(tower: Sequence[int]) -> float:
    """Return the binary logarithm of a^b^c…; infinity where b^c… is beyond 2^1000."""
    base, *exponents = tower
    height: float = 1.0
    for exponent in reversed(exponents):
        bits = math.log2(max(exponent, 1)) * height
        height = 2.0**bits if bits < 1000 else math.inf
    return math.log2(base) * height if base > 1 else 0.0
