"""EvalScope's work directories, `outputs/<time>`: reviews of a benchmark, with its predictions beside them.

A subset of a benchmark is a file of reviews and one of predictions; a model and a benchmark are a run, whose
subsets are splits. The config and the report of the run tell how many samples were asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files import listed, mapping
from ..health import NOT_DRAWN
from ..json_rows import Row
from .format import Format, at, first_row, named, object_beside, rows_of

_KINDS = _REVIEWS, _PREDICTIONS = 'reviews', 'predictions'
"""Folders of the two kinds of files."""

_STATES = {'model_length': 'too long', 'content_filter': 'filtered'}
"""Why a model stopped → the state of a sample whose text is the error of a server, and no response."""

_UNSCORED = '{count} samples were not scored by EvalScope (its judge, or a metric, failed): they are unjudged'
_BROKEN = (
    '{count} samples have the score 0 because a metric failed, as EvalScope notes there: they are unjudged'
)
_SEVERAL = (
    '{count} samples are of a question with several accepted answers: the reference is the first, and the '
    'verdicts of EvalScope are by all of them'
)
_UNREVIEWED = '{count} responses have no review: they are unjudged'
_UNKNOWN = (
    '{count} predictions without a review are left out: no config of the run tells how many samples a '
    'question has (repeats), so nobody knows of which question they are'
)


class _Subset(NamedTuple):
    """A subset of a benchmark, and what the files of its run tell of it."""

    root: Path | None  # the work directory; None of a file that lies elsewhere, a benchmark of its own
    model: str
    benchmark: str
    name: str
    files: Mapping[str, Path]  # by kind, as far as they are there
    config: Mapping[str, Any] = {}  # the last one of the model
    report: Mapping[str, Any] | None = None  # of the benchmark; None while the run goes on, or broke off
    size: int | None = None  # samples a question, where the config says so


def _subset(path: Path) -> _Subset:
    """Return the subset of which a file is one of the two."""
    path, stem = path.absolute(), path.name.split('.jsonl')[0]
    root = next((above.parent for above in path.parents if above.name in _KINDS), None)
    if root is None:
        kind = _kind(first_row(path))
        return _Subset(None, '', stem.removesuffix('_default'), '', {kind: path} if kind else {})
    within = path.relative_to(root).parts[1:]
    model = '/'.join(within[:-1])
    files = {kind: root.joinpath(kind, *within) for kind in _KINDS}
    written = sorted(root.glob('configs/task_config*.yaml'), key=lambda path: -path.stat().st_mtime)
    configs = [_upper_levels(path) for path in written]
    known = {str(name) for config in configs for name in listed(config.get('datasets'))}
    known |= {path.stem for path in root.glob('reports/**/*.json')}
    fitting = [name for name in known if stem.startswith(f'{name}_') and len(name) + 1 < len(stem)]
    benchmark = max(fitting, key=len, default=stem.removesuffix('_default'))
    config = next((config for config in configs if str(config.get('model_id')) == model), {})
    told, report = config.get('repeats'), root / 'reports' / model / f'{benchmark}.json'
    size = told if benchmark in listed(config.get('datasets')) and type(told) is int and told > 0 else None
    there = {kind: file for kind, file in files.items() if file.is_file()}
    ended = object_beside(report) if report.is_file() else None
    return _Subset(root, model, benchmark, stem[len(benchmark) + 1 :], there, config, ended, size)


def _upper_levels(path: Path) -> dict[str, Any]:
    """Read the two upper levels of a YAML file as EvalScope writes it, without a YAML package."""
    text, found = path.read_bytes().decode(errors='replace'), {}
    for key, block in re.findall(r'^([\w-]+):(.*\n(?:[ -].*\n)*)', f'{text}\n', re.MULTILINE):
        inner = {name: _scalar(one) for name, one in re.findall(r'^  ([\w-]+): (.*)$', block, re.MULTILINE)}
        listed = [_scalar(one) for one in re.findall(r'^- (.*)$', block, re.MULTILINE)]
        found[key] = inner or listed or _scalar(block)
    return found


def _scalar(text: str) -> Any:
    text = text.strip()
    try:
        return text[1:-1].replace("''", "'") if text[:1] == "'" else json.loads(text)
    except ValueError:
        return text


def _kind(row: Row | None) -> str | None:
    """Return which kind of file a first row is of; None of another program's."""
    if 'index' not in (row or {}):
        return None
    if 'score' in mapping(at(row, 'sample_score')):
        return _REVIEWS
    return _PREDICTIONS if 'choices' in mapping(at(row, 'model_output')) else None


