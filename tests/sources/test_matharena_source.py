"""Files that MathArena's own scripts wrote: a file a problem, and the tables that it uploads."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from harness_scores import changed, check_scores, damaged, read_all, runs_of, scored, verdicts_of

from gpassk_opencompass.cli import main
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.sources.matharena import MathArena
from gpassk_opencompass.sources.source import SOURCES, Place, Responded, Sampled

LOGS = Path(__file__).resolve().parents[1] / 'recorded' / 'matharena'
FOLDER = LOGS / 'outputs' / 'sums' / 'sums_2026' / 'someone' / 'scripted'
PARQUET = LOGS / 'org_sums.parquet'

COUNTS = [4, 3, 2, 1, 0]
"""Right samples of the problems 1 to 5, by construction: those with the least numbers."""
VERDICTS = {'1': '1111', '2': '1110', '3': '1100', '4': '1000', '5': '0000'}


def content_of(path: Path) -> Any:
    """The object in a packed file."""
    with pyarrow.CompressedInputStream(pyarrow.OSFile(str(path)), 'zstd') as file:
        return json.loads(file.read())


def write_packed(path: Path, content: Any) -> None:
    """Write an object as MathArena does."""
    with pyarrow.CompressedOutputStream(pyarrow.OSFile(str(path), 'wb'), 'zstd') as file:
        file.write(json.dumps(content).encode())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the recorded folder of a model."""
    return Path(shutil.copytree(FOLDER, tmp_path / 'outputs' / 'c' / 'm'))


@pytest.mark.parametrize(
    'paths',
    [[FOLDER], [PARQUET], [LOGS / 'sums.jsonl'], sorted(FOLDER.iterdir())],
    ids=['folder', 'parquet', 'lines', 'files'],
)
def test_its_verdicts_are_taken(paths: list[Path], tmp_path: Path) -> None:
    """From all forms in which they are there; the scores are exact."""
    result = scored(tmp_path / 'out.json', *paths, '--only', 'scripted', '--k', '2', '4')
    check_scores(result, COUNTS, 4)
    assert result.judge['name'] == 'MathArena'
    assert result.model_abbr == 'someone/scripted'


def test_samples_keep_thoughts_tokens_and_places() -> None:
    """A thought that was kept apart stands before its response."""
    [run] = runs_of(FOLDER)
    assert (run.model, run.dataset) == ('someone/scripted', 'sums/sums_2026')
    assert run.kinds == ('labels', 'responses')
    for number, question in enumerate(run.questions, 1):
        assert isinstance(question, Responded)
        assert question.about.uid == str(number)
        assert question.question == f'What is {number} + 10?'
        assert question.reference == str(number + 10)
        assert question.verdicts == VERDICTS[str(number)]
        told = [int(one) if one else -1 for one in question.answers]
        assert told == [number + 10 if right == '1' else 99 for right in question.verdicts]
        for replica, text in enumerate(question.responses):
            thought, _, said = text.partition('\n</think>\n\n')
            assert thought == f'Let me see, {number} …'
            assert said.startswith(f'Sample {replica} of problem {number},')
            assert question.places[replica] == (FOLDER / f'{number}.json.zst', replica)
            output = 32000 if (number, replica) == (5, 2) else 100 + 10 * number + replica
            assert question.generations[replica][1:3] == (30, output)
            assert question.generations[replica].seconds is not None
    assert any(remark.startswith('1 samples have a warning') for remark in run.remarks)


def test_a_table_has_a_run_a_model() -> None:
    """Without texts too; what is said of copies stays."""
    for texts in (True, False):
        runs = {run.model: run for run in runs_of(PARQUET, texts=texts)}
        assert set(runs) == {'someone/scripted', 'someone/copies'}
        assert verdicts_of(runs['someone/scripted']) == VERDICTS
        assert verdicts_of(runs['someone/copies']) == {**dict.fromkeys('1234', '1111'), '5': '0000'}
        assert any('copies' in remark for remark in runs['someone/copies'].remarks)


def test_a_table_of_many_row_groups_gives_each_model_its_rows(tmp_path: Path) -> None:
    """Row groups that hold other models are passed over."""
    path = tmp_path / 'many.parquet'
    table = pyarrow.parquet.read_table(PARQUET)
    pyarrow.parquet.write_table(table, path, row_group_size=3)
    for run in runs_of(path):
        questions = list(run.questions)
        assert len(questions) == 5
        for question in questions:
            assert isinstance(question, Responded)
            for place, (_, row) in enumerate(question.places):
                told = table.slice(row - 1, 1).to_pylist()[0]
                assert (told['model_config'], told['idx_answer']) == (run.model, place)
                assert (told['problem_idx'], told['answer']) == (
                    question.about.uid,
                    question.responses[place],
                )


