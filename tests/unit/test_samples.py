"""Samples: columns, what contradicts itself, and the Parquet file of whole questions."""

import pyarrow
import pytest
from pyarrow import parquet

from gpassk_opencompass import InputError, Samples
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
        ({'response': ['a', ['b', 'c']]}, r"row 2: response is \['b', 'c'\]; expected a text"),
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
