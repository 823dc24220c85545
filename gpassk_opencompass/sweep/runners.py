"""OpenCompass's runners for clusters, as `infer` and `eval` of a template name them: checked, never run.

What a runner takes is read from the source of the installed OpenCompass; nothing of it is imported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import TemplateError
from .axes import unknown

UNTESTED = frozenset({'DLCRunner', 'RJOBRunner', 'VOLCRunner'})
"""Runners that submit to services that nobody here could try."""

_GIVEN = frozenset({'type', 'task', 'debug', 'lark_bot_url', 'max_num_workers', 'retry'})
"""Arguments that OpenCompass fills in itself, or that every runner takes."""


class Runner(NamedTuple):
    """What the class of a runner takes."""

    arguments: frozenset[str]
    required: tuple[str, ...]
    fields: Mapping[str, tuple[str, ...]]
    """Argument that is a dict → fields that it must have."""


def check_runner(stage: str, part: Mapping[str, Any]) -> bool:
    """Check the runner of `infer` or `eval`, which stands in the configs as it is.

    Args:
        stage: 'infer' or 'eval'.
        part: what the template says for it.

    Returns:
        Whether it is a runner that nobody here could try.

    Raises:
        TemplateError: the runner takes no such argument, or misses one; where OpenCompass is not installed
            nothing is checked.
    """
    given = part.get('runner')
    if not isinstance(given, Mapping):
        return False
    kind = given.get('type')
    name = kind.__name__ if isinstance(kind, type) else str(kind).rpartition('.')[2]
    runner = _runners().get(name)
    if runner is None:  # one of another package, which checks itself
        return False
    where = f'{stage}.runner of type {name}'
    for argument in given:
        if argument not in runner.arguments | _GIVEN:
            raise unknown(f'argument of {where}', argument, runner.arguments | _GIVEN)
    _check_fields(where, given, runner.required)
    for argument, fields in runner.fields.items():
        if argument in given:
            if not isinstance(given[argument], Mapping):
                raise TemplateError(f'{where}: {argument} is {given[argument]!r}; expected a dict')
            _check_fields(f'{argument} in {where}', given[argument], fields)
    return name in UNTESTED


def _check_fields(where: str, given: Mapping[str, Any], needed: Iterable[str]) -> None:
    missing = [name for name in needed if name not in given]
    if missing:
        raise TemplateError(
            f'{where} has no {", no ".join(missing)}: OpenCompass would end with an error there'
        )


@cache
def _runners() -> Mapping[str, Runner]:
    spec = find_spec('opencompass')
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    files = [file for folder in folders for file in sorted(Path(folder, 'runners').glob('*.py'))]
    return {name: runner for file in files for name, runner in _runners_in(file)}


def _runners_in(file: Path) -> Iterator[tuple[str, Runner]]:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and (start := _start_of(node)) is not None:
            taken = [argument.arg for argument in start.args.args[1:]]
            named = [argument.arg for argument in start.args.kwonlyargs]
            optional = len(start.args.defaults)
            required = [name for name in taken[: len(taken) - optional] if name not in _GIVEN]
            fields = {name: tuple(sorted(set(_needed(node, name)))) for name in required}
            yield (
                node.name,
                Runner(frozenset([*taken, *named]), tuple(required), {k: v for k, v in fields.items() if v}),
            )


def _start_of(node: ast.ClassDef) -> ast.FunctionDef | None:
    found = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == '__init__']
    return found[0] if found and found[0].args.kwarg is None else None


def _needed(node: ast.AST, settings: str) -> Iterator[str]:
    """Yield the fields of `self.<settings>` that are read in any case, not within a condition."""
    if isinstance(node, (ast.If, ast.IfExp)):
        yield from _needed(node.test, settings)
        return
    if isinstance(node, ast.Subscript) and _is_settings(node.value, settings):
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            yield node.slice.value
    elif isinstance(node, ast.Attribute) and _is_settings(node.value, settings) and node.attr != 'get':
        yield node.attr
    for child in ast.iter_child_nodes(node):
        yield from _needed(child, settings)


def _is_settings(node: ast.expr, settings: str) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == settings
        and isinstance(node.value, ast.Name)
        and node.value.id == 'self'
    )
