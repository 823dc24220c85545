"""A small disk that is full; this user has to be allowed to mount it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from sweep_run import expansion_and_report

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('faults')]

ROOM = 256 * 1024
BLOCK = 4096


@pytest.fixture
def disk(tmp_path):
    """A file system of 256 KiB."""
    folder = tmp_path / 'disk'
    folder.mkdir()
    line = ['mount', '-t', 'tmpfs', '-o', f'size={ROOM}', 'tmpfs', str(folder)]
    made = subprocess.run(line, capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f'no small disk can be mounted here: {made.stderr.strip()}')
    yield folder
    subprocess.run(['umount', '-l', str(folder)], check=True)


def leave(disk: Path, room: int) -> Path:
    """Fill it, but for so many bytes; the file to remove to make room."""
    ballast = disk / 'ballast'
    ballast.unlink(missing_ok=True)
    left = os.statvfs(disk).f_bavail * BLOCK
    ballast.write_bytes(bytes(max(0, left - room) // BLOCK * BLOCK))
    return ballast


def test_a_run_on_a_full_disk_goes_on_when_there_is_room(run, disk, times, chance, tried):
    """It fails and says so, with any number of blocks left; then the numbers are those of any other run."""
    for number in range(times):
        name = f'run{number}'
        run.write(name)
        ballast, before = leave(disk, BLOCK * chance.randrange(40)), len(run.said)
        disturbed = run.start(name, out=disk).wait() != 0
        tried['full' if disturbed else 'fitted'] += 1
        logs = [*disk.glob(f'{name}/.gpassk/opencompass.log'), *disk.glob(f'{name}/*/logs/*/*/*.out')]
        said = run.said[before:] + ''.join(log.read_text(errors='replace')[-3000:] for log in logs)
        assert not disturbed or 'No space left' in said, said
        ballast.unlink()
        run.complete(name, out=disk)
        run.check(name, deaths=int(disturbed), out=disk)
        subprocess.run(['rm', '-r', disk / name], check=True)


@pytest.mark.parametrize('command', ['dump_configs', 'report'])
def test_a_command_without_room_says_so(forks, tmp_path, disk, command):
    """One message, exit code 2; typed again when there is room it ends as anywhere else."""
    line = expansion_and_report(tmp_path)[command]
    for room in (0, 1, 2, 3):
        place = tmp_path / f'room{room}'  # each says its own
        place.mkdir()
        ballast = leave(disk, room * BLOCK)
        copy = forks.start(*line, disk / 'made', folder=place)
        code = copy.wait()
        ballast.unlink()
        if room and code == 0:  # it fits
            continue
        assert code == 2
        assert re.search(rf'cannot write .*{disk / "made"}\b.*: .*No space left', copy.said)
        assert 'Traceback' not in copy.said
    assert forks.start(*line, disk / 'made', folder=tmp_path).wait() == 0
    other = tmp_path / 'elsewhere' / 'made'  # as far from the template
    assert forks.start(*line, other, folder=tmp_path).wait() == 0
    made, elsewhere = (
        {path.name: path.read_bytes() for path in folder.iterdir() if not path.is_dir()}
        for folder in (disk / 'made', other)
    )
    assert made == elsewhere
