"""Numbers that options take."""

from __future__ import annotations

from argparse import ArgumentTypeError


def positive(text: str) -> int:
    """A whole number of at least 1, in plain digits.

    >>> positive('12')
    12
    """
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ArgumentTypeError(f'{text!r}: expected an integer of at least 1')
    return int(text)
