"""The odd answers of sbatch, squeue and scancel, given by scripts in their place on $PATH."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.runs.clusters import Work
from gpassk_opencompass.runs.clusters.cluster import Phase
from gpassk_opencompass.runs.clusters.slurm import Slurm
from gpassk_opencompass.runs.clusters.work import Ended, Notes

SCRIPT = """#!/bin/sh
echo "$(basename "$0") $*" >> {folder}/calls
number=$(($(cat {folder}/$(basename "$0").count 2>/dev/null || echo 0) + 1))
echo $number > {folder}/$(basename "$0").count
while [ $number -gt 1 ] && [ ! -e {folder}/$(basename "$0").$number ]; do number=$((number - 1)); done
. {folder}/$(basename "$0").$number
"""


class Fakes:
    """Commands that answer in turn, the last answer again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ('sbatch', 'squeue', 'scancel', 'scontrol', 'sinfo', 'sacct'):
            (folder / name).write_text(SCRIPT.format(folder=shlex.quote(str(folder))))
            (folder / name).chmod(0o755)
            self.answers(name, '')

    def answers(self, name: str, *answers: str) -> None:
        """Shell commands, one an answer."""
        (self.folder / f'{name}.count').unlink(missing_ok=True)
        for number, answer in enumerate(answers, 1):
            (self.folder / f'{name}.{number}').write_text(f'{answer}\n')

    def calls(self, name: str) -> list[str]:
        """How one was called so far."""
        path = self.folder / 'calls'
        lines = path.read_text().splitlines() if path.exists() else []
        return [line.partition(' ')[2] for line in lines if line.partition(' ')[0] == name]


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    """The commands, before all others."""
    (tmp_path / 'bin').mkdir()
    monkeypatch.setenv('PATH', f'{tmp_path / "bin"}{os.pathsep}{os.environ["PATH"]}')
    monkeypatch.setattr(Slurm, 'interval', 0.0)
    return Fakes(tmp_path / 'bin')


def works(tmp_path: Path, *gpus: int) -> list[Work]:
    """Sessions that need so many GPUs."""
    return [
        Work(f's{number}', (f'r{number}',), (f'{tmp_path}/out/r{number}',), ('run',), str(tmp_path), count)
        for number, count in enumerate(gpus)
    ]


def slurm(tmp_path: Path, said: list[str], options: Sequence[str] = (), at_once: int | None = None) -> Slurm:
    """The cluster, with its notes in a folder."""
    return Slurm(tmp_path / 'out/.gpassk/slurm', ['--partition=p', *options], at_once, said.append)


def listed(folder: Path, *lines: str) -> str:
    """An answer of squeue: `INDEX|STATE|NODE|REASON` of array 12."""
    [jobs] = folder.glob('out/.gpassk/slurm/*')
    return '\n'.join(f'echo {shlex.quote(f"{jobs.name}|12|{line}")}' for line in lines) or ':'


def test_sessions_of_equal_need_are_one_array(fakes: Fakes, tmp_path: Path) -> None:
    """Own options first, so that those of the user win; a limit; arrays no longer than the site allows."""
    fakes.answers('sbatch', 'echo 12', 'echo "13;hpc"', 'echo 14')
    fakes.answers('scontrol', 'echo "MaxArraySize            = 3"')
    cluster = slurm(tmp_path, [], ['--time=1:00', '--gres=gpu:h100:8'], at_once=4)
    placed = cluster.submit(works(tmp_path, 8, 0, 8, 8))
    assert {job: work.session for job, work in placed.items()} == {
        '12_0': 's1',
        '13_0': 's0',
        '13_1': 's2',
        '14_0': 's3',
    }
    first, second, third = fakes.calls('sbatch')
    assert '--array=0-0%4' in first
    assert '--gres' not in first.partition(' --partition')[0]
    assert '--array=0-1%4' in second
    assert second.index('--gres=gpu:8') < second.index('--gres=gpu:h100:8')
    assert '--requeue' in third
    assert '--signal=B:USR1@120' in third


def test_a_refused_submission_leaves_nothing(fakes: Fakes, tmp_path: Path) -> None:
    """The second array is refused: the first is cancelled, and the message says why, and what there is."""
    refused = 'echo "sbatch: error: invalid partition specified: p" >&2; exit 1'
    fakes.answers('sbatch', 'echo 12', refused)
    fakes.answers('sinfo', 'echo gpu; echo cpu')
    with pytest.raises(
        InputError, match=r'invalid partition specified: p; the partitions there are: gpu, cpu'
    ):
        slurm(tmp_path, []).submit(works(tmp_path, 0, 1))
    assert fakes.calls('scancel') == ['12_0']


def test_a_busy_controller_is_asked_again(fakes: Fakes, tmp_path: Path) -> None:
    """Twice without an answer, then a number."""
    busy = 'echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv" >&2; exit 1'
    fakes.answers('sbatch', busy, busy, 'echo 12')
    assert list(slurm(tmp_path, []).submit(works(tmp_path, 0))) == ['12_0']
    assert len(fakes.calls('sbatch')) == 3


def test_a_submission_whose_answer_was_lost_is_found_by_its_name(fakes: Fakes, tmp_path: Path) -> None:
    """It is not submitted twice."""
    fakes.answers('sbatch', 'echo "Unable to contact slurm controller" >&2; exit 1')
    name = 'echo "$*" | tr " " "\\n" | sed -n "s/--name=//p"'
    fakes.answers('squeue', f'echo "$({name})|77|0|PENDING||None"')
    assert list(slurm(tmp_path, []).submit(works(tmp_path, 0))) == ['77_0']
    assert len(fakes.calls('sbatch')) == 1


