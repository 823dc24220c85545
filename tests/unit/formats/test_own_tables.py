"""Own tables: a row a sample, a row a question with lists or numbered columns, counts."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from exact import g_pass
from harness_logs import Row, run_of, said, samples_of, verdicts
from hosts import SHARED
from pyarrow import parquet

from gpassk_opencompass.errors import InputError

N, QUESTIONS = 4, 6
NAMES = ['t.csv', 't.tsv', 't.csv.gz', 't.jsonl', 't.json', 't.jsonl.gz', 't.parquet', 't.parquet.gz']
MATH_COT = SHARED / 'data/samples/math_cot_100_n8.jsonl'


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    ending = path.name.removesuffix('.gz').rpartition('.')[2]
    if ending == 'parquet':
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    elif ending == 'jsonl':
        path.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    elif ending == 'json':
        path.write_text(json.dumps(rows, indent=1), encoding='utf-8')
    else:
        file = io.StringIO(newline='')
        table = csv.DictWriter(file, list(rows[0]), delimiter='\t' if ending == 'tsv' else ',')
        table.writeheader()
        table.writerows(
            {key: json.dumps(value) if isinstance(value, list) else value for key, value in row.items()}
            for row in rows
        )
        path.write_bytes(file.getvalue().encode())
    if path.suffix == '.gz':
        path.write_bytes(gzip.compress(path.read_bytes()))
    return path


def table_of(known: Mapping[str, str], kind: str, chance: random.Random) -> list[dict[str, Any]]:
    """Rows of questions and responses of which '1' and '0' tell whether they are right."""
    rows: list[dict[str, Any]] = []
    for uid, symbols in known.items():
        about = {'id': uid, 'question': f'What is {uid} + {uid}?', 'answer': str(2 * int(uid))}
        texts = [
            f'So, "x",\n\\boxed{{{2 * int(uid) - (one == "0")}}} {place}' for place, one in enumerate(symbols)
        ]
        right = [one == '1' for one in symbols]
        if kind == 'samples':
            rows += [
                about | {'Output ': text, 'is_correct': one, 'sample': place + 1, 'output_tokens': 10 + place}
                for place, (text, one) in enumerate(zip(texts, right, strict=True))
            ]
        elif kind == 'lists':
            rows.append(about | {'responses': texts, 'labels': right, 'output_tokens': [10, 11, 12, 13]})
        else:
            wide = {f'response_{place}': text for place, text in enumerate(texts, 1)}
            wide |= {f'correct_{place}': int(one) for place, one in enumerate(right, 1)}
            rows.append(about | wide | {f'output_tokens_{place + 1}': 10 + place for place in range(N)})
    if kind == 'samples':
        chance.shuffle(rows)
    return rows


@pytest.mark.parametrize('kind', ['samples', 'lists', 'wide'])
@pytest.mark.parametrize('name', NAMES)
def test_a_table_has_its_samples_in_every_layout(name, kind, tmp_path):
    """In each format; with response, verdict, tokens and place of each, and G-Pass@k by exact fractions."""
    chance = random.Random(name + kind)
    known = {str(uid): ''.join(chance.choice('011') for _ in range(N)) for uid in range(3, 3 + QUESTIONS)}
    path = write(tmp_path / name, table_of(known, kind, chance))
    run = run_of(path)
    assert verdicts(run) == known
    samples = samples_of(run)
    names = ('uid', 'replica', 'response', 'output_tokens', 'reference')
    for uid, place, text, tokens, reference in zip(*map(samples.__getitem__, names), strict=True):
        right = 2 * int(uid) - (known[uid][place] == '0')
        assert (text, tokens) == (f'So, "x",\n\\boxed{{{right}}} {place}', 10 + place)
        assert reference == str(2 * int(uid))
    assert set(samples['file']) == {str(path)}
    assert max(samples['row']) <= (N if kind == 'samples' else 1) * len(known) * 2 + 2
    counts = samples.counts()
    assert counts.c.tolist() == [known[uid].count('1') for uid in counts.uid]
    assert str(run.judge['name']).startswith('column ')


@pytest.mark.parametrize('name', NAMES)
def test_counts_are_read_as_counts(name, tmp_path):
    """Of unequal size; a question without a problem is its own, whatever others are called."""
    rows: list[Row] = [
        {'uid': f'q{row}', 'n': 8 + row % 2, 'c': row % 9, 'problem': f'p{row // 2}'} for row in range(60)
    ]
    for row in rows[41::3]:
        row['problem'] = None if name != 't.csv' else 'N/A'
    run = run_of(write(tmp_path / name, rows))
    assert run.samples is None
    assert run.counts is not None
    assert run.counts.n.tolist() == [row['n'] for row in rows]
    assert run.counts.c.tolist() == [row['c'] for row in rows]
    own = [row['uid'] if row['problem'] in (None, 'N/A') else row['problem'] for row in rows]
    assert run.counts.problem == own
    assert set(run.counts.group) == {'all'}


@pytest.mark.skipif(not MATH_COT.exists(), reason='the shared data are not on this machine')
def test_samples_that_others_published_give_their_score():
    """100 questions × 8 with a rule grader's verdicts: G-Pass@4_0 is 95.10, as its README says."""
    run = run_of(MATH_COT, fields={'response': 'code', 'reference': 'gt'})
    counts = samples_of(run).counts()
    assert counts.n.tolist() == [8] * 100
    assert g_pass(counts.c.tolist(), 8, 4, 0) == pytest.approx(95.10, abs=0.005)
    assert g_pass(counts.c.tolist(), 8, 8, 1.0) == pytest.approx(86.0)


