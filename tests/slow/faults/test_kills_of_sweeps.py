"""kill -9 of any process of `gpassk run`: itself, an `opencompass`, guards, servers."""

from __future__ import annotations

import os
import random
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from e2e.test_served_engine import BATCH, SAMPLES, predictions, template
from hosts import environment
from started_servers import Script, until
from sweeping import dump

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('kills')]

MARK = 'GPASSK_KILLS_OF'
TEMPERATURES = (0.5, 1.0)
PATIENCE = 240.0
LATEST = 6.0
"""Seconds after the start of a command at which one of its processes is killed, at the latest."""

ROLES = {
    'gpassk_opencompass.cli': 'command',
    'scripted_model_server.py': 'server',
    'processes': 'guard',
    'bin/opencompass': 'run',
}


class Sweep:
    """Two configs of one model behind a server that `gpassk run` starts."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.script = folder, Script(folder / 'script')
        text = template(self.script).replace('[1.0]', str(list(TEMPERATURES)), 1)
        (folder / 'template').mkdir()
        assert dump(folder / 'template', text) == 0
        self._mark = secrets.token_hex(8)

    def start(self, out: str) -> subprocess.Popen[bytes]:
        """`gpassk run` at work; all that it starts can be found."""
        line = [sys.executable, '-m', 'gpassk_opencompass.cli', 'run', 'template/configs', '-w', out]
        with (self.folder / 'said').open('ab') as said:
            return subprocess.Popen(
                line,
                cwd=self.folder,
                env={**environment(), MARK: self._mark},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )

    def processes(self) -> dict[int, str]:
        """All that is alive of a command, and what it is."""
        found = {}
        for path in Path('/proc').glob('[0-9]*'):
            with suppress(OSError):
                if f'{MARK}={self._mark}'.encode() in (path / 'environ').read_bytes():
                    line = (path / 'cmdline').read_bytes().replace(b'\0', b' ').decode(errors='replace')
                    role = next((name for part, name in ROLES.items() if part in line), 'other')
                    found[int(path.name)] = role
        return found

    def drawn(self, out: str) -> list[dict[int, str]]:
        """Seed → response of each run."""
        return [predictions(work_dir) for work_dir in sorted((self.folder / out).glob('*@*'))]

    def said(self) -> str:
        return (self.folder / 'said').read_text(errors='replace')[-3000:]


@pytest.fixture
def sweep(tmp_path):
    return Sweep(tmp_path)


def test_a_kill_of_any_process_costs_a_batch_at_most(sweep, times, chance, tried):
    """Killed and started again until it is through: the samples of an undisturbed sweep, none asked twice."""
    assert sweep.start('undisturbed').wait(PATIENCE) == 0, sweep.said()
    wanted = sweep.drawn('undisturbed')
    assert [len(rows) for rows in wanted] == [SAMPLES, SAMPLES]

    rounds = 0
    while tried.total() < times:
        rounds += 1
        out, before, kills = f'round-{rounds}', len(sweep.script.replied), tried.total()
        while disturbed(sweep, out, chance, tried if tried.total() < times else None) != 0:
            pass
        assert sweep.drawn(out) == wanted
        asked = len(sweep.script.replied) - before
        assert asked <= len(TEMPERATURES) * SAMPLES + (tried.total() - kills) * BATCH
    assert not sweep.processes()


def disturbed(sweep: Sweep, out: str, chance: random.Random, tried: Counter[str] | None) -> int:
    """The exit code of a command of which one process was killed, or, with None, of an undisturbed one."""
    process = sweep.start(out)
    if tried is not None:
        goal = len(sweep.script.replied) + chance.randrange(2 * SAMPLES)
        deadline = time.monotonic() + LATEST * (1 + chance.random())
        while time.monotonic() < deadline and len(sweep.script.replied) < goal and process.poll() is None:
            time.sleep(0.005)
        alive = sweep.processes()
        if process.poll() is None and alive:
            victim = chance.choice(sorted(alive))
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
                tried[alive[victim]] += 1
    code = process.wait(PATIENCE)
    until(lambda: not sweep.processes(), PATIENCE)
    assert code in (0, 1, -signal.SIGKILL), sweep.said()
    return code
