"""Results that Lighteval wrote, as records like those of every other host.

    <output_dir>/results/<model>/results_<time>.json                     the model and how it sampled
    <output_dir>/details/<model>/<time>/details_<task>_<time>.parquet    questions, verdicts and counts

The details are there if `lighteval` ran with `--save-details`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ForeignFileError, InputError
from ..files import listed, mapping, parse_json, read_json
from ..naming.names import DatasetName, ModelName, Settings, clean, last_part
from .parquet_files import opened_parquet
from .record import data_of, lettered
from .samples import TOLD

HOST = 'lighteval'
DETAILS = 'details_*.parquet'

_AT_A_TIME = 8
"""Questions whose responses are in memory at once."""

_METRIC = 'G-Pass@k'
_COLUMNS = ('doc.id', 'doc.task_name', 'doc.generation_size', 'doc.specific', 'metric')
_TIME = r'[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9.-]+'
_DETAILS = re.compile(rf'details_(?P<task>.+)_(?P<time>{_TIME})\.parquet', re.DOTALL)
_SUMMARY = re.compile(rf'results_(?P<time>{_TIME})\.json')

Rows = list[dict[str, Any]]


def is_summary(path: Path) -> bool:
    """Whether this is the name of a results file, which has the means of all tasks and no counts."""
    return _SUMMARY.fullmatch(path.name) is not None


def without_details(summaries: Iterable[Path], details: Iterable[Path]) -> Iterator[str]:
    """Yield a line for each results file that cannot be read, or has tasks without a details file.

    Args:
        summaries: results files.
        details: details files, whoever wrote them.
    """
    kept = {(found['task'], found['time']) for path in details if (found := _DETAILS.fullmatch(path.name))}
    for path in summaries:
        try:
            summary = _read_summary(path)
        except InputError as error:
            yield str(error)
            continue
        time = path.stem.removeprefix('results_')
        tasks = [name for name in mapping(summary.get('results')) if _of_this_package(summary, name)]
        lost = [name for name in tasks if (name, time) not in kept]
        if lost:
            yield (
                f'{path} has G-Pass@k of {", ".join(lost)}, but no details of its questions; run lighteval '
                'with --save-details and give the folder above both'
            )


def read_details(path: Path) -> dict[str, Any]:
    """Read one task of one run as a result record; `gpassk.run` says which model, task and time.

    Raises:
        InputError: the file cannot be read, is damaged, or is of a task without this package's metric.
    """
    rows = _rows(path)
    rows.sort(key=_number)
    entries = [mapping(mapping(row.get('metric')).get(_METRIC)) for row in rows]
    if not entries or not all('gpassk' in entry for entry in entries):
        metrics = sorted({name for row in rows for name in mapping(row.get('metric'))})
        raise ForeignFileError(
            f'{path} is no result of G-Pass@k: its {len(rows)} questions were scored by {metrics}, expected '
            f'[{_METRIC!r}] of the tasks of gpassk_opencompass.lighteval_tasks'
        )
    block = _block(path, entries)
    specific = [mapping(mapping(row.get('doc')).get('specific')) for row in rows]
    return {
        'details': _answers(specific, entries),
        'gpassk': {
            **block,
            'counts': _counts(path, block, specific, entries),
            'run': _run(path, block, mapping(rows[0].get('doc'))),
        },
    }


class Responded(NamedTuple):
    """A question of a details file with its responses."""

    number: int
    """The order of `read_details`."""
    texts: list[str]
    thoughts: list[str | None]
    """What was kept apart from each text."""
    prompt: object
    """What the model was given: a text, or messages; None where it is not told."""


def each_response(path: Path) -> Iterator[Responded]:
    """Yield the responses to each question of a details file, in the order of the file.

    Raises:
        InputError: the file cannot be read, or holds no texts.
    """
    columns = ['doc.id', *(f'model_response.{name}' for name in ('text', 'reasonings', 'input'))]
    with opened_parquet(path) as file:
        for batch in file.iter_batches(_AT_A_TIME, columns=columns):
            yield from (_responded(path, row) for row in batch.to_pylist())


def _responded(path: Path, row: Mapping[str, Any]) -> Responded:
    told = mapping(row.get('model_response'))
    texts, thoughts = listed(told.get('text')), listed(told.get('reasonings'))
    if not texts or not all(isinstance(text, str) for text in texts):
        raise InputError(f'{path}: model_response.text has no response to some questions; expected n texts')
    known = [one if isinstance(one, str) and one else None for one in thoughts]
    return Responded(_number(row), texts, (known + [None] * len(texts))[: len(texts)], told.get('input'))


def model_of(path: Path, task_length: object) -> tuple[str, dict[str, Any]]:
    """Return a model's whole name, and how it sampled as far as the results file beside its details tells.

    Args:
        path: of the details.
        task_length: the most tokens that the task gives a response.
    """
    found = _DETAILS.fullmatch(path.name)
    config, name = _model(path, found['time'] if found else '')
    known = _settings(config, task_length)
    return name, {setting: value for setting, value in known.items() if value is not None}


def _rows(path: Path, columns: Sequence[str] = _COLUMNS) -> Rows:
    with opened_parquet(path) as file:
        rows: Rows = file.read(columns=list(columns)).to_pylist()
    return rows


def _number(row: Mapping[str, Any]) -> int:
    """Return the place of the question in its data, since Lighteval shuffles."""
    told = str(mapping(row.get('doc')).get('id'))
    return int(told) if re.fullmatch('[0-9]{1,9}', told) else -1


def _block(path: Path, entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return `gpassk` of the record, which stands beside each question."""
    text = entries[0]['gpassk']
    damaged = f'{path} is damaged: metric.{_METRIC}.gpassk'
    if not isinstance(text, str) or any(entry['gpassk'] != text for entry in entries):
        raise InputError(f'{damaged}; expected one JSON text, the same for all questions')
    try:
        block = parse_json(text)
    except ValueError as error:
        raise InputError(f'{damaged} cannot be read: {error}') from error
    if not isinstance(block, dict):
        raise InputError(f'{damaged}; expected an object, got {text[:40]!r}')
    return block


