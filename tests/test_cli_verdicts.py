"""`gpassk verdicts` on real stores."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from judge_server import PROMPTS, JudgeServer, fair
from judging_run import pairs_of

from gpassk_opencompass import Verdict
from gpassk_opencompass.agreement.comparisons import read_labelled
from gpassk_opencompass.cli import main
from gpassk_opencompass.judges.llm import LLMJudge
from gpassk_opencompass.judges.store import STORE_VARIABLE, Line, VerdictStore, read_lines, verdict_key

YES, NO = Verdict.CORRECT, Verdict.INCORRECT
JUDGE = {'model': 'Qwen2.5-72B', 'prompts': 'own:0123', 'sampling': {'temperature': 0.0, 'max_tokens': 8192}}
OTHER = {**JUDGE, 'model': 'LiveMath-Judge'}
STEERING = '\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\x7f\r\n二'


@pytest.fixture(autouse=True)
def no_store_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may have one."""
    monkeypatch.delenv(STORE_VARIABLE, raising=False)


def fill(folder: Path, *verdicts: tuple[int, Verdict, dict[str, Any]]) -> Path:
    """A store with verdicts on the sums of a number and 1."""
    store = VerdictStore(folder)
    for number, verdict, about in verdicts:
        content = {
            'question': f'What is {number} + 1?',
            'reference': str(number + 1),
            'answer': str(number),
            'language': 'en',
            'reply': '\\boxed{no}',
            'judge': JUDGE,
            'time': '2026-01-01T00:00:00Z',
            **about,
        }
        store.put(verdict_key(content['judge'], str(number)), verdict, content)
    store.close()
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two judges, two languages."""
    return fill(
        tmp_path / 'store',
        (1, YES, {}),
        (2, NO, {}),
        (3, NO, {'language': 'cn'}),
        (4, YES, {'judge': OTHER, 'reply': 'Hence \\boxed{yes}'}),
    )


def output(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> list[str]:
    assert main(['verdicts', *map(str, arguments)]) == 0
    return capsys.readouterr().out.splitlines()


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip('|').split('|')]


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    assert main(['verdicts', *map(str, arguments)]) == 2
    printed, said = capsys.readouterr()
    assert printed == ''
    return said


def test_count_has_a_row_a_judge_and_language(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And the two verdicts as columns."""
    header, _, *rows, blank, summary = output(capsys, 'count', store)
    assert cells(header) == ['model', 'prompts', 'sampling', 'language', 'correct', 'incorrect']
    sampling = 'temperature=0.0, max_tokens=8192'
    assert [cells(row) for row in rows] == [
        ['LiveMath-Judge', 'own:0123', sampling, 'en', '1', '0'],
        ['Qwen2.5-72B', 'own:0123', sampling, 'cn', '0', '1'],
        ['Qwen2.5-72B', 'own:0123', sampling, 'en', '1', '1'],
    ]
    assert blank == ''
    assert summary == '4 verdicts, 0 repeated, 0 contradictions, 0 damaged lines; 1 files, 1 stores'


