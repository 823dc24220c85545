"""Sources of `gpassk score`: other packages' ones, folders of several runs, and what a result keeps."""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import old_work_dir as old
import pytest
from exact import EXACT, Exact
from installed import install
from loguru import logger

from gpassk_opencompass.cli import main
from gpassk_opencompass.results.health import Generation
from gpassk_opencompass.results.read import read
from gpassk_opencompass.results.samples import COLUMNS, write_samples
from gpassk_opencompass.scoring import Samples, score_samples
from gpassk_opencompass.sources.source import SOURCES

PAGE = Path(__file__).resolve().parents[1] / 'docs' / 'extending.md'
MODULE = 'theirs.quiz'


def put_source(folder: Path, package: str, line: str, **files: str) -> None:
    """Install a package that brings a source."""
    install(folder, package, f'[gpassk_opencompass.sources]\n{line}\n', **files)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of the path in which packages are installed; the names of sources are looked up anew."""
    folder = tmp_path / 'packages'
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    vars(SOURCES).pop('_places', None)
    yield folder
    vars(SOURCES).pop('_places', None)
    for name in ('theirs', MODULE):
        sys.modules.pop(name, None)


@pytest.fixture
def quiz(installed: Path, tmp_path: Path) -> Path:
    """The package of the docs, and a folder with two files of its program: 2 of 4 and 3 of 4 are right."""
    section = PAGE.read_text(encoding='utf-8').partition('\n## A source\n')[2].partition('\n## ')[0]
    [code] = re.findall(r'```python\n(.+?)```', section, re.DOTALL)
    put_source(installed, 'theirs', f'quiz = {MODULE}:Quiz', quiz=code)
    logs = tmp_path / 'logs'
    logs.mkdir()
    said = {'algebra': [['2', '3'], ['3', '2']], 'sets': [['2', '2'], ['2', '4']]}
    for benchmark, questions in said.items():
        rows: list[dict[str, Any]] = [{'model': 'theirs-7b', 'temperature': 0.7}]
        rows += [
            {
                'name': f'{benchmark}-{place}',
                'asked': '1 + 1?',
                'answer': '2',
                'said': [f'\\boxed{{{answer}}}' for answer in answers],
                'right': [True, False],
            }
            for place, answers in enumerate(questions)
        ]
        lines = ''.join(json.dumps(row) + '\n' for row in rows)
        (logs / f'{benchmark}.quiz.jsonl').write_text(lines, encoding='utf-8')
    return logs


def test_a_source_of_another_package_is_found_and_scored(quiz: Path, tmp_path: Path) -> None:
    """By name and by detection: one file, judged anew."""
    file, out = quiz / 'algebra.quiz.jsonl', tmp_path / 'out.json'
    records = []
    for options in (['--source', 'quiz'], []):
        assert main(['score', str(file), *options, '--as', 'responses', *EXACT, '-o', str(out)]) == 0
        records.append(json.loads(out.read_text(encoding='utf-8')))
        assert records[-1]['gpassk']['run'].pop('created')
    assert records[0] == records[1]
    assert records[0]['details']['verdicts'] == ['10', '01']
    assert records[0]['gpassk']['counts']['uid'] == ['algebra-0', 'algebra-1']
    assert records[0]['gpassk']['run'] == {
        'model': 'theirs-7b',
        'dataset': 'algebra',
        'host': 'file',
        'settings': {'temperature': 0.7},
    }


def test_a_folder_gives_a_record_a_run(
    quiz: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each with its name in the output and in the file; one of them with --only."""
    assert main(['score', str(quiz), '--as', 'responses', *EXACT, '-o', str(tmp_path / 'records')]) == 0
    out = capsys.readouterr().out
    assert f'{quiz}: theirs-7b/algebra: responses; 2 questions, n = 2, 4 samples, judged by' in out
    found = {path.name: read(path) for path in (tmp_path / 'records').glob('*.json')}
    assert {name: result.counts.tolist() for name, result in found.items()} == {
        'theirs-7b@algebra.gpassk.json': [1, 1],
        'theirs-7b@sets.gpassk.json': [2, 1],
    }
    one = tmp_path / 'one.json'
    assert main(['score', str(quiz), '--as', 'responses', *EXACT, '--only', 'sets', '-o', str(one)]) == 0
    assert read(one).dataset_abbr == 'sets'


