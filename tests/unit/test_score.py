"""`gpassk score`: what it prints and writes, the questions and verdicts that count, and what it refuses."""

import csv
import json
from pathlib import Path

import pytest
from exact import EXACT
from judge_server import PROMPTS, JudgeServer

from gpassk_opencompass.cli import main
from gpassk_opencompass.record import read


def write_rows(path, rows):
    path.parent.mkdir(exist_ok=True)
    path.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    return path


def scored(file, *options):
    return main(['score', str(file), *map(str, options)])


def table(path):
    """The lines of a table that was written with -o."""
    with path.open(encoding='utf-8') as lines:
        return {(row['group'], row['metric']): row for row in csv.DictReader(lines)}


def values(tmp_path, file, *options):
    """Metric → score of all questions, in percent."""
    out = tmp_path / 'table.csv'
    assert scored(file, *options, '-o', out) == 0
    return {metric: float(row['score']) for (group, metric), row in table(out).items() if group == 'total'}


def answered(replies):
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
QUESTION = {'question': '1 + 1?', 'answer': '2'}


@pytest.fixture
def judge(tmp_path, monkeypatch):
    """A judge that says no; what it is not sure of, it is not about z."""
    monkeypatch.chdir(tmp_path)  # where verdicts are kept
    with JudgeServer(lambda asked: 'Hm.' if 'answer=z' in asked.prompt else r'\boxed{no}') as server:
        yield server


def by(server):
    config = {'type': 'llm', 'model': 'm', 'urls': [server.url], 'prompts': PROMPTS, 'progress': False}
    return ['--judge', json.dumps(config)]


# Scores


def test_all_kinds_and_the_result_give_one_score(tmp_path):
    """Responses, their labels, their counts, the record of the first, and that record once more."""
    responses = write_rows(tmp_path / 'responses.jsonl', ROWS)
    verdicts = [[1, 0, 1, 1], '1111', [True, False, False, 'incorrect']]
    labels = write_rows(tmp_path / 'labels.jsonl', [{'correct': row} for row in verdicts])
    counts = write_rows(tmp_path / 'counts.jsonl', [{'n': 4, 'c': c} for c in (3, 4, 1)])
    record, again = tmp_path / 'record.json', tmp_path / 'again.json'
    assert scored(responses, '-o', record) == scored(record, '-o', again) == 0
    found = [values(tmp_path, file) for file in (responses, labels, counts, record, again)]
    assert found[0]['G-Pass@4_1.0'] == pytest.approx(100 / 3)
    assert all(other == pytest.approx(found[0]) for other in found[1:])


def test_questions_with_different_numbers_of_samples_all_count(tmp_path, capsys):
    """Each in the metrics of k up to its own number; it is said."""
    file = write_rows(tmp_path / 'labels.jsonl', [{'correct': '1100'}, {'correct': '11111111'}])
    found = values(tmp_path, file, '--k', '4', '8')
    said = 'questions have from 4 to 8 samples: each counts in the metrics of k up to its own number'
    assert f'{said} (k = 8 leaves out 1 of 2)' in capsys.readouterr().out
    assert (found['accuracy'], found['G-Pass@4_1.0'], found['G-Pass@8_1.0']) == (75, 50, 100)


def test_responses_with_labels_count_by_them_until_a_judge_is_named(tmp_path, capsys):
    """As of any other program; what is said of the labels is not said of a judge's verdicts."""
    texts = ['\\boxed{2}', '\\boxed{3}']
    rows = [{**QUESTION, 'correct': [1, 0.5], 'responses': one} for one in (texts, texts[::-1])]
    file = write_rows(tmp_path / 'rows.jsonl', rows)
    for options, accuracy, partial in (
        ([], 50, True),
        (['--correct-from', '0.5'], 100, False),
        (['--judge', 'rule'], 50, False),
        (['--judge', 'none'], 50, True),
    ):
        assert values(tmp_path, file, '--k', '1', *options)['accuracy'] == accuracy
        said = capsys.readouterr().out
        assert ('partial credit' in said) is partial
        assert ('which count (--judge rule judges anew)' in said) is ('--correct-from' in options or partial)


