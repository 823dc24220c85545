"""Files that are replaced in one step, and JSON that may be damaged."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
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


def write_file(path: Path, content: bytes) -> None:
    """Write a file in one step: who reads it sees what was there or all of the new, never a part.

    Who may read and write it stays as it was; several programs may write it at once.
    """
    draft = path.with_name(f'.writing-{os.getpid()}')  # shorter than the names of configs may be
    try:
        draft.write_bytes(content)
        keep_mode(path, draft)
        draft.replace(path)
    except BaseException:  # Ctrl-C too
        with suppress(OSError):  # none was made, or what stands in its way is the error
            draft.unlink()
        raise


def keep_mode(path: Path, draft: Path) -> None:
    """Give the draft the permissions of the file that it will replace, if there is one."""
    with suppress(FileNotFoundError):
        shutil.copymode(path, draft)


def sample_files(path: Path) -> list[Path]:
    """Return the files of samples beside the JSON of a result, also those of earlier ones."""
    stem = glob.escape(path.name.removesuffix('.json'))
    return list(path.parent.glob(f'{stem}.{12 * "[0-9a-f]"}{SAMPLES}'))


def put_aside(path: Path, moment: str) -> Path:
    """Rename a file in the way of a new one, with the sample files beside it, and return its new name."""
    for file in sample_files(path):
        file.rename(file.with_name(f'{file.name}.{moment}.aside'))
    return path.rename(path.with_name(f'{path.name}.{moment}.aside'))


def digest(content: bytes) -> str:
    """Return the SHA-256 in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def model_files(local: Path) -> dict[str, str]:
    """Return name → digest of the files of a model: those in a folder, or the one file.

    Of a file above 1 MiB size, beginning, middle and end count: a checkpoint of a terabyte takes seconds.
    """

    def content(file: Path) -> bytes:
        if (size := file.stat().st_size) <= _WHOLE:
            return file.read_bytes()
        parts = [str(size).encode()]
        with file.open('rb') as opened:
            for place in (0, size // 2, size - _BLOCK):
                opened.seek(place)
                parts.append(opened.read(_BLOCK))
        return b''.join(parts)

    files = [local] if local.is_file() else sorted(local.iterdir())
    files = [one for one in files if one == local or (one.suffix in _OF_MODELS and one.is_file())]
    return {file.name: digest(content(file))[:16] for file in files}


def read_json(path: Path) -> Any:
    """Read the JSON value in a file; OSError, or ValueError as of `parse_json`."""
    return parse_json(path.read_bytes())


def parse_json(text: str | bytes) -> Any:
    """Read the JSON value of a text; ValueError if it is none, or nested too deep."""
    from pydantic_core import from_json

    # Three times as fast as json, of the values that both take; TypeError: half a character.
    with suppress(ValueError, TypeError):
        return from_json(text, cache_strings='keys')
    try:
        return json.loads(text)
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
