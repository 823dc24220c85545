"""The predictions of a data set: the seal of a finished file, and what the files tell of each response.

OpenCompass knows samples by their number in a file. The seal says what a finished file holds, so that one
which was cut, copied over that of another shard or changed on its disk is never scored.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import IncompleteError, InputError
from ..files import mapping, read_json, replace_file
from ..health import NOT_TOLD, Generation, generation_columns
from ..json_rows import json_entries
from ..record import file_digest
from ..text import json_text

UNREAD: tuple[Any, ...] = ('the evaluator reads them',)
"""In the place of the responses that an evaluator is given: it shall read them."""

_OF_ONE_SAMPLE = frozenset({'sample', 'fingerprint'})
"""Fields that are no other row's."""


class Seal(NamedTuple):
    """What is noted of one predictions file."""

    content: str
    """SHA-256 of the bytes."""
    samples: str = ''
    """Digest of the fingerprints of its rows."""
    inference: Mapping[str, Any] = {}
    """Prompts and lengths of the data set's entry in the config; see `provenance.Task`."""


class Predictions(NamedTuple):
    """What the predictions of a data set hold, in the order of its rows."""

    rows: list[dict[str, Any]]
    """Without the responses, and without what the engine told of them."""
    generations: list[Generation]
    """What it told, of each row."""
    files: list[Path]
    sizes: list[int]
    """How many rows each file has."""
    seals: dict[Path, Seal]
    """The seal of each file that has one."""
    responses: list[Any]
    """Of each row; [] unless they were asked for."""

    def place(self, number: int) -> tuple[Path, int]:
        """Return the file of a row, and its number there."""
        for path, size in zip(self.files, self.sizes, strict=True):
            if number < size:
                return path, number
            number -= size
        raise IndexError(number)


def write_seal(predictions: Path, written: Path, samples: str, inference: Mapping[str, Any]) -> None:
    """Note what `written` holds, which will be named `predictions`."""
    seal = Seal(file_digest(written), samples, inference)
    draft = written.with_name(written.name + '.seal')
    replace_file(seal_of(predictions), json_text(seal._asdict()).encode(), draft)


def seal_of(predictions: Path) -> Path:
    """Return where the seal of a predictions file is."""
    return predictions.with_suffix('.seal')


def read_predictions(predictions: Path, *, responses: bool = False) -> Predictions:
    """Read the predictions of a data set, each file as it was sealed; one without a seal is taken as it is.

    Row by row, so that no more than the responses is held of files of gigabytes.

    Args:
        predictions: `…/predictions/<model>/<dataset>.json`, which may lie there as `<dataset>_0.json`, ….
        responses: keep the responses too; else the caller has them already.

    Raises:
        IncompleteError: a file was changed, or cannot be read.
    """
    found = Predictions([], [], list(prediction_files(predictions)), [], {}, [])
    for path in found.files:
        seal = _read_seal(seal_of(path))
        if seal is not None:
            found.seals[path] = seal
            if seal.content != file_digest(path):
                raise IncompleteError(_message(path, 'is not as it was written'))
        for row, generation, response in _rows(path, responses):
            found.rows.append(row)
            found.generations.append(generation)
            if responses:
                found.responses.append(response)
        found.sizes.append(len(found.rows) - sum(found.sizes))
    return found


def told_in(found: Predictions | None, out: Path | None) -> dict[str, list[Any]]:
    """Return what predictions tell of each response, row by row, as columns of `samples.Samples`.

    Args:
        found: None, or without rows: nothing is told.
        out: `…/results/<model>/<dataset>`, beside which `file` is seen.
    """
    if found is None or out is None or not found.rows:
        return {}
    files = [os.path.relpath(path, out.parent) for path in found.files]
    samples = [mapping(row.get('sample')) for row in found.rows]
    seeds = [sample.get('seed') for sample in samples]
    marks = [sample.get('fingerprint') for sample in samples]
    return {
        **{name: list(column) for name, column in generation_columns(found.generations).items()},
        'seed': [seed if type(seed) is int and 0 <= seed < 2**63 else None for seed in seeds],
        'fingerprint': [mark if isinstance(mark, str) else None for mark in marks],
        'file': [file for file, size in zip(files, found.sizes, strict=True) for _ in range(size)],
        'row': [number for size in found.sizes for number in range(1, size + 1)],
    }