QUESTION = {'question': '1 + 1?', 'answer': '2'}
SAMPLE = {'uid': 'a', 'question': '?', 'reference': '2', 'response': 'x', 'correct': True, 'state': ''}
PART = [{'uid': f'q{place // 2}', 'response': f'{place}', 'correct': place % 2} for place in range(4)]
WORDS = 'C I N correct Incorrect TRUE false yes no pass fail 1 0.0 ?'
ODD = {
    'output_tokens': -7,
    'prompt_tokens': 'many',
    'reasoning_tokens': 1.5,
    'seconds': 10**400,
    'state': 'x',
}
ONE_OF_ALL = 'is_correct has one verdict a question and none of each sample: it is not taken'
Case = tuple[list[Row], dict[str, str], str, Row]


def case(rows: list[Row], symbols: dict[str, str], remark: str = '', **columns: Any) -> Case:
    return rows, symbols, remark, columns


READ = {
    # what a row is shows in the first; a score of '10' is a number, and a mean or counts may stand beside
    'texts': case([{'correct': '1011'}, {'correct': '0?10'}], {'1': '1011', '2': '0?10'}),
    'no ids': case([{'correct': [True, None]}, {'correct': ['incorrect', 1.0]}], {'1': '1?', '2': '01'}),
    'wide': case(
        [{'id': 'a', 'correct_1': 1, 'correct_2': 0}, {'id': 'b', 'correct_1': 1}], {'a': '10', 'b': '1'},
    ),
    'wide, a reference beside': case(
        [QUESTION | {'response_1': '2', 'response_2': 'x'} | {'answer_1': '2', 'answer_2': '3'}],
        {'1': '--'}, reference=['2', '2'], answer=['2', '3'],
    ),
    'JSON': case([{'id': 'a', 'correct': '[1, 0]'}], {'a': '10'}),
    # parts of a verdict are no samples: the response and its verdict have better names
    'tags': case([row | {'labels': ['algebra', 'easy']} for row in PART], {'q0': '01', 'q1': '01'}),
    # one verdict of all samples is that of none
    'one verdict, wide': case(
        [QUESTION | {'response_1': '2', 'response_2': '3', 'is_correct': True}], {'1': '--'}, ONE_OF_ALL,
    ),
    # of columns that may be one thing or another
    'no verdicts': case(
        [{'id': 'a', 'question': '1 + 1?', 'answer': ['2'], 'output': text} for text in ('2', '\\boxed{3}')],
        {'a': '--'}, reference=['2', '2'], response=['2', '\\boxed{3}'],
    ),
    'two references': case(
        [{'question': '1?', 'gold': '1', 'answer': 'One.', 'responses': ['1', '2'], 'correct': [1, 0]}],
        {'1': '10'}, 'the reference is gold; so may answer be: --field reference=NAME', reference=['1', '1'],
    ),
    'all questions': case(
        [{'id': place, 'problem_id': f'p{place // 2}', 'correct': place % 2} for place in range(4)],
        dict(zip('0123', '0101', strict=True)), 'each row is a question of its own by id',
    ),
    'groups': case(
        [{'uid': n, 'correct': 1, 'split': 'AMC' * (n < 2), 'lang': 'en' * (n % 2)} for n in range(4)],
        dict.fromkeys('0123', '1'), group=['AMC', 'AMC_en', 'all', 'en'],
    ),
    # values
    'words': case([{'uid': 'a', 'verdict': word} for word in WORDS.split()], {'a': '1001010101010?'}),
    'epochs': case([{'uid': 'a', 'correct': n == 7, 'epoch': n} for n in (30, 7, 8)], {'a': '100'}),
    'failed': case(
        [SAMPLE | {'state': 'failed', 'response': ''}, SAMPLE], {'a': '?1'}, response=[None, 'x'],
    ),
    'nonsense': case(
        [{'uid': 'a', 'correct': True, 'finish_reason': 'stop', **ODD}], {'a': '1'},
        finish_reason=['stop'], **dict.fromkeys(ODD),
    ),
}  # fmt: skip


