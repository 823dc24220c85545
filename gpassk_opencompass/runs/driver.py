"""Start `opencompass` for the runs that need it, some at a time."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Protocol

from ..errors import IncompleteError, InputError
from ..files import put_aside
from ..serving import JUDGE_GPUS
from ..times import own_folder, utc_folder
from .command import (
    ELSEWHERE,
    Options,
    command,
    environment,
    evaluation_of,
    prepare_directory,
    runs_in_process,
)
from .examine import examine
from .gpus import ORDER, VISIBLE, Gpu, numbers_of
from .judge_servers import JudgePlaces, judge_places
from .lock import WorkDirLock
from .plan import Planned
from .processes import Stop, end_groups
from .state import Finding
from .turns import Task, Turn, Turns, gpus_needed
from .work_dir import LOG, NOTES, Start, Starts, keep_entry, times_in

POLL = 0.2


@dataclass(frozen=True)
class Job:
    """One command at work."""

    run: Planned
    work_dir: Path
    process: subprocess.Popen[bytes]
    starts: Starts
    held: ExitStack
    """What to release at its end: the lock of the work directory, the log."""
    started: float
    """Seconds since the epoch."""
    turn: Turn
    """With the GPUs that it has."""


class Watcher(Protocol):
    """An observer that is told what happens."""

    def started(self, run: Planned, what: str) -> None:
        """Take note that a command was started for a run; `what` says how."""

    def ended(self, finding: Finding, seconds: float | None) -> None:
        """Take note of the state of a run; `seconds` is None if no command was started for it."""

    def working(self, jobs: Sequence[Job]) -> None:
        """Take note of the commands at work, several times a second."""


class Driver:
    """Runs OpenCompass in `<outputs>/<name>` for each run that is not complete.

    Args:
        outputs: the folder of the work directories.
        options: for OpenCompass.
        watcher: is told of every step.
        stop: becomes true when the user wants to stop.
        gpus: those that the runs share; none: each command sees what there is.
    """

    def __init__(
        self,
        outputs: Path,
        options: Options,
        watcher: Watcher,
        stop: Stop,
        gpus: Sequence[Gpu] = (),
    ) -> None:
        self._outputs = outputs.resolve()
        self._here = Path.cwd()
        variables = {name: value for name, value in os.environ.items() if name != JUDGE_GPUS}
        self._environment = environment(self._here, variables)
        self._options, self._watcher, self._stop = options, watcher, stop
        self._gpus = gpus
        self._judges = JudgePlaces()
        self._unjudged: frozenset[str] = frozenset()
        """Runs that only sample yet."""

    def drive(self, runs: Sequence[Planned], jobs: int | None = None) -> list[Finding]:
        """Run what is not complete.

        Args:
            runs: all that are wanted.
            jobs: commands at a time; None: as many as fit on the GPUs, and one that needs none.

        Returns:
            The state of each run that it came to; after a stop the others are left out.
        """
        found = dict[str, Finding]()
        tasks = self._tasks(runs, found)
        self._judges = judge_places([task.run for task in tasks], self._gpus, self._options)
        refused = self._judges.refused
        self._refuse([(task, refused[task.run.name]) for task in tasks if task.run.name in refused], found)
        tasks = [task for task in tasks if task.run.name not in refused]
        self._unjudged = self._judged_at_last(tasks)
        last = [task.run for task in tasks if task.run.name in self._unjudged]
        self._work(
            [task for task in tasks if not self._options_for(task.run).is_done(task.finding)], jobs, found
        )
        self._unjudged = frozenset()
        if last and not self._stop:
            left = map(self._task, last)
            self._work([task for task in left if task.finding.sampled], jobs, found)
        return [found[run.name] for run in runs if run.name in found]

    def _judged_at_last(self, tasks: Sequence[Task]) -> frozenset[str]:
        """Return the runs whose judges are to have GPUs that models have before."""
        if self._options.mode != 'all' or not self._judges.given:
            return frozenset()
        no_models = all(gpus_needed(task.run.values()) == 0 for task in tasks)
        return frozenset() if no_models else frozenset(self._judges.given)

    def _work(self, tasks: Sequence[Task], jobs: int | None, found: dict[str, Finding]) -> None:
        """Do tasks until none is left, or the user wants to stop."""
        working = list[Job]()
        own = self._judges.own
        gpus = [gpu for gpu in self._gpus if gpu.id not in own]
        turns = Turns(tasks, () if self._options.mode == 'eval' else gpus, jobs, own)
        self._refuse(turns.refused, found)
        try:
            while working or (turns and not self._stop):
                self._begin_all(turns, working, found)
                self._watcher.working(working)
                if working or turns:
                    self._stop.wait(POLL)
                if self._stop:
                    end_groups([job.process for job in working], lambda: self._stop.count > 1)
                for job in [job for job in working if job.process.poll() is not None]:
                    working.remove(job)
                    found[job.run.name] = self._end(job)
                    turns.ended(job.turn)
        finally:
            end_groups([job.process for job in working], lambda: self._stop.count > 1)

    def _tasks(self, runs: Sequence[Planned], found: dict[str, Finding]) -> list[Task]:
        """Return what has to be done; the others are told of at once."""
        tasks = []
        for run in runs:
            if self._stop:
                break
            task = self._task(run)
            if not self._options.is_done(task.finding):
                tasks.append(task)
                continue
            with suppress(OSError):  # somebody else's results, that may only be read
                _keep_entry(run, task.finding.work_dir)
            self._tell(found, task.finding)
        return tasks

    def _task(self, run: Planned) -> Task:
        finding = examine(run, run.work_dir(self._outputs))
        return Task(run, finding, self._workers(finding) or 1)

    def _options_for(self, run: Planned) -> Options:
        """Return the options of a run now: where its judge is to have GPUs of models, it only samples yet."""
        options = self._options
        if run.name not in self._unjudged:
            return options
        return options._replace(mode='infer', passed=(*options.passed, '-m', 'infer'))

    def _workers(self, finding: Finding) -> int | None:
        """Return --max-num-workers of a run: that of its start, or what was asked for; None: not given."""
        if not finding.resumable or finding.time is None:
            return self._options.workers
        made = Starts(finding.work_dir).made(finding.time)
        return self._options.workers if made is None else made.workers

    def _refuse(self, refused: Sequence[tuple[Task, str]], found: dict[str, Finding]) -> None:
        for task, why in refused:
            self._tell(found, replace(task.finding, detail=f'{why}; {task.finding.detail}'))

    def _tell(self, found: dict[str, Finding], finding: Finding) -> None:
        found[finding.name] = finding
        self._watcher.ended(finding, None)

    def _begin_all(self, turns: Turns, working: list[Job], found: dict[str, Finding]) -> None:
        """Start all commands whose turn it is."""
        more = True
        while more and not self._stop:
            started = turns.next()
            for turn in started:
                if self._stop or not self._begin(turn, working, found):
                    turns.ended(turn)
            more = bool(started)

    def _begin(self, turn: Turn, working: list[Job], found: dict[str, Finding]) -> bool:
        """Start a command, or say why not; return whether it runs."""
        run, finding, why = turn.run, None, ''
        work_dir = run.work_dir(self._outputs)
        with ExitStack() as held:
            try:
                lock = held.enter_context(WorkDirLock(work_dir))
                finding = examine(run, work_dir, holding=True)
                if self._is_wanted(run, finding):
                    working.append(self._start(turn, finding, lock, held))
                    return True
            except (IncompleteError, InputError) as error:
                why = str(error)
            except OSError as error:
                why = f'cannot be started: {error}'
        finding = finding or examine(run, work_dir)
        self._tell(found, replace(finding, detail=why) if why else finding)
        return False

    def _is_wanted(self, run: Planned, finding: Finding) -> bool:
        nothing_to_judge = self._options.mode == 'eval' and not (finding.resumable and finding.sampled)
        return not self._options_for(run).is_done(finding) and not nothing_to_judge

    def _start(self, turn: Turn, finding: Finding, lock: WorkDirLock, held: ExitStack) -> Job:
        run = turn.run
        work_dir, config = finding.work_dir, run.config or Path()
        resumed = finding.time if finding.resumable else None
        directory = prepare_directory(work_dir, config, self._here)
        _keep_entry(run, work_dir)
        starts = Starts(work_dir)
        workers, options = self._workers(finding), self._options_for(run)
        in_process = runs_in_process(run.values(), options, workers)
        variables = {**self._gpu_variables(turn, in_process), **self._judge_variables(run)}
        given = self._given(run, config, work_dir, workers)
        line = command(given, work_dir, options, workers, resumed, in_process)
        if resumed is not None:
            for path in finding.in_the_way:  # OpenCompass skips what has a result, whatever is in it
                put_aside(path, utc_folder())
        log = held.enter_context((work_dir / LOG).open('wb'))
        starts.begin(
            Start(
                started=utc_folder() if resumed else own_folder(times_in(work_dir)),
                resumes=resumed,
                workers=workers,
                config=str(config),
                sha256=run.sha256 or '',
                mode=options.mode,
                options=options.passed,
                utc=True,
            )
        )
        process = self._spawn(line, directory, log, lock, variables)
        lock.note_group(process.pid)
        job = Job(run, work_dir, process, starts, held.pop_all(), time.time(), turn)
        how = _how(resumed, workers, self._options.workers) + _where(turn)
        self._watcher.started(run, how)
        return job

    def _given(self, run: Planned, config: Path, work_dir: Path, workers: int | None) -> Path:
        """Return the config for OpenCompass: a copy among the notes, whose evaluations stream predictions.

        A config that computes its values, or says itself how to evaluate, is as it is.
        """
        values = run.values()
        if values is None or values.get('eval') or {*ELSEWHERE} & {*self._options.passed}:
            return config
        copy = work_dir / NOTES / config.name
        copy.write_bytes(config.read_bytes() + f'\neval = {evaluation_of(workers)!r}\n'.encode())
        return copy

    def _gpu_variables(self, turn: Turn, in_process: bool) -> dict[str, str]:
        """Return what a command is told of its GPUs, beside its environment.

        Raises:
            InputError: OpenCompass would read a number where there is none.
        """
        if not turn.gpus:  # OpenCompass hides them from tasks in processes of their own
            return {VISIBLE: ''} if turn.hides and in_process else {}
        told = {VISIBLE: ','.join(turn.gpus) if in_process else numbers_of(turn.gpus, self._gpus)}
        if VISIBLE not in self._environment:  # then numbers are those of nvidia-smi
            told[ORDER] = self._environment.get(ORDER, 'PCI_BUS_ID')
        return told

    def _judge_variables(self, run: Planned) -> dict[str, str]:
        return {} if run.name in self._unjudged else self._judges.variables(run.name, self._environment)

    def _spawn(
        self,
        line: Sequence[str],
        directory: Path,
        log: IO[bytes],
        lock: WorkDirLock,
        variables: Mapping[str, str],
    ) -> subprocess.Popen[bytes]:
        """Start a command in its own session, so that Ctrl-C reaches this process alone; it locks too."""
        return subprocess.Popen(
            line,
            cwd=directory,
            env={**self._environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(lock.fileno,),
        )

    def _end(self, job: Job) -> Finding:
        end_groups([job.process], lambda: self._stop.count > 1)  # tasks that outlived their command
        with job.held:
            code = job.process.wait()
            with suppress(OSError):  # a full disk: then it looks like a command that was killed
                job.starts.end(code, stopped=bool(self._stop))
            finding = examine(job.run, job.work_dir, holding=True)
        self._watcher.ended(finding, time.time() - job.started)
        return finding


def _keep_entry(run: Planned, work_dir: Path) -> None:
    if run.entry is not None:
        keep_entry(work_dir, run.entry)


def _how(resumed: str | None, workers: int | None, asked: int | None) -> str:
    if resumed is None:
        return 'started'
    if workers == asked or asked is None:
        return f'goes on in {resumed}'
    number = 'without --max-num-workers' if workers is None else f'with --max-num-workers {workers}'
    return f'goes on in {resumed}, {number} as it was begun'


def _where(turn: Turn) -> str:
    """Return the GPUs of a turn, for a message."""
    if not turn.gpus:
        return ''
    return f' on {"GPU" if len(turn.gpus) == 1 else "GPUs"} {", ".join(turn.gpus)}'
