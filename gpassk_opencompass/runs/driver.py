"""Start `opencompass` for the runs that need it: a pool of GPUs, the largest model first, a server a model.

The runs of a model with `serve` are clients of one server, or of several where GPUs are left; any other is a
process on GPUs of its own. When all is sampled come the servers of judges, whose clients are evaluations.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
import uuid
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path

from ..errors import IncompleteError, InputError
from ..files import mapping, put_aside, write_file
from ..marks import hardware
from ..processes import Child, Stop
from ..serving import SERVERS, Served, StartedServer, read_judge_server, served_model
from ..sweep.folder import MANIFEST, manifest_text
from ..text import own_folder, utc_now
from . import opencompass
from .opencompass import Options
from .plan import Config, Planned, dicts_of, evaluator_of
from .state import LOG_LINES, Excerpt, Finding, State, examine
from .work_dir import LOG, NOTES, DrawnSamples, Start, lock, note_start, read_starts

POLL = 0.2
VISIBLE = 'CUDA_VISIBLE_DEVICES'
CLIENTS = 4  # runs that ask a server at a time: more do not make it faster, and each is a process


@dataclass(frozen=True)
class Task:
    """A command that has to be started for a run: all of it, or only its samples or its evaluation."""

    run: Planned
    mode: str = 'all'
    workers: int | None = None


@dataclass(eq=False)
class Entry:
    """What gets GPUs of the pool: a model behind servers with the runs that ask them, or a run by itself."""

    tasks: list[Task]  # that wait
    gpus: int = 0  # that a server, or the run, takes
    served: Served | None = None  # None: the run loads its model itself, or needs none
    size: float = 0.0  # how much work it is; more goes first
    given: tuple[str, ...] = ()  # the GPUs that it has
    hardware: str = ''  # of a server, for the records of its clients
    servers: list[StartedServer] = field(default_factory=list)
    commands: list[Generator[bool]] = field(default_factory=list)  # each gives True as long as it is at work
    cause: str = ''  # why its server cannot be asked any more
    logs: tuple[Excerpt, ...] = ()


class Pool:
    """Entries that wait and that are at work: `jobs` at a time, or as many as fit on the GPUs."""

    def __init__(self, entries: Iterable[Entry], gpus: Sequence[str], jobs: int | None = None) -> None:
        self.waiting = sorted(entries, key=lambda entry: (-entry.gpus, -entry.size))
        self.working: list[Entry] = []
        self._gpus, self._jobs = gpus, jobs

    def next(self) -> list[tuple[Entry, tuple[str, ...]]]:
        """Return what starts now, with its GPUs; it counts as `working` until it is taken out there.

        Where nothing waits any more a model at work may get GPUs for one more server, if runs of it wait.
        """
        started = []
        for entry in [*self.waiting]:
            if (gpus := self._place(entry)) is not None:
                entry.given = gpus
                self.waiting.remove(entry)
                self.working.append(entry)
                started.append((entry, gpus))
        if not started and not self.waiting:
            able = [entry for entry in self.working if entry.served and entry.given and entry.tasks]
            for entry in sorted(able, key=lambda one: -len(one.tasks) * one.gpus / len(one.given)):
                if more := free_gpus(self._gpus, self._used(), entry.gpus):
                    entry.given += more
                    return [(entry, more)]
        return started

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
        if entry.served is None:  # workers of one OpenCompass take what there is
            copies = min(entry.tasks[0].workers or 1, len(self._gpus) // entry.gpus)
        else:  # as many servers as its runs can make use of, and nobody else waits for
            others = sum(other.gpus for other in self.waiting if other is not entry)
            left = (len(self._gpus) - len(used) - others) // entry.gpus
            copies = max(1, min(-(-len(entry.tasks) // CLIENTS), left))
        places = (free_gpus(self._gpus, used, number * entry.gpus) for number in range(copies, 0, -1))
        return next((place for place in places if place is not None), None)


def free_gpus(gpus: Sequence[str], used: Collection[str], count: int) -> tuple[str, ...] | None:
    """Return free GPUs: neighbours from a multiple of `count` on, else the first ones; None: too few."""
    blocks = [gpus[start : start + count] for start in range(0, len(gpus) - count + 1, count)]
    for block in (*blocks, [gpu for gpu in gpus if gpu not in used][:count]):
        if len(block) == count and not {*block} & {*used}:
            return tuple(block)
    return None


def usable_gpus(wanted: str | None, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the GPUs to use, as CUDA_VISIBLE_DEVICES takes them: numbers, 'GPU-…' or 'MIG-…'.

    Those of `--gpus`, if wanted, which have to be there; else those of CUDA_VISIBLE_DEVICES, which Slurm sets
    too, else all that `nvidia-smi` lists.
    """
    visible = environment.get(VISIBLE)
    if wanted is None and visible is not None:  # CUDA stops at the first that is none, as at -1
        named = (word.strip() for word in visible.split(','))
        return tuple(dict.fromkeys(takewhile(re.compile(r'\d+|(?:GPU|MIG)-[\w/-]+').fullmatch, named)))
    listed: list[str] = []
    with suppress(OSError, subprocess.TimeoutExpired):
        said = subprocess.run(
            ['nvidia-smi', '-L'], capture_output=True, text=True, errors='replace', timeout=60, check=False
        )
        found = re.findall(r'^GPU (\d+): |\(UUID: ((?:GPU|MIG)-[^)]+)\)', said.stdout, re.MULTILINE)
        listed = [number or uuid for number, uuid in found]
    if wanted is None:
        return tuple(filter(str.isdigit, listed))
    chosen = [word.strip() for word in wanted.split(',')]
    for gpu in chosen:
        if gpu not in listed or chosen.count(gpu) > 1:
            why = 'stands there twice' if gpu in listed else 'is no GPU of this machine'
            there = ', '.join(listed) or 'none that nvidia-smi -L lists'
            raise InputError(f'--gpus {wanted!r}: {gpu!r} {why}; there are {there}; leave it out for all')
    return tuple(chosen)


