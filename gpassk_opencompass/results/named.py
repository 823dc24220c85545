"""By which names results are known, for who need not read them."""

from __future__ import annotations

from pathlib import Path


def is_named_as_result(path: Path) -> bool:
    """Whether a file is a result by its name and place, whatever is in it.

    >>> is_named_as_result(Path('a/results/model/data.json')), is_named_as_result(Path('rows.jsonl'))
    (True, False)
    """
    if path.name.endswith('.gpassk.json') or path.suffix == '.parquet':  # a sample file is refused by `read`
        return True
    return path.suffix == '.json' and path.parent.parent.name == 'results'
