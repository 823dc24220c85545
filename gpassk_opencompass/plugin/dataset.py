"""LiveMathBench and the other benchmarks as OpenCompass data sets: n rows a question."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow  # type: ignore[import-untyped]
from datasets import Dataset
from datasets.table import InMemoryTable
from opencompass.datasets import Aime2024Dataset, CustomDataset, OlymMATHDataset
from opencompass.datasets.base import BaseDataset
from opencompass.datasets.livemathbench import LiveMathBenchDataset as ProtocolDataset
from opencompass.registry import LOAD_DATASET
from opencompass.utils import get_logger
from opencompass.utils.datasets_info import DATASETS_MAPPING

from ..benchmarks import (
    HUB_ERRORS,
    STANDARD_LANGUAGES,
    STANDARD_SPLITS,
    HubPart,
    Listing,
    dataset_rows,
    limited,
    rows_of,
)
from ..errors import InputError
from ..record import digest_of

LIMITS = 'gpassk_limits'
"""The column that tells of a trial, the same JSON in each row: limit, of; a whole run has none."""


class ReplicatedRows(Dataset):  # type: ignore[misc]
    """Rows that are quick to go through one by one, as OpenCompass does for the references."""

    @classmethod
    def repeat(cls, rows: Dataset, n: int, abbr: str) -> ReplicatedRows:
        """Return n rows a question, replica by replica; their texts lie in memory once."""
        questions = len(rows)
        table = rows.data.table.append_column('subdivision', pyarrow.array([abbr] * questions, 'string'))
        table = table.append_column('idx', pyarrow.array(range(questions), 'int64'))
        replicas = pyarrow.array([replica for replica in range(n) for _ in range(questions)], 'int64')
        table = pyarrow.concat_tables([table] * n).append_column('replica', replicas)
        # OpenCompass fills a template column by column: what stands in the last one is not taken for another.
        last = [name for name in ('question', 'prompt') if name in table.column_names]
        table = table.select([*(name for name in table.column_names if name not in last), *last])
        table = table.replace_schema_metadata(None)  # of the features of `rows`, which are fewer
        mark = digest_of([rows._fingerprint, n, abbr])[:16]
        return cls(InMemoryTable(table), fingerprint=mark)

    def __iter__(self) -> Iterator[Any]:
        """Yield each row as `Dataset` does, decoded many at a time: that takes a tenth of the time."""
        if self.format['type'] is not None:
            yield from super().__iter__()
            return
        for batch in self.iter(1000):
            names = list(batch)
            for values in zip(*batch.values(), strict=True):
                yield dict(zip(names, values, strict=True))


class ReplicatedDataset(BaseDataset):  # type: ignore[misc]
    """A data set with n rows a question, each row knowing which sample it is.

    Rows lie replica by replica (row = replica × Q + question). To the columns of `load` come `replica`, and
    OpenCompass's subdivision and idx, and `gpassk_limits` in a trial.

    Args:
        k, n: of G-Pass@k; n samples are drawn a question, every k at most n.
        limit: make a trial of so many of the questions, see `benchmarks.limited`. They keep their uids, so
            their samples have the seeds that they have in a whole run. The result is marked.
        abbr, reader_cfg: see OpenCompass.
    """

    def __init__(
        self,
        reader_cfg: Mapping[str, Any] | None = None,
        k: int | Sequence[int] = 1,
        n: int = 1,
        abbr: str = 'dataset',
        limit: int | None = None,
        **kwargs: Any,
    ) -> None:
        ks = [k] if isinstance(k, int) else list(k)
        if not isinstance(n, int) or n < 1:
            raise InputError(f'n = {n!r}: expected a number of samples a question, 1 or more')
        if not ks or any(not isinstance(value, int) or not 1 <= value <= n for value in ks):
            raise InputError(f'k = {k!r} with n = {n}: every k must be a whole number from 1 to n')
        rows = self.load(**kwargs)
        if limit is not None:
            marks = json.dumps({'limit': limit, 'of': len(rows)})
            places = limited(list(zip(rows['split'], rows['language'], strict=True)), limit)
            if limit >= len(rows):
                get_logger().info(f'{abbr}: limit = {limit} of {len(rows)} questions: all are asked')
            rows = Dataset.from_dict(rows[places], features=rows.features)
            rows = rows.add_column(LIMITS, [marks] * len(rows))
        self.dataset = ReplicatedRows.repeat(rows, n, abbr)
        self._init_reader(**(reader_cfg or {}))


# OpenCompass has a class of this name, which must stay what it is for those who use it.
@LOAD_DATASET.register_module(name='GPassKLiveMathBenchDataset')
class LiveMathBenchDataset(ReplicatedDataset):
    """LiveMathBench, with the config fields of OpenCompass's own class and those of `ReplicatedDataset`.

    Columns are question, answer, question_type, options, prompt, `uid` (version, split, language and a hash
    of the question), `problem` (one for both languages where the files are parallel), split, language and
    `source` (the file and its hash, or the hub's commit).

    Args:
        path: a folder with `<version>/<SPLIT>_<lang>.jsonl`, a folder with a copy of the hub data set, or
            a hub name such as `opencompass/LiveMathBench` (gated: ask for access on its page).
        version: '202412' (splits CNMO, CCEE, AMC, WLPMC, hard; languages cn, en) or '202505' (all_en,
            hard_en); others pass through.
        dataset_splits, dataset_languages: every split × language is loaded, in this order.
        cot: ask for step-by-step reasoning, as the protocol does.
        revision: a commit, branch or tag of the hub data set.
    """

    @staticmethod
    def load(
        path: str,
        version: str = '202412',
        dataset_splits: Sequence[str] = STANDARD_SPLITS,
        dataset_languages: Sequence[str] = STANDARD_LANGUAGES,
        cot: bool = True,
        revision: str | None = None,
    ) -> Dataset:
        """Load the questions, one row each."""
        part = {'dataset_splits': dataset_splits, 'dataset_languages': dataset_languages}
        rows = dataset_rows({'path': path, 'revision': revision, 'version': version, **part})
        return _with_prompts(rows, cot)


@LOAD_DATASET.register_module(name='GPassKBenchmarkDataset')
class BenchmarkDataset(ReplicatedDataset):
    """MATH500-L5, AIME, OlymMATH or a benchmark of one's own, with the fields of `ReplicatedDataset`.

    Rows have the columns of `LiveMathBenchDataset`, with the protocol's prompt in the question's language.
    What a benchmark is called, its number of questions and its default source are in `benchmarks`.

    Args:
        benchmark: a name of `benchmarks.BENCHMARKS`, e.g. 'aime2024'; any other with `fields`.
        fields: of a benchmark of one's own, which fields of a row are the `question` and the `answer`.
        path: a folder with the benchmark's files (`aime2024.jsonl`), such a file, a copy of a hub data set,
            or a hub name. A line is an object with question, problem, prompt or origin_prompt, and answer
            or gold_answer; optional unique_id, subject; for MATH500 level. Default: OpenCompass's own copy
            of AIME2024 and AIME2025 (it downloads them), the hub for the others.
        cot: ask for step-by-step reasoning, as the protocol does.
        revision: a commit, branch or tag of a hub data set; with it, OpenCompass's own copy is not used.
    """

    @staticmethod
    def load(
        benchmark: str,
        path: str = '',
        cot: bool = True,
        revision: str | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> Dataset:
        """Load the questions, one row each."""
        which = {'benchmark': benchmark, 'path': path, 'revision': revision, 'fields': fields}
        return _with_prompts(dataset_rows(which, dict.fromkeys(_OF_OPENCOMPASS, _load_with_opencompass)), cot)


_OF_OPENCOMPASS: Mapping[str, Callable[[str, str | None], Any]] = {
    'opencompass/aime2024': lambda path, subset: Aime2024Dataset.load(path),
    'opencompass/aime2025': lambda path, subset: CustomDataset.load(path),
    'RUC-AIBOX/OlymMATH': OlymMATHDataset.load,
}
"""Where OpenCompass's own class knows the data: its name for them, and how they are loaded."""


def _load_with_opencompass(part: HubPart) -> Listing:
    path = part.path
    try:
        loaded = _OF_OPENCOMPASS[path](path, part.subset)
    except (*HUB_ERRORS, AssertionError, KeyError, RuntimeError) as error:
        place = DATASETS_MAPPING.get(path, {}).get('local')
        own = f'put its copy at {place} (below $COMPASS_DATA_CACHE, if set), or ' if place else ''
        raise InputError(
            f'OpenCompass cannot load {path}: {type(error).__name__}: {error}\n'
            f'Without a network, {own}{part.alternative}'
        ) from error
    return rows_of(loaded, part)


def _with_prompts(rows: Sequence[Mapping[str, Any]], cot: bool) -> Dataset:
    """Return the rows with the protocol's prompt in the question's language."""
    prompts = _protocol_prompts(tuple(dict.fromkeys(row['language'] for row in rows)), cot)
    told = [
        {**row, 'prompt': prompts[row['language']].replace('{question}', row['question'])} for row in rows
    ]
    # With a fingerprint: finding one takes a tenth of a second.
    return Dataset(InMemoryTable(pyarrow.Table.from_pylist(told)), fingerprint=digest_of(told)[:16])


@cache
def _protocol_prompts(languages: tuple[str, ...], cot: bool) -> dict[str, str]:
    """Return the prompt of OpenCompass's own class in each language, `{question}` in the question's place."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, 'probe').mkdir()
        for language in languages:
            Path(folder, 'probe', f'probe_{language}.jsonl').write_text('{"question": "{question}"}\n')
        parts = {'dataset_splits': ['probe'], 'dataset_languages': list(languages)}
        rows = ProtocolDataset.load(path=folder, version='probe', cot=cot, **parts)
    return dict(zip(languages, rows['prompt'], strict=True))