@pytest.mark.parametrize('what', READ)
def test_a_table_is_read_as_it_is_meant(what, tmp_path):
    rows, symbols, remark, columns = READ[what]
    run = run_of(write(tmp_path / 't.jsonl', rows))
    assert verdicts(run) == symbols
    known = {name: samples_of(run)[name] for name in samples_of(run).names}
    assert {name: known.get(name) for name in columns} == columns
    assert (remark in said(run)) if remark else 'not taken' not in said(run)
    if '-' in ''.join(symbols.values()):
        assert run.judge == {}


REFUSED: dict[str, tuple[list[dict[str, Any]], str]] = {
    'verdict': ([{'uid': 'a', 'correct': 'maybe'}], ":1: 'maybe' is no verdict; expected true or false"),
    'no key': ([{'uid': '', 'correct': True}], ':1: nothing tells the question of this row'),
    'twice': ([{'uid': 'a', 'correct': True, 'replica': 0}] * 2, "sample 0 of 'a' is there twice"),
    'replica': ([{'uid': 'a', 'correct': True, 'replica': 'x'}], ":1: replica is 'x'; expected a whole"),
    'reference': (
        [{'uid': 'a', 'correct': True, 'gold': '1'}, {'uid': 'a', 'correct': True, 'gold': '2'}],
        "samples of 'a' have different references, '1' and '2'",
    ),
    'nothing to score': ([{'uid': 'a', 'colour': 'red'}], 'there is no question: expected verdicts, or'),
    'late column': (
        [{'uid': 'a', 'correct': True}, {'uid': 'a', 'correct': False, 'model': 'B'}],
        ":2: has 'model', which the first row does not have",
    ),
    'n of responses': (
        [QUESTION | {'responses': ['2']}, QUESTION | {'responses': ['2', '3']}, QUESTION | {'responses': []}],
        ':3: responses is empty',
    ),
    'n told': ([QUESTION | {'n': 3, 'responses': ['2', '3']}], ':1: n = 3, and there are 2 samples'),
    'labels and responses': (
        [QUESTION | {'responses': ['2', '3'], 'correct': [1]}],
        ':1: 2 responses and 1 correct; expected one of each a sample',
    ),
    'counts': ([{'uid': 'a', 'n': 8, 'c': 9}], ':1: n = 8, c = 9, unjudged = 0; expected whole numbers'),
    'wide': (
        [{'output_0': '', 'output_1': '', 'label_1': 1, 'label_2': 1, 'label_3': 1}],
        '2 output_0 … output_1 and 3 label_1 … label_3',
    ),
    'wide, one verdict': (  # rows without fault are not named
        [{'correct_1': 1, 'correct_2': 1}, {'correct_1': 'x', 'correct_2': 1}],
        "t.jsonl:2: 'x' is no verdict",
    ),
    'two columns of one name': ([], 'two columns have one name'),
    'capitals': ([{'uid': 'a', 'UID': 'b', 'correct': 1}], "'uid' and 'UID' differ in capitals"),
    'list of Python': ([QUESTION | {'responses': "['2']"}], 'responses is no list in JSON'),
    'cells': ([], ':2: has 3 cells and the header 2'),
}  # fmt: skip


@pytest.mark.parametrize('what', REFUSED)
def test_what_cannot_be_scored_is_refused(what, tmp_path):
    rows, message = REFUSED[what]
    path = tmp_path / 't.csv'
    if rows:
        path = write(tmp_path / 't.jsonl', rows)
    else:
        path.write_text('id,id\na,1\n' if 'name' in what else 'id,correct\na,1\nb,1,2\n')
    with pytest.raises(InputError) as error:
        run_of(path)
    assert message in str(error.value)
