"""The page of results that may still be coming, with their responses when somebody looks at them."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import NamedTuple, Protocol

from ..errors import InputError
from ..report.leaderboard import Board, Entry
from ..report.page import page_of
from ..report.page.content import Source
from ..report.page.shards import EntryShards, as_script, find_shards
from ..results.found import Read
from .site import HTML, JAVASCRIPT, JSON, Reply, as_page

OPEN_RUNS = 8
"""Runs of which the files with responses stay open: of each it is in memory where its responses are."""

CACHED = 64 << 20
"""Bytes of shards that are kept."""

LOOK = 2.0
"""Seconds between two looks at which results there are."""

STATUS = 'status.json'
"""Where the page asks for what is new."""

_SHARD = re.compile(r'responses/(?P<folder>[0-9a-f]{12})/(?P<number>0|[1-9][0-9]{0,6})\.js')
_WAITING = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="5">
<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,"><title>G-Pass@k</title></head>
<body><main><h1>G-Pass@k</h1><p>{why}</p><p>{line}</p><p>This page looks again every five seconds.</p></main>
</body></html>
"""


class Results(Protocol):
    """The results that are shown."""

    def version(self) -> str:
        """Return what changes if there are other results; asked often."""

    def boards(self) -> Sequence[Board]:
        """Return the tables of all results; none as long as there is nothing to show."""


class _Made(NamedTuple):
    """A page as it was made."""

    revision: str
    reply: Reply
    entries: Mapping[str, tuple[Board, Entry]]
    """By the folder of their shards."""


class LivePage:
    """The page, its shards, and `status.json`, which tells of new results; see `site.Site`.

    Args:
        results: that are shown.
        read: opens the responses of a result.
        sweep: returns what a sweep does in a line, '' if nothing runs, and whether it is over.
    """

    def __init__(
        self,
        results: Results,
        read: Read,
        sweep: Callable[[], tuple[str, bool]] = lambda: ('', True),
    ) -> None:
        self._results, self._read, self._sweep = results, read, sweep
        self._making = threading.Lock()
        self._made: _Made | None = None
        self._looking = threading.Lock()
        self._looked, self._version = -LOOK, ''
        self._shards = _ShardMaker(read)

    def close(self) -> None:
        """Let go of all files."""
        self._shards.close()

    def get(self, path: str) -> Reply | None:
        """See `Site`."""
        if path == '':
            return self._page()
        if path == STATUS:
            return self._status()
        found = _SHARD.fullmatch(path)
        return None if found is None else self._shard(found['folder'], int(found['number']))

    def _status(self) -> Reply:
        line, done = self._sweep()
        told = {'revision': self._revision(), 'line': line, 'done': done}
        return Reply(json.dumps(told).encode('ascii'), JSON)

    def _revision(self) -> str:
        with self._looking:
            if time.monotonic() - self._looked >= LOOK:
                self._version = self._results.version()
                self._looked = time.monotonic()
            return self._version

    def _page(self) -> Reply:
        """Return the page of the results as they are now; one that was made of them is taken again."""
        with self._making:
            revision = self._revision()
            if self._made is None or self._made.revision != revision:
                try:
                    self._made = self._make(revision)
                except InputError as error:
                    return self._waiting(str(error))
            return self._made.reply

    def _make(self, revision: str) -> _Made:
        boards = self._results.boards()
        if not boards:
            raise InputError('There is no complete result yet.')
        shards = find_shards(boards, self._read)
        entries = {
            folder: (board, entry)
            for board in boards
            for entry in board.entries
            if (folder := shards.folder_of(entry)) is not None
        }
        source = Source(revision, STATUS)
        page = page_of(boards, responses=shards.for_page(), source=source)
        return _Made(revision, as_page(page), entries)

    def _waiting(self, why: str) -> Reply:
        text = _WAITING.format(why=escape(why), line=escape(self._sweep()[0]))
        return Reply(text.encode('utf-8', 'backslashreplace'), HTML)

    def _shard(self, folder: str, number: int) -> Reply | None:
        found = self._made.entries.get(folder) if self._made else None
        if found is None or number >= found[0].questions:
            return None
        try:
            script = self._shards.script(folder, number, *found)
        except InputError:  # the files are gone since
            return None
        return Reply(script, JAVASCRIPT)


class _ShardMaker:
    """Makes shards, one at a time, and keeps the last ones."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._open: OrderedDict[str, EntryShards] = OrderedDict()
        self._kept: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._size = 0

    def close(self) -> None:
        """Let go of all files."""
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()

    def script(self, folder: str, number: int, board: Board, entry: Entry) -> bytes:
        """Return a shard; InputError if its responses cannot be found any more."""
        with self._lock:
            script = self._kept.pop((folder, number), None)
            if script is None:
                content = self._opened(folder, board, entry).content(number)
                script = as_script(f'{folder}/{number}', content)
                self._size += len(script)
            self._kept[folder, number] = script
            while self._size > CACHED and len(self._kept) > 1:
                self._size -= len(self._kept.popitem(last=False)[1])
            return script

    def _opened(self, folder: str, board: Board, entry: Entry) -> EntryShards:
        shards = self._open.pop(folder, None) or EntryShards(board, entry, self._read)
        self._open[folder] = shards
        if len(self._open) > OPEN_RUNS:
            self._open.popitem(last=False)[1].close()
        return shards
