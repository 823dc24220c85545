"""The engines that a template may name: how a model and its settings become a model of OpenCompass.

An engine refuses whatever its class would drop without a word, so that a name tells what was passed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field

from ..errors import InputError, TemplateError
from ..serving import PRESETS, Preset, Serve, read_serve
from ..text import words
from .names import ModelName, Settings, last_part

DEFAULT_ENGINE = 'turbomind'

Whole = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]


def _text_or_list(value: Any) -> Any:
    if not isinstance(value, (str, list)):
        raise ValueError('expected an address, or a list of them')
    return value


Addresses = Annotated[Any, BeforeValidator(_text_or_list)]


@dataclass(frozen=True)
class Llm:
    """One model of a template.

    Args:
        path: what the engine loads: a name of the hub, a folder, or the name that a server knows.
        name: what it is called.
        tp: how many GPUs it takes; 0 for none.
        batch_size: requests at a time.
        options: of its engine, by name; those of the whole template and its own.
    """

    path: str
    name: str
    tp: int
    batch_size: int
    options: Mapping[str, Any]

    def chosen(self, *options: str) -> dict[str, Any]:
        """Return those of the options that the template gave."""
        return {name: self.options[name] for name in options if name in self.options}


@dataclass(frozen=True)
class Engine:
    """One value of a template's `engine`.

    Args:
        type: the model class as a config names it.
        options: the template's lines, also keys of `llm_infos`, that the engine takes beside path, tp,
            batch_size and the sampling axes: name → the type of its value.
        arguments: (llm, settings) → the arguments of the class beside `abbr`, `path`, `max_out_len`,
            `batch_size` and `run_cfg`; TemplateError for what the class would not do as told. Only what was
            given is passed: a setting that is None is left to the engine's default.
        about, entries: the comments above `engine = …` and `llm_infos` in a first template.
        fields: what stands beside a path there, such as 'tp=1, batch_size=64'.
        lines: further lines there.
        example: the path that stands there if the user names no model.
        axes: the sampling axes there beside `temperatures` and `max_out_lens`.
        loads: the model is loaded by the class itself, so its path may be a folder, and a leading `~` is
            the home directory; else it is a name that a server knows.
        needs_temperature: a template without `temperatures` is refused.
        tp: GPUs of a model that does not say.
        seed: the run's seed where a template has no `random_seeds`; None for no seeds.
        may_be_unseeded: `random_seeds = None` is allowed.
    """

    type: str
    options: Mapping[str, Any]
    arguments: Callable[[Llm, Settings], dict[str, Any]]
    about: str
    entries: str
    fields: str
    lines: str = ''
    example: str = 'Qwen/Qwen2.5-7B-Instruct'
    axes: Sequence[str] = ('top_ps', 'top_ks', 'repetition_penalties')
    loads: bool = False
    needs_temperature: bool = True
    tp: int = 1
    seed: int | None = 42
    may_be_unseeded: bool = False

    def config(self, name: ModelName, llm: Llm) -> dict[str, Any]:
        """Return the model of one run, as OpenCompass takes it.

        Raises:
            TemplateError: the engine would not run this model as the settings say.
        """
        settings, context = name.settings, llm.options.get('max_seq_len')
        if context is not None and context <= settings.max_out_len:
            raise TemplateError(
                f'{llm.path}: max_seq_len {context} leaves no room for the prompt beside max_out_len '
                f'{settings.max_out_len}; raise the one or lower the other'
            )
        stages = llm.options.get('model_kwargs', {}).get('pipeline_parallel_size', llm.options.get('pp', 1))
        if isinstance(stages, bool) or not isinstance(stages, int) or stages < 1:
            raise TemplateError(
                f'{llm.path}: model_kwargs has pipeline_parallel_size = {stages!r}; expected 1 or more'
            )
        return {
            'type': self.type,
            'abbr': str(name),
            'path': with_home(llm.path) if self.loads else llm.path,
            **self.arguments(llm, settings),
            'max_out_len': settings.max_out_len,
            'batch_size': llm.batch_size,
            'run_cfg': {'num_gpus': llm.tp * stages},
        }


def with_home(path: str) -> str:
    """Return a path with the home directory for a leading `~`, which no engine knows.

    Raises:
        TemplateError: it is the home directory of nobody.
    """
    found = os.path.expanduser(path)
    if found.startswith('~'):
        raise TemplateError(f'{path}: there is no such home directory; write the whole path')
    return found


def _refuse_hot(llm: Llm, settings: Settings) -> None:
    """Refuse a temperature that lmdeploy, vLLM and OpenAI refuse."""
    if settings.temperature is not None and settings.temperature > 2:
        raise TemplateError(f'{llm.path}: temperature {settings.temperature}; this engine takes at most 2')


def _refuse_keys(llm: Llm, option: str, keys: Iterable[str], reason: str) -> None:
    if taken := sorted(set(keys) & set(llm.options.get(option, {}))):
        raise TemplateError(f'{llm.path}: {option} has {taken}; {reason}')


def _refuse_unknown(llm: Llm, option: str, known: frozenset[str], reason: str) -> None:
    for key in llm.options.get(option, {}):
        if key not in known:
            near = get_close_matches(str(key), sorted(known), n=1)
            question = f'; did you mean {near[0]!r}?' if near else ''
            raise TemplateError(f'{llm.path}: {option} has {key!r}, {reason}{question}')


# Engines that load the model on GPUs of this machine

LMDEPLOY = '0.18.0'
"""The version whose fields are recorded here: lmdeploy need not be there where configs are written."""

TURBOMIND_FIELDS = words("""
    async_ attn_cp_size attn_dp_size attn_tp_size cache_block_seq_len cache_checkpoint_interval
    cache_chunk_size cache_generation cache_max_entry_count cache_prompt cache_prompt_boundary_skip
    communicator cp device_num devices dist_init_addr download_dir dp dtype empty_init enable_metrics
    enable_prefix_caching ep gemm_input_dtype hf_overrides language_model_only max_batch_size
    max_prefill_iters max_prefill_token_num mlp_dp_size mlp_tp_size model_format moe_a2a_backend nnodes
    node_rank num_tokens_per_iter outer_dp_size quant_policy revision rope_scaling_factor session_len tp
    use_logn_attn
