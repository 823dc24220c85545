"""`gpassk score --judge both`, several paths at once, and reports of files of other programs."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from gpassk_opencompass.cli import main
from gpassk_opencompass.results.read import read


def write_samples(path: Path, verdicts: dict[str, str], said: dict[str, str]) -> Path:
    """A line a sample: of each question the verdicts that came along, and whether the text is right."""
    rows: list[dict[str, Any]] = [
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
    path.parent.mkdir(exist_ok=True)
    path.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    return path


THEIRS = {'12': '1100', '34': '11?0'}
ANEW = {'12': '1110', '34': '1111'}


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip('|').split('|')]


def test_both_verdicts_stand_beside_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Scores of both, how often they agree, and each sample on which they differ."""
    file = write_samples(tmp_path / 's.jsonl', THEIRS, ANEW)
    out = tmp_path / 'differ.csv'
    assert main(['score', str(file), '--judge', 'both', '--k', '2', '-o', str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    [accuracy] = [cells(line) for line in lines if line.startswith('| accuracy')]
    assert accuracy[1].startswith('50.00')
    assert accuracy[2].startswith('87.50')
    assert accuracy[3] == '+37.50'
    crossed = {
        cells(line)[0]: cells(line)[1:]
        for line in lines
        if line.startswith(('| correct', '| incorr', '| unj'))
    }
    assert crossed == {
        'correct': ['4', '0', '0'],
        'incorrect': ['2', '1', '0'],
        'unjudged': ['1', '0', '0'],
    }
    with out.open(encoding='utf-8', newline='') as table:
        differing = [(row['question'], int(row['sample']), row['rule']) for row in csv.DictReader(table)]
    expected = [
        (uid, place)
        for uid, symbols in THEIRS.items()
        for place, symbol in enumerate(symbols)
        if symbol != ANEW[uid][place]
    ]
    assert differing == [(uid, place, 'correct') for uid, place in expected]


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (['-o', 'x.json'], 'with --judge both: expected a name that ends in .csv'),
        (['--as', 'labels'], 'leave out --as labels'),
    ],
    ids=['record', 'kind'],
)
def test_what_both_cannot_do_is_refused(
    options: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Before anything is judged."""
    monkeypatch.chdir(tmp_path)
    write_samples(tmp_path / 's.jsonl', THEIRS, ANEW)
    assert main(['score', 's.jsonl', '--judge', 'both', '--k', '2', *options]) == 2
    assert message in capsys.readouterr().err


def test_several_paths_are_scored_one_after_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder, a file, and what no source recognises, which is named."""
    one = write_samples(tmp_path / 'one' / 'a.jsonl', THEIRS, ANEW)
    other = write_samples(tmp_path / 'b.jsonl', ANEW, ANEW)
    (tmp_path / 'one' / 'notes.json').write_text('{"mood": "good"}', encoding='utf-8')
    assert main(['score', str(one.parent), str(other), '--k', '2', '-o', str(tmp_path / 'records')]) == 0
    captured = capsys.readouterr()
    assert f'passed over 1 files: {tmp_path / "one" / "notes.json"}' in captured.err
    found = {path.name: read(path).counts.tolist() for path in (tmp_path / 'records').glob('*.json')}
    assert found == {'a@samples.gpassk.json': [2, 2], 'b@samples.gpassk.json': [3, 4]}


def test_a_run_that_cannot_be_scored_keeps_no_other_from_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is named, and the exit code says that one is missing."""
    write_samples(tmp_path / 'logs' / 'a.jsonl', {'12': '110', '34': '1110'}, ANEW)
    write_samples(tmp_path / 'logs' / 'b.jsonl', THEIRS, ANEW)
    assert main(['score', str(tmp_path / 'logs'), '--k', '2']) == 2
    captured = capsys.readouterr()
    assert (
        f'not scored: a/samples: {tmp_path / "logs" / "a.jsonl"}: the questions have different'
        in captured.err
    )
    assert '1 of 2 runs were not scored' in captured.err
    assert '|   50.00 |' in captured.out


def test_a_folder_without_any_such_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the names of the sources."""
    (tmp_path / 'notes.json').write_text('{"mood": "good"}', encoding='utf-8')
    assert main(['score', str(tmp_path)]) == 2
    assert 'holds no file that one of the sources recognises' in capsys.readouterr().err


def test_a_report_takes_files_of_other_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A record of each is written below the report."""
    write_samples(tmp_path / 'logs' / 'a.jsonl', THEIRS, ANEW)
    write_samples(tmp_path / 'logs' / 'b.jsonl', ANEW, ANEW)
    report = tmp_path / 'report'
    assert main(['report', str(tmp_path / 'logs'), '-o', str(report), '--only', 'tables', '--k', '2']) == 0
    out = capsys.readouterr().out
    records = {path.name: read(path).counts.tolist() for path in (report / 'records').glob('*.json')}
    assert records == {'a@samples.gpassk.json': [2, 2], 'b@samples.gpassk.json': [3, 4]}
    [a, b] = [cells(line) for line in out.splitlines() if cells(line)[0] in ('a', 'b') and '[a]' in line]
    assert b[2] > a[2]


def test_verdicts_that_came_along_are_spoken_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also beside those of a judge: whose rules made them what they are."""
    file = write_samples(tmp_path / 's.jsonl', THEIRS, ANEW)
    file.write_text(file.read_text('utf-8').replace('"correct": true', '"correct": 0.5'), encoding='utf-8')
    assert main(['score', str(file), '--judge', 'both', '--k', '2']) == 0
    assert '4 verdicts are partial credit' in capsys.readouterr().out
    assert main(['score', str(file), '--judge', 'rule', '--k', '2']) == 0
    assert 'partial credit' not in capsys.readouterr().out


def test_a_file_that_cannot_be_read_keeps_no_other_from_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is named, and so is a file that was given twice scored once."""
    write_samples(tmp_path / 'logs' / 'a.jsonl', THEIRS, ANEW)
    recorded = Path(__file__).parents[1] / 'recorded' / 'inspect' / 'older.eval'
    (tmp_path / 'logs' / 'cut.eval').write_bytes(recorded.read_bytes()[:5000])
    logs = str(tmp_path / 'logs')
    assert main(['score', logs, logs, '--k', '2']) == 2
    captured = capsys.readouterr()
    assert 'not scored: ' in captured.err
    assert 'cut.eval' in captured.err
    assert captured.out.count('| accuracy') == 1
