"""Tables with a row a sample: CSV, TSV, JSON lines, Parquet."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from exact import g_pass
from pyarrow import parquet

from gpassk_opencompass.cli import main
from gpassk_opencompass.results.read import read

N, QUESTIONS = 4, 6


def truth(chance: random.Random) -> dict[str, list[bool]]:
    """Question → which of its samples are right."""
    return {f'q{number}': [chance.random() < 0.6 for _ in range(N)] for number in range(QUESTIONS)}


def rows_of(known: dict[str, list[bool]], chance: random.Random) -> list[dict[str, Any]]:
    """A row a sample, in any order."""
    rows = [
        {
            'id': uid, 'question': f'What is {uid[1:]} + {uid[1:]}?', 'answer': str(2 * int(uid[1:])),
            'output': f'It is, "clearly",\n\\boxed{{{2 * int(uid[1:]) if right else -1}}}. Sample {place}.',
            'is_correct': right, 'sample': place, 'output_tokens': 10 + place,
            'finish_reason': 'length' if place == 3 else 'stop',
        }
        for uid, verdicts in known.items()
        for place, right in enumerate(verdicts)
    ]  # fmt: skip
    chance.shuffle(rows)
    return rows


def write_table(path: Path, rows: list[dict[str, Any]]) -> Path:
    """In the format that the name says."""
    if path.suffix == '.parquet':
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    elif '.jsonl' in path.name:
        path.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    else:
        file = io.StringIO(newline='')
        table = csv.DictWriter(file, list(rows[0]), delimiter='\t' if path.suffix == '.tsv' else ',')
        table.writeheader()
        table.writerows(rows)
        content = file.getvalue().encode()
        path.write_bytes(gzip.compress(content) if path.suffix == '.gz' else content)
    return path


@pytest.mark.parametrize('name', ['t.csv', 't.tsv', 't.csv.gz', 't.jsonl', 't.parquet'])
def test_a_table_is_recognised_and_scored(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the order of its rows; the record has answers, ends and tokens of each sample."""
    chance = random.Random(name)
    known = truth(chance)
    table = write_table(tmp_path / name, rows_of(known, chance))
    out = tmp_path / 'out.json'
    assert main(['score', str(table), '--k', '2', '4', '-o', str(out)]) == 0
    told = capsys.readouterr().out
    assert 'a table with a row a sample' in told
    assert 'judged by column is_correct' in told
    result = read(out)
    counts = dict(zip(result.uids, result.counts.tolist(), strict=True))
    assert counts == {uid: sum(verdicts) for uid, verdicts in known.items()}
    for threshold in (0.5, 1.0):
        expected = g_pass([sum(one) for one in known.values()], N, 4, threshold)
        assert result.record[f'G-Pass@4_{threshold}'] == pytest.approx(expected, abs=1e-9)
    assert result.samples is not None
    assert dict(zip(result.uids, result.samples.verdicts(), strict=True)) == {
        uid: ''.join('01'[right] for right in verdicts) for uid, verdicts in known.items()
    }
    assert list(result.samples.column('output_tokens') or ()) == [10, 11, 12, 13] * QUESTIONS
    assert result.block['truncated'] == QUESTIONS
    answers = result.samples.by_question('answer') or []
    assert {uid: list(said) for uid, said in zip(result.uids, answers, strict=True)} == {
        uid: [str(2 * int(uid[1:])) if right else '-1' for right in verdicts]
        for uid, verdicts in known.items()
    }


def test_without_verdicts_responses_are_judged(tmp_path: Path) -> None:
    """By the rule; a column of final answers beside the reference is no verdict."""
    chance = random.Random(3)
    known = truth(chance)
    rows = [
        {key: row[key] for key in ('id', 'question', 'answer', 'output')} for row in rows_of(known, chance)
    ]
    out = tmp_path / 'out.json'
    assert main(['score', str(write_table(tmp_path / 't.csv', rows)), '-o', str(out)]) == 0
    result = read(out)
    assert dict(zip(result.uids, result.counts.tolist(), strict=True)) == {
        uid: sum(verdicts) for uid, verdicts in known.items()
    }
    assert result.judge['name'] == 'rule'