""")
"""The fields of `TurbomindEngineConfig`."""

PYTORCH_FIELDS = words("""
    adapters attn_tp_size block_size cache_max_entry_count cudagraph_capture_batch_sizes
    custom_module_map device_type distributed_executor_backend dllm_block_length
    dllm_confidence_threshold dllm_denoising_steps dllm_unmasking_strategy download_dir dp dp_rank dtype
    eager_mode empty_init enable_eplb enable_metrics enable_microbatch enable_mp_engine
    enable_prefix_caching enable_return_routed_experts enable_transfer_obj_ref ep hf_overrides
    kernel_block_size kv_transfer_config language_model_only logprobs_mode max_batch_size
    max_prefill_token_num migration_backend mlp_tp_size model_format moe_tp_size mp_engine_backend
    num_cpu_blocks num_gpu_blocks piecewise_cudagraph_max_tokens prefill_interval
    prefix_cache_decode_state_interval prefix_cache_state_budget quant_policy revision role session_len
    thread_safe tp
""")
"""The fields of `PytorchEngineConfig`."""

VLLM_LEAST_TEMPERATURE = 0.01
"""vLLM raises a temperature between 0 and this one to it."""

_TP = 'write tp in llm_infos, it counts the GPUs too'


def _refuse_no_gpu(llm: Llm, engine: str) -> None:
    if llm.tp < 1:
        raise TemplateError(f'{llm.path}: tp is {llm.tp}; engine {engine!r} needs at least one GPU')


def _sampling(settings: Settings) -> dict[str, Any]:
    if settings.greedy:
        # Neutral: transformers would take the penalty of the model's generation_config.json instead.
        return {'do_sample': False, 'repetition_penalty': 1.0}
    return {'do_sample': True, **settings.passed('temperature', 'top_p', 'top_k', 'repetition_penalty')}


def _lmdeploy(llm: Llm, settings: Settings, engine: str, fields: frozenset[str]) -> dict[str, Any]:
    _refuse_hot(llm, settings)
    _refuse_no_gpu(llm, engine)
    _refuse_keys(llm, 'engine_config', ['tp'], _TP)
    reason = f'which lmdeploy {LMDEPLOY} does not know for engine {engine!r} and OpenCompass would drop'
    _refuse_unknown(llm, 'engine_config', fields, reason)
    context = llm.chosen('max_seq_len')
    session = {'session_len': context['max_seq_len']} if context else {}
    batch = {'tp': llm.tp, 'max_batch_size': llm.batch_size}
    return {
        **({'backend': 'pytorch'} if engine == 'pytorch' else {}),
        'engine_config': {**batch, **session, **llm.options.get('engine_config', {})},
        'gen_config': _sampling(settings),
        **context,
        **settings.passed('random_seed'),
    }


def _huggingface(llm: Llm, settings: Settings) -> dict[str, Any]:
    return {
        **llm.chosen('model_kwargs', 'tokenizer_kwargs'),
        'generation_kwargs': _sampling(settings),
        **llm.chosen('max_seq_len'),
        **settings.passed('random_seed'),
    }


def _vllm(llm: Llm, settings: Settings) -> dict[str, Any]:
    _refuse_hot(llm, settings)
    _refuse_no_gpu(llm, 'vllm')
    _refuse_keys(llm, 'model_kwargs', ['tensor_parallel_size'], _TP)
    if 'max_seq_len' in llm.options:
        _refuse_keys(llm, 'model_kwargs', ['max_model_len'], 'max_seq_len says the same; give one of them')
    if settings.temperature and settings.temperature < VLLM_LEAST_TEMPERATURE:
        raise TemplateError(
            f'{llm.path}: temperature {settings.temperature}; vLLM would make it {VLLM_LEAST_TEMPERATURE}, '
            'so write that, or 0 for the greedy run'
        )
    context = llm.chosen('max_seq_len')
    length = {'max_model_len': context['max_seq_len']} if context else {}
    sampling = {key: value for key, value in _sampling(settings).items() if key != 'do_sample'}
    return {
        'model_kwargs': {'tensor_parallel_size': llm.tp, **length, **llm.options.get('model_kwargs', {})},
        'generation_kwargs': {'temperature': settings.temperature, **sampling},
        **context,
        **llm.chosen('chat_template_kwargs'),
        **settings.passed('random_seed'),
    }


# Engines that ask a server

NO_KEYS = frozenset({'ENV', 'EMPTY'})
"""What OpenAISDK may be given as key: $OPENAI_API_KEY, or the placeholder that local servers ignore."""

NO_TEMPERATURE = ('o1', 'o3', 'o4', 'gpt-5')
"""OpenAISDK leaves the temperature out for a model whose path contains one of these."""

TOKENIZER = 'gpt-4o'
"""Whose tokens are counted unless a template says otherwise; else the model is looked up on the hub."""

PROMPT_ROOM = 8192
"""Tokens beside the response in the default context of an API model; with fewer it is shortened."""

REQUEST_FIELDS = words("""
    chat_template_kwargs enable_thinking frequency_penalty ignore_eos image_data
    include_stop_str_in_output input_ids logit_bias logprobs max_completion_tokens max_tokens
    media_io_kwargs messages min_new_tokens min_p mm_processor_kwargs model n parallel_tool_calls
    presence_penalty reasoning_effort repetition_ngram_size repetition_ngram_threshold
    repetition_penalty response_format return_logprob return_routed_experts return_token_ids seed
    session_id skip_special_tokens spaces_between_special_tokens stop stream stream_options temperature
    tool_choice tools top_k top_logprobs top_p user
