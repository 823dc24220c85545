"""Results whose sample files say more than those of `gpassk score`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gpassk_opencompass.results.read import read
from gpassk_opencompass.results.samples import write_samples


def with_columns(result: Path, **columns: Any) -> None:
    """Write its sample file anew with more columns, a value for all samples; None: not known."""
    known = dict(read(result).sample_columns(result.parent) or {})
    rows = len(known['uid'])
    for name, value in columns.items():
        known[name] = [value] * rows
    record = json.loads(result.read_text(encoding='utf-8'))
    write_samples(result, record, {name: column for name, column in known.items() if set(column) != {None}})
    result.write_text(json.dumps(record), encoding='utf-8')
