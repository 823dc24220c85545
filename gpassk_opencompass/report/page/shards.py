"""The responses behind a page: a small script for each run and question, loaded when somebody looks at it.

    responses/<folder>/<number>.js      gpasskShard("<folder>/<number>","<base 64 of deflated JSON>")

Scripts, as a page that was opened from disk may load nothing else. A folder is named after all that its
shards are made of: a run that has not changed keeps its folder, and one that has gets a new one, so that an
earlier page never shows responses of a later run. The page is written last, so that whatever ends the program
before leaves nothing that a page would load.
"""

from __future__ import annotations

import base64
import json
import math
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...adapter import deciders_of, verdicts_of
from ...answers.thoughts import thought_in
from ...errors import InputError
from ...files import write_file
from ...judges.replies import Replies, stores_near
from ...keys import without_long
from ...record import Result, digest_of
from ...samples import Samples
from ...text import progress
from ..frame import Board, Entry, rows_of
from . import content

RESPONSES = 'responses'
"""The folder beside the page."""

LAYOUT = 2
"""Of a shard; raised so that all are written anew where a page could not read those of before."""

_COLUMNS = (
    *('seed', 'verdict', 'answer', 'judged_by', 'why', 'reply_key', 'finish_reason', 'state'),
    *('output_tokens', 'reasoning_tokens', 'seconds', 'response', 'thought'),
)
_AT_ONCE = 8
"""Questions whose samples are read together: they lie in one part of their file."""
_LEVEL = 3
"""Of compression: half the time of 6, and files 5 % larger."""
_NAME = re.compile('[0-9a-f]{12}')
"""Of a folder of shards."""
_KEYS = ('_API_KEY', '_TOKEN')
"""What the names of environment variables end in that hold keys, which no shard shows."""


@dataclass
class Shards:
    """Which entries of a page have shards, by the file of their result."""

    folders: dict[Path, str] = field(default_factory=dict)
    """Where they are, below `responses`."""
    lost: dict[Path, str] = field(default_factory=dict)
    """Why an entry has none."""
    remarks: list[str] = field(default_factory=list)
    """A line for each entry that has none."""

    def for_page(self) -> dict[Path, content.Responses]:
        """Return where the responses of each entry lie, as `write_page` takes it."""
        there = {path: content.Responses(folder) for path, folder in self.folders.items()}
        return there | {path: content.Responses(None, why) for path, why in self.lost.items()}


class EntryShards:
    """The shards of one entry of a board, made one by one.

    Args:
        board: whose questions they are, in its order.
        entry: of the board.
        replies: finds what LLM judges were asked and replied.

    Raises:
        InputError: the responses of the sampled run are not known.
    """

    def __init__(self, board: Board, entry: Entry, replies: Replies) -> None:
        self.uids = board.entries[0].result.counts.uid
        self._sampled = _Side(entry.result, self.uids, replies)
        self._greedy = None
        if entry.greedy is not None:
            with suppress(InputError):
                self._greedy = _Side(entry.greedy, self.uids, replies)
        sides = [side.version for side in (self._sampled, self._greedy) if side]
        self.folder = digest_of([LAYOUT, self.uids, sides])[:12]

    def content(self, number: int) -> bytes:
        """Return the JSON of the shard of the question with this place in the board's `uids`."""
        greedy = self._greedy.samples(number) if self._greedy else [None]
        samples = self._sampled.samples(number)
        return _utf8({'uid': self.uids[number], 'prompt': None, 'samples': samples, 'greedy': greedy[0]})


def as_script(name: str, content: bytes) -> bytes:
    """Return the script that hands the page the content of a shard.

    >>> as_script('0123456789ab/7', b'{}')
    b'gpasskShard("0123456789ab/7","eF6rrgUAAXUA+Q==")\\n'
    """
    packed = base64.b64encode(zlib.compress(content, _LEVEL)).decode('ascii')
    return f'gpasskShard("{name}","{packed}")\n'.encode('ascii')


def write_shards(boards: Sequence[Board], folder: Path) -> Shards:
    """Write the shards of all entries below `responses` of a report.

    Args:
        boards: of the page.
        folder: of the report, in which is `responses`.

    Raises:
        OSError: they cannot be written.
    """
    found, replies = Shards(), Replies()
    entries = [(board, entry) for board in boards for entry in board.entries]
    for board, entry in progress('writing responses', entries):
        try:
            shards = EntryShards(board, entry, replies)
        except InputError as error:
            found.lost[entry.result.path] = str(error)
            found.remarks.append(f'{entry.name} on {board.title}: no responses: {error}')
            continue
        found.folders[entry.result.path] = shards.folder
        place = folder / RESPONSES / shards.folder
        place.mkdir(parents=True, exist_ok=True)
        for number in range(len(shards.uids)):
            name = f'{shards.folder}/{number}'
            write_file(place / f'{number}.js', as_script(name, shards.content(number)))
    return found


