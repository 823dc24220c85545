"""The engines that a template may name, and what it takes to add one; see docs/extending.md.

An engine refuses whatever its class would drop without a word, so that a name tells what was passed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import TemplateError
from ..naming.names import ModelName, Settings
from ..registry import Registry
from .axes import NOT_NEGATIVE, POSITIVE, Number, nearest
from .models import Llm, OptionKind

__all__ = [
    'ENGINES',
    'NOT_NEGATIVE',
    'POSITIVE',
    'Engine',
    'Llm',
    'Number',
    'Settings',
    'Starter',
    'check_temperature',
    'chosen',
    'model_config',
    'passed',
    'refuse_keys',
    'refuse_unknown_keys',
    'with_home',
]

DEFAULT_ENGINE = 'turbomind'

PIPELINE = 'pipeline_parallel_size'


@dataclass(frozen=True)
class Starter:
    """What a first template for an engine says, as `gpassk init --engine` writes it.

    Args:
        about: the comment above `engine = …`: who runs the models, and how it is installed.
        entries: the comment above `llm_infos`: what its entries say.
        model: the path that stands there if the user names no model.
        fields: what stands beside the path, such as 'tp=1, batch_size=64'.
        lines: further lines of the template, each with its line break.
        sampling: the axes that the engine takes beside `temperatures` and `max_out_lens`.
        no_temperature: for a model whose path contains one of these no temperatures are written.
    """

    about: str
    entries: str
    model: str
    fields: str
    lines: str = ''
    sampling: tuple[str, ...] = ('top_ps', 'top_ks', 'repetition_penalties')
    no_temperature: tuple[str, ...] = ()


def _accept(llm: Llm, settings: Settings) -> None:
    """Refuse nothing."""


@dataclass(frozen=True)
class Engine:
    """One value of a template's `engine`: how a model and its settings become a config of OpenCompass.

    Args:
        type: the model class as a config names it, 'package.module.Class': a child of OpenCompass's
            `BaseModel` that can be imported where OpenCompass runs. It is not imported before.
        options: the template's lines, also keys of `llm_infos`, that the engine takes beside path, tp,
            batch_size and the sampling axes: name → a `Number` or the type of its value.
        arguments: (llm, settings) → the arguments of the class beside `abbr`, `path`, `max_out_len`,
            `batch_size` and `run_cfg`, as a dict of literals. Only what was given may be passed: a
            setting that is None is left to the engine's default.
        check: (llm, settings) → None; raises TemplateError for what the class would not do as told.
        starter: what `gpassk init` writes.
        loads: the model is loaded by the class itself, so its path may be a folder, and a leading `~` is
            the home directory; else it is a name that a server knows.
        needs_temperature: a template without `temperatures` is refused.
        default_tp: GPUs of a model that does not say.
        default_seed: the run's seed where a template has no `random_seeds`; None for no seeds.
        may_be_unseeded: `random_seeds = None` is allowed.
    """

    type: str
    options: Mapping[str, OptionKind]
    arguments: Callable[[Llm, Settings], dict[str, Any]]
    starter: Starter
    check: Callable[[Llm, Settings], None] = _accept
    loads: bool = False
    needs_temperature: bool = True
    default_tp: int = 1
    default_seed: int | None = 42
    may_be_unseeded: bool = False


_LOCAL, _SERVERS = f'{__package__}.local_engines', f'{__package__}.server_engines'

ENGINES: Registry[Engine] = Registry(
    'gpassk_opencompass.engines',
    'engine',
    {
        'turbomind': f'{_LOCAL}:TURBOMIND',
        'pytorch': f'{_LOCAL}:PYTORCH',
        'vllm': f'{_LOCAL}:VLLM',
        'huggingface': f'{_LOCAL}:HUGGINGFACE',
        'openai': f'{_SERVERS}:OPENAI',
        'lmdeploy_server': f'{_SERVERS}:LMDEPLOY_SERVER',
        'serve': f'{__package__}.serve_engine:SERVE',
    },
    lambda _, found: isinstance(found, Engine),
    'an Engine',
)
"""The values of a template's `engine`, also those of other packages."""


def model_config(engine: Engine, name: ModelName, llm: Llm) -> dict[str, Any]:
    """Return the model of one run, as OpenCompass takes it.

    Raises:
        TemplateError: the engine would not run this model as the settings say.
    """
    settings = name.settings
    context = llm.options.get('max_seq_len')
    if context is not None and context <= settings.max_out_len:
        raise TemplateError(
            f'{llm.path}: max_seq_len {context} leaves no room for the prompt beside max_out_len '
            f'{settings.max_out_len}; raise the one or lower the other'
        )
    engine.check(llm, settings)
    return {
        'type': engine.type,
        'abbr': str(name),
        'path': with_home(llm.path) if engine.loads else llm.path,
        **engine.arguments(llm, settings),
        'max_out_len': settings.max_out_len,
        'batch_size': llm.batch_size,
        'run_cfg': {'num_gpus': llm.tp * _stages(llm)},
    }


def _stages(llm: Llm) -> int:
    """Return over how many GPUs the layers of a model are divided, beside tp."""
    given = llm.options.get('model_kwargs', {}).get(PIPELINE, llm.options.get('pp', 1))
    return int(POSITIVE.read(given, f'{llm.path}: model_kwargs[{PIPELINE!r}]'))


def with_home(path: str) -> str:
    """Return a path with the home directory for a leading `~`, which no engine knows.

    Raises:
        TemplateError: it is the home directory of nobody.
    """
    found = os.path.expanduser(path)
    if found.startswith('~'):
        raise TemplateError(f'{path}: there is no such home directory; write the whole path')
    return found


def passed(settings: Settings, *fields: str) -> dict[str, Any]:
    """Return those of the fields that the template gave."""
    return {field: value for field in fields if (value := getattr(settings, field)) is not None}


def chosen(llm: Llm, *options: str) -> dict[str, Any]:
    """Return those of the options that the template gave for this model."""
    return {name: llm.options[name] for name in options if name in llm.options}


def refuse_keys(llm: Llm, option: str, keys: Iterable[str], reason: str) -> None:
    """Raise TemplateError if a dict among the options has one of the keys."""
    if taken := sorted(set(keys) & set(llm.options.get(option, {}))):
        raise TemplateError(f'{llm.path}: {option} has {taken}; {reason}')


def refuse_unknown_keys(llm: Llm, option: str, known: frozenset[str], reason: str) -> None:
    """Raise TemplateError if a dict among the options has a key that is not known."""
    for key in llm.options.get(option, {}):
        if key not in known:
            near = nearest(str(key), known)
            question = f'; did you mean {near!r}?' if near else ''
            raise TemplateError(f'{llm.path}: {option} has {key!r}, {reason}{question}')


def check_temperature(llm: Llm, settings: Settings) -> None:
    """Raise TemplateError for a temperature that lmdeploy, vLLM and OpenAI refuse."""
    if settings.temperature is not None and settings.temperature > 2:
        raise TemplateError(f'{llm.path}: temperature {settings.temperature}; this engine takes at most 2')
