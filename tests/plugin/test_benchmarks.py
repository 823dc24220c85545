"""Benchmarks beside LiveMathBench: their questions, the template's axis, and the importable configs."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hosts import READER, import_plugin
from sweeping import configs_of

import gpassk_opencompass.configs
from gpassk_opencompass import InputError
from gpassk_opencompass.benchmarks import BENCHMARKS, QuestionSet, dataset_rows
from gpassk_opencompass.sweep.names import DatasetName

pytestmark = pytest.mark.slow

CONFIGS = Path(gpassk_opencompass.configs.__path__[0])
PAGE = Path(__file__).resolve().parents[2] / 'docs' / 'data.md'

SIZES = {
    'math500-l5': 134, 'aime2024': 30, 'aime2025': 30, 'aime2025-i': 15, 'olymmath-en-easy': 100,
    'olymmath-en-hard': 100, 'olymmath-zh-easy': 100, 'olymmath-zh-hard': 100, 'olymmath-easy': 200,
    'olymmath-hard': 200,
}  # fmt: skip
"""MATH500-L5, AIME: sections F.2 to F.4 of arXiv 2412.13147 and the contests; OlymMATH: arXiv 2503.21380."""


Rows = list[dict[str, Any]]


def write(file: Path, rows: Rows) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('\n'.join(json.dumps(row) for row in rows), encoding='utf-8')
    return file


def aime(year: int, count: int = 30) -> Rows:
    return [{'question': f'What is {i} in {year}?', 'answer': i} for i in range(count)]


def math500() -> Rows:
    subjects = ('Algebra', 'Counting & Probability')
    return [
        {
            'problem': f'Say {i}.',
            'answer': rf'\frac{{{i}}}{{7}}',
            'subject': subjects[i % 2],
            'level': 5 if i < 134 else i % 4 + 1,
            'unique_id': f'test/{i}.json',
        }
        for i in range(500)
    ]


@pytest.fixture
def folder(tmp_path):
    """All benchmarks, made up, in one folder."""
    data = tmp_path / 'data'
    write(data / 'aime2024.jsonl', aime(2024))
    write(data / 'aime2025.jsonl', aime(2025))
    write(data / 'test.jsonl', math500())
    for (language, word), level in product({'EN': 'Solve', 'ZH': '求'}.items(), ('EASY', 'HARD')):
        rows = [{'problem': f'{word} {level} {i}', 'answer': str(i)} for i in range(100)]
        rows = [{**row, 'unique_id': f'OlymMATH-{level}-{i}-{language}'} for i, row in enumerate(rows)]
        write(data / f'OlymMATH-{language}-{level}.jsonl', rows)
    return data


def build(benchmark: str, path: Path | str, **settings: Any) -> Any:
    own = {'benchmark': benchmark, 'path': str(path), 'reader_cfg': READER, 'abbr': 'bench'}
    return import_plugin().BenchmarkDataset(**own, **settings).test


@pytest.mark.parametrize('benchmark', SIZES)
def test_each_benchmark_has_its_questions_n_times(benchmark, folder):
    rows = build(benchmark, folder, n=3, k=[1, 3])
    size = BENCHMARKS[benchmark].questions
    assert (len(rows), len(set(rows['uid']))) == (3 * size, size) == (3 * SIZES[benchmark], SIZES[benchmark])
    assert rows['replica'] == [0] * size + [1] * size + [2] * size
    columns = 'question answer prompt uid problem split language source subdivision idx replica'
    assert set(rows.column_names) == set(columns.split())


def test_a_question_has_one_uid_in_each_benchmark(folder):
    """So its samples have the same seeds; different questions have different ones."""
    rows = {name: dataset_rows({'benchmark': name, 'path': str(folder)}) for name in SIZES}
    uids = {name: [row['uid'] for row in rows[name]] for name in SIZES}
    assert uids['aime2025'][:15] == uids['aime2025-i']
    assert uids['olymmath-easy'] == uids['olymmath-en-easy'] + uids['olymmath-zh-easy']
    assert uids['olymmath-hard'] == uids['olymmath-en-hard'] + uids['olymmath-zh-hard']
    assert len({uid for one in uids.values() for uid in one}) == 134 + 30 + 30 + 400


def test_translations_are_one_problem(folder):
    """English and Chinese versions count as one cluster; the judge is told the language."""
    rows = build('olymmath-hard', folder)
    assert len(set(rows['problem'])) == 100
    assert set(zip(rows['split'], rows['language'], strict=True)) == {('hard', 'en'), ('hard', 'cn')}
    assert rows['problem'][0] == rows['problem'][100]
    assert '逐步推理' in rows['prompt'][100]
    assert '逐步推理' not in build('olymmath-zh-hard', folder, cot=False)['prompt'][0]


def test_math500_l5_is_the_questions_of_level_5_and_no_question_has_an_instruction_twice(folder):
    rows = build('math500-l5', folder)
    assert [uid.rpartition('/')[0] for uid in rows['uid']] == [f'MATH500/test/{i}.json' for i in range(134)]
    assert rows['split'][:2] == ['Algebra', 'Counting-Probability']
    ask = '\nPlease reason step by step, and put your final answer within \\boxed{}.'
    asked = [{'prompt': f'Which {i} is in \\boxed{{x}}?\nTell.{ask}', 'answer': f'{i:03}'} for i in range(30)]
    built = build('aime2024', write(folder / 'a.jsonl', asked))
    assert built['question'][2] == 'Which 2 is in \\boxed{x}?\nTell.'
    assert built['answer'][2] == '2'
    assert built['prompt'][2].count(r'\boxed{}') == 1


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'answer': 1000}, r"line 4: 'answer' is 1000; expected a whole number from 0 to 999"),
        ({'answer': True}, 'line 4: .*whole number'),
        ({'question': ' '}, "line 4: 'question' must be a text"),
        ({'question': 'What is 1 in 2024?'}, r'line 4: the same question as in .*line 2'),
        ({'unique_id': 'x'}, r'line 5: the same unique_id as in .*line 4'),
    ],
)
def test_a_bad_line_is_named(folder, change, message):
    rows = aime(2024)
    rows[3] = {**rows[3], **change}
    if 'unique_id' in change:
        rows[4] = {**rows[4], **change}
    write(folder / 'aime2024.jsonl', rows)
    with pytest.raises(InputError, match=rf'aime2024\.jsonl, {message}'):
        build('aime2024', folder)


@pytest.mark.parametrize(('benchmark', 'count'), [('aime2024', 29), ('aime2024', 45), ('aime2025', 15)])
def test_another_number_of_questions_is_another_benchmark(folder, benchmark, count):
    """A file that was cut off, or has other questions, would give numbers under a wrong name."""
    file = write(folder / f'{benchmark}.jsonl', aime(2024, count))
    with pytest.raises(InputError, match=f'the last of {count} questions; AIME202. expects 30'):
        build(benchmark, file)


def test_where_questions_may_lie(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    assert len(build('aime2024', 'data')) == len(build('aime2024', 'data/aime2024.jsonl')) == 30
    (folder.parent / 'README.md').write_text('What lies here.\n')
    for benchmark, path, said in (
        ('olymmath-hard', 'data/OlymMATH-EN-HARD.jsonl', r'folder that holds OlymMATH-EN-HARD\.jsonl, Olym'),
        (
            'aime2024',
            'data/missing.jsonl',
            r'missing\.jsonl does not exist; .* holds .*aime2024\.jsonl',
        ),
        ('aime2023', folder, "benchmark = 'aime2023': expected one of"),
    ):
        with pytest.raises(InputError, match=said):
            build(benchmark, path)


def test_a_copy_of_a_hub_data_set_is_read_like_the_hub(tmp_path):
    """Subsets by their names on the hub, and the only split if none is called test."""
    for language in ('EN', 'ZH'):
        rows = [{'problem': f'{language} {i}', 'answer': str(i)} for i in range(100)]
        write(tmp_path / 'files' / f'{language}.jsonl', rows)
    subsets = ''.join(
        f'- config_name: {language.lower()}-hard\n  data_files:\n'
        f'  - split: train\n    path: files/{language}.jsonl\n'
        for language in ('EN', 'ZH')
    )
    (tmp_path / 'README.md').write_text(f'---\nconfigs:\n{subsets}---\n')
    rows = build('olymmath-hard', tmp_path)
    assert rows['question'][:101:100] == ['EN 0', 'ZH 0']
    with pytest.raises(InputError, match=r"(?s)cannot load subset 'en-easy'.*give path= a folder"):
        build('olymmath-en-easy', tmp_path)


def test_opencompass_own_classes_load_what_they_know(tmp_path, monkeypatch):
    """By default AIME comes from OpenCompass's own data folder, in the columns of its own classes."""
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(tmp_path))
    rows = [{'origin_prompt': row['question'], 'gold_answer': str(row['answer'])} for row in aime(2024)]
    write(tmp_path / 'data' / 'aime.jsonl', rows)
    write(tmp_path / 'data' / 'aime2025' / 'aime2025.jsonl', aime(2025))
    for benchmark, year in (('aime2024', 2024), ('aime2025', 2025)):
        built = build(benchmark, '')
        assert built['question'] == [row['question'] for row in aime(year)]
        assert built['answer'] == [str(i) for i in range(30)]
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(tmp_path / 'none'))
    monkeypatch.setenv('DATASET_SOURCE', 'HF')
    message = r'(?s)OpenCompass cannot load opencompass/aime2024.*data/aime\.jsonl.*aime2024\.jsonl'
    with pytest.raises(InputError, match=message):  # its own error is a bare FileNotFoundError of ''
        build('aime2024', '')


