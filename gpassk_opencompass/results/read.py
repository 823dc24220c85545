"""The one reader of result files: what it refuses, every command refuses, with the same line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import mapping, read_json
from . import lighteval
from .check import check
from .result import Result


def read(path: Path) -> Result:
    """Read one result file: `results/<model>/<dataset>.json` of OpenCompass, or what another host wrote.

    That is a record of `gpassk score` or the details of a Lighteval task (`details_<task>_<time>.parquet`);
    they say in `gpassk.run` what the model, the data set and the host are called.

    Raises:
        InputError: it cannot be read, is no result of G-Pass@k, or is damaged; in one line.
    """
    return result_of(path, lighteval.read_details(path) if path.suffix == '.parquet' else _read_json(path))


def result_of(path: Path, record: Any) -> Result:
    """Return the result that `read` gives for a file of this content, which somebody has read already.

    Raises:
        InputError: as `read`.
    """
    check(str(path), record)
    block = record['gpassk']
    if 'run' not in block and (results := _results_above(path)):
        return Result(_text(path.parent.relative_to(results).as_posix()), _text(path.stem), record, path)
    names = mapping(block.get('run'))
    model = names.get('model') or path.name.removesuffix('.json').removesuffix('.gpassk')
    dataset, host = names.get('dataset') or 'samples', names.get('host', 'file')
    return Result(_text(model), _text(dataset), record, path, _text(host))


def is_named_as_result(path: Path) -> bool:
    """Whether a file is a result by its name and place, whatever is in it.

    >>> is_named_as_result(Path('a/results/model/data.json')), is_named_as_result(Path('rows.jsonl'))
    (True, False)
    """
    if path.name.endswith('.gpassk.json') or path.suffix == '.parquet':
        return True
    return path.suffix == '.json' and path.parent.parent.name == 'results'


def _read_json(path: Path) -> Any:
    if lighteval.is_summary(path):
        raise InputError(
            f'{path} has the means of a run of Lighteval and no counts; give its details_….parquet, which '
            '`lighteval … --save-details` writes, or the folder above both'
        )
    if path.is_dir():
        raise InputError(f'{path} is a folder; give one result file: …/results/<model>/<dataset>.json')
    try:
        return read_json(path)
    except (OSError, ValueError) as error:
        raise InputError(f'{path} cannot be read: {error}') from error


def _results_above(path: Path) -> Path | None:
    """Return `results` of a work directory of OpenCompass; a model with slashes lies deeper in it."""
    found = next((above for above in path.parents[1:] if above.name == 'results'), None)
    near = found == path.parent.parent
    return found if found and (near or (found.parent / 'configs').is_dir()) else None


def _text(value: object) -> str:
    """Without halves of surrogate pairs, which no file can hold."""
    return str(value).encode('utf-8', 'backslashreplace').decode('utf-8')
