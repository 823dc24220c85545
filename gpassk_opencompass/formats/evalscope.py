"""EvalScope's work directories, `outputs/<time>`: reviews of a benchmark, with its predictions beside them.

A subset of a benchmark is a file of reviews and one of predictions; a model and a benchmark are a run, whose
subsets are splits. The config and the report of the run tell how many samples were asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import listed, mapping
from ..health import NOT_DRAWN
from .format import Format, Row, at, first_row, rows_of

_KINDS = _REVIEWS, _PREDICTIONS = 'reviews', 'predictions'
"""Folders of the two kinds of files."""

_USUAL = ('acc', 'accuracy', 'exact_match')
"""Scores of which one is the verdict where EvalScope names no main one; else its first."""

_SAMPLING = (
    *('temperature', 'top_p', 'top_k', 'max_tokens', 'repetition_penalty', 'presence_penalty'),
    *('frequency_penalty', 'do_sample', 'seed', 'reasoning_effort'),
)
"""What is kept of `generation_config`."""

_REASONS = {'max_tokens': 'length', 'model_length': None, 'unknown': None}
_STATES = {'model_length': 'too long', 'content_filter': 'filtered'}
"""Why a model stopped → the state of a sample whose text is the error of a server, and no response."""

_MEASURED = {'prompt_tokens': 'input_tokens', 'output_tokens': 'output_tokens', 'seconds': 'latency'}
"""Column → what a review tells of it, where there is no prediction."""

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


def _kind(row: Row | None) -> str | None:
    """Return which kind of file a first row is of; None of another program's."""
    if row is None or 'index' not in row:
        return None
    if 'score' in mapping(row.get('sample_score')):
        return _REVIEWS
    return _PREDICTIONS if 'choices' in mapping(row.get('model_output')) else None


