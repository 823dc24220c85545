"""A model whose name has points through the real `opencompass`."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from forks import Forks
from hosts import import_plugin, write_bench
from sweeping import dump

import_plugin()
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('names')]

TEMPLATE = """
engine = 'huggingface'
llm_infos = [dict(path='Qwen/Qwen2.5-0.5B', tp=0, batch_size=8)]
temperatures = [0.3]
greedy = False
max_out_lens = [64]
k_lists = [[2, 4]]
n = 4
dataset_path, version, dataset_splits, dataset_languages = {data!r}, '202412', 'AMC', 'en'
"""
NAME, IN_FILES = 'Qwen2.5-0.5B_t0.3_rs42_l64', 'Qwen2-5-0-5B_t0-3_rs42_l64'
SAMPLES = 8 * 4
WORKERS = ('--', '--max-num-workers', '2')
"""Shards of 16 samples."""


@pytest.fixture(scope='module')
def done(forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Expanded and run."""
    root = tmp_path_factory.mktemp('names')
    write_bench(root / 'data', {'AMC_en': [(f'What is {i}+7-{i}?', '$7$') for i in range(8)]})
    assert dump(root, TEMPLATE.format(data=str(root / 'data'))) == 0
    [config] = (root / 'configs').glob('*.py')
    scripted = f"'scripted.ScriptedModel',\n        'trace': {str(root / 'trace')!r}"
    config.write_text(config.read_text().replace("'gpassk_opencompass.SeededHuggingFace'", scripted))
    assert gpassk(forks, root, 'run', 'configs', '-w', 'out', *WORKERS) == 0
    return root


def gpassk(forks: Forks, root: Path, *line: str) -> int:
    return forks.start('gpassk', *line, folder=root).wait()


def drawn(root: Path) -> int:
    """How many samples were asked for so far."""
    return len((root / 'trace').read_text().splitlines())


def reported(forks: Forks, root: Path) -> set[tuple[str, str]]:
    """The models and runs of the scores that `gpassk report` writes."""
    assert gpassk(forks, root, 'report', 'out', '-o', 'report', '--only', 'tables') == 0
    with (root / 'report' / 'scores.csv').open() as file:
        return {(row['model'], row['run']) for row in csv.DictReader(file)}


def test_every_folder_and_table_has_the_name_of_the_model(done: Path, forks: Forks) -> None:
    """The names of the config and of the work directory alone have dashes."""
    [place] = done.glob('out/*/2*')
    assert place.parent.name.startswith(f'{IN_FILES}@LiveMathBench-v202412-AMC-en-k2_4-r1')
    for kind in ('predictions', 'results'):
        assert [path.name for path in (place / kind).iterdir()] == [NAME]
    [table] = place.glob('summary/gpassk_*.md')
    assert '| Qwen2.5-0.5B ' in table.read_text()
    assert reported(forks, done) == {('Qwen2.5-0.5B', 'Qwen2.5-0.5B')}  # the only run: its model is its name
    assert drawn(done) == SAMPLES
