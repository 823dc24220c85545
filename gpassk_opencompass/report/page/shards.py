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
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ...counting import counted
from ...errors import InputError
from ...files import write_file
from ...results.found import Found, Read, Responses
from ...results.record import digest_of
from ...results.result import Result
from ...results.samples import WORDS
from ..leaderboard import Board, Entry
from . import content

RESPONSES = 'responses'
"""The folder beside the page."""

LAYOUT = 1
"""Of a shard; raised so that all are written anew where a page could not read those of before."""

_SYMBOLS = {word: symbol for symbol, word in WORDS.items()}
_UNJUDGED = '?'
_COLUMNS = (
    *('seed', 'verdict', 'answer', 'decided_by', 'reason', 'finish_reason', 'state'),
    *('output_tokens', 'reasoning_tokens', 'seconds'),
)
_LEVEL = 3
"""Of compression: half the time of 6, and files 5 % larger."""
_NAME = re.compile('[0-9a-f]{12}')
"""Of a folder of shards."""


@dataclass
class Shards:
    """Which entries of a page have shards, by the file of their result."""

    folders: dict[Path, str] = field(default_factory=dict)
    """Where they are, below `responses`."""
    lost: dict[Path, str] = field(default_factory=dict)
    """Why an entry has none."""
    remarks: list[str] = field(default_factory=list)
    """A line for each entry that has none, or whose shards lack responses."""

    def for_page(self) -> dict[Path, content.Responses]:
        """Return where the responses of each entry lie, as `write_page` takes it."""
        there = {path: content.Responses(folder) for path, folder in self.folders.items()}
        return there | {path: content.Responses(None, why) for path, why in self.lost.items()}


class EntryShards:
    """The shards of one entry of a board, made one by one; a context manager.

    Args:
        board: whose `uids` number the questions.
        entry: of the board.
        read: opens the responses of a result.

    Raises:
        InputError: the responses of the sampled run cannot be found.
    """

    def __init__(self, board: Board, entry: Entry, read: Read) -> None:
        self.uids = board.entries[0].result.uids
        with ExitStack() as opened:
            self._sampled = _Side(entry.result, self.uids, opened.enter_context(closing(read(entry.result))))
            self._greedy = None if entry.greedy is None else _greedy(entry.greedy, self.uids, read, opened)
            self._open = opened.pop_all()
        sides = [side.version for side in (self._sampled, self._greedy) if side]
        self.folder = digest_of([LAYOUT, self.uids, sides])[:12]
        self.samples = 0
        """Those of the shards that were made."""
        self.lost: list[str] = []
        """Why responses of them are lost, one a sample."""

    def __enter__(self) -> EntryShards:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files."""
        self._open.close()

    def content(self, number: int) -> bytes:
        """Return the JSON of the shard of the question with this place in the board's `uids`."""
        found, samples = self._sampled.samples(number)
        _, greedy = self._greedy.samples(number) if self._greedy else ((), [])
        both = [*samples, *greedy]
        self.samples += len(both)
        self.lost += [sample['lost'] for sample in both if sample['lost']]
        shard = {
            'uid': self.uids[number],
            'prompt': next((one.prompt for one in found if one.prompt is not None), None),
            'samples': samples,
            'greedy': greedy[0] if greedy else None,
        }
        return _utf8(shard)

    def remark(self) -> str:
        """Return what is lost of the shards that were made; '' where nothing is."""
        if not self.lost:
            return ''
        return f'{len(self.lost):,} of {self.samples:,} responses are lost: {self.lost[0]}'


def as_script(name: str, content: bytes) -> bytes:
    """Return the script that hands the page the content of a shard.

    >>> as_script('0123456789ab/7', b'{}')
    b'gpasskShard("0123456789ab/7","eF6rrgUAAXUA+Q==")\\n'
    """
    packed = base64.b64encode(zlib.compress(content, _LEVEL)).decode('ascii')
    return f'gpasskShard("{name}","{packed}")\n'.encode('ascii')


