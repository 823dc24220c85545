"""File names and abbreviations: written and read back by one module."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.sweep import names
from gpassk_opencompass.sweep.names import DatasetName, ModelName, RunName, Settings

EXAMPLE = 'deepseek-math-7b-rl_t0-3_p0-8_k50_rp1-0_rs42_l8192@LiveMathBench-v202412-k4_8_16-r3.py'

words = st.text('AZaz09', min_size=1, max_size=5)
axis = st.lists(words, min_size=1, max_size=4, unique=True).map(tuple)
model_names = st.one_of(
    st.text('aZ9_-+é模', min_size=1, max_size=20),
    st.lists(st.sampled_from(['m', '_t', '_p0', '_k', '_rp', '_rs', '_l', '0', '1-0', '-']), min_size=1).map(
        ''.join
    ),
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


@st.composite
def dataset_names(draw: st.DrawFn) -> DatasetName:
    """Any data set name that can be written."""
    ks = tuple(sorted(draw(st.sets(st.integers(1, 64), min_size=1, max_size=4))))
    n = draw(st.integers(max(ks), 300) | st.integers(1, 5).map(lambda r: r * max(ks)))
    standard = draw(st.booleans())
    rows = {} if standard else {'splits': draw(axis), 'languages': draw(axis)}
    return DatasetName(
        draw(st.text('AZaz09_', min_size=1, max_size=8)), ks, n, cot=draw(st.booleans()), **rows
    )


def test_the_documented_name() -> None:
    """The example of the documentation comes out letter by letter, and reads back."""
    model = ModelName('deepseek-math-7b-rl', Settings(8192, 0.3, 0.8, 50, 1.0, 42))
    run = RunName(model, DatasetName('202412', (4, 8, 16), 48))
    assert str(run) == EXAMPLE
    assert RunName.parse(EXAMPLE) == run
    assert RunName.parse(EXAMPLE.removesuffix('.py')) == run


@pytest.mark.parametrize(
    ('settings', 'text'),
    [
        (Settings(8192, temperature=0.0), 'm_t0_l8192'),
        (Settings(8192, temperature=-0.0), 'm_t0_l8192'),
        (Settings(8192, temperature=1), 'm_t1-0_l8192'),
        (Settings(8192), 'm_l8192'),
        (Settings(1, temperature=1e-05), 'm_t0-00001_l1'),
        (Settings(1, temperature=0.30000000000000004), 'm_t0-30000000000000004_l1'),
        (Settings(1, repetition_penalty=1e22), 'm_rp10000000000000000000000-0_l1'),
        (Settings(1, top_k=0, random_seed=0), 'm_k0_rs0_l1'),
    ],
)
def test_numbers_in_names(settings: Settings, text: str) -> None:
    """Numbers are positional with `-` for the point; what is not passed has no part."""
    assert str(ModelName('m', settings)) == text
    assert ModelName.parse(text) == ModelName('m', settings)


@pytest.mark.parametrize(
    ('name', 'text'),
    [
        (DatasetName('202412', (16,), 50), 'LiveMathBench-v202412-k16-n50'),
        (DatasetName('202412', (1,), 1), 'LiveMathBench-v202412-k1-r1'),
        (
            DatasetName('202412', (4,), 12, ('AMC', 'CCEE'), ('en',)),
            'LiveMathBench-v202412-AMC_CCEE-en-k4-r3',
        ),
        (DatasetName('202412', (4,), 12, cot=False), 'LiveMathBench-v202412-nocot-k4-r3'),
        (DatasetName('x', (4,), 12, ('a',), ('b',), cot=False), 'LiveMathBench-vx-a-b-nocot-k4-r3'),
        (DatasetName('x', (4,), 12, ('nocot',), ('k4',)), 'LiveMathBench-vx-nocot-k4-k4-r3'),
    ],
)
def test_dataset_names(name: DatasetName, text: str) -> None:
    """n that is no multiple of max(k) is written itself; rows other than the standard ones are marked."""
    assert str(name) == text
    assert DatasetName.parse(text) == name


def test_another_order_of_splits_is_another_name() -> None:
    """OpenCompass matches predictions by position, so another order must not share an abbreviation."""
    swapped = DatasetName('202412', (4,), 12, ('CCEE', 'CNMO', 'AMC', 'WLPMC'))
    assert str(swapped) != str(DatasetName('202412', (4,), 12))


@given(model_names, settings, dataset_names())
def test_names_round_trip(model: str, settings: Settings, dataset: DatasetName) -> None:
    """Whatever can be written reads back as exactly the same settings."""
    try:
        run = RunName(ModelName(model, settings), dataset)
    except InputError:
        assume(False)
    assert RunName.parse(str(run)) == run


@given(st.tuples(model_names, settings), st.tuples(model_names, settings))
def test_different_runs_have_different_names(one: tuple[str, Settings], two: tuple[str, Settings]) -> None:
    """No two model parts are written alike."""
    try:
        first, second = ModelName(*one), ModelName(*two)
    except InputError:
        assume(False)
    assert (str(first) == str(second)) == (first == second)


@pytest.mark.parametrize(
    ('model', 'settings'),
    [
        ('phi_k5', Settings(10)),
        ('phi_t1-0', Settings(10, top_p=0.5)),
        ('', Settings(10)),
        ('a/b', Settings(10)),
        ('a@b', Settings(10)),
        ('Qwen2.5', Settings(10)),
        ('m', Settings(10, temperature=float('nan'))),
        ('m', Settings(10, temperature=-0.5)),
    ],
)
def test_a_name_that_would_read_back_differently_is_refused(model: str, settings: Settings) -> None:
    """Better no name than one that says something else."""
    with pytest.raises(InputError, match='cannot be told'):
        ModelName(model, settings)


def test_a_setting_in_front_of_another_stays_in_the_model_name() -> None:
    """Only an ending that reads as a setting is in the way."""
    name = ModelName('phi_t1', Settings(10, 0.3))
    assert ModelName.parse(str(name)) == name


@pytest.mark.parametrize('words', [('a-b',), ('a_b',), ('a@b',), ('',), ('é',), ()])
def test_words_that_do_not_go_into_a_dataset_name(words: tuple[str, ...]) -> None:
    """A split or language with a separator in it is refused."""
    with pytest.raises(InputError, match='letters and digits'):
        DatasetName('202412', (4,), 4, splits=words)
    with pytest.raises(InputError, match='letters and digits'):
        DatasetName('202412', (4,), 4, languages=words)


@pytest.mark.parametrize(('ks', 'n'), [((4, 8), 7), ((0,), 1), ((), 1)])
def test_k_outside_of_n(ks: tuple[int, ...], n: int) -> None:
    """Every k must be in 1 … n."""
    with pytest.raises(InputError, match='every k'):
        DatasetName('202412', ks, n)


@pytest.mark.parametrize(
    'text',
    [
        'no-at-sign',
        'm_t0-3@LiveMathBench-v202412-k4-r3',
        'm_l10@LiveMathBench-v202412_k4-8-16_n48',
        'm_l10@MATH500-k4-r3',
        '@LiveMathBench-v202412-k4-r3',
        'm_l10@LiveMathBench-v202412-k4-r0',
    ],
)
def test_other_names_are_not_read(text: str) -> None:
    """A name that this project did not write is an error, not a guess."""
    with pytest.raises(InputError):
        RunName.parse(text)


@pytest.mark.parametrize(
    ('model', 'text'), [('Qwen2.5-7B', 'Qwen2-5-7B'), ('llama3:8b', 'llama3-8b'), ('a@b c', 'a-b-c')]
)
def test_clean(model: str, text: str) -> None:
    """What cannot stand in a name becomes `-`."""
    assert names.clean(model) == text
