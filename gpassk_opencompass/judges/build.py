"""A judge from what a config says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

from ..errors import InputError
from ..keys import without_user
from .protocol import Judge

JUDGES = {
    'rule': 'gpassk_opencompass.judges.rule.RuleJudge',
    'llm': 'gpassk_opencompass.judges.llm.LLMJudge',
    'cascade': 'gpassk_opencompass.judges.cascade.CascadeJudge',
}
"""The classes of judges by the names that settings and `--judge` take."""


def build_judge(config: Mapping[str, Any] | None = None) -> Judge:
    """Build a judge from `dict(type=…, **arguments)`; None is the rule judge.

    An LLM judge that has a model and no urls is the rule judge, whose identity names the model.

    Args:
        config: `type` is a name of `JUDGES`, a class, or the dotted path of one; the rest are its arguments.

    A class may have a static method `check_arguments(arguments)`, which gets all arguments of the constructor
    by name, defaults too, and raises `InputError` for those that cannot be used. It is called wherever a
    config is read, before anything is generated or written and with no servers, keys or stores at hand, so it
    must do nothing else. An inherited one is not called where the class has a constructor of its own.

    Raises:
        InputError: no such judge, or arguments that it does not take.
    """
    factory, arguments = _read(_served_or_rule(config or {'type': 'rule'}))
    judge: Judge = factory(**arguments)
    return judge


def check_judge(config: Mapping[str, Any]) -> None:
    """Refuse what `build_judge` could not build, as far as that shows without building it."""
    _read(_served_or_rule(config))


def judge_config(
    model_name: str, url: str | Sequence[str], judge: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the config of the judge meant: `judge`, an LLM of that name at these addresses, or the rules.

    Raises:
        InputError: two judges at once, an address without a model, no such judge, or arguments that it does
            not take.
    """
    shown = without_user(f'model_name = {model_name!r}, url = {url!r}')
    if judge is not None:
        _check_dict(judge)
        if url or model_name:
            raise InputError(f'both judge = {without_user(repr(dict(judge)))} and {shown}: give one of them')
    if url and not model_name:
        raise InputError(f'{shown}: an LLM judge needs the name of its model, too')
    if model_name:
        urls = [url] if isinstance(url, str) and url else [*url]
        judge = {'type': 'llm', 'model': model_name, 'urls': urls}
    config = _served_or_rule(judge or {'type': 'rule'})
    _read(config)
    return config


