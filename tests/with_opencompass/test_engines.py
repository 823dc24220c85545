"""Every engine, from the template to what arrives at the engine: a seed a sample, settings as named."""

from __future__ import annotations

import hashlib
import inspect
from pathlib import Path

import pytest
from engine_fakes import ENGINES, LMDEPLOY, SERVERS
from engine_requests import QUESTIONS, REPLICAS, SAMPLING, Outcome, config_of, infer, recorded
from hosts import drawn, import_plugin

from gpassk_opencompass.demo import MODEL

plugin = import_plugin()
seeds = import_plugin('.seeds')

pytestmark = [pytest.mark.filterwarnings('ignore')]


def need(engine: str) -> None:
    """Skip where lmdeploy's own classes are not there."""
    if engine in ('turbomind', 'pytorch') and not LMDEPLOY.is_dir():
        pytest.skip('lmdeploy is not unpacked beside this environment; `make test` does it')


def seeds_of_rows(engine: str) -> list[int]:
    """What each of the 12 rows must be drawn with, computed from the rows' names alone."""
    bits = 31 if engine in SERVERS else 53
    uids = [f'202412/AMC_en/{hashlib.sha256(text.encode()).hexdigest()[:12]}' for text, _ in QUESTIONS]
    return [seeds.sample_seed(42, uid, replica, bits) for replica in range(REPLICAS) for uid in uids]


def pairs(outcome: Outcome) -> list[tuple[int, int | None]]:
    return sorted((sent.question, sent.seed or 0) for sent in outcome.sent)


@pytest.mark.parametrize('engine', ENGINES)
def test_each_sample_is_drawn_with_its_own_seed_and_the_settings_of_the_name(
    engine: str, tmp_path: Path
) -> None:
    """12 requests, 12 seeds, each with the question of its row, each answer in its row, settings as named."""
    need(engine)
    outcome = infer(engine, tmp_path)
    expected = seeds_of_rows(engine)
    assert len(set(expected)) == 12
    assert pairs(outcome) == sorted((row % 3, seed) for row, seed in enumerate(expected))
    if engine != 'huggingface':  # which runs, and says what the model says
        assert outcome.predictions == [f'seed {seed}' for seed in expected]
    for sent in outcome.sent:
        settings = sent.settings
        assert settings['temperature'] == 0.8
        assert settings['top_p'] == 0.95
        assert settings['top_k'] == 40
        assert settings['repetition_penalty'] == 1.05
        assert settings.get('max_new_tokens', settings.get('max_tokens')) == 16
        assert settings.get('do_sample', True) is True


@pytest.mark.parametrize('engine', ENGINES)
def test_a_killed_run_resumes_with_the_seeds_of_what_is_missing(engine: str, tmp_path: Path) -> None:
    """Four samples before the kill, eight after it: the same seeds and answers."""
    need(engine)
    whole, resumed = infer(engine, tmp_path / 'a'), infer(engine, tmp_path / 'b', killed=True)
    assert set(pairs(resumed)) == set(pairs(whole))
    assert resumed.predictions == whole.predictions


@pytest.mark.parametrize('engine', ENGINES)
def test_shards_change_no_seed(engine: str, tmp_path: Path) -> None:
    """Two shards of six rows, as OpenCompass's partitioner cuts them."""
    need(engine)
    sharded = infer(engine, tmp_path, shards=2)
    expected = seeds_of_rows(engine)
    assert pairs(sharded) == sorted((row % 3, seed) for row, seed in enumerate(expected))
    if engine != 'huggingface':
        assert sharded.predictions == [f'seed {seed}' for seed in expected]


@pytest.mark.parametrize('engine', ENGINES)
@pytest.mark.parametrize('temperature', [0.0, 0.8])
def test_every_emitted_key_is_an_argument_of_the_real_class(
    engine: str, temperature: float, tmp_path: Path
) -> None:
    """Of the wrapper or of its seeded child; OpenCompass takes the others out before it builds the model."""
    need(engine)
    with recorded(engine, []) as options:
        model = config_of(
            engine, tmp_path, options, {**SAMPLING, 'temperatures': [temperature], 'greedy': not temperature}
        )['models'][0]
    kind = getattr(plugin, model['type'].rpartition('.')[2])
    wrapper = next(cls for cls in kind.__mro__ if cls.__module__.startswith('opencompass.models'))
    named = {
        name
        for cls in kind.__mro__[: kind.__mro__.index(wrapper) + 1]
        for name, parameter in inspect.signature(cls.__init__).parameters.items()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD or parameter.kind is parameter.KEYWORD_ONLY
    }
    taken_out = {'type', 'abbr', 'max_out_len', 'batch_size', 'run_cfg'}
    assert set(model) - taken_out <= named


@pytest.mark.parametrize('engine', ENGINES)
def test_a_greedy_run_takes_the_likeliest_token(engine: str, tmp_path: Path) -> None:
    """One request a question, of the form that each engine calls greedy, and no seed from a template."""
    need(engine)
    outcome = infer(engine, tmp_path, temperatures=[0.0], greedy=True)
    assert len(outcome.sent) == len(QUESTIONS)
    for sent in outcome.sent:
        settings = sent.settings
        greedy = (
            settings.get('do_sample') is False
            or settings.get('top_k') == 1
            or (engine in ('vllm', 'openai') and settings['temperature'] == 0)
        )
        assert greedy, settings
        assert engine not in SERVERS or sent.seed is None


def test_one_seed_for_all_requests_gives_one_response() -> None:
    """What the published templates do, `random_seed=42` in every request: n samples are one, n times."""
    model = plugin.SeededHuggingFace(
        MODEL,
        model_kwargs={'torch_dtype': 'torch.float32', 'device_map': 'cpu'},
        generation_kwargs={'do_sample': True, 'temperature': 1.0},
        max_seq_len=512,
    )
    prompts = ['What is 47 + 86?'] * 16
    own, fixed = (
        {text for text, *_ in drawn(model, prompts, given, max_out_len=40)} for given in (None, [42] * 16)
    )
    assert len(own) > 1
    assert len(fixed) == 1
