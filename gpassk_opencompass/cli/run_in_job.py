"""`python -m gpassk_opencompass.cli.run_in_job FOLDER INDEX`: what a job of a cluster does.

It does the `gpassk run` of its session, and notes how that ends. Signals:

- SIGUSR1: the allocation is about to end. The runs are stopped as by Ctrl-C, and the job has itself started
  again, if the cluster allows that and anything new was drawn or judged.
- SIGTERM, SIGINT: somebody cancels the job. The runs are stopped as by Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

from ..errors import GPassKError
from ..runs.cluster_jobs import JOB, ask, is_earlier_start, slurm_job
from ..runs.clusters.work import (
    TIED,
    TO_BE_CONTINUED,
    WORKS_FOLDER,
    Ended,
    Notes,
    Work,
    read_works,
)
from ..runs.lock import holder_of, is_in_use
from . import INTERRUPTED, REFUSED
from . import main as gpassk

ORPHANS = 10.0
"""Seconds for an earlier start, or the command that it has left, to end."""


class Notice:
    """Whether the cluster has said that the allocation is about to end."""

    def __init__(self) -> None:
        self.given = False
        signal.signal(signal.SIGUSR1, self._receive)
        signal.signal(signal.SIGTERM, _stopped)  # until `gpassk run` counts it, and after that

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if not self.given:
            self.given = True
            print('gpassk: the allocation is about to end', file=sys.stderr, flush=True)
            signal.raise_signal(signal.SIGTERM)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do the session of a job; return its exit code."""
    notice = Notice()
    folder, *rest = sys.argv[1:] if arguments is None else arguments
    index = _index(rest)
    try:
        work = read_works(Path(os.environ.get(WORKS_FOLDER) or folder))[index]
        Path(folder).mkdir(parents=True, exist_ok=True)
    except (GPassKError, IndexError, OSError) as error:
        print(f'gpassk: job {index} of {folder}: {error}', file=sys.stderr)
        return REFUSED
    if os.environ.get(TIED):
        threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.setdefault(JOB, _slurm_job() or '')
    notes = Notes(Path(folder), index)
    notes.begin(os.environ[JOB].rpartition('#')[2], os.environ.get('SLURMD_NODENAME') or socket.gethostname())
    ended = _session(work, notes, notice)
    notes.end(ended)
    if ended.says:
        print(f'gpassk: {ended.says}', file=sys.stderr)
    return ended.code


def _index(given: Sequence[str]) -> int:
    variables = ('SLURM_ARRAY_TASK_ID', 'JOB_COMPLETION_INDEX')
    told = [os.environ[name] for name in variables if os.environ.get(name)]
    return int([*given, *told, '0'][0])


def _session(work: Work, notes: Notes, notice: Notice) -> Ended:
    try:
        os.chdir(work.here)
    except OSError as error:
        return Ended(REFUSED, f'no {work.here} on this node, {error.strerror}: all nodes need the same disk')
    before = work.extent()
    try:
        for folder in work.work_dirs:
            _end_orphan(Path(folder))
        code = gpassk(work.words)
    except SystemExit as error:  # stopped before or after its runs; or a wrong option
        code = error.code if isinstance(error.code, int) else REFUSED
    if not notice.given or code == 0:
        return Ended(code)
    if not notes.is_fruitful(before, work.extent()):
        return Ended(
            1,
            'twice in a row the allocation ended before anything new was kept: ask for more time, or '
            'choose a smaller batch_size',
        )
    return _continued()


def _end_orphan(work_dir: Path) -> None:
    """End the command of an earlier start of this job that is still on this machine, or was left there."""
    deadline = time.monotonic() + ORPHANS
    while (holder := holder_of(work_dir)) and holder.is_here and is_earlier_start(holder.job):
        if not is_in_use(work_dir) or time.monotonic() > deadline:
            return
        if holder.group:  # its members hold the lock
            with suppress(ProcessLookupError):
                os.killpg(holder.group, signal.SIGKILL)
        time.sleep(0.1)


def _continued() -> Ended:
    """Have Slurm start this job again, where it can."""
    number = os.environ.get('SLURM_JOB_ID')
    asked = ask('scontrol', 'requeue', number) if number else None
    if asked is None or asked.returncode:
        why = '' if asked is None else f': {asked.stderr.strip()}'
        return Ended(TO_BE_CONTINUED, f'stopped before the end of the allocation{why}')
    return Ended(TO_BE_CONTINUED, 'stopped before the end of the allocation; Slurm starts the job again')


def _slurm_job() -> str | None:
    variables = os.environ
    if 'SLURM_JOB_ID' not in variables:
        return None
    array, task = variables.get('SLURM_ARRAY_JOB_ID'), variables.get('SLURM_ARRAY_TASK_ID')
    number = f'{array}_{task}' if array and task else variables['SLURM_JOB_ID']
    start = variables.get('SLURM_RESTART_COUNT', '0')
    return slurm_job(variables.get('SLURM_CLUSTER_NAME', ''), number, start)


def _stopped(number: int, frame: FrameType | None) -> None:
    raise SystemExit(INTERRUPTED)


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == '__main__':
    sys.exit(main())
