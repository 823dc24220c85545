"""Results whose sample files say more than those of `gpassk score`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpassk_opencompass.record import read, write


def with_columns(result: Path, **columns: Any) -> None:
    """Write its sample file anew with more columns, a value for all samples; None: not known."""
    found = read(result)
    samples = found.samples()
    assert samples
    told = {name: None if value is None else [value] * len(samples) for name, value in columns.items()}
    write(result, found.with_samples(samples.replace(**told)))
