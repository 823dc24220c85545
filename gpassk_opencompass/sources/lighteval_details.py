"""The details that Lighteval writes of any task: its generative tasks are judged anew, sample by sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import listed, mapping
from ..results.health import CUT_OFF, Generation
from ..results.parquet_files import opened_parquet
from .result_files import ResultFile
from .samples import Notes, Sample, questions_of, with_thought
from .source import Place, Reading, Run

_TABLE = frozenset({'doc', 'metric', 'model_response'})
"""The columns of details."""

_COLUMNS = (
    *(f'doc.{name}' for name in ('id', 'query', 'choices', 'gold_index', 'task_name', 'num_samples')),
    *('doc.generation_size', 'doc.sampling_methods'),
    *(f'model_response.{name}' for name in ('text', 'reasonings', 'input_tokens', 'output_tokens')),
    'model_response.padded_tokens_count',
)

_ROWS = 32
"""Questions that are read at a time: with 64 samples of 32,000 tokens, they take half a gigabyte."""

ANEW = (
    'Lighteval keeps a score a question ({metrics}), and no verdict a sample: the responses are judged anew'
)
SEVERAL = '{count} questions have several references, of which the first one is kept'
FULL = (
    '{count} responses have as many tokens as they may have, and are taken for cut off: Lighteval keeps no '
    'finish reasons'
)


class LightevalDetails(ResultFile):
    """The source of Lighteval's `details_<task>_<time>.parquet`, of tasks of this package and of others."""

    def recognises(self, place: Place) -> bool:
        """Whether a file has the columns of details; or is the summary beside them, refused with a hint."""
        schema = place.schema
        if schema is not None:
            return set(schema.names) >= _TABLE
        if place.first is None or 'config_general' not in place.first:
            return False
        from ..results.lighteval import is_summary  # in seldom a file there is a reason to ask

        return is_summary(place.path)

    def read(self, place: Place, reading: Reading) -> list[Run]:
        """Return the one run of a file: a whole result where the task is of this package."""
        if place.schema is None:
            from ..results.read import read

            read(place.path)  # says what is wrong with it
        if place.schema is None or is_ours(place.schema):
            return super().read(place, reading)
        return [_run(place, reading)]

    def read_all(self, places: Sequence[Place], reading: Reading) -> list[Run]:
        """Return the runs of several files; summaries count where there are no details."""
        details = [place for place in places if place.schema is not None]
        return [run for place in details or places for run in self.read(place, reading)]


def is_ours(schema: Any) -> bool:
    """Whether details have the metric of this package, by their `pyarrow.Schema`."""
    return 'metric.G-Pass@k.gpassk' in _leaves(schema)


def _leaves(schema: Any) -> set[str]:
    """Return the names of all fields that are inside of others, two deep."""
    return {
        f'{column.name}.{name}.{inner}'
        for column in schema
        for name, field in _fields(column.type).items()
        for inner in _fields(field)
    }


def _fields(of: Any) -> dict[str, Any]:
    """Return the fields of a type of Arrow, with their types; {} of one that has none."""
    from pyarrow import types  # type: ignore[import-untyped]

    return {field.name: field.type for field in of} if types.is_struct(of) else {}


def _run(place: Place, reading: Reading) -> Run:
    notes = Notes(reading)
    first = next(_rows(place.path, 1), None)
    if first is None:
        raise InputError(f'{place.name} has no rows; expected a question a row')
    metrics = ', '.join(_fields(place.schema.field('metric').type)) or 'of no metric'
    notes.say(ANEW.replace('{metrics}', metrics))
    from ..results.lighteval import model_of

    name, settings = model_of(place.path, mapping(first['doc']).get('generation_size'))
    samples = _samples(place.path, settings.get('max_out_len'), notes)
    return Run(
        ('responses',),
        questions_of(samples, reading, notes, in_order=True),
        name,
        str(mapping(first['doc']).get('task_name') or '').partition('|')[0],
        settings=settings,
        remarks=notes,
        written_by='Lighteval',
    )


