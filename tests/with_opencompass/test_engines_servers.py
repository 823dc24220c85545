"""Engines that ask a server, over a real socket: threads, retries, keys, lmdeploy's own request schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from engine_fakes import LMDEPLOY, SERVERS, VLLM
from engine_requests import infer
from hosts import import_plugin
from judge_server import Act, Asked, Fail, JudgeServer, Say, completion

from gpassk_opencompass import InputError
from gpassk_opencompass.demo import MODEL

plugin = import_plugin()
seeds = import_plugin('.handover')

pytestmark = [pytest.mark.filterwarnings('ignore')]
SAMPLES = [seeds.Sample('202412/AMC_en/0', replica) for replica in range(6)]
EXPECTED = [seeds.sample_seed(42, sample, 31) for sample in SAMPLES]
PROMPTS = [f'prompt {number}' for number in range(6)]


@contextmanager
def model_at(
    engine: str, behave: Callable[[Asked], Act], **settings: Any
) -> Iterator[tuple[Any, JudgeServer]]:
    """A model of this engine and the server that it asks."""
    with JudgeServer(behave) as server:
        if engine == 'openai':
            fixed = {'key': 'EMPTY', 'tokenizer_path': MODEL, 'query_per_second': 1000, 'retry': 2}
            given = {'random_seed': 42, 'temperature': 1.0, 'max_workers': 6, **fixed, **settings}
            model = plugin.SeededOpenAISDK(
                given.pop('path', 'm'), openai_api_base=f'{server.url}/v1', **given
            )
        else:
            model = plugin.SeededTurboMindAPI(
                'm', server.url, **{'random_seed': 42, 'temperature': 1.0, **settings}
            )
        yield model, server


def sample(model: Any, prompts: list[str] = PROMPTS) -> list[str]:
    model.seeds.announce(SAMPLES[: len(prompts)])
    texts: list[str] = model.generate(prompts, max_out_len=16)
    return texts


@pytest.mark.parametrize('engine', SERVERS)
def test_a_seed_goes_with_its_prompt_whatever_the_order_of_the_threads(engine: str) -> None:
    """The first prompts are answered last; every answer and every seed is with its own prompt."""

    def behave(asked: Asked) -> Act:
        number = int(asked.prompt.split()[-1])
        return Say(f'{asked.prompt}: {asked.body["seed"]}', delay=0.02 * (6 - number))

    with model_at(engine, behave) as (model, server):
        texts = sample(model)
    assert texts == [f'{prompt}: {seed}' for prompt, seed in zip(PROMPTS, EXPECTED, strict=True)]
    assert len(server.asked) == 6


@pytest.mark.parametrize('engine', SERVERS)
def test_a_retry_keeps_its_seed(engine: str) -> None:
    """Every prompt fails once, and is sent again as it was."""
    seen: set[str] = set()

    def behave(asked: Asked) -> Act:
        if asked.prompt in seen:
            return str(asked.body['seed'])
        seen.add(asked.prompt)
        return Fail(500, headers={'retry-after-ms': '1'})

    with model_at(engine, behave) as (model, server):
        assert sample(model) == [str(seed) for seed in EXPECTED]
    sent = sorted((asked.prompt, asked.body['seed']) for asked in server.asked)
    assert sent == sorted(2 * list(zip(PROMPTS, EXPECTED, strict=True)))


@pytest.mark.parametrize('engine', SERVERS)
def test_without_a_random_seed_no_seed_is_sent(engine: str) -> None:
    """For servers that refuse the field; nothing needs to be announced then."""
    with model_at(engine, lambda asked: 'x', random_seed=None) as (model, server):
        assert model.seeds is None
        assert model.generate(PROMPTS, max_out_len=16) == ['x'] * 6
    assert all('seed' not in asked.body for asked in server.asked)


@pytest.mark.parametrize('engine', SERVERS)
def test_seeds_must_be_announced(engine: str) -> None:
    """A seeded model behind another inferencer stops instead of sampling without seeds."""
    with (
        model_at(engine, lambda asked: 'x') as (model, _),
        pytest.raises(RuntimeError, match='SeededGenInferencer'),
    ):
        model.generate(PROMPTS, max_out_len=16)


@pytest.mark.parametrize('engine', SERVERS)
def test_the_key_comes_from_the_named_variable(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the models of one template may have different providers."""
    monkeypatch.setenv('MY_PROVIDER_KEY', 'secret-1')
    with model_at(engine, lambda asked: 'x', key_env='MY_PROVIDER_KEY') as (model, server):
        sample(model, PROMPTS[:1])
    assert server.asked[0].headers['Authorization'] == 'Bearer secret-1'
    monkeypatch.delenv('MY_PROVIDER_KEY')
    with (
        pytest.raises(InputError, match='export MY_PROVIDER_KEY'),
        model_at(engine, lambda asked: 'x', key_env='MY_PROVIDER_KEY'),
    ):
        pass


