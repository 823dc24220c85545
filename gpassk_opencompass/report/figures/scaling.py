"""Two ways to spend tokens on a response: to make it go on behind its end, or to vote over several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...metrics import Metric
from ...results.health import NOT_DRAWN
from ...results.result import model_settings
from ...uncertainty import Interval, mean_interval, value_table
from ...votes import ballot, group_majorities
from ..leaderboard import Board, Entry
from .chosen import MOST
from .curves import series
from .drawing import (
    Drawing,
    LeftOut,
    Sheet,
    draw_line,
    handle,
    log_axis,
    measured,
    only_first,
    percent_axis,
    powers,
    unbanded,
)
from .labels import NAME_WIDTH, drawable
from .style import LOOKS, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AXIS = 'serial_links'
_SERIAL, _PARALLEL = LOOKS[0], LOOKS[1]


class Point(NamedTuple):
    """What is bought for so many tokens.

    size: links of a response at most, or responses of a vote.
    tokens: generated ones, the mean over the responses, or over the votes.
    scores: one a metric.
    """

    size: int
    tokens: float
    scores: Sequence[Interval]


class Ways(NamedTuple):
    """The curves of one model: its runs with m = 0, 1, … links, and votes over samples of the first."""

    name: str
    serial: list[Point]
    parallel: list[Point]


def scaling(board: Board) -> Iterator[Drawing | LeftOut]:
    """Draw, for each model that was run with several `serial_links`, its scores over tokens both ways."""
    found, why = ways_of(board)
    drawn = found[:MOST]
    if not drawn:
        yield LeftOut('scaling', why)
    for number, ways in enumerate(drawn, 1):
        yield _drawing(board, ways, f'scaling-{number}' if len(drawn) > 1 else 'scaling', len(found))


def ways_of(board: Board) -> tuple[list[Ways], str]:
    """Return the curves of each model whose runs differ in `serial_links` alone, and why others have none.

    Serial: a point a run. Parallel: majorities of j samples of the run with the fewest links, over the
    disjoint groups of j in the order of the samples (see `votes.group_majorities`), as long as there are k
    such votes; a vote costs j responses.

    Args:
        board: with its k; the metrics are its own.
    """
    found, why = [], f'no model has two runs that differ in {AXIS} alone'
    for one in series(board, AXIS):
        tokens = [_tokens(entry) for entry in one.entries]
        if None in tokens:
            why = f'{one.model}: the engine does not tell how many tokens its responses have'
            continue
        texts = {text for text in map(_link_text, one.entries) if text is not None}
        if len(texts) > 1:
            named = ' and '.join(repr(text) if text else 'the usual one' for text in sorted(texts))
            why = f'{one.model}: its runs have different links, {named}'
            continue
        serial = [
            Point(int(links), cost, [entry.interval(metric) for metric in board.metrics])
            for links, cost, entry in zip(one.values, tokens, one.entries, strict=True)
            if cost is not None
        ]
        name = ' '.join(filter(None, (one.model, one.others)))
        found.append(Ways(name, serial, _votes(one.entries[0], serial[0], board)))
    return found, why


def _tokens(entry: Entry) -> float | None:
    """Return the mean number of tokens of a response; None where nobody counted."""
    health, samples = entry.result.health, entry.result.samples
    mean = health.tokens_a_response
    if mean is None or not health.not_drawn or samples is None:
        return mean
    states, tokens = samples.column('state'), samples.column('output_tokens')
    if states is None or tokens is None:
        return mean
    # What was broken off has cost tokens, too, and is no response.
    drawn = [one for one, state in zip(tokens, states, strict=True) if state not in NOT_DRAWN]
    return None if None in drawn else sum(drawn) / len(drawn)


def _link_text(entry: Entry) -> str | None:
    """Return the words of the links of a run; '' for the usual ones, None where there is no link."""
    settings = model_settings(entry.result.block)
    return str(settings.get('serial_link_text', '')) if settings.get('serial_links') else None


def _votes(entry: Entry, single: Point, board: Board) -> list[Point]:
    """Return the points of votes over 1, 2, … samples; none where the answers are not known."""
    result = entry.result
    if len(result.answers) != len(result.uids) or len(result.verdicts) != len(result.uids):
        return []
    ballots = [
        ballot(answers, [verdict == '1' for verdict in verdicts])
        for answers, verdicts in zip(result.answers, result.verdicts, strict=True)
    ]
    points = [single._replace(size=1)]
    for size in range(2, result.n // board.k + 1):
        groups = [group_majorities(one, size) for one in ballots]
        scores = [_score(metric, groups, entry) for metric in board.metrics]
        points.append(Point(size, size * single.tokens, scores))
    return points


def _score(metric: Metric, groups: Sequence[tuple[int, int]], entry: Entry) -> Interval:
    values = np.array([value_table(metric, number)[right] for number, right in groups])
    return mean_interval(values, entry.result.problems, entry.level, entry.strata_of_questions)


def _drawing(board: Board, ways: Ways, name: str, models: int) -> Drawing:
    title = f'Serial and parallel scaling: {drawable(ways.name, NAME_WIDTH)}'
    sheet, bare = Sheet(len(board.metrics), title, measured(board)), []
    for place, (axes, metric) in enumerate(zip(sheet.axes, board.metrics, strict=True)):
        axes.set_title(str(metric))
        for points, look, label in ((ways.serial, _SERIAL, 'serial'), (ways.parallel, _PARALLEL, 'parallel')):
            if points and not _line(axes, points, place, look, label):
                bare.append(label)
    percent_axis(sheet.axes[0])
    costs = [point.tokens for point in (*ways.serial, *ways.parallel)]
    lowest, highest = min(costs), max(costs)
    first = powers(max(1, int(lowest)))[-1]
    log_axis(sheet.axes[0], powers(2 * int(highest), first), int(highest))
    handles = [handle(_SERIAL, 'serial: links at most'), handle(_PARALLEL, 'parallel: responses of a vote')]
    notes = ['Numbers: links that a response may have at most; responses that vote.']
    if not ways.parallel:
        handles, notes = handles[:1], [*notes, 'No votes: the answers of the samples are not known.']
    notes += unbanded(list(dict.fromkeys(bare))) + only_first(min(models, MOST), models, 'models')
    figure = sheet.finish('mean tokens', 'percent', handles, notes)
    return Drawing(name, sheet.title, _caption(board, ways), figure)


def _line(axes: Axes, points: Sequence[Point], place: int, look: Look, label: str) -> bool:
    """Draw one curve of a panel with its numbers; return whether all points have an interval."""
    tokens = [point.tokens for point in points]
    scores = [point.scores[place] for point in points]
    for point, score in zip(points, scores, strict=True):
        above = (0, 4) if label == 'serial' else (0, -9)
        axes.annotate(
            str(point.size),
            (point.tokens, 100 * score.estimate),
            textcoords='offset points',
            xytext=above,
            ha='center',
            fontsize=6,
            color=look.colour,
        )
    return draw_line(axes, tokens, scores, look, label)


def _caption(board: Board, ways: Ways) -> str:
    """Return all points of the ranking metric in words."""
    place = board.metrics.index(board.ranked_by)

    def told(points: Sequence[Point]) -> str:
        return ', '.join(f'{p.size}: {100 * p.scores[place].estimate:.1f} at {p.tokens:.0f}' for p in points)

    votes = f' Votes of so many responses: {told(ways.parallel)}.' if ways.parallel else ''
    return f'{board.ranked_by} in percent at mean tokens. Links at most: {told(ways.serial)}.{votes}'
