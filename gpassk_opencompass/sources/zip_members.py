"""The members of a zip file, also in Zstandard, for which `zipfile` needs Python 3.14."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from types import TracebackType
from typing import NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]

from ..errors import InputError

FIRST = b'PK\x03\x04'
"""What a zip file begins with: the header of its first member."""

_END = Struct('<4s4H2LH')
_END_64_AT = Struct('<4sLQL')
_END_64 = Struct('<4sQ2H2L4Q')
_ENTRY = Struct('<4s6H3L5H2L')
_HEADER = Struct('<4s5H3L2H')
_ENTRY_MARK, _HEADER_MARK = b'PK\x01\x02', FIRST
_LONGEST_COMMENT = 0xFFFF
_IN_EXTRA = 0xFFFFFFFF
"""Stands for a number that is in the extra field, as it needs 64 bits."""

_FIELD, _NUMBER = Struct('<2H'), Struct('<Q')
_FIELD_OF_64_BITS = 1

_STORED, _DEFLATED, _ZSTANDARD = 0, 8, 93
_ENCRYPTED, _UTF_8 = 0x1, 0x800
_CHUNK = 1 << 20
_LARGEST = 1 << 31


class _Entry(NamedTuple):
    """What the directory says of a member."""

    name: str
    flags: int
    method: int
    checksum: int
    packed: int
    size: int
    offset: int
    length: int
    """Of the entry itself."""


class ZipMembers:
    """A zip file that is open for reading; its directory is not kept in memory.

    Args:
        path: of a whole zip file, not of one that begins after something else.

    Raises:
        InputError: also from the methods: the file is damaged, cut off, encrypted, or packed in another way.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self._file = self.path.open('rb')
        except OSError as problem:
            raise InputError(f'cannot read {self.path}: {problem.strerror}') from problem
        try:
            self._begin, self._end = self._directory()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> ZipMembers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, where: TracebackType | None
    ) -> None:
        self._file.close()

    def entries(self) -> Iterator[tuple[str, int]]:
        """Return the name of each member and the place of its entry, for `read`; a name may come twice."""
        at, held, begin = self._begin, b'', self._begin
        while at < self._end:
            if len(held) - (at - begin) < _CHUNK // 2:
                held, begin = self._bytes(at, min(_CHUNK, self._end - at)), at
            entry = self._entry(held, at - begin)
            yield entry.name, at
            at += entry.length

    def read(self, place: int) -> bytes:
        """Return what a member holds; its checksum is compared."""
        lengths = _ENTRY.unpack(self._bytes(place, _ENTRY.size))[10:13]
        entry = self._entry(self._bytes(place, _ENTRY.size + sum(lengths)), 0)
        header = _HEADER.unpack(self._bytes(entry.offset, _HEADER.size))
        if header[0] != _HEADER_MARK:
            raise self._damaged(f'{entry.name} is not where its directory says')
        begin = entry.offset + _HEADER.size + header[-2] + header[-1]
        data = self._unpacked(entry, self._bytes(begin, entry.packed))
        if len(data) != entry.size or zlib.crc32(data) != entry.checksum:
            raise self._damaged(f'{entry.name} is not what its checksum says')
        return data

    def _unpacked(self, entry: _Entry, data: bytes) -> bytes:
        if entry.flags & _ENCRYPTED or entry.method not in {_STORED, _DEFLATED, _ZSTANDARD}:
            how = 'encrypted' if entry.flags & _ENCRYPTED else f'packed by method {entry.method}'
            raise InputError(
                f'{self.path}: {entry.name} is {how}; expected stored, deflated or Zstandard (0, 8, 93)'
            )
        if entry.size > _LARGEST:
            raise InputError(
                f'{self.path}: {entry.name} has {entry.size:,} bytes; at most {_LARGEST:,} are read'
            )
        try:
            if entry.method == _DEFLATED:
                return zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, entry.size + 1)
            if entry.method == _ZSTANDARD and entry.size:
                return bytes(pa.decompress(data, decompressed_size=entry.size, codec='zstd', asbytes=True))
        except (zlib.error, OSError, pa.ArrowException) as problem:
            raise self._damaged(f'{entry.name} cannot be unpacked, {problem}') from problem
        return data if entry.method == _STORED else b''

    def _directory(self) -> tuple[int, int]:
        """Return where the directory begins and ends."""
        size = os.fstat(self._file.fileno()).st_size
        tail_at = max(0, size - _END.size - _LONGEST_COMMENT)
        tail = self._bytes(tail_at, size - tail_at)
        found = tail.rfind(b'PK\x05\x06')
        if found < 0 or found + _END.size > len(tail):
            raise self._damaged('the directory at its end is missing')
        at = tail_at + found
        *_, length, begin, _ = _END.unpack_from(tail, found)
        if at >= _END_64_AT.size:
            mark, _, end_64, _ = _END_64_AT.unpack(self._bytes(at - _END_64_AT.size, _END_64_AT.size))
            if mark == b'PK\x06\x07':
                told = _END_64.unpack(self._bytes(end_64, _END_64.size))
                length, begin, at = told[-2], told[-1], end_64
        if begin + length > at:
            raise self._damaged('its directory does not lie where its end says')
        return begin, begin + length

    def _entry(self, held: bytes, at: int) -> _Entry:
        told = _ENTRY.unpack_from(held.ljust(at + _ENTRY.size), at)
        flags, method, checksum, packed, size = told[3], told[4], told[7], told[8], told[9]
        name_at = at + _ENTRY.size
        extra_at = name_at + told[10]
        length = _ENTRY.size + sum(told[10:13])
        if told[0] != _ENTRY_MARK or at + length > len(held):
            raise self._damaged('its directory is no list of members')
        name = held[name_at:extra_at].decode('utf-8' if flags & _UTF_8 else 'cp437', 'replace')
        numbers = _of_64_bits(held[extra_at : extra_at + told[11]], [size, packed, told[16]])
        return _Entry(name, flags, method, checksum, numbers[1], numbers[0], numbers[2], length)

    def _bytes(self, at: int, length: int) -> bytes:
        try:
            data = os.pread(self._file.fileno(), length, at)
        except (OSError, OverflowError) as problem:
            raise self._damaged(f'nothing can be read at byte {at}') from problem
        if len(data) < length:
            raise self._damaged(f'it ends before byte {at + length:,}')
        return data

    def _damaged(self, why: str) -> InputError:
        return InputError(f'{self.path} is damaged, cut off or still being copied: {why}')


def _of_64_bits(extra: bytes, numbers: list[int]) -> list[int]:
    """Return size, packed size and offset; of those that need 64 bits the extra field has the number."""
    at = 0
    while _IN_EXTRA in numbers and at + _FIELD.size <= len(extra):
        kind, length = _FIELD.unpack_from(extra, at)
        at += _FIELD.size
        if kind == _FIELD_OF_64_BITS:
            held = (number for (number,) in _NUMBER.iter_unpack(extra[at : at + length // 8 * 8]))
            return [next(held, number) if number == _IN_EXTRA else number for number in numbers]
        at += length
    return numbers
