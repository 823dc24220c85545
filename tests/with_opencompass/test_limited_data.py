"""Trials on some of the questions of a data set, as OpenCompass builds it."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

from hosts import READER, import_plugin, write_bench

from gpassk_opencompass.record import result_of
from gpassk_opencompass.sweep.checks import OPENCOMPASS_COPIES

plugin = import_plugin()

BENCH = {
    f'{split}_{language}': [(f'{split} {language} {i}?', f'${i}$') for i in range(size)]
    for split, size in (('AMC', 5), ('CNMO', 2))
    for language in ('cn', 'en')
}


def build(tmp_path: Path, **settings: Any) -> Any:
    root = write_bench(tmp_path, BENCH)
    settings = {'dataset_splits': ['AMC', 'CNMO'], 'dataset_languages': ['cn', 'en'], **settings}
    return plugin.LiveMathBenchDataset(path=str(root), reader_cfg=READER, abbr='bench', **settings).test


def test_the_questions_of_a_limit_are_those_of_the_whole_set(tmp_path: Path) -> None:
    """With their uids, so with their seeds, as often as n says; groups are as large as each other."""
    whole, part = build(tmp_path), build(tmp_path, limit=6, n=3, k=3)
    assert part['replica'] == [0] * 6 + [1] * 6 + [2] * 6
    taken = part['uid'][:6]
    assert part['uid'] == taken * 3
    assert [uid for uid in whole['uid'] if uid in taken] == taken
    groups = zip(part['split'][:6], part['language'][:6], strict=True)
    assert Counter(groups) == {('AMC', 'cn'): 2, ('AMC', 'en'): 2, ('CNMO', 'cn'): 1, ('CNMO', 'en'): 1}
    assert 'gpassk_limits' not in whole.column_names


def test_the_record_is_marked(tmp_path: Path) -> None:
    """With how many questions there were; a whole run has no such entry, and both are sound."""
    records = []
    for settings in ({}, {'limit': 3}):
        rows = build(tmp_path, n=2, k=2, **settings)
        evaluator = plugin.GPassKEvaluator()
        told = {'predictions': ['\\boxed{1}'] * len(rows), 'references': rows['answer'], 'test_set': rows}
        records.append(evaluator.evaluate(2, 2, rows, **told))
        assert result_of(tmp_path, records[-1]).limits == records[-1]['gpassk']['limited']
    assert records[0]['gpassk']['limited'] == {}
    assert records[1]['gpassk']['limited'] == {'limit': 3, 'of': 14}
    assert records[1]['gpassk']['data']['questions'] == 3


def test_opencompass_looks_for_its_copies_where_we_do() -> None:
    """Of the installed version."""
    known = import_module('opencompass.utils.datasets_info').DATASETS_MAPPING
    assert {name: known[name]['local'] for name in OPENCOMPASS_COPIES} == dict(OPENCOMPASS_COPIES)
