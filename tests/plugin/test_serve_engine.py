"""The engine `serve` of templates: what becomes of its lines, and what it refuses."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import pytest
from sweeping import configs_of as expand
from sweeping import dump

from gpassk_opencompass.errors import TemplateError
from gpassk_opencompass.runs.driver import gpus_needed
from gpassk_opencompass.serving import PRESETS, Served, read_serve

LINES: dict[str, Any] = {
    'engine': 'serve', 'server': 'vllm',
    'llm_infos': [{'path': '/models/Qwen2.5-7B', 'tp': 2, 'batch_size': 8}], 'temperatures': [1.0],
    'max_out_lens': [64], 'greedy': False,
}  # fmt: skip


def model_of(**lines: Any) -> dict[str, Any]:
    """The model of the only config."""
    [config] = expand({**LINES, **lines}).values()
    [model] = config['models']
    return dict(model)


def test_a_model_is_loaded_from_its_path_and_asked_by_its_name() -> None:
    """It takes tp × pp GPUs; as many requests are under way as its batch has."""
    model = model_of(llm_infos=[{'path': '/models/Qwen2.5-7B', 'tp': 2, 'pp': 3, 'batch_size': 8}])
    assert model['type'] == 'gpassk_opencompass.SeededServed'
    assert (model['path'], model['served_name']) == ('/models/Qwen2.5-7B', 'Qwen2.5-7B')
    assert (model['tp'], model['pp'], model['run_cfg']) == (2, 3, {'num_gpus': 6})
    assert (model['max_workers'], model['random_seed']) == (8, 42)
    assert gpus_needed({'models': [model]}) == 6
    assert 'tokenizer_path' not in model


@pytest.mark.parametrize(
    ('server', 'field'), [('vllm', 'repetition_penalty'), ('llama.cpp', 'repeat_penalty')]
)
def test_a_penalty_goes_where_the_server_reads_it(server: str, field: str) -> None:
    """llama.cpp drops the name of the others without a word."""
    model = model_of(server=server, repetition_penalties=[1.1], top_ks=[40])
    assert model['extra_body'] == {'top_k': 40, field: 1.1}


def test_a_greedy_run_of_lmdeploy_takes_the_likeliest_token() -> None:
    """Its server always samples."""
    settings = {'temperatures': [0.0], 'greedy': True}
    model = model_of(server='lmdeploy', **settings)
    assert model['extra_body'] == {'top_k': 1, 'repetition_penalty': 1.0}
    assert (model['temperature'], model['openai_extra_kwargs']) == (1.0, {'top_p': 1.0})
    assert model_of(**settings)['temperature'] == 0.0


@pytest.mark.parametrize(
    ('lines', 'complaint'),
    [
        ({'server': 'vlm'}, "server = 'vlm': expected vllm, sglang, lmdeploy, llama.cpp"),
        ({'server': None}, 'which server'),
        ({'serve': {'command': 'x {prot}'}}, r'\{prot\}; what may stand in braces'),
        ({'serve': {'env': {'VLLM_API_KEY': 'abc'}}}, 'VLLM_API_KEY would stand in files: export it'),
        ({'server': 'lmdeploy', 'pp': 2}, r'pp is 2, and the command line of the server has no \{pp\}'),
        ({'extra_body': {'seed': 1}}, 'a fixed seed'),
        ({'extra_body': {'top_p': 1}}, 'write them as axes'),
        ({'max_seq_len': 4096}, 'max_seq_len does nothing without tokenizer_path'),
        ({'openai_api_base': 'http://x'}, "is for engine 'openai'"),
        ({'temperatures': [2.5]}, 'at most 2'),
        ({'key_env': 'sk-123'}, 'name of another environment variable'),
    ],
)
def test_what_would_not_be_done_is_refused(lines: dict[str, Any], complaint: str) -> None:
    """Before any file is written."""
    with pytest.raises(TemplateError, match=complaint):
        expand({**LINES, **lines})


@pytest.mark.parametrize('env', ["{'HF_TOKEN': 'abcdefgh'}", "{'X': 'sk-aB3dE5gH7jK9'}"])
def test_a_key_in_the_environment_of_a_server_is_refused(
    env: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would be written into each config."""
    text = '\n'.join(f'{name} = {value!r}' for name, value in LINES.items())
    assert dump(tmp_path, f'{text}\nserve = dict(env={env})') == 2
    assert 'looks like a literal API key' in capsys.readouterr().err


@pytest.mark.filterwarnings('ignore')
def test_the_real_lmdeploy_understands_its_command_line(lmdeploy_parser: ArgumentParser) -> None:
    """Its own parser of 0.18.0, and its route for health."""
    program, *words = Served(read_serve({}, 'lmdeploy'), '/m/x', 'x', 2).words(1234)
    parsed = lmdeploy_parser.parse_args(words)
    assert program == 'lmdeploy'
    assert (parsed.model_path, parsed.model_name, parsed.tp) == ('/m/x', 'x', 2)
    assert (parsed.server_name, parsed.server_port) == ('127.0.0.1', 1234)
    wheel = Path(sys.prefix) / 'lmdeploy-wheel'
    routes = (wheel / 'lmdeploy' / 'serve' / 'openai' / 'endpoints' / 'management.py').read_text()
    assert f"'{PRESETS['lmdeploy'].ready}'" in routes
