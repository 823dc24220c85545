"""`gpassk score`: files of every kind, what it prints and writes, and what it refuses."""

from __future__ import annotations

import csv
import gzip
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from damaged_records import good_record
from exact import EXACT, Exact
from judge_server import PROMPTS, JudgeServer

from gpassk_opencompass import InputError
from gpassk_opencompass.cli import main, parser_for
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.results.read import collect, read
from gpassk_opencompass.scoring import Samples, score

DATA = Path(__file__).resolve().parents[2] / 'shared' / 'data' / 'samples'
DOCS = Path(__file__).resolve().parents[1] / 'docs' / 'scoring.md'
REFERENCE = {
    4: [95.10, 92.49, 89.44, 86.97, 88.21],
    8: [96.0, 92.0, 89.0, 86.0, 87.75],
}
"""τ → 0, 0.5, 0.75, 1.0 and mG of the stored sample with its own labels, computed elsewhere."""

COUNTS = '{"uid": "a", "n": 4, "c": 3}\n{"uid": "b", "n": 4, "c": 0}\n'


def write(path: Path, rows: Sequence[Any]) -> str:
    path.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    return str(path)


def scored(file: str | Path, *options: str) -> int:
    return main(['score', str(file), *options])


def table(path: Path) -> dict[tuple[str, str], dict[str, str]]:
    """The lines of a table that was written with -o."""
    with path.open(encoding='utf-8') as lines:
        return {(row['group'], row['metric']): row for row in csv.DictReader(lines)}


def values(tmp_path: Path, file: str | Path, *options: str) -> dict[str, float]:
    """Metric → score of all questions, in percent."""
    out = tmp_path / 'table.csv'
    assert scored(file, *options, '-o', str(out)) == 0
    return {metric: float(row['score']) for (group, metric), row in table(out).items() if group == 'total'}


def answered(replies: dict[str, list[str]]) -> list[dict[str, Any]]:
    """Rows of responses; the reference answer to each question is its first reply."""
    return [
        {
            'uid': f'u{question}', 'question': question, 'answer': answers[0],
            'responses': [rf'So \boxed{{{answer}}}.' for answer in answers], 'split': 'AMC',
            'language': 'en',
        }
        for question, answers in replies.items()
    ]  # fmt: skip


ROWS = answered({'1 + 1?': ['2', '3', '2', '2'], '2 + 2?': ['4', '4', '4', '4'], 'x?': ['y', 'z', 'w', 'v']})


@pytest.mark.slow
def test_all_three_kinds_and_the_result_give_one_score(tmp_path: Path) -> None:
    """Responses, their labels, their counts, the record of the first, and that record once more."""
    responses = write(tmp_path / 'responses.jsonl', ROWS)
    verdicts = [[1, 0, 1, 1], '1111', [True, False, False, 'incorrect']]
    labels = write(tmp_path / 'labels.jsonl', [{'correct': row} for row in verdicts])
    counts = write(tmp_path / 'counts.jsonl', [{'n': 4, 'c': c} for c in (3, 4, 1)])
    record, again = tmp_path / 'record.json', tmp_path / 'again.json'
    assert scored(responses, '-o', str(record)) == scored(record, '-o', str(again)) == 0
    found = [values(tmp_path, file) for file in (responses, labels, counts, record, again)]
    assert found[0]['G-Pass@4_1.0'] == pytest.approx(100 / 3)
    assert all(other == pytest.approx(found[0]) for other in found[1:])


