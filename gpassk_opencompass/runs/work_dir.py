"""What lies in the work directory of a run, `OUTPUTS/<name>`.

It has a folder for each time that OpenCompass was started anew, named by the moment. OpenCompass keeps
neither its options nor its exit code, so `gpassk run` notes in `.gpassk/` which commands it started, how they
ended, and who is at work: a name that sorts before the time directories, of which OpenCompass takes the last
one for the latest.
"""

from __future__ import annotations

import json
import os
import re
import socket
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import psutil
from filelock import FileLock, Timeout

from ..errors import IncompleteError
from ..files import PROVENANCE, mapping, parse_json, read_json, write_file
from ..marks import append, read_notes
from ..predictions import JOURNAL
from ..processes import described, end_marked
from ..text import seconds_of, seconds_of_folder, utc_now
from .plan import Config, Planned, Wanted, configs_in

NOTES = '.gpassk'
"""The folder of what `gpassk run` notes, in a work directory and above all of them."""

STARTS, LOG, DIRECTORY, HOLDER = (
    f'{NOTES}/{name}' for name in ('starts.jsonl', 'opencompass.log', 'cwd', 'holder.json')
)
"""The commands that were started, what the last one said, where it runs, and who is at work."""

SIZES = '.cache/dataset_size.json'
"""Where OpenCompass counts the rows of data sets, in the directory that it runs in."""

JOB = 'GPASSK_JOB'
"""Environment variable with the job of a cluster that a process is of."""


# One at a time


class Holder(NamedTuple):
    """Who is at work in a work directory."""

    host: str
    pid: int
    created: float  # when its process began: another one may get its number
    since: str
    job: str = ''  # of Slurm or Ray
    mark: str = ''  # of all that it has started, see `processes.Child`
    reason: str = ''  # why it took over from another one

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

    def take_over(self, other: Holder) -> None:
        """End what a dead process of this machine left; raise IncompleteError where another is at work."""
        again = self.job.startswith('ray') and other.job == self.job
        if other.is_here and other.is_alive and other.pid != self.pid:
            raise IncompleteError(f'in use by {other}: wait for it')
        if not (other.is_here or self.reason or again):
            way_out = 'if it has ended, take it over: --take-over "why it is over"'
            raise IncompleteError(f'in use by {other}: wait for it; {way_out}')
        if other.is_here and other.mark:
            end_marked(other.mark)

    def __str__(self) -> str:
        job = f', {self.job},' if self.job else ''
        return f'process {self.pid} on {self.host}{job} since {self.since}'


def holder_of(work_dir: Path) -> Holder | None:
    """Return who is noted to be at work in a work directory, alive or not."""
    try:
        host, pid, created, *rest = read_json(work_dir / HOLDER)
        return Holder(str(host), int(pid), float(created), *map(str, rest))
    except (OSError, ValueError, TypeError, OverflowError):
        return None


class Lock:
    """Keeps everybody else out of a work directory, until the block or this process ends.

    The system frees a lock of this machine with its holder; the file beside it names the holder for others.
    What a dead process of this machine left is taken over, when all is gone that it had started; that of
    another machine only with a reason, `take_over`, or within one job of Ray, which tries again.

    Raises:
        IncompleteError: somebody else is at work there.
    """

    def __init__(self, work_dir: Path, mark: str, take_over: str = '') -> None:
        self._file = work_dir / HOLDER
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(self._file.with_name('lock'))
        slurm = os.environ.get('SLURM_JOB_ID')
        job = os.environ.get(JOB) or (f'Slurm job {slurm}' if slurm else '')
        try:
            with suppress(NotImplementedError):  # a disk without locks: the file tells
                # Ray tries again while the worker of a node that it has given up may still be ending.
                self._lock.acquire(timeout=60.0 if job.startswith('ray') else 0)
        except Timeout:
            who = holder_of(work_dir) or 'another process'
            raise IncompleteError(f'in use by {who}: wait for it') from None
        began = psutil.Process().create_time()
        own = Holder(socket.gethostname(), os.getpid(), began, utc_now(), job, mark, take_over)
        try:
            if holder := holder_of(work_dir):
                own.take_over(holder)
            write_file(self._file, json.dumps(own).encode())
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):
            self._file.unlink(missing_ok=True)
        self._lock.release()


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