def _served_or_rule(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config; of an LLM without an address that of the rule judge in its place, and say so."""
    _check_dict(config)
    model = config.get('model')
    if own_name(config.get('type')) != 'llm' or not model or config.get('urls'):
        return dict(config)
    from loguru import logger  # which takes asyncio along, and a --help needs neither

    logger.warning(
        f'the judge {model!r} has no address (urls, eval_urls): the rule judge judges in its place. Name the '
        'address of its server, or leave its name out'
    )
    return {'type': 'rule', 'in_place_of': model}


def with_verdicts(config: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return the config with `folder` for the verdicts of its LLM judges, where it names no other.

    >>> with_verdicts({'type': 'llm', 'model': 'm', 'urls': ['http://j']}, 'there')['verdicts']
    'there'
    """
    return _with_llms(config, lambda llm: {**llm, 'verdicts': llm.get('verdicts', folder)})


def _with_llms(
    config: Mapping[str, Any], change: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """Return the config with its LLM judges changed, also those of a cascade."""
    name = own_name(config.get('type'))
    if name == 'llm':
        return change(config)
    if name != 'cascade':  # whatever stands in the config of another judge is its own affair
        return dict(config)
    parts = {key: _with_llms(part, change) for key, part in config.items() if isinstance(part, Mapping)}
    return {**config, **parts}


def with_server(
    config: Mapping[str, Any], model: str, url: str | Sequence[str], **more: Any
) -> dict[str, Any]:
    """Return the config with its LLM judges at a server, under this name of the model.

    Args:
        url: one or several; '' for one that has no address yet.
        more: arguments of theirs, where the config has no others.

    Raises:
        InputError: the config says where they are, or has none.

    >>> with_server({'type': 'llm'}, 'm', 'http://j', patience=9.0)
    {'patience': 9.0, 'type': 'llm', 'model': 'm', 'urls': ['http://j']}
    """
    _check_dict(config)
    changed = 0

    def change(llm: Mapping[str, Any]) -> dict[str, Any]:
        nonlocal changed
        changed += 1
        if 'urls' in llm:
            shown = without_user(repr(llm['urls']))
            raise InputError(f'judge has urls = {shown}, and judge_serve starts a server: give one')
        if llm.get('model', model) != model:
            raise InputError(f'judge has model = {llm["model"]!r}, and judge_serve starts {model!r}')
        urls = {'urls': [url] if isinstance(url, str) else [*url]} if url else {}
        return {**more, **llm, 'model': model, **urls}

    served = _with_llms(config, change)
    if not changed:
        raise InputError(
            f'judge = {dict(config)!r} asks no LLM, for which judge_serve would start a server: write '
            "judge=dict(type='llm') or leave it out"
        )
    return served


def served_judge(
    judge: Mapping[str, Any] | None, model: str, url: str | Sequence[str], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the checked config of the judge (None: an LLM) at the server that is started for it."""
    config = with_server({'type': 'llm'} if judge is None else judge, model, url, **settings)
    check_judge(config)
    return config


def own_name(kind: Any) -> str:
    """Return the name of the judge of this package that a `type` means, '' for others; imports nothing.

    >>> own_name('gpassk_opencompass.RuleJudge'), own_name('theirs')
    ('rule', '')
    """
    path = f'{kind.__module__}.{kind.__qualname__}' if isinstance(kind, type) else kind
    if not isinstance(path, str) or path in JUDGES:
        return path if isinstance(path, str) else ''
    package, _, name = path.rpartition('.')
    ours = f'{package}.'.startswith('gpassk_opencompass.')
    return next((own for own, place in JUDGES.items() if ours and place.endswith(f'.{name}')), '')


def refuse_extraction(use_extract_model: Any) -> None:
    """Raise InputError for what OpenCompass's own evaluator calls `use_extract_model`."""
    if use_extract_model:
        raise InputError(
            f'use_extract_model = {use_extract_model!r}: no model extracts answers here; the final answer is '
            'found in the response by a written rule, and an LLM judge is shown it, or the end of a response '
            'that has none. Remove use_extract_model, extract_url and extract_model_name; let an LLM judge '
            'with model_name and url (in a template eval_model_name and eval_urls)'
        )


def _check_dict(judge: Any) -> None:
    if not isinstance(judge, Mapping):
        example = judge if isinstance(judge, str) and judge in JUDGES else 'rule'
        raise InputError(f'judge = {judge!r}: expected a dict, e.g. judge=dict(type={example!r})')


def _read(config: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the class and its arguments, checked."""
    arguments = dict(config)
    kind = factory = arguments.pop('type', None)
    if isinstance(kind, str):
        module, _, attribute = JUDGES.get(kind, kind).rpartition('.')
        # A file's path, such as ../judge.txt, is no relative import.
        is_path = module and all(part.isidentifier() for part in module.split('.'))
        try:
            factory = getattr(import_module(module), attribute, None) if is_path else None
        except ImportError as error:
            raise InputError(f'judge type {kind!r} cannot be imported: {error}') from error
    if not isinstance(factory, type) or not hasattr(factory, 'judge'):
        raise InputError(f'judge type {kind!r}: expected {", ".join(JUDGES)}, a class or its dotted path')
    takes: Mapping[str, Parameter] = signature(factory).parameters
    owner = next(one for one in factory.__mro__ if {'check_arguments', '__init__'} & {*vars(one)})
    try:
        if 'check_arguments' in vars(owner):
            defaults = {name: one.default for name, one in takes.items() if one.default is not one.empty}
            factory.check_arguments({**defaults, **arguments})  # type: ignore[attr-defined]
        signature(factory).bind(**arguments)
    except InputError as error:
        raise InputError(f'judge {kind!r}: {error}') from error
    except (TypeError, LookupError) as error:
        raise InputError(f'judge {kind!r}: {error}; it takes {", ".join(takes)}') from error
    return factory, arguments
