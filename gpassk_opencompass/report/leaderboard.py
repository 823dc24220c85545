"""Which results may stand in one table, and what stands there."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..adapter import limits_line, rows_of, unequal
from ..errors import InputError
from ..metrics import ACCURACY, SHOWN_THRESHOLDS, Metric, metrics_of
from ..record import Result
from ..uncertainty import AllPairs, Interval, all_pairs
from ..uncertainty.intervals import check_level
from ..uncertainty.rerun import reruns_of
from .greedy_runs import greedy_of, length_of, why_not
from .intervals import Intervals, intervals_of
from .run_names import called, told_apart
from .several_hosts import across_hosts, notes_on_hosts


@dataclass(frozen=True)
class Entry:
    """One row of a table: a sampled run, and the greedy run of the same model if there is one."""

    result: Result
    greedy: Result | None
    level: float = 0.95
    """The confidence level of all intervals."""
    mark: str = ''
    """Its host, where results of several hosts are shown."""
    apart: str = ''
    """What tells it from another run that would have its name, see `told_apart`."""

    @property
    def run(self) -> str:
        """The run, called alike on all benchmarks: model with settings, host, and what tells it from others.

        Rows of several tables that are of one run have this in common; `name` is for one table.
        """
        return called(self.result.run.model, self.mark, self.apart)

    @property
    def name(self) -> str:
        """What a row says: the run, and how it was made smaller on this benchmark."""
        return called(self.result.run.model, self.mark, self.apart, self.only_here)

    @property
    def only_here(self) -> str:
        """How the run was made smaller on this benchmark; '' of a whole run."""
        return limits_line(self.result)

    @property
    def copies(self) -> str:
        """What speaks against its samples being samples; '' if nothing."""
        return '; '.join(self.result.health.copies_warnings())

    @property
    def model(self) -> str:
        """The model without its settings, and the host's mark."""
        return f'{self.result.model} ({self.mark})' if self.mark else self.result.model

    def greedy_accuracy(self) -> Interval | None:
        """Return the accuracy of the greedy run with its interval."""
        return intervals_of(self.greedy, [ACCURACY], self.level).whole[0] if self.greedy else None

    @property
    def greedy_note(self) -> str:
        """What a reader of the greedy accuracy has to know, or ''."""
        if self.greedy is None:
            return ''
        length, ours = length_of(self.greedy), length_of(self.result)
        other = length is not None and ours is not None and length != ours
        notes = [f'greedy run with max_out_len {length}'] * other
        health = self.greedy.health
        if health.unjudged:
            notes.append(f'greedy run with {health.unjudged} of {health.samples} samples unjudged')
        notes += [f'greedy run: {mark}' for mark in [health.mark] if mark]
        told = (*health.undecided_notes(), *provenance_warnings(self.greedy))
        notes += [f'greedy run: {note}' for note in told]
        return '; '.join(notes)

    @property
    def remarks(self) -> list[str]:
        """What a reader of the scores has to know of the responses, the judge, and whose samples these are.

        The samples that a judge gave up on stand in `Board.notes`.
        """
        result = self.result
        return [*result.health.answer_warnings(), *provenance_warnings(result), *result.remarks]

    @cached_property
    def known(self) -> dict[tuple[Any, ...], Any]:
        """What was computed of it and takes long, by what it is and what it depends on."""
        return {}

    def learn(self, metrics: Sequence[Metric], found: Intervals) -> None:
        """Take note of what `intervals` and `intervals_by_group` return."""
        pairs = zip(metrics, found.whole, strict=True)
        self.known.update({('interval', metric): one for metric, one in pairs})
        self.known['by group', tuple(metrics)] = found.by_group

    def interval(self, metric: Metric) -> Interval:
        """Return a score with its interval for new questions of the same kind."""
        [found] = self.intervals([metric])
        return found

    def intervals(self, metrics: Sequence[Metric]) -> list[Interval]:
        """Return `interval` of each metric; those that are not known yet are computed together."""
        keys = [('interval', metric) for metric in metrics]
        if new := [metric for key, metric in zip(keys, metrics, strict=True) if key not in self.known]:
            found = intervals_of(self.result, new, self.level).whole
            self.known.update({('interval', metric): one for metric, one in zip(new, found, strict=True)})
        return [self.known[key] for key in keys]

    def rerun(self, metric: Metric) -> Interval:
        """Return a score with its interval for new samples of the same questions."""
        [found] = self.reruns([metric])
        return found

    def reruns(self, metrics: Sequence[Metric]) -> list[Interval]:
        """Return `rerun` of each metric; those that are not known yet are computed together."""
        keys = [('rerun', metric) for metric in metrics]
        if new := [metric for key, metric in zip(keys, metrics, strict=True) if key not in self.known]:
            histogram = np.bincount(self.result.table.c, minlength=self.result.n + 1).astype(np.float64)
            found = reruns_of(histogram, new, self.level)
            self.known.update({('rerun', metric): one for metric, one in zip(new, found, strict=True)})
        return [self.known[key] for key in keys]

    def intervals_by_group(self, metrics: Sequence[Metric]) -> dict[str, list[Interval]]:
        """Return the intervals of metrics on the questions of each contest and language."""
        key = 'by group', tuple(metrics)
        if key not in self.known:
            self.known[key] = intervals_of(self.result, metrics, self.level).by_group
        found: dict[str, list[Interval]] = self.known[key]
        return found


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
    level: float = 0.95
    """The confidence level of all intervals."""
    thresholds: Sequence[float] = SHOWN_THRESHOLDS
    """The τ of the columns of G-Pass@k."""
    picked: tuple[str, ...] = ()
    """Parts of the names of runs that figures show where they cannot show all; (): the best of each model."""

    @property
    def title(self) -> str:
        """The benchmark, and what tells this part from the others."""
        return f'{self.benchmark} ({self.part})' if self.part else self.benchmark

    @property
    def metrics(self) -> list[Metric]:
        """The columns: G-Pass@k at each of `thresholds`, then mG-Pass@k."""
        return metrics_of(self.k, self.thresholds)

    @property
    def ranked_by(self) -> Metric:
        """The metric that orders the entries: mG-Pass@k."""
        return Metric.mg_pass_at(self.k)

    @property
    def judge(self) -> str:
        """Who judged, for a reader."""
        return judge_line(self.entries[0].result)

    @property
    def notes(self) -> list[str]:
        """What a reader has to know who compares these runs: of their hosts, and of a judge that gave up."""
        gave_up = [
            f'{entry.name}: {note}.'
            for entry in self.entries
            for note in entry.result.health.undecided_notes()
        ]
        return notes_on_hosts([entry.result for entry in self.entries]) + gave_up

    @property
    def questions(self) -> int:
        """How many were asked."""
        return len(self.entries[0].result.counts.uid)

    @property
    def problems(self) -> int:
        """How many source problems they come from."""
        return len(set(self.entries[0].result.counts.problem))

    @property
    def groups(self) -> list[str]:
        """Contest × language, in the order of the questions."""
        return list(dict.fromkeys(self.entries[0].result.counts.group))

    @property
    def all_pairs(self) -> AllPairs:
        """Every two entries compared by mG-Pass@k, all right at once; i and j are places in `entries`."""
        return self.compared_by(self.ranked_by)

    def compared_by(self, metric: Metric) -> AllPairs:
        """Return every two entries compared by a metric, all right at once."""
        if metric not in self._compared:
            first = self.entries[0].result
            results = [entry.result for entry in self.entries]
            values = [result.values(metric)[rows_of(result, first.counts.uid)] for result in results]
            self._compared[metric] = all_pairs(np.stack(values), first.counts.problem, self.level)
        return self._compared[metric]

    @cached_property
    def _compared(self) -> dict[Metric, AllPairs]:
        return {}

    @property
    def better(self) -> NDArray[np.bool_]:
        """Whether entry i is better than entry j beyond doubt by mG-Pass@k, at [i, j], all right at once."""
        return self.all_pairs.better

    @property
    def ranks(self) -> NDArray[np.int64]:
        """Best and worst rank of each entry by mG-Pass@k, all right at once; shape (entries, 2)."""
        return self.all_pairs.ranks


