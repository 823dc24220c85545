"""Data sets as OpenCompass builds them: layouts, columns, replicas, trials, and bad input."""

from __future__ import annotations

import hashlib
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import datasets as hub
import pytest
from datasets import Dataset
from hosts import READER, import_plugin, write_bench

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


def test_rows_lie_replica_by_replica_with_their_own_columns(tmp_path):
    """row = replica × Q + question; uid, replica, split, language and source say what a row is."""
    root = write_bench(tmp_path, PARALLEL)
    rows = build(root, n=3, k=[1, 3])
    assert rows['replica'] == [0] * 4 + [1] * 4 + [2] * 4
    assert rows['uid'] == [uid('AMC_cn', 0), uid('AMC_cn', 1), uid('AMC_en', 0), uid('AMC_en', 1)] * 3
    assert rows['idx'] == [0, 1, 2, 3] * 3
    assert set(rows['subdivision']) == {'bench'}
    assert rows['answer'][:2] == ['$2$', '$4$']
    files = sorted((root / '202412').iterdir())
    digests = [f'{one.name}@sha256:{hashlib.sha256(one.read_bytes()).hexdigest()}' for one in files]
    assert rows['source'] == [one for one in digests for _ in range(2)] * 3


def test_translations_share_a_problem_and_the_hard_split_does_not(tmp_path):
    """Parallel files give one problem for both languages; hard files are not parallel even at one length."""
    files = {**PARALLEL, 'hard_cn': PARALLEL['AMC_cn'], 'hard_en': PARALLEL['AMC_en']}
    rows = build(write_bench(tmp_path, files), dataset_splits=['AMC', 'hard'])
    problems = dict(zip(rows['uid'], rows['problem'], strict=True))
    assert problems[uid('AMC_cn', 1)] == problems[uid('AMC_en', 1)] != problems[uid('AMC_en', 0)]
    assert problems[uid('AMC_cn', 1, 'hard_cn')] != problems[uid('AMC_en', 1, 'hard_en')]


def test_a_question_has_its_uid_wherever_it_stands(tmp_path):
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


def test_a_revision_is_for_data_of_the_hub(tmp_path, monkeypatch):
    """It is passed on, and the commit that was read stands in each row; for a folder it is refused."""
    with pytest.raises(InputError, match='only data of the hub have revisions'):
        build(write_bench(tmp_path, PARALLEL), revision='main')
    asked: list[Any] = []
    commit = '0123456789abcdef0123456789abcdef01234567'

    def load_dataset(path, subset, revision):
        asked.append((path, subset, revision))
        rows = Dataset.from_list([{'question': 'What is 1+1?', 'answer': '2'}])
        rows.info.download_checksums = {f'hf://datasets/{path}@{commit}/AMC_en.jsonl': {}}
        return rows

    monkeypatch.setattr('datasets.load_dataset', load_dataset)
    rows = build(Path('org/bench'), dataset_languages=['en'], revision='v2')
    assert asked == [('org/bench', 'v202412_AMC_en', 'v2')]
    assert rows['source'] == [f'org/bench@{commit}:v202412_AMC_en']


def test_prompts_are_those_of_the_installed_protocol(tmp_path):
    """Word for word what OpenCompass's own prompts say, in the row's language; a question is no template."""
    braces = r'Find $\frac{1}{2}$ of {question} and {answer}'
    rows = build(write_bench(tmp_path, {**PARALLEL, 'AMC_en': [(braces, '1')]}))
    assert rows[0]['prompt'] == prompts.PROMPT_CN.format(question='一加一等于几？')
    assert rows[2]['prompt'] == prompts.PROMPT_EN.format(question=braces)


