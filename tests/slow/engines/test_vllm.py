"""A real vLLM, in process and as a server, against transformers on the same model: `make test-engines`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import pytest
from hosts import import_plugin
from vllm_server import VLLM_IN_PROCESS

if find_spec('vllm') is None:
    pytest.skip('no vLLM here: make test-engines', allow_module_level=True)

import_plugin()
import engine_checks as checks  # noqa: E402

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings('ignore')]


@pytest.fixture(scope='session')
def here(padded):
    """The engine `vllm`; its model is loaded once."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in VLLM_IN_PROCESS.items():
            patch.setenv(name, value)
        yield checks.Engine(
            'vllm',
            padded,
            {
                'llm_infos': [{'path': str(padded), 'name': 'm', 'batch_size': 16}],
                'model_kwargs': {'dtype': 'float32', 'enforce_eager': True},
                'max_seq_len': checks.CONTEXT,
            },
        )


@pytest.fixture(scope='session')
def openai(padded, vllm_url):
    """The same model behind vLLM's server, asked by `openai`."""
    lines = {
        'llm_infos': [{'path': 'm', 'batch_size': 16}],
        'openai_api_base': f'{vllm_url}/v1',
        'key': 'EMPTY',
        'tokenizer_path': str(padded),
        'query_per_second': 1000,
    }
    return checks.Engine('openai', padded, lines, reload=True)


@pytest.fixture(scope='session')
def lmdeploy_server(padded, vllm_url):
    """And by `lmdeploy_server`, which speaks the same protocol."""
    lines = {'llm_infos': [{'path': 'm', 'batch_size': 16}], 'api_addr': vllm_url}
    return checks.Engine('lmdeploy_server', padded, lines, reload=True)


@pytest.mark.parametrize('check', checks.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize('engine', ['here', 'openai', 'lmdeploy_server'])
def test_vllm_does_what_transformers_does(engine, check, request):
    """In process, and its server asked in two ways: see `engine_checks`."""
    found = check(request.getfixturevalue(engine))
    for one in found if isinstance(found, list) else [found]:
        print(f'{engine} | {one.check} | {one.seen}')
        assert one.holds, one


@pytest.mark.parametrize('engine', ['here', 'openai'])
def test_each_token_is_the_one_of_its_seed(engine, request):
    """Transformers' scores and vLLM's random numbers of a seed give the very token, with each setting.

    Whatever else is in the batch: a distribution of some thousand draws shows a wrong token only if many are.
    """
    asked: checks.Engine = request.getfixturevalue(engine)
    samples = [checks.Sample('seeded', replica) for replica in range(200)]
    texts = checks.token_texts(asked.path)
    for name, settings in checks.settings_of(asked.path).items():
        drawn = asked.draw([checks.QUESTION] * len(samples), samples, settings, length=1)
        tokens = _with_vllms_noise(checks.first_scores(asked.path, settings), asked.seeds_of(samples))
        assert [checks.class_of(one.text) for one in drawn] == [texts[token] for token in tokens], name


def _with_vllms_noise(scores: Any, seeds: Sequence[int]) -> list[int]:
    """Draw with vLLM's own sampler, a row a seed, from scores that are computed elsewhere."""
    import torch
    from vllm.v1.sample.ops.topk_topp_sampler import TopKTopPSampler

    rows = scores.expand(len(seeds), -1).contiguous()
    generators = {row: torch.Generator().manual_seed(seed) for row, seed in enumerate(seeds)}
    tokens: list[int] = TopKTopPSampler()(rows, generators, None, None)[0].tolist()
    return tokens
