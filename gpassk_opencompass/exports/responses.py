"""The responses of a result, read once more from the files that it was made of."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import mapping
from ..results import lighteval
from ..results.predictions import check_length, prediction_texts, read_predictions
from ..results.result import Result
from ..sources.finding import find_runs
from ..sources.source import Reading, Responded


def responses_of(result: Result) -> list[str | None]:
    """Return the response of each sample, question by question; None where none was drawn.

    They come from where `file` and `row` of the sample file lead, or from the details of Lighteval. Each must
    have the length of the one that was judged, as far as that is known.

    Raises:
        InputError: the record does not say where they are, or a file is missing, damaged or was changed.
    """
    if result.host == lighteval.HOST:
        return list(chain.from_iterable(_of_lighteval(result)))
    samples = result.samples
    files, rows = (samples.column(name) if samples else None for name in ('file', 'row'))
    if samples is None or files is None or rows is None:
        raise InputError(
            f'{result.path} does not say where its responses are: expected a result with the sample file '
            'beside it, made of responses; leave out --responses'
        )
    lengths = samples.column('response_characters') or [None] * len(files)
    readers = {file: _File(result.path.parent / file) for file in dict.fromkeys(files) if file is not None}
    return [
        None if file is None or row is None else readers[file].response(row, length)
        for file, row, length in zip(files, rows, lengths, strict=True)
    ]


def _of_lighteval(result: Result) -> Sequence[Sequence[str]]:
    texts = lighteval.read_responses(result.path)
    if [len(one) for one in texts] != [result.n] * len(result.uids):
        raise InputError(f'{result.path}: model_response.text has not {result.n} texts a question')
    return texts


class _File:
    """A file with responses: predictions of OpenCompass, or what one of the sources reads.

    A row that holds several responses is asked for once for each, in the order of the samples.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries = _predictions(path)
        self._texts: dict[int, deque[str | None]] = _texts(path) if self._entries is None else {}

    def response(self, row: int, length: int | None) -> str | None:
        """Return the next response of a row; None of one that failed.

        Raises:
            InputError: it is not there, or another one than was judged.
        """
        if self._entries is not None and row not in self._texts:
            entry = mapping(self._entries.get(str(row)))
            self._texts[row] = deque(prediction_texts(self._path, row, entry))
        if not self._texts[row]:
            raise InputError(
                f'{self._path}, row {row}: it holds fewer responses than were judged; the file was changed '
                'since: score it again'
            )
        text = self._texts[row].popleft()
        check_length(f'{self._path}, row {row}', text or '', length)
        return text


def _predictions(path: Path) -> Mapping[str, Any] | None:
    """Return the entries of a file of predictions of OpenCompass; None for a file of another kind."""
    try:
        entries = read_predictions(path) if path.suffix == '.json' else {}
    except InputError:  # JSON lines, or damaged: the sources say more of it
        return None
    return entries if 'prediction' in mapping(next(iter(entries.values()), None)) else None


def _texts(path: Path) -> defaultdict[int, deque[str | None]]:
    """Return the responses of each row of a file that a source reads, perhaps with others beside it."""
    texts: defaultdict[int, deque[str | None]] = defaultdict(deque)
    own = path.resolve()
    is_own = lru_cache(None)(lambda file: file.resolve() == own)
    try:
        found = find_runs([path], Reading(kind='responses')).runs
        for question in chain.from_iterable(one.run.questions for one in found):
            if isinstance(question, Responded) and question.places:
                for (file, row), text in zip(question.places, question.responses, strict=True):
                    if is_own(file):
                        texts[row].append(text)
    except InputError as error:
        raise InputError(
            f'the responses of this run cannot be read once more: {error}; leave out --responses'
        ) from error
    return texts
