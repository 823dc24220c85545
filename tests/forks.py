"""Commands as copies of one process that has imported all of it: a run in a second, and a death at any file.

As a program it is that process: an order a line on standard input, an answer a line on standard output.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

from dying import Fault, arm
from hosts import TESTS, environment

PRELOADED = (
    'opencompass.cli.main', 'gpassk_opencompass.plugin', 'gpassk_opencompass.cli.run',
    'gpassk_opencompass.cli.report', 'gpassk_opencompass.report.figures',
    'gpassk_opencompass.report.page', 'gpassk_opencompass.sweep', 'matplotlib.pyplot', 'scripted', 'yapf',
)  # fmt: skip
PATIENCE = 300.0
COUNTED = 'changes of files: '


@dataclass(frozen=True)
class Order:
    """What a copy shall do."""

    command: str
    """A function of `fault_commands`."""
    arguments: list[str]
    folder: str
    """Where it runs; what it says is added to the file `said` there."""
    fault: Fault | None
    variables: dict[str, str]
    """Its whole environment."""


class Copy:
    """A command at work, in a session of its own."""

    def __init__(self, forks: Forks, pid: int, said: Path) -> None:
        self._forks, self.pid, self._said = forks, pid, said
        self._code: int | None = None

    @property
    def said(self) -> str:
        """What the commands of this folder have printed so far."""
        return self._said.read_text(errors='replace') if self._said.exists() else ''

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        if self._code is None:
            self._code = self._forks.ask({'poll': self.pid})
        return self._code

    def wait(self, seconds: float = PATIENCE) -> int:
        """Its exit code, when it has one; a command that takes longer is killed."""
        deadline = time.monotonic() + seconds
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                self.kill()
                raise AssertionError(f'still at work: {self.said[-2000:]}')
            time.sleep(0.005)
        return code

    def kill(self) -> int:
        """kill -9 of the command and of all else in its session, which it opens a moment after its start."""
        while True:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            if (code := self.poll()) is not None:
                return code
            time.sleep(0.005)


class Forks:
    """The process that is copied, as long as the context lasts."""

    def __enter__(self) -> Forks:
        self._process = subprocess.Popen(
            [sys.executable, '-W', 'ignore', __file__],
            env=_surroundings(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the tests, which end it
        )
        self._started: list[Copy] = []
        self.ask({'ready': True})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for copy in self._started:
            if copy.poll() is None:
                copy.kill()
        with self._process:  # to its end, not to that of all who have its pipes: a copy of a copy may hang
            pass

    def ask(self, order: Mapping[str, Any]) -> Any:
        """Send an order, get its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + '\n')
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, 'the process that is copied has ended'
        return json.loads(answer)

    def start(
        self,
        *line: str | Path,
        folder: Path,
        fault: Fault | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Copy:
        """A copy that runs a function of `fault_commands`, with arguments, in a folder."""
        command, *arguments = map(str, line)
        order = Order(command, arguments, str(folder), fault, _surroundings() | dict(variables or {}))
        self._started.append(Copy(self, self.ask(asdict(order)), folder / 'said'))
        return self._started[-1]

    def opencompass(self, config: Path, work_dir: Path, *options: str) -> str:
        """`opencompass <config> -w <work_dir> …` to its end, in the folder of the config; what it said."""
        copy = self.start('opencompass', config, '-w', work_dir, *options, folder=config.parent)
        code = copy.wait()
        assert code == 0, copy.said[-3000:]
        return copy.said


def _surroundings() -> dict[str, str]:
    """The environment of this moment, and where the models of the tests are."""
    here = environment()
    return here | {
        'MPLBACKEND': 'agg',
        'PYTHONPATH': os.pathsep.join([here['PYTHONPATH'], str(TESTS / 'slow' / 'faults')]),
    }


def serve() -> None:
    """Do what comes in until there is no more."""
    orders, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), 'w')
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(0, 1)
    for module in PRELOADED:
        import_module(module)
    gc.freeze()  # copies share memory that no collector touches
    for line in orders:
        print(json.dumps(_answer(json.loads(line))), file=answers, flush=True)


def _answer(order: dict[str, Any]) -> int | bool | None:
    if 'ready' in order:
        return True
    if 'poll' in order:
        pid, status = os.waitpid(order['poll'], os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if pid else None
    fault = order.pop('fault')
    return _obey(Order(**order, fault=Fault(**fault) if fault else None))


def _obey(order: Order) -> int:
    commands: Any = import_module('fault_commands')

    def work() -> int:
        os.environ.clear()
        os.environ.update(order.variables)
        time.tzset()
        os.chdir(order.folder)
        commands.FAULT = order.fault
        code: int = getattr(commands, order.command)(order.arguments)
        return code

    log = os.open(Path(order.folder, 'said'), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        own = order.fault is not None and order.fault.command == order.command
        return fork(work, log, order.fault if own else None)
    finally:
        os.close(log)


def fork(work: Callable[[], int], log: int, fault: Fault | None = None) -> int:
    """The process number of a copy of this process, which ends with what `work` returns."""
    pid = os.fork()
    if pid == 0:
        _end(work, log, fault)
    return pid


def _end(work: Callable[[], int], log: int, fault: Fault | None) -> None:
    """A process of its own from here to its end."""
    code = 1
    try:
        os.setsid()
        os.dup2(log, 1)
        os.dup2(log, 2)
        counter = arm(fault) if fault else None
        try:
            code = work()
        except BaseException:
            traceback.print_exc()
        if counter:
            print(f'{COUNTED}{counter.seen}')
        sys.stdout.flush()
    finally:
        os._exit(code)


if __name__ == '__main__':
    serve()
