"""The journal of a shard while its samples are drawn: what they are drawn from, and whose turn it is.

OpenCompass knows samples by their number in its resume file.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import zlib
from collections.abc import Callable, Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import Any

from opencompass.utils import get_logger

from ..errors import IncompleteError
from ..files import mapping, parse_json, read_json, replace_file
from ..health import Generation

_NOTE = re.compile(r'(?P<size>\d+) (?P<sum>[0-9a-f]{8})')


class Journal:
    """The resume file `tmp_<abbr>.jsonl` of OpenCompass, and beside it a mark with samples, owner, checksums.

    Two tasks can come to work on one shard: a node that the cluster has given up may go on computing while
    the shard runs elsewhere, and so may the tasks of a command that was killed and started again. The one
    that came last owns the shard; the other one stops before its next batch and changes nothing any more.

    Args:
        predictions: the file that the finished shard will have, `…/<abbr>.json`.
        drawn_from: a digest of all that the samples of the shard are drawn from, in their order.
        count: how many they are.
        told: what of it shall be told if it changes.
    """

    def __init__(
        self, predictions: Path, drawn_from: str, count: int, told: Mapping[str, Any] | None = None
    ) -> None:
        self.predictions = predictions
        self._owner = secrets.token_hex(3)
        self._count = count
        self._noted, self._sum = 0, 0
        self._digest, self._told = drawn_from, dict(told or {})
        self._finished = predictions.with_name('tmp_' + predictions.name).with_suffix('.jsonl')
        self._mark = self._finished.with_suffix('.samples')

    @property
    def draft(self) -> Path:
        """Return where OpenCompass shall write predictions; its resume file is the same for any draft."""
        return self.predictions.with_suffix('.part' + self._owner)

    def claim(self, compare: Callable[[Sequence[dict[str, Any]], Any], object] | None = None) -> bool:
        """Take the shard over, with what is finished of it.

        OpenCompass resumes by position. With another number of workers a shard of the same name has other
        rows, and the finished ones would silently stand for them.

        Args:
            compare: is given the finished rows, and what was told then, where they were drawn from something
                else; an error that it raises tells more than this one's.

        Returns:
            Whether nothing is left to do: a task died between its last response and the predictions.

        Raises:
            IncompleteError: the resume file was drawn from something else, or from nobody knows what.
        """
        if self._finished.exists():
            self._drop_changed()
            drop_damage(self._finished)
        if self._finished.exists() and self._marked()[:1] != [self._digest]:
            if compare is not None:
                compare(list(map(parse_json, self._finished.read_bytes().splitlines())), self._told_then())
            raise IncompleteError(
                f'{self._finished} holds responses to other samples than this shard has: resume with the '
                'data set, prompts, lengths and --max-num-workers of the start, or delete the file to lose '
                'them'
            )
        self._mark.parent.mkdir(parents=True, exist_ok=True)
        whole = None if self._finished.exists() else self._whole_draft()
        self._write_mark()
        if whole is not None:
            whole.rename(self.draft)
        return whole is not None

    def states(self) -> list[str]:
        """Return the states of the finished samples that are no usual response."""
        if not self._finished.exists():
            return []
        with self._finished.open('rb') as file:  # most lines say nothing of it, and need not be read
            rows = [mapping(parse_json(line)) for line in file if b'"state"' in line]
        told = [Generation.from_json(row.get('generation')) for row in rows]
        return [one.state for one in told if one.state]

    def check(self) -> None:
        """Go on only with a shard that is still one's own; what is finished by now gets a checksum.

        Raises:
            IncompleteError: another task has taken it over since.
        """
        if self._marked() != [self._digest, self._owner]:
            raise IncompleteError(
                f'{self.predictions.stem} was taken over by another task, so this one stops here; nothing '
                'is lost. If nobody restarted the run, look for two runs with this work directory'
            )
        self._note()

    def publish(self, finish: Callable[[Path], object]) -> None:
        """Let the draft become the predictions, in one step: no reader ever sees half of them.

        Args:
            finish: does what is left to do with the draft, which a kill may repeat.

        Raises:
            IncompleteError: another task has taken the shard over.
        """
        try:
            self.check()
        except IncompleteError:
            self.draft.unlink(missing_ok=True)
            raise
        if not self.draft.exists():  # OpenCompass was asked for the prompts only
            return
        finish(self.draft)
        os.replace(self.draft, self.predictions)
        self._mark.unlink(missing_ok=True)
        for left in self._drafts():  # of tasks that died
            left.unlink(missing_ok=True)

    def _drafts(self) -> list[Path]:
        return sorted(self.predictions.parent.glob(f'{escape(self.predictions.stem)}.part*'))

    def _whole_draft(self) -> Path | None:
        """Return a draft that a task has finished and not published, if there is one."""
        known = self._marked()[:1] == [self._digest]
        return next((draft for draft in self._drafts() if known and _size_of(draft) == self._count), None)

    def _write_mark(self) -> None:
        """Write the mark in one step, since an empty one would lock the samples away."""
        draft = self._mark.with_suffix('.mark' + self._owner)
        told = json.dumps(self._told, ensure_ascii=True)
        replace_file(self._mark, f'{self._digest} {self._owner} {told}\n'.encode(), draft)

    def _marked(self) -> list[str]:
        """Return digest and owner; [] where there is no mark."""
        return self._head()[:2]

    def _told_then(self) -> Any:
        try:
            return parse_json(self._head()[2])
        except (IndexError, ValueError):
            return {}

    def _head(self) -> list[str]:
        """Read the first line alone: it is asked for before each batch, and each batch adds a line."""
        try:
            with self._mark.open('rb') as mark:
                return mark.readline().decode(errors='replace').split(maxsplit=2)
        except FileNotFoundError:
            return []

    def _lines(self) -> list[str]:
        return _bytes_from(self._mark, 0).decode(errors='replace').splitlines()

    def _note(self) -> None:
        """Add a line `<bytes> <CRC-32>` for the resume file as far as it has grown."""
        data = _bytes_from(self._finished, self._noted)
        if data:
            self._noted, self._sum = self._noted + len(data), zlib.crc32(data, self._sum)
            with self._mark.open('a') as mark:
                mark.write(f'{self._noted} {self._sum:08x}\n')

    def _drop_changed(self) -> None:
        """Cut the resume file where it is no longer what the checksums of the last task say."""
        lines = self._lines()  # before the data, to which a task that is still at work may add
        data, good, known = _bytes_from(self._finished, 0), 0, 0
        for note in filter(None, map(_NOTE.fullmatch, lines[1:])):  # a kill may have cut the last one
            size = int(note['size'])
            known = zlib.crc32(data[good:size], known)
            if len(data) < size or known != int(note['sum'], 16):
                get_logger().warning(
                    f'{self._finished}: changed since it was written, dropped behind byte {good}'
                )
                os.truncate(self._finished, good)
                return
            good = size


def _bytes_from(path: Path, start: int) -> bytes:
    try:
        with path.open('rb') as file:
            file.seek(start)
            return file.read()
    except FileNotFoundError:
        return b''


def drop_damage(path: Path) -> None:
    """Cut a resume file behind its last good line: a kill tears lines, and two tasks may leave gaps.

    A good line is JSON, and its row is the next one or was there before. OpenCompass gives up the whole
    file when one line is no JSON, and takes the number of its rows for the position of the next one.
    """
    if not path.exists():
        return
    data = path.read_bytes()
    good, rows = 0, 0
    for line in data.splitlines(keepends=True):
        row = _row_number(line)
        if row is None or not 0 <= row <= rows:
            break
        good, rows = good + len(line), max(rows, row + 1)
    if good < len(data):
        get_logger().warning(f'{path}: dropped {len(data) - good} damaged bytes behind row {rows}')
        os.truncate(path, good)


def _size_of(draft: Path) -> int | None:
    """Return how many rows a draft has; None if it is cut, or a seal that a kill left."""
    try:
        content = read_json(draft)
    except (OSError, ValueError):
        return None
    return len(content) if isinstance(content, dict) else None


def _row_number(line: bytes) -> int | None:
    if not line.endswith(b'\n'):
        return None
    try:
        return int(parse_json(line)['idx'])
    except (ValueError, KeyError, TypeError, OverflowError):
        return None
