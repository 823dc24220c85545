"""New interpreters beside the running one, and how many there is room for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping


def processors() -> int:
    """Return how many processors this process may use: of a job on a cluster those that were given to it."""
    return len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count() or 1


def python_command(program: str) -> list[str]:
    """Return the command that has a new interpreter run a line of Python.

    It finds modules where this one does, whatever lies in the folder that somebody is in, and imports
    nothing of the program that this one runs.
    """
    paths = [os.fspath(entry) for entry in sys.path]
    return [sys.executable, '-c', f'import sys; sys.path[:] = {paths!r}; {program}']


def start_serving(
    serve: Callable[[int], None], descriptor: int, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start an interpreter that calls a function with the descriptor of a socket, which is its to close.

    Ctrl-C is not for it, but for this process, which ends it.

    Args:
        serve: a function of a module.
        environment: variables beside those of this process.

    Raises:
        OSError: the system gives no more processes, or has no memory.
    """
    return subprocess.Popen(
        python_command(f'from {serve.__module__} import {serve.__name__}; {serve.__name__}({descriptor})'),
        stdin=subprocess.DEVNULL,
        pass_fds=[descriptor],
        env={**os.environ, **(environment or {})},
        start_new_session=True,
    )
