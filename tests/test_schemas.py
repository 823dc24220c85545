"""The schemas refuse what a reader could trip over."""

from __future__ import annotations

from typing import Any

import pytest
from formats import SCHEMAS, changed, complaints, places, valid_values
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]


@pytest.mark.parametrize('name', SCHEMAS)
def test_a_schema_is_one(name: str) -> None:
    """By the schema of schemas."""
    Draft202012Validator.check_schema(SCHEMAS[name])


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for name in path:
        value = value[name]
    return value


def is_free(path: tuple[Any, ...]) -> bool:
    """A judge says of itself what it likes; so do the settings of a request."""
    return (path[:2] == ('gpassk', 'judge') and path[2:3] not in [(), ('name',), ('statistics',)]) or (
        path[:2] == ('judge', 'sampling') and len(path) > 2
    )


@pytest.mark.parametrize('name', SCHEMAS)
def test_no_value_may_be_of_another_type(name: str) -> None:
    """An object in the place of a text, a list in that of a number, and so on, wherever it stands."""
    valid = valid_values()[name]
    assert complaints(name, valid) == []
    checked = 0
    for path in places(valid):
        if not is_free(path):
            wrong: Any = [None] if isinstance(at(valid, path), dict) else {'x': []}
            assert complaints(name, changed(valid, path, wrong), strict=False), path
            checked += 1
    assert checked > 10


@pytest.mark.parametrize('name', SCHEMAS)
def test_what_is_required_must_be_there(name: str) -> None:
    """At the top, and in each part of a record."""
    valid = valid_values()[name]
    schema = SCHEMAS[name]
    for field in schema['required']:
        assert complaints(name, {key: part for key, part in valid.items() if key != field}), field
    for part, definition in {'details': 'Details', 'gpassk': 'Block'}.items():
        for field in schema.get('$defs', {}).get(definition, {}).get('required', ()):
            kept = {key: value for key, value in valid[part].items() if key != field}
            assert complaints(name, {**valid, part: kept}), field


@pytest.mark.parametrize(
    ('path', 'new'),
    [
        (('accuracy',), 100.5), (('accuracy',), '75'), (('G-Pass@2',), 50.0), (('G-Pass@0_0.5',), 50.0),
        (('mG-Pass@2_0.5',), 50.0), (('ADD_en/g-pass@2',), 1.0), (('details', 'verdicts', 0), '1x'),
        (('details', 'verdicts', 0), ''), (('details', 'verdicts', 0), [1, 0]),
        (('details', 'judges'), {'ab': 'rule'}), (('details', 'judged_by', 0), 'a1'),
        (('gpassk', 'counts', 'uid', 1), 'demo/ADD_en/0'), (('gpassk', 'counts', 'c', 0), 1.5),
        (('gpassk', 'schema'), 1), (('gpassk', 'sample_file', 'name'), 'other/x.samples.parquet'),
        (('gpassk', 'n'), 0), (('gpassk', 'k'), []), (('gpassk', 'k'), [2, 2]),
        (('gpassk', 'thresholds', 0), 1.5), (('gpassk', 'counts', 'c', 0), -1),
        (('gpassk', 'counts', 'unjudged', 0), None), (('gpassk', 'data', 'sha256'), 'abc'),
        (('gpassk', 'bounds', 'accuracy'), [75.0]), (('gpassk', 'versions', 'numpy'), 2),
        (('gpassk', 'signature'), 'n:2|k:2'),
    ],
)  # fmt: skip
def test_a_damaged_record_does_not_fit(path: tuple[Any, ...], new: Any) -> None:
    """Whatever a reader could trip over."""
    assert complaints('result', changed(valid_values()['result'], path, new), strict=False)