def read_starts(work_dir: Path) -> list[Start]:
    """Read the commands, oldest first; the end of one replaces its start, a torn line is left out."""
    starts: dict[tuple[str, str], Start] = {}
    with suppress(OSError):
        for line in (work_dir / STARTS).read_text(encoding='utf-8', errors='replace').splitlines():
            with suppress(ValueError, TypeError):
                start = Start(**parse_json(line))
                if isinstance(start.configs, list) and isinstance(start.code, (int, type(None))):
                    starts[str(start.time), str(start.began)] = start
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
        noted = [seconds_of(read_notes(file.parent).created) for file in notes]
        known = [moment for moment in noted if moment is not None]
        return min(known, default=seconds_of_folder(path.name, path.name in ours) or 0.0), path.name

    try:
        found = [one for one in work_dir.iterdir() if re.fullmatch(r'\d{8}_\d{6}', one.name) and one.is_dir()]
    except OSError:
        return []
    return sorted(found, key=begun, reverse=True)


def kept_configs(time_dir: Path) -> list[Config]:
    """Return the configs of each start in a time directory that name a model and a data set."""
    return [config for config in configs_in(time_dir) if config.get('models') and config.get('datasets')]


def samples_in(time_dir: Path, wanted: Wanted) -> tuple[dict[str, Path], dict[str, Path]]:
    """Return the files of predictions of a result, and the journals of those that are not whole.

    A file stands for its stem, `<abbr>` or, of a shard, `<abbr>_<number>`.
    """
    shard = re.compile(rf'({re.escape(wanted.dataset["abbr"])}(?:_\d+)?)({re.escape(JOURNAL)}|\.json)')
    found: dict[str, dict[str, Path]] = {'.json': {}, JOURNAL: {}}
    with suppress(OSError):
        for path in sorted((time_dir / 'predictions' / wanted.part).parent.iterdir()):
            if name := shard.fullmatch(path.name):
                found[name[2]][name[1]] = path
    whole = found['.json']
    return whole, {stem: path for stem, path in found[JOURNAL].items() if stem not in whole}


def expected_rows(work_dir: Path, wanted: Wanted) -> int | None:
    """Return how many samples a result has when it is complete; None where nobody knows yet."""
    n = wanted.dataset.get('n', 1)
    if isinstance(n, int) and wanted.questions is not None:
        return n * wanted.questions
    with suppress(OSError, ValueError):
        size = mapping(read_json(work_dir / DIRECTORY / SIZES)).get(wanted.dataset['abbr'])
        return size if isinstance(size, int) else None
    return None


def count_rows(path: Path, begin: int = 0) -> tuple[int | None, int, int]:
    """Count the samples in a file; return how many, the end of what was read, and their tokens.

    A journal is read from `begin` to its last whole line. None: predictions that are damaged.
    """
    is_journal, rows, tokens = path.name.endswith(JOURNAL), 0, 0
    with suppress(OSError, ValueError):
        with path.open('rb') as file:
            if is_journal:
                file.seek(begin)
                while (line := file.readline()).endswith(b'\n'):
                    rows, begin = rows + 1, begin + len(line)
                    output = re.search(rb'"output_tokens": ?(\d+)', line)
                    tokens += int(output[1]) if output else 0
                return rows, begin, tokens
            if file.read(3) == b'{\n"':  # as we write it, a row a line
                *lines, end = file
                return len(lines) if end.strip() == b'}' else None, 0, 0
        predictions = read_json(path)
        return len(predictions) if isinstance(predictions, dict) else None, 0, 0
    return 0 if is_journal else None, begin, 0


class DrawnSamples:
    """Counts the samples of a run at work, look by look, and the tokens of what came since the first."""

    def __init__(self, run: Planned, time_dir: Path) -> None:
        self.run, self._time_dir, self._began = run, time_dir, time.monotonic()
        self._read: dict[Path, tuple[int, int]] = {}
        """File → its rows, and how far it was read; predictions are whole, and read once."""
        self._tokens: int | None = None

    def count(self) -> tuple[int, int | None, float]:
        """Return how many are drawn, how many there should be, where that is known, and tokens a second."""
        drawn, tokens, wanted = 0, 0, self.run.wanted
        for path in (
            path for one in wanted for each in samples_in(self._time_dir, one) for path in each.values()
        ):
            rows, end = self._read.get(path, (0, 0))
            if path.name.endswith(JOURNAL) or path not in self._read:
                more, end, came = count_rows(path, end)
                rows, tokens = rows + (more or 0), tokens + came
            self._read[path] = rows, end
            drawn += rows
        self._tokens = 0 if self._tokens is None else self._tokens + tokens
        totals = [expected_rows(self._time_dir.parent, one) for one in wanted]
        total = sum(one or 0 for one in totals) if totals and None not in totals else None
        return drawn, total, self._tokens / max(1.0, time.monotonic() - self._began)
