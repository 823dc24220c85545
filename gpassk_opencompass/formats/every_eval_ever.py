"""Rows of Every Eval Ever, a response under one evaluation each: `<uuid>_samples.jsonl` beside `<uuid>.json`.

A row that holds several responses has one score for all of them. inspect_ai's converter writes the mean, or
another sum, of all epochs of a sample into the row of each. Neither is the verdict of a single response.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import listed, mapping
from ..json_rows import Row
from .format import Format, at, named, number_in, object_beside, rows_of

_SUFFIX = '_samples.jsonl'
_SEVERAL = '{count} rows hold several responses and one score for all of them: their samples are unjudged'
_EPOCHS = (
    '{count} rows have one score for all epochs of a sample, as a converter writes it: they are unjudged; '
    '--field correct=evaluation.score takes the scores as they are'
)
_ACCEPTED = '{count} rows have several references, of which the first one is kept'


def _recognises(path: Path, first: Row | None) -> bool:
    """Whether a file has rows; or is what stands beside them, which alone is refused with a hint."""
    keys = (first or {}).keys()
    rows = {'evaluation_id', 'model_id', 'evaluation_name', 'sample_id', 'evaluation'} <= keys
    return rows or {'schema_version', 'eval_library', 'evaluation_results'} <= keys


def _rows(path: Path) -> Iterator[Row]:
    if path.suffix == '.json':
        raise InputError(f'{path} has the means of an evaluation; give the {_SUFFIX} beside it too')
    scores: defaultdict[Any, set[Any]] = defaultdict(set)
    epochs: set[Any] = set()
    for row in rows_of(path):
        epochs.add(at(row, 'metadata.epoch'))
        if None in epochs:
            break
        if (score := number_in(at(row, 'evaluation.score'))) is not None:
            scores[row.get('evaluation_name'), row.get('sample_id')].add(score)
    shared = len(epochs) > 1 and None not in epochs and all(len(one) == 1 for one in scores.values())
    yield from ({**row, '_shared': shared} for row in rows_of(path))


def _samples(row: Row) -> Iterator[Row]:
    """Yield a row a response, with the verdict of the row where it is its own."""
    references, epoch = listed(at(row, 'input.reference')), at(row, 'metadata.epoch')
    last = [one for one in listed(row.get('messages')) if at(one, 'role') == 'assistant'][-1:]
    texts = listed(at(row, 'output.raw')) or [at(one, 'content') for one in last] or [None]
    thoughts = listed(at(row, 'output.reasoning_trace')) or [at(one, 'reasoning_trace') for one in last]
    score, right = at(row, 'evaluation.score'), at(row, 'evaluation.is_correct')
    if right is None or (isinstance(score, (int, float)) and 0 < score < 1):
        right = score  # partial credit, which converters call correct
    alone, name, result = len(texts) == 1, row['evaluation_name'], row.get('evaluation_result_id')
    own = {
        'replica': int(epoch) - 1 if str(epoch).isdecimal() else None,
        'answer': at(row, 'answer_attribution.-1.extracted_value'),
        'correct': 'unjudged' if row['_shared'] else right,
        **{f'{kind}_tokens': at(row, f'token_usage.{kind}_tokens') for kind in ('output', 'reasoning')},
    }
    said = [_SEVERAL] * (not alone) + [_EPOCHS] * row['_shared'] + [_ACCEPTED] * (len(references) > 1)
    for number, text in enumerate(texts):
        yield {
            **row,
            **(own if alone else {'correct': 'unjudged'}),
            'dataset': name if result in (None, name) else f'{name} {result}',
            'reference': references[0] if references else None,
            'response': text,
            'thought': thoughts[number] if number < len(thoughts) else None,
            'state': 'failed' if row.get('error') and not text else None,
            '_said': [] if number else said,
        }


def _about(files: Sequence[Path], row: Row) -> Row:
    told = object_beside(files[0].with_name(files[0].name.replace(_SUFFIX, '.json')))
    sampling = mapping(at(told, 'evaluation_results.0.generation_config.generation_args'))
    numbers = {name: one for name, one in sampling.items() if type(one) in (int, float)}
    time = str(told.get('evaluation_timestamp') or '')
    if time.replace('.', '', 1).isdecimal():
        time = datetime.fromtimestamp(float(time), timezone.utc).isoformat()
    name = str(at(told, 'eval_library.name') or 'Every Eval Ever')
    version = str(at(told, 'eval_library.version') or '').rpartition(':')[2]
    return {
        'written_by': f'{name} {version}'.strip(),
        'judge': {'name': name},
        'settings': {{'max_tokens': 'max_out_len'}.get(key, key): one for key, one in numbers.items()},
        'created': time,
    }


FORMAT = Format(
    fields={
        **named('dataset reference replica response thought answer correct state'),
        **named('output_tokens reasoning_tokens'),
        **{'model': 'model_id', 'uid': 'sample_id', 'question': 'input.raw'},
        'prompt_tokens': 'token_usage.input_tokens',
    },
    recognises=_recognises,
    run_of=lambda path: path.with_name(f'{path.stem}{_SUFFIX}') if path.suffix == '.json' else path,
    chosen=lambda files: [path for path in files if path.suffix != '.json'] or list(files),
    rows=_rows,
    expand=_samples,
    about=_about,
)
