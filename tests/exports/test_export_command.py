"""`gpassk export` as a user runs it: what is left out is said, and nothing is written over that is read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from exported_runs import TRUTH, export, scored_counts, scored_labels
from pyarrow import parquet  # type: ignore[import-untyped]
from stored_run import write_run

from gpassk_opencompass.cli import main
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.results.predictions import prediction_texts
from gpassk_opencompass.results.samples import sample_file_of
from gpassk_opencompass.sources.finding import find_runs
from gpassk_opencompass.sources.source import Reading, Responded

OPENCOMPASS = Path(__file__).parents[1] / 'recorded' / 'opencompass'
TABLES = ('csv', 'parquet')
FORMATS = (*TABLES, 'lm-eval')


def rows_in(path: Path) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = parquet.read_table(path).to_pylist()
    return rows


def said_by(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


def test_a_folder_is_searched_for_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The newest of each run, under its name; the older one is said to be left out, which is no failure."""
    old = write_run(tmp_path / 'old').result
    new = tmp_path / 'new' / '20260102_000000' / old.relative_to(tmp_path / 'old' / '20260101_000000')
    shutil.copytree(old.parent, new.parent)
    scored_labels(tmp_path, 'labelled')
    assert export(tmp_path, '--to', 'parquet', '-o', tmp_path / 'out.parquet', '--strict') == 0
    printed, said = capsys.readouterr()
    assert f'wrote {24 + 4 * 24} samples to {tmp_path / "out.parquet"}; runs: 2' in printed
    assert said == f'left out: {old}: there is a newer result of this run, {new}\n'
    models = {row['model'] for row in rows_in(tmp_path / 'out.parquet')}
    assert models == {'labelled', 'demo_t1.0_rs42_l40'}


def test_responses_come_from_predictions_of_opencompass(tmp_path: Path) -> None:
    """By file and key, each beside its own sample."""
    run = write_run(tmp_path)
    assert export(run.result, '--to', 'parquet', '-o', tmp_path / 'out.parquet', '--responses') == 0
    predictions = json.loads(run.predictions.read_text(encoding='utf-8'))
    rows = rows_in(tmp_path / 'out.parquet')
    assert len(rows) == len(predictions) == 24
    assert all(row['response'] == predictions[str(row['row'])]['prediction'] for row in rows)
    assert {row['file'] for row in rows} == {os.path.relpath(run.predictions, tmp_path)}