def test_responses_give_the_record_of_an_evaluation(tmp_path: Path) -> None:
    """The same entries as `score` writes with a judge that decides alike."""
    record = tmp_path / 'x.gpassk.json'
    assert scored(write(tmp_path / 'rows.jsonl', ROWS), *EXACT, '--k', '2', '4', '-o', str(record)) == 0
    found = json.loads(record.read_text(encoding='utf-8'))
    samples = Samples(
        uid=[row['uid'] for row in ROWS for _ in range(4)],
        replica=[0, 1, 2, 3] * 3,
        question=[row['question'] for row in ROWS for _ in range(4)],
        reference=[row['answer'] for row in ROWS for _ in range(4)],
        response=[response for row in ROWS for response in row['responses']],
        split=['AMC'] * 12,
        language=['en'] * 12,
        problem=[row['uid'] for row in ROWS for _ in range(4)],
    )
    expected = score(samples, Exact(), n=4, k=[2, 4], thresholds=[0.5, 0.75, 1.0])
    block, wanted = found.pop('gpassk'), expected.pop('gpassk')
    assert found == expected
    assert {name for name in wanted if block[name] != wanted[name]} == set()
    assert datetime.fromisoformat(block['run'].pop('created')).tzinfo is not None
    assert block['run'] == {'model': 'rows', 'dataset': 'samples', 'host': 'file'}


def test_each_sample_names_the_line_of_its_response(tmp_path: Path) -> None:
    """As seen from the result, so that both can be moved together; blank lines count."""
    file = tmp_path / 'data' / 'rows.jsonl'
    file.parent.mkdir()
    file.write_text('\n'.join(json.dumps(row) for row in ROWS).replace('\n', '\n\n'), encoding='utf-8')
    out = tmp_path / 'out' / 'x.gpassk.json'
    assert scored(file, *EXACT, '--k', '2', '-o', str(out)) == 0
    samples = read(out).samples
    assert samples is not None
    named = zip(samples.column('file') or (), samples.column('row') or (), strict=True)
    assert [[file, row] for file, row in named] == [
        ['../data/rows.jsonl', line] for line in (1, 3, 5) for _ in range(4)
    ]


def test_a_result_that_cannot_be_written_leaves_the_earlier_one_with_its_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sample file takes its place after the JSON; nothing is left behind."""
    file, out = write(tmp_path / 'rows.jsonl', ROWS), tmp_path / 'out' / 'x.json'
    assert scored(file, *EXACT, '--k', '2', '-o', str(out)) == 0
    before = {path.name: path.read_bytes() for path in out.parent.iterdir()}

    def full(*_: Any, **__: Any) -> None:
        raise InputError('cannot write: No space left on device')

    with monkeypatch.context() as patched:
        patched.setattr('gpassk_opencompass.cli.files.write_file', full)
        assert scored(file, *EXACT, '--k', '2', '--first', '3', '-o', str(out)) == 2
    assert {path.name: path.read_bytes() for path in out.parent.iterdir()} == before
    assert read(out).samples is not None


def test_a_result_without_samples_keeps_none_of_an_earlier_one(tmp_path: Path) -> None:
    """Who opens the sample file alone would take it for the new result's."""
    out = tmp_path / 'out' / 'x.json'
    assert scored(write(tmp_path / 'rows.jsonl', ROWS), *EXACT, '--k', '2', '-o', str(out)) == 0
    assert [path.name for path in sorted(out.parent.iterdir())] == ['x.json', 'x.samples.parquet']
    assert scored(write(tmp_path / 'counts.jsonl', [{'n': 4, 'c': 2}]), '--k', '2', '-o', str(out)) == 0
    assert [path.name for path in out.parent.iterdir()] == ['x.json']