class Watcher:
    """Is told what happens; does nothing."""

    def note(self, text: str, run: Planned | None = None) -> None:
        """Take note of what a server does, or of a command that was started for a run."""

    def ended(self, finding: Finding, seconds: float | None) -> None:
        """Take note of the state of a run; `seconds` is None if no command was started for it."""

    def working(self, drawn: Iterable[DrawnSamples]) -> None:
        """Take note of the runs at work, several times a second."""


def servers_of(config: Config, options: Options) -> tuple[Served | None, Served | None]:
    """Return the servers of the model and of the judge of a config, which are started once for all runs.

    None where each task starts its own, or loads a model, and where the tasks are on another machine.
    """
    models, datasets = dicts_of(config, 'models'), dicts_of(config, 'datasets')
    here = [one for one in ('infer', 'eval') if not options.elsewhere and opencompass.is_local(config, one)]
    alone = 'infer' in here and len(models) == 1 and isinstance(models[0].get('serve'), dict)
    wanted = [evaluator_of(one).get('judge_serve') for one in datasets if 'eval' in here]
    found = {judge.key: judge for judge in (read_judge_server(one) for one in wanted if one is not None)}
    if len(found) > 1:
        raise InputError('judge_serve: its data sets have several judges; write a config for each')
    return served_model(models[0]) if alone else None, next(iter(found.values()), None)


def gpus_needed(config: Config) -> int:
    """Return how many GPUs of this machine the largest model of a config takes; 0 on a cluster."""
    counts = [mapping(model.get('run_cfg')).get('num_gpus', 0) for model in dicts_of(config, 'models')]
    whole = [count for count in counts if isinstance(count, int)]
    return max(whole, default=0) if opencompass.is_local(config, 'infer') else 0


