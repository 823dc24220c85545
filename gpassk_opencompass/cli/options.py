"""What options take: numbers, paths, and several values."""

from __future__ import annotations

from argparse import Action, ArgumentError, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

Number = TypeVar('Number', int, float)
Request = TypeVar('Request')

WITH_LIMITED = 'also trials on some of the questions (--limit), which are left out else'


def positive(text: str) -> int:
    """Read a whole number of at least 1, in plain digits.

    >>> positive('12')
    12
    """
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ArgumentTypeError(f'{text!r}: expected an integer of at least 1')
    return int(text)


def points(text: str) -> float:
    """Read a number of points, which may have the sign of percent behind it.

    >>> points('2'), points('0.5 %')
    (2.0, 0.5)
    """
    try:
        return float(text.removesuffix('%'))
    except ValueError:
        raise ArgumentTypeError(f'{text!r}: expected points, such as 2') from None


def path(text: str) -> Path:
    """Read a file or folder; `~` is the home directory, also in `--output=~/report`, where shells leave it.

    >>> path('outputs/') == path('outputs')
    True
    """
    if not text:  # as it were the folder that one is in
        raise ArgumentTypeError("'': expected a path; is a variable empty?")
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise ArgumentTypeError(f'{text!r}: {error} Write the whole path') from error


def leaderboard(text: str) -> Path:
    """Read a path, or the name of a leaderboard that comes with this package: 'published'.

    A file or folder of that name is './published'.
    """
    from ..report.published import SHIPPED

    return SHIPPED.get(text) or path(text)


def listed(kind: Callable[[str], Number]) -> Callable[[str], Number]:
    """Return a reader of one of several numbers of an option, which have blanks between them.

    >>> listed(int)('4,8')
    Traceback (most recent call last):
    argparse.ArgumentTypeError: '4,8' is no whole number; several have blanks between them: 4 8
    """

    what = 'whole number' if kind is int else 'number'

    def read(text: str) -> Number:
        try:
            return kind(text)
        except ValueError as error:
            hint = f'; several have blanks between them: {text.replace(",", " ")}' if ',' in text else ''
            raise ArgumentTypeError(f'{text!r} is no {what}{hint}') from error

    return read


class Several(Action):
    """One value or more: of `--k 2 --k 4` both count, as of `--k 2 4`; the default where none is given.

    Args:
        type: reads a value.
        spill: the argument that gets what is no value, but a file or folder: `--k 2 4 samples.jsonl`.
    """

    def __init__(
        self,
        option_strings: Sequence[str],
        dest: str,
        type: Callable[[str], Any] = str,
        spill: str = '',
        **settings: Any,
    ) -> None:
        super().__init__(option_strings, dest, nargs='+', **settings)
        self._read, self._spill = type, spill

    def __call__(
        self,
        parser: ArgumentParser,
        namespace: Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Add the values to those before."""
        before = getattr(namespace, self.dest)
        found = [] if before is self.default else list(before)
        setattr(namespace, self.dest, found)
        for text in values or ():
            try:
                found.append(self._read(text))
            except (ArgumentTypeError, ValueError) as error:
                if not (self._spill and Path(text).exists()):
                    raise ArgumentError(self, str(error)) from error
                setattr(namespace, self._spill, [*getattr(namespace, self._spill, ()), text])


def add_several(
    parser: ArgumentParser, name: str, meaning: str, default: Sequence[Any] = (), **settings: Any
) -> None:
    """Add an option that takes several values, see `Several`; none of them, unless `default` has some."""
    parser.add_argument(name, action=Several, default=list(default), help=meaning, **settings)


def requested(kind: Callable[..., Request], arguments: Namespace, **made: Any) -> Request:
    """Return a request, a dataclass: its fields are the arguments of their names.

    Args:
        kind: the dataclass.
        made: fields that are made of arguments.
    """
    names = {field.name for field in fields(kind)}.difference(made)  # type: ignore[arg-type]
    return kind(**{name: getattr(arguments, name) for name in names}, **made)
