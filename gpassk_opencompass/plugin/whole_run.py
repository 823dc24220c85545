"""The samples of a whole run, where a task has a shard of them: what is taken is decided for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mmengine.config import ConfigDict
from opencompass.openicl.icl_retriever import ZeroRetriever
from opencompass.registry import ICL_RETRIEVERS
from opencompass.utils import build_dataset_from_cfg, dataset_abbr_from_cfg

from .handover import Sample
from .task import task_of_run


class WholeRun(NamedTuple):
    """What a run asks of a data set, in all shards."""

    name: str
    """Of the data set."""
    samples: Sequence[Sample]
    prompts: Sequence[Any]
    """Of each sample, as it is sent."""


def whole_run(
    predictions: Path, prompts_of: Callable[[Any], Sequence[Any]], samples_of: Callable[[Any], list[Sample]]
) -> WholeRun | None:
    """Read the data set of a run once more, without its division into shards.

    Args:
        predictions: of the shard.
        prompts_of: gives the prompts of all rows of a retriever, as they are sent.
        samples_of: gives the samples that rows are.

    Returns:
        None where the task has the whole data set, or no config of the run tells.
    """
    task = task_of_run(predictions.with_suffix(''))
    if task is None:
        return None
    entry = ConfigDict(task.dataset)
    dataset = build_dataset_from_cfg(entry)
    retriever = ICL_RETRIEVERS.build({**entry.infer_cfg.retriever, 'dataset': dataset})
    samples = samples_of(retriever.test_ds)
    if isinstance(retriever, ZeroRetriever):  # all replicas of a question have one prompt
        rows = {sample.uid: row for row, sample in enumerate(samples)}
        retriever.test_ds = retriever.test_ds.select(rows.values())
        prompts = dict(zip(rows, prompts_of(retriever), strict=True))
        return WholeRun(dataset_abbr_from_cfg(entry), samples, [prompts[sample.uid] for sample in samples])
    return WholeRun(dataset_abbr_from_cfg(entry), samples, prompts_of(retriever))
