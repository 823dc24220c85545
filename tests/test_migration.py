"""`gpassk migrate`: a template of the older style, written as one of today with the same configs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from older_templates import (
    ERAS,
    GENERAL,
    Era,
    Part,
    api_model,
    livemathbench,
    template_of,
    turbomind_model,
)
from sweeping import expanded, load

from gpassk_opencompass.cli import main

DATASET = livemathbench('bench', length=8192)
MODEL = turbomind_model(*GENERAL[0], length=8192)


def migrate(folder: Path, text: str) -> tuple[int, Path]:
    """The exit code of `gpassk migrate old.py -o new.py`, and where the new template is."""
    (folder / 'old.py').write_text(text, encoding='utf-8')
    return main(['migrate', str(folder / 'old.py'), '-o', str(folder / 'new.py')]), folder / 'new.py'


def values(folder: Path, text: str) -> list[str]:
    """The configs of a template, in an order of their own, whatever their files are called."""
    folder.mkdir()
    return sorted(json.dumps(config, sort_keys=True) for config in expanded(folder, text).values())


def same_configs(folder: Path, text: str) -> dict[str, Any]:
    """The lines of the new template, after its configs were compared with the translated ones."""
    code, new = migrate(folder, text)
    assert code == 0
    before = values(folder / 'before', text)
    assert values(folder / 'after', new.read_text(encoding='utf-8')) == before
    return load(new)


@pytest.mark.parametrize('era', ERAS.values(), ids=list(ERAS))
def test_the_new_template_gives_the_translated_configs(tmp_path: Path, era: Era) -> None:
    """Value for value, and it has one line a setting, no models and no datasets."""
    lines = same_configs(tmp_path, era.text)
    assert not {'models', 'datasets'} & set(lines)
    assert len(lines['llm_infos']) == len(era.models)
    assert (lines['k_lists'], lines['n']) == ([[4, 8, 16]], 48)


def test_the_lines_of_the_new_template_are_those_of_a_reader(tmp_path: Path) -> None:
    """What all models share is said once, what one has for itself stands in its entry."""
    lines = same_configs(tmp_path, ERAS['close of March 2025'].text)
    assert lines['engine'] == 'openai'
    assert lines['llm_infos'] == [
        {'path': 'o3-mini-2025-01-31', 'batch_size': 8},
        {'path': 'o1-mini-2024-09-12', 'batch_size': 8},
        {
            'path': 'deepseek-reasoner',
            'name': 'Deepseek-R1',
            'batch_size': 8,
            'openai_api_base': 'https://api.deepseek.com',
            'query_per_second': 2,
            'tokenizer_path': 'gpt-4o-2024-05-13',
            'key_env': 'DEEPSEEK_API_KEY',
            'temperatures': [1.0],
            'greedy': False,
        },
    ]
    assert (lines['query_per_second'], lines['retry'], lines['max_out_lens']) == (8, 20, [8192])
    assert 'temperatures' not in lines


def test_the_new_template_says_what_is_another_than_it_was(tmp_path: Path) -> None:
    """In its first lines, a kind each, and no line is longer than a screen is wide."""
    code, new = migrate(tmp_path, ERAS['nono1 of December 2024'].text)
    assert code == 0
    text = new.read_text(encoding='utf-8')
    head = ' '.join(text.split('"""')[1].split())
    assert '14 models: SeededTurboMind in place of TurboMindModelwithChatTemplate' in head
    assert '14 models: each sample has a seed of its own, derived from random_seed = 42' in head
    assert max(map(len, text.splitlines())) <= 110 or '@' in max(text.splitlines(), key=len)


def test_temperatures_and_greedy_runs_become_one_axis(tmp_path: Path) -> None:
    """A model at 0, 0.3 and 1 is one entry with three temperatures."""
    models = [
        turbomind_model(*one, length=8192, temperature=temperature)
        for one in GENERAL[:2]
        for temperature in (0.0, 0.3, 1.0)
    ]
    lines = same_configs(tmp_path, template_of(models, [DATASET]))
    assert lines['temperatures'] == [0.0, 0.3, 1.0]
    assert 'greedy' not in lines
    assert [info['path'] for info in lines['llm_infos']] == [path for path, _, _ in GENERAL[:2]]


def test_an_axis_of_one_model_stands_in_its_entry(tmp_path: Path) -> None:
    """The template has the line of most."""
    models = [turbomind_model(*one, length=8192) for one in GENERAL[:3]]
    models.append(turbomind_model(*GENERAL[2], length=8192, temperature=0.6))
    lines = same_configs(tmp_path, template_of(models, [DATASET]))
    assert lines['temperatures'] == [1.0]
    assert [info.get('temperatures') for info in lines['llm_infos']] == [None, None, [1.0, 0.6]]


