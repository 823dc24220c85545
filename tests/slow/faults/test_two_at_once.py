"""Two commands at once in one place."""

from __future__ import annotations

import time

import pytest
from dying import Fault

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('faults')]


def test_two_sweeps_in_one_work_directory(run, times, chance, tried):
    """One works, the other one leaves it alone and says who has it; or comes late, and finds it complete."""
    run.write('alone')
    began = time.monotonic()
    assert run.start('alone').wait() == 0
    seconds = time.monotonic() - began
    for number in range(times):
        name = f'run{number}'
        run.write(name)
        before = len(run.said)
        first = run.start(name)
        time.sleep(chance.uniform(0, seconds / 2))
        second = run.start(name)
        codes = sorted([first.wait(), second.wait()])
        refused = 'in use by process' in run.said[before:]
        tried['one refused' if refused else 'both complete'] += 1
        # Who is refused looks once more: by then the other one may be done.
        assert codes == [0, 0] or (codes == [0, 1] and refused)
        run.complete(name)
        run.check(name, deaths=0)


def test_two_commands_of_opencompass_in_one_time_directory(run, times, chance, tried):
    """Of one shard only one is at work, the other one stops and says so; the numbers are right."""
    for number in range(times):
        name = f'run{number}'
        config = run.write(name, delay=0.05)
        run.start(name, Fault('opencompass', str(run.root / 'out'), change=chance.randint(8, 24))).wait()
        [time_dir] = (run.root / 'out' / name).glob('2*')
        line = (config, '-w', run.root / 'out' / name, '-r', time_dir.name)
        folders = [run.root / f'{name}-{place}' for place in 'ab']
        copies = []
        for folder in folders:
            folder.mkdir()
            copies.append(run.forks.start('opencompass', *line, folder=folder))
            time.sleep(chance.uniform(0, 0.2))
        stopped = [copy for copy in copies if copy.wait() != 0]
        tried[f'{2 - len(stopped)} of 2 to the end'] += 1
        assert all('another task is at work on it' in copy.said for copy in stopped)
        run.complete(name)
        run.check(name, deaths=3, workers=2)
