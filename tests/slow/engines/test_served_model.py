"""The demo model behind `transformers serve`: as the model under test, and what its seeds are worth there."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hosts import import_plugin, results_of
from sweeping import dump
from transformers_server import transformers_serve

from gpassk_opencompass.demo import LANGUAGES, MODEL, QUESTIONS, VERSION

import_plugin()
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('served')]

N, KS, MOST = 8, (2, 4, 8), 40
FILES = [Path(QUESTIONS, VERSION, f'ADD_{language}.jsonl') for language in LANGUAGES]
ASKED = [json.loads(line) for file in FILES for line in file.read_text(encoding='utf-8').splitlines()]
"""The questions, in the order of the rows."""


@pytest.fixture(scope='module')
def address(tmp_path_factory):
    """One server for all tests: it takes seconds to come up."""
    folder = tmp_path_factory.mktemp('server')
    (folder / 'demo').symlink_to(MODEL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('NO_PROXY', '127.0.0.1')
        with transformers_serve(folder / 'demo', folder / 'log') as found:
            yield found


@pytest.fixture(scope='module')
def work_dir(forks, address, tmp_path_factory):
    """Of a run with the served model under test, on the demo's sums."""
    folder = tmp_path_factory.mktemp('served')
    (folder / 'template').mkdir()
    template = [
        "engine = 'openai'",
        "llm_infos = [dict(path='demo', batch_size=32)]",
        f"openai_api_base, key = '{address}/v1', 'EMPTY'",
        f'tokenizer_path = {MODEL!r}',  # any other would be looked for on the hub
        # The server samples if the model's generation_config.json says so, or the request.
        """extra_body = dict(generation_config='{"do_sample": true}')""",
        'query_per_second, retry, timeout = 1000, 2, 60',
        f'temperatures, max_out_lens, greedy = [1.0], [{MOST}], False',
        f'k_lists, n = [{list(KS)}], {N}',
        f'dataset_path, version = {QUESTIONS!r}, {VERSION!r}',
        f"dataset_splits, dataset_languages = ['ADD'], {list(LANGUAGES)}",
    ]
    assert dump(folder / 'template', '\n'.join(template)) == 0
    [config] = (folder / 'template' / 'configs').glob('*.py')
    forks.opencompass(config, folder / 'out')
    return folder / 'out'


def test_a_served_model_is_measured(work_dir):
    """Template, config, OpenAISDK, server, result: samples that differ, verdicts and right metrics."""
    [result] = results_of(work_dir)
    [file] = work_dir.glob('*/predictions/*/*.json')
    rows = list(json.loads(file.read_text()).values())
    texts = np.array([row['prediction'] for row in rows]).reshape(N, -1).T
    for question, row in enumerate(ASKED):
        for replica, text in enumerate(texts[question]):
            boxes = re.findall(r'\\boxed\{(.*?)\}', text)
            if len(boxes) == 1 and boxes[0].isdecimal():
                verdict = result['details']['verdicts'][question][replica]
                assert verdict == ('1' if int(boxes[0]) == int(row['answer'].strip('$')) else '0')
    counts = np.array(result['gpassk']['counts']['c'])
    assert counts.tolist() == [verdicts.count('1') for verdicts in result['details']['verdicts']]
    assert 0 < counts.sum() < counts.size * N
    longest = max(map(len, import_module('transformers').AutoTokenizer.from_pretrained(MODEL).get_vocab()))
    for row in rows:
        told = row['generation']
        assert told['finish_reason'] == ('length' if told['output_tokens'] == MOST else 'stop')
        # A model may say a text in other tokens than a tokenizer, but in none longer than the longest.
        assert len(row['prediction']) / longest <= told['output_tokens'] <= MOST
        assert told['seconds'] > 0
    health = result['gpassk']['health']
    assert health['output_tokens'] == sum(row['generation']['output_tokens'] for row in rows)
    assert health['truncated_by'] == 'engine'
    assert health['distinct'] > 2
    assert health['warnings'] == []