# Answers and judges


def test_responses_without_final_answers_are_shown_with_what_to_do(tmp_path, capsys):
    rows = [QUESTION | {'uid': f'u{place}', 'responses': ['Well: 2', 'Hm, 3']} for place in range(4)]
    file = write_rows(tmp_path / 'rows.jsonl', rows)
    assert scored(file, *EXACT, '--k', '1') == 0
    said = capsys.readouterr().out
    assert '8 of 8 responses have no final answer' in said
    assert said.count('  … ') == 3
    assert "  … 'Well: 2'" in said
    assert "--answer-pattern 'REGEX'" in said
    pattern = ['--answer-pattern', r'(?:Well:|Hm,) (\d)']
    assert values(tmp_path, file, *EXACT, '--k', '1', *pattern)['accuracy'] == 50
    assert 'no final answer' not in capsys.readouterr().out
    answers = write_rows(tmp_path / 'whole.jsonl', [QUESTION | {'responses': [' 2\n', 'two']}])
    pattern = ['--answer-pattern', r'(?s).+']
    assert values(tmp_path, answers, *EXACT, '--k', '1', *pattern)['accuracy'] == 50


THEIRS = {'12': '1100', '34': '11?0'}
ANEW = {'12': '1110', '34': '1111'}


def write_samples(path, verdicts, said):
    """A line a sample: of each question the verdicts that came along, and whether the text is right."""
    rows = [
        {
            'uid': uid,
            'question': f'What is {uid}?',
            'reference': uid,
            'response': f'Sample {place} of {uid}: \\boxed{{{uid if said[uid][place] == "1" else "none"}}}',
            'correct': {'1': True, '0': False, '?': None}[verdict],
        }
        for uid, symbols in verdicts.items()
        for place, verdict in enumerate(symbols)
    ]
    return write_rows(path, rows)


@pytest.mark.parametrize('options', ['--k 2 4', '--threshold 0.5', '--field response=text'])
def test_a_file_behind_an_option_of_several_values_is_a_file(options, tmp_path):
    row = {'uid': 'a', **QUESTION, 'text': ['\\boxed{2}'] * 4, 'correct': '1110', 'answers': ['2'] * 4}
    file = write_rows(tmp_path / 'x.jsonl', [row])
    assert main(['score', *options.split(), str(file)]) == 0


# Results


# Several runs


def test_several_paths_are_scored_one_after_the_other(tmp_path, capsys):
    one = write_samples(tmp_path / 'one' / 'a.jsonl', THEIRS, ANEW)
    other = write_samples(tmp_path / 'b.jsonl', ANEW, ANEW)
    (tmp_path / 'one' / 'notes.json').write_text('{"mood": "good"}', encoding='utf-8')
    out = tmp_path / 'records'
    assert main(['score', str(one.parent), str(other), '--k', '2', '-o', str(out)]) == 0
    assert f'passed over 1 files: {tmp_path / "one" / "notes.json"}' in capsys.readouterr().err
    found = {path.name: read(path).counts.c for path in out.glob('*.json')}
    assert found == {'a@samples.gpassk.json': [2, 2], 'b@samples.gpassk.json': [3, 4]}
    assert scored(out, '-o', tmp_path / 'x.json') == 2
    assert 'several runs would be written to one file' in capsys.readouterr().err
    assert not (tmp_path / 'x.json').exists()


