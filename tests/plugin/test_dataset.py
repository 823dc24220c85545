"""Data sets as OpenCompass builds them: layouts, columns, replicas, trials, and bad input."""

from __future__ import annotations

import copy
import hashlib
import json
from collections import Counter
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import datasets as hub
import pytest
from datasets import Dataset
from hosts import READER, SHARED, import_plugin, write_bench

from gpassk_opencompass import InputError
from gpassk_opencompass.record import result_of
from gpassk_opencompass.sweep.checks import OPENCOMPASS_COPIES

plugin = import_plugin()
data = import_plugin('.dataset')
rows_of = import_plugin('.rows')
prompts = __import__('opencompass.datasets.livemathbench.prompts', fromlist=['PROMPT_EN'])

PARALLEL = {
    'AMC_cn': [('一加一等于几？', '$2$'), ('二加二等于几？', '$4$')],
    'AMC_en': [('What is 1+1?', '$2$'), ('What is 2+2?', '$4$')],
}


def build(path: Path | str, **settings: Any) -> Any:
    settings = {'dataset_splits': ['AMC'], 'dataset_languages': ['cn', 'en'], **settings}
    return plugin.LiveMathBenchDataset(path=str(path), reader_cfg=READER, abbr='bench', **settings).test


def uid(name: str, number: int, group: str = '') -> str:
    """The uid of a question of `PARALLEL`: 12 digits of the SHA-256 of its text."""
    text = PARALLEL[name][number][0]
    return f'202412/{group or name}/{hashlib.sha256(text.encode()).hexdigest()[:12]}'


def test_rows_lie_replica_by_replica_with_their_own_columns(tmp_path: Path) -> None:
    """row = replica × Q + question; uid, replica, split and language say what a row is."""
    rows = build(write_bench(tmp_path, PARALLEL), n=3, k=[1, 3])
    assert rows['replica'] == [0] * 4 + [1] * 4 + [2] * 4
    assert rows['uid'] == [uid('AMC_cn', 0), uid('AMC_cn', 1), uid('AMC_en', 0), uid('AMC_en', 1)] * 3
    assert rows['idx'] == [0, 1, 2, 3] * 3
    assert set(rows['subdivision']) == {'bench'}
    assert rows['answer'][:2] == ['$2$', '$4$']


def test_translations_share_a_problem_and_the_hard_split_does_not(tmp_path: Path) -> None:
    """Parallel files give one problem for both languages; hard files are not parallel even at one length."""
    files = {**PARALLEL, 'hard_cn': PARALLEL['AMC_cn'], 'hard_en': PARALLEL['AMC_en']}
    rows = build(write_bench(tmp_path, files), dataset_splits=['AMC', 'hard'])
    problems = dict(zip(rows['uid'], rows['problem'], strict=True))
    assert problems[uid('AMC_cn', 1)] == problems[uid('AMC_en', 1)] != problems[uid('AMC_en', 0)]
    assert problems[uid('AMC_cn', 1, 'hard_cn')] != problems[uid('AMC_en', 1, 'hard_en')]


def test_a_question_has_its_uid_wherever_it_stands(tmp_path: Path) -> None:
    """Reversed lines name the same questions; one text twice is told apart, an edited one is another."""
    twice = [*PARALLEL['AMC_en'], PARALLEL['AMC_en'][0]]
    there = build(write_bench(tmp_path / 'a', {'AMC_en': twice}), dataset_languages=['en'])
    back = build(write_bench(tmp_path / 'b', {'AMC_en': twice[::-1]}), dataset_languages=['en'])
    assert there['uid'] == [uid('AMC_en', 0), uid('AMC_en', 1), f'{uid("AMC_en", 0)}-2']
    assert back['uid'] == there['uid']
    assert back['question'] == there['question'][::-1]
    other = {'AMC_en': [('What is 1+2?', '$2$')]}
    edited = build(write_bench(tmp_path / 'c', other), dataset_languages=['en'])
    assert not set(edited['uid']) & set(there['uid'])


def test_rows_tell_the_file_that_they_come_from(tmp_path: Path) -> None:
    """Its name and the SHA-256 of its bytes."""
    root = write_bench(tmp_path, PARALLEL)
    rows = build(root)
    for language in ('cn', 'en'):
        content = (root / '202412' / f'AMC_{language}.jsonl').read_bytes()
        assert f'AMC_{language}.jsonl@sha256:{hashlib.sha256(content).hexdigest()}' in rows['source']
    assert len(set(rows['source'])) == 2