def _samples(path: Path, limit: int | None, notes: Notes) -> Iterator[Sample]:
    seen = set()
    for number, row in enumerate(_rows(path, _ROWS), 1):
        where = f'{path}, row {number}'
        doc, told = mapping(row['doc']), mapping(row['model_response'])
        texts = listed(told.get('text'))
        asked = doc.get('num_samples')
        size = max(len(texts), asked if isinstance(asked, int) else 1)
        if not texts and 'GENERATIVE' not in listed(doc.get('sampling_methods')):
            raise InputError(
                f'{where} has no response: it is of a task that compares log-likelihoods of choices, and '
                'samples nothing; expected details of a generative task'
            )
        uid = str(doc.get('id') if doc.get('id') is not None else number - 1)
        if uid in seen:
            raise InputError(
                f'{where}: question {uid!r:.60} is there a second time, as with several seeds of examples '
                '(--num-fewshot-seeds): which answers are samples of one prompt is not told'
            )
        seen.add(uid)
        reference = _reference(doc, where, notes)
        thoughts = listed(told.get('reasonings'))
        lengths = row['lengths']
        for replica in range(size):
            text = _text(texts, thoughts, replica)
            length = lengths[replica] if replica < len(lengths) else None
            full = length is not None and length == limit
            if full:
                notes.say(FULL)
            yield Sample(
                uid,
                str(doc.get('query') or ''),
                reference,
                text,
                replica=replica,
                generation=Generation(
                    CUT_OFF if full else None,
                    row['prompt_tokens'],
                    length,
                    state=None if text is not None else 'failed',
                ),
                path=path,
                row=number,
            )


def _text(texts: Sequence[Any], thoughts: Sequence[Any], replica: int) -> str | None:
    """Return a response with the thought that was kept apart from it; None where there is none."""
    text = texts[replica] if replica < len(texts) else None
    thought = thoughts[replica] if replica < len(thoughts) else None
    if not isinstance(thought, str) or not thought:
        return text if isinstance(text, str) else None
    return with_thought(thought, text if isinstance(text, str) else '')


def _reference(doc: Mapping[str, Any], where: str, notes: Notes) -> str:
    choices, index = listed(doc.get('choices')), doc.get('gold_index')
    indices = index if isinstance(index, list) else [index]
    if not indices or not all(isinstance(one, int) and 0 <= one < len(choices) for one in indices):
        raise InputError(
            f'{where}: gold_index is {index!r:.40}, of {len(choices)} choices; expected the place of the '
            'reference answer among them'
        )
    if len(indices) > 1:
        notes.say(SEVERAL)
    return str(choices[int(indices[0] or 0)])


def _rows(path: Path, size: int) -> Iterator[dict[str, Any]]:
    """Yield the rows, with `lengths`, the tokens of each response, in the place of the tokens themselves."""
    with opened_parquet(path) as file:
        for batch in file.iter_batches(size, columns=list(_COLUMNS)):
            yield from _of_batch(batch)


def _of_batch(batch: Any) -> Iterator[dict[str, Any]]:
    from pyarrow import types

    for doc, told in zip(batch.column('doc'), batch.column('model_response'), strict=True):
        if not (types.is_struct(doc.type) and types.is_struct(told.type) and doc.is_valid and told.is_valid):
            raise ValueError('a row has no doc or no model_response')
        names = [name for name in told if name not in {'input_tokens', 'output_tokens'}]
        response = {name: told[name].as_py() for name in names}
        kept = _values(told, 'input_tokens')
        padding = response.get('padded_tokens_count')
        prompt = (0 if kept is None else len(kept)) - (padding if isinstance(padding, int) else 0)
        lengths = _lengths(_values(told, 'output_tokens'))
        yield {
            'doc': doc.as_py(),
            'model_response': response,
            'lengths': lengths,
            'prompt_tokens': prompt if prompt > 0 else None,
        }


def _values(told: Any, name: str) -> Any:
    """Return the values of a list that is a field of a struct; None where there is none."""
    from pyarrow import types

    found = dict(told).get(name)
    return found.values if found is not None and types.is_list(found.type) and found.is_valid else None


def _lengths(tokens: Any) -> list[int]:
    """Return how many tokens each response has; [] where they may be padded to one length, or are not known.

    transformers without continuous batching pads the responses of a batch, which nothing marks.
    """
    from pyarrow import types

    if tokens is None or not types.is_list(tokens.type):
        return []
    bounds = tokens.offsets.to_pylist()
    lengths = [end - start for start, end in pairwise(bounds)]
    ends = [tokens.values.slice(end - 2, 2).to_pylist() for start, end in pairwise(bounds) if end - start > 1]
    padded = len(lengths) > 1 and len(set(lengths)) == 1 and any(one == other for one, other in ends)
    return [] if padded else lengths
