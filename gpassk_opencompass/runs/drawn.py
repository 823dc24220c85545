"""The samples that a run has drawn so far, counted from its files while they grow.

Each file is read once, however often one looks: a look goes on where the last one stopped. A file that was
cut (a resume drops what is damaged), replaced or removed since is begun again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ..errors import InputError
from ..files import mapping, parse_json
from ..json_entries import JsonEntries
from ..results.health import CUT_OFF, NOT_DRAWN, Generation

CHUNK = 8 << 20
"""Bytes that one look reads of a file, about; a line that is longer is read all the same."""

_LONGEST_LINE = 1 << 30
_TAIL = 256


@dataclass
class Tally:
    """Counts of samples.

    samples: rows that were drawn.
    told: those of which the engine said how many tokens they have.
    tokens: of those.
    known: those of which it is known how they ended.
    cut_off: of those, the ones cut off before their end.
    unusual: in one of the states of `results.health`.
    taken: those that an earlier run has drawn, and that were kept.
    tokens_taken: of those.
    damaged: lines that are no row.
    """

    samples: int = 0
    told: int = 0
    tokens: int = 0
    known: int = 0
    cut_off: int = 0
    unusual: int = 0
    taken: int = 0
    tokens_taken: int = 0
    damaged: int = 0

    def add(self, row: Row) -> None:
        """Count a sample."""
        generation = row.generation
        self.samples += 1
        self.taken += row.taken
        if generation.output_tokens is not None:
            self.told += 1
            self.tokens += generation.output_tokens
            self.tokens_taken += generation.output_tokens * row.taken
        if generation.finish_reason or generation.state in NOT_DRAWN:
            self.known += 1
            self.cut_off += generation.finish_reason == CUT_OFF and generation.state not in NOT_DRAWN
        self.unusual += generation.state is not None

    def __iadd__(self, other: Tally) -> Tally:
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))
        return self


class Row(NamedTuple):
    """One sample, as its file has it."""

    prediction: Any
    gold: Any
    prompt: Any
    generation: Generation
    taken: bool = False
    """Whether an earlier run has drawn it."""


class Seen(Protocol):
    """Takes the samples of a shard, one by one."""

    def row(self, row: Row) -> None:
        """Take a sample that was drawn."""

    def begin(self) -> None:
        """Forget all of them: the file was begun again."""


def row_of(fields_of_row: Any) -> Row | None:
    """Return a row of a file of predictions; None if it is none."""
    told = mapping(fields_of_row)
    if 'prediction' not in told and 'idx' not in told:
        return None
    generation = Generation.from_json(told.get('generation'))
    taken = bool(told.get('origin') or mapping(told.get('sample')).get('origin'))
    return Row(told.get('prediction'), told.get('gold'), told.get('origin_prompt'), generation, taken)


class Added(NamedTuple):
    """What a look at a growing file gives."""

    lines: list[bytes]
    anew: bool
    """Whether they are from its beginning: what was read before no longer counts."""
    more: bool
    """Whether there is more to read at once."""


class Growing:
    """A file to which others add lines.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / 'rows.jsonl'
    >>> _ = path.write_text('{"a": 1}\\n{"a"')
    >>> growing = Growing(path)
    >>> growing.read()
    Added(lines=[b'{"a": 1}'], anew=True, more=False)
    >>> _ = path.write_text('{"a": 1}\\n{"a": 2}\\n')
    >>> growing.read()
    Added(lines=[b'{"a": 2}'], anew=False, more=False)
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes_read = 0
        """In all; half a line is read again."""
        self._file: tuple[int, int] | None = None
        self._at, self._tail, self._size = 0, b'', -1

    def read(self, limit: int = CHUNK) -> Added:
        """Return the whole lines that were added since the last look, at most about `limit` bytes of them.

        Raises:
            OSError: it is not there, or cannot be read.
        """
        with self.path.open('rb') as file:
            status = os.fstat(file.fileno())
            anew = self._is_other((status.st_dev, status.st_ino), status.st_size, file)
            if anew:
                self._file, self._at, self._tail, self._size = (status.st_dev, status.st_ino), 0, b'', -1
            if status.st_size in (self._at, self._size):  # nothing, or the same half of a line as before
                return Added([], anew, False)
            read = self._read(file, limit)
        data = read[: read.rfind(b'\n') + 1]
        more = self._at + len(read) < status.st_size and bool(data)
        self._at += len(data)
        self._tail = (self._tail + data)[-_TAIL:]
        self._size = -1 if more else status.st_size
        return Added(data.split(b'\n')[:-1], anew, more)

    def _is_other(self, file_is: tuple[int, int], size: int, file: Any) -> bool:
        """Whether it is not the file of the last look with more at its end."""
        if file_is != self._file or size < self._at:
            return True
        if size == self._size:
            return False
        file.seek(self._at - len(self._tail))
        return bool(file.read(len(self._tail)) != self._tail)

    def _read(self, file: Any, limit: int) -> bytes:
        """Return what is new, up to the limit, or up to the first line break where a line is longer."""
        file.seek(self._at)
        data: bytes = file.read(limit)
        size = limit
        while b'\n' not in data and len(data) == size and size < _LONGEST_LINE:
            data += file.read(size)
            size *= 2
        self.bytes_read += len(data)
        return data


