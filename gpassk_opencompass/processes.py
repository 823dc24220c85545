"""New interpreters beside the running one, and how many there is room for."""

from __future__ import annotations

import os
import sys


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
