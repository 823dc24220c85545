"""What each engine sends for one sample, recorded behind OpenCompass's own inference task.

The path is the real one: template → config → `OpenICLInferTask` → model class. Recorded is what arrives where
a GPU or a provider would be. lmdeploy's own classes, transformers and HTTP are real; vLLM knows the fields
that `recorded/vllm.json` has of it.
"""

from __future__ import annotations

import copy
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hosts import TESTS, import_plugin, write_bench
from judge_server import JudgeServer, Say
from sweeping import configs_of as expand

from gpassk_opencompass.demo import MODEL

LMDEPLOY = Path(sys.prefix) / 'lmdeploy-wheel'
VLLM = json.loads((TESTS / 'recorded' / 'vllm.json').read_text())
"""Of each recorded version: the fields of `SamplingParams` and of the server's `ChatCompletionRequest`."""

QUESTIONS = [('What is 7 + 5?', '12'), ('What is 8 + 6?', '14'), ('What is 9 + 4?', '13')]
REPLICAS = 4
SAMPLING = {
    'temperatures': [0.8], 'top_ps': [0.95], 'top_ks': [40], 'repetition_penalties': [1.05],
    'max_out_lens': [16], 'random_seeds': [42], 'greedy': False, 'k_lists': [[4]], 'n': REPLICAS,
}  # fmt: skip

Record = Callable[[Any, Any, dict[str, Any]], None]
"""Called with the prompt, the seed and the other settings of each request."""

# Stand-ins, each a context that gives the engine's lines of a template


def facts_of(seed: int | None) -> dict[str, Any]:
    """What each stand-in tells of the sample with this seed, by the names of a row of the predictions."""
    own = seed or 0
    reason = 'length' if own % 3 == 0 else 'stop'
    return {'finish_reason': reason, 'prompt_tokens': 20 + own % 7, 'output_tokens': 1 + own % 101}


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
        def pipe(prompts, gen_config, do_preprocess):
            for prompt, config in zip(prompts, gen_config, strict=True):
                assert isinstance(config, lmdeploy.GenerationConfig)
                record(prompt, config.random_seed, {name: getattr(config, name) for name in names})
            return [lmdeploy_reply(config.random_seed) for config in gen_config]

        return pipe

    patch.setattr(lmdeploy, 'pipeline', pipeline)
    patch.setattr('torch.cuda.is_available', lambda: True)
    patch.setattr('torch.cuda.device_count', lambda: 1)
    yield {'llm_infos': [{'path': MODEL, 'name': 'm', 'batch_size': 4}], 'max_seq_len': 512}


def lmdeploy_reply(seed: int) -> Any:
    told = facts_of(seed)
    counts = {'generate_token_len': told['output_tokens'], 'input_token_len': told['prompt_tokens']}
    made = {'text': f'seed {seed}', 'finish_reason': told['finish_reason'], **counts}
    return import_module('lmdeploy.messages').Response(**made)


def vllm_reply(seed: int) -> Any:
    told = facts_of(seed)
    tokens, reason = [7] * told['output_tokens'], told['finish_reason']
    completion = SimpleNamespace(text=f'seed {seed}', token_ids=tokens, finish_reason=reason)
    return SimpleNamespace(prompt='', prompt_token_ids=[7] * told['prompt_tokens'], outputs=[completion])


@contextmanager
def fake_vllm(patch: pytest.MonkeyPatch, record: Record, version: str = '0.11.2') -> Iterator[dict[str, Any]]:
    """vLLM's two names in the wrapper's module, with the recorded fields of one version."""
    [known] = [set(entry['SamplingParams']['fields']) for entry in VLLM if entry['version'] == version]

    class SamplingParams:
        def __init__(self, **given):  # refuses other fields, as vLLM's class does
            if unknown := set(given) - known:
                raise TypeError(f'Unexpected keyword argument {sorted(unknown)}')
            vars(self).update(given)

    class LLM:
        def __init__(self, path, **model_kwargs):
            self.path = path
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
    patch.setattr(wrapper, 'SamplingParams', SamplingParams)
    yield {'llm_infos': [{'path': MODEL, 'name': 'm', 'batch_size': 4}], 'max_seq_len': 512}


