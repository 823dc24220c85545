"""LiveMathBenchDataset: layouts, columns, and bad input."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from hosts import READER, SHARED, import_plugin, write_bench

from gpassk_opencompass import InputError

plugin = import_plugin()
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
