"""All numbers of a report as one long table, and which results may stand beside each other in it.

results ─▶ boards (same questions, same judge) ─▶ frame: a row a benchmark, run, group and metric
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas
from numpy.typing import NDArray

from ..errors import InputError
from ..health import LIMITS, WORDS
from ..metrics import ACCURACY, SHOWN_THRESHOLDS, Kind, Metric, metrics_of, value_table
from ..record import Result
from ..samples import parted_group
from ..statistics import AllPairs, Interval, all_pairs, between_runs, mean_interval, rerun_error

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

GREEDY = 'Greedy'  # the published name of the accuracy of the greedy run
AVERAGE = 'average'  # the benchmark of the mean of mG-Pass@k over all benchmarks, where one may be taken
ON_HUB = re.compile(r'[\w-][\w.-]*/[\w.-]+')  # what a model is called on the hub: its owner and its name

SETTINGS = {'temperature': 't', 'top_p': 'p', 'top_k': 'top-k', 'repetition_penalty': 'rp'}
SETTINGS |= {'random_seed': 'seed', 'max_out_len': 'len'}
"""Settings of the sampling → how they stand in the name of a run."""

SCORE = ('value', 'low', 'high', 'level', 'rerun', 'bound_low', 'bound_high', 'rank_low', 'rank_high')
HEALTH = ('unjudged', 'truncated', 'unanswered', 'unusual', 'copies', 'output_tokens')
COLUMNS = (
    *('benchmark', 'run', 'model', 'host', *SETTINGS, 'group', 'metric', *SCORE),
    *('k', 'n', 'questions', 'problems', 'effective', 'limited', *HEALTH),
    *('health', 'note', 'engine', 'judge', 'signature'),
)
"""Of the frame, in this order."""

WHOLE = {'rank_low', 'rank_high', 'k', 'n', 'questions', 'problems', *HEALTH}  # columns of whole numbers


@dataclass(frozen=True)
class Entry:
    """One row of a table: a sampled run, and the greedy run of the same model if there is one."""

    result: Result
    greedy: Result | None = None
    name: str = ''  # the model and the settings in which runs of the report differ; alike on every benchmark

    @property
    def greedy_note(self) -> str:
        """Return what a reader of the greedy accuracy has to know, or ''."""
        if self.greedy is None:
            return ''
        length, ours = (one.sampling.get('max_out_len') for one in (self.greedy, self.result))
        health = self.greedy.health
        notes = [f' with max_out_len {length}'] if None not in (length, ours) and length != ours else []
        if health.unjudged:
            notes.append(f' with {health.unjudged} of {health.samples} samples unjudged')
        more = [health.mark, *health.remarks('undecided'), *provenance_warnings(self.greedy)]
        return '; '.join(f'greedy run{note}' for note in [*notes, *(f': {one}' for one in more if one)])

    @property
    def remarks(self) -> list[str]:
        """Return what a reader has to know before quoting a score, beside what `health_line` says."""
        result, health = self.result, self.result.health
        own = health.remarks('copies', 'hedged', 'states', 'undecided')
        return [*own, *provenance_warnings(result), *result.remarks]


@dataclass(frozen=True)
class Board:
    """Runs that may be compared: the same questions, judged by the same judge; best mG-Pass@k first."""

    title: str  # the benchmark, and what tells boards of one benchmark apart
    benchmark: str
    reason: str  # why it stands apart from others of its benchmark, or ''
    level: float
    metrics: list[Metric]  # the columns: G-Pass@k at each threshold, then mG-Pass@k, which ranks
    entries: tuple[Entry, ...]
    uids: list[str]  # the questions, in the order of all arrays
    problem: list[str]  # the source problem of each

    @property
    def k(self) -> int:
        """Return the k of its metrics."""
        return self.ranked_by.k

    @property
    def ranked_by(self) -> Metric:
        """Return mG-Pass@k."""
        return self.metrics[-1]

    @property
    def size(self) -> str:
        """Return how many questions were asked, and of how many problems where those are fewer."""
        problems = len(set(self.problem))
        of = '' if problems == len(self.uids) else f' of {problems} source problems'
        return f'{len(self.uids)} questions{of}'

    @cached_property
    def groups(self) -> dict[str, Integers]:
        """Return the questions of each contest × language, then of each contest and of each language."""
        rows: defaultdict[str, list[int]] = defaultdict(list)
        for row, group in enumerate(self.entries[0].result.counts.group):
            rows[group].append(row)
        parts = {group: parted_group(group) for group in rows}
        for place in (0, 1):
            for name in dict.fromkeys(part[place] for part in parts.values()):
                members = [group for group, part in parts.items() if part[place] == name]
                if name and 1 < len(members) < len(parts) and name not in parts:
                    rows[name] = sorted(row for group in members for row in rows[group])
        return {name: np.array(own) for name, own in rows.items()} if len(parts) > 1 else {}

    @property
    def notes(self) -> list[str]:
        """Return what a reader has to know who compares these runs."""
        results = [entry.result for entry in self.entries]
        notes, hosts = [], sorted({result.run.host for result in results})
        if limit := limits_line(results[0]):
            notes.append(f'A trial on {limit}.')
        if len(hosts) > 1:
            notes.append(
                f'Runs of {" and ".join(hosts)} stand together. Questions and references are the same; the '
                "prompt around a question and the chat template are each host's own, and a difference "
                'between hosts may come from them.'
            )
        if remark := mean_interval(np.zeros(len(self.uids)), self.problem).remark:
            notes.append(remark)
        variance, freedom = self.between
        if freedom:
            notes.append(
                f'Reruns with other seeds move {self.ranked_by} by {100 * variance**0.5:.2f} points '
                f'(standard deviation, {freedom:g} degrees of freedom), which is in the ranks.'
            )
        return notes

    def counts(self, results: Iterable[Result]) -> list[tuple[int, Integers, Integers]]:
        """Return of each result n, the right answers of each question, and those in doubt."""
        found = []
        for result in results:
            table, order = result.table, rows_of(result, self.uids)
            found.append((result.n, table.c[order], table.doubt[order]))
        return found

    @cached_property
    def ranked_values(self) -> Floats:
        """Return mG-Pass@k of each run and question, from 0 to 1; shape (runs, questions)."""
        runs = self.counts(entry.result for entry in self.entries)
        return np.stack([value_table(self.ranked_by, n)[c] for n, c, _ in runs])

    @cached_property
    def between(self) -> tuple[float, float]:
        """Return the variance of the score between runs that differ in their seed alone, with its freedom."""
        reruns: defaultdict[Any, dict[Any, int]] = defaultdict(dict)
        for place, entry in enumerate(self.entries):
            config, seed = config_of(entry.result)
            reruns[config].setdefault(seed, place)
        several = [list(seeds.values()) for seeds in reruns.values() if len(seeds.keys() - {None}) > 1]
        variance, freedom = between_runs([self.ranked_values[one] for one in several], self.problem)
        return float(variance), float(freedom)

    @cached_property
    def pairs(self) -> AllPairs:
        """Return every two runs compared by mG-Pass@k, all right at once; i and j are places in `entries`."""
        runs = *self.between, [1] * len(self.entries)
        return all_pairs(self.ranked_values, self.problem, self.level, runs=runs)


# Which results stand together


def boards(
    results: Sequence[Result],
    k: int | None = None,
    level: float = 0.95,
    thresholds: Sequence[float] = SHOWN_THRESHOLDS,
) -> tuple[list[Board], list[str]]:
    """Return the tables of all sampled results, best mG-Pass@k first, and a line on each that is in none.

    Results stand in one table if they are of one benchmark, were asked the same questions with the same
    references (`data.sha256`) and judged by the same judge. Greedy runs (n = 1, temperature 0) stand beside
    the sampled runs of their model.

    Args:
        k: of the metrics, at least 2; None: the largest k that every result of the table was evaluated for.
        thresholds: τ of the columns of G-Pass@k; 0 is "at least one correct".
    """
    if k is not None and k < 2:
        raise InputError(f'k = {k}: expected at least 2; one answer says nothing of stability')
    check_level(level)
    metrics_of(k or 2, thresholds)  # refuses what is no threshold, and one that is given twice
    left_out: list[str] = []
    kinds: defaultdict[str, dict[tuple[Any, str], list[Result]]] = defaultdict(dict)
    for one in results:
        if sizes := one.counts.n:
            left_out.append(
                f'{one.path}: its questions have from {min(sizes)} to {max(sizes)} samples; runs are '
                'compared with as many of each (`gpassk score` shows it alone)'
            )
        else:  # an edited file may have other questions under the same hash
            key = (one.data.sha256, frozenset(one.counts.uid)), one.judge_digest
            kinds[one.benchmark].setdefault(key, []).append(one)
    tables: list[Board] = []
    for benchmark, parts in kinds.items():
        for number, (key, members) in enumerate(parts.items(), 1):
            others = [set(one) - {own} for one, own in zip(zip(*parts, strict=True), key, strict=True)]
            names = zip(('other questions or references', 'another judge'), others, strict=True)
            what = ' and '.join(name for name, other in names if other)
            entries, size, lines = _entries(members, k)
            left_out += lines
            if entries:
                title = f'{benchmark} (part {number})' if what else benchmark
                reason = f'apart from the other tables of this benchmark: {what}' if what else ''
                own, counts = metrics_of(size, thresholds), entries[0].result.counts
                rows = tuple(entries)
                tables.append(Board(title, benchmark, reason, level, own, rows, counts.uid, counts.problem))
    names_of_runs = iter(run_names([entry.result for board in tables for entry in board.entries]))
    for place, board in enumerate(tables):
        named = [replace(entry, name=next(names_of_runs)) for entry in board.entries]
        means = board.ranked_values.mean(1).tolist()
        best = sorted(range(len(named)), key=lambda row: (-means[row], named[row].name))
        tables[place] = replace(board, entries=tuple(named[row] for row in best))
    return tables, left_out


def check_level(level: float) -> None:
    """Refuse what is no level of confidence."""
    if not 0.5 < level < 1:
        raise InputError(f'level = {level}: expected a confidence above 0.5 and below 1, such as 0.95')


def full_runs(results: Sequence[Result]) -> tuple[list[Result], list[str]]:
    """Return the runs on all questions of their benchmark, or else all, and a line on trials left out."""
    full = [result for result in results if not result.limits] or list(results)
    count = len(results) - len(full)
    line = f'{count} trial{"s"[: count != 1]} on some of the questions (--limit) beside runs on all of them'
    return full, [line] if count else []


def _entries(members: Sequence[Result], k: int | None) -> tuple[list[Entry], int, list[str]]:
    """Return the rows of a table, its k, and a line for each result that is none of them."""
    lists = [{k for k in one.ks if k > 1} for one in members if one.n > 1]
    shared = set.intersection(*lists) if lists else set()
    size = k or max(shared, default=max((k for ks in lists for k in ks), default=0))
    greedy = [one for one in members if one.greedy]
    entries = [Entry(one, greedy_of(one, greedy)) for one in members if 1 < size <= one.n]
    shown = {id(one) for entry in entries for one in (entry.result, entry.greedy)}
    lines = []
    for one in members:
        if one.greedy:
            why = 'a greedy run without samples of its model, or with another greedy run beside them'
        elif one.n == 1 and one.sampling.get('temperature') is None:
            why = (
                'one sample a question at a temperature that is not known: neither its record nor its name '
                "tells it, and no sweep's manifest; a greedy run may be called model_t0_l8192"
            )
        elif not size or one.n == 1:
            why = f'n = {one.n}, k = {one.ks}: one answer says nothing of stability'
        else:
            why = f'n = {one.n} is less than k = {size}'
        lines += [] if id(one) in shown else [f'{one.path}: {why}']
    return entries, size, lines


def greedy_of(result: Result, greedy: Sequence[Result]) -> Result | None:
    """Return the host's greedy run of the same model with responses of the same length, else of the largest.

    A model is the same by its name, or by its path whatever it is called; models of one name from two owners
    on the hub are two.
    """
    length = result.sampling.get('max_out_len')
    found: list[tuple[bool, bool, float, int]] = []
    for place, one in enumerate(greedy):
        paths, own = {result.model_path, one.model_path}, one.sampling.get('max_out_len')
        two_owners = len(paths) == 2 and all(map(ON_HUB.fullmatch, paths))
        same_path = len(paths) == 1 and result.model_path != ''
        alike = same_path or (result.model == one.model and not two_owners)
        if one.run.host == result.run.host and alike:
            found.append((len(paths) == 1, own == length, own or 0, -place))
    return greedy[-max(found)[3]] if found else None


def config_of(result: Result) -> tuple[tuple[Any, ...], Any]:
    """Return what a run was drawn with but for its seed, and its seed: equal configs are reruns."""
    settings = {**result.run.settings, **result.sampling}
    seed = settings.pop('random_seed', settings.pop('seed', None))
    told = tuple(sorted((name, str(value)) for name, value in settings.items()))
    return (result.run.host, result.model, result.model_path, told, result.n), seed


# What they are called


def run_names(results: Sequence[Result]) -> list[str]:
    """Return what runs are called beside each other: the model, and the settings in which its runs differ.

    What a run was drawn with counts, not its name: manifest, record and abbreviation tell it. So a run has
    one name on all benchmarks; where two on one benchmark would share it, path, n, k or a number is added.
    """
    paths: defaultdict[str, set[str]] = defaultdict(set)
    for one in results:
        paths[one.model] |= {one.model_path} - {''}
    owned = {m for m, several in paths.items() if len(several) > 1 and all(map(ON_HUB.fullmatch, several))}
    models, facts = [], []
    for one in results:
        owner = f'{one.model_path.partition("/")[0]}/' if one.model in owned and one.model_path else ''
        models.append(f'{owner}{one.model}')
        own = {
            name: f'{text}={one.sampling[name]:g}' for name, text in SETTINGS.items() if name in one.sampling
        }
        apart = [set(path.split('/')) for path in paths[one.model]]  # in parts that not all of them have
        part = '/'.join(p for p in one.model_path.split('/') if p and not all(p in each for each in apart))
        own |= {'host': one.run.host, 'path': part}
        facts.append(own | {'n': f'n={one.n}', 'k': f'k={"_".join(map(str, one.ks))}'})

    def places() -> list[Any]:  # which no two may share
        each = zip(results, names, strict=True)
        return [(one.benchmark, one.data.sha256, one.judge_digest, name) for one, name in each]

    names = models
    for what in (*SETTINGS, 'host', 'path', 'n', 'k'):
        beside: list[Any] = models if what in SETTINGS or what == 'host' else places()
        told: defaultdict[Any, set[str | None]] = defaultdict(set)
        for place, own in zip(beside, facts, strict=True):
            if what not in SETTINGS or SETTINGS.keys() & own.keys():  # who tells no settings has no say
                told[place].add(own.get(what))
        names = [
            f'{name} {own[what]}' if len(told[place]) > 1 and own.get(what) else name
            for name, place, own in zip(names, beside, facts, strict=True)
        ]
    seen: Counter[Any] = Counter()
    for number, place in enumerate(places()):
        seen[place] += 1
        names[number] += f' ({seen[place]})' if seen[place] > 1 else ''
    return names


# The numbers


def frame(tables: Sequence[Board]) -> pandas.DataFrame:
    """Return all numbers of the boards: a row a benchmark, run, group and metric, in percent and points.

    NaN and '' stand where there is nothing; `group` is '' for all questions. `low` and `high` are for new
    questions of the kind, at `level`; `rerun` is the standard error if these were sampled again; `bound_low`
    and `bound_high` have all samples in doubt wrong and right; ranks are by mG-Pass@k.
    """
    parts = [_board_frame(board) for board in tables]
    if len(tables) > 1 and not why_no_average(tables):
        parts.append(pandas.DataFrame(_averages(tables)))
    whole = pandas.concat(parts, ignore_index=True) if parts else pandas.DataFrame()
    whole = whole.reindex(columns=list(COLUMNS))
    texts = ['limited', 'health', 'note', 'engine', 'judge', 'signature', 'host']
    return whole.assign(**whole[texts].fillna(''))


def _board_frame(board: Board) -> pandas.DataFrame:
    """Return the rows of a board: run by run, in each group by group, in each metric by metric."""
    groups = {'': np.arange(len(board.uids)), **board.groups}
    greedy = {place: entry.greedy for place, entry in enumerate(board.entries) if entry.greedy}
    sampled = dict(enumerate(entry.result for entry in board.entries))
    parts = _scores(board, greedy, groups, {GREEDY: ACCURACY}) if greedy else []
    metrics = [ACCURACY, Metric(Kind.PASS, board.k), *board.metrics]
    parts += _scores(board, sampled, groups, {str(metric): metric for metric in metrics})
    numbers = pandas.concat(map(pandas.DataFrame, parts), ignore_index=True)
    order = np.lexsort((numbers['group'].map(list(groups).index), numbers['place']))
    numbers = numbers.iloc[order].reset_index(drop=True)
    about = pandas.DataFrame([_about(board, entry, of) for entry in board.entries for of in (False, True)])
    rows = about.iloc[2 * numbers['place'] + (numbers['metric'] == GREEDY)].reset_index(drop=True)
    return pandas.concat([rows, numbers.drop(columns='place')], axis=1)


def _scores(
    board: Board, results: Mapping[int, Result], groups: Mapping[str, Integers], metrics: Mapping[str, Metric]
) -> list[dict[str, Any]]:
    """Return for each metric and group the numbers of the results, a column each."""
    counts, places = board.counts(results.values()), np.array(list(results))
    problem = np.unique(board.problem, return_inverse=True)[1]

    def tables(n: int) -> Floats:
        return np.stack([value_table(metric, n) for metric in metrics.values()])

    reruns = np.empty((len(metrics), len(counts)))
    for size in {n for n, _, _ in counts}:
        alike = [row for row, (n, _, _) in enumerate(counts) if n == size]
        reruns[:, alike] = rerun_error(np.stack([counts[row][1] for row in alike]), size, tables)
    parts: list[dict[str, Any]] = []
    for (name, metric), rerun in zip(metrics.items(), reruns, strict=True):
        values = np.stack([value_table(metric, n)[c] for n, c, _ in counts])
        for group, rows in groups.items():
            found = mean_interval(values[:, rows], problem[rows], metric.top)
            low, high = found.at(board.level)
            part = {'place': places, 'group': group, 'metric': name, 'value': 100 * found.estimate}
            part |= {'low': 100 * low, 'high': 100 * high, 'questions': len(rows)}
            parts.append(part | {'problems': found.problems, 'effective': found.effective})
            if not group:
                best = [100 * value_table(metric, n)[c + doubt].mean() for n, c, doubt in counts]
                bounds = {'bound_low': part['value'], 'bound_high': best}
                ranks = dict(zip(('rank_low', 'rank_high'), board.pairs.ranks.T, strict=True))
                parts[-1] |= {'rerun': 100 * rerun, **bounds, **(ranks if metric == board.ranked_by else {})}
    return parts


def _about(board: Board, entry: Entry, of_greedy: bool) -> dict[str, Any]:
    """Return what all scores of a run share."""
    result = entry.greedy if of_greedy and entry.greedy else entry.result
    about: dict[str, Any] = {'benchmark': board.title, 'run': entry.name, 'model': result.model}
    about['host'] = result.run.host
    about |= {name: result.sampling.get(name, np.nan) for name in SETTINGS}
    about |= {'level': board.level, 'k': board.k, 'n': result.n, 'limited': limits_line(result)}
    counts = {name: getattr(result.health, name) for name in HEALTH}
    about |= {name: np.nan if count is None else count for name, count in counts.items()}
    about |= {'health': health_line(result), 'note': entry.greedy_note if of_greedy else ''}
    return about | {'engine': result.engine, 'judge': judge_line(result), 'signature': result.signature}


def _averages(tables: Sequence[Board]) -> list[dict[str, Any]]:
    """Return the unweighted mean of mG-Pass@k over the benchmarks, for each run that is on all of them.

    Benchmarks are independent samples of questions, so the squared errors add up; the interval is Student's
    with Satterthwaite's degrees of freedom.
    """
    scores: defaultdict[str, list[Interval]] = defaultdict(list)
    for board in tables:
        for entry, values in zip(board.entries, board.ranked_values, strict=True):
            scores[entry.name].append(mean_interval(values, board.problem, board.ranked_by.top))
    first, rows = tables[0], []
    for entry in first.entries:
        each = scores[entry.name]
        if len(each) < len(tables):
            continue
        estimate, centre, error, freedom = np.array([one[:4] for one in each]).T
        squares = error**2
        degrees = squares.sum() ** 2 / (squares**2 / freedom).sum()
        middle = estimate.mean(), centre.mean(), np.sqrt(squares.sum()) / len(each), degrees
        mean = Interval(*middle, *each[0][4:])
        low, high = mean.at(first.level)
        about = {'benchmark': AVERAGE, 'run': entry.name, 'model': entry.result.model, 'group': ''}
        numbers = {'value': 100 * mean.estimate, 'low': 100 * low, 'high': 100 * high, 'level': first.level}
        rows.append({**about, 'metric': str(first.ranked_by), **numbers, 'k': first.k, 'n': entry.result.n})
    return rows


def why_no_average(tables: Sequence[Board]) -> str:
    """Return why no average over these boards means anything; '' if one does."""
    if parted := sorted({board.benchmark for board in tables if board.reason}):
        return f'{parted[0]} has results that must not stand together (other questions or another judge)'
    if len({board.entries[0].result.judge_digest for board in tables}) > 1:
        return 'the benchmarks were judged by different judges'
    if len({board.k for board in tables}) > 1:
        return f'the benchmarks have different k ({", ".join(str(board.k) for board in tables)}); give one k'
    for first, second in combinations(tables, 2):
        if shared := set(first.problem) & set(second.problem):
            return f'{first.title} and {second.title} share {len(shared)} problems, which would count twice'
    return ''


class Score(NamedTuple):
    """A cell of a table: percent and points."""

    value: float
    low: float
    high: float
    rerun: float
    bound_high: float

    def __str__(self) -> str:
        return f'{self.value:.2f} [{self.low:.1f}, {self.high:.1f}]'


Scores = Mapping[tuple[str, str, str, str], Score]
"""(benchmark, run, group, metric) → the score."""


def scores_of(data: pandas.DataFrame) -> Scores:
    """Return the scores of a frame."""
    keys = zip(*(data[name] for name in ('benchmark', 'run', 'group', 'metric')), strict=True)
    return dict(zip(keys, map(Score, *(data[name].tolist() for name in Score._fields)), strict=True))


# What is asked of one result


def rows_of(result: Result, uids: Iterable[str]) -> list[int]:
    """Return where these questions stand, all of which it has: results may have them in any order."""
    place = {uid: row for row, uid in enumerate(result.counts.uid)}
    return [place[uid] for uid in uids]


def health_line(result: Result) -> str:
    """Return what stands beside its score: how many samples are no usual answers; '' if none are.

    It begins with `check:` where they are so many that the score may not be what was wanted.
    """
    health = result.health
    shares = {WORDS[what]: health.share(what) for what in LIMITS}
    parts = [f'{100 * share:.1f} % {word}' for word, share in shares.items() if share and share >= 0.001]
    parts += [f'{health.unjudged} unjudged'] if health.unjudged else []
    parts += ['copies'] if health.remarks('copies') else []
    return ('check: ' if health.mark else '') + ', '.join(parts)


def limits_line(result: Result) -> str:
    """Return for a reader how small a trial is: '10 of 238 questions'; '' of a whole run."""
    limit, of = (result.limits.get(name) for name in ('limit', 'of'))
    return f'{min(limit, of or limit)}{f" of {of}" if of else ""} questions' if limit else ''


def judge_line(result: Result) -> str:
    """Return who judged, for a reader: 'rule', 'llm Qwen2.5-72B-Instruct', 'cascade (rule, llm …)'."""

    def line(judge: Mapping[str, Any]) -> str:
        within = [line(one) for one in judge.values() if isinstance(one, dict) and 'name' in one]
        own = ' '.join(str(judge[key]) for key in ('name', 'model') if key in judge)
        return f'{own} ({", ".join(within)})' if within else own

    return line(result.judge) or 'not known'


def provenance_warnings(result: Result) -> list[str]:
    """Return what was accepted although samples and scores are of different settings; [] if nothing was."""
    told = result.provenance.get('warnings')
    return list(map(str, told)) if isinstance(told, list) else []
