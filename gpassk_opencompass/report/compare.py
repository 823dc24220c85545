"""A new run beside an old one: better, as good, worse, or not known; and ours beside published scores.

paths ─▶ sides (a model with its settings; runs that differ in their seed alone are its reruns)
      ─▶ rows (a benchmark and metric each, questions matched one by one) ─▶ an answer
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..collect import LeftOut, collect, run_of
from ..errors import InputError
from ..health import NOTEWORTHY
from ..metrics import Metric, value_table
from ..record import Result
from ..statistics import (
    PASSES,
    Interval,
    between_runs,
    compare_runs,
    decide_rows,
    least_margin,
    problem_sums,
    rerun_error,
)
from ..text import Table, markdown, markdown_line
from ..version import __version__
from .frame import (
    Board,
    check_level,
    config_of,
    full_runs,
    judge_line,
    limits_line,
    provenance_warnings,
    rows_of,
    run_names,
    scores_of,
)

if TYPE_CHECKING:
    from pandas import DataFrame

PUBLISHED = Path(__file__).with_name('published.csv')
"""The scores of the leaderboard page of the authors of G-Pass@k, with their source."""

QUESTIONS = {
    'same': 'are answers to these very questions better or worse, which is what CI asks',
    'new': 'would they be on new questions of the same kind',
}
"""What a comparison is about → the question that it answers."""


class Row(NamedTuple):
    """One metric on one benchmark, of the new run and an old one."""

    old_name: str
    benchmark: str
    metric: Metric
    runs: tuple[int, int]
    scores: tuple[float, float]
    """Of the new and the old runs, means over reruns, from 0 to 1."""
    difference: Interval
    won: int
    lost: int
    """Source problems on which the new run is better, and worse."""
    moved: str
    """The questions that lost most, for a reader."""
    open: str
    """Why nothing is said of these very questions; '' where something is."""
    rests_on: str


class Answer(NamedTuple):
    """What is said of a new run beside old ones."""

    outcome: str
    """'better', 'equivalent', 'not worse', 'worse' or 'undecided'."""
    new: str
    rows: list[Row]
    outcomes: list[str]
    margin: float | None
    level: float
    questions: str
    remarks: list[str]

    @property
    def exit_code(self) -> int:
        """Return 0 where the new run passes, 1 where it is worse, 2 where nothing is decided."""
        return 0 if self.margin is None or self.outcome in PASSES else 1 if self.outcome == 'worse' else 2

    @property
    def line(self) -> str:
        """Return the answer in a line."""
        undecided = 'not told apart' if self.margin is None else 'not decided'
        outcome = undecided if self.outcome == 'undecided' else self.outcome
        start = f'{outcome}: {self.new} against {", ".join(dict.fromkeys(row.old_name for row in self.rows))}'
        if len(self.rows) > 1:
            each = zip(self.rows, self.outcomes, strict=True)
            worse = dict.fromkeys(row.benchmark for row, one in each if one == 'worse')
            return f'{start}, {len(self.rows)} rows{"; worse on " if worse else ""}{", ".join(worse)}'
        [row] = self.rows
        low, high = (100 * float(end) for end in row.difference.at(self.level))
        points = f'{100 * float(row.difference.estimate):+.2f} points [{low:+.1f}, {high:+.1f}]'
        return f'{start}, {row.metric} on {row.benchmark}: {points}'

    @property
    def basis(self) -> str:
        """Return what the answer is about."""
        several = f' All {len(self.rows)} rows must pass.' if len(self.rows) > 1 else ''
        margin = '' if self.margin is None else f' Margin: {100 * self.margin:g} points, chosen beforehand.'
        return (
            f'Questions: {self.questions} ({QUESTIONS[self.questions]}). Intervals at '
            f'{100 * self.level:g} %, of these runs, chosen beforehand.{margin}{several}'
        )

    def table(self) -> Table:
        """Return a row a benchmark, metric and old run; the title is the answer."""
        many = len({row.old_name for row in self.rows}) > 1
        heads = ['benchmark', 'metric', 'new', 'old', 'new − old', 'won', 'lost', 'outcome']
        data: list[Mapping[str, Any]] = []
        table = Table(self.line, ['against', *heads] if many else heads, data=data)
        for row, outcome in zip(self.rows, self.outcomes, strict=True):
            low, high = (100 * float(end) for end in row.difference.at(self.level))
            new, old = (100 * score for score in row.scores)
            difference, metric = 100 * float(row.difference.estimate), str(row.metric)
            points = f'{difference:+.2f} [{low:+.1f}, {high:+.1f}]'
            shown = 'not decided' if outcome == 'undecided' else outcome
            cells = [row.benchmark, metric, new, old, points, row.won, row.lost, shown]
            table.rows.append([row.old_name, *cells] if many else cells)
            data.append(
                {
                    'answer': self.outcome, 'new': self.new, 'old': row.old_name, 'benchmark': row.benchmark,
                    'metric': metric, 'outcome': outcome, 'score new': new, 'score old': old,
                    'difference': difference, 'low': low, 'high': high, 'level': self.level,
                    'margin': None if self.margin is None else 100 * self.margin,
                    'questions': self.questions, 'problems': row.difference.problems,
                    'problems in effect': row.difference.effective, 'won': row.won, 'lost': row.lost,
                    'runs new': row.runs[0], 'runs old': row.runs[1], 'rests on': row.rests_on,
                    'open': row.open,
                }
            )  # fmt: skip
            where = f'{row.benchmark}, {metric}' if len(self.rows) > 1 else 'It rests on'
            moved = f'Lost most on {row.benchmark}: {row.moved}' if row.moved else ''
            table.notes += filter(None, [f'{where}: {row.rests_on}', row.open, moved])
        table.notes += self.remarks
        return table

    def markdown(self) -> str:
        """Return a comment for a pull request."""
        mark = {0: '✅', 1: '❌', 2: '⚠️'}[self.exit_code] + ' ' if self.margin is not None else ''
        parts = [f'### {mark}{markdown_line(self.line)}', markdown_line(self.basis), markdown(self.table())]
        return '\n\n'.join([*parts, f'gpassk_opencompass {__version__}']) + '\n'


def compare(
    paths: Sequence[Path],
    *,
    margin: float | None = None,
    questions: str = 'same',
    metrics: Sequence[Metric] = (),
    benchmarks: Sequence[str] = (),
    run_sd: float | None = None,
    level: float = 0.95,
    judge: str | None = None,
    with_limited: bool = False,
) -> Answer:
    """Say whether a new run is better than an old one, or worse; both chosen beforehand.

    Args:
        paths: records, work directories or logs of other programs: the new run, the old one, and more: reruns
            of the two are found by their settings, all else are old runs. The first two hold one each.
        margin: what does not matter, from 0 to 1; None: only what the interval says.
        questions: one of `QUESTIONS`.
        metrics: none: mG-Pass@k with the largest k of both.
        benchmarks: only these, by parts of their names; none: those of the old run.
        run_sd: the standard deviation of the score from run to run, where it is known; from 0 to 1.
        judge: 'rule' judges all of them anew by the rule judge.

    Raises:
        InputError: a side has no run or several, a benchmark is missing on one, or what is there cannot be
            compared; it says why, with the first question that differs.
    """
    check_level(level)
    new, olds, remarks = _sides(paths, with_limited, judge, benchmarks)
    rows = []
    for old in olds:
        for benchmark, ours, theirs in _benchmarks_of(new, old, benchmarks):
            others = [side.results.get(benchmark, []) for side in olds if side is not old]
            least = min(one.n for one in (*ours, *theirs))
            shared = set.intersection(*({k for k in one.ks if 1 < k <= least} for one in (*ours, *theirs)))
            for metric in metrics or [Metric.mg_pass_at(max(shared, default=least))]:
                rows.append(_row(old.name, benchmark, metric, [ours, theirs, *others], questions, run_sd))
            remarks += _remarks(benchmark, ours, theirs)
    intervals = [row.difference for row in rows]
    if margin is not None:
        outcome, outcomes = decide_rows(intervals, margin, level)
    else:
        ends = [one.at(level) for one in intervals]
        outcomes = ['better' if low > 0 else 'worse' if high < 0 else 'undecided' for low, high in ends]
        outcome = outcomes[0] if len(set(outcomes)) == 1 else 'worse' if 'worse' in outcomes else 'undecided'
    if any(row.open for row in rows):
        outcomes = ['undecided' if row.open else one for row, one in zip(rows, outcomes, strict=True)]
        outcome = 'worse' if 'worse' in outcomes and outcome == 'worse' else 'undecided'
    if margin is not None and questions == 'new':
        problems = min(one.problems for one in intervals)
        if margin < (least_passed := least_margin(problems, level)):
            remarks.insert(
                0,
                f'With {problems} source problems two equal runs pass for no margin below '
                f'{100 * least_passed:.2f} points: take more questions, or --questions same.',
            )
    remarks += [f'{one.benchmark}: {one.difference.remark}.' for one in rows if one.difference.remark]
    return Answer(outcome, new.name, rows, outcomes, margin, level, questions, list(dict.fromkeys(remarks)))


# Which runs are compared


@dataclass
class Side:
    """A model with its settings, and its results on each benchmark: one, or reruns with other seeds."""

    place: int
    """Which of the given paths it came from."""
    results: dict[str, list[Result]] = field(default_factory=dict)
    name: str = ''

    @property
    def first(self) -> Result:
        """Return one of its results."""
        return next(iter(self.results.values()))[0]


def _sides(
    paths: Sequence[Path], with_limited: bool, judge: str | None, benchmarks: Sequence[str]
) -> tuple[Side, list[Side], list[str]]:
    """Return the new run, the old ones, and lines on what was left out of their folders."""
    if len(paths) < 2:
        raise InputError(f'{paths[0]}: give the old run as the second path')
    found: dict[tuple[int, Any], Side] = {}
    remarks: list[str] = []
    damaged: list[LeftOut] = []
    for place, path in enumerate(paths):
        collected = collect([path])
        full, limited = full_runs(collected.results, with_limited)
        sampled = [result for result in full if result.n > 1]
        if not sampled:
            reasons = [*collected.passed_over, *limited]
            reasons += ['one answer a question does not tell how far a rerun moves'] if full else []
            count = len(collected.results)
            raise InputError('; '.join([f'{path} has no sampled result: {count} found', *reasons]))
        remarks += [f'left out: {line}' for line in limited]
        damaged += [one for one in collected.left_out if one.newer is None]
        for one in sampled:
            result, (config, seed) = _rejudged(one) if judge else one, config_of(one)
            key = config, seed is None
            twins = [known for known in found if known[1] == key and place > 1 and known[0] < place]
            if len(twins) > 1:
                raise InputError(
                    f'{path} may be a rerun of the new or of the old run; put it beside one of them'
                )
            side = found.setdefault(twins[0] if twins else (place, key), Side(place))
            side.results.setdefault(result.benchmark, []).append(result)
    sides = list(found.values())
    names = run_names([side.first for side in sides])
    models = [name.partition(' (')[0] for name in names]
    for side, name, model in zip(sides, names, models, strict=True):
        plain = re.sub(r' \(\d+\)$', '', name)
        side.name = f'{plain} ({paths[side.place].name})' if models.count(model) > 1 else name
    for place, path in enumerate(paths[:2]):
        several = [side.name for side in sides if side.place == place]
        if len(several) > 1:
            raise InputError(
                f'{path} holds {len(several)} runs, {", ".join(several[:8])}{", …" * (len(several) > 8)}: '
                'give the folder of one, <work_dir>/<time>/results/<model>'
            )
    new, *olds = sides
    _refuse_damaged(damaged, paths, sides, benchmarks)
    return new, olds, remarks


def _refuse_damaged(
    damaged: Sequence[LeftOut], paths: Sequence[Path], sides: Sequence[Side], benchmarks: Sequence[str]
) -> None:
    """Refuse to decide without a file that may be a result of one of the runs."""
    given = {path.resolve() for path in paths}
    files = [
        one.path
        for side in sides
        for name, results in side.results.items()
        for one in results
        if not benchmarks or any(part.casefold() in name.casefold() for part in benchmarks)
    ]
    folders, file_names = {path.parent.name for path in files}, {path.name for path in files}
    for broken in damaged:  # an older result must not stand for it, nor may a benchmark go unseen
        beside = broken.path.parent.name in folders and (not benchmarks or broken.path.name in file_names)
        if broken.path.resolve() in given or (beside and not broken.foreign):
            raise InputError(
                f'{broken.why}; it may be a result of one of the runs: mend it or take it away, or name the '
                'files that count, or --benchmark'
            )


def _rejudged(result: Result) -> Result:
    """Return a result whose answers are judged anew by the rule judge."""
    from ..judges import build_judge
    from ..scoring import score_run

    run = run_of(result)
    if run.samples is None or not {'response', 'answer'} & set(run.samples.names):
        raise InputError(f'{result.path} has no responses to judge anew; leave --judge out')
    with closing(build_judge({'type': 'rule'})) as rule:
        anew = score_run(run, rule, result.run, k=[k for k in result.ks if k <= result.n])
    anew._path, anew._manifest = result._path, result._manifest
    return anew


def _benchmarks_of(
    new: Side, old: Side, wanted: Sequence[str]
) -> Iterator[tuple[str, list[Result], list[Result]]]:
    """Yield each benchmark with the runs of both; a run that lacks one must not pass without it."""
    ours, theirs = new.results, old.results
    if len(ours) == len(theirs) == 1 and not wanted:  # logs of two programs call one benchmark differently
        ours = {next(iter(theirs)): next(iter(ours.values()))}
    both = dict.fromkeys([*theirs, *ours])
    for part in wanted:
        if not any(part.casefold() in name.casefold() for name in both):
            raise InputError(f'{part!r} is no benchmark here; there is {", ".join(both)}')
    names = [name for name in both if any(part.casefold() in name.casefold() for part in wanted)]
    for side, results in ((new, ours), (old, theirs)):
        if missing := [name for name in names or theirs if name not in results]:
            raise InputError(
                f'{side.name} has no complete result on {", ".join(missing)}; it has {", ".join(results)}; '
                '--benchmark NAME decides on some alone'
            )
    for name in names or theirs:
        for side, runs in ((new, ours[name]), (old, theirs[name])):
            seeds = [config_of(one)[1] for one in runs]
            if len(runs) > 1 and (None in seeds or len(set(seeds)) < len(seeds)):
                each = zip(runs, seeds, strict=True)
                files = ', '.join(f'{one.path.name} (seed {seed})' for one, seed in each)
                raise InputError(
                    f'{side.name} has {len(runs)} results on {name}: {files}; reruns need different seeds '
                    'that their records tell; give the path of one of them'
                )
        yield name, ours[name], theirs[name]


# The same questions


def matched(first: Result, other: Result) -> list[int]:
    """Return where in `other` the questions of `first` stand.

    Questions are matched by their names, where those differ by their texts. References count as the same
    where the rule judge takes one for the other: 12 and 12.0.

    Raises:
        InputError: the judges differ, or there is a question that only one has, or another one in both.
    """
    if first is other:
        return list(range(len(first.counts.uid)))
    if (first.path.resolve(), first.run) == (other.path.resolve(), other.run) and first.path.name:
        raise InputError(f'{first.path} is the new and the old run: a run is not compared with itself')
    whole = f'{first.path} and {other.path} cannot be compared'
    if first.judge_digest != other.judge_digest:
        raise InputError(
            f'{whole}: another judge, or one with other settings ({judge_line(first)} and '
            f'{judge_line(other)}); --judge rule judges both anew, where they have responses'
        )
    uids, others = first.counts.uid, other.counts.uid
    if first.data.sha256 == other.data.sha256 and set(uids) == set(others):
        return rows_of(other, uids)
    ours, theirs = _texts(first), _texts(other)
    partner = {uid: uid for uid in others}
    known = bool(ours and theirs)
    if known and any(ours[uid][0] != theirs.get(uid, (None, ''))[0] for uid in uids):
        by_text = {question: uid for uid, (question, _) in theirs.items() if question}
        partner |= {uid: by_text[ours[uid][0]] for uid in uids if ours[uid][0] in by_text}
    alone = [uid for uid in uids if partner.get(uid) not in set(others)]
    extra = set(others) - {partner[uid] for uid in uids if uid in partner}
    for name, texts, missing in (
        (first.run.model, ours, alone),
        (other.run.model, theirs, [uid for uid in others if uid in extra]),
    ):
        if missing:
            question = texts.get(missing[0], ('', ''))[0]
            raise InputError(
                f'{whole}: of {len(uids)} and {len(others)} questions {len(missing)} are in {name} alone, '
                f'first {missing[0]!r:.60}{f" ({question!r:.80})" if question else ""}'
            )
    if not known:
        raise InputError(
            f'{whole}: their questions have the same names, but data.sha256 differs, and without both sample '
            'files nobody can say where: keep the .samples.parquet beside the .json'
        )
    if different := _first_difference([(uid, ours[uid], theirs[partner[uid]]) for uid in uids]):
        raise InputError(f'{whole}: {different}')
    return rows_of(other, [partner[uid] for uid in uids])


def _texts(result: Result) -> dict[str, tuple[str, str]]:
    """Return question, on one line, and reference by the name of the question; {} where nobody knows."""
    samples = result.samples(['question', 'reference'])
    if samples is None or 'reference' not in samples:
        return {}
    questions, references, rows = samples.each('question'), samples['reference'], samples.by_question()
    firsts = {uid: rows[uid][0] for uid in result.counts.uid}
    return {
        uid: (' '.join((questions[at] or '').split()), references[at] or '') for uid, at in firsts.items()
    }


def _first_difference(pairs: Sequence[tuple[str, tuple[str, str], tuple[str, str]]]) -> str:
    """Say where two questions, or two references of one question, are not the same; '' where all are."""
    from ..judges import Pair, Verdict, build_judge

    for uid, (question, _), (other, _) in pairs:
        if question and other and question != other:
            return f'question {uid!r:.60} asks {question!r:.80} in one and {other!r:.80} in the other'
    unlike = [(uid, one[0], one[1], other[1]) for uid, one, other in pairs if one[1] != other[1]]
    if not unlike:
        return ''
    with closing(build_judge({'type': 'rule'})) as rule:
        judged = rule.judge([Pair(question=q, reference=a, answer=b) for _, q, a, b in unlike])
    for (uid, _, one, other), judgement in zip(unlike, judged, strict=True):
        if judgement.verdict is not Verdict.CORRECT:
            return f'question {uid!r:.60} has the reference {one!r:.60} in one and {other!r:.60} in the other'
    return ''


# The numbers


def _row(
    old_name: str,
    benchmark: str,
    metric: Metric,
    sides: Sequence[list[Result]],
    questions: str,
    run_sd: float | None,
) -> Row:
    """Compare one metric on one benchmark; `sides`: the new runs, the old ones, those of further sides."""
    new, old, first = sides[0], sides[1], sides[0][0]
    if not metric.steps:
        raise InputError(f'{metric} is 0 for every model; take k of at least 2')
    for one in (*new, *old):
        if one.counts.n is not None and metric.k > min(one.counts.n):
            raise InputError(
                f'{one.path}: some questions have fewer than {metric.k} samples, which {metric} takes'
            )
        if metric.k > one.n:
            raise InputError(
                f'{metric} takes {metric.k} samples a question; {one.run.model} has {one.n}: {one.path}'
            )
    values = [
        np.stack([one.values(metric)[matched(first, one)] for one in runs])
        for place, runs in enumerate(sides)
        if place < 2 or len(runs) > 1
    ]
    ours, theirs, problems = values[0], values[1], first.counts.problem
    between, moves, why = None, 'what moves a score from run to run is not in it', ''
    variance, freedom = between_runs(values, problems)
    if run_sd is not None:
        between = run_sd**2, math.inf
        moves = f'runs move by {100 * run_sd:g} points, as --run-sd says'
    elif freedom:
        between = float(variance), float(freedom)
        moves = f'runs move by {100 * between[0] ** 0.5:.2f} points ({freedom:g} degrees of freedom)'
    elif questions == 'same':
        why = not_the_model_alone(first, old[0])
        same = 'engine, versions, hardware and settings are the same in both, so only the model differs'
        moves = moves if why else same
    table, sampling = partial(value_table, metric), 0.0
    for runs in (new, old):
        errors = [math.nan if one.counts.n else float(rerun_error(one.table.c, one.n, table)) for one in runs]
        sampling += float(np.mean(np.square(errors))) / len(runs)
    now, was = ours.mean(0), theirs.mean(0)
    gains, _ = problem_sums(now - was, problems)
    worst = [row for row in np.argsort(now - was, kind='stable')[:3] if now[row] < was[row] - 0.005]
    count = len(set(problems))
    samples = f'{first.n}' if first.n == old[0].n else f'{first.n} (new) and {old[0].n} (old)'
    return Row(
        old_name, benchmark, metric, (len(new), len(old)), (float(ours.mean()), float(theirs.mean())),
        compare_runs(ours, theirs, problems, questions, sampling, between),
        int((gains > 1e-9).sum()), int((gains < -1e-9).sum()),
        ', '.join(
            f'{first.counts.uid[row]:.40} {100 * was[row]:.0f} → {100 * now[row]:.0f}' for row in worst
        ),
        why and f'{benchmark}: {why}',
        f'{len(problems)} questions{f" of {count} problems" if count < len(problems) else ""}, {samples} '
        f'samples each, judge {judge_line(first)}; {len(new)} run{"s"[: len(new) != 1]} against {len(old)}; '
        f'sampling alone moves the difference by {100 * math.sqrt(sampling):.2f} (standard error); {moves}.',
    )  # fmt: skip


def not_the_model_alone(new: Result, old: Result) -> str:
    """Return what else than the model differs, or is not told, of one run a side; '' if nothing."""

    def facts(one: Result) -> dict[str, str]:
        settings = [f'{name} {value}' for name, value in one.sampling.items() if name != 'random_seed']
        hardware = one.provenance.get('hardware') or ''
        parts = {'engine and versions': one.engine, 'hardware': str(hardware)}
        return {**parts, 'settings': ', '.join(sorted(settings)), 'samples a question': str(one.n)}

    theirs = facts(old)
    for name, ours in facts(new).items():
        if not ours or ours != theirs[name]:
            both = f'{ours} and {theirs[name]}' if ours and theirs[name] else 'not told by both records'
            return (
                f'one run a side, and more than the model may differ ({name}: {both}); rerun both with other '
                'seeds (three are the least that pay), give --run-sd, or ask of --questions new'
            )
    return ''


def _remarks(benchmark: str, new: Sequence[Result], old: Sequence[Result]) -> list[str]:
    """Return what may have made a difference beside the model."""
    ours, theirs = new[0], old[0]
    lines = []
    if ours.n != theirs.n:
        sizes = f'{ours.n} samples a question in the new run, {theirs.n} in the old'
        lines.append(f'{sizes}: scores of any n ≥ k compare')
    names = [name for name in {**theirs.sampling, **ours.sampling} if name != 'random_seed']
    pairs = [(name, ours.sampling.get(name), theirs.sampling.get(name)) for name in names]
    pairs += [('engine', ours.engine, theirs.engine)] if ours.engine and theirs.engine else []  # type: ignore[list-item]
    if differing := [
        f'{name} {"not told" if a is None else a} in the new run, {"not told" if b is None else b} in the old'
        for name, a, b in pairs
        if a != b
    ]:
        lines.append(f'sampled differently: {"; ".join(differing)}')
    cut, before = (one.health.share('truncated') for one in (ours, theirs))
    if cut is not None and before is not None and abs(cut - before) > NOTEWORTHY:
        lines.append(
            f'{100 * cut:.1f} % of the responses cut off in the new run, {100 * before:.1f} % in the old'
        )
    for side, one in [('new', one) for one in new] + [('old', one) for one in old]:
        own, lost = [*one.health.remarks(), *provenance_warnings(one), *one.remarks], one.health.unjudged
        if lost:
            share = 100 * lost / one.health.samples
            own.append(f'{lost} samples ({share:.2g} %) are unjudged and count as incorrect')
        own += [f'a trial on {limit}' for limit in [limits_line(one)] if limit]
        lines += [f'{side}: {line}' for line in own]
    if ours.n == theirs.n and (ours.table.c == theirs.table.c[matched(ours, theirs)]).all():
        lines.append('every question has the same count in both: is it one run, or two with the same seeds?')
    return [f'{benchmark}: {line}' for line in lines]


# Beside published scores


def published_scores() -> DataFrame:
    """Return the published scores: benchmark, here, questions, model, metric, value in percent."""
    import pandas

    return pandas.read_csv(PUBLISHED, comment='#')


def beside_published(boards: Sequence[Board], data: DataFrame, against: str | None = None) -> Table:
    """Return our scores and the published ones of the same model and questions, in one table.

    Args:
        against: a published model for all runs whose name is not published; none: by letters and digits.

    Raises:
        InputError: nothing of ours is published.
    """

    def letters(name: str) -> str:
        return re.sub(r'[\W_]', '', name).casefold()

    theirs, ours = published_scores(), scores_of(data)
    models = {letters(name): name for name in theirs.model.unique()}
    if against and letters(against) not in models:
        close = difflib.get_close_matches(against, models.values(), 3, 0.0)
        raise InputError(f'{against!r} is not published; close: {", ".join(close)}')
    names = ['model', 'published as', 'benchmark', 'metric']
    numbers: list[Mapping[str, Any]] = []
    table = Table(
        'Beside published scores', [*names, 'ours', 'published', 'difference', 'published is'], data=numbers
    )
    alone = []
    for board in boards:
        asked = theirs[(theirs.here == board.benchmark) & (theirs.questions == board.questions)]
        for entry in board.entries:
            model = entry.result.model
            name = models.get(letters(model)) or (models[letters(against)] if against else None)
            before = len(table.rows)
            for row in asked[asked.model == name].itertuples():
                if score := ours.get((board.title, entry.name, '', row.metric)):
                    inside = 'inside' if score.low <= row.value <= score.high else 'outside'
                    cells = [entry.name, name, row.benchmark, row.metric]
                    gap = f'{score.value - row.value:+.2f}'
                    table.rows.append([*cells, str(score), float(row.value), gap, inside])
                    told = {'ours': score.value, 'low': score.low, 'high': score.high, 'published': row.value}
                    numbers.append(dict(zip(names, cells, strict=True)) | told | {'published is': inside})
            if len(table.rows) == before:
                what = 'its questions are not published' if asked.empty else f'no published model {model!r}'
                close = difflib.get_close_matches(model, models.values(), 1, 0.5)
                hint = f'; --against {close[0]}?' if close and not asked.empty else ''
                alone.append(f'{board.title}: {entry.name}: {what}{hint}')
    if not table.rows:
        raise InputError('\n'.join(['nothing of these runs is published', *alone]))
    table.notes = [
        'inside: the published score lies in our interval, for new questions of the same kind. Theirs come '
        'without counts and have no interval; prompt, engine, judge and settings may differ.',
        *alone,
    ]
    return table
