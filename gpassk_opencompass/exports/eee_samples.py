"""The samples of a run as lines of Every Eval Ever, one JSON object a sample."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..judges.protocol import Verdict
from ..metrics import ACCURACY
from ..results.result import Result
from ..results.samples import COLUMNS
from ..unseen import json_text, with_whole_characters
from .eee_scores import Json, result_id
from .responses import responses_of
from .runs import samples_of

_SHOWN_ELSEWHERE = frozenset(
    {'uid', 'answer', 'prompt_tokens', 'output_tokens', 'reasoning_tokens', 'seconds', 'file', 'row'}
)
"""Columns of a sample that have a place of their own in a line, or say where this computer has its files."""

METADATA = tuple(one.name for one in COLUMNS if one.name not in _SHOWN_ELSEWHERE)


def sample_lines(result: Result, linked: Mapping[str, str], responses: bool) -> Iterator[str]:
    """Yield a line a sample, each with its end. The score of a sample is 1 where it is correct, else 0.

    A sample without a verdict has the score 0, as in all scores, and `error` says that it was not judged.

    Args:
        result: with verdicts.
        linked: `schema_version`, `evaluation_id` and `model_id`, as the file with the scores has them.
        responses: with the whole responses, see `responses_of`.

    Raises:
        InputError: the responses are not there.
    """
    columns = samples_of(result, result.path.parent) or {}
    texts = responses_of(result) if responses else None
    asked = _asked(result)
    head = {
        **linked,
        'evaluation_name': result.benchmark,
        'evaluation_result_id': result_id(linked['evaluation_id'], result.benchmark, ACCURACY),
    }
    for row in range(len(result.uids) * result.n):
        one = {name: column[row] for name, column in columns.items()}
        question, said = asked[row // result.n], _said(one, texts[row] if texts else None)
        line = {**head, **question, **said, 'metadata': {**question['metadata'], **said['metadata']}}
        text = json_text(line)
        # A half of a character is rare, and looking into every part of every line takes as long as the rest.
        yield (json_text(with_whole_characters(line)) if '\\ud' in text else text) + '\n'


def _asked(result: Result) -> list[Json]:
    """Return what the lines of each question say of it."""
    count = len(result.uids)
    texts = zip(result.questions or [''] * count, result.references or [''] * count, strict=True)
    named = zip(result.uids, result.problems, result.groups, strict=True)
    return [
        {
            'sample_id': uid,
            **_input(question, reference),
            'interaction_type': 'single_turn',
            'metadata': {'problem': problem, 'group': group},
        }
        for (uid, problem, group), (question, reference) in zip(named, texts, strict=True)
    ]


def _input(question: str, reference: str) -> Json:
    """Return the texts of a question, and the hash by which other runs of it can be known."""
    given = {'raw': question, 'reference': [reference] if reference else []}
    if not question:
        return {'input': given}
    whole = json.dumps(with_whole_characters(given), sort_keys=True, separators=(',', ':'))
    return {'input': given, 'sample_hash': hashlib.sha256(whole.encode()).hexdigest()}


def _said(one: Mapping[str, Any], text: str | None) -> Json:
    """Return what a line says of its sample.

    Args:
        one: name of a column → its value, None where it is not known.
        text: the response.
    """
    correct = one['verdict'] == Verdict.CORRECT.value
    answer = one.get('answer') or ''
    return {
        'output': {'raw': [] if text is None else [text]},
        'answer_attribution': [
            {
                'turn_idx': 0,
                'source': 'output.raw',
                'extracted_value': answer,
                'extraction_method': 'final answer',
                'is_terminal': True,
            }
        ]
        if answer
        else [],
        'evaluation': {'score': float(correct), 'is_correct': correct, 'num_turns': 1},
        **_usage(one),
        **({'performance': {'latency_ms': one['seconds'] * 1000}} if one.get('seconds') is not None else {}),
        **({'error': error} if (error := _error(one)) else {}),
        'metadata': {name: str(one[name]) for name in METADATA if one.get(name) is not None},
    }


def _usage(one: Mapping[str, Any]) -> Json:
    """Return the tokens of a sample, of which the format wants prompt and output or nothing."""
    prompt, output, thought = (one.get(f'{name}_tokens') for name in ('prompt', 'output', 'reasoning'))
    if prompt is None or output is None:
        return {}
    tokens = {'input_tokens': prompt, 'output_tokens': output, 'total_tokens': prompt + output}
    return {'token_usage': tokens if thought is None else {**tokens, 'reasoning_tokens': thought}}


def _error(one: Mapping[str, Any]) -> str:
    """Return why a sample has no verdict; '' for one that has."""
    if one['verdict'] != Verdict.UNJUDGED.value:
        return ''
    return f'unjudged: {one.get("reason") or one.get("state") or "no reason is known"}'