def test_a_table_with_models_is_a_run_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Model and data set stand in columns; each run gets a record."""
    chance = random.Random(4)
    truths = {model: truth(chance) for model in ('a', 'b')}
    rows = [{**row, 'model': model} for model, known in truths.items() for row in rows_of(known, chance)]
    chance.shuffle(rows)
    table = write_table(tmp_path / 't.parquet', rows)
    assert main(['score', str(table), '-o', str(tmp_path / 'records')]) == 0
    capsys.readouterr()
    for model, known in truths.items():
        result = read(tmp_path / 'records' / f'{model}@samples.gpassk.json')
        assert dict(zip(result.uids, result.counts.tolist(), strict=True)) == {
            uid: sum(verdicts) for uid, verdicts in known.items()
        }


@pytest.mark.parametrize(
    'options', [[], ['--majority', '3'], ['-o', 'out.json']], ids=['scores', 'votes', 'record']
)
def test_what_is_odd_is_said(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Partial credit, NaN, no verdict, rewards: each is counted, and none is silently wrong or right."""
    monkeypatch.chdir(tmp_path)
    verdicts = [1, 0.5, 'nan', '', 2.5, 0, 1, 1]
    rows = [
        {'uid': f'q{place // 4}', 'output': f'text {place}', 'answer': '1', 'question': '?', 'acc': value}
        for place, value in enumerate(verdicts)
    ]
    write_table(tmp_path / 't.csv', rows)
    assert main(['score', 't.csv', '--k', '2', *options]) == 0
    out = capsys.readouterr().out
    assert '1 verdicts are partial credit, below 1, and count as incorrect' in out
    assert '1 verdicts are NaN' in out
    assert '1 verdicts are numbers above 1 and count as correct' in out
    assert '2 of 8 samples are unjudged' in out
    assert main(['score', 't.csv', '--k', '2', '--correct-from', '0.5', *options]) == 0
    out = capsys.readouterr().out
    assert 'partial credit' not in out


def test_samples_of_different_number_need_a_choice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody fills in what is missing."""
    rows = [{'uid': 'a', 'correct': True}] * 3 + [{'uid': 'b', 'correct': False}] * 2
    table = str(write_table(tmp_path / 't.csv', rows))
    assert main(['score', table, '--k', '2']) == 2
    assert 'the questions have different numbers of samples, from 2 to 3' in capsys.readouterr().err
    assert main(['score', table, '--k', '2', '--n', '2']) == 0


@pytest.mark.parametrize(
    ('rows', 'message'),
    [
        ([{'uid': 'a', 'correct': 'maybe'}], "row 1: 'maybe' is no verdict"),
        ([{'uid': '', 'correct': True}], 'row 1: nothing tells the question of this row'),
        ([{'uid': 'a', 'correct': True, 'replica': 0}] * 2, "sample 0 of 'a' is there twice"),
        ([{'uid': 'a', 'correct': True, 'replica': 'x'}], "row 1: 'x' is no number of a sample"),
        (
            [{'uid': 'a', 'correct': True, 'gold': '1'}, {'uid': 'a', 'correct': True, 'gold': '2'}],
            "the samples of 'a' have different references, '1' and '2'",
        ),
        ([{'uid': 'a', 'colour': 'red'}], 'has the columns uid, colour; expected verdicts'),
        ([{'name': 'a', 'correct': True}], 'say which tells the questions apart: --group-by NAME'),
    ],
    ids=['verdict', 'no key', 'twice', 'replica', 'reference', 'nothing to score', 'no question'],
)
def test_what_cannot_be_scored_is_refused(
    rows: list[dict[str, Any]], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line that names the row."""
    assert main(['score', str(write_table(tmp_path / 't.csv', rows)), '--k', '1']) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count('\n') == 1


