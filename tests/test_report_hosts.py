"""Lighteval's results in a report, beside OpenCompass's: when they meet, and what is refused."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gpassk_opencompass.cli import main
from gpassk_opencompass.collect import collect, collect_one
from gpassk_opencompass.record import Names, Result, write
from gpassk_opencompass.report.frame import Board, boards

parquet = pytest.importorskip('pyarrow.parquet', reason='pyarrow is not installed')
pyarrow = pytest.importorskip('pyarrow')

RECORDED = Path(__file__).parent / 'recorded' / 'lighteval'
"""What Lighteval's own classes saved: `tests/lighteval/saved.py` wrote it."""

BENCHMARK = 'LiveMathBench-vdemo-ADD_MUL_MIX-cn_en'
NAME = 'demo_t1.0_p0.9_l40'


def one_file(folder: Path, pattern: str) -> Path:
    [path] = folder.rglob(pattern)
    return path


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A copy of the recorded run."""
    return Path(shutil.copytree(RECORDED, tmp_path / 'lighteval'))


def again(folder: Path, time: str, name: str = 'someone/demo') -> None:
    """The same run once more, at another time and under another name of the model."""
    details, summary = one_file(RECORDED, 'details_*.parquet'), one_file(RECORDED, 'results_*.json')
    for source in (details, summary):
        told = str(source.relative_to(RECORDED)).replace(details.parent.name, time)
        target = folder / told.replace('someone/demo', name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    renamed = folder / 'results' / name / f'results_{time}.json'
    renamed.write_text(renamed.read_text(encoding='utf-8').replace('someone/demo', name), encoding='utf-8')


def beside(
    folder: Path,
    change: Callable[[Result], object] = bool,
    model: str = 'other_t0.7_l40',
    data: str = BENCHMARK,
) -> Path:
    """The recorded run as OpenCompass would have written it, changed."""
    result = collect_one(RECORDED)
    result.run = Names(model=model, dataset=f'{data}-k4_8-r1', host='opencompass')
    result._samples, result.bounds = None, {}
    change(result)
    path = folder / 'work' / '20260101_000000' / 'results' / model / f'{data}-k4_8-r1.json'
    write(path, result)
    return path


def board_of(*folders: Path) -> Board:
    found = collect(folders)
    assert found.passed_over == []
    [board], left_out = boards(found.results)
    assert left_out == []
    return board


def backwards(result: Result) -> None:
    for name in ('uid', 'problem', 'group', 'c', 'unjudged'):
        getattr(result.counts, name).reverse()


def test_details_tell_all_that_a_record_of_opencompass_tells() -> None:
    """Names and settings as a sweep writes them, the counts, and who judged with which packages."""
    result = collect_one(RECORDED)
    run = result.run
    assert (run.host, run.model, run.dataset) == ('lighteval', NAME, f'{BENCHMARK}-k4_8-r1')
    assert (result.model, result.benchmark, result.model_path) == ('demo', BENCHMARK, 'someone/demo')
    assert result.sampling == {'max_out_len': 40, 'temperature': 1.0, 'top_p': 0.9}
    assert (result.n, result.ks, len(result.table), len(set(result.counts.problem))) == (8, [4, 8], 48, 24)
    assert result.signature.startswith('G-Pass@k|n:8|k:4_8|')
    assert result.judge['name'] == 'rule'


def test_two_hosts_stand_in_one_table(tmp_path: Path, saved: Path) -> None:
    """With the warning that each has its own prompt; one model of both has its host in its name."""
    beside(tmp_path / 'oc', model=NAME)
    output = tmp_path / 'report'
    assert main(['report', str(tmp_path / 'oc'), str(saved), '-o', str(output), '--only', 'tables']) == 0
    text = (output / 'leaderboard.md').read_text(encoding='utf-8')
    assert '| demo lighteval' in text
    assert '| demo opencompass' in text
    assert 'Runs of lighteval and opencompass stand together' in text
    assert "the prompt around a question and the chat template are each host's own" in text
    with (output / 'scores.csv').open(newline='') as file:
        told = {(row['run'], row['host']) for row in csv.DictReader(file)}
    assert told == {('demo lighteval', 'lighteval'), ('demo opencompass', 'opencompass')}


def test_judges_that_differ_stay_apart(tmp_path: Path, saved: Path) -> None:
    """As within one host."""
    beside(tmp_path / 'oc', lambda result: result.judge.update(rules=99))
    found, _ = boards(collect([tmp_path / 'oc', saved]).results)
    assert [(len(board.entries), board.part) for board in found] == [(1, 'part 1'), (1, 'part 2')]


def test_one_host_has_neither_mark_nor_warning(saved: Path) -> None:
    """A report of one host reads as ever."""
    board = board_of(saved)
    assert [one.name for one in board.entries] == ['demo']
    assert board.notes == []


def greedy(result: Result) -> None:
    result.n, result.ks, result.health.samples = 1, [1], 48
    result.counts.c = [min(1, c) for c in result.counts.c]


def test_the_greedy_run_of_another_host_does_not_stand_beside(tmp_path: Path, saved: Path) -> None:
    """It was asked with another prompt."""
    beside(tmp_path / 'oc', greedy, 'demo_t0_l40')
    found, left_out = boards(collect([tmp_path / 'oc', saved]).results)
    assert [one.greedy for board in found for one in board.entries] == [None]
    assert ['a greedy run without samples of its model' in line for line in left_out] == [True]


def test_the_newest_of_two_runs_counts(tmp_path: Path) -> None:
    """By the time in its name."""
    for time in ('2026-01-02T00-00-00.5', '2026-01-01T00-00-00.5'):
        again(tmp_path, time)
    found = collect([tmp_path])
    assert ['2026-01-02' in str(result.path) for result in found.results] == [True]
    assert len(found.older) == 1


def test_models_of_one_name_from_two_owners_are_two_runs(tmp_path: Path) -> None:
    """Neither replaces the other."""
    again(tmp_path, '2026-01-01T00-00-00.5')
    again(tmp_path, '2026-01-02T00-00-00.5', 'else/demo')
    owners = {'else/demo', 'someone/demo'}
    assert {result.model_path for result in collect([tmp_path]).results} == owners
    assert {entry.name for entry in board_of(tmp_path).entries} == {'else/demo', 'someone/demo'}


def test_one_model_with_two_lists_of_k_is_two_runs(tmp_path: Path, saved: Path) -> None:
    """Told apart."""
    again(tmp_path, '2026-01-01T00-00-00.5')
    first = one_file(tmp_path / 'details', 'details_*.parquet')
    rows = parquet.ParquetFile(first).read().to_pylist()
    for row in rows:
        entry = row['metric']['G-Pass@k']
        entry['gpassk'] = json.dumps({**json.loads(entry['gpassk']), 'k': [4]})
    parquet.write_table(pyarrow.Table.from_pylist(rows), first)
    assert {entry.name for entry in board_of(tmp_path).entries} == {'demo k=4', 'demo k=4_8'}


def test_results_without_details_are_named(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the option that keeps them."""
    one_file(saved, 'details_*.parquet').unlink()
    assert main(['report', str(saved), '-o', str(saved / 'r')]) == 2
    assert '--save-details' in capsys.readouterr().err