""")
"""The fields of a request to `/v1/chat/completions` of lmdeploy's server; it ignores others."""

_NEVER_IN_BODY = {
    'a fixed seed would make the n samples of a question copies of each other; random_seeds = [42] gives '
    'each its own': ('seed', 'random_seed', 'n'),
    'write them as axes, so that they are in the name': (
        'temperature', 'top_p', 'top_k', 'repetition_penalty'
    ),
    'these are set for each request; remove them': (
        'max_tokens', 'max_completion_tokens', 'messages', 'model', 'stream', 'input_ids', 'session_id'
    ),
}  # fmt: skip

_ASKING: Mapping[str, Any] = {
    'max_workers': Count,
    'patience': Positive,
    'query_per_second': Positive,
    'retry': Count,
    'timeout': Positive,
}
"""How a server is asked, and how hard."""


def is_openai(url: Any) -> bool:
    """Return whether an address is OpenAI's or Azure's, whose reasoning models refuse a temperature.

    >>> is_openai('https://eu.api.openai.com/v1'), is_openai('https://api.notopenai.com/v1')
    (True, False)
    """
    host = f'.{urlsplit(url).hostname or ""}'
    return host.endswith(('.openai.com', '.azure.com'))


def _refuse_in_request(llm: Llm) -> None:
    """Refuse GPUs, fields of a request that are not the template's, and a literal key."""
    if llm.tp:
        raise TemplateError(f'{llm.path}: tp is {llm.tp}, but an API model needs no GPU here; leave tp out')
    for reason, keys in _NEVER_IN_BODY.items():
        _refuse_keys(llm, 'extra_body', keys, reason)
    if not re.fullmatch('[A-Z][A-Z0-9_]*', llm.options.get('key_env', 'KEY')):
        # Not repeated: it may be the key itself.
        raise TemplateError(f"{llm.path}: key_env must name an environment variable, such as 'MY_API_KEY'")


