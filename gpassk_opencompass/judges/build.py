"""A judge from what a config says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

from ..errors import InputError
from ..keys import without_user
from ..registry import Registry
from .protocol import Judge

_OWN = {
    'rule': 'gpassk_opencompass.judges.rule:RuleJudge',
    'llm': 'gpassk_opencompass.judges.llm:LLMJudge',
    'cascade': 'gpassk_opencompass.judges.cascade:CascadeJudge',
}
JUDGES: Registry[Any] = Registry('gpassk_opencompass.judges', 'judge', _OWN)
"""The classes of judges by the names that settings and `--judge` take, other packages' too."""


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
        InputError: no such judge, or arguments that it does not take, all at once.
    """
    given = config or {'type': 'rule'}
    factory, arguments = _read(given)
    if _is_unserved(given):
        from .rule import RuleJudge

        class InPlace(RuleJudge):
            """The rule judge in place of an LLM that has no address."""

            def identity(self) -> Mapping[str, object]:
                return {**super().identity(), 'in_place_of': given['model']}

        _tell_unserved(given['model'])
        rule: Judge = InPlace()
        return rule
    judge: Judge = factory(**arguments)
    return judge


def _is_unserved(config: Mapping[str, Any]) -> bool:
    """Whether an LLM is named that has no address; the README promises the rule judge then."""
    return (
        _own_name_of_alias(config.get('type')) == 'llm'
        and bool(config.get('model'))
        and not config.get('urls', 0)
    )


def _tell_unserved(model: str) -> None:
    from loguru import logger  # which takes asyncio along, and a --help needs neither

    logger.warning(
        f'the judge {model!r} has no address (urls, eval_urls): the rule judge judges in its place. Name the '
        'address of its server, or leave its name out'
    )


def judge_config(
    model_name: str, url: str | Sequence[str], judge: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the config of the judge meant: `judge`, an LLM of that name at these addresses, or the rules.

    Raises:
        InputError: two judges at once, an address without a model, no such judge, or arguments that it does
            not take.
    """
    if judge is not None:
        _check_dict(judge)
    shown = without_user(f'model_name = {model_name!r}, url = {url!r}')
    if judge is not None and (url or model_name):
        raise InputError(f'both judge = {dict(judge)!r} and {shown}: give one of them')
    if url and not model_name:
        raise InputError(f'{shown}: an LLM judge needs the name of its model, too')
    if model_name:
        judge = {
            'type': 'llm',
            'model': model_name,
            'urls': [url] if isinstance(url, str) and url else list(url),
        }
    config = dict(judge or {'type': 'rule'})
    check_judge(config)
    if _is_unserved(config):
        _tell_unserved(config['model'])
    return config