@dataclass
class Driver:
    """Runs OpenCompass in `<outputs>/<name>` for each run that is not complete."""

    outputs: Path
    options: Options
    gpus: tuple[str, ...]  # that the runs share; none: each command sees what there is
    watcher: Watcher
    stop: Stop
    variables: Mapping[str, str]  # further ones for OpenCompass
    jobs: int | None = None  # see `Pool`
    take_over: str = ''  # why what another machine holds is taken over; '': it is not

    def __post_init__(self) -> None:
        self.outputs, self._here, self._mark = self.outputs.resolve(), Path.cwd(), uuid.uuid4().hex
        own = opencompass.environment(self._here, self.outputs, self._mark)
        self._environment = {**own, **self.variables}
        self._found: dict[str, Finding] = {}
        self._drawn: dict[str, DrawnSamples] = {}

    def drive(self, runs: Sequence[Planned]) -> list[Finding]:
        """Run what is not complete; return the state of each run that it came to before a stop."""
        for judging in (False, True):
            self._work(Pool(self._entries(runs, judging), self.gpus, self.jobs))
        return [self._found[run.name] for run in runs if run.name in self._found]

    def _work(self, pool: Pool) -> None:
        try:
            while (pool.working or (pool.waiting and not self.stop)) and not self.stop.in_a_hurry():
                for entry, gpus in [] if self.stop else pool.next():
                    self._start_servers(entry, gpus)
                pool.working = [entry for entry in pool.working if self._advance(entry)]
                self.watcher.working(self._drawn.values())
                if pool.working:
                    self.stop.wait(POLL)
        finally:
            servers = [server.child for entry in pool.working for server in entry.servers]
            for child in servers:
                child.stop()
            for command in (command for entry in pool.working for command in entry.commands):
                command.close()
            for child in servers:
                child.end(self.stop.in_a_hurry)

    def _tell(self, finding: Finding, seconds: float | None = None) -> None:
        self._found[finding.name] = finding
        self.watcher.ended(finding, seconds)

    def _examine(self, run: Planned, holding: bool = False) -> Finding:
        return examine(run, self.outputs / run.name, holding=holding)

    # What has to be done

    def _entries(self, runs: Sequence[Planned], judging: bool) -> Iterable[Entry]:
        """Return what has to be done, by servers of judges or before them; of all else the state is told."""
        entries: dict[str, Entry] = {}
        for run in runs:
            if self.stop or run.name in self._found:
                continue
            finding = self._examine(run)
            try:
                if not self.options.is_done(finding):
                    self._add(run, finding, entries, judging)
                    continue
                with suppress(OSError):  # somebody else's results, that may only be read
                    _keep_entries(run, finding.work_dir)
            except InputError as error:
                finding = replace(finding, detail=f'{error}; {finding.detail}')
            self._tell(finding)
        return entries.values()

    def _add(self, run: Planned, finding: Finding, entries: dict[str, Entry], judging: bool) -> None:
        """Add what a run needs: its samples on GPUs of its model, its evaluation on those of its judge."""
        mode, workers = self.options.mode, self.options.workers
        if mode == 'eval' and not (finding.resumable and finding.sampled):
            raise InputError('nothing to evaluate yet')
        if finding.resumable:
            own = [start.workers for start in read_starts(finding.work_dir) if start.time == finding.time]
            workers = own[0] if own else workers
        model, judge = servers_of(run.values, self.options)
        judge = judge if mode != 'infer' else None
        if judge is not None:
            self._check(judge, judge.gpus)  # before anything is sampled for it in vain
            if finding.sampled and not judging:
                return
        served = judge if finding.sampled else model
        gpus = served.gpus if served else 0 if finding.sampled else gpus_needed(run.values)
        key = served.key if served else run.name
        if key not in entries:
            self._check(served, gpus)
            entries[key] = Entry([], gpus, served)
        entry = entries[key]
        entry.tasks.append(Task(run, 'infer' if judge and not finding.sampled else mode, workers))
        entry.size += (finding.expected or 1) - finding.predictions

    def _check(self, served: Served | None, gpus: int) -> None:
        """Raise InputError if it takes too many GPUs, or its server cannot start."""
        if self.gpus and gpus > len(self.gpus):
            raise InputError(
                f'{served.name if served else "its model"} needs {gpus} GPU{"s" if gpus > 1 else ""}, and '
                f'{len(self.gpus)} may be used: {", ".join(self.gpus)}'
            )
        if served is not None:
            served.check()

    # Entries at work

    def _start_servers(self, entry: Entry, given: Sequence[str]) -> None:
        if entry.served is None:
            return
        entry.hardware = entry.hardware or hardware(','.join(given[: entry.gpus]))
        try:
            for first in range(0, max(1, len(given)), max(1, entry.gpus)):
                gpus = given[first : first + entry.gpus]
                logs = self.outputs / NOTES / 'servers'
                server = StartedServer(entry.served, logs, gpus if self.gpus else None, self._mark)
                entry.servers.append(server)
                self.watcher.note(f'{entry.served.name}: starting its server{_on(gpus)}, log: {server.log}')
        except (InputError, OSError) as error:
            self._fail(entry, str(error))

    def _advance(self, entry: Entry) -> bool:
        """Start and end what can be started and ended of an entry; return whether it is still at work."""
        if self.stop:
            entry.tasks.clear()
        if entry.tasks or entry.commands:
            most = CLIENTS * self._ready(entry) if entry.served else 1
            while entry.tasks and len(entry.commands) < most:
                entry.commands.append(self._command(entry, entry.tasks.pop(0)))
            entry.commands = [command for command in entry.commands if next(command, False)]
        if entry.tasks or entry.commands:
            return True
        for server in entry.servers:
            server.child.stop()
        return any(server.child.poll() is None for server in entry.servers)

    def _ready(self, entry: Entry) -> int:
        """Return how many servers of an entry take requests; where one cannot or has died, all is ended."""
        for server in entry.servers:
            try:
                if not server.is_ready and server.advance():
                    seconds = time.monotonic() - server.began
                    self.watcher.note(f'{server.served.name}: its server is ready after {seconds:.0f} s')
                server.check()
            except (InputError, IncompleteError) as error:
                self._fail(entry, str(error), Excerpt(server.log, tuple(server.last_lines()[-LOG_LINES:])))
        return 0 if entry.cause else sum(server.is_ready for server in entry.servers)

    def _fail(self, entry: Entry, error: str, *logs: Excerpt) -> None:
        """End all that asks a server which cannot be started, or has died; its log explains it."""
        entry.cause, entry.logs = error.partition('\n')[0], logs
        for finding in (self._examine(task.run) for task in entry.tasks):
            detail = f'{entry.cause}; {finding.detail}'
            self._tell(replace(finding, state=State.FAILED, detail=detail, logs=logs))
        entry.tasks.clear()

    # Commands

    def _command(self, entry: Entry, task: Task) -> Generator[bool]:
        """Run a command for a task, from the lock to the state of its run; give True while it is at work."""
        run, seconds, why = task.run, None, ''
        try:
            with lock(self.outputs / run.name, self._mark, self.take_over):
                finding = self._examine(run, holding=True)
                if not self.options._replace(mode=task.mode).is_done(finding):
                    began = time.monotonic()
                    child, start = self._spawn(entry, task, finding)
                    self._drawn[run.name] = DrawnSamples(run, finding.work_dir / start.time)
                    with suppress(GeneratorExit):  # all shall end
                        while child.poll() is None:
                            if self.stop or entry.cause:
                                child.stop()
                            yield True
                    code, seconds = child.end(self.stop.in_a_hurry), time.monotonic() - began
                    del self._drawn[run.name]
                    start = replace(start, code=code, stopped=self.stop.count > 0, cause=entry.cause)
                    with suppress(OSError):  # a full disk: then it looks like a command that was killed
                        note_start(finding.work_dir, start)
                    finding = self._examine(run, holding=True)
                    finding = replace(finding, logs=(*entry.logs, *finding.logs))
        except (IncompleteError, InputError, OSError) as error:
            why = f'cannot be started: {error}' if isinstance(error, OSError) else str(error)
            finding = self._examine(run)
            if finding.state is not State.COMPLETE:  # as by who had the lock
                finding = replace(finding, detail=f'{why}; {finding.detail}')
        if why or self.stop or task.mode == self.options.mode or not finding.sampled:
            self._tell(finding, seconds)  # else its evaluation follows, when the judge has its GPUs

    def _spawn(self, entry: Entry, task: Task, finding: Finding) -> tuple[Child, Start]:
        run, work_dir, workers = task.run, finding.work_dir, task.workers
        _keep_entries(run, work_dir)
        directory = opencompass.prepare_directory(work_dir, run.values, self._here)
        waiting = len(entry.commands) + len(entry.tasks)
        clients = min(CLIENTS, -(-waiting // len(entry.servers))) if entry.served else 0
        config = opencompass.config_for(run, work_dir, self.options, workers, clients)
        in_process = opencompass.runs_in_process(run.values, self.options, workers)
        resumed = finding.time if finding.resumable else None
        # OpenCompass skips what has a result, whatever it is.
        for path in finding.in_the_way if resumed else ():
            put_aside(path, utc_now())
        when = resumed or own_folder([path.name for path in work_dir.iterdir()])
        gpus = () if entry.served else entry.given
        variables: dict[str, str] = {}
        if entry.served:
            addresses = [server.url for server in entry.servers if server.is_ready]
            variables[SERVERS] = json.dumps({entry.served.key: addresses})
            variables['GPASSK_HARDWARE'] = entry.hardware
        if self.gpus and (entry.served or gpus or not finding.sampled):
            if not in_process and any(not gpu.isdigit() for gpu in gpus):
                raise InputError(
                    f'{gpus[0]} has no number, and opencompass gives its tasks GPUs by number alone: leave '
                    'out --max-num-workers, or name other GPUs'
                )
            variables[VISIBLE] = ','.join(gpus)
            variables['CUDA_DEVICE_ORDER'] = self._environment.get('CUDA_DEVICE_ORDER', 'PCI_BUS_ID')
        line = [opencompass.program(), str(config), '-w', str(work_dir), *self.options.passed]
        line += ['-m', task.mode] if task.mode != 'all' else []
        line += ['--debug'] if in_process and '--debug' not in self.options.passed else []
        line += [] if workers is None else ['--max-num-workers', str(workers)]
        start = Start(when, utc_now(), workers, [str(one) for one in run.configs], task.mode)
        (work_dir / LOG).unlink(missing_ok=True)
        note_start(work_dir, start)
        env = {**self._environment, **variables}
        child = Child([*line, '-r', when], work_dir / LOG, cwd=directory, env=env, mark=self._mark)
        how = f'goes on in {when}' if resumed else 'started'
        if resumed and self.options.workers not in (None, workers):
            how += f', with --max-num-workers {workers or "left out"} as it was begun'
        self.watcher.note(f'{how}{_on(gpus)}', run)
        return child, start


def _keep_entries(run: Planned, work_dir: Path) -> None:
    """Keep what manifests say of a run beside its results, for reports, which look for manifests there."""
    path, content = work_dir / NOTES / MANIFEST, manifest_text(run.entries).encode()
    if run.entries and not (path.is_file() and path.read_bytes() == content):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, content)


def _on(gpus: Sequence[str]) -> str:
    return f' on GPU{"" if len(gpus) == 1 else "s"} {", ".join(gpus)}' if gpus else ''
