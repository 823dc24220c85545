"""All numbers of a report as one long table, and which results may stand beside each other in it.

    results ─▶ boards (same questions, same judge) ─▶ frame: a row a benchmark, run, group and metric

Tables, CSV, LaTeX, figures and the page are views of the frame; nothing is computed behind it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations, takewhile
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..health import LIMITS, WORDS
from ..metrics import ACCURACY, SHOWN_THRESHOLDS, Metric, metrics_of, value_table
from ..record import Result
from ..samples import parted_group
from ..statistics import AllPairs, Interval, all_pairs, between_runs, mean_interval, pooled, rerun_error
from ..sweep.names import limit_mark

if TYPE_CHECKING:
    import pandas

GREEDY = 'Greedy'
"""The published name of the accuracy of the greedy run."""

SETTINGS = {
    'temperature': 't',
    'top_p': 'p',
    'top_k': 'top-k',
    'repetition_penalty': 'rp',
    'random_seed': 'seed',
    'max_out_len': 'len',
}
"""Settings of the sampling → how they stand in the name of a run."""

AVERAGE = 'average'
"""The benchmark of the mean of mG-Pass@k over all benchmarks, where one may be taken."""

ON_HUB = re.compile(r'[\w-][\w.-]*/[\w.-]+')
"""What a model is called on the hub: its owner and its name."""

MOST_CELLS = 4_000_000
"""Values of metrics that are held at once, which bounds the memory."""


@dataclass(frozen=True)
class Entry:
    """One row of a table: a sampled run, and the greedy run of the same model if there is one."""

    result: Result
    greedy: Result | None = None
    name: str = ''
    """The model and the settings in which runs of the report differ; alike on every benchmark."""

    @property
    def greedy_note(self) -> str:
        """Return what a reader of the greedy accuracy has to know, or ''."""
        if self.greedy is None:
            return ''
        length, ours = (one.sampling.get('max_out_len') for one in (self.greedy, self.result))
        health = self.greedy.health
        notes = [f'with max_out_len {length}'] if None not in (length, ours) and length != ours else []
        notes += [f'with {health.unjudged} of {health.samples} samples unjudged'] if health.unjudged else []
        told = filter(None, (health.mark, *health.undecided_notes(), *provenance_warnings(self.greedy)))
        return '; '.join(
            f'greedy run{" " if note.startswith("with") else ": "}{note}' for note in (*notes, *told)
        )

    @property
    def health(self) -> str:
        """Return what stands beside its score: how many samples are no usual answers; '' if none are.

        It begins with `check:` where they are so many that the score may not be what was wanted.
        """
        health = self.result.health
        shares = {WORDS[what]: health.share(what) for what in LIMITS}
        told = [f'{100 * share:.1f} % {word}' for word, share in shares.items() if share and share >= 0.001]
        told += [f'{health.unjudged} unjudged'] if health.unjudged else []
        told += ['copies'] if health.copies_warnings() else []
        return ('check: ' if health.mark else '') + ', '.join(told)

    @property
    def remarks(self) -> list[str]:
        """Return what a reader has to know before quoting a score, beside what `health` says."""
        result, health = self.result, self.result.health
        said = [
            line
            for line in health.answer_warnings()
            if 'asked for' in line or line in health.state_warnings()
        ]
        told = [*health.copies_warnings(), *said, *health.undecided_notes()]
        return [*told, *provenance_warnings(result), *result.remarks]


@dataclass(frozen=True)
class Board:
    """Runs that may be compared: the same questions, judged by the same judge; best mG-Pass@k first."""

    benchmark: str
    part: str
    """What tells boards of one benchmark apart; '' where there is one."""
    reason: str
    """Why they are apart."""
    k: int
    entries: tuple[Entry, ...] = ()
    level: float = 0.95
    thresholds: Sequence[float] = SHOWN_THRESHOLDS

    @property
    def title(self) -> str:
        """Return the benchmark, and what tells this part from the others."""
        return f'{self.benchmark} ({self.part})' if self.part else self.benchmark

    @property
    def metrics(self) -> list[Metric]:
        """Return the columns: G-Pass@k at each threshold, then mG-Pass@k."""
        return metrics_of(self.k, self.thresholds)

    @property
    def ranked_by(self) -> Metric:
        """Return the metric that orders the runs: mG-Pass@k."""
        return Metric.mg_pass_at(self.k)

    @property
    def judge(self) -> str:
        """Return who judged, for a reader."""
        return judge_line(self.entries[0].result)

    @property
    def questions(self) -> int:
        """Return how many were asked."""
        return len(self.uids)

    @property
    def uids(self) -> list[str]:
        """Return the questions, in the order of all arrays of the board."""
        return self.entries[0].result.counts.uid

    @property
    def problems(self) -> int:
        """Return how many source problems the questions come from."""
        return len(set(self.entries[0].result.counts.problem))

    @property
    def groups(self) -> dict[str, NDArray[np.int64]]:
        """Return the questions of each contest × language, then of each contest and of each language."""
        of_questions = self.entries[0].result.counts.group
        rows: defaultdict[str, list[int]] = defaultdict(list)
        for row, group in enumerate(of_questions):
            rows[group].append(row)
        parts = {group: parted_group(group) for group in rows}
        for place in (0, 1):
            members: defaultdict[str, list[str]] = defaultdict(list)
            for group, part in parts.items():
                members[part[place]].append(group)
            for name, of_part in members.items():
                if name and 1 < len(of_part) < len(parts) and name not in parts:
                    rows[name] = sorted(row for group in of_part for row in rows[group])
        return {name: np.array(own) for name, own in rows.items()} if len(parts) > 1 else {}

    @property
    def notes(self) -> list[str]:
        """Return what a reader has to know who compares these runs."""
        results = [entry.result for entry in self.entries]
        told, hosts = [], sorted({result.run.host for result in results})
        if limit := limits_line(results[0]):
            told.append(f'A trial on {limit}.')
        if len(hosts) > 1:
            told.append(
                f'Runs of {" and ".join(hosts)} stand together. Questions and references are the same; the '
                "prompt around a question and the chat template are each host's own, and a difference "
                'between hosts may come from them.'
            )
        if remark := mean_interval(np.zeros(self.questions), results[0].counts.problem).remark:
            told.append(remark)
        variance, freedom = self.between
        if freedom:
            sd = 100 * variance**0.5
            told.append(
                f'Reruns with other seeds move {self.ranked_by} by {sd:.2f} points (standard deviation, '
                f'{freedom:g} degrees of freedom), which is in the ranks.'
            )
        return told

    def values(self, metric: Metric) -> NDArray[np.float64]:
        """Return the metric of each run and question, from 0 to 1; shape (runs, questions)."""
        return np.stack([e.result.values(metric)[rows_of(e.result, self.uids)] for e in self.entries])

    @cached_property
    def between(self) -> tuple[float, float]:
        """Return the variance of the score from one run to the next, of runs that differ in their seed alone.

        With its degrees of freedom; (0, 0) where no run has a rerun.
        """
        reruns: defaultdict[Any, dict[Any, int]] = defaultdict(dict)
        for place, entry in enumerate(self.entries):
            config, seed = config_of(entry.result)
            reruns[config].setdefault(seed, place)
        several = [list(seeds.values()) for seeds in reruns.values() if len(seeds.keys() - {None}) > 1]
        if not several:
            return 0.0, 0.0
        by, problems = self.values(self.ranked_by), self.entries[0].result.counts.problem
        variance, freedom = pooled([between_runs(by[places], problems) for places in several])
        return float(variance), float(freedom)

    @cached_property
    def pairs(self) -> AllPairs:
        """Return every two runs compared by mG-Pass@k, all right at once; i and j are places in `entries`."""
        problems, (variance, freedom) = self.entries[0].result.counts.problem, self.between
        runs = (variance, freedom, [1] * len(self.entries)) if freedom else None
        return all_pairs(self.values(self.ranked_by), problems, self.level, runs=runs)

    @property
    def ranks(self) -> NDArray[np.int64]:
        """Return best and worst rank of each run by mG-Pass@k, all right at once; shape (runs, 2)."""
        return self.pairs.ranks


# Which results stand together


def boards(
    results: Sequence[Result],
    k: int | None = None,
    level: float = 0.95,
    thresholds: Sequence[float] = SHOWN_THRESHOLDS,
    with_limited: bool = False,
) -> tuple[list[Board], list[str]]:
    """Return the tables of all sampled results, best mG-Pass@k first.

    Results stand in one table if they are of one benchmark, were asked the same questions with the same
    reference answers (`data.sha256`) and were judged by the same judge (its whole identity).

    Args:
        results: greedy runs (n = 1, temperature 0) stand beside the sampled runs of their model.
        k: of the metrics, at least 2; None: the largest k that every result of the table was evaluated for.
        level: of confidence, between 0.5 and 1.
        thresholds: τ of the columns of G-Pass@k, from 0 to 1; 0 is "at least one correct".
        with_limited: also trials on some of the questions.

    Returns:
        Boards, and a line for each result that stands in none, one for all trials.

    Raises:
        InputError: k is less than 2, or the level or a threshold is none.
    """
    if k is not None and k < 2:
        raise InputError(f'k = {k}: expected at least 2; one answer says nothing of stability')
    if not 0.5 < level < 1:
        raise InputError(f'level = {level}: expected a confidence above 0.5 and below 1, such as 0.95')
    metrics_of(k or 2, thresholds)  # refuses what is no threshold, and one that is given twice
    chosen, left_out = full_runs(results, with_limited)
    left_out += [f'{one.path}: {why}' for one in chosen if (why := unequal(one))]
    kinds: defaultdict[str, defaultdict[tuple[str, str], list[Result]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for result in chosen:
        if not unequal(result):
            kinds[result.benchmark][result.data.sha256, result.judge_digest].append(result)
    found: list[Board] = []
    for benchmark, parts in kinds.items():
        for number, (key, members) in enumerate(parts.items(), 1):
            others = [other for other in parts if other != key]
            what = ['other questions or references'] * any(other[0] != key[0] for other in others)
            what += ['another judge'] * any(other[1] != key[1] for other in others)
            reason = f'apart from the other tables of this benchmark: {" and ".join(what)}' if others else ''
            part = f'part {number}' if others else ''
            alike, odd = _same_questions(members)
            left_out += odd
            size = k or _largest_common([one.ks for one in alike if one.n > 1])
            sampled = [one for one in alike if size and 1 < size <= one.n]
            beside = {id(one): greedy_of(one, alike) for one in sampled}
            shown = {*map(id, sampled), *map(id, beside.values())}
            models = {(one.run.host, one.model) for one in sampled}
            left_out += [
                f'{one.path}: {_why_alone(one, size, (one.run.host, one.model) in models)}'
                for one in alike
                if id(one) not in shown
            ]
            if size and sampled:
                entries = tuple(Entry(one, beside[id(one)]) for one in sampled)
                found.append(Board(benchmark, part, reason, size, entries, level, tuple(thresholds)))
    names = iter(run_names([entry.result for board in found for entry in board.entries]))
    named = [replace(one, entries=tuple(replace(e, name=next(names)) for e in one.entries)) for one in found]
    return [_best_first(board) for board in named], left_out


def _best_first(board: Board) -> Board:
    means = board.values(board.ranked_by).mean(1).tolist()
    order = sorted(range(len(means)), key=lambda place: (-means[place], board.entries[place].name))
    return replace(board, entries=tuple(board.entries[place] for place in order))


def full_runs(results: Sequence[Result], with_limited: bool = False) -> tuple[list[Result], list[str]]:
    """Return the runs on all questions of their benchmark, and a line on the others, which are trials."""
    full = [result for result in results if with_limited or not result.limits]
    count = len(results) - len(full)
    line = f'{count} run{"s"[: count != 1]} made smaller with --limit: --with-limited takes them, too'
    return full, [line] if count else []


def _same_questions(members: Sequence[Result]) -> tuple[list[Result], list[str]]:
    """Return those with the questions that most have, and a line for each of the others.

    They say that their questions are the same, by one hash; a damaged or edited file may still have others.
    """
    [(usual, _)] = Counter(frozenset(one.counts.uid) for one in members).most_common(1)
    alike = [one for one in members if frozenset(one.counts.uid) == usual]
    why = 'its questions (counts.uid) are not those of the other results with its data.sha256'
    return alike, [f'{one.path}: {why}' for one in members if frozenset(one.counts.uid) != usual]


def _largest_common(lists: Iterable[Sequence[int]]) -> int | None:
    common = [{k for k in ks if k > 1} for ks in lists]
    shared = set.intersection(*common) if common else set()
    return max(shared, default=max((k for ks in common for k in ks), default=None))


def _why_alone(result: Result, k: int | None, has_samples: bool) -> str:
    """Return why a result stands in no table; `has_samples`: sampled runs of its model stand there."""
    if result.greedy:
        beside = 'another greedy run of its model stands beside its samples'
        return beside if has_samples else 'a greedy run without samples of its model beside it'
    if result.n == 1 and result.sampling.get('temperature') is None:
        return (
            'one sample a question at a temperature that is not known: neither its record nor its name tells '
            "it, and no sweep's manifest; a greedy run may be called model_t0_l8192"
        )
    if result.n == 1:
        return 'one sample at a temperature above 0 says nothing of stability'
    if k is None:
        return f'it was evaluated for k = {result.ks}, and one answer says nothing of stability'
    return f'n = {result.n} is less than k = {k}'


def greedy_of(result: Result, members: Sequence[Result]) -> Result | None:
    """Return the host's greedy run of the same model with responses of the same length, else of the largest.

    A model is the same by its name, or by its path whatever it is called; models of one name from two owners
    on the hub are two.
    """

    def of_one_model(other: Result) -> bool:
        paths = {result.model_path, other.model_path}
        if result.run.host != other.run.host or (len(paths) == 2 and all(map(ON_HUB.fullmatch, paths))):
            return False
        return result.model == other.model or (len(paths) == 1 and '' not in paths)

    def length(one: Result) -> float:
        return one.sampling.get('max_out_len') or 0

    runs = [other for other in members if other.greedy and of_one_model(other)]
    same = [run for run in runs if run.model_path == result.model_path] or runs
    alike = [run for run in same if run.sampling.get('max_out_len') == result.sampling.get('max_out_len')]
    return alike[0] if alike else max(same, key=length, default=None)


def config_of(result: Result) -> tuple[tuple[Any, ...], Any]:
    """Return what a run was drawn with but for its seed, and its seed: equal configs are reruns."""
    settings = {**result.run.settings, **result.sampling}
    seed = settings.pop('random_seed', settings.pop('seed', None))
    told = tuple(sorted((name, str(value)) for name, value in settings.items()))
    return (result.run.host, result.model, result.model_path, told, result.n), seed


# What they are called


def run_names(results: Sequence[Result]) -> list[str]:
    """Return what runs are called beside each other: the model, and the settings in which its runs differ.

    What a run was drawn with counts, not its name: manifest, record and abbreviation tell it. All results of
    one run, on several benchmarks, have one name; different runs on one benchmark have different ones, if
    need be with a number.
    """
    same = [(one.run.host, one.run.model, one.model_path, str(_settings(one))) for one in results]
    times = Counter((one.benchmark, one.judge_digest, key) for one, key in zip(results, same, strict=True))
    twice = {key for (_, _, key), count in times.items() if count > 1}
    runs = [(*key, _sizes(one)) if key in twice else key for one, key in zip(results, same, strict=True)]
    firsts = dict(zip(reversed(runs), reversed(results), strict=True))
    members = [firsts[run] for run in dict.fromkeys(runs)]
    paths: defaultdict[str, set[str]] = defaultdict(set)
    for one in members:
        paths[one.model] |= {one.model_path} - {''}
    owned = {m for m, several in paths.items() if len(several) > 1 and all(map(ON_HUB.fullmatch, several))}
    models = [
        f'{one.model_path.partition("/")[0]}/{one.model}'
        if one.model in owned and one.model_path
        else one.model
        for one in members
    ]
    facts = [
        {name: f'{SETTINGS[name]}={value}' for name, value in _settings(one).items()}
        | {'host': one.run.host, 'path': _own_part(one.model_path, paths[one.model])}
        | {'n': f'n={one.n}', 'k': f'k={"_".join(map(str, one.ks))}'}
        for one in members
    ]
    texts = list(models)
    for name in (
        *SETTINGS,
        'host',
    ):  # what runs of one model differ in; who tells no settings, does not count
        told: defaultdict[str, set[str | None]] = defaultdict(set)
        for model, own in zip(models, facts, strict=True):
            if name == 'host' or SETTINGS.keys() & own.keys():
                told[model].add(own.get(name))
        texts = [
            f'{text} {own[name]}' if len(told[model]) > 1 and name in own else text
            for text, model, own in zip(texts, models, facts, strict=True)
        ]
    for name in ('path', 'n', 'k'):  # more, only where names are still alike
        alike: defaultdict[str, set[str | None]] = defaultdict(set)
        for text, own in zip(texts, facts, strict=True):
            alike[text].add(own[name])
        texts = [
            f'{text} {own[name]}' if len(alike[text]) > 1 and own[name] else text
            for text, own in zip(texts, facts, strict=True)
        ]
    called = dict(zip(dict.fromkeys(runs), texts, strict=True))
    seen: Counter[tuple[str, ...]] = Counter()
    names = []
    for one, run in zip(results, runs, strict=True):
        place = (one.benchmark, one.data.sha256, one.judge_digest, called[run])
        seen[place] += 1
        names.append(f'{called[run]} ({seen[place]})' if seen[place] > 1 else called[run])
    return names


def _settings(result: Result) -> dict[str, str]:
    return {name: f'{result.sampling[name]:g}' for name in SETTINGS if name in result.sampling}


def _sizes(result: Result) -> str:
    """Return what the data set's abbreviation says of k and n: 'k4_8-r3'."""
    mark = limit_mark(result.limits.get('limit'))
    behind = result.run.dataset.removeprefix(result.benchmark.removesuffix(mark))
    return behind.replace(mark, '', 1).lstrip('-')


