"""Lighteval's results in a report, beside OpenCompass's: what is read, when they meet, what is refused."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from gpassk_opencompass import InputError
from gpassk_opencompass.cli import main
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.naming.names import Settings
from gpassk_opencompass.report.leaderboard import Board, boards
from gpassk_opencompass.report.scores import read_scores
from gpassk_opencompass.report.tables import why_no_average
from gpassk_opencompass.results.read import collect, read
from gpassk_opencompass.results.result import Result

parquet = pytest.importorskip('pyarrow.parquet', reason='pyarrow is not installed')
pyarrow = pytest.importorskip('pyarrow')

RECORDED = Path(__file__).parent / 'recorded' / 'lighteval'
"""What Lighteval's own classes saved: `tests/lighteval/saved.py` wrote it."""

BENCHMARK = 'LiveMathBench-vdemo-ADD_MUL_MIX-cn_en'
Rows = list[dict[str, Any]]


def details_in(folder: Path) -> Path:
    [path] = folder.rglob('details_*.parquet')
    return path


def summary_in(folder: Path) -> Path:
    [path] = folder.rglob('results_*.json')
    return path


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A copy of the recorded run."""
    return Path(shutil.copytree(RECORDED, tmp_path / 'lighteval'))


def rewrite(path: Path, change: Callable[[Rows], Rows]) -> None:
    rows = parquet.ParquetFile(path).read().to_pylist()
    parquet.write_table(pyarrow.Table.from_pylist(change(rows)), path)


def entry(row: dict[str, Any]) -> dict[str, Any]:
    """What the metric said of one question."""
    found: dict[str, Any] = row['metric']['G-Pass@k']
    return found


def again(folder: Path, time: str, name: str = 'someone/demo') -> None:
    """The same run once more, at another time and under another name of the model."""
    old = details_in(RECORDED).parent.name
    for source in (details_in(RECORDED), summary_in(RECORDED)):
        target = Path(str(source.relative_to(RECORDED)).replace(old, time).replace('someone/demo', name))
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / target)
    summary = folder / 'results' / name / f'results_{time}.json'
    summary.write_text(summary.read_text(encoding='utf-8').replace('someone/demo', name), encoding='utf-8')


def beside(
    folder: Path, change: Callable[[dict[str, Any]], object] = bool, model: str = 'other_t0.7_l40'
) -> Path:
    """The recorded run as OpenCompass would have written it, changed."""
    record = copy.deepcopy(dict(read(details_in(RECORDED)).record))
    del record['gpassk']['run']
    change(record)
    path = folder / 'work' / '20260101_000000' / 'results' / model / f'{BENCHMARK}-k4_8-r1.json'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record), encoding='utf-8')
    return path


def board_of(*folders: Path) -> Board:
    found = collect(folders)
    assert found.passed_over == []
    [board], left_out = boards(found.results)
    assert left_out == []
    return board


def judged_by(**other: Any) -> Callable[[dict[str, Any]], object]:
    return lambda record: record['gpassk']['judge'].update(other)


def test_details_tell_all_that_a_record_of_opencompass_tells() -> None:
    """Names and settings as a sweep writes them, the counts, and who judged with which packages."""
    result = read(details_in(RECORDED))
    assert (result.host, result.model_abbr, result.model) == ('lighteval', 'demo_t1.0_p0.9_l40', 'demo')
    assert (result.benchmark, result.dataset_abbr) == (BENCHMARK, f'{BENCHMARK}-k4_8-r1')
    assert result.settings == Settings(40, temperature=1.0, top_p=0.9)
    assert (result.n, result.block['k'], len(result.uids), len(set(result.problems))) == (8, [4, 8], 48, 24)
    assert result.signature.startswith('G-Pass@k|n:8|k:4_8|')
    assert result.judge['math-verify'] == result.judge_packages['math-verify']
    assert result.whole_name == 'someone/demo'


def test_counts_are_those_of_the_verdicts_in_the_order_of_the_data() -> None:
    """Lighteval shuffles the questions."""
    result = read(details_in(RECORDED))
    details = result.record['details']
    assert result.counts.tolist() == [verdicts.count('1') for verdicts in details['verdicts']]
    groups = list(dict.fromkeys(result.groups))
    assert result.uids == [f'demo/{group}/{number}' for group in groups for number in range(8)]
    assert [len(answers) for answers in details['answers']] == [8] * 48


def test_two_hosts_stand_in_one_table_marked(tmp_path: Path, saved: Path) -> None:
    """With the warning that each has its own prompt, in the table and on the page."""
    beside(tmp_path / 'oc')
    output = tmp_path / 'report'
    assert main(['report', str(tmp_path / 'oc'), str(saved), '-o', str(output), '--only', 'tables']) == 0
    text = (output / 'leaderboard.md').read_text(encoding='utf-8')
    assert '| demo_t1.0_p0.9_l40 (lighteval)' in text
    assert '| other_t0.7_l40 (opencompass)' in text
    assert 'Runs of lighteval and opencompass stand together' in text
    assert "the prompt around a question and the chat template are each host's own" in text
    assert {(score.run, score.host) for score in read_scores(output / 'scores.csv')} == {
        ('demo_t1.0_p0.9_l40 (lighteval)', 'lighteval'),
        ('other_t0.7_l40 (opencompass)', 'opencompass'),
    }


def test_equal_counts_are_equal_scores_and_share_their_rank(tmp_path: Path, saved: Path) -> None:
    """Questions are paired by uid, whatever host asked them."""

    def reverse(record: dict[str, Any]) -> None:
        for name, column in record['gpassk']['counts'].items():
            record['gpassk']['counts'][name] = column[::-1]
        del record['details']  # in the order of before

    beside(tmp_path / 'oc', reverse)
    board = board_of(tmp_path / 'oc', saved)
    ours, theirs = board.entries
    mean = Metric.mg_pass_at(8)
    assert ours.interval(mean).estimate == pytest.approx(theirs.interval(mean).estimate)
    assert board.ranks.tolist() == [[1, 2], [1, 2]]


def test_one_host_has_neither_mark_nor_warning(saved: Path) -> None:
    """A report of one host reads as ever."""
    board = board_of(saved)
    assert [one.name for one in board.entries] == ['demo_t1.0_p0.9_l40']
    assert board.notes == []


def test_rule_judges_of_two_hosts_may_differ_in_their_packages(tmp_path: Path, saved: Path) -> None:
    """Lighteval pins an older math-verify; the table names the versions."""
    beside(tmp_path / 'oc', judged_by(**{'math-verify': '0.9.0', 'latex2sympy2_extended': '1.11.0'}))
    board = board_of(tmp_path / 'oc', saved)
    packages = read(details_in(saved)).judge_packages
    assert len(board.entries) == 2
    assert 'latex2sympy2_extended 1.11.0, math-verify 0.9.0 (opencompass)' in board.notes[1]
    assert f'math-verify {packages["math-verify"]} (lighteval)' in board.notes[1]
    assert 'sympy 1.' not in board.notes[1]


def test_rule_judges_within_a_cascade_may_differ_in_their_packages(tmp_path: Path) -> None:
    """They are one part of its identity."""
    rules = [{'name': 'rule', 'rules': 1, 'math-verify': number} for number in ('0.5.2', '0.9.0')]
    hosts = [{'host': 'lighteval', 'model': 'm'}, {'host': 'file', 'model': 'm'}]
    for number, (rule, run) in enumerate(zip(rules, hosts, strict=True)):
        record = copy.deepcopy(dict(read(details_in(RECORDED)).record))
        record['gpassk']['run'] = {**run, 'dataset': BENCHMARK}
        record['gpassk']['judge'] = {'name': 'cascade', 'first': rule, 'second': {'name': 'llm'}}
        (tmp_path / f'{number}.gpassk.json').write_text(json.dumps(record))
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


def greedy(record: dict[str, Any]) -> None:
    record['gpassk'] |= {'n': 1, 'k': [1], 'samples': 48, 'unjudged': 0}
    del record['details']
    counts = record['gpassk']['counts']
    counts |= {'c': [min(1, c) for c in counts['c']], 'unjudged': [0] * 48}


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
    assert [result.whole_name for result in collect([tmp_path]).results] == ['else/demo', 'someone/demo']
    name = 'demo_t1.0_p0.9_l40'
    assert {entry.name for entry in board_of(tmp_path).entries} == {
        f'{name} (else/demo)',
        f'{name} (someone/demo)',
    }


def test_one_model_with_two_lists_of_k_is_two_runs(tmp_path: Path, saved: Path) -> None:
    """Told apart; another host's run beside them needs no more than its mark."""
    again(tmp_path, '2026-01-01T00-00-00.5')
    [first] = (tmp_path / 'details').rglob('details_*.parquet')
    rewrite(first, block_with(k=[4]))
    beside(tmp_path / 'oc')
    assert {entry.name for entry in board_of(tmp_path).entries} == {
        'demo_t1.0_p0.9_l40 (lighteval, k4-r2)',
        'demo_t1.0_p0.9_l40 (lighteval, k4_8-r1)',
        'other_t0.7_l40 (opencompass)',
    }