def served_judge(
    judge: Mapping[str, Any] | None, model: str, url: str, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the config of the judge at the server that is started for it, checked.

    Args:
        judge: what is said of it; None is an LLM judge.
        model, url, settings: see `with_server`.
    """
    config = with_server({'type': 'llm'} if judge is None else judge, model, url, **settings)
    check_judge(config)
    return config


def llm_or_cascade(name: str, llm: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config of an LLM judge with these arguments, or of a cascade of the rule and then that LLM.

    >>> llm_or_cascade('cascade', {'model': 'm', 'urls': ['http://j']})['second']['type']
    'llm'
    """
    config = {'type': 'llm', **llm}
    return config if name == 'llm' else {'type': 'cascade', 'first': {'type': 'rule'}, 'second': config}


def with_verdicts(config: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return the config with `folder` for the verdicts of its LLM judges, where it names no other.

    >>> with_verdicts({'type': 'llm', 'model': 'm', 'urls': ['http://j']}, 'there')['verdicts']
    'there'
    """
    name = _own_name_of_alias(config.get('type'))
    if name == 'llm':
        return {**config, 'verdicts': config.get('verdicts', folder)}
    if name != 'cascade':  # whatever stands in the config of another judge is its own affair
        return dict(config)
    parts = {key: with_verdicts(part, folder) for key, part in config.items() if isinstance(part, Mapping)}
    return {**config, **parts}


def with_server(config: Mapping[str, Any], model: str, url: str, **more: Any) -> dict[str, Any]:
    """Return the config with its LLM judges at a server, under this name of the model.

    Args:
        url: '' for one that has no address yet.
        more: arguments of theirs, where the config has no others.

    Raises:
        InputError: the config says where they are, or has none.

    >>> with_server({'type': 'llm'}, 'm', 'http://j', patience=9.0)
    {'patience': 9.0, 'type': 'llm', 'model': 'm', 'urls': ['http://j']}
    """
    _check_dict(config)
    filled = _at_server(config, model, url, more)
    if filled is None:
        raise InputError(
            f'judge = {dict(config)!r} asks no LLM, for which judge_serve would start a server: write '
            "judge=dict(type='llm') or leave it out"
        )
    return filled


def _at_server(
    config: Mapping[str, Any], model: str, url: str, more: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the config filled in; None if nothing in it asks an LLM."""
    name = _own_name_of_alias(config.get('type'))
    if name == 'llm':
        if 'urls' in config:
            shown = without_user(repr(config['urls']))
            raise InputError(f'judge has urls = {shown}, and judge_serve starts a server: give one')
        if config.get('model', model) != model:
            raise InputError(f'judge has model = {config["model"]!r}, and judge_serve starts {model!r}')
        return {**more, **config, 'model': model, **({'urls': [url]} if url else {})}
    if name != 'cascade':
        return None
    given = {key: part for key, part in config.items() if isinstance(part, Mapping)}
    parts = {key: _at_server(part, model, url, more) for key, part in given.items()}
    filled = {key: part for key, part in parts.items() if part is not None}
    return {**config, **filled} if filled else None


def own_name(kind: Any) -> str:
    """Return the name of the judge of this package that a `type` means, without importing anything.

    '' means another judge, or one of this package by a path that other code gave it.

    >>> own_name('gpassk_opencompass.judges.rule.RuleJudge'), own_name('theirs')
    ('rule', '')
    """
    path = f'{kind.__module__}.{kind.__qualname__}' if isinstance(kind, type) else kind
    return next((name for name, own in _OWN.items() if path in (name, own.replace(':', '.'))), '')


def _own_name_of_alias(kind: Any) -> str:
    """Return what `own_name` does, also for the path of an alias, which is imported."""
    if isinstance(kind, str) and '.' in kind:
        with suppress(InputError):  # a path that leads nowhere is refused where the judge is checked
            kind = _find(kind)
    return own_name(kind)


def check_judge(config: Mapping[str, Any]) -> None:
    """Refuse what `build_judge` could not build, as far as that shows without building it."""
    _read(config)


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
    """Return the class and its arguments, checked: what is missing, unknown or wrong is said at once."""
    _check_dict(config)
    arguments = dict(config)
    kind = arguments.pop('type', None)
    factory = _find(kind) if isinstance(kind, str) else kind
    if not isinstance(factory, type) or not hasattr(factory, 'judge'):
        raise InputError(f'judge type {kind!r}: expected {", ".join(JUDGES)}, a class or its dotted path')
    takes = {
        name: one
        for name, one in signature(factory).parameters.items()
        if one.kind is not Parameter.VAR_POSITIONAL
    }
    names = [name for name, one in takes.items() if one.kind is not Parameter.VAR_KEYWORD]
    wrong: list[str] = []
    needed = [name for name in names if takes[name].default is Parameter.empty and name not in arguments]
    if len(names) == len(takes):  # else whoever takes any name knows which it takes
        wrong += [f'{name} is missing' for name in needed]
        for name in arguments.keys() - set(names):
            near = get_close_matches(name, names, 1)
            told = f'did you mean {near[0]!r}?' if near else f'it takes {", ".join(names)}'
            wrong.append(f'{name}: no such setting, {told}')
    if check := _own_check(factory):
        defaults = {name: takes[name].default for name in names if name not in needed}
        given = {name: value for name, value in arguments.items() if name in names or len(names) < len(takes)}
        if _is_unserved(config):
            given = {**given, 'urls': 'http://nowhere'}
        try:
            check({**defaults, **given})
        except InputError as error:
            wrong.append(str(error))
        except LookupError:  # it looks for one that is missing
            pass
    if wrong:
        raise InputError(f'judge {kind!r}: {"; ".join(wrong)}')
    return factory, arguments


def _own_check(factory: Any) -> Any:
    """Return the check of the class, unless it is for the arguments of another constructor."""
    for owner in factory.__mro__:
        if 'check_arguments' in vars(owner):
            return factory.check_arguments
        if '__init__' in vars(owner):
            break
    return None


def _find(name: str) -> Any:
    """Return what a name or a dotted path stands for; None if it can be neither."""
    if name in JUDGES:
        return JUDGES[name]
    module, _, attribute = name.rpartition('.')
    if not module or not all(part.isidentifier() for part in name.split('.')):  # such as ../judge.txt
        return None
    try:
        return getattr(import_module(module), attribute, None)
    except ImportError as error:
        raise InputError(f'judge type {name!r} cannot be imported: {error}') from error