def _counts(
    path: Path,
    block: Mapping[str, Any],
    specific: Sequence[Mapping[str, Any]],
    entries: Sequence[Mapping[str, Any]],
) -> dict[str, list[Any]]:
    """Return a column each; refuse rows that are not those which were scored."""
    columns = {name: [one.get(name) for one in specific] for name in ('uid', 'question', 'reference')}
    whole = all(isinstance(text, str) for column in columns.values() for text in column)
    if not whole or data_of(*columns.values()) != block.get('data'):  # type: ignore[arg-type]
        raise InputError(
            f'{path} is damaged: its {len(specific)} questions are not the ones that were scored '
            f'(gpassk.data = {block.get("data")!r})'
        )
    return {
        'uid': columns['uid'],
        'problem': [one.get('problem') for one in specific],
        'group': [f'{one.get("split")}_{one.get("language")}' for one in specific],
        'c': [entry.get('c') for entry in entries],
        'unjudged': [listed(entry.get('verdicts')).count('?') for entry in entries],
        **({'undecided': [entry.get('undecided') for entry in entries]} if 'undecided' in block else {}),
    }


def _answers(specific: Sequence[Mapping[str, Any]], entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the details of the record, without the columns that the rows lack."""
    columns = {
        name: [_texts(entry[name]) for entry in entries]
        for name in ('answers', 'verdicts', 'judged_by')
        if all(name in entry for entry in entries)
    }
    if 'verdicts' in columns:
        columns['verdicts'] = [''.join(verdicts) for verdicts in columns['verdicts']]  # type: ignore[misc]
    if 'judged_by' in columns:
        columns |= lettered(columns['judged_by'])
    for name in TOLD:
        if all(entry.get(name) is not None for entry in entries):
            columns[name] = [listed(entry[name]) for entry in entries]
    texts = {name: [one.get(name) for one in specific] for name in ('question', 'reference')}
    return {**texts, **columns}


def _run(path: Path, block: Mapping[str, Any], doc: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the run is called, in the words that OpenCompass's results use."""
    found = _DETAILS.fullmatch(path.name)
    time = found['time'] if found else ''
    config, whole_name = _model(path, time)
    task = str(doc.get('task_name') or (found['task'] if found else path.stem))
    benchmark = mapping(doc.get('specific')).get('benchmark') or task.partition('|')[0]
    settings = _settings(config, doc.get('generation_size'))
    return {
        'model': _model_abbr(whole_name, settings),
        'settings': {name: value for name, value in settings.items() if value is not None},
        'dataset': _dataset_abbr(str(benchmark), block),
        'host': HOST,
        'created': re.sub(r'T([0-9]+)-([0-9]+)-', r'T\1:\2:', time),
        'path': whole_name,
        'task': task,
    }


def _model(path: Path, time: str) -> tuple[Mapping[str, Any], str]:
    """Return `model_config` of the run, {} without its results file, and the model's whole name."""
    folder = next((parent for parent in path.parents if parent.name == 'details'), None)
    if folder is None or not time:
        return {}, path.parent.name
    name = path.parent.parent.relative_to(folder).as_posix()
    summary = folder.parent / 'results' / name / f'results_{time}.json'
    elsewhere = folder.parent.rglob(f'results_{time}.json')  # --results-path-template
    for one in [summary] if summary.is_file() else elsewhere:
        config = mapping(mapping(_read_summary(one).get('config_general')).get('model_config'))
        return config, str(config.get('model_name') or name)
    return {}, name


def _read_summary(path: Path) -> Mapping[str, Any]:
    try:
        summary = read_json(path)
    except (OSError, ValueError) as error:
        raise InputError(f'{path} cannot be read: {error}') from error
    if not isinstance(summary, dict):
        raise InputError(f'{path} is damaged: expected an object with config_general and results')
    return summary


def _of_this_package(summary: Mapping[str, Any], task: str) -> bool:
    metrics = mapping(mapping(summary.get('config_tasks')).get(task)).get('metrics')
    return any(mapping(metric).get('metric_name') == _METRIC for metric in listed(metrics))


def _settings(config: Mapping[str, Any], task_length: object) -> dict[str, Any]:
    """Return how the model sampled, by the names of `Settings`; None for what is not known."""
    told = mapping(config.get('generation_parameters'))
    lengths = [told.get('max_new_tokens'), task_length]
    if config.get('continuous_batching') is False:  # transformers then heeds the task alone
        lengths = lengths[1:]
    return {
        'max_out_len': next(filter(None, map(_whole, lengths)), None),
        'temperature': _decimal(told.get('temperature')),
        'top_p': _decimal(told.get('top_p')),
        'top_k': _whole(told.get('top_k')),
        'repetition_penalty': _decimal(told.get('repetition_penalty')),
        'random_seed': _whole(told.get('seed')),
    }


def _model_abbr(whole_name: str, settings: Mapping[str, Any]) -> str:
    """Return the model's name as a sweep would write it, or the plain name where the settings make none."""
    model = clean(last_part(whole_name)) or 'model'
    try:
        return str(ModelName(model, Settings(**settings)))
    except InputError:
        return model


def _dataset_abbr(benchmark: str, block: Mapping[str, Any]) -> str:
    ks, n = block.get('k'), block.get('n')
    try:
        return str(DatasetName(benchmark, tuple(ks), n))  # type: ignore[arg-type]
    except (InputError, TypeError, ValueError):
        words = '_'.join(map(str, ks)) if isinstance(ks, list) else '1'
        return f'{benchmark}-k{words}-n{n}'


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _decimal(value: object) -> float | None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if number and 0 <= value < 1e6 else None  # type: ignore[arg-type, operator]


def _texts(value: object) -> list[str]:
    """Return the texts of a list; Parquet may hold what JSON has no word for, such as dates and bytes."""
    return ['' if one is None else str(one) for one in listed(value)]
