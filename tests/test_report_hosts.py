"""Lighteval's results in a report, beside OpenCompass's: when they meet, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpassk_opencompass.cli import main
from gpassk_opencompass.collect import collect, collect_one
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.record import Names, Result, write
from gpassk_opencompass.report.leaderboard import Board, boards
from gpassk_opencompass.report.scores import read_scores
from gpassk_opencompass.report.tables import why_no_average

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


def judged_by(**other: Any) -> Callable[[Result], object]:
    return lambda result: result.judge.update(other)


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


def test_two_hosts_stand_in_one_table_marked(tmp_path: Path, saved: Path) -> None:
    """With the warning that each has its own prompt, in the table and on the page."""
    beside(tmp_path / 'oc')
    output = tmp_path / 'report'
    assert main(['report', str(tmp_path / 'oc'), str(saved), '-o', str(output), '--only', 'tables']) == 0
    text = (output / 'leaderboard.md').read_text(encoding='utf-8')
    assert f'| {NAME} (lighteval)' in text
    assert '| other_t0.7_l40 (opencompass)' in text
    assert 'Runs of lighteval and opencompass stand together' in text
    assert "the prompt around a question and the chat template are each host's own" in text
    assert {(score.run, score.host) for score in read_scores(output / 'scores.csv')} == {
        (f'{NAME} (lighteval)', 'lighteval'),
        ('other_t0.7_l40 (opencompass)', 'opencompass'),
    }


def test_equal_counts_are_equal_scores_and_share_their_rank(tmp_path: Path, saved: Path) -> None:
    """Questions are paired by uid, whatever host asked them."""
    beside(tmp_path / 'oc', backwards)
    board = board_of(tmp_path / 'oc', saved)
    ours, theirs = board.entries
    mean = Metric.mg_pass_at(8)
    assert ours.interval(mean).estimate == pytest.approx(theirs.interval(mean).estimate)
    assert board.ranks.tolist() == [[1, 2], [1, 2]]


def test_one_host_has_neither_mark_nor_warning(saved: Path) -> None:
    """A report of one host reads as ever."""
    board = board_of(saved)
    assert [one.name for one in board.entries] == [NAME]
    assert board.notes == []


def test_rule_judges_of_two_hosts_may_differ_in_their_packages(tmp_path: Path, saved: Path) -> None:
    """Lighteval pins an older math-verify; the table names the versions."""
    beside(tmp_path / 'oc', judged_by(**{'math-verify': '0.9.0', 'latex2sympy2_extended': '1.11.0'}))
    board = board_of(tmp_path / 'oc', saved)
    version = collect_one(saved).judge['math-verify']
    assert len(board.entries) == 2
    assert 'latex2sympy2_extended 1.11.0, math-verify 0.9.0 (opencompass)' in board.notes[1]
    assert f'math-verify {version} (lighteval)' in board.notes[1]
    assert 'sympy 1.' not in board.notes[1]


def test_rule_judges_within_a_cascade_may_differ_in_their_packages(tmp_path: Path) -> None:
    """They are one part of its identity."""
    for host, number in (('lighteval', '0.5.2'), ('file', '0.9.0')):
        result = collect_one(RECORDED)
        result.run = Names(host=host, model='m', dataset=BENCHMARK)
        rule = {'name': 'rule', 'rules': 1, 'math-verify': number}
        result.judge = {'name': 'cascade', 'first': rule, 'second': {'name': 'llm'}}
        write(tmp_path / f'{host}.gpassk.json', result)
    assert 'math-verify 0.9.0 (file); math-verify 0.5.2 (lighteval)' in board_of(tmp_path).notes[1]


@pytest.mark.parametrize('other', [{'timeout': 1.0}, {'rules': 99}, {'name': 'llm'}])
def test_judges_that_differ_in_more_stay_apart(tmp_path: Path, saved: Path, other: dict[str, Any]) -> None:
    """As within one host."""
    beside(tmp_path / 'oc', judged_by(**other))
    found, _ = boards(collect([tmp_path / 'oc', saved]).results)
    assert [(len(board.entries), board.part) for board in found] == [(1, 'part 1'), (1, 'part 2')]


def test_packages_of_one_host_stay_apart(tmp_path: Path, saved: Path) -> None:
    """Where one host has two versions, nobody could say beside which the other host stands."""
    for number, version in enumerate(('0.8.0', '0.9.0')):
        beside(tmp_path / version, judged_by(**{'math-verify': version}), f'm{number}_t0.7_l40')
    found, _ = boards(collect([tmp_path, saved]).results)
    assert [len(board.entries) for board in found] == [1, 1, 1]


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
    assert {entry.name for entry in board_of(tmp_path).entries} == {f'{NAME} ({owner})' for owner in owners}


def test_one_model_with_two_lists_of_k_is_two_runs(tmp_path: Path, saved: Path) -> None:
    """Told apart; another host's run beside them needs no more than its mark."""
    again(tmp_path, '2026-01-01T00-00-00.5')
    first = one_file(tmp_path / 'details', 'details_*.parquet')
    rows = parquet.ParquetFile(first).read().to_pylist()
    for row in rows:
        entry = row['metric']['G-Pass@k']
        entry['gpassk'] = json.dumps({**json.loads(entry['gpassk']), 'k': [4]})
    parquet.write_table(pyarrow.Table.from_pylist(rows), first)
    beside(tmp_path / 'oc')
    assert {entry.name for entry in board_of(tmp_path).entries} == {
        f'{NAME} (lighteval, k4-r2)',
        f'{NAME} (lighteval, k4_8-r1)',
        'other_t0.7_l40 (opencompass)',
    }


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


