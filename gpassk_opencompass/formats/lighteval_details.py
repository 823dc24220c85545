"""The details that Lighteval writes with --save-details, of tasks of this package and of any other.

    <output_dir>/results/<model>/results_<time>.json                     the model and how it sampled
    <output_dir>/details/<model>/<time>/details_<task>_<time>.parquet    a row a question, with n responses

Lighteval keeps a score a question: its own tasks are judged anew. Rows of this package's tasks have verdicts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import listed, mapping, read_json
from ..health import CUT_OFF
from ..naming.names import DatasetName, ModelName, Settings, clean, last_part
from ..record import data_of
from .format import Format, Row

_METRIC = 'G-Pass@k'
_TIME = r'[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9.-]+'
_DETAILS = re.compile(rf'details_(?P<task>.+)_(?P<time>{_TIME})\.parquet', re.DOTALL)
_SUMMARY = re.compile(rf'results_(?P<time>{_TIME})\.json')
_SYMBOLS = {'1': 'correct', '0': 'incorrect', '?': 'unjudged'}

_COLUMNS = (
    *(f'doc.{name}' for name in ('id', 'query', 'choices', 'gold_index', 'task_name', 'num_samples', 'specific')),
    *('doc.generation_size', 'doc.sampling_methods', 'metric', 'model_response.padded_tokens_count'),
    *(f'model_response.{name}' for name in ('text', 'reasonings', 'input_tokens', 'output_tokens')),
)
_ROWS = 32
"""Questions that are read at a time: with 64 samples of 32,000 tokens, they take half a gigabyte."""

_SEVERAL = '{count} questions have several references, of which the first one is kept'
_FULL = (
    '{count} responses have as many tokens as they may have, and are taken for cut off: Lighteval keeps no '
    'finish reasons'
)


def _recognises(path: Path, first: Row | None) -> bool:
    """Whether a file has the columns of details; or is the results file, of which the details are read."""
    keys = (first or {}).keys()
    return {'doc', 'metric', 'model_response'} <= keys or bool(_SUMMARY.fullmatch(path.name)) and 'config_general' in keys


def _run_of(path: Path) -> Path:
    """Return the details of a task; of a results file those of a task of it, so that it is no run of its own."""
    named = _SUMMARY.fullmatch(path.name)
    above = next((one / 'details' for one in path.absolute().parents if (one / 'details').is_dir()), None)
    details = sorted(above.rglob(f'details_*_{named["time"]}.parquet')) if named and above else []
    return (details or [path])[0].resolve()


def _chosen(files: Sequence[Path]) -> list[Path]:
    return [path for path in files if path.suffix == '.parquet'] or list(files)


def _rows(path: Path) -> Iterator[Row]:
    """Yield the questions in the order of the data, which Lighteval shuffles."""
    if path.suffix != '.parquet':
        raise InputError(
            f'{path} has the means of tasks, and no details of their questions; run lighteval with '
            '--save-details and give the folder above both'
        )
    rows, seen = [], set()
    for number, row in enumerate(_questions(path), 1):
        doc, told = row['doc'], row['model_response']
        if not listed(told.get('text')) and 'GENERATIVE' not in listed(doc.get('sampling_methods')):
            raise InputError(
                f'{path}, row {number} has no response: it is of a task that compares log-likelihoods of '
                'choices, and samples nothing; expected details of a generative task'
            )
        key = str(doc.get('id') if doc.get('id') is not None else number - 1)
        if key in seen:
            raise InputError(
                f'{path}, row {number}: question {key!r:.60} is there a second time, as with several seeds of '
                'examples (--num-fewshot-seeds): which answers are samples of one prompt is not told'
            )
        seen.add(key)
        rows.append({**row, '_row': number, '_key': key})
    if all(row['_key'].isdecimal() for row in rows):
        rows.sort(key=lambda row: int(row['_key']))
    if rows and _own(rows[0]):
        _check_questions(path, rows)
    limit = None
    for row in rows:
        if limit is None and not _own(row):
            limit = _model(path, row['doc'].get('generation_size'))[1].get('max_out_len') or 0
        yield {**row, '_limit': limit}


def _questions(path: Path) -> Iterator[Row]:
    """Yield the rows, with the number of tokens of each response in the place of the tokens themselves."""
    import pyarrow  # type: ignore[import-untyped]
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_ROWS, columns=list(_COLUMNS)):
                of_batch = {name: batch.column(name) for name in ('doc', 'metric', 'model_response')}
                for at in range(batch.num_rows):
                    yield _question({name: column[at] for name, column in of_batch.items()})
    except (OSError, ValueError, KeyError, TypeError, OverflowError, MemoryError, pyarrow.ArrowException) as error:
        raise (
            error if isinstance(error, InputError) else InputError(f'{path} cannot be read: {error}')
        ) from error


def _question(row: Mapping[str, Any]) -> Row:
    from pyarrow import types

    doc, response = row['doc'], row['model_response']
    if not all(types.is_struct(one.type) and one.is_valid for one in (doc, response)):
        raise ValueError('a row has no doc or no model_response')
    told, tokens = {}, {}
    for name in response:
        if name not in ('input_tokens', 'output_tokens'):
            told[name] = response[name].as_py()
        elif types.is_list(response[name].type) and response[name].is_valid:
            tokens[name] = response[name].values
    padding = told.get('padded_tokens_count')
    prompt = len(tokens.get('input_tokens', ())) - (padding if isinstance(padding, int) else 0)
    return {
        'doc': doc.as_py(),
        'metric': mapping(row['metric'].as_py()),
        'model_response': told,
        'lengths': _lengths(tokens.get('output_tokens')),
        'prompt_tokens': prompt if prompt > 0 else None,
    }


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


def _own(row: Row) -> Mapping[str, Any]:
    """Return what this package's metric wrote into a row; {} of tasks of others."""
    told = mapping(row['metric'].get(_METRIC))
    return told if isinstance(told.get('gpassk'), str) else {}


