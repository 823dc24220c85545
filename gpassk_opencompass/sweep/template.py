"""A template file and the lines of `--override`, read: their variables, and no keys among them."""

from __future__ import annotations

import ast
import os
import re
import runpy
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from ..errors import MissingExtraError, TemplateError
from .axes import unknown, with_lines, words
from .configs import check_size
from .engines import ENGINES, Engine
from .grid import VARIABLES
from .literals import NO_LITERAL, literal

KEY_FIELDS = words("""
    key api_key openai_api_key x_api_key access_key secret_key secret password
    token hf_token api_token access_token auth_token authorization
""")
"""Names of fields that hold keys; headers have `-` for `_`. Not every token: pad_token='<pad>' is none."""
ENVIRONMENT_NAME = re.compile(r'ENV|EMPTY|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})')

TEXTS = frozenset({'dataset_path', 'eval_model_name', 'version'})
"""Variables that take no number, so that `--override version=202505` needs no quotes."""

_JUDGE = re.compile(r'^eval_(?:urls|model_name)|(?:^|\.)judge(?:\.|$)')
_FOR_A_JUDGE = (
    "give the judge api_key_env='JUDGE_KEY', the name of the environment variable that holds the key, and "
    'export JUDGE_KEY=… before running opencompass'
)
_FOR_A_MODEL = (
    "write key_env='MY_API_KEY', the name of an environment variable, or key='ENV' (the default, for "
    'OPENAI_API_KEY), and export the key in it before running opencompass'
)

_SHAPES = re.compile(
    r'(?<![A-Za-z0-9])(?:'
    r'(?:sk|gsk|xai)-[\w-]{8,}|csk-[A-Za-z0-9]{20,}'
    r'|(?:gsk|ghp|gho|ghu|ghs|ghr|r8|fw|xai|npm|tgp_v1)_[A-Za-z0-9]{16,}'
    r'|github_pat_\w{16,}|glpat-[\w-]{16,}|nvapi-[\w-]{16,}|pplx-[A-Za-z0-9]{16,}|xox[abeoprs]-[\w-]{10,}'
    r'|hf_[A-Za-z0-9]{20,}|api_org_[A-Za-z0-9]{20,}|AIza[\w-]{16,}|ya29\.[\w-]{16,}|(?:AKIA|ASIA)[A-Z0-9]{16}'
    r'|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?'
    r')'
    r'|(?i:\b(?:bearer|basic))\s+(?=\S*[0-9]|\S{24})[\w.~+/=-]{8,}'
)
_USER_OF_URL = re.compile(
    r'://(?:[^\s/?#@:]*:(?![0-9]{1,5}(?:[/?#]|$))[^\s@]*|[^\s/?#@:]{8,})@'  # a port is no password
)
_QUERY = re.compile(r'[?&](?i:[\w-]*(?:key|token|secret))=[^&\s]{8,}')

_TOKEN = re.compile(r'[A-Za-z0-9_+=-]{24,}')
_NOT_SECRET = re.compile(  # hashes, commits and UUIDs are written in hexadecimal digits, images in base64
    r'[A-Za-z0-9+/]{1000,}'
    r'|(?<![A-Za-z0-9])(?:[0-9a-f]{7,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![A-Za-z0-9])'
)
_WORD = re.compile('[A-Z]?[a-z]+|[A-Z]+|[0-9]+')
_SEPARATOR = re.compile('[^A-Za-z0-9]')
_LEAST_LETTERS_A_WORD = 2.5
_ENOUGH_WITHOUT_CAPITALS, _LEAST_WITHOUT_CAPITALS = 32, 3.0


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
        raise TemplateError(f'cannot read the template: {error.strerror}') from error
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
    """Refuse a literal key, which would land in every config, log and work directory; never repeat it."""
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


def looks_like_key(text: str) -> bool:
    """Return whether a part of the text has the shape of a key, or is long and random.

    Hexadecimal digits, as hashes, commits and some keys have them, are taken for no key.

    >>> looks_like_key('gsk_aB3dE5gH7jK9mN1pQ3sT5'), looks_like_key('Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4')
    (True, False)
    """
    if any(shape.search(text) for shape in (_SHAPES, _USER_OF_URL, _QUERY)):
        return True
    if text.startswith('data:'):
        return False
    return any(_is_random(token) for token in _TOKEN.findall(_NOT_SECRET.sub(' ', text)))


def _is_random(token: str) -> bool:
    """Return whether a token has hardly any words: a name has some, and more separators than a key."""
    content = _SEPARATOR.sub('', token)
    if len(content) < 24 or len(token) - len(content) > len(token) // 10:
        return False
    kinds = [any(map(kind, content)) for kind in (str.isdigit, str.islower, str.isupper)]
    letters_a_word = len(content) / len(_WORD.findall(content))
    if all(kinds):
        return letters_a_word < _LEAST_LETTERS_A_WORD
    enough = kinds[0] and any(kinds[1:]) and len(content) >= _ENOUGH_WITHOUT_CAPITALS
    return enough and letters_a_word < _LEAST_WITHOUT_CAPITALS


def read_overrides(texts: Iterable[str]) -> dict[str, Any]:
    """Return variable → value of each `NAME=VALUE`.

    A value is what a template would have behind the `=`: a Python literal, or `dict(…)` of such. Words
    that are none are text: `engine=vllm`.

    Raises:
        TemplateError: no `NAME=VALUE`, an unknown name, a name given twice, or a value that starts like
            a literal and is none.

    >>> read_overrides(['temperatures=[0.3, 0.7]', 'engine=vllm', 'version=202505'])
    {'temperatures': [0.3, 0.7], 'engine': 'vllm', 'version': '202505'}
    """
    lines: dict[str, Any] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition('='))
        if not equals or not value:
            raise TemplateError(f'--override {text!r}: expected NAME=VALUE, e.g. temperatures=[0.3,0.7]')
        if name not in VARIABLES:
            _check_option(name)
        if name in lines:
            raise TemplateError(f'--override gives {name} twice; give it once, a list is an axis')
        lines[name] = _read_value(name, value)
    return lines


def _check_option(name: str) -> None:
    engines = [engine for _, engine in ENGINES.each() if isinstance(engine, Engine)]
    options = {option for engine in engines for option in engine.options}
    if name not in options:
        raise unknown('variable of --override', name, {*VARIABLES, *options})


def _read_value(name: str, text: str) -> Any:
    try:
        value = literal(ast.parse(text, mode='eval'))
    except NO_LITERAL as error:
        if text[0] in '[({\'"' or text.startswith('dict('):
            raise TemplateError(
                f'--override {name}={text}: the value cannot be read as Python: {error}'
            ) from error
        return text
    return text if name in TEXTS and isinstance(value, (bool, int, float)) else value