def _addresses(llm: Llm, option: str, added: str) -> list[str]:
    """Return the addresses of an option; refuse what is none, or has a password or `added` in it."""
    given = llm.options.get(option, [])
    urls = [given] if isinstance(given, str) else list(given)
    for url in urls:
        if '@' in str(url):  # not repeated: what stands before it is often a password
            raise TemplateError(
                f"{llm.path}: {option} has an '@'; leave the user and the password out of the address, write "
                "key_env='MY_API_KEY' and export the key in it"
            )
        try:
            is_address = url.startswith(('http://', 'https://')) and bool(urlsplit(url).hostname)
        except (AttributeError, ValueError):  # no text, or half of an IPv6 address
            is_address = False
        if not is_address:
            raise TemplateError(f'{llm.path}: {option} has {url!r}; expected http://… or https://…')
        if url.rstrip('/').endswith(added):
            raise TemplateError(f'{llm.path}: {option} is {url!r}; leave out {added!r}, it is added to it')
    return urls


def _openai(llm: Llm, settings: Settings) -> dict[str, Any]:
    _refuse_hot(llm, settings)
    _refuse_in_request(llm)
    if llm.options.get('key', 'ENV') not in NO_KEYS:
        raise TemplateError(
            f"{llm.path}: key must be 'ENV' (that in $OPENAI_API_KEY) or 'EMPTY' (a server that "
            'needs none); anything else would be sent and written down as the key itself. For another '
            "variable write key_env='NAME'"
        )
    if {'key', 'key_env'} <= set(llm.options):
        raise TemplateError(f'{llm.path}: both key and key_env are given; give one of them')
    bases = _addresses(llm, 'openai_api_base', '/chat/completions')
    part = next((part for part in NO_TEMPERATURE if part in llm.path), None)
    if part and settings.temperature is not None and (not bases or any(map(is_openai, bases))):
        raise TemplateError(
            f'{llm.path}: OpenAISDK sends no temperature to a model with {part!r} in its path, and OpenAI '
            'takes none; put such models into a template of their own without temperatures. For a server '
            'of your own, give its openai_api_base'
        )
    return _request(llm, settings, bool(part))


def _request(llm: Llm, settings: Settings, temperature_dropped: bool) -> dict[str, Any]:
    """Return the arguments of `SeededOpenAISDK`."""
    roles = [{'role': 'HUMAN', 'api_role': 'HUMAN'}, {'role': 'BOT', 'api_role': 'BOT', 'generate': True}]
    # Fields that the OpenAI client does not know reach a server in the body alone.
    body = {**llm.options.get('extra_body', {}), **settings.passed('top_k', 'repetition_penalty')}
    always = settings.passed('top_p', *(['temperature'] if temperature_dropped else []))
    own = {name: value for name, value in llm.options.items() if name != 'extra_body'}
    if 'tokenizer_path' in own:
        own['tokenizer_path'] = with_home(own['tokenizer_path'])
    return {
        **({} if 'key_env' in llm.options else {'key': 'ENV'}),
        'meta_template': {'round': roles},
        'tokenizer_path': TOKENIZER,
        'max_seq_len': settings.max_out_len + PROMPT_ROOM,
        # Else as few requests at a time as the machine has cores.
        'max_workers': llm.batch_size,
        **own,
        **settings.passed('temperature'),
        **({'openai_extra_kwargs': always} if always else {}),
        **({'extra_body': body} if body else {}),
        **settings.passed('random_seed'),
    }


