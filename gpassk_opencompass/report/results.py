"""Result files of many runs, found and read: the newest complete one of each run counts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..record import SCHEMA
from ..sweep.names import DatasetName, ModelName, Settings
from ..uncertainty import Interval, kernel_of, mean_interval, value_table

Floats = NDArray[np.float64]

_Name = TypeVar('_Name')


@dataclass(frozen=True)
class Result:
    """One result file: a model with its settings on one benchmark.

    `model_abbr` and `dataset_abbr` are those of OpenCompass; `host` is who ran it.
    """

    model_abbr: str
    dataset_abbr: str
    record: Mapping[str, Any]
    path: Path
    host: str = 'opencompass'

    @property
    def block(self) -> Mapping[str, Any]:
        """`gpassk` of the record: counts and what they rest on."""
        block: Mapping[str, Any] = self.record['gpassk']
        return block

    @cached_property
    def model(self) -> str:
        """The model's name without its settings."""
        name = _parsed(ModelName.parse, self.model_abbr)
        return name.model if name else self.model_abbr

    @cached_property
    def settings(self) -> Settings | None:
        """The sampling settings, as far as the abbreviation tells them."""
        name = _parsed(ModelName.parse, self.model_abbr)
        return name.settings if name else None

    @cached_property
    def benchmark(self) -> str:
        """The benchmark's name without k and n."""
        name = _parsed(DatasetName.parse, self.dataset_abbr)
        return name.label if name else re.sub(r'-k[0-9_]+-[rn][0-9]+$', '', self.dataset_abbr)

    @property
    def n(self) -> int:
        """Samples a question."""
        return int(self.block['n'])

    @property
    def greedy(self) -> bool:
        """One answer a question, at temperature 0 as far as is known."""
        return self.n == 1 and (self.settings is None or self.settings.greedy)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Correct answers of each question, shape (Q,)."""
        return np.asarray(self.block['counts']['c'], dtype=np.int64)

    @property
    def uids(self) -> list[str]:
        """The questions."""
        return list(self.block['counts']['uid'])

    @property
    def problems(self) -> list[str]:
        """The source problem of each question."""
        return list(self.block['counts']['problem'])

    @property
    def groups(self) -> list[str]:
        """`{split}_{language}` of each question."""
        return list(self.block['counts']['group'])

    def values(self, metric: str) -> Floats:
        """The metric of each question, from 0 to 1, for any k ≤ n and any τ; shape (Q,).

        Raises:
            InputError: no such metric, or k > n.
        """
        return value_table(kernel_of(metric), self.n)[self.counts]

    def interval(self, metric: str, level: float = 0.95) -> Interval:
        """The mean of the metric with its interval for new questions of the same kind."""
        return mean_interval(self.values(metric), self.problems, level)


def read_results(folders: Sequence[Path]) -> tuple[list[Result], list[str]]:
    """All results of G-Pass@k below the folders, and what could not be read.

    A result is `results/<model>/<dataset>.json` of an OpenCompass work directory. Of several with the same
    model and data set the newest complete one counts, by the time that names its folder.

    Returns:
        Results, sorted by benchmark and model, and one line for each file that was passed over.

    Raises:
        InputError: a folder is missing.
    """
    newest: dict[tuple[str, str], Result] = {}
    passed_over = []
    for path in sorted((file for folder in folders for file in _files(folder)), key=_age):
        try:
            result = read_result(path)
        except InputError as error:
            passed_over.append(str(error))
            continue
        newest[result.model_abbr, result.dataset_abbr] = result
    results = sorted(newest.values(), key=lambda r: (r.benchmark, r.model, r.model_abbr, r.dataset_abbr))
    return results, passed_over


def read_result(path: Path) -> Result:
    """One result file.

    Raises:
        InputError: it cannot be read, or is no result of G-Pass@k.
    """
    try:
        record = json.loads(path.read_text(encoding='utf-8'))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f'{path} cannot be read: {error}') from error
    block = record.get('gpassk') if isinstance(record, dict) else None
    if not isinstance(block, dict):
        raise InputError(f'{path} is no result of G-Pass@k: it has no "gpassk"')
    _check(path, block)
    return Result(path.parent.name, path.stem, record, path)


def _check(path: Path, block: Mapping[str, Any]) -> None:
    """That the parts on which everything rests are there and fit together."""
    if block.get('schema') != SCHEMA:
        raise InputError(f'{path} has schema {block.get("schema")!r}; this version reads {SCHEMA}')
    n, counts = block.get('n'), block.get('counts')
    if not isinstance(n, int) or n < 1 or not isinstance(counts, dict):
        raise InputError(f'{path} is damaged: n = {n!r}; expected a whole number, and counts')
    columns = [counts.get(name) for name in ('uid', 'problem', 'group', 'c')]
    lists = [column for column in columns if isinstance(column, list)]
    if len(lists) != len(columns) or len({len(column) for column in lists}) != 1 or not lists[0]:
        raise InputError(f'{path} is damaged: counts need uid, problem, group and c, one entry a question')
    if not all(isinstance(c, int) and 0 <= c <= n for c in lists[-1]):
        raise InputError(f'{path} is damaged: expected counts 0 <= c <= n = {n}')


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise InputError(f'{folder} is no folder; give a work directory of OpenCompass or one above several')
    return [path for path in folder.rglob('results/*/*.json') if path.is_file()]


def _age(path: Path) -> tuple[str, str]:
    """OpenCompass names a folder by the time of its start, YYYYMMDD_HHMMSS, which sorts."""
    return path.parents[2].name, str(path)


def _parsed(parse: Callable[[str], _Name], text: str) -> _Name | None:
    try:
        return parse(text)
    except InputError:
        return None
