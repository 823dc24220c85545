"""Standard output and error that are closed, have lost their reader, or have another encoding."""

from __future__ import annotations

import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import Any


def prepare_output(*, lasting: bool) -> None:
    """Make standard output writable: where it is closed (`>&-`), what is printed goes nowhere.

    Args:
        lasting: go on where nobody reads what is printed: `gpassk run … | head -1` starts all runs, and its
            exit code is theirs.
    """
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), 'w')
    for name in ('stdout', 'stderr') if lasting else ():
        stream = getattr(sys, name)
        if isinstance(stream, TextIOWrapper) and stream is getattr(sys, f'__{name}__'):
            setattr(sys, name, _outliving(stream))
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors='backslashreplace')


def drop_output() -> None:
    """Discard what is buffered, which the interpreter would else try to write once more when it ends."""
    _to_nowhere(sys.stdout.fileno())


class _Lasting(FileIO):
    """A file whose writer goes on when its reader has gone."""

    def write(self, data: Any) -> int:
        """Write to the file, or nowhere once its reader has gone."""
        try:
            return super().write(data)
        except BrokenPipeError:
            _to_nowhere(self.fileno())
            return memoryview(data).nbytes


def _outliving(stream: TextIOWrapper) -> TextIOWrapper:
    stream.flush()
    raw = _Lasting(stream.fileno(), 'w', closefd=False)
    return TextIOWrapper(
        raw if stream.write_through else BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _to_nowhere(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
