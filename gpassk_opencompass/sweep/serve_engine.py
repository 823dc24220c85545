"""The engine that starts the model's server by itself: `engine = 'serve'`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import InputError, TemplateError
from ..naming.names import Settings, last_part
from ..serving.line import PRESETS, Preset, Serve, read_serve
from .axes import POSITIVE
from .engines import Engine, Starter, check_temperature, with_home
from .models import Llm, OptionKind
from .server_engines import LIMITS, check_server, openai_arguments

_OPTIONS: Mapping[str, OptionKind] = {
    'server': str,
    'serve': dict,
    'served_name': str,
    'pp': POSITIVE,
    'extra_body': dict,
    'key_env': str,
    'max_seq_len': POSITIVE,
    'tokenizer_path': str,
    **LIMITS,
}
_ASKED = frozenset(_OPTIONS) - {'server', 'serve', 'served_name', 'pp'}


def _arguments(llm: Llm, settings: Settings) -> dict[str, Any]:
    serve, preset = _server(llm)
    name = _name(llm)
    asked = {option: value for option, value in llm.options.items() if option in _ASKED}
    sampling = settings
    if preset.always_samples and settings.greedy:
        body = {**asked.get('extra_body', {}), 'top_k': 1, 'repetition_penalty': 1.0}
        asked = {**asked, 'extra_body': body}
        sampling = replace(settings, temperature=1.0, top_p=1.0, top_k=None, repetition_penalty=None)
    given = openai_arguments(replace(llm, path=name, options={'key': 'EMPTY', **asked}), sampling)
    if 'tokenizer_path' not in asked:
        del given['tokenizer_path']  # that of an API
    if fields := given.get('extra_body'):
        called = {'repetition_penalty': preset.repetition_penalty}
        given['extra_body'] = {called.get(name, name): value for name, value in fields.items()}
    return {
        'serve': serve.config(),
        'served_name': name,
        'tp': max(1, llm.tp),
        **({'pp': llm.options['pp']} if 'pp' in llm.options else {}),
        **{option: value for option, value in given.items() if option != 'key'},
    }


def _check(llm: Llm, settings: Settings) -> None:
    check_temperature(llm, settings)
    check_server(replace(llm, tp=0))
    serve, _ = _server(llm)
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


def _server(llm: Llm) -> tuple[Serve, Preset]:
    """Return how the server is started, and what is known of it."""
    server = llm.options.get('server')
    try:
        serve = read_serve(llm.options.get('serve', {}), server)
    except InputError as error:
        raise TemplateError(f'{llm.path}: {error}') from error
    return serve, PRESETS.get(server or '', Preset(''))


def _name(llm: Llm) -> str:
    """Return what requests call the model."""
    name: str = llm.options.get('served_name', last_part(with_home(llm.path)))
    return name


SERVE = Engine(
    type='gpassk_opencompass.SeededServed',
    loads=True,
    options=_OPTIONS,
    arguments=_arguments,
    check=_check,
    starter=Starter(
        about='A server that is started for each model, and ended: vLLM, SGLang, lmdeploy, llama.cpp.',
        entries="""\
path: a hub name or a folder (llama.cpp: a file). tp: GPUs a model. batch_size: requests at a time. The
program must be on $PATH, or be named: serve = dict(command='/…/bin/vllm serve {model} --port {port} …').""",
        model='Qwen/Qwen2.5-7B-Instruct',
        fields='tp=1, batch_size=64',
        lines="server = 'vllm'  # or sglang, lmdeploy, llama.cpp\n",
    ),
    may_be_unseeded=True,
)
