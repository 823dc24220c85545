"""Verdicts that were given once, on disk, so that nobody is asked twice.

A store is a folder of JSON lines. Each process adds a file, `<time>-<host>-<process>-<random>.jsonl`, to
which nobody else writes: so no lock is needed, on a network disk neither, and teams can share a store by its
path. A line ends in its own checksum and is written at once: `kill -9` loses one line, a crash of the machine
the last `SYNC_INTERVAL` seconds.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import socket
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import GPassKError, IncompleteError, InputError
from ..files import mapping
from . import Pair, Verdict
from .prompts import find_prompts

STORE_VARIABLE = 'GPASSK_VERDICTS'
"""Environment variable with the folder of a verdict store, e.g. one that a team shares."""

FOLDER = 'verdicts'
"""Name of the store in a work directory."""

SYNC_INTERVAL = 5.0
"""Seconds between two fsyncs. One a line would cost more than the line on a network disk."""

_LINE = re.compile(
    rb'(?P<content>\{"key": "(?P<key>[0-9a-f]{32})", "verdict": "(?P<verdict>correct|incorrect)".*)'
    rb', "sum": "(?P<sum>[0-9a-f]{8})"\}\n',
    re.DOTALL,
)


class Line(NamedTuple):
    """One stored verdict; `about` is all else: question, reference, answer, language, reply, judge, time."""

    key: str
    verdict: Verdict
    about: Mapping[str, Any]


class Exchange(NamedTuple):
    """What an LLM judge was asked of a sample, and what it replied; None where it is not known here."""

    name: str
    """Of its model."""
    prompt: str | None
    reply: str | None


def verdict_key(judge: Mapping[str, Any], *content: str) -> str:
    """Return 32 hexadecimal digits that name a verdict by its content.

    Args:
        judge: JSON-able; everything that may change what the judge says (model, prompts, sampling settings).
        content: the texts that are judged; their order and their borders count.

    >>> verdict_key({'model': 'm'}, 'ab', 'c') == verdict_key({'model': 'm'}, 'a', 'bc')
    False
    """
    return hashlib.sha256(json.dumps([judge, *content], sort_keys=True).encode()).hexdigest()[:32]


def store_folder(place: str | os.PathLike[str] | None) -> Path | None:
    """Return the path of a store, with the home directory for a leading `~`. Nothing is opened."""
    if place is None:
        return None
    if not isinstance(place, (str, os.PathLike)) or not str(place):
        raise InputError(f'verdicts = {place!r}: expected the path of a folder')
    try:
        return Path(place).expanduser()
    except RuntimeError as error:
        raise InputError(f'verdicts = {str(place)!r}: {error}; write the whole path') from error


def cache_folder(name: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the folder of that name in the user's cache, for what runs have in common.

    >>> cache_folder('verdicts', {})
    '~/.cache/gpassk_opencompass/verdicts'
    """
    return str(Path(environment.get('XDG_CACHE_HOME') or '~/.cache', 'gpassk_opencompass', name))