def test_verdicts_that_came_along_can_be_taken(quiz: Path, tmp_path: Path) -> None:
    """With --as labels nothing is judged; the final answers are known, so votes can be counted."""
    out = tmp_path / 'out.json'
    options = ['--as', 'labels', '--labelled-by', 'quiz', '--majority', '1', '-o', str(out)]
    assert main(['score', str(quiz / 'algebra.quiz.jsonl'), *options]) == 0
    record = json.loads(out.read_text(encoding='utf-8'))
    assert record['details']['verdicts'] == ['10', '10']
    assert record['details']['answers'] == [['2', '3'], ['3', '2']]
    assert record['gpassk']['judge'] == {'name': 'quiz'}


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (['--as', 'counts'], 'it holds responses and labels, and no counts'),
        (
            ['--as', 'labels', '--only', 'x'],
            "no run has one of --only ['x'] in its name; there are theirs-7b/al",
        ),
        (['--as', 'labels', '-o', 'x.json'], 'several runs would be written to one file'),
        (['--as', 'labels', '--judge', 'rule'], '--judge goes with responses'),
        (['--source', 'result'], 'is a folder; give one result file'),
    ],
    ids=['counts', 'only', 'one file', 'judge', 'other source'],
)
def test_what_a_run_does_not_hold_is_refused(
    quiz: Path,
    options: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In one line, before anything is written."""
    monkeypatch.chdir(quiz)
    assert main(['score', str(quiz), *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count('\n') == 1
    assert not (quiz / 'x.json').exists()


def test_errors_of_a_source_name_file_and_line(quiz: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that it raises, and those of a choice that its questions cannot meet."""
    file = quiz / 'sets.quiz.jsonl'
    assert main(['score', str(file), '--as', 'labels', '--first', '3']) == 2
    assert f'{file}:2: 2 samples, fewer than --first 3' in capsys.readouterr().err
    lines = file.read_text(encoding='utf-8').replace('[true, false]}\n', '[true]}\n')
    file.write_text(lines, encoding='utf-8')
    assert main(['score', str(file), '--as', 'labels']) == 2
    assert f'{file}:2: expected as many "right" as "said"' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('change', 'kind', 'message'),
    [
        ("verdicts=verdicts)", 'labels', "'sets-0' has 3 verdicts and 2 responses"),
        ("tuple(row['said']), verdicts=verdicts)", 'responses', "'sets-0' is a Sampled question in a run of"),
    ],
    ids=['verdicts', 'kind'],
)  # fmt: skip
def test_a_source_that_contradicts_itself_is_refused(
    quiz: Path, installed: Path, change: str, kind: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """No question is dropped, and none is scored by another one's verdicts."""
    module = installed / 'theirs' / 'quiz.py'
    text = module.read_text(encoding='utf-8')
    assert change in text
    if kind == 'labels':
        text = text.replace(change, "verdicts=verdicts + '1')")
    else:
        text = text.replace('yield Responded(about,', 'yield Sampled(about, verdicts, None,')
        text = text.replace(f", row['answer'], {change}", ", row['answer'])").replace(
            'About,', 'About, Sampled,'
        )
    module.write_text(text, encoding='utf-8')
    assert main(['score', str(quiz / 'sets.quiz.jsonl'), '--as', kind]) == 2
    assert message in capsys.readouterr().err


def test_files_that_two_sources_recognise_need_a_choice(
    quiz: Path, installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both are named; with --from the file is scored."""
    put_source(installed, 'riddles', f'riddle = {MODULE}:Quiz')
    file = str(quiz / 'sets.quiz.jsonl')
    assert main(['score', file, '--as', 'labels']) == 2
    assert f'{file} looks like files of quiz and of riddle; say which: --from quiz' in capsys.readouterr().err
    assert main(['score', file, '--as', 'labels', '--from', 'riddle']) == 0


def test_rows_are_read_as_before_beside_another_source(quiz: Path, tmp_path: Path) -> None:
    """A file that no other source recognises, also where rows are packed."""
    file = tmp_path / 'counts.jsonl.gz'
    file.write_bytes(gzip.compress(b'{"n": 2, "c": 1}\n'))
    assert main(['score', str(file)]) == main(['score', str(file), '--source', 'rows']) == 0


def test_a_source_that_cannot_be_imported_is_named(installed: Path, tmp_path: Path) -> None:
    """It is passed over with a warning, and refused where it is asked for; also one that ends the process."""
    put_source(installed, 'broken', 'broken = no_such_package:Source')
    put_source(installed, 'ending', 'ending = ending.source:Source', source='raise SystemExit(0)\n')
    file = tmp_path / 'counts.jsonl'
    file.write_text('{"n": 2, "c": 1}\n')
    told: list[str] = []
    sink = logger.add(told.append, format='{message}')
    assert main(['score', str(file)]) == 0
    logger.remove(sink)
    assert [line.split(' (')[0] for line in told] == [
        "passed over: source 'broken'",
        "passed over: source 'ending'",
    ]
    assert main(['score', str(file), '--source', 'rows']) == 0
    assert main(['score', str(file), '--source', 'ending']) == 2


def test_a_source_that_is_no_class_is_named(
    installed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the entry point leads to is told."""
    put_source(installed, 'number', 'number = number.source:Source', source='Source = 5\n')
    file = tmp_path / 'counts.jsonl'
    file.write_text('{"n": 2, "c": 1}\n')
    assert main(['score', str(file), '--source', 'number']) == 2
    assert "source 'number' (number.source:Source) is 5; expected a class" in capsys.readouterr().err


def test_old_predictions_of_opencompass_are_a_source(tmp_path: Path) -> None:
    """A work directory with two runs: the counts that they were made with, and what the engine told."""
    told = [{'finish_reason': 'length' if row % 4 else 'stop', 'output_tokens': row} for row in range(32)]
    rows = [{**row, 'generation': one} for row, one in zip(old.rows(), told, strict=True)]
    root = old.write(tmp_path / 'work', rows)
    old.write(root, old.rows(), old.dataset(abbr='Other'))
    out = tmp_path / 'records'
    assert main(['score', str(root), *old.EXACT, '-o', str(out)]) == 0
    found = {path.name: read(path) for path in out.glob('*.json')}
    assert sorted(found) == [f'm@{name}.gpassk.json' for name in (old.NAME, 'Other')]
    result = found[f'm@{old.NAME}.gpassk.json']
    assert result.counts.tolist() == old.COUNTS
    assert result.block['k'] == [2, 4]
    assert (result.health.truncated, result.health.output_tokens) == (24, sum(range(32)))


@pytest.fixture
def evaluated(tmp_path: Path) -> Path:
    """The result of an evaluation of 20 questions × 4, of which the engine told all."""
    rows = [(question, replica) for question in range(20) for replica in range(4)]
    samples = Samples(
        uid=[f'u{question}' for question, _ in rows],
        replica=[replica for _, replica in rows],
        question=[f'{question}?' for question, _ in rows],
        reference=['1'] * 80,
        response=[f'\\boxed{{{(question + replica) % 3}}}' for question, replica in rows],
        split=['S'] * 80,
        language=['en'] * 80,
        problem=[f'u{question}' for question, _ in rows],
        generation=[Generation('stop' if replica else 'length', 7, 10 + replica, 0.5) for _, replica in rows],
    )
    record, columns = score_samples(samples, Exact(), n=4, k=[2, 4])
    record['gpassk']['provenance'] = {'created': '2026-01-01T00:00:00+00:00', 'warnings': ['two checkpoints']}
    path = tmp_path / 'work' / 'results' / 'm' / 'd.json'
    write_samples(path, record, columns)
    path.write_text(json.dumps(record), encoding='utf-8')
    return path


def test_a_result_keeps_its_health_when_it_is_scored_again(evaluated: Path, tmp_path: Path) -> None:
    """Another k: tokens, finish reasons, who decided, and what is known of the samples stay."""
    out = tmp_path / 'again.json'
    assert main(['score', str(evaluated), '--k', '3', '-o', str(out)]) == 0
    before, after = read(evaluated), read(out)
    assert after.block['k'] == [3]
    assert after.health == before.health
    assert after.health.truncated == 20
    for name in (
        'finish_reasons',
        'truncated_by',
        'prompt_tokens',
        'seconds',
        'origins',
        'replicas',
        'judge',
    ):
        assert after.block[name] == before.block[name]
    for name in ('judged_by', 'judges'):
        assert after.record['details'][name] == before.record['details'][name]
    assert before.samples is not None
    assert after.samples is not None
    for column in COLUMNS:
        assert after.samples.column(column.name) == before.samples.column(column.name)
    assert after.block['provenance'] == {
        'warnings': ['two checkpoints']
    }  # as old as this file, not the samples


@pytest.mark.parametrize('options', [['--first', '3'], ['--uid', 'uids']], ids=['samples', 'questions'])
def test_a_part_of_a_result_has_not_the_health_of_all(
    evaluated: Path, tmp_path: Path, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of other samples nothing is said."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'uids').write_text('u3\nu5\n')
    assert main(['score', str(evaluated), *options, '--k', '2', '-o', 'part.json']) == 0
    part = read(tmp_path / 'part.json')
    assert (part.health.truncated, part.health.output_tokens) == (None, None)
    assert 'judged_by' not in part.record['details']
    assert part.samples is not None
    assert part.samples.column('output_tokens') is None
    assert not {'origins', 'replicas', 'provenance'} & set(part.block)


COMMANDS = {
    'score': ['score'],
    'judge-agreement': ['judge-agreement', *EXACT],
}


@pytest.mark.parametrize('command', COMMANDS)
def test_a_result_that_is_not_named_as_one_is_opened_once(
    evaluated: Path, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is known by how it begins, and that is read already, but for a look at its first bytes."""
    path = tmp_path / 'any.json'
    path.write_bytes(evaluated.read_bytes())
    record = json.loads(path.read_text())
    record['gpassk']['run'] = {'host': 'file', 'created': '2026-01-01T00:00:00+00:00'}
    path.write_text(json.dumps(record, indent=1))
    opened: Counter[Path] = Counter()
    plain = Path.open

    def counting(self: Path, *given: Any, **more: Any) -> Any:
        opened[self] += given != ('rb',)
        return plain(self, *given, **more)

    monkeypatch.setattr(Path, 'open', counting)
    name, *options = COMMANDS[command]
    arguments = [*options, str(path)] if '--counts' in options else [str(path), *options]
    assert main([name, *arguments]) == 0
    assert opened[path] == 1
