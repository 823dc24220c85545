"""Samples: columns, what contradicts itself, and the Parquet file of whole questions."""

import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from gpassk_opencompass import InputError, Samples
from gpassk_opencompass import samples as module
from gpassk_opencompass.samples import COLUMNS

WHOLE = Samples(
    {
        'uid': ['b', 'a', 'a', 'b', 'c'],
        'replica': [1, 0, 1, 0, 7],
        'problem': ['p', 'p', 'p', 'p', None],
        'group': ['S_en', None, None, 'S_en', 'cn'],
        'seed': [11, None, 13, 2**53 - 1, 0],
        'response': ['It is \\boxed{2}', '', None, 'x' * 20_000, 'a\x00b\u2028c\r\n\U0001f600'],
        'verdict': ['correct', 'incorrect', None, 'unjudged', 'incorrect'],
        'why': [None, 'timeout', None, 'silent', None],
        'seconds': [1.5, 0, None, 1e-9, 2.5],
        'file': ['f.jsonl', 'f.jsonl', 'f.jsonl', None, 'f.jsonl'],
        'row': [1, 2, 3, None, 5],
    }
)
"""Three questions, their rows in any order."""

ORDER = [3, 0, 1, 2, 4]
"""Its rows question by question, replicas ascending."""


def columns_of(samples):
    return {name: list(samples[name]) for name in samples.names}


def written(path, samples=WHOLE):
    samples.write(path)
    return path


def test_a_file_gives_back_what_was_written(tmp_path):
    """Question by question; NUL, U+2028, 20 kB, emoji and empty texts as they were, None apart from empty."""
    assert columns_of(Samples.read(written(tmp_path / 'x'))) == columns_of(WHOLE.select(ORDER))
    table = parquet.read_table(tmp_path / 'x')
    assert table.column_names == [column.name for column in COLUMNS]
    assert {field.metadata[b'about'].decode() for field in table.schema} == {one.about for one in COLUMNS}
    assert table.schema.metadata[b'gpassk.samples'] == b'2'
    assert table.column('response').to_pylist() == [WHOLE['response'][row] for row in ORDER]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(
            st.sampled_from('abc'),
            st.none() | st.text(),
            st.none() | st.text(max_size=3),
            st.none() | st.integers(-(2**63), 2**63 - 1),
            st.none() | st.floats(allow_nan=False),
        ),
        min_size=1,
    ),
    st.sampled_from([1, 100, 8 << 20]),
)
def test_any_values_come_back(tmp_path, rows, group_bytes):
    uid, response, group, seed, seconds = map(list, zip(*rows, strict=True))
    told = {'response': response, 'group': group, 'seed': seed, 'seconds': seconds}
    samples = Samples({'uid': uid, 'replica': list(range(len(rows))), **told})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, 'GROUP_BYTES', group_bytes)
        samples.write(tmp_path / 'any')
    read, expected = Samples.read(tmp_path / 'any'), samples.by_question().values()
    for name in ('uid', 'replica', *told):
        assert list(read.each(name)) == [samples[name][row] for rows in expected for row in rows]
    assert samples.counts().n.tolist() == [uid.count(one) for one in dict.fromkeys(uid)]


def test_one_question_is_read_from_its_row_groups_alone(tmp_path, monkeypatch):
    """Groups end where a question does, near their size; of a question the others' pages are not touched."""
    monkeypatch.setattr(module, 'GROUP_BYTES', 5_000)
    rows = [(f'q{q}', r) for q in range(12) for r in range(4)]
    texts = [f'{uid} {replica} '.ljust(1_000, '.') for uid, replica in rows]
    samples = Samples({'uid': [u for u, _ in rows], 'replica': [r for _, r in rows], 'response': texts})
    path = written(tmp_path / 'x', samples)
    meta = parquet.ParquetFile(path).metadata
    sizes = [meta.row_group(number).num_rows for number in range(meta.num_row_groups)]
    assert sizes == [8] * 6
    first = meta.row_group(1).column(0).dictionary_page_offset
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(first - 4) + whole[first:])  # the first group is no Parquet any more
    part = Samples.read(path, columns=['response'], rows=(12, 16))
    assert part.names == ['uid', 'replica', 'response']
    assert list(part['response']) == texts[12:16]
    assert list(Samples.read(path, rows=(14, 18))['response']) == texts[14:18]
    assert len(Samples.read(path, rows=(48, 52))) == 0
    with pytest.raises(InputError, match='cannot be read as samples'):
        Samples.read(path)