def test_a_judge_and_the_parts_of_opencompass_come_along(tmp_path: Path) -> None:
    """Addresses, name, and a summarizer or runner as they stand in the old template."""
    judged = livemathbench('bench', length=8192, evaluator={'url': ['http://j1/v1']})
    more = "infer = dict(partitioner=dict(type='P', num_worker=8))\n"
    lines = same_configs(tmp_path, template_of([MODEL], [judged], more))
    assert (lines['eval_urls'], lines['eval_model_name']) == (['http://j1/v1'], 'Qwen/Qwen2.5-72B-Instruct')
    assert lines['infer'] == {'partitioner': {'type': 'P', 'num_worker': 8}}
    assert 'summarizer' not in lines


@pytest.mark.parametrize(
    ('other', 'line', 'expected'),
    [
        (
            {'version': '202505', 'dataset_splits': ['CNMO', 'CCEE', 'AMC', 'WLPMC']},
            'version',
            ['202412', '202505'],
        ),
        ({'k': [2, 16]}, 'k_lists', [[4, 8, 16], [2, 16]]),
        ({'n': 64}, 'n', [48, 64]),
    ],
    ids=['version', 'k', 'n'],
)
def test_several_data_sets_that_differ_in_one_line_are_an_axis(
    tmp_path: Path, other: Part, line: str, expected: list[Any]
) -> None:
    """Of versions, k lists or sample counts."""
    text = template_of([MODEL], [DATASET, {**DATASET, 'abbr': 'other', **other}])
    assert same_configs(tmp_path, text)[line] == expected


@pytest.mark.parametrize(
    ('models', 'datasets', 'message'),
    [
        ([MODEL, api_model('m', 'gpt-4o')], [DATASET], "the engines 'turbomind' and 'openai'"),
        (
            [MODEL],
            [DATASET, {**DATASET, 'abbr': 'other', 'dataset_splits': ['AMC']}],
            'different dataset_splits',
        ),
        (
            [
                turbomind_model(*GENERAL[0], length=8192, top_p=p, temperature=t)
                for p, t in ((0.8, 0.3), (0.9, 1.0))
            ],
            [DATASET],
            'are no grid',
        ),
        ([MODEL], [DATASET, {**DATASET, 'abbr': 'other', 'k': [2], 'n': 8}], 'k = 16, but n = 8'),
        (
            [{**MODEL, 'abbr': 'm.1_t1.0', 'path': 'x/m.1'}, {**MODEL, 'abbr': 'm-1', 'path': 'x/m-1'}],
            [DATASET],
            'would overwrite each other; .* split the older template',
        ),
        ([{**MODEL, 'stop_words': ['Q:']}], [DATASET], 'has no form in a template of today: .*stop_words'),
        ([MODEL], [{**DATASET, 'type': 'mine.Data'}], 'has no form in a template of today: bench is not'),
    ],
    ids=['engines', 'splits', 'no grid', 'no grid of data sets', 'one file', 'model', 'data set'],
)
def test_what_one_template_of_today_cannot_say_is_refused(
    tmp_path: Path, models: list[Part], datasets: list[Part], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one message, and nothing is written."""
    code, new = migrate(tmp_path, template_of(models, datasets))
    said = capsys.readouterr().err
    assert (code, len(said.splitlines())) == (2, 1)
    assert re.search(message, said)
    assert not new.exists()


def test_a_template_of_today_needs_no_migration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said so."""
    code, new = migrate(tmp_path, "llm_infos = ['org/m']\n")
    assert code == 2
    assert 'one of today already' in capsys.readouterr().err
    assert not new.exists()


def test_a_template_may_be_called_anything(tmp_path: Path) -> None:
    """The new one names it, with an escape for what no text can hold."""
    old = tmp_path / 'bad\udcff.py'
    old.write_text(template_of([MODEL], [DATASET]), encoding='utf-8')
    assert main(['migrate', str(old), '-o', str(tmp_path / 'new.py')]) == 0
    written = (tmp_path / 'new.py').read_text(encoding='utf-8')
    assert written.startswith('"""bad\\\\udcff.py, in the form of today')
    assert load(tmp_path / 'new.py')['engine'] == 'turbomind'


def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What stands in the way stays as it is."""
    (tmp_path / 'new.py').write_text('mine')
    code, new = migrate(tmp_path, template_of([MODEL], [DATASET]))
    assert (code, new.read_text()) == (2, 'mine')
    assert 'is there already: name another file with -o' in capsys.readouterr().err


def test_the_default_is_a_file_in_this_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Called after the old template."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'old').mkdir()
    (tmp_path / 'old' / 'mine.py').write_text(template_of([MODEL], [DATASET]), encoding='utf-8')
    assert main(['migrate', 'old/mine.py']) == 0
    assert main(['migrate', 'old/mine.py']) == 2
    assert [path.name for path in tmp_path.glob('*.py')] == ['mine_migrated.py']
