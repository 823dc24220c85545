"""The demo model behind `transformers serve` as the model under test."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from forks import Forks
from hosts import import_plugin, results_of
from scipy.stats import hypergeom
from sweeping import dump
from transformers_server import transformers_serve

from gpassk_opencompass.demo import LANGUAGES, MODEL, QUESTIONS, VERSION

import_plugin()
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('served')]

N, KS = 8, (2, 4, 8)


class Server(NamedTuple):
    """Where the model is served, under which name, and what the server has said."""

    address: str
    name: str
    log: Path

    @property
    def replies(self) -> int:
        """Chat completions that it gave so far."""
        return self.log.read_text().count('"POST /v1/chat/completions HTTP/1.1" 200')


@pytest.fixture(scope='module')
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One for all tests: it takes seconds to come up."""
    folder = tmp_path_factory.mktemp('server')
    (folder / 'demo').symlink_to(MODEL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('NO_PROXY', '127.0.0.1')
        with transformers_serve(folder / 'demo', folder / 'log') as address:
            yield Server(address, 'demo', folder / 'log')


def template(server: Server, *lines: str) -> str:
    """The demo's sums, asked of the server."""
    return '\n'.join(
        [
            "engine = 'openai'",
            f'llm_infos = [dict(path={server.name!r}, batch_size=32)]',
            f"openai_api_base, key = '{server.address}/v1', 'EMPTY'",
            f'tokenizer_path = {MODEL!r}',  # any other would be looked for on the hub
            # The server samples if the model's generation_config.json says so, or the request.
            """extra_body = dict(generation_config='{"do_sample": true}')""",
            'query_per_second, retry, timeout = 1000, 2, 60',
            'temperatures, max_out_lens, greedy = [1.0], [40], False',
            f'k_lists, n = [{list(KS)}], {N}',
            f'dataset_path, version = {QUESTIONS!r}, {VERSION!r}',
            f"dataset_splits, dataset_languages = ['ADD'], {list(LANGUAGES)}",
            *lines,
        ]
    )


def expand(folder: Path, text: str) -> Path:
    """The only config of a template."""
    folder.mkdir()
    assert dump(folder, text) == 0
    [config] = (folder / 'configs').glob('*.py')
    return config


@pytest.fixture(scope='module')
def work_dir(forks: Forks, server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a run with the served model under test."""
    folder = tmp_path_factory.mktemp('served')
    forks.opencompass(expand(folder / 'template', template(server)), folder / 'out')
    return folder / 'out'


def questions() -> list[dict[str, Any]]:
    """In the order of the rows."""
    files = [Path(QUESTIONS, VERSION, f'ADD_{language}.jsonl') for language in LANGUAGES]
    return [json.loads(line) for file in files for line in file.read_text(encoding='utf-8').splitlines()]


def test_the_model_is_the_same_behind_the_server(server: Server) -> None:
    """transformers 5 reads what 4 saved: greedy replies to OpenAI's client are those of this process."""
    openai = pytest.importorskip('openai')
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(MODEL), AutoModelForCausalLM.from_pretrained(MODEL)
    with openai.OpenAI(base_url=f'{server.address}/v1', api_key='EMPTY', max_retries=0) as client:
        for row in questions():
            messages = [{'role': 'user', 'content': row['question']}]
            reply = client.chat.completions.create(
                model=server.name, messages=messages, temperature=0.0, max_tokens=24
            )
            inputs = tokenizer.apply_chat_template(
                messages, add_generation_prompt=True, return_tensors='pt', return_dict=True
            )
            tokens = model.generate(**inputs, max_new_tokens=24, do_sample=False)[
                0, inputs.input_ids.shape[1] :
            ]
            [choice] = reply.choices
            assert choice.message.content == tokenizer.decode(tokens, skip_special_tokens=True)
            assert reply.usage.completion_tokens == len(tokens)
            assert choice.finish_reason == ('length' if len(tokens) == 24 else 'stop')


def test_a_served_model_is_measured(work_dir: Path) -> None:
    """Template, config, OpenAISDK, server, result: samples that differ, verdicts and right metrics."""
    [result] = results_of(work_dir)
    [file] = work_dir.glob('*/predictions/*/*.json')
    rows = list(json.loads(file.read_text()).values())
    texts = np.array([row['prediction'] for row in rows]).reshape(N, -1).T
    answers = [int(row['answer'].strip('$')) for row in questions()]
    for question, answer in enumerate(answers):
        for replica, text in enumerate(texts[question]):
            boxes = re.findall(r'\\boxed\{(.*?)\}', text)
            if len(boxes) == 1 and boxes[0].isdecimal():
                verdict = result['details']['verdicts'][question][replica]
                assert verdict == ('1' if int(boxes[0]) == answer else '0')
    counts = np.array(result['gpassk']['counts']['c'])
    assert counts.tolist() == [verdicts.count('1') for verdicts in result['details']['verdicts']]
    assert 0 < counts.sum() < counts.size * N
    for k in KS:
        for tau in (0.5, 0.75, 1.0):
            chances = hypergeom.sf(math.ceil(k * tau) - 1, N, counts, k)
            assert result[f'G-Pass@{k}_{tau}'] == pytest.approx(100 * chances.mean())
    longest = max(map(len, import_module('transformers').AutoTokenizer.from_pretrained(MODEL).get_vocab()))
    for row in rows:
        told, limit = row['generation'], 40
        assert told['finish_reason'] == ('length' if told['output_tokens'] == limit else 'stop')
        # A model may say a text in other tokens than a tokenizer, but in none longer than the longest.
        assert len(row['prediction']) / longest <= told['output_tokens'] <= limit
        assert told['seconds'] > 0
    health = result['gpassk']['health']
    assert health['output_tokens'] == sum(row['generation']['output_tokens'] for row in rows)
    assert health['truncated_by'] == 'engine'
    assert health['distinct'] > 2
    assert health['warnings'] == []
