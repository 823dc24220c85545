"""The metrics that came after G-Pass@k, of every run of a board: a table, and files with all digits.

They are computed from the counts of the results, whatever version wrote these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..counting import stage, step
from ..tables import Cell, Column, Table, csv_text, markdown_line
from ..uncertainty import Interval, Stability, TailProfile, tail_profile
from ..uncertainty.profile import LARGEST_K
from ..uncertainty.stability import metrics_asked_for, stability_of
from .leaderboard import Board, Entry
from .workers import FEWEST, Workers
from .written import write_texts

_NAME = 'stability'

STABILITY_FILE, PROFILE_FILE = 'stability.csv', 'profile.csv'

HOW_TO_READ = (
    'In points, [low, high] at {level:g} % for new questions of the same kind. Cover@τ: the share of '
    'questions with c ≥ τ·n; its interval is one of the share whose chance of a right answer is τ at least. '
    'consistency@2: two answers are both right or both wrong; C_out: 2·consistency@2 − 1. std@1: the '
    'standard deviation of the accuracy of reruns with one answer a question, std@n of those with n. '
    'stability.csv has the intervals for the same questions again, profile.csv G-Pass@k at every τ, with '
    'bands for questions of any contest (no strata).'
)

_ABOUT = ('benchmark', 'part', 'model', 'run')
_STABILITY = (
    *_ABOUT,
    *('metric', 'value', 'low', 'high', 'refused', 'again_low', 'again_high', 'again_refused', 'beside'),
    *('level', 'n', 'questions', 'problems'),
)
_PROFILE = (
    *_ABOUT,
    *('k', 'correct', 'threshold', 'value', 'low', 'high', 'band_low', 'band_high', 'refused', 'critical'),
    *('level', 'n', 'questions', 'problems'),
)


def compute_stability(boards: Sequence[Board], workers: Workers | None = None) -> None:
    """Compute what the table and both files say of each entry, once for all of them and for the figures.

    Args:
        workers: compute it where entries are many; None: this process does.
    """
    chosen = workers or Workers(1)
    found = chosen.begun(_NAME) or _computed_by(boards, chosen)
    entries = [entry for board in boards for entry in board.entries]
    with stage('computing stability', len(entries)):
        for entry, known in zip(entries, found, strict=True):
            entry.known.update(known)
            step()


def begin_stability(boards: Sequence[Board], workers: Workers) -> None:
    """Begin `compute_stability`, if workers do it."""
    if sum(len(board.entries) for board in boards) >= FEWEST:
        workers.begin(_NAME, _computed, _items(boards))


def _computed_by(boards: Sequence[Board], workers: Workers) -> Iterator[dict[Any, Any]]:
    items = _items(boards)
    return workers.each(_computed, items) if len(items) >= FEWEST else map(_computed, items)


def _items(boards: Sequence[Board]) -> list[tuple[Board, Entry]]:
    return [(replace(board, entries=()), entry) for board in boards for entry in board.entries]


def _computed(item: tuple[Board, Entry]) -> dict[Any, Any]:
    board, entry = item
    stability_rows(board, entry)
    if board.k <= LARGEST_K:
        profile_of_entry(board, entry)
    return entry.known


def stability_rows(board: Board, entry: Entry) -> list[Stability]:
    """Return Cover@τ at the thresholds of the board above 0, Bayes@n, consistency@2, C_out and std@m."""
    result, known = entry.result, entry.known
    thresholds = tuple(threshold for threshold in board.thresholds if threshold > 0)
    key = ('stability', thresholds, board.level)
    if key not in known:
        entry.intervals(metrics_asked_for(result.n, thresholds))  # all of them at once
        known[key] = stability_of(result.histogram, entry.interval, thresholds, board.level)
    rows: list[Stability] = known[key]
    return rows


def stability_table(board: Board) -> Table:
    """Return a row a run: its metrics with their intervals for new questions."""
    names = ['Bayes@n', 'consistency@2', 'C_out', 'std@1', 'std@n']
    covers = [f'Cover@{round(threshold, 9):g}' for threshold in board.thresholds if threshold > 0]
    fine = {'std@1', 'std@n'}
    limits = {name: '[{:.2f}, {:.2f}]' if name in fine else '[{:.1f}, {:.1f}]' for name in [*covers, *names]}
    columns = [Column('model', 'left'), *(Column(name, 'right', limits=limits[name]) for name in limits)]
    table = Table(f'{board.title}: stability', columns)
    for entry in board.entries:
        rows = [_cell(row.value, row.new) for row in stability_rows(board, entry)]
        table.add(entry.name, *rows, *[None] * (len(columns) - 1 - len(rows)))  # n = 1 has no std@n
    return table


def stability_section(board: Board) -> str:
    """Return the table as a section of `leaderboard.md`, with how to read it."""
    table = stability_table(board)
    about = HOW_TO_READ.format(level=100 * board.level)
    return f'### {markdown_line(table.title)}\n\n{table.to_markdown()}\n\n{about}\n'


def write_stability(boards: Sequence[Board], folder: Path) -> list[Path]:
    """Write `stability.csv` and `profile.csv` with all digits; the folder is made.

    Returns:
        The paths written.
    """
    stable = (line for board in boards for entry in board.entries for line in _stability(board, entry))
    profiles = (line for board in boards for entry in board.entries for line in _profile(board, entry))
    texts = {
        STABILITY_FILE: csv_text([_STABILITY, *stable]),
        PROFILE_FILE: csv_text([_PROFILE, *profiles]),
    }
    return write_texts(folder, texts)


def profile_of_entry(board: Board, entry: Entry) -> TailProfile:
    """Return G-Pass@k at τ = 1/k … 1 of a run, for the k of the board, with its simultaneous band."""
    result, known = entry.result, entry.known
    key = ('profile', board.k, board.level)
    if key not in known:
        known[key] = tail_profile(result.counts, result.n, board.k, result.problems, board.level)
    profile: TailProfile = known[key]
    return profile


def _stability(board: Board, entry: Entry) -> Iterator[list[Any]]:
    for row in stability_rows(board, entry):
        limits = (row.new.low, row.new.high, row.again.low, row.again.high)
        low, high, again_low, again_high = map(_percent, limits)
        yield [
            *_about(board, entry),
            *(row.name, _percent(row.value), low, high, row.new.refused),
            *(again_low, again_high, row.again.refused),
            None if row.beside is None else 100 * row.beside,
            *_sizes(board, entry),
        ]


def _profile(board: Board, entry: Entry) -> Iterator[list[Any]]:
    if board.k > LARGEST_K:
        return
    profile = profile_of_entry(board, entry)
    for place, point in enumerate(profile.intervals):
        band = (float(profile.low[place]), float(profile.high[place]))
        yield [
            *_about(board, entry),
            *(profile.k, place + 1, float(profile.thresholds[place])),
            *map(_percent, (point.estimate, point.low, point.high, *band)),
            *(point.refused, None if math.isnan(profile.critical) else profile.critical),
            *_sizes(board, entry),
        ]


def _about(board: Board, entry: Entry) -> list[str]:
    return [board.benchmark, board.part, entry.result.model, entry.run]


def _sizes(board: Board, entry: Entry) -> list[float]:
    return [board.level, entry.result.n, board.questions, board.problems]


def _cell(value: float, interval: Interval) -> Cell:
    if interval.refused:
        return Cell(_percent(value), refused=interval.refused)
    return Cell(100 * value, (100 * interval.low, 100 * interval.high))


def _percent(value: float) -> float | None:
    return None if math.isnan(value) else 100 * value