def boards(
    results: Sequence[Result],
    k: int | None = None,
    level: float = 0.95,
    thresholds: Sequence[float] = SHOWN_THRESHOLDS,
    with_limited: bool = False,
) -> tuple[list[Board], list[str]]:
    """Return the tables of all sampled results, best mG-Pass@k first.

    Results stand in one table if they are of one benchmark, were asked the same questions with the same
    reference answers (`data.sha256`) and were judged by the same judge (its whole identity; between hosts,
    which cannot have the same packages, but for the versions of those behind the rule judge). Numbers of
    different judges or versions of the data are not ranked together.

    Args:
        results: greedy runs (n = 1, temperature 0) stand beside the sampled runs of their model.
        k: of the metrics, at least 2; None: the largest k that every result of the table was evaluated for.
        level: of confidence, between 0 and 1.
        thresholds: τ of the columns of G-Pass@k, from 0 to 1; 0 is "at least one correct".
        with_limited: also trials on some of the questions.

    Returns:
        Boards, and a line for each result that stands in none, one for all that were made smaller.

    Raises:
        InputError: k is less than 2, or the level or a threshold is none.
    """
    if k is not None and k < 2:
        raise InputError(f'k = {k}: expected at least 2; one answer says nothing of stability')
    check_level(level)
    metrics_of(k or 2, thresholds)  # refuses what is no threshold, and one that is given twice
    kinds: defaultdict[str, defaultdict[tuple[str, str], list[Result]]] = defaultdict(
        lambda: defaultdict(list)
    )
    results, limited = full_runs(results, with_limited)
    left_out = [f'{result.path}: {why}' for result in results if (why := unequal(result))]
    results = [result for result in results if not unequal(result)]
    for result in results:
        kinds[result.benchmark][result.data.sha256, result.judge_digest].append(result)
    marked = len({result.run.host for result in results}) > 1
    found: list[Board] = []
    for benchmark, apart in kinds.items():
        parts = across_hosts(apart)
        for number, (key, members) in enumerate(parts.items(), 1):
            part, reason = (f'part {number}', _reason(parts, key)) if len(parts) > 1 else ('', '')
            board, leftover = _board(
                Board(benchmark, part, reason, k or 0, (), level, tuple(thresholds)),
                members,
                marked,
            )
            left_out += leftover
            found += [board] if board else []
    return list(_ranked(found)), [*limited, *left_out]


