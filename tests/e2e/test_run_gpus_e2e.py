"""`gpassk run` with the real `opencompass` on scripted GPUs: what its tasks see of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import scripted_gpus
from hosts import (
    dataset_config,
    import_plugin,
    numbers,
    results_of,
    scripted,
    write_bench,
    write_config,
)
from test_run_e2e import QUESTIONS, run_gpassk

import_plugin()
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('sweep')]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a benchmark, on a machine of two GPUs."""
    scripted_gpus.install(tmp_path, monkeypatch, 2)
    write_bench(tmp_path / 'data', {'AMC_en': QUESTIONS})
    (tmp_path / 'configs').mkdir()
    return tmp_path


def write_run(root: Path, name: str, path: str, **model: Any) -> None:
    noting = {'type': 'scripted.NotingModel', 'noted': str(root / 'noted'), 'run_cfg': {'num_gpus': 1}}
    write_config(
        root / 'configs' / f'{name}.py',
        scripted(path=path, **noting, **model),
        dataset_config(root / 'data', k=[2, 4], n=4),
    )


def noted(root: Path) -> list[list[str]]:
    return [line.split() for line in (root / 'noted').read_text().splitlines()]


def test_each_run_sees_its_gpu(machine: Path) -> None:
    """The real one, as it was named; the numbers are those of runs without GPUs."""
    for name in ('a', 'b'):
        write_run(machine, name, name)
    ids = [scripted_gpus.uuid(number) for number in (1, 0)]
    done = run_gpassk(machine, 'run', 'configs', '-w', 'out', '--gpus', ','.join(ids))
    assert done.code == 0, done.said
    assert sorted(noted(machine)) == [['a', ids[0]], ['b', ids[1]]]
    [one], [other] = (results_of(machine / 'out' / name) for name in ('a', 'b'))
    assert numbers(one)['gpassk']['counts'] == numbers(other)['gpassk']['counts']


def test_workers_are_on_different_gpus(machine: Path) -> None:
    write_run(machine, 'long', 'a')
    done = run_gpassk(machine, 'run', 'configs', '-w', 'out', '--', '--max-num-workers', '2')
    assert done.code == 0, done.said
    assert Counter(gpu for _, gpu in noted(machine)) == {'0': 1, '1': 1}
    assert len(list(machine.glob('out/long/*/predictions/scripted/bench_[01].json'))) == 2