def read_config(file: Path) -> Any:
    pytest.importorskip('mmengine', reason='mmengine is not installed in this environment')
    from mmengine.config import Config

    return Config.fromfile(file)


def datasets_of(**lines: Any) -> list[dict[str, Any]]:
    """The data sets of a template with these lines, one of each benchmark."""
    template = {'llm_infos': 'm', 'temperatures': 1.0, 'greedy': False, 'max_out_lens': 1, **lines}
    return [config['datasets'][0] for config in configs_of(template).values()]


def test_a_benchmark_of_ones_own_is_a_path_and_two_fields(folder):
    rows = [{'task': f'{i} + 1?', 'gold': i + 1, 'subject': 'sums'} for i in range(2)]
    file = write(folder / 'mine.jsonl', [*rows, {'task': '求 1 + 1', 'gold': '2'}])
    mine = {'name': 'Mine-1', 'path': file, 'question': 'task', 'answer': 'gold'}
    (config,) = datasets_of(benchmarks=[mine])
    assert config['abbr'] == 'Mine-1-k4_8_16-r3'
    assert DatasetName.parse(config['abbr']).label == 'Mine-1'
    own = {name: config[name] for name in ('benchmark', 'path', 'fields', 'cot')}
    rows = import_plugin().BenchmarkDataset.load(**own).to_list()
    assert [(row['answer'], row['split'], row['language']) for row in rows] == [
        ('1', 'sums', 'en'), ('2', 'sums', 'en'), ('2', 'all', 'cn'),
    ]  # fmt: skip
    assert all(row['uid'].startswith('Mine-1/') for row in rows)


