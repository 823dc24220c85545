"""`gpassk score`: rows that are not what they say, and refusals before a judge is asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from judge_server import PROMPTS, JudgeServer

from gpassk_opencompass.cli import main

QUESTION = {'question': '1 + 1?', 'answer': '2'}


def write(path: Path, rows: Sequence[Any]) -> str:
    path.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    return str(path)


@pytest.mark.parametrize(
    ('row', 'message'),
    [
        (QUESTION | {'responses': ['2', None]}, '1 of 2 responses are null, the first is number 2'),
        (QUESTION | {'outputs': [None, None]}, '2 of 2 outputs are null, the first is number 1'),
        (QUESTION | {'responses': ['2', float('nan')]}, 'responses holds nan'),
        (QUESTION | {'answer': float('nan'), 'responses': ['2']}, 'answer holds nan'),
        (QUESTION | {'n': 3, 'responses': ['2', '3']}, 'n = 3, but responses gives n = 2'),
        ({'n': 5, 'correct': [1, 0]}, 'n = 5, but correct gives n = 2'),
        ({'num_samples': 1, 'labels': '10'}, 'num_samples = 1, but labels gives n = 2'),
        ({'correct': [1, 0, None], 'unjudged': 0}, 'unjudged = 0, but correct gives unjudged = 1'),
    ],
)
def test_a_row_that_cannot_be_what_it_says_is_named(
    row: dict[str, Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is scored as less than it says; the message has the line and what to do."""
    good = QUESTION | {'responses': ['2', '3']} if 'question' in row else {'correct': [1, 0]}
    file = write(tmp_path / 'rows.jsonl', [good, row])
    assert main(['score', file, '--k', '1']) == 2
    said = capsys.readouterr()
    assert said.out == ''
    assert f'{file}:2: {message}' in said.err


def test_an_empty_response_is_a_wrong_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What null is not: the model said nothing."""
    file = write(tmp_path / 'rows.jsonl', [QUESTION | {'responses': ['\\boxed{2}', '']}])
    assert main(['score', file, '--k', '1']) == 0
    assert '|   50.00 |' in capsys.readouterr().out


def test_half_a_character_is_scored_and_kept(tmp_path: Path) -> None:
    """A response of half a character alone is an answer like any other; the record has it back."""
    responses = ['\\boxed{2} \ud800', '\\boxed{\udc00}']
    file = write(tmp_path / 'rows.jsonl', [QUESTION | {'uid': 'u\udfff', 'responses': responses}])
    for name in ('out.json', 'out.csv'):
        assert main(['score', file, '--k', '2', '-o', str(tmp_path / name)]) == 0
    record = json.loads((tmp_path / 'out.json').read_text(encoding='utf-8'))
    assert (record['accuracy'], record['details']['answers']) == (50.0, [['2', '\udc00']])
    assert record['gpassk']['counts']['uid'] == ['u\udfff']


FIVE = [
    QUESTION | {'uid': f'u{place}', 'responses': [f'\\boxed{{{i}}}' for i in range(6)]} for place in range(9)
]
FIVE.append(QUESTION | {'uid': 'short', 'responses': ['\\boxed{2}'] * 5})
SAME = [QUESTION | {'uid': 'twice', 'responses': ['\\boxed{2}'] * 5}] * 2


@pytest.mark.parametrize(
    ('rows', 'options', 'message'),
    [
        (FIVE, ['--n', '11'], '--n 11 is more than the 5 samples of a question'),
        (FIVE, ['--n', '5', '--k', '6'], 'k = 6 is more than the 5 samples'),
        (FIVE[:9], ['--k', '7'], 'k = 7 is more than the 6 samples'),
        (FIVE[:9], ['--majority', '7'], '--majority = 7 is more than the 6 samples'),
        (FIVE, ['--first', '6'], '5 samples, fewer than --first 6'),
        (FIVE, [], 'different numbers of samples, from 5 to 6'),
        (FIVE[:9], ['--split', 'A'], "no question is of split 'A'"),
        (FIVE[:9], ['--labelled-by', 'me'], '--labelled-by goes with labels and counts'),
        (FIVE[:9], ['-o', '{folder}/folder.json'], 'is a folder; give the name of a file'),
        (SAME, ['--k', '2'], 'rows 1 and 2 have the same uid'),
    ],
)
def test_what_cannot_be_scored_asks_no_judge(
    rows: list[dict[str, Any]],
    options: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every refusal that the file and the options tell comes before the first request."""
    monkeypatch.chdir(tmp_path)  # where verdicts are kept
    (tmp_path / 'folder.json').mkdir()
    file = write(tmp_path / 'rows.jsonl', rows)
    with JudgeServer(lambda asked: r'\boxed{yes}') as server:
        judge = {'type': 'llm', 'model': 'm', 'urls': [server.url], 'prompts': PROMPTS, 'progress': False}
        options = [option.format(folder=tmp_path) for option in options]
        assert main(['score', file, '--judge', json.dumps(judge), *options]) == 2
        assert server.asked == []
    said = capsys.readouterr()
    assert message in said.err
    assert said.err.count('\n') == 1


def test_responses_with_labels_count_by_them_until_a_judge_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As of any other program; and there must be one label a response."""
    row = QUESTION | {'responses': ['\\boxed{2}', '\\boxed{3}'], 'correct': [1, 1]}
    file = write(tmp_path / 'rows.jsonl', [row])
    for options, accuracy in (
        ([], '100.00'),
        (['--judge', 'rule'], ' 50.00'),
        (['--as', 'responses'], ' 50.00'),
    ):
        assert main(['score', file, '--k', '1', *options]) == 0
        assert f'|  {accuracy} |' in capsys.readouterr().out
    short = write(tmp_path / 'short.jsonl', [row | {'correct': [1]}])
    assert main(['score', short, '--k', '1']) == 2
    assert '2 responses and 1 correct; expected one of each a sample' in capsys.readouterr().err
