"""Every engine, from the template to what arrives at it: a seed a sample, settings as named, states."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import engine_fakes as fakes
import numpy as np
import pytest
from hosts import drawn, import_plugin
from scipy.stats import chisquare

from gpassk_opencompass import InputError
from gpassk_opencompass.answers import final_answer
from gpassk_opencompass.demo import MODEL
from gpassk_opencompass.health import Generation

plugin = import_plugin()
seeds = import_plugin('.seeds')
torch = import_module('torch')

pytestmark = [pytest.mark.filterwarnings('ignore')]
SEEDS = [seeds.sample_seed(42, '202412/AMC_en/0', replica) for replica in range(6)]


def need(engine: str) -> None:
    """Skip where lmdeploy's own classes are not there."""
    if engine in ('turbomind', 'pytorch') and not fakes.LMDEPLOY.is_dir():
        pytest.skip('lmdeploy is not unpacked beside this environment; `make test` does it')


@pytest.fixture
def lmdeploy(monkeypatch):
    """The real lmdeploy, installed without its dependencies beside the environment; its pipeline is not."""
    need('pytorch')
    monkeypatch.syspath_prepend(str(fakes.LMDEPLOY))
    module = import_module('lmdeploy')

    def pipe(prompts, gen_config, do_preprocess):
        return [fakes.lmdeploy_reply(config.random_seed) for config in gen_config]

    monkeypatch.setattr(module, 'pipeline', lambda *_, **__: pipe)
    return module


@pytest.fixture(params=[entry['version'] for entry in fakes.VLLM])
def sent(request, monkeypatch):
    """What arrives at vLLM's `LLM.generate`: (prompt, seed, other settings), for each recorded version."""
    arrived: list[Any] = []
    with fakes.fake_vllm(monkeypatch, lambda *request: arrived.append(request), request.param):
        yield arrived


def turbomind(path: str = MODEL, backend: str = 'turbomind', **gen_config: Any) -> Any:
    engine, cut = gen_config.pop('engine_config', {}), gen_config.pop('drop_middle', False)
    fixed = {'drop_middle': cut, 'max_seq_len': 512, 'random_seed': 42, 'gen_config': gen_config}
    return plugin.SeededTurboMind(path, backend=backend, engine_config=engine, **fixed)


def vllm(path: str = MODEL, model_kwargs: Any = None, stop_words: Sequence[str] = (), **settings: Any) -> Any:
    given = {'model_kwargs': model_kwargs or {}, 'stop_words': list(stop_words), 'max_seq_len': 512}
    return plugin.SeededVLLM(path, generation_kwargs=settings, random_seed=42, **given)


def transformers(path: str = MODEL, **settings: Any) -> Any:
    kwargs = {'torch_dtype': 'torch.float32', 'device_map': 'cpu'}
    fixed = {'max_seq_len': 512, 'generation_kwargs': {'do_sample': True, 'temperature': 1.0}}
    return plugin.SeededHuggingFace(path, model_kwargs=kwargs, random_seed=42, **{**fixed, **settings})


# all engines


def seeds_of_rows(engine: str) -> list[int]:
    """What each of the 12 rows must be drawn with, computed from the rows' names alone."""
    bits = 31 if engine in fakes.SERVERS else 53
    uids = [f'202412/AMC_en/{hashlib.sha256(text.encode()).hexdigest()[:12]}' for text, _ in fakes.QUESTIONS]
    return [seeds.sample_seed(42, uid, replica, bits) for replica in range(fakes.REPLICAS) for uid in uids]


@pytest.mark.parametrize('engine', fakes.ENGINES)
def test_each_sample_is_drawn_with_its_own_seed_and_the_settings_of_the_name(engine, tmp_path):
    """12 seeds, each with the question of its row, also in two shards."""
    need(engine)
    outcome, expected = fakes.infer(engine, tmp_path), seeds_of_rows(engine)
    sharded = fakes.infer(engine, tmp_path / 'c', shards=2)
    assert len(set(expected)) == 12
    for one in (outcome, sharded):
        sent = sorted((each.question, each.seed) for each in one.sent)
        assert sent == sorted((row % 3, seed) for row, seed in enumerate(expected))
        assert [row['sample']['seed'] for row in one.rows] == expected
        for row in one.rows if engine != 'huggingface' else ():  # which runs, and says what the model says
            assert row['prediction'] == f'seed {row["sample"]["seed"]}'
            told = row['generation']
            assert (told.pop('seconds', None) is not None) == (engine in fakes.SERVERS)
            assert told == fakes.facts_of(row['sample']['seed'])
            assert set(row) == {'origin_prompt', 'prediction', 'gold', 'sample', 'generation'}
    for sent in outcome.sent:
        settings = sent.settings
        named = [settings[name] for name in ('temperature', 'top_p', 'top_k', 'repetition_penalty')]
        assert named == [0.8, 0.95, 40, 1.05]
        assert settings.get('max_new_tokens', settings.get('max_tokens')) == 16
        assert settings.get('do_sample', True) is True


