"""llama.cpp's server as the engine of a run: what a template says arrives, and what it does not say too."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from forks import Forks
from hosts import import_plugin, write_bench
from llama_server import NAME, LlamaServer, llama_servers
from sweeping import dump

from gpassk_opencompass.demo import MODEL as DEMO

import_plugin()
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('llama')]

QUESTIONS = [('What is 17 + 25?', '$42$'), ('Name a colour and a number.', '$1$'), ('Say any word.', '$1$')]
N, MOST = 4, 24


@pytest.fixture(scope='module')
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    """One for all tests of this file."""
    with llama_servers(tmp_path_factory.mktemp('llama')) as [one]:
        yield one


def run(
    forks: Forks, server: LlamaServer, folder: Path, *lines: str, questions: Any = None, batch_size: int = 12
) -> list[dict[str, Any]]:
    """Template, config, OpenCompass: the rows of the run, replica after replica."""
    folder.mkdir()
    bench = write_bench(folder / 'data', {'AMC_en': questions or QUESTIONS})
    template = [
        "engine = 'openai'",
        f'llm_infos = [dict(path={NAME!r}, batch_size={batch_size})]',
        f"openai_api_base, key = '{server.address}/v1', 'EMPTY'",
        f'tokenizer_path = {DEMO!r}',  # any other would be looked for on the hub
        'query_per_second, retry, timeout = 1000, 2, 120',
        f'max_out_lens, greedy = [{MOST}], False',
        f'k_lists, n = [[2, 4]], {N}',
        f"dataset_path, version, dataset_splits = {str(bench)!r}, '202412', ['AMC']",
        "dataset_languages = ['en']",
        *(lines or ['temperatures, random_seeds = [1.0], [42]']),
    ]
    assert dump(folder, '\n'.join(template)) == 0
    [config] = (folder / 'configs').glob('*.py')
    forks.opencompass(config, folder / 'out')
    [file] = (folder / 'out').glob('*/predictions/*/*.json')
    return list(json.loads(file.read_text()).values())


def texts_of(rows: list[dict[str, Any]]) -> list[str]:
    """The responses."""
    return [row['prediction'] for row in rows]


@pytest.fixture(scope='module')
def rows(forks: Forks, server: LlamaServer, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Of a run with a seed a sample."""
    return run(forks, server, tmp_path_factory.mktemp('runs') / 'first')


def test_seeds_reach_the_sampler(rows: list[dict[str, Any]]) -> None:
    """The samples of a question differ."""
    texts = texts_of(rows)
    for question in range(len(QUESTIONS)):
        assert len(set(texts[question :: len(QUESTIONS)])) > 1


def test_a_rerun_draws_by_the_same_seeds(
    forks: Forks, server: LlamaServer, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    """One request at a time in place of twelve: more texts are the same than chance and last bits leave."""
    others = run(forks, server, tmp_path / 'again', batch_size=1)
    assert [row['sample']['seed'] for row in others] == [row['sample']['seed'] for row in rows]
    assert sum(map(str.__eq__, texts_of(others), texts_of(rows))) > len(rows) // 3


def test_another_random_seed_draws_other_samples(
    forks: Forks, server: LlamaServer, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    """Hardly a text of one run is one of the other."""
    others = run(forks, server, tmp_path / 'others', 'temperatures, random_seeds = [1.0], [43]')
    assert (Counter(texts_of(rows)) & Counter(texts_of(others))).total() <= len(rows) // 3


def test_finish_reasons_and_tokens_are_the_servers(server: LlamaServer, rows: list[dict[str, Any]]) -> None:
    """The prompt is the model's chat template around the question, once; the tokens are the model's."""
    for row in rows:
        told = row['generation']
        shown = server.tokens(server.chat_prompt(row['origin_prompt'][0]['prompt']))
        assert told['prompt_tokens'] == len(shown)
        # The token that ends a text is counted, so that one of the most tokens may have come to its end.
        assert told['finish_reason'] == 'stop' or told['output_tokens'] == MOST
        # A model may say a text in more tokens than a tokenizer would.
        assert len(server.tokens(row['prediction'])) <= told['output_tokens'] <= MOST
    assert {row['generation']['finish_reason'] for row in rows} == {'stop', 'length'}


def test_a_run_without_freedom_is_greedy(forks: Forks, server: LlamaServer, tmp_path: Path) -> None:
    """Temperature and top_k arrive: all samples of a question are the server's own greedy reply."""
    for name, line in {
        'top_k': 'temperatures, top_ks, random_seeds = [1.0], [1], [42]',
        'temperature': 'temperatures, random_seeds = [0.0001], [42]',
    }.items():
        texts = texts_of(run(forks, server, tmp_path / name, line, questions=QUESTIONS[:1]))
        messages = [{'role': 'user', 'content': prompt_of(tmp_path / name)}]
        best = server.ask('v1/chat/completions', messages=messages, temperature=0, max_tokens=MOST)
        assert set(texts) == {best['choices'][0]['message']['content']}


def prompt_of(folder: Path) -> str:
    """What the only question of a run was asked with."""
    [file] = (folder / 'out').glob('*/predictions/*/*.json')
    prompt: str = next(iter(json.loads(file.read_text()).values()))['origin_prompt'][0]['prompt']
    return prompt


@pytest.mark.parametrize(
    ('field', 'arrives'), [('repetition_penalty', False), ('repeat_penalty', True)], ids=str
)
def test_the_penalty_has_another_name_there(server: LlamaServer, field: str, arrives: bool) -> None:
    """The field of vLLM and lmdeploy is ignored without a word: a template has to say llama.cpp's own."""

    def said(**more: float) -> str:
        messages = [{'role': 'user', 'content': 'Repeat the word tree many times.'}]
        body = {'messages': messages, 'temperature': 0, 'max_tokens': MOST}
        text: str = server.ask('v1/chat/completions', **body, **more)['choices'][0]['message']['content']
        return text

    assert (said(**{field: 3.0}) != said()) is arrives


def test_what_a_template_leaves_out_is_the_servers_to_choose(server: LlamaServer) -> None:
    """Without a word llama.cpp cuts the tail of the distribution three times; vLLM does not."""
    chosen = server.defaults()
    assert (chosen['top_k'], round(chosen['top_p'], 3), round(chosen['min_p'], 3)) == (40, 0.95, 0.05)
    assert chosen['samplers'].index('temperature') > chosen['samplers'].index('top_p')
