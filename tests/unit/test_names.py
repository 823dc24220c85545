"""File names and abbreviations: written and read by one module."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpassk_opencompass.benchmarks import BENCHMARKS, LiveMathBenchRows, QuestionSet
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.sweep import names
from gpassk_opencompass.sweep.names import DatasetName, ModelName, Settings, file_name, model_and_settings

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
    return DatasetName(draw(labels), ks, n, draw(st.booleans()), draw(st.none() | st.integers(1, 99)))


def test_the_documented_name():
    model = ModelName('deepseek-math-7b-rl', Settings(8192, 0.3, 0.8, 50, 1.0, 42))
    assert file_name(str(model), str(DatasetName('LiveMathBench-v202412', (4, 8, 16), 48))) == EXAMPLE


@pytest.mark.parametrize(
    ('settings', 'text'),
    [
        (Settings(8192, temperature=0.0), 'm_t0_l8192'),
        (Settings(8192), 'm_l8192'),
        (Settings(1, temperature=1e-05), 'm_t0.00001_l1'),
        (Settings(1, top_k=0, random_seed=0), 'm_k0_rs0_l1'),
    ],
)
def test_numbers_in_names(settings, text):
    """With `-` for the point they are read, too."""
    assert str(ModelName('m', settings)) == text
    for written in (text, text.replace('.', '-')):
        assert model_and_settings(written) == ('m', settings.passed())


@pytest.mark.parametrize(
    ('name', 'text'),
    [
        (DatasetName('LiveMathBench-v202412', (16,), 50), 'LiveMathBench-v202412-k16-n50'),
        (DatasetName('AIME2024', (4, 8, 16), 48, limit=9), 'AIME2024-limit9-k4_8_16-r3'),
        (DatasetName('MATH500-L5', (4,), 13, cot=False), 'MATH500-L5-nocot-k4-n13'),
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
        abbr = str(ModelName(model, settings))
        file = file_name(abbr, str(dataset))
    except InputError:
        assume(False)
    left, _, right = file.removesuffix('.py').partition('@')
    again = DatasetName.parse(right)
    assert model_and_settings(left)[1] == model_and_settings(abbr)[1] == settings.passed()
    assert vars(again) | {'label': ''} == vars(dataset) | {'label': ''}
    for written, whole, limit in (
        (model_and_settings(left)[0], model, names.MAX_MODEL),
        (again.label, dataset.label, names.MAX_LABEL),
    ):
        there = whole.replace('.', '-')
        if len(there.encode()) <= limit:
            assert written == there
        else:
            assert len(written.encode()) <= limit
            assert there.startswith(written.partition('~')[0])
    files = [f'{dataset}{end}' for end in ('_9999.rows.jsonl', '_9999.json', '_9999.lock')]
    assert max(len(one.encode()) for one in (file, abbr, *files)) <= 255


@pytest.mark.parametrize(
    ('model', 'settings'),
    [
        ('phi_t1-0', Settings(10, top_p=0.5)),
        ('', Settings(10)),
        ('a/b', Settings(10)),
        ('.Qwen', Settings(10)),
        ('m', Settings(10, temperature=float('nan'))),
    ],
)
def test_a_name_that_would_read_back_differently_is_refused(model, settings):
    with pytest.raises(InputError, match='cannot be told'):
        ModelName(model, settings)


@pytest.mark.parametrize(
    'text',
    [
        'LiveMathBench-v202412_k4-8-16_n48',
        'LiveMathBench-v202412-k4-r0',
        'AIME2024-k4-n12',
        'LiveMathBench-v202412-CNMO_CCEE_AMC_WLPMC-cn_en-k4-r3',
    ],
)
def test_other_names_are_not_read(text):
    with pytest.raises(InputError):
        DatasetName.parse(text)
