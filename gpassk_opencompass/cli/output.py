"""Standard output and error as a user may leave them: closed, without a reader, of another encoding."""

from __future__ import annotations

import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import Any


def prepare_output(*, lasting: bool) -> None:
    """What a closed standard output (`>&-`) would get is let go; what its encoding lacks is escaped.

    Args:
        lasting: the work goes on where nobody reads what it says: of `gpassk run … | head -1` all runs are
            run, and the exit code is theirs.
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
    """Let go what stands in the buffer; it would be tried once more when the interpreter ends."""
    _to_nowhere(sys.stdout.fileno())


class _Lasting(FileIO):
    """A file that outlives its reader."""

    def write(self, data: Any) -> int:
        """As told; once the reader is gone, nowhere."""
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
