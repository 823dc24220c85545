"""The resume file of a shard: what it holds after a kill, for which samples it is, and whose turn it is."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from opencompass.utils import get_logger

from ..errors import IncompleteError
from .seeds import Sample


class Journal:
    """The resume file `tmp_<abbr>.jsonl` of OpenCompass, and beside it a mark with samples and owner.

    Two tasks can come to work on one shard: a node that the cluster has given up may go on computing while
    the shard runs elsewhere, and so may the tasks of a command that was killed and started again. The one
    that came last owns the shard; the other one stops before its next batch and changes nothing any more.

    Args:
        predictions: the file that the finished shard will have, `…/<abbr>.json`.
        samples: the samples of the shard, in its order.
    """

    def __init__(self, predictions: Path, samples: Sequence[Sample]) -> None:
        self._predictions = predictions
        self._owner = secrets.token_hex(3)
        self._digest = hashlib.sha256(repr([tuple(sample) for sample in samples]).encode()).hexdigest()
        self._finished = predictions.with_name('tmp_' + predictions.name).with_suffix('.jsonl')
        self._mark = self._finished.with_suffix('.samples')

    @property
    def draft(self) -> Path:
        """Where OpenCompass shall write the predictions; its resume file has the same name for any draft."""
        return self._predictions.with_suffix('.part' + self._owner)

    def claim(self) -> None:
        """Take the shard over, with what is finished of it.

        OpenCompass resumes by position. With another number of workers a shard of the same name has other
        rows, and the finished ones would silently stand for them.

        Raises:
            IncompleteError: the resume file is for other samples, or for nobody knows which.
        """
        drop_damage(self._finished)
        if self._finished.exists() and self._marked()[:1] != [self._digest]:
            raise IncompleteError(
                f'{self._finished} holds responses to other samples than this shard has: resume with the '
                '--max-num-workers and the data set of the start, or delete the file to lose them'
            )
        self._mark.parent.mkdir(parents=True, exist_ok=True)
        self._mark.write_text(f'{self._digest} {self._owner}\n')

    def check(self) -> None:
        """Go on only with a shard that is still one's own.

        Raises:
            IncompleteError: another task has taken it over since.
        """
        if self._marked() != [self._digest, self._owner]:
            raise IncompleteError(
                f'{self._predictions.stem} was taken over by another task, so this one stops here; nothing '
                'is lost. If nobody restarted the run, look for two runs with this work directory'
            )

    def publish(self) -> None:
        """Let the draft become the predictions, in one step: no reader ever sees half of them.

        Raises:
            IncompleteError: another task has taken the shard over.
        """
        if not self.draft.exists():  # OpenCompass was asked for the prompts only
            return
        try:
            self.check()
        except IncompleteError:
            self.draft.unlink()
            raise
        os.replace(self.draft, self._predictions)
        self._mark.unlink(missing_ok=True)

    def _marked(self) -> list[str]:
        try:
            return self._mark.read_text().split()
        except FileNotFoundError:
            return []


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
        row = _row(line)
        if row is None or row > rows:
            break
        good, rows = good + len(line), max(rows, row + 1)
    if good < len(data):
        get_logger().warning(f'{path}: dropped {len(data) - good} damaged bytes behind row {rows}')
        os.truncate(path, good)


def _row(line: bytes) -> int | None:
    if not line.endswith(b'\n'):
        return None
    try:
        return int(json.loads(line)['idx'])
    except (ValueError, KeyError, TypeError):
        return None