def _lmdeploy_server(llm: Llm, settings: Settings) -> dict[str, Any]:
    _refuse_hot(llm, settings)
    _refuse_in_request(llm)
    if not _addresses(llm, 'api_addr', '/v1'):
        raise TemplateError(f"{llm.path}: api_addr is missing: where is the server? 'http://node1:23333'")
    reason = f'which a server of lmdeploy {LMDEPLOY} would ignore'
    _refuse_unknown(llm, 'extra_body', REQUEST_FIELDS, reason)
    body = llm.options.get('extra_body', {})
    if settings.greedy:
        # The server always samples; this is what lmdeploy itself makes of a greedy GenerationConfig.
        sampling: dict[str, Any] = {'temperature': 1.0, 'top_p': 1.0, 'top_k': 1}
        body = {**body, 'repetition_penalty': 1.0}
    else:
        sampling = settings.passed('temperature', 'top_p', 'top_k')
        body = {**body, **settings.passed('repetition_penalty')}
    return {
        **llm.chosen('api_addr', 'key_env', *_ASKING),
        **sampling,
        **({'gen_config': body} if body else {}),
        **settings.passed('random_seed'),
    }


# The engine that starts the model's server by itself

_ASKED = frozenset({'extra_body', 'key_env', 'max_seq_len', 'tokenizer_path', *_ASKING})


def _serve(llm: Llm, settings: Settings) -> dict[str, Any]:
    _refuse_hot(llm, settings)
    _refuse_in_request(replace(llm, tp=0))
    serve, preset = _server(llm)
    if llm.options.get('pp', 1) > 1 and '{pp}' not in serve.command:
        raise TemplateError(
            f'{llm.path}: pp is {llm.options["pp"]}, and the command line of the server has no {{pp}}: '
            'remove pp, or take a server that knows pipeline parallelism'
        )
    if 'max_seq_len' in llm.options and 'tokenizer_path' not in llm.options:
        raise TemplateError(
            f'{llm.path}: max_seq_len does nothing without tokenizer_path, with which prompts are counted; '
            "the server's own limit belongs into its arguments, as --max-model-len"
        )
    path = with_home(llm.path)
    name = llm.options.get('served_name', path if preset.named_by_path else last_part(path))
    asked = llm.chosen(*(option for option in llm.options if option in _ASKED))
    if preset.to_sample and not settings.greedy:
        asked['extra_body'] = {**preset.to_sample, **asked.get('extra_body', {})}
    if preset.always_samples and settings.greedy:
        asked['extra_body'] = {**asked.get('extra_body', {}), 'top_k': 1, 'repetition_penalty': 1.0}
        settings = replace(settings, temperature=1.0, top_p=1.0, top_k=None, repetition_penalty=None)
    dropped = any(part in name for part in NO_TEMPERATURE)
    given = _request(replace(llm, path=name, options={'key': 'EMPTY', **asked}), settings, dropped)
    if 'tokenizer_path' not in asked:
        del given['tokenizer_path']  # that of an API
    if fields := given.get('extra_body'):
        given['extra_body'] = {
            preset.repetition_penalty if field == 'repetition_penalty' else field: value
            for field, value in fields.items()
        }
    return {
        'serve': serve.config(),
        'served_name': name,
        'tp': max(1, llm.tp),
        **llm.chosen('pp'),
        **{option: value for option, value in given.items() if option != 'key'},
    }