def remove_stale(folder: Path, shards: Shards | None) -> int:
    """Remove shards that an earlier report wrote into a folder and its page does not load any more.

    Args:
        folder: of the report.
        shards: those of its page now; None: it has none.

    Returns:
        How many files were removed.
    """
    kept, removed = set(shards.folders.values() if shards else ()), 0
    for place in (folder / RESPONSES).glob('*'):
        if _NAME.fullmatch(place.name) and place.name not in kept and not place.is_symlink():
            for path in [*place.glob('[0-9]*.js'), *place.glob('.writing-*')]:
                path.unlink()
                removed += 1
            with suppress(OSError):  # there is something else in it
                place.rmdir()
    with suppress(OSError):
        (folder / RESPONSES).rmdir()
    return removed


class _Side:
    """The samples of a sampled or of a greedy run, in the order of a board's questions.

    Raises:
        InputError: the responses are not known.
    """

    def __init__(self, result: Result, uids: Sequence[str], replies: Replies) -> None:
        self._result, self._replies = result, replies
        self._block = lru_cache(1)(self._read)
        self._order = rows_of(result, uids)
        starts = range(0, len(self._order) * result.n, result.n)
        if not any('response' in (result.samples(['response'], (at, at + result.n)) or ()) for at in starts):
            raise InputError(
                f'{result.path} has no responses: expected a result of responses, with the file of its '
                'samples beside it'
            )
        self._stores = stores_near(result.path, common=result.run.host == 'lighteval')
        self._hidden = [value for name, value in os.environ.items() if name.endswith(_KEYS)]
        self.version = [
            *(result.run.host, result.run.model, result.run.dataset, result.run.path),
            *(result.data.sha256, result.judge_digest),
            result.sample_file.sha256 if result.sample_file else None,
            [os.path.relpath(store, result.path.parent) for store in self._stores],
        ]

    def samples(self, number: int) -> list[dict[str, Any]]:
        """Return the samples of a question as they stand in a shard."""
        block, place = divmod(self._order[number], _AT_ONCE)
        n = self._result.n
        samples = self._block(block).select(range(place * n, (place + 1) * n))
        columns = {name: samples.each(name) for name in _COLUMNS}
        verdicts, deciders = verdicts_of(samples), deciders_of(samples)
        return [
            {
                **self._sample({name: column[row] for name, column in columns.items()}),
                'replica': samples['replica'][row],
                'verdict': verdicts[row],
                'decidedBy': '' if columns['why'][row] else deciders[row],
            }
            for row in range(len(samples))
        ]

    def _read(self, block: int) -> Samples:
        size = _AT_ONCE * self._result.n
        last = len(self._order) * self._result.n
        samples = self._result.samples(_COLUMNS, (block * size, min(block * size + size, last)))
        assert samples is not None
        return samples

    def _sample(self, told: Mapping[str, Any]) -> dict[str, Any]:
        response, seconds, key = self._shown(told['response']), told['seconds'], told['reply_key']
        asked = self._replies.find(self._stores, key) if key else None
        if asked is not None:
            asked = asked._replace(prompt=self._shown(asked.prompt), reply=self._shown(asked.reply))
        return {
            'seed': told['seed'],
            'answer': told['answer'] or '',
            'reason': told['why'] or '',
            'finish': told['finish_reason'],
            'state': told['state'],
            'outputTokens': told['output_tokens'],
            'reasoningTokens': told['reasoning_tokens'],
            'seconds': seconds if seconds is not None and math.isfinite(seconds) else None,
            'response': response,
            'lost': None,
            'thought': _utf16_units(response, None if response is None else thought_in(response)),
            'separateThought': self._shown(told['thought']),
            'judge': asked and asked._asdict(),
        }

    def _shown(self, text: str | None) -> str | None:
        return without_long(text, *self._hidden) if text and self._hidden else text


def _utf16_units(text: str | None, characters: int | None) -> int | None:
    r"""Return how JavaScript counts the first characters of a text.

    >>> _utf16_units('\U0001d465 = 2', 1)
    2
    """
    if text is None or characters is None:
        return None
    return len(text[:characters].encode('utf-16-le', 'surrogatepass')) // 2


def _utf8(content: object) -> bytes:
    """Return JSON; halves of characters, which no UTF-8 can hold, as escapes."""
    try:
        return json.dumps(content, ensure_ascii=False, separators=(',', ':')).encode()
    except UnicodeEncodeError:
        return json.dumps(content, separators=(',', ':')).encode('ascii')