@contextmanager
def _server(record: Record, lines: Callable[[str], dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """A real server on the loopback that keeps the bodies of the requests."""

    def served(asked):
        told = facts_of(asked.body.get('seed'))
        counts = {'prompt_tokens': told['prompt_tokens'], 'completion_tokens': told['output_tokens']}
        usage = {'usage': {**counts, 'total_tokens': sum(counts.values())}}
        return Say(f'seed {asked.body.get("seed")}', told['finish_reason'], more=usage)

    with JudgeServer(served) as server:
        yield {'llm_infos': [{'path': 'm', 'batch_size': 4}], **lines(server.url)}
        for asked in server.asked:
            body = {key: value for key, value in asked.body.items() if key not in ('messages', 'seed')}
            record(asked.prompt, asked.body.get('seed'), body)


def _openai(patch: pytest.MonkeyPatch, record: Record) -> Any:
    own = {'key': 'EMPTY', 'tokenizer_path': MODEL, 'query_per_second': 1000}
    return _server(record, lambda url: {'openai_api_base': f'{url}/v1', **own})


def _lmdeploy_server(patch: pytest.MonkeyPatch, record: Record) -> Any:
    return _server(record, lambda url: {'api_addr': url})


ENGINES: dict[str, Any] = {
    'turbomind': _lmdeploy, 'pytorch': _lmdeploy, 'vllm': fake_vllm, 'huggingface': _huggingface,
    'openai': _openai, 'lmdeploy_server': _lmdeploy_server,
}  # fmt: skip
SERVERS = ('openai', 'lmdeploy_server')

# Whole inferences


class Sent(NamedTuple):
    """One request: the question that it asks, its seed, and its other settings."""

    question: int
    seed: int | None
    settings: dict[str, Any]


class Outcome(NamedTuple):
    """A whole inference: what was sent, in order of arrival, and the predictions in order of rows."""

    sent: list[Sent]
    rows: list[dict[str, Any]]


def config_of(engine: str, folder: Path, options: dict[str, Any], sampling: dict[str, Any]) -> dict[str, Any]:
    data = write_bench(folder / 'data', {'AMC_en': QUESTIONS})
    rows = {'dataset_path': str(data), 'dataset_splits': ['AMC'], 'dataset_languages': ['en']}
    [config] = expand({'engine': engine, **options, **sampling, **rows}).values()
    return dict(config)


@contextmanager
def recorded(engine: str, sent: list[Sent]) -> Iterator[dict[str, Any]]:
    """Within this context the engine notes its requests in `sent`; gives its lines of a template."""

    def record(prompt, seed, settings):
        [question] = [at for at, (text, _) in enumerate(QUESTIONS) if text in str(prompt)]
        sent.append(Sent(question, seed, settings))

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter('ignore')
        with ENGINES[engine](patch, record) as options:
            yield options


def infer(engine: str, folder: Path, shards: int = 1, **sampling: Any) -> Outcome:
    sent: list[Sent] = []
    with recorded(engine, sent) as options:
        config = config_of(engine, folder, options, {**SAMPLING, **sampling})
        for task in tasks_of(config, folder / 'work', shards):
            task.run()
    return Outcome(sent, rows_in(folder / 'work'))


def tasks_of(config: dict[str, Any], work: Path, shards: int = 1) -> list[Any]:
    """The tasks that OpenCompass's own partitioner makes of a run."""
    from mmengine.config import ConfigDict

    task = import_module('opencompass.tasks').OpenICLInferTask
    partitioner = import_module('opencompass.partitioners').NumWorkerPartitioner(
        str(work), num_worker=shards, min_task_size=1, dataset_size_path='', force_rebuild=True
    )
    dataset = ConfigDict(copy.deepcopy(config['datasets'][0]))
    parts = partitioner.split_dataset(dataset) if shards > 1 else [dataset]
    model = ConfigDict(copy.deepcopy(config['models'][0]))
    return [task(ConfigDict(models=[model], datasets=[[part]], work_dir=str(work))) for part in parts]


def rows_in(work: Path) -> list[dict[str, Any]]:
    shards = [json.loads(file.read_text('utf-8')) for file in sorted(work.glob('predictions/*/*.json'))]
    return [shard[str(at)] for shard in shards for at in range(len(shard))]