def _block(row: Row) -> Mapping[str, Any]:
    """Return what this package's metric says of the run in each row; {} where there is nothing."""
    try:
        return mapping(json.loads(_own(row).get('gpassk', '{}')))
    except (ValueError, RecursionError):
        raise InputError(
            f'metric.{_METRIC}.gpassk is {_own(row)["gpassk"]!r:.40}; expected JSON'
        ) from None


def _check_questions(path: Path, rows: Sequence[Row]) -> None:
    """Refuse rows of this package's tasks that are not those which were scored."""
    counted = [mapping(row['doc'].get('specific')) for row in rows if not _own(row).get('left_out')]
    columns = [[str(one.get(name) or '') for one in counted] for name in ('uid', 'question', 'reference')]
    scored = mapping(_block(rows[0]).get('data'))
    if scored.get('sha256') != (found := data_of(columns[0], columns[1], columns[2])).sha256:
        raise InputError(
            f'{path} is damaged: its {len(counted)} questions are not the {scored.get("questions")} that were '
            f'scored (gpassk.data.sha256 = {scored.get("sha256")!r:.20}, found {found.sha256!r:.20})'
        )


def _samples(row: Row) -> Iterator[Row]:
    """Yield a row a response, with its verdict where this package judged it."""
    doc, told, own = row['doc'], row['model_response'], _own(row)
    texts, thoughts = listed(told.get('text')), listed(told.get('reasonings'))
    asked = doc.get('num_samples')
    size = len(listed(own.get('verdicts'))) or max(len(texts), asked if isinstance(asked, int) else 1)
    specific = mapping(doc.get('specific')) if own else {}
    reference, notes = (specific.get('reference'), []) if own else _reference(doc)
    common = {
        **{name: specific.get(name) for name in ('problem', 'split', 'language')},
        'uid': specific.get('uid') if own else row['_key'],
        'question': specific.get('question') if own else doc.get('query'),
        'reference': reference,
        'prompt_tokens': row['prompt_tokens'],
        '_row': row['_row'],
        '_file': row['_file'],
    }
    lists = {name: listed(own.get(name)) for name in ('answers', 'verdicts', 'judged_by', 'why', 'state')}
    lists |= {'text': texts, 'thought': thoughts, 'output_tokens': row['lengths']}
    for replica in range(size):
        said = {name: one[replica] if replica < len(one) else None for name, one in lists.items()}
        full = said['output_tokens'] is not None and said['output_tokens'] == row['_limit']
        here = isinstance(said['text'], str) or bool(said['thought'])
        yield {
            **common,
            **said,
            'replica': replica,
            'correct': _SYMBOLS.get(said['verdicts'], said['verdicts']),
            'finish_reason': CUT_OFF if full else None,
            'state': said['state'] if here else 'failed',
            '_said': [*notes, *([_FULL] if full else [])],
        }
        notes = []


