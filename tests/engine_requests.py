"""What each engine sends for one sample, recorded behind OpenCompass's own inference task.

The path is the real one: template → config → `OpenICLInferTask` → model class. Recorded is what arrives where
a GPU or a provider would be: lmdeploy's pipeline, vLLM's `LLM.generate`, an HTTP server; transformers runs.
"""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from engine_fakes import ENGINES
from hosts import import_plugin, write_bench
from sweeping import configs_of as expand

QUESTIONS = [('What is 7 + 5?', '12'), ('What is 8 + 6?', '14'), ('What is 9 + 4?', '13')]
REPLICAS = 4
SAMPLING = {
    'temperatures': [0.8], 'top_ps': [0.95], 'top_ks': [40], 'repetition_penalties': [1.05],
    'max_out_lens': [16], 'random_seeds': [42], 'greedy': False, 'k_lists': [[4]], 'n': REPLICAS,
}  # fmt: skip


class Sent(NamedTuple):
    """One request: the question that it asks, its seed, and its other settings."""

    question: int
    seed: int | None
    settings: dict[str, Any]


class Outcome(NamedTuple):
    """A whole inference: what was sent, in order of arrival, and the predictions in order of rows."""

    sent: list[Sent]
    rows: list[dict[str, Any]]

    @property
    def predictions(self) -> list[str]:
        return [row['prediction'] for row in self.rows]


def question_in(text: Any) -> int:
    """Which question a prompt asks."""
    (found,) = [i for i, (question, _) in enumerate(QUESTIONS) if question in str(text)]
    return found


def config_of(engine: str, folder: Path, options: dict[str, Any], sampling: dict[str, Any]) -> dict[str, Any]:
    """The only config of a template for this engine, on three questions."""
    data = write_bench(folder / 'data', {'AMC_en': QUESTIONS})
    rows = {'dataset_path': str(data), 'dataset_splits': ['AMC'], 'dataset_languages': ['en']}
    (config,) = expand({'engine': engine, **options, **sampling, **rows}).values()
    return dict(config)


@contextmanager
def recorded(engine: str, sent: list[Sent]) -> Iterator[dict[str, Any]]:
    """Within this context the engine notes its requests in `sent`; gives its lines of a template."""

    def record(prompt, seed, settings):
        sent.append(Sent(question_in(prompt), seed, settings))

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter('ignore')
        with ENGINES[engine](patch, record) as options:
            yield options


def infer(engine: str, folder: Path, shards: int = 1, killed: bool = False, **sampling: Any) -> Outcome:
    """Sample 3 questions × 4 replicas; `killed`: nothing is kept behind the fourth, and it is resumed."""
    sent: list[Sent] = []
    with recorded(engine, sent) as options:
        config = config_of(engine, folder, options, {**SAMPLING, **sampling})
        tasks = _tasks(config, folder / 'work', shards)
        if killed:
            with pytest.MonkeyPatch.context() as breaking:
                _break_after_four(breaking, config['models'][0]['type'])
                with pytest.raises(RuntimeError, match='killed'):
                    tasks[0].run()
            tasks = _tasks(config, folder / 'work', shards)
        for task in tasks:
            task.run()
    return Outcome(sent, _rows(folder / 'work'))


def _tasks(config: dict[str, Any], work: Path, shards: int) -> list[Any]:
    """The tasks that OpenCompass's own partitioner makes of a run."""
    from mmengine.config import ConfigDict

    task = import_module('opencompass.tasks').OpenICLInferTask
    partitioner = import_module('opencompass.partitioners').NumWorkerPartitioner(
        str(work), num_worker=shards, min_task_size=1, dataset_size_path='', force_rebuild=True
    )
    dataset = ConfigDict(copy.deepcopy(config['datasets'][0]))
    parts = partitioner.split_dataset(dataset) if shards > 1 else [dataset]
    model = ConfigDict(copy.deepcopy(config['models'][0]))
    return [task(ConfigDict(models=[model], datasets=[[part]], work_dir=str(work))) for part in parts]


def _break_after_four(patch: pytest.MonkeyPatch, kind: str) -> None:
    model = getattr(import_plugin(), kind.rpartition('.')[2])
    sample, kept = model.sample, []

    def breaking(self, prompts, seeds, max_out_len, done, **more):
        def fewer(number, *told):
            if len(kept) == 4:
                raise RuntimeError('killed')
            kept.append(number)
            done(number, *told)

        if len(kept) == 4:
            raise RuntimeError('killed')
        return sample(self, prompts, seeds, max_out_len, fewer, **more)

    patch.setattr(model, 'sample', breaking)


def _rows(work: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for file in sorted(work.glob('predictions/*/*.json')):
        shard = json.loads(file.read_text(encoding='utf-8'))
        rows += [shard[str(i)] for i in range(len(shard))]
    return rows
