"""What lies in the work directory of a run, `OUTPUTS/<name>`.

OpenCompass makes a folder there for each start, named by the moment. Which commands `gpassk run` started, how
they ended, and who is at work is noted in `.gpassk`: OpenCompass takes the last name for its latest start.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import psutil
from filelock import FileLock, Timeout
from pydantic import TypeAdapter

from ..errors import IncompleteError
from ..files import PROVENANCE, mapping, read_json, write_file
from ..marks import append, read_notes
from ..predictions import JOURNAL
from ..processes import described, end_marked
from ..text import seconds_of, seconds_of_folder, utc_now
from .plan import Planned, Wanted

NOTES = '.gpassk'  # what `gpassk run` notes, in a work directory and above all of them
STARTS, LOG = f'{NOTES}/starts.jsonl', f'{NOTES}/opencompass.log'  # commands; what the last one said
DIRECTORY, HOLDER = f'{NOTES}/cwd', f'{NOTES}/holder.json'  # where it runs; who is at work
SIZES = '.cache/dataset_size.json'  # where OpenCompass counts the rows of data sets, in its directory
JOB = 'GPASSK_JOB'  # the environment variable with the job of a cluster that a process is of


# One at a time


class Holder(NamedTuple):
    """Who is at work in a work directory."""

    host: str
    pid: int
    created: float  # when its process began: another one may get its number
    since: str
    job: str = ''  # of Slurm or Ray
    mark: str = ''  # of all that it has started, see `processes.Child`

    @property
    def is_here(self) -> bool:
        """Whether it is of this machine, where one can tell if it lives."""
        return self.host == socket.gethostname()

    @property
    def is_alive(self) -> bool:
        """Whether it is at work still, as far as can be told; of another machine nobody knows better."""
        try:
            return not self.is_here or abs(psutil.Process(self.pid).create_time() - self.created) < 1
        except psutil.Error:
            return False

    def __str__(self) -> str:
        job = f', {self.job},' if self.job else ''
        return f'process {self.pid} on {self.host}{job} since {self.since}'


_HOLDERS = TypeAdapter(Holder)


def holder_of(work_dir: Path) -> Holder | None:
    """Return who is noted to be at work in a work directory, alive or not."""
    try:
        return _HOLDERS.validate_python(read_json(work_dir / HOLDER))
    except (OSError, ValueError):
        return None


@contextmanager
def lock(work_dir: Path, mark: str, take_over: str = '') -> Iterator[None]:
    """Keep everybody else out of a work directory, until the block or this process ends.

    The system frees a lock of this machine with its holder; the file beside it names the holder for others.
    What a dead process of this machine left is ended and taken over; what one of another machine left only
    with a reason, `take_over`, or within one job of Ray, which tries again. Else IncompleteError.
    """
    file = work_dir / HOLDER
    file.parent.mkdir(parents=True, exist_ok=True)
    slurm = os.environ.get('SLURM_JOB_ID')
    job = os.environ.get(JOB) or (f'Slurm job {slurm}' if slurm else '')
    began = psutil.Process().create_time()
    own = Holder(socket.gethostname(), os.getpid(), began, utc_now(), job, mark)
    with ExitStack() as stack:
        try:
            with suppress(NotImplementedError):  # a disk without locks: the file tells
                # Ray tries again while the worker of a node that it has given up may still be ending.
                seconds = 60.0 if job.startswith('ray') else 0.0
                stack.enter_context(FileLock(file.with_name('lock'), timeout=seconds))
        except Timeout:
            who = holder_of(work_dir) or 'another process'
            raise IncompleteError(f'in use by {who}: wait for it') from None
        if former := holder_of(work_dir):
            if former.is_here and former.is_alive and former.pid != own.pid:
                raise IncompleteError(f'in use by {former}: wait for it')
            if not (former.is_here or take_over or (job.startswith('ray') and former.job == job)):
                way_out = 'if it has ended, take it over: --take-over "why it is over"'
                raise IncompleteError(f'in use by {former}: wait for it; {way_out}')
            if former.is_here and former.mark:
                end_marked(former.mark)
        write_file(file, json.dumps(own).encode())
        try:
            yield
        finally:
            with suppress(OSError):
                file.unlink()


# The commands that were started


@dataclass(frozen=True)
class Start:
    """One `opencompass` command that `gpassk run` started."""

    time: str  # the time directory that it works in
    began: str  # when, in UTC
    workers: int | None  # --max-num-workers; None: it was not given
    configs: list[str]
    mode: str = 'all'  # -m: 'all', 'infer' or 'eval'
    code: int | None = None  # negative for a signal; None while it runs, and after a kill of `gpassk run`
    stopped: bool = False  # by Ctrl-C in `gpassk run`
    cause: str = ''  # why `gpassk run` ended it: its server died

    @property
    def end(self) -> str:
        """Return how it came to an end that is no failure."""
        if self.stopped:
            return 'stopped'
        if self.code is None:
            return 'gpassk run was killed, or its machine went down,'
        return f'killed by {described(self.code)}' if self.code < 0 else 'ended'


_STARTS = TypeAdapter(Start)


def read_starts(work_dir: Path) -> list[Start]:
    """Read the commands, oldest first; the end of one replaces its start, a torn line is left out."""
    starts: dict[tuple[str, str], Start] = {}
    with suppress(OSError):
        for line in (work_dir / STARTS).read_bytes().splitlines():
            with suppress(ValueError):
                start = _STARTS.validate_json(line)
                starts[start.time, start.began] = start
    return list(starts.values())


def note_start(work_dir: Path, start: Start) -> None:
    """Note a command that is about to start, or how it ended; OSError if it cannot be written."""
    append(work_dir / STARTS, json.dumps(asdict(start)).encode())


# Time directories, and the samples in them


def time_dirs(work_dir: Path) -> list[Path]:
    """Return the time directories, the newest first; ours are named in UTC, OpenCompass's are not."""
    ours = {start.time for start in read_starts(work_dir)}

    def begun(path: Path) -> tuple[float, str]:
        notes = path.glob(f'predictions/**/{PROVENANCE}')
        moments = filter(None, (seconds_of(read_notes(file.parent).created) for file in notes))
        return min(moments, default=seconds_of_folder(path.name, path.name in ours) or 0.0), path.name

    try:
        found = [one for one in work_dir.iterdir() if re.fullmatch(r'\d{8}_\d{6}', one.name) and one.is_dir()]
    except OSError:
        return []
    return sorted(found, key=begun, reverse=True)


