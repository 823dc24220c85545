"""OpenCompass's generation inferencer, which also tells the model whose samples it draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opencompass.openicl.icl_inferencer import GenInferencer, icl_gen_inferencer
from opencompass.openicl.icl_inferencer.icl_base_inferencer import GenInferencerOutputHandler
from opencompass.registry import ICL_INFERENCERS

from ..errors import InputError
from ..unseen import json_text
from .journal import Journal
from .seeds import Sample


@ICL_INFERENCERS.register_module()
class SeededGenInferencer(GenInferencer):  # type: ignore[misc]
    """Generates like `GenInferencer` and announces (uid, replica) of each batch to a seeded model.

    The rows must have the columns `uid` and `replica` (`LiveMathBenchDataset` adds them). A model that
    takes no seeds is used as it is. A run killed in the middle of a write resumes from the last whole
    line instead of from nothing, and only with the samples that it was started with. Of two tasks with one
    shard the later one goes on, and the predictions appear in one step (see `Journal`).
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
        self._journal = Journal(folder / (output_json_filename or self.output_json_filename), self._samples)
        result: list[Any] = []  # what is returned nobody reads
        if not self._journal.claim():
            with _any_response_written():
                result = super().inference(
                    retriever, ice_template, prompt_template, str(folder), self._journal.draft.name
                )
        self._journal.publish()
        return result

    def get_dataloader(self, datalist: Sequence[Any], batch_size: int | None) -> Any:
        """Batches of the rows still to do; they are the last ones of the shard."""
        batches = super().get_dataloader(datalist, batch_size)
        seeds = getattr(self.model, 'seeds', None)

        def announce(samples: Sequence[Sample]) -> None:
            self._journal.check()
            if seeds is not None:
                seeds.announce(samples)

        return _Announced(batches, self._samples[len(self._samples) - len(datalist) :], announce)


class ResponseFiles(GenInferencerOutputHandler):  # type: ignore[misc]
    """Writes the resume file and the predictions of OpenCompass, whatever characters a response has.

    Its own handler stops at half a character (`\\ud800`, which an engine may read from JSON), at every try
    again; and when it resumes it takes U+2028 and others for line breaks, and generates everything anew.
    """

    def write_to_jsonl(self, save_dir: str, filename: str) -> None:
        """Add the rows that are new; their JSON has no character that ends a line."""
        new = [idx for idx in self.results_dict if idx not in self.dumped_indices]
        lines = [json_text({'idx': idx, **self.results_dict[idx]}) for idx in new]
        with (Path(save_dir) / filename).open('a', encoding='utf-8') as file:
            file.write(''.join(f'{line}\n' for line in lines))
        self.dumped_indices.update(new)

    def write_to_json(self, save_dir: str, filename: str) -> None:
        """Write all rows, in the layout of OpenCompass."""
        (Path(save_dir) / filename).write_text(json_text(self.results_dict, indent=4), encoding='utf-8')


@contextmanager
def _any_response_written() -> Iterator[None]:
    """`GenInferencer.inference` makes its handler by this name, and offers no other way to give it one."""
    own = icl_gen_inferencer.GenInferencerOutputHandler
    icl_gen_inferencer.GenInferencerOutputHandler = ResponseFiles
    try:
        yield
    finally:
        icl_gen_inferencer.GenInferencerOutputHandler = own


class _Announced:
    """A dataloader that announces the samples of each batch just before handing it out."""

    def __init__(
        self, batches: Any, samples: Sequence[Sample], announce: Callable[[Sequence[Sample]], None]
    ) -> None:
        self._batches, self._samples, self._announce = batches, samples, announce

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[Any]:
        start = 0
        for batch in self._batches:
            self._announce(self._samples[start : start + len(batch)])
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
