"""What options take: numbers, paths, and several values."""

from __future__ import annotations

from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace
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
    """One value or more: of `--k 2 --k 4` both count, as of `--k 2 4`; the default where none is given."""

    def __init__(
        self,
        option_strings: Sequence[str],
        dest: str,
        type: Callable[[str], Any] = str,
        **settings: Any,
    ) -> None:
        super().__init__(option_strings, dest, nargs='+', type=type, **settings)

    def __call__(
        self,
        parser: ArgumentParser,
        namespace: Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Add the values to those before."""
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, [*([] if before is self.default else before), *(values or ())])

    def is_file(self, text: str) -> bool:
        """Whether a text is no value, but a file or folder."""
        try:
            self.type(text)  # type: ignore[operator,misc]
        except (ArgumentTypeError, ValueError):
            return Path(text).exists()
        return False


def add_several(
    parser: ArgumentParser, name: str, meaning: str, default: Sequence[Any] = (), **settings: Any
) -> None:
    """Add an option that takes several values, see `Several`; none of them, unless `default` has some.

    A file behind them goes to the command's paths, where `type` refuses its name: `--k 2 4 samples.jsonl`.
    """
    parser.add_argument(name, action=Several, default=list(default), help=meaning, **settings)


def examples(*lines: str) -> str:
    """Return what stands below the options of a command."""
    return '\n'.join(['examples:', *(f'  {line}' for line in lines)])


def add_dry_run(parser: ArgumentParser) -> None:
    """Add --dry-run."""
    parser.add_argument('--dry-run', action='store_true', help='say what would be done, and do nothing')


def add_json(parser: ArgumentParser) -> None:
    """Add --json, which the frame takes."""
    parser.add_argument('--json', action='store_true', help='print the tables as JSON, with all digits')


def add_work_dir(parser: ArgumentParser, meaning: str, default: str | None = 'outputs') -> None:
    """Add -w, --work-dir, as `opencompass` spells it."""
    where = f'{meaning} (default: {default})' if default else meaning
    parser.add_argument(
        '-w', '--work-dir', type=path, default=default and Path(default), metavar='FOLDER', help=where
    )


def requested(kind: Callable[..., Request], arguments: Namespace, **made: Any) -> Request:
    """Return a request, a dataclass: its fields are the arguments of their names.

    Args:
        kind: the dataclass.
        made: fields that are made of arguments.
    """
    names = {field.name for field in fields(kind)}.difference(made)  # type: ignore[arg-type]
    return kind(**{name: getattr(arguments, name) for name in names}, **made)
