"""SeededVLLM with vLLM's two names replaced: `SamplingParams` knows the fields that are recorded of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import engine_fakes
import pytest
from engine_fakes import VLLM, fake_vllm, vllm_reply
from hosts import drawn, import_plugin

from gpassk_opencompass import InputError
from gpassk_opencompass.demo import MODEL

plugin = import_plugin()
seeds = import_plugin('.seeds')

pytestmark = [pytest.mark.filterwarnings('ignore')]
VERSIONS = [entry['version'] for entry in VLLM]
SEEDS = [seeds.sample_seed(42, '202412/AMC_en/0', replica) for replica in range(2)]
Sent = list[tuple[Any, Any, dict[str, Any]]]


@pytest.fixture(params=VERSIONS)
def sent(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sent]:
    """What arrives at `LLM.generate`: (prompt, seed, other settings), for each recorded version."""
    arrived: Sent = []
    with fake_vllm(monkeypatch, lambda *request: arrived.append(request), request.param):
        yield arrived


def build(generation_kwargs: dict[str, Any], **options: Any) -> Any:
    return plugin.SeededVLLM(
        MODEL, generation_kwargs=generation_kwargs, max_seq_len=512, random_seed=42, **options
    )


def test_the_models_own_stop_words_stay(sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are those of its tokenizer and its generation config, and the ones of the config beside them."""
    model = build({'temperature': 0.3}, stop_words=['###'])
    assert '###' in model.stop_words
    assert model.tokenizer.eos_token in model.stop_words


def test_a_field_that_vllm_does_not_know_is_an_error(sent: Sent) -> None:
    """lmdeploy's name of a setting, for example."""
    model = build({'temperature': 0.3, 'min_new_tokens': 5})
    with pytest.raises(TypeError, match='min_new_tokens'):
        drawn(model, ['1+1?', '1+1?'])


@pytest.mark.parametrize(
    ('settings', 'message'),
    [
        ({'temperature': 1.0, 'seed': 42}, 'same random numbers'),
        ({'temperature': 1.0, 'n': 4}, 'one request'),
        ({'temperature': 1.0, 'max_tokens': 4}, 'max_out_len'),
        ({'temperature': 1.0, 'stop': ['###']}, 'stop_words'),
        ({'temperature': 1.0, 'do_sample': True}, 'temperature 0 is greedy'),
        ({'top_p': 0.8}, 'without a temperature the engine is greedy'),
    ],
)
def test_what_would_be_dropped_or_overruled_is_refused(
    sent: Sent, settings: dict[str, Any], message: str
) -> None:
    """Before the model loads."""
    with pytest.raises(InputError, match=message):
        build(settings)


def test_vllm_tells_tokens_and_reason_under_these_names() -> None:
    """In the recorded versions; the stand-in has no others."""
    reply = vllm_reply(7)
    for entry in VLLM:
        assert set(vars(reply)) <= set(entry['RequestOutput']['fields'])
        assert set(vars(reply.outputs[0])) <= set(entry['CompletionOutput']['fields'])


def test_a_prompt_that_does_not_fit_the_context_is_a_state_of_its_sample(sent: Sent) -> None:
    """The others of the batch are drawn, each with its own seed; vLLM would refuse them all."""
    model = build({'temperature': 1.0}, model_kwargs={'max_model_len': 64})
    long, short = drawn(model, ['1+1?' * 40, '1+1?'], SEEDS)
    assert (long[0], short[0]) == ('', f'seed {SEEDS[1]}')
    assert len(sent) == 1
    assert (long[1].state, long[1].finish_reason, long[1].output_tokens) == ('too long', None, None)
    assert long[1].prompt_tokens > 64
    assert short[1].state is None
    assert [text for text, *_ in drawn(model, ['1+1?' * 40] * 2, SEEDS)] == ['', '']


@pytest.mark.parametrize(
    ('reason', 'text', 'state'),
    [
        ('stop', ' 4', None),
        ('stop', '\n', 'empty'),
        ('length', '', None),
        ('abort', 'half', 'aborted'),
        ('error', '', 'aborted'),
    ],
)
def test_what_is_no_usual_response_has_a_state(
    sent: Sent, monkeypatch: pytest.MonkeyPatch, reason: str, text: str, state: str | None
) -> None:
    """A response that was cut is a usual one, its finish reason tells."""
    reply = vllm_reply(7)
    vars(reply.outputs[0]).update(finish_reason=reason, text=text)
    monkeypatch.setattr(engine_fakes, 'vllm_reply', lambda seed: reply)
    [(said, told, _)] = drawn(build({'temperature': 1.0}), ['1+1?'])
    assert (told.state, told.finish_reason) == (state, reason)
    assert said == ('' if state == 'aborted' else text)