@pytest.mark.parametrize('benchmark', BENCHMARKS)
def test_an_importable_config_is_what_a_template_gives(benchmark):
    """The same but for max_out_len, which is the model's where the config does not say."""
    (expected,) = datasets_of(benchmarks=[benchmark])
    del expected['infer_cfg']['inferencer']['max_out_len']
    name = benchmark.replace('-', '_')
    (dataset,) = read_config(CONFIGS / 'datasets' / f'gpassk_{name}.py')[f'{name}_datasets']
    assert dataset.to_dict() == expected


def test_the_papers_collection_has_each_of_its_five_benchmarks():
    datasets = read_config(CONFIGS / 'dataset_collections' / 'gpassk_paper.py').datasets
    assert len({dataset.abbr for dataset in datasets}) == len(datasets) == 5


def test_the_page_on_data_holds(tmp_path):
    text = PAGE.read_text(encoding='utf-8')
    sources = {questions.source for questions in BENCHMARKS.values() if isinstance(questions, QuestionSet)}
    assert [source for source in sources if source not in text] == []
    [block] = [block for block in re.findall(r'```python\n(.*?)```', text, re.DOTALL) if 'read_base' in block]
    file = tmp_path / 'config.py'
    file.write_text(block, encoding='utf-8')
    abbreviations = [dataset.abbr for dataset in read_config(file).datasets]
    assert abbreviations == ['AIME2024-k2_4-r2', 'MATH500-L5-k2_4-r2']