@pytest.mark.parametrize('form', TABLES)
def test_responses_that_were_changed_or_are_gone_are_refused(
    tmp_path: Path, theirs: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """And what stood in the place of the output stays."""
    given = theirs.with_name('theirs.jsonl')
    output = tmp_path / f'out.{form}'
    output.write_text('before', encoding='utf-8')
    text = given.read_text(encoding='utf-8')
    for changed, why in (
        (text.replace('I add.', 'I add', 1), ', row 1: the response has '),
        (text.splitlines(keepends=True)[0], ', row 2: it holds fewer responses than were judged'),
        (text[:-40], 'the responses of this run cannot be read once more: '),
        (None, 'the responses of this run cannot be read once more: '),
    ):
        if changed is None:
            given.unlink()
        else:
            given.write_text(changed, encoding='utf-8')
        assert export(theirs, '--to', form, '-o', output, '--responses') == 2
        said = said_by(capsys)
        assert why in said
        assert str(given) in said
    assert output.read_text(encoding='utf-8') == 'before'
    assert not [path for path in tmp_path.rglob('*') if path.name.startswith('.writing')]


def test_responses_of_verdicts_alone_are_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message says what to leave out."""
    result = scored_labels(tmp_path, 'labelled')
    assert export(result, '--to', 'csv', '-o', tmp_path / 'out.csv', '--responses') == 2
    assert 'does not say where its responses are' in said_by(capsys)
    assert not (tmp_path / 'out.csv').exists()


@pytest.mark.parametrize('form', TABLES)
def test_counts_alone_make_no_rows(
    tmp_path: Path, theirs: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are left out, with --strict the exit code says so, and alone they are refused."""
    counted, output = scored_counts(tmp_path), tmp_path / f'out.{form}'
    assert export(counted, '--to', form, '-o', output) == 2
    line = f'{counted} holds counts alone, so there is no row a sample to write; `gpassk score`'
    assert said_by(capsys).count(line) == 2
    assert not output.exists()
    assert export(counted, theirs, '--to', form, '-o', output) == 0
    assert line in said_by(capsys)
    assert export(counted, theirs, '--to', form, '-o', output, '--strict') == 1
    assert output.exists()


@pytest.mark.parametrize(
    ('form', 'content', 'why'),
    [
        ('csv', '', 'cannot be read'),
        ('parquet', '{"gpassk": {"schema": 2', 'cannot be read'),
        ('lm-eval', '{"gpassk": {"schema": 99}}', 'has schema 99; this version reads 2'),
        ('csv', '{"gpassk": {"schema": 2, "n": 0}}', 'is damaged'),
        ('csv', '{"uid": 1, "responses": []}', 'is no result of G-Pass@k'),
    ],
    ids=['empty', 'truncated', 'newer', 'damaged', 'samples'],
)
def test_a_file_that_is_no_sound_result_is_left_out(
    tmp_path: Path, theirs: Path, form: str, content: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a line that says why; alone it is refused with that line."""
    damaged = tmp_path / 'damaged.gpassk.json'
    damaged.write_text(content, encoding='utf-8')
    assert export(damaged, '--to', form, '-o', tmp_path / 'out') == 2
    assert why in said_by(capsys)
    assert not (tmp_path / 'out').exists()
    assert export(damaged, theirs, '--to', form, '-o', tmp_path / 'out', '--strict') == 1
    assert f'left out: {damaged}' in said_by(capsys)


def test_a_damaged_sample_file_leaves_what_the_record_says(tmp_path: Path, theirs: Path) -> None:
    """Answers, verdicts and judges are in the JSON, too."""
    samples = sample_file_of(theirs)
    samples.write_bytes(samples.read_bytes()[:-7])
    assert export(theirs, '--to', 'parquet', '-o', tmp_path / 'out.parquet') == 0
    rows = rows_in(tmp_path / 'out.parquet')
    assert [row['verdict'] == 'correct' for row in rows] == [
        symbol == '1' for symbols in TRUTH for symbol in symbols
    ]
    assert {row['decided_by'] for row in rows} == {'string', 'integer'}
    assert [row['replica'] for row in rows[:5]] == [0, 1, 2, 3, 0]
    assert {row['file'] for row in rows} == {None}


@pytest.mark.parametrize('form', FORMATS)
def test_nothing_is_written_over_that_is_read(
    tmp_path: Path, theirs: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither the result nor its sample file, nor one that another result might take for its own."""
    samples = sample_file_of(theirs)
    before = theirs.read_bytes(), samples.read_bytes()
    for output, why in (
        (theirs, 'would overwrite a result that is read'),
        (samples, 'would overwrite a result that is read'),
        (tmp_path / 'x.samples.parquet', 'files of this name belong to the result beside them'),
    ):
        assert export(theirs, '--to', form, '-o', output) == 2
        assert why in said_by(capsys)
    assert (theirs.read_bytes(), samples.read_bytes()) == before


def test_a_table_replaces_what_was_there_and_makes_its_folder(tmp_path: Path, theirs: Path) -> None:
    """In one step, with the permissions of the file before."""
    output = tmp_path / 'new' / 'out.csv'
    assert export(theirs, '--to', 'csv', '-o', output) == 0
    whole = output.read_bytes()
    output.write_text('before', encoding='utf-8')
    output.chmod(0o600)
    assert export(theirs, '--to', 'csv', '-o', output) == 0
    assert output.read_bytes() == whole
    assert output.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in output.parent.iterdir()] == ['out.csv']


@pytest.mark.parametrize('form', FORMATS)
def test_an_output_that_cannot_be_written_is_refused(
    tmp_path: Path, theirs: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder in the place of a table, a file in the place of a folder, or in the way of one."""
    (tmp_path / 'folder').mkdir()
    (tmp_path / 'file').write_text('x', encoding='utf-8')
    wrong = tmp_path / ('file' if form == 'lm-eval' else 'folder')
    assert export(theirs, '--to', form, '-o', wrong) == 2
    assert f'-o {wrong} is a {wrong.name}' in said_by(capsys)
    assert export(theirs, '--to', form, '-o', tmp_path / 'file' / 'below') == 2
    assert f'cannot write {tmp_path / "file" / "below"}' in said_by(capsys)


def test_csv_may_go_to_standard_output(theirs: Path) -> None:
    """What is said of it goes elsewhere."""
    command = [sys.executable, '-m', 'gpassk_opencompass.cli', 'export', str(theirs)]
    done = subprocess.run(
        [*command, '--to', 'csv', '-o', '/dev/stdout'], capture_output=True, text=True, check=True
    )
    assert len(done.stdout.splitlines()) == 1 + 4 * len(TRUTH)
    assert done.stdout.startswith('model,dataset,host,')
    assert done.stderr == f'wrote {4 * len(TRUTH)} samples to /dev/stdout; runs: 1\n'


def test_responses_are_for_tables(tmp_path: Path, theirs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """lm-eval's files have them anyway; said before anything is written."""
    assert export(theirs, '--to', 'lm-eval', '--responses', '-o', tmp_path / 'out') == 2
    assert '--responses goes with --to parquet, csv, not with lm-eval' in said_by(capsys)
    assert not (tmp_path / 'out').exists()


def test_a_path_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And a folder without results says how to make one."""
    assert export(tmp_path / 'none', '--to', 'csv', '-o', tmp_path / 'out.csv') == 2
    assert f'{tmp_path / "none"} is no file' in said_by(capsys)
    assert export(tmp_path, '--to', 'csv', '-o', tmp_path / 'out.csv') == 2
    assert f'no result in {tmp_path}; `gpassk score` makes one' in said_by(capsys)


def test_rows_of_files_that_lie_beside_each_other_are_told_apart(tmp_path: Path) -> None:
    """EvalScope has a response in its reviews or, without a review, in its predictions, at other rows."""
    recorded = Path(__file__).parents[1] / 'recorded' / 'evalscope' / '1.14.1' / 'scores'
    run = Path(shutil.copytree(recorded, tmp_path / 'run'))
    reviews = run / 'reviews' / 'scripted-1' / 'two_scores_default.jsonl'
    lines = reviews.read_text(encoding='utf-8').splitlines(keepends=True)
    reviews.write_text(''.join(lines[2:]), encoding='utf-8')
    folder = tmp_path / 'scored'
    assert main(['score', str(run), '--judge', 'rule', '--k', '2', '-o', f'{folder}/']) == 0
    result = folder / 'scripted-1@two_scores.gpassk.json'
    assert export(result, '--to', 'parquet', '-o', tmp_path / 'out.parquet', '--responses') == 0
    rows = [row for row in rows_in(tmp_path / 'out.parquet') if row['file']]
    assert len({row['file'] for row in rows}) == 2
    known = {found.run.dataset: found.run for found in find_runs([run], Reading()).runs}['two_scores']
    expected = {
        (path.resolve(), row): text
        for question in known.questions
        if isinstance(question, Responded)
        for (path, row), text in zip(question.places, question.responses, strict=True)
    }
    for row in rows:
        place = (tmp_path / str(row['file'])).resolve(), row['row']
        assert row['response'] == expected[place]  # type: ignore[index]


def test_several_responses_of_a_row_are_each_beside_its_own_sample(tmp_path: Path) -> None:
    """OpenCompass keeps them in a list where a model gave several at once."""
    root = Path(shutil.copytree(OPENCOMPASS / 'sequences', tmp_path / 'run'))
    [path] = root.rglob('predictions/*/*.json')
    assert responses_by_row(root, tmp_path) == {
        int(key): row['prediction'] for key, row in json.loads(path.read_text(encoding='utf-8')).items()
    }


def test_a_response_that_failed_is_none(tmp_path: Path) -> None:
    """OpenCompass has a null in its place; the others may lie beside what the engine said of them."""
    root = Path(shutil.copytree(OPENCOMPASS / 'math', tmp_path / 'run'))
    [path] = root.rglob('predictions/org/nested/*.json')
    rows = json.loads(path.read_text(encoding='utf-8'))
    expected = {int(key): [row['prediction']] for key, row in rows.items()} | {5: [None]}
    rows['5']['prediction'] = None
    rows['6']['prediction'] = {'prediction': rows['6']['prediction'], 'rollout': {'num_tokens': 64}}
    path.write_text(json.dumps(rows), encoding='utf-8')
    assert responses_by_row(root, tmp_path) == expected


def responses_by_row(root: Path, folder: Path) -> dict[int, list[object]]:
    """The responses of a run as an export of its result has them, by their row in the predictions."""
    result, table = folder / 'out.gpassk.json', folder / 'out.parquet'
    assert main(['score', str(root), '--judge', 'rule', '--k', '2', '-o', str(result)]) == 0
    assert export(result, '--to', 'parquet', '-o', table, '--responses') == 0
    found: defaultdict[int, list[object]] = defaultdict(list)
    for row in rows_in(table):
        assert isinstance(row['row'], int)
        found[row['row']].append(row['response'])
    return dict(found)


@pytest.mark.parametrize('held', [None, [], {}, 7, [7]], ids=str)
def test_predictions_without_a_response_are_refused(tmp_path: Path, held: object) -> None:
    """By what is there; none where nothing is."""
    entry = {} if held is None else {'prediction': held if held != {} else {'prediction': 7}}
    with pytest.raises(InputError, match=r'row 3: prediction is .*; expected a text, or a list of texts'):
        prediction_texts(tmp_path, 3, entry)
