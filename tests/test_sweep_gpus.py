"""A template's models and their GPUs: how many, or which part of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sweeping import BASE, dump

from gpassk_opencompass.errors import TemplateError
from gpassk_opencompass.runs.plan import planned_runs
from gpassk_opencompass.runs.sessions import Need, sessions_of
from gpassk_opencompass.sweep.gpus import run_cfg
from gpassk_opencompass.sweep.models import Llm


def llm(tp: int = 1, **options: Any) -> Llm:
    return Llm('org/m', 'm', tp, 64, options)


@pytest.mark.parametrize(
    ('given', 'gib'), [('20GB', 20.0), ('20 GiB', 20.0), ('7.5GB', 7.5), (24, 24.0), (0.5, 0.5)]
)
def test_a_part_of_a_gpu_is_told_in_gib(given: Any, gib: float) -> None:
    """As nvidia-smi counts it."""
    assert run_cfg(llm(gpu_memory=given)) == {'num_gpus': 1, 'gpu_memory': gib}


@pytest.mark.parametrize(
    'given', ['', '20', 'GB', '-1GB', '20TB', '1e3GB', '٢GB', 0, -1, True, float('nan'), float('inf'), '0GB']
)
def test_a_size_that_is_none_is_refused(given: Any) -> None:
    """With what was received, and an example."""
    with pytest.raises(TemplateError, match=r"org/m: gpu_memory is .*; expected .* such as '20GB'"):
        run_cfg(llm(gpu_memory=given))


@pytest.mark.parametrize('tp', [0, 2])
def test_only_one_gpu_has_parts(tp: int) -> None:
    """A model on several takes all of them."""
    with pytest.raises(TemplateError, match=f'is a part of one GPU, and the model takes {tp}'):
        run_cfg(llm(tp, gpu_memory='8GB'))


def test_stages_of_a_pipeline_count() -> None:
    """vLLM takes tp × pp."""
    assert run_cfg(llm(4, model_kwargs={'pipeline_parallel_size': 2})) == {'num_gpus': 8}
    for wrong in (0, '2', 1.5, True):
        with pytest.raises(TemplateError, match=r"model_kwargs\['pipeline_parallel_size'\] is"):
            run_cfg(llm(4, model_kwargs={'pipeline_parallel_size': wrong}))


def test_a_template_tells_its_needs(tmp_path: Path) -> None:
    """A line for all models, and one of its own; the schedule reads them in the configs."""
    models = "llm_infos = [dict(path='org/a'), dict(path='org/b', gpu_memory='30GB')]"
    assert dump(tmp_path, f"{BASE}\nengine = 'vllm'; gpu_memory = '20GB'\n{models}\n") == 0
    sessions = sessions_of(planned_runs([tmp_path / 'configs']).runs)
    assert [session.need for session in sessions] == [Need(1, 20.0), Need(1, 30.0)]
