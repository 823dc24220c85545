"""Data sets with some of their questions: ours by an argument, those of OpenCompass in a wrapper."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from datasets import Dataset, DatasetDict, concatenate_datasets
from opencompass.datasets.base import BaseDataset
from opencompass.registry import LOAD_DATASET
from opencompass.utils import get_logger

from ..errors import InputError
from ..questions.limits import limited

LIMITS = 'gpassk_limits'
"""The column with what made a run smaller, the same JSON in each row; a whole run has none."""

GROUPS = ('split', 'language')
"""Columns that name the group of a question, as far as a data set has them."""

_NOT_LOADED = ('reader_cfg', 'infer_cfg', 'eval_cfg', 'abbr', 'k', 'n')
"""Fields of a data set's config that its `load` does not take."""


def limited_rows(rows: Dataset, limit: int | None, samples: int | None, abbr: str) -> Dataset:
    """Return the first questions of each group, see `questions.limits`, with the column `LIMITS`.

    Args:
        rows: one a question.
        limit: how many questions; None for all.
        samples: n, where `--samples` said it.
        abbr: for a line that says so where the limit is above the number of questions.

    Raises:
        InputError: a limit that is none.
    """
    if limit is None and samples is None:
        return rows
    marks: dict[str, int] = {}
    if limit is not None:
        names = [name for name in GROUPS if name in rows.column_names]
        columns = [rows[name] for name in names]
        places = limited(list(zip(*columns, strict=True)) if columns else [()] * len(rows), limit)
        marks |= {'limit': limit, 'of': len(rows)}
        if limit >= len(rows):
            get_logger().info(f'{abbr}: limit = {limit}, and there are {len(rows)} questions: all are asked')
        rows = Dataset.from_dict(rows[places], features=rows.features)
    if samples is not None:
        marks['samples'] = samples
    return rows.add_column(LIMITS, [json.dumps(marks)] * len(rows))


def limits_of(rows: Any) -> dict[str, int]:
    """Return what made a run smaller, of the rows of its data set: limit, of, samples; else {}."""
    if LIMITS not in rows.column_names or not len(rows):
        return {}
    marks: dict[str, int] = json.loads(rows[0][LIMITS])
    return marks


def check_samples(samples: int | None, n: int) -> None:
    """Raise InputError where `samples`, which says that n was set with --samples, is not n."""
    if samples is not None and samples != n:
        raise InputError(f'samples = {samples!r} with n = {n!r}: where --samples set n, both are the same')


# It is a data set of OpenCompass itself, and does what BaseDataset does with what it has left.
@LOAD_DATASET.register_module(name='GPassKLimitedDataset')
class LimitedDataset(BaseDataset):  # type: ignore[misc]
    """Some questions of any data set of OpenCompass, n rows a question.

    `reader_cfg.test_range` is no way to have fewer: OpenCompass applies it to the n × Q rows. Of a data set
    with several splits, the one that is asked (`reader_cfg.test_split`) is limited, examples for the prompts
    are not.

    Args:
        of: the config of the data set, `dict(type=…, path=…, …)`.
        limit, samples: see `ReplicatedDataset`; groups are told by columns `split` and `language`, and
            without these the first questions are taken.
        k, n, abbr, reader_cfg: see OpenCompass.

    Raises:
        InputError: a class that is not known or makes its rows in its own way, or a split that it has not.
    """

    def __init__(
        self,
        of: Mapping[str, Any],
        limit: int | None = None,
        samples: int | None = None,
        reader_cfg: Mapping[str, Any] | None = None,
        k: int | Sequence[int] = 1,
        n: int = 1,
        abbr: str = 'dataset',
    ) -> None:
        check_samples(samples, n)
        reader = dict(reader_cfg or {})
        loaded = _load(of)
        if isinstance(loaded, Dataset):
            self.dataset = _replicated(limited_rows(loaded, limit, samples, abbr), abbr, n)
        else:
            asked = reader.get('test_split') or 'test'
            if asked not in loaded:
                raise InputError(f'{abbr}: no split {asked!r} to take {limit} questions of: {list(loaded)}')
            loaded[asked] = limited_rows(loaded[asked], limit, samples, abbr)
            self.dataset = DatasetDict(
                {name: _replicated(rows, f'{abbr}_{name}', n) for name, rows in loaded.items()}
            )
        self._init_reader(**reader)


def _load(of: Mapping[str, Any]) -> Dataset | DatasetDict:
    kind = of.get('type')
    found: Any = kind if isinstance(kind, type) else LOAD_DATASET.get(str(kind))
    if found is None:
        raise InputError(
            f'of = {dict(of)!r:.200}: expected dict(type=…) of a data set that OpenCompass knows'
        )
    if found.__init__ is not BaseDataset.__init__:
        raise InputError(
            f'{found.__name__} makes its rows in a way of its own, so it cannot be limited from outside: run '
            'it without --limit and --samples'
        )
    return found.load(**{name: value for name, value in of.items() if name not in (*_NOT_LOADED, 'type')})


def _replicated(rows: Dataset, abbr: str, n: int) -> Dataset:
    """Return n copies with the columns subdivision and idx, as BaseDataset makes them."""
    taken = [name for name in ('subdivision', 'idx') if name in rows.column_names]
    rows = rows.remove_columns(taken).add_column('subdivision', [abbr] * len(rows))
    return concatenate_datasets([rows.add_column('idx', list(range(len(rows))))] * n)
