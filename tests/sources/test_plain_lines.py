"""Lines read column by column hold what `json` makes of each line, and say what it says of a wrong one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.json_lines import JsonRows
from gpassk_opencompass.sources import plain_lines
from gpassk_opencompass.sources.rows import Rows
from gpassk_opencompass.sources.source import CountedBlock, Place, Reading
from gpassk_opencompass.sources.tally import Tally
from gpassk_opencompass.sources.texts import Texts

USUAL = [json.dumps({'uid': f'q{row}', 'n': 8, 'c': row % 9}) for row in range(40)]
ODD = [
    '{"uid": "x", "n": 3, "c": 5}',
    '{"uid": "x", "n": 3.0, "c": 2}',
    '{"uid": null, "n": 8, "c": 2}',
    '{"uid": "x", "n": 8, "c": 2',
    '{"uid": "x", "n": 8, "c": 2}{"uid": "y", "n": 8, "c": 2}',
    '{"uid": "x",\n"n": 8, "c": 2}',
    '{"uid": "x", "n": 8, "c": 2, "split": "z"}',
    '{"uid": "x", "n": 8}',
    '{"c": 1, "n": 8, "uid": "é\\ud83d\\ude00"}',
    '{"uid": "\\ud800", "n": 8, "c": 1}',
    '{"uid": "q7", "n": 8, "c": 1}',
    '',
    '[1]',
    '{"uid": "x", "n": 8, "c": 2, "c": 3}',
    '{"uid": {"n": 8}, "n": 8, "c": 2}',
    '{"uid": "x", "n": 99999999999999999999, "c": 2}',
    '{"uid": "x", "n": 8, "c": true}',
    '{"uid": "x", "n": 8, "c": -1}',
    '{"uid": "x", "n": 8, "c": 1}\r{"uid": "y", "n": 8, "c": 1}',
    '{"uid": "x", "n": 8, "c": 01}',
    '{"uid": "x", "n": 8, "c": }',
    '{"uid": "x", "n": , "c": 1}',
    '{"uid": "x", "n": +8, "c": 1}',
    '{"uid": x, "n": 8, "c": 1}',
    '{"uid": "x", "n": 8, "c": 1} ',
    '{"uid": "x", "n": 8, "c": 1},',
    ' {"uid": "x", "n": 8, "c": 1}',
    '{"uid": "x\t", "n": 8, "c": 1}',
    '{"uid": "x\x00", "n": 8, "c": 1}',
    '{"uid": "a\\"b", "n": 8, "c": 1}',
    '{"uid": "x", "n": 8, "c": "1}',
    '{"uid": "x", "m": 8, "c": 1}',
    '{"uid": "x", "c": 1, "n": 8}',
    '{"uid":"x","n":8,"c":1}',
    '{"uid": "x\u2028y", "n": 8, "c": 1}',
    '{"uid": "", "n": 8, "c": 1}',
    '{"uid": 7, "n": 8, "c": 1}',
    '{"uid": "x", "n": 8, "c": 0000000000000000001}',
]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of any size are read in blocks of a few lines."""
    monkeypatch.setattr(plain_lines, '_WORTH_IT', 0)
    monkeypatch.setattr(plain_lines, '_BLOCK', 200)


def told(path: Path, at_once: bool) -> object:
    """What a file holds, or what is said of it, column by column or line by line."""
    [run] = Rows().read(Place(path), Reading())
    tally = Tally()
    try:
        assert run.blocks
        tally.add_all(run.blocks() if at_once else run.questions)
        counts = tally.counts()
    except InputError as error:
        return str(error)
    kinds = [counts.kinds[place] for place in counts.ids.tolist()]
    return kinds, counts.lines.tolist(), counts.groups, [part.tolist() for part in counts.clusters[1:]]


@pytest.mark.parametrize('odd', ODD)
def test_an_odd_line_is_told_of_as_line_by_line(odd: str, tmp_path: Path) -> None:
    """Whatever stands there, wherever a block ends."""
    for place in (30, 39):
        lines = [*USUAL[:place], odd, *USUAL[place:]]
        (path := tmp_path / 'counts.jsonl').write_text('\n'.join(lines), newline='')
        assert told(path, at_once=True) == told(path, at_once=False)


def test_plain_lines_are_read_at_once(tmp_path: Path) -> None:
    """With numbers as uids, groups, problems and unjudged samples; the counts are those of the lines."""
    rows = [
        {'id': row, 'n': 8, 'c': row % 5, 'unjudged': row % 3, 'split': 'ba'[row % 2], 'problem': row // 2}
        for row in range(60)
    ]
    (path := tmp_path / 'counts.jsonl').write_text('\n'.join(map(json.dumps, rows)) + '\n')
    [run] = Rows().read(Place(path), Reading())
    assert run.blocks
    blocks = list(run.blocks())
    assert all(isinstance(block, CountedBlock) for block in blocks)
    assert len(blocks) > 3
    assert told(path, at_once=True) == told(path, at_once=False)


def test_lines_made_alike_need_no_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever characters their texts have."""
    lines = [json.dumps({'uid': f'é {row}', 'n': 8, 'c': row % 9}, ensure_ascii=False) for row in range(60)]
    (path := tmp_path / 'counts.jsonl').write_text('\n'.join(lines), encoding='utf-8')
    expected = told(path, at_once=False)
    monkeypatch.setattr(plain_lines, '_parsed', lambda *_: pytest.fail('parsed'))
    assert told(path, at_once=True) == expected


def test_questions_with_and_without_a_problem_may_be_mixed(tmp_path: Path) -> None:
    """Also where blocks of plain lines end; a question without one is its own, whatever others are called."""
    rows = [{'uid': f'q{row}', 'n': 8, 'c': row % 9, 'problem': f'q{row // 2}'} for row in range(60)]
    for row in rows[41::3]:
        row['problem'] = None
    (path := tmp_path / 'counts.jsonl').write_text('\n'.join(map(json.dumps, rows)))
    [run] = Rows().read(Place(path), Reading())
    assert run.blocks
    (tally := Tally()).add_all(run.blocks())
    numbers, sizes = tally.counts().clusters
    names = [row['uid'] if row['problem'] is None else (row['problem'],) for row in rows]
    order = list(dict.fromkeys(names))
    assert numbers is not None
    assert numbers.tolist() == [order.index(name) for name in names]
    assert sizes.tolist() == [names.count(name) for name in order]


@given(st.lists(st.text(max_size=20), min_size=1))
def test_keys_are_equal_where_texts_are(some: list[str]) -> None:
    """Of any characters, also halves of some."""
    texts = [*some, *some[::-1], '\ud800', 'a\0', 'a', 'a' * 8, 'a' * 16]
    keys = Texts.of(texts).keys().tolist()
    assert [keys.index(key) for key in keys] == [texts.index(text) for text in texts]
    found, places = Texts.of(texts).distinct()
    assert [found[place] for place in places.tolist()] == texts


def lines_of(texts: list[str], folder: Path) -> Iterator[object]:
    (path := folder / 'rows.jsonl').write_text('\n'.join(['{"a": 0}', *texts]), encoding='utf-8')
    return (row for _, row in JsonRows(path))


@pytest.mark.parametrize(
    'value',
    [
        'NaN',
        '-Infinity',
        '1e400',
        '-0',
        '-0.0',
        '1E5',
        '9' * 30,
        '"\\ud800"',
        '"\\u0000"',
        '[' * 300 + ']' * 300,
    ],
)
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
