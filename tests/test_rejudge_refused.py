"""`gpassk rejudge`: what it refuses, and what it leaves as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import old_work_dir as old
import pytest
from hosts import write_bench

from gpassk_opencompass.cli import main


@pytest.fixture
def work_dir(tmp_path: Path) -> Path:
    """An old run that was judged."""
    return old.judged_run(tmp_path)


def refused(capsys: pytest.CaptureFixture[str], work_dir: Path, *options: str) -> str:
    """What it says of a work directory of which nothing could be made."""
    code, out = old.rejudge(work_dir, *options)
    assert code in {1, 2}
    assert not list(out.rglob('*.json'))
    return capsys.readouterr().err


def test_a_lost_part_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the middle by its number, at the end by the rows."""
    root = old.write(tmp_path / 'old', old.rows(), parts=[8, 8, 16])
    last = root / old.TIME / 'predictions' / 'm' / f'{old.NAME}_1.json'
    last.unlink()
    assert f'missing or unfinished: {old.NAME}_1;' in refused(capsys, root)
    root = old.write(tmp_path / 'older', old.rows()[:28], parts=[16, 12])
    assert '28 rows are not n = 4 times the same questions' in refused(capsys, root)
    root = old.write(tmp_path / 'unfinished', old.rows()[:28], parts=[16, 12])
    old.put(root / old.TIME / 'logs' / 'infer' / 'm' / f'{old.NAME}_3.out', 'killed')
    assert f'missing or unfinished: {old.NAME}_3;' in refused(capsys, root)


def test_a_lost_part_of_single_samples_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """n = 1: no row is repeated, so logs, the published number of questions, or the data tell."""
    asks = [old.Ask('AMC', 'cn' if number < 46 else 'en', f'{number}?', '1') for number in range(92)]
    data = old.dataset(n=1, k=1, dataset_splits=['AMC'])
    rows = old.rows(asks, [['\\boxed{1}']] * 92)
    root = old.write(tmp_path / 'old', rows[:80], data, parts=[40, 40])
    said = '2 parts of LiveMathBench_v202412 hold 80 questions, and its data 92'
    assert said in refused(capsys, root)
    files = str(write_bench(tmp_path / 'data', old.files(asks)))
    assert said in refused(capsys, root, '--questions', files)
    old.put(root / old.TIME / 'logs' / 'infer' / 'm' / f'{old.NAME}_2.out', 'killed')
    assert f'missing or unfinished: {old.NAME}_2;' in refused(capsys, root)
    twice = old.write(tmp_path / 'twice', [*rows, *rows[46:]], data, parts=[46, 46, 46])
    assert 'hold 138 questions, and its data 92' in refused(capsys, twice)
    fewer = str(write_bench(tmp_path / 'own', old.files(asks[:80])))
    (root / old.TIME / 'logs' / 'infer' / 'm' / f'{old.NAME}_2.out').unlink()
    assert old.rejudge(root, '--questions', fewer)[0] == 0


