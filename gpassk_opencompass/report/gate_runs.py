"""Two runs side by side: which of their results belong together, and what is decided of them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from ..adapter import rows_of
from ..collect import NAMELESS
from ..errors import InputError
from ..health import NOTEWORTHY
from ..metrics import Metric
from ..record import Result
from ..uncertainty import Decision, Decisions, Outcome, PairedRuns, decide_all
from .compare import run_called
from .leaderboard import Board, Entry, boards, full_runs, judge_line
from .run_names import called, told_apart
from .several_hosts import judges_differ

NEW, OLD = 'new', 'old'

WITHOUT_JUDGE = 0.01
"""Share of unjudged samples above which no result is written, unless somebody allows more."""


_PLACED = (
    f'{NAMELESS!r} stands where nothing tells the benchmark: `gpassk score FILE -o NAME.gpassk.json '
    '--dataset BENCHMARK` gives it a name'
)


@dataclass(frozen=True)
class Matched:
    """One metric of two runs on the same questions, judged by the same judge."""

    benchmark: str
    metric: Metric
    new: Entry
    old: Entry

    def runs(self) -> PairedRuns:
        """Return the values of both, and how far a rerun of both would move their difference."""
        new, old = self.new.result, self.old.result
        return PairedRuns(
            new.values(self.metric),
            old.values(self.metric)[rows_of(old, new.counts.uid)],
            new.counts.problem,
            math.hypot(self.new.rerun(self.metric).error, self.old.rerun(self.metric).error),
        )

    @property
    def means(self) -> tuple[float, float]:
        """Return the score of the new and of the old run, from 0 to 1."""
        new, old = (float(entry.result.values(self.metric).mean()) for entry in (self.new, self.old))
        return new, old


@dataclass(frozen=True)
class Gate:
    """What is said of a new run beside an old one, on every benchmark and by every metric."""

    rows: Sequence[Matched]
    decisions: Decisions
    margin: float
    level: float
    of_new_questions: bool
    remarks: Sequence[str]
    """What else a reader has to know: of the responses, of settings that differ, of what was left out."""
    runs: tuple[str, str]
    """The names of the new and of the old run; what is of one benchmark stands in the remarks."""

    @property
    def outcome(self) -> Outcome:
        """Return what follows for the whole."""
        return self.decisions.outcome

    @property
    def decided(self) -> list[tuple[Matched, Decision]]:
        """Return each row with its decision."""
        return list(zip(self.rows, self.decisions.each, strict=True))


@dataclass(frozen=True)
class Side:
    """The results of one of the two runs.

    Args:
        name: 'new' or 'old'.
        results: all that was found for it.
        run: the name of the run, or a part of it that no other has; None: there is one.
        option: what says `run`, for an error.
    """

    name: str
    results: Sequence[Result]
    run: str | None
    option: str


def gate(
    new: Side,
    old: Side,
    margin: float,
    level: float = 0.95,
    *,
    metrics: Sequence[Metric] = (),
    benchmarks: Sequence[str] = (),
    of_new_questions: bool = True,
    with_limited: bool = False,
) -> Gate:
    """Decide of a new run beside an old one, chosen beforehand, on all benchmarks of the old one at once.

    Args:
        margin: what does not matter, from 0 to 1.
        level: of confidence, of all statements together.
        metrics: what they are compared by; (): mG-Pass@k of each benchmark, with the largest k of both.
        benchmarks: only these, by their names or parts that no other has; (): those of the old run.
        of_new_questions: see `decide`.
        with_limited: also runs that were made smaller.

    Raises:
        InputError: a side has no run or several, a benchmark is missing on one, or the results on one cannot
            be compared: other questions, another judge, the same file twice, or too few samples for k.
    """
    left_out: list[str] = []
    hosts = {result.run.host for side in (new, old) for result in side.results}
    (ours, new_run), (theirs, old_run) = (
        _by_benchmark(side, with_limited, left_out, with_host=len(hosts) > 1) for side in (new, old)
    )
    names = _benchmarks(ours, theirs, benchmarks)
    if alone := [name for name in ours if name not in names]:
        left_out.append(f'left out of the new run: {", ".join(alone)}')
    tables = {name: _comparable(name, ours[name], theirs[name], metrics) for name in names}
    rows = [
        Matched(name, metric, *entries)
        for name, (board, *entries) in tables.items()
        for metric in dict.fromkeys(metrics or [board.ranked_by])
    ]
    pairs = [row.runs() for row in rows]
    decided = decide_all(pairs, margin, level, of_new_questions=of_new_questions)
    remarks = chain.from_iterable(remarks_on(board, *entries) for board, *entries in tables.values())
    told = [*dict.fromkeys(remarks), *left_out]
    return Gate(rows, decided, margin, level, of_new_questions, told, (new_run, old_run))


def _by_benchmark(
    side: Side, with_limited: bool, left_out: list[str], *, with_host: bool
) -> tuple[Mapping[str, Result], str]:
    """Return the results of the one run of a side by benchmark, and its name."""
    full, limited = full_runs(side.results, with_limited)
    sampled = [result for result in full if result.n > 1]
    if not sampled:
        found = f'{len(side.results)} result{"" if len(side.results) == 1 else "s"}'
        raise InputError(
            f'the {side.name} run has no sampled result: {found} found'
            + (', all with one answer a question, which does not tell how far a rerun moves' if full else '')
            + ''.join(f'; {line}' for line in limited)
        )
    left_out += [f'left out of the {side.name} run: {line}' for line in limited]
    runs = _named(sampled, with_host=with_host)
    if side.run is None and len(runs) > 1:
        shown = ', '.join(list(runs)[:8]) + (f' and {len(runs) - 8} more' if len(runs) > 8 else '')
        raise InputError(
            f'the {side.name} run is one of {len(runs)}: {shown}; choose it beforehand with {side.option}'
        )
    name = run_called(side.run, runs) if side.run is not None else next(iter(runs))
    benchmarks: defaultdict[str, list[Result]] = defaultdict(list)
    for result in runs[name]:
        benchmarks[result.benchmark].append(result)
    for benchmark, several in benchmarks.items():
        if len(several) > 1:
            paths = ', '.join(str(result.path) for result in several)
            raise InputError(
                f'the {side.name} run has {len(several)} results on {benchmark}: {paths}; give one of them, '
                f'{"as NEW" if side.name == NEW else "with --against PATH"}'
            )
    return {benchmark: only for benchmark, [only] in benchmarks.items()}, name


def _named(results: Sequence[Result], *, with_host: bool) -> Mapping[str, list[Result]]:
    """Return the results by the run that they are of, which is called as in tables."""
    benchmarks: defaultdict[str, list[Result]] = defaultdict(list)
    for result in results:
        benchmarks[result.benchmark].append(result)
    apart = told_apart(list(benchmarks.values()))
    runs: defaultdict[str, list[Result]] = defaultdict(list)
    for result in results:
        run = result.run
        runs[called(run.model, run.host if with_host else '', apart[id(result)])].append(result)
    return runs


def _benchmarks(ours: Iterable[str], theirs: Iterable[str], wanted: Sequence[str]) -> list[str]:
    """Return the benchmarks to decide on.

    Raises:
        InputError: one is missing on a side: a run that lacks one must not pass without it.
    """
    known = {NEW: list(ours), OLD: list(theirs)}
    names = [run_called(name, chain(*known.values()), 'benchmark') for name in wanted] or known[OLD]
    for side, there in known.items():
        if missing := [name for name in names if name not in there]:
            nameless = NAMELESS in (*known[NEW], *known[OLD])
            raise InputError(
                f'the {side} run has no complete result on {", ".join(missing)}; it has {", ".join(there)}; '
                + (_PLACED if nameless else '--benchmark NAME decides on some alone')
            )
    return list(dict.fromkeys(names))


def _comparable(name: str, new: Result, old: Result, metrics: Sequence[Metric]) -> tuple[Board, Entry, Entry]:
    """Return the table that both may stand in, and their entries.

    Raises:
        InputError: they may not.
    """
    if (new.path.resolve(), new.run) == (old.path.resolve(), old.run):
        raise InputError(
            f'{new.path} is the new and the old run: a run is not compared with itself. Of two results of '
            'one name the newer one counts, unless each is given by its own path'
        )
    for metric in metrics:
        _check_metric(metric, new, old)
    found, left_out = boards([new, old], 2 if metrics else None, with_limited=True)
    if len(found) == 1 and len(found[0].entries) == 2:
        entries = {id(entry.result): entry for entry in found[0].entries}
        return found[0], entries[id(new)], entries[id(old)]
    raise InputError(f'{name}: the two cannot be compared: {_why_not(new, old, left_out)}')


def _check_metric(metric: Metric, new: Result, old: Result) -> None:
    """Refuse one that the samples do not give, or that tells nothing."""
    if not metric.steps:
        raise InputError(f'{metric} is 0 for every model; take k of at least 2')
    for side, result in ((NEW, new), (OLD, old)):
        if metric.k > result.n:
            raise InputError(
                f'{metric} takes {metric.k} samples a question; the {side} run has {result.n}: {result.path}'
            )


def _why_not(new: Result, old: Result, left_out: Sequence[str]) -> str:
    reasons = []
    if new.data.sha256 != old.data.sha256:
        ours, theirs = new.counts.uid, old.counts.uid
        shared = len(set(ours) & set(theirs))
        reasons.append(
            f'other questions or references ({len(ours)} and {len(theirs)} questions, {shared} of the '
            'same name)'
        )
    if judges_differ([new, old]):
        judges = ' and '.join(judge_line(result) for result in (new, old))
        reasons.append(f'another judge, or one with other settings or packages ({judges})')
    return '; '.join(reasons or left_out)


def remarks_on(board: Board, new: Entry, old: Entry) -> list[str]:
    """Return sentences on what may have made a difference beside the model, and on the responses."""
    told = [*_sizes(new.result, old.result), *_settings(new.result, old.result)]
    told += _cut_off(new.result, old.result)
    for side, entry in ((NEW, new), (OLD, old)):
        marks = [entry.copies, entry.only_here]
        found = [*entry.remarks, *filter(None, marks)]
        told += [f'{side}: {remark}' for remark in (*found, *_unjudged(entry.result))]
    if _same_counts(new.result, old.result):
        told.append('every question has the same count in both: is it one run, or two with the same seeds?')
    return [f'{board.benchmark}: {remark}' for remark in (*told, *board.notes)]


def _sizes(new: Result, old: Result) -> list[str]:
    if new.n == old.n:
        return []
    return [f'{new.n} samples a question in the new run, {old.n} in the old: scores of any n ≥ k compare']


def _settings(new: Result, old: Result) -> list[str]:
    """Return how the two were sampled differently, as far as they tell."""
    ours, theirs = new.sampling, old.sampling
    told = [
        f'{name} {_told(ours.get(name))} in the new run, {_told(theirs.get(name))} in the old'
        for name in {**theirs, **ours}
        if ours.get(name) != theirs.get(name)
    ]
    if new.engine and old.engine and new.engine != old.engine:
        told.append(f'engine {new.engine} in the new run, {old.engine} in the old')
    return [f'sampled differently: {"; ".join(told)}'] if told else []


def _told(value: float | None) -> str:
    return 'not told' if value is None else f'{value:g}'


def _cut_off(new: Result, old: Result) -> list[str]:
    """Return that one of the two was cut off more often, which alone may make the difference."""
    ours, theirs = new.health.share('truncated'), old.health.share('truncated')
    if ours is None or theirs is None or abs(ours - theirs) <= NOTEWORTHY:
        return []
    return [f'{100 * ours:.1f} % of the responses cut off in the new run, {100 * theirs:.1f} % in the old']


def _unjudged(result: Result) -> list[str]:
    count = result.health.unjudged
    if not count:
        return []
    share = count / result.health.samples
    more = ', more than results usually may have' if share > WITHOUT_JUDGE else ''
    return [f'{count} samples ({100 * share:.2g} %{more}) are unjudged and count as incorrect']


def _same_counts(new: Result, old: Result) -> bool:
    return new.n == old.n and bool((new.table.c == old.table.c[rows_of(old, new.counts.uid)]).all())