@pytest.mark.parametrize('engine', fakes.ENGINES)
def test_a_greedy_run_takes_the_likeliest_token(engine, tmp_path):
    """One request a question, of the form that each engine calls greedy, and no seed from a template."""
    need(engine)
    outcome = fakes.infer(engine, tmp_path, temperatures=[0.0], greedy=True)
    assert len(outcome.sent) == len(fakes.QUESTIONS)
    for one in outcome.sent:
        settings = one.settings
        cold = engine in ('vllm', 'openai') and settings['temperature'] == 0
        assert cold or settings.get('do_sample') is False or settings.get('top_k') == 1, settings
        assert engine not in fakes.SERVERS or one.seed is None


# seeds


def draw(probs: Any, of_seeds: list[int], times: int = 1) -> list[list[int]]:
    with import_plugin('.engines').SeededMultinomial(of_seeds):
        return [torch.multinomial(probs, num_samples=1).squeeze(1).tolist() for _ in range(times)]


def test_a_seed_never_changes():
    """A published run must be repeatable with a later version: this value is part of the interface."""
    assert seeds.sample_seed(42, '202412/AMC_en/0', 0) == 4375039624031918


def test_seeds_stay_different_in_the_32_bits_of_the_pytorch_backend():
    """It masks a seed; 238 questions × 48 replicas, as in the paper, keep different ones a question."""
    for question in range(238):
        samples = [(42, f'202412/AMC_en/{question}', replica) for replica in range(48)]
        assert len({seeds.sample_seed(*one) & 0xFFFFFFFF for one in samples}) == 48
        assert len({seeds.sample_seed(*one, seeds.SERVER_BITS) for one in samples}) == 48


def test_draws_follow_the_distribution():
    """20,000 rows with seeds of their own against the probabilities; impossible tokens never come."""
    rows, probs = 20_000, [0.5, 0.0, 0.3, 0.0, 0.2]
    found = np.array(draw(torch.tensor([probs] * rows), list(range(rows)))[0])
    counts = np.bincount(found, minlength=5)
    assert counts[1] == counts[3] == 0
    assert chisquare(counts[[0, 2, 4]], [rows * p for p in probs if p]).pvalue > 1e-4


def test_a_row_draws_the_same_in_any_batch():
    """Ten steps of three rows, together and one by one."""
    probs = torch.rand(3, 50, generator=torch.Generator().manual_seed(0))
    together = draw(probs, [11, 22, 33], times=10)
    for row, seed in enumerate([11, 22, 33]):
        alone = draw(probs[row : row + 1], [seed], times=10)
        assert [step[0] for step in alone] == [step[row] for step in together]


# transformers

LONG = 'Compute $19+4$. ' * 60
SHORT = ['What is 7 + 5?', 'Compute $8+6$.']
OF_ALL_LENGTHS = ['What is 7 + 5? Take your time, and tell us what you think of it.', *SHORT, LONG[:48]]


@pytest.fixture
def alone(monkeypatch):
    """The number of new tokens of each batch of one, as transformers gave it: it has no padding."""
    mixin, lengths = import_module('transformers').GenerationMixin, []
    plain = mixin.generate

    def generate(self, **given):
        outputs = plain(self, **given)
        lengths.extend([outputs.shape[1] - given['input_ids'].shape[1]] * (len(outputs) == 1))
        return outputs

    monkeypatch.setattr(mixin, 'generate', generate)
    return lengths


def length_of(prompt: str) -> int:
    tokenizer = import_module('transformers').AutoTokenizer.from_pretrained(MODEL)
    messages = [{'role': 'user', 'content': prompt}]
    return len(tokenizer.apply_chat_template(messages, add_generation_prompt=True))


@pytest.mark.parametrize('stop_words', [[], ['1'], ['}']], ids=['none', 'a digit', 'a brace'])
@pytest.mark.parametrize('most', [4, 40])
def test_transformers_counts_a_sample_of_a_batch_as_if_it_were_alone(alone, stop_words, most):
    """Neither padding on the left nor what comes behind its end; a stop word ends a batch of one at once."""
    model = transformers(stop_words=stop_words)
    together = drawn(model, OF_ALL_LENGTHS, SEEDS[:4], most)
    single = [drawn(model, [OF_ALL_LENGTHS[at]], [SEEDS[at]], most)[0] for at in range(4)]
    assert together == single
    told = [one for _, one, _ in together]
    assert [one.output_tokens for one in told] == alone
    assert [one.prompt_tokens for one in told] == list(map(length_of, OF_ALL_LENGTHS))
    assert all(one.seconds is None for one in told)


