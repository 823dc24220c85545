"""A judge from what a config says."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ..errors import InputError
from .protocol import Judge

JUDGES = {
    'cascade': 'gpassk_opencompass.judges.cascade.CascadeJudge',
    'llm': 'gpassk_opencompass.judges.llm.LLMJudge',
    'rule': 'gpassk_opencompass.judges.rule.RuleJudge',
}
"""Imported when asked for: an LLM judge brings an HTTP client, the rule judge processes."""


def build_judge(config: Mapping[str, Any] | None = None) -> Judge:
    """Build a judge from `dict(type=…, **arguments)`; None is the rule judge.

    Args:
        config: `type` is 'rule', 'llm', 'cascade', a class, or the dotted path of one; the rest are its
            arguments.

    Raises:
        InputError: no such judge, or arguments that it does not take.
    """
    arguments = dict(config or {'type': 'rule'})
    kind = arguments.pop('type', None)
    factory = _find(kind) if isinstance(kind, str) else kind
    if not callable(factory):
        raise InputError(f'judge type {kind!r}: expected {", ".join(JUDGES)}, a class or its dotted path')
    try:
        judge: Judge = factory(**arguments)
    except TypeError as error:
        raise InputError(f'judge {kind!r} does not take {sorted(arguments)}: {error}') from error
    return judge


def _find(name: str) -> Any:
    module, _, attribute = JUDGES.get(name, name).rpartition('.')
    if not module:
        return None
    try:
        return getattr(import_module(module), attribute, None)
    except ImportError as error:
        raise InputError(f'judge type {name!r} cannot be imported: {error}') from error
