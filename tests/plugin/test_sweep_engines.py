"""What each engine makes of a template, and what one may not ask of it, because it would not be done."""

from __future__ import annotations

from typing import Any

import pytest
from sweeping import configs_of as expand

from gpassk_opencompass import TemplateError

REFUSED: dict[str, list[tuple[dict[str, Any], str]]] = {
    'turbomind': [
        ({'engine_config': {'tp': 2}}, 'write tp in llm_infos'),
        ({'temperatures': [2.5]}, 'at most 2'),
        ({'llm_infos': [{'path': 'a/m', 'tp': 0}]}, 'at least one GPU'),
        ({'model_kwargs': {}}, "model_kwargs is for engine 'vllm' or 'huggingface'"),
    ],
    'pytorch': [
        ({'max_seq_len': 8}, 'leaves no room'),
    ],
    'vllm': [
        ({'model_kwargs': {'tensor_parallel_size': 2}}, 'write tp in llm_infos'),
        ({'model_kwargs': {'max_model_len': 9}, 'max_seq_len': 99}, 'give one of them'),
        ({'temperatures': [0.001]}, 'vLLM would make it 0.01'),
        ({'random_seeds': None}, 'random_seeds is None'),
        ({'model_kwargs': {'pipeline_parallel_size': '2'}}, 'has pipeline_parallel_size = '),
    ],
    'huggingface': [({'chat_template_kwargs': {}}, "is for engine 'vllm'")],
    'openai': [
        ({'llm_infos': ['o3-mini'], 'openai_api_base': 'https://eu.api.openai.com/v1'}, "'o3' in its path"),
        ({'openai_api_base': 'node1:8000/v1'}, 'expected http://'),
        ({'key': 'MY_OWN_KEY'}, "key_env='MY_API_KEY'"),
        ({'key_env': 'a-key-itself'}, 'name of another environment variable'),
        ({'extra_body': {'seed': 1}}, 'copies of each other'),
        ({'extra_body': {'top_p': 0.5}}, 'write them as axes'),
        ({'extra_body': {'stream': True}}, 'set for each request'),
        ({'llm_infos': [{'path': 'm', 'tp': 1}]}, 'needs no GPU'),
        ({'tokenizer_path': '~no.such.user/m'}, 'there is no such home directory'),
    ],
    'lmdeploy_server': [
        ({'api_addr': ''}, 'api_addr is missing'),  # the class would ask 0.0.0.0
        ({'extra_body': {'session_id': 1}}, 'set for each request'),
    ],
    'serve': [
        ({'server': 'vlm'}, "server = 'vlm': expected vllm, sglang, lmdeploy, llama.cpp"),
        ({'server': None}, 'which server'),
        ({'serve': {'command': 'x {prot}'}}, '{prot}; what may stand in braces'),
        ({'serve': {'env': {'VLLM_API_KEY': 'abc'}}}, 'VLLM_API_KEY would stand in files: export it'),
        ({'serve': {'env': {'X': 'sk-aB3dE5gH7jK9'}}}, 'looks like a literal API key'),
        ({'server': 'lmdeploy', 'pp': 2}, 'pp is 2, and the command line of the server has no {pp}'),
        ({'max_seq_len': 4096}, 'max_seq_len does nothing without tokenizer_path'),
    ],
}
"""Engine → lines of a template, and what the message has to say."""
NEEDED = {'lmdeploy_server': {'api_addr': 'http://node1:23333'}, 'serve': {'server': 'vllm'}}


def lines(engine: str, **changed: Any) -> dict[str, Any]:
    """The variables of a template that is fine but for what was changed."""
    plain = {'engine': engine, 'llm_infos': ['org/m'], 'temperatures': [1.0], 'max_out_lens': [64]}
    return {**plain, **NEEDED.get(engine, {}), **changed}


@pytest.mark.parametrize(
    ('engine', 'changed', 'message'),
    [(engine, changed, message) for engine, cases in REFUSED.items() for changed, message in cases],
)
def test_a_template_asks_no_engine_for_what_it_would_not_do(engine, changed, message):
    """Each case differs in one line from a template that expands."""
    assert expand(lines(engine))
    with pytest.raises(TemplateError) as raised:
        expand(lines(engine, **changed))
    assert message in str(raised.value)