def samples_in(time_dir: Path, wanted: Wanted) -> dict[str, Path]:
    """Return the files of predictions of a result, and the journals of those that are not whole.

    A file stands for its stem, `<abbr>` or, of a shard, `<abbr>_<number>`.
    """
    shard = re.compile(rf'({re.escape(wanted.dataset["abbr"])}(?:_\d+)?)(?:{re.escape(JOURNAL)}|\.json)')
    with suppress(OSError):
        files = sorted((time_dir / 'predictions' / wanted.part).parent.iterdir(), reverse=True)
        return {name[1]: file for file in files if (name := shard.fullmatch(file.name))}  # .json is the last
    return {}


def expected_rows(work_dir: Path, wanted: Wanted) -> int | None:
    """Return how many samples a result has when it is complete; None where nobody knows yet."""
    n = wanted.dataset.get('n', 1)
    if isinstance(n, int) and wanted.questions is not None:
        return n * wanted.questions
    with suppress(OSError, ValueError):
        size = mapping(read_json(work_dir / DIRECTORY / SIZES)).get(wanted.dataset['abbr'])
        return size if isinstance(size, int) else None
    return None


def count_rows(path: Path, begin: int = 0) -> tuple[int | None, int]:
    """Count the samples in a file; return how many, and the end of what was read.

    A journal is read from `begin` to its last whole line. None: predictions that are damaged.
    """
    is_journal = path.name.endswith(JOURNAL)
    with suppress(OSError, ValueError):
        with path.open('rb') as file:
            if is_journal:
                file.seek(begin)
                sizes = [len(line) for line in file if line.endswith(b'\n')]
                return len(sizes), begin + sum(sizes)
            if file.read(3) == b'{\n"':  # as we write it, a row a line
                *lines, end = file
                return len(lines) if end.strip() == b'}' else None, 0
        predictions = read_json(path)
        return len(predictions) if isinstance(predictions, dict) else None, 0
    return 0 if is_journal else None, begin


class DrawnSamples:
    """Counts the samples of a run at work, look by look: of each file only what is new."""

    def __init__(self, run: Planned, time_dir: Path) -> None:
        self.run, self._time_dir = run, time_dir
        self._read: dict[Path, tuple[int, int]] = {}  # its rows, and how far it was read

    def count(self) -> tuple[int, int | None]:
        """Return how many are drawn, and how many there should be, where that is known."""
        wanted = self.run.wanted
        paths = [path for one in wanted for path in samples_in(self._time_dir, one).values()]
        for path in paths:
            rows, end = self._read.get(path, (0, 0))
            if path.name.endswith(JOURNAL) or path not in self._read:
                more, end = count_rows(path, end)
                self._read[path] = (rows + (more or 0), end)
        totals = [expected_rows(self._time_dir.parent, one) for one in wanted]
        total = sum(one or 0 for one in totals) if totals and None not in totals else None
        return sum(self._read[path][0] for path in paths), total
