"""What an engine is, and the model part of a config."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..errors import TemplateError
from ..naming.names import ModelName, Settings
from .llms import Llm


@dataclass(frozen=True)
class Starter:
    """What a first template for an engine says, as `gpassk init` writes it.

    `about` is the comment above `engine`, `entries` that above `llm_infos`; `model` is the one that stands
    there if the user names none, `fields` what stands beside its path. `lines` are options of the engine;
    `sampling` are the axes that it takes beside `temperatures` and `max_out_lens`.
    """

    about: str
    entries: str
    model: str
    fields: str
    lines: str = ''
    sampling: tuple[str, ...] = ('top_ps', 'top_ks', 'repetition_penalties')


@dataclass(frozen=True)
class Engine:
    """One value of a template's `engine`.

    `type` is the model class; `options` are the template variables (and keys of `llm_infos`) that reach it
    beside the sampling axes; `arguments` gives the engine's part of the constructor's arguments; `check`
    raises TemplateError for what the class would not do as told; `starter` is a first template. `loads`: the
    model is loaded here, so its path may be a folder; else it is a name that a server knows. `default_seed`
    is the run's seed where a template has no `random_seeds`, None for no seeds; `may_be_unseeded` allows
    `random_seeds = None`.
    """

    type: str
    options: frozenset[str]
    arguments: Callable[[Llm, Settings], dict[str, Any]]
    check: Callable[[Llm, Settings], None]
    starter: Starter
    loads: bool = False
    needs_temperature: bool = True
    default_tp: int = 1
    default_seed: int | None = 42
    may_be_unseeded: bool = False


def model_config(engine: Engine, name: ModelName, llm: Llm) -> dict[str, Any]:
    """The model of one run, as OpenCompass takes it.

    Raises:
        TemplateError: the engine would not run this model as the settings say.
    """
    settings = name.settings
    _check_context(llm, settings)
    engine.check(llm, settings)
    return {
        'type': engine.type,
        'abbr': str(name),
        'path': with_home(llm.path) if engine.loads else llm.path,
        **engine.arguments(llm, settings),
        'max_out_len': settings.max_out_len,
        'batch_size': llm.batch_size,
        'run_cfg': {'num_gpus': llm.tp},
    }


def with_home(path: str) -> str:
    """A path with the home directory for a leading `~`, which no engine knows.

    Raises:
        TemplateError: it is the home directory of nobody.
    """
    found = os.path.expanduser(path)
    if found.startswith('~'):
        raise TemplateError(f'{path}: there is no such home directory; write the whole path')
    return found


def passed(settings: Settings, *fields: str) -> dict[str, Any]:
    """Those of the fields that the template gave."""
    return {field: value for field in fields if (value := getattr(settings, field)) is not None}


def chosen(llm: Llm, *options: str) -> dict[str, Any]:
    """Those of the options that the template gave for this model."""
    return {name: llm.options[name] for name in options if name in llm.options}


def refuse_keys(llm: Llm, option: str, keys: Iterable[str], reason: str) -> None:
    """TemplateError if a dict among the options has one of the keys."""
    if taken := sorted(set(keys) & set(llm.options.get(option, {}))):
        raise TemplateError(f'{llm.path}: {option} has {taken}; {reason}')


def check_temperature(llm: Llm, settings: Settings) -> None:
    """TemplateError for a temperature that lmdeploy, vLLM and OpenAI refuse."""
    if settings.temperature is not None and settings.temperature > 2:
        raise TemplateError(f'{llm.path}: temperature {settings.temperature}; this engine takes at most 2')


def _check_context(llm: Llm, settings: Settings) -> None:
    context = llm.options.get('max_seq_len')
    if context is not None and context <= settings.max_out_len:
        raise TemplateError(
            f'{llm.path}: max_seq_len {context} leaves no room for the prompt beside max_out_len '
            f'{settings.max_out_len}; raise the one or lower the other'
        )
