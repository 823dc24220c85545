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
from harness_logs import run_of, samples_of, verdicts
from hosts import SHARED
from pyarrow import parquet

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.text import csv_text

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
def test_a_table_has_its_samples_in_every_layout(name: str, kind: str, tmp_path: Path) -> None:
    """In each format; with response, verdict, tokens and place of each, and G-Pass@k by exact fractions."""
    chance = random.Random(name + kind)
    known = {str(uid): ''.join(chance.choice('011') for _ in range(N)) for uid in range(3, 3 + QUESTIONS)}
    path = write(tmp_path / name, table_of(known, kind, chance))
    run = run_of(path)
    assert verdicts(run) == known
    samples = samples_of(run)
    for uid, place, text, tokens, reference in zip(
        *(samples[column] for column in ('uid', 'replica', 'response', 'output_tokens', 'reference')),
        strict=True,
    ):
        right = 2 * int(uid) - (known[uid][place] == '0')
        assert (text, tokens) == (f'So, "x",\n\\boxed{{{right}}} {place}', 10 + place)
        assert reference == str(2 * int(uid))
    assert set(samples['file']) == {str(path)}
    assert max(samples['row']) <= 2 + len(known) * (N if kind == 'samples' else 1) * (
        1 + name.startswith('t.json')
    )
    counts = samples.counts()
    assert counts.c.tolist() == [known[uid].count('1') for uid in counts.uid]
    assert g_pass(counts.c.tolist(), N, 2, 1.0) == g_pass(
        [one.count('1') for one in known.values()], N, 2, 1.0
    )
    assert str(run.judge['name']).startswith('column ')


@pytest.mark.parametrize('name', NAMES)
def test_counts_are_read_as_counts(name: str, tmp_path: Path) -> None:
    """Of unequal size; a question without a problem is its own, whatever others are called."""
    rows = [
        {'uid': f'q{row}', 'n': 8 + row % 2, 'c': row % 9, 'problem': f'p{row // 2}'} for row in range(60)
    ]
    for row in rows[41::3]:
        row['problem'] = None if name != 't.csv' else 'N/A'
    run = run_of(write(tmp_path / name, rows))
    assert run.samples is None
    assert run.counts is not None
    assert run.counts.n.tolist() == [row['n'] for row in rows]
    assert run.counts.c.tolist() == [row['c'] for row in rows]
    assert run.counts.problem == [
        row['uid'] if place >= 41 and (place - 41) % 3 == 0 else row['problem']
        for place, row in enumerate(rows)
    ]
    assert set(run.counts.group) == {'all'}


@pytest.mark.skipif(not MATH_COT.exists(), reason='the shared data are not on this machine')
def test_samples_that_others_published_give_their_score() -> None:
    """100 questions × 8 with a rule grader's verdicts: G-Pass@4_0 is 95.10, as its README says."""
    run = run_of(MATH_COT, fields={'response': 'code', 'reference': 'gt'})
    counts = samples_of(run).counts()
    assert counts.n.tolist() == [8] * 100
    assert g_pass(counts.c.tolist(), 8, 4, 0) == pytest.approx(95.10, abs=0.005)
    assert g_pass(counts.c.tolist(), 8, 8, 1.0) == pytest.approx(86.0)


ROWS_OF_QUESTIONS: list[tuple[list[dict[str, Any]], dict[str, str]]] = [
    ([{'uid': 'a', 'correct': '1011'}, {'uid': 'b', 'correct': '0?10'}], {'a': '1011', 'b': '0?10'}),
    ([{'id': 'a', 'labels': [1, 0], 'acc': 0.5}], {'a': '10'}),
    ([{'correct': [True, None]}, {'correct': ['incorrect', 1.0]}], {'1': '1?', '2': '01'}),
    ([{'correct': [1, 0], 'n': 2, 'c': 1}, {'correct': [1, 1, 1], 'n': 3, 'c': 3}], {'1': '10', '2': '111'}),
    ([{'id': 'a', 'correct_1': 1, 'correct_2': 0}, {'id': 'b', 'correct_1': 1}], {'a': '10', 'b': '1'}),
    ([{'id': 'a', 'correct': '[1, 0]'}], {'a': '10'}),
    ([{'id': 'a', 'score': '10'}, {'id': 'a', 'score': '0'}], {'a': '10'}),
]  # fmt: skip


@pytest.mark.parametrize(
    ('rows', 'expected'),
    ROWS_OF_QUESTIONS,
    ids=['texts', 'mean', 'no ids', 'n and c', 'wide', 'JSON', 'numbers'],
)
def test_what_a_row_is_shows_in_the_first(
    rows: list[dict[str, Any]], expected: dict[str, str], tmp_path: Path
) -> None:
    """A question also where a mean or counts stand beside its samples; '10' of a score is a number."""
    assert verdicts(run_of(write(tmp_path / 't.jsonl', rows))) == expected


