"""OpenCompass's generation inferencer: each sample has a seed, and is kept as soon as it is there."""

from __future__ import annotations

import inspect
import json
import os
import re
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.registry import ICL_INFERENCERS
from opencompass.utils import get_logger
from opencompass.utils.prompt import PromptList
from tqdm import tqdm

from ..errors import IncompleteError, InputError
from ..health import Generation
from ..marks import as_json, hardware, model_identity, note, read_keep, read_notes, settings_of
from ..predictions import Rows, Sample, locked, other_runs
from ..record import digest_of
from .rows import samples_asked
from .seeds import current_task

LEAST = 8
"""As many samples may be no usual response in any shard, however small."""


@ICL_INFERENCERS.register_module()
class SeededGenInferencer(GenInferencer):  # type: ignore[misc]
    """Draws each row of a data set as one sample, and writes it as soon as it is there.

    Any data set will do, and any model: those of this package draw each sample with a seed of its own (see
    `Seeded`), others are used as they are, in batches. Each row of the predictions says which sample it is
    and what it was drawn from (`sample`), and what the engine told of it (`generation`, see `health`).

    Rows that are there are not drawn again: those of this run, and those of other runs below the same work
    folder that have the same question, settings and model, where the model is known by its content or the
    same `gpassk run` drew them. A row that was drawn from something else than config and data say now ends
    the run. One task at a time works on a file.

    Args:
        most_failed: the share of the samples of a shard that may be no usual response, see `health.STATES`;
            above it, and above 8, the run ends. Such rows are written last, so a resume asks for them again.
        keep: of 'questions', 'references', 'settings': what may have changed since rows were drawn; with
            those that $GPASSK_KEEP names.
        top_up: take rows of other runs whatever is known of the model (or $GPASSK_TOP_UP).
        arguments, more: as for `GenInferencer`, but for `multiround`, which is refused.
    """

    model: Any

    def __init__(
        self,
        *arguments: Any,
        most_failed: float = 0.1,
        keep: Collection[str] = (),
        top_up: bool = False,
        **more: Any,
    ) -> None:
        if type(most_failed) not in (int, float) or not 0 <= most_failed <= 1:
            raise InputError(f'most_failed = {most_failed!r}: expected a share of the samples, 0 to 1')
        super().__init__(*arguments, **more)
        if self.multiround:
            raise InputError("multiround: a sample is one call here; use OpenCompass's own GenInferencer")
        self._most_failed, self._keep = float(most_failed), read_keep(keep)
        self._top_up = top_up or os.environ.get('GPASSK_TOP_UP', '') not in ('', '0')

    def inference(
        self,
        retriever: Any,
        ice_template: Any = None,
        prompt_template: Any = None,
        output_json_filepath: str | None = None,
        output_json_filename: str | None = None,
    ) -> list[Any]:
        """See `GenInferencer.inference`; what it returns nobody reads."""
        folder = Path(output_json_filepath or self.output_json_filepath)
        predictions = folder / (output_json_filename or self.output_json_filename)
        if self.dump_only_message_path:
            super().inference(retriever, ice_template, prompt_template, str(folder), predictions.name)
            return []
        task, model = current_task(), self.model
        entry = task.model_cfg if task else {'path': str(getattr(model, 'path', ''))}
        settings = settings_of(entry, task.dataset_cfg if task else {})
        prompts = self.get_generation_prompt_list_from_retriever_indices(
            retriever.retrieve(),
            retriever,
            self.gen_field_replace_token,
            max_seq_len=self.max_seq_len,
            ice_template=ice_template,
            prompt_template=prompt_template,
        )
        name, samples = self._samples(retriever.dataset_reader, prompts, predictions.stem, settings, task)
        identity = as_json(model_identity(settings['model'], model))
        source, command = digest_of(identity)[:16], os.environ.get('GPASSK_COMMAND')
        if command:  # another server may have other weights under the same name
            command = digest_of([command, getattr(model, 'addresses', None)])[:16]
        rows = Rows(predictions, name, samples, settings, self._keep, identity, command)
        with locked(predictions), closing(rows):
            notes = read_notes(folder)
            if digest_of(settings)[:16] not in notes.settings or source not in notes.sources:
                note(folder, settings=settings, source=identity)
            missing = rows.find(other_runs(folder), self._top_up)
            get_logger().info(f'{predictions.stem}: {len(missing)} of {len(samples)} samples are to be drawn')
            if missing:
                elsewhere = getattr(model, 'is_api', False) and not getattr(model, 'loads', False)
                known = os.environ.get('GPASSK_HARDWARE', '') if elsewhere else hardware()
                if known and known not in notes.hardware:
                    note(folder, hardware=known)
            if hasattr(model, 'folder'):
                model.folder = folder
            self._draw(missing, rows, source)
            rows.publish()
        return []

    def _samples(
        self, reader: Any, prompts: Sequence[Any], stem: str, settings: Any, task: Any
    ) -> tuple[str, list[Sample]]:
        """Return the data set's name without the number of a shard, and the samples with their prompts."""
        name, before = stem, ()
        config = (task.dataset_cfg.get('reader_cfg') if task else None) or {}
        # So ends the `test_range` of a shard, as OpenCompass's partitioners write it.
        if shard := re.search(r'\[(\d+): ?\d+\]$', str(config.get('test_range') or '')):
            name = re.sub(r'_\d+$', '', stem)
            whole: Any = getattr(getattr(task, 'dataset', None), 'dataset', None)
            whole = whole.get(config.get('test_split', 'test')) if isinstance(whole, dict) else whole
            if 'idx' in getattr(whole, 'column_names', ()):  # of the questions of all rows before the shard
                before = whole['idx'][: int(shard[1])]
        rows, output = reader.dataset['test'], reader.output_column
        samples = samples_asked(rows, reader.input_columns, output, settings, name, stem, before)
        seed_of = getattr(self.model, 'seed_of', lambda uid, replica: None)
        known: dict[str, Any] = {}  # n samples of a question have one prompt
        for at, prompt in enumerate(self.model.parse_template(prompts, mode='gen')):
            one, text = samples[at], json.dumps(prompt, default=str)
            if text not in known:
                plain = json.loads(text)
                known[text] = PromptList(plain) if isinstance(plain, list) else plain
            samples[at] = replace(one, prompt=known[text], seed=seed_of(one.uid, one.replica))
        return name, samples

    def _draw(self, missing: Sequence[Sample], rows: Rows, source: str) -> None:
        """Draw samples, and write the row of each; those that are no usual response come last."""
        unusual: list[dict[str, Any]] = []
        states, size = Counter(rows.states), len(rows.samples)
        most = max(int(self._most_failed * size), LEAST)

        def rate() -> str:
            named = ', '.join(f'{count} {state}' for state, count in states.most_common())
            shown = f'{states.total()} no usual response ({named})'
            return f'{rows.predictions.stem}: {shown} of {size} samples'

        def done(first: int, number: int, text: Any, generation: Generation, said: str = '') -> None:
            row = rows.row(missing[first + number], source, text, generation)
            if self.dump_res_length:
                row |= {'res_length': generation.output_tokens, 'input_length': generation.prompt_tokens}
            progress.update()
            if generation.state is None:
                rows.add(row)
                return
            unusual.append(row)
            states[generation.state] += 1
            if states.total() > most:
                words = f' The last one: {" ".join(said.split())[:300]!r}.' if said else ''
                raise IncompleteError(
                    f'{rate()}; most_failed = {self._most_failed:g} allows no more than {most}.{words} They '
                    'were not kept: mend server, model or settings, and run the same command with -r; if the '
                    'model is like that, raise most_failed (of a template, or of the inferencer)'
                )

        options = {'stopping_criteria': self.stopping_criteria, 'min_out_len': self.min_out_len}
        draw, batch = getattr(self.model, 'sample', None) or self._draw_without_seeds, self.batch_size or 1
        if getattr(self.model, 'one_by_one', False):
            batch, options = max(len(missing), 1), {**options, 'at_once': self.batch_size}
        with torch.no_grad(), tqdm(total=len(missing), disable=not missing) as progress:
            for first in range(0, len(missing), batch):
                asked = missing[first : first + batch]
                prompts, seeds = [one.prompt for one in asked], [one.seed for one in asked]
                draw(prompts, seeds, self.max_out_len, partial(done, first), **options)
        for row in unusual:
            rows.add(row)
        if states:
            get_logger().warning(rate())

    def _draw_without_seeds(
        self, prompts: list[Any], seeds: Sequence[Any], max_out_len: int, done: Any, **options: Any
    ) -> None:
        """Have a model that knows nothing of samples answer a batch."""
        known = inspect.signature(self.model.generate).parameters
        given = {name: value for name, value in options.items() if name in known}
        for number, text in enumerate(self.model.generate(prompts, max_out_len=max_out_len, **given)):
            done(number, text, Generation())
