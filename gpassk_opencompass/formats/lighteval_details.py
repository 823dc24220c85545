"""Details that Lighteval writes with --save-details, `details/<model>/<time>/details_<task>_<time>.parquet`.

`results/<model>/results_<time>.json` has the model and how it sampled. Lighteval keeps a score a question:
its own tasks are judged anew; rows of this package's tasks have verdicts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import listed, mapping, read_json
from ..health import CUT_OFF
from ..json_rows import Row
from ..sweep.names import DatasetName, ModelName, Settings, clean, last_part
from .format import Format, at, has, sampling

_METRIC = 'G-Pass@k'
_TIME = r'_(?P<time>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9.-]+)'
_DETAILS = re.compile(rf'details_.+{_TIME}\.parquet', re.DOTALL)
_SUMMARY = re.compile(rf'results{_TIME}\.json')

_FULL = (
    '{count} responses have as many tokens as they may have, and are taken for cut off: Lighteval keeps no '
    'finish reasons'
)
_DOC = 'id query choices gold_index task_name num_samples generation_size specific sampling_methods'
_COLUMNS = [
    *(f'doc.{name}' for name in _DOC.split()),
    *(f'model_response.{name}' for name in ('text', 'reasonings', 'padded_tokens_count')),
    'metric',
]
_TOKENS = ['model_response.input_tokens', 'model_response.output_tokens']


def _recognises(path: Path, first: Row | None) -> bool:
    """Whether a file has the columns of details; or is the results file of which they are."""
    summary = has(first, 'config_general') and _SUMMARY.fullmatch(path.name) is not None
    return summary or has(first, 'doc', 'metric', 'model_response')


def _run_of(path: Path) -> Path:
    """Return the details of a task; of a results file those of one of its tasks: it is no run of its own."""
    named = _SUMMARY.fullmatch(path.name)
    above = next((one / 'details' for one in path.absolute().parents if (one / 'details').is_dir()), None)
    details = sorted(above.rglob(f'details_*_{named["time"]}.parquet')) if named and above else []
    return (details or [path])[0].resolve()


def _rows(files: Sequence[Path]) -> Iterator[Row]:
    """Yield the questions in the order of the data, which Lighteval shuffles."""
    path = next((path for path in files if path.suffix == '.parquet'), files[0])
    if path.suffix == '.json':
        mend = 'run lighteval with --save-details and give the folder above both'
        raise InputError(f'{path} has the means of tasks, and no details of their questions; {mend}')
    rows = []
    for number, row in enumerate(_questions(path), 1):
        doc = row['doc']
        if not row['model_response']['text'] and 'GENERATIVE' not in listed(doc['sampling_methods']):
            why = 'it is of a task that compares log-likelihoods of choices, and samples nothing'
            expected = 'expected details of a generative task'
            raise InputError(f'{path}, row {number} has no response: {why}; {expected}')
        key = number - 1 if doc['id'] is None else doc['id']
        rows.append({**row, '_row': number, '_key': str(key), '_file': path})
    if all(row['_key'].isdecimal() for row in rows):
        rows.sort(key=lambda row: int(row['_key']))
    limit = _model(path, rows[0]['doc'])[1].get('max_out_len') if rows else None
    yield from ({**row, '_limit': limit} for row in rows)


def _questions(path: Path) -> Iterator[Row]:
    """Yield the rows, with the numbers of tokens in the place of the tokens themselves."""
    import pyarrow  # type: ignore[import-untyped]
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            # 32 questions at a time: with 64 samples of 32,000 tokens, they take half a gigabyte.
            batches = (file.iter_batches(32, columns=names) for names in (_COLUMNS, _TOKENS))
            for batch, tokens in zip(*batches, strict=True):
                for row, told in zip(batch.to_pylist(), tokens.column(0), strict=True):
                    padding = row['model_response']['padded_tokens_count'] or 0
                    asked = len(told['input_tokens'] or ()) - padding
                    own = {'prompt_tokens': asked if asked > 0 else None}
                    yield {**row, **own, 'lengths': _lengths(told['output_tokens'].values)}
    except (OSError, OverflowError, MemoryError, pyarrow.ArrowException) as error:
        raise InputError(f'{path} cannot be read: {error}') from error


def _lengths(tokens: Any) -> list[int]:
    """Return how many tokens each response has; [] where transformers may have padded them, or kept none."""
    from pyarrow import types

    if tokens is None or not types.is_list(tokens.type):
        return []
    bounds = list(pairwise(tokens.offsets.to_pylist()))
    lengths = [end - start for start, end in bounds]
    ends = [tokens.values.slice(end - 2, 2).to_pylist() for start, end in bounds if end - start > 1]
    padded = len(lengths) > 1 and len(set(lengths)) == 1 and any(one == other for one, other in ends)
    return [] if padded else lengths


def _block(row: Row) -> Mapping[str, Any]:
    """Return what this package's metric says of the whole run in each row; {} of tasks of others."""
    return mapping(json.loads(at(row, f'metric.{_METRIC}.gpassk') or '{}'))


