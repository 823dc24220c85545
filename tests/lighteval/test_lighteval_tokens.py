"""What Lighteval keeps of the tokens of a response, in the record of the task."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from made import ModelResponse, doc_of, judged, metric_of

N = 3
DOCS = [doc_of(1, '1'), doc_of(2, '2')]


def response(*tokens: Any, prompt: int = 12, padding: int = 0) -> ModelResponse:
    """n responses with these tokens, to a prompt that was padded to the longest of its batch."""
    return ModelResponse(
        text=[r'\boxed{1}.'] * N,
        input_tokens=[0] * (prompt + padding),
        output_tokens=list(tokens),
        padded_tokens_count=padding,
    )


def block_of(entries: list[dict[str, Any]]) -> dict[str, Any]:
    return dict(json.loads(entries[0]['gpassk']))


def scored(*responses: ModelResponse) -> list[dict[str, Any]]:
    return judged(metric_of(n=N, k=1), DOCS, responses)


def test_tokens_are_counted_sample_by_sample() -> None:
    """As vLLM gives them: as long as they are, whatever they hold."""
    entries = scored(
        response([5, 6], [5, 5, 5], (7,), prompt=12, padding=8), response([1], [2, 2], [], prompt=20)
    )
    assert [entry['output_tokens'] for entry in entries] == [[2, 3, 1], [1, 2, 0]]
    block = block_of(entries)
    assert (block['output_tokens'], block['prompt_tokens']) == (9, N * (12 + 20))
    assert block['truncated_by'] == 'text'
    assert 'finish_reasons' not in block


@pytest.mark.parametrize('kind', [list, np.array, torch.tensor], ids=['lists', 'numpy', 'torch'])
def test_responses_of_one_length_with_a_tail_are_taken_for_padded(kind: Any) -> None:
    """transformers fills a batch up, and nothing says with what: then the tokens are not known."""
    padded = [kind([5, 9, 9]), kind([5, 6, 9]), kind([5, 6, 7])]
    entries = scored(response(*padded), response(*padded))
    assert all('output_tokens' not in entry for entry in entries)
    block = block_of(entries)
    assert 'output_tokens' not in block
    assert block['prompt_tokens'] == 2 * N * 12


def test_responses_that_were_all_cut_off_have_tokens() -> None:
    """Of one length, and none of them ends with a token twice."""
    cut = [[1, 1, 2], [1, 2, 3], [3, 3, 1]]
    assert block_of(scored(response(*cut), response(*cut)))['output_tokens'] == 18


@pytest.mark.parametrize(
    'tokens',
    [[], None, [1, 2, 3], np.array([1, 2, 3]), [[1, 2], [3]]],
    ids=['none', 'null', 'one flat list', 'one array', 'too few'],
)
def test_models_that_keep_something_else_tell_nothing(tokens: Any) -> None:
    """Endpoints keep none; the score is as ever."""
    given = ModelResponse(text=[r'\boxed{1}.'] * N)
    given.output_tokens = tokens
    entries = scored(given, given)
    assert 'output_tokens' not in block_of(entries)
    assert 'prompt_tokens' not in block_of(entries)
    assert [entry['c'] for entry in entries] == [N, 0]