_Row = tuple[dict[str, Any], Generation, Any]
"""A row of predictions without its response, what its engine told, and the response if it was asked for."""


def _rows(path: Path, responses: bool) -> list[_Row]:
    known: dict[Any, Any] = {}
    held: dict[str, _Row] = {}
    try:
        for (number,), row in json_entries(path):
            held[number] = _row(row, known, responses)
        return [held[str(number)] for number in range(len(held))]
    except (InputError, KeyError) as error:
        raise IncompleteError(
            f'{path} cannot be read as predictions ({type(error).__name__}: {error}): put it back from a '
            'copy, or move it away and run the same command with -r to sample its rows anew'
        ) from error


def _row(row: Any, known: dict[Any, Any], response: bool) -> _Row:
    if not isinstance(row, dict):
        raise InputError(f'{row!r:.40} stands where an object of a row was expected')
    said, told = row.pop('prediction', None), row.pop('generation', None)
    rest = _with_shared(row, known)
    if isinstance(sample := rest.get('sample'), dict):
        rest['sample'] = _with_shared(sample, known)
    return rest, Generation.from_json(told) if told else NOT_TOLD, said if response else None


def _with_shared(fields: Mapping[str, Any], known: dict[Any, Any]) -> dict[str, Any]:
    """Return fields with one object for what n samples of a question repeat: names, texts, prompts."""
    return {
        known.setdefault(name, name): value if name in _OF_ONE_SAMPLE else _shared(value, known)
        for name, value in fields.items()
    }


def _shared(value: Any, known: dict[Any, Any]) -> Any:
    if isinstance(value, str):
        return known.setdefault(value, value)
    return known.setdefault((repr(value),), value) if isinstance(value, (dict, list)) else value


def _message(path: Path, what: str) -> str:
    return (
        f'{path} {what} (see {seal_of(path).name} beside it): put the right file back, or move both away and '
        'run the same command again to draw its samples anew; to score it as it is, remove the .seal alone'
    )


def predictions_for(out: Path) -> Path:
    """Return where the predictions of a result lie, `…/predictions/<model>/<dataset>.json`.

    Args:
        out: `<work_dir>/<time>/results/<model>/<dataset>`, the result without its suffix.
    """
    results = results_above(out)
    folder = results.with_name('predictions') / out.parent.relative_to(results)
    return folder / f'{out.name}.json'


def results_above(out: Path) -> Path:
    """Return `<work_dir>/<time>/results`; a model with a `/` in its name has a folder in a folder there."""
    return next((above for above in out.parents[1:] if above.name == 'results'), out.parents[1])


def holds_texts(predictions: Path) -> bool:
    """Return whether there are predictions, of which the first row has a text."""
    try:
        _, row = next(json_entries(next(prediction_files(predictions))))
        return isinstance(mapping(row).get('prediction'), str)
    except (StopIteration, InputError):
        return False


def prediction_files(predictions: Path) -> Iterator[Path]:
    """Find the files of a data set's predictions: one, or a shard each, in their order."""
    if predictions.exists():
        yield predictions
        return
    for number in count():
        shard = predictions.with_name(f'{predictions.stem}_{number}.json')
        if not shard.exists():
            return
        yield shard


def _read_seal(path: Path) -> Seal | None:
    """Read a seal; None where there is none.

    Raises:
        IncompleteError: it cannot be read, so nobody knows whether the file beside it is as it was written.
    """
    try:
        told = read_json(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        told = None
    content = mapping(told).get('content')
    if not isinstance(content, str):
        raise IncompleteError(
            f'{path} cannot be read as a seal: put it back from a copy; or remove it, to score the '
            'predictions beside it as they are'
        )
    return Seal(content, str(told.get('samples', '')), mapping(told.get('inference')))
