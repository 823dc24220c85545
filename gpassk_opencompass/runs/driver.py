"""Start `opencompass` for the runs that need it: a pool of GPUs, the largest model first, a server a model.

The runs of one model whose engine is `serve` are clients of one server, at most four at a time; where GPUs
are left the model gets several. A judge that is to be started is one more server, whose clients are the
evaluations of its runs. Any other run is a process on GPUs of its own.
"""

from __future__ import annotations

import json
import os
import socket
import time
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from ..errors import IncompleteError, InputError
from ..files import mapping, put_aside, replace_file
from ..processes import Child, Stop, end_marked
from ..serving import SERVERS, Served, Server, read_judge_server, served_model
from ..sweep.folder import MANIFEST, manifest_text
from ..text import own_folder, utc_now
from .gpus import VISIBLE, free_gpus, why_never
from .opencompass import Options, command, config_for, environment, prepare_directory, runs_in_process
from .state import (
    HOLDER,
    LOG,
    NOTES,
    Config,
    DrawnSamples,
    Excerpt,
    Finding,
    Holder,
    Planned,
    Start,
    State,
    dicts_of,
    evaluator_of,
    examine,
    holder_of,
    is_local,
    note_start,
    read_starts,
)

POLL = 0.2
CLIENTS = 4
"""Runs that ask a server at a time: more do not make it faster, and each is a process."""


JOB = 'GPASSK_JOB'
"""Environment variable with the job of a cluster that a process is of."""


@dataclass(frozen=True)
class Task:
    """A command that has to be started for a run: all of it, or only its samples or its evaluation."""

    run: Planned
    mode: str = 'all'
    in_process: bool = False
    workers: int | None = None


