"""What a copy of the process of `forks` can do: each takes the arguments of a command line."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from dying import Fault
from forks import work_to_its_end

FAULT: Fault | None = None
"""What shall happen in this process, or in the `opencompass` that it starts."""


def opencompass(arguments: Sequence[str]) -> int:
    """The command `opencompass`, its tasks in the same process."""
    from opencompass.cli.main import main
    from yapf.yapflib import yapf_api

    yapf_api.FormatCode = lambda text, **_: (text, True)  # most of the time goes into pretty configs
    sys.argv = ['opencompass', *arguments, '--debug']
    main()
    return 0


def gpassk(arguments: Sequence[str]) -> int:
    """The command `gpassk`; `gpassk run` starts `opencompass` as another copy of this process."""
    from gpassk_opencompass.cli import main
    from gpassk_opencompass.runs import driver

    driver.Child = ForkedChild
    return main(arguments)


def dump_configs(arguments: Sequence[str]) -> int:
    """The command `dump_configs.py`."""
    from gpassk_opencompass.cli.expand import dump_configs as main

    return main(arguments)


class ForkedChild:
    """In the place of `processes.Child`: the same line, in the same place, without imports."""

    def __init__(
        self, line: Sequence[str], log: Path, *, cwd: Path, env: Mapping[str, str], mark: str
    ) -> None:
        def work() -> int:
            ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # it dies with the command
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            os.environ.update(env)
            os.chdir(cwd)
            return opencompass(line[1:])

        with log.open('ab') as output:
            fault = FAULT if FAULT and FAULT.command == 'opencompass' else None
            self.pid = os.fork()
            if self.pid == 0:
                work_to_its_end(work, output.fileno(), fault)
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
