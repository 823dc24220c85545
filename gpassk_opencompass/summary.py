"""What `gpassk score` tells of one run: its metrics with intervals, and what to know before quoting them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from .metrics import ACCURACY, Kind, Metric, metrics_of, value_table
from .record import Result, values
from .samples import Run
from .statistics import REACH, mean_interval, rerun_error
from .text import Table

TOTAL = 'total'
"""The group of all questions."""

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

    def interval(row: Row) -> str:
        return f'[{row["low"]:.1f}, {row["high"]:.1f}]'

    total = {row['metric']: row for row in rows if row['group'] == TOTAL}
    bounds = ['unjudged wrong … right'] if any(row['wrong'] is not None for row in total.values()) else []
    heads = ['metric', 'score', '95 % interval', 'rerun', *bounds]
    first = Table('all questions', heads, data=list(total.values()))
    for name, row in total.items():
        doubt = [None if row['wrong'] is None else f'{row["wrong"]:.2f} … {row["right"]:.2f}'] * len(bounds)
        first.rows.append([name, row['score'], interval(row), f'± {row["rerun"]:.1f}', *doubt])
    yield first
    groups = {row['group']: row['questions'] for row in rows if row['metric'] == str(ACCURACY)}
    if len(groups) > 1:
        metrics = list(map(Metric.parse, total))
        largest = max(one.k for one in metrics)
        last = (one for one in metrics if one.k == largest and one.kind is not Kind.PASS)
        shown = list(dict.fromkeys(map(str, (ACCURACY, *last))))
        cells = {
            (row['group'], row['metric']): f'{row["score"]:.2f} {interval(row)} ± {row["rerun"]:.1f}'
            for row in rows
        }
        second = Table('groups', ['group', 'questions', *shown], data=list(rows))
        for group, questions in groups.items():
            second.rows.append([group, questions, *(cells.get((group, one)) for one in shown)])
        yield second


def scores_table(rows: Sequence[Row]) -> Table:
    """Return the rows for a file: percent, all digits."""
    return Table('scores', list(rows[0]), [list(row.values()) for row in rows])


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
