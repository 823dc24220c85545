"""Results without the answers to each question, most of a file: they are read when they are used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..results.read import read_again
from ..results.result import Result


class Record(Mapping[str, Any]):
    """A record that holds its counts alone and has the rest in its file.

    Args:
        counted: its result, which needs the entry `gpassk` alone.
    """

    def __init__(self, counted: Result) -> None:
        self._counted = counted

    def __getitem__(self, name: str) -> Any:
        if name == 'gpassk':
            return self._counted.block
        return self._whole()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole())

    def __len__(self) -> int:
        return len(self._whole())

    def _whole(self) -> Mapping[str, Any]:
        path = self._counted.path
        if path not in _last:
            _last.clear()
            _last[path] = read_again(self._counted)
        return _last[path]


_last: dict[Path, Mapping[str, Any]] = {}
"""The record that was read last: once for all that is asked of it in a row."""


def light(result: Result) -> Result:
    """Return a result that holds its counts, and reads the answers from its file each time they are used."""
    counted = Result('', '', {'gpassk': result.block}, result.path, seal=result.seal)
    return replace(result, record=Record(counted))


def for_one_use(result: Result) -> Result:
    """Return a copy of a result of `light`, with which what is read of its samples goes; any other itself."""
    return replace(result) if isinstance(result.record, Record) else result
