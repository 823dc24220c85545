"""A model whose name has points through the real `opencompass`, and runs begun under its earlier name."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
from forks import Forks
from hosts import import_plugin, write_bench
from sweeping import dump

import_plugin()
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('names')]

TEMPLATE = """
engine = 'huggingface'
llm_infos = [dict(path='Qwen/Qwen2.5-0.5B', tp=0, batch_size=8, parameters='0.5B')]
temperatures = [0.3]
greedy = False
max_out_lens = [64]
k_lists = [[2, 4]]
n = 4
dataset_path, version, dataset_splits, dataset_languages = {data!r}, '202412', 'AMC', 'en'
"""
NOW, EARLIER = 'Qwen2.5-0.5B_t0.3_rs42_l64', 'Qwen2-5-0-5B_t0-3_rs42_l64'
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


@pytest.fixture
def begun(done: Path) -> Path:
    """The folder of the run as an earlier version would have left it, killed before its second shard."""
    [place] = done.glob('out/*/2*')
    for kind in ('predictions', 'logs/infer'):
        if (place / kind / NOW).is_dir() and not (place / kind / EARLIER).exists():
            (place / kind / NOW).rename(place / kind / EARLIER)
    for kind in ('results', 'summary', 'logs/eval'):
        shutil.rmtree(place / kind, ignore_errors=True)
    for path in (place / 'predictions' / EARLIER).glob('*_1.*'):
        path.unlink()
    shutil.rmtree(done / 'out/.gpassk/samples', ignore_errors=True)  # it kept none
    for path in place.glob('configs/*.py'):
        path.write_text(path.read_text().replace(NOW, EARLIER))
    return place


def test_every_folder_and_table_has_the_name_of_the_model(done: Path, forks: Forks) -> None:
    """The names of the config and of the work directory alone have dashes."""
    [place] = done.glob('out/*/2*')
    assert place.parent.name.startswith(f'{EARLIER}@LiveMathBench-v202412-AMC-en-k2_4-r1')
    for kind in ('predictions', 'results'):
        assert [path.name for path in (place / kind).iterdir()] == [NOW]
    [table] = place.glob('summary/*.md')
    assert '| Qwen2.5-0.5B ' in table.read_text()
    assert '| _t0.3_rs42_l64 ' in table.read_text()
    assert reported(forks, done) == {('Qwen2.5-0.5B', NOW)}
    assert drawn(done) == SAMPLES


def test_opencompass_by_hand_draws_nothing_anew(begun: Path, forks: Forks) -> None:
    """Its task ends with a line that says which folder to rename."""
    root, kept = begun.parents[2], list((begun / 'predictions' / EARLIER).iterdir())
    before = drawn(root)
    [config] = (root / 'configs').glob('*.py')
    copy = forks.start('opencompass', config, '-w', begun.parent, '-r', begun.name, folder=root)
    copy.wait()
    assert 'has samples of this model' in copy.said
    assert f'rename the folder to {NOW}' in copy.said
    assert drawn(root) == before
    assert list((begun / 'predictions' / EARLIER).iterdir()) == kept


def test_gpassk_run_draws_only_what_is_missing(begun: Path, forks: Forks) -> None:
    """Under the earlier name; the report has that of today."""
    root = begun.parents[2]
    before = drawn(root)
    assert gpassk(forks, root, 'run', 'configs', '-w', 'out', *WORKERS) == 0
    assert drawn(root) - before == SAMPLES // 2
    assert list(root.glob('out/*/2*')) == [begun]
    assert [path.parent.name for path in begun.glob('results/*/*.json')] == [EARLIER]
    assert reported(forks, root) == {('Qwen2.5-0.5B', NOW)}
    assert gpassk(forks, root, 'run', 'configs', '-w', 'out', *WORKERS) == 0
    assert drawn(root) - before == SAMPLES // 2
