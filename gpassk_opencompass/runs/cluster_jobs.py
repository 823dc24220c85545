"""Which job of a cluster a process belongs to, and whether a job is over, also one of another machine."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache

JOB = 'GPASSK_JOB'
"""The variable that names the job that a command works in: `<scheduler>:<cluster>:<number>#<start>`.

A scheduler that gives a job a second start (its node died, it was preempted) has given up the first one.
"""

SLURM = 'slurm'

ENDED = frozenset(
    {
        *('BOOT_FAIL', 'CANCELLED', 'COMPLETED', 'DEADLINE', 'FAILED', 'LAUNCH_FAILED', 'NODE_FAIL'),
        *('OUT_OF_MEMORY', 'PREEMPTED', 'RECONFIG_FAIL', 'REVOKED', 'TIMEOUT'),
    }
)
"""The states of Slurm in which nothing of a job is left."""

PATIENCE = 30.0
"""Seconds that one of Slurm's commands may take."""

MISSING = 127
"""The exit code of a command that is not there."""

_NUMBER = re.compile(r'\d+(_\d+)?')


def this_job() -> str | None:
    """Return the job that this process belongs to; None where no cluster has started it."""
    return os.environ.get(JOB) or None


def is_over(job: str) -> bool:
    """Return whether a job, or its start, has certainly ended; of one that nobody can tell of, False.

    Args:
        job: as `JOB` has it, of another machine.
    """
    name = job.rpartition('#')[0]
    own = (this_job() or '').rpartition('#')[0]
    if own and name == own:
        return is_earlier_start(job)
    scheduler, _, rest = name.partition(':')
    cluster, _, number = rest.rpartition(':')
    return scheduler == SLURM and _is_over_in_slurm(cluster, number)


def is_earlier_start(job: str | None) -> bool:
    """Return whether a job is that of this process, in another start than this one."""
    name, _, start = (job or '').rpartition('#')
    own, _, own_start = (this_job() or '').rpartition('#')
    return bool(own) and name == own and start != own_start


def slurm_job(cluster: str, number: str, start: str) -> str:
    """Return the name of a start of a job of Slurm.

    >>> slurm_job('hpc', '4711_3', '0')
    'slurm:hpc:4711_3#0'
    """
    return f'{SLURM}:{cluster}:{number}#{start}'


def ask(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of Slurm; one that is not there has the code `MISSING`, one that takes too long 1."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except FileNotFoundError as error:
        return subprocess.CompletedProcess(command, MISSING, '', f'{command[0]}: {error}')
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 1, '', f'{command[0]}: {error}')


def _is_over_in_slurm(cluster: str, number: str) -> bool:
    if not _NUMBER.fullmatch(number) or cluster != _own_cluster():
        return False
    asked = ask('squeue', '--noheader', '--states=all', f'--jobs={number}', '--format=%T')
    if asked.returncode:
        return 'Invalid job id' in asked.stderr
    return set(asked.stdout.split()) <= ENDED


@cache
def _own_cluster() -> str | None:
    """Return the name of the cluster that squeue asks here: numbers of jobs are of one cluster."""
    for line in ask('scontrol', 'show', 'config').stdout.splitlines():
        name, _, value = line.partition('=')
        if name.strip() == 'ClusterName':
            return value.strip()
    return None
