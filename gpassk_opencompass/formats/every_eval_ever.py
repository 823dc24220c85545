"""Rows of Every Eval Ever, a row a response under one evaluation: `<uuid>_samples.jsonl` beside `<uuid>.json`.

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
from ..files import listed, mapping, read_json
from .format import Format, Row, rows_of

_NEEDS = frozenset({'schema_version', 'evaluation_id', 'model_id', 'evaluation_name', 'sample_id', 'evaluation'})
_SUFFIX = '_samples.jsonl'
_SEVERAL = '{count} rows hold several responses and one score for all of them: their samples are unjudged'
_EPOCHS = (
    '{count} rows have the same score as all other epochs of their sample, as where a converter writes the score '
    'of all epochs into each: they are unjudged; --field correct=evaluation.score takes the scores as they are'
)
_ACCEPTED = '{count} rows have several references, of which the first one is kept'


def _recognises(path: Path, first: Row | None) -> bool:
    """Whether a file has rows; or is what stands beside them, which is refused with a hint."""
    told = first or {}
    return told.keys() >= _NEEDS or {'schema_version', 'eval_library', 'evaluation_results'} <= told.keys()


def _run_of(path: Path) -> Path:
    return path.with_name(f'{path.stem}{_SUFFIX}') if path.suffix == '.json' else path


def _chosen(files: Sequence[Path]) -> list[Path]:
    return [path for path in files if path.suffix != '.json'] or list(files)


def _rows(path: Path) -> Iterator[Row]:
    if path.suffix == '.json':
        raise InputError(f'{path} has the means of an evaluation; give the {_SUFFIX} beside it too')
    scores: defaultdict[Any, set[Any]] = defaultdict(set)
    epochs: set[Any] = set()
    for row in rows_of(path):
        epoch = mapping(row.get('metadata')).get('epoch')
        if epoch is None:
            break
        epochs.add(epoch)
        scores[row.get('evaluation_name'), row.get('sample_id')].add(mapping(row['evaluation']).get('score'))
    shared = len(epochs) > 1 and all(len(one) == 1 for one in scores.values())
    for row in rows_of(path):
        yield {**row, '_shared': shared}


def _samples(row: Row) -> Iterator[Row]:
    """Yield a row a response, with the verdict of the row where it is its own."""
    asked, told = mapping(row['input']), mapping(row['evaluation'])
    references = listed(asked.get('reference'))
    usage, epoch = mapping(row.get('token_usage')), mapping(row.get('metadata')).get('epoch')
    last = [one for one in map(mapping, listed(row.get('messages'))) if one.get('role') == 'assistant'][-1:]
    texts = listed(mapping(row.get('output')).get('raw')) or [one.get('content') for one in last] or [None]
    thoughts = listed(mapping(row.get('output')).get('reasoning_trace')) or [one.get('reasoning_trace') for one in last]
    score, right = told.get('score'), told.get('is_correct')
    partial = isinstance(score, (int, float)) and 0 < score < 1  # which converters call correct
    alone = len(texts) == 1 and not row['_shared']
    answers = [one for one in map(mapping, listed(row.get('answer_attribution'))) if one.get('is_terminal', True)]
    said = [_SEVERAL] * (len(texts) > 1) + [_EPOCHS] * row['_shared'] + [_ACCEPTED] * (len(references) > 1)
    name, result = row['evaluation_name'], row.get('evaluation_result_id')
    for number, text in enumerate(texts):
        yield {
            **row,
            'dataset': name if result in (None, name) else f'{name} {result}',
            'question': asked.get('raw'),
            'reference': references[0] if references else None,
            'replica': int(epoch) - 1 if len(texts) == 1 and str(epoch).isdecimal() else None,
            'response': text,
            'thought': thoughts[number] if number < len(thoughts) else None,
            'answer': answers[-1].get('extracted_value') if answers and len(texts) == 1 else None,
            'correct': None if not alone else score if partial or right is None else right,
            'state': 'failed' if row.get('error') and not text else None,
            'prompt_tokens': usage.get('input_tokens'),
            'output_tokens': usage.get('output_tokens') if len(texts) == 1 else None,
            'reasoning_tokens': usage.get('reasoning_tokens') if len(texts) == 1 else None,
            '_said': said if not number else [],
        }


def _about(files: Sequence[Path], row: Row) -> Row:
    beside = files[0].with_name(files[0].name.replace(_SUFFIX, '.json'))
    try:
        told = mapping(read_json(beside)) if beside != files[0] else {}
    except (OSError, ValueError):
        told = {}
    library, results = mapping(told.get('eval_library')), listed(told.get('evaluation_results'))
    sampling = mapping(mapping(mapping((results or [{}])[0]).get('generation_config')).get('generation_args'))
    numbers = {name: one for name, one in sampling.items() if type(one) in (int, float)}
    time, name = str(told.get('evaluation_timestamp') or ''), library.get('name')
    if time.replace('.', '', 1).isdecimal():
        time = datetime.fromtimestamp(float(time), timezone.utc).isoformat(timespec='seconds')
    return {
        'written_by': ' '.join(map(str, filter(None, (name, library.get('version'))))) or 'Every Eval Ever',
        'judge': {'name': str(name or 'Every Eval Ever')},
        'settings': {{'max_tokens': 'max_out_len'}.get(key, key): one for key, one in numbers.items()},
        'created': time,
    }


FORMAT = Format(
    fields={
        **{name: name for name in ('dataset', 'question', 'reference', 'replica', 'response', 'thought', 'answer')},
        **{name: name for name in ('correct', 'state', 'prompt_tokens', 'output_tokens', 'reasoning_tokens')},
        'model': 'model_id',
        'uid': 'sample_id',
    },
    recognises=_recognises,
    run_of=_run_of,
    chosen=_chosen,
    rows=_rows,
    expand=_samples,
    about=_about,
)