def write_shards(boards: Sequence[Board], folder: Path, read: Read) -> Shards:
    """Write the shards of all entries below `responses` of a report.

    Args:
        boards: of the page.
        folder: of the report, in which is `responses`.
        read: opens the responses of a result.

    Raises:
        OSError: they cannot be written.
    """
    found = Shards()
    for board, entry in counted('writing responses', list(_each(boards))):
        with _opened(board, entry, read, found) as shards:
            if shards is None:
                continue
            place = folder / RESPONSES / shards.folder
            place.mkdir(parents=True, exist_ok=True)
            for number in range(len(shards.uids)):
                name = f'{shards.folder}/{number}'
                write_file(place / f'{number}.js', as_script(name, shards.content(number)))
            if remark := shards.remark():
                found.remarks.append(_remark(board, entry, remark))
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


def _each(boards: Sequence[Board]) -> Iterator[tuple[Board, Entry]]:
    return ((board, entry) for board in boards for entry in board.entries)


@contextmanager
def _opened(board: Board, entry: Entry, read: Read, found: Shards) -> Iterator[EntryShards | None]:
    """Open the shards of an entry and note them in `found`; None, with the reason there, if it has none."""
    try:
        shards = EntryShards(board, entry, read)
    except InputError as error:
        found.lost[entry.result.path] = str(error)
        found.remarks.append(_remark(board, entry, f'no responses: {error}'))
        yield None
        return
    with shards:
        found.folders[entry.result.path] = shards.folder
        yield shards


def _remark(board: Board, entry: Entry, what: str) -> str:
    return f'{entry.name} on {board.title}: {what}'


class _Side:
    """The samples of a sampled or of a greedy run, in the order of a board's questions."""

    def __init__(self, result: Result, uids: Sequence[str], responses: Responses) -> None:
        self._result, self._responses = result, responses
        self._order = result.rows_of(uids)
        samples = None if result.sample_file is None else result.block['sample_file']['sha256']
        self.version = [
            *(result.host, result.model_abbr, result.dataset_abbr, result.whole_name),
            *(result.data, result.judge_digest, responses.version),
            samples or digest_of(result.record.get('details')),
        ]

    @cached_property
    def _columns(self) -> dict[str, Sequence[Any]]:
        """Return what is known of each sample."""
        table = self._result.samples
        nothing = [None] * (len(self._order) * self._result.n)
        return {name: (table.column(name) if table else None) or nothing for name in _COLUMNS}

    def samples(self, number: int) -> tuple[Sequence[Found], list[dict[str, Any]]]:
        """Return what is found of the samples of a question, and the samples as they stand in a shard."""
        question, n = self._order[number], self._result.n
        found = self._responses.of_question(question)
        return found, [
            self._sample(replica, question * n + replica, one) for replica, one in enumerate(found)
        ]

    def _sample(self, replica: int, place: int, found: Found) -> dict[str, Any]:
        told = {name: column[place] for name, column in self._columns.items()}
        seconds = told['seconds']
        return {
            'replica': replica,
            'seed': told['seed'],
            'verdict': _SYMBOLS.get(told['verdict'], _UNJUDGED),
            'answer': told['answer'] or '',
            'decidedBy': told['decided_by'] or '',
            'reason': told['reason'] or '',
            'finish': told['finish_reason'],
            'state': told['state'],
            'outputTokens': told['output_tokens'],
            'reasoningTokens': told['reasoning_tokens'],
            'seconds': seconds if seconds is not None and math.isfinite(seconds) else None,
            'response': found.text,
            'lost': found.lost or None,
            'thought': _utf16_units(found.text, found.thought),
            'separateThought': found.separate_thought,
            'judge': found.judge and found.judge._asdict(),
        }


class _Lost:
    """The responses of a greedy run that cannot be found."""

    version = ''

    def __init__(self, why: str) -> None:
        self._found = [Found(lost=why)]

    def of_question(self, number: int) -> Sequence[Found]:
        """Say why."""
        return self._found

    def close(self) -> None:
        """Do nothing."""


def _greedy(result: Result, uids: Sequence[str], read: Read, opened: ExitStack) -> _Side:
    responses: Responses
    try:
        responses = opened.enter_context(closing(read(result)))
    except InputError as error:
        responses = _Lost(str(error))
    return _Side(result, uids, responses)


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
