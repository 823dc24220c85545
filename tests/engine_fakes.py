"""Stand-ins for what needs a GPU or a provider, as near to it as can be: they record what arrives.

Each is a context that gives the engine's lines of a template. lmdeploy's own classes, transformers and HTTP
are real; vLLM knows the fields that `recorded/vllm.json` has of it.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hosts import import_plugin
from judge_server import Act, Asked, JudgeServer, Say

from gpassk_opencompass.demo import MODEL

LMDEPLOY = Path(sys.prefix) / 'lmdeploy-wheel'
VLLM = json.loads((Path(__file__).parent / 'recorded' / 'vllm.json').read_text())
"""Of each recorded version: the fields of `SamplingParams` and of the server's `ChatCompletionRequest`."""


def facts_of(seed: int | None) -> dict[str, Any]:
    """What each stand-in tells of the sample with this seed, by the names of a row of the predictions."""
    own = seed or 0
    return {
        'finish_reason': 'length' if own % 3 == 0 else 'stop',
        'prompt_tokens': 20 + own % 7,
        'output_tokens': 1 + own % 101,
    }


Record = Callable[[Any, Any, dict[str, Any]], None]
"""Called with the prompt, the seed and the other settings of each request."""


@contextmanager
def _huggingface(patch: pytest.MonkeyPatch, record: Record) -> Iterator[dict[str, Any]]:
    """transformers itself, on the shipped model."""
    module = import_plugin('.engines')
    mixin = import_module('transformers').GenerationMixin
    plain, drawn, batch = mixin.generate, module.SeededMultinomial, {}
    names = ('do_sample', 'temperature', 'top_p', 'top_k', 'repetition_penalty', 'max_new_tokens')

    def seeded(seeds):
        batch['seeds'] = seeds
        return drawn(seeds)

    def generate(self, **kwargs):
        tokenizer = import_module('transformers').AutoTokenizer.from_pretrained(MODEL)
        for ids, seed in zip(kwargs['input_ids'], batch['seeds'], strict=True):
            text = tokenizer.decode(ids, skip_special_tokens=False)
            record(text, seed, {name: kwargs[name] for name in names if name in kwargs})
        return plain(self, **kwargs)

    patch.setattr(module, 'SeededMultinomial', seeded)
    patch.setattr(mixin, 'generate', generate)
    yield {
        'llm_infos': [{'path': MODEL, 'name': 'm', 'tp': 0, 'batch_size': 4}],
        'model_kwargs': {'torch_dtype': 'torch.float32', 'device_map': 'cpu'},
    }


@contextmanager
def _lmdeploy(patch: pytest.MonkeyPatch, record: Record) -> Iterator[dict[str, Any]]:
    """lmdeploy's own classes; its pipeline, which needs a GPU, is recorded."""
    patch.syspath_prepend(str(LMDEPLOY))
    lmdeploy = import_module('lmdeploy')
    names = ('do_sample', 'temperature', 'top_p', 'top_k', 'repetition_penalty', 'max_new_tokens')

    def pipeline(path, backend_config, **_):
        backend = type(backend_config).__name__

        def pipe(prompts, gen_config, do_preprocess):
            for prompt, config in zip(prompts, gen_config, strict=True):
                assert isinstance(config, lmdeploy.GenerationConfig)
                settings = {name: getattr(config, name) for name in names}
                record(prompt, config.random_seed, {**settings, 'backend_config': backend})
            return [lmdeploy_reply(config.random_seed) for config in gen_config]

        return pipe

    patch.setattr(lmdeploy, 'pipeline', pipeline)
    patch.setattr('torch.cuda.is_available', lambda: True)
    patch.setattr('torch.cuda.device_count', lambda: 1)
    yield {'llm_infos': [{'path': MODEL, 'name': 'm', 'batch_size': 4}], 'max_seq_len': 512}


def lmdeploy_reply(seed: int) -> Any:
    """A `Response` of lmdeploy's own class."""
    facts = facts_of(seed)
    return import_module('lmdeploy.messages').Response(
        text=f'seed {seed}',
        generate_token_len=facts['output_tokens'],
        input_token_len=facts['prompt_tokens'],
        finish_reason=facts['finish_reason'],
    )


