"""The demo's server: the model that it samples is transformers' own, whoever else is asked at the time."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare
from sweeping import NOT_INSTALLED

from gpassk_opencompass.demo import MODEL, QUESTIONS, VERSION

torch = pytest.importorskip('torch', reason=NOT_INSTALLED)
transformers = pytest.importorskip('transformers', reason=NOT_INSTALLED)
batching = pytest.importorskip('gpassk_opencompass.demo.batching', reason=NOT_INSTALLED)
server = pytest.importorskip('gpassk_opencompass.demo.server', reason=NOT_INSTALLED)

pytestmark = pytest.mark.slow

LIMIT = 24


def prompts() -> list[list[int]]:
    """Of several lengths; some begin alike, one stands there twice."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(MODEL)
    files = [Path(QUESTIONS, VERSION, name) for name in ('ADD_en.jsonl', 'MIX_cn.jsonl')]
    asked = [json.loads(line)['question'] for file in files for line in file.read_text('utf-8').splitlines()]
    chats = [[{'role': 'user', 'content': question}] for question in [*asked, asked[0]]]
    return [tokenizer.apply_chat_template(chat, add_generation_prompt=True) for chat in chats]


@pytest.fixture(params=['equal heads', 'shared keys'])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The shipped model, and one of random weights in which heads share keys and values."""
    if request.param == 'equal heads':
        return MODEL
    config = transformers.AutoConfig.from_pretrained(MODEL)
    config.num_attention_heads, config.num_key_value_heads, config.head_dim = 6, 2, 16
    config.initializer_range = 0.5
    torch.manual_seed(1)
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path)
    return str(tmp_path)


def test_greedy_responses_are_those_of_generate(folder: str) -> None:
    """Also where responses of several lengths share few rows, so that each moves to another."""
    plain = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64)
    end = plain.config.eos_token_id
    batcher = batching.Batcher(batching.load_model(folder, 'float64'), [end], rows=3, longest=300)
    futures = [batcher.submit(prompt, LIMIT, 0.0, 1) for prompt in prompts()]
    for prompt, future in zip(prompts(), futures, strict=True):
        expected = plain.generate(
            torch.tensor([prompt]), max_new_tokens=LIMIT, do_sample=False, pad_token_id=end
        )
        tokens = expected[0, len(prompt) :].tolist()
        reply = future.result(60)
        ended = tokens[-1] == end
        assert reply == ((tokens[:-1], 'stop', len(tokens)) if ended else (tokens, 'length', LIMIT))


def test_a_seed_says_what_is_drawn_whoever_else_is_asked() -> None:
    """The same seed draws the same response alone and in company, another seed another one."""
    model = batching.load_model(MODEL, 'float64')
    end = model.config.eos_token_id
    company, alone = batching.Batcher(model, [end], rows=4), batching.Batcher(model, [end], rows=1)
    prompt = prompts()[5]
    futures = [company.submit(prompt, LIMIT, 1.5, seed) for seed in range(12)]
    texts = [future.result(60) for future in futures]
    assert [alone.submit(prompt, LIMIT, 1.5, seed).result(60) for seed in range(12)] == texts
    assert len({tuple(reply.tokens) for reply in texts}) > 6


@pytest.mark.parametrize('temperature', [4.0, 8.0])
def test_tokens_are_drawn_as_often_as_the_model_says(temperature: float) -> None:
    """First tokens of 4,000 seeds against the softmax of transformers' logits."""
    draws, prompt = 4000, prompts()[12]
    batcher = batching.Batcher(batching.load_model(MODEL, 'float32'), [-1], rows=64, longest=300)
    futures = [batcher.submit(prompt, 1, temperature, seed) for seed in range(draws)]
    found = Counter(future.result(60).tokens[0] for future in futures)
    plain = transformers.AutoModelForCausalLM.from_pretrained(MODEL)
    with torch.inference_mode():
        logits = plain(torch.tensor([prompt])).logits[0, -1].double()
    expected = draws * (logits / temperature).softmax(-1).numpy()
    counts = np.array([found[token] for token in range(len(expected))])
    groups = [[token] for token in np.flatnonzero(expected >= 5)]
    if rare := np.flatnonzero(expected < 5).tolist():
        groups.append(rare)
    observed, wanted = ([values[group].sum() for group in groups] for values in (counts, expected))
    assert len(groups) > 2
    assert chisquare(observed, wanted).pvalue > 1e-3


