"""Greedy accuracy against mG-Pass@k over rounds of training: does stability follow?

Where a model is trained on the questions themselves, its greedy accuracy rises from round to round, and
mG-Pass@k need not follow: then the slope of mG-Pass@k on greedy accuracy is small.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..metrics import ACCURACY
from ..report.labels import varying, written
from ..report.leaderboard import Board, Entry
from ..uncertainty import Interval, bootstrap_means
from ..uncertainty.design import cluster_numbers
from ..uncertainty.intervals import problems_refusal, quantile

Floats = NDArray[np.float64]

Rounds = Mapping[str, Sequence[str]]
"""Name of a series → its models, as tables call them, in the order of their rounds."""

OTHERS = 'other models'
"""The series of the models that are no rounds of anything."""

REPLICATES = 10_000
"""Resamples of the bootstrap."""

_ROUND = re.compile(
    r'(?:(?P<series>.+?)[-_./ ]+)?(?P<word>round|step|epoch|iter|ckpt|checkpoint)[-_ ]?(?P<round>\d+)',
    re.IGNORECASE,
)
"""A name of a model that ends in the number of a round, or is one."""


class Slope(NamedTuple):
    """A least-squares line: points of mG-Pass@k per point of greedy accuracy."""

    intercept: float
    """From 0 to 1, where greedy accuracy is 0."""
    rounds: Interval
    """The slope for more rounds of such a training: Student's t with (rounds − 2) degrees of freedom."""
    questions: Interval
    """The slope of these very rounds for new questions of the same kind: the bootstrap over problems."""

    @property
    def estimate(self) -> float:
        """Return the slope; NaN where greedy accuracy is the same in all rounds."""
        return self.rounds.estimate


@dataclass(frozen=True)
class Series:
    """The rounds of one training at one sampling setting, in their order."""

    name: str
    numbers: tuple[int | None, ...]
    """Of the rounds; None for models that are no rounds."""
    entries: tuple[Entry, ...]
    values: Floats
    """Greedy accuracy and mG-Pass@k of each question, from 0 to 1, shape (2, rounds, questions)."""
    slope: Slope

    @property
    def means(self) -> Floats:
        """Return greedy accuracy and mG-Pass@k of each round, from 0 to 1, shape (2, rounds)."""
        means: Floats = self.values.mean(axis=2)
        return means


class Difference(NamedTuple):
    """How much the slopes of two series differ on new questions; the same resamples serve both."""

    first: str
    second: str
    slope: Interval
    """second − first."""


def series_of(board: Board, rounds: Rounds | None = None) -> tuple[list[Series], list[str]]:
    """Return the series of a board, and a line for each run that stands in none.

    Args:
        board: of `report.leaderboard`.
        rounds: the series; None: names that end in the number of a round (`…-round3`, `…_step200`) tell them.

    Raises:
        InputError: a model of `rounds` has no run on this board.
    """
    if rounds is not None:
        known = {entry.model for entry in board.entries}
        for name in (name for names in rounds.values() for name in names):
            if name not in known:
                raise InputError(f'--rounds: no run of {name!r}; there are {", ".join(sorted(known))}')
    fields = varying(entry.result for entry in board.entries)
    members: dict[str, list[tuple[int | None, Entry]]] = {}
    left_out = []
    for entry in board.entries:
        places = _places(entry.model, rounds)
        if entry.greedy is None:
            left_out.append(f'{entry.name}: no greedy run (temperature 0) of this model')
        elif not places:
            left_out.append(f'{entry.name}: in no series of --rounds')
        for name, number in places if entry.greedy else ():
            settings = written(entry.result, fields)
            members.setdefault(f'{name} {settings}'.strip(), []).append((number, entry))
    found = [
        _series(name, sorted(own, key=lambda one: (one[0] is None, one[0] or 0)), board)
        for name, own in sorted(members.items())
    ]
    return found, left_out


def _places(model: str, rounds: Rounds | None) -> list[tuple[str, int | None]]:
    """Return the series in which a model stands, with the number of its round.

    Models that are called `checkpoint-500` and no more are of the series `checkpoint`.
    """
    if rounds is not None:
        return [(name, list(models).index(model)) for name, models in rounds.items() if model in models]
    match = _ROUND.fullmatch(model)
    if match is None:
        return [(OTHERS, None)]
    return [(match['series'] or match['word'].lower(), int(match['round']))]


