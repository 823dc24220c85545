"""Parquet files that somebody gave, which may be damaged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from pyarrow import parquet  # type: ignore[import-untyped]


@contextmanager
def opened_parquet(path: str | os.PathLike[str]) -> Iterator[parquet.ParquetFile]:
    """Open a Parquet file; what is wrong with it, there or in the block, is told as an InputError.

    Raises:
        InputError: it cannot be read, or holds what Python has no value for.
    """
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except (OSError, ValueError, KeyError, OverflowError, MemoryError, pyarrow.ArrowException) as error:
        # OverflowError: a date or a duration that Python has no value for.
        raise (
            error if isinstance(error, InputError) else InputError(f'{path} cannot be read: {error}')
        ) from error