@pytest.mark.parametrize('kind', ['counts', 'labels', 'responses'])
def test_a_report_reads_what_was_written(kind: str, tmp_path: Path) -> None:
    """Also where there are only counts."""
    rows: dict[str, list[dict[str, Any]]] = {
        'counts': [{'uid': str(place), 'n': 4, 'c': place % 5, 'problem': place // 2} for place in range(6)],
        'labels': [{'uid': str(place), 'correct': [1, 0, None, 1]} for place in range(6)],
        'responses': ROWS,
    }
    out = tmp_path / 'folder' / 'x.gpassk.json'
    file = write(tmp_path / 'rows.jsonl', rows[kind])
    judge = EXACT if kind == 'responses' else []
    assert scored(file, *judge, '-o', str(out), '--name', 'mine', '--dataset', 'set') == 0
    found = collect([], files=[out])
    [result] = found.results
    assert (result.model, result.benchmark, result.n) == ('mine', 'set', 4)
    assert result.interval(Metric.parse('G-Pass@2_1.0')).problems == (3 if kind != 'labels' else 6)


def test_a_result_gives_any_k_and_its_record_again(tmp_path: Path) -> None:
    """The same settings give the same numbers, counts and hash of the data; another k is there too."""
    record, again = tmp_path / 'one.json', tmp_path / 'two.json'
    file = write(tmp_path / 'rows.jsonl', ROWS)
    assert scored(file, *EXACT, '--k', '4', '-o', str(record)) == scored(record, '-o', str(again)) == 0
    first, second = (json.loads(path.read_text(encoding='utf-8')) for path in (record, again))
    for metric in first.keys() - {'gpassk', 'details'}:
        assert first[metric] == second[metric]
    assert first.keys() == second.keys()
    for name in ('counts', 'data', 'n', 'k', 'bounds', 'signature'):
        assert first['gpassk'][name] == second['gpassk'][name]
    for name in ('answers', 'verdicts'):
        assert first['details'][name] == second['details'][name]
    assert values(tmp_path, record, '--k', '3')['G-Pass@3_1.0'] == pytest.approx(100 * (1 / 4 + 1 + 0) / 3)


def test_a_rescored_result_keeps_its_names(tmp_path: Path) -> None:
    """Those of its folders, those that it holds, or those that are given."""
    file = tmp_path / 'results' / 'model_t1-0' / 'set-k2-r2.json'
    first, second = tmp_path / 'first.json', tmp_path / 'second.json'
    labels = write(tmp_path / 'labels.jsonl', [{'correct': [1, 0]}])
    assert scored(labels, '-o', str(file)) == 0
    record = json.loads(file.read_text(encoding='utf-8'))
    assert record['gpassk'].pop('run')['model'] == 'labels'
    file.write_text(json.dumps(record), encoding='utf-8')
    assert scored(file, '-o', str(first)) == scored(first, '--dataset', 'x', '-o', str(second)) == 0
    runs = [json.loads(path.read_text(encoding='utf-8'))['gpassk']['run'] for path in (first, second)]
    assert runs[0].pop('created') < runs[1].pop('created')
    assert runs[0] == {'model': 'model_t1-0', 'dataset': 'set-k2-r2', 'host': 'file'}
    assert runs[1] == {'model': 'model_t1-0', 'dataset': 'x', 'host': 'file'}


def test_questions_that_have_only_numbers_are_not_those_of_another_data_set(tmp_path: Path) -> None:
    """Lines and indices are the same in every file: in a record the data set stands before them."""
    blocks = []
    for dataset, rows in (('A', [{'n': 4, 'c': 1}]), ('B', [{'idx': 1, 'n': 4, 'c': 1}])):
        file = tmp_path / f'{dataset}.gpassk.json'
        source = write(tmp_path / f'{dataset}.jsonl', rows)
        assert scored(source, '--dataset', dataset, '-o', str(file)) == 0
        blocks.append(json.loads(file.read_text(encoding='utf-8'))['gpassk'])
    assert [block['counts']['uid'] for block in blocks] == [['A/1'], ['B/1']]
    assert [block['counts']['problem'] for block in blocks] == [['A/1'], ['B/1']]
    assert blocks[0]['data']['sha256'] != blocks[1]['data']['sha256']


def test_the_first_samples_are_taken_in_order(tmp_path: Path) -> None:
    """Of labels, of responses before they are judged, and of a result."""
    labels = write(tmp_path / 'labels.jsonl', [{'correct': [1, 1, 0, 0, 0]}, {'correct': [0, 1, 1, 1]}])
    assert values(tmp_path, labels, '--first', '2')['accuracy'] == 75
    file, record = write(tmp_path / 'rows.jsonl', ROWS), tmp_path / 'record.json'
    assert scored(file, *EXACT, '--first', '2', '-o', str(record)) == 0
    assert json.loads(record.read_text(encoding='utf-8'))['gpassk']['samples'] == 6
    assert values(tmp_path, record, '--first', '1')['accuracy'] == 100


def test_questions_with_different_n_need_a_decision(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message says which n there are and where, and what to give; what it says works."""
    file = write(tmp_path / 'counts.jsonl', [{'n': 8, 'c': 4}] * 3 + [{'n': 6, 'c': 3}])
    assert scored(file) == 2
    error = capsys.readouterr().err
    assert '1 of 4 have n = 6, the first in row 4. Give --n 6' in error
    assert values(tmp_path, file, '--n', '6')['accuracy'] == 50


def test_an_llm_judges_each_answer_once_and_may_leave_some_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """12 responses hold 7 answers, 3 of them the reference itself; one is asked for in vain."""
    monkeypatch.chdir(tmp_path)  # where verdicts are kept
    with JudgeServer(lambda asked: 'Hm.' if 'answer=z' in asked.prompt else r'\boxed{no}') as server:
        config = {'type': 'llm', 'model': 'm', 'urls': [server.url], 'prompts': PROMPTS, 'progress': False}
        out = tmp_path / 'record.json'
        rows = write(tmp_path / 'rows.jsonl', ROWS)
        assert scored(rows, '--judge', json.dumps(config), '-o', str(out)) == 0
    assert {asked.prompt for asked in server.asked if 'answer=z' not in asked.prompt} == {
        'question=1 + 1? reference=2 answer=3 .',
        'question=x? reference=y answer=w .',
        'question=x? reference=y answer=v .',
    }
    record = json.loads(out.read_text(encoding='utf-8'))
    assert record['gpassk']['judge']['model'] == 'm'
    assert record['details']['verdicts'] == ['1011', '1111', '1?00']
    assert record['gpassk']['bounds']['accuracy'] == pytest.approx([100 * 8 / 12, 100 * 9 / 12])
    assert values(tmp_path, out, '--unjudged', 'leave-out', '--k', '2')['accuracy'] == pytest.approx(
        100 * (3 / 4 + 1 + 1 / 3) / 3
    )


def test_a_part_of_the_questions_can_be_chosen(tmp_path: Path) -> None:
    """By split, language and uid."""
    rows = [
        {'uid': f'{split}{language}', 'split': split, 'language': language, 'n': 4, 'c': c}
        for c, (split, language) in enumerate([('A', 'en'), ('A', 'cn'), ('B', 'en'), ('B', 'cn')])
    ]
    file = write(tmp_path / 'counts.jsonl', rows)
    (tmp_path / 'uids').write_text('Aen\n\nBcn\r\n')
    assert values(tmp_path, file, '--split', 'A')['accuracy'] == 12.5
    assert values(tmp_path, file, '--language', 'cn')['accuracy'] == 50
    assert values(tmp_path, file, '--split', 'B', '--language', 'cn')['accuracy'] == 75
    assert values(tmp_path, file, '--uid', str(tmp_path / 'uids'))['accuracy'] == 37.5
    assert scored(file, '-o', str(tmp_path / 'table.csv')) == 0
    assert float(table(tmp_path / 'table.csv')['B_en', 'accuracy']['score']) == 50


@pytest.mark.parametrize(
    'content',
    [
        COUNTS.encode(),
        COUNTS.replace('\n', '\r\n').encode(),
        b'\xef\xbb\xbf' + COUNTS.encode(),
        b'\n' + COUNTS.replace('\n', '\n\n').encode(),
        COUNTS.rstrip().encode(),
        json.dumps([json.loads(line) for line in COUNTS.splitlines()]).encode(),
        json.dumps([json.loads(line) for line in COUNTS.splitlines()], indent=2).encode(),
        COUNTS.replace('"n"', '"num_samples"').replace('"c"', '"num_correct"').encode(),
    ],
    ids=['lines', 'CRLF', 'BOM', 'blank lines', 'no end', 'array', 'pretty array', 'synonyms'],
)
def test_a_file_may_be_written_in_many_ways(content: bytes, tmp_path: Path) -> None:
    """The same two questions; packed too."""
    (tmp_path / 'counts.jsonl').write_bytes(content)
    (tmp_path / 'counts.jsonl.gz').write_bytes(gzip.compress(content))
    for name in ('counts.jsonl', 'counts.jsonl.gz'):
        assert values(tmp_path, tmp_path / name)['accuracy'] == 37.5


def test_other_names_can_be_given(tmp_path: Path) -> None:
    """A name that is not known, and one of two that differ."""
    rows = [{'answer': 'x', 'gt': '2', 'problem': '1 + 1?', 'out': ['2', r'\boxed{2}']}]
    file = write(tmp_path / 'rows.jsonl', rows)
    line = [*EXACT, '--field', 'responses=out', 'question=problem', '--field', 'reference=gt']
    assert values(tmp_path, file, *line)['accuracy'] == 50


@pytest.mark.parametrize(
    ('content', 'options', 'message'),
    [
        ('', [], 'is empty'),
        ('[]', [], 'is empty'),
        ('{"n": 4, "c": 5}', [], r'x\.jsonl:1: n = 4, c = 5; expected whole numbers'),
        ('{"n": 4, "c": 1.5}', [], 'c = 1.5; expected'),
        ('{"n": 4, "c": true}', [], 'c = True; expected'),
        ('{"n": 4, "c": NaN}', [], 'c = nan; expected'),
        ('{"n": 4, "c": 2, "unjudged": 3}', [], 'c <= n - unjudged'),
        ('{"n": 4, "c": 1}\n7', [], r'x\.jsonl:2 holds a int'),
        ('{"n": 4, "c": 1}\n{"n"', [], r'x\.jsonl:2 is no JSON'),
        ('{"n": 4, "c": 1', [], r'x\.jsonl:1 is no JSON, and neither is the whole file'),
        ('{"uid": "a"}', [], 'of no known kind: expected responses'),
        ('{"n": 4, "c": 1, "correct": [1]}', [], r'labels \(correct\) and counts \(c\); say'),
        ('{"n": 4, "c": 1}\n{"correct": [1]}', [], r'x\.jsonl:2: it holds labels, where the'),
        ('{"n": 4, "c": 1}', ['--as', 'labels'], 'it holds counts, where it was to hold labels'),
        ('{"uid": [1], "n": 4, "c": 1}', [], r'uid is \[1\]; expected'),
        ('{"uid": 1, "n": 4, "c": 1}\n{"uid": "1", "n": 4, "c": 1}', [], 'rows 1 and 2 have the same uid'),
        ('{"correct": [1, 2]}', [], 'correct holds 2; a label is'),
        ('{"correct": [1, "maybe"]}', [], "correct holds 'maybe'"),
        ('{"correct": true}', [], 'expected a label a sample'),
        ('{"correct": [1, 0], "answers": ["2"]}', [], '2 labels and 1 answers'),
        ('{"correct": [1], "score": [0]}', [], 'both names of the correct, and they differ'),
        ('{"question": "?", "answer": "2", "responses": "2"}', [], 'responses is a str; a row holds'),
        ('{"question": "?", "answer": null, "responses": ["2"]}', [], 'answer is null'),
        ('{"question": "?", "answer": "2", "responses": [{}]}', [], 'responses holds a dict'),
        ('{"question": "?", "responses": ["2"]}', [], 'there is no reference: expected one of answer,'),
        ('{"n": 4, "c": 1}', ['--k', '8'], 'k = 8 is more than the 4 samples'),
        ('{"n": 4, "c": 1}', ['--k', '0'], 'k must be from 1'),
        ('{"n": 4, "c": 1}', ['--threshold', '1.5'], 'a threshold must be from 0 to 1'),
        ('{"n": 4, "c": 1}', ['--first', '2'], 'counts have no order.* --n 2'),
        ('{"correct": [1, 0]}', ['--first', '3'], '2 samples, fewer than --first 3'),
        ('{"n": 4, "c": 1}', ['--split', 'A'], "no question is of split 'A'"),
        ('{"n": 4, "c": 1}', ['--uid', 'nowhere'], 'cannot read nowhere'),
        ('{"n": 4, "c": 1}', ['--majority', '2'], 'need the answers'),
        ('{"n": 4, "c": 1}', ['--judge', 'rule'], '--judge goes with responses'),
        ('{"correct": [null]}', ['--unjudged', 'leave-out'], 'row 1 has no judged sample'),
        ('{"correct": [null]}', ['--unjudged', 'refuse'], '1 of 1 samples are unjudged'),
        ('{"n": 4, "c": 1}', ['-o', 'x.txt'], 'ends in .json'),
        ('{"gpassk": {"n": 4}}', ['-o', '{folder}/x.json'], 'would overwrite'),
        ('{"n": 4, "c": 1}', ['-o', 'x.json', '--n', '2'], 'a record holds whole counts'),
        ('{"n": 4, "c": 1}', ['-o', 'x.json', '--unjudged', 'right'], 'counts unjudged samples as wrong'),
        ('{"n": 4, "c": 1}', ['--field', 'what=c'], "'what' is no field"),
        ('{"gpassk": {"n": 4}}', [], 'has schema None; this version reads 2'),
        ('{"gpassk": {}}', ['--as', 'counts'], 'leave out --as'),
    ],
)  # fmt: skip
def test_what_cannot_be_scored_is_refused_in_one_line(
    content: str, options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and the file, the row and what is expected."""
    file = tmp_path / ('x.json' if '{folder}/x.json' in options else 'x.jsonl')
    file.write_text(content, encoding='utf-8')
    assert scored(file, *(option.format(folder=tmp_path) for option in options)) == 2
    said = capsys.readouterr()
    assert said.out == ''
    assert said.err.count('\n') == 1
    assert len(said.err) < 700 + len(str(tmp_path))
    assert re.search(message, said.err)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder, nothing, no UTF-8, no gzip, half a gzip."""
    packed = gzip.compress(COUNTS.encode() * 50)
    half = packed[: len(packed) // 2]
    for name, content in {'latin.jsonl': b'\xff\n', 'no.gz': b'no', 'half.gz': half}.items():
        (tmp_path / name).write_bytes(content)
    for name, message in {
        '': 'holds no file that one of the sources recognises',
        'nowhere.jsonl': 'is neither a file nor a folder',
        'latin.jsonl': 'UTF-8',
        'no.gz': 'cannot read',
        'half.gz': 'ended before',
    }.items():
        assert scored(tmp_path / name) == 2
        assert message in capsys.readouterr().err


def test_a_damaged_result_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the counts are not those of the verdicts."""
    record = tmp_path / 'record.json'
    assert scored(write(tmp_path / 'rows.jsonl', ROWS), *EXACT, '-o', str(record)) == 0
    found = json.loads(record.read_text(encoding='utf-8'))
    found['gpassk']['counts']['c'][1] = 2
    record.write_text(json.dumps(found), encoding='utf-8')
    assert scored(record) == 2
    assert "of 'u2 + 2?' are '1111', but gpassk.counts.c is 2; evaluate again" in capsys.readouterr().err


@pytest.mark.parametrize(
    ('part', 'value', 'message'),
    [
        ('gpassk.counts.uid.0', 5, 'is damaged: gpassk.counts.uid[0] = 5; expected a text'),
        ('gpassk.counts.uid.0', ['u'], "gpassk.counts.uid[0] = ['u']; expected a text"),
        ('gpassk.counts.problem.0', {'p': 1}, "gpassk.counts.problem[0] = {'p': 1}; expected a text"),
        ('gpassk.counts.group.0', 1.5, 'gpassk.counts.group[0] = 1.5; expected a text'),
        ('gpassk.k.0', None, 'is damaged: gpassk.k[0] = None; expected a whole number'),
        ('details.answers.0', ['1'], "details.answers of 'u0' has 1 samples; expected n = 4"),
        ('details.answers.0', [[]] * 4, 'details.answers[0][0] = []; expected a text'),
        ('details.question.0', ['q'], "details.question[0] = ['q']; expected a text"),
        ('details.reference.0', None, 'details.reference[0] = None; expected a text'),
    ],
)
def test_parts_of_a_result_that_are_no_texts_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], part: str, value: object, message: str
) -> None:
    """With the file and the question."""
    record = good_record()
    *way, last = [int(step) if step.isdigit() else step for step in part.split('.')]
    holder = record
    for step in way:
        holder = holder[step]
    holder[last] = value
    path = tmp_path / 'record.json'
    path.write_text(json.dumps(record), encoding='utf-8')
    assert scored(path, '--majority', '2', '-o', str(tmp_path / 'again.json')) == 2
    said = capsys.readouterr().err
    assert message in said
    assert str(path) in said


def test_where_no_interval_holds_the_reason_stands_below(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And no ± for new questions; in a table that is written, it stands in a column of its own."""
    file = tmp_path / 'table.csv'
    assert scored(write(tmp_path / 'counts.jsonl', [{'n': 4, 'c': 1}] * 1), '-o', str(file)) == 0
    out = capsys.readouterr().out
    assert '| [a] ' in out
    assert '[a] no interval: 1 problems, fewer than 20' in out
    assert table(file)['total', 'accuracy']['no interval'] == '1 problems, fewer than 20'


def test_the_stored_sample_gives_the_published_values(tmp_path: Path) -> None:
    """100 questions × 8 with the labels of their source, against numbers from elsewhere."""
    file = DATA / 'math_cot_100_n8.jsonl'
    if not file.is_file():
        pytest.skip(f'needs {file.name}, which is not part of the project')
    found = values(tmp_path, file, '--as', 'labels', '--threshold', '0', '0.5', '0.75', '1')
    for k, expected in REFERENCE.items():
        names = [*(f'G-Pass@{k}_{tau}' for tau in (0.0, 0.5, 0.75, 1.0)), f'mG-Pass@{k}']
        assert [found[name] for name in names] == pytest.approx(expected, abs=0.005)


def test_the_commands_of_the_docs_can_be_parsed_and_its_rows_scored(tmp_path: Path) -> None:
    """Every line that starts with `gpassk score`, and the three rows at the top."""
    text = DOCS.read_text(encoding='utf-8')
    lines = re.findall(r'^gpassk score (.+?)(?:  #.*)?$', text, re.MULTILINE)
    assert len(lines) >= 8
    for line in lines:
        parser_for('score').parse_args(['score', *shlex.split(line)])
    rows = re.findall(r'^(\{"uid".+\})$', text, re.MULTILINE)
    assert len(rows) == 3
    for number, row in enumerate(rows):
        (tmp_path / f'{number}.jsonl').write_text(row + '\n', encoding='utf-8')
        assert scored(tmp_path / f'{number}.jsonl') == 0


def test_the_conversions_of_the_docs_work(tmp_path: Path) -> None:
    """The one-liner, run by a shell in a folder with the file that it names."""
    (tmp_path / 'rates.json').write_text(json.dumps({'a': [0.125, 0.875], 'b': [1.0, 0.25]}))
    lines = re.findall(r'^(python -c .+)$', DOCS.read_text(encoding='utf-8'), re.MULTILINE)
    assert len(lines) == 1
    for line in lines:
        command = line.replace('python', shlex.quote(sys.executable), 1)
        subprocess.run(['sh', '-c', command], cwd=tmp_path, check=True)
    assert values(tmp_path, tmp_path / 'counts.jsonl')['accuracy'] == pytest.approx(100 * (7 + 2) / 16)
