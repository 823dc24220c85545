"""Engines that ask a server: OpenAI's protocol, and lmdeploy's own server."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from ..errors import TemplateError
from ..naming.names import Settings
from .axes import POSITIVE, Number, words
from .engines import (
    Engine,
    Starter,
    check_temperature,
    chosen,
    passed,
    refuse_keys,
    refuse_unknown_keys,
    with_home,
)
from .local_engines import LMDEPLOY
from .models import Llm, OptionKind

NO_KEYS = frozenset({'ENV', 'EMPTY'})
"""What OpenAISDK may be given as key: $OPENAI_API_KEY, or the placeholder that local servers ignore."""

KEY_VARIABLE = re.compile('[A-Z][A-Z0-9_]*')

NO_TEMPERATURE = ('o1', 'o3', 'o4', 'gpt-5')
"""OpenAISDK leaves the temperature out for a model whose path contains one of these."""

REASONING_HOSTS = ('openai.com', 'azure.com')
"""The hosts that refuse a temperature for these models."""

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

SEEDS = frozenset({'seed', 'random_seed', 'n'})
AXES_OF_BODY = frozenset({'temperature', 'top_p', 'top_k', 'repetition_penalty'})
OWN = words('max_tokens max_completion_tokens messages model stream input_ids session_id')


LIMITS: dict[str, OptionKind] = {
    'max_workers': POSITIVE,
    'patience': Number(above=0),
    'query_per_second': Number(above=0),
    'retry': POSITIVE,
    'timeout': Number(above=0),
}
"""How a server is asked, and how hard; see `Limits` of `chat.limits`."""


def openai_arguments(llm: Llm, settings: Settings) -> dict[str, Any]:
    """Return the arguments of `SeededOpenAISDK` for a model and its settings."""
    roles = [{'role': 'HUMAN', 'api_role': 'HUMAN'}, {'role': 'BOT', 'api_role': 'BOT', 'generate': True}]
    # Fields that the OpenAI client does not know reach a server in the body alone.
    body = {**llm.options.get('extra_body', {}), **passed(settings, 'top_k', 'repetition_penalty')}
    always = passed(settings, 'top_p', *(['temperature'] if _reasoning_part(llm) else []))
    own = {name: value for name, value in llm.options.items() if name != 'extra_body'}
    if 'tokenizer_path' in own:
        own['tokenizer_path'] = with_home(own['tokenizer_path'])
    return {
        **({} if 'key_env' in llm.options else {'key': 'ENV'}),
        'meta_template': {'round': roles},
        # Only counts tokens; without it OpenCompass looks the model up on the hub.
        'tokenizer_path': 'gpt-4o',
        'max_seq_len': settings.max_out_len + PROMPT_ROOM,
        # Else as few requests at a time as the machine has cores.
        'max_workers': llm.batch_size,
        **own,
        **passed(settings, 'temperature'),
        **({'openai_extra_kwargs': always} if always else {}),
        **({'extra_body': body} if body else {}),
        **passed(settings, 'random_seed'),
    }


def _check_openai(llm: Llm, settings: Settings) -> None:
    check_temperature(llm, settings)
    check_server(llm)
    check_key(llm)
    for url in _bases(llm):
        check_url(llm, 'openai_api_base', url, '/chat/completions')
    part = _reasoning_part(llm)
    if part and settings.temperature is not None and not _own_server(llm):
        raise TemplateError(
            f'{llm.path}: OpenAISDK sends no temperature to a model with {part!r} in its path, and OpenAI '
            'takes none; put such models into a template of their own without temperatures. For a server '
            'of your own, give its openai_api_base'
        )


def _reasoning_part(llm: Llm) -> str | None:
    return next((part for part in NO_TEMPERATURE if part in llm.path), None)


def _own_server(llm: Llm) -> bool:
    hosts = [urlsplit(url).hostname or '' for url in _bases(llm)]
    return bool(hosts) and not any(host.endswith(REASONING_HOSTS) for host in hosts)


def _bases(llm: Llm) -> list[Any]:
    return _addresses(llm, 'openai_api_base')


def _addresses(llm: Llm, option: str) -> list[Any]:
    given = llm.options.get(option, [])
    return [given] if isinstance(given, str) else list(given)


def _lmdeploy_server(llm: Llm, settings: Settings) -> dict[str, Any]:
    return {
        **chosen(llm, 'api_addr', 'key_env', *LIMITS),
        **_server_sampling(llm, settings),
        **passed(settings, 'random_seed'),
    }


def _server_sampling(llm: Llm, settings: Settings) -> dict[str, Any]:
    body = llm.options.get('extra_body', {})
    if settings.greedy:
        # The server always samples; this is what lmdeploy itself makes of a greedy GenerationConfig.
        neutral = {'repetition_penalty': 1.0}
        return {'temperature': 1.0, 'top_p': 1.0, 'top_k': 1, 'gen_config': {**body, **neutral}}
    config = {**body, **passed(settings, 'repetition_penalty')}
    return {**passed(settings, 'temperature', 'top_p', 'top_k'), **({'gen_config': config} if config else {})}


def _check_lmdeploy_server(llm: Llm, settings: Settings) -> None:
    check_temperature(llm, settings)
    check_server(llm)
    if 'api_addr' not in llm.options:
        raise TemplateError(f"{llm.path}: api_addr is missing: where is the server? 'http://node1:23333'")
    for url in _addresses(llm, 'api_addr'):
        check_url(llm, 'api_addr', url, '/v1')
    reason = f'which a server of lmdeploy {LMDEPLOY} would ignore'
    refuse_unknown_keys(llm, 'extra_body', REQUEST_FIELDS, reason)


def check_server(llm: Llm) -> None:
    """Raise TemplateError for GPUs, for fields of a request that are not the template's, and for a key."""
    if llm.tp:
        raise TemplateError(f'{llm.path}: tp is {llm.tp}, but an API model needs no GPU here; leave tp out')
    refuse_keys(
        llm,
        'extra_body',
        SEEDS,
        'a fixed seed would make the n samples of a question copies of each other; random_seeds = [42] '
        'gives each its own',
    )
    refuse_keys(llm, 'extra_body', AXES_OF_BODY, 'write them as axes, so that they are in the name')
    refuse_keys(llm, 'extra_body', OWN, 'these are set for each request; remove them')
    variable = llm.options.get('key_env', 'KEY')
    if not KEY_VARIABLE.fullmatch(variable):
        # Not repeated: it may be the key itself.
        raise TemplateError(f"{llm.path}: key_env must name an environment variable, such as 'MY_API_KEY'")