def _own_part(path: str, paths: Iterable[str]) -> str:
    """Return the part of a model's path in which it differs from those of other models of its name.

    >>> _own_part('/a/step-1/m', ['/a/step-1/m', '/a/step-2/m'])
    'step-1'
    """
    several = [tuple(filter(None, one.split('/'))) for one in paths]
    if not path or len(several) < 2:
        return ''
    before, after = (
        len(list(takewhile(lambda parts: len(set(parts)) == 1, zip(*ways, strict=False))))
        for ways in (several, [one[::-1] for one in several])
    )
    own = tuple(filter(None, path.split('/')))
    return '/'.join(own[before : max(len(own) - after, before + 1)])


# The numbers


def frame(tables: Sequence[Board]) -> pandas.DataFrame:
    """Return all numbers of the boards: a row a benchmark, run, group and metric, in percent and points.

    NaN and '' stand where there is nothing. Columns: `benchmark` (the board's title), `run`, `model`, `host`,
    the settings of the sampling; `group` ('' for all questions), `metric` (its published name); `value` with
    its interval `low`, `high` at `level` for new questions of the kind; `rerun`, the standard error if these
    questions were sampled again; `bound_low`, `bound_high` with all samples in doubt wrong and right;
    `rank_low`, `rank_high`, the best and worst rank by mG-Pass@k; `k`, `n`, `questions` and `problems` of the
    group, `effective` (problems in effect); then what is known of the run's samples, engine and judge.
    """
    import pandas

    parts = []
    for board in tables:
        metrics = [ACCURACY, Metric.pass_at(board.k), *board.metrics]
        sampled = [entry.result for entry in board.entries]
        size = max(1, MOST_CELLS // (len(metrics) * board.questions))
        pieces = [
            _scores(board, sampled[start : start + size], metrics, range(start, start + size))
            for start in range(0, len(sampled), size)
        ]
        places = [place for place, entry in enumerate(board.entries) if entry.greedy]
        greedy = [entry.greedy for entry in board.entries if entry.greedy]
        if greedy:
            pieces.append(_scores(board, greedy, [ACCURACY], places).assign(metric=GREEDY, _metric=-1))
        numbers = pandas.concat(pieces, ignore_index=True)
        ranked = (numbers.metric == str(board.ranked_by)) & (numbers.group == '')
        ranks = board.ranks[numbers.loc[ranked, '_entry']]
        numbers.loc[ranked, 'rank_low'], numbers.loc[ranked, 'rank_high'] = ranks[:, 0], ranks[:, 1]
        about = pandas.DataFrame(
            [
                {'_entry': place, '_greedy': of_greedy, **_about(board, entry, of_greedy)}
                for place, entry in enumerate(board.entries)
                for of_greedy in ([False, True] if entry.greedy else [False])
            ]
        )
        numbers['_greedy'] = numbers.metric == GREEDY
        numbers = numbers.merge(about, on=['_entry', '_greedy'])
        parts.append(numbers.sort_values(['_entry', '_group', '_metric'], ignore_index=True))
    if not parts:
        return pandas.DataFrame(columns=list(COLUMNS))
    if len(tables) > 1 and not why_no_average(tables):
        parts.append(pandas.DataFrame(_averages(tables)))
    whole = pandas.concat(parts, ignore_index=True)
    texts = ['limited', 'health', 'note', 'engine', 'judge', 'signature', 'host']
    return whole.assign(**whole.reindex(columns=texts).fillna(''))[list(COLUMNS)]


def _averages(tables: Sequence[Board]) -> list[dict[str, Any]]:
    """Return the unweighted mean of mG-Pass@k over the benchmarks, for each run that is on all of them.

    Benchmarks are independent samples of questions, so the squared errors add up; the interval is Student's
    with Satterthwaite's degrees of freedom.
    """
    found: defaultdict[str, list[Interval]] = defaultdict(list)
    for board in tables:
        problems, metric = board.entries[0].result.counts.problem, board.ranked_by
        top = float(value_table(metric, metric.k).max())
        each = mean_interval(board.values(metric), problems, top)
        for place, entry in enumerate(board.entries):
            one = each._replace(
                **{name: getattr(each, name)[place] for name in ('estimate', 'centre', 'error', 'freedom')}
            )
            found[entry.name].append(one)
    rows = []
    for run, scores in found.items():
        if len(scores) == len(tables):
            parts = np.array([one.error**2 for one in scores])
            mean = scores[0]._replace(
                estimate=np.asarray(np.mean([one.estimate for one in scores])),
                centre=np.asarray(np.mean([one.centre for one in scores])),
                error=np.sqrt(parts.sum()) / len(scores),
                freedom=parts.sum() ** 2 / (parts**2 / [one.freedom for one in scores]).sum(),
            )
            low, high = mean.at(tables[0].level)
            entry = next(entry for entry in tables[0].entries if entry.name == run)
            about = {'run': run, 'model': entry.result.model, 'benchmark': AVERAGE, 'group': ''}
            numbers = {'value': 100 * mean.estimate, 'low': 100 * low, 'high': 100 * high}
            sizes = {'level': tables[0].level, 'k': tables[0].k, 'n': entry.result.n}
            rows.append({**about, 'metric': str(tables[0].ranked_by), **numbers, **sizes})
    return rows


COLUMNS = (
    *('benchmark', 'run', 'model', 'host', *SETTINGS, 'group', 'metric', 'value', 'low', 'high', 'level'),
    *('rerun', 'bound_low', 'bound_high', 'rank_low', 'rank_high', 'k', 'n', 'questions', 'problems'),
    *('effective', 'limited', 'unjudged', 'truncated', 'unanswered', 'unusual', 'copies', 'output_tokens'),
    *('health', 'note', 'engine', 'judge', 'signature'),
)
"""Of the frame, in this order."""


def _scores(
    board: Board, results: Sequence[Result], metrics: Sequence[Metric], places: Iterable[int]
) -> pandas.DataFrame:
    """Return a row a result, group and metric: the score, its interval, the rerun error and the bounds."""
    import pandas

    order = [rows_of(one, board.uids) for one in results]
    counts = np.stack([one.table.c[rows] for one, rows in zip(results, order, strict=True)])
    doubt = np.stack([_in_doubt(one)[rows] for one, rows in zip(results, order, strict=True)])
    problem = np.array(board.entries[0].result.counts.problem)
    sizes = np.array([one.n for one in results])
    groups = {'': np.arange(board.questions), **board.groups}
    base = {'_entry': list(places)[: len(results)], 'level': board.level, 'k': board.k}
    parts = []
    for number, metric in enumerate(metrics):
        score = np.stack([value_table(metric, n)[c] for n, c in zip(sizes, counts, strict=True)])
        best = [value_table(metric, n)[c + d] for n, c, d in zip(sizes, counts, doubt, strict=True)]
        top = float(value_table(metric, metric.k).max())
        for place, (group, rows) in enumerate(groups.items()):
            found = mean_interval(score[:, rows], problem[rows], top)
            low, high = found.at(board.level)
            told = {
                **base, 'group': group, '_group': place, 'metric': str(metric), '_metric': number,
                'value': 100 * found.estimate, 'low': 100 * low, 'high': 100 * high,
                'questions': len(rows), 'problems': found.problems, 'effective': float(found.effective),
                **dict.fromkeys(('rerun', 'bound_low', 'bound_high', 'rank_low', 'rank_high'), np.nan),
            }  # fmt: skip
            if not group:
                table = partial(value_table, metric)
                error = np.empty(len(results))
                for n in np.unique(sizes).tolist():
                    error[sizes == n] = rerun_error(counts[sizes == n], n, table)
                told |= {
                    'rerun': 100 * error,
                    'bound_low': told['value'],
                    'bound_high': 100 * np.mean(best, 1),
                }
            parts.append(pandas.DataFrame(told))
    return pandas.concat(parts, ignore_index=True)


def _about(board: Board, entry: Entry, of_greedy: bool) -> dict[str, Any]:
    """Return what all scores of a run share."""
    result = entry.greedy if of_greedy and entry.greedy else entry.result
    health = result.health
    return {
        'benchmark': board.title,
        'run': entry.name,
        'model': result.model,
        'host': result.run.host,
        **{name: result.sampling.get(name, np.nan) for name in SETTINGS},
        'n': result.n,
        'limited': limits_line(result),
        **{
            name: np.nan if (count := getattr(health, name)) is None else count
            for name in ('unjudged', 'truncated', 'unanswered', 'unusual', 'copies', 'output_tokens')
        },
        'health': replace(entry, result=result).health,
        'note': entry.greedy_note if of_greedy else '',
        'engine': result.engine,
        'judge': judge_line(result),
        'signature': result.signature,
    }


def _in_doubt(result: Result) -> NDArray[np.int64]:
    counts = result.table
    return counts.unjudged if counts.undecided is None else counts.unjudged + counts.undecided


def why_no_average(tables: Sequence[Board]) -> str:
    """Return why no average over these boards means anything; '' if one does."""
    if parted := sorted({board.benchmark for board in tables if board.part}):
        return f'{parted[0]} has results that must not stand together (other questions or another judge)'
    if len({board.entries[0].result.judge_digest for board in tables}) > 1:
        return 'the benchmarks were judged by different judges'
    if len({board.k for board in tables}) > 1:
        return f'the benchmarks have different k ({", ".join(str(board.k) for board in tables)}); give one k'
    problems = [(board.title, set(board.entries[0].result.counts.problem)) for board in tables]
    for (first, ours), (second, theirs) in combinations(problems, 2):
        if shared := ours & theirs:
            return f'{first} and {second} share {len(shared)} problems, which would count twice'
    return ''


# What is asked of one result


def rows_of(result: Result, uids: Iterable[str]) -> list[int]:
    """Return where these questions stand, all of which it has: results may have them in any order."""
    place = {uid: row for row, uid in enumerate(result.counts.uid)}
    return [place[uid] for uid in uids]


def limits_line(result: Result) -> str:
    """Return for a reader how small a trial is: '10 of 238 questions'; '' of a whole run."""
    limit, of = (result.limits.get(name) for name in ('limit', 'of'))
    return f'{min(limit, of or limit)}{f" of {of}" if of else ""} questions' if limit else ''


def unequal(result: Result) -> str:
    """Return why a result of questions with different numbers of samples stands beside no other; else ''."""
    sizes = result.counts.n
    if sizes is None:
        return ''
    return (
        f'its questions have from {min(sizes)} to {max(sizes)} samples: runs are compared with as many '
        'samples of each question (`gpassk score` shows it alone)'
    )


def judge_line(result: Result) -> str:
    """Return who judged, for a reader: 'rule', 'llm Qwen2.5-72B-Instruct', 'cascade (rule, llm …)'."""

    def told(judge: Mapping[str, Any]) -> str:
        within = [told(one) for one in judge.values() if isinstance(one, dict) and 'name' in one]
        own = ' '.join(str(judge[key]) for key in ('name', 'model') if key in judge)
        return f'{own} ({", ".join(within)})' if within else own

    return told(result.judge) or 'not known'


def provenance_warnings(result: Result) -> list[str]:
    """Return what was accepted although samples and scores are of different settings; [] if nothing was."""
    told = result.provenance.get('warnings')
    return list(map(str, told)) if isinstance(told, list) else []
