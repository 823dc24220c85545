"""Lines of JSON hold what `json` makes of each, and say what it says of a wrong one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.json_lines import JsonRows
from gpassk_opencompass.sources.rows import Rows
from gpassk_opencompass.sources.source import Place, Reading
from gpassk_opencompass.sources.tally import Tally


def test_questions_with_and_without_a_problem_may_be_mixed(tmp_path: Path) -> None:
    """A question without one is its own, whatever others are called."""
    rows = [{'uid': f'q{row}', 'n': 8, 'c': row % 9, 'problem': f'q{row // 2}'} for row in range(60)]
    for row in rows[41::3]:
        row['problem'] = None
    (path := tmp_path / 'counts.jsonl').write_text('\n'.join(map(json.dumps, rows)))
    [run] = Rows().read(Place(path), Reading())
    tally = Tally()
    for question in run.questions:
        tally.add(question)
    numbers, sizes = tally.counts().clusters
    names = [row['uid'] if row['problem'] is None else (row['problem'],) for row in rows]
    order = list(dict.fromkeys(names))
    assert numbers is not None
    assert numbers.tolist() == [order.index(name) for name in names]
    assert sizes.tolist() == [names.count(name) for name in order]


def lines_of(texts: list[str], folder: Path) -> Iterator[object]:
    (path := folder / 'rows.jsonl').write_text('\n'.join(['{"a": 0}', *texts]), encoding='utf-8')
    return (row for _, row in JsonRows(path))


@pytest.mark.parametrize(
    'value',
    [
        'NaN', '-Infinity', '1e400', '-0', '-0.0', '1E5', '9' * 30, '"\\ud800"', '"\\u0000"',
        '[' * 300 + ']' * 300,
    ],
)  # fmt: skip
def test_a_value_is_what_json_makes_of_it(value: str, tmp_path: Path) -> None:
    """Also what the faster parser does not take."""
    *_, row = lines_of([f'{{"a": {value}, "b": 1, "a": {value}}}'], tmp_path)
    assert repr(row) == repr(json.loads(f'{{"a": {value}, "b": 1, "a": {value}}}'))


@pytest.mark.parametrize('value', ['01', '1.', '+1', '"\t"', 'nan', '1,', '9' * 5000, "'x'"])
def test_what_json_refuses_is_refused_in_its_words(value: str, tmp_path: Path) -> None:
    """With file and line."""
    with pytest.raises(ValueError) as said:  # noqa: PT011 (whatever it is)
        json.loads(f'{{"a": {value}}}\n')
    with pytest.raises(InputError) as ours:
        list(lines_of([f'{{"a": {value}}}\n'], tmp_path))
    assert str(ours.value) == f'{tmp_path / "rows.jsonl"}:2 is no JSON: {said.value}'
