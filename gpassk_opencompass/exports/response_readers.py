"""How the responses of a result are read from each kind of file that it was made of.

Of predictions of OpenCompass it is looked up where each entry stands; what only a source can read, in its own
order, goes into a temporary file.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from ..errors import InputError
from ..files import mapping, parse_json
from ..json_entries import entry_places
from ..results import lighteval
from ..results.found import Found
from ..results.predictions import prediction_texts
from ..results.result import Result
from ..sources.finding import find_runs
from ..sources.source import Reading, Responded

ANEW = 'the responses of this run cannot be read once more: {why}'
"""What a reader says where a file cannot be read again."""


class ResponseReader(Protocol):
    """A file with responses."""

    def found(self, row: int, turn: int) -> Found:
        """Return what is found in a row; InputError where it is not there, or of another form."""


def reader_of(path: Path, result: Result, stack: ExitStack) -> ResponseReader:
    """Return the reader of one of the files of a result; it is closed with the stack.

    Raises:
        InputError, OSError: the file cannot be read.
    """
    is_lighteval = result.host == lighteval.HOST
    if not is_lighteval and (places := _places_in_predictions(path)):
        return stack.enter_context(_Predictions(path, places))
    spool = stack.enter_context(_Spool(path))
    if is_lighteval:
        _spool_lighteval(result, spool)
    else:
        _spool_source(path, spool)
    return spool


def prompt_shown(prompt: object) -> str | None:
    r"""Return what a model was asked as a text to read, of a text or messages; None where it is not known.

    >>> prompt_shown([{'role': 'SYSTEM', 'prompt': 'Add.'}, {'role': 'HUMAN', 'prompt': '1 + 1?'}])
    '[SYSTEM]\nAdd.\n\n[HUMAN]\n1 + 1?'
    >>> prompt_shown([{'role': 'HUMAN', 'prompt': '1 + 1?'}])
    '1 + 1?'
    """
    if isinstance(prompt, str):
        return prompt
    turns = [_turn(message) for message in prompt] if isinstance(prompt, list) else []
    turns = [(role, text) for role, text in turns if text]
    if len(turns) == 1:
        return turns[0][1]
    return '\n\n'.join(f'[{role}]\n{text}' if role else text for role, text in turns) or None


def _turn(message: object) -> tuple[str, str]:
    """Return role and text of a message; '' for what is not there."""
    if not isinstance(message, dict):
        return '', message if isinstance(message, str) else ''
    text = message.get('prompt', message.get('content'))
    return str(message.get('role') or ''), text if isinstance(text, str) else ''


class Unreadable:
    """A file that cannot be read."""

    def __init__(self, why: str) -> None:
        self._why = why

    def found(self, row: int, turn: int) -> Found:
        """Say why."""
        raise InputError(self._why)


class _Predictions:
    """Predictions of OpenCompass, of which an entry is read when it is asked for."""

    def __init__(self, path: Path, places: Mapping[str, tuple[int, int]]) -> None:
        self._path, self._places = path, places
        self._file = path.open('rb')
        self._entry = lru_cache(1)(self._read)

    def __enter__(self) -> _Predictions:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def found(self, row: int, turn: int) -> Found:
        """See `ResponseReader`."""
        entry = self._entry(row)
        texts = prediction_texts(self._path, row, entry)
        if turn >= len(texts):
            raise InputError(_fewer(self._path, row))
        return Found(texts[turn], prompt=prompt_shown(entry.get('origin_prompt')))

    def _read(self, row: int) -> Mapping[str, Any]:
        start, end = self._places.get(str(row), (0, 0))
        self._file.seek(start)
        try:
            return mapping(parse_json(self._file.read(end - start) or b'null'))
        except ValueError as error:
            raise InputError(f'{self._path}, row {row}: {error}; the file was changed meanwhile') from error


def _places_in_predictions(path: Path) -> Mapping[str, tuple[int, int]] | None:
    """Return where the entries of predictions of OpenCompass stand; None for a file of another kind."""
    try:
        places = entry_places(path) if path.suffix == '.json' else {}
        start, end = next(iter(places.values()), (0, 0))
        with path.open('rb') as file:
            file.seek(start)
            first = parse_json(file.read(end - start) or b'null')
    except (InputError, OSError, ValueError):  # JSON lines, or damaged: the sources say more of it
        return None
    return places if 'prediction' in mapping(first) else None


def _fewer(path: Path, row: int) -> str:
    return (
        f'{path}, row {row}: it holds fewer responses than were judged; the file was changed since: score it '
        'again'
    )


class _Spool:
    """Responses that come in an order of their own, in a temporary file until they are asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self._file = tempfile.TemporaryFile()  # noqa: SIM115

    def __enter__(self) -> _Spool:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def add(self, row: int, found: Found) -> None:
        """Keep the next response of a row."""
        content = json.dumps([found.text, found.prompt, found.separate_thought]).encode('ascii')
        try:
            self._places[row].append((self._file.tell(), self._file.write(content)))
        except OSError as error:
            raise InputError(
                f'the responses in {self._path} cannot be kept in {tempfile.gettempdir()} meanwhile: '
                f'{error.strerror}; make room there, or set TMPDIR to another folder'
            ) from error

    def sort(self, by: Sequence[int]) -> None:
        """Number the rows anew, in the order of these numbers, one a row."""
        order = sorted(range(len(by)), key=by.__getitem__)
        self._places = defaultdict(list, {new: self._places[old] for new, old in enumerate(order)})

    def found(self, row: int, turn: int) -> Found:
        """See `ResponseReader`."""
        places = self._places.get(row, ())
        if turn >= len(places):
            raise InputError(_fewer(self._path, row))
        start, size = places[turn]
        self._file.seek(start)
        text, prompt, thought = json.loads(self._file.read(size))
        return Found(text, prompt=prompt, separate_thought=thought)


def _spool_lighteval(result: Result, spool: _Spool) -> None:
    """Take the responses from the details of Lighteval, by the place of the question in the result."""
    numbers = []
    for row, question in enumerate(lighteval.each_response(result.path)):
        if len(question.texts) != result.n:
            raise InputError(f'{result.path}: model_response.text has not {result.n} texts a question')
        prompt = prompt_shown(question.prompt)
        for text, thought in zip(question.texts, question.thoughts, strict=True):
            spool.add(row, Found(text, prompt=prompt, separate_thought=thought))
        numbers.append(question.number)
    spool.sort(numbers)


def _spool_source(path: Path, spool: _Spool) -> None:
    """Take the responses from a file that a source reads, perhaps with others beside it."""
    own = path.resolve()
    is_own = lru_cache(None)(lambda file: file.resolve() == own)
    try:
        found = find_runs([path], Reading(kind='responses')).runs
        for question in chain.from_iterable(one.run.questions for one in found):
            if isinstance(question, Responded) and question.places:
                for (file, row), text in zip(question.places, question.responses, strict=True):
                    if is_own(file):
                        spool.add(row, Found(text))
    except InputError as error:
        raise InputError(ANEW.format(why=error)) from error