def test_a_run_that_cannot_be_scored_keeps_no_other_from_it(tmp_path, capsys):
    """It is named, and the exit code says that one is missing; so is a file that cannot be read."""
    write_samples(tmp_path / 'logs' / 'a.jsonl', {'12': '110', '34': '111'}, ANEW)
    write_samples(tmp_path / 'logs' / 'b.jsonl', THEIRS, ANEW)
    recorded = Path(__file__).parents[1] / 'recorded' / 'inspect' / 'older.eval'
    (tmp_path / 'logs' / 'cut.eval').write_bytes(recorded.read_bytes()[:5000])
    assert scored(tmp_path / 'logs', '--k', '4') == 2
    captured = capsys.readouterr()
    assert 'not scored: a/samples: k = 4: expected whole numbers from 1 to n = 3' in captured.err
    assert 'cut.eval' in captured.err
    assert '2 of 3 runs were not scored' in captured.err
    assert captured.out.count('| accuracy') == 1


# What is refused


def test_all_bad_rows_are_listed_and_nothing_is_written(tmp_path, capsys):
    """File, row, what and what is allowed; --drop-bad leaves them out and says how many."""
    rows = [{'uid': place, 'correct': verdict} for place, verdict in enumerate([1, 'maybe', 0, {}, 1])]
    file, out = write_rows(tmp_path / 'rows.jsonl', rows), tmp_path / 'x.gpassk.json'
    assert scored(file, '-o', out) == 2
    said = capsys.readouterr()
    assert said.out == ''
    assert [line for line in said.err.splitlines() if f'{file}:' in line] == [
        line for line in said.err.splitlines() if 'expected' in line
    ]
    assert f'{file}:2: ' in said.err
    assert f'{file}:4: ' in said.err
    assert not out.exists()
    assert scored(file, '--drop-bad', '-o', out) == 0
    assert '2 bad rows are left out' in capsys.readouterr().out
    assert read(out).health.samples == 3


@pytest.mark.parametrize(
    ('content', 'options', 'message'),
    [
        ('{"n": 4, "c": 1}', ['--k', '8'], 'k = 8: expected whole numbers from 1 to n = 4'),
        ('{"correct": [1, 0]}', ['--field', 'uid=a', 'uid=b'], 'a name is there twice; give each once'),
        ('{"n": 4, "c": 1}', ['--judge', 'rule'], 'leave out --judge'),
        ('{"n": 4, "c": 1}', ['-o', 'x.txt'], 'ends in .json'),
        ('{"n": 4, "c": 1}', ['-o', 'x.samples.csv'], 'holds counts alone'),
        ('{"n": 4, "c": 1}', ['--correct-from', '-1'], 'expected a number above 0'),
        ('{"n": 4, "c": 1}', ['-o', 'folder.csv'], 'is a folder: expected a file that ends in'),
    ],
)
def test_what_cannot_be_scored_is_refused(content, options, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'folder.csv').mkdir()
    (tmp_path / 'x.jsonl').write_text(content, encoding='utf-8')
    before = sorted(tmp_path.iterdir())
    assert scored('x.jsonl', *options) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.err.count('\n') == 1
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (['--k', '7'], 'k = 7: expected whole numbers from 1 to n = 4'),
        (['--answer-pattern', 'Final'], "--answer-pattern 'Final' is found in no response; mend it"),
    ],
)
def test_what_cannot_be_scored_asks_no_judge(options, message, tmp_path, judge, capsys):
    """Every refusal that the file and the options tell comes before the first request."""
    write_rows(tmp_path / 'rows.jsonl', ROWS)
    assert scored('rows.jsonl', *by(judge), *options) == 2
    assert judge.asked == []
    assert message in capsys.readouterr().err


def test_nothing_is_written_over_that_is_read(tmp_path, capsys):
    rows = write_samples(tmp_path / 'logs' / 'a.csv', THEIRS, ANEW).rename(tmp_path / 'logs' / 'a.json')
    record = tmp_path / 'records' / 'a@samples.gpassk.json'
    assert scored(rows, '-o', record) == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob('*') if path.is_file()}
    for path, out in ((rows, rows), (rows.parent, rows), (record, record), (record.parent, record.parent)):
        assert scored(path, '-o', out) == 2
        assert 'which is read; give another name' in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.rglob('*') if path.is_file()} == before