class VerdictStore:
    """The verdicts of a folder, or, without one, of this process.

    Of several verdicts under one key the first of the first file (by name, which begins with a time) counts,
    so that all readers agree. Lines that are damaged, of another kind or edited by hand are skipped and
    counted.

    Args:
        folder: created with the first verdict, `~` is the home directory; None keeps them in memory only.

    Raises:
        InputError: `folder` is a file or cannot be read.

    >>> store = VerdictStore(None)
    >>> store.put('0' * 32, Verdict.CORRECT, {'question': '1 + 1?'})
    >>> store.get('0' * 32)
    <Verdict.CORRECT: 'correct'>
    """

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self.folder = store_folder(folder)
        self.damaged = 0
        """Lines that were skipped, torn last lines included."""
        self._verdicts: dict[str, tuple[Verdict, Path | None, int]] = {}  # and where it was read
        self._file, self._synced_at = Path(), 0.0
        self._descriptor = -1  # of the file that is written
        for file in store_files(self.folder):
            for start, raw, found in _lines(file):
                if found:
                    key, verdict = (found[name].decode() for name in ('key', 'verdict'))
                    self._verdicts.setdefault(key, (Verdict(verdict), file, start))
                else:
                    self.damaged += bool(raw.strip())

    def __len__(self) -> int:
        return len(self._verdicts)

    def get(self, key: str) -> Verdict | None:
        """Return the verdict under `key`, if there is one."""
        return self._verdicts.get(key, (None,))[0]

    def put(self, key: str, verdict: Verdict, about: Mapping[str, Any]) -> None:
        """Keep a verdict, correct or incorrect, with what a reader of the line should know.

        Raises:
            IncompleteError: the disk is full; what was put before is kept.
        """
        self._verdicts.setdefault(key, (verdict, None, 0))
        if self.folder is None:
            return
        if self._descriptor == -1:
            self._begin(self.folder)
        text = json.dumps({'key': key, 'verdict': verdict.value, **about}, ensure_ascii=False)[:-1]
        content = text.encode('utf-8', 'backslashreplace')  # a half of a character: as JSON escapes it
        data = content + f', "sum": "{zlib.crc32(content):08x}"}}\n'.encode()
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            with suppress(OSError):  # a network disk says it is full once more
                os.close(self._descriptor)
            self._descriptor = -1  # what comes next begins a file: it must not stand behind half a line
            raise self._failure('cannot write verdicts to', error) from error
        if time.monotonic() - self._synced_at > SYNC_INTERVAL:
            self.flush()

    def lines(self) -> Iterator[Line]:
        """Return every sound verdict of the folder, repeated keys too, in the order in which they count."""
        for file in store_files(self.folder):
            yield from filter(None, (_parsed(raw, found) for _, raw, found in _lines(file)))

    def exchange(self, key: str) -> Exchange | None:
        """Return what the judge was asked and replied; None where it was not known at the start."""
        _, file, start = self._verdicts.get(key, (None, None, 0))
        if file is None:
            return None
        _, raw, found = next(_lines(file, start), (0, b'', None))
        line = _parsed(raw, found)
        if line is None or line.key != key:
            return None
        judge, reply, prompt = mapping(line.about.get('judge')), line.about.get('reply'), None
        texts = [line.about.get(name) for name in ('question', 'reference', 'answer', 'language')]
        said = str(judge.get('prompts'))
        with suppress(GPassKError):  # another prompt's name, or OpenCompass, whose they are, is not installed
            prompts = find_prompts(said.partition(':')[0])
            if said == f'{prompts.name}:{prompts.digest}' and all(isinstance(text, str) for text in texts):
                prompt = prompts.fill(Pair(*map(str, texts))).prompt
        return Exchange(str(judge.get('model', 'llm')), prompt, reply if isinstance(reply, str) else None)

    def flush(self) -> None:
        """Make sure that what was put survives a crash of the machine; IncompleteError if the disk fails."""
        if self._descriptor != -1:
            try:
                os.fsync(self._descriptor)
            except OSError as error:
                raise self._failure('the disk may have lost verdicts of', error) from error
            self._synced_at = time.monotonic()

    def close(self) -> None:
        """Flush and let go of the file; a later `put` begins a new one. May be called twice."""
        try:
            self.flush()
        finally:
            if self._descriptor != -1:
                os.close(self._descriptor)
            self._descriptor = -1

    def _begin(self, folder: Path) -> None:
        host = re.sub(r'[^\w.]', '_', socket.gethostname())[:40]
        moment = time.strftime('%Y%m%dT%H%M%S', time.gmtime())
        self._file = folder / f'{moment}-{host}-{os.getpid()}-{secrets.token_hex(4)}.jsonl'
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
        except OSError as error:
            raise InputError(
                f'cannot write verdicts to {folder}: {error}; name another folder as verdicts'
            ) from error
        self._synced_at = time.monotonic()

    def _failure(self, what: str, error: OSError) -> IncompleteError:
        return IncompleteError(
            f'{what} {self._file}: {error.strerror}. Those before are kept: make room there, or name another '
            'folder as verdicts, and run the same command again to ask for what is missing'
        )


def store_files(folder: Path | None) -> list[Path]:
    """Return the files of a store in the order in which they count; none if it does not exist yet."""
    if folder is None:
        return []
    if folder.exists() and not folder.is_dir():
        raise InputError(f'{folder} is a file; a store of verdicts is a folder')
    return sorted(file for file in folder.glob('*.jsonl') if file.is_file())  # a pipe would never end


def stores_near(path: Path, common: bool = False) -> tuple[Path, ...]:
    """Return the stores that the run of a result at `path` may have had; `common`: also that of this user."""
    named = [os.environ.get(STORE_VARIABLE), cache_folder(FOLDER) if common else None]
    candidates = [
        *(folder / FOLDER for folder in path.parents[:7]),  # a model with slashes lies deeper than others
        *sorted(path.parent.glob(f'*.{FOLDER}')),  # as `gpassk score` names them
        *(Path(one).expanduser() for one in named if one),
    ]
    found = []
    for folder in dict.fromkeys(candidates):
        with suppress(InputError, OSError):  # a file of that name, or a folder of somebody else
            found += [folder] if store_files(folder) else []
    return tuple(found)


def _lines(file: Path, start: int = 0) -> Iterator[tuple[int, bytes, re.Match[bytes] | None]]:
    """Yield lines with their places; a match where the checksum holds, None where damaged or torn."""
    try:
        with file.open('rb') as content:
            content.seek(start)
            for line in content:
                found = _LINE.fullmatch(line)
                holds = found is not None and zlib.crc32(found['content']) == int(found['sum'], 16)
                yield start, line, found if holds else None
                start += len(line)
    except OSError as error:
        raise InputError(f'cannot read verdicts from {file}: {error.strerror}') from error


def _parsed(raw: bytes, found: re.Match[bytes] | None) -> Line | None:
    try:
        about = json.loads(raw) if found else None
    except (ValueError, RecursionError):  # a right checksum over wrong content: not written by this class
        return None
    if not found or about is None:
        return None
    # Key and verdict of the head count, as for `get`: a line may name them twice.
    about = {name: value for name, value in about.items() if name not in ('key', 'verdict', 'sum')}
    return Line(found['key'].decode(), Verdict(found['verdict'].decode()), about)
