"""Which results may stand in one table, and what stands there."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..metrics import g_pass_name, mg_pass_name
from ..uncertainty import Interval, kernel_of, rank_intervals, rerun_interval
from .results import Result
from .table import SHOWN_THRESHOLDS


@dataclass(frozen=True)
class Entry:
    """One row of a table: a sampled run, and the greedy run of the same model if there is one."""

    result: Result
    greedy: Result | None

    @property
    def name(self) -> str:
        """The model with its settings."""
        return self.result.model_abbr

    def greedy_accuracy(self) -> Interval | None:
        """Of the greedy run."""
        return self.greedy.interval('accuracy') if self.greedy else None

    def interval(self, metric: str) -> Interval:
        """For new questions of the same kind."""
        return self.result.interval(metric)

    def rerun(self, metric: str) -> Interval:
        """For new samples of the same questions."""
        return rerun_interval(self.result.counts, self.result.n, kernel_of(metric))


@dataclass(frozen=True)
class Board:
    """Entries that may be compared: the same questions, judged by the same judge.

    `part` tells boards of one benchmark apart, '' where there is one; `reason` says why they are apart.
    """

    benchmark: str
    part: str
    reason: str
    k: int
    entries: tuple[Entry, ...]

    @property
    def title(self) -> str:
        """The benchmark, and what tells this part from the others."""
        return f'{self.benchmark} ({self.part})' if self.part else self.benchmark

    @property
    def metrics(self) -> list[str]:
        """The published columns: G-Pass@k at three thresholds, then mG-Pass@k."""
        return [*(g_pass_name(self.k, tau) for tau in SHOWN_THRESHOLDS), mg_pass_name(self.k)]

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """Best and worst rank of each entry by mG-Pass@k, all right at once at 95 %; shape (entries, 2)."""
        order = [_positions(entry.result, self.entries[0].result.uids) for entry in self.entries]
        metric = mg_pass_name(self.k)
        values = [e.result.values(metric)[rows] for e, rows in zip(self.entries, order, strict=True)]
        return rank_intervals(np.stack(values), self.entries[0].result.problems)


def boards(results: Sequence[Result], k: int | None = None) -> tuple[list[Board], list[str]]:
    """Tables of all sampled results, best mG-Pass@k first.

    Results stand in one table if they are of one benchmark, were asked the same questions with the same
    reference answers (`data.sha256`) and were judged by the same judge (its whole identity). Numbers of
    different judges or versions of the data are not ranked together.

    Args:
        results: greedy runs (n = 1) stand beside the sampled runs of their model.
        k: of the metrics; None: the largest k that every result of the table was evaluated for.

    Returns:
        Boards, and a line for each result that stands in none.
    """
    kinds: defaultdict[str, defaultdict[tuple[str, str], list[Result]]] = defaultdict(
        lambda: defaultdict(list)
    )
    left_out = []
    for result in results:
        if result.n == 1 and not result.greedy:
            left_out.append(f'{result.path}: one sample at a temperature above 0 says nothing of stability')
        kinds[result.benchmark][_data(result), _judge_digest(result)].append(result)
    found = []
    for benchmark, parts in kinds.items():
        for number, (key, members) in enumerate(parts.items(), 1):
            part, reason = (f'part {number}', _reason(parts, key)) if len(parts) > 1 else ('', '')
            board, leftover = _board(benchmark, part, reason, members, k)
            left_out += leftover
            found += [board] if board else []
    return found, left_out


def judge_line(result: Result) -> str:
    """Who judged, for a reader: 'rule', 'llm Qwen2.5-72B-Instruct', 'cascade rule, llm …'."""
    return _judge_of(result.block.get('judge'))


def _board(
    benchmark: str, part: str, reason: str, members: Sequence[Result], k: int | None
) -> tuple[Board | None, list[str]]:
    sampled = [result for result in members if result.n > 1]
    chosen = k if k is not None else _largest_common(result.block['k'] for result in sampled)
    fit = [result for result in sampled if chosen is not None and chosen <= result.n]
    left_out = [f'{r.path}: n = {r.n} is less than k = {chosen}' for r in sampled if r not in fit]
    if not fit or chosen is None:
        return None, left_out + [
            f'{r.path}: a greedy run without samples beside it' for r in members if r.greedy
        ]
    greedy = {result.model: result for result in members if result.greedy}
    entries = [Entry(result, greedy.get(result.model)) for result in fit]
    metric = mg_pass_name(chosen)
    entries.sort(key=lambda entry: (-float(entry.result.values(metric).mean()), entry.name))
    return Board(benchmark, part, reason, chosen, tuple(entries)), left_out


def _largest_common(lists: Iterable[Sequence[int]]) -> int | None:
    common = [set(ks) for ks in lists]
    shared = set.intersection(*common) if common else set()
    return max(shared, default=max((k for ks in common for k in ks), default=None))


def _positions(result: Result, uids: Sequence[str]) -> list[int]:
    place = {uid: position for position, uid in enumerate(result.uids)}
    return [place[uid] for uid in uids]


def _data(result: Result) -> str:
    return str(result.block['data']['sha256'])


def _judge_digest(result: Result) -> str:
    identity = {key: value for key, value in result.block['judge'].items() if key != 'statistics'}
    return hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()


def _reason(parts: Iterable[tuple[str, str]], key: tuple[str, str]) -> str:
    others = [other for other in parts if other != key]
    data = any(other[0] != key[0] for other in others)
    judge = any(other[1] != key[1] for other in others)
    what = ' and '.join(['other questions or references'] * data + ['another judge'] * judge)
    return f'apart from the other tables of this benchmark: {what}'


def _judge_of(judge: object) -> str:
    if not isinstance(judge, dict):
        return ''
    within = [_judge_of(part) for key, part in judge.items() if isinstance(part, dict) and 'name' in part]
    own = ' '.join(str(judge[key]) for key in ('name', 'model') if key in judge)
    return f'{own} ({", ".join(within)})' if within else own
