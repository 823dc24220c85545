"""The programs that the documentation calls, and whether they understand what it says to them."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from doc_pages import ROOT

from gpassk_opencompass.cli import parser_for, read_options
from gpassk_opencompass.cli.expand import dump_configs_parser


def opencompass_cli() -> Path | None:
    """Its parser cannot be had without importing all of it, so its source is asked."""
    found = find_spec('opencompass')
    return Path(found.origin).parent / 'cli' / 'main.py' if found and found.origin else None


def make_targets() -> set[str]:
    """Of the Makefile."""
    text = (ROOT / 'Makefile').read_text('utf-8')
    [harnesses] = re.findall(r'^HARNESSES := (.+)$', text, re.M)
    return {*re.findall(r'^([a-z-]+):', text, re.M), *(f'test-harness-{name}' for name in harnesses.split())}


def options_of(command: str) -> set[str]:
    """Of a subcommand of gpassk, and of those below it."""
    return _options(parser_for(command))


def _options(parser: Any) -> set[str]:
    own = {option for action in parser._actions for option in action.option_strings}
    below = (action.choices.values() for action in parser._actions if isinstance(action.choices, dict))
    return own.union(*(_options(further) for parsers in below for further in parsers))


def check_gpassk(arguments: list[str]) -> None:
    words = [re.sub(r'\$\w+', '1', word) for word in arguments[1:]]  # a variable of the shell is some value
    assert read_options(arguments[0], words)


def check_python(arguments: list[str]) -> None:
    """A script, a module, or a line of code."""
    if arguments[0] == '-m':
        assert find_spec(arguments[1]), 'no such module'
    elif arguments[0] == '-c':
        compile(arguments[1], 'command', 'exec')
    elif arguments[0] == 'dump_configs.py':
        dump_configs_parser().parse_args(arguments[1:])
    else:
        assert (ROOT / arguments[0]).exists(), 'no such file'


def check_opencompass(arguments: list[str]) -> None:
    path = opencompass_cli()
    source = path.read_text('utf-8') if path else ''
    for option in (word for word in arguments if source and re.match(r'--?[a-z]', word)):
        assert f"'{option}'" in source, option


def check_make(arguments: list[str]) -> None:
    wanted = {word for word in arguments if '=' not in word}
    assert wanted <= make_targets(), f'make has no target {wanted - make_targets()}'


PROGRAMS = {
    'gpassk': check_gpassk,
    'python': check_python,
    'opencompass': check_opencompass,
    'make': check_make,
}
OTHERS = {
    'pip', 'pip-audit', 'lmdeploy', 'transformers', 'vllm', 'lighteval', 'lm_eval', 'inspect', 'apt',
    'scancel', 'kubectl', 'ssh', 'ulimit', 'curl', 'cp', 'touch', 'source',
}  # fmt: skip
"""Programs of others; those of lmdeploy are parsed in test_docs_content.py."""