@pytest.mark.parametrize('engine', SERVERS)
@pytest.mark.parametrize('greedy', [True, False])
def test_lmdeploys_server_does_what_the_name_says(
    engine: str, greedy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through its own request schema and its own code: the generation config of each request."""
    if not LMDEPLOY.is_dir():
        pytest.skip('lmdeploy is not unpacked beside this environment; `make test` does it')
    monkeypatch.syspath_prepend(str(LMDEPLOY))
    schema = import_module('lmdeploy.serve.openai.protocol').ChatCompletionRequest
    merge = import_module('lmdeploy.serve.core.generation_config').build_generation_config
    lines = {'temperatures': [0.0], 'greedy': True} if greedy else {}
    for sent in infer(engine, tmp_path, **lines).sent:
        body = {**sent.settings, **({} if sent.seed is None else {'seed': sent.seed}), 'messages': []}
        assert set(body) <= set(schema.model_fields)  # a server drops others without a word
        request = schema(**body)
        config = merge(
            request, {'top_p': 0.5, 'top_k': 20}, max_new_tokens=request.max_tokens, random_seed=request.seed
        )
        assert config.max_new_tokens == 16
        assert config.random_seed == sent.seed
        if not greedy:
            given = (config.temperature, config.top_p, config.top_k, config.repetition_penalty)
            assert given == (0.8, 0.95, 40, 1.05)
        elif engine == 'lmdeploy_server':
            assert (config.temperature, config.top_p, config.top_k) == (1.0, 1.0, 1)


def test_vllms_server_knows_every_field_of_a_request(tmp_path: Path) -> None:
    """In the recorded versions; as lmdeploy's, it drops others without a word."""
    for sent in infer('openai', tmp_path).sent:
        for entry in VLLM:
            assert {*sent.settings, 'seed', 'messages'} <= set(entry['ChatCompletionRequest']['fields'])


def test_lmdeploy_has_no_client_for_the_class_of_opencompass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: `TurboMindAPIModel` imports what lmdeploy 0.18 does not have; the seeded one does not."""
    if LMDEPLOY.is_dir():
        monkeypatch.syspath_prepend(str(LMDEPLOY))
    wrapper = import_module('opencompass.models.turbomind_api').TurboMindAPIModel
    with pytest.raises(ModuleNotFoundError):
        wrapper('m', 'http://127.0.0.1:1')
    with model_at('lmdeploy_server', lambda asked: 'x') as (model, _):
        assert isinstance(model, wrapper)


def test_thoughts_that_a_server_splits_off_come_back() -> None:
    """With a reasoning parser at the server, the response is thoughts and answer, as OpenAISDK has it."""
    reply = completion('4')
    reply['choices'][0]['message']['reasoning_content'] = 'two and two'
    with model_at(
        'lmdeploy_server', lambda asked: Fail(200, reply, {'Content-Type': 'application/json'})
    ) as (
        model,
        _,
    ):
        assert sample(model, PROMPTS[:1]) == ['two and two</think>4']


def test_a_reasoning_model_at_ones_own_server_gets_its_temperature(tmp_path: Path) -> None:
    """Regression: OpenAISDK leaves it out for any path with `o1` in it, so of Skywork-o1-Open too."""
    lines = {'llm_infos': [{'path': 'Skywork/Skywork-o1-Open-Llama-3.1-8B', 'batch_size': 4}]}
    for sent in infer('openai', tmp_path, **lines).sent:
        assert sent.settings['temperature'] == 0.8
        assert sent.settings['top_p'] == 0.95
        assert sent.settings['max_completion_tokens'] == 16


def test_a_temperature_that_would_not_be_sent_is_refused() -> None:
    """In a config written by hand too."""
    with pytest.raises(InputError, match='sends none'), model_at('openai', lambda asked: 'x', path='o1-mini'):
        pass


@pytest.mark.parametrize(
    ('key', 'where'), list(zip(['seed', 'random_seed', 'n'], cycle(['extra_body', 'openai_extra_kwargs'])))
)
def test_a_fixed_seed_is_refused(where: str, key: str) -> None:
    """It would be sent with every request."""
    with pytest.raises(InputError, match=key), model_at('openai', lambda asked: 'x', **{where: {key: 1}}):
        pass


@pytest.mark.parametrize('key', ['seed', 'random_seed', 'n', 'do_sample', 'max_new_tokens'])
def test_lmdeploys_server_is_sent_no_setting_in_vain(key: str) -> None:
    """OpenCompass's own example, `gen_config=dict(random_seed=…)`, is dropped by the server."""
    with (
        pytest.raises(InputError, match=key),
        model_at('lmdeploy_server', lambda asked: 'x', gen_config={key: 1}),
    ):
        pass
