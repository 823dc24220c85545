"""Data sets of OpenCompass with some of their questions: ours, and those of others in a wrapper."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hosts import READER, import_plugin, write_bench

from gpassk_opencompass import InputError
from gpassk_opencompass.record import result_of
from gpassk_opencompass.sweep.data_check import OPENCOMPASS_COPIES

plugin = import_plugin()
LOAD_DATASET = import_module('opencompass.registry').LOAD_DATASET
BaseDataset = import_module('opencompass.datasets.base').BaseDataset
build_dataset = import_module('opencompass.utils').build_dataset_from_cfg
datasets = import_module('datasets')

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


def test_n_and_what_samples_says_are_the_same(tmp_path: Path) -> None:
    """Else the mark in the result would be wrong."""
    with pytest.raises(InputError, match='samples = 4 with n = 8'):
        build(tmp_path, n=8, k=4, samples=4)


def test_the_record_is_marked(tmp_path: Path) -> None:
    """With how many questions there were; a whole run has no such entry, and both are sound."""
    records = []
    for settings in ({}, {'limit': 3, 'samples': 2}):
        rows = build(tmp_path, n=2, k=2, **settings)
        evaluator = plugin.GPassKEvaluator()
        told = {'predictions': ['\\boxed{1}'] * len(rows), 'references': rows['answer'], 'test_set': rows}
        records.append(evaluator.evaluate(2, 2, rows, **told))
        assert result_of(tmp_path, records[-1]).limits == records[-1]['gpassk']['limited']
    assert records[0]['gpassk']['limited'] == {}
    assert records[1]['gpassk']['limited'] == {'limit': 3, 'of': 14, 'samples': 2}
    assert records[1]['gpassk']['data']['questions'] == 3


@LOAD_DATASET.register_module()
class ForeignSum(BaseDataset):  # type: ignore[misc, valid-type]
    """A data set as OpenCompass has them: two splits, no uid."""

    @staticmethod
    def load(path: str, count: int) -> Any:
        rows = [{'question': f'{path} {i}', 'answer': str(i)} for i in range(count)]
        return datasets.DatasetDict(
            train=datasets.Dataset.from_list(rows[:3]), test=datasets.Dataset.from_list(rows)
        )


@LOAD_DATASET.register_module()
class ForeignGroups(BaseDataset):  # type: ignore[misc, valid-type]
    """One split, with languages."""

    @staticmethod
    def load() -> Any:
        rows = [{'question': f'q{i}', 'answer': 'x', 'language': 'ab'[i >= 3]} for i in range(6)]
        return datasets.Dataset.from_list(rows)


@LOAD_DATASET.register_module()
class ForeignInit(ForeignGroups):
    """One that makes its rows itself."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)


def foreign(kind: str, **settings: Any) -> Any:
    """A data set in the wrapper, as OpenCompass builds it of a config."""
    reader = {'input_columns': ['question'], 'output_column': 'answer'}
    of = {'type': kind, **settings.pop('of', {})}
    config = {'type': 'gpassk_opencompass.LimitedDataset', 'abbr': 'f', 'of': of, 'reader_cfg': reader}
    return build_dataset({**config, 'infer_cfg': {}, 'eval_cfg': {}, **settings})


def test_a_foreign_data_set_is_as_opencompass_makes_it_but_shorter() -> None:
    """Row for row and column for column, n copies of the first questions; examples are all there."""
    arguments = {'path': 'p', 'count': 9}
    whole = build_dataset(
        {'type': 'ForeignSum', 'abbr': 'f', 'n': 2, 'k': 2, **arguments}
        | {'reader_cfg': {'input_columns': ['question'], 'output_column': 'answer'}}
    )
    part = foreign('ForeignSum', of=arguments, limit=4, n=2, k=2)
    first = [number for number in range(18) if number % 9 < 4]
    expected = whole.test.select(first).to_list()
    assert part.test.remove_columns('gpassk_limits').to_list() == expected
    assert part.train.to_list() == whole.train.to_list()


def test_a_foreign_record_is_marked() -> None:
    """The judge is an evaluator of OpenCompass, which does not see the mark as a question."""
    rows = foreign('ForeignSum', of={'path': 'p', 'count': 9}, limit=4, samples=2, n=2, k=2).test
    evaluator = plugin.GPassKEvaluator(
        evaluator={'type': 'opencompass.openicl.icl_evaluator.AccwithDetailsEvaluator'}
    )
    told = {'predictions': ['0', '1', '2', '3', '0', 'x', 'x', 'x'], 'references': rows['answer']}
    record = evaluator.evaluate(2, 2, rows, origin_prompt=[''] * 8, **told)
    assert record['gpassk']['limited'] == {'limit': 4, 'of': 9, 'samples': 2}
    assert record['gpassk']['counts']['c'] == [2, 1, 1, 1]


@pytest.mark.parametrize(
    ('kind', 'settings', 'said'),
    [
        ('ForeignInit', {}, 'makes its rows in a way of its own'),
        ('NoSuchDataset', {}, r'expected dict\(type=…\) of a data set that OpenCompass knows'),
        ('ForeignSum', {'of': {'path': 'p', 'count': 9}, 'limit': 0}, 'limit = 0'),
    ],
)
def test_what_cannot_be_limited_is_refused(kind: str, settings: dict[str, Any], said: str) -> None:
    """In a sentence, not with wrong rows."""
    with pytest.raises(InputError, match=said):
        foreign(kind, **{'limit': 2, **settings})


def test_opencompass_looks_for_its_copies_where_we_do() -> None:
    """Of the installed version."""
    known = import_module('opencompass.utils.datasets_info').DATASETS_MAPPING
    assert {name: known[name]['local'] for name in OPENCOMPASS_COPIES} == dict(OPENCOMPASS_COPIES)
