"""The responses of a result, read once more from the files that it was made of.

They are read question by question, so that a run need not fit into memory.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ..answers.thoughts import thought_in
from ..errors import InputError
from ..keys import without_long
from ..results import lighteval
from ..results.found import Asked, Found
from ..results.predictions import check_length
from ..results.record import digest_of
from ..results.result import Result
from .replies import Replies, stores_of
from .response_readers import ANEW, ResponseReader, Unreadable, reader_of

_NO_PLACES = (
    '{path} does not say where its responses are: expected a result with the sample file beside it, made of '
    'responses'
)
_KEYS = ('_API_KEY', '_TOKEN')
"""What the names of environment variables end in that hold keys."""


def responses_of(result: Result) -> list[str | None]:
    """Return the response of each sample, question by question; None where none was drawn.

    They come from where `file` and `row` of the sample file lead, or from the details of Lighteval. Each must
    have the length of the one that was judged, as far as that is known.

    Raises:
        InputError: the record does not say where they are, or a file is missing, damaged or was changed.
    """
    try:
        with ResponseFiles(result) as files:
            return [found.text for found in files.each_or_error()]
    except InputError as error:
        raise InputError(f'{error}; or leave out --responses') from error


class ResponseFiles:
    """The responses of a result, and what else its files tell of a sample; see `results.found.Responses`.

    A context manager: at its end the files are closed.

    Args:
        result: made of responses.
        replies: finds what a judge said; None: nobody looks.

    Raises:
        InputError: the record does not say where its responses are, or none of the files is there.
    """

    def __init__(self, result: Result, replies: Replies | None = None) -> None:
        self._result, self._replies = result, replies
        self._keys = [] if replies is None else _known_keys(os.environ)
        self._stores = () if replies is None or self._reply_keys is None else stores_of(result)
        self._files: dict[Path, ResponseReader] = {}
        self._open = ExitStack()
        self._named = _named_by(result)
        if self._named and not any(map(os.path.isfile, self._named)):
            why = f'{self._named[0]} is not there (any more); put it back from a copy'
            raise InputError(ANEW.format(why=why))

    def __enter__(self) -> ResponseFiles:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files."""
        self._open.close()
        self._files.clear()

    @cached_property
    def version(self) -> str:
        """Return what changes with the files: their names, sizes and times, and which stores there are."""
        here = self._result.path.parent
        told: list[Any] = [os.path.relpath(store, here) for store in self._stores]
        for path in self._named:
            with suppress(OSError):
                status = path.stat()
                told.append([os.path.relpath(path, here), status.st_size, status.st_mtime_ns])
        return digest_of(told)

    @cached_property
    def _places(self) -> list[_Place | None]:
        return _places_of(self._result)

    def of_question(self, number: int) -> list[Found]:
        """Return what is found of each sample of the question with this place in the result's `uids`."""
        n = self._result.n
        return [self._found_or_lost(sample) for sample in range(number * n, (number + 1) * n)]

    def each_or_error(self) -> Iterator[Found]:
        """Yield what is found of each sample.

        Raises:
            InputError: a response is lost.
        """
        return map(self._found, range(len(self._places)))

    def _found_or_lost(self, sample: int) -> Found:
        try:
            found = self._found(sample)
        except (InputError, OSError) as error:
            found = Found(lost=str(error))
        asked = self._asked(sample)
        if asked is not None and self._keys:
            asked = asked._replace(prompt=self._hidden(asked.prompt), reply=self._hidden(asked.reply))
        text = self._hidden(found.text)
        return found._replace(
            text=text,
            prompt=self._hidden(found.prompt),
            separate_thought=self._hidden(found.separate_thought),
            thought=None if text is None else thought_in(text),
            judge=asked,
        )

    def _found(self, sample: int) -> Found:
        place = self._places[sample]
        if place is None:
            return Found()
        found = self._file(place.file).found(place.row, place.turn)
        check_length(f'{place.file}, row {place.row}', found.text or '', place.length)
        return found

    def _file(self, path: Path) -> ResponseReader:
        """Return the reader of a file; one that cannot be read says so for each of its samples."""
        if path not in self._files:
            try:
                self._files[path] = reader_of(path, self._result, self._open)
            except (InputError, OSError) as error:
                self._files[path] = Unreadable(str(error))
        return self._files[path]

    def _asked(self, sample: int) -> Asked | None:
        key = self._reply_keys[sample] if self._reply_keys else None
        return self._replies.find(self._stores, key) if key and self._replies else None

    @cached_property
    def _reply_keys(self) -> Sequence[str | None] | None:
        return self._result.samples.column('reply_key') if self._result.samples else None

    def _hidden(self, text: str | None) -> str | None:
        return without_long(text, *self._keys) if text and self._keys else text


class _Place(NamedTuple):
    """Where the response of a sample is.

    `turn`: a row that holds several responses is asked for once for each, in the order of the samples.
    `length`: of the one that was judged, in characters; None: not known.
    """

    file: Path
    row: int
    turn: int
    length: int | None


def _named_by(result: Result) -> list[Path]:
    """Return the files in which the responses are.

    Raises:
        InputError: the record does not name them.
    """
    if result.host == lighteval.HOST:
        return [result.path]
    files = result.samples.column('file') if result.samples else None
    if files is None:
        raise InputError(_NO_PLACES.format(path=result.path))
    return [result.path.parent / file for file in sorted({file for file in files if file is not None})]


def _places_of(result: Result) -> list[_Place | None]:
    """Return where each response is, question by question; None where none was drawn."""
    if result.host == lighteval.HOST:
        return [
            _Place(result.path, number, turn, None)
            for number in range(len(result.uids))
            for turn in range(result.n)
        ]
    samples = result.samples
    files, rows, lengths = (
        samples.column(name) if samples else None for name in ('file', 'row', 'response_characters')
    )
    if files is None or rows is None:
        raise InputError(_NO_PLACES.format(path=result.path))
    paths = {file: result.path.parent / file for file in set(files) if file is not None}
    asked: Counter[tuple[str, int]] = Counter()
    places: list[_Place | None] = []
    for file, row, length in zip(files, rows, lengths or [None] * len(files), strict=True):
        if file is None or row is None:
            places.append(None)
            continue
        places.append(_Place(paths[file], row, asked[file, row], length))
        asked[file, row] += 1
    return places


def _known_keys(environment: Mapping[str, str]) -> list[str]:
    return [value for name, value in environment.items() if name.endswith(_KEYS)]
