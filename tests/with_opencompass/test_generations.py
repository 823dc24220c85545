"""What an engine tells of each sample arrives in the row of its response, whatever happens on the way."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from engine_fakes import ENGINES, LMDEPLOY, SERVERS, facts_of
from engine_requests import QUESTIONS, REPLICAS, infer
from hosts import drawn, import_plugin

from gpassk_opencompass.demo import MODEL
from gpassk_opencompass.health import Generation

plugin = import_plugin()
seeds = import_plugin('.seeds')

pytestmark = [pytest.mark.filterwarnings('ignore')]
TELLING = [engine for engine in ENGINES if engine != 'huggingface']
"""Engines whose stand-in tells `facts_of` the seed; transformers runs."""

HOW: dict[str, dict[str, Any]] = {'whole': {}, 'killed': {'killed': True}, 'shards': {'shards': 2}}
OWN_FIELDS = {'origin_prompt', 'prediction', 'gold'}
"""What OpenCompass writes into a row."""

PROMPTS = [f'prompt {number}' for number in range(6)]
SEEDS = [seeds.sample_seed(42, '202412/AMC_en/0', replica) for replica in range(6)]


def need(engine: str) -> None:
    if engine in ('turbomind', 'pytorch') and not LMDEPLOY.is_dir():
        pytest.skip('lmdeploy is not unpacked beside this environment; `make test` does it')


def without_time(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row['generation'].items() if name != 'seconds'}


@pytest.mark.parametrize(
    ('engine', 'how'), [*((engine, 'whole') for engine in TELLING), ('vllm', 'killed'), ('openai', 'shards')]
)
def test_each_row_has_what_was_said_of_its_seed(engine: str, how: str, tmp_path: Path) -> None:
    """In one piece, killed after the first batch and resumed, and in two shards."""
    need(engine)
    rows = infer(engine, tmp_path, **HOW[how]).rows
    assert len(rows) == REPLICAS * len(QUESTIONS)
    for row in rows:
        seed = int(row['prediction'].removeprefix('seed '))
        assert seed == row['sample']['seed']
        assert without_time(row) == facts_of(seed)
        assert ('seconds' in row['generation']) == (engine in SERVERS)
        assert set(row) == OWN_FIELDS | {'sample', 'generation'}


# transformers

LONG = 'What is 7 + 5? Take your time, and tell us what you think of it, please.'
QUESTIONS_OF_ALL_LENGTHS = ['What is 7 + 5?', LONG, 'Compute $8+6$.', 'Compute $19+4$. ' * 3]


@pytest.fixture(scope='module')
def tokenizer() -> Any:
    return import_module('transformers').AutoTokenizer.from_pretrained(MODEL)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of new tokens of each batch of one, as transformers gave it: it has no padding."""
    mixin, lengths = import_module('transformers').GenerationMixin, []
    plain = mixin.generate

    def generate(self: Any, **given: Any) -> Any:
        outputs = plain(self, **given)
        if len(outputs) == 1:
            lengths.append(outputs.shape[1] - given['input_ids'].shape[1])
        return outputs

    monkeypatch.setattr(mixin, 'generate', generate)
    return lengths


def transformers_model(**settings: Any) -> Any:
    given = {'do_sample': True, 'temperature': 1.0, **settings.pop('generation_kwargs', {})}
    return plugin.SeededHuggingFace(
        MODEL,
        generation_kwargs=given,
        model_kwargs={'torch_dtype': 'torch.float32', 'device_map': 'cpu'},
        max_seq_len=512,
        random_seed=42,
        **settings,
    )


def told_of(model: Any, prompts: Sequence[str], max_out_len: int, first: int = 0) -> list[Generation]:
    return [one[1] for one in drawn(model, prompts, SEEDS[first : first + len(prompts)], max_out_len)]


@pytest.mark.parametrize('stop_words', [[], ['1'], ['}']], ids=['none', 'a digit', 'a brace'])
@pytest.mark.parametrize('max_out_len', [4, 40])
def test_transformers_counts_a_sample_of_a_batch_as_if_it_were_alone(
    alone: list[int], tokenizer: Any, stop_words: list[str], max_out_len: int
) -> None:
    """Neither padding on the left nor what comes behind its end; a stop word ends a batch of one at once."""
    model = transformers_model(stop_words=stop_words)
    together = told_of(model, QUESTIONS_OF_ALL_LENGTHS, max_out_len)
    single = [
        told_of(model, [question], max_out_len, number)[0]
        for number, question in enumerate(QUESTIONS_OF_ALL_LENGTHS)
    ]
    assert together == single
    assert [one.output_tokens for one in together] == alone
    prompts = [[{'role': 'user', 'content': question}] for question in QUESTIONS_OF_ALL_LENGTHS]
    asked = [tokenizer.apply_chat_template(one, add_generation_prompt=True) for one in prompts]
    assert [one.prompt_tokens for one in together] == list(map(len, asked))
    assert all(one.seconds is None for one in together)


def test_a_response_that_ends_with_its_last_token_was_not_cut_off(alone: list[int]) -> None:
    """A limit of just as many tokens as it takes."""
    model = transformers_model()
    [one] = told_of(model, PROMPTS[:1], 60)
    assert one.finish_reason == 'stop'
    [again] = told_of(model, PROMPTS[:1], alone[0])
    assert again == one
    [cut] = told_of(model, PROMPTS[:1], alone[0] - 1)
    assert (cut.finish_reason, cut.output_tokens) == ('length', alone[0] - 1)
