"""`gpassk audit`: from a result to a file of labels, a person or an LLM, and what the labels say."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from judge_server import PROMPTS, JudgeServer

from gpassk_opencompass.agreement.comparisons import read_labelled
from gpassk_opencompass.cli import main

ANSWERS = ['2', '2.0', '3', '4', '']
"""Of each response in turn; two of five are right."""


@pytest.fixture
def result(tmp_path: Path) -> Path:
    """A result of 12 questions with 5 samples each, which `gpassk score` wrote."""
    return scored(tmp_path, ANSWERS)


def scored(folder: Path, answers: Sequence[str], name: str = 'run') -> Path:
    rows = [
        {
            'uid': f'q{number}',
            'question': f'question={number} + 1',
            'answer': '2',
            'responses': [f'\\boxed{{{answer}}}' for answer in answers],
        }
        for number in range(12)
    ]
    responses, out = folder / f'{name}.jsonl', folder / f'{name}.gpassk.json'
    responses.write_text('\n'.join(map(json.dumps, rows)), encoding='utf-8')
    assert main(['score', str(responses), '--k', '2', '4', '-o', str(out)]) == 0
    return out


def audited(result: Path, *options: str | Path) -> int:
    return main(['audit', str(result), *map(str, options)])


def found(result: Path, folder: Path, *options: str | Path) -> dict[str, Any]:
    """What the command writes as JSON."""
    out = folder / 'audit.json'
    assert audited(result, *options, '-o', out) == 0
    content: dict[str, Any] = json.loads(out.read_text('utf-8'))
    return content


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text('utf-8').splitlines()]


def filled(file: Path, rows: Sequence[dict[str, Any]]) -> Path:
    file.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    return file


def told(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


def test_a_plan_shows_the_limits_that_clean_labels_would_give(
    result: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody is asked; empty answers are not drawn from."""
    capsys.readouterr()
    assert audited(result, '--pairs', '20') == 0
    out = capsys.readouterr().out
    assert '12 questions, n = 5, 48 different answers of 60 samples, judged by rule' in out
    assert 'this is what 20 labels would say if none contradicts its verdict' in out
    assert 'share wrong' not in out
    assert 'empty' not in out


def test_a_person_fills_in_a_file_and_gives_it_back(result: Path, tmp_path: Path) -> None:
    """Three of the accepted answers that were drawn are wrong: labels in words, numbers and truth values."""
    file = tmp_path / 'labels.jsonl'
    assert audited(result, '--pairs', 30, '--seed', 4, '--write', file) == 0
    rows = lines_of(file)
    assert len(rows) == 30
    right = [row for row in rows if '2' in row['answer']]
    for row, word in zip(rows, ['correct', True, 1] * 10, strict=True):
        row['label'] = word if row in right else False
    for row in right[:3]:
        row['label'] = 'Incorrect'
    content = found(result, tmp_path, '--labels', filled(file, rows[::-1]))
    kinds = {(kind['accepted'], kind['type']): kind for kind in content['kinds']}
    assert list(kinds) == [(True, 'number'), (True, 'string'), (True, 'all'), (False, 'integer')]
    accepted = kinds[True, 'all']
    assert (accepted['answers'], accepted['wrong'], kinds[False, 'integer']['wrong']) == (24, 3, 0)
    assert 0 < accepted['low'] < accepted['share'] < accepted['high'] < 1
    assert kinds[False, 'integer']['low'] == kinds[False, 'integer']['share'] == 0
    assert content['labels'] == 30
    assert content['asked'] == str(file)
    assert len(read_labelled(file)) == 30  # `gpassk judge-agreement` reads it, too


