"""What the comparison of two values came to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .expressions import Expression


class Comparison(NamedTuple):
    """Equal, different, or equal as far as numbers can tell."""

    equal: bool | None
    """None: the expressions in `open` agree at many points, which is no proof; all else is equal."""
    rules: frozenset[str] = frozenset()
    """The lenient rules that were needed (see `rules.RULES`)."""
    open: tuple[tuple[Expression, Expression], ...] = ()
    """Pairs of expressions, a proof of each of which would make the values equal."""


YES, NO = Comparison(True), Comparison(False)


def by_rule(rule: str, comparison: Comparison = YES) -> Comparison:
    """Return `comparison` with `rule` among those that it needed; a difference stays one."""
    return NO if comparison.equal is False else comparison._replace(rules=comparison.rules | {rule})


def all_of(comparisons: Iterable[Comparison]) -> Comparison:
    """Return what holds if all of `comparisons` do. Stops at the first difference."""
    rules: frozenset[str] = frozenset()
    opened: tuple[tuple[Expression, Expression], ...] = ()
    for comparison in comparisons:
        if comparison.equal is False:
            return NO
        rules |= comparison.rules
        opened += comparison.open
    return Comparison(None if opened else True, rules, opened)


def best_of(comparisons: Iterable[Comparison]) -> Comparison:
    """Return the first that is equal, else the first that may be, else NO."""
    open_one = NO
    for comparison in comparisons:
        if comparison.equal:
            return comparison
        if comparison.equal is None and open_one.equal is False:
            open_one = comparison
    return open_one
