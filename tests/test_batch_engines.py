"""Templates for the batch endpoints: what they become, and what they may not ask for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sweeping import expanded

from gpassk_opencompass import TemplateError
from gpassk_opencompass.cli import main
from gpassk_opencompass.sweep.configs import signature
from gpassk_opencompass.sweep.grid import expand
from gpassk_opencompass.sweep.starter import starter_template

ENGINES = ('openai_batch', 'anthropic_batch')
REFUSED: dict[str, list[tuple[dict[str, Any], str]]] = {
    'openai_batch': [
        ({'llm_infos': ['o3-mini']}, "no temperature for a model with 'o3' in its path"),
        ({'top_ks': [50]}, 'OpenAI takes no top_k'),
        ({'repetition_penalties': [1.1]}, 'OpenAI takes no repetition_penalty'),
        ({'openai_api_base': 'http://node1/v1/batches'}, 'it is added to it'),
        ({'openai_api_base': 'http://me:secret@node1/v1'}, 'leave the user and the password out'),
        ({'llm_infos': [{'path': 'm', 'batch_size': 50_001}]}, 'at most 50,000 requests'),
        ({'llm_infos': [{'path': 'm', 'tp': 1}]}, 'needs no GPU'),
        ({'extra_body': {'seed': 1}}, 'copies of each other'),
        ({'extra_body': {'stream': True}}, 'set for each request'),
        ({'key_env': 'a-key-itself'}, 'must name an environment variable'),
        ({'key': 'sk-a-key-itself'}, "must be 'ENV'"),
        ({'key': 'EMPTY', 'key_env': 'MY_KEY'}, 'both key and key_env'),
        ({'temperatures': [2.5]}, 'at most 2'),
        ({'poll': 0}, 'expected a number > 0'),
        ({'query_per_second': 3}, "query_per_second is for engine 'openai'"),
    ],
    'anthropic_batch': [
        ({'random_seeds': [42]}, 'takes no seed'),
        ({'temperatures': [1.5]}, 'at most 1'),
        ({'repetition_penalties': [1.1]}, 'no repetition_penalty'),
        ({'top_ps': [0.9]}, 'takes one of them since version 4'),
        ({'llm_infos': ['claude-opus-4-7']}, 'no temperature since version 4.7'),
        ({'llm_infos': ['claude-haiku-5-5'], 'top_ks': [4]}, 'no temperature, top_k since version 4.7'),
        ({'llm_infos': ['claude-fable-5']}, 'since version 4.7'),
        ({'extra_body': {'stop': ['\n']}}, 'stop_sequences'),
        ({'extra_body': {'thinking': {'type': 'enabled', 'budget_tokens': 64}}}, 'at least 1024'),
        (
            {
                'extra_body': {'thinking': {'type': 'enabled', 'budget_tokens': 2048}},
                'max_out_lens': [2048],
            },
            'less than max_out_len 2048',
        ),
        (
            {
                'extra_body': {'thinking': {'type': 'enabled', 'budget_tokens': 2048}},
                'max_out_lens': [4096],
                'temperatures': [0.5],
            },
            'temperature 1 alone',
        ),
        ({'base_url': 'http://node1/v1'}, 'it is added to it'),
        ({'llm_infos': [{'path': 'm', 'batch_size': 100_001}]}, 'at most 100,000 requests'),
    ],
}


def lines(engine: str, **changed: Any) -> dict[str, Any]:
    """The variables of a template that is fine but for what was changed."""
    plain = {'engine': engine, 'llm_infos': ['m'], 'temperatures': [1.0], 'max_out_lens': [64]}
    return {**plain, 'greedy': False, **changed}


@pytest.mark.parametrize(
    ('engine', 'changed', 'message'),
    [
        pytest.param(engine, *case, id=f'{engine}-{number}')
        for engine, cases in REFUSED.items()
        for number, case in enumerate(cases)
    ],
)
def test_a_template_is_refused_what_the_provider_would_not_do(
    engine: str, changed: dict[str, Any], message: str
) -> None:
    """Each case differs from a template that expands."""
    assert expand(lines(engine))
    with pytest.raises(TemplateError) as raised:
        expand(lines(engine, **changed))
    assert message in str(raised.value)


def test_a_server_that_wants_no_key_is_given_none() -> None:
    """As with engine 'openai'."""
    (config,) = expand(lines('openai_batch', key='EMPTY', openai_api_base='http://node1:8000/v1')).values()
    assert config['models'][0]['key'] == 'EMPTY'


def test_a_server_of_ones_own_takes_more() -> None:
    """What OpenAI refuses goes into the body, where vLLM and others read it."""
    server = {'openai_api_base': 'http://node1:8000/v1', 'top_ks': [50], 'random_seeds': [42]}
    (config,) = expand(lines('openai_batch', llm_infos=['o1-like'], top_ps=[0.9], **server)).values()
    [model] = config['models']
    assert model['extra_body'] == {'top_k': 50}
    assert (model['temperature'], model['top_p'], model['random_seed']) == (1.0, 0.9, 42)


@pytest.mark.parametrize(('engine', 'size'), [('openai_batch', 50_000), ('anthropic_batch', 100_000)])
def test_a_shard_is_one_batch_unless_told_otherwise(engine: str, size: int) -> None:
    """OpenCompass hands over as many prompts at a time as a batch may have."""
    (config,) = expand(lines(engine)).values()
    assert config['models'][0]['batch_size'] == size
    (config,) = expand(lines(engine, llm_infos=[{'path': 'm', 'batch_size': 9}])).values()
    assert config['models'][0]['batch_size'] == 9


@pytest.mark.parametrize(
    'path', ['claude-opus-4-20250514', 'claude-sonnet-4-6', 'claude-3-5-sonnet-20241022']
)
def test_models_that_take_a_temperature_get_it(path: str) -> None:
    """A date in the name is no version."""
    (config,) = expand(lines('anthropic_batch', llm_infos=[path], temperatures=[0.3])).values()
    assert config['models'][0]['temperature'] == 0.3


def test_a_model_without_sampling_settings_has_a_run() -> None:
    """Nothing is passed, and the name says nothing of it."""
    template = lines('anthropic_batch', llm_infos=['claude-opus-5-5'])
    del template['temperatures']
    ((name, config),) = expand(template).items()
    assert name.startswith('claude-opus-5-5_l64@')
    assert not {'temperature', 'top_p', 'top_k', 'random_seed'} & set(config['models'][0])


@pytest.mark.parametrize('engine', ENGINES)
@pytest.mark.parametrize('model', [None, 'claude-opus-5-5', 'gpt-5'])
def test_the_first_template_expands(engine: str, model: str | None, tmp_path: Path) -> None:
    """As `gpassk init` writes it; a model that takes no temperature gets a template without."""
    text = starter_template(engine, [model] if model else [])
    own = model is None or (engine == 'openai_batch') == model.startswith('gpt')
    assert expanded(tmp_path, text.replace("'math500-l5'", "'aime2024'"))
    if own and model:
        assert 'temperatures' not in text


@pytest.mark.parametrize('engine', ENGINES)
def test_init_writes_it(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, and what becomes of seeds."""
    monkeypatch.chdir(tmp_path)
    assert main(['init', '--engine', engine]) == 0
    [file] = tmp_path.glob('*.py')
    text = file.read_text()
    assert f'engine = {engine!r}' in text
    assert 'random_seeds = None' in text
    assert ('The API takes no seeds' in text) == (engine == 'anthropic_batch')


@pytest.mark.parametrize('engine', ENGINES)
def test_how_long_to_wait_and_where_changes_no_run(engine: str) -> None:
    """A run goes on with another interval, patience, address or size of batch."""
    (config,) = expand(lines(engine)).values()
    where = {'openai_batch': 'openai_api_base', 'anthropic_batch': 'base_url'}[engine]
    operation = {
        'poll': 5,
        'patience': 60,
        'retry': 0,
        'timeout': 9,
        'key_env': 'OTHER_KEY',
        where: 'http://a',
    }
    (other,) = expand(lines(engine, llm_infos=[{'path': 'm', 'batch_size': 9}], **operation)).values()
    assert other['models'] != config['models']
    assert signature(dict(other)) == signature(dict(config))