def _rows(path: Path) -> Iterator[Row]:
    """Yield the samples with a review, then those that were drawn alone, then those that failed."""
    subset = _subset(path)
    reviews, predictions = (subset.files.get(kind) for kind in _KINDS)
    if not reviews and subset.size is None:
        raise InputError(
            f'{path}: there are no reviews, and nothing tells which predictions are of one question: '
            'expected the configs/task_config.yaml of the run, with its repeats'
        )
    beside = {file.stem[len(subset.benchmark) :] for file in path.parent.glob(f'{subset.benchmark}_*.jsonl')}
    split = subset.name if subset.root and beside - {'_default'} else ''
    shared = {'_scores': _scores_in(reviews), '_split': split}
    endings = {str(row.get('index')): _ending(row) for row in rows_of(predictions)} if predictions else {}
    reviewed: set[int] = set()
    begun: dict[int, tuple[Row, set[int]]] = {}
    for file in filter(None, (reviews, predictions)):
        for row in rows_of(file):
            try:
                group, replica = _place(row, subset.size)
            except ValueError as error:
                yield {'_bad': str(error), **row, '_file': file}
                continue
            if file == predictions and row['index'] in reviewed:
                continue
            if file == predictions and subset.size is None:
                yield {'_skipped': _UNKNOWN}
                continue
            reviewed.add(row['index'])
            first, there = begun.setdefault(group, (row, set())) if subset.size else (row, set())
            there.add(replica)
            own = {'_group': group, '_replica': replica, '_ending': endings.get(str(row['index']))}
            yield {**row, **shared, **own, '_first': first, '_file': file}
    if not subset.size or subset.report is None:
        return
    # Samples that were asked for and are in no file: EvalScope goes on after errors.
    planned = at(mapping(at(subset.report, 'execution_summary.subsets')).get(subset.name), 'requested')
    whole = type(planned) is int and planned > 0
    for group in range(planned // subset.size if whole else max(begun, default=-1) + 1):
        first, there = begun.get(group, ({}, set()))
        for replica in sorted(set(range(subset.size)) - there):
            own = {'_group': group, '_replica': replica, '_ending': {'state': 'failed'}, '_first': first}
            yield {'messages': first.get('messages'), **own, **shared}


def _place(row: Row, size: int | None) -> tuple[int, int]:
    """Return the number of the question of a sample, and which of its samples it is."""
    told = mapping(row.get('sample_score'))
    index, group, replica = row.get('index'), told.get('group_id'), told.get('generation_index')
    numbers = [one for one in (index, group, replica) if one is not None]
    if index is None or not all(type(one) is int and one >= 0 for one in numbers):
        raise ValueError(f'index, group_id, generation_index are {numbers!r:.60}; expected numbers from 0 on')
    expected, place = divmod(index, size) if size else (index, index)
    if size and group not in (None, expected):
        raise ValueError(
            f'sample {index} is of question {group}, but with {size} samples a question (repeats of the '
            f'config) of question {expected}: are these files of several runs?'
        )
    return expected if group is None else group, place if replica is None else replica


def _scores_in(reviews: Path | None) -> tuple[str, list[str], Any]:
    """Return which score is the verdict, all scores, and who judged, by the first review with a score."""
    for row in rows_of(reviews) if reviews else ():
        score = mapping(at(row, 'sample_score.score'))
        if there := list(mapping(score.get('value'))):
            # Where EvalScope names no main one, a usual one, or the first.
            usual = (score.get('main_score_name'), 'acc', 'accuracy', 'exact_match', there[0])
            return next(one for one in usual if one in there), there, at(score, 'judge_summary.judge_models')
    return '', [], None


def _ending(row: Row) -> Row:
    """Return what a prediction tells of how its response came to its end, and its thought."""
    choice, usage = at(row, 'model_output.choices.0') or {}, at(row, 'model_output.usage')
    reason, (thought, text) = choice.get('stop_reason'), _parts(choice.get('message') or {})
    state = _STATES.get(str(reason))
    if not choice:
        state = 'failed' if at(row, 'model_output.error') else 'no choice'
    elif reason == 'tool_calls' and not text.strip():
        state = 'tool call'
    known = {'max_tokens': 'length', 'model_length': None, 'unknown': None}
    return {
        'finish_reason': known.get(str(reason), reason),
        'prompt_tokens': at(usage, 'input_tokens'),
        **{name: at(usage, name) for name in ('output_tokens', 'reasoning_tokens')},
        'seconds': at(row, 'model_output.time'),
        'state': state,
        'thought': thought,
    }


def _parts(message: Row) -> tuple[str, str]:
    """Return the thought and the text of a message."""
    content = message.get('content') or ''
    if isinstance(content, str):
        return '', content
    thoughts, texts = (
        [str(part.get(kind) or '') for part in content if part.get('type') == kind]
        for kind in ('reasoning', 'text')
    )
    return '\n'.join(thoughts), '\n'.join(texts)


def _sample(row: Row) -> Iterator[Row]:
    """Yield a row with its scores under their names, and what the columns of a sample need."""
    metric, messages = row['_scores'][0], row.get('messages') or []
    answer: Row = next((one for one in reversed(messages) if one.get('role') == 'assistant'), {})
    told, score = at(answer, 'perf_metrics'), at(row, 'sample_score.score') or {}
    ending = row['_ending'] or {
        'prompt_tokens': at(told, 'input_tokens'),
        'output_tokens': at(told, 'output_tokens'),
        'seconds': at(told, 'latency'),
    }
    values, said = _values(score, metric)
    if 'sample_score' in row:
        thought, text = _parts(answer)
        response = text if score.get('prediction') is None and answer else score.get('prediction')
    else:
        thought, response = _parts(at(row, 'model_output.choices.0.message') or {})
        said = [_UNREVIEWED] if metric and not ending['state'] else []
    if ending.get('state') in NOT_DRAWN:
        response, values = None, dict.fromkeys(values)
    target, asked = row['_first'].get('target'), []
    accepted = target if isinstance(target, list) else [target]
    if not all(one is None or type(one) in (str, int, float) for one in accepted):
        raise ValueError(f'the target is {target!r:.60}; expected a text, or a list of texts')
    for message in messages:
        if message.get('role') == 'assistant':
            break
        asked += [_parts(message)[1]] if message.get('role') == 'user' else []
    own = {
        'uid': f'{row["_split"]}/{row["_group"]}' if row['_split'] else row['_group'],
        'question': '\n\n'.join(asked),
        'reference': accepted[0] if accepted else None,
        'response': response,
        'thought': thought or ending.get('thought'),
        'answer': score.get('extracted_prediction'),
        'correct': values.get(metric),
        'said': [*said, *([_SEVERAL] if len(accepted) > 1 else [])],
    }
    metadata = {'metadata': at(row, 'sample_score.sample_metadata')}
    yield {**values, **metadata, **row, **{f'_{name}': one for name, one in {**ending, **own}.items()}}


def _values(score: Mapping[str, Any], metric: str) -> tuple[dict[str, Any], list[str]]:
    """Return the scores of a response; None in place of one that EvalScope notes that it could not give."""
    values, beside = dict(score.get('value') or {}), score.get('metadata') or {}
    usable = score.get('status') in (None, 'success', 'fallback', 'degraded')
    if not usable or (score and metric not in values):
        return dict.fromkeys(values), [_UNSCORED]
    failed = tuple(beside.get('metric_errors') or ())
    noted = [name for name in values if name.startswith(failed) or str(beside.get(name)).startswith('error')]
    broken = [name for name in noted if not values[name]]
    return values | dict.fromkeys(broken), [_BROKEN] if metric in broken else []


def _about(paths: Sequence[Path], row: Row) -> Mapping[str, Any]:
    subset, (metric, there, models) = _subset(paths[0]), row['_scores']
    settings = named(
        'temperature top_p top_k max_tokens repetition_penalty presence_penalty frequency_penalty do_sample '
        'seed reasoning_effort'
    )
    config, remarks = subset.config, []
    told, strategy = mapping(config.get('generation_config')), at(config, 'judge.strategy')
    names = [row.get('model'), *(at(one, 'model') for one in row.get('messages') or ())]
    if subset.size and subset.report is None:
        remarks.append('EvalScope wrote no report of this run: it is still going on, or broke off')
    if len(there) > 1:
        remarks.append(
            f'the verdicts are the score {metric!r} of {", ".join(there)}; --field correct=NAME takes another'
        )
    judge = {'name': f'{metric} of EvalScope', 'metric': metric, 'models': models, 'strategy': strategy}
    return {
        'model': subset.model or next((name for name in names if isinstance(name, str)), ''),
        'dataset': subset.benchmark,
        'written_by': f'EvalScope {config.get("evalscope_version") or ""}'.strip(),
        'judge': {key: one for key, one in judge.items() if one and one != 'auto'} if metric else {},
        'settings': {name: told[name] for name in settings if told.get(name) is not None},
        'remarks': remarks,
    }


def _run_of(path: Path) -> Hashable:
    subset = _subset(path)
    return (subset.root, subset.model, subset.benchmark) if subset.root else path


def _chosen(paths: Sequence[Path]) -> list[Path]:
    """Return a file of each subset, that of the reviews where there is one."""
    return sorted({next(iter(_subset(path).files.values()), path) for path in paths})


FORMAT = Format(
    fields=named(
        'uid replica split question reference response thought answer correct state '
        'finish_reason prompt_tokens output_tokens reasoning_tokens seconds',
        '_',
    ),
    recognises=lambda path, row: _kind(row) is not None,
    run_of=_run_of,
    chosen=_chosen,
    rows=_rows,
    expand=_sample,
    about=_about,
)