def _samples(row: Row) -> Iterator[Row]:
    """Yield a row a response, with its verdict where this package judged it."""
    doc, told, own = row['doc'], row['model_response'], mapping(row['metric'].get(_METRIC))
    own = own if 'gpassk' in own else {}
    common = {**doc['specific']} if own else {'uid': row['_key'], 'question': doc['query']}
    if not own:
        choices, places = listed(doc['choices']), doc['gold_index']
        places = places if isinstance(places, list) else [places]
        common['reference'] = [choices[places[0]], *(choices[one] for one in places[1:])]
    names = ('verdicts', 'answers', 'judged_by', 'why', 'reply_key', 'state')
    lists = {name: listed(own.get(name)) for name in names} | {'output_tokens': row['lengths']}
    lists |= {'response': listed(told['text']), 'thought': listed(told['reasonings'])}
    for replica in range(len(lists['verdicts']) or max(len(lists['response']), doc['num_samples'] or 1)):
        sample = {name: one[replica] if replica < len(one) else None for name, one in lists.items()}
        full = not own and sample['output_tokens'] is not None and sample['output_tokens'] == row['_limit']
        there = sample['response'] is not None or sample['thought']
        yield {
            **common,
            **sample,
            'prompt_tokens': row['prompt_tokens'],
            'replica': replica,
            'answer': sample['answers'],
            'correct': sample['verdicts'],
            'finish_reason': CUT_OFF if full else None,
            'state': sample['state'] if there else 'failed',
            '_said': [_FULL] if full else [],
        }


def _model(path: Path, doc: Row) -> tuple[str, dict[str, Any]]:
    """Return a model's whole name, and how it sampled as far as the results file beside its details tells."""
    named = _DETAILS.fullmatch(path.name)
    folder = next((one for one in path.parents if one.name == 'details'), None)
    name, config = path.parent.name, dict[str, Any]()
    if folder and named:
        name = path.parent.parent.relative_to(folder).as_posix()
        found = folder.parent.rglob(f'results_{named["time"]}.json')  # also with --results-path-template
        for summary in sorted(found, key=lambda one: one.parent.name != path.parent.parent.name)[:1]:
            try:
                config = {**mapping(at(read_json(summary), 'config_general.model_config'))}
            except (OSError, ValueError) as error:
                raise InputError(f'{summary} cannot be read: {error}') from error
    told: Row = {**mapping(config.get('generation_parameters'))}
    lengths = [told.get('max_new_tokens'), doc['generation_size']]
    if config.get('continuous_batching') is False:  # transformers then heeds the task alone
        lengths = lengths[1:]
    told = {one: told.get(one) for one in ('temperature', 'top_p', 'top_k', 'repetition_penalty', 'seed')}
    told['max_out_len'] = next((one for one in lengths if type(one) is int and one > 0), None)
    return str(config.get('model_name') or name), sampling(told)


def _about(row: Row) -> Row:
    named, block = _DETAILS.fullmatch(row['_file'].name), _block(row)
    model, settings = _model(row['_file'], row['doc'])
    about: Row = {
        'model': model,
        'dataset': str(row['doc']['task_name'] or '').partition('|')[0],
        'written_by': 'Lighteval',
        'settings': settings,
        'created': re.sub(r'T(\d+)-(\d+)-', r'T\1:\2:', named['time']) if named else '',
    }
    if not block:
        kept = f'Lighteval keeps a score a question ({", ".join(row["metric"] or ["of no metric"])})'
        return {**about, 'remarks': [f'{kept}, and no verdict a sample: the responses are judged anew']}
    ks = tuple(one for one in listed(block.get('k')) if type(one) is int)
    about |= {'judge': mapping(block.get('judge')), 'ks': ks, 'path': model}
    about['model'] = clean(last_part(model)) or 'model'
    about['dataset'] = str(at(row, 'doc.specific.benchmark') or about['dataset'])
    # As a sweep would call it, or as it is called.
    with suppress(InputError, KeyError, TypeError, ValueError):
        decimals = {name: float(one) for name, one in settings.items() if name in ('temperature', 'top_p')}
        about['model'] = str(ModelName(about['model'], Settings(**{**settings, **decimals})))
        about['dataset'] = str(DatasetName(about['dataset'], ks, block['n']))
    return about


FORMAT = Format(recognises=_recognises, run_of=_run_of, rows=_rows, expand=_samples, about=_about)