def test_a_file_that_is_damaged_or_of_another_layout_is_an_error_of_one_line(tmp_path):
    """Cut, empty, a text, a folder, missing, without uids; somebody else's, one of another release."""
    whole = written(tmp_path / 'whole').read_bytes()
    (tmp_path / 'folder').mkdir()
    parquet.write_table(parquet.read_table(tmp_path / 'whole').drop_columns(['uid']), tmp_path / 'bare')
    damaged = {'cut': whole[:-20], 'empty': b'', 'text': b'{"uid": 1}\n', 'middle': whole[:99] + whole[199:]}
    for name, content in damaged.items():
        (tmp_path / name).write_bytes(content)
    said = dict.fromkeys((*damaged, 'folder', 'missing', 'bare'), 'cannot be read as samples')
    for name, layout in (('none', None), ('1', '1'), ('3', '3')):
        table = pyarrow.table({'uid': ['a'], 'replica': [0]})
        meta = {'gpassk.samples': layout} if layout else {}
        parquet.write_table(table.replace_schema_metadata(meta), tmp_path / name)
        said[name] = f'layout of samples is {name}; this version reads 2'
    for name, why in said.items():
        with pytest.raises(InputError, match=f'{name} .*{why}') as told:
            Samples.read(tmp_path / name)
        assert '\n' not in str(told.value).strip(), name


# Columns


def test_a_column_is_one_of_the_table_and_has_an_entry_a_row():
    """With the names that there are; one that is not known is an error, None, or a column of None."""
    for columns, said in (
        ({'uid': ['a'], 'replica': [0], 'answers': ['1']}, "no column 'answers'; expected run, uid"),
        ({'uid': ['a']}, 'need uid, replica'),
        ({'uid': ['a'], 'replica': [0, 1]}, "an entry a row in each column, got {'uid': 1, 'replica': 2}"),
    ):
        with pytest.raises(InputError, match=said):
            Samples(columns)
    assert 'question' not in WHOLE
    assert list(WHOLE.each('question')) == [None] * 5
    with pytest.raises(InputError, match='no column question; they have uid, replica, problem'):
        WHOLE['question']
    assert WHOLE.replace(group=None, question=['?'] * 5).names[:4] == ['uid', 'problem', 'replica', 'seed']


def test_counts_are_of_each_question_in_order_of_appearance():
    """What has no verdict is unjudged, what the judge gave up on undecided; n may differ."""
    counts = WHOLE.counts()
    assert (counts.uid, counts.problem, counts.group) == (
        ['b', 'a', 'c'],
        ['p', 'p', 'c'],
        ['S_en', 'all', 'cn'],
    )
    assert counts.undecided is not None
    columns = (counts.n, counts.c, counts.unjudged, counts.undecided)
    assert [column.tolist() for column in columns] == [[2, 2, 1], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    some = counts.select(counts.n == 2)
    assert (some.uid, some.c.tolist(), len(some)) == (['b', 'a'], [1, 0], 2)
    assert counts.select([2]).uid == ['c']


@pytest.mark.parametrize(
    ('column', 'said'),
    [
        ({'uid': ['a', None]}, 'row 2: uid is None; expected a text'),
        ({'replica': [0, True]}, 'row 2: replica is True; expected a whole number'),
        ({'replica': [0, 1.5]}, r'row 2: replica is 1\.5; expected a whole number'),
        ({'reference': [1, '1']}, 'row 1: reference is 1; expected a text'),
        ({'response': ['a', ['b', 'c']]}, r"row 2: response is \['b', 'c'\]; expected a text"),
        ({'seconds': ['1', None]}, "row 1: seconds is '1'; expected a number"),
        ({'verdict': ['yes', None]}, "row 1: verdict is 'yes'; expected correct, incorrect or unjudged"),
        ({'reference': ['1', None]}, "different references, '1' and None"),
        ({'replica': [3, 3]}, "row 2: sample 3 of 'a' is there twice, first at row 1: were the logs of two"),
        (
            {'file': ['f', 'f'], 'row': [8, 9], 'question': ['x', 'y']},
            r"f:9: .* questions, 'x' and 'y' \(f:8\)",
        ),
        ({'uid': [], 'replica': []}, 'there is nothing to score: 0 samples'),
    ],
)
def test_what_cannot_be_scored_is_named(column, said):
    """By its place. None is no number of a sample; a list of texts is no response."""
    with pytest.raises(InputError, match=said):
        Samples({'uid': ['a', 'a'], 'replica': [0, 1], **column}).check()


def test_all_contradictions_are_told_at_once():
    columns = {'uid': ['a', 'a', 'b', 'b'], 'replica': [0, 0, 0, 1], 'reference': ['1', '2', '1', '2']}
    with pytest.raises(InputError) as told:
        Samples(columns).check()
    assert len(str(told.value).splitlines()) == 3
    with pytest.raises(InputError, match='… and 9 more'):
        Samples({'uid': ['a'] * 30, 'replica': [0] * 30}).check()
