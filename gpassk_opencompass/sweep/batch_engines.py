"""Engines that send a whole shard as a batch: OpenAI's and Anthropic's batch endpoints."""

from __future__ import annotations

import re
from typing import Any

from ..errors import TemplateError
from ..naming.names import Settings
from .axes import NOT_NEGATIVE, Number
from .engines import Engine, Starter, check_temperature, chosen, passed, refuse_keys
from .models import Llm
from .server_engines import NO_TEMPERATURE, check_key, check_server, check_url

OPENAI_MOST, ANTHROPIC_MOST = 50_000, 100_000
"""Requests of one batch, as the providers say."""

PATIENCE = {
    'patience': Number(above=0),
    'poll': Number(above=0),
    'retry': NOT_NEGATIVE,
    'timeout': Number(above=0),
}

_OPERATION = tuple(PATIENCE)
_ROUNDS = {
    'round': [{'role': 'HUMAN', 'api_role': 'HUMAN'}, {'role': 'BOT', 'api_role': 'BOT', 'generate': True}]
}
_WITHOUT_SAMPLING = re.compile(r'claude-(?:fable|mythos)')
_VERSION = re.compile(r'claude-(?:opus|sonnet|haiku)-(\d+)(?:-(\d{1,2}))?(?!\d)')
_FIRST_WITHOUT_SAMPLING = (4, 7)
_LEAST_THINKING = 1024
_NOT_BOTH = 'claude-3'
"""Part of the names of models that take temperature and top_p together."""


def takes_sampling(model: str) -> bool:
    """Return whether a model of Anthropic takes temperature, top_p and top_k: none since Claude 4.7 does.

    >>> [takes_sampling(f'claude-{name}') for name in ('opus-4-6', 'opus-4-20250514', 'opus-4-7', 'fable-5')]
    [True, True, False, False]
    """
    if _WITHOUT_SAMPLING.search(model):
        return False
    found = _VERSION.search(model)
    return found is None or (int(found[1]), int(found[2] or 0)) < _FIRST_WITHOUT_SAMPLING


def _openai_batch(llm: Llm, settings: Settings) -> dict[str, Any]:
    body = {**llm.options.get('extra_body', {}), **passed(settings, 'top_k', 'repetition_penalty')}
    return {
        'meta_template': _ROUNDS,
        **chosen(llm, 'openai_api_base', 'key', 'key_env', *_OPERATION),
        **passed(settings, 'temperature', 'top_p', 'random_seed'),
        **({'extra_body': body} if body else {}),
    }


def _check_openai_batch(llm: Llm, settings: Settings) -> None:
    check_temperature(llm, settings)
    check_server(llm)
    check_key(llm)
    _check_batch_size(llm, OPENAI_MOST, 'OpenAI')
    if 'openai_api_base' in llm.options:
        check_url(llm, 'openai_api_base', llm.options['openai_api_base'], '/batches')
        return
    for field in ('top_k', 'repetition_penalty'):
        if getattr(settings, field) is not None:
            raise TemplateError(f'{llm.path}: OpenAI takes no {field}; remove the line')
    part = next((part for part in NO_TEMPERATURE if part in llm.path), None)
    if part and settings.temperature is not None:
        raise TemplateError(
            f'{llm.path}: OpenAI takes no temperature for a model with {part!r} in its path; put such models '
            'into a template of their own without temperatures'
        )


def _anthropic_batch(llm: Llm, settings: Settings) -> dict[str, Any]:
    return {
        'meta_template': _ROUNDS,
        **chosen(llm, 'base_url', 'key_env', 'extra_body', *_OPERATION),
        **passed(settings, 'temperature', 'top_p', 'top_k'),
    }


