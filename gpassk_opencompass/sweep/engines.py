"""The engines that a template may name: how a model and its settings become a model of OpenCompass.

An engine refuses whatever its class would drop without a word, so that a name tells what was passed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from ..errors import InputError, TemplateError
from ..servers import endpoints
from ..serving import PRESETS, Preset, read_serve
from .names import ModelName, Settings, last_part

OWN = 'gpassk_opencompass.'
"""Begins the path of a class of this package, as configs name it."""
DEFAULT_ENGINE = 'turbomind'

Whole = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]


def addresses(value: Any) -> Any:
    """Return an address or a list of them, with or without /v1; InputError for what is none."""
    if value:
        endpoints(value, 'key_env')
    return value


def with_home(path: str) -> str:
    """Return a path with the home directory for a leading `~`, which no engine knows, else TemplateError."""
    whole = os.path.expanduser(path)
    if whole.startswith('~'):
        raise TemplateError(f'{path}: there is no such home directory; write the whole path')
    return whole


@dataclass(frozen=True)
class Llm:
    """One model of a template, and what its engine would not do as told: each of `mistakes` once."""

    path: str
    tp: int
    batch_size: int
    options: Mapping[str, Any]
    mistakes: dict[str, None] = field(default_factory=dict)

    def chosen(self, *options: str) -> dict[str, Any]:
        """Return those of the options that the template gave."""
        return {name: self.options[name] for name in options if name in self.options}

    def refuse(self, reason: str) -> None:
        """Note a mistake."""
        self.mistakes[f'{self.path}: {reason}'] = None


@dataclass(frozen=True)
class Engine:
    """One value of a template's `engine`.

    Args:
        options: what its models have beside path, tp, batch_size and the sampling axes: name → its type.
        arguments: (llm, settings) → arguments of the class `type` beside those that `config` gives.
        about, entry, example: of a first template: a comment, what stands beside a path, and a path.
        gpus: how many a model takes, from … to; with none at all its path is a name that a server knows.
        never: option → the keys that it may not have, and why.
        api: settings of the sampling and seeds are passed only where the template has them.
        unseeded: `random_seeds = None` is allowed.
        hottest: the highest temperature that it takes.
    """

    type: str
    options: Mapping[str, Any]
    arguments: Callable[[Llm, Settings], dict[str, Any]]
    about: str
    entry: str = 'tp=1, batch_size=64'
    example: str = 'Qwen/Qwen2.5-7B-Instruct'
    gpus: tuple[int, float] = (1, inf)
    never: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    api: bool = False
    unseeded: bool = False
    hottest: float = 2.0

    def config(self, name: ModelName, llm: Llm) -> dict[str, Any]:
        """Return the model of one run, as OpenCompass takes it; what cannot be is noted in `llm.mistakes`."""
        settings, context, (least, most) = name.settings, llm.options.get('max_seq_len'), self.gpus
        if not least <= llm.tp <= most:
            takes = 'needs at least one GPU' if most else 'needs no GPU here: leave tp out'
            llm.refuse(f'tp is {llm.tp}, but a model of this engine {takes}')
        for option, keys in self.never.items():
            for key in keys.keys() & llm.options.get(option, {}).keys():
                llm.refuse(f'{option} has {key!r}; {keys[key]}')
        if (settings.temperature or 0) > self.hottest:
            llm.refuse(f'temperature {settings.temperature}; this engine takes at most {self.hottest:.0f}')
        if context is not None and context <= settings.max_out_len:
            llm.refuse(
                f'max_seq_len {context} leaves no room for the prompt beside max_out_len '
                f'{settings.max_out_len}; raise the one or lower the other'
            )
        stages = llm.options.get('model_kwargs', {}).get('pipeline_parallel_size', llm.options.get('pp', 1))
        if type(stages) is not int or stages < 1:
            llm.refuse(f'model_kwargs has pipeline_parallel_size = {stages!r}; expected 1 or more')
        return {
            'type': self.type,
            'abbr': str(name),
            'path': with_home(llm.path) if most else llm.path,
            **self.arguments(llm, settings),
            'max_out_len': settings.max_out_len,
            'batch_size': llm.batch_size,
            'run_cfg': {'num_gpus': llm.tp * stages},
        }


# Engines that load the model on GPUs of this machine


def _sampling(settings: Settings) -> dict[str, Any]:
    if settings.greedy:
        # Neutral: transformers would take the penalty of the model's generation_config.json instead.
        return {'do_sample': False, 'repetition_penalty': 1.0}
    return {'do_sample': True, **settings.passed('temperature', 'top_p', 'top_k', 'repetition_penalty')}


def _lmdeploy(llm: Llm, settings: Settings, backend: Mapping[str, str]) -> dict[str, Any]:
    context = llm.chosen('max_seq_len')
    own = {'tp': llm.tp, 'max_batch_size': llm.batch_size}
    own |= {'session_len': context['max_seq_len']} if context else {}
    return {
        **backend,
        'engine_config': {**own, **llm.options.get('engine_config', {})},
        'gen_config': _sampling(settings),
        **context,
        **settings.passed('random_seed'),
    }


def _huggingface(llm: Llm, settings: Settings) -> dict[str, Any]:
    return {
        **llm.chosen('model_kwargs', 'tokenizer_kwargs', 'max_seq_len'),
        'generation_kwargs': _sampling(settings),
        **settings.passed('random_seed'),
    }


def _vllm(llm: Llm, settings: Settings) -> dict[str, Any]:
    given, context = llm.options.get('model_kwargs', {}), llm.chosen('max_seq_len')
    if context and 'max_model_len' in given:
        llm.refuse('model_kwargs has max_model_len, and max_seq_len says the same; give one of them')
    if 0 < (settings.temperature or 0) < 0.01:
        llm.refuse(
            f'temperature {settings.temperature}; vLLM would make it 0.01: write that, or 0 for greedy'
        )
    length = {'max_model_len': context['max_seq_len']} if context else {}
    sampling = {key: value for key, value in _sampling(settings).items() if key != 'do_sample'}
    return {
        'model_kwargs': {'tensor_parallel_size': llm.tp, **length, **given},
        'generation_kwargs': {'temperature': settings.temperature, **sampling},
        **llm.chosen('max_seq_len', 'chat_template_kwargs'),
        **settings.passed('random_seed'),
    }


# Engines that ask a server

TOKENIZER = 'gpt-4o'
"""Whose tokens are counted unless a template says otherwise; else the model is looked up on the hub."""


def no_temperature(path: str) -> str:
    """Return the part of a model's path for which OpenAISDK sends no temperature; '' if there is none."""
    return next((part for part in ('o1', 'o3', 'o4', 'gpt-5') if part in path), '')


