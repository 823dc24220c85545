"""What `gpassk score` tells of a run, metrics with intervals and what to know of them, and writes of it.

For others a CSV with a row a sample, and the files of lm-evaluation-harness 0.4.13, named and laid out as
`lm_eval --log_samples --output_path <folder>` does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from . import __version__
from .errors import InputError
from .files import save
from .metrics import ACCURACY, Kind, Metric, metrics_of, value_table
from .record import Result, means, values
from .samples import COLUMNS, Run, Samples, parted_group
from .statistics import REACH, mean_interval, rerun_error
from .text import Table, csv_text, json_text, seconds_of, whole_characters

TOTAL = 'total'  # the group of all questions
FILTER = 'gpassk'  # what took final answers out of responses, in the place of a filter of lm-eval

Row = Mapping[str, Any]


def summarise(result: Result) -> list[Row]:
    """Return a row a metric, of each group where there are several, and of all questions together.

    In percent: score; low, high, its interval for new questions of the kind; rerun, half of the interval of
    reruns; wrong and right, the score with all unjudged samples wrong, and right, where there are any.
    A question counts in the metrics of each k up to its own n.
    """
    counts = result.table
    problem = np.unique(counts.problem, return_inverse=True)[1]
    groups, names = np.array(counts.group), list(dict.fromkeys(counts.group))
    members = {name: groups == name for name in names if len(names) > 1}
    metrics = [one for one in metrics_of(result.ks, result.thresholds, pass_at=True) if one.steps]
    rows: list[Row] = []
    for group, inside in {**members, TOTAL: np.ones(len(counts), dtype=bool)}.items():
        for metric in [ACCURACY, *(metrics if counts.n[inside].max() > 1 else [])]:  # mG-Pass@1 says nothing
            where = inside & (counts.n >= metric.k)
            if not where.any():
                continue
            n, c, doubt = counts.n[where], counts.c[where], counts.unjudged[where]
            found = values(n, c, metric)
            low, high = mean_interval(found, problem[where], metric.top).at()
            score = math.fsum(found.tolist()) / n.size
            rerun = REACH * rerun_error(c, n, partial(value_table, metric))
            shares = {'score': score, 'low': low, 'high': high, 'rerun': rerun, 'wrong': None, 'right': None}
            if doubt.any():
                shares |= {'wrong': score, 'right': values(n, c + doubt, metric).mean()}
            told = {name: None if one is None else 100 * float(one) for name, one in shares.items()}
            rows.append({'group': group, 'questions': n.size, 'metric': str(metric), **told})
    return rows


def headline(run: Run, result: Result, anew: bool) -> str:
    """Return what was scored, in a line."""
    counts, judge = result.table, result.judge.get('name')
    least, most, problems = counts.n.min(), counts.n.max(), len(set(counts.problem))
    kind = 'responses' if anew else 'a result' if run.record else 'labels' if run.samples else 'counts'
    if kind == 'labels' and run.samples and 'response' in run.samples:
        kind = 'responses with verdicts, which count (--judge rule judges anew)'
    of = f' of {problems} problems' if problems < len(counts) else ''
    n = f'{most}' if least == most else f'{least} to {most}'
    by = f', judged by {judge}' if judge else ''
    return f'{kind}; {len(counts)} questions{of}, n = {n}, {counts.n.sum()} samples{by}'


def tables(rows: Sequence[Row]) -> Iterator[Table]:
    """Yield the metrics of all questions, then those of the largest k of each group."""
    total = [row for row in rows if row['group'] == TOTAL]
    some_doubt = any(row['wrong'] is not None for row in total)
    heads = ['metric', 'score', '95 % interval', 'rerun', *['unjudged wrong … right'] * some_doubt]
    first = Table('all questions', heads, data=total)
    for row in total:
        doubt = [None if row['wrong'] is None else '{wrong:.2f} … {right:.2f}'.format(**row)] * some_doubt
        interval, rerun = '[{low:.1f}, {high:.1f}]'.format(**row), '± {rerun:.1f}'.format(**row)
        first.rows.append([row['metric'], row['score'], interval, rerun, *doubt])
    yield first
    groups = {row['group']: row['questions'] for row in rows if row['metric'] == str(ACCURACY)}
    if len(groups) > 1:
        metrics = [Metric.parse(row['metric']) for row in total]
        largest = max(one.k for one in metrics)
        last = (one for one in metrics if one.k == largest and one.kind is not Kind.PASS)
        shown = list(dict.fromkeys(map(str, (ACCURACY, *last))))
        text = '{score:.2f} [{low:.1f}, {high:.1f}] ± {rerun:.1f}'
        cells = {(row['group'], row['metric']): text.format(**row) for row in rows}
        second = Table('groups', ['group', 'questions', *shown], data=list(rows))
        for group, questions in groups.items():
            second.rows.append([group, questions, *(cells.get((group, one)) for one in shown)])
        yield second


def remarks(result: Result, *, anew: bool) -> Iterator[str]:
    """Yield what the intervals are of, and what a reader should know; `anew`: a judge was asked.

    Where many responses have no final answer, three of them, and what to do.
    """
    health, counts = result.health, result.table
    few = mean_interval(counts.c / counts.n, counts.problem).remark
    kind = f'new questions of the same kind{f" ({few})" if few else ""}'
    yield f'interval: for {kind}; rerun: for new samples of the same questions'
    if health.unjudged:
        share = 100 * health.unjudged / health.samples
        yield f'{health.unjudged} of {health.samples} samples are unjudged ({share:.2f} %): counted as wrong'
    if health.states is not None:
        yield f'health: {health.line}'
    yield from dict.fromkeys([*health.remarks(), *result.remarks])
    samples = result.samples()
    if anew and samples is not None and (health.share('unanswered') or 0) > 0.1:
        texts = zip(samples.each('answer'), samples.each('response'), strict=True)
        shown = [text for answer, text in texts if not answer and text][:3]
        yield f'{health.unanswered} of {health.samples} responses have no final answer. The first end:'
        yield from (f'  … {text.strip()[-200:]!r}' for text in shown)
        how = "--answer-pattern 'REGEX' (its last match, or the group in it)"
        yield f'If their answers stand elsewhere: {how}'


# For other programs


def samples_csv(result: Result) -> str:
    """Return a row a sample, with the columns of which something is known.

    What a spreadsheet would take for a formula gets an apostrophe, what cannot be seen is escaped;
    `text.read_csv_cell` gives the texts back. A result of counts alone is an InputError.
    """
    samples, run = _samples(result), result.run
    names = [column.name for column in COLUMNS if column.name in samples and column.name != 'run']
    rows = zip(*(samples[name] for name in names), strict=True)
    return csv_text([['model', 'dataset', *names], *([run.model, run.dataset, *row] for row in rows)])


def write_lm_eval(result: Result, folder: Path) -> list[Path]:
    """Write the files of a run, and return them: the samples, then the summary.

    A line has the verdicts on the n responses as `correct` (true, false, null: unjudged), the final answers
    as filtered responses, and the metrics of its question. A result without responses is an InputError.
    """
    samples, run, size = _samples(result), result.run, len(result.table)
    if 'response' not in samples:
        raise InputError(f'{run.model} on {run.dataset} has no responses; lm-eval logs them')
    names = {'max_out_len': 'max_gen_toks', 'random_seed': 'seed'}
    settings: dict[str, Any] = {'until': []}
    settings |= {names.get(name, name): value for name, value in result.sampling.items()}
    if 'temperature' in settings:
        settings['do_sample'] = settings['temperature'] > 0
    task = re.sub(r'\W', '_', result.benchmark) or 'task'
    model = re.sub(r'["<>:/|\\?*\[\]]+', '__', run.model)
    scores = {name: value / 100 for name, value in result.scores().items() if '/' not in name}
    scores |= {'correct': int(result.table.c.sum()), 'unjudged': int(result.table.unjudged.sum())}
    metadata = {'gpassk': {'version': __version__, 'judge': result.judge}}
    config = {'generation_kwargs': settings, 'repeats': result.n, 'metadata': metadata}
    told = {'name': task, 'alias': result.benchmark, 'sample_len': size}
    told |= {f'{name},{FILTER}': value for name, value in scores.items()}
    summary = {
        'results': {task: {**told, **{f'{name}_stderr,{FILTER}': 'N/A' for name in scores}}},
        'configs': {task: {'task': task, 'output_type': 'generate_until', **config}},
        'versions': {task: 'N/A'},
        'n-shot': {task: 0},
        'higher_is_better': {task: {name: name != 'unjudged' for name in scores}},
        'n-samples': {task: {'original': size, 'effective': size}},
        'config': {'model': result.engine or run.host, 'model_args': {'pretrained': run.model}},
        'model_name': run.model,
        'model_name_sanitized': model,
        'written_by': f'gpassk_opencompass {__version__}',
    }
    moment = datetime.fromtimestamp(seconds_of(run.created) or 0.0, timezone.utc)
    date, target = moment.strftime('%Y-%m-%dT%H-%M-%S.%f'), folder / (model or 'model')
    files = [target / f'samples_{task}_{date}.jsonl', target / f'results_{date}.json']
    save(files[0], ''.join(f'{json_text(line)}\n' for line in _lines(result, samples, settings)))
    save(files[1], json_text(summary, indent=2) + '\n')
    return files


def _samples(result: Result) -> Samples:
    if (samples := result.samples()) is None:
        name = f'{result.run.model} on {result.run.dataset}'
        raise InputError(f'{name} holds counts alone; `gpassk score` of verdicts or responses has samples')
    return samples


def _lines(result: Result, samples: Samples, settings: dict[str, Any]) -> Iterator[Any]:
    """Yield what lm-eval logs of each question."""
    table, questions = result.table, samples.by_question()
    names = ('question', 'reference', 'response', 'answer', 'verdict')
    question, reference, response, answer, verdict = map(samples.each, names)
    for place, uid in enumerate(table.uid):
        rows, counts = questions[uid], table.select([place])
        split, language = parted_group(table.group[place])
        asked, target = question[rows[0]] or '', reference[rows[0]] or ''
        doc = {'uid': uid, 'problem': table.problem[place], 'question': asked, 'answer': target}
        metrics = {
            **means(counts, [k for k in result.ks if k <= len(rows)] or [1], result.thresholds),
            'correct': [{'correct': True, 'incorrect': False}.get(verdict[row]) for row in rows],
            'unjudged': int(counts.unjudged[0]),
        }
        line = {
            'doc_id': place,
            'doc': {**doc, 'split': split, 'language': language},
            'target': target,
            'arguments': {'gen_args_0': {'arg_0': asked, 'arg_1': settings}},
            'resps': [[response[row] or '' for row in rows]],
            'filtered_resps': [[answer[row] or '' for row in rows]],
            'filter': FILTER,
            'metrics': list(metrics),
        }
        yield whole_characters({**line, **metrics})