def test_a_question_with_another_number_of_samples_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Although the number of rows could be right."""
    rows = old.rows()
    rows[31] = rows[30]
    message = refused(capsys, old.write(tmp_path / 'old', rows))
    assert 'row 31 repeats another question' in message
    assert '1 with 3, 6 with 4, 1 with 5' in message


@pytest.mark.parametrize(
    ('entry', 'message'),
    [
        ({'origin_prompt': 'q', 'prediction': None, 'gold': '1'}, 'prediction is None'),
        ({'origin_prompt': 'q', 'gold': '1'}, 'expected an object with origin_prompt, prediction and gold'),
        ({'origin_prompt': 'q', 'prediction': 'a'}, 'has no reference answer'),
        ({'origin_prompt': 'q', 'prediction': 'a', 'gold': 1}, 'gold is a int'),
        ('text', 'expected an object'),
    ],
)
def test_damaged_rows_are_named(
    entry: Any, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By file and row."""
    said = refused(capsys, old.write(tmp_path / 'old', [entry], old.dataset(n=1, k=1)))
    assert message in said
    assert f'{old.NAME}.json, row 0' in said


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'n': 0}, 'n = 0 in the config'),
        ({'n': '4'}, "n = '4' in the config"),
        ({'k': [2, None]}, 'k = None in the config'),
        ({'dataset_splits': 'AMC'}, "dataset_splits = 'AMC' in the config: expected a list"),
        ({'k': [8]}, 'k must be from 1 to n = 4, got 8'),
    ],
)
def test_a_config_that_cannot_be_meant_is_an_error(
    change: dict[str, Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the field that is wrong."""
    assert message in refused(capsys, old.write(tmp_path / 'old', old.rows(), old.dataset(**change)))


@pytest.mark.parametrize(
    'text', ['', '[]', '{', '{"0": 1, "1": ', '{"accuracy": 1e999, "x": 1' + '0' * 400 + '}']
)
def test_a_damaged_old_result_is_no_hindrance(
    text: str, work_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is nothing to compare then; the predictions are whole."""
    results = work_dir / old.TIME / 'results' / 'm'
    old.put(results / f'{old.NAME}.json', text)
    old.put(results / old.NAME / 'tmp_judge.json', text)
    code, out = old.rejudge(work_dir)
    assert code == 0
    assert old.record_in(out)['gpassk']['counts']['c'] == old.COUNTS
    assert '| accuracy ' in capsys.readouterr().out


def test_a_question_that_is_not_there_is_asked_for_where_it_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rule needs none; another judge is refused, with the way to give it."""
    rows = [{**row, 'origin_prompt': None} for row in old.rows()]
    root = old.write(tmp_path / 'old', rows)
    assert 'give them with --questions' in refused(capsys, root)
    assert main(['rejudge', str(root), '-o', str(tmp_path / 'new')]) == 0
    assert old.record_in(tmp_path / 'new')['gpassk']['counts']['c'] == old.COUNTS


def test_data_of_another_version_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another question, or the same one with another answer."""
    root = old.write(tmp_path / 'old', old.rows())
    files = old.files()
    wrong = {**files, 'CNMO_en': [(question, '99') for question, _ in files['CNMO_en']]}
    said = refused(capsys, root, '--questions', str(write_bench(tmp_path / 'a', wrong)))
    assert "the reference '6', but the data has '99'" in said
    other = {**files, 'AMC_cn': [('x?', '1'), ('y?', '2')]}
    said = refused(capsys, root, '--questions', str(write_bench(tmp_path / 'b', other)))
    assert 'does not hold the question of row 0' in said
    root = old.write(tmp_path / 'blank', [{**row, 'origin_prompt': None} for row in old.rows()])
    more = {**files, 'CNMO_en': [*files['CNMO_en'], ('z?', '3')]}
    said = refused(capsys, root, '--questions', str(write_bench(tmp_path / 'c', more)))
    assert 'has 9 questions and the run 8' in said


def test_what_is_no_work_directory_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing folder, one without predictions, one of other data sets, a run that --only leaves out."""
    assert 'is no folder' in refused(capsys, tmp_path / 'missing')
    (tmp_path / 'empty').mkdir()
    assert 'holds no predictions' in refused(capsys, tmp_path / 'empty')
    other = old.write(tmp_path / 'other', old.rows(), {'abbr': 'gsm8k', 'type': 'x.GSM8KDataset'})
    assert 'it is of GSM8KDataset' in refused(capsys, other)
    root = old.write(tmp_path / 'old', old.rows())
    assert "no run has one of --only ['x']" in refused(capsys, root, '--only', 'x')
    assert 'expected a share from 0 to 1' in refused(capsys, root, '--unjudged-tolerance', '2')


@pytest.mark.parametrize('place', ['old', 'old/new', f'old/{old.TIME}/x'])
def test_nothing_can_be_written_into_the_old_work_directory(
    place: str, work_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither results nor verdicts, whoever names the place."""
    before, inside = old.contents(work_dir), str(work_dir.parent / place)
    command = ['rejudge', str(work_dir), *old.EXACT]
    assert main([*command, '-o', inside]) == 2
    llm = ['--judge', 'llm', '--model', 'j', '--url', 'http://h:1', '--store', inside]
    assert main(['rejudge', str(work_dir), '-o', str(work_dir.parent / 'new'), *llm]) == 2
    monkeypatch.setenv('GPASSK_VERDICTS', inside)
    assert main([*command, '-o', str(work_dir.parent / 'new')]) == 2
    assert capsys.readouterr().err.count('which is only read') == 3
    assert old.contents(work_dir) == before


def test_a_time_directory_can_be_given_and_its_parent_cannot_take_the_result(work_dir: Path) -> None:
    """For there the result would land on the old one."""
    time_dir = work_dir / old.TIME
    assert main(['rejudge', str(time_dir), '-o', str(work_dir), *old.EXACT]) == 2
    out = work_dir.parent / 'new'
    assert main(['rejudge', str(time_dir), '-o', str(out), *old.EXACT]) == 0
    assert old.record_in(out)['gpassk']['counts']['c'] == old.COUNTS


def test_results_need_a_folder(work_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file in its place is found before anything is judged."""
    (work_dir.parent / 'new').write_text('mine')
    assert 'new is no folder; expected one for the new results' in refused(capsys, work_dir)
    assert (work_dir.parent / 'new').read_text() == 'mine'


def test_two_runs_are_not_written_to_one_file(work_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Models whose names differ in a slash alone: neither result takes the place of the other's."""
    for model in ('a/b', 'a_b'):
        old.write(work_dir, old.rows(), model={'abbr': model})
    assert 'would both be written to' in refused(capsys, work_dir)
    code, out = old.rejudge(work_dir, '--only', 'a/b')
    assert code == 0
    [result] = out.rglob('results/*/*.json')
    assert result.parent.name == 'a_b'


def test_a_result_of_another_judge_is_kept(work_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another -o is asked for; the same judge may write it again."""
    _, out = old.rejudge(work_dir)
    before = old.record_in(out)
    assert main(['rejudge', str(work_dir), '-o', str(out)]) == 2
    assert 'is the result of another judge (' in capsys.readouterr().err
    assert old.record_in(out) == before
    assert old.rejudge(work_dir)[0] == 0


@pytest.mark.parametrize('content', ['', '{"gpassk": {"judge": "mine"}}', '[]', '[' * 100_000])
def test_what_is_no_result_gives_way_to_one(content: str, work_dir: Path) -> None:
    """A file of that name which a kill cut, or which somebody else wrote."""
    old.put(work_dir.parent / 'new' / old.TIME / 'results' / 'm' / f'{old.NAME}.json', content)
    code, out = old.rejudge(work_dir)
    assert code == 0
    assert old.record_in(out)['gpassk']['counts']['c'] == old.COUNTS


def test_one_broken_run_does_not_stop_the_others(work_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is named, and the exit code says that something is missing."""
    old.write(work_dir, old.rows()[:31], old.dataset(abbr='LiveMathBench_short'))
    code, out = old.rejudge(work_dir)
    assert code == 1
    assert 'm/LiveMathBench_short: 31 rows are not n = 4' in capsys.readouterr().err
    assert old.record_in(out)['gpassk']['counts']['c'] == old.COUNTS