def _check_anthropic_batch(llm: Llm, settings: Settings) -> None:
    check_server(llm)
    _check_batch_size(llm, ANTHROPIC_MOST, 'Anthropic')
    if 'base_url' in llm.options:
        check_url(llm, 'base_url', llm.options['base_url'], '/v1')
    if settings.random_seed is not None:
        raise TemplateError(
            f"{llm.path}: Anthropic's API takes no seed; remove random_seeds, samples are independent without"
        )
    if settings.repetition_penalty is not None:
        raise TemplateError(f"{llm.path}: Anthropic's API takes no repetition_penalty; remove the line")
    given = passed(settings, 'temperature', 'top_p', 'top_k')
    if given and not takes_sampling(llm.path):
        raise TemplateError(
            f'{llm.path}: Claude takes no {", ".join(given)} since version 4.7; put such models into a '
            'template of their own without these lines'
        )
    if settings.temperature is not None and settings.temperature > 1:
        raise TemplateError(
            f"{llm.path}: temperature {settings.temperature}; Anthropic's API takes at most 1"
        )
    if {'temperature', 'top_p'} <= set(given) and _NOT_BOTH not in llm.path:
        raise TemplateError(
            f'{llm.path}: both temperature and top_p are given; Claude takes one of them since version 4'
        )
    refuse_keys(llm, 'extra_body', ['stop'], "Anthropic's API calls it stop_sequences")
    _check_thinking(llm, settings)


def _check_thinking(llm: Llm, settings: Settings) -> None:
    thinking = llm.options.get('extra_body', {}).get('thinking')
    if not isinstance(thinking, dict) or thinking.get('type') != 'enabled':
        return
    budget = thinking.get('budget_tokens')
    if not isinstance(budget, int) or not _LEAST_THINKING <= budget < settings.max_out_len:
        raise TemplateError(
            f'{llm.path}: thinking has budget_tokens {budget!r}; expected at least {_LEAST_THINKING} and '
            f'less than max_out_len {settings.max_out_len}'
        )
    if settings.temperature not in (None, 1.0) or settings.top_k is not None:
        raise TemplateError(
            f'{llm.path}: with thinking Claude takes temperature 1 alone and no top_k; greedy = False leaves '
            'the greedy run out'
        )


def _check_batch_size(llm: Llm, most: int, provider: str) -> None:
    if llm.batch_size > most:
        raise TemplateError(
            f'{llm.path}: batch_size is {llm.batch_size:,}; a batch of {provider} has at most {most:,} '
            'requests'
        )


_SIZE = """\
batch_size: requests of one batch; the next one is submitted when it is back, so leave it large. A shard of
`--max-num-workers` is at least one batch."""

OPENAI_BATCH = Engine(
    type='gpassk_opencompass.OpenAIBatchModel',
    options={'extra_body': dict, 'key': str, 'key_env': str, 'openai_api_base': str, **PATIENCE},
    arguments=_openai_batch,
    check=_check_openai_batch,
    starter=Starter(
        about="OpenAI's Batch API: all samples at once, within 24 hours, at half the price.",
        entries=f"""\
No key belongs here: key_env names the environment variable that holds it (default: OPENAI_API_KEY).
{_SIZE}""",
        model='gpt-4o-2024-11-20',
        fields='batch_size=50_000',
        lines='poll = 60  # seconds between two looks at a batch\n',
        sampling=(),
        no_temperature=NO_TEMPERATURE,
    ),
    needs_temperature=False,
    default_tp=0,
    default_batch_size=OPENAI_MOST,
    default_seed=None,
    may_be_unseeded=True,
)
ANTHROPIC_BATCH = Engine(
    type='gpassk_opencompass.AnthropicBatchModel',
    options={'base_url': str, 'extra_body': dict, 'key_env': str, **PATIENCE},
    arguments=_anthropic_batch,
    check=_check_anthropic_batch,
    starter=Starter(
        about="Anthropic's Message Batches: all samples at once, within 24 hours, at half the price.",
        entries=f"""\
No key belongs here: key_env names the environment variable that holds it (default: ANTHROPIC_API_KEY).
{_SIZE}""",
        model='claude-sonnet-4-5-20250929',
        fields='batch_size=100_000',
        lines='poll = 60  # seconds between two looks at a batch\n',
        sampling=(),
        seeds='# The API takes no seeds.\nrandom_seeds = None\n',
        no_temperature=('claude-fable', 'claude-mythos', '-4-7', '-4-8', 'opus-5', 'sonnet-5', 'haiku-5'),
    ),
    needs_temperature=False,
    default_tp=0,
    default_batch_size=ANTHROPIC_MOST,
    default_seed=None,
    may_be_unseeded=True,
)
