"""The benchmarks beside LiveMathBench as OpenCompass data sets, with the same columns and prompts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from datasets import Dataset
from opencompass.datasets import Aime2024Dataset, CustomDataset, OlymMATHDataset
from opencompass.registry import LOAD_DATASET
from opencompass.utils.datasets_info import DATASETS_MAPPING

from ..errors import InputError
from ..questions.benchmarks import benchmark_rows
from ..questions.files import HUB_ERRORS, Listing, rows_of
from .dataset import ReplicatedDataset, with_prompts

OPENCOMPASS: Mapping[str, Callable[[str, str | None], Any]] = {
    'opencompass/aime2024': lambda path, subset: Aime2024Dataset.load(path),
    'opencompass/aime2025': lambda path, subset: CustomDataset.load(path),
    'RUC-AIBOX/OlymMATH': OlymMATHDataset.load,
}
"""Where OpenCompass's own class knows the data: its name for them, and how they are loaded."""


@LOAD_DATASET.register_module(name='GPassKBenchmarkDataset')
class BenchmarkDataset(ReplicatedDataset):
    """MATH500-L5, AIME, OlymMATH or a benchmark of another package, n rows a question.

    Rows have the columns of `LiveMathBenchDataset`: question, answer, prompt (the protocol's, in the
    question's language, unless the benchmark has its own), `uid`, `problem`
    (one for both languages), split, language, source, and `replica`.
    What a benchmark is called, its number of questions and its default source are in `question_sets`.

    Args:
        benchmark: a name of `question_sets.BENCHMARKS`, e.g. 'aime2024'.
        path: a folder with the benchmark's files (`aime2024.jsonl`), such a file, a copy of a hub data set,
            or a hub name. A line is an object with question, problem, prompt or origin_prompt, and answer
            or gold_answer; optional unique_id, subject; for MATH500 level. Default: OpenCompass's own copy
            of AIME2024 and AIME2025 (it downloads them), the hub for the others.
        cot: ask for step-by-step reasoning, as the protocol does.
        revision: a commit, branch or tag of a hub data set; without it, OpenCompass's own copy is not used.
        k, n: of G-Pass@k; n samples are drawn a question, every k at most n.
        abbr, reader_cfg: see OpenCompass.

    Raises:
        InputError: naming the file and line, and what was expected; also if questions are missing, too
            many or there twice, for then the numbers would not be those of the benchmark.
    """

    @staticmethod
    def load(benchmark: str, path: str = '', cot: bool = True, revision: str | None = None) -> Dataset:
        """Load the questions, one row each."""
        return with_prompts(benchmark_rows(benchmark, path, LOADERS, revision), cot)


def _load_with_opencompass(path: str, subset: str | None, alternative: str) -> Listing:
    try:
        loaded = OPENCOMPASS[path](path, subset)
    except (*HUB_ERRORS, AssertionError, KeyError, RuntimeError) as error:
        place = DATASETS_MAPPING.get(path, {}).get('local')
        own = f'put its copy at {place} (below $COMPASS_DATA_CACHE, if set), or ' if place else ''
        raise InputError(
            f'OpenCompass cannot load {path}: {type(error).__name__}: {error}\n'
            f'Without a network, {own}{alternative}'
        ) from error
    return rows_of(loaded, path, subset)


LOADERS = {path: _load_with_opencompass for path in OPENCOMPASS}
"""Hub names that OpenCompass loads with its own classes."""
