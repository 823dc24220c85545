"""Scores beside others: two runs on the same questions, or our run and the published one."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import NamedTuple

from ..adapter import rows_of
from ..distributions import normal_quantile
from ..errors import InputError
from ..metrics import Metric
from ..tables import Cell, Column, Table, csv_text
from ..uncertainty import Comparison, compare
from .leaderboard import Board, Entry
from .published import BENCHMARKS, Published
from .scores import ALL, Score
from .tables import name_parts, score_cell

INSIDE, OUTSIDE, OPEN = 'inside', 'outside', 'no interval'

_NAMED = 8
"""Runs that an error names."""


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
        return normal_quantile((1 + self.score.level) / 2) * math.sqrt(2) * self.score.rerun_error


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


class Pair(NamedTuple):
    """Two runs of one table.

    apart: whether the table, of all its pairs at once, says which is better: what its ranks are made of.
    """

    first: Entry
    second: Entry
    found: Comparison
    apart: bool


class Pairs:
    """Two runs each of one table, best first by what they are compared by.

    Args:
        board: the table.
        metric: what they are compared by.
        against: the second run of all pairs; None: every two.
        top: only the best so many runs, and `against`; None: all.
        chosen: the pairs were chosen before anybody saw results: intervals and p-values are of each pair
            alone. Else they are of all pairs of the table at once, as ranks are.
    """

    def __init__(
        self,
        board: Board,
        metric: Metric,
        against: Entry | None = None,
        top: int | None = None,
        chosen: bool = False,
    ) -> None:
        self._all = board.compared_by(metric)
        means = [entry.result.values(metric).mean() for entry in board.entries]
        order = sorted(range(len(means)), key=lambda place: -means[place])
        kept = [place for place in order if board.entries[place] is not against][:top]
        if against is None:
            self._places = list(combinations(kept, 2))
        else:
            second = board.entries.index(against)
            self._places = [(place, second) for place in kept]
        self.board = board
        self.metric = metric
        self.top = len(kept)
        self.chosen = chosen

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Pair]:
        entries, better = self.board.entries, self._all.better
        for one, other in self._places:
            first, second = entries[one], entries[other]
            found = compared(first, second, self.metric) if self.chosen else self._all.pair(one, other)
            yield Pair(first, second, found, bool(better[one, other] or better[other, one]))

    @property
    def statement(self) -> str:
        """What intervals and p-values are of."""
        return 'these two, chosen beforehand' if self.chosen else 'all pairs in this table'

    @property
    def how_to_read(self) -> str:
        """What intervals, p-values and "told apart" are of, in sentences."""
        level, runs = f'{100 * self.board.level:g} %', len(self.board.entries)
        if self.chosen:
            said = (
                'Interval and p are of these two, chosen beforehand, of each pair alone. "told apart" is, as '
                f'ranks are, of all pairs of the {runs} runs of the table at once, at {level}.'
            )
        else:
            said = (
                f'Interval, p and "told apart" are, as ranks are, of all pairs in this table of {runs} runs '
                f'at once, at {level}. For one pair that was chosen before anybody saw results: gpassk gate, '
                'or --against RUN --chosen.'
            )
        return said


def entry_called(name: str, boards: Sequence[Board]) -> str:
    """Return the one run of some tables (`Entry.run`) that is called so, see `run_called`.

    It may also be called by its name in one of the tables, with what is said of it there alone.

    Raises:
        InputError: there is none, or more than one.
    """
    entries = [entry for board in boards for entry in board.entries]
    of_rows = {entry.run for entry in entries if entry.name == name}
    return of_rows.pop() if len(of_rows) == 1 else run_called(name, [entry.run for entry in entries])


def run_called(name: str, runs: Iterable[str], what: str = 'run') -> str:
    """Return the whole name of the one run that is called so: by its name, or by a part that no other has.

    Args:
        what: they are, for an error.

    Raises:
        InputError: there is none, or more than one.
    """
    names = list(dict.fromkeys(runs))
    if name in names:
        return name
    found = [one for one in names if name.casefold() in one.casefold()]
    of_themselves = [one for one in found if name.casefold() in one.partition(' (')[0].casefold()]
    for alone in (found, of_themselves):  # behind the name stands what tells of a run, also other runs
        if len(alone) == 1:
            return alone[0]
    near = found or difflib.get_close_matches(name, names, _NAMED, 0.3) or names
    shown = ', '.join(near[:_NAMED]) + (f' and {len(near) - _NAMED} more' if len(near) > _NAMED else '')
    if found:
        raise InputError(
            f'{name!r} is in the names of {len(found)} {what}s: {shown}; give one of them as a whole'
        )
    raise InputError(f'{name!r} is no {what} here; there {"are" if len(near) > 1 else "is"} {shown}')


def differences_table(pairs: Pairs) -> Table:
    """Return a row a pair: how far apart the two are, and whether the table tells them apart."""
    board = pairs.board
    interval = Column(f'{100 * board.level:g} % interval', 'left', limits='[{:+.1f}, {:+.1f}]')
    points = Column('first − second', 'left', '{:+.2f}')
    names = [Column(name, 'left', parts=name_parts) for name in ('first', 'second')]
    table = Table(
        f'{board.title}: {pairs.metric}, of {pairs.statement}',
        [*names, points, interval, Column('p', 'left', _p_value), Column('told apart', 'left')],
    )
    for pair in pairs:
        found = pair.found
        limits = None if found.refused else (100 * found.low, 100 * found.high)
        table.add(
            *(_with_mark(entry) for entry in (pair.first, pair.second)),
            100 * found.difference,
            Cell('', limits, found.refused),
            None if found.refused else found.p_value,
            'yes' if pair.apart else 'no',
        )
    return table


def differences_csv(chosen: Iterable[Pairs]) -> str:
    """Return a line a pair with all digits, for a file; an empty cell where there is nothing."""
    heads = ['table', 'metric', 'first', 'second', 'difference', 'low', 'high', 'level', 'p']
    return csv_text(
        chain(
            [[*heads, 'statement', 'told_apart', 'refused']],
            (_csv_row(pairs, one) for pairs in chosen for one in pairs),
        )
    )


def _csv_row(pairs: Pairs, pair: Pair) -> list[str | float | None]:
    found = pair.found
    numbers = (None,) * 3 if found.refused else (100 * found.low, 100 * found.high, found.p_value)
    low, high, p_value = numbers
    names = (pairs.board.title, pairs.metric.name, pair.first.run, pair.second.run)
    shown = (100 * found.difference, low, high, found.level, p_value)
    apart = 'yes' if pair.apart else 'no'
    return [*names, *shown, f'of {pairs.statement}', apart, found.refused]


def compared(first: Entry, second: Entry, metric: Metric) -> Comparison:
    """Return the difference of two runs of one table, whose questions may stand in another order."""
    values = second.result.values(metric)[rows_of(second.result, first.result.counts.uid)]
    return compare(first.result.values(metric), values, first.result.counts.problem, first.level)


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


def _with_mark(entry: Entry) -> str:
    """Return the name of a run with what is to be known of its responses."""
    marks = ', '.join(filter(None, [entry.result.health.mark, 'copies' if entry.copies else '']))
    return f'{entry.name} ({marks})' if marks else entry.name


def _p_value(value: float) -> str:
    return '< 0.001' if value < 0.001 else f'{value:.3f}'
