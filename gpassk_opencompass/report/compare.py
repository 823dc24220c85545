"""Scores beside others: two runs on the same questions, or our run and the published one."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from scipy import stats

from ..errors import InputError
from ..metrics import Metric
from ..tables import Cell, Column, Table, csv_text
from ..uncertainty import Comparison, compare
from .leaderboard import Board, Entry
from .neighbours import Neighbours
from .published import BENCHMARKS, Published
from .scores import ALL, Score
from .tables import score_cell

INSIDE, OUTSIDE, OPEN = 'inside', 'outside', 'no interval'


@dataclass(frozen=True)
class Pairing:
    """One of our scores and the published one, in percent."""

    score: Score
    model: str
    """As published."""
    benchmark: str
    """As published."""
    theirs: float

    @property
    def verdict(self) -> str:
        """Whether the published score lies in our interval, which has none of its own."""
        if self.score.low is None or self.score.high is None:
            return OPEN
        return INSIDE if self.score.low <= self.theirs <= self.score.high else OUTSIDE

    @property
    def rerun(self) -> float | None:
        """How far two runs of one model on the same questions lie apart at most, at the interval's level.

        z·√2·(rerun error): the published score is a sample of answers, too. None for a greedy run.
        """
        if self.score.rerun_error is None:
            return None
        return float(stats.norm.ppf((1 + self.score.level) / 2)) * math.sqrt(2) * self.score.rerun_error


def pair_scores(
    scores: Iterable[Score], published: Published, names: Mapping[str, str] | None = None
) -> tuple[list[Pairing], list[str]]:
    """Return each of our scores over all questions with the published one of the same model and questions.

    Args:
        scores: of a report.
        published: the leaderboard.
        names: our name of a model, or of a run with its settings → the published one; others are matched by
            letters and digits alone.

    Returns:
        The pairs, and a line for each model or benchmark of ours without a partner.

    Raises:
        InputError: `names` has a model that neither we nor they have.
    """
    ours = [score for score in scores if score.group == ALL]
    _check_names(names or {}, ours, published)
    models = {score.run: _partner(score, published, names or {}) for score in ours}
    sets = {(score.benchmark, score.questions): _same_questions(score, published) for score in ours}
    pairs = []
    for score in ours:
        model, (benchmark, _) = models[score.run], sets[score.benchmark, score.questions]
        if model and benchmark and (model, benchmark, score.metric) in published.values:
            pairs.append(Pairing(score, model, benchmark, published.values[model, benchmark, score.metric]))
    alone = [f'{run}: {_suggestion(run, ours, published)}' for run, model in models.items() if model is None]
    return pairs, alone + [why for _, why in sets.values() if why]


def _partner(score: Score, published: Published, names: Mapping[str, str]) -> str | None:
    for name in (score.run, score.model):
        if name in names:
            return names[name]
    return next((model for model in published.models if _plain(model) == _plain(score.model)), None)


def _same_questions(score: Score, published: Published) -> tuple[str | None, str]:
    """Return the published name of the benchmark, or why there is none."""
    for name in published.benchmarks:
        known = BENCHMARKS.get(name)
        if score.benchmark not in (name, known.label if known else name):
            continue
        if known and known.questions != score.questions:
            return None, f'{score.benchmark}: {score.questions} questions here, {known.questions} in {name}'
        return name, ''
    return None, f'{score.benchmark}: not in the published leaderboard ({", ".join(published.benchmarks)})'


def _check_names(names: Mapping[str, str], ours: Sequence[Score], published: Published) -> None:
    known = {name for score in ours for name in (score.run, score.model)}
    for our_name, their_name in names.items():
        if our_name not in known:
            raise InputError(f'{our_name!r} is no model here; there are {", ".join(sorted(known))}')
        if their_name not in published.models:
            close = difflib.get_close_matches(their_name, published.models, 3, 0.0)
            raise InputError(f'{their_name!r} is not in the published leaderboard; close: {", ".join(close)}')


def _suggestion(run: str, ours: Sequence[Score], published: Published) -> str:
    model = next(score.model for score in ours if score.run == run)
    plain = {_plain(name): name for name in published.models}
    close = [plain[name] for name in difflib.get_close_matches(_plain(model), plain, 3, 0.6)]
    hint = f'; perhaps {" or ".join(close)}: --map {model!r}={close[0]!r}' if close else ''
    return f'no published model of the name {model}{hint}'


def _plain(name: str) -> str:
    return re.sub(r'[\W_]', '', name).casefold()


def differences_table(board: Board, metric: Metric) -> Table:
    """Return a row for every two runs of a table, best first: how far apart they are."""
    interval = Column(f'{100 * board.level:g} % interval', 'left', limits='[{:+.1f}, {:+.1f}]')
    points = Column('first − second', 'left', '{:+.2f}')
    table = Table(
        f'{board.title}: {metric}',
        [Column('first', 'left'), Column('second', 'left'), points, interval, Column('p', 'left')],
    )
    for first, second in combinations(board.entries, 2):
        found = compared(first, second, metric)
        names = [_with_mark(entry) for entry in (first, second)]
        limits = None if found.refused else (100 * found.low, 100 * found.high)
        p_value = None if found.refused else _p_value(found.p_value)
        table.add(*names, 100 * found.difference, Cell('', limits, found.refused), p_value)
    return table


def compared(first: Entry, second: Entry, metric: Metric) -> Comparison:
    """Return the difference of two runs of one table, whose questions may stand in another order."""
    values = second.result.values(metric)[second.result.rows_of(first.result.uids)]
    return compare(first.result.values(metric), values, first.result.problems, first.level)


def pairs_table(pairs: Sequence[Pairing]) -> Table:
    """Return a row a pair: our score and the published one, and whether they agree."""
    texts = [Column(name, 'left') for name in ('run', 'published as', 'benchmark', 'metric')]
    numbers = [Column(name, 'left') for name in ('ours', 'interval', 'theirs')]
    more = [Column('difference', 'left', '{:+.2f}'), Column('rerun', 'left', '±{:.1f}')]
    table = Table('Published scores', [*texts, *numbers, *more, Column('theirs is', 'left')])
    for pair in pairs:
        score = pair.score
        of = f'{pair.benchmark} ({score.part})' if score.part else pair.benchmark
        interval = score_cell(score) or Cell()
        table.add(
            *(score.run, pair.model, of, str(score.metric)),
            *(score.value, interval._replace(value='', note=''), pair.theirs),
            *(score.value - pair.theirs, pair.rerun, pair.verdict),
        )
    return table


def pairs_csv(pairs: Sequence[Pairing]) -> str:
    """Return all digits of the pairs; an empty cell where there is nothing."""
    headers = ['run', 'model', 'benchmark', 'metric', 'ours', 'low', 'high', 'theirs', 'difference', 'rerun']
    rows = [
        [
            *(pair.score.run, pair.model, pair.benchmark, pair.score.metric),
            *(pair.score.value, pair.score.low, pair.score.high, pair.theirs),
            *(pair.score.value - pair.theirs, pair.rerun, pair.verdict, pair.score.refused),
        ]
        for pair in pairs
    ]
    return csv_text([[*headers, 'verdict', 'refused'], *rows])


def neighbours_table(pairs: Sequence[Neighbours]) -> Table:
    """Return a row a pair of neighbours of a published table, and whether they can be told apart."""
    numbers = [Column(name, 'left', '{:.1f}') for name in ('gap', 'least difference')]
    names = [Column(name, 'left') for name in ('better', 'worse')]
    table = Table('Neighbours', [*names, *numbers, Column('told apart', 'left')])
    for pair in pairs:
        told = 'yes' if pair.distinguishable else 'no'
        apart = Cell('', note=f'no statement: {pair.refused}') if pair.refused else told
        table.add(pair.better, pair.worse, pair.gap, pair.least, apart)
    return table


def _with_mark(entry: Entry) -> str:
    """Return the name of a run with what is to be known of its responses."""
    marks = ', '.join(filter(None, [entry.result.health.mark, 'copies' if entry.copies else '']))
    return f'{entry.name} ({marks})' if marks else entry.name


def _p_value(value: float) -> str:
    return '< 0.001' if value < 0.001 else f'{value:.3f}'
