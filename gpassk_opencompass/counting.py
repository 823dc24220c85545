"""How far long work is, told to whoever listens: nobody does unless a command shows it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

Item = TypeVar('Item')


class Listener(Protocol):
    """Is told of stages of work, one after the other."""

    def begin(self, what: str, total: int) -> None:
        """Take note of a stage with so many steps."""

    def step(self) -> None:
        """Take note that one more step of the stage is done."""

    def end(self) -> None:
        """Take note that the stage is over."""


_listener: ContextVar[Listener | None] = ContextVar('listener', default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have a listener told what is done meanwhile."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


@contextmanager
def stage(what: str, total: int) -> Iterator[None]:
    """Tell that a stage begins and, however it does, ends; `step` tells of its steps."""
    listener = _listener.get()
    if listener is None:
        yield
        return
    listener.begin(what, total)
    try:
        yield
    finally:
        listener.end()


def step() -> None:
    """Tell that one more step of the stage is done."""
    if (listener := _listener.get()) is not None:
        listener.step()


def counted(what: str, items: Collection[Item]) -> Iterator[Item]:
    """Yield items, and tell of each that it is done when the next one is asked for.

    >>> list(counted('reading', 'ab'))
    ['a', 'b']
    """
    with stage(what, len(items)):
        for item in items:
            yield item
            step()
