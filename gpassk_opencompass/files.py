"""Files that are replaced in one step, and JSON that may be damaged."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from .errors import InputError

PROVENANCE = 'run.provenance'
"""The file beside the predictions of a model that tells what they were drawn with, and since when."""

SAMPLES = '.samples.parquet'
"""What the name of a sample file ends in, in the place of the `.json` of its result."""


_OF_MODELS = frozenset(
    ['.json', '.jinja', '.model', '.txt', '.safetensors', '.bin', '.pt', '.pth', '.gguf', '.py', '.tiktoken']
)
_WHOLE = 1 << 20
_BLOCK = 1 << 16


def replace_file(path: Path, content: bytes, draft: Path) -> None:
    """Write a file in one step: who reads it sees what was there or all of the new, never a part.

    Who may read and write it stays as it was. `draft` is beside it; an error leaves none, a kill may.
    """
    try:
        draft.write_bytes(content)
        keep_mode(path, draft)
        draft.replace(path)
    except BaseException:  # Ctrl-C too
        with suppress(OSError):  # none was made, or what stands in its way is the error
            draft.unlink()
        raise


def write_file(path: Path, content: bytes) -> None:
    """Write a file in one step, see `replace_file`; several programs may do it at once."""
    replace_file(path, content, path.with_name(f'.writing-{os.getpid()}'))


def keep_mode(path: Path, draft: Path) -> None:
    """Give the draft the permissions of the file that it will replace, if there is one."""
    with suppress(FileNotFoundError):
        shutil.copymode(path, draft)


def put_aside(path: Path, moment: str) -> Path:
    """Rename a file that is in the way of a new one, so that nothing is lost; return its new name.

    The sample file beside a result goes with it.
    """
    stem = path.name.removesuffix('.json')
    for samples in path.parent.glob(f'*{SAMPLES}'):
        if re.fullmatch(re.escape(stem) + r'\.[0-9a-f]{12}' + re.escape(SAMPLES), samples.name):
            samples.rename(samples.with_name(f'{samples.name}.{moment}.aside'))
    return path.rename(path.with_name(f'{path.name}.{moment}.aside'))


def digest(content: bytes) -> str:
    """Return the SHA-256 in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def model_files(local: Path) -> dict[str, str]:
    """Return name → digest of the files of a model: those in a folder, or the one file.

    Of a file above 1 MiB size, beginning, middle and end count, so that a checkpoint of a terabyte takes
    seconds.
    """
    files = [local] if local.is_file() else sorted(local.iterdir())
    return {
        file.name: _content(file)
        for file in files
        if file == local or (file.suffix in _OF_MODELS and file.is_file())
    }


def _content(file: Path) -> str:
    size = file.stat().st_size
    with file.open('rb') as opened:
        if size <= _WHOLE:
            return digest(opened.read())[:16]
        parts = [str(size).encode()]
        for place in (0, size // 2, size - _BLOCK):
            opened.seek(place)
            parts.append(opened.read(_BLOCK))
    return digest(b''.join(parts))[:16]


def read_json(path: Path) -> Any:
    """Read the JSON value in a file; OSError, or ValueError as of `parse_json`."""
    return parse_json(path.read_bytes())


def parse_json(text: str | bytes, objects: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Read the JSON value of a text; ValueError if it is none, or nested too deep.

    `objects` makes what is returned for an object of its pairs, of which several may have the same key; None:
    a dictionary with the last value of each key.
    """
    if objects is None:
        from pydantic_core import from_json

        # Three times as fast as json, of the values that both take; TypeError: half a character.
        with suppress(ValueError, TypeError):
            return from_json(text, cache_strings='keys')
    try:
        return json.loads(text, object_pairs_hook=objects)
    except RecursionError as error:
        raise ValueError(str(error)) from error


def mapping(value: object) -> Mapping[str, Any]:
    """Return an object of JSON, an empty one in the place of anything else."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[Any]:
    """Return a list of JSON, an empty one in the place of anything else."""
    return value if isinstance(value, list) else []


def save(path: Path, text: str) -> None:
    """Write a text in one step, where somebody wants it; folders are made.

    Halves of characters, which no file can hold, are escaped. A device, a pipe and a link, such as
    /dev/stdout, are written to as they are. InputError if it cannot be written; what was there stays.
    """
    content = text.encode('utf-8', 'backslashreplace')
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_symlink() and (path.is_file() or not path.exists()):
            write_file(path, content)
        else:
            path.write_bytes(content)
    except OSError as error:
        raise InputError(f'cannot write {path}: {error.strerror}') from error