def test_a_prompt_that_does_not_fit_costs_no_other_sample_of_its_batch():
    """The others are drawn with their own seeds; a prompt of as many tokens as the context does not fit."""
    one, length = transformers(max_seq_len=64), length_of(LONG)
    found = drawn(one, [SHORT[0], LONG, SHORT[1]], SEEDS[:3], 20)
    told = Generation(prompt_tokens=length, state='too long')
    assert found[1] == ('', told, f'a prompt has {length} tokens, and the context 64')
    assert [found[0], found[2]] == drawn(one, SHORT, [SEEDS[0], SEEDS[2]], 20)
    assert found[0][0]
    for limit, state in ((found[0][1].prompt_tokens, 'too long'), (found[0][1].prompt_tokens + 1, None)):
        assert drawn(transformers(max_seq_len=limit), SHORT[:1], SEEDS[:1])[0][1].state == state


# lmdeploy and vLLM: what they say, and what they would drop

SAID: list[tuple[dict[str, Any], str | None]] = [
    ({'finish_reason': 'stop', 'text': '4'}, None),
    ({'finish_reason': 'length', 'text': '4'}, None),
    ({'finish_reason': 'stop', 'text': '\n'}, 'empty'),
    ({'finish_reason': 'stop', 'text': '<think>2 + 2'}, 'thought only'),
    ({'finish_reason': 'length', 'text': '<think>2 + 2'}, None),
    ({'finish_reason': 'abort', 'text': 'half a resp'}, 'aborted'),
    ({'finish_reason': 'error', 'text': 'internal error happened, status code 6'}, 'aborted'),
    ({'finish_reason': 'length', 'text': '', 'generate_token_len': 9}, None),
]
OF_LMDEPLOY: list[tuple[dict[str, Any], str | None]] = [
    ({'finish_reason': 'error', 'text': '', 'error_code': 'internal_error'}, 'aborted'),
    ({'finish_reason': 'error', 'text': '', 'error_code': 'context_length_exceeded'}, 'too long'),
    ({'finish_reason': 'error', 'text': '', 'error_code': 'invalid_request'}, 'refused'),
    ({'finish_reason': 'length', 'text': '', 'generate_token_len': 0}, 'too long'),  # before 0.18
]
"""Reason, text and error of a reply → the state of the sample; one that was cut is a usual one."""


def check_states(found: list[Any], cases: list[tuple[dict[str, Any], str | None]]) -> None:
    assert [told.state for _, told, _ in found] == [state for _, state in cases]
    lost = ('aborted', 'too long', 'refused')
    assert [text for text, *_ in found] == ['' if state in lost else said['text'] for said, state in cases]


def test_what_lmdeploy_says_of_a_sample(lmdeploy, monkeypatch):
    """With its own class of replies; an error has no text."""
    cases = [*SAID, *OF_LMDEPLOY]

    def reply(seed):
        given = {'generate_token_len': 7, 'input_token_len': 5, **cases[seed][0]}
        return import_module('lmdeploy.messages').Response(**given)

    monkeypatch.setattr(fakes, 'lmdeploy_reply', reply)
    model = turbomind(backend='pytorch', do_sample=True)
    check_states(drawn(model, ['1+1?'] * len(cases), range(len(cases))), cases)


def test_what_vllm_says_of_a_sample(sent, monkeypatch):
    """Under names that the recorded versions have."""
    plain = fakes.vllm_reply

    def reply(seed):
        output = plain(seed)
        said = {name: SAID[seed][0][name] for name in ('finish_reason', 'text')}
        vars(output.outputs[0]).update(said)
        return output

    for entry in fakes.VLLM:
        assert set(vars(plain(7))) <= set(entry['RequestOutput']['fields'])
        assert set(vars(plain(7).outputs[0])) <= set(entry['CompletionOutput']['fields'])
    monkeypatch.setattr(fakes, 'vllm_reply', reply)
    check_states(drawn(vllm(temperature=1.0), ['1+1?'] * len(SAID), range(len(SAID))), SAID)