def check_key(llm: Llm) -> None:
    """Raise TemplateError for a `key` that would be one, or is given beside `key_env`."""
    if llm.options.get('key', 'ENV') not in NO_KEYS:
        raise TemplateError(
            f"{llm.path}: key must be 'ENV' (that in $OPENAI_API_KEY) or 'EMPTY' (a server that "
            'needs none); anything else would be sent and written down as the key itself. For another '
            "variable write key_env='NAME'"
        )
    if {'key', 'key_env'} <= set(llm.options):
        raise TemplateError(f'{llm.path}: both key and key_env are given; give one of them')


def check_url(llm: Llm, option: str, url: Any, added: str) -> None:
    """Raise TemplateError for what is no address, or has a password or `added` in it."""
    if '@' in str(url):  # not repeated: what stands before it is often a password
        raise TemplateError(
            f"{llm.path}: {option} has an '@'; leave the user and the password out of the address, write "
            "key_env='MY_API_KEY' and export the key in it"
        )
    if not _is_address(url):
        raise TemplateError(f'{llm.path}: {option} has {url!r}; expected http://… or https://…')
    if url.rstrip('/').endswith(added):
        raise TemplateError(f'{llm.path}: {option} is {url!r}; leave out {added!r}, it is added to it')


def _is_address(url: Any) -> bool:
    if not isinstance(url, str) or not url.startswith(('http://', 'https://')):
        return False
    try:
        return bool(urlsplit(url).hostname)
    except ValueError:  # such as half of an IPv6 address
        return False


OPENAI = Engine(
    type='gpassk_opencompass.SeededOpenAISDK',
    options={
        'extra_body': dict,
        'key': str,
        'key_env': str,
        'max_seq_len': POSITIVE,
        'openai_api_base': (str, list),
        'tokenizer_path': str,
        **LIMITS,
    },
    arguments=openai_arguments,
    check=_check_openai,
    starter=Starter(
        about="An API, or a server of yours, that speaks OpenAI's protocol.",
        entries="""\
No key belongs here: key_env names the environment variable that holds it (default: OPENAI_API_KEY).
openai_api_base='http://node1:8000/v1': where the API is (default: OpenAI, or $OPENAI_BASE_URL); a list:
several servers, all of which are asked. batch_size: requests at a time.""",
        model='gpt-4o-2024-11-20',
        fields='batch_size=32',
        lines='query_per_second = 8  # no more requests than this\n',
        sampling=(),
        no_temperature=NO_TEMPERATURE,
    ),
    needs_temperature=False,
    default_tp=0,
    default_seed=None,
    may_be_unseeded=True,
)
LMDEPLOY_SERVER = Engine(
    type='gpassk_opencompass.SeededTurboMindAPI',
    options={
        'api_addr': (str, list),
        'extra_body': dict,
        'key_env': str,
        **LIMITS,
    },
    arguments=_lmdeploy_server,
    check=_check_lmdeploy_server,
    starter=Starter(
        about='A server of lmdeploy, started with `lmdeploy serve api_server PATH --model-name NAME`.',
        entries="""\
path: the NAME under which the server has the model. api_addr: where it listens; a list: several servers.
batch_size: requests at a time.""",
        model='Qwen2.5-7B-Instruct',
        fields="api_addr='http://localhost:23333', batch_size=64",
    ),
    default_tp=0,
    may_be_unseeded=True,
)
