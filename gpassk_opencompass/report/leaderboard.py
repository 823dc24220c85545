"""Which results may stand in one table, and what stands there."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..files import mapping
from ..metrics import ACCURACY, SHOWN_THRESHOLDS, Metric, metrics_of
from ..results.health import answer_warnings, copies_warnings, self_test_notes, undecided_notes
from ..results.read import full_runs
from ..results.result import Result
from ..uncertainty import Interval, rank_intervals, rerun_interval
from ..uncertainty.intervals import check_level

Key = tuple[str, str]
"""The hash of the data and of the judge."""


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
    """What tells it from another run that would have its name: the whole name of its model, its k and n."""

    @property
    def name(self) -> str:
        """The model with its settings, the host's mark, and what tells it from other runs of this name.

        Of a run that was made smaller also how.
        """
        marks = ', '.join(filter(None, (self.mark, self.apart, self.result.limits_line)))
        return f'{self.result.model_abbr} ({marks})' if marks else self.result.model_abbr

    @property
    def copies(self) -> str:
        """What speaks against its samples being samples; '' if nothing."""
        return '; '.join(copies_warnings(self.result.block))

    @property
    def model(self) -> str:
        """The model without its settings, and the host's mark."""
        return f'{self.result.model} ({self.mark})' if self.mark else self.result.model

    def greedy_accuracy(self) -> Interval | None:
        """Return the accuracy of the greedy run with its interval."""
        return self.greedy.interval(ACCURACY, self.level) if self.greedy else None

    @property
    def greedy_note(self) -> str:
        """What a reader of the greedy accuracy has to know, or ''."""
        if self.greedy is None:
            return ''
        length, ours = _length(self.greedy), _length(self.result)
        other = length is not None and ours is not None and length != ours
        notes = [f'greedy run with max_out_len {length}'] * other
        if count := self.greedy.unjudged:
            notes.append(f'greedy run with {count} of {len(self.greedy.uids)} samples unjudged')
        notes += [f'greedy run: {mark}' for mark in [self.greedy.health.mark] if mark]
        told = (*undecided_notes(self.greedy.block), *provenance_warnings(self.greedy.block))
        notes += [f'greedy run: {note}' for note in told]
        return '; '.join(notes)

    @property
    def remarks(self) -> list[str]:
        """What a reader of the scores has to know of the responses, the judge, and whose samples these are.

        The samples that a judge gave up on stand in `Board.notes`.
        """
        block = self.result.block
        return [*answer_warnings(block), *self_test_notes(block), *provenance_warnings(block)]

    def interval(self, metric: Metric) -> Interval:
        """Return a score with its interval for new questions of the same kind."""
        return self.result.interval(metric, self.level)

    def rerun(self, metric: Metric) -> Interval:
        """Return a score with its interval for new samples of the same questions."""
        return rerun_interval(self.result.counts, self.result.n, metric, self.level)

    def greedy_group_interval(self, group: str) -> Interval | None:
        """Return the accuracy of the greedy run on the questions of one contest and language."""
        return self.greedy.group_interval(group, ACCURACY, self.level) if self.greedy else None

    def group_interval(self, group: str, metric: Metric) -> Interval | None:
        """Return a score on one contest and language, for new questions; None where it has none."""
        return self.result.group_interval(group, metric, self.level)


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
            f'{entry.name}: {note}.' for entry in self.entries for note in undecided_notes(entry.result.block)
        ]
        return notes_on_hosts([entry.result for entry in self.entries]) + gave_up

    @property
    def questions(self) -> int:
        """How many were asked."""
        return len(self.entries[0].result.uids)

    @property
    def problems(self) -> int:
        """How many source problems they come from."""
        return len(set(self.entries[0].result.problems))

    @property
    def groups(self) -> list[str]:
        """Contest × language, in the order of the questions."""
        return list(dict.fromkeys(self.entries[0].result.groups))

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """Best and worst rank of each entry by mG-Pass@k, all right at once; shape (entries, 2)."""
        first = self.entries[0].result
        values = [e.result.values(self.ranked_by)[e.result.rows_of(first.uids)] for e in self.entries]
        return rank_intervals(np.stack(values), first.problems, self.level)