class _Subset:
    """The two files of a subset of a benchmark, by one of them, and what the run's files tell of it.

    root: the work directory; None of a file that lies elsewhere, which is a benchmark of its own.
    """

    def __init__(self, path: Path) -> None:
        self.path = path = path.absolute()
        self.root = next((above.parent for above in path.parents if above.name in _KINDS), None)
        within = path.relative_to(self.root).parts[1:] if self.root else (path.name,)
        self.model = '/'.join(within[:-1])
        known = {str(name) for one in self.configs for name in listed(one.get('datasets'))}
        known |= {file.stem for file in self.root.glob('reports/**/*.json')} if self.root else set()
        stem = path.name.split('.jsonl')[0]
        fitting = [name for name in known if stem.startswith(f'{name}_') and len(name) + 1 < len(stem)]
        self.benchmark = max(fitting, key=len, default=stem.removesuffix('_default'))
        self.name = stem[len(self.benchmark) + 1 :]
        both = {kind: Path(self.root, kind, *within) for kind in _KINDS} if self.root else {}
        self.files = {kind: file for kind, file in both.items() if file.is_file()}
        if not self.root and (kind := _kind(first_row(path))):
            self.files = {kind: path}

    @cached_property
    def configs(self) -> list[dict[str, Any]]:
        """Return the configs of all models, the last one first; `[]` where there is none."""
        paths = self.root.glob('configs/task_config*.yaml') if self.root else ()
        return [_upper_levels(path) for path in sorted(paths, key=lambda path: -path.stat().st_mtime)]

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """Return the last config of the model."""
        return next((one for one in self.configs if str(one.get('model_id')) == self.model), {})

    @cached_property
    def report(self) -> Mapping[str, Any] | None:
        """Return the report of the benchmark; None where there is none, as while the run goes on."""
        path = Path(self.root or '.', 'reports', self.model, f'{self.benchmark}.json')
        try:
            return mapping(json.loads(path.read_bytes())) if self.root and path.is_file() else None
        except (OSError, ValueError, RecursionError):
            return {}

    @cached_property
    def size(self) -> int | None:
        """Return the samples a question; None where no config says so."""
        told = self.config.get('repeats') if self.benchmark in listed(self.config.get('datasets')) else None
        return told if type(told) is int and told > 0 else None

    @cached_property
    def split(self) -> str:
        """Return as which split the subset counts; '' of a sole one, `default`."""
        beside = self.path.parent.glob(f'{self.benchmark}_*.jsonl')
        return self.name if {file.stem[len(self.benchmark) + 1 :] for file in beside} - {'default'} else ''

    def place(self, row: Row) -> tuple[int, int]:
        """Return the number of the question of a sample, and which of its samples it is."""
        told, size = mapping(row.get('sample_score')), self.size
        index, group, replica = row.get('index'), told.get('group_id'), told.get('generation_index')
        for name, value in (('index', index), ('group_id', group), ('generation_index', replica)):
            if (type(value) is not int or value < 0) and (value is not None or name == 'index'):
                raise ValueError(f'{name} is {value!r:.60}; expected a whole number from 0 on')
        expected, number = divmod(index, size) if size else (index, index)
        if size and group not in (None, expected):
            raise ValueError(
                f'sample {index} is of question {group}, but with {size} samples a question (repeats of the '
                f'config) of question {expected}: are these files of several runs?'
            )
        return expected if group is None else group, number if replica is None else replica

    def rows(self) -> Iterator[Row]:
        """Yield the samples with a review, then those that were drawn alone, then those that failed."""
        reviews, predictions = (self.files.get(kind) for kind in _KINDS)
        if not reviews and self.size is None:
            raise InputError(
                f'{self.path}: there are no reviews, and nothing tells which predictions are of one '
                'question: expected the configs/task_config.yaml of the run, with its repeats'
            )
        endings = {str(row.get('index')): _ending(row) for row in rows_of(predictions)} if predictions else {}
        shared = {'_scores': self._scores(reviews), '_split': self.split}
        reviewed: set[int] = set()
        begun: dict[int, tuple[Row, set[int]]] = {}
        whole: set[int] = set()
        for file in filter(None, (reviews, predictions)):
            for row in rows_of(file):
                try:
                    group, replica = self.place(row)
                except ValueError as error:
                    yield {'_bad': str(error), **row, '_file': file}
                    continue
                if file == predictions and (row['index'] in reviewed or self.size is None):
                    if row['index'] not in reviewed:
                        yield {'_skipped': _UNKNOWN}
                    continue
                reviewed.add(row['index'])
                first, there = begun.setdefault(group, (row, set())) if self.size else (row, set())
                there.add(replica)
                if len(there) == self.size:
                    del begun[group]
                    whole.add(group)
                own = {'_group': group, '_replica': replica, '_ending': endings.get(str(row['index']))}
                yield {**row, **shared, **own, '_first': first, '_file': file}
        if self.size and self.report is not None:
            yield from ({**row, **shared} for row in self._failed(begun, whole))

    @staticmethod
    def _scores(reviews: Path | None) -> tuple[str, list[str], Any]:
        """Return which score is the verdict, all scores, and who judged, by the first review with a score."""
        for row in rows_of(reviews) if reviews else ():
            score = mapping(at(row, 'sample_score.score'))
            if there := list(mapping(score.get('value'))):
                usual = [one for one in (score.get('main_score_name'), *_USUAL, there[0]) if one in there]
                return usual[0], there, at(score, 'judge_summary.judge_models')
        return '', [], None

    def _failed(self, begun: dict[int, tuple[Row, set[int]]], whole: set[int]) -> Iterator[Row]:
        """Yield the samples that were asked for and are in no file: EvalScope goes on after errors."""
        size = self.size or 1
        planned = at(mapping(at(self.report, 'execution_summary.subsets')).get(self.name), 'requested')
        last = max(whole | begun.keys(), default=-1) + 1
        for group in range(planned // size if type(planned) is int and planned > 0 else last):
            first, there = begun.get(group, ({}, set()))
            for replica in sorted(set(range(size)) - there) if group not in whole else ():
                own = {'_group': group, '_replica': replica, '_ending': {'state': 'failed'}, '_first': first}
                yield {'messages': first.get('messages'), **own}


_LINE = re.compile(r'( {0,2})([\w-]+):(?: (.*))?')


def _upper_levels(path: Path) -> dict[str, Any]:
    """Read the two upper levels of a YAML file as EvalScope writes it, without a YAML package."""
    found: dict[str, Any] = {}
    key = ''
    for line in path.read_bytes().decode(errors='replace').splitlines():
        told = _LINE.fullmatch(line)
        if told and not told[1]:
            key = told[2]
            found[key] = _scalar(told[3]) if told[3] else {}
        elif told and isinstance(found.get(key), dict):
            found[key][told[2]] = _scalar(told[3] or '')
        elif line.startswith('- ') and key:
            found[key] = [*listed(found[key]), _scalar(line[2:])]
    return found


def _scalar(text: str) -> Any:
    if text[:1] == "'":
        return text.strip()[1:-1].replace("''", "'")
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()


def _ending(row: Row) -> Row:
    """Return what a prediction tells of how its response came to its end, and its thought."""
    choice, usage = at(row, 'model_output.choices.0') or {}, at(row, 'model_output.usage')
    reason, (thought, text) = choice.get('stop_reason'), _parts(choice.get('message') or {})
    state = _STATES.get(str(reason))
    if not choice:
        state = 'failed' if at(row, 'model_output.error') else 'no choice'
    elif reason == 'tool_calls' and not text.strip():
        state = 'tool call'
    return {
        'finish_reason': _REASONS.get(str(reason), reason),
        'prompt_tokens': at(usage, 'input_tokens'),
        'output_tokens': at(usage, 'output_tokens'),
        'reasoning_tokens': at(usage, 'reasoning_tokens'),
        'seconds': at(row, 'model_output.time'),
        'state': state,
        'thought': thought,
    }


def _parts(message: Row) -> tuple[str, str]:
    """Return the thought and the text of a message."""
    content = message.get('content')
    if isinstance(content, str):
        return '', content
    thoughts, texts = (
        [str(part.get(kind) or '') for part in content or () if part.get('type') == kind]
        for kind in ('reasoning', 'text')
    )
    return '\n'.join(thoughts), '\n'.join(texts)


def _sample(row: Row) -> Iterator[Row]:
    """Yield a row with its scores under their names, and what the columns of a sample need."""
    metric, messages = row['_scores'][0], row.get('messages') or []
    answer: Row = next((one for one in reversed(messages) if one.get('role') == 'assistant'), {})
    measured = {name: at(answer, f'perf_metrics.{there}') for name, there in _MEASURED.items()}
    ending, score = row['_ending'] or measured, at(row, 'sample_score.score') or {}
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
    if score.get('status') not in (None, 'success', 'fallback', 'degraded') or (
        score and metric not in values
    ):
        return dict.fromkeys(values), [_UNSCORED]
    errors = beside.get('metric_errors') or ()
    broken = [
        name for name in values if any(map(name.startswith, errors)) or str(beside.get(name))[:5] == 'error'
    ]
    broken = [name for name in broken if not values[name]]
    return values | dict.fromkeys(broken), [_BROKEN] if metric in broken else []


def _about(paths: Sequence[Path], row: Row) -> Mapping[str, Any]:
    subset, (metric, there, models) = _Subset(paths[0]), row['_scores']
    config, remarks = subset.config, []
    told, strategy = mapping(config.get('generation_config')), at(config, 'judge.strategy')
    names = [row.get('model'), *(at(one, 'model') for one in row.get('messages') or ())]
    if subset.benchmark in listed(config.get('datasets')) and subset.report is None:
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
        'settings': {name: told[name] for name in _SAMPLING if told.get(name) is not None},
        'remarks': remarks,
    }


def _run_of(path: Path) -> Any:
    subset = _Subset(path)
    return (subset.root, subset.model, subset.benchmark) if subset.root else subset.path


def _chosen(paths: Sequence[Path]) -> list[Path]:
    """Return a file of each subset."""
    return sorted({next(iter(_Subset(path).files.values()), path) for path in paths})


_OWN = (
    *(
        'uid',
        'replica',
        'split',
        'question',
        'reference',
        'response',
        'thought',
        'answer',
        'correct',
        'state',
    ),
    *('finish_reason', 'prompt_tokens', 'output_tokens', 'reasoning_tokens', 'seconds'),
)
FORMAT = Format(
    fields={name: f'_{name}' for name in _OWN},
    recognises=lambda path, row: _kind(row) is not None,
    run_of=_run_of,
    chosen=_chosen,
    rows=lambda path: _Subset(path).rows(),
    expand=_sample,
    about=_about,
)
