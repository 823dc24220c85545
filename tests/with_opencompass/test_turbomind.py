"""SeededTurboMind against lmdeploy's own classes; the engine itself needs a GPU and is recorded."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from engine_fakes import lmdeploy_reply
from hosts import drawn, import_plugin

from gpassk_opencompass import InputError
from gpassk_opencompass.demo import MODEL

plugin = import_plugin()
seeds = import_plugin('.seeds')

WHEEL = Path(sys.prefix) / 'lmdeploy-wheel'


@pytest.fixture
def lmdeploy(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The real lmdeploy 0.18.0, installed without its dependencies beside the environment."""
    if not WHEEL.is_dir():
        pytest.skip('lmdeploy is not unpacked beside this environment; `make test` does it')
    monkeypatch.syspath_prepend(str(WHEEL))
    import lmdeploy as module

    return module


class RecordingPipe:
    """Takes what lmdeploy's pipeline takes, and answers with the seed."""

    def __init__(self) -> None:
        self.calls: list[list[Any]] = []

    def __call__(self, prompts: list[str], gen_config: list[Any], do_preprocess: bool) -> list[Any]:
        self.calls.append(gen_config)
        return [lmdeploy_reply(config.random_seed) for _, config in zip(prompts, gen_config, strict=True)]


@pytest.fixture
def pipe(lmdeploy: ModuleType, monkeypatch: pytest.MonkeyPatch) -> RecordingPipe:
    pipe = RecordingPipe()
    monkeypatch.setattr(lmdeploy, 'pipeline', lambda *_, **__: pipe)
    return pipe


def build_model(backend: str = 'turbomind', engine_config: Any = None, **gen_config: Any) -> Any:
    return plugin.SeededTurboMind(
        path=MODEL,
        backend=backend,
        engine_config=engine_config or {},
        max_seq_len=512,
        random_seed=42,
        gen_config=gen_config,
    )


@pytest.mark.filterwarnings('ignore')
def test_without_a_gpu_turbomind_says_what_to_do(pipe: RecordingPipe) -> None:
    """Its own words are a bare assertion."""
    if import_module('torch').cuda.is_available():
        pytest.skip('there is a GPU here')
    with pytest.raises(InputError, match=r'no GPU here.*CUDA_VISIBLE_DEVICES'):
        drawn(build_model(do_sample=True), ['1+1?'])


@pytest.mark.filterwarnings('ignore')
def test_lmdeploy_takes_one_generation_config_a_prompt(lmdeploy: ModuleType) -> None:
    """The pipeline's own signature: a list of GenerationConfig is allowed, and the seed is a field."""
    from lmdeploy.pipeline import Pipeline

    annotation = str(inspect.signature(Pipeline.infer).parameters['gen_config'].annotation)
    assert 'list[GenerationConfig]' in annotation
    assert lmdeploy.GenerationConfig(random_seed=2**53 - 1).random_seed == 2**53 - 1


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize(
    ('settings', 'message'),
    [
        ({'do_sample': True, 'random_seed': 42}, 'same random numbers'),
        ({'do_sample': True, 'max_new_tokens': 4}, 'max_out_len'),
        ({'do_sample': True, 'top_pp': 0.5}, r"\['top_pp'\].*GenerationConfig does not know"),
        ({'temperature': 0.5}, 'without do_sample=True the engine is greedy'),
        ({'do_sample': True, 'engine_config': {'cache_max_entry': 1}}, 'TurbomindEngineConfig does not know'),
        ({'backend': 'pytorch', 'engine_config': {'cp': 2}}, 'PytorchEngineConfig does not know'),
    ],
)
def test_what_opencompass_would_drop_is_refused(
    pipe: RecordingPipe, settings: dict[str, Any], message: str
) -> None:
    """Against the classes of the installed lmdeploy, in a config written by hand too."""
    with pytest.raises(InputError, match=message):
        build_model(**settings)


def test_seeds_stay_different_in_the_32_bits_of_the_pytorch_backend() -> None:
    """It masks a seed; 238 questions × 48 replicas, as in the paper, keep different ones a question."""
    for question in range(238):
        samples = [(42, f'202412/AMC_en/{question}', replica) for replica in range(48)]
        assert len({seeds.sample_seed(*sample) & 0xFFFFFFFF for sample in samples}) == 48
        assert len({seeds.sample_seed(*sample, seeds.SERVER_BITS) for sample in samples}) == 48