@dataclass(eq=False)
class Entry:
    """What gets GPUs of the pool: a model behind its servers with the runs that ask them, or a run by itself.

    Args:
        tasks: what is done with it.
        gpus: how many a server, or the run, takes.
        served: the server; None: the run loads its model itself, or needs none.
        after: runs that have to be sampled before.
        size: how much work it is; more goes first.
    """

    tasks: list[Task]
    gpus: int = 0
    served: Served | None = None
    after: set[str] = field(default_factory=set)
    size: float = 0.0

    @property
    def most(self) -> int:
        """Return how many servers it can make use of, or workers with GPUs of their own."""
        if self.served is None:
            return self.tasks[0].workers or 1
        return -(-len(self.tasks) // CLIENTS)


class Pool:
    """Which entries may start now, and on which GPUs: those that need many first, then those with much work.

    Args:
        entries: what waits.
        gpus: that may be used; none: nothing is counted, and `jobs` decides.
        jobs: entries at a time; None: as many as fit on the GPUs, and one that needs none.
    """

    def __init__(self, entries: Iterable[Entry], gpus: Sequence[str], jobs: int | None = None) -> None:
        self.waiting = sorted(entries, key=lambda entry: (-entry.gpus, -entry.size))
        self._gpus, self._jobs = gpus, jobs
        self._working: dict[Entry, tuple[str, ...]] = {}

    def next(self) -> list[tuple[Entry, tuple[str, ...]]]:
        """Return what starts now, with its GPUs; it counts as at work until `ended`.

        Where nothing waits any more a model at work may get GPUs for one more server, if runs of it wait.
        """
        started = []
        for entry in [entry for entry in self.waiting if not entry.after]:
            gpus = self._place(entry)
            if gpus is not None:
                self.waiting.remove(entry)
                self._working[entry] = gpus
                started.append((entry, gpus))
        if not started and not self.waiting and self._gpus:
            used = {gpu for gpus in self._working.values() for gpu in gpus}
            able = [entry for entry in self._working if entry.served and entry.gpus and entry.tasks]
            for entry in sorted(able, key=lambda one: -len(one.tasks) * one.gpus / len(self._working[one])):
                if more := free_gpus(self._gpus, used, entry.gpus):
                    self._working[entry] += more
                    return [(entry, more)]
        return started

    def ended(self, entry: Entry) -> None:
        """Take note that an entry has ended."""
        del self._working[entry]

    def _place(self, entry: Entry) -> tuple[str, ...] | None:
        needs_gpus = bool(entry.gpus and self._gpus)
        alike = sum(bool(gpus) == needs_gpus for gpus in self._working.values())
        if alike >= (self._jobs or (len(self._gpus) if needs_gpus else 1)):
            return None
        if not needs_gpus:
            return ()
        used = {gpu for gpus in self._working.values() for gpu in gpus}
        others = sum(other.gpus for other in self.waiting if other is not entry)
        left = len(self._gpus) - len(used) - others
        copies = 1 + max(0, min(entry.most - 1, left // entry.gpus - 1))
        if entry.served is None:  # workers of one OpenCompass take what there is
            copies = min(entry.most, len(self._gpus) // entry.gpus)
        places = (free_gpus(self._gpus, used, number * entry.gpus) for number in range(copies, 0, -1))
        return next((place for place in places if place is not None), None)


@dataclass
class Job:
    """A command at work."""

    task: Task
    finding: Finding
    start: Start
    child: Child
    lock: Lock
    began: float
    drawn: DrawnSamples
    cause: str = ''
    """Why it is ended here."""
    logs: tuple[Excerpt, ...] = ()


@dataclass
class Active:
    """An entry at work."""

    entry: Entry
    gpus: tuple[str, ...]
    servers: list[Server] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    is_ending: bool = False


class Watcher:
    """Is told what happens; does nothing."""

    def started(self, run: Planned, how: str) -> None:
        """Take note that a command was started for a run."""

    def ended(self, finding: Finding, seconds: float | None) -> None:
        """Take note of the state of a run; `seconds` is None if no command was started for it."""

    def serving(self, text: str) -> None:
        """Take note of what a server does."""

    def working(self, jobs: Sequence[Job]) -> None:
        """Take note of the commands at work, several times a second."""


class Lock:
    """One `gpassk run` at a time in a work directory.

    The system frees the lock of a file with its holder, on this machine. A file beside it names the holder
    for
    others: what a dead process of this machine left is taken over, when all is gone that it had started; that
    of another machine only with a reason.

    Raises:
        IncompleteError: somebody else is at work there.
    """

    def __init__(self, work_dir: Path, mark: str, take_over: str = '') -> None:
        self._file = work_dir / HOLDER
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(self._file.with_name('lock'))
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            holder = holder_of(work_dir)
            raise IncompleteError(f'in use by {holder or "another process"}: wait for it') from None
        except NotImplementedError:  # a disk without locks: the file tells
            pass
        try:
            self._take(holder_of(work_dir), mark, take_over)
        except BaseException:
            self._lock.release()
            raise

    def _take(self, holder: Holder | None, mark: str, take_over: str) -> None:
        job = job_name()
        if holder is not None and holder.is_here:
            if holder.is_alive and holder.pid != os.getpid():
                raise IncompleteError(f'in use by {holder}: wait for it')
            if holder.mark:
                end_marked(holder.mark)
        elif holder is not None and not take_over and not (job.startswith('ray') and holder.job == job):
            raise IncompleteError(
                f'in use by {holder}: wait for it; if it has ended, take it over: --take-over "why it is '
                'over"'
            )
        own = Holder(
            socket.gethostname(), os.getpid(), psutil.Process().create_time(), utc_now(), job, mark, take_over
        )
        replace_file(self._file, json.dumps(own).encode(), self._file.with_name(f'holder.{os.getpid()}'))

    def release(self) -> None:
        """Let others work there."""
        with suppress(OSError):
            self._file.unlink(missing_ok=True)
        self._lock.release()


def job_name() -> str:
    """Return the job of a cluster that this process is of; '' for none."""
    if job := os.environ.get(JOB):
        return job
    slurm = os.environ.get('SLURM_JOB_ID')
    return f'Slurm job {slurm}' if slurm else ''


def part_of(runs: Sequence[Planned], number: int, parts: int) -> list[Planned]:
    """Return the runs of one of several parts: all of a model together, the parts about equally large.

    Args:
        runs: all, the same for each part.
        number: from 1.
        parts: how many there are.
    """
    models: dict[str, list[Planned]] = {}
    for run in runs:
        models.setdefault(model_of(run), []).append(run)
    shares: list[list[Planned]] = [[] for _ in range(parts)]
    for _, group in sorted(models.items(), key=lambda item: (-len(item[1]), item[0])):
        min(shares, key=len).extend(group)
    chosen = {run.name for run in shares[number - 1]}
    return [run for run in runs if run.name in chosen]


def model_of(run: Planned) -> str:
    """Return a text that runs of one model share."""
    models = dicts_of(run.values() or {}, 'models')
    return ', '.join(f'{one.get("path")}' for one in models) or run.name


class Driver:
    """Runs OpenCompass in `<outputs>/<name>` for each run that is not complete.

    Args:
        outputs: the folder of the work directories.
        options: for OpenCompass.
        gpus: those that the runs share; none: each command sees what there is.
        watcher: is told of every step.
        stop: becomes true when the user wants to stop.
        jobs: commands at a time; None: as many as fit on the GPUs, and one that needs none.
        take_over: why what another machine holds is taken over; '': it is not.
        variables: further ones for OpenCompass.
    """

    def __init__(
        self,
        outputs: Path,
        options: Options,
        gpus: Sequence[str],
        watcher: Watcher,
        stop: Stop,
        *,
        jobs: int | None = None,
        take_over: str = '',
        variables: dict[str, str] | None = None,
    ) -> None:
        self._outputs, self._here = outputs.resolve(), Path.cwd()
        self._options, self._gpus, self._watcher, self._stop = options, tuple(gpus), watcher, stop
        self._jobs, self._take_over = jobs, take_over
        self._mark = uuid.uuid4().hex
        self._environment = {**environment(self._here, self._outputs, self._mark), **(variables or {})}
        self._found: dict[str, Finding] = {}
        self._judges: list[Entry] = []

    def drive(self, runs: Sequence[Planned]) -> list[Finding]:
        """Run what is not complete; return the state of each run that it came to, after a stop without
        others."""
        pool = Pool(self._entries(runs), self._gpus, self._jobs)
        active: list[Active] = []
        try:
            while active or (pool.waiting and not self._stop):
                for entry, gpus in [] if self._stop else pool.next():
                    if not any(one.entry is entry for one in active):
                        active.append(Active(entry, gpus))
                    self._begin(next(one for one in active if one.entry is entry), gpus)
                for one in [one for one in active if self._advance(one)]:
                    active.remove(one)
                    self._end_all(one)
                    pool.ended(one.entry)
                self._watcher.working([job for one in active for job in one.jobs])
                if self._in_a_hurry():
                    break
                if active:
                    self._stop.wait(POLL)
        finally:
            for child in [job.child for one in active for job in one.jobs]:
                child.stop()
            for server in [server for one in active for server in one.servers]:
                server.stop()
            for one in active:
                self._end_all(one)
        return [self._found[run.name] for run in runs if run.name in self._found]

    def _end_all(self, active: Active) -> None:
        for job in list(active.jobs):
            self._end(active, job)
        for server in active.servers:
            server.end(self._in_a_hurry)

    def _in_a_hurry(self) -> bool:
        """Whether the user has said twice that all shall stop."""
        return self._stop.count > 1

    # What has to be done

    def _entries(self, runs: Sequence[Planned]) -> list[Entry]:
        """Return what has to be done; of all else the state is told at once."""
        models: dict[str, Entry] = {}
        judges: dict[str, Entry] = {}
        self._judges = []
        for run in runs:
            if self._stop:
                break
            finding = examine(run, self._outputs / run.name)
            if self._options.is_done(finding):
                with suppress(OSError):  # somebody else's results, that may only be read
                    _keep_entry(run, finding.work_dir)
                self._tell(finding)
                continue
            try:
                self._add(run, finding, models, judges)
            except InputError as error:
                self._tell(replace(finding, detail=f'{error}; {finding.detail}'))
        self._judges = list(judges.values())
        return [*models.values(), *self._judges]

    def _add(
        self,
        run: Planned,
        finding: Finding,
        models: dict[str, Entry],
        judges: dict[str, Entry],
    ) -> None:
        config, mode = run.values() or {}, self._options.mode
        if mode == 'eval' and not (finding.resumable and finding.sampled):
            raise InputError('nothing to evaluate yet')
        workers = self._options.workers
        if finding.resumable:
            own = [start for start in read_starts(finding.work_dir) if start.time == finding.time]
            workers = own[0].workers if own else workers
        task = Task(run, mode, runs_in_process(run.values(), self._options, workers), workers)
        judge = self._judge_of(config) if mode != 'infer' else None
        if judge is not None:
            entry = judges.get(judge.key) or self._entry(judge, judge.gpus)
            judges[judge.key] = entry
            entry.tasks.append(task)
            if not finding.sampled:
                entry.after.add(run.name)
        elif finding.sampled:
            models[run.name] = Entry([task])
        if finding.sampled:
            return
        served = self._server_of(config)
        needed = served.gpus if served else gpus_needed(config) if config else len(self._gpus)
        key = served.key if served else run.name
        models[key] = entry = models.get(key) or self._entry(served, needed)
        entry.tasks.append(replace(task, mode='infer') if judge else task)
        entry.size += (finding.expected or 1) - (finding.predictions or 0)

    def _entry(self, served: Served | None, gpus: int) -> Entry:
        """Return an entry for the pool, without tasks yet.

        Raises:
            InputError: it takes more GPUs than there are, or its server cannot be started here.
        """
        if self._gpus and (why := why_never(gpus, self._gpus)):
            raise InputError(f'{served.name if served else "its model"} {why}')
        if served is not None:
            served.check()
        return Entry([], gpus, served)

    def _server_of(self, config: Config) -> Served | None:
        """Return the server of the model of a config; None where each task starts its own, or loads a
        model."""
        models = dicts_of(config, 'models')
        if self._options.elsewhere or not is_local(config, 'infer') or len(models) != 1:
            return None
        return served_model(models[0]) if isinstance(models[0].get('serve'), dict) else None

    def _judge_of(self, config: Config) -> Served | None:
        """Return the server of the judge of a config; None for a judge without one, or on another machine."""
        if self._options.elsewhere or not is_local(config, 'eval'):
            return None
        told = (evaluator_of(one).get('judge_serve') for one in dicts_of(config, 'datasets'))
        found = {judge.key: judge for judge in (read_judge_server(one) for one in told if one is not None)}
        if len(found) > 1:
            raise InputError('judge_serve: its data sets have several judges; write a config for each')
        for judge in found.values():
            judge.check()
        return next(iter(found.values()), None)

    # Entries at work

    def _begin(self, active: Active, given: Sequence[str]) -> None:
        """Start the servers of an entry on the GPUs that it was given."""
        entry = active.entry
        if entry in self._judges:  # of runs that are not sampled nothing can be evaluated
            entry.tasks = [
                one for one in entry.tasks if examine(one.run, self._outputs / one.run.name).sampled
            ]
        if entry.served is None or not entry.tasks:
            return
        copies = max(1, len(given) // entry.gpus if entry.gpus else 1)
        try:
            for number in range(copies):
                gpus = given[number * entry.gpus : (number + 1) * entry.gpus]
                server = Server(
                    entry.served, self._outputs / NOTES / 'servers', gpus if self._gpus else None, self._mark
                )
                active.servers.append(server)
                where = f' on {_named(gpus)}' if gpus else ''
                self._watcher.serving(f'{entry.served.name}: starting its server{where}, log: {server.log}')
        except (InputError, OSError) as error:
            self._fail(active, str(error))

    def _advance(self, active: Active) -> bool:
        """Start and end what can be started and ended of an entry; return whether it is over."""
        if self._stop:
            active.entry.tasks.clear()
        most = 1 if active.entry.served is None else CLIENTS * self._ready(active)
        while active.entry.tasks and len(active.jobs) < most:
            self._start(active, active.entry.tasks.pop(0))
        for job in list(active.jobs):
            if self._stop and not job.child.is_stopping:
                job.child.stop()
            if job.child.poll() is not None:
                self._end(active, job)
        if not active.jobs and not active.entry.tasks and not active.is_ending:
            active.is_ending = True
            for server in active.servers:
                server.stop()
        return active.is_ending and not any(server.is_alive for server in active.servers)

    def _ready(self, active: Active) -> int:
        """Return how many servers of an entry take requests; where one cannot or has died, all is ended."""
        for server in [] if active.is_ending else active.servers:
            try:
                was_ready = server.is_ready
                if server.advance() and not was_ready:
                    seconds = time.monotonic() - server.began
                    self._watcher.serving(f'{server.served.name}: its server is ready after {seconds:.0f} s')
            except (InputError, IncompleteError) as error:
                self._fail(active, str(error), server)
                return 0
        return sum(server.is_ready for server in active.servers)

    def _fail(self, active: Active, error: str, server: Server | None = None) -> None:
        """End all that asks a server which cannot be started, or has died; its log explains it."""
        cause, _, _ = error.partition('\n')
        logs = () if server is None else (Excerpt(server.log, tuple(server.last_lines()[-40:])),)
        for job in active.jobs:
            job.cause, job.logs = cause, logs
            job.child.stop()
        for task in active.entry.tasks:
            finding = examine(task.run, self._outputs / task.run.name)
            self._tell(replace(finding, state=State.FAILED, detail=f'{cause}; {finding.detail}', logs=logs))
            self._over(task)
        active.entry.tasks.clear()

    def _over(self, task: Task) -> None:
        """Let a judge begin when none of its runs is sampled any more."""
        for entry in self._judges:
            entry.after.discard(task.run.name)

    # Commands

    def _start(self, active: Active, task: Task) -> None:
        """Start a command, or say why not."""
        run, work_dir = task.run, self._outputs / task.run.name
        lock = finding = None
        why = ''
        try:
            lock = Lock(work_dir, self._mark, self._take_over)
            finding = examine(run, work_dir, holding=True)
            if not self._options._replace(mode=task.mode).is_done(finding):
                active.jobs.append(self._spawn(active, task, finding, lock))
                return
        except (IncompleteError, InputError) as error:
            why = str(error)
        except OSError as error:
            why = f'cannot be started: {error}'
        if lock is not None:
            lock.release()
        finding = finding or examine(run, work_dir)
        self._over(task)
        if why or task.mode == self._options.mode:
            self._tell(replace(finding, detail=f'{why}; {finding.detail}') if why else finding)

    def _spawn(self, active: Active, task: Task, finding: Finding, lock: Lock) -> Job:
        run, work_dir, config = task.run, finding.work_dir, task.run.config or Path()
        _keep_entry(run, work_dir)
        options = self._options._replace(mode=task.mode)
        is_client = active.entry.served is not None
        directory = prepare_directory(work_dir, config, self._here)
        clients = min(
            CLIENTS, -(-len([*active.jobs, task, *active.entry.tasks]) // len(active.servers or 'x'))
        )
        given = config_for(run, work_dir, options, task.workers, clients if is_client else 0)
        resumed = finding.time if finding.resumable and finding.time else None
        for path in (
            finding.in_the_way if resumed else ()
        ):  # OpenCompass skips what has a result, whatever is in it
            put_aside(path, utc_now())
        when = resumed or own_folder([path.name for path in work_dir.iterdir()])
        variables: dict[str, str] = {}
        if is_client and active.entry.served:
            ready = [server for server in active.servers if server.is_ready]
            addresses = [address for server in ready for address in server.addresses]
            variables = {SERVERS: json.dumps({active.entry.served.key: addresses})}
        if self._gpus and (is_client or active.gpus or (run.values() and not finding.sampled)):
            gpus = () if is_client else active.gpus
            if not task.in_process and any(not gpu.isdigit() for gpu in gpus):
                raise InputError(
                    f'{gpus[0]} has no number, and opencompass gives its tasks GPUs by number alone: '
                    'leave out '
                    '--max-num-workers, or name other GPUs'
                )
            variables[VISIBLE] = ','.join(gpus)
            variables['CUDA_DEVICE_ORDER'] = self._environment.get('CUDA_DEVICE_ORDER', 'PCI_BUS_ID')
        line = command(given, work_dir, options, task.workers, when, task.in_process)
        start = Start(when, utc_now(), task.workers, str(config), run.sha256 or '', task.mode)
        (work_dir / LOG).unlink(missing_ok=True)
        note_start(work_dir, start)
        child = Child(
            line, work_dir / LOG, cwd=directory, env={**self._environment, **variables}, mark=self._mark
        )
        how = f'goes on in {when}' if resumed else 'started'
        if resumed and task.workers != self._options.workers and self._options.workers is not None:
            number = f'with --max-num-workers {task.workers}' if task.workers else 'without --max-num-workers'
            how += f', {number} as it was begun'
        self._watcher.started(
            run, how + (f' on {_named(active.gpus)}' if active.gpus and not is_client else '')
        )
        return Job(task, finding, start, child, lock, time.monotonic(), DrawnSamples(run, work_dir, when))

    def _end(self, active: Active, job: Job) -> None:
        """Note how a command ended, and tell of the state of its run."""
        active.jobs.remove(job)
        code = job.child.end(self._in_a_hurry)
        ended = replace(job.start, code=code, stopped=bool(self._stop) and not job.cause, cause=job.cause)
        with suppress(OSError):  # a full disk: then it looks like a command that was killed
            note_start(job.finding.work_dir, ended)
        finding = examine(job.task.run, job.finding.work_dir, holding=True)
        job.lock.release()
        self._over(job.task)
        finding = replace(finding, logs=(*job.logs, *finding.logs))
        if job.task.mode != self._options.mode and finding.sampled and not self._stop:
            return  # its evaluation follows, when the judge has its GPUs
        self._tell(finding, time.monotonic() - job.began)

    def _tell(self, finding: Finding, seconds: float | None = None) -> None:
        self._found[finding.name] = finding
        self._watcher.ended(finding, seconds)


def gpus_needed(config: Config) -> int:
    """Return how many GPUs of this machine the largest model of a config takes; 0 where a cluster has
    them."""
    if not is_local(config, 'infer'):
        return 0
    counts = [mapping(model.get('run_cfg')).get('num_gpus', 0) for model in dicts_of(config, 'models')]
    return max((count for count in counts if isinstance(count, int)), default=0)


def _keep_entry(run: Planned, work_dir: Path) -> None:
    """Keep what the manifest says of a run beside its results, for reports, which look for manifests
    there."""
    if run.entry is not None:
        path, content = work_dir / NOTES / MANIFEST, manifest_text([run.entry]).encode()
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, content, path.with_name(f'{MANIFEST}.{os.getpid()}'))


def _named(gpus: Sequence[str]) -> str:
    return f'{"GPU" if len(gpus) == 1 else "GPUs"} {", ".join(gpus)}'
