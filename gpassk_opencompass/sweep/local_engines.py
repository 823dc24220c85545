"""Engines that load the model here: lmdeploy's two, vLLM and transformers."""

from __future__ import annotations

from typing import Any

from ..errors import TemplateError
from ..naming.names import Settings
from .engine import Engine, Starter, check_temperature, chosen, passed, refuse_keys
from .llms import Llm
from .lmdeploy_fields import PYTORCH_ENGINE, TURBOMIND_ENGINE, VERSION
from .spelling import nearest

STARTING_MODEL = 'Qwen/Qwen2.5-7B-Instruct'
"""That of a first template, for engines that load what is on the hub."""

INSTALL = 'pip install "gpassk_opencompass[{}]"'.format
ENTRIES = 'path: a hub name or a folder. tp: GPUs a model. batch_size: requests at a time.'

VLLM_LEAST_TEMPERATURE = 0.01
"""vLLM raises a temperature between 0 and this one to it."""


def _turbomind(llm: Llm, settings: Settings) -> dict[str, Any]:
    context = chosen(llm, 'max_seq_len')
    session = {'session_len': context['max_seq_len']} if context else {}
    batch = {'tp': llm.tp, 'max_batch_size': llm.batch_size}
    return {
        'engine_config': {**batch, **session, **llm.options.get('engine_config', {})},
        'gen_config': _sampling(settings),
        **context,
        **passed(settings, 'random_seed'),
    }


def _pytorch(llm: Llm, settings: Settings) -> dict[str, Any]:
    return {'backend': 'pytorch', **_turbomind(llm, settings)}


def _huggingface(llm: Llm, settings: Settings) -> dict[str, Any]:
    return {
        **chosen(llm, 'model_kwargs', 'tokenizer_kwargs'),
        'generation_kwargs': _sampling(settings),
        **chosen(llm, 'max_seq_len'),
        **passed(settings, 'random_seed'),
    }


def _vllm(llm: Llm, settings: Settings) -> dict[str, Any]:
    context = chosen(llm, 'max_seq_len')
    length = {'max_model_len': context['max_seq_len']} if context else {}
    sampling = {key: value for key, value in _sampling(settings).items() if key != 'do_sample'}
    return {
        'model_kwargs': {'tensor_parallel_size': llm.tp, **length, **llm.options.get('model_kwargs', {})},
        'generation_kwargs': {'temperature': settings.temperature, **sampling},
        **context,
        **chosen(llm, 'chat_template_kwargs'),
        **passed(settings, 'random_seed'),
    }


def _sampling(settings: Settings) -> dict[str, Any]:
    if settings.greedy:
        # Neutral: transformers would take the penalty of the model's generation_config.json instead.
        return {'do_sample': False, 'repetition_penalty': 1.0}
    return {'do_sample': True, **passed(settings, 'temperature', 'top_p', 'top_k', 'repetition_penalty')}


def _check_turbomind(llm: Llm, settings: Settings) -> None:
    _check_lmdeploy(llm, settings, 'turbomind', TURBOMIND_ENGINE)


def _check_pytorch(llm: Llm, settings: Settings) -> None:
    _check_lmdeploy(llm, settings, 'pytorch', PYTORCH_ENGINE)


def _check_lmdeploy(llm: Llm, settings: Settings, engine: str, fields: frozenset[str]) -> None:
    check_temperature(llm, settings)
    _check_gpus(llm, engine)
    refuse_keys(llm, 'engine_config', ['tp'], 'write tp in llm_infos, it counts the GPUs too')
    for key in llm.options.get('engine_config', {}):
        if key not in fields:
            near = nearest(str(key), fields)
            raise TemplateError(
                f'{llm.path}: engine_config has {key!r}, which lmdeploy {VERSION} does not know for engine '
                f'{engine!r} and OpenCompass would drop' + (f'; did you mean {near!r}?' if near else '')
            )


def _check_vllm(llm: Llm, settings: Settings) -> None:
    check_temperature(llm, settings)
    _check_gpus(llm, 'vllm')
    refuse_keys(
        llm, 'model_kwargs', ['tensor_parallel_size'], 'write tp in llm_infos, it counts the GPUs too'
    )
    if 'max_seq_len' in llm.options:
        refuse_keys(llm, 'model_kwargs', ['max_model_len'], 'max_seq_len says the same; give one of them')
    if settings.temperature and settings.temperature < VLLM_LEAST_TEMPERATURE:
        raise TemplateError(
            f'{llm.path}: temperature {settings.temperature}; vLLM would make it {VLLM_LEAST_TEMPERATURE}, '
            'so write that, or 0 for the greedy run'
        )


def _check_gpus(llm: Llm, engine: str) -> None:
    if llm.tp < 1:
        raise TemplateError(f'{llm.path}: tp is {llm.tp}; engine {engine!r} needs at least one GPU')


def _accept(llm: Llm, settings: Settings) -> None:
    """For an engine that does what it is told."""


TURBOMIND = Engine(
    type='gpassk_opencompass.SeededTurboMind',
    loads=True,
    options=frozenset({'engine_config', 'max_seq_len'}),
    arguments=_turbomind,
    check=_check_turbomind,
    starter=Starter(
        about=f"lmdeploy's TurboMind, on GPUs of this machine: {INSTALL('lmdeploy')}",
        entries=ENTRIES,
        model=STARTING_MODEL,
        fields='tp=1, batch_size=64',
    ),
)
PYTORCH = Engine(
    type='gpassk_opencompass.SeededTurboMind',
    loads=True,
    options=frozenset({'engine_config', 'max_seq_len'}),
    arguments=_pytorch,
    check=_check_pytorch,
    starter=Starter(
        about=f"lmdeploy's PyTorch engine, on GPUs of this machine: {INSTALL('lmdeploy')}",
        entries=ENTRIES,
        model=STARTING_MODEL,
        fields='tp=1, batch_size=64',
    ),
)
VLLM = Engine(
    type='gpassk_opencompass.SeededVLLM',
    loads=True,
    options=frozenset({'model_kwargs', 'max_seq_len', 'chat_template_kwargs'}),
    arguments=_vllm,
    check=_check_vllm,
    starter=Starter(
        about=f'vLLM, on GPUs of this machine: {INSTALL("vllm")}',
        entries=ENTRIES,
        model=STARTING_MODEL,
        fields='tp=1, batch_size=64',
    ),
)
HUGGINGFACE = Engine(
    type='gpassk_opencompass.SeededHuggingFace',
    loads=True,
    options=frozenset({'model_kwargs', 'tokenizer_kwargs', 'max_seq_len'}),
    arguments=_huggingface,
    check=_accept,
    starter=Starter(
        about=f'transformers, on any machine: {INSTALL("opencompass")}',
        entries=f'{ENTRIES} tp=0: no GPU.',
        model=STARTING_MODEL,
        fields='tp=1, batch_size=16',
    ),
)