def test_counts_are_json_too(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One object; the sum goes to standard error."""
    assert main(['verdicts', 'count', str(store), '--json']) == 0
    printed, said = capsys.readouterr()
    [table] = json.loads(printed)['tables']
    assert [(row['model'], row['correct'], row['incorrect']) for row in table['rows']] == [
        ('LiveMath-Judge', 1, 0),
        ('Qwen2.5-72B', 0, 1),
        ('Qwen2.5-72B', 1, 1),
    ]
    assert '4 verdicts' in said


def test_count_tells_repeated_keys_damaged_lines_and_contradictions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A contradiction is listed once, with the verdict that counts: the first."""
    store = fill(tmp_path, (1, YES, {}), (1, NO, {}), (1, NO, {}), (2, NO, {}), (2, NO, {}))
    (tmp_path / 'z.jsonl').write_bytes(b'{"foreign": 1}\n\n{"key": "torn')
    *rows, said = output(capsys, 'count', store)
    assert rows[-1] == '2 verdicts, 3 repeated, 1 contradictions, 2 damaged lines; 2 files, 1 stores'
    key = verdict_key(JUDGE, '1')
    assert said == f'{key}  both verdicts, correct counts  1  (reference: 2)  What is 1 + 1?'
    assert [cells(row)[-2:] for row in rows[2:-2]] == [['1', '1']]


def test_stores_are_found_below_a_work_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """However deep, each once, also beside other folders and files with lines."""
    fill(tmp_path / 'work' / '20260101_000000' / 'verdicts', (1, YES, {}))
    fill(tmp_path / 'work' / '20260102_000000' / 'verdicts', (2, YES, {}))
    predictions = tmp_path / 'work' / '20260102_000000' / 'predictions'
    predictions.mkdir()
    (predictions / 'tmp_a.jsonl').write_text('{}\n')
    place = tmp_path / 'work'
    *_, summary = output(capsys, 'count', place, place / '20260101_000000' / 'verdicts')
    assert summary == '2 verdicts, 0 repeated, 0 contradictions, 0 damaged lines; 2 files, 2 stores'


def test_the_environment_names_the_default_store(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for the judge itself."""
    monkeypatch.setenv(STORE_VARIABLE, str(store))
    assert len(output(capsys, 'list')) == 4


@pytest.mark.parametrize(
    ('arguments', 'said'),
    [
        ([], 'GPASSK_VERDICTS'),
        (['nowhere'], 'is no folder'),
        (['.'], 'holds no verdicts'),
    ],
)
def test_a_place_without_verdicts_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    """With what is expected there."""
    monkeypatch.chdir(tmp_path)
    assert said in refused(capsys, 'count', *arguments)


def test_a_file_of_labelled_pairs_is_no_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its lines are no verdicts of a judge, so there is nothing to count."""
    pair = {'question': 'q', 'reference': '1', 'answer': '1', 'label': 'correct'}
    (tmp_path / 'pairs.jsonl').write_text(json.dumps(pair) + '\n')
    assert 'store=…' in refused(capsys, 'count', tmp_path)


def test_list_is_one_line_a_verdict(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Key, verdict, language, judge, answer, reference, question."""
    lines = output(capsys, 'list', store)
    key = verdict_key(JUDGE, '3')[:8]
    assert lines[2] == f'{key}  incorrect  cn  Qwen2.5-72B  3  (reference: 4)  What is 3 + 1?'
    assert len(lines) == 4


@pytest.mark.parametrize(
    ('filters', 'answers'),
    [
        (['--verdict', 'correct'], ['1', '4']),
        (['--language', 'cn'], ['3']),
        (['--judge', 'livemath'], ['4']),
        (['--judge', 'own:01'], ['1', '2', '3', '4']),
        (['--search', 'IS 2 +'], ['2']),
        (['--search', 'hence'], ['4']),
        (['--search', verdict_key(JUDGE, '3')[:8]], ['3']),
        (['--limit', '2'], ['1', '2']),
        (['--verdict', 'incorrect', '--language', 'en', '--limit', '9'], ['2']),
    ],
)
def test_filters_choose_lines(
    store: Path, capsys: pytest.CaptureFixture[str], filters: list[str], answers: list[str]
) -> None:
    """The same for list and export, and all of them must hold."""
    listed = output(capsys, 'list', store, *filters)
    assert [line.partition('  (reference')[0].split()[-1] for line in listed] == answers
    exported = output(capsys, 'export', store, *filters)
    assert [json.loads(line)['answer'] for line in exported] == answers


def test_nothing_found_is_said_apart_from_the_lines(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So that a pipe stays empty."""
    assert main(['verdicts', 'list', str(store), '--search', 'zzz']) == 0
    assert capsys.readouterr() == ('', 'no such verdict\n')


@pytest.mark.parametrize('limit', ['0', '-1', '1.5', '１', 'many'])
def test_a_limit_is_a_positive_integer(store: Path, capsys: pytest.CaptureFixture[str], limit: str) -> None:
    """Anything else is refused before a store is read."""
    with pytest.raises(SystemExit) as end:
        main(['verdicts', 'list', str(store), f'--limit={limit}'])
    assert end.value.code == 2
    assert 'expected an integer of at least 1' in capsys.readouterr().err


@pytest.mark.parametrize('action', ['list', 'count', 'export', 'export --format=csv'])
def test_what_a_model_wrote_cannot_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], action: str
) -> None:
    """Neither its answer nor a question, a name or a reply."""
    about = {name: STEERING for name in ('question', 'reference', 'answer', 'language', 'reply', 'time')}
    about |= {'judge': {'model': STEERING, 'prompts': STEERING, 'sampling': {STEERING: STEERING}}}
    fill(tmp_path, (1, YES, about), (1, NO, about))
    assert main(['verdicts', *action.split(), str(tmp_path)]) == 0
    printed = ''.join(capsys.readouterr())
    assert '二' in printed
    assert {character for character in printed if not character.isprintable()} <= {'\n'}


def test_exported_json_lines_are_what_was_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each key once, with the first verdict; escapes are JSON's, so every character comes back."""
    fill(tmp_path, (1, YES, {'answer': STEERING, 'reply': '\U000e0041'}), (1, NO, {}), (2, NO, {}))
    records = [json.loads(line) for line in output(capsys, 'export', tmp_path)]
    assert records[0] == {
        'question': 'What is 1 + 1?',
        'reference': '2',
        'answer': STEERING,
        'language': 'en',
        'source': 'Qwen2.5-72B',
        'label': 'correct',
        'judge': JUDGE,
        'reply': '\U000e0041',
        'time': '2026-01-01T00:00:00Z',
        'key': verdict_key(JUDGE, '1'),
    }
    assert [record['label'] for record in records] == ['correct', 'incorrect']


def test_an_export_is_read_as_labelled_pairs(tmp_path: Path, store: Path) -> None:
    """`gpassk judge-agreement` takes it as it is."""
    file = tmp_path / 'pairs.jsonl'
    assert main(['verdicts', 'export', str(store), '-o', str(file), '--source', 'old judge']) == 0
    pairs = read_labelled(file)
    assert [(pair.pair.answer, pair.label, pair.pair.language, pair.source) for pair in pairs] == [
        ('1', True, 'en', 'old judge'),
        ('2', False, 'en', 'old judge'),
        ('3', False, 'cn', 'old judge'),
        ('4', True, 'en', 'old judge'),
    ]


@pytest.mark.parametrize(('name', 'options'), [('all.csv', []), ('all.txt', ['--format', 'csv'])])
def test_an_export_to_csv_has_a_header_and_a_row_a_verdict(
    tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str], name: str, options: list[str]
) -> None:
    """Read back by the csv module; what is no text is JSON."""
    fill(store, (5, NO, {'answer': 'a "b",\nc'}))
    assert output(capsys, 'export', store, '-o', tmp_path / name, *options) == [
        f'5 verdicts in {tmp_path / name}'
    ]
    with (tmp_path / name).open(encoding='utf-8', newline='') as file:
        rows = list(csv.DictReader(file))
    assert {row['answer'] for row in rows} == {'1', '2', '3', '4', 'a "b",\nc'}
    assert json.loads(rows[0]['judge']) == JUDGE


