"""`--judge` and what goes with it, for all subcommands that judge."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from ..errors import InputError

_KINDS = ('rule', 'llm', 'cascade')


def add_judge_options(parser: ArgumentParser, judge: str, store: str) -> None:
    """`--judge`, `--model`, `--url` and `--store`, with the help of the first and of the last."""
    add = parser.add_argument
    add('--judge', help=judge)
    add('--model', help='of --judge llm or cascade: the name its servers know it by')
    add('--url', nargs='+', help='of --judge llm or cascade: its servers')
    add('--store', metavar='FOLDER', help=f'of --judge llm or cascade: {store}')


def chosen_judge(arguments: Namespace) -> dict[str, Any]:
    """The judge that `--judge`, `--model`, `--url` and `--store` mean, as `build_judge` takes it.

    Raises:
        InputError: half a judge, or JSON that is none.
    """
    kind = arguments.judge or 'rule'
    given = {'model': arguments.model, 'urls': arguments.url, 'store': arguments.store}
    if kind not in {'llm', 'cascade'}:
        if useless := [name for name, value in given.items() if value]:
            raise InputError(f'--judge {kind} takes no {", ".join(useless)}; use --judge llm or cascade')
        return {'type': kind} if kind == 'rule' else _from_json(kind)
    if not (arguments.model and arguments.url):
        raise InputError(f'--judge {kind} needs --model NAME and --url http://host:port, got {given}')
    given['store'] = given['store'] or f'{Path(arguments.pairs).stem}.verdicts'
    llm = {'type': 'llm', **given}
    return llm if kind == 'llm' else {'type': 'cascade', 'first': {'type': 'rule'}, 'second': llm}


def _from_json(text: str) -> dict[str, Any]:
    """A judge's config as JSON, a file with it, or the dotted path of a class."""
    path = Path(text)
    if not text.lstrip().startswith('{') and path.suffix != '.json':
        if '.' not in text:
            raise InputError(f'--judge {text}: expected {", ".join(_KINDS)}, a dotted path, a file or JSON')
        return {'type': text}
    try:
        config = json.loads(path.read_text(encoding='utf-8') if path.suffix == '.json' else text)
    except (OSError, ValueError) as error:
        raise InputError(f'--judge {text}: cannot be read as JSON: {error}') from error
    if not isinstance(config, dict):
        raise InputError(f'--judge {text}: expected an object like {{"type": "rule"}}, got {config!r}')
    return config
