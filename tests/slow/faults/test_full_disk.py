"""A small disk that is full, or that can only be read; this user has to be allowed to mount it."""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from judge_server import JudgeServer, fair, judge_at, pairs_of
from sweep_run import expansion_and_report

from gpassk_opencompass import IncompleteError, InputError
from gpassk_opencompass.judges.verdicts import VerdictStore

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('faults')]

ROOM = 256 * 1024
BLOCK = 4096


@pytest.fixture
def disk(tmp_path):
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


@pytest.fixture
def judging(disk):
    """Judge pairs with a store on the disk; what is right, and how many requests that took."""

    def judge(count):
        with (
            JudgeServer(lambda asked: fair(asked.prompt)) as server,
            closing(judge_at(server, verdicts=disk / 'store')) as one,
        ):
            said = [judgement.verdict.value == 'correct' for judgement in one.judge(pairs_of(0, count))]
        return said, len(server.asked)

    return judge


def test_a_judge_on_a_full_disk_asks_for_the_rest_when_there_is_room(disk, judging):
    ballast = leave(disk, BLOCK)
    with pytest.raises(IncompleteError, match=f'cannot write verdicts to {disk}/store/.*: No space left'):
        judging(40)
    kept = len(VerdictStore(disk / 'store'))
    ballast.unlink()
    assert kept > 0
    assert judging(40) == ([True, False] * 20, 40 - kept)


def test_a_store_that_can_only_be_read_is_read(disk, judging):
    """What is stored is known; what cannot be kept is an error."""
    judging(20)
    subprocess.run(['mount', '-o', 'remount,ro', str(disk)], check=True)
    assert judging(20) == ([True, False] * 10, 0)
    with pytest.raises(InputError, match=f'cannot write verdicts to {disk}/store: .*name another folder'):
        judging(21)


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
