"""The real `opencompass` as copies of the warm process: samples, failures and deaths as by hand."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from forks import Forks
from hosts import command, dataset_config, environment, import_plugin, wait_until, write_bench, write_config

from gpassk_opencompass.demo import MODEL
from gpassk_opencompass.prefork import Pool

import_plugin()
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('prefork')]

PATIENCE = 300.0
QUESTIONS = [(f'What is {i}+{i}?', f'${2 * i}$') for i in range(8)]


class Warm:
    """A pool with OpenCompass in it, and runs of the shipped model."""

    def __init__(self, folder: Path, pool: Pool) -> None:
        self.folder, self._pool = folder, pool
        self._questions = write_bench(folder / 'questions', {'AMC_en': QUESTIONS})

    def config(self, name: str, n: int = 4, **settings: Any) -> Path:
        """A config of its own name; the settings are those that do not matter for what is loaded."""
        model = {
            'type': 'gpassk_opencompass.SeededHuggingFace',
            'abbr': 'm',
            'path': str(MODEL),
            'model_kwargs': {'torch_dtype': 'torch.float32', 'device_map': 'cpu'},
            'max_seq_len': 512,
            'max_out_len': 12,
            'batch_size': 4,
            'generation_kwargs': {'do_sample': True, 'temperature': 1.0},
            'random_seed': 42,
            'run_cfg': {'num_gpus': 0},
            **settings,
        }
        return write_config(self.folder / f'{name}.py', model, dataset_config(self._questions, n=n, k=[2, n]))

    def start(self, config: Path, work_dir: str, *options: str) -> subprocess.Popen[bytes]:
        """`opencompass CONFIG -w WORK_DIR …` as a copy."""
        line = [str(Path(sys.executable).with_name('opencompass')), str(config), '-w', work_dir, *options]
        return self._spawn(self._pool.command(line), work_dir)

    def by_hand(self, config: Path, work_dir: str, *options: str) -> int:
        """The same by Python itself."""
        return self._spawn(command(config, work_dir, *options), work_dir).wait(PATIENCE)

    def _spawn(self, line: list[str], work_dir: str) -> subprocess.Popen[bytes]:
        place = self.folder / work_dir / 'cwd'
        place.mkdir(parents=True, exist_ok=True)
        line = [str(self.folder / work_dir) if word == work_dir else word for word in line]
        with (self.folder / f'{work_dir}.log').open('ab') as log:
            return subprocess.Popen(
                line,
                cwd=place,
                env={**environment(), 'GPASSK_SESSION': 'session', 'TZ': 'UTC'},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def said(self, work_dir: str) -> str:
        return (self.folder / f'{work_dir}.log').read_text(errors='replace')

    def run(self, config: Path, work_dir: str, *options: str) -> int:
        """To its end."""
        return self.start(config, work_dir, *options).wait(PATIENCE)

    def predictions(self, work_dir: str) -> bytes:
        [path] = self.folder.glob(f'{work_dir}/*/predictions/m/bench.json')
        return path.read_bytes()

    def events(self, kind: str) -> list[dict[str, Any]]:
        lines = (self.folder / 'events').read_text().splitlines()
        return [event for event in map(json.loads, lines) if event['event'] == kind]


@pytest.fixture(scope='module')
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    folder = tmp_path_factory.mktemp('warm')
    with Pool({**environment(), 'TZ': 'UTC'}, folder / 'events') as pool:
        yield Warm(folder, pool)


@pytest.fixture(scope='module')
def forks() -> Iterator[Forks]:
    with Forks() as forks:
        yield forks


def files_of(work_dir: Path) -> list[str]:
    """What a run leaves, without the moment and the number of its process."""
    [time_dir] = [path for path in work_dir.iterdir() if re.fullmatch(r'\d{8}_\d{6}', path.name)]
    names = [str(path.relative_to(time_dir)) for path in time_dir.rglob('*')]
    return sorted(re.sub(r'\d{8}_\d{6}(_\d+)?', 'TIME', name) for name in names)


def last_lines(work_dir: Path) -> dict[str, str]:
    """The last line of each log of a task, wherever and whenever it was."""
    logs = {path.relative_to(path.parents[3]).as_posix(): path for path in work_dir.glob('*/logs/*/m/*.out')}
    ends = {name: log.read_text().splitlines()[-1] for name, log in logs.items()}
    return {name: re.sub(r'/\S+/\d{8}_\d{6}/', 'TIME/', end) for name, end in ends.items()}


def test_runs_of_one_load_are_those_by_hand_and_a_failing_one_takes_no_other_with_it(
    warm: Warm, forks: Forks
) -> None:
    """Byte for byte; the failing run leaves the files, and the ends of the logs, that it leaves by hand."""
    good = {
        'first': warm.config('first', generation_kwargs={'do_sample': True, 'temperature': 0.3}),
        'second': warm.config('second'),
        'third': warm.config('third', n=2, random_seed=7, batch_size=3),
    }
    # Found when the first sample is drawn, with the model loaded.
    bad = warm.config('bad', generation_kwargs={'do_sample': True, 'temperature': -1.0})
    assert warm.run(good['first'], 'first') == 0, warm.said('first')
    assert warm.run(bad, 'bad') == warm.by_hand(bad, 'bad-by-hand') == 0
    for name in ('second', 'third'):
        assert warm.run(good[name], name) == 0, warm.said(name)

    for name, config in good.items():
        forks.opencompass(config, warm.folder / f'{name}-by-hand')
        assert warm.predictions(name) == warm.predictions(f'{name}-by-hand')
        assert list(warm.folder.glob(f'{name}/*/results/m/bench.json'))
    assert files_of(warm.folder / 'bad') == files_of(warm.folder / 'bad-by-hand')
    ends = last_lines(warm.folder / 'bad')
    assert ends == last_lines(warm.folder / 'bad-by-hand')
    assert any('temperature' in line for line in ends.values())
    # One for the first run and the one that failed, one for the two that followed.
    assert len(warm.events('model')) == 2
    assert [event['made'] for event in warm.events('done')] == [1, 1, 1, 1]
    assert len(warm.events('ready')) == 1
    assert not warm.events('plain')


def parent_of(pid: int) -> int:
    return int(Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[1])


@pytest.mark.parametrize('who', ['model', 'command', 'client', 'server'])
def test_a_run_whose_processes_are_killed_goes_on_where_it_was(warm: Warm, forks: Forks, who: str) -> None:
    """kill -9 in the middle of the sampling, then -r: the samples of a run that nothing happened to."""
    config, work_dir = warm.config(who, n=16, batch_size=2), f'killed-{who}'
    process = warm.start(config, work_dir)

    def begun() -> list[Path]:
        found = warm.folder.glob(f'{work_dir}/*/predictions/m/tmp_bench.jsonl')
        return [path for path in found if path.read_bytes().count(b'\n') >= 4]

    wait_until(begun, process)
    model, copy = warm.events('model')[-1]['pid'], warm.events('copy')[-1]['pid']
    victims = {'model': model, 'command': copy, 'client': process.pid, 'server': parent_of(copy)}
    os.kill(victims[who], signal.SIGKILL)
    process.wait(PATIENCE)
    deadline = time.monotonic() + PATIENCE
    while Path(f'/proc/{model}').exists():
        assert time.monotonic() < deadline, 'it goes on sampling'
        time.sleep(0.01)
    assert not list(warm.folder.glob(f'{work_dir}/*/predictions/m/bench.json'))
    [journal] = begun()
    before = journal.read_bytes().splitlines()
    assert warm.run(config, work_dir, '-r') == 0, warm.said(work_dir)
    forks.opencompass(config, warm.folder / f'{work_dir}-by-hand')
    assert warm.predictions(work_dir) == warm.predictions(f'{work_dir}-by-hand')
    assert 4 <= len(before) < 16 * len(QUESTIONS)
