"""Commands as copies of one process that has imported it all: a run in a second, a death at any file."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing import forkserver, get_context
from pathlib import Path
from typing import Any

import pytest
from dying import Fault, arm
from hosts import TESTS, environment

PRELOADED = [
    'opencompass.cli.main', 'gpassk_opencompass.plugin', 'gpassk_opencompass.cli.run',
    'gpassk_opencompass.cli.report', 'gpassk_opencompass.report.figures',
    'gpassk_opencompass.report.page', 'gpassk_opencompass.sweep', 'matplotlib.pyplot', 'scripted', 'yapf',
]  # fmt: skip
PATIENCE = 300.0
COUNTED = 'changes of files: '


class Copy:
    """A command at work, in a session of its own, which it opens a moment after its start."""

    def __init__(self, folder: Path, *order: Any) -> None:
        self._process = get_context('forkserver').Process(target=_obey, args=(str(folder), *order))
        self._process.start()
        self.pid, self._said = self._process.pid or 0, folder / 'said'

    @property
    def said(self) -> str:
        """What the commands of this folder have printed so far."""
        return self._said.read_text(errors='replace') if self._said.exists() else ''

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._process.exitcode

    def wait(self, seconds: float = PATIENCE) -> int:
        """Its exit code, when it has one; a command that takes longer is killed."""
        self._process.join(seconds)
        if (code := self.poll()) is None:
            self.kill()
            raise AssertionError(f'still at work: {self.said[-2000:]}')
        return code

    def kill(self) -> int:
        while (code := self.poll()) is None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.join(0.005)
        return code


class Forks:
    """The process that is copied, as long as the context lasts."""

    def __enter__(self) -> Forks:
        self._started: list[Copy] = []
        forkserver.set_forkserver_preload(PRELOADED)
        with pytest.MonkeyPatch.context() as patch:
            for name, value in _surroundings().items():
                patch.setenv(name, value)
            forkserver.ensure_running()
        return self

    def __exit__(self, *error: object) -> None:
        for copy in self._started:
            copy.kill()

    def start(
        self,
        *line: str | Path,
        folder: Path,
        fault: Fault | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Copy:
        """A copy that runs one of `COMMANDS` with arguments; what it says is added to `said`."""
        command, *arguments = map(str, line)
        variables = {**_surroundings(), **(variables or {})}
        self._started.append(Copy(folder, command, arguments, fault, variables))
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
    paths = [here['PYTHONPATH'], str(TESTS / 'slow' / 'faults')]
    return {**here, 'MPLBACKEND': 'agg', 'PYTHONPATH': os.pathsep.join(paths)}


def _obey(
    folder: str, command: str, arguments: list[str], fault: Fault | None, variables: dict[str, str]
) -> None:
    os.environ.clear()
    os.environ.update(variables)
    time.tzset()
    os.chdir(folder)
    sys.path += variables['PYTHONPATH'].split(os.pathsep)
    _ForkedChild.fault = fault
    log = os.open('said', os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    own = fault if fault is not None and fault.command == command else None
    _work_to_its_end(lambda: COMMANDS[command](arguments), log, own)


def _work_to_its_end(work: Callable[[], int], log: int, fault: Fault | None = None) -> None:
    """End this process with what `work` returns, in a session of its own, with what it says in a file."""
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


def _opencompass(arguments: Sequence[str]) -> int:
    """The command `opencompass`, its tasks in the same process."""
    from opencompass.cli.main import main
    from yapf.yapflib import yapf_api

    yapf_api.FormatCode = lambda text, **_: (text, True)  # most of the time goes into pretty configs
    sys.argv = ['opencompass', *arguments, '--debug']
    main()
    return 0


def _gpassk(arguments: Sequence[str]) -> int:
    """The command `gpassk`; `gpassk run` starts `opencompass` as another copy of this process."""
    from gpassk_opencompass.cli import main
    from gpassk_opencompass.runs import driver

    driver.Child = _ForkedChild
    return main(arguments)


def _dump_configs(arguments: Sequence[str]) -> int:
    from gpassk_opencompass.cli.expand import dump_configs as main

    return main(arguments)


class _ForkedChild:
    """In the place of `processes.Child`: the same line, in the same place, without imports."""

    fault: Fault | None = None  # what shall happen in this process, or in the `opencompass` that it starts

    def __init__(
        self, line: Sequence[str], log: Path, *, cwd: Path, env: Mapping[str, str], mark: str
    ) -> None:
        def work() -> int:
            ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # it dies with the command
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            os.environ.update(env)
            os.chdir(cwd)
            return _opencompass(line[1:])

        with log.open('ab') as output:
            fault = self.fault if self.fault and self.fault.command == 'opencompass' else None
            self.pid = os.fork()
            if self.pid == 0:
                _work_to_its_end(work, output.fileno(), fault)
        self._code: int | None = None

    def poll(self) -> int | None:
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def stop(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGTERM)

    def end(self, hurry: Callable[[], bool]) -> int:
        while (code := self.poll()) is None:
            self.stop()
            time.sleep(0.01)
        return code


COMMANDS = {'opencompass': _opencompass, 'gpassk': _gpassk, 'dump_configs': _dump_configs}
