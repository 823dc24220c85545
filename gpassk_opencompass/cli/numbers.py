"""Numbers that options take."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import TypeVar

Number = TypeVar('Number', int, float)


def positive(text: str) -> int:
    """A whole number of at least 1, in plain digits.

    >>> positive('12')
    12
    """
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ArgumentTypeError(f'{text!r}: expected an integer of at least 1')
    return int(text)


def listed(kind: Callable[[str], Number]) -> Callable[[str], Number]:
    """Reads one of several numbers of an option, which stand with blanks between them.

    >>> listed(int)('4,8')
    Traceback (most recent call last):
    argparse.ArgumentTypeError: '4,8' is no number; several have blanks between them: 4 8
    """

    def read(text: str) -> Number:
        try:
            return kind(text)
        except ValueError as error:
            hint = f'; several have blanks between them: {text.replace(",", " ")}' if ',' in text else ''
            raise ArgumentTypeError(f'{text!r} is no number{hint}') from error

    return read