def test_keys_in_a_results_file_stay_there(tmp_path: Path, saved: Path) -> None:
    """Lighteval writes a model's arguments down, api_key too."""
    path = one_file(saved, 'results_*.json')
    summary = json.loads(path.read_text(encoding='utf-8'))
    summary['config_general']['model_config']['api_key'] = 'sk-secret'
    path.write_text(json.dumps(summary))
    assert main(['report', str(saved), '-o', str(tmp_path / 'r'), '--only', 'tables']) == 0
    written = [path.read_bytes() for path in (tmp_path / 'r').rglob('*') if path.is_file()]
    assert written
    assert not any(b'sk-secret' in text for text in written)


def test_plan_takes_details_as_a_pilot(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As any other result."""
    pilot = one_file(saved, 'details_*.parquet')
    assert main(['plan', str(pilot), '--half-width', '5', '--metric', 'mG-Pass@8']) == 0
    assert '48 questions of 24 problems, 8 samples each' in capsys.readouterr().out


def test_compare_pairs_the_runs_of_two_hosts(
    tmp_path: Path, saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Question by question, in whatever order they stand."""

    def other(result: Result) -> None:
        result.counts.c = [c // 2 for c in result.counts.c]
        backwards(result)

    beside(tmp_path / 'oc', other)
    line = ['compare', str(tmp_path / 'oc'), str(saved), '--metric', 'accuracy', '--json']
    assert main(line) == 0
    [row] = json.loads(capsys.readouterr().out)['tables'][0]['rows']
    result = collect_one(saved)
    losses = [(c // 2 - c) / 8 for c in result.counts.c]
    assert row['difference'] == pytest.approx(100 * sum(losses) / len(losses))
    assert (row['won'], row['problems']) == (0, 24)