def boards(
    results: Sequence[Result],
    k: int | None = None,
    level: float = 0.95,
    thresholds: Sequence[float] = SHOWN_THRESHOLDS,
    with_limited: bool = False,
) -> tuple[list[Board], list[str]]:
    """Return the tables of all sampled results, best mG-Pass@k first.

    Results stand in one table if they are of one benchmark, were asked the same questions with the same
    reference answers (`Result.data`) and were judged by the same judge (its whole identity; between hosts,
    which cannot have the same packages, but for the versions of those behind the rule judge). Numbers of
    different judges or versions of the data are not ranked together.

    Args:
        results: greedy runs (n = 1, temperature 0) stand beside the sampled runs of their model.
        k: of the metrics, at least 2; None: the largest k that every result of the table was evaluated for.
        level: of confidence, between 0 and 1.
        thresholds: τ of the columns of G-Pass@k, from 0 to 1; 0 is "at least one correct".
        with_limited: also runs that were made smaller with --limit or --samples.

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
    for result in results:
        kinds[result.benchmark][result.data, result.judge_digest].append(result)
    marked = len({result.host for result in results}) > 1
    found, left_out = [], []
    for benchmark, apart in kinds.items():
        parts = across_hosts(apart)
        for number, (key, members) in enumerate(parts.items(), 1):
            part, reason = (f'part {number}', _reason(parts, key)) if len(parts) > 1 else ('', '')
            board, leftover = _board(
                Board(benchmark, part, reason, k or 0, (), level, tuple(thresholds)), members, marked
            )
            left_out += leftover
            found += [board] if board else []
    return found, [*limited, *left_out]


def judge_line(result: Result) -> str:
    """Return who judged, for a reader: 'rule', 'llm Qwen2.5-72B-Instruct', 'cascade (rule, llm …)'."""
    return _judge_of(result.block.get('judge')) or 'not known'


def _board(frame: Board, members: Sequence[Result], marked: bool) -> tuple[Board | None, list[str]]:
    """Return the board of the members, which is `frame` with k and entries, and a line for each left out."""
    alike, left_out = _same_questions(members)
    sampled = [result for result in alike if result.n > 1]
    k = frame.k or _largest_common(result.block['k'] for result in sampled)
    fit = [result for result in sampled if k and k <= result.n]
    entries = [
        Entry(result, _greedy_of(result, alike), frame.level, result.host if marked else '', apart)
        for result, apart in zip(fit, _told_apart(fit), strict=True)
    ]
    shown = {id(result) for entry in entries for result in (entry.result, entry.greedy)}
    models = {(entry.result.host, entry.result.model) for entry in entries}
    rest = [result for result in alike if id(result) not in shown]
    left_out += [
        f'{result.path}: {_why_not(result, k, (result.host, result.model) in models)}' for result in rest
    ]
    if k is None or not entries:
        return None, left_out
    metric = Metric.mg_pass_at(k)
    entries.sort(key=lambda entry: (-float(entry.result.values(metric).mean()), entry.name))
    return replace(frame, k=k, entries=tuple(entries)), left_out


def _told_apart(results: Sequence[Result]) -> list[str]:
    """Return for each result what tells it from others of its host and name, '' where there is none.

    Such are models of one name from two owners on the hub, and runs of one model with other k or n.
    """
    alike: defaultdict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        alike[result.host, result.model_abbr].append(result)
    told = {}
    for members in alike.values():
        facts = zip(*((one.whole_name, one.sizes_name) for one in members), strict=True)
        differing = [fact for fact in facts if len(set(fact)) > 1]
        for place, one in enumerate(members):
            told[id(one)] = ', '.join(filter(None, (fact[place] for fact in differing)))
    return [told[id(result)] for result in results]


def _same_questions(members: Sequence[Result]) -> tuple[list[Result], list[str]]:
    """Return those with the questions that most of them have, and a line for each of the others.

    They say that their questions are the same, by one hash; a damaged or edited file may still have others.
    """
    asked = [frozenset(result.uids) for result in members]
    [(usual, _)] = Counter(asked).most_common(1)
    left_out = [
        f'{result.path}: its questions (counts.uid) are not those of the other results with its data.sha256'
        for result, uids in zip(members, asked, strict=True)
        if uids != usual
    ]
    return [result for result, uids in zip(members, asked, strict=True) if uids == usual], left_out


def _greedy_of(result: Result, members: Sequence[Result]) -> Result | None:
    """Return the host's greedy run of the same model with responses of the same length, else of the largest.

    A sweep has one greedy run a model, with the largest max_out_len of its settings.
    """
    names = (result.host, result.model)
    runs = [other for other in members if other.greedy and (other.host, other.model) == names]
    alike = [run for run in runs if _length(run) == _length(result)]
    return next(iter(alike), max(runs, key=lambda run: _length(run) or 0, default=None))


def _length(result: Result) -> int | None:
    return result.settings.max_out_len if result.settings else None


def _why_not(result: Result, k: int | None, has_samples: bool) -> str:
    if result.greedy:
        beside = 'another greedy run of its model stands beside its samples'
        return beside if has_samples else 'a greedy run without samples of its model beside it'
    if result.n == 1 and result.temperature is None:
        return (
            'one sample a question at a temperature that is not known; a greedy run has a name like '
            "model_t0_l8192, or a sweep's manifest (--configs)"
        )
    if result.n == 1:
        return 'one sample at a temperature above 0 says nothing of stability'
    if k is None:
        return f'it was evaluated for k = {result.block["k"]}, and one answer says nothing of stability'
    return f'n = {result.n} is less than k = {k}'


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


def across_hosts(parts: Mapping[Key, list[Result]]) -> dict[Key, list[Result]]:
    """Return the parts of one benchmark; those of different hosts are one where packages alone differ.

    Hosts pin packages: Lighteval another math-verify than OpenCompass's environment has, and both stand in
    the identity of the rule judge. Where one host has results of two such judges nobody could say which to
    take, and all stay apart.

    Args:
        parts: results by their data and judge.
    """
    alike: defaultdict[Key, list[Key]] = defaultdict(list)
    for key, members in parts.items():
        alike[key[0], members[0].judge_kind].append(key)
    joined = {}
    for keys in alike.values():
        hosts = [host for key in keys for host in {result.host for result in parts[key]}]
        if len(hosts) == len(set(hosts)):
            joined[keys[0]] = [result for key in keys for result in parts[key]]
        else:
            joined |= {key: parts[key] for key in keys}
    return {key: joined[key] for key in parts if key in joined}


def judges_differ(results: Sequence[Result]) -> bool:
    """Whether not all were judged alike: by one judge a host, and these but for packages the same."""
    judges = {(result.host, result.judge_digest) for result in results}
    hosts = {result.host for result in results}
    return len({result.judge_kind for result in results}) > 1 or len(judges) > len(hosts)


def notes_on_hosts(results: Sequence[Result]) -> list[str]:
    """Return sentences for who compares runs of one host with those of another; none where there is one."""
    hosts = sorted({result.host for result in results})
    if len(hosts) < 2:
        return []
    notes = [
        f'Runs of {" and ".join(hosts)} stand together. Questions and references are the same; the prompt '
        "around a question and the chat template are each host's own, and a difference between hosts may "
        'come from them.'
    ]
    versions = {host: _packages([one for one in results if one.host == host]) for host in hosts}
    if len(set(map(tuple, versions.values()))) > 1:
        shared = set.intersection(*map(set, versions.values()))
        told = '; '.join(
            f'{", ".join(one for one in packages if one not in shared) or "no packages"} ({host})'
            for host, packages in versions.items()
        )
        notes.append(f'The rule judge rests on {told}, which give a few answers another verdict.')
    return notes


def _packages(results: Sequence[Result]) -> list[str]:
    return sorted({f'{name} {number}' for one in results for name, number in one.judge_packages.items()})


def provenance_warnings(block: Mapping[str, Any]) -> list[str]:
    """Return what was accepted although samples and scores are of different settings; [] if nothing was.

    Args:
        block: the entry `gpassk` of a record.
    """
    told = mapping(block.get('provenance')).get('warnings')
    return list(map(str, told)) if isinstance(told, list) else []
