"""Replies of a provider's batch and the table of the samples that were asked for, joined by fingerprint."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from harness_logs import Row, samples_of, write

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.formats import read_samples


def openai(key: str, text: str | None, finish: str = 'stop', **message: Any) -> Row:
    choice = {'message': {'role': 'assistant', 'content': text, **message}, 'finish_reason': finish}
    body = {'model': 'm-1', 'choices': [choice], 'usage': {'prompt_tokens': 9, 'completion_tokens': 5}}
    return {'id': 'r', 'custom_id': key, 'response': {'status_code': 200, 'body': body}, 'error': None}


def anthropic(key: str, *parts: Row, finish: str = 'end_turn') -> Row:
    about = {'model': 'c-1', 'stop_reason': finish, 'usage': {'input_tokens': 9, 'output_tokens': 5}}
    return {'custom_id': key, 'result': {'type': 'succeeded', 'message': {**about, 'content': list(parts)}}}


def written(folder: Path, replies: list[Row], keys: str = 'abcd') -> list[Path]:
    """The replies, and a table of two samples of each of two questions."""
    with (folder / 'samples.csv').open('w', newline='') as file:
        table = csv.writer(file)
        table.writerow(['uid', 'replica', 'question', 'reference', 'fingerprint', 'seed'])
        for n, key in enumerate(keys):
            table.writerow([f'q{n // 2}', n % 2, f'{n // 2} + 1?', n // 2 + 1, key, 40 + n])
    return [write(folder / 'out.jsonl', replies), folder / 'samples.csv']


BAD = {'error': {'code': 'bad_request'}}
REFUSED: Row = {'id': 'r', 'custom_id': 'd', 'response': {'status_code': 400, 'body': BAD}}
OPENAI = [
    openai('b', '2', reasoning_content='hm'), REFUSED, openai('a', None, 'length'),
    openai('c', '', 'content_filter'),
]  # fmt: skip
ANTHROPIC = [
    anthropic('b', {'type': 'thinking', 'thinking': 'hm'}, {'type': 'text', 'text': '2'}),
    {'custom_id': 'd', 'result': {'type': 'expired'}}, anthropic('a', finish='max_tokens'),
]  # fmt: skip


@pytest.mark.parametrize(
    ('replies', 'model', 'lost', 'reasons'),
    [
        (OPENAI, 'm-1', 'filtered', ['bad_request']),
        (ANTHROPIC, 'c-1', 'failed', ['no reply', 'expired']),
    ],
    ids=['OpenAI', 'Anthropic'],
)
@pytest.mark.parametrize('folder', [True, False], ids=['folder', 'files'])
def test_replies_are_joined_by_fingerprint(
    replies: list[Row], model: str, lost: str, reasons: list[str], folder: bool, tmp_path: Path
) -> None:
    """In the order of the table, whatever that of the replies; what is missing or failed has its reason."""
    paths = written(tmp_path, replies)
    [run] = read_samples([tmp_path] if folder else paths)
    found = samples_of(run)
    assert run.model == model
    places = list(zip(*(found[name] for name in ('uid', 'replica', 'seed')), strict=True))
    assert places == [('q0', 0, 40), ('q0', 1, 41), ('q1', 0, 42), ('q1', 1, 43)]
    assert (found['question'][0], found['reference'][0], found['fingerprint'][3]) == ('0 + 1?', '1', 'd')
    assert found['response'] == ['', '2', None, None]
    assert found['thought'][:2] == [None, 'hm']
    assert found['state'] == [None, None, lost, 'failed']
    assert found['finish_reason'][:2] == ['length', 'stop']
    assert found['output_tokens'][1] == 5
    assert [one.rpartition(': ')[2] for one in run.remarks] == reasons
    assert 'verdict' not in found


def test_a_second_attempt_counts_where_the_first_one_failed(tmp_path: Path) -> None:
    replies = [REFUSED, openai('d', '2'), REFUSED, *(openai(key, '1') for key in 'abc')]
    [run] = read_samples(written(tmp_path, replies))
    assert samples_of(run)['response'] == ['1', '1', '1', '2']


def test_replies_that_do_not_fit_are_listed(tmp_path: Path) -> None:
    """One of no sample, one that is there twice, a fingerprint of two samples; all at once."""
    replies = [openai('z', '1'), openai('a', '1'), openai('a', '1')]
    with pytest.raises(InputError) as error:
        read_samples(written(tmp_path, replies, 'abcc'))
    for place in (
        "out.jsonl:1: custom_id 'z' is",
        "out.jsonl:3: custom_id 'a' has",
        "csv:4: fingerprint 'c'",
    ):
        assert place in str(error.value)


@pytest.mark.parametrize(('which', 'missing'), [(0, 'the table of samples'), (1, 'replies of a batch')])
def test_one_of_the_two_alone_is_refused(which: int, missing: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f'give {missing}'):
        read_samples([written(tmp_path, [openai('a', '1')])[which]])
