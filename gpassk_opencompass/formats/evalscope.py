"""EvalScope's work directories, `outputs/<time>`: reviews of a benchmark, with its predictions beside them.

A subset is a file of reviews and one of predictions; a model and a benchmark are a run, whose subsets are
splits. The config and the report of the run tell how many samples were asked for.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files import listed, mapping
from ..json_rows import Row
from .format import Format, asked_in, at, first_row, object_beside, parts_of, rows_of, sampling, tokens_of

_KINDS = 'reviews', 'predictions'
_STATES = {'model_length': 'too long', 'content_filter': 'filtered'}
"""Why a model stopped → the state of a sample whose text is the error of a server, and no response."""

_FINISH = {'max_tokens': 'length', 'model_length': None, 'unknown': None}


class _Subset(NamedTuple):
    """A subset of a benchmark, and what the files of its run tell of it."""

    root: Path | None  # the work directory; None of a file that lies elsewhere, a benchmark of its own
    model: str
    benchmark: str
    name: str
    reviews: Path
    predictions: Path
    config: Mapping[str, Any] = {}  # the last one of the model
    report: Mapping[str, Any] | None = None  # of the benchmark; None while the run goes on, or broke off
    size: int | None = None  # samples a question, where the config says so


def _subset(path: Path) -> _Subset:
    """Return the subset of which a file is one of the two."""
    path, stem = path.absolute(), path.name.split('.jsonl')[0]
    root = next((above.parent for above in path.parents if above.name in _KINDS), None)
    if root is None:
        return _Subset(None, '', stem.removesuffix('_default'), '', path, path.parent)
    within = path.relative_to(root).parts[1:]
    reviews, predictions = (root.joinpath(kind, *within) for kind in _KINDS)
    model = '/'.join(within[:-1])
    written = sorted(root.glob('configs/task_config*.yaml'), key=lambda path: -path.stat().st_mtime)
    configs = list(map(_config, written))
    known = {str(name) for config in configs for name in listed(config.get('datasets'))}
    known |= {path.stem for path in root.glob('reports/**/*.json')}
    fitting = [name for name in known if stem.startswith(f'{name}_') and len(name) + 1 < len(stem)]
    benchmark = max(fitting, key=len, default=stem.removesuffix('_default'))
    config = next((config for config in configs if str(config.get('model_id')) == model), {})
    told, report = config.get('repeats'), root / 'reports' / model / f'{benchmark}.json'
    size = told if benchmark in listed(config.get('datasets')) and type(told) is int and told > 0 else None
    ended = object_beside(report) if report.is_file() else None
    name = stem[len(benchmark) + 1 :]
    return _Subset(root, model, benchmark, name, reviews, predictions, config, ended, size)


def _config(path: Path) -> Row:
    """Read the two upper levels of a YAML file as EvalScope writes it: {'a': 1, 'b.c': 2, 'd': ['e']}."""
    found, above = Row(), ''
    pattern = re.compile(r'^(  )?(?:([\w-]+):(?: (.*))?|- (.*))$', re.MULTILINE)
    for indent, key, value, entry in pattern.findall(path.read_bytes().decode(errors='replace')):
        text = (entry or value).strip()
        try:
            told = text[1:-1].replace("''", "'") if text[:1] == "'" else json.loads(text)
        except ValueError:
            told = text
        if key:
            above = above if indent else key
            found[f'{above}.{key}' if indent else key] = told
        elif not indent:
            found[above] = [*listed(found.get(above)), told]
    return found


def _recognises(path: Path, first: Row | None) -> bool:
    """Whether a file has reviews, or predictions, which belong to the reviews beside them."""
    of_review = 'score' in mapping(at(first, 'sample_score'))
    return 'index' in (first or {}) and (of_review or 'choices' in mapping(at(first, 'model_output')))


def _run_of(path: Path) -> Hashable:
    subset = _subset(path)
    return (subset.root, subset.model, subset.benchmark) if subset.root else path


def _rows(files: Sequence[Path]) -> Iterator[Row]:
    """Yield of each subset the samples with a review, then those that were asked for and have none."""
    for path in sorted({_subset(path).reviews for path in files}):
        if not path.is_file() or not mapping(at(first_row(path), 'sample_score')):
            raise InputError(f'{path} is not there: predictions have no verdicts; give the reviews too')
        subset = _subset(path)
        beside = {file.stem for file in path.parent.glob(f'{subset.benchmark}_*.jsonl')}
        several = subset.root and beside - {f'{subset.benchmark}_default'}
        shared = {'_subset': subset, '_scores': _scores_in(path), '_split': subset.name if several else ''}
        predictions = rows_of(subset.predictions) if subset.predictions.is_file() else ()
        endings = {str(row.get('index')): _ending(row) for row in predictions}
        begun: dict[int, tuple[Row, set[int]]] = defaultdict(lambda: ({}, set()))
        for row in rows_of(path):
            try:
                group, replica = _place(row, subset.size)
            except (ValueError, TypeError, KeyError) as error:
                yield {'_bad': f'{error}', **row}
                continue
            begun.setdefault(group, (row, set()))[1].add(replica)
            yield {**row, **shared, '_place': (group, replica), '_ending': endings.get(str(row['index']))}
        if not subset.size or subset.report is None:
            continue
        # EvalScope goes on after errors: these are in no file, or have a response and no review.
        planned = at(mapping(at(subset.report, 'execution_summary.subsets')).get(subset.name), 'requested')
        size = planned // subset.size if type(planned) is int and planned > 0 else max(begun, default=-1) + 1
        for group in range(size):
            first, there = begun[group]
            for replica in sorted(set(range(subset.size)) - there):
                asked = {name: first.get(name) for name in ('messages', 'target')}
                place = {'_place': (group, replica), '_file': path, '_row': None}
                yield {**shared, **place, **asked, '_ending': {'state': 'failed'}}


def _scores_in(reviews: Path) -> tuple[str, list[str], Any]:
    """Return which score is the verdict, all scores, and who judged, by the first review with a score."""
    for row in rows_of(reviews):
        score = mapping(at(row, 'sample_score.score'))
        if there := list(mapping(score.get('value'))):
            # Where EvalScope names no main one, a usual one, or the first.
            usual = (score.get('main_score_name'), 'acc', 'accuracy', 'exact_match', there[0])
            return next(one for one in usual if one in there), there, at(score, 'judge_summary.judge_models')
    return '', [], None


def _place(row: Row, size: int | None) -> tuple[int, int]:
    """Return the number of the question of a sample, and which of its samples it is."""
    told = mapping(row.get('sample_score'))
    index, group, replica = row['index'], told.get('group_id'), told.get('generation_index')
    expected, place = divmod(index, size) if size else (index, index)
    if size and group not in (None, expected):
        other = f'sample {index} is of question {group}, but by repeats = {size} in the config of {expected}'
        raise ValueError(f'{other}: are these files of several runs?')
    return expected if group is None else group, place if replica is None else replica


def _ending(row: Row) -> Row:
    """Return what a prediction tells of how its response came to its end, and its thought."""
    choice, told = at(row, 'model_output.choices.0') or {}, mapping(row.get('model_output'))
    reason, (thought, text) = choice.get('stop_reason'), parts_of(choice.get('message') or {})
    state = _STATES.get(str(reason))
    if not choice:
        state = 'failed' if told.get('error') else 'no choice'
    elif reason == 'tool_calls' and not text.strip():
        state = 'tool call'
    ending = {'finish_reason': _FINISH.get(str(reason), reason), 'seconds': told.get('time')}
    return {**ending, **tokens_of(told.get('usage')), 'state': state, 'thought': thought}


def _sample(row: Row) -> Iterator[Row]:
    """Yield the sample of a row, and put its scores into the row under their names."""
    messages, score, target = (
        row.get('messages') or [],
        at(row, 'sample_score.score') or {},
        row.get('target'),
    )
    answer: Row = next((one for one in reversed(messages) if one.get('role') == 'assistant'), {})
    told, (thought, text) = at(answer, 'perf_metrics'), parts_of(answer)
    ending = row['_ending'] or {**tokens_of(told), 'seconds': at(told, 'latency')}
    values, said = _values(score, row['_scores'][0])
    row.update({**values, 'metadata': at(row, 'sample_score.sample_metadata'), **row})
    group, replica = row['_place']
    yield {
        **{'uid': f'{row["_split"]}/{group}' if row['_split'] else group, 'split': row['_split']},
        'replica': replica,
        'question': asked_in(list(takewhile(lambda one: one.get('role') != 'assistant', messages))),
        'reference': target,
        'response': text if score.get('prediction') is None and answer else score.get('prediction'),
        'answer': score.get('extracted_prediction'),
        'correct': values.get(row['_scores'][0]),
        **ending,
        'thought': thought or ending.get('thought'),
        '_said': said,
    }


def _values(score: Mapping[str, Any], metric: str) -> tuple[dict[str, Any], list[str]]:
    """Return the scores of a response; None in place of one that EvalScope notes that it could not give."""
    values, beside = dict(score.get('value') or {}), score.get('metadata') or {}
    usable = score.get('status') in (None, 'success', 'fallback', 'degraded')
    if not usable or (score and metric not in values):
        said = '{count} samples were not scored by EvalScope (its judge, or a metric, failed)'
        return dict.fromkeys(values), [f'{said}: they are unjudged']
    failed = tuple(beside.get('metric_errors') or ())
    noted = [name for name in values if name.startswith(failed) or str(beside.get(name)).startswith('error')]
    broken = [name for name in noted if not values[name]]
    said = '{count} samples have the score 0 because a metric failed, as EvalScope notes there'
    return values | dict.fromkeys(broken), [f'{said}: they are unjudged'] if metric in broken else []


def _about(row: Row) -> Mapping[str, Any]:
    subset, (metric, there, models), remarks = row['_subset'], row['_scores'], []
    names = [subset.model, row.get('model'), *(at(one, 'model') for one in row.get('messages') or ())]
    if subset.size and subset.report is None:
        remarks.append('EvalScope wrote no report of this run: it is still going on, or broke off')
    if len(there) > 1:
        several = f'the verdicts are the score {metric!r} of {", ".join(there)}'
        remarks.append(f'{several}; --field correct=NAME takes another')
    strategy, version = subset.config.get('judge.strategy'), subset.config.get('evalscope_version') or ''
    judge = {'name': f'{metric} of EvalScope', 'metric': metric, 'models': models, 'strategy': strategy}
    settings = {name.removeprefix('generation_config.'): one for name, one in subset.config.items()}
    return {
        'model': next((name for name in names if isinstance(name, str) and name), ''),
        'dataset': subset.benchmark,
        'written_by': f'EvalScope {version}'.strip(),
        'judge': {key: one for key, one in judge.items() if one and one != 'auto'} if metric else {},
        'settings': sampling(settings),
        'remarks': remarks,
    }


FORMAT = Format(recognises=_recognises, run_of=_run_of, rows=_rows, expand=_sample, about=_about)
