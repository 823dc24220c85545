"""The engines: for each, the model part of a config, and what it refuses.

An engine is refused whatever its class would drop without a word, so that a name tells what was passed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import TemplateError
from .llms import Llm
from .names import ModelName, Settings

LOCAL_AXES = frozenset({'temperature', 'top_p', 'top_k', 'repetition_penalty', 'random_seed', 'max_out_len'})

NO_KEYS = frozenset({'ENV', 'EMPTY'})
"""What OpenAISDK may be given as key: $OPENAI_API_KEY, or the placeholder that local servers ignore."""

NO_TEMPERATURE = ('o1', 'o3', 'o4', 'gpt-5')
"""OpenAISDK sends no temperature to a model whose path contains one of these."""

PROMPT_ROOM = 8192
"""Tokens beside the response in the default context of an API model; with fewer it is shortened."""


@dataclass(frozen=True)
class Engine:
    """One value of a template's `engine`.

    `type` is the model class; `axes` are the fields of Settings and `options` the template variables (and
    keys of `llm_infos`) that reach it; `arguments` gives the engine's part of the constructor's arguments;
    `check` raises TemplateError for what the class would not do as told.
    """

    type: str
    axes: frozenset[str]
    options: frozenset[str]
    arguments: Callable[[Llm, Settings], dict[str, Any]]
    check: Callable[[Llm, Settings], None]
    needs_temperature: bool = True
    default_tp: int = 1


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
        'path': llm.path,
        **engine.arguments(llm, settings),
        'max_out_len': settings.max_out_len,
        'batch_size': llm.batch_size,
        'run_cfg': {'num_gpus': llm.tp},
    }


def _turbomind(llm: Llm, settings: Settings) -> dict[str, Any]:
    context = _chosen(llm, 'max_seq_len')
    session = {'session_len': context['max_seq_len']} if context else {}
    batch = {'tp': llm.tp, 'max_batch_size': llm.batch_size}
    return {
        'engine_config': {**batch, **session, **llm.options.get('engine_config', {})},
        'gen_config': _sampling(settings),
        **context,
        **_passed(settings, 'random_seed'),
    }


def _check_turbomind(llm: Llm, settings: Settings) -> None:
    _check_temperature(llm, settings)
    if llm.tp < 1:
        raise TemplateError(f"{llm.path}: tp is {llm.tp}; engine 'turbomind' needs at least one GPU")
    if 'tp' in llm.options.get('engine_config', {}):
        raise TemplateError(
            f'{llm.path}: engine_config has tp; write tp in llm_infos, it counts the GPUs too'
        )


def _huggingface(llm: Llm, settings: Settings) -> dict[str, Any]:
    return {
        **_chosen(llm, 'model_kwargs', 'tokenizer_kwargs'),
        'generation_kwargs': _sampling(settings),
        **_chosen(llm, 'max_seq_len'),
        **_passed(settings, 'random_seed'),
    }


def _openai(llm: Llm, settings: Settings) -> dict[str, Any]:
    roles = [{'role': 'HUMAN', 'api_role': 'HUMAN'}, {'role': 'BOT', 'api_role': 'BOT', 'generate': True}]
    top_p = _passed(settings, 'top_p')
    # Fields that the OpenAI client does not know reach a server in the body alone.
    body = {**llm.options.get('extra_body', {}), **_passed(settings, 'top_k', 'repetition_penalty')}
    return {
        'key': 'ENV',
        'meta_template': {'round': roles},
        # Only counts tokens; without it OpenCompass looks the model up on the hub.
        'tokenizer_path': 'gpt-4o',
        'max_seq_len': settings.max_out_len + PROMPT_ROOM,
        **{name: value for name, value in llm.options.items() if name != 'extra_body'},
        **_passed(settings, 'temperature'),
        **({'openai_extra_kwargs': top_p} if top_p else {}),
        **({'extra_body': body} if body else {}),
    }


def _check_openai(llm: Llm, settings: Settings) -> None:
    _check_temperature(llm, settings)
    _check_body(llm)
    if llm.tp:
        raise TemplateError(f'{llm.path}: tp is {llm.tp}, but an API model needs no GPU here; leave tp out')
    if llm.options.get('key', 'ENV') not in NO_KEYS:
        raise TemplateError(
            f"{llm.path}: key must be 'ENV' (OpenAISDK reads $OPENAI_API_KEY) or 'EMPTY' (a server that "
            'needs none); anything else would be sent and written down as the key itself'
        )
    hit = next((part for part in NO_TEMPERATURE if part in llm.path), None)
    if hit and settings.temperature is not None:
        raise TemplateError(
            f'{llm.path}: OpenAISDK sends no temperature to a model with {hit!r} in its path; put such '
            'models into a template of their own without temperatures'
        )


def _check_body(llm: Llm) -> None:
    fixed = {'seed', 'random_seed', 'n', 'temperature', 'top_p', 'top_k', 'repetition_penalty', 'max_tokens'}
    if taken := fixed & set(llm.options.get('extra_body', {})):
        raise TemplateError(
            f'{llm.path}: extra_body has {sorted(taken)}; use the axes for sampling, and no fixed seed: it '
            'would make the n samples of a question copies of each other'
        )


def _sampling(settings: Settings) -> dict[str, Any]:
    if settings.greedy:
        # Neutral: transformers would take the penalty of the model's generation_config.json instead.
        return {'do_sample': False, 'repetition_penalty': 1.0}
    passed = _passed(settings, 'temperature', 'top_p', 'top_k', 'repetition_penalty')
    return {'do_sample': True, **passed}


def _passed(settings: Settings, *fields: str) -> dict[str, Any]:
    return {field: value for field in fields if (value := getattr(settings, field)) is not None}


def _chosen(llm: Llm, *options: str) -> dict[str, Any]:
    return {name: llm.options[name] for name in options if name in llm.options}


def _check_temperature(llm: Llm, settings: Settings) -> None:
    if settings.temperature is not None and settings.temperature > 2:
        raise TemplateError(f'{llm.path}: temperature {settings.temperature}; this engine takes at most 2')


def _check_context(llm: Llm, settings: Settings) -> None:
    context = llm.options.get('max_seq_len')
    if context is not None and context <= settings.max_out_len:
        raise TemplateError(
            f'{llm.path}: max_seq_len {context} leaves no room for the prompt beside max_out_len '
            f'{settings.max_out_len}; raise the one or lower the other'
        )


def _accept(llm: Llm, settings: Settings) -> None:
    """For an engine that does what it is told."""


ENGINES: dict[str, Engine] = {
    'turbomind': Engine(
        type='gpassk_opencompass.SeededTurboMind',
        axes=LOCAL_AXES,
        options=frozenset({'engine_config', 'max_seq_len'}),
        arguments=_turbomind,
        check=_check_turbomind,
    ),
    'huggingface': Engine(
        type='gpassk_opencompass.SeededHuggingFace',
        axes=LOCAL_AXES,
        options=frozenset({'model_kwargs', 'tokenizer_kwargs', 'max_seq_len'}),
        arguments=_huggingface,
        check=_accept,
    ),
    'openai': Engine(
        type='opencompass.models.OpenAISDK',
        axes=LOCAL_AXES - {'random_seed'},
        options=frozenset(
            {
                'extra_body',
                'key',
                'max_seq_len',
                'max_workers',
                'openai_api_base',
                'query_per_second',
                'retry',
                'timeout',
                'tokenizer_path',
            }
        ),
        arguments=_openai,
        check=_check_openai,
        needs_temperature=False,
        default_tp=0,
    ),
}