def _server(llm: Llm) -> tuple[Serve, Preset]:
    """Return how the server is started, and what is known of it."""
    server = llm.options.get('server')
    try:
        serve = read_serve(llm.options.get('serve', {}), server)
    except InputError as error:
        raise TemplateError(f'{llm.path}: {error}') from error
    return serve, PRESETS.get(server or '', Preset(''))


# All of them

_LOCAL = 'path: a hub name or a folder. tp: GPUs a model. batch_size: requests at a time.'
_INSTALL = '{}: pip install "gpassk_opencompass[{}]"'


def _turbomind(called: str, engine: str, fields: frozenset[str]) -> Engine:
    return Engine(
        type='gpassk_opencompass.SeededTurboMind',
        options={'engine_config': dict, 'max_seq_len': Count},
        arguments=partial(_lmdeploy, engine=engine, fields=fields),
        about=_INSTALL.format(f"lmdeploy's {called}, on GPUs of this machine", 'lmdeploy'),
        entries=_LOCAL,
        fields='tp=1, batch_size=64',
        loads=True,
    )


ENGINES: Mapping[str, Engine] = {
    'turbomind': _turbomind('TurboMind', 'turbomind', TURBOMIND_FIELDS),
    'pytorch': _turbomind('PyTorch engine', 'pytorch', PYTORCH_FIELDS),
    'vllm': Engine(
        type='gpassk_opencompass.SeededVLLM',
        options={'model_kwargs': dict, 'max_seq_len': Count, 'chat_template_kwargs': dict},
        arguments=_vllm,
        about=_INSTALL.format('vLLM, on GPUs of this machine', 'vllm'),
        entries=_LOCAL,
        fields='tp=1, batch_size=64',
        loads=True,
    ),
    'huggingface': Engine(
        type='gpassk_opencompass.SeededHuggingFace',
        options={'model_kwargs': dict, 'tokenizer_kwargs': dict, 'max_seq_len': Count},
        arguments=_huggingface,
        about=_INSTALL.format('transformers, on any machine', 'opencompass'),
        entries=f'{_LOCAL} tp=0: no GPU.',
        fields='tp=1, batch_size=16',
        loads=True,
    ),
    'openai': Engine(
        type='gpassk_opencompass.SeededOpenAISDK',
        options={
            'extra_body': dict,
            'key': str,
            'key_env': str,
            'max_seq_len': Count,
            'openai_api_base': Addresses,
            'tokenizer_path': str,
            **_ASKING,
        },
        arguments=_openai,
        about="An API, or a server of yours, that speaks OpenAI's protocol.",
        entries="""\
No key belongs here: key_env names the environment variable that holds it (default: OPENAI_API_KEY).
openai_api_base='http://node1:8000/v1': where the API is (default: OpenAI, or $OPENAI_BASE_URL); a list:
several servers, all of which are asked. batch_size: requests at a time. tokenizer_path='org/model': counts
the tokens of prompts (default: that of gpt-4o, which is downloaded).""",
        fields='batch_size=32',
        lines='query_per_second = 8  # no more requests than this\n',
        example='gpt-4o-2024-11-20',
        axes=(),
        needs_temperature=False,
        tp=0,
        seed=None,
        may_be_unseeded=True,
    ),
    'lmdeploy_server': Engine(
        type='gpassk_opencompass.SeededTurboMindAPI',
        options={'api_addr': Addresses, 'extra_body': dict, 'key_env': str, **_ASKING},
        arguments=_lmdeploy_server,
        about='A server of lmdeploy, started with `lmdeploy serve api_server PATH --model-name NAME`.',
        entries="""\
path: the NAME under which the server has the model. api_addr: where it listens; a list: several servers.
batch_size: requests at a time.""",
        fields="api_addr='http://localhost:23333', batch_size=64",
        example='Qwen2.5-7B-Instruct',
        tp=0,
        may_be_unseeded=True,
    ),
    'serve': Engine(
        type='gpassk_opencompass.SeededServed',
        options={
            'server': str,
            'serve': dict,
            'served_name': str,
            'pp': Count,
            'extra_body': dict,
            'key_env': str,
            'max_seq_len': Count,
            'tokenizer_path': str,
            **_ASKING,
        },
        arguments=_serve,
        about='A server that is started for each model: vLLM, SGLang, lmdeploy, llama.cpp, transformers.',
        entries="""\
path: a hub name or a folder (llama.cpp: a file). tp: GPUs a model. batch_size: requests at a time. The
program must be on $PATH, or be named: serve = dict(command='/…/bin/vllm serve {model} --port {port} …').""",
        fields='tp=1, batch_size=64',
        lines="server = 'vllm'  # or sglang, lmdeploy, llama.cpp, transformers\n",
        loads=True,
        may_be_unseeded=True,
    ),
}
"""The values of a template's `engine`."""