def test_while_squeue_fails_nothing_has_changed(fakes: Fakes, tmp_path: Path) -> None:
    """It is said once, and once more when it answers."""
    said: list[str] = []
    fakes.answers('sbatch', 'echo 12')
    cluster = slurm(tmp_path, said)
    cluster.submit(works(tmp_path, 0))
    running, fails = listed(tmp_path, '0|RUNNING|n1|None'), 'echo "Unable to contact" >&2; exit 1'
    fakes.answers('squeue', running, fails, fails, running, listed(tmp_path, '0|COMPLETED|n1|None'))
    assert [cluster.look()['12_0'].phase for _ in range(5)] == [*[Phase.RUNNING] * 4, Phase.ENDED]
    assert [line.partition(';')[0] for line in said] == ['squeue does not answer', 'squeue answers again']


@pytest.mark.parametrize(
    ('state', 'code', 'goes_on'),
    [
        ('TIMEOUT', None, True),
        ('NODE_FAIL', None, True),
        ('PREEMPTED', 130, True),
        ('FAILED', 75, True),
        ('FAILED', 1, False),
        ('OUT_OF_MEMORY', None, False),
        ('CANCELLED', 130, False),
        ('CANCELLED', 75, False),
        ('COMPLETED', 0, False),
    ],
)
def test_what_the_cluster_has_ended_may_go_on(
    fakes: Fakes, tmp_path: Path, state: str, code: int | None, goes_on: bool
) -> None:
    """An error or a wish of somebody may not."""
    fakes.answers('sbatch', 'echo 12')
    cluster = slurm(tmp_path, [])
    cluster.submit(works(tmp_path, 0))
    [folder] = tmp_path.glob('out/.gpassk/slurm/*')
    if code is not None:
        Notes(folder, 0).end(Ended(code, 'so it is'))
    fakes.answers('squeue', listed(tmp_path, f'0|{state}|n1|None'))
    seen = cluster.look()['12_0']
    assert (seen.phase, seen.state, seen.code, seen.may_go_on) == (Phase.ENDED, state, code, goes_on)


@pytest.mark.parametrize(
    ('accounting', 'state', 'goes_on'),
    [
        ('echo COMPLETED', 'COMPLETED', False),
        ('echo TIMEOUT', 'TIMEOUT', True),
        ('echo "Slurm accounting storage is disabled" >&2; exit 1', 'no longer known to Slurm', True),
    ],
)
def test_a_job_that_slurm_has_forgotten_is_looked_up(
    fakes: Fakes, tmp_path: Path, accounting: str, state: str, goes_on: bool
) -> None:
    """After a second answer without it, in the accounting, where there is one."""
    fakes.answers('sbatch', 'echo 12')
    fakes.answers('sacct', accounting)
    cluster = slurm(tmp_path, [])
    cluster.submit(works(tmp_path, 0))
    fakes.answers('squeue', listed(tmp_path, '0|RUNNING|n1|None'), ':')
    assert [cluster.look()['12_0'].phase for _ in range(2)] == [Phase.RUNNING] * 2
    seen = cluster.look()['12_0']
    assert (seen.phase, seen.state, seen.may_go_on) == (Phase.ENDED, state, goes_on)


def test_an_unusual_reason_to_wait_is_told(fakes: Fakes, tmp_path: Path) -> None:
    """A held job waits for somebody; one that waits for its turn needs no word."""
    fakes.answers('sbatch', 'echo 12')
    cluster = slurm(tmp_path, [])
    cluster.submit(works(tmp_path, 0, 0))
    fakes.answers('squeue', listed(tmp_path, '0|PENDING||JobHeldUser', '1|PENDING||Resources'))
    seen = cluster.look()
    assert (seen['12_0'].says, seen['12_1'].says) == ('job 12_0 waits: JobHeldUser', '')


def test_jobs_are_cancelled_cleanly_first(fakes: Fakes, tmp_path: Path) -> None:
    """Those that wait leave the queue, those at work get a SIGTERM; ended ones are left alone."""
    fakes.answers('sbatch', 'echo 12')
    cluster = slurm(tmp_path, [])
    cluster.submit(works(tmp_path, 0, 0))
    fakes.answers('squeue', listed(tmp_path, '0|COMPLETED|n1|None', '1|RUNNING|n1|None'))
    cluster.look()
    cluster.cancel(hurry=False)
    cluster.cancel(hurry=True)
    assert fakes.calls('scancel') == ['--state=PENDING 12_1', '--signal=TERM --batch 12_1', '12_1']


def test_jobs_of_an_earlier_command_are_found_once(fakes: Fakes, tmp_path: Path) -> None:
    """What is alive is adopted for the runs that are asked for; folders of ended jobs are let alone."""
    fakes.answers('sbatch', 'echo 12')
    slurm(tmp_path, []).submit(works(tmp_path, 0, 0))
    fakes.answers('squeue', listed(tmp_path, '0|RUNNING|n1|None', '1|COMPLETED|n1|None'))
    again = slurm(tmp_path, [])
    assert again.adopt({'r7'}) == {}
    assert {job: work.session for job, work in again.adopt({'r0', 'r1'}).items()} == {'12_0': 's0'}
    fakes.answers('squeue', 'exit 1')
    with pytest.raises(InputError, match='squeue does not answer'):
        slurm(tmp_path, []).adopt({'r0'})
    fakes.answers('squeue', ':')
    assert slurm(tmp_path, []).adopt({'r0'}) == {}
    fakes.answers('squeue', 'exit 1')
    assert slurm(tmp_path, []).adopt({'r0'}) == {}


def test_without_slurm_the_message_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that knows no sbatch."""
    monkeypatch.setenv('PATH', str(tmp_path))
    with pytest.raises(InputError, match='there is no sbatch here'):
        slurm(tmp_path, []).submit(works(tmp_path, 0))
