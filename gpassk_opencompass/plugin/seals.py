"""What stands in a finished predictions file, noted beside it, so that another content is never scored.

OpenCompass knows predictions by their number in a file. A file that was cut, copied over another shard's or
changed on its disk would be scored all the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import IncompleteError
from ..files import digest, mapping, parse_json, read_json, replace_file
from ..results.health import Generation
from ..unseen import json_text


class Seal(NamedTuple):
    """Of one predictions file."""

    content: str
    """SHA-256 of the bytes."""
    samples: str = ''
    """Digest of the fingerprints of its rows; '' in those of version 0.1.0."""
    inference: Mapping[str, Any] = {}
    """Prompts and lengths of the data set's entry in the config; see `provenance.Task`."""


class Predictions(NamedTuple):
    """What the predictions of a data set hold, in the order of its rows."""

    rows: list[dict[str, Any]]
    places: list[tuple[Path, int]]
    """(file, number in it) of each row."""
    files: list[Path]
    seals: dict[Path, Seal]
    """Of the files that have one."""


def write_seal(predictions: Path, written: Path, samples: str, inference: Mapping[str, Any]) -> None:
    """Note what `written` holds, which will be named `predictions`."""
    seal = Seal(digest(written.read_bytes()), samples, inference)
    draft = written.with_name(written.name + '.seal')
    replace_file(seal_of(predictions), json_text(seal._asdict()).encode(), draft)


def seal_of(predictions: Path) -> Path:
    """Where the seal of a predictions file is."""
    return predictions.with_suffix('.seal')


def read_predictions(predictions: Path) -> Predictions:
    """Read the predictions of a data set, each file as it was sealed; one without a seal is taken as it is.

    Args:
        predictions: `…/predictions/<model>/<dataset>.json`, which may lie there as `<dataset>_0.json`, ….

    Raises:
        IncompleteError: a file was changed, or cannot be read.
    """
    rows, places, seals = [], [], {}
    files = list(_files(predictions))
    for path in files:
        content = path.read_bytes()
        seal = _read(seal_of(path))
        if seal is not None:
            seals[path] = seal
            if seal.content != digest(content):
                raise IncompleteError(_message(path, 'is not as it was written'))
        own = _rows(path, content)
        rows += own
        places += [(path, number) for number in range(len(own))]
    return Predictions(rows, places, files, seals)


def told_in(found: Predictions | None, out: Path | None) -> dict[str, list[Any]]:
    """Return what predictions tell of each response, row by row, as columns of `scoring.Samples`.

    Args:
        found: None: nothing is told.
        out: `…/results/<model>/<dataset>`, beside which `file` is seen.
    """
    if found is None or out is None:
        return {}
    relative = {path: os.path.relpath(path, out.parent) for path in found.files}
    seeds = [mapping(row.get('sample')).get('seed') for row in found.rows]
    return {
        'generation': [Generation.from_json(row.get('generation')) for row in found.rows],
        'seed': [seed if type(seed) is int and 0 <= seed < 2**63 else None for seed in seeds],
        'file': [relative[path] for path, _ in found.places],
        'row': [number for _, number in found.places],
    }


def _rows(path: Path, content: bytes) -> list[dict[str, Any]]:
    try:
        held = parse_json(content)
        return [held[str(number)] for number in range(len(held))]
    except (ValueError, KeyError, TypeError) as error:
        raise IncompleteError(
            f'{path} cannot be read as predictions ({type(error).__name__}: {error}): put it back from a '
            'copy, or move it away and run the same command with -r to sample its rows anew'
        ) from error


def _message(path: Path, what: str) -> str:
    return (
        f'{path} {what} (see {seal_of(path).name} beside it): put the right file back, or move both away and '
        'run the same command again to draw its samples anew; to score it as it is, remove the .seal alone'
    )


def _files(predictions: Path) -> Iterator[Path]:
    if predictions.exists():
        yield predictions
        return
    for number in count():
        shard = predictions.with_name(f'{predictions.stem}_{number}.json')
        if not shard.exists():
            return
        yield shard


def _read(path: Path) -> Seal | None:
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
    if isinstance(told, list) and len(told) == 3:  # of version 0.1.0: samples, rows, content
        return Seal(str(told[2]))
    content = mapping(told).get('content')
    if not isinstance(content, str):
        raise IncompleteError(
            f'{path} cannot be read as a seal: put it back from a copy; or remove it, to score the '
            'predictions beside it as they are'
        )
    return Seal(content, str(told.get('samples', '')), mapping(told.get('inference')))
