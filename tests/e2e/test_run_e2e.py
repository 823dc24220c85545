"""`gpassk run` and `gpassk check` with the real `opencompass`: what fails, is stopped, goes on, has GPUs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest
import scripted_gpus
from hosts import (
    dataset_config,
    environment,
    import_plugin,
    numbers,
    results_of,
    scripted,
    wait_until,
    write_bench,
    write_config,
)

import_plugin()
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('sweep')]

K, N = [2, 4], 4
PATIENCE = 300.0
QUESTIONS = [(f'What is {i}+7-{i}?', '$7$') for i in range(8)]


class Done(NamedTuple):
    """A command that ended."""

    code: int
    said: str


class Sweep(NamedTuple):
    """What the first commands left: one run of each kind."""

    root: Path
    failing: Done
    interrupted: Done
    found: dict[str, dict[str, Any]]


def run_gpassk(root: Path, *arguments: str) -> Done:
    done = subprocess.run(
        [sys.executable, '-m', 'gpassk_opencompass.cli', *arguments],
        cwd=root,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return Done(done.returncode, done.stdout + done.stderr)


def journal(work_dir: Path) -> list[Path]:
    return [path for path in work_dir.glob('*/predictions/*/bench.rows.jsonl') if path.stat().st_size]


def write_sweep(root: Path) -> None:
    """Configs of one data set, which is named relative to where the commands are typed."""
    write_bench(root / 'data', {'AMC_en': QUESTIONS})
    (root / 'configs').mkdir()
    (root / 'gate').touch()
    gated = {'type': 'scripted.GatedModel', 'gate': str(root / 'gate')}
    models = {
        'good': scripted(),
        'broken': scripted(trace=str(root / 'later' / 'trace')),
        'stopped': scripted(trace=str(root / 'trace'), **gated),
        'killed': scripted(**gated),
    }
    for name, one in models.items():
        path = root / 'data' if name == 'killed' else Path('data')
        write_config(root / 'configs' / f'{name}.py', one, dataset_config(path, k=K, n=N))


@pytest.fixture(scope='module')
def sweep(forks, tmp_path_factory):
    """One complete, one failed, one changed since, one interrupted, one killed run; then `gpassk check`."""
    root = tmp_path_factory.mktemp('sweep')
    write_sweep(root)
    configs = [f'configs/{name}.py' for name in ('good', 'broken')]
    killed = forks.start('opencompass', 'configs/killed.py', '-w', 'out/killed', folder=root)
    wait_until(lambda: journal(root / 'out' / 'killed'), killed, PATIENCE)
    killed.kill()
    stopped = forks.start('gpassk', 'run', 'configs/stopped.py', '-w', 'out', folder=root)
    wait_until(lambda: journal(root / 'out' / 'stopped'), stopped, PATIENCE)
    os.kill(stopped.pid, signal.SIGINT)
    interrupted = Done(stopped.wait(PATIENCE), stopped.said)
    failing = run_gpassk(root, 'run', *configs, '-w', 'out', '--jobs', '2')
    shutil.copytree(root / 'out' / 'good', root / 'out' / 'changed')
    write_config(root / 'configs' / 'changed.py', scripted(right=[0]), dataset_config(Path('data'), k=K, n=N))
    told = run_gpassk(root, 'check', 'out', '--configs', 'configs', '--json')
    found, _ = json.JSONDecoder().raw_decode(told.said)
    assert told.code == 1
    return Sweep(root, failing, interrupted, {one['run']: one for one in found['tables'][0]['rows']})


def test_a_failed_task_is_an_exit_code_and_log_lines(sweep):
    assert sweep.failing.code == 1
    assert 'No such file or directory' in sweep.failing.said
    assert 'out/broken/.gpassk/opencompass.log' in sweep.failing.said
    assert '2 runs: 1 complete, 1 failed' in sweep.failing.said


def test_check_tells_complete_killed_failed_and_stale_apart(sweep):
    states = {'broken': 'failed', 'changed': 'stale', 'good': 'complete'}
    states |= {'killed': 'partial', 'stopped': 'partial'}
    assert {name: one['state'] for name, one in sweep.found.items()} == states
    assert 'FileNotFoundError' in sweep.found['broken']['detail']
    assert sweep.found['killed']['predictions'] == 4
    assert (sweep.found['stopped']['predictions'], sweep.found['stopped']['expected']) == (4, 32)


def test_ctrl_c_stops_all_and_says_how_to_go_on(sweep):
    assert sweep.interrupted.code == 130
    assert 'type it again to go on' in sweep.interrupted.said
    lines = [process.info['cmdline'] or [] for process in psutil.process_iter(['cmdline'])]
    assert not [line for line in lines if str(sweep.root / 'out' / 'stopped') in ' '.join(line)]


def scores(result: dict[str, Any]) -> dict[str, Any]:
    """What models that answer alike have in common, whatever their settings are."""
    block = {key: told for key, told in numbers(result)['gpassk'].items() if key != 'provenance'}
    return {**result, 'gpassk': block}


def test_a_second_command_runs_what_is_left_and_nothing_else(forks, sweep):
    """The cause is gone: the numbers of the undisturbed run, and no sample is drawn twice."""
    root = sweep.root
    (root / 'gate').unlink()
    (root / 'later').mkdir()
    configs = [f'configs/{name}.py' for name in ('good', 'broken', 'stopped')]
    before = len((root / 'said').read_text())
    again = forks.start('gpassk', 'run', *configs, '-w', 'out', '--jobs', '2', folder=root)
    assert again.wait() == 0
    said = again.said[before:]
    assert 'good: already complete' in said
    for name in ('broken', 'stopped'):
        assert f'{name}: goes on in {sweep.found[name]["time"]}' in said
        [result] = results_of(root / 'out' / name)
        [undisturbed] = results_of(root / 'out' / 'good')
        assert scores(result) == scores(undisturbed)
    samples = [line.split(' ', 1)[1] for line in (root / 'trace').read_text().splitlines()]
    assert len(samples) == len(set(samples)) == len(QUESTIONS) * N


def test_a_ray_cluster_that_is_not_there_is_one_line(sweep):
    done = run_gpassk(sweep.root, 'run', 'configs', '--ray', 'no address')
    assert (done.code, '--ray no address: no cluster there: ' in done.said) == (2, True)


# On scripted GPUs


@pytest.fixture
def machine(tmp_path, monkeypatch):
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


def test_each_run_sees_its_gpu(machine):
    """The real one, as it was named; the numbers are those of runs without GPUs."""
    for name in ('a', 'b'):
        write_run(machine, name, name)
    ids = [scripted_gpus.uuid(number) for number in (1, 0)]
    done = run_gpassk(machine, 'run', 'configs', '-w', 'out', '--gpus', ','.join(ids))
    assert done.code == 0, done.said
    assert sorted(noted(machine)) == [['a', ids[0]], ['b', ids[1]]]
    [one], [other] = (results_of(machine / 'out' / name) for name in ('a', 'b'))
    assert numbers(one)['gpassk']['counts'] == numbers(other)['gpassk']['counts']


def test_workers_are_on_different_gpus(machine):
    write_run(machine, 'long', 'a')
    done = run_gpassk(machine, 'run', 'configs', '-w', 'out', '--', '--max-num-workers', '2')
    assert done.code == 0, done.said
    assert Counter(gpu for _, gpu in noted(machine)) == {'0': 1, '1': 1}
    assert len(list(machine.glob('out/long/*/predictions/scripted/bench_[01].json'))) == 2