def judge_line(result: Result) -> str:
    """Return who judged, for a reader: 'rule', 'llm Qwen2.5-72B-Instruct', 'cascade (rule, llm …)'."""
    return _judge_of(result.judge) or 'not known'


def _board(frame: Board, members: Sequence[Result], marked: bool) -> tuple[Board | None, list[str]]:
    """Return the board of the members, which is `frame` with k and entries, and a line for each left out."""
    alike, left_out = _same_questions(members)
    sampled = [result for result in alike if result.n > 1]
    k = frame.k or _largest_common(result.ks for result in sampled)
    fit = [result for result in sampled if k and k <= result.n]
    entries = [
        Entry(
            result,
            greedy_of(result, alike),
            frame.level,
            result.run.host if marked else '',
        )
        for result in fit
    ]
    shown = {id(result) for entry in entries for result in (entry.result, entry.greedy)}
    models = {(entry.result.run.host, entry.result.model) for entry in entries}
    rest = [result for result in alike if id(result) not in shown]
    left_out += [
        f'{result.path}: {why_not(result, k, (result.run.host, result.model) in models)}' for result in rest
    ]
    if k is None or not entries:
        return None, left_out
    return replace(frame, k=k, entries=tuple(entries)), left_out


def _ranked(found: Sequence[Board]) -> Iterator[Board]:
    """Yield the boards with names that tell runs apart, best mG-Pass@k first."""
    apart = told_apart([[entry.result for entry in board.entries] for board in found])
    for board in found:
        named = [replace(entry, apart=apart[id(entry.result)]) for entry in board.entries]
        best_first = sorted(
            (-float(entry.result.values(board.ranked_by).mean()), entry.name, place)
            for place, entry in enumerate(named)
        )
        yield replace(board, entries=tuple(named[place] for _, _, place in best_first))


def _same_questions(members: Sequence[Result]) -> tuple[list[Result], list[str]]:
    """Return those with the questions that most of them have, and a line for each of the others.

    They say that their questions are the same, by one hash; a damaged or edited file may still have others.
    """
    asked = [frozenset(result.counts.uid) for result in members]
    [(usual, _)] = Counter(asked).most_common(1)
    left_out = [
        f'{result.path}: its questions (counts.uid) are not those of the other results with its data.sha256'
        for result, uids in zip(members, asked, strict=True)
        if uids != usual
    ]
    return [result for result, uids in zip(members, asked, strict=True) if uids == usual], left_out


def _largest_common(lists: Iterable[Sequence[int]]) -> int | None:
    common = [{k for k in ks if k > 1} for ks in lists]
    shared = set.intersection(*common) if common else set()
    return max(shared, default=max((k for ks in common for k in ks), default=None))


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


def provenance_warnings(result: Result) -> list[str]:
    """Return what was accepted although samples and scores are of different settings; [] if nothing was."""
    told = result.provenance.get('warnings')
    return list(map(str, told)) if isinstance(told, list) else []


def full_runs(results: Sequence[Result], with_limited: bool = False) -> tuple[list[Result], list[str]]:
    """Return the runs that may stand beside each other in a leaderboard, and a line on those that may not.

    Trials on some of the questions are no runs of the benchmark.

    Args:
        with_limited: keep them.
    """
    full = [result for result in results if with_limited or not result.limits]
    count = len(results) - len(full)
    runs = f'{count} run{"" if count == 1 else "s"}'
    line = f'{runs} made smaller with --limit: --with-limited takes them, too'
    return full, [line] if count else []
