"""OpenCompass's generation inferencer, which also tells the model whose samples it draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

from opencompass.openicl.icl_inferencer import GenInferencer, icl_gen_inferencer
from opencompass.openicl.icl_inferencer.icl_base_inferencer import GenInferencerOutputHandler
from opencompass.openicl.icl_retriever import ZeroRetriever
from opencompass.registry import ICL_INFERENCERS

from ..errors import IncompleteError, InputError
from ..files import read_json, replace_file
from ..record import digest_of
from ..text import json_text
from .handover import Answered, Sample
from .journal import Journal
from .predictions import write_seal
from .provenance import claim, provenance_of
from .rows import Asked, asked_of, check_rows, fingerprint, fingerprints_digest
from .served import ServerNotes
from .task import current_task, difference
from .unusual import MOST_FAILED, UnusualSamples, check_most_failed


@ICL_INFERENCERS.register_module()
class SeededGenInferencer(GenInferencer):  # type: ignore[misc]
    """Generates like `GenInferencer` and announces (uid, replica) of each batch to a seeded model.

    The rows must have the columns `uid` and `replica` (`LiveMathBenchDataset` adds them). A model that
    takes no seeds is used as it is. Each row of the predictions says in `sample` which sample it is, its seed
    and a fingerprint of all that it was drawn from, and in `generation` what the engine told of it (see
    `health`), as far as the model notes it in `generations`.

    A run killed in the middle of a write resumes from the last whole line instead of from nothing, and only
    with what it was started with: data, prompts, model, settings. Of two tasks with one shard the later one
    goes on, and the predictions appear in one step (see `Journal`).

    Args:
        most_failed: the share of the samples of a shard that may be no usual response, see
            `health.STATES`; above it, and above 8, the run ends before the rows of that batch are
            written.
        arguments, more: as for `GenInferencer`.

    Raises:
        InputError: `most_failed` is no share.
    """

    model: Any

    def __init__(self, *arguments: Any, most_failed: float = MOST_FAILED, **more: Any) -> None:
        self._most_failed = check_most_failed(most_failed)
        super().__init__(*arguments, **more)

    def inference(
        self,
        retriever: Any,
        ice_template: Any = None,
        prompt_template: Any = None,
        output_json_filepath: str | None = None,
        output_json_filename: str | None = None,
    ) -> list[Any]:
        """See `GenInferencer.inference`."""
        reader = retriever.dataset_reader
        rows = reader.dataset['test']
        self._samples = _samples_of(rows)
        folder = Path(output_json_filepath or self.output_json_filepath)
        predictions = folder / (output_json_filename or self.output_json_filename)
        task = current_task(predictions.with_suffix(''), 'predictions')
        inference = {} if task is None else task.inference_settings
        asked = asked_of(rows, rows[reader.output_column] if reader.output_column else None, inference)
        known = claim(folder, provenance_of(task, self.model))
        settings = known.digest(inference)
        drawn_from = digest_of([settings, list(asked), _shots_of(retriever)])
        self._journal = Journal(predictions, drawn_from, len(self._samples), inference)
        if isinstance(notes := getattr(getattr(self.model, 'chats', None), 'notes', None), ServerNotes):
            notes.keep_in(folder)
        result: list[Any] = []  # what is returned nobody reads
        if not self._journal.claim(partial(_compare, asked, inference, predictions)):
            size, earlier = len(self._samples), self._journal.states()
            unusual = UnusualSamples(predictions.stem, size, self._most_failed, earlier)
            self._answered = Answered(getattr(self.model, 'generations', None), unusual.add)
            with _any_response_written(self._said_of):
                result = super().inference(
                    retriever, ice_template, prompt_template, str(folder), self._journal.draft.name
                )
            unusual.report()
        self._journal.publish(partial(self._seal, predictions, asked, settings, inference))
        return result

    def _said_of(self, row: int) -> dict[str, Any]:
        """Return what a row of the resume file says beside its response."""
        told = self._answered.of_row(row).as_json()
        return {'generation': told} if told else {}

    def _seal(
        self, predictions: Path, asked: Asked, settings: str, inference: Mapping[str, Any], draft: Path
    ) -> None:
        """Write into each row of the draft which sample it is, and note beside it what it holds."""
        rows = read_json(draft)
        # A model of one's own may take seeds and not say them.
        seed_of = getattr(getattr(self.model, 'seeds', None), 'seed_of', None)
        for number, sample in enumerate(self._samples):
            row = rows[str(number)]
            seed = None if seed_of is None else seed_of(sample)
            question = asked.texts[0][number] if asked.texts else ''
            mark = fingerprint(question, row.get('gold'), row.get('origin_prompt'), settings, sample, seed)
            row['sample'] = {**sample._asdict(), 'seed': seed, 'settings': settings, 'fingerprint': mark}
        replace_file(draft, json_text(rows, indent=4).encode(), draft.with_name(f'{draft.name}.whole'))
        write_seal(predictions, draft, fingerprints_digest(list(rows.values())), inference)

    def get_dataloader(self, datalist: Sequence[Any], batch_size: int | None) -> Any:
        """Return batches of the rows still to do, which are the last ones of the shard."""
        done = len(self._samples) - len(datalist)
        self._answered.skip(done)
        return _Announced(super().get_dataloader(datalist, batch_size), done, self._announce)

    def _announce(self, first: int, count: int) -> None:
        """Say whose prompts come next."""
        self._journal.check()
        self._answered.begin(count)
        samples = self._samples[first : first + count]
        seeds = getattr(self.model, 'seeds', None)
        if seeds is not None:
            seeds.announce(samples)


class ResponseFiles(GenInferencerOutputHandler):  # type: ignore[misc]
    """Writes the resume file and the predictions of OpenCompass, whatever characters a response has.

    Its own handler stops at half a character (`\\ud800`, which an engine may read from JSON), at every try
    again; and when it resumes it takes U+2028 and others for line breaks, and generates everything anew.

    Args:
        said_of: gives the fields that a row which was just generated has beside its response.
    """

    def __init__(self, said_of: Callable[[int], Mapping[str, Any]] = lambda row: {}) -> None:
        super().__init__()
        self._said_of = said_of

    def save_results(self, origin_prompt: Any, prediction: Any, idx: int, *args: Any, **kwargs: Any) -> None:
        """Keep a row; what its engine said, and who drew it, goes into fields of its own."""
        super().save_results(origin_prompt, prediction, idx, *args, **kwargs)
        told = self._said_of(idx)
        if isinstance(prediction, str):
            self.results_dict[str(idx)].update(told)

    def write_to_jsonl(self, save_dir: str, filename: str) -> None:
        """Add the rows that are new; their JSON has no character that ends a line."""
        # New ones stand at the end: to look through all, batch by batch, takes time quadratic in the rows.
        last = takewhile(lambda idx: idx not in self.dumped_indices, reversed(self.results_dict))
        new = list(last)[::-1]
        lines = [json_text({'idx': idx, **self.results_dict[idx]}) for idx in new]
        with (Path(save_dir) / filename).open('a', encoding='utf-8') as file:
            file.write(''.join(f'{line}\n' for line in lines))
        self.dumped_indices.update(new)

    def write_to_json(self, save_dir: str, filename: str) -> None:
        """Write all rows, in the layout of OpenCompass."""
        (Path(save_dir) / filename).write_text(json_text(self.results_dict, indent=4), encoding='utf-8')


@contextmanager
def _any_response_written(said_of: Callable[[int], Mapping[str, Any]]) -> Iterator[None]:
    """Replace the handler that `GenInferencer.inference` makes by its name, as nothing else can."""
    own = icl_gen_inferencer.GenInferencerOutputHandler
    icl_gen_inferencer.GenInferencerOutputHandler = partial(ResponseFiles, said_of)
    try:
        yield
    finally:
        icl_gen_inferencer.GenInferencerOutputHandler = own


class _Announced:
    """A dataloader that announces the rows of each batch, by (first, count), just before handing it out."""

    def __init__(self, batches: Any, first: int, announce: Callable[[int, int], None]) -> None:
        self._batches, self._first, self._announce = batches, first, announce

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[Any]:
        start = self._first
        for batch in self._batches:
            self._announce(start, len(batch))
            start += len(batch)
            yield batch


def _compare(
    asked: Asked,
    inference: Mapping[str, Any],
    predictions: Path,
    finished: Sequence[dict[str, Any]],
    told: Mapping[str, Any],
) -> None:
    """Raise an error that names the setting, or the first rows of a resume file, that are other ones now."""
    if told and (changed := difference(told, inference)):
        raise IncompleteError(
            f'{predictions.stem}: this run began with {changed.lstrip(".")}: go back to what it began with, '
            'or start anew, without -r or in another work directory'
        )
    rows = [row for row in finished if int(row['idx']) < len(asked.samples or ())]
    numbers = [int(row['idx']) for row in rows]
    texts = [[text[number] for number in numbers] for text in asked.texts]
    references = None if asked.references is None else [asked.references[number] for number in numbers]
    check_rows(
        rows,
        asked._replace(texts=texts, references=references, samples=None),
        lambda at: f'{predictions.stem}, row {numbers[at]}',
        way_out='start anew, without -r or in another work directory',
    )


def _shots_of(retriever: Any) -> Mapping[str, Any]:
    """Return the columns that few-shot examples are taken from; {} where prompts have none."""
    return {} if isinstance(retriever, ZeroRetriever) else retriever.index_ds.to_dict()


def _samples_of(rows: Any) -> list[Sample]:
    missing = {'uid', 'replica'} - set(rows.column_names)
    if missing:
        raise InputError(
            f'the data set has no column {sorted(missing)}, only {rows.column_names}: seeds need to know '
            'which sample a row is; use gpassk_opencompass.LiveMathBenchDataset or add the columns'
        )
    return [Sample(uid, replica) for uid, replica in zip(rows['uid'], rows['replica'], strict=True)]