_NEVER_IN_BODY = {
    **dict.fromkeys(
        ('seed', 'random_seed', 'n'),
        'a fixed seed would make the n samples of a question copies of each other; random_seeds = [42] gives '
        'each its own',
    ),
    **dict.fromkeys(
        ('temperature', 'top_p', 'top_k', 'repetition_penalty'),
        'write them as axes, so that they are in the name',
    ),
    **dict.fromkeys(
        'max_tokens max_completion_tokens messages model stream input_ids session_id'.split(),
        'these are set for each request; remove them',
    ),
}


def _openai(llm: Llm, settings: Settings) -> dict[str, Any]:
    if {'key', 'key_env'} <= set(llm.options):
        llm.refuse('both key and key_env are given; give one of them')
    bases = llm.options.get('openai_api_base', [])
    hosts = [f'.{urlsplit(url).hostname}' for url in ([bases] if isinstance(bases, str) else bases)]
    theirs = not hosts or any(host.endswith(('.openai.com', '.azure.com')) for host in hosts)
    part = no_temperature(llm.path)
    if part and settings.temperature is not None and theirs:
        llm.refuse(
            f'OpenAISDK sends no temperature to a model with {part!r} in its path, and OpenAI takes none: '
            'no temperatures in a template of such models, or the openai_api_base of a server of yours'
        )
    own = {name: value for name, value in llm.options.items() if name != 'extra_body'}
    key = {} if 'key_env' in own else {'key': 'ENV'}
    body = llm.options.get('extra_body', {})
    return {**key, 'tokenizer_path': TOKENIZER, **_request(llm, settings, own, body, bool(part))}