def test_responses_can_be_judged_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the rule, and beside the verdicts of MathArena, with which it agrees."""
    for place in (FOLDER, PARQUET):
        result = scored(
            tmp_path / 'out.json', place, '--only', 'scripted', '--judge', 'rule', '--k', '2', '4'
        )
        check_scores(result, COUNTS, 4)
    assert main(['score', str(FOLDER), '--judge', 'both']) == 0
    assert 'samples on which they differ' not in capsys.readouterr().out


def test_the_folder_above_gives_all_models() -> None:
    """One run each."""
    assert [run.model for run in runs_of(LOGS / 'outputs')] == ['someone/copies', 'someone/scripted']


def test_plain_json_is_read_too(folder: Path, tmp_path: Path) -> None:
    """As older versions of MathArena wrote it; the number of a problem is in the name, else in the file."""
    for path in list(folder.iterdir()):
        (folder / path.name.removesuffix('.zst')).write_text(json.dumps(content_of(path)))
        path.unlink()
    [run] = runs_of(folder)
    assert (run.model, run.dataset) == ('m', 'c')
    assert verdicts_of(run) == VERDICTS
    shutil.copy(folder / '2.json', tmp_path / 'two.json')
    [run] = runs_of(tmp_path / 'two.json')
    assert verdicts_of(run) == {'2': '1110'}


def test_odd_samples_have_rules(folder: Path) -> None:
    """Not graded yet, partial, broken off, empty, by hand: said in remarks, and never a silent 0."""
    path = folder / '1.json.zst'
    content = content_of(path)
    content['correct'] = ['TODO Grading', 0.5, True, True]
    content['messages'][2] = content['messages'][2][:1]
    content['messages'][3][-1]['content'] = ''
    content['manual_overwrite'][3] = True
    write_packed(path, content)
    [run] = runs_of(folder)
    first = next(iter(run.questions))
    assert isinstance(first, Responded)
    assert first.verdicts == '?0?1'
    assert [one.state for one in first.generations] == [None, None, 'failed', None]
    told = ' | '.join(run.remarks)
    for expected in (
        '1 samples are not yet graded: they are unjudged',
        '1 verdicts are partial credit',
        '1 samples have no response and are unjudged: 1 failed',
        '1 verdicts were set by hand',
    ):
        assert expected in told


def test_proofs_have_no_reference_and_keep_their_verdicts(folder: Path) -> None:
    """Nothing is judged anew without a final answer."""
    for path in folder.iterdir():
        write_packed(path, {**content_of(path), 'gold_answer': None})
    [run] = runs_of(folder)
    assert run.kinds == ('labels',)
    assert verdicts_of(run) == VERDICTS


def test_a_run_that_goes_on_is_read_as_far_as_it_is(folder: Path, tmp_path: Path) -> None:
    """Problems with fewer samples: each is scored by those it has, where the k allow."""
    path = folder / '2.json.zst'
    content = content_of(path)
    for name, value in content.items():
        if isinstance(value, list) and len(value) == 4:
            content[name] = value[:3]
    write_packed(path, content)
    (folder / '5.json.zst').unlink()
    [run] = runs_of(folder)
    assert verdicts_of(run) == {'1': '1111', '2': '111', '3': '1100', '4': '1000'}


@pytest.mark.parametrize('source', [SOURCES['matharena']], ids=['matharena'])
def test_damage_of_a_file_is_an_error_that_names_it(source: Any, folder: Path) -> None:
    """Bytes cut off, turned or lost, and values of other types: no traceback, and no problem is dropped."""
    path = folder / '3.json.zst'
    packed, content = path.read_bytes(), content_of(path)
    draw = random.Random(3)
    for number in range(200):
        write_packed(path, changed(content, draw))
        _check(folder, path)
        if number % 10 == 0:
            for broken in damaged(packed, number, 5):
                path.write_bytes(broken)
                _check(folder, path)


def _check(folder: Path, path: Path) -> None:
    for name, source in SOURCES.each():
        if not isinstance(source, InputError) and name != 'rows':
            source().recognises(Place(path))
    told = read_all(folder, 'matharena')
    if isinstance(told, str):
        assert str(path) in told
    else:
        assert [len(questions) for questions in told] == [5]


def test_damage_of_a_table_is_an_error(tmp_path: Path) -> None:
    """Of its bytes, and columns of other types."""
    path = tmp_path / 'damaged.parquet'
    for broken in damaged(PARQUET.read_bytes(), 5, 60):
        path.write_bytes(broken)
        for name, source in SOURCES.each():
            if not isinstance(source, InputError) and name != 'rows':
                source().recognises(Place(path))
        assert isinstance(read_all(path, 'matharena'), (str, list))
    rows = pyarrow.parquet.read_table(PARQUET).to_pylist()
    for column in ('problem_idx', 'idx_answer', 'model_config', 'correct', 'answer', 'gold_answer'):
        for odd in (None, [1], {'a': 1}, 2.5):
            changed_rows = [{**row, column: odd} for row in rows]
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(changed_rows), path)
            assert isinstance(read_all(path, 'matharena'), (str, list))


def test_files_of_others_are_not_recognised(tmp_path: Path) -> None:
    """By what is in them, whatever they are called."""
    (tmp_path / '1.json').write_text('{"idx": 1, "problem": "1 + 1?", "answer": "2"}')
    write_packed(tmp_path / '2.json.zst', {'idx': 1, 'problem': '1 + 1?', 'answer': '2'})
    for path in (tmp_path, tmp_path / '1.json', tmp_path / '2.json.zst', LOGS):
        assert not MathArena().recognises(Place(path))


def test_texts_of_a_folder_are_dropped_when_nobody_looks() -> None:
    """As for many samples."""
    [run] = runs_of(FOLDER, texts=False)
    assert all(isinstance(question, Sampled) for question in run.questions)
