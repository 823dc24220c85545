"""Start `opencompass` for the runs that need it: a pool of GPUs, the largest model first, a server a model.

The runs of one model whose engine is `serve` are clients of one server, at most four at a time; where GPUs
are left the model gets several. A judge that is to be started is one more server, whose clients are the
evaluations of its runs. Any other run is a process on GPUs of its own.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import IncompleteError, InputError
from ..files import mapping, put_aside, write_file
from ..marks import hardware
from ..processes import Child, Stop
from ..serving import SERVERS, Served, Server, read_judge_server, served_model
from ..sweep.folder import MANIFEST, manifest_text
from ..text import own_folder, utc_now
from .gpus import VISIBLE, free_gpus
from .lock import NOTES, Lock
from .opencompass import (
    Options,
    config_for,
    environment,
    is_local,
    prepare_directory,
    program,
    runs_in_process,
)
from .state import (
    LOG,
    LOG_LINES,
    Config,
    DrawnSamples,
    Excerpt,
    Finding,
    Planned,
    Start,
    State,
    dicts_of,
    evaluator_of,
    examine,
    note_start,
    read_starts,
)

POLL = 0.2
CLIENTS = 4
"""Runs that ask a server at a time: more do not make it faster, and each is a process."""


@dataclass(frozen=True)
class Task:
    """A command that has to be started for a run: all of it, or only its samples or its evaluation."""

    run: Planned
    mode: str = 'all'
    workers: int | None = None


@dataclass
class Job:
    """A command at work."""

    task: Task
    work_dir: Path
    start: Start
    child: Child
    lock: Lock
    drawn: DrawnSamples
    began: float
    logs: tuple[Excerpt, ...] = ()


@dataclass(eq=False)
class Entry:
    """What gets GPUs of the pool: a model behind its servers with the runs that ask them, or a run by itself.

    Args:
        tasks: what waits.
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
    given: tuple[str, ...] = ()
    hardware: str = ''  # of a server, for the records of its clients
    servers: list[Server] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    is_ending: bool = False

    @property
    def most(self) -> int:
        """Return how many servers it can make use of, or workers with GPUs of their own."""
        return (self.tasks[0].workers or 1) if self.served is None else -(-len(self.tasks) // CLIENTS)


class Pool:
    """Which entries may start now, and on which GPUs: those that need many first, then those with much work.

    Args:
        entries: what waits.
        gpus: that may be used; none: nothing is counted, and `jobs` decides.
        jobs: entries at a time; None: as many as fit on the GPUs, and one that needs none.
    """

    def __init__(self, entries: Iterable[Entry], gpus: Sequence[str], jobs: int | None = None) -> None:
        self.waiting = sorted(entries, key=lambda entry: (-entry.gpus, -entry.size))
        self.working: list[Entry] = []
        self._gpus, self._jobs = gpus, jobs

    def next(self) -> list[tuple[Entry, tuple[str, ...]]]:
        """Return what starts now, with its GPUs; it counts as at work until `ended`.

        Where nothing waits any more a model at work may get GPUs for one more server, if runs of it wait.
        """
        started = []
        for entry in [entry for entry in self.waiting if not entry.after]:
            gpus = self._place(entry)
            if gpus is not None:
                entry.given = gpus
                self.waiting.remove(entry)
                self.working.append(entry)
                started.append((entry, gpus))
        if not started and not self.waiting and self._gpus:
            able = [entry for entry in self.working if entry.served and entry.gpus and entry.tasks]
            for entry in sorted(able, key=lambda one: -len(one.tasks) * one.gpus / len(one.given)):
                if more := free_gpus(self._gpus, self._used(), entry.gpus):
                    entry.given += more
                    return [(entry, more)]
        return started

    def ended(self, entry: Entry) -> None:
        """Take note that an entry has ended."""
        self.working.remove(entry)

    def _used(self) -> set[str]:
        return {gpu for entry in self.working for gpu in entry.given}

    def _place(self, entry: Entry) -> tuple[str, ...] | None:
        needs_gpus = bool(entry.gpus and self._gpus)
        alike = sum(bool(other.given) == needs_gpus for other in self.working)
        if alike >= (self._jobs or (len(self._gpus) if needs_gpus else 1)):
            return None
        if not needs_gpus:
            return ()
        used = self._used()
        left = len(self._gpus) - len(used) - sum(other.gpus for other in self.waiting if other is not entry)
        copies = 1 + max(0, min(entry.most - 1, left // entry.gpus - 1))
        if entry.served is None:  # workers of one OpenCompass take what there is
            copies = min(entry.most, len(self._gpus) // entry.gpus)
        places = (free_gpus(self._gpus, used, number * entry.gpus) for number in range(copies, 0, -1))
        return next((place for place in places if place is not None), None)


class Watcher:
    """Is told what happens; does nothing."""

    def note(self, text: str, run: Planned | None = None) -> None:
        """Take note of what a server does, or of a command that was started for a run."""

    def ended(self, finding: Finding, seconds: float | None) -> None:
        """Take note of the state of a run; `seconds` is None if no command was started for it."""

    def working(self, jobs: Sequence[Job]) -> None:
        """Take note of the commands at work, several times a second."""


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
    return ', '.join(f'{one.get("path")}' for one in dicts_of(run.values or {}, 'models')) or run.name


def server_of(config: Config, options: Options) -> Served | None:
    """Return the server of the model of a config; None where each task starts its own, or loads a model."""
    models = dicts_of(config, 'models')
    here = not options.elsewhere and is_local(config, 'infer') and len(models) == 1
    return served_model(models[0]) if here and isinstance(models[0].get('serve'), dict) else None


def judge_of(config: Config, options: Options) -> Served | None:
    """Return the server of the judge of a config; None for a judge without one, or on another machine."""
    here = not options.elsewhere and is_local(config, 'eval')
    told = [evaluator_of(one).get('judge_serve') for one in dicts_of(config, 'datasets') if here]
    found = {judge.key: judge for judge in (read_judge_server(one) for one in told if one is not None)}
    if len(found) > 1:
        raise InputError('judge_serve: its data sets have several judges; write a config for each')
    return next(iter(found.values()), None)


def gpus_needed(config: Config) -> int:
    """Return how many GPUs of this machine the largest model of a config takes; 0 on a cluster."""
    counts = [mapping(model.get('run_cfg')).get('num_gpus', 0) for model in dicts_of(config, 'models')]
    whole = [count for count in counts if isinstance(count, int)]
    return max(whole, default=0) if is_local(config, 'infer') else 0


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
        self._judges: dict[str, Entry] = {}

    def drive(self, runs: Sequence[Planned]) -> list[Finding]:
        """Run what is not complete; return the state of each run that it came to, not of those that a stop
        came before.
        """
        pool = Pool(self._entries(runs), self._gpus, self._jobs)
        try:
            while pool.working or (pool.waiting and not self._stop):
                for entry, gpus in [] if self._stop else pool.next():
                    self._begin(entry, gpus)
                for entry in [entry for entry in pool.working if self._advance(entry)]:
                    self._end_all(entry)
                    pool.ended(entry)
                self._watcher.working([job for entry in pool.working for job in entry.jobs])
                if self._stop.count > 1:
                    break
                if pool.working:
                    self._stop.wait(POLL)
        finally:
            for entry in pool.working:
                for job in entry.jobs:
                    job.child.stop()
                for server in entry.servers:
                    server.stop()
            for entry in pool.working:
                self._end_all(entry)
        return [self._found[run.name] for run in runs if run.name in self._found]

    def _end_all(self, entry: Entry) -> None:
        for job in list(entry.jobs):
            self._end(entry, job)
        for server in entry.servers:
            server.end(self._in_a_hurry)

    def _in_a_hurry(self) -> bool:
        """Whether the user has said twice that all shall stop."""
        return self._stop.count > 1

    def _tell(self, finding: Finding, seconds: float | None = None) -> None:
        self._found[finding.name] = finding
        self._watcher.ended(finding, seconds)

    # What has to be done

    def _entries(self, runs: Sequence[Planned]) -> list[Entry]:
        """Return what has to be done; of all else the state is told at once."""
        models: dict[str, Entry] = {}
        for run in runs:
            if self._stop:
                break
            finding = examine(run, self._outputs / run.name)
            if self._options.is_done(finding):
                with suppress(OSError):  # somebody else's results, that may only be read
                    _keep_entries(run, finding.work_dir)
                self._tell(finding)
                continue
            try:
                self._add(run, finding, models)
            except InputError as error:
                self._tell(replace(finding, detail=f'{error}; {finding.detail}'))
        return [*models.values(), *self._judges.values()]

    def _add(self, run: Planned, finding: Finding, models: dict[str, Entry]) -> None:
        config, mode = run.values or {}, self._options.mode
        if mode == 'eval' and not (finding.resumable and finding.sampled):
            raise InputError('nothing to evaluate yet')
        workers = self._options.workers
        if finding.resumable:
            own = [start for start in read_starts(finding.work_dir) if start.time == finding.time]
            workers = own[0].workers if own else workers
        judge = judge_of(config, self._options) if mode != 'infer' else None
        if judge is not None:
            entry = self._judges.get(judge.key) or self._entry(judge, judge.gpus)
            self._judges[judge.key] = entry
            entry.tasks.append(Task(run, mode, workers))
            if not finding.sampled:
                entry.after.add(run.name)
        elif finding.sampled:
            models[run.name] = Entry([Task(run, mode, workers)])
        if not finding.sampled:
            served = server_of(config, self._options)
            needed = served.gpus if served else gpus_needed(config) if config else len(self._gpus)
            key = served.key if served else run.name
            models[key] = entry = models.get(key) or self._entry(served, needed)
            entry.tasks.append(Task(run, 'infer' if judge else mode, workers))
            entry.size += (finding.expected or 1) - finding.predictions

    def _entry(self, served: Served | None, gpus: int) -> Entry:
        """Return an entry for the pool, without tasks yet.

        Raises:
            InputError: it takes more GPUs than there are, or its server cannot be started here.
        """
        if self._gpus and gpus and free_gpus(self._gpus, (), gpus) is None:
            raise InputError(
                f'{served.name if served else "its model"} needs {gpus} GPU{"s" if gpus > 1 else ""}, and '
                f'{len(self._gpus)} may be used: {", ".join(self._gpus)}'
            )
        if served is not None:
            served.check()
        return Entry([], gpus, served)

    # Entries at work

    def _begin(self, entry: Entry, given: Sequence[str]) -> None:
        """Start the servers of an entry on the GPUs that it was given."""
        if entry in self._judges.values():  # of runs that are not sampled nothing can be evaluated
            entry.tasks = [one for one in entry.tasks if self._examine(one).sampled]
        if entry.served is None or not entry.tasks:
            return
        copies = max(1, len(given) // entry.gpus if entry.gpus else 1)
        entry.hardware = entry.hardware or hardware(','.join(given[: entry.gpus]))
        try:
            for number in range(copies):
                gpus = given[number * entry.gpus : (number + 1) * entry.gpus]
                logs = self._outputs / NOTES / 'servers'
                server = Server(entry.served, logs, gpus if self._gpus else None, self._mark)
                entry.servers.append(server)
                text = f'{entry.served.name}: starting its server{_on(gpus)}, log: {server.log}'
                self._watcher.note(text)
        except (InputError, OSError) as error:
            self._fail(entry, str(error))

    def _examine(self, task: Task, holding: bool = False) -> Finding:
        return examine(task.run, self._outputs / task.run.name, holding=holding)

    def _advance(self, entry: Entry) -> bool:
        """Start and end what can be started and ended of an entry; return whether it is over."""
        if self._stop:
            entry.tasks.clear()
        most = 1 if entry.served is None else CLIENTS * self._ready(entry)
        while entry.tasks and len(entry.jobs) < most:
            self._start(entry, entry.tasks.pop(0))
        for job in list(entry.jobs):
            if self._stop and not job.child.is_stopping:
                job.child.stop()
            if job.child.poll() is not None:
                self._end(entry, job)
        if not entry.jobs and not entry.tasks and not entry.is_ending:
            entry.is_ending = True
            for server in entry.servers:
                server.stop()
        return entry.is_ending and not any(server.is_alive for server in entry.servers)

    def _ready(self, entry: Entry) -> int:
        """Return how many servers of an entry take requests; where one cannot or has died, all is ended."""
        for server in [] if entry.is_ending else entry.servers:
            try:
                was_ready = server.is_ready
                if server.advance() and not was_ready:
                    seconds = time.monotonic() - server.began
                    self._watcher.note(f'{server.served.name}: its server is ready after {seconds:.0f} s')
            except (InputError, IncompleteError) as error:
                self._fail(entry, str(error), server)
                return 0
        return sum(server.is_ready for server in entry.servers)

    def _fail(self, entry: Entry, error: str, server: Server | None = None) -> None:
        """End all that asks a server which cannot be started, or has died; its log explains it."""
        cause, _, _ = error.partition('\n')
        logs = () if server is None else (Excerpt(server.log, tuple(server.last_lines()[-LOG_LINES:])),)
        for job in entry.jobs:
            job.start, job.logs = replace(job.start, cause=cause), logs
            job.child.stop()
        for task in entry.tasks:
            finding = self._examine(task)
            self._tell(replace(finding, state=State.FAILED, detail=f'{cause}; {finding.detail}', logs=logs))
            self._over(task)
        entry.tasks.clear()

    def _over(self, task: Task) -> None:
        """Let a judge begin when none of its runs is sampled any more."""
        for entry in self._judges.values():
            entry.after.discard(task.run.name)

    # Commands

    def _start(self, entry: Entry, task: Task) -> None:
        """Start a command, or say why not."""
        lock, finding, why = None, None, ''
        try:
            lock = Lock(self._outputs / task.run.name, self._mark, self._take_over)
            finding = self._examine(task, holding=True)
            if not self._options._replace(mode=task.mode).is_done(finding):
                entry.jobs.append(self._spawn(entry, task, finding, lock))
                return
        except (IncompleteError, InputError) as error:
            why = str(error)
        except OSError as error:
            why = f'cannot be started: {error}'
        if lock is not None:
            lock.release()
        finding = finding or self._examine(task)
        self._over(task)
        if why or task.mode == self._options.mode:
            self._tell(replace(finding, detail=f'{why}; {finding.detail}') if why else finding)

    def _spawn(self, entry: Entry, task: Task, finding: Finding, lock: Lock) -> Job:
        run, work_dir, workers = task.run, finding.work_dir, task.workers
        _keep_entries(run, work_dir)
        directory = prepare_directory(work_dir, run.configs, self._here)
        at_once = len(entry.jobs) + 1 + len(entry.tasks)
        clients = min(CLIENTS, -(-at_once // len(entry.servers))) if entry.served else 0
        config = config_for(run, work_dir, self._options, workers, clients)
        in_process = runs_in_process(run.values, self._options, workers)
        resumed = finding.time if finding.resumable else None
        # OpenCompass skips what has a result, whatever it is.
        for path in finding.in_the_way if resumed else ():
            put_aside(path, utc_now())
        when = resumed or own_folder([path.name for path in work_dir.iterdir()])
        gpus = () if entry.served else entry.given
        variables: dict[str, str] = {}
        if entry.served:
            addresses = [url for server in entry.servers if server.is_ready for url in server.addresses]
            variables[SERVERS] = json.dumps({entry.served.key: addresses})
            variables['GPASSK_HARDWARE'] = entry.hardware
        if self._gpus and (entry.served or gpus or (run.values and not finding.sampled)):
            if not in_process and any(not gpu.isdigit() for gpu in gpus):
                raise InputError(
                    f'{gpus[0]} has no number, and opencompass gives its tasks GPUs by number alone: leave '
                    'out --max-num-workers, or name other GPUs'
                )
            variables[VISIBLE] = ','.join(gpus)
            variables['CUDA_DEVICE_ORDER'] = self._environment.get('CUDA_DEVICE_ORDER', 'PCI_BUS_ID')
        line = [program(), str(config), '-w', str(work_dir), *self._options.passed]
        line += ['-m', task.mode] if task.mode != 'all' else []
        line += ['--debug'] if in_process and '--debug' not in self._options.passed else []
        line += [] if workers is None else ['--max-num-workers', str(workers)]
        start = Start(when, utc_now(), workers, [str(one) for one in run.configs], run.sha256, task.mode)
        log = work_dir / LOG
        log.unlink(missing_ok=True)
        note_start(work_dir, start)
        env = {**self._environment, **variables}
        child = Child([*line, '-r', when], log, cwd=directory, env=env, mark=self._mark)
        how = f'goes on in {when}' if resumed else 'started'
        if resumed and workers != self._options.workers and self._options.workers is not None:
            number = f'with --max-num-workers {workers}' if workers else 'without --max-num-workers'
            how += f', {number} as it was begun'
        self._watcher.note(f'{how}{_on(gpus)}', run)
        drawn = DrawnSamples(run, work_dir, when)
        return Job(task, work_dir, start, child, lock, drawn, time.monotonic())

    def _end(self, entry: Entry, job: Job) -> None:
        """Note how a command ended, and tell of the state of its run."""
        entry.jobs.remove(job)
        code = job.child.end(self._in_a_hurry)
        with suppress(OSError):  # a full disk: then it looks like a command that was killed
            stopped = bool(self._stop) and not job.start.cause
            note_start(job.work_dir, replace(job.start, code=code, stopped=stopped))
        finding = self._examine(job.task, holding=True)
        job.lock.release()
        self._over(job.task)
        if job.task.mode != self._options.mode and finding.sampled and not self._stop:
            return  # its evaluation follows, when the judge has its GPUs
        self._tell(replace(finding, logs=(*job.logs, *finding.logs)), time.monotonic() - job.began)


def _keep_entries(run: Planned, work_dir: Path) -> None:
    """Keep what manifests say of a run beside its results, for reports, which look for manifests there."""
    path, content = work_dir / NOTES / MANIFEST, manifest_text(run.entries).encode()
    if run.entries and not (path.is_file() and path.read_bytes() == content):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, content)


def _on(gpus: Sequence[str]) -> str:
    return f' on GPU{"" if len(gpus) == 1 else "s"} {", ".join(gpus)}' if gpus else ''