def vllm_reply(seed: int) -> Any:
    """What vLLM calls a `RequestOutput`."""
    facts = facts_of(seed)
    completion = SimpleNamespace(
        text=f'seed {seed}',
        token_ids=[7] * facts['output_tokens'],
        finish_reason=facts['finish_reason'],
    )
    return SimpleNamespace(prompt='', prompt_token_ids=[7] * facts['prompt_tokens'], outputs=[completion])


class RecordedSamplingParams:
    """Takes the recorded fields of vLLM's class and refuses others, as that does."""

    fields: frozenset[str] = frozenset()

    def __init__(self, **given: Any) -> None:
        if unknown := set(given) - self.fields:
            raise TypeError(f'Unexpected keyword argument {sorted(unknown)}')
        vars(self).update(given)

    def clone(self) -> RecordedSamplingParams:
        return copy.deepcopy(self)


@contextmanager
def fake_vllm(patch: pytest.MonkeyPatch, record: Record, version: str = '0.11.2') -> Iterator[dict[str, Any]]:
    """vLLM's two names in the wrapper's module, with the recorded fields of one version."""
    (known,) = [entry['SamplingParams'] for entry in VLLM if entry['version'] == version]
    params = type('SamplingParams', (RecordedSamplingParams,), {'fields': frozenset(known['fields'])})

    class LLM:
        def __init__(self, path, **model_kwargs):
            self.path, self.model_kwargs = path, model_kwargs
            context = model_kwargs.get('max_model_len', 512)
            self.llm_engine = SimpleNamespace(model_config=SimpleNamespace(max_model_len=context))

        def get_tokenizer(self):
            return import_module('transformers').AutoTokenizer.from_pretrained(self.path)

        def generate(self, prompts, sampling_params):
            for prompt, given in zip(prompts, sampling_params, strict=True):
                settings = {key: value for key, value in vars(given).items() if key not in ('seed', 'stop')}
                record(prompt['prompt'], given.seed, settings)
            return [vllm_reply(given.seed) for given in sampling_params]

    import_plugin()
    wrapper = import_module('opencompass.models.vllm_with_tf_above_v4_33')
    patch.setattr(wrapper, 'LLM', LLM)
    patch.setattr(wrapper, 'SamplingParams', params)
    yield {'llm_infos': [{'path': MODEL, 'name': 'm', 'batch_size': 4}], 'max_seq_len': 512}


def served(asked: Asked) -> Act:
    """A completion with the facts of the seed that was asked for."""
    facts = facts_of(asked.body.get('seed'))
    usage = {'prompt_tokens': facts['prompt_tokens'], 'completion_tokens': facts['output_tokens']}
    total = {'total_tokens': sum(usage.values())}
    text = f'seed {asked.body.get("seed")}'
    return Say(text, facts['finish_reason'], more={'usage': usage | total})


@contextmanager
def _server(patch: pytest.MonkeyPatch, record: Record) -> Iterator[dict[str, Any]]:
    """A real server on the loopback that keeps the bodies of the requests."""
    with JudgeServer(served) as server:
        yield {'url': server.url}
        for asked in server.asked:
            own = ('messages', 'prompt', 'seed')
            body = {key: value for key, value in asked.body.items() if key not in own}
            record(_text_of(asked.prompt), asked.body.get('seed'), body)


def _text_of(prompt: Any) -> str:
    """A prompt as a text; the tokens of one are those of the shipped model."""
    if isinstance(prompt, str):
        return prompt
    return str(import_module('transformers').AutoTokenizer.from_pretrained(MODEL).decode(prompt))


@contextmanager
def _openai(patch: pytest.MonkeyPatch, record: Record) -> Iterator[dict[str, Any]]:
    with _server(patch, record) as there:
        yield {
            'llm_infos': [{'path': 'm', 'batch_size': 4}],
            'openai_api_base': f'{there["url"]}/v1',
            'key': 'EMPTY',
            'tokenizer_path': MODEL,
            'query_per_second': 1000,
        }


@contextmanager
def _lmdeploy_server(patch: pytest.MonkeyPatch, record: Record) -> Iterator[dict[str, Any]]:
    with _server(patch, record) as there:
        yield {'llm_infos': [{'path': 'm', 'batch_size': 4}], 'api_addr': there['url']}


ENGINES: dict[str, Any] = {
    'turbomind': _lmdeploy, 'pytorch': _lmdeploy, 'vllm': fake_vllm, 'huggingface': _huggingface,
    'openai': _openai, 'lmdeploy_server': _lmdeploy_server,
}  # fmt: skip
SERVERS = ('openai', 'lmdeploy_server')