@pytest.mark.parametrize(
    ('line', 'message'),
    [
        ('{"question": "q", "answer"', 'line 3: no JSON'),
        ('{"question": " ", "answer": "1"}', "line 3: 'question' must be a text"),
        (r'{"question": "q \ud83d", "answer": "1"}', "line 3: 'question' holds '.ud83d', one half of a char"),
        ('{"question": "q", "answer": "1", "options": 5}', "line 3: 'options' must be a list"),
    ],
)
def test_a_bad_line_is_named_with_its_number(tmp_path, line, message):
    """File and line stand in the message."""
    file = write_bench(tmp_path, PARALLEL) / '202412' / 'AMC_en.jsonl'
    file.write_text(file.read_text() + '\n' + line)
    with pytest.raises(InputError, match=rf'AMC_en\.jsonl, {message}'):
        build(tmp_path, dataset_languages=['en'])


@pytest.mark.parametrize(
    'settings',
    [
        *({'n': n, 'k': k} for n, k in [(2, 3), (2, [1, 4]), (0, 1), (2, []), (2, 0)]),
        *({'dataset_splits': splits} for splits in ['AMC', [], ['AMC', 'AMC']]),
    ],
)
def test_k_n_and_splits_that_cannot_be_met_are_errors(tmp_path, settings):
    """Before a sample is drawn; a bare string would be read letter by letter, a repeated split twice."""
    with pytest.raises(InputError, match=r'k = |n = |dataset_splits'):
        build(write_bench(tmp_path, PARALLEL), **settings)


# n rows a question, gone through and column by column, as `datasets` itself gives them


def questions(count: int = 3) -> hub.Dataset:
    return hub.Dataset.from_list(
        [
            {'uid': f'a/{place}', 'answer': f'é{place}', 'options': [str(place)], 'level': place}
            for place in range(count)
        ]
    )


@pytest.mark.parametrize('name', ['uid', 'answer', 'options', 'level'])
def test_a_column_is_what_the_data_set_gives(name):
    """In memory, after a selection, and of another's concatenation; replicas share their texts."""
    rows = data.ReplicatedRows.repeat(questions(), 4, 'made')
    others = [rows.select([3, 1]), rows.shuffle(seed=1), hub.concatenate_datasets([questions()] * 3)]
    for one in (rows, *others):
        assert list(rows_of.column_of(one, name)) == list(one[name])
    assert len({id(text) for text in rows_of.column_of(rows, 'answer')}) == 3


# trials on some of the questions


def test_the_questions_of_a_limit_are_those_of_the_whole_set_and_the_record_is_marked(tmp_path):
    """With their uids, so with their seeds, as often as n says; groups are as large as each other."""
    sizes = {'AMC_cn': 5, 'AMC_en': 5, 'CNMO_cn': 2, 'CNMO_en': 2}
    files = {name: [(f'{name} {i}?', f'${i}$') for i in range(size)] for name, size in sizes.items()}
    root, splits = write_bench(tmp_path, files), ['AMC', 'CNMO']
    whole = build(root, dataset_splits=splits)
    part = build(root, dataset_splits=splits, limit=6, n=3, k=3)
    assert part['replica'] == [0] * 6 + [1] * 6 + [2] * 6
    taken = part['uid'][:6]
    assert part['uid'] == taken * 3
    assert [uid for uid in whole['uid'] if uid in taken] == taken
    groups = zip(part['split'][:6], part['language'][:6], strict=True)
    assert Counter(groups) == {('AMC', 'cn'): 2, ('AMC', 'en'): 2, ('CNMO', 'cn'): 1, ('CNMO', 'en'): 1}
    assert 'gpassk_limits' not in whole.column_names
    for rows, n, limited in ((whole, 1, {}), (part, 3, {'limit': 6, 'of': 14})):
        told = {'predictions': ['\\boxed{1}'] * len(rows), 'references': rows['answer'], 'test_set': rows}
        record = plugin.GPassKEvaluator().evaluate(n, n, rows, **told)
        assert result_of(tmp_path, record).limits == record['gpassk']['limited'] == limited
        assert record['gpassk']['data']['questions'] == len(rows) / n


def test_opencompass_looks_for_its_copies_where_we_do():
    known = import_module('opencompass.utils.datasets_info').DATASETS_MAPPING
    assert {name: known[name]['local'] for name in OPENCOMPASS_COPIES} == dict(OPENCOMPASS_COPIES)