def _request(
    llm: Llm, settings: Settings, own: Mapping[str, Any], body: Mapping[str, Any], temperature_dropped: bool
) -> dict[str, Any]:
    """Return the arguments of `SeededOpenAISDK`."""
    # Fields that the OpenAI client does not know reach a server in the body alone.
    body = {**body, **settings.passed('top_k', 'repetition_penalty')}
    always = settings.passed('top_p', *(['temperature'] if temperature_dropped else []))
    roles = [{'role': 'HUMAN', 'api_role': 'HUMAN'}, {'role': 'BOT', 'api_role': 'BOT', 'generate': True}]
    tokenizer = {'tokenizer_path': with_home(own['tokenizer_path'])} if 'tokenizer_path' in own else {}
    return {
        'meta_template': {'round': roles},
        'max_seq_len': settings.max_out_len + 8192,  # with fewer tokens a prompt is shortened
        'max_workers': llm.batch_size,  # else as few requests at a time as the machine has cores
        **own,
        **tokenizer,
        **settings.passed('temperature'),
        **({'openai_extra_kwargs': always} if always else {}),
        **({'extra_body': body} if body else {}),
        **settings.passed('random_seed'),
    }


def _lmdeploy_server(llm: Llm, settings: Settings) -> dict[str, Any]:
    if not llm.options.get('api_addr'):
        llm.refuse("api_addr is missing: where is the server? 'http://node1:23333'")
    sampling: dict[str, Any] = settings.passed('temperature', 'top_p', 'top_k')
    if settings.greedy:
        # The server always samples; this is what lmdeploy itself makes of a greedy GenerationConfig.
        sampling = {'temperature': 1.0, 'top_p': 1.0, 'top_k': 1}
        settings = replace(settings, repetition_penalty=1.0)
    body = {**llm.options.get('extra_body', {}), **settings.passed('repetition_penalty')}
    return {
        **llm.chosen('api_addr', 'key_env', *_ASKING),
        **sampling,
        **({'gen_config': body} if body else {}),
        **settings.passed('random_seed'),
    }


def _serve(llm: Llm, settings: Settings) -> dict[str, Any]:
    """Return the arguments of `SeededServed`, which starts the model's server by itself."""
    own = dict(llm.options)
    server, pp = own.pop('server', None), own.pop('pp', 1)
    try:
        serve = read_serve(own.pop('serve', {}), server)
    except InputError as error:
        raise TemplateError(f'{llm.path}: {error}') from error
    preset = PRESETS.get(server or '', Preset(''))
    if pp > 1 and '{pp}' not in serve.command:
        llm.refuse(
            f'pp is {pp}, and the command line of the server has no {{pp}}: remove pp, or add it there'
        )
    if 'max_seq_len' in own and 'tokenizer_path' not in own:
        llm.refuse(
            'max_seq_len does nothing without tokenizer_path, which counts prompts; the limit of the server '
            'belongs into its arguments, as --max-model-len'
        )
    path = with_home(llm.path)
    name = own.pop('served_name', path if preset.named_by_path else last_part(path))
    body = own.pop('extra_body', {})
    if not settings.greedy:
        body = {**preset.to_sample, **body}
    elif preset.always_samples:
        body = {**body, 'top_k': 1, 'repetition_penalty': 1.0}
        settings = replace(settings, temperature=1.0, top_p=1.0, top_k=None, repetition_penalty=None)
    given = _request(llm, settings, own, body, bool(no_temperature(name)))
    if fields := given.get('extra_body'):
        penalty = {'repetition_penalty': preset.repetition_penalty}
        given['extra_body'] = {penalty.get(one, one): value for one, value in fields.items()}
    return {
        'serve': serve.config(),
        'served_name': name,
        'tp': max(1, llm.tp),
        **llm.chosen('pp'),
        **given,
    }


# All of them


_ASKING = {
    **dict.fromkeys(('max_workers', 'retry'), Count),
    **dict.fromkeys(('patience', 'query_per_second', 'timeout'), Positive),
}
"""How a server is asked, and how hard."""
_REQUEST = {'extra_body': dict, 'key_env': Annotated[str, Field(pattern='^[A-Z][A-Z0-9_]*$')], **_ASKING}
_LOCAL = 'path: a hub name or a folder. tp: GPUs a model. batch_size: requests at a time.'
_TP = 'write tp in llm_infos, it counts the GPUs too'