PARTS: dict[str, dict[str, Any]] = {
    'columns': {'score_1': 0, 'score_2': 0},
    'list': {'scores': [0.5, 0.2]},
    'tags': {'labels': ['algebra', 'easy']},
    'texts': {'text_1': 'x', 'text_2': 'y'},
}


@pytest.mark.parametrize('what', PARTS)
def test_parts_of_a_verdict_are_no_samples(what: str, tmp_path: Path) -> None:
    rows = [{'uid': f'q{place // 2}', 'response': f'{place}', 'correct': place % 2} for place in range(4)]
    path = write(tmp_path / 't.jsonl', [row | PARTS[what] for row in rows])
    assert verdicts(run_of(path)) == {'q0': '01', 'q1': '01'}


@pytest.mark.parametrize('wide', [False, True])
def test_one_verdict_of_all_samples_is_not_taken_which_is_said(wide: bool, tmp_path: Path) -> None:
    said = {'response_1': '2', 'response_2': '3'} if wide else {'responses': ['2', '3']}
    run = run_of(write(tmp_path / 't.jsonl', [QUESTION | said | {'is_correct': True}]))
    assert 'verdict' not in samples_of(run)
    assert run.remarks[0].startswith('is_correct has one verdict a question and none of each sample')


def test_without_verdicts_there_is_what_a_judge_needs(tmp_path: Path) -> None:
    """A column of final answers beside the reference is no verdict; references in lists of one are read."""
    rows = [
        {'id': 'a', 'question': '1 + 1?', 'answer': ['2'], 'output': text} for text in ('2', '\\boxed{3}')
    ]
    run = run_of(write(tmp_path / 't.jsonl', rows))
    assert 'verdict' not in samples_of(run)
    assert (run.judge, samples_of(run)['reference'], samples_of(run)['response']) == (
        {},
        ['2', '2'],
        ['2', '\\boxed{3}'],
    )


def test_names_of_the_reference_matter_where_it_is_judged_by(tmp_path: Path) -> None:
    """Of two the first one counts, which is said, or the one that is chosen."""
    row = {'question': '1?', 'gold': '1', 'answer': 'One.', 'responses': ['1', '2'], 'correct': [1, 0]}
    path = write(tmp_path / 't.jsonl', [row])
    assert run_of(path).remarks == ('the reference is gold; so may answer be: --field reference=NAME',)
    assert samples_of(run_of(path))['reference'] == ['1'] * 2
    run = run_of(path, fields={'reference': 'answer'})
    assert samples_of(run)['reference'] == ['One.'] * 2


def test_a_verdict_alone_makes_the_answer_the_final_one(tmp_path: Path) -> None:
    """Without responses and another reference, `answer` differs from sample to sample."""
    rows = [{'uid': 'a', 'answer': str(place), 'correct': place == 1} for place in range(2)]
    run = run_of(write(tmp_path / 't.csv', rows))
    assert samples_of(run)['answer'] == ['0', '1']
    assert 'reference' not in samples_of(run)


@pytest.mark.parametrize('ours', [False, True])
def test_texts_of_our_own_csv_are_given_back(ours: bool, tmp_path: Path) -> None:
    """It has an apostrophe before what begins as a formula does; a table of another's has its own."""
    texts = ['=1+1', "'quoted'", '+7']
    rows = [['model', 'dataset', 'uid', 'replica', 'group', 'response', 'verdict', *['other'] * (not ours)]]
    rows += [
        ['m', 'd', 'a', place, 'AMC', text, 'correct', ''][: len(rows[0])] for place, text in enumerate(texts)
    ]
    (path := tmp_path / 't.csv').write_text(csv_text(rows), encoding='utf-8')
    run = run_of(path)
    assert (run.name, samples_of(run)['group']) == ('m/d', ['AMC'] * 3)
    assert samples_of(run)['response'] == (texts if ours else ["'=1+1", "'quoted'", "'+7"])


@pytest.mark.parametrize('header', ['ID,Correct', 'id;correct', ' id , correct '])
def test_spelling_of_the_header_does_not_count(header: str, tmp_path: Path) -> None:
    mark = ';' if ';' in header else ','
    (path := tmp_path / 't.csv').write_text(f'\ufeff{header}\na{mark}1\na{mark}0\n', encoding='utf-8')
    assert verdicts(run_of(path)) == {'a': '10'}


