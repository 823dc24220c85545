"""A template file, read: its variables, without what only helps to compute them."""

from __future__ import annotations

import ast
import os
import re
import runpy
from collections.abc import Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from ..errors import MissingExtraError, TemplateError
from .axes import with_lines
from .key_shapes import looks_like_key
from .literals import NO_LITERAL
from .source import check_size

KEY_FIELDS = frozenset(
    {
        *('key', 'api_key', 'openai_api_key', 'x_api_key', 'access_key', 'secret_key', 'secret', 'password'),
        *('token', 'hf_token', 'api_token', 'access_token', 'auth_token', 'authorization'),
    }
)
"""As they are named in Python; headers have `-` for `_`. Not every token: pad_token='<pad>' is no key."""
ENVIRONMENT_NAME = re.compile(r'ENV|EMPTY|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+')

_JUDGE = re.compile(r'^eval_(?:urls|model_name)|(?:^|\.)judge(?:\.|$)')
_FOR_A_JUDGE = (
    "give the judge api_key_env='JUDGE_KEY', the name of the environment variable that holds the key, and "
    'export JUDGE_KEY=… before running opencompass'
)
_FOR_A_MODEL = (
    "write key_env='MY_API_KEY', the name of an environment variable, or key='ENV' (the default, for "
    'OPENAI_API_KEY), and export the key in it before running opencompass'
)


def read_template(path: Path, lines: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Run the template and return its lower-case variables, with other `lines` in place of its own.

    Modules, functions, classes and names that start with `_` or have an upper-case letter are helpers,
    not variables. A template with mmengine's `read_base` is loaded by mmengine.

    Raises:
        TemplateError: the file is missing, does not run, or holds a literal API key or a value that cannot
            be written.
    """
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except OSError as error:
        raise TemplateError(f'cannot read the template: {error}') from error
    except NO_LITERAL as error:
        raise TemplateError(f'the template is not valid Python: {error}') from error
    with_base = any(isinstance(node, ast.Name) and node.id == 'read_base' for node in ast.walk(tree))
    variables = with_lines(_run(path, with_base), lines or {})
    allowed = _allowed(variables.pop('not_keys', []))
    try:
        _check_value(variables, allowed)
    except RecursionError as error:
        raise TemplateError('a value of the template holds itself, or is nested too deep') from error
    return variables


def _run(path: Path, with_base: bool) -> dict[str, Any]:
    try:
        names = _load_with_mmengine(path) if with_base else runpy.run_path(str(path))
    except MissingExtraError:
        raise
    except (Exception, SystemExit) as error:
        raise TemplateError(f'running the template failed: {type(error).__name__}: {error}') from error
    return {name: value for name, value in names.items() if _is_variable(name, value)}


def _load_with_mmengine(path: Path) -> dict[str, Any]:
    try:
        from mmengine.config import Config
    except ModuleNotFoundError as error:
        raise MissingExtraError('mmengine', 'opencompass') from error
    variables: dict[str, Any] = Config.fromfile(path).to_dict()
    return variables


def _is_variable(name: str, value: Any) -> bool:
    return name == name.lower() and name[0] != '_' and not isinstance(value, (ModuleType, FunctionType, type))


def _allowed(texts: Any) -> frozenset[str]:
    if not isinstance(texts, (list, tuple, set)) or not all(isinstance(text, str) for text in texts):
        raise TemplateError('not_keys must be a list of texts: values that look like keys and are none')
    return frozenset(texts)


def _check_value(value: Any, allowed: frozenset[str], where: str = '') -> None:
    """Refuse what must not, or cannot, stand in the configs and their names."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, str):
                _check_text(key, allowed, f'the name of an entry of {where}' if where else 'a variable')
            _check_value(item, allowed, f'{where}.{key}' if where else str(key))
    elif isinstance(value, (list, tuple, set)):
        for i, item in enumerate(value):
            _check_value(item, allowed, f'{where}[{i}]')
    elif isinstance(value, os.PathLike):
        _check_text(str(os.fspath(value)), allowed, where)
    elif isinstance(value, str):
        _check_text(value, allowed, where)
    elif isinstance(value, int):
        check_size(value, where)


def _check_text(text: str, allowed: frozenset[str], where: str) -> None:
    """Literal keys would land in every config, log and work directory; the message does not repeat them."""
    if any('\ud800' <= character <= '\udfff' for character in text):  # from a file name that is no UTF-8
        raise TemplateError(f'{where} has a half of a character, which no file can hold: give it in UTF-8')
    if text not in allowed and _looks_secret(text, where):
        advice = _FOR_A_JUDGE if _JUDGE.search(where) else _FOR_A_MODEL
        raise TemplateError(
            f'{where} looks like a literal API key; keys come from the environment: {advice}. If it is none, '
            'repeat the value in a list not_keys = […]'
        )


def _looks_secret(text: str, where: str) -> bool:
    field = re.sub(r'\[\d+\]$', '', where).rpartition('.')[2].lower().replace('-', '_')
    is_key = field in KEY_FIELDS and text != '' and not ENVIRONMENT_NAME.fullmatch(text)
    return is_key or looks_like_key(text)
