"""One reader for all formats: what is recognised, one set of rules, options that are never ignored."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from harness_logs import run_of, samples_of, verdicts
from test_own_tables import write

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.formats import FORMATS, Format, Options, read_samples
from gpassk_opencompass.formats.format import has
from gpassk_opencompass.json_rows import Row


def lists(row: Row) -> Iterator[Row]:
    for place, text in enumerate(row['said']):
        answer = row['asked']['answer']
        yield {'replica': place, 'response': text, 'reference': answer, 'correct': row['marks'][place]}


QUIZ = Format(
    lambda path, row: has(row, 'asked.answer', 'marks'),
    {'uid': 'name', 'question': 'asked.text'},
    expand=lists,
    about=lambda row: {'model': 'quiz-7b', 'dataset': row['_file'].stem, 'judge': {'name': 'quiz'}},
)


@pytest.fixture(autouse=True)
def quiz(monkeypatch):
    monkeypatch.setitem(FORMATS, 'quiz', QUIZ)


def asked(name: str, marks: Sequence[Any], **more: Any) -> Row:
    about = {'name': name, 'asked': {'text': f'{name}?', 'answer': '2'}, 'marks': list(marks)}
    return about | {'said': [f'{name} {place}' for place in range(len(marks))]} | more


def lines(path: Path, rows: Sequence[Mapping[str, Any] | str]) -> Path:
    text = ''.join((row if isinstance(row, str) else json.dumps(row)) + '\n' for row in rows)
    path.write_text(text, encoding='utf-8')
    return path


# ---- recognition -----------------------------------------------------------------------------------------


def test_a_folder_is_searched_for_what_formats_recognise(tmp_path):
    """What is passed over is told; hidden files, sample files, pipes, links in circles are not read."""
    (tmp_path / 'deep' / 'er').mkdir(parents=True)
    lines(tmp_path / 'deep' / 'er' / 'algebra.jsonl', [asked('a', [1, 0])])
    write(tmp_path / 'deep' / 'table.csv', [{'id': 1, 'correct': True}])
    for name in ('.hidden.csv', 'x.samples.parquet'):
        write(tmp_path / name, [{'id': 1, 'correct': True}])
    write(tmp_path / 'films.csv', [{'id': 1, 'text': 'good', 'label': 1}])
    (tmp_path / 'broken.json').write_text('{"a": ')
    (tmp_path / 'notes.txt').write_text('nothing')
    os.mkfifo(tmp_path / 'pipe.csv')
    (tmp_path / 'deep' / 'again').symlink_to(tmp_path)
    told: list[str] = []
    runs = read_samples([tmp_path, tmp_path / 'deep'], tell=told.append)
    assert sorted(run.files[0].name for run in runs) == ['algebra.jsonl', 'table.csv']
    assert told == [f'passed over: {tmp_path / name}' for name in ('broken.json', 'films.csv')]


def test_what_nothing_recognises_is_an_error(tmp_path):
    os.mkfifo(tmp_path / 'pipe')  # it cannot be read twice, to see what it is and then what it holds
    for name in ('none', 'pipe'):
        with pytest.raises(InputError, match='neither a file nor a folder'):
            read_samples([tmp_path / name])
    with pytest.raises(InputError, match=r'holds no file that one of the formats recognises; name a file'):
        read_samples([tmp_path])
    write(tmp_path / 'films.csv', [{'id': 1, 'label': 1}])
    with pytest.raises(InputError, match=r'there is .*films\.csv, …; name a file, or say .* or table'):
        read_samples([tmp_path])
    with pytest.raises(InputError, match='holds no file of quiz'):
        read_samples([tmp_path], 'quiz')
    with pytest.raises(InputError, match=r"'qui' is no format; expected one of .* quiz"):
        read_samples([tmp_path], 'qui')
    (tmp_path / 'empty.jsonl').write_text('\n')
    with pytest.raises(InputError, match=r'empty\.jsonl is empty'):
        read_samples([tmp_path / 'empty.jsonl'])


# ---- values ----------------------------------------------------------------------------------------------

MISSING = [None, float('nan'), '', ' ', 'nan', 'NaN', 'None', 'null', 'N/A', '<NA>']


@pytest.mark.parametrize('value', MISSING, ids=repr)
def test_missing_values_are_read_alike_everywhere(value, tmp_path):
    """No verdict is unjudged, no response no answer, no reference none; in tables and other formats."""
    names, texts = ('uid', 'question', 'reference', 'response', 'acc'), (('2', 1), (value, 0), ('3', value))
    told = [(uid, '?', '2' if uid == 'a' else value, *one) for uid in 'ab' for one in texts]
    rows = [dict(zip(names, one, strict=True)) for one in told]
    one = asked('a', [1, 0, value], said=['2', value, '3'])
    other = asked('b', [1, 0, value], said=['2', value, '3'], asked={'text': 'b?', 'answer': value})
    for path in (write(tmp_path / 't.jsonl', rows), lines(tmp_path / 'quiz.jsonl', [one, other])):
        run = run_of(path)
        assert verdicts(run) == {'a': '10?', 'b': '10?'}
        assert samples_of(run)['response'] == ['2', '', '3'] * 2
        assert samples_of(run)['reference'] == ['2'] * 3 + [None] * 3
        assert '2 samples have no verdict (empty, null or NaN) and are unjudged' in run.remarks


# ---- bad rows --------------------------------------------------------------------------------------------


def test_all_bad_rows_are_listed(tmp_path):
    """Of all files, each with its place; left out on demand, which is said."""
    rows = [asked('a', [1, 0]), asked('b', ['maybe', 1]), '{"name": ', '7', asked('c', [0, 0], asked=None)]
    one = lines(tmp_path / 'one.jsonl', [*rows, asked('', [1, 0])])
    other = write(tmp_path / 'other.csv', [{'id': 'a', 'correct': 'x'}, {'id': 'a', 'correct': 1}])
    with pytest.raises(InputError) as error:
        read_samples([one, other])
    found = str(error.value).splitlines()
    places = [*(f'{one}:{number}' for number in range(2, 7)), f'{other}:1']
    assert [line.split(': ')[0] for line in found[:-1]] == places
    assert "'maybe' is no verdict; expected true or false" in found[0]
    assert 'is no JSON' in found[1]
    assert 'holds a int; expected an object' in found[2]
    assert 'not as quiz writes it' in found[3]
    assert found[-1] == 'mend the rows, or leave them out: --drop-bad'
    runs = read_samples([one, other], options=Options(drop_bad=True))
    assert [verdicts(run) for run in runs] == [{'a': '10'}, {'a': '1'}]
    assert runs[0].remarks[0].startswith(f'5 bad rows are left out, the first: {one}:2: ')
    path = write(tmp_path / 't.csv', [{'id': 'a', 'correct': 'x'}] * 1000)
    with pytest.raises(InputError, match=r'(?s)no row is left.*… and 950 more'):
        run_of(path, drop_bad=True)


DOUBLED: dict[str, list[dict[str, Any]]] = {
    'ids': [{'uid': f'q{place}', 'correct': '1011'} for place in range(3)],
    'no ids, responses': [
        {'question': f'{place}?', 'answer': '2', 'responses': ['2', f'{place}']} for place in range(3)
    ],
    'a row a sample': [
        {'question': f'{place // 2}?', 'answer': '2', 'response': f'{place}', 'correct': 1}
        for place in range(6)
    ],
}


@pytest.mark.parametrize('what', DOUBLED)
def test_a_file_that_holds_everything_twice_is_refused(what, tmp_path):
    rows = DOUBLED[what]
    run_of(lines(tmp_path / 't.jsonl', rows))
    with pytest.raises(InputError, match='twice'):
        run_of(lines(tmp_path / 't.jsonl', rows * 2))


# ---- options ---------------------------------------------------------------------------------------------


def two_models(path: Path, column: str) -> Path:
    rows = [
        {'id': uid, 'epoch': place, column: model, 'other': 'x', 'correct': model == 'big'}
        for uid in 'abc'
        for model in ('big', 'small')
        for place in range(2)
    ]
    return write(path, rows)


def test_models_in_one_table_are_a_run_each(tmp_path):
    """By a column that is called model, or one that is named; without it, the column is pointed at."""
    runs = read_samples([two_models(tmp_path / 't.csv', 'model')])
    assert {run.name: verdicts(run)['a'] for run in runs} == {'big': '11', 'small': '00'}
    path = two_models(tmp_path / 't.csv', 'checkpoint')
    hint = 'where one of checkpoint, other names models: --field model=checkpoint'
    with pytest.raises(InputError, match=hint):
        run_of(path)
    runs = read_samples([path], options=Options({'model': 'checkpoint'}))
    assert [run.name for run in runs] == ['big', 'small']


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (Options(fields={'correct': 'nowhere'}), '--field correct=nowhere finds nothing in '),
        (Options(fields={'colour': 'said'}), "'colour' is no field; expected one of uid, problem"),
        (
            Options(fields={'correct': 'name'}),
            '--field correct=name gives .a. for 2 samples; expected a list',
        ),
        (Options(correct_from=0.5), '--correct-from 0.5 changes nothing: no verdict is a number'),
        (Options(kind='counts'), 'holds responses and labels, and no counts; leave out --judge none'),
    ],
    ids=['field', 'no field', 'one of n', 'correct-from', 'kind'],
)
def test_an_option_that_changes_nothing_is_an_error(options, message, tmp_path):
    """In every format; one value is never that of all samples."""
    path = lines(tmp_path / 'x.jsonl', [asked('a', [True, False])])
    with pytest.raises(InputError, match=message):
        read_samples([path], options=options)
    path = write(tmp_path / 't.csv', [{'id': 'a', 'correct': 1}])
    with pytest.raises(InputError, match="there is no column 'x'; there is id, correct"):
        run_of(path, fields={'uid': 'x'})
