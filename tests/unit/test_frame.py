"""Which results stand in one table, what runs are called there, and the numbers of the frame."""

from pathlib import Path

import numpy as np
import pytest
from made_results import board_of, made_result, made_sweep, result_of
from result_files import ABBR, GREEDY, HALVES, THIRDS, block, write_result, write_three
from scipy import stats

from gpassk_opencompass import record
from gpassk_opencompass.collect import collect
from gpassk_opencompass.report.frame import AVERAGE, boards, frame, run_names, why_no_average

RIGHT_HALF = [1, 0] * 12  # of one answer to each question
COUNTS = (0, 1, 3, 4, 6, 8, 8, 2, 5, 7)


def boards_of(outputs, **options):
    return boards(collect([outputs]).results, **options)


# Boards


def test_runs_are_ranked_by_mg_pass_with_the_greedy_run_beside(tmp_path):
    write_three(tmp_path)
    [board], left_out = boards_of(tmp_path)
    assert [(entry.name, entry.greedy is not None) for entry in board.entries] == [
        ('m2', True),
        ('m1', False),
    ]
    assert (board.k, board.size, left_out) == (2, '24 questions', [])
    assert {group: rows.tolist() for group, rows in board.groups.items()} == {
        'A_cn': list(range(0, 24, 2)),
        'A_en': list(range(1, 24, 2)),
    }


@pytest.mark.parametrize(
    ('other', 'reason'),
    [
        ({'judge': 'llm'}, 'another judge'),
        ({'data': 'e'}, 'other questions or references'),
    ],
)
def test_what_must_not_be_ranked_together_is_not(tmp_path, other, reason):
    write_result(tmp_path, ABBR.format(1), THIRDS)
    write_result(tmp_path, ABBR.format(2), HALVES, **other)
    found, _ = boards_of(tmp_path)
    assert [board.title for board in found] == ['MATH500-L5 (part 1)', 'MATH500-L5 (part 2)']
    assert all(board.reason.endswith(reason) for board in found)


def test_what_stands_in_no_table_is_named_with_its_reason(tmp_path):
    write_result(tmp_path, ABBR.format(1), THIRDS)
    write_result(tmp_path, GREEDY.format(1), [1] * 24, n=1, judge='llm')
    write_result(tmp_path, ABBR.format(3), [1] * 24, n=1)
    write_result(tmp_path, ABBR.format(2), [2] * 24, n=2, work='v')
    [board], left_out = boards_of(tmp_path, k=4)
    assert [entry.greedy for entry in board.entries] == [None]
    reasons = ('a greedy run without samples', 'says nothing of stability', 'n = 2 is less than k = 4')
    assert all(sum(reason in line for line in left_out) == 1 for reason in reasons)


def test_the_greedy_run_has_the_length_of_the_samples_or_a_note(tmp_path):
    """The same max_out_len if there is one, else the largest, as a sweep makes it."""
    for name in ('m1_t1.0_l100', 'm1_t1.0_l50', 'm2_t1.0_l50'):
        write_result(tmp_path, name, THIRDS)
    for name in ('m1_t0_l100', 'm1_t0_l200', 'm1_t0_l70', 'm2_t0_l20'):
        write_result(tmp_path, name, [1] * 24, n=1)
    [board], [line] = boards_of(tmp_path)
    assert {entry.name: entry.greedy_note for entry in board.entries} == {
        'm1 len=100': '',
        'm1 len=50': 'greedy run with max_out_len 200',
        'm2': 'greedy run with max_out_len 20',
    }
    assert 'or with another greedy run beside them' in line


def test_a_run_on_other_questions_under_the_same_hash_stands_apart(tmp_path):
    made = []
    for number, counts in enumerate((HALVES, THIRDS, [4] * 24)):
        one = block(counts, 4, run={'model': ABBR.format(number), 'dataset': 'MATH500-L5-k2-r2'})
        if number == 2:
            one['counts']['uid'] = [f'other{row}' for row in range(24)]
        made.append(record.result_of(tmp_path / f'{number}.json', {'gpassk': one}))
    found, _ = boards(made)
    assert [[entry.name for entry in board.entries] for board in found] == [['m0', 'm1'], ['m2']]
    assert found[0].reason.endswith('other questions or references')


