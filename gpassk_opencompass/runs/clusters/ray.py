"""Sessions as tasks of a Ray cluster; `ray` is imported when one is asked for."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError, MissingExtraError
from ...times import utc_folder
from ..cluster_jobs import JOB
from ..command import with_absolute_paths
from .cluster import Phase, Seen
from .work import TIED, Notes, Work, write_works

RETRIES = 3
"""Times that Ray starts a task again whose worker or node died."""

_OF_THE_NODE = ('CUDA_', 'NVIDIA_', 'ROCR_', 'HIP_', 'ASCEND_', 'RAY_', 'XDG_')
_ALSO_OF_THE_NODE = frozenset({'HOME', 'HOSTNAME', 'LD_LIBRARY_PATH', 'LOGNAME', 'TMPDIR', 'USER'})
"""Variables that a job has from its node; all others it has from the command that submitted it."""

_BY_THE_CLUSTER = frozenset({'NodeDiedError', 'OutOfMemoryError', 'RaySystemError', 'WorkerCrashedError'})


@dataclass
class _Task:
    """A session that waits here, or was given to Ray."""

    folder: Path
    number: int
    work: Work
    reference: Any = None


class Ray:
    """Tasks of a Ray cluster, one a session, each with as many GPUs as its model needs.

    Args:
        address: 'auto', `HOST:PORT` or `ray://HOST:PORT`.
        folder: keeps what each job does, and its output; all nodes see it under this path.
        at_once: tasks at a time; None: as many as Ray has room for.
        say: is told when no node has what a session needs.

    Raises:
        InputError: there is no cluster at this address.
        MissingExtraError: Ray is not installed.
    """

    name = 'Ray'
    interval = 1.0

    def __init__(self, address: str, folder: Path, at_once: int | None, say: Callable[[str], None]) -> None:
        self._ray = _connected(address)
        self._folder, self._at_once, self._say = folder, at_once, say
        self._tasks: dict[str, _Task] = {}
        self._ended: dict[str, Seen] = {}
        self._place = self._ray.remote(max_retries=RETRIES)(_task_of_a_session())

    def adopt(self, runs: Collection[str]) -> Mapping[str, Work]:
        """Return none: tasks end with the command that submitted them."""
        return {}

    def submit(self, works: Sequence[Work]) -> Mapping[str, Work]:
        """See `Cluster`; what cannot be placed yet waits here."""
        self._say_if_too_large(max(work.gpus for work in works))
        token = secrets.token_hex(3)
        folder = self._folder / f'gpassk-{utc_folder()}-{token}'
        write_works(folder, works)
        placed = {f'{token}_{index}': work for index, work in enumerate(works)}
        self._tasks.update({job: _Task(folder, i, work) for i, (job, work) in enumerate(placed.items())})
        self._start_waiting()
        return placed

    def _say_if_too_large(self, gpus: int) -> None:
        most = max(
            (node['Resources'].get('GPU', 0) for node in self._ray.nodes() if node['Alive']), default=0
        )
        if gpus > most:
            self._say(
                f'a session needs {gpus} GPUs, no node of the Ray cluster has more than {most:g}: it waits'
            )

    def _start_waiting(self) -> None:
        """Give tasks to Ray, as long as no more than `at_once` are there."""
        given = sum(task.reference is not None for job, task in self._tasks.items() if job not in self._ended)
        for job, task in self._tasks.items():
            if self._at_once is not None and given >= self._at_once:
                break
            if task.reference is None and job not in self._ended:
                task.reference = self._given(job, task)
                given += 1

    def _given(self, job: str, task: _Task) -> Any:
        words = [
            sys.executable,
            '-m',
            'gpassk_opencompass.cli.run_in_job',
            str(task.folder),
            str(task.number),
        ]
        here = with_absolute_paths(Path(task.work.here), os.environ)  # the node has another home directory
        variables = {name: value for name, value in here.items() if not _is_of_the_node(name)}
        log = Notes(task.folder, task.number).log
        told = self._place.options(num_gpus=task.work.gpus, name=f'gpassk {task.work.session}')
        of_node = (_OF_THE_NODE, _ALSO_OF_THE_NODE)
        return told.remote(
            words, {**variables, TIED: '1'}, of_node, task.work.here, str(log), JOB, f'ray::{job}'
        )

    def look(self) -> Mapping[str, Seen]:
        """See `Cluster`."""
        for job, task in self._tasks.items():
            if task.reference is not None and job not in self._ended:
                done, _ = self._ray.wait([task.reference], timeout=0)
                if done:
                    self._ended[job] = self._end_of(task)
        self._start_waiting()
        return {job: self._ended.get(job) or _under_way(task) for job, task in self._tasks.items()}

    def _end_of(self, task: _Task) -> Seen:
        notes = Notes(task.folder, task.number)
        ended = notes.ended
        says = ended.says if ended else ''
        try:
            code = self._ray.get(task.reference)
        except Exception as error:  # whatever Ray raises for a task says how it ended
            kind = type(error).__name__
            why = says or str(error).strip().partition('\n')[0]
            return Seen(Phase.ENDED, kind, notes.log, notes.node, None, why, kind in _BY_THE_CLUSTER)
        if code < 0:  # Ray kills the processes of a node that dies, before it notes the death itself
            return Seen(Phase.ENDED, f'killed by signal {-code}', notes.log, notes.node, None, says, True)
        return Seen(Phase.ENDED, f'code {code}', notes.log, notes.node, code, says)

    def cancel(self, hurry: bool) -> None:
        """See `Cluster`; a cancelled task has its session stop as by Ctrl-C, in a hurry it is killed."""
        for job, task in self._tasks.items():
            if task.reference is None:
                notes = Notes(task.folder, task.number)
                self._ended.setdefault(job, Seen(Phase.ENDED, 'cancelled', notes.log))
            elif job not in self._ended:
                self._ray.cancel(task.reference, force=hurry)

    def close(self) -> None:
        """Leave the cluster; tasks that are left end."""
        self._ray.shutdown()


def _connected(address: str) -> Any:
    """Return the package, connected to a cluster; signals are handled as before."""
    try:
        import ray
    except ModuleNotFoundError as error:
        raise MissingExtraError('ray', 'ray') from error
    _probe(address)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        ray.init(address=address, log_to_driver=False, logging_level='ERROR')
    except Exception as error:  # of several kinds, by what is wrong with the address or the cluster
        why = str(error).strip().partition('\n')[0]
        raise InputError(
            f'--ray {address}: no Ray cluster answers there: {why}. Expected auto, on a node of it, or '
            'HOST:PORT of its head; ray start --head starts one'
        ) from error
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return ray


def _probe(address: str) -> None:
    """Refuse an address where nobody listens, for which Ray itself takes a minute."""
    host, _, port = address.rpartition('://')[2].rpartition(':')
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip('[]'), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise InputError(
            f'--ray {address}: nobody answers there: {error}; ray start --head starts a cluster'
        ) from error


def _is_of_the_node(name: str) -> bool:
    return name.startswith(_OF_THE_NODE) or name in _ALSO_OF_THE_NODE


def _under_way(task: _Task) -> Seen:
    notes = Notes(task.folder, task.number)
    if task.reference is None or notes.node is None:
        return Seen(Phase.WAITING, 'waiting', notes.log)
    return Seen(Phase.RUNNING, 'running', notes.log, notes.node)


def _task_of_a_session() -> Callable[..., int]:
    """Return what a worker does; being within a function it travels whole, and no node has to import it."""

    def session(
        words: list[str],
        variables: dict[str, str],
        of_node: tuple[tuple[str, ...], frozenset[str]],
        here: str,
        log: str,
        job_variable: str,
        job: str,
    ) -> int:
        import os
        import signal
        import subprocess
        import time
        import uuid

        prefixes, names = of_node
        own = {k: v for k, v in os.environ.items() if k.startswith(prefixes) or k in names}
        environment = {**variables, **own, job_variable: f'{job}#{uuid.uuid4().hex}'}
        with open(log, 'ab') as output:
            process = subprocess.Popen(
                words,
                cwd=here,
                env=environment,
                stdin=subprocess.PIPE,  # its end tells the job that this worker is gone
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            while process.poll() is None:
                time.sleep(0.2)
            return process.returncode
        finally:  # cancelled
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(timeout=60)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)

    return session
