"""What options take: numbers, paths, and several values."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ..errors import InputError
from ..files import parse_json

Number = TypeVar('Number', int, float)


def positive(text: str) -> int:
    """Read a whole number of at least 1, in plain digits."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ArgumentTypeError(f'{text!r}: expected an integer of at least 1')
    return int(text)


def points(text: str) -> float:
    """Read a number of points, which may have the sign of percent behind it."""
    try:
        return float(text.removesuffix('%'))
    except ValueError:
        raise ArgumentTypeError(f'{text!r}: expected points, such as 2') from None


def path(text: str) -> Path:
    """Read a file or folder; `~` is the home directory, also in `--output=~/report`, left by shells."""
    if not text:  # as it were the folder that one is in
        raise ArgumentTypeError("'': expected a path; is a variable empty?")
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise ArgumentTypeError(f'{text!r}: {error} Write the whole path') from error


def listed(kind: Callable[[str], Number]) -> Callable[[str], Number]:
    """Return a reader of one of several numbers of an option, which have blanks between them."""
    what = 'whole number' if kind is int else 'number'

    def read(text: str) -> Number:
        try:
            return kind(text)
        except ValueError as error:
            hint = f'; several have blanks between them: {text.replace(",", " ")}' if ',' in text else ''
            raise ArgumentTypeError(f'{text!r} is no {what}{hint}') from error

    return read


def add_several(parser: ArgumentParser, name: str, meaning: str, **settings: Any) -> None:
    """Add an option that takes one value or more: of `--k 2 --k 4` both count, as of `--k 2 4`."""
    parser.add_argument(name, action='extend', nargs='+', default=[], help=meaning, **settings)


def examples(*lines: str) -> str:
    """Return what stands below the options of a command."""
    return '\n'.join(['examples:', *(f'  {line}' for line in lines)])


def add_json(parser: ArgumentParser) -> None:
    """Add --json, which the frame takes."""
    parser.add_argument('--json', action='store_true', help='print the tables as JSON, with all digits')


def add_work_dir(parser: ArgumentParser, meaning: str, default: str | None = 'outputs') -> None:
    """Add -w, --work-dir, as `opencompass` spells it."""
    where = f'{meaning} (default: {default})' if default else meaning
    parser.add_argument(
        '-w', '--work-dir', type=path, default=default and Path(default), metavar='FOLDER', help=where
    )


# Options of a judge, for all commands that judge


def add_judge_options(parser: ArgumentParser, judge: str, *, verdicts: bool = True) -> None:
    """Add `--judge` with this help, `--model`, `--url` and, if wanted, `--verdicts`."""
    add = parser.add_argument
    add('--judge', metavar='JUDGE', help=judge)
    add('--model', metavar='NAME', help='of llm or cascade: its name on the servers')
    add_several(parser, '--url', 'of llm or cascade: its servers', type=_address, metavar='URL')
    if verdicts:
        add('--verdicts', metavar='FOLDER', help='of llm or cascade: keeps the verdicts')


def chosen_judge(
    judge: str | None, model: str | None, url: Sequence[str], verdicts: str | None, default_verdicts: str
) -> dict[str, Any]:
    """Return the judge that `--judge`, `--model`, `--url` and `--verdicts` mean, as `build_judge` takes it.

    `default_verdicts` keeps an LLM's verdicts where neither `--verdicts` nor the judge's JSON says where.
    InputError for half a judge, or JSON that is none; no password of an address is shown.
    """
    from ..judges import JUDGES, with_verdicts
    from ..keys import without_user

    kind, given = judge or 'rule', {'--model': model, '--url': url, '--verdicts': verdicts}
    shown = without_user(kind)
    if kind in {'llm', 'cascade'}:
        if not (model and url):
            absent = ' and '.join(name for name in ('--model', '--url') if not given[name])
            raise InputError(
                f'--judge {kind} needs --model NAME and --url http://host:port; give {absent} too'
            )
        config: dict[str, Any] = {'type': 'llm', 'model': model, 'urls': [*url]}
        if kind == 'cascade':
            config = {'type': 'cascade', 'first': {'type': 'rule'}, 'second': config}
        return with_verdicts(config, verdicts or default_verdicts)
    if useless := [name for name, value in given.items() if value]:
        told = kind if kind in JUDGES else 'with a config of its own'
        raise InputError(f'--judge {told} takes no {", ".join(useless)}; use --judge llm or cascade')
    if kind in JUDGES:
        return {'type': kind}
    file = Path(kind)
    if not kind.lstrip().startswith('{') and file.suffix != '.json':
        if '.' not in kind:
            raise InputError(f'--judge {shown}: expected {", ".join(JUDGES)}, a dotted path, a file or JSON')
        return {'type': kind}
    try:
        config = parse_json(file.read_text(encoding='utf-8') if file.suffix == '.json' else kind)
    except (OSError, ValueError) as error:
        raise InputError(f'--judge {shown}: cannot be read as JSON: {error}') from None
    if not isinstance(config, dict):
        raise InputError(f'--judge {shown}: expected an object like {{"type": "rule"}}')
    return with_verdicts(config, default_verdicts)


def _address(text: str) -> str:
    if '://' not in text and Path(text).exists():
        raise ArgumentTypeError(f'{text!r} is a file; expected an address such as http://node1:23333')
    return text
