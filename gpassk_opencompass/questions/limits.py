"""Which questions a run has that is limited to some of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import chain, zip_longest

from ..errors import InputError


def limited(groups: Sequence[Hashable], limit: int) -> list[int]:
    """Return the places of the first questions of each group, as many of one group as of another.

    The groups are gone through in turn, in the order in which they first appear, and one question is taken of
    each, until there are enough; a group that has no more is passed over. So 10 questions of LiveMathBench
    are of all contests and both languages, and, as its files are parallel, a problem comes in both languages
    but for the last one of an odd number.

    Args:
        groups: of each question, in the order of the data: contest and language.
        limit: how many questions; all, where there are not more.

    Returns:
        Places in the order of the data.

    Raises:
        InputError: the limit is no whole number of at least 1.

    >>> limited(['a', 'a', 'a', 'b', 'b', 'c'], 4)
    [0, 1, 3, 5]
    """
    check_limit(limit)
    places: dict[Hashable, list[int]] = {}
    for place, group in enumerate(groups):
        places.setdefault(group, []).append(place)
    turns: Iterable[tuple[int | None, ...]] = zip_longest(*places.values())
    order = [place for place in chain.from_iterable(turns) if place is not None]
    return sorted(order[:limit])


def check_limit(limit: object) -> None:
    """Raise InputError for a limit that is no whole number of at least 1."""
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise InputError(f'limit = {limit!r}: expected a whole number of questions, 1 or more')