# First templates

_FIRST = '''\
"""A sweep, one setting a line: `gpassk expand` makes a config of each combination, `gpassk run` runs them.

A list is an axis of the sweep, a single value is an axis of one. A sampling setting whose line is removed is
not passed: the engine's own default holds. `gpassk init --template nono1` writes a longer example.
"""

{about}engine = {engine!r}

{entries}llm_infos = [
{models}]
{lines}
{axes}max_out_lens = [8192]

{seeds}
# G-Pass@k for these k, from n = replications * max(k) samples a question.
k_lists = [[4, 8, 16]]
replications = [3]

# Which questions: 'math500-l5', 'aime2024', 'aime2025', 'olymmath-en-hard', …; 'livemathbench' is gated: ask
# for access on its hub page, then export HF_TOKEN. They are read from the hub, or from the folder that
# dataset_path = {{'math500-l5': '/data/math500'}} names.
benchmarks = ['math500-l5']

# Of 'livemathbench': which version, which of its contests, in which languages.
version = '202412'
dataset_splits = ['CNMO', 'CCEE', 'AMC', 'WLPMC']
dataset_languages = ['cn', 'en']

# An LLM judge behind OpenAI-compatible URLs; with none, answers are judged by rule.
eval_urls = []
eval_model_name = ''
'''
_TEMPERATURES = """\
# Temperature 0.0 is the greedy run: one answer a question. The paper's tables are for temperature 1.0.
temperatures = [0.0, 1.0]
"""
_AXES = {
    'top_ps': 'top_ps = [0.8]\n',
    'top_ks': 'top_ks = [50]\n',
    'repetition_penalties': 'repetition_penalties = [1.0]\n',
}
_SEEDS = """\
# Each of the n samples of a question gets a seed of its own, derived from this one.
random_seeds = [42]
"""
_NO_SEEDS = """\
# No seeds: not every provider takes the field. With [42] each sample is sent a seed of its own.
random_seeds = None
"""


def starter_template(engine: str, models: Sequence[str] = ()) -> str:
    """Return the text of a short template for an engine.

    Args:
        models: what `path` may be for this engine; with none the engine's example stands there.

    >>> lines = starter_template('vllm', ['org/m']).splitlines()
    >>> [line for line in lines if 'org/m' in line or line.startswith('engine')]
    ["engine = 'vllm'", "    dict(path='org/m', tp=1, batch_size=64),"]
    """
    chosen = ENGINES[engine]
    named = list(models) or [chosen.example]
    fixed = engine == 'openai' and any(part in model for part in NO_TEMPERATURE for model in named)
    axes = ''.join(_AXES[name] for name in chosen.axes)
    return _FIRST.format(
        about=''.join(f'# {line}\n' for line in chosen.about.splitlines()),
        engine=engine,
        entries=''.join(f'# {line}\n' for line in chosen.entries.splitlines()),
        models=''.join(f'    dict(path={model!r}, {chosen.fields}),\n' for model in named),
        lines=chosen.lines,
        axes=f'{"" if fixed else _TEMPERATURES}{axes}',
        seeds=_NO_SEEDS if chosen.seed is None else _SEEDS,
    )


def shipped_templates() -> dict[str, Path]:
    """Return name → file of each template that comes with the package.

    >>> sorted(shipped_templates())
    ['close', 'close_o1', 'demo', 'nono1', 'o1']
    """
    package = Path(__file__).resolve().parents[1]
    installed = package / 'templates'  # where setup.py puts those of a clone
    folder = installed if installed.is_dir() else package.parent / 'config_templates'
    return {path.stem: path for path in sorted(folder.glob('*.py'))}
