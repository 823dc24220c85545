"""The samples that lm-evaluation-harness 0.4 logs with `--log_samples`: a row a question under one filter.

The harness scores the filtered response, which with `repeats` above 1 is one of n; only a task that scores
each leaves a verdict of all n. Model and sampling stand in `results_<date>.json` beside the samples.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ForeignFileError
from ..files import mapping
from ..json_rows import Row
from .format import Format, Options, at, first_row, named, object_beside

_NEEDS = {'doc_id', 'doc', 'target', 'arguments', 'resps', 'filtered_resps', 'filter', 'metrics'}
_NAME = re.compile(r'samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl(?:\.gz)?')

_OF_QUESTIONS = named('uid problem split language')
"""What the data of our own tasks say of a question."""

_SETTINGS = {
    **named('temperature top_p top_k repetition_penalty'),
    **dict.fromkeys(('max_gen_toks', 'max_tokens', 'max_new_tokens'), 'max_out_len'),
    'seed': 'random_seed',
}
"""Name of a generation setting there → here."""

_OTHER = '{count} rows are of another filter than %r and were passed over: --field filter=… chooses another'
_ONE_OF_N = (
    'of {count} questions the harness scored only what its filter %r left of %d responses (%s): these '
    'verdicts are not taken'
)
_EMPTY = '{count} responses are "None", written where a server sent no text: they count as empty'
_WHOLE_PROMPT = (
    'the data of {count} questions has no field known to hold the question: the whole prompt stands for it'
)


def _responses(row: Row) -> list[str | None] | None:
    """Return the responses to a question; None where choices were weighed."""
    [first, *more] = row['resps']
    if all(isinstance(one, (list, tuple)) for one in first):
        if isinstance(at(row, 'arguments.gen_args_0.arg_1'), str):
            return None
        raise ValueError('its responses are likelihoods of texts, of a perplexity task; expected texts')
    if more:
        raise ValueError(f'it has {len(more) + 1} prompts; expected one, with all responses in resps[0]')
    if bad := [one for one in first if one is not None and not isinstance(one, str)]:
        raise ValueError(f'resps[0] holds a {type(bad[0]).__name__}; expected texts')
    return list(first)


def _left(row: Row) -> list[Any]:
    """Return what the filter left of the responses, also where it stands in a list within the list."""
    kept = row['filtered_resps']
    return list(kept[0] if len(kept) == 1 and isinstance(kept[0], list) else kept)


class _Filter:
    """The rows of one filter, of which the first shows which metric has a verdict of each response."""

    def __init__(self, first: Row, options: Options) -> None:
        self.name, self.asked = options.fields.get('filter', first['filter']), options.fields
        self.metric = ''  # '' where there is none of all n responses
        self.by_filter = False  # whether it is of all n as far as the filter left them all: each row shows it
        self.texts: bool | None = None  # responses, or likelihoods of choices; None before the first row
        self.begin(first)
        if first['filter'] != self.name:  # all filters have one kind of metrics, but each its own responses
            self.texts = None

    def begin(self, row: Row) -> None:
        """Choose the metric.

        A list may hold a verdict of each instruction in place of each response: unless its name tells, it is
        taken where the filter left all n responses, and of one response only if there is no number.
        """
        responses = _responses(row)
        self.texts, n = responses is not None, len(responses or [None])
        told = {name: row[name] for name in row['metrics'] if name in row}
        numbers = [name for name, one in told.items() if isinstance(one, (bool, int, float))]
        lists = [name for name, one in told.items() if isinstance(one, list) and len(one) == n]
        lists = [name for name in lists if {*map(type, told[name])} <= {bool, int, float, type(None)}]
        if 'correct' in lists:
            self.metric = 'correct'
        elif n == 1:
            self.metric = [*numbers, *lists, ''][0]
        elif len(_left(row)) == n:
            self.metric = [*lists, ''][0]
            self.by_filter = bool(self.metric)

    def samples(self, row: Row) -> Iterator[Row]:
        """Yield a row of each response."""
        if row['filter'] != self.name:
            yield {'_skipped': _OTHER % self.name}
            return
        if self.texts is None:
            self.begin(row)
        texts, left, told, doc = _responses(row), _left(row), row.get(self.metric), row['doc']
        if (texts is not None) != self.texts:
            raise ValueError('some rows hold responses and some likelihoods of choices; expected one kind')
        n = len(texts or [None])
        if self.by_filter and len(left) != n:
            raise ValueError(
                f'filtered_resps is {row["filtered_resps"]!r:.60}, for {n} responses, so that {self.metric} '
                'is not of them all as it is in the first row'
            )
        verdicts = told if isinstance(told, list) else [told] * n
        if self.metric and (len(verdicts) != n or self.metric not in row):
            raise ValueError(f'{self.metric} is {told!r:.60}, for {n} responses; expected a verdict of each')
        answers = left if self.metric and len(left) == n and left != texts else [None] * n
        fields = ('question', 'problem', 'Question', 'Problem', 'query', 'input')
        question = next((doc[name] for name in fields if isinstance(doc.get(name), str)), None)
        said = [_WHOLE_PROMPT] if question is None and 'question' not in self.asked else []
        if not self.metric and n > 1 and row['metrics'] and 'correct' not in self.asked:
            said.append(_ONE_OF_N % (self.name, n, ', '.join(row['metrics'])))
        ours = all(isinstance(doc.get(name), str) for name in _OF_QUESTIONS)
        target = row['target']
        shared = {
            'uid': doc['uid'] if ours else row['doc_id'],
            'problem': doc['problem'] if ours else None,
            **{name: doc.get(name) for name in ('split', 'language')},
            'question': at(row, 'arguments.gen_args_0.arg_0') if question is None else question,
            'reference': json.dumps(target) if isinstance(target, (list, dict)) else target,
            **{name: row[name] for name in ('_file', '_row')},
        }
        for place, text in enumerate(texts or [None]):
            sample = {**shared, 'replica': place, 'correct': verdicts[place], 'answer': answers[place]}
            if self.texts and text in (None, 'None'):
                yield {**sample, 'response': '', 'state': 'empty', '_said': [*said, _EMPTY]}
            else:
                yield {**sample, 'response': text, '_said': said}
            said = []

    def about(self, paths: Sequence[Path], row: Row) -> Mapping[str, Any]:
        """Return what the summary of the run tells, which was written beside it at the same moment."""
        named, summary = _NAME.fullmatch(paths[0].name), Row()
        task = named['task'] if named else ''
        for path in sorted(paths[0].parent.glob(f'*_{named["date"]}.json')) if named else ():
            told = {**object_beside(path)}
            summary = told if _is_summary(told) else summary
        args = at(summary, 'config.model_args')
        args = mapping(args) or dict(pair.split('=', 1) for pair in str(args).split(',') if '=' in pair)
        names = [summary.get('model_name'), args.get('pretrained'), args.get('model')]
        own = at(summary, f'configs.{task}.metadata.gpassk.judge')
        version = at(summary, f'versions.{task}')
        judge = {'name': f'{self.metric} of lm-eval', 'task': task, 'filter': self.name, 'version': version}
        judge = own or {key: one for key, one in judge.items() if one not in (None, '')}
        asked = mapping(at(row, 'arguments.gen_args_0.arg_1'))
        settings = {
            here: asked[name] for name, here in _SETTINGS.items() if isinstance(asked.get(name), (int, float))
        }
        settings |= {'temperature': 0.0} if asked.get('do_sample') is False else {}
        engine, version = at(summary, 'config.model'), summary.get('lm_eval_version')
        return {
            'model': next((name for name in names if isinstance(name, str) and name), ''),
            'dataset': task,
            'written_by': f'lm-eval {version}' if isinstance(version, str) else 'lm-eval',
            'judge': judge if self.metric else {},
            'settings': settings | ({'engine': engine} if isinstance(engine, str) else {}),
        }


def _specialise(first: Row, options: Options) -> Format:
    rows = _Filter(first, options)
    return replace(FORMAT, expand=rows.samples, about=rows.about)


def _is_summary(row: Row) -> bool:
    return {'results', 'configs', 'versions'} <= row.keys() and 'gpassk' not in row


def _chosen(paths: Sequence[Path]) -> list[Path]:
    if _is_summary(first_row(paths[0]) or {}):
        raise ForeignFileError(
            f"{paths[0]} is lm-eval's summary, without samples; give the samples_*.jsonl beside it, which "
            'lm_eval writes with --log_samples'
        )
    return list(paths)


FORMAT = Format(
    fields={**_OF_QUESTIONS, **named('replica question reference response answer correct state')},
    recognises=lambda path, row: row is not None and (row.keys() >= _NEEDS or _is_summary(row)),
    chosen=_chosen,
    specialise=_specialise,
    options=frozenset({'filter'}),
)