def test_a_person_is_asked_and_each_reply_is_kept(
    result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Yes, skip, back, yes, no, a slip, the end of the input; the next session asks for the rest."""
    file = tmp_path / 'labels.jsonl'
    monkeypatch.setattr('sys.stdin', StringIO('y\ns\nb\ny\nN\nwhat\n'))
    assert audited(result, '--labels', file, '--ask', '--pairs', '10') == 0
    out = capsys.readouterr().out
    assert [row['label'] for row in lines_of(file)] == [True, True, False, *[None] * 7]
    assert out.count('[2 of 10]') == 2
    assert '7 of 10 drawn answers have no label' in out
    rows = lines_of(file)
    first = rows[0]['id']
    filled(file, [*rows[1:], rows[0] | {'remark': 'odd'}])
    monkeypatch.setattr('sys.stdin', StringIO('y\n' * 7))
    assert audited(result, '--labels', file, '--ask') == 0
    assert '7 answers have no label' in capsys.readouterr().out
    rows = lines_of(file)
    assert sorted(row['label'] for row in rows) == [False, *[True] * 9]
    assert [row['id'] for row in rows if row.get('remark') == 'odd'] == [first]


def test_an_answer_cannot_steer_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its controls are shown as escapes, and come back from the file as they were."""
    result, file = scored(tmp_path, ['\x1b[2J7', '2'] * 2), tmp_path / 'labels.jsonl'
    monkeypatch.setattr('sys.stdin', StringIO('n\n' * 40))
    assert audited(result, '--labels', file, '--ask') == 0
    out = capsys.readouterr().out
    assert '\x1b' not in out
    assert '\\x1b[2J7' in out
    assert any(row['answer'] == '\x1b[2J7' for row in lines_of(file))


def test_an_llm_is_asked_in_a_persons_place(result: Path, tmp_path: Path) -> None:
    """It takes 4 for right, 2.0 for wrong, and says nothing of 3; equal spellings are asked about, too."""

    def say(prompt: str) -> str:
        answer = prompt.rpartition('answer=')[2].split()[0]
        return {'2': r'\boxed{yes}', '4': r'\boxed{yes}', '3': 'Hm.'}.get(answer, r'\boxed{no}')

    file = tmp_path / 'labels.jsonl'
    with JudgeServer(lambda asked: say(asked.prompt)) as server:
        config = {'type': 'llm', 'model': 'm', 'urls': [server.url], 'prompts': PROMPTS, 'progress': False}
        config['verdicts'] = str(tmp_path / 'verdicts')
        options = ['--pairs', '48', '--judge', json.dumps(config), '--write', file]
        content = found(result, tmp_path, *options)
        answers = {asked.prompt.rpartition('answer=')[2].split()[0] for asked in server.asked}
    assert '2' in answers
    assert content['asked']['model'] == 'm'
    assert content['labels'] == 36
    labels = {row['answer']: row['label'] for row in lines_of(file)}
    assert labels == {'2': True, '2.0': False, '4': True, '3': None}
    assert sum(kind['wrong'] for kind in content['kinds'] if kind['type'] != 'all') == 24
    assert found(result, tmp_path, '--labels', file)['kinds'] == content['kinds']


def test_shares_are_written_as_a_table(result: Path, tmp_path: Path) -> None:
    """In percent, with all digits."""
    file, out = tmp_path / 'labels.jsonl', tmp_path / 'audit.csv'
    assert audited(result, '--pairs', 9, '--write', file) == 0
    rows = [row | {'label': False} for row in lines_of(file)]
    assert audited(result, '--labels', filled(file, rows), '-o', out) == 0
    told = list(csv.DictReader(out.read_text('utf-8').splitlines()))
    assert [(row['verdict'], row['type']) for row in told][-1] == ('rejected', 'integer')
    assert float(told[0]['lowest']) < float(told[0]['share wrong']) == 100
    assert float(told[-1]['share wrong']) == 0


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'run': 'x'}, 'drawn from run x, this one is'),
        ({'run': None}, 'are compared with gpassk judge-agreement'),
        ({'id': 'x'}, "id 'x' is not of this run"),
        ({'label': 'maybe'}, "the label is 'maybe'; expected true or false"),
    ],
    ids=['run', 'none', 'id', 'label'],
)
def test_labels_that_are_not_of_this_sample_are_refused(
    change: dict[str, Any], message: str, result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, with the place."""
    file = tmp_path / 'labels.jsonl'
    assert audited(result, '--pairs', '9', '--write', file) == 0
    rows = lines_of(file)
    rows[4] |= change
    capsys.readouterr()
    assert audited(result, '--labels', filled(file, rows)) == 2
    error = told(capsys)
    assert error.count('\n') == 1
    assert f'{file}:5' in error
    assert message in error


def test_labels_of_other_verdicts_are_refused(
    result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same questions, one other answer."""
    file = tmp_path / 'labels.jsonl'
    assert audited(result, '--pairs', '9', '--write', file) == 0
    other = scored(tmp_path, ['2', '7', '3', '4', ''], 'other')
    assert audited(other, '--labels', file) == 2
    assert 'other answers or other verdicts' in told(capsys)


def test_contradicting_labels_are_refused(
    result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line that was copied and changed."""
    file = tmp_path / 'labels.jsonl'
    assert audited(result, '--pairs', '9', '--write', file) == 0
    rows = lines_of(file)
    twice = [rows[0] | {'label': True}, rows[0] | {'label': False}]
    assert audited(result, '--labels', filled(file, twice)) == 2
    assert 'stands there twice, with both labels' in told(capsys)


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (['--ask'], '--ask keeps each answer at once: give --labels FILE'),
        (['--labels', 'there.jsonl', '--judge', 'llm'], 'give one of them'),
        (['--model', 'm'], '--model, --url and --verdicts go with --judge llm'),
        (['--judge', 'rule'], 'a rule would accept its own errors'),
        (['--judge', 'cascade'], 'a rule would accept its own errors'),
        (['--judge', '{"type": "rule"}'], 'the one that judged the run'),
        (['--judge', 'llm'], '--judge llm needs --model NAME and --url'),
        (['--write', 'there.jsonl'], 'it is there already and may hold labels'),
        (['--write', 'nowhere/x.jsonl'], 'there is no folder'),
        (['--labels', 'there.jsonl', '--pairs', '3'], 'says how it was drawn'),
        (['--labels', 'missing.jsonl'], 'cannot read missing.jsonl'),
        (['--labels', 'there.jsonl'], 'is empty'),
        (['--pairs', '2'], 'there are 3 kinds of verdicts'),
        (['--trust', 'interval'], 'no verdict is of that type; there are'),
        (['--level', '95'], 'expected a number between 0 and 1'),
        (['-o', 'there.json', '--labels', 'there.json'], 'read or written as another file'),
        (['--ask', '--labels', 'x.jsonl.gz'], 'unpack it first'),
        (['-o', 'x.txt'], 'expected a name that ends in .csv or .json'),
    ],
    ids=lambda value: ' '.join(value) if isinstance(value, list) else '',
)
def test_options_that_cannot_be_used_are_refused(
    options: list[str],
    message: str,
    result: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In one line; nothing is written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'there.jsonl').touch()
    before = sorted(tmp_path.iterdir())
    capsys.readouterr()
    assert audited(result, *options) == 2
    error = told(capsys)
    assert error.count('\n') == 1
    assert message in error
    assert sorted(tmp_path.iterdir()) == before


def test_a_run_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing file, an empty folder, two results, counts alone."""
    assert audited(tmp_path / 'no.json') == 2
    assert 'is neither a file nor a folder' in told(capsys)
    assert audited(tmp_path) == 2
    assert 'holds no file' in told(capsys)
    counts = tmp_path / 'counts.jsonl'
    counts.write_text('{"n": 4, "c": 2}\n{"n": 4, "c": 1}\n', encoding='utf-8')
    out = tmp_path / 'counts.gpassk.json'
    assert main(['score', str(counts), '--k', '2', '-o', str(out)]) == 0
    assert audited(out) == 2
    assert 'does not say what was answered' in told(capsys)
    scored(tmp_path, ANSWERS)
    assert audited(tmp_path) == 2
    assert 'holds 2 results; give one of the files' in told(capsys)


def test_a_run_of_lighteval_is_audited_like_any_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folder of a recorded one, whose verdicts stand in its details."""
    pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    file = tmp_path / 'labels.jsonl'
    assert audited(Path(__file__).parent / 'recorded' / 'lighteval', '--write', file) == 0
    assert 'judged by rule' in capsys.readouterr().out
    assert {row['language'] for row in lines_of(file)} == {'cn', 'en'}
