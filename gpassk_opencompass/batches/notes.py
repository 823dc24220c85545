"""What was submitted and what came back, beside the predictions: a killed task pays for nothing twice."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..chat.completion import Reply
from ..files import mapping, parse_json

SUFFIX = '.batches'
"""What the name of a file of notes ends in, in the place of the `.json` of the predictions."""

_FIELDS = set(Reply._fields)


class Planned(NamedTuple):
    """A batch that was about to be submitted, or was."""

    mark: str
    """A random name, which was noted before anything was sent."""
    at: float
    """When, in Unix time."""
    ids: frozenset[str]
    """Of its requests."""
    batch: str | None
    """What the server calls it; None if the task died before it knew, or nothing was sent."""


class Notes:
    """A file of JSON lines that is only ever added to; what a kill tore is passed over.

    Args:
        path: where it is; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.replies: dict[str, Reply] = {}
        """custom_id → what came back."""
        self._planned: dict[str, Planned] = {}
        for note in _read(path):
            self._take(note)

    @property
    def open(self) -> list[Planned]:
        """Return the batches that were planned and not collected."""
        return list(self._planned.values())

    def plan(self, mark: str, at: float, ids: Sequence[str]) -> None:
        """Note that a batch is about to be submitted."""
        self._add({'planned': mark, 'at': at, 'ids': list(ids)})

    def submitted(self, mark: str, batch: str) -> None:
        """Note what the server calls a batch."""
        self._add({'submitted': mark, 'batch': batch})

    def ended(self, mark: str, replies: Mapping[str, Reply]) -> None:
        """Note the responses of a batch that has ended, and that there are no more."""
        notes = [{'answer': name, 'reply': reply._asdict()} for name, reply in replies.items()]
        self._add(*notes, {'ended': mark})

    def known(self) -> set[str]:
        """Return the batches that this file and those beside it tell of, of other shards and data sets."""
        beside = self._path.parent.glob(f'*{SUFFIX}')
        return {
            note['batch'] for path in beside for note in _read(path) if isinstance(note.get('batch'), str)
        }

    def _add(self, *notes: dict[str, Any]) -> None:
        text = ''.join(f'{json.dumps(note)}\n' for note in notes)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open('ab+') as file:
            if file.tell() and not _ends_line(file):
                text = f'\n{text}'  # behind what a kill tore
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        for note in notes:
            self._take(note)

    def _take(self, note: Mapping[str, Any]) -> None:
        match note:
            case {'planned': str(mark), 'at': float(at), 'ids': list(ids)}:
                self._planned[mark] = Planned(mark, at, frozenset(map(str, ids)), None)
            case {'submitted': str(mark), 'batch': str(batch)} if mark in self._planned:
                self._planned[mark] = self._planned[mark]._replace(batch=batch)
            case {'answer': str(name), 'reply': dict(reply)} if reply.keys() == _FIELDS:
                self.replies[name] = Reply(**reply)
            case {'ended': str(mark)}:
                self._planned.pop(mark, None)


def notes_beside(predictions: Path) -> Path:
    """Return where the notes on a file of predictions are."""
    return predictions.with_suffix(SUFFIX)


def _read(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    for line in content.split(b'\n'):
        try:
            yield mapping(parse_json(line))
        except ValueError:
            continue


def _ends_line(file: Any) -> bool:
    file.seek(-1, os.SEEK_END)
    return bool(file.read(1) == b'\n')