def test_without_its_results_file_the_folder_tells_the_model(saved: Path) -> None:
    """Of the settings, the questions tell the length alone."""
    summary_in(saved).unlink()
    result = read(details_in(saved))
    assert (result.model, result.whole_name, result.settings) == ('demo', 'someone/demo', Settings(40))


def test_the_results_file_may_lie_elsewhere(saved: Path) -> None:
    """Lighteval has --results-path-template."""
    (saved / 'elsewhere').mkdir()
    summary_in(saved).rename(saved / 'elsewhere' / summary_in(saved).name)
    shutil.rmtree(saved / 'results')
    assert [result.model_abbr for result in collect([saved]).results] == ['demo_t1.0_p0.9_l40']


def test_results_without_details_are_named(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the option that keeps them."""
    details_in(saved).unlink()
    assert main(['report', str(saved), '-o', str(saved / 'r')]) == 2
    said = capsys.readouterr().err
    assert 'has G-Pass@k of gpassk_demo|0, but no details' in said
    assert '--save-details' in said


def test_a_results_file_alone_says_what_to_give(saved: Path) -> None:
    """It has no counts."""
    with pytest.raises(InputError, match=r'no counts; give its details_'):
        read(summary_in(saved))


def other_metric(rows: Rows) -> Rows:
    return [{**row, 'metric': {'em': 1.0}} for row in rows]


def test_tasks_of_others_are_named(saved: Path) -> None:
    """What Lighteval scored by another metric is no result of this package."""
    task = details_in(saved)
    other = task.with_name(task.name.replace('gpassk_demo', 'gsm8k'))
    shutil.copy(task, other)
    rewrite(other, other_metric)
    found = collect([saved])
    assert len(found.results) == 1
    assert ["scored by ['em'], expected ['G-Pass@k']" in line for line in found.passed_over] == [True]


def with_entries(change: Callable[[dict[str, Any]], object]) -> Callable[[Rows], Rows]:
    def changed(rows: Rows) -> Rows:
        for row in rows:
            change(entry(row))
        return rows

    return changed


def first_without_text(rows: Rows) -> Rows:
    entry(rows[0])['gpassk'] = None
    return rows


def other_reference(rows: Rows) -> Rows:
    rows[0]['doc']['specific']['reference'] = '1'
    return rows


def block_with(**other: Any) -> Callable[[Rows], Rows]:
    return with_entries(lambda one: one.update(gpassk=json.dumps({**json.loads(one['gpassk']), **other})))


DAMAGES: dict[str, tuple[Callable[[Rows], Rows], str]] = {
    'no rows': (lambda rows: rows[:0], 'is no result of G-Pass@k'),
    'a row lost': (lambda rows: rows[1:], '47 questions are not the ones that were scored'),
    'a row twice': (lambda rows: [*rows, rows[0]], '49 questions are not the ones'),
    'another reference': (other_reference, 'are not the ones that were scored'),
    'no documents': (lambda rows: [{'metric': row['metric']} for row in rows], 'are not the ones'),
    'no text': (
        with_entries(lambda one: one.update(gpassk='')),
        r'metric.G-Pass@k.gpassk cannot be read',
    ),
    'a list': (with_entries(lambda one: one.update(gpassk='[]')), r'expected an object'),
    'deep': (with_entries(lambda one: one.update(gpassk='[' * 100_000)), r'cannot be read'),
    'number as text': (with_entries(lambda one: one.update(gpassk=5)), r'expected one JSON text'),
    'one row without': (first_without_text, 'the same for all questions'),
    'counts above n': (with_entries(lambda one: one.update(c=9)), r"counts.c of 'demo/.*' is 9"),
    'counts as texts': (with_entries(lambda one: one.update(c='1')), 'expected a whole number'),
    'no counts': (with_entries(lambda one: one.pop('c')), r'counts.c\[0\] = None; expected a whole'),
    'other n': (block_with(n=-1), 'n = -1'),
    'other k': (block_with(k='all'), "k = 'all'"),
    'other schema': (block_with(schema=99), 'has schema 99'),
    'other sum': (block_with(unjudged=3), 'unjudged is 3'),
    'metric a number': (lambda rows: [{**row, 'metric': 1.0} for row in rows], 'is no result of G-Pass@k'),
}


@pytest.mark.parametrize('damage', DAMAGES)
def test_damaged_details_are_named_and_the_rest_is_reported(tmp_path: Path, saved: Path, damage: str) -> None:
    """With the file and what is wrong."""
    change, message = DAMAGES[damage]
    path = details_in(saved)
    rewrite(path, change)
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))
    beside(tmp_path / 'oc')
    found = collect([tmp_path])
    assert len(found.results) == 1
    assert len(found.passed_over) == 1


@pytest.mark.parametrize('part', ['answers', 'verdicts', 'judged_by', 'metrics', 'problem'])
def test_parts_that_only_the_page_shows_may_be_missing(saved: Path, part: str) -> None:
    """The counts stand without them."""
    rewrite(details_in(saved), with_entries(lambda one: one.pop(part)))
    assert read(details_in(saved)).counts.sum() > 0


@pytest.mark.parametrize('kind', [pyarrow.timestamp('us'), pyarrow.date64(), pyarrow.duration('s')])
def test_a_time_that_python_has_no_value_for_is_named(tmp_path: Path, kind: Any) -> None:
    """Parquet has longer ones."""
    path = tmp_path / 'details_x_2026-01-01T00-00-00.parquet'
    parquet.write_table(pyarrow.table({'metric': pyarrow.array([-(2**63)]).cast(kind, safe=False)}), path)
    with pytest.raises(InputError, match=r'cannot be read: .*(too large|out of range)'):
        read(path)


@pytest.mark.parametrize('answer', [b'7', datetime(2026, 1, 1), Decimal('1.5'), None, 7])
def test_answers_of_any_kind_become_texts(saved: Path, answer: object) -> None:
    """JSON has no bytes, dates or decimal numbers; an answer that is missing is none."""
    rewrite(details_in(saved), with_entries(lambda one: one.update(answers=[answer] * 8)))
    record = read(details_in(saved)).record
    assert record['details']['answers'] == [['' if answer is None else str(answer)] * 8] * 48
    json.dumps(record)


@pytest.mark.parametrize('size', [0, 7, 2000, 100_000])
def test_torn_details_are_named(saved: Path, size: int) -> None:
    """A copy that stopped on its way."""
    path = details_in(saved)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(InputError, match='cannot be read') as caught:
        read(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize('text', ['', '{', '[]', '"results"', 100_000 * '['])
def test_a_damaged_results_file_is_named(saved: Path, text: str) -> None:
    """Its settings would be missing from the names."""
    summary_in(saved).write_text(text)
    found = collect([saved])
    assert found.results == []
    assert {line.partition(' ')[0] for line in found.passed_over} == {str(summary_in(saved).resolve())}


@pytest.mark.parametrize(
    ('value', 'part'),
    list(
        zip(
            [None, [], 'text', {'model_config': {'generation_parameters': 7}}],
            cycle(['config_general', 'config_tasks', 'results']),
        )
    ),
)
def test_a_results_file_of_another_shape_does_not_stop_a_report(saved: Path, part: str, value: Any) -> None:
    """What it does not tell is not known."""
    summary = json.loads(summary_in(saved).read_text(encoding='utf-8'))
    summary_in(saved).write_text(json.dumps({**summary, part: value}))
    assert len(collect([saved]).results) == 1


def test_settings_of_another_shape_are_not_known(saved: Path) -> None:
    """Nothing but numbers goes into a name."""
    summary = json.loads(summary_in(saved).read_text(encoding='utf-8'))
    told = summary['config_general']['model_config']['generation_parameters']
    told.update(temperature='hot', top_p=[1], top_k=-4, repetition_penalty=True, seed=1e300)
    summary_in(saved).write_text(json.dumps(summary))
    assert read(details_in(saved)).settings == Settings(40)


def test_the_limit_that_the_backend_heeds_is_the_length(saved: Path) -> None:
    """Transformers without continuous batching takes the task's, all others the model's before it."""
    summary = json.loads(summary_in(saved).read_text(encoding='utf-8'))
    config = summary['config_general']['model_config']
    config['generation_parameters']['max_new_tokens'] = 4096
    lengths = []
    for batching in (False, True):
        summary_in(saved).write_text(json.dumps(summary))
        settings = read(details_in(saved)).settings
        lengths.append(settings and settings.max_out_len)
        config['continuous_batching'] = not batching
    assert lengths == [40, 4096]


def test_keys_in_a_results_file_stay_there(tmp_path: Path, saved: Path) -> None:
    """Lighteval writes a model's arguments down, api_key too."""
    summary = json.loads(summary_in(saved).read_text(encoding='utf-8'))
    summary['config_general']['model_config']['api_key'] = 'sk-secret'
    summary_in(saved).write_text(json.dumps(summary))
    assert main(['report', str(saved), '-o', str(tmp_path / 'r'), '--only', 'tables']) == 0
    written = [path.read_text(encoding='utf-8') for path in (tmp_path / 'r').rglob('*') if path.is_file()]
    assert written
    assert not any('sk-secret' in text for text in written)


def test_plan_takes_details_as_a_pilot(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As any other result."""
    assert main(['plan', '--half-width', '5', '--k', '8', '--pilot', str(details_in(saved))]) == 0
    assert '48 questions × 8 samples' in capsys.readouterr().out


def test_compare_takes_a_folder_of_lighteval(
    tmp_path: Path, saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Models are matched by their names without the host."""
    published = tmp_path / 'published.json'
    published.write_text(json.dumps({'demo': {'mG-Pass@8': {BENCHMARK: 20.0}}}))
    assert main(['compare', str(saved), str(published)]) == 0
    assert '| demo_t1.0_p0.9_l40 | demo' in capsys.readouterr().out


def test_compare_pairs_the_runs_of_two_hosts(
    tmp_path: Path, saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Question by question, in whatever order they stand, with the warning about prompts."""

    def other(record: dict[str, Any]) -> None:
        counts = record['gpassk']['counts']
        counts['c'] = [c // 2 for c in counts['c']]
        for name, column in counts.items():
            counts[name] = column[::-1]
        del record['details']

    beside(tmp_path / 'oc', other)
    assert main(['compare', str(tmp_path / 'oc'), str(saved), '--metric', 'accuracy']) == 0
    said = ' '.join(capsys.readouterr().out.split())
    counts = read(details_in(saved)).counts
    by_problem = (counts - counts // 2).reshape(-1, 2, 8).mean(axis=1).ravel() / 8
    # Two problems are added: Student's t of 23 degrees.
    error = (24 * by_problem.var(ddof=1) + 2) ** 0.5 / 24
    low, high = (100 * (by_problem.mean() + side * 2.0687 * error) for side in (-1, 1))
    assert f'{100 * by_problem.mean():+.2f} | [{low:+.1f}, {high:+.1f}]' in said
    assert "the chat template are each host's own" in said


def test_compare_of_one_run_says_what_can_be_compared(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is nothing beside it."""
    assert main(['compare', str(saved)]) == 2
    assert 'only runs on the same questions' in capsys.readouterr().err


def test_the_page_shows_both_hosts(tmp_path: Path, saved: Path) -> None:
    """Names, warning and answers."""
    pytest.importorskip('jinja2', reason='the extra "report" is not installed')
    page = pytest.importorskip('gpassk_opencompass.report.page', reason='the extra "report" is not installed')
    beside(tmp_path / 'oc')
    content = page.page_content([board_of(tmp_path / 'oc', saved)])
    assert [one['name'] for one in content['boards'][0]['entries']] == [
        'demo_t1.0_p0.9_l40 (lighteval)',
        'other_t0.7_l40 (opencompass)',
    ]
    assert content['boards'][0]['reason'].startswith('Runs of lighteval and opencompass stand together')


def test_a_record_holds_nothing_that_json_does_not(saved: Path) -> None:
    """So it can be kept as a file of its own."""
    result: Result = read(details_in(saved))
    assert json.loads(json.dumps(result.record)) == result.record


def test_an_average_over_benchmarks_takes_both_hosts(tmp_path: Path, saved: Path) -> None:
    """Their packages alone do not make two judges; another judge does."""

    def other_benchmark(record: dict[str, Any]) -> None:
        record['gpassk']['data'] |= {'sha256': 64 * '0'}
        del record['details']
        counts = record['gpassk']['counts']
        counts['problem'] = [f'other/{problem}' for problem in counts['problem']]

    def older(record: dict[str, Any]) -> None:
        record['gpassk']['judge']['math-verify'] = '0.9.0'

    def both(record: dict[str, Any]) -> None:
        other_benchmark(record)
        older(record)

    beside(tmp_path / 'oc', older)
    second = beside(tmp_path / 'more', both)
    second.rename(second.with_name('MATH500-L5-k4_8-r1.json'))
    found, _ = boards(collect([tmp_path]).results)
    assert (len(found), why_no_average(found)) == (2, '')
    record = json.loads(second.with_name('MATH500-L5-k4_8-r1.json').read_text())
    record['gpassk']['judge']['timeout'] = 1.0
    second.with_name('MATH500-L5-k4_8-r1.json').write_text(json.dumps(record))
    found, _ = boards(collect([tmp_path]).results)
    assert why_no_average(found) == 'the benchmarks were judged by different judges'
