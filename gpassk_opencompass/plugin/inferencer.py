"""OpenCompass's generation inferencer, which also tells the model whose samples it draws."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.registry import ICL_INFERENCERS
from opencompass.utils import get_logger

from ..errors import IncompleteError, InputError
from .seeds import Sample


@ICL_INFERENCERS.register_module()
class SeededGenInferencer(GenInferencer):  # type: ignore[misc]
    """Generates like `GenInferencer` and announces (uid, replica) of each batch to a seeded model.

    The rows must have the columns `uid` and `replica` (`LiveMathBenchDataset` adds them). A model that
    takes no seeds is used as it is. A run killed in the middle of a write resumes from the last whole
    line instead of from nothing, and only with the samples that it was started with.
    """

    def inference(
        self,
        retriever: Any,
        ice_template: Any = None,
        prompt_template: Any = None,
        output_json_filepath: str | None = None,
        output_json_filename: str | None = None,
    ) -> list[Any]:
        """See `GenInferencer.inference`."""
        self._samples = _samples_of(retriever.dataset_reader.dataset['test'])
        folder = Path(output_json_filepath or self.output_json_filepath)
        name = Path(output_json_filename or self.output_json_filename)
        finished = folder / Path('tmp_' + name.name).with_suffix('.jsonl')
        drop_torn_line(finished)
        mark = mark_samples(finished, self._samples)
        result: list[Any] = super().inference(
            retriever, ice_template, prompt_template, output_json_filepath, output_json_filename
        )
        mark.unlink()
        return result

    def get_dataloader(self, datalist: Sequence[Any], batch_size: int | None) -> Any:
        """Batches of the rows still to do; they are the last ones of the shard."""
        batches = super().get_dataloader(datalist, batch_size)
        if not hasattr(self.model, 'seeds'):
            return batches
        return _Announced(batches, self._samples[len(self._samples) - len(datalist) :], self.model.seeds)


class _Announced:
    """A dataloader that announces the samples of each batch just before handing it out."""

    def __init__(self, batches: Any, samples: Sequence[Sample], seeds: Any) -> None:
        self._batches, self._samples, self._seeds = batches, samples, seeds

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[Any]:
        start = 0
        for batch in self._batches:
            self._seeds.announce(self._samples[start : start + len(batch)])
            start += len(batch)
            yield batch


def _samples_of(rows: Any) -> list[Sample]:
    missing = {'uid', 'replica'} - set(rows.column_names)
    if missing:
        raise InputError(
            f'the data set has no column {sorted(missing)}, only {rows.column_names}: seeds need to know '
            'which sample a row is; use gpassk_opencompass.LiveMathBenchDataset or add the columns'
        )
    return [Sample(uid, replica) for uid, replica in zip(rows['uid'], rows['replica'], strict=True)]


def mark_samples(finished: Path, samples: Sequence[Sample]) -> Path:
    """Note beside a resume file which samples its shard is for; refuse one that is for others.

    OpenCompass resumes by position. With another number of workers a shard of the same name has other
    rows, and the finished ones would silently stand for them.
    """
    mark = finished.with_suffix('.samples')
    digest = hashlib.sha256(repr([tuple(sample) for sample in samples]).encode()).hexdigest()
    if finished.exists() and (not mark.exists() or mark.read_text() != digest):
        raise IncompleteError(
            f'{finished} holds responses to other samples than this shard has: resume with the '
            '--max-num-workers and the data set of the start, or delete the file to lose them'
        )
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.write_text(digest)
    return mark


def drop_torn_line(path: Path) -> None:
    """Cut the half-written last line that a killed run left in its resume file.

    OpenCompass gives up the whole file, and with it all finished batches, when one line is no JSON.
    """
    if not path.exists():
        return
    data = path.read_bytes()
    whole = data[: data.rfind(b'\n') + 1]
    if len(whole) < len(data):
        get_logger().warning(f'{path}: dropped {len(data) - len(whole)} bytes of a half-written line')
        path.write_bytes(whole)
