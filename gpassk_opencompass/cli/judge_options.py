"""`--judge` and the options that go with it, for all subcommands that judge."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import parse_json
from ..judges.build import JUDGES, llm_or_cascade, with_verdicts
from .options import Several


def add_judge_options(parser: ArgumentParser, judge: str, verdicts: str) -> None:
    """Add `--judge` with the help `judge`, `--model`, `--url`, and `--verdicts` with the help `verdicts`."""
    add = parser.add_argument
    add('--judge', help=judge)
    add('--model', help='of --judge llm or cascade: the name its servers know it by')
    servers = 'of --judge llm or cascade: its servers'
    add('--url', action=Several, type=_address, default=[], help=servers)
    add('--verdicts', metavar='FOLDER', help=f'of --judge llm or cascade: {verdicts}')


def chosen_judge(arguments: Namespace, default_verdicts: str) -> dict[str, Any]:
    """Return the judge that `--judge`, `--model`, `--url` and `--verdicts` mean, as `build_judge` takes it.

    Args:
        default_verdicts: keeps an LLM's verdicts where neither `--verdicts` nor the judge's JSON says where.

    Raises:
        InputError: half a judge, or JSON that is none.
    """
    kind = arguments.judge or 'rule'
    given = {'--model': arguments.model, '--url': arguments.url, '--verdicts': arguments.verdicts}
    if kind in {'llm', 'cascade'}:
        if not (arguments.model and arguments.url):
            absent = ' and '.join(name for name in ('--model', '--url') if not given[name])
            raise InputError(
                f'--judge {kind} needs --model NAME and --url http://host:port; give {absent} too'
            )
        config = llm_or_cascade(kind, {'model': arguments.model, 'urls': arguments.url})
    elif useless := [name for name, value in given.items() if value]:
        told = kind if kind in JUDGES else 'with a config of its own'  # which may hold a password
        raise InputError(f'--judge {told} takes no {", ".join(useless)}; use --judge llm or cascade')
    else:
        config = {'type': kind} if kind in JUDGES else _from_json(kind)
    return with_verdicts(config, arguments.verdicts or default_verdicts)


def _address(text: str) -> str:
    if '://' not in text and Path(text).exists():
        raise ArgumentTypeError(f'{text!r} is a file; expected an address such as http://node1:23333')
    return text


def _from_json(text: str) -> dict[str, Any]:
    """Read a judge's config from JSON or a file with it, or take the text for the dotted path of a class."""
    path = Path(text)
    if not text.lstrip().startswith('{') and path.suffix != '.json':
        if '.' not in text:
            raise InputError(f'--judge {text}: expected {", ".join(JUDGES)}, a dotted path, a file or JSON')
        return {'type': text}
    try:
        config = parse_json(path.read_text(encoding='utf-8') if path.suffix == '.json' else text)
    except (OSError, ValueError) as error:
        raise InputError(f'--judge {text}: cannot be read as JSON: {error}') from error
    if not isinstance(config, dict):
        raise InputError(f'--judge {text}: expected an object like {{"type": "rule"}}, got {config!r}')
    return config