# Names


def named(*names, dataset=''):
    """Results that tell no more than their names."""
    results = [made_result(name, COUNTS, 8, [4]) for name in names]
    for one in results if dataset else ():
        one.run.dataset = dataset
    return results


def recorded(name, config=None, n=4, run=None):
    """A result whose record says this of the model's config, or of another program's run."""
    counts = {1: RIGHT_HALF, 4: THIRDS, 8: [2 * c for c in HALVES]}[n]
    dataset = 'MATH500-L5-k1-r1' if n == 1 else f'MATH500-L5-k2-r{n // 2}'
    told = block(counts, n, run={'model': name, 'dataset': dataset, **(run or {})})
    return record.result_of(Path(name), {'gpassk': told | {'provenance': {'model': config or {}}}})


SWEEP = [run for run in made_sweep(['a', 'b'], questions=4) if run.n > 1]
STEPS = ('/data/step-100/hf', '/data/step-200/hf')
SIZES = [recorded('m'), recorded('m', run={'host': 'lighteval'}), recorded('m', n=8)]
NAMED = {
    'a run without settings leaves the others as they are': (
        [*SWEEP, *named('gpt-4o', '千问（满血版）')],
        [
            *(f'{m} t={t} p={p}' for m in 'ab' for t in (0.3, 0.5, 0.7, 1) for p in (0.8, 1)),
            'gpt-4o',
            '千问（满血版）',
        ],
    ),
    'models of one name have their owners': (
        [
            recorded(name, {'path': path})
            for name, path in (('m_l1', 'one/m'), ('m', 'two/m'), ('x', 'one/x'))
        ],
        ['one/m', 'two/m', 'x'],
    ),
    'or the part of the path that is their own': (
        [recorded('hf_l1', {'path': path}) for path in STEPS],
        ['hf step-100', 'hf step-200'],
    ),
    'but only where nothing else tells them apart: a model may have been moved': (
        [recorded('hf_l1', {'path': p, 'temperature': t}) for p, t in zip(STEPS, (0.3, 0.7), strict=True)],
        ['hf t=0.3', 'hf t=0.7'],
    ),
    'hosts and sizes': (SIZES, ['m opencompass n=4', 'm lighteval', 'm opencompass n=8']),
    'hosts': (SIZES[:2], ['m opencompass', 'm lighteval']),
    'sizes': (SIZES[::2], ['m n=4', 'm n=8']),
    'one name on all benchmarks': (
        [*named('a_t0.3_l64', 'a_t0.7_l64'), *named('a_t0.3_l64', 'a_t0.7_l64', dataset='AIME2024-k4-r1')],
        ['a t=0.3', 'a t=0.7'] * 2,
    ),
    'a number where nothing is known': (named('a', 'a', 'b'), ['a', 'a (2)', 'b']),
}


@pytest.mark.parametrize(('results', 'names'), NAMED.values(), ids=NAMED)
def test_runs_are_called_by_what_tells_them_apart(results, names):
    assert run_names(results) == names


# Numbers