def test_compare_takes_a_folder_of_lighteval(
    tmp_path: Path, saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Models are matched by their names without the host."""
    published = tmp_path / 'published.json'
    published.write_text(json.dumps({'demo': {'mG-Pass@8': {BENCHMARK: 20.0}}}))
    assert main(['compare', str(saved), str(published)]) == 0
    assert f'| {NAME} | demo' in capsys.readouterr().out


def test_compare_pairs_the_runs_of_two_hosts(
    tmp_path: Path, saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Question by question, in whatever order they stand, with the warning about prompts."""

    def other(result: Result) -> None:
        result.counts.c = [c // 2 for c in result.counts.c]
        backwards(result)

    beside(tmp_path / 'oc', other)
    assert main(['compare', str(tmp_path / 'oc'), str(saved), '--metric', 'accuracy']) == 0
    said = ' '.join(capsys.readouterr().out.split())
    result = collect_one(saved)
    gains: dict[str, list[float]] = {}
    for problem, c in zip(result.counts.problem, result.counts.c, strict=True):
        gains.setdefault(problem, []).append((c - c // 2) / 8)
    by_problem = [sum(own) / len(own) for own in gains.values()]
    # Two problems are added: Student's t of 23 degrees.
    mean = sum(by_problem) / 24
    variance = sum((one - mean) ** 2 for one in by_problem) / 23
    error = (24 * variance + 2) ** 0.5 / 24
    low, high = (100 * (mean + side * 2.0687 * error) for side in (-1, 1))
    assert f'{100 * mean:+.2f} | [{low:+.1f}, {high:+.1f}]' in said
    assert "the chat template are each host's own" in said


def test_compare_of_one_run_says_what_can_be_compared(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is nothing beside it."""
    assert main(['compare', str(saved)]) == 2
    assert 'only runs on the same questions' in capsys.readouterr().err


def test_an_average_over_benchmarks_takes_both_hosts(tmp_path: Path, saved: Path) -> None:
    """Their packages alone do not make two judges; another judge does."""

    def other_benchmark(result: Result) -> None:
        result.data.sha256 = 64 * '0'
        result.judge['math-verify'] = '0.9.0'
        result.counts.problem = [f'other/{problem}' for problem in result.counts.problem]

    def another_judge(result: Result) -> None:
        other_benchmark(result)
        result.judge['timeout'] = 1.0

    beside(tmp_path / 'oc', judged_by(**{'math-verify': '0.9.0'}))
    beside(tmp_path / 'more', other_benchmark, data='MATH500-L5')
    found, _ = boards(collect([tmp_path]).results)
    assert (len(found), why_no_average(found)) == (2, '')
    beside(tmp_path / 'more', another_judge, data='MATH500-L5')
    found, _ = boards(collect([tmp_path]).results)
    assert why_no_average(found) == 'the benchmarks were judged by different judges'