def test_a_response_that_is_held_to_choices_is_drawn_from_them() -> None:
    """As often as transformers' logits say, with all tokens shut out that lead to none."""
    draws, temperature, prompt = 2000, 8.0, prompts()[12]
    choices = [(20, 21), (20, 22, 23), (24,)]
    batcher = batching.Batcher(batching.load_model(MODEL, 'float32'), [-1], rows=64, longest=300)
    futures = [batcher.submit(prompt, 8, temperature, seed, choices) for seed in range(draws)]
    replies = [future.result(60) for future in futures]
    assert {reply.finish_reason for reply in replies} == {'stop'}
    found = Counter(tuple(reply.tokens) for reply in replies)
    plain = transformers.AutoModelForCausalLM.from_pretrained(MODEL)

    def share(said: list[int], token: int, allowed: list[int]) -> float:
        with torch.inference_mode():
            logits = plain(torch.tensor([[*prompt, *said]])).logits[0, -1].double()
        return float((logits[[token, *allowed]] / temperature).softmax(-1)[0])

    begun = share([], 20, [24])
    split = share([20], 21, [22])
    expected = [begun * split, begun * (1 - split), 1 - begun]
    assert set(found) <= set(choices)
    assert chisquare([found[one] for one in choices], [draws * one for one in expected]).pvalue > 1e-3


@pytest.fixture(scope='module')
def address() -> Iterator[str]:
    httpd = server.serve(server.ChatModel(Path(MODEL), 'float32', 4), 0)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    yield f'http://127.0.0.1:{httpd.server_port}'
    httpd.shutdown()
    httpd.server_close()


def ask(address: str, **fields: Any) -> tuple[int, dict[str, Any]]:
    """Status and content of the reply to a chat; a field of None is sent as null."""
    chat = {'model': 'model', 'messages': [{'role': 'user', 'content': 'Compute $7+9$.'}]}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    body = json.dumps(chat | fields).encode()
    try:
        with opener.open(urllib.request.Request(f'{address}/v1/chat/completions', body)) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.mark.parametrize(('limit', 'reason'), [(LIMIT, 'stop'), (5, 'length')])
def test_a_reply_says_how_it_ended_and_what_it_took(address: str, limit: int, reason: str) -> None:
    """The fields of a chat completion, for a response that ends and for one that is cut."""
    status, reply = ask(address, max_tokens=limit, temperature=0.0, seed=3, stop=None, n=1)
    [choice] = reply['choices']
    assert (status, choice['finish_reason']) == (200, reason)
    assert '$7+9=16$. So the answer is \\boxed{16}.'.startswith(choice['message']['content'])
    [prompt] = prompts()[:1]
    assert reply['usage']['prompt_tokens'] == len(prompt)
    assert 0 < reply['usage']['completion_tokens'] <= limit


def test_a_reply_may_be_held_to_a_verdict(address: str) -> None:
    """By the field of vLLM: whatever the seed, it is one of the texts."""
    texts = ['\\boxed{yes}', '\\boxed{no}']
    for seed in range(8):
        status, reply = ask(address, seed=seed, temperature=8.0, structured_outputs={'choice': texts})
        [choice] = reply['choices']
        assert (status, choice['finish_reason']) == (200, 'stop')
        assert choice['message']['content'] in texts


@pytest.mark.parametrize(
    ('fields', 'said'),
    [
        ({'model': 'gpt-4o'}, "model 'gpt-4o'"),
        ({'top_k': 5}, 'top_k'),
        ({'n': 2}, 'n: this server knows'),
        ({'stream': True}, 'stream'),
        ({'temperature': -1}, 'expected none below 0'),
        ({'temperature': 'hot'}, 'expected numbers'),
        ({'max_tokens': 5000}, 'maximum context length'),
        ({'structured_outputs': {'regex': 'yes|no'}}, "{'choice': [texts]}"),
        ({'structured_outputs': {'choice': []}}, "{'choice': [texts]}"),
        ({'messages': []}, 'messages'),
        ({'messages': [{'role': 'user', 'content': [{'type': 'text'}]}]}, 'messages'),
    ],
)
def test_what_it_does_not_do_is_refused(address: str, fields: dict[str, Any], said: str) -> None:
    """With 400 and the field, never ignored; the next request is answered."""
    status, reply = ask(address, **fields)
    assert status == 400
    assert said in reply['error']['message']
    assert ask(address, max_tokens=1)[0] == 200
