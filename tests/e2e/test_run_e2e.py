"""`gpassk run` and `gpassk check` with the real `opencompass`: what fails, is stopped, goes on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest
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


class Sweep(NamedTuple):
    """What the first commands left: one run of each kind."""

    root: Path
    failing: tuple[int, str]
    interrupted: tuple[int, str]
    found: dict[str, dict[str, Any]]


def gpassk(root: Path, *arguments: str) -> tuple[int, str]:
    """Exit code, and what it said."""
    line = [sys.executable, '-m', 'gpassk_opencompass.cli', *arguments]
    pipe = subprocess.PIPE
    done = subprocess.run(
        line, cwd=root, env=environment(), stdout=pipe, stderr=pipe, text=True, timeout=PATIENCE, check=False
    )
    return done.returncode, done.stdout + done.stderr


def config_of(root: Path, name: str, data: str = 'data', **model: Any) -> None:
    """A config of a data set that is named relative to where the commands are typed."""
    write_config(root / 'configs' / f'{name}.py', scripted(**model), dataset_config(Path(data), k=K, n=N))


@pytest.fixture(scope='module')
def sweep(forks, tmp_path_factory):
    """One complete, one failed, one changed since, one interrupted, one killed run; then `gpassk check`."""
    root = tmp_path_factory.mktemp('sweep')
    write_bench(root / 'data', {'AMC_en': QUESTIONS})
    (root / 'configs').mkdir()
    (root / 'gate').touch()
    gated = {'gate': str(root / 'gate')}
    config_of(root, 'good')
    config_of(root, 'broken', trace=str(root / 'later' / 'trace'))
    config_of(root, 'stopped', trace=str(root / 'trace'), **gated)
    config_of(root, 'killed', str(root / 'data'), **gated)

    def has_samples(name: str) -> bool:
        journals = root.glob(f'out/{name}/*/predictions/*/bench.rows.jsonl')
        return any(path.stat().st_size for path in journals)

    killed = forks.start('opencompass', 'configs/killed.py', '-w', 'out/killed', folder=root)
    wait_until(lambda: has_samples('killed'), killed, PATIENCE)
    killed.kill()
    stopped = forks.start('gpassk', 'run', 'configs/stopped.py', '-w', 'out', folder=root)
    wait_until(lambda: has_samples('stopped'), stopped, PATIENCE)
    os.kill(stopped.pid, signal.SIGINT)
    interrupted = stopped.wait(PATIENCE), stopped.said
    failing = gpassk(root, 'run', 'configs/good.py', 'configs/broken.py', '-w', 'out', '--jobs', '2')
    shutil.copytree(root / 'out' / 'good', root / 'out' / 'changed')
    config_of(root, 'changed', right=[0])
    code, said = gpassk(root, 'check', 'out', '--configs', 'configs', '--json')
    found, _ = json.JSONDecoder().raw_decode(said)
    assert code == 1
    return Sweep(root, failing, interrupted, {one['run']: one for one in found['tables'][0]['rows']})


def test_complete_killed_failed_and_stale_runs_are_told_apart(sweep):
    """By `gpassk run` too, with an exit code, the log of what failed, and how to go on."""
    code, said = sweep.failing
    assert code == 1
    assert 'No such file or directory' in said
    assert 'out/broken/.gpassk/opencompass.log' in said
    assert '2 runs: 1 complete, 1 failed' in said
    code, said = sweep.interrupted
    assert (code, 'type it again to go on' in said) == (130, True)
    lines = [process.info['cmdline'] or [] for process in psutil.process_iter(['cmdline'])]
    assert not [line for line in lines if str(sweep.root / 'out' / 'stopped') in ' '.join(line)]
    states = {'broken': 'failed', 'changed': 'stale', 'good': 'complete'}
    states |= {'killed': 'partial', 'stopped': 'partial'}
    assert {name: one['state'] for name, one in sweep.found.items()} == states
    assert 'FileNotFoundError' in sweep.found['broken']['detail']
    assert sweep.found['killed']['predictions'] == 4
    assert (sweep.found['stopped']['predictions'], sweep.found['stopped']['expected']) == (4, 32)


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
    [undisturbed] = results_of(root / 'out' / 'good')
    for name in ('broken', 'stopped'):
        assert f'{name}: goes on in {sweep.found[name]["time"]}' in said
        [result] = results_of(root / 'out' / name)
        assert scores(result) == scores(undisturbed)
    samples = [line.split(' ', 1)[1] for line in (root / 'trace').read_text().splitlines()]
    assert len(samples) == len(set(samples)) == len(QUESTIONS) * N