def test_scores_are_those_of_the_records_and_intervals_those_of_the_rule(tmp_path):
    """Two solved and two unsolved problems are added (Agresti and Coull), in the metric's range."""
    write_three(tmp_path)
    found, _ = boards_of(tmp_path)
    data = frame(found).set_index(['run', 'group', 'metric'])
    for entry in found[0].entries:
        for key, value in entry.result.scores().items():
            group, _, metric = key.rpartition('/')
            if (entry.name, group, metric) in data.index:
                assert data.at[(entry.name, group, metric), 'value'] == pytest.approx(value, abs=1e-10)
    values = np.array([1.0] * 8 + [1 / 6] * 8 + [0] * 8 + [1, 1, 0, 0])
    half = stats.t.ppf(0.975, 27) * values.std(ddof=1) / np.sqrt(28)
    row = data.loc[('m1', '', 'G-Pass@2_1.0')]
    assert (row.low, row.high) == pytest.approx((100 * (values.mean() - half), 100 * (values.mean() + half)))
    assert 0 < row.rerun < (row.high - row.low) / 4
    greedy = data.loc[('m2', '', 'Greedy')]
    assert (greedy.value, greedy.n, greedy.temperature) == (pytest.approx(100 * 10 / 24), 1, 0.0)
    assert data.loc[('m1', '', 'mG-Pass@2'), ['rank_low', 'rank_high']].tolist() == [1, 2]


def test_contests_and_languages_are_pooled_too():
    groups = ['AMC_cn', 'AMC_en', 'CNMO_cn', 'CNMO_en'] * 3
    uids = [f'q{number}' for number in range(12)]
    counts = {'uid': uids, 'group': groups, 'c': [number % 5 for number in range(12)]}
    board = board_of([result_of('m', 'B-k4-r1', counts, 4, [4])])
    data = frame([board])
    assert list(dict.fromkeys(data.group)) == ['', *groups[:4], 'AMC', 'CNMO', 'cn', 'en']
    own = data[data.metric == 'accuracy'].set_index('group')
    assert own.at['AMC', 'value'] == pytest.approx(own.loc[['AMC_cn', 'AMC_en'], 'value'].mean())
    assert own.at['AMC', 'questions'] == 6


def test_samples_in_doubt_are_bounds(tmp_path):
    write_result(tmp_path, 'm1_t1.0_l1', [2] * 24, unjudged=[1] * 24)
    row = frame(boards_of(tmp_path)[0]).query('metric == "accuracy" and group == ""').iloc[0]
    assert (row.value, row.bound_low, row.bound_high, row.unjudged) == (50, 50, 75, 24)


def test_reruns_widen_the_ranks_and_are_said():
    """Runs that differ in their seed alone tell how much a run moves; without other seeds nothing does."""
    generator = np.random.default_rng(5)
    results = []
    for model, shift in (('a', 0.0), ('b', 0.35)):
        for seed in (1, 2, 3):
            logits = np.linspace(-3, 3, 120) + shift + generator.normal(0, 0.5)
            counts = generator.binomial(16, 1 / (1 + np.exp(-logits)))
            results.append(made_result(f'{model}_t1.0_rs{seed}_l50', counts.tolist(), 16, [16]))
    board = board_of(results)
    variance, freedom = board.between
    assert freedom == 4
    own = {e.name: 100 * float(e.result.values(board.ranked_by).mean()) for e in board.entries}
    pooled = np.mean([np.var([own[f'{m} seed={s}'] for s in (1, 2, 3)], ddof=1) for m in 'ab'])
    assert 100**2 * variance == pytest.approx(pooled)
    assert any('standard deviation, 4 degrees of freedom' in note for note in board.notes)
    alone = board_of([one for one in results if '_rs1_' in one.run.model])
    assert (alone.between, alone.notes) == ((0.0, 0.0), [])


def two_benchmarks(outputs, **second):
    write_result(outputs, ABBR.format(1), THIRDS, problems=[f'm{i}' for i in range(24)])
    write_result(outputs, ABBR.format(2), HALVES, problems=[f'm{i}' for i in range(24)])
    more = {'problems': [f'a{i}' for i in range(24)], 'data': 'other', **second}
    write_result(outputs, ABBR.format(1), HALVES, dataset='AIME2024', **more)
    return boards_of(outputs)[0]