@pytest.mark.parametrize('name', ['t.csv', 't.csv.gz', 't.jsonl', 't.parquet'])
def test_a_table_that_was_cut_is_refused_or_scored_as_it_is(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wherever it was cut: an error in a line, or fewer samples, of which nothing is made up."""
    chance = random.Random(5)
    known = truth(chance)
    whole = write_table(tmp_path / name, rows_of(known, chance)).read_bytes()
    for _ in range(25):
        (tmp_path / name).write_bytes(whole[: chance.randrange(len(whole))])
        code = main(['score', str(tmp_path / name), '--k', '1', '--n', '1', '-o', str(tmp_path / 'c.csv')])
        captured = capsys.readouterr()
        assert code in (0, 2)
        if code == 2:
            assert captured.err.count('\n') == 1
            continue
        samples = int(captured.out.partition(' samples')[0].rpartition(' ')[2])
        assert samples <= N * QUESTIONS


def test_a_table_may_come_through_a_pipe(tmp_path: Path) -> None:
    """Nothing of it is lost where sources look at how it begins."""
    rows = [{'uid': f'q{place // 2}', 'correct': place % 2} for place in range(6)]
    table = write_table(tmp_path / 't.jsonl', rows)
    out = tmp_path / 'x.json'
    command = f'{sys.executable} -m gpassk_opencompass.cli score <(cat {table}) --k 2 -o {out}'
    subprocess.run(['bash', '-c', command], check=True, timeout=60)
    assert read(out).counts.tolist() == [1, 1, 1]


ROWS_OF_QUESTIONS = [
    ([{'uid': 'a', 'correct': '1011'}, {'uid': 'b', 'correct': '0010'}], 4, 50.0),
    ([{'id': 'a', 'num_samples': 4, 'num_correct': 3, 'accuracy': 0.75}], 4, 75.0),
    ([{'id': 'a', 'labels': [1, 0], 'acc': 0.5}], 2, 50.0),
]


@pytest.mark.parametrize(('rows', 'n', 'accuracy'), ROWS_OF_QUESTIONS, ids=['texts', 'counts', 'labels'])
def test_a_row_a_question_is_no_row_a_sample(
    rows: list[dict[str, Any]], n: int, accuracy: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where a mean stands beside the samples or their counts."""
    field = ['--field', 'correct=labels'] if 'labels' in rows[0] else []
    assert main(['score', str(write_table(tmp_path / 't.jsonl', rows)), '--k', '2', *field]) == 0
    out = capsys.readouterr().out
    assert f'n = {n},' in out
    assert f'{accuracy:.2f} |' in out


def test_a_sample_without_a_response_is_unjudged_whatever_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its verdict is nobody's; and the score does not depend on what is written besides."""
    rows = [
        {'uid': f'q{place // 2}', 'question': '?', 'reference': '2', 'response': '', 'correct': True}
        | {'state': 'failed' if place == 0 else ''}
        for place in range(4)
    ]
    for extra in ([], ['-o', str(tmp_path / 'x.json')]):
        for drop in ([], ['question', 'reference', 'response']):
            kept = [{key: value for key, value in row.items() if key not in drop} for row in rows]
            assert main(['score', str(write_table(tmp_path / 't.csv', kept)), '--k', '2', *extra]) == 0
            out = capsys.readouterr().out
            assert '|   75.00 |' in out
            assert '1 of 4 samples are unjudged' in out


def test_a_late_column_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What only later rows say would be lost, or would make two models one."""
    rows = [{'uid': 'a', 'correct': True}, {'uid': 'a', 'correct': False, 'model': 'B'}]
    assert main(['score', str(write_table(tmp_path / 't.jsonl', rows)), '--k', '2']) == 2
    assert "row 2 has 'model', which the first row does not have" in capsys.readouterr().err


def test_rows_that_are_all_questions_are_pointed_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An id of the row tells no questions apart."""
    rows = [{'id': place, 'problem_id': f'p{place // 2}', 'correct': place % 2} for place in range(4)]
    table = str(write_table(tmp_path / 't.csv', rows))
    assert main(['score', table]) == 0
    assert 'each row is a question of its own by id' in capsys.readouterr().out
    assert main(['score', table, '--group-by', 'problem_id', '--k', '2']) == 0
    assert 'n = 2,' in capsys.readouterr().out


@pytest.mark.parametrize('header', ['ID,Correct', 'id;correct', ' id , correct '])
def test_spelling_of_the_header_does_not_count(header: str, tmp_path: Path) -> None:
    """Capitals, blanks, and semicolons for commas."""
    mark = ';' if ';' in header else ','
    (tmp_path / 't.csv').write_text(f'{header}\na{mark}1\na{mark}0\n', encoding='utf-8')
    assert main(['score', str(tmp_path / 't.csv'), '--k', '2', '-o', str(tmp_path / 'x.json')]) == 0
    assert read(tmp_path / 'x.json').counts.tolist() == [1]


def test_a_verdict_alone_makes_the_answer_the_final_one(tmp_path: Path) -> None:
    """Without responses and another reference, `answer` differs from sample to sample."""
    rows = [{'uid': 'a', 'answer': str(place), 'correct': place == 1} for place in range(2)]
    table = str(write_table(tmp_path / 't.csv', rows))
    assert main(['score', table, '--k', '2', '-o', str(tmp_path / 'x.json')]) == 0
    assert read(tmp_path / 'x.json').answers == [['0', '1']]


def test_a_folder_with_its_own_records_is_scored_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sample file beside a record is no run; other data with labels is none; a pipe is not opened."""
    rows = [{'uid': 'a', 'question': '?', 'reference': '1', 'response': '1', 'correct': True}] * 2
    table = write_table(tmp_path / 't.csv', rows)
    assert main(['score', str(table), '--k', '2', '-o', str(tmp_path / 'records')]) == 0
    write_table(tmp_path / 'records' / 'films.csv', [{'id': 1, 'text': 'good', 'label': 1}])
    os.mkfifo(tmp_path / 'records' / 'p.csv')
    capsys.readouterr()
    assert main(['score', str(tmp_path / 'records'), '--k', '2']) == 0
    captured = capsys.readouterr()
    assert captured.out.count('accuracy') == 1
    assert 'films.csv' in captured.err
