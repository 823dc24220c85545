"""`transformers serve` as an engine: what its seeds are worth, and what of a request it leaves out."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from transformers_server import transformers_serve

from gpassk_opencompass.demo import MODEL

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('served')]

SAMPLED = {'generation_config': '{"do_sample": true}'}
"""Without it the server is greedy, whatever the temperature, unless the model's own settings sample."""


@pytest.fixture(scope='module')
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One server of the demo's model for all tests."""
    folder = tmp_path_factory.mktemp('server')
    (folder / 'demo').symlink_to(MODEL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('NO_PROXY', '127.0.0.1')
        with transformers_serve(folder / 'demo', folder / 'log') as found:
            yield found


def ask(address: str, seed: int, **more: Any) -> str:
    """A response of at most 24 tokens."""
    messages = [{'role': 'user', 'content': 'What is 7 + 5?'}]
    body = {'model': 'demo', 'messages': messages, 'seed': seed, 'temperature': 1.0, 'max_tokens': 24}
    request = urllib.request.Request(
        f'{address}/v1/chat/completions',
        json.dumps({**body, **SAMPLED, **more}).encode(),
        {'Content-Type': 'application/json'},
    )
    with urllib.request.urlopen(request, timeout=120) as reply:
        text: str = json.load(reply)['choices'][0]['message']['content']
    return text


def samples(address: str, at_once: int) -> list[str]:
    """24 with a seed each."""
    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(lambda seed: ask(address, seed), range(24)))


def test_seeds_hold_for_one_request_at_a_time(address: str) -> None:
    """Samples differ and a rerun is equal: `batch_size=1`."""
    texts = samples(address, 1)
    assert len(set(texts)) > 6
    assert samples(address, 1) == texts


def test_seeds_of_requests_at_once_disturb_one_another(address: str) -> None:
    """The server seeds one generator for all of them: samples differ, but cannot be repeated."""
    texts = samples(address, 8)
    assert len(set(texts)) > 6
    assert texts != samples(address, 1)


@pytest.mark.parametrize('field', ['top_k', 'repetition_penalty', 'min_p'])
def test_sampling_fields_of_other_servers_are_refused(address: str, field: str) -> None:
    """Not dropped in silence: they belong into `generation_config`."""
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask(address, 1, **{field: 1})
    with caught.value as refusal:
        assert refusal.code == 422
        assert field in refusal.read().decode()


def test_generation_config_takes_their_place(address: str) -> None:
    """With top_k 1 there, all seeds give one text."""
    config = json.dumps({'do_sample': True, 'top_k': 1})
    assert len({ask(address, seed, generation_config=config) for seed in range(6)}) == 1


def test_a_constraint_is_dropped_without_a_word(address: str) -> None:
    """A judge's `response_format` changes nothing there."""
    schema = {'name': 'verdict', 'schema': {'type': 'string', 'enum': ['yes', 'no']}}
    held = {'type': 'json_schema', 'json_schema': schema}
    assert ask(address, 1, response_format=held) == ask(address, 1)