def test_an_average_is_over_all_benchmarks_or_none(tmp_path):
    """With the errors of independent parts and Satterthwaite's degrees of freedom."""
    data = frame(two_benchmarks(tmp_path))
    [row] = data[data.benchmark == AVERAGE].itertuples()
    assert (row.run, row.metric) == ('m1', 'mG-Pass@2')
    assert row.value == pytest.approx((55.5556 + 38.8889) / 2, abs=1e-3)
    parts = []
    for solved, half in ((8, 8), (12, 8)):
        values = np.array([1.0] * solved + [1 / 6] * half + [0] * (24 - solved - half) + [1, 1, 0, 0])
        parts.append((values.mean(), values.var(ddof=1) / 28))
    error = np.sqrt(sum(part for _, part in parts)) / 2
    freedom = sum(part for _, part in parts) ** 2 / sum(part**2 / 27 for _, part in parts)
    middle = np.mean([mean for mean, _ in parts])
    assert row.high == pytest.approx(100 * (middle + stats.t.ppf(0.975, freedom) * error))


@pytest.mark.parametrize(
    ('second', 'reason'),
    [
        ({'judge': 'llm'}, 'different judges'),
        ({'problems': [f'm{i}' for i in range(24)]}, 'share 24 problems'),
        ({'n': 8, 'k': [4]}, 'different k'),
    ],
)
def test_what_must_not_be_averaged_is_not(tmp_path, second, reason):
    found = two_benchmarks(tmp_path, **second)
    assert reason in why_no_average(found)
    assert AVERAGE not in set(frame(found).benchmark)


# Greedy runs are found by what they were drawn with, whatever they are called


HOT, COLD = {'path': 'org/m', 'temperature': 0.7}, {'path': 'org/m', 'temperature': 0.0}
BESIDE = {
    'another program says it of its run': (
        [
            recorded('m', run={'settings': {'temperature': 1.0}}),
            recorded('m', n=1, run={'settings': {'temperature': 0.0, 'max_tokens': 64}}),
        ],
        {'m': 'm'},
    ),
    'a name does not make it greedy': (
        [recorded('m_t1.0_l64'), recorded('m_t0_l64', {'temperature': 0.7}, n=1)],
        {'m_t1.0_l64': None},
    ),
    'two owners do not exchange theirs': (
        [
            recorded('a_l64', {**HOT, 'path': 'one/m'}), recorded('b_l64', {**COLD, 'path': 'one/m'}, n=1),
            recorded('c_l64', {**HOT, 'path': 'two/m'}), recorded('d_l64', {**COLD, 'path': 'two/m'}, n=1),
            recorded('b_l64', {**HOT, 'path': 'three/m'}),
        ],
        {'a_l64': 'b_l64', 'c_l64': 'd_l64', 'b_l64': None},
    ),
    'a model that was moved keeps its own': (
        [recorded('m_t1.0_l64', {**HOT, 'path': '/a/m'}), recorded('m_t0_l64', {**COLD, 'path': '/b'}, n=1)],
        {'m_t1.0_l64': 'm_t0_l64'},
    ),
}  # fmt: skip
BESIDE |= {
    f'the record says {config}': (
        [recorded('sampled 数学', HOT), recorded('greedy.1', {'path': 'org/m', **config}, n=1)],
        {'sampled 数学': 'greedy.1'},
    )
    for config in (
        {'temperature': 0}, {'generation_kwargs': {'do_sample': False, 'temperature': 0.6}},
        {'extra_body': {'top_k': 1}, 'temperature': 1.0},
    )
}  # fmt: skip


@pytest.mark.parametrize(('results', 'greedy'), BESIDE.values(), ids=BESIDE)
def test_a_greedy_run_stands_beside_the_samples_of_its_model(results, greedy):
    entries = [entry for board in boards(results)[0] for entry in board.entries]
    assert {e.result.run.model: e.greedy and e.greedy.run.model for e in entries} == greedy


def test_settings_are_those_of_the_manifest_the_record_and_the_name_in_this_order():
    result = recorded('m_t0.5_p0.8_l64', {'temperature': 0.7, 'top_k': 50, 'random_seed': True})
    assert result.sampling == {'max_out_len': 64, 'temperature': 0.7, 'top_p': 0.8, 'top_k': 50}
