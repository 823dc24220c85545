"""What a copy of the process of `forks` can do: each takes the arguments of a command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from dying import Fault
from forks import fork

FAULT: Fault | None = None
"""What shall happen in this process, or in the `opencompass` that it starts."""


def opencompass(arguments: Sequence[str]) -> int:
    """The command `opencompass`, its tasks in the same process."""
    from opencompass.cli.main import main
    from yapf.yapflib import yapf_api  # type: ignore[import-untyped]

    yapf_api.FormatCode = lambda text, **_: (text, True)  # most of the time goes into pretty configs
    sys.argv = ['opencompass', *arguments, '--debug']
    main()
    return 0


def gpassk(arguments: Sequence[str]) -> int:
    """The command `gpassk`; `gpassk run` starts `opencompass` as another copy of this process."""
    from gpassk_opencompass.cli import main
    from gpassk_opencompass.runs.driver import Driver

    Driver._spawn = _spawn  # type: ignore[method-assign, assignment]
    return main(arguments)


def dump_configs(arguments: Sequence[str]) -> int:
    """The command `dump_configs.py`."""
    from gpassk_opencompass.cli.expand import dump_configs as main

    return main(arguments)


class Forked:
    """What `gpassk run` wants of a process that it started."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self._take(os.waitpid(self.pid, os.WNOHANG))
        return self.returncode

    def wait(self) -> int:
        if self.returncode is None:
            self._take(os.waitpid(self.pid, 0))
        assert self.returncode is not None
        return self.returncode

    def _take(self, ended: tuple[int, int]) -> None:
        if ended[0]:
            self.returncode = os.waitstatus_to_exitcode(ended[1])


def _spawn(
    driver: Any, line: Sequence[str], directory: Path, log: IO[bytes], lock: Any, variables: Any
) -> Any:
    """In the place of `Driver._spawn`: the same line, in the same place, without importing anything anew."""

    def work() -> int:
        os.chdir(directory)
        return opencompass(line[1:])

    return Forked(fork(work, log.fileno(), FAULT if FAULT and FAULT.command == 'opencompass' else None))
