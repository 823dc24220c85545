"""Large JSON objects read entry by entry, beside the standard library's reading of the whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.json_entries import JsonEntries

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from(['details', 'a', '', 'ä"\\\n']), VALUES)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(told=OBJECTS, chunk=st.integers(1, 40), indent=st.sampled_from([None, 4]), ascii_only=st.booleans())
def test_entries_are_those_of_the_whole(
    told: dict[str, Any], chunk: int, indent: int | None, ascii_only: bool, tmp_path: Path
) -> None:
    """However much is read at a time; also those inside of one entry."""
    path = tmp_path / 'file.json'
    path.write_text(json.dumps(told, indent=indent, ensure_ascii=ascii_only), encoding='utf-8')
    assert dict(JsonEntries(path, chunk=chunk)) == {(key,): value for key, value in told.items()}
    details = told.get('details')
    expected: dict[tuple[str, ...], Any] = {(key,): value for key, value in told.items() if key != 'details'}
    if isinstance(details, (dict, list)):
        inner = details.items() if isinstance(details, dict) else enumerate(details)
        expected |= {('details', str(key)): value for key, value in inner}
    elif 'details' in told:
        expected['details',] = details
    assert dict(JsonEntries(path, 'details', chunk=chunk)) == expected


@pytest.mark.parametrize('chunk', [1, 7, 1 << 20])
def test_whatever_is_cut_off_is_an_error(chunk: int, tmp_path: Path) -> None:
    """At every byte: a file in the middle of being written is never taken for a whole one."""
    content = '{"a": [1, {"b": -1.5e3}], "details": {"ä": "\\u00e4\\n", "c": null}}'.encode()
    path = tmp_path / 'file.json'
    for end in range(len(content)):
        path.write_bytes(content[:end])
        with pytest.raises(InputError, match=r'file\.json is damaged, or still being written'):
            list(JsonEntries(path, 'details', chunk))


@pytest.mark.parametrize(
    'text',
    [
        *(
            '[1]', '7', '{"a": 1} {"a": 2}', '{"a" 1}', '{"a": 1 "b": 2}', '{1: 2}', '{"a": [1 2]}',
            '[' * 9999,
        ),
        *('{"a": 12"xyz" , "b": 3}', '{"a": 1, , "b": 2}', '{"a": 1, "b\t": 2}'),
    ],
)  # fmt: skip
def test_what_is_no_object_is_an_error(text: str, tmp_path: Path) -> None:
    """With what stands there instead."""
    path = tmp_path / 'file.json'
    path.write_text(text)
    with pytest.raises(InputError):
        list(JsonEntries(path, 'a'))


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """With the reason."""
    with pytest.raises(InputError, match='No such file'):
        list(JsonEntries(tmp_path / 'none.json'))
