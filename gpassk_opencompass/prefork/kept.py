"""What is loaded, kept from one task to the next of a model process; elsewhere it is made anew each time."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar, cast

Thing = TypeVar('Thing')


class _Kept(NamedTuple):
    key: tuple[str, ...]
    thing: Any
    close: Callable[[Any], None] | None


_things: dict[str, _Kept] = {}
_keeping = False
_made = 0


def kept(
    key: tuple[str, ...], make: Callable[[], Thing], close: Callable[[Thing], None] | None = None
) -> Thing:
    """Return what was made under a key in this process, or make it.

    In a model process of `prefork` it stays for the tasks that follow, until the process ends; of each kind
    there is one at a time, since two may not fit the memory. In any other process nothing is kept: every
    call makes it anew.

    Args:
        key: the kind of thing first, such as 'vllm', then all that it depends on.
        make: loads it; what it raises is raised, and nothing is kept.
        close: ends it: before another one of its kind is made, and at the end of the process in any case,
            unless it is killed. What runs outside of this process must be in its process group.

    >>> kept(('list', 'a'), lambda: [1]) is kept(('list', 'a'), lambda: [1])  # here nothing is kept
    False
    """
    global _made  # noqa: PLW0603
    kind = key[0]
    if not _keeping:
        thing = make()
        if close is not None:
            atexit.register(close, thing)
        return thing
    there = _things.get(kind)
    if there is not None and there.key == key:
        return cast(Thing, there.thing)
    there = None
    _close(kind)
    thing = make()
    _made += 1
    _things[kind] = _Kept(key, thing, close)
    return thing


def keep() -> None:
    """Keep things from now on, in this process; they are closed at its end."""
    global _keeping  # noqa: PLW0603
    _keeping = True
    atexit.register(forget)


def keeps() -> bool:
    """Return whether things are kept in this process."""
    return _keeping


def made() -> int:
    """Return how many things this process has made to be kept."""
    return _made


def forget() -> None:
    """Close all that is kept, the latest one first."""
    for kind in reversed(list(_things)):
        with suppress(Exception):  # the others are to be closed, too
            _close(kind)


def _close(kind: str) -> None:
    there = _things.pop(kind, None)
    if there is not None and there.close is not None:
        there.close(there.thing)