def test_a_file_appears_when_it_is_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that cannot be read to its end leaves the old file, and nothing beside it."""
    store = fill(tmp_path / 'store', (1, YES, {}))

    def breaking(file: Path) -> Iterator[Line | None]:
        yield from read_lines(file)
        raise OSError(5, 'Input/output error')

    monkeypatch.setattr('gpassk_opencompass.judges.stored.read_lines', breaking)
    folder = tmp_path / 'out'
    folder.mkdir()
    (folder / 'all.jsonl').write_text('old')
    assert 'cannot read verdicts' in refused(capsys, 'export', store, '-o', folder / 'all.jsonl')
    assert [file.name for file in folder.iterdir()] == ['all.jsonl']
    assert (folder / 'all.jsonl').read_text() == 'old'


@pytest.mark.parametrize(
    ('name', 'said'),
    [
        ('store/all.jsonl', 'would lie in the store'),
        ('all.txt', '--format'),
        ('missing/all.csv', 'cannot write'),
        ('store/' + 'n' * 300 + '/all.csv', 'cannot write'),
        (f'{"n" * 300}.csv', 'cannot write'),
        (f'{__file__}/all.csv', 'cannot write'),
    ],
)
def test_an_export_that_cannot_be_written_is_refused(
    tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    """With what to do instead; the store stays as it is."""
    assert said in refused(capsys, 'export', store, '-o', tmp_path / name)
    assert len(list(store.iterdir())) == 1


def test_a_device_is_written_to_as_it_is(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is not replaced by a file."""
    output(capsys, 'export', store, '-o', '/dev/null', '--format', 'jsonl')
    assert Path('/dev/null').is_char_device()


def test_lines_that_say_little_are_shown_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever wrote them: only key and verdict are sure to be there."""
    store = VerdictStore(tmp_path)
    odd: Sequence[Any] = [{}, {'judge': 'me', 'language': 7, 'answer': ['x']}, {'judge': {'sampling': None}}]
    for number, about in enumerate(odd):
        store.put(verdict_key({}, str(number)), YES, {'note': '', **about})
    store.close()
    assert len(output(capsys, 'list', tmp_path)) == 3
    assert len(output(capsys, 'export', tmp_path)) == 3
    assert len(output(capsys, 'export', tmp_path, '--format', 'csv')) == 4
    assert '3 verdicts' in output(capsys, 'count', tmp_path)[-1]


def test_what_a_judge_stored_is_what_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A judging run, then its store."""
    with JudgeServer(lambda asked: fair(asked.prompt)) as server:
        judge = LLMJudge('served', server.url, prompts=PROMPTS, store=tmp_path, progress=False)
        judge.judge(pairs_of(0, 21))
        judge.close()
    rows = output(capsys, 'count', tmp_path)
    assert cells(rows[2])[0] == 'served (model judge)'  # as the server calls it
    assert cells(rows[2])[3:] == ['en', '11', '10']
    assert cells(rows[2])[1].startswith('plain:')
