"""Config files read as data: nothing in them is executed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import mapping
from ..sweep.folder import NO_LITERAL, literal, plain, signature

Config = Mapping[str, Any]

_LOCAL = 'LocalRunner'

EVALUATION = ('eval_cfg', 'k')
"""Fields of a data set that matter only after the samples are drawn."""


def read_config(path: Path) -> Config | None:
    """Return the variables of a config of literals and `dict(…)`, as `gpassk expand` and mmengine write it.

    Returns:
        None if it computes or imports something.

    Raises:
        InputError: it cannot be read or is no Python.
    """
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except OSError as error:
        raise InputError(f'cannot read {path}: {error.strerror}') from error
    except NO_LITERAL as error:
        raise InputError(f'{path} is not valid Python: {error}') from error
    try:
        return dict(_variable(statement) for statement in tree.body if not _is_text(statement))
    except NO_LITERAL:  # a value with no literal form is a ValueError too
        return None


def texts_in(path: Path) -> set[str]:
    """Return all string constants of a Python file; none if it is no Python."""
    return {text for node in _nodes(path) if (text := _text(node)) is not None}


def stores_in(path: Path) -> set[str]:
    """Return the `verdicts` of every dict that also has a `type`, as judges have; '' is none."""
    fields = [found for node in _nodes(path) if 'type' in (found := _fields(node))]
    return {text for found in fields if (text := _text(found.get('verdicts')))}


def assigned_in(path: Path) -> set[str]:
    """Return the names that a Python file assigns at its top level."""
    targets = (node.targets for node in _nodes(path) if isinstance(node, ast.Assign) and not node.col_offset)
    return {target.id for each in targets for target in each if isinstance(target, ast.Name)}


def sampling_signature(config: Config) -> str:
    """Return a `signature` of what determines the samples: configs that share one may share predictions.

    >>> run = {'models': [{'path': 'org/m'}], 'datasets': [{'n': 48, 'k': [4], 'eval_cfg': {}}]}
    >>> sampling_signature(run) == sampling_signature({**run, 'datasets': [{'n': 48, 'k': [16]}]})
    True
    """
    datasets = [
        {name: value for name, value in dataset.items() if name not in EVALUATION}
        for dataset in dicts_of(config, 'datasets')
    ]
    return signature({'models': config.get('models'), 'datasets': datasets})


def dicts_of(config: Config, name: str) -> list[Mapping[str, Any]]:
    """Return the dicts of a list of the config; none if it has no such list."""
    entries = config.get(name)
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def runner_of(config: Config, stage: str) -> Mapping[str, Any]:
    """Return the runner that a config names for 'infer' or 'eval'; {} for OpenCompass's usual one."""
    return mapping(mapping(config.get(stage)).get('runner'))


def is_local(runner: Mapping[str, Any]) -> bool:
    """Whether a runner has its tasks done on this machine, and not by a cluster.

    >>> is_local({}), is_local({'type': 'opencompass.runners.DLCRunner'})
    (True, False)
    """
    return str(runner.get('type', _LOCAL)).rpartition('.')[2] == _LOCAL


def _nodes(path: Path) -> Iterator[ast.AST]:
    try:
        return ast.walk(ast.parse(path.read_bytes(), str(path)))
    except (OSError, *NO_LITERAL):
        return iter(())


def _text(node: ast.AST | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _fields(node: ast.AST) -> dict[str | None, ast.expr]:
    """Return the fields of `{…}` or `dict(…)`; {} for anything else."""
    if isinstance(node, ast.Dict):
        return {_text(key): value for key, value in zip(node.keys, node.values, strict=True)}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == 'dict':
        return {keyword.arg: keyword.value for keyword in node.keywords}
    return {}


def _variable(statement: ast.stmt) -> tuple[str, Any]:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        (target,) = statement.targets
        if isinstance(target, ast.Name):
            return target.id, plain(literal(statement.value), target.id)
    raise ValueError('not an assignment of a literal')


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
