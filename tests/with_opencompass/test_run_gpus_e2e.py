"""`gpassk run` with the real `opencompass` on scripted GPUs: what its tasks see of them."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import scripted_gpus
from fake_opencompass import write
from hosts import (
    dataset_config,
    environment,
    import_plugin,
    numbers,
    results_of,
    scripted,
    write_bench,
    write_config,
)
from test_run_e2e import QUESTIONS, run_gpassk

from gpassk_opencompass.cli import main
from gpassk_opencompass.demo import MODEL
from gpassk_opencompass.prefork import Pool
from gpassk_opencompass.runs.command import Options
from gpassk_opencompass.runs.driver import Driver
from gpassk_opencompass.runs.gpus import usable_gpus
from gpassk_opencompass.runs.plan import planned_runs
from gpassk_opencompass.runs.processes import Stop
from gpassk_opencompass.runs.state import State

import_plugin()
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('sweep')]

MODELS = {'a1': 'a', 'a2': 'a', 'b1': 'b', 'b2': 'b'}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a benchmark, on a machine of two GPUs."""
    scripted_gpus.install(tmp_path, monkeypatch, 2)
    write_bench(tmp_path / 'data', {'AMC_en': QUESTIONS})
    (tmp_path / 'configs').mkdir()
    return tmp_path


def write_run(root: Path, name: str, path: str, **model: Any) -> None:
    noting = {'type': 'noting_gpus.NotingModel', 'noted': str(root / 'noted'), 'run_cfg': {'num_gpus': 1}}
    write_config(
        root / 'configs' / f'{name}.py',
        scripted(path=path, **noting, **model),
        dataset_config(root / 'data', k=[2, 4], n=4),
    )


def noted(root: Path) -> list[list[str]]:
    return [line.split() for line in (root / 'noted').read_text().splitlines()]


@pytest.mark.parametrize('named', ['by number', 'by id'])
def test_each_model_stays_on_its_gpu(machine: Path, named: str) -> None:
    """Tasks see the real one, in whatever way it was named; the numbers are those of runs without GPUs."""
    for name, path in MODELS.items():
        write_run(machine, name, path)
    ids = [scripted_gpus.uuid(number) for number in (1, 0)] if named == 'by id' else ['0', '1']
    done = run_gpassk(machine, 'run', 'configs', '-w', 'out', '--gpus', ','.join(ids))
    assert done.code == 0, done.said
    assert sorted(map(tuple, noted(machine))) == [('a', ids[0])] * 2 + [('b', ids[1])] * 2
    scores = [numbers(result) for name in MODELS for result in results_of(machine / 'out' / name)]
    assert len(scores) == len(MODELS)
    assert all(score['gpassk']['counts'] == scores[0]['gpassk']['counts'] for score in scores)


TEMPLATE = """
from gpassk_opencompass.demo import LANGUAGES, QUESTIONS, SPLITS, VERSION
engine = 'huggingface'
llm_infos = [dict(path={first!r}, name='one', tp=1), dict(path={second!r}, name='two', tp=1)]
model_kwargs = dict(torch_dtype='torch.float32', device_map='cpu')
max_seq_len = 4096
temperatures = [0.5, 1.0]
greedy = False
max_out_lens = [40]
k_lists = [[2]]
n = 2
dataset_path = QUESTIONS
version = VERSION
dataset_splits = SPLITS[:1]
dataset_languages = LANGUAGES[:1]
judge = dict(type='rule')
"""


def test_each_model_is_loaded_once(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two models × two temperatures on two GPUs: two loads, each on its own; released at the end."""
    second = machine / 'second'
    shutil.copytree(MODEL, second)
    template = TEMPLATE.format(first=str(MODEL), second=str(second))
    write(machine / 't.py', template)
    monkeypatch.setenv('PYTHONPATH', environment()['PYTHONPATH'])
    monkeypatch.chdir(machine)
    assert main(['expand', 't.py', '--output_dir', 'configs']) == 0
    with Stop() as stop, Pool(os.environ, machine / 'events') as pool:
        driver = Driver(machine / 'out', Options(), scripted_gpus.Silent(), stop, usable_gpus(None, {}), pool)
        findings = driver.drive(planned_runs([machine / 'configs']).runs)
    assert [finding.state for finding in findings] == [State.COMPLETE] * 4
    events = [json.loads(line) for line in (machine / 'events').read_text().splitlines()]
    loaded = sorted(event['words'][1:] for event in events if event['event'] == 'model')
    assert loaded == [['0'], ['1']]
    assert [event['made'] for event in events if event['event'] == 'done'].count(2) == 0
    assert len([event for event in events if event['event'] == 'done']) == 4


def test_shards_of_a_long_run_are_on_different_gpus(machine: Path) -> None:
    """Each sees its own."""
    write_run(machine, 'long', 'a', max_out_len=10**6)
    done = run_gpassk(machine, 'run', 'configs', '-w', 'out')
    assert done.code == 0, done.said
    assert Counter(gpu for _, gpu in noted(machine)) == {'0': 1, '1': 1}
    assert len(list(machine.glob('out/long/*/predictions/scripted/bench_[01].json'))) == 2


def test_without_gpus_nothing_is_said_of_them(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA_VISIBLE_DEVICES= hides those of the machine; a model without a need sees none."""
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '')
    write_run(machine, 'cpu', 'a')
    config = machine / 'configs' / 'cpu.py'
    config.write_text(config.read_text().replace("'num_gpus': 1", "'num_gpus': 0"))
    assert run_gpassk(machine, 'run', 'configs', '-w', 'out').code == 0
    assert [line[1:] for line in noted(machine)] == [[]]
    assert os.environ['CUDA_VISIBLE_DEVICES'] == ''
