"""What stands in a finished predictions file, noted beside it, so that another content is never scored.

OpenCompass knows predictions by their number in a file. A file that was cut, copied over another shard's or
changed on its disk would be scored all the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

from ..errors import IncompleteError
from ..files import digest, read_json, replace_file
from .seeds import Sample


class Seal(NamedTuple):
    """Of one predictions file."""

    samples: str
    """Digest of the samples that were asked, see `samples_digest`."""
    rows: int
    content: str
    """SHA-256 of the bytes."""


def samples_digest(samples: Sequence[Sample]) -> str:
    """The same for the same samples in the same order."""
    return digest(repr([tuple(sample) for sample in samples]).encode())


def write_seal(predictions: Path, written: Path, samples: Sequence[Sample]) -> None:
    """Note what `written` holds, which will be named `predictions`."""
    seal = Seal(samples_digest(samples), len(samples), digest(written.read_bytes()))
    draft = written.with_name(written.name + '.seal')
    replace_file(seal_of(predictions), json.dumps(seal).encode(), draft)


def seal_of(predictions: Path) -> Path:
    """Where the seal of a predictions file is."""
    return predictions.with_suffix('.seal')


def check_seals(predictions: Path, samples: Sequence[Sample]) -> None:
    """Whether the files hold what was written for these samples; a file without a seal is taken as it is.

    Args:
        predictions: `…/predictions/<model>/<dataset>.json`, which may lie there as `<dataset>_0.json`, ….
        samples: all of the data set, in its order.

    Raises:
        IncompleteError: a file was changed, or is of other samples.
    """
    start: int | None = 0
    for path in _files(predictions):
        seal = _read(seal_of(path))
        if seal is None:  # written without one: how many rows it has is not known either
            start = None
            continue
        if seal.content != digest(path.read_bytes()):
            raise IncompleteError(_message(path, 'is not as it was written'))
        if start is None:
            continue
        if seal.samples != samples_digest(samples[start : start + seal.rows]):
            raise IncompleteError(_message(path, 'holds responses to other samples'))
        start += seal.rows


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
    try:
        samples, rows, content = read_json(path)
    except (OSError, ValueError, TypeError):
        return None
    return Seal(str(samples), rows, str(content)) if isinstance(rows, int) else None