class Shard:
    """One shard of a result: its resume file while it is drawn, its predictions afterwards.

    Args:
        seen: is given each sample once.
    """

    def __init__(self, seen: Seen) -> None:
        self.tally = Tally()
        self._seen, self._given = seen, 0
        self._growing: Growing | None = None
        self._whole: _Whole | None = None
        self._missed = False

    @property
    def bytes_read(self) -> int:
        """Return the bytes read of its resume file, in all."""
        return self._growing.bytes_read if self._growing else 0

    def look(self, whole: Path | None, begun: Path | None, limit: int = CHUNK) -> bool:
        """Count what is new; return whether there is more to read at once.

        Args:
            whole: the predictions; None while there are none.
            begun: the resume file; None if there is none.
            limit: bytes to read, about.
        """
        if whole is None and begun is None:
            self._miss()
            return False
        self._missed = False
        if whole is not None:
            return self._look_at_whole(whole, limit)
        self._whole = None
        return begun is not None and self._look_at_begun(begun, limit)

    def _miss(self) -> None:
        """Forget the samples if there is no file twice: between resume file and predictions there is none."""
        if self._missed:
            self._forget()
        self._missed = True

    def _forget(self) -> None:
        if self._given:
            self._seen.begin()
        self.tally, self._given, self._growing, self._whole = Tally(), 0, None, None

    def _look_at_begun(self, path: Path, limit: int) -> bool:
        if self._growing is None or self._growing.path != path:
            self._growing = Growing(path)
        try:
            added = self._growing.read(limit)
        except OSError:  # gone meanwhile, or not for us
            return False
        if added.anew and self.tally.samples:
            growing = self._growing
            self._forget()
            self._growing = growing
        for line in filter(bytes.strip, added.lines):
            self._add(line)
        return added.more

    def _add(self, line: bytes) -> None:
        try:
            row = row_of(parse_json(line))
        except ValueError:
            row = None
        if row is None:
            self.tally.damaged += 1
            return
        self.tally.add(row)
        self._given += 1
        self._seen.row(row)

    def _look_at_whole(self, path: Path, limit: int) -> bool:
        try:
            status = path.stat()
        except OSError:
            return False
        version = status.st_ino, status.st_size, status.st_mtime_ns
        if self._whole is None or self._whole.version != version:
            if self._whole is not None:  # another file than the one that was read
                self._forget()
            self._whole = _Whole(path, version)
        if self._whole.ended:
            return False
        return self._read_on(self._whole, limit)

    def _read_on(self, whole: _Whole, limit: int) -> bool:
        """Read on in predictions; the rows that their resume file had are known by then."""
        for row in whole.rows(limit):
            if whole.tally.samples > self._given:
                self._given += 1
                self._seen.row(row)
        if not whole.ended:
            return True
        if whole.sound:
            if whole.tally.samples < self._given:  # other rows than those of the resume file
                self._forget()
                return True
            self.tally = whole.tally
        return False


class _Whole:
    """Predictions, read part by part."""

    def __init__(self, path: Path, version: tuple[int, int, int]) -> None:
        self.version = version
        self.tally = Tally()
        self.ended, self.sound = False, False
        self._entries: Iterator[tuple[tuple[str, ...], Any]] = iter(JsonEntries(path))

    def rows(self, limit: int) -> Iterator[Row]:
        """Yield the next rows, until about `limit` characters are read."""
        read = 0
        while read < limit:
            try:
                _, value = next(self._entries)
            except (StopIteration, InputError) as end:
                self.ended, self.sound = True, isinstance(end, StopIteration)
                return
            row = row_of(value)
            if row is None:
                self.tally.damaged += 1
                continue
            read += 200 + (len(row.prediction) if isinstance(row.prediction, str) else 0)
            self.tally.add(row)
            yield row