def _turbomind(called: str, backend: Mapping[str, str]) -> Engine:
    return Engine(
        type=f'{OWN}SeededTurboMind',
        options={'engine_config': dict, 'max_seq_len': Count},
        arguments=partial(_lmdeploy, backend=backend),
        about=f'lmdeploy\'s {called}, on GPUs here: pip install "gpassk_opencompass[lmdeploy]"\n{_LOCAL}',
        never={'engine_config': {'tp': _TP}},
    )


ENGINES: Mapping[str, Engine] = {
    'turbomind': _turbomind('TurboMind', {}),
    'pytorch': _turbomind('PyTorch engine', {'backend': 'pytorch'}),
    'vllm': Engine(
        type=f'{OWN}SeededVLLM',
        options={'model_kwargs': dict, 'max_seq_len': Count, 'chat_template_kwargs': dict},
        arguments=_vllm,
        about=f'vLLM, on GPUs of this machine: pip install "gpassk_opencompass[vllm]"\n{_LOCAL}',
        never={'model_kwargs': {'tensor_parallel_size': _TP}},
    ),
    'huggingface': Engine(
        type=f'{OWN}SeededHuggingFace',
        options={'model_kwargs': dict, 'tokenizer_kwargs': dict, 'max_seq_len': Count},
        arguments=_huggingface,
        about='transformers, on any machine: pip install "gpassk_opencompass[opencompass]"\n'
        f'{_LOCAL} tp=0: no GPU.',
        entry='tp=1, batch_size=16',
        gpus=(0, inf),
        hottest=inf,
    ),
    'openai': Engine(
        type=f'{OWN}SeededOpenAISDK',
        options={
            **{**_REQUEST, 'max_seq_len': Count, 'tokenizer_path': str},
            **{'key': Literal['ENV', 'EMPTY'], 'openai_api_base': Annotated[Any, AfterValidator(addresses)]},
        },
        arguments=_openai,
        about="""\
An API, or a server of yours, that speaks OpenAI's protocol. No key belongs here: key_env names the
environment variable that holds it (default: OPENAI_API_KEY). openai_api_base='http://node1:8000/v1': where
the API is (default: OpenAI, or $OPENAI_BASE_URL); a list: several servers, all of which are asked.
query_per_second = 8: no more requests than this. tokenizer_path='org/model': counts the tokens of prompts
(default: that of gpt-4o, which is downloaded).""",
        entry='batch_size=32',
        example='gpt-4o-2024-11-20',
        gpus=(0, 0),
        never={'extra_body': _NEVER_IN_BODY},
        api=True,
        unseeded=True,
    ),
    'lmdeploy_server': Engine(
        type=f'{OWN}SeededTurboMindAPI',
        options={**_REQUEST, 'api_addr': Annotated[Any, AfterValidator(addresses)]},
        arguments=_lmdeploy_server,
        about="""\
A server of lmdeploy, started with `lmdeploy serve api_server PATH --model-name NAME`. path: that NAME.
api_addr: where it listens; a list: several servers. batch_size: requests at a time.""",
        entry="api_addr='http://localhost:23333', batch_size=64",
        example='Qwen2.5-7B-Instruct',
        gpus=(0, 0),
        never={'extra_body': _NEVER_IN_BODY},
        unseeded=True,
    ),
    'serve': Engine(
        type=f'{OWN}SeededServed',
        options={
            **{**_REQUEST, 'serve': dict, 'pp': Count, 'max_seq_len': Count},
            **dict.fromkeys(('server', 'served_name', 'tokenizer_path'), str),
        },
        arguments=_serve,
        about=f"""\
A server that is started for each model: server = 'vllm', 'sglang', 'lmdeploy', 'llama.cpp' or
'transformers'. {_LOCAL}
The program must be on $PATH, or be named:
serve = dict(command='/…/bin/vllm serve {{model}} --port {{port}} …').""",
        gpus=(0, inf),
        never={'extra_body': _NEVER_IN_BODY},
        unseeded=True,
    ),
}
"""The values of a template's `engine`."""


def shipped_templates() -> dict[str, Path]:
    """Return name → file of each template that comes with the package."""
    package = Path(__file__).resolve().parents[1]
    installed = package / 'templates'  # where setup.py puts those of a clone
    folder = installed if installed.is_dir() else package.parent / 'config_templates'
    return {path.stem: path for path in sorted(folder.glob('*.py'))}