def test_a_prompt_that_does_not_fit_vllms_context_is_a_state_of_its_sample(sent):
    """The others of the batch are drawn, each with its own seed; vLLM would refuse them all."""
    model = vllm(model_kwargs={'max_model_len': 64}, temperature=1.0)
    long, short = drawn(model, ['1+1?' * 40, '1+1?'], SEEDS[:2])
    assert (long[0], short[0]) == ('', f'seed {SEEDS[1]}')
    assert len(sent) == 1
    assert (long[1].state, long[1].finish_reason, long[1].output_tokens) == ('too long', None, None)
    assert long[1].prompt_tokens > 64
    assert short[1].state is None
    assert [text for text, *_ in drawn(model, ['1+1?' * 40] * 2, SEEDS[:2])] == ['', '']


def test_the_models_own_stop_words_stay_and_unknown_fields_are_errors(sent):
    """Those of tokenizer and generation config, beside those of the config; lmdeploy's name of a setting."""
    model = vllm(stop_words=['###'], temperature=0.3, min_new_tokens=5)
    assert {'###', model.tokenizer.eos_token} <= set(model.stop_words)
    with pytest.raises(TypeError, match='min_new_tokens'):
        drawn(model, ['1+1?', '1+1?'])


@pytest.mark.parametrize(
    ('engine', 'settings', 'message'),
    [
        (vllm, {'temperature': 1.0, 'seed': 42}, 'same random numbers'),
        (vllm, {'temperature': 1.0, 'n': 4}, 'one request'),
        (vllm, {'temperature': 1.0, 'stop': ['###']}, 'stop_words'),
        (vllm, {'top_p': 0.8}, 'without temperature the engine is greedy'),
        (transformers, {'generation_kwargs': {'do_sample': True, 'seed': 42}}, 'same random numbers'),
        (
            transformers,
            {'generation_kwargs': {'do_sample': False, 'top_k': 5}},
            'without do_sample the engine',
        ),
        (vllm, {'path': '/no/such/model', 'temperature': 1.0}, 'there is no such file or folder here'),
        (turbomind, {'do_sample': True, 'max_new_tokens': 4}, 'max_out_len'),
        (turbomind, {'do_sample': True, 'top_pp': 0.5}, r"\['top_pp'\].*GenerationConfig does not know"),
        (turbomind, {'do_sample': True, 'drop_middle': True}, 'no prompt is cut here'),
        (turbomind, {'engine_config': {'cache_max_entry': 1}}, 'TurbomindEngineConfig does not know'),
    ],
)
def test_what_would_be_dropped_or_overruled_is_refused(engine, settings, message, request):
    """Before the model loads; lmdeploy's settings against the classes of the installed one."""
    if engine is turbomind:
        request.getfixturevalue('lmdeploy')
    with pytest.raises(InputError, match=message):
        engine(**settings)


def test_without_a_gpu_turbomind_says_what_to_do(lmdeploy):
    """Its own words are a bare assertion."""
    if torch.cuda.is_available():
        pytest.skip('there is a GPU here')
    with pytest.raises(InputError, match=r'no GPU here.*CUDA_VISIBLE_DEVICES'):
        drawn(turbomind(do_sample=True), ['1+1?'])


THOUGHTS = [
    ('length', '6 · 7 is $\\boxed{42}$', ''),
    ('length', '6 · 7</think>$\\boxed{42}$', '42'),
    ('stop', 'It is $\\boxed{42}$', '42'),
]
"""Why a response ended, its text, and its answer. One that ended by itself without a mark had no thought."""


@pytest.mark.parametrize('mark', ['<think>', ''])
def test_a_thought_that_the_template_began_and_the_limit_cut_holds_no_answer(mark, tmp_path, monkeypatch):
    """Seeds stand for the replies, of a model whose chat template ends in the mark."""
    file = Path(shutil.copytree(MODEL, tmp_path / 'model')) / 'tokenizer_config.json'
    config = json.loads(file.read_text())
    file.write_text(json.dumps({**config, 'chat_template': f'{config["chat_template"]}{mark}\n'}))

    def reply(seed):
        completion = SimpleNamespace(text=THOUGHTS[seed][1], token_ids=[7], finish_reason=THOUGHTS[seed][0])
        return SimpleNamespace(prompt='', prompt_token_ids=[7], outputs=[completion])

    monkeypatch.setattr(fakes, 'vllm_reply', reply)
    with fakes.fake_vllm(monkeypatch, lambda *_: None):
        texts = [
            text for text, *_ in drawn(vllm(str(file.parent), temperature=1.0), ['6 · 7?'] * 3, range(3))
        ]
    assert texts == [f'{mark}{THOUGHTS[0][1]}', THOUGHTS[1][1], THOUGHTS[2][1]]
    assert [final_answer(text).text for text in texts] == (['', '42', '42'] if mark else ['42'] * 3)
