"""Lines of a template given on the command line: `--override temperatures=[0.3,0.7]`."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from ..errors import TemplateError
from .grid import VARIABLES
from .literals import NO_LITERAL, literal
from .llms import OPTIONS
from .spelling import unknown

NAMES = VARIABLES | set(OPTIONS)
"""What may be overridden: any line that a template may have."""

TEXTS = frozenset({'dataset_path', 'eval_model_name', 'version'})
"""Variables that take no number, so that `version=202505` needs no quotes."""


def read_overrides(texts: Iterable[str]) -> dict[str, Any]:
    """Variable → value of each `NAME=VALUE`.

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
        if name not in NAMES:
            raise unknown('variable of --override', name, NAMES)
        if name in lines:
            raise TemplateError(f'--override gives {name} twice; give it once, a list is an axis')
        lines[name] = _read_value(name, value)
    return lines


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
