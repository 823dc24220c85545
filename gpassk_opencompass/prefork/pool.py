"""The warm process as `gpassk run` sees it."""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from ..errors import InputError
from ..runs.command import check_unquoted
from ..runs.config_file import is_local, read_config, runner_of
from ..runs.gpus import ELSEWHERE
from ..runs.processes import kill_trees
from ..runs.turns import PART, SESSION
from ..serving import GRACE
from . import client
from .preload import MODULES

STARTS = 3
"""How often the warm process is started in all: one that dies is replaced, one that cannot live is not."""

POLL = 0.05

HURRY = 5.0
"""Seconds that the warm process has to kill all that it has started."""

NO_COMMANDS = frozenset({*ELSEWHERE, '--debug', '--dry-run'})
"""Options of OpenCompass with which tasks do not run as commands of this machine."""

_PATH_BYTES = 100
"""Less than the path of a Unix socket may have, on any system."""


class Pool:
    """Does `opencompass` commands, and their tasks, in copies of one process that has imported it.

    That process is started with the first command, and ends with all that is at work in it at the end of the
    `with` block, or when the process that owns the pool dies. It is alone in a folder that nobody else can
    read. Where there are no such copies (`plain_because`), commands are run as they are.

    Args:
        environment: that of the commands; they may differ in what is read after an import, such as
            GPASSK_SESSION, CUDA_VISIBLE_DEVICES and GPASSK_GPUS.
        log: a file that gets a line of JSON for each copy and each load, for who counts them.
        modules: what the process imports.
        in_a_hurry: whether to end at once what would have time to end by itself.

    >>> with Pool({}) as pool:
    ...     pool.command(['/elsewhere/bin/opencompass', 'run.py', '-w', 'out'])
    ['/elsewhere/bin/opencompass', 'run.py', '-w', 'out']
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        log: Path | None = None,
        modules: Sequence[str] = MODULES,
        in_a_hurry: Callable[[], bool] = lambda: False,
    ) -> None:
        self._in_a_hurry = in_a_hurry
        own = (SESSION, PART, client.GPUS)
        self._environment = {name: value for name, value in environment.items() if name not in own}
        self._log, self._modules = log, modules
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None
        self._owner: int | None = None
        self._starts = 0
        self.plain_because = _why_not()
        """Why commands are run as they are; '' where they are copied."""

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def serves(self, line: Sequence[str]) -> bool:
        """Whether a command is done by a copy: one of this Python's OpenCompass, with tasks on this machine.

        Only then are virtual GPU numbers translated.
        """
        return (
            not self.plain_because
            and not NO_COMMANDS & {*line}
            and _is_own(Path(line[0]))
            and all(map(_starts_commands, line[1:2]))
        )

    def command(self, line: Sequence[str]) -> list[str]:
        """Return the words of a command that does the same, but in a copy; the warm process is started.

        It is to be started in a session of its own. It has the output, the exit code, the directory and the
        environment that `line` would have, passes signals on, and holds what files it is handed. When it has
        ended, so have its tasks.

        Args:
            line: `opencompass`, and its arguments.
        """
        if not self.serves(line) or not self._is_up():
            return list(line)
        return [sys.executable, '-IS', client.__file__, self._address, *line]

    def release(self, session: str, gpus: Collection[str] = ()) -> None:
        """End the processes that keep a model for a session, and wait until they are gone, and its GPUs free.

        In a hurry nobody waits for them: they end with the pool.

        Args:
            session: GPASSK_SESSION of its commands. That of none is no error.
            gpus: real ids: only those that keep it on these; none: all.
        """
        if self._process is None or self._process.poll() is not None:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self._address)
            client.send(connection, {'release': session, 'gpus': list(gpus)})
            while not self._in_a_hurry():
                if select.select([connection], [], [], POLL)[0]:
                    client.receive(connection)
                    break

    @property
    def _address(self) -> str:
        assert self._folder is not None
        return str(self._folder / 'socket')

    def _is_up(self) -> bool:
        """Start the warm process if there is none (any more); whether it is up."""
        if self._process is not None and self._process.poll() is None:
            return True
        self._end()
        if self._starts == STARTS:
            self.plain_because = f'the process that has OpenCompass imported has ended {STARTS} times'
        try:
            if not self.plain_because:
                self._starts += 1
                self._start()
        except (OSError, InputError) as error:
            self.plain_because = str(error)
            self._end()
        return not self.plain_because

    def _start(self) -> None:
        self._folder = _private_folder()
        check_unquoted(f'{sys.executable}{client.__file__}{self._folder}', 'a path', 'use another')
        said = (self._folder / 'said').open('wb')
        given, self._owner = os.pipe()
        with said, socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self._address)
            listener.listen(512)
            handed = (listener.fileno(), given)
            line = [sys.executable, '-m', f'{__package__}.server', *map(str, handed), ','.join(self._modules)]
            log = [] if self._log is None else [str(self._log.resolve())]
            try:
                self._process = subprocess.Popen(
                    [*line, *log],
                    cwd=self._folder,
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    pass_fds=handed,
                )
            finally:
                os.close(given)

    def _end(self) -> None:
        if self._owner is not None:
            os.close(self._owner)
            self._owner = None
        if self._process is not None:
            self._wait(self._process)
            self._process = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until the warm process and all that it has started are gone; in a hurry they are killed."""
        deadline, hurried = time.monotonic() + 3 * GRACE, False
        while process.poll() is None and time.monotonic() < deadline:
            if self._in_a_hurry() and not hurried:
                hurried, deadline = True, time.monotonic() + HURRY
                process.terminate()
            time.sleep(POLL)
        if process.poll() is None:
            kill_trees([process.pid])
            process.wait()


def _why_not() -> str:
    if not sys.platform.startswith('linux') or not hasattr(os, 'fork'):
        return f'processes are copied on Linux alone, not on {sys.platform}'
    return '' if sys.executable else 'this Python does not tell where it is'


def _is_own(program: Path) -> bool:
    """Whether a program is the `opencompass` that pip writes, of this Python."""
    try:
        text = program.read_bytes()[:4096]
    except OSError:
        return False
    beside = program == Path(sys.executable).with_name(program.name)
    named = text.partition(b'\n')[0] == b'#!' + os.fsencode(sys.executable)
    return (beside or named) and b'from opencompass.cli.main import main' in text


def _starts_commands(config: str) -> bool:
    """Whether the tasks of a config run as commands of this machine, as far as it tells."""
    try:
        values = read_config(Path(config)) or {}
    except InputError:  # opencompass will say so
        return True
    runners = [runner_of(values, stage) for stage in ('infer', 'eval')]
    return all(is_local(runner) and not runner.get('debug') for runner in runners)


def _private_folder() -> Path:
    """Make a folder that only this user may enter, with a path short enough for a socket."""
    for parent in (None, '/tmp'):
        folder = Path(tempfile.mkdtemp(prefix='gpassk-', dir=parent))
        if len(os.fsencode(folder)) < _PATH_BYTES - len('/socket'):
            return folder
        folder.rmdir()
    raise InputError('the folder for temporary files has too long a path: set $TMPDIR to another one')
