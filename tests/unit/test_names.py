"""File names and abbreviations: written and read back by one module."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpassk_opencompass.benchmarks import BENCHMARKS, LiveMathBenchRows, QuestionSet
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.sweep import names
from gpassk_opencompass.sweep.names import (
    DatasetName,
    ModelName,
    RunName,
    Settings,
    check_file_name,
)

EXAMPLE = 'deepseek-math-7b-rl_t0-3_p0-8_k50_rp1-0_rs42_l8192@LiveMathBench-v202412-k4_8_16-r3.py'

words = st.text('AZaz09', min_size=1, max_size=5)
axis = st.lists(words, min_size=1, max_size=4, unique=True).map(tuple)
model_names = st.one_of(
    st.text('aZ9_-+.é模', min_size=1, max_size=20),
    st.lists(
        st.sampled_from(['m', '_t', '_p0', '_k', '_rp', '_rs', '_sl', '_l', '0', '1-0', '2.5', '-', '.']),
        min_size=1,
    ).map(''.join),
    st.text('aZ9_-+.é模', min_size=80, max_size=400),
)
settings = st.builds(
    Settings,
    max_out_len=st.integers(1, 10**6),
    temperature=st.none() | st.floats(0, 2),
    top_p=st.none() | st.floats(0, 1, exclude_min=True),
    top_k=st.none() | st.integers(0, 10**4),
    repetition_penalty=st.none() | st.floats(0, 10**20, exclude_min=True),
    random_seed=st.none() | st.integers(0, 2**64 - 1),
)


live_math_bench_names = st.builds(
    LiveMathBenchRows, st.text('AZaz09_', min_size=1, max_size=8), axis, axis
) | st.text('AZaz09_', min_size=1, max_size=80).map(LiveMathBenchRows)
labels = st.sampled_from(
    [questions.label for questions in BENCHMARKS.values() if isinstance(questions, QuestionSet)]
) | (live_math_bench_names.map(str))


@st.composite
def dataset_names(draw: st.DrawFn) -> DatasetName:
    """Any data set name that can be written."""
    ks = tuple(sorted(draw(st.sets(st.integers(1, 64), min_size=1, max_size=4))))
    n = draw(st.integers(max(ks), 300) | st.integers(1, 5).map(lambda r: r * max(ks)))
    return DatasetName(draw(labels), ks, n, draw(st.booleans()))


def test_the_documented_name():
    model = ModelName('deepseek-math-7b-rl', Settings(8192, 0.3, 0.8, 50, 1.0, 42))
    run = RunName(model, DatasetName('LiveMathBench-v202412', (4, 8, 16), 48))
    assert str(run) == EXAMPLE
    assert RunName.parse(EXAMPLE) == run
    assert RunName.parse(EXAMPLE.removesuffix('.py')) == run


@pytest.mark.parametrize(
    ('settings', 'text'),
    [
        (Settings(8192, temperature=0.0), 'm_t0_l8192'),
        (Settings(8192, temperature=-0.0), 'm_t0_l8192'),
        (Settings(8192, temperature=1), 'm_t1.0_l8192'),
        (Settings(8192), 'm_l8192'),
        (Settings(1, temperature=1e-05), 'm_t0.00001_l1'),
        (Settings(1, temperature=0.30000000000000004), 'm_t0.30000000000000004_l1'),
        (Settings(1, repetition_penalty=1e22), 'm_rp10000000000000000000000.0_l1'),
        (Settings(1, top_k=0, random_seed=0), 'm_k0_rs0_l1'),
    ],
)
def test_numbers_in_names(settings, text):
    """With `-` for the point they are read, too."""
    assert str(ModelName('m', settings)) == text
    assert ModelName.parse(text) == ModelName('m', settings)
    assert ModelName.parse(text.replace('.', '-')) == ModelName('m', settings)


@pytest.mark.parametrize(
    ('name', 'text'),
    [
        (DatasetName('LiveMathBench-v202412', (16,), 50), 'LiveMathBench-v202412-k16-n50'),
        (DatasetName('LiveMathBench-v202412', (1,), 1), 'LiveMathBench-v202412-k1-r1'),
        (DatasetName('LiveMathBench-v202412', (4,), 12, cot=False), 'LiveMathBench-v202412-nocot-k4-r3'),
        (DatasetName('AIME2024', (4, 8, 16), 48), 'AIME2024-k4_8_16-r3'),
        (DatasetName('AIME2025-I', (4,), 12), 'AIME2025-I-k4-r3'),
        (DatasetName('MATH500-L5', (4,), 13, cot=False), 'MATH500-L5-nocot-k4-n13'),
        (DatasetName('OlymMATH-en-hard', (2,), 4), 'OlymMATH-en-hard-k2-r2'),
    ],
)
def test_dataset_names(name, text):
    assert str(name) == text
    assert DatasetName.parse(text) == name


@pytest.mark.slow
@given(model_names, settings, dataset_names())
def test_names_round_trip_and_fit_into_255_bytes(model, settings, dataset):
    """As exactly the same settings, a long name as what it was cut to; in every file of a run."""
    try:
        run = RunName(ModelName(model, settings), dataset)
        again = RunName.parse(check_file_name(str(run)))
    except InputError:
        assume(False)
    assert str(again) == str(run)
    assert again.model.settings == ModelName.parse(str(run.model)).settings == settings
    assert vars(again.dataset) | {'label': ''} == vars(dataset) | {'label': ''}
    for written, whole, limit in (
        (again.model.model, model, names.MAX_MODEL),
        (again.dataset.label, dataset.label, names.MAX_LABEL),
    ):
        there = whole.replace('.', '-')
        if len(there.encode()) <= limit:
            assert written == there
        else:
            assert len(written.encode()) <= limit
            assert there.startswith(written.partition('~')[0])
    files = [f'{run.dataset}{end}' for end in ('_9999.rows.jsonl', '_9999.json', '_9999.lock')]
    assert max(len(file.encode()) for file in (str(run), str(run.model), *files)) <= 255


@pytest.mark.parametrize(
    'text', ['a~12345678_l10', 'a' * 90 + '~1234567g_l10', 'a' * 96 + 'b_l10', 'a~b_l10']
)
def test_a_cut_name_that_was_not_cut_is_not_read(text):
    with pytest.raises(InputError):
        ModelName.parse(text)


@given(st.tuples(model_names, settings), st.tuples(model_names, settings))
def test_different_runs_have_different_names(one, two):
    """No two model parts are written alike, and none but by a hash is cut to the same."""
    try:
        first, second = ModelName(*one), ModelName(*two)
    except InputError:
        assume(False)
    assume(max(len(first.model), len(second.model)) <= names.MAX_MODEL or '.' not in one[0] + two[0])
    assert (str(first) == str(second)) == (first == second)


@pytest.mark.parametrize(
    ('model', 'settings'),
    [
        ('phi_k5', Settings(10)),
        ('phi_t1-0', Settings(10, top_p=0.5)),
        ('', Settings(10)),
        ('a/b', Settings(10)),
        ('a@b', Settings(10)),
        ('.Qwen', Settings(10)),
        ('phi_t1.0', Settings(10, top_p=0.5)),
        ('m', Settings(10, temperature=float('nan'))),
        ('m', Settings(10, temperature=-0.5)),
    ],
)
def test_a_name_that_would_read_back_differently_is_refused(model, settings):
    with pytest.raises(InputError, match='cannot be told'):
        ModelName(model, settings)


@pytest.mark.parametrize(
    'text',
    [
        'no-at-sign',
        'm_t0-3@LiveMathBench-v202412-k4-r3',
        'm_l10@LiveMathBench-v202412_k4-8-16_n48',
        '@LiveMathBench-v202412-k4-r3',
        'm_l10@LiveMathBench-v202412-k4-r0',
        'm_l10@AIME2024-k4-n12',
        'm_t1_l10@AIME2024-k4-r3',
        'm_t0.3_l10@AIME2024-k4-r3',
        'Qwen2.5_l10@AIME2024-k4-r3',
        'm_l10@LiveMathBench-v202412-CNMO_CCEE_AMC_WLPMC-cn_en-k4-r3',
    ],
)
def test_other_names_are_not_read(text):
    with pytest.raises(InputError):
        RunName.parse(text)
