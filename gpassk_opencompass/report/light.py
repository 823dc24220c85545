"""Results without the answers to each question, most of a file: they are read when they are used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import mapping
from ..results.read import read
from ..results.result import Result


class Record(Mapping[str, Any]):
    """A record that holds its counts alone and has the rest in its file.

    Args:
        block: the entry `gpassk`.
        path: of the file.
    """

    def __init__(self, block: Mapping[str, Any], path: Path) -> None:
        self._block = block
        self._path = path

    def __getitem__(self, name: str) -> Any:
        if name == 'gpassk':
            return self._block
        return self._whole()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole())

    def __len__(self) -> int:
        return len(self._whole())

    def _whole(self) -> Mapping[str, Any]:
        record = _read(self._path)
        if mapping(record.get('gpassk')).get('counts') != self._block.get('counts'):
            raise InputError(
                f'{self._path} was changed while it was read for a report; write the report again'
            )
        return record


@lru_cache(maxsize=1)
def _read(path: Path) -> Mapping[str, Any]:
    """Read a file once for all that is asked of it in a row."""
    return read(path).record


def light(result: Result) -> Result:
    """Return a result that holds its counts, and reads the answers from its file each time they are used."""
    return replace(result, record=Record(result.block, result.path))


def for_one_use(result: Result) -> Result:
    """Return a copy of a result of `light`, with which what is read of its samples goes; any other itself."""
    return replace(result) if isinstance(result.record, Record) else result
