"""JSON is read row by row and entry by entry as the standard library reads the whole of it."""

from __future__ import annotations

import gzip
import json
import random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpassk_opencompass import json_rows as module
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.formats import rows_of
from gpassk_opencompass.json_rows import first_object, json_entries, json_rows

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from(['details', 'a', '', 'ä"\\\n']), VALUES)
ODD = [
    'NaN', '-Infinity', '1e400', '-0', '-0.0', '1E5', '0.1000000000000000055', '9' * 30,
    '"\\ud800"', '"\\u0000"', '"\u2028"', '[' * 300 + ']' * 300,
]  # fmt: skip
"""Values at which other parsers fail, or make something else: ijson refuses NaN, loses half surrogates, makes
Decimals."""


def lay_out(rows: list[str], layout: str) -> str:
    """As lines with blank ones and Windows' ends, or as a list, in one line or over several."""
    if layout == 'lines':
        return '\ufeff\n' + '\r\n\r\n'.join(rows)
    return '[' + (',\n  ' if layout == 'list' else ',').join(rows) + ']\n'


@pytest.mark.parametrize('layout', ['lines', 'list', 'one line'])
@pytest.mark.parametrize('packed', [False, True])
def test_a_value_is_what_json_makes_of_it(layout, packed, tmp_path):
    """In each layout, also packed; the last of two equal keys counts."""
    rows = ['{"a": 0}', *(f'{{"a": 1, "b": {value}, "a": {value}}}' for value in ODD)]
    content = lay_out(rows, layout).encode()
    path = tmp_path / ('rows.jsonl' + '.gz' * packed)
    path.write_bytes(gzip.compress(content) if packed else content)
    assert [repr(row) for _, row in json_rows(path)] == [repr(json.loads(row)) for row in rows]
    assert first_object(path) == {'a': 0}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(told=OBJECTS, chunk=st.integers(1, 40), indent=st.sampled_from([None, 4]), ascii_only=st.booleans())
def test_entries_are_those_of_the_whole(told, chunk, indent, ascii_only, tmp_path):
    """However much is read at a time; also those inside of one entry."""
    path = tmp_path / 'file.json'
    path.write_text(json.dumps(told, indent=indent, ensure_ascii=ascii_only), encoding='utf-8')
    with patch.object(module, '_CHUNK', chunk):
        whole, inside = dict(json_entries(path)), dict(json_entries(path, 'details'))
    assert whole == {(key,): value for key, value in told.items()}
    details = told.get('details')
    expected: dict[tuple[str, ...], Any] = {(key,): value for key, value in told.items() if key != 'details'}
    if isinstance(details, (dict, list)):
        inner = details.items() if isinstance(details, dict) else enumerate(details)
        expected |= {('details', str(key)): value for key, value in inner}
    elif 'details' in told:
        expected['details',] = details
    assert inside == expected


def test_whatever_is_cut_off_is_an_error(tmp_path):
    """At every byte: a file in the middle of being written is never taken for a whole one."""
    content = '{"a": [1, {"b": -1.5e3}], "details": {"ä": "\\u00e4\\n", "c": null}}'.encode()
    path = tmp_path / 'file.json'
    for end in range(len(content)):
        path.write_bytes(content[:end])
        with patch.object(module, '_CHUNK', 7), pytest.raises(InputError):
            list(json_entries(path, 'details'))


@pytest.mark.parametrize(
    'text',
    [
        '[1]', '7', '{"a": 1} {"a": 2}', '{"a" 1}', '{"a": 1 "b": 2}', '{1: 2}', '{"a": [1 2]}', '[' * 9999,
        '{"a": 12"xyz" , "b": 3}', '{"a": 1, , "b": 2}', '{"a": 1, "b\t": 2}',
    ],
)  # fmt: skip
def test_what_is_no_object_has_no_entries(text, tmp_path):
    (path := tmp_path / 'file.json').write_text(text)
    with pytest.raises(InputError):
        list(json_entries(path, 'a'))
    with pytest.raises(InputError):
        list(json_rows(path))


def test_what_cannot_be_read_says_why(tmp_path):
    with pytest.raises(InputError, match='No such file'):
        list(json_rows(tmp_path / 'none.json'))
    (path := tmp_path / 'latin.json').write_bytes('{"a": "é"}'.encode('latin-1'))
    for encoding in ('utf-16', 'utf-16-le', 'utf-16-be'):
        (wide := tmp_path / 'wide.csv').write_text('id,correct\na,1\n', encoding=encoding)
        with pytest.raises(InputError, match='expected text in UTF-8'):
            next(rows_of(wide))
    with pytest.raises(InputError, match='expected text in UTF-8'):
        list(json_rows(path))
    noise = json.dumps({'a': random.Random(1).randbytes(999).hex()})
    (path := tmp_path / 'half.json.gz').write_bytes(gzip.compress(noise.encode())[:200])
    with pytest.raises(InputError, match=r'cannot read .*half\.json\.gz'):
        list(json_rows(path))