QUESTION = {'question': '1 + 1?', 'answer': '2'}
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
    'no question': ([{'name': 'a', 'correct': True}], 'say which column does: --field uid=NAME'),
    'late column': (
        [{'uid': 'a', 'correct': True}, {'uid': 'a', 'correct': False, 'model': 'B'}],
        ":2: has 'model', which the first row does not have",
    ),
    'late number': (
        [{'correct_1': 1, 'correct_2': 1}, {'correct_1': 1, 'correct_2': 0, 'correct_3': 1}],
        ":2: has 'correct_3', which the first row does not have",
    ),
    'n of responses': (
        [QUESTION | {'responses': ['2']}, QUESTION | {'responses': ['2', '3']}, QUESTION | {'responses': []}],
        ':3: responses is empty',
    ),
    'n told': ([QUESTION | {'n': 3, 'responses': ['2', '3']}], ':1: n = 3, and there are 2 samples'),
    'n told of labels': ([{'num_samples': 1, 'labels': '10'}], ':1: num_samples = 1, and there are 2'),
    'labels and responses': (
        [QUESTION | {'responses': ['2', '3'], 'correct': [1]}],
        ':1: 2 responses and 1 correct; expected one of each a sample',
    ),
    'no list': ([{'labels': [1, 0]}, {'labels': 7}], ':2: labels is 7; expected the list'),
    'counts': ([{'uid': 'a', 'n': 8, 'c': 9}], ':1: n = 8, c = 9, unjudged = 0; expected whole numbers'),
    'counts twice': ([{'uid': 'a', 'n': 8, 'c': 2}] * 2, ":2: sample 0 of 'a' is there twice, first at"),
    'wide': ([{'output_0': '', 'output_1': '', 'label_1': 1, 'label_2': 1, 'label_3': 1}], 'and 3 label_1'),
    'wide with a gap': (
        [{'output_0': '', 'output_1': '', 'correct_1': 1}],
        'correct_1 without all those before it',
    ),
    'two columns of one name': ([], 'two columns have one name'),
    'capitals': ([{'uid': 'a', 'UID': 'b', 'correct': 1}], "'uid' and 'UID' differ in capitals"),
    'list of Python': ([QUESTION | {'responses': "['2']"}], 'responses is no list in JSON'),
    'cells': ([], ':2: has 3 cells and the header 2'),
}  # fmt: skip


@pytest.mark.parametrize('what', REFUSED)
def test_what_cannot_be_scored_is_refused(what: str, tmp_path: Path) -> None:
    rows, message = REFUSED[what]
    path = tmp_path / 't.csv'
    if rows:
        path = write(tmp_path / 't.jsonl', rows)
    else:
        path.write_text('id,id\na,1\n' if 'name' in what else 'id,correct\na,1\nb,1,2\n')
    with pytest.raises(InputError) as error:
        run_of(path)
    assert message in str(error.value)


@pytest.mark.parametrize('name', ['t.csv', 't.csv.gz', 't.jsonl', 't.json', 't.parquet'])
def test_a_table_that_was_cut_is_refused_or_read_as_far_as_it_goes(name: str, tmp_path: Path) -> None:
    """Wherever it was cut: an error, or fewer samples, of which nothing is made up."""
    chance = random.Random(5)
    known = {str(uid): '1011' for uid in range(QUESTIONS)}
    rows = table_of(known, 'samples', chance)
    whole = write(tmp_path / name, rows).read_bytes()
    there = {(row['id'], row['Output ']) for row in rows}
    for _ in range(40):
        (tmp_path / name).write_bytes(whole[: chance.randrange(len(whole))])
        try:
            samples = samples_of(run_of(tmp_path / name))
        except InputError:
            continue
        assert there.issuperset(zip(samples['uid'], samples['response'], strict=True))


def test_rows_that_are_all_questions_are_pointed_out(tmp_path: Path) -> None:
    rows = [{'id': place, 'problem_id': f'p{place // 2}', 'correct': place % 2} for place in range(4)]
    path = write(tmp_path / 't.csv', rows)
    assert 'each row is a question of its own by id' in run_of(path).remarks[0]
    assert verdicts(run_of(path, fields={'uid': 'problem_id'})) == {'p0': '01', 'p1': '01'}


def test_the_column_that_tells_questions_apart_may_be_their_text(tmp_path: Path) -> None:
    """--group-by problem, where no other column has the question."""
    rows = [
        {'problem': f'q{i}', 'response': f'\\boxed{{{i}}}', 'answer': str(i)} for i in (0, 1) for _ in 'ab'
    ]
    run = run_of(write(tmp_path / 'rows.jsonl', rows), fields={'uid': 'problem'})
    for name in ('uid', 'question'):
        assert samples_of(run)[name] == ['q0', 'q0', 'q1', 'q1']
