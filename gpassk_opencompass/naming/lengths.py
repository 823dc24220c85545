"""How long a name may be, and long ones made short, the same way wherever they are written."""

from __future__ import annotations

import hashlib
import re

from ..errors import InputError

MAX_FILE_NAME = 255
"""Bytes that usual file systems allow for one name."""

AROUND_DATASET = len('_99999.json.20260101_000000.aside')
"""Bytes that the names of a run's own files have at most beside the data set abbreviation."""

CUT = r'~[0-9a-f]{8}'
"""What stands for the rest of a name that was cut; no other name has a `~`."""


def cut(name: str, limit: int) -> str:
    """The name itself, or if it has more bytes than the limit, its beginning, `~` and a hash of all of it.

    >>> cut('short', 12), cut('much-too-long', 12)
    ('short', 'muc~1c7b00c4')
    """
    data = name.encode()
    if len(data) <= limit:
        return name
    digest = hashlib.sha256(data).hexdigest()[:8]
    return f'{data[: limit - 9].decode(errors="ignore")}~{digest}'


def is_cut(name: str, limit: int) -> bool:
    """Whether `cut` may have written it; of a character that was split, up to three bytes are missing."""
    whole = re.fullmatch(rf'[\w+-]+{CUT}', name)
    return whole is not None and limit - 3 <= len(name.encode()) <= limit


def check_file_name(name: str) -> str:
    """The name itself, if a file and the folders and files of OpenCompass can be called so."""
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
