"""Which names can be those of files."""

from __future__ import annotations

from ..errors import InputError

MAX_FILE_NAME = 255
"""Bytes that usual file systems allow for one name."""

AROUND_DATASET = len('_99999.json.20260101_000000.aside')
"""Bytes that the names of a run's own files have at most beside the data set abbreviation."""


def check_file_name(name: str) -> str:
    """Return the name; raise InputError if a file or a folder of OpenCompass cannot be called so."""
    size = len(name.encode())
    if '/' in name or '\0' in name or size > MAX_FILE_NAME:
        raise InputError(
            f'{name!r} ({size} bytes) cannot be a file name: those have no "/" and at most {MAX_FILE_NAME} '
            "bytes; give the model a shorter one: name='…', or leave out some k"
        )
    dataset = len(name.removesuffix('.py').rpartition('@')[2].encode())
    if dataset > MAX_FILE_NAME - AROUND_DATASET:
        raise InputError(
            f'{name!r}: the data set abbreviation has {dataset} bytes; with more than '
            f'{MAX_FILE_NAME - AROUND_DATASET} OpenCompass cannot write its files; leave out some k'
        )
    return name
