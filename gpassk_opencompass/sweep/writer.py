"""Config files, written once: what has not changed is not touched."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ..errors import InputError


def changed(folder: Path, texts: Mapping[str, str]) -> list[str]:
    """The names whose file in the folder is missing or says something else."""
    return [name for name, text in texts.items() if _content(folder / name) != text.encode()]


def write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write each text under its name; a reader sees the old file or the new one, never a part.

    Raises:
        InputError: the folder cannot be made or written to.
    """
    part = folder / f'.writing-{os.getpid()}'
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            part.write_bytes(text.encode())
            part.replace(folder / name)
    except OSError as error:
        raise InputError(f'cannot write configs to {folder}: {error}; choose another --output_dir') from error
    finally:
        with suppress(OSError):
            part.unlink()


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