def _reference(doc: Mapping[str, Any]) -> tuple[str, list[str]]:
    choices, index = listed(doc.get('choices')), doc.get('gold_index')
    places = index if isinstance(index, list) else [index]
    if not places or not all(type(one) is int and 0 <= one < len(choices) for one in places):
        raise ValueError(
            f'gold_index is {index!r:.40}, of {len(choices)} choices; expected the place of the reference '
            'answer among them'
        )
    return str(choices[places[0]]), [_SEVERAL] if len(places) > 1 else []


def _model(path: Path, task_length: object) -> tuple[str, dict[str, Any]]:
    """Return a model's whole name, and how it sampled as far as the results file beside its details tells."""
    named = _DETAILS.fullmatch(path.name)
    folder = next((one for one in path.parents if one.name == 'details'), None)
    name, config = path.parent.name, {}
    if folder and named:
        name = path.parent.parent.relative_to(folder).as_posix()
        usual = folder.parent / 'results' / name / f'results_{named["time"]}.json'
        elsewhere = folder.parent.rglob(usual.name)  # --results-path-template
        if summary := usual if usual.is_file() else next(elsewhere, None):
            try:
                told = mapping(read_json(summary))
            except (OSError, ValueError) as error:
                raise InputError(f'{summary} cannot be read: {error}') from error
            config = mapping(mapping(told.get('config_general')).get('model_config'))
    told = mapping(config.get('generation_parameters'))
    lengths = [told.get('max_new_tokens'), task_length]
    if config.get('continuous_batching') is False:  # transformers then heeds the task alone
        lengths = lengths[1:]
    settings = {'max_out_len': next((one for one in lengths if type(one) is int and one > 0), None)}
    settings |= {name: told.get(name) for name in ('temperature', 'top_p', 'top_k', 'repetition_penalty')}
    settings['random_seed'] = told.get('seed')
    numbers = {key: one for key, one in settings.items() if type(one) in (int, float) and 0 <= one < 1e6}
    return str(config.get('model_name') or name), numbers


def _about(files: Sequence[Path], row: Row) -> Row:
    named = _DETAILS.fullmatch(files[0].name)
    model, settings = _model(files[0], row['doc'].get('generation_size'))
    task = str(row['doc'].get('task_name') or '').partition('|')[0]
    about: Row = {
        'model': model,
        'dataset': task,
        'written_by': 'Lighteval',
        'settings': settings,
        'created': re.sub(r'T(\d+)-(\d+)-', r'T\1:\2:', named['time']) if named else '',
    }
    block = _block(row)
    if not block:
        metrics = ', '.join(row['metric']) or 'of no metric'
        anew = f'Lighteval keeps a score a question ({metrics}), and no verdict a sample: the responses are judged anew'
        return {**about, 'remarks': [anew]}
    ks = tuple(one for one in listed(block.get('k')) if type(one) is int)
    label, name = str(mapping(row['doc'].get('specific')).get('benchmark') or task), clean(last_part(model))
    try:  # as a sweep would call it
        floats = {key: float(one) for key, one in settings.items() if key in ('temperature', 'top_p')}
        about['model'] = str(ModelName(name or 'model', Settings(**{**settings, **floats})))
        about['dataset'] = str(DatasetName(label, ks, block.get('n')))  # type: ignore[arg-type]
    except (InputError, TypeError, ValueError):
        about |= {'model': name, 'dataset': label}
    return {**about, 'judge': mapping(block.get('judge')), 'ks': ks}


FORMAT = Format(
    fields={
        **{name: name for name in ('uid', 'problem', 'split', 'language', 'replica', 'question', 'reference')},
        **{name: name for name in ('thought', 'correct', 'judged_by', 'why', 'state', 'finish_reason')},
        **{name: name for name in ('prompt_tokens', 'output_tokens')},
        'response': 'text',
        'answer': 'answers',
    },
    recognises=_recognises,
    run_of=_run_of,
    chosen=_chosen,
    rows=_rows,
    expand=_samples,
    about=_about,
)
