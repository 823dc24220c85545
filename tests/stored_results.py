"""Results whose sample files say more than those of `gpassk score`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpassk_opencompass.record import read, write


def with_columns(path: Path, **columns: Any) -> None:
    """Write a result anew with more columns of its samples, a value for all of them; None: not known."""
    result = read(path)
    samples = result.samples()
    assert samples is not None
    more = {name: None if value is None else [value] * len(samples) for name, value in columns.items()}
    write(path, result.with_samples(samples.replace(**more)))
