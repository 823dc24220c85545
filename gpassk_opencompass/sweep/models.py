"""The models of a template: `llm_infos`."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import TemplateError
from ..naming.manifest import ModelFacts
from ..naming.names import clean, in_file_name, last_part
from .axes import MODEL_LINES, NOT_NEGATIVE, POSITIVE, Number, unknown

BATCH_SIZE = 64
"""Requests at a time, unless a template or its engine says otherwise."""

FLAGS = frozenset({'open_source', 'mathematical', 'o1_like'})
"""Those of the facts on a model that may be a line for all models of a template."""

_TEXTS = {
    'parameters': (re.compile(r'[0-9]+(\.[0-9]+)?[MBT]'), "how many it has, such as '7B', '1.5B' or '500M'"),
    'link': (re.compile(r'https?://[^\s/]\S*'), "the address of a page, such as 'https://…'"),
}
_FACTS = FLAGS | frozenset(_TEXTS)

OptionKind = Number | type | tuple[type, ...]
"""What an option of an engine may be: a number in a range, or a value of one of these types."""


@dataclass(frozen=True)
class Llm:
    """One model of a template.

    Args:
        path: what the engine loads: a name of the hub, a folder, or the name that a server knows.
        name: what it is called.
        tp: how many GPUs it takes; 0 for none.
        batch_size: requests at a time.
        options: of its engine, by name; those of the whole template and its own.
        lines: those of `axes.MODEL_LINES` that it has for itself, as they stand in the template.
        facts: what is said of it beside its scores.
    """

    path: str
    name: str
    tp: int
    batch_size: int
    options: Mapping[str, Any]
    lines: Mapping[str, Any] = field(default_factory=dict)
    facts: ModelFacts = field(default=ModelFacts())


def read_llms(
    raw: Any,
    options: Mapping[str, OptionKind],
    shared: Mapping[str, Any],
    default_tp: int,
    flags: Mapping[str, Any] | None = None,
) -> tuple[Llm, ...]:
    """Read `llm_infos`.

    Args:
        raw: a list of `dict(path=…, name=…, tp=…, batch_size=…, …)`, of `(path, tp, batch_size)` or of
            paths; a dict may also have lines of the template that hold for this model alone.
        options: what the engine takes beside these.
        shared: options given for all models; a model's own go before them, dicts are merged.
        default_tp: of a model that does not say.
        flags: those of `FLAGS` that are given for all models; a model's own go before them.

    Raises:
        TemplateError: an entry of another form, an unknown key, a value out of range, or two equal names.
    """
    infos = [raw] if isinstance(raw, (dict, str)) else raw
    if not isinstance(infos, (list, tuple)) or not infos:
        raise TemplateError(f'llm_infos is {raw!r}; expected at least one dict(path=…, tp=…, batch_size=…)')
    for name, flag in (flags or {}).items():
        _check_fact(name, flag, name)
    llms = []
    for i, info in enumerate(infos):
        where = f'llm_infos[{i}]'
        defaults = {'tp': default_tp, 'batch_size': BATCH_SIZE, **(flags or {})}
        fields = {**defaults, **_as_dict(info, where)}
        llms.append(_read(fields, where, options, shared))
    _check_names(llms)
    return tuple(llms)


def read_option(kind: OptionKind, value: Any, where: str) -> Any:
    """Return the value of an option; raise TemplateError naming `where` if it has the wrong type or range."""
    if isinstance(kind, Number):
        return kind.read(value, where)
    if not isinstance(value, kind):
        expected = ' or '.join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
        raise TemplateError(f'{where} is of type {type(value).__name__}; expected {expected}')
    return value


def _as_dict(info: Any, where: str) -> dict[str, Any]:
    if isinstance(info, dict):
        return info
    if isinstance(info, str):
        return {'path': info}
    if isinstance(info, Sequence) and len(info) == 3:
        return dict(zip(('path', 'tp', 'batch_size'), info, strict=True))
    raise TemplateError(
        f'{where} is {info!r}; expected dict(path=…, tp=…, batch_size=…) or (path, tp, batch_size)'
    )


def _read(
    fields: Mapping[str, Any], where: str, options: Mapping[str, OptionKind], shared: Mapping[str, Any]
) -> Llm:
    allowed: Collection[str] = {'path', 'name', 'tp', 'batch_size', *options, *MODEL_LINES, *_FACTS}
    for key in fields:
        if key not in allowed:
            raise unknown(f'key of {where}', key, allowed)
    path = _text(fields.get('path'), f'{where}.path')
    given = {
        key: read_option(options[key], fields[key], f'{where}.{key}') for key in fields if key in options
    }
    both = {key: {**shared[key], **given[key]} for key in given if isinstance(shared.get(key), dict)}
    return Llm(
        path=path,
        name=clean(_text(fields.get('name', last_part(path)), f'{where}.name')),
        tp=NOT_NEGATIVE.read(fields['tp'], f'{where}.tp'),
        batch_size=POSITIVE.read(fields['batch_size'], f'{where}.batch_size'),
        options={**shared, **given, **both},
        lines={key: fields[key] for key in fields if key in MODEL_LINES},
        facts=_read_facts(fields, where),
    )


def _read_facts(fields: Mapping[str, Any], where: str) -> ModelFacts:
    given = {name: fields[name] for name in fields if name in _FACTS}
    for name, value in given.items():
        _check_fact(name, value, f'{where}.{name}')
    return ModelFacts(**given)


def _check_fact(name: str, value: Any, where: str) -> None:
    if name in FLAGS:
        fits, expected = isinstance(value, bool), 'True or False'
    else:
        form, expected = _TEXTS[name]
        fits = isinstance(value, str) and form.fullmatch(value) is not None
    if value is not None and not fits:
        raise TemplateError(f'{where} is {value!r}; expected {expected}, or None where that is not known')


def _text(value: Any, where: str) -> str:
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str) or not text.strip('./ '):
        raise TemplateError(f"{where} is {value!r}; expected text, e.g. 'Qwen/Qwen2.5-7B-Instruct'")
    return text


def _check_names(llms: Sequence[Llm]) -> None:
    seen: dict[str, int] = {}
    for i, llm in enumerate(llms):
        name = in_file_name(llm.name)
        if name in seen:
            raise TemplateError(
                f'llm_infos[{seen[name]}] and llm_infos[{i}] are both called {name!r} in file names, so '
                "their runs would overwrite each other; give one of them another: name='…'"
            )
        seen[name] = i
