"""The tables of `gpassk compare`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tabulate import tabulate

from ..errors import InputError
from ..report.agreement import INSIDE, OPEN, OUTSIDE, Pairing
from ..report.layout import NOTHING, short_reason
from ..report.neighbours import Assumptions, Neighbours, neighbours, resolved
from ..report.published import BENCHMARKS, Published, metric_name
from ..report.scores import Score
from ..report.table import Table, markdown_cell
from .shown import printable


def print_pairs(pairs: Sequence[Pairing], alone: Sequence[str]) -> None:
    """Ours, theirs, whether they agree, and what was not compared."""
    rows = [
        [
            markdown_cell(pair.score.run),
            markdown_cell(pair.model),
            markdown_cell(f'{pair.benchmark} ({pair.score.part})' if pair.score.part else pair.benchmark),
            pair.score.metric,
            f'{pair.score.value:.2f}',
            _interval(pair.score),
            f'{pair.theirs:.2f}',
            f'{pair.score.value - pair.theirs:+.2f}',
            NOTHING if pair.rerun is None else f'±{pair.rerun:.1f}',
            pair.verdict,
        ]
        for pair in pairs
    ]
    headers = ['run', 'published as', 'benchmark', 'metric', 'ours', 'interval', 'theirs', 'difference']
    if rows:
        print(tabulate(rows, [*headers, 'rerun', 'theirs is'], 'github', disable_numparse=True))
        _print_legend(pairs)
    refused = [pair.score for pair in pairs if pair.score.refused]
    for reason in dict.fromkeys(f'{one.metric}: {short_reason(one.refused)}' for one in refused):
        print(f'no interval for {reason}')
    for line in alone:
        print(f'not compared: {printable(line)}')


def _print_legend(pairs: Sequence[Pairing]) -> None:
    inside, outside, without = (
        sum(pair.verdict == verdict for pair in pairs) for verdict in (INSIDE, OUTSIDE, OPEN)
    )
    print(
        f'\n{len(pairs)} published scores: {inside} inside our interval, {outside} outside, {without} where '
        'ours has none. Theirs come without counts and have no interval.\n'
        'interval: for new questions of the same kind. rerun: two runs of one model on the same questions '
        'lie no further apart;\nwhat is beyond that comes from another judge, prompt, engine or setting.'
    )


def print_neighbours(
    published: Published, metric: str | None, assumptions: Assumptions, every_pair: bool
) -> None:
    """A line a benchmark, and every pair if asked.

    Raises:
        InputError: the leaderboard does not have the metric.
    """
    name = metric_name(metric) if metric else published.leading
    if name not in published.metrics:
        raise InputError(f'--metric {metric}: the leaderboard has {", ".join(published.metrics)}')
    print(
        f'\nNeighbours by {name} that a paired comparison could tell apart '
        f'({100 * assumptions.level:g} %).\n'
        f'Assumed: {assumptions.n} samples a question; hardness as the published G-Pass values tell; '
        f'correlation {assumptions.translations:g} between\nthe languages of a problem, '
        f'{assumptions.models:g} between models.'
    )
    for benchmark in published.benchmarks:
        if benchmark not in BENCHMARKS:
            print(f'{printable(benchmark)}: its number of questions is not known')
            continue
        pairs = neighbours(published, benchmark, name, assumptions)
        print(_summary(benchmark, pairs))
        if every_pair:
            _print_every(pairs)


def pairs_csv(pairs: Sequence[Pairing]) -> str:
    """All digits; an empty cell where there is nothing."""
    headers = ['run', 'model', 'benchmark', 'metric', 'ours', 'low', 'high', 'theirs', 'difference', 'rerun']
    rows = [
        [
            pair.score.run,
            pair.model,
            pair.benchmark,
            pair.score.metric,
            pair.score.value,
            pair.score.low,
            pair.score.high,
            pair.theirs,
            pair.score.value - pair.theirs,
            pair.rerun,
            pair.verdict,
            pair.score.refused,
        ]
        for pair in pairs
    ]
    return Table([*headers, 'verdict', 'refused'], rows).to_csv()


def _summary(benchmark: str, pairs: Sequence[Neighbours]) -> str:
    known, found = BENCHMARKS[benchmark], resolved(pairs)
    median = found['median']
    least = '' if math.isnan(median) else f'; median least difference {median:.1f} points'
    reasons = [short_reason(pair.refused) for pair in pairs if pair.refused]
    refused = f'; no statement on {len(reasons)}: {", ".join(dict.fromkeys(reasons))}' if reasons else ''
    return (
        f'- {benchmark}: {found["apart"]} of {found["pairs"]} pairs ({known.questions} questions of '
        f'{known.problems} problems{least}{refused})'
    )


def _print_every(pairs: Sequence[Neighbours]) -> None:
    rows = [
        [
            markdown_cell(pair.better),
            markdown_cell(pair.worse),
            f'{pair.gap:.1f}',
            NOTHING if pair.least is None else f'{pair.least:.1f}',
            pair.refused or ('yes' if pair.distinguishable else 'no'),
        ]
        for pair in pairs
    ]
    headers = ['better', 'worse', 'gap', 'least difference', 'told apart']
    print(f'\n{tabulate(rows, headers, "github", disable_numparse=True)}\n')


def _interval(score: Score) -> str:
    if score.low is None or score.high is None:
        return NOTHING
    return f'[{score.low:.1f}, {score.high:.1f}]'