def _series(name: str, members: Sequence[tuple[int | None, Entry]], board: Board) -> Series:
    first = board.entries[0].result
    entries = [entry for _, entry in members]
    values = np.array(
        [
            [result.values(metric)[result.rows_of(first.uids)] for result in results if result]
            for metric, results in (
                (ACCURACY, [entry.greedy for entry in entries]),
                (board.ranked_by, [entry.result for entry in entries]),
            )
        ]
    )
    slope = slope_of(values, first.problems, board.level)
    return Series(name, tuple(number for number, _ in members), tuple(entries), values, slope)


def slope_of(
    values: ArrayLike, problems: Sequence[str], level: float = 0.95, replicates: int = REPLICATES
) -> Slope:
    """Return the slope of mG-Pass@k on greedy accuracy over rounds, with its two intervals.

    That for more rounds takes the rounds as independent points around a line; that for new questions takes
    them as given. With fewer than three rounds, or fewer than 20 source problems, there is none.

    Args:
        values: greedy accuracy and mG-Pass@k of each round and question, from 0 to 1, shape (2, M, Q).
        problems: the source problem of each question.
        level: of confidence.
        replicates: of the bootstrap.
    """
    array = np.asarray(values, dtype=np.float64)
    slope, intercept, error = _line(*array.mean(axis=2))
    count, clusters = array.shape[1], len(set(problems))
    nan = float('nan')
    why = _why_no_line(array) or ('fewer than three rounds' if count < 3 else '')
    half = 0.0 if why else quantile(level, count - 2) * error
    low, high = (nan, nan) if why else (slope - half, slope + half)
    rounds = Interval(slope, nan if why else error, low, high, level, clusters, why)
    drawn = _drawn_slopes(array, problems, replicates)
    return Slope(intercept, rounds, _of_draws(slope, drawn, problems, level, _why_no_line(array)))


def differences(series: Sequence[Series], problems: Sequence[str], level: float = 0.95) -> list[Difference]:
    """Return how much the slope of each series differs from that of the first one."""
    known = [one for one in series if not _why_no_line(one.values)]
    draws = [_drawn_slopes(one.values, problems, REPLICATES) for one in known]
    return [
        Difference(
            known[0].name,
            other.name,
            _of_draws(other.slope.estimate - known[0].slope.estimate, draw - draws[0], problems, level, ''),
        )
        for other, draw in zip(known[1:], draws[1:], strict=True)
    ]


def _why_no_line(values: Floats) -> str:
    """Return why no line goes through these rounds, or ''."""
    if values.shape[1] < 2:
        return 'one round'
    return 'greedy accuracy is the same in all rounds' if np.ptp(values[0].mean(axis=1)) < 1e-12 else ''


def _line(x: Floats, y: Floats) -> tuple[float, float, float]:
    """Return slope, intercept and the standard error of the slope; NaN where there is none."""
    nan, away = float('nan'), x - x.mean()
    spread = float(away @ away)
    if x.size < 2 or spread < 1e-24:
        return nan, nan, nan
    slope = float(away @ y) / spread
    intercept = float(y.mean() - slope * x.mean())
    left = y - intercept - slope * x
    error = (float(left @ left) / (x.size - 2) / spread) ** 0.5 if x.size > 2 else nan
    return slope, intercept, error


def _drawn_slopes(values: Floats, problems: Sequence[str], replicates: int) -> Floats:
    """Return the slope in each resample of the problems; NaN where greedy accuracy does not vary."""
    _, rounds, questions = values.shape
    means = bootstrap_means(values.reshape(2 * rounds, questions), problems, replicates)
    x, y = means[:, :rounds], means[:, rounds:]
    away = x - x.mean(axis=1, keepdims=True)
    spread = (away**2).sum(axis=1)
    with np.errstate(divide='ignore', invalid='ignore'):
        slopes: Floats = np.where(spread > 1e-24, (away * y).sum(axis=1) / spread, np.nan)
    return slopes


def _of_draws(estimate: float, drawn: Floats, problems: Sequence[str], level: float, why: str) -> Interval:
    sizes = np.bincount(cluster_numbers(problems))
    sound, nan = drawn[np.isfinite(drawn)], float('nan')
    refused = why or problems_refusal(sizes)
    if not refused and sound.size < 0.95 * drawn.size:
        refused = 'greedy accuracy is the same in all rounds of many resamples'
    if refused:
        return Interval(estimate, nan, nan, nan, level, sizes.size, refused)
    low, high = np.quantile(sound, [(1 - level) / 2, (1 + level) / 2])
    return Interval(estimate, float(sound.std(ddof=1)), float(low), float(high), level, sizes.size)