def test_a_revision_is_for_data_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is passed on, and the commit that was read stands in each row; for a folder it is refused."""
    with pytest.raises(InputError, match='only data of the hub have revisions'):
        build(write_bench(tmp_path, PARALLEL), revision='main')
    asked: list[Any] = []
    commit = '0123456789abcdef0123456789abcdef01234567'

    def load_dataset(path: str, subset: str | None, revision: str | None) -> Dataset:
        asked.append((path, subset, revision))
        rows = Dataset.from_list([{'question': 'What is 1+1?', 'answer': '2'}])
        rows.info.download_checksums = {f'hf://datasets/{path}@{commit}/AMC_en.jsonl': {}}
        return rows

    monkeypatch.setattr('datasets.load_dataset', load_dataset)
    rows = build(Path('org/bench'), dataset_languages=['en'], revision='v2')
    assert asked == [('org/bench', 'v202412_AMC_en', 'v2')]
    assert rows['source'] == [f'org/bench@{commit}:v202412_AMC_en']


def test_prompts_are_those_of_the_installed_protocol(tmp_path: Path) -> None:
    """Word for word what OpenCompass's own prompts say, in the row's language."""
    rows = build(write_bench(tmp_path, PARALLEL))
    assert rows[0]['prompt'] == prompts.PROMPT_CN.format(question='一加一等于几？')
    assert rows[2]['prompt'] == prompts.PROMPT_EN.format(question='What is 1+1?')


def test_a_question_with_braces_stays_as_it_is(tmp_path: Path) -> None:
    """Neither {question} nor LaTeX braces in a question are taken for a slot."""
    question = r'Find $\frac{1}{2}$ of {question} and {answer}'
    rows = build(write_bench(tmp_path, {'AMC_en': [(question, '1')]}), dataset_languages=['en'])
    assert question in rows[0]['prompt']


def test_a_copy_of_the_hub_data_set_is_read_like_the_hub(tmp_path: Path) -> None:
    """A folder laid out as on the hub (a config `v{version}_{split}_{language}` each, split test)."""
    row = {'question': 'What is 1+1?', 'answer': '$2$', 'question_type': 'problem-solving', 'options': []}
    (tmp_path / 'data').mkdir()
    (tmp_path / 'data' / 'test.jsonl').write_text(json.dumps(row) + '\n')
    (tmp_path / 'README.md').write_text(
        '---\nconfigs:\n- config_name: v202412_AMC_en\n  data_files:\n  - split: test\n'
        '    path: data/test.jsonl\n---\n'
    )
    rows = build(tmp_path, dataset_languages=['en'])
    assert len(rows) == 1
    assert rows['uid'][0].startswith('202412/AMC_en/')
    with pytest.raises(InputError, match='v202412_WLPMC_en'):
        build(tmp_path, dataset_splits=['WLPMC'], dataset_languages=['en'])


@pytest.mark.parametrize(
    ('line', 'message'),
    [
        ('{"question": "q", "answer"', 'line 3: no JSON'),
        ('[' * 100_000, 'line 3: no JSON'),
        ('["q", "a"]', 'line 3: expected an object'),
        ('{"question": "q"}', "line 3: 'answer' must be a text"),
        ('{"question": " ", "answer": "1"}', "line 3: 'question' must be a text"),
        ('{"question": "q", "answer": 1}', "line 3: 'answer' must be a text"),
        (
            r'{"question": "q \ud83d", "answer": "1"}',
            r"line 3: 'question' holds '.ud83d', one half of a character",
        ),
        ('{"question": "q", "answer": "1", "options": 5}', "line 3: 'options' must be a list"),
    ],
)
def test_a_bad_line_is_named_with_its_number(tmp_path: Path, line: str, message: str) -> None:
    """File and line stand in the message."""
    file = write_bench(tmp_path, PARALLEL) / '202412' / 'AMC_en.jsonl'
    file.write_text(file.read_text() + '\n' + line)
    with pytest.raises(InputError, match=rf'AMC_en\.jsonl, {message}'):
        build(tmp_path, dataset_languages=['en'])


@pytest.mark.parametrize(('n', 'k'), [(2, 3), (2, [1, 4]), (0, 1), (2, []), (2, 0)])
def test_k_and_n_that_cannot_be_met_are_errors(tmp_path: Path, n: int, k: Any) -> None:
    """Before a single sample is drawn."""
    with pytest.raises(InputError, match=r'k = |n = '):
        build(write_bench(tmp_path, PARALLEL), n=n, k=k)


@pytest.mark.parametrize('splits', ['AMC', [], ['AMC', 'AMC']])
def test_splits_must_be_a_list_of_different_names(tmp_path: Path, splits: Any) -> None:
    """A bare string would be read letter by letter, a repeated split twice."""
    with pytest.raises(InputError, match='dataset_splits'):
        build(write_bench(tmp_path, PARALLEL), dataset_splits=splits)


@pytest.mark.skipif(
    not (SHARED / 'data').is_dir(), reason='needs the published questions beside the checkout'
)
def test_the_published_english_questions_load() -> None:
    """v202412 has 18, 44, 46 and 11 English questions."""
    root = SHARED / 'data' / 'LiveMathBench'
    sizes = {
        split: len(build(root, dataset_splits=[split], dataset_languages=['en']))
        for split in ('CNMO', 'CCEE', 'AMC', 'WLPMC')
    }
    assert sizes == {'CNMO': 18, 'CCEE': 44, 'AMC': 46, 'WLPMC': 11}


# n rows a question, gone through and column by column, as `datasets` itself gives them


def questions(count: int = 3) -> hub.Dataset:
    return hub.Dataset.from_list(
        [
            {'uid': f'a/{place}', 'answer': f'é{place}', 'options': [str(place)], 'level': place}
            for place in range(count)
        ]
    )


def test_rows_are_what_a_data_set_gives_one_by_one() -> None:
    """Also of a copy, of a selection, and of rows in another format."""
    rows = data.ReplicatedRows.repeat(questions(700), 3, 'made')  # more than are decoded at a time
    plain = hub.concatenate_datasets([rows.select(range(len(rows)))])
    assert type(plain) is hub.Dataset
    assert list(rows) == list(plain) == list(copy.deepcopy(rows))
    assert list(rows.select([5, 2])) == [rows[5], rows[2]]
    assert [int(row['idx']) for row in islice(rows.with_format('numpy'), 2)] == [0, 1]


def test_a_row_that_somebody_changes_changes_no_other_one() -> None:
    """OpenCompass adds to the rows that it goes through; lists in them are their own as well."""
    rows = data.ReplicatedRows.repeat(questions(1), 2, 'made')
    first, second = rows
    first['options'].append('x')
    assert second['options'] == ['0']


@pytest.mark.parametrize('name', ['uid', 'answer', 'options', 'level'])
def test_a_column_is_what_the_data_set_gives(name: str) -> None:
    """In memory, after a selection, and of another's concatenation."""
    rows = data.ReplicatedRows.repeat(questions(), 4, 'made')
    for one in (
        rows,
        rows.select([3, 1]),
        rows.shuffle(seed=1),
        hub.concatenate_datasets([questions()] * 3),
    ):
        assert list(rows_of.column_of(one, name)) == list(one[name])


def test_replicas_share_their_texts() -> None:
    """So that a column of n × Q rows has Q texts."""
    column = rows_of.column_of(data.ReplicatedRows.repeat(questions(), 4, 'made'), 'answer')
    assert len({id(text) for text in column}) == 3


# trials on some of the questions

BENCH = {
    f'{split}_{language}': [(f'{split} {language} {i}?', f'${i}$') for i in range(size)]
    for split, size in (('AMC', 5), ('CNMO', 2))
    for language in ('cn', 'en')
}


def build_bench(tmp_path: Path, **settings: Any) -> Any:
    root = write_bench(tmp_path, BENCH)
    settings = {'dataset_splits': ['AMC', 'CNMO'], 'dataset_languages': ['cn', 'en'], **settings}
    return plugin.LiveMathBenchDataset(path=str(root), reader_cfg=READER, abbr='bench', **settings).test


def test_the_questions_of_a_limit_are_those_of_the_whole_set(tmp_path: Path) -> None:
    """With their uids, so with their seeds, as often as n says; groups are as large as each other."""
    whole, part = build_bench(tmp_path), build_bench(tmp_path, limit=6, n=3, k=3)
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
        rows = build_bench(tmp_path, n=2, k=2, **settings)
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
