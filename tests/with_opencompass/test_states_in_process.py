"""What engines in this process say of samples that are no usual response."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import engine_fakes
import pytest
from engine_fakes import LMDEPLOY
from engine_requests import infer
from hosts import drawn, import_plugin

from gpassk_opencompass.demo import MODEL
from gpassk_opencompass.health import Generation

plugin = import_plugin()
seeds = import_plugin('.seeds')

pytestmark = [pytest.mark.filterwarnings('ignore')]

SHORT = ['What is 7 + 5?', 'Compute $8+6$.']
LONG = 'Compute $19+4$. ' * 60
SEEDS = [seeds.sample_seed(42, '202412/AMC_en/0', replica) for replica in range(4)]


def model(**settings: Any) -> Any:
    return plugin.SeededHuggingFace(
        MODEL,
        generation_kwargs={'do_sample': True, 'temperature': 1.0},
        model_kwargs={'torch_dtype': 'torch.float32', 'device_map': 'cpu'},
        random_seed=42,
        **{'max_seq_len': 64, **settings},
    )


def test_a_prompt_that_does_not_fit_costs_no_other_sample_of_its_batch() -> None:
    """The others are drawn with their own seeds; OpenCompass's class would have cut its end off."""
    one = model()
    found = drawn(one, [SHORT[0], LONG, SHORT[1]], SEEDS[:3], 20)
    tokenizer = import_module('transformers').AutoTokenizer.from_pretrained(MODEL)
    length = len(
        tokenizer.apply_chat_template([{'role': 'user', 'content': LONG}], add_generation_prompt=True)
    )
    assert length > 64
    told = Generation(prompt_tokens=length, state='too long')
    assert found[1] == ('', told, f'a prompt has {length} tokens, and the context 64')
    assert [found[0], found[2]] == drawn(one, SHORT, [SEEDS[0], SEEDS[2]], 20)
    assert found[0][0]


def test_the_limit_is_the_last_token() -> None:
    """A prompt of as many tokens as the context has leaves no room for one of the response."""
    one = model()
    [(_, told, _)] = drawn(one, SHORT[:1], SEEDS[:1])
    for limit, state in ((told.prompt_tokens, 'too long'), (told.prompt_tokens + 1, None)):
        [(_, other, _)] = drawn(model(max_seq_len=limit), SHORT[:1], SEEDS[:1])
        assert other.state == state


REPLIES: list[tuple[dict[str, Any], str | None]] = [
    ({'finish_reason': 'stop', 'text': '4'}, None),
    ({'finish_reason': 'length', 'text': '4'}, None),
    ({'finish_reason': 'stop', 'text': ''}, 'empty'),
    ({'finish_reason': 'stop', 'text': '<think>2 + 2'}, 'thought only'),
    ({'finish_reason': 'length', 'text': '<think>2 + 2'}, None),
    ({'finish_reason': 'abort', 'text': 'half a resp'}, 'aborted'),
    ({'finish_reason': 'error', 'text': 'internal error happened, status code 6'}, 'aborted'),
    ({'finish_reason': 'error', 'text': '', 'error_code': 'internal_error'}, 'aborted'),
    ({'finish_reason': 'error', 'text': '', 'error_code': 'context_length_exceeded'}, 'too long'),
    ({'finish_reason': 'error', 'text': '', 'error_code': 'invalid_request'}, 'refused'),
    ({'finish_reason': 'length', 'text': '', 'generate_token_len': 0}, 'too long'),
    ({'finish_reason': 'length', 'text': '', 'generate_token_len': 9}, None),
]
"""Fields of lmdeploy's `Response` → the state of the sample; 0.18, and one text of releases before it."""


@pytest.mark.parametrize('engine', ['turbomind', 'pytorch'])
def test_what_lmdeploy_says_of_a_sample(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its own class of replies; an error has no text."""
    if not LMDEPLOY.is_dir():
        pytest.skip('lmdeploy is not unpacked beside this environment; `make test` does it')
    left = list(REPLIES)

    def reply(seed: int) -> Any:
        given = {'generate_token_len': 7, 'input_token_len': 5, **left.pop(0)[0]}
        return import_module('lmdeploy.messages').Response(**given)

    monkeypatch.setattr(engine_fakes, 'lmdeploy_reply', reply)
    rows = infer(engine, tmp_path).rows
    assert len(rows) == len(REPLIES)
    told = [Generation.from_json(row['generation']) for row in rows]
    assert [one.state for one in told] == [state for _, state in REPLIES]
    not_drawn = ('aborted', 'too long', 'refused')
    texts = ['' if state in not_drawn else given['text'] for given, state in REPLIES]
    assert [row['prediction'] for row in rows] == texts
