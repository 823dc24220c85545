"""Replies of a provider's batch and the table of the samples that were asked for, joined by fingerprint."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.formats import read_samples


def openai(key: str, text: str | None, finish: str = 'stop', **message: Any) -> dict[str, Any]:
    said = {'role': 'assistant', 'content': text, **message}
    body = {
        'model': 'm-1',
        'choices': [{'index': 0, 'message': said, 'finish_reason': finish}],
        'usage': {'prompt_tokens': 9, 'completion_tokens': 5},
    }
    return {'id': 'r', 'custom_id': key, 'response': {'status_code': 200, 'body': body}, 'error': None}


def anthropic(key: str, *parts: dict[str, Any], finish: str = 'end_turn') -> dict[str, Any]:
    usage = {'input_tokens': 9, 'output_tokens': 5}
    message = {
        'role': 'assistant',
        'model': 'c-1',
        'content': list(parts),
        'stop_reason': finish,
        'usage': usage,
    }
    return {'custom_id': key, 'result': {'type': 'succeeded', 'message': message}}


def written(folder: Path, replies: list[dict[str, Any]], keys: str = 'abcd') -> list[Path]:
    """The replies, and a table of two samples of each of two questions."""
    (folder / 'out.jsonl').write_text(''.join(json.dumps(one) + '\n' for one in replies))
    with (folder / 'samples.csv').open('w', newline='') as file:
        table = csv.writer(file)
        table.writerow(['uid', 'replica', 'question', 'reference', 'fingerprint', 'seed'])
        table.writerows(
            [f'q{n // 2}', n % 2, f'{n // 2} + 1?', n // 2 + 1, key, 40 + n] for n, key in enumerate(keys)
        )
    return [folder / 'out.jsonl', folder / 'samples.csv']


REFUSED = {
    'id': 'r',
    'custom_id': 'd',
    'response': {'status_code': 400, 'body': {'error': {'code': 'bad_request'}}},
}
EXPIRED = {'custom_id': 'd', 'result': {'type': 'expired'}}


@pytest.mark.parametrize(
    ('replies', 'model'),
    [
        (
            [
                openai('b', '2', reasoning_content='hm'),
                REFUSED,
                openai('a', None, 'length'),
                openai('c', '', 'content_filter'),
            ],
            'm-1',
        ),
        (
            [
                anthropic('b', {'type': 'thinking', 'thinking': 'hm'}, {'type': 'text', 'text': '2'}),
                EXPIRED,
                anthropic('a', finish='max_tokens'),
            ],
            'c-1',
        ),
    ],
    ids=['OpenAI', 'Anthropic'],
)
@pytest.mark.parametrize('folder', [True, False], ids=['folder', 'files'])
def test_replies_are_joined_by_fingerprint(
    replies: list[dict[str, Any]], model: str, folder: bool, tmp_path: Path
) -> None:
    """In the order of the table, whatever that of the replies; what is missing or failed has its reason."""
    paths = written(tmp_path, replies)
    [run] = read_samples([tmp_path] if folder else paths)
    found = run.samples
    assert found is not None
    assert run.model == model
    assert (found['uid'], found['replica'], found['seed']) == (
        ['q0', 'q0', 'q1', 'q1'],
        [0, 1, 0, 1],
        [40, 41, 42, 43],
    )
    assert (found['question'][0], found['reference'][0], found['fingerprint'][3]) == ('0 + 1?', '1', 'd')
    assert found['response'] == ['', '2', None, None]
    assert found['thought'][:2] == [None, 'hm']
    lost = 'filtered' if model == 'm-1' else 'failed'
    assert found['state'] == [None, None, lost, 'failed']
    assert found['finish_reason'][:2] == ['length', 'stop']
    assert found['output_tokens'][1] == 5
    said = ['bad_request'] if model == 'm-1' else ['no reply', 'expired']
    assert [one.rpartition(': ')[2] for one in run.remarks] == said
    assert 'verdict' not in found


def test_a_second_attempt_counts_where_the_first_one_failed(tmp_path: Path) -> None:
    """Whichever file is read first."""
    paths = written(tmp_path, [REFUSED, openai('d', '2'), REFUSED, *(openai(key, '1') for key in 'abc')])
    [run] = read_samples(paths)
    assert run.samples is not None
    assert run.samples['response'] == ['1', '1', '1', '2']


def test_replies_that_do_not_fit_are_listed(tmp_path: Path) -> None:
    """One of no sample, one that is there twice, a fingerprint of two samples; all at once."""
    replies = [openai('z', '1'), openai('a', '1'), openai('a', '1')]
    with pytest.raises(InputError) as error:
        read_samples(written(tmp_path, replies, 'abcc'))
    for said in (
        "out.jsonl:1: custom_id 'z' is no",
        "out.jsonl:3: custom_id 'a' has a second",
        "csv:4: fingerprint 'c'",
    ):
        assert said in str(error.value)


@pytest.mark.parametrize(('which', 'missing'), [(0, 'the table of samples'), (1, 'replies of a batch')])
def test_one_of_the_two_alone_is_refused(which: int, missing: str, tmp_path: Path) -> None:
    """It says what else to give."""
    with pytest.raises(InputError, match=f'give {missing}'):
        read_samples([written(tmp_path, [openai('a', '1')])[which]])
