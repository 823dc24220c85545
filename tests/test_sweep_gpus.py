"""A template's models and their GPUs: how many each takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from sweeping import BASE, dump, expanded

TEMPLATE = f"{BASE}\nengine = 'vllm'\n"


def test_stages_of_a_pipeline_count(tmp_path: Path) -> None:
    """vLLM takes tp × pp."""
    staged = "dict(path='org/b', tp=4, model_kwargs=dict(pipeline_parallel_size=2))"
    configs = expanded(tmp_path, f"{TEMPLATE}llm_infos = [dict(path='org/a', tp=4), {staged}]\n")
    models = [config['models'][0] for config in configs.values()]
    assert {model['path']: model['run_cfg'] for model in models} == {
        'org/a': {'num_gpus': 4},
        'org/b': {'num_gpus': 8},
    }


@pytest.mark.parametrize('wrong', [0, '2', 1.5, True])
def test_stages_that_are_none_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: object
) -> None:
    """With where it stands."""
    assert dump(tmp_path, f'{TEMPLATE}model_kwargs = dict(pipeline_parallel_size={wrong!r})\n') == 2
    assert f'model_kwargs has pipeline_parallel_size = {wrong!r}' in capsys.readouterr().err
