"""llama.cpp's server as the engine of a run: what a template says arrives, and what it does not say too."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from forks import Forks
from hosts import import_plugin, write_bench
from llama_server import NAME, LlamaServer, llama_server
from sweeping import dump

from gpassk_opencompass.demo import MODEL as DEMO

import_plugin()
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('llama')]

QUESTIONS = [('What is 17 + 25?', '$42$'), ('Name a colour and a number.', '$1$'), ('Say any word.', '$1$')]
N, MOST = 4, 24
SEEDED = 'temperatures, random_seeds = [1.0], [42]'


@pytest.fixture(scope='module')
def server(tmp_path_factory):
    """One for all tests of this file."""
    with llama_server(tmp_path_factory.mktemp('llama')) as one:
        yield one


def run(
    forks: Forks, server: LlamaServer, folder: Path, line: str, questions: Any = QUESTIONS, at_once: int = 12
) -> list[dict[str, Any]]:
    """Template, config, OpenCompass: the rows of the run, replica after replica."""
    folder.mkdir()
    bench = write_bench(folder / 'data', {'AMC_en': questions})
    template = [
        "engine = 'openai'",
        f'llm_infos = [dict(path={NAME!r}, batch_size={at_once})]',
        f"openai_api_base, key = '{server.address}/v1', 'EMPTY'",
        f'tokenizer_path = {DEMO!r}',  # any other would be looked for on the hub
        'query_per_second, retry, timeout = 1000, 2, 120',
        f'max_out_lens, greedy = [{MOST}], False',
        f'k_lists, n = [[2, 4]], {N}',
        f"dataset_path, version, dataset_splits = {str(bench)!r}, '202412', ['AMC']",
        "dataset_languages = ['en']",
        line,
    ]
    assert dump(folder, '\n'.join(template)) == 0
    [config] = (folder / 'configs').glob('*.py')
    forks.opencompass(config, folder / 'out')
    [file] = (folder / 'out').glob('*/predictions/*/*.json')
    return list(json.loads(file.read_text()).values())


def texts_of(rows: list[dict[str, Any]]) -> list[str]:
    return [row['prediction'] for row in rows]


@pytest.fixture(scope='module')
def rows(forks, server, tmp_path_factory):
    """Of a run with a seed a sample."""
    return run(forks, server, tmp_path_factory.mktemp('runs') / 'first', SEEDED)


def test_seeds_reach_the_sampler(forks, server, rows, tmp_path):
    """Samples of a question differ; a rerun draws more of the same texts than chance leaves, other seeds few.

    The rerun asks one request at a time in place of twelve: last bits differ.
    """
    texts = texts_of(rows)
    assert all(len(set(texts[at :: len(QUESTIONS)])) > 1 for at in range(len(QUESTIONS)))
    again = run(forks, server, tmp_path / 'again', SEEDED, at_once=1)
    assert [row['sample']['seed'] for row in again] == [row['sample']['seed'] for row in rows]
    assert sum(map(str.__eq__, texts_of(again), texts)) > len(rows) // 3
    others = run(forks, server, tmp_path / 'others', SEEDED.replace('42', '43'))
    assert (Counter(texts) & Counter(texts_of(others))).total() <= len(rows) // 3


def test_finish_reasons_and_tokens_are_the_servers(server, rows):
    """The prompt is the model's chat template around the question, once; the tokens are the model's."""

    def tokens(text):
        return len(server.ask('tokenize', content=text, parse_special=True)['tokens'])

    for row in rows:
        told, asked = row['generation'], row['origin_prompt'][0]['prompt']
        shown = server.ask('apply-template', messages=[{'role': 'user', 'content': asked}])['prompt']
        assert told['prompt_tokens'] == tokens(shown)
        # The token that ends a text is counted, so that one of the most tokens may have come to its end.
        assert told['finish_reason'] == 'stop' or told['output_tokens'] == MOST
        # A model may say a text in more tokens than a tokenizer would.
        assert tokens(row['prediction']) <= told['output_tokens'] <= MOST
    assert {row['generation']['finish_reason'] for row in rows} == {'stop', 'length'}


def said(server: LlamaServer, prompt: str, **more: float) -> str:
    """The server's own greedy reply."""
    body = {'messages': [{'role': 'user', 'content': prompt}], 'temperature': 0, 'max_tokens': MOST}
    text: str = server.ask('v1/chat/completions', **body, **more)['choices'][0]['message']['content']
    return text


@pytest.mark.parametrize(
    'line',
    [
        'temperatures, top_ks, random_seeds = [1.0], [1], [42]',
        'temperatures, random_seeds = [0.0001], [42]',
    ],
    ids=['top_k', 'temperature'],
)
def test_a_run_without_freedom_is_greedy(forks, server, tmp_path, line):
    rows = run(forks, server, tmp_path / 'run', line, QUESTIONS[:1])
    assert set(texts_of(rows)) == {said(server, rows[0]['origin_prompt'][0]['prompt'])}
