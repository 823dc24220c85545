"""A new run beside an old one: better, as good, worse, or not known; and ours beside published scores.

paths ─▶ sides (a model with its settings; runs that differ in their seed alone are its reruns)
      ─▶ rows (a benchmark and metric each, questions matched one by one) ─▶ an answer
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

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
    pooled,
    problem_sums,
    rerun_error,
)
from ..text import Table, markdown, markdown_line
from ..version import __version__
from .frame import (
    Board,
    judge_line,
    limits_line,
    provenance_warnings,
)
from .sides import benchmarks_of, matched, sides

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
    new: list[Result]
    old: list[Result]
    scores: tuple[float, float]
    """Of the new and the old runs, means over reruns, from 0 to 1."""
    difference: Interval
    won: int
    lost: int
    """Source problems on which the new run is better, and worse."""
    moved: list[tuple[str, float, float]]
    """Questions that lost most: name, old and new value."""
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
        outcome = 'not decided' if self.outcome == 'undecided' else self.outcome
        if self.margin is None and self.outcome == 'undecided':
            outcome = 'not told apart'
        against = ', '.join(dict.fromkeys(row.old_name for row in self.rows))
        if len(self.rows) == 1:
            row = self.rows[0]
            where = f'{row.metric} on {row.benchmark}'
            return f'{outcome}: {self.new} against {against}, {where}: {_points(row, self.level)}'
        worse = [row.benchmark for row, one in zip(self.rows, self.outcomes, strict=True) if one == 'worse']
        where = f'; worse on {", ".join(dict.fromkeys(worse))}' if worse else ''
        return f'{outcome}: {self.new} against {against}, {len(self.rows)} rows{where}'

    @property
    def basis(self) -> str:
        """Return what the answer is about."""
        kind = f'Questions: {self.questions} ({QUESTIONS[self.questions]}).'
        several = f' All {len(self.rows)} rows must pass.' if len(self.rows) > 1 else ''
        margin = '' if self.margin is None else f' Margin: {100 * self.margin:g} points, chosen beforehand.'
        return (
            f'{kind} Intervals at {100 * self.level:g} %, of these runs, chosen beforehand.{margin}{several}'
        )

    def table(self) -> Table:
        """Return a row a benchmark, metric and old run; the title is the answer."""
        many = len({row.old_name for row in self.rows}) > 1
        heads = [
            *(['against'] * many),
            'benchmark',
            'metric',
            'new',
            'old',
            'new − old',
            'won',
            'lost',
            'outcome',
        ]
        data: list[Mapping[str, Any]] = []
        table = Table(self.line, heads, data=data)
        for row, outcome in zip(self.rows, self.outcomes, strict=True):
            low, high = (100 * float(end) for end in row.difference.at(self.level))
            new, old = (100 * score for score in row.scores)
            said = 'not decided' if outcome == 'undecided' else outcome
            cells = [
                row.benchmark,
                str(row.metric),
                new,
                old,
                f'{100 * float(row.difference.estimate):+.2f} [{low:+.1f}, {high:+.1f}]',
            ]
            table.rows.append([*([row.old_name] * many), *cells, row.won, row.lost, said])
            data.append(
                {
                    'answer': self.outcome, 'new': self.new, 'old': row.old_name, 'benchmark': row.benchmark,
                    'metric': str(row.metric), 'outcome': outcome, 'score new': new, 'score old': old,
                    'difference': 100 * float(row.difference.estimate), 'low': low, 'high': high,
                    'level': self.level, 'margin': None if self.margin is None else 100 * self.margin,
                    'questions': self.questions, 'problems': row.difference.problems,
                    'problems in effect': row.difference.effective, 'won': row.won, 'lost': row.lost,
                    'runs new': len(row.new), 'runs old': len(row.old), 'rests on': row.rests_on,
                    'open': row.open,
                }
            )  # fmt: skip
        for row in self.rows:
            where = f'{row.benchmark}, {row.metric}' if len(self.rows) > 1 else 'It rests on'
            table.notes.append(f'{where}: {row.rests_on}')
            table.notes += [row.open] if row.open else []
            if row.moved:
                told = ', '.join(
                    f'{uid:.40} {100 * was:.0f} → {100 * now:.0f}' for uid, was, now in row.moved
                )
                table.notes.append(f'Lost most on {row.benchmark}: {told}')
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
    run: str | None = None,
    against: Sequence[str] = (),
    run_sd: float | None = None,
    level: float = 0.95,
    judge: str | None = None,
    with_limited: bool = False,
) -> Answer:
    """Say whether a new run is better than an old one, or worse; both chosen beforehand.

    Args:
        paths: records, work directories or logs of other programs: the new run, the old one, and more: reruns
            of the two are found by their settings, all else are further old runs. One path may hold all.
        margin: what does not matter, from 0 to 1; None: only what the interval says.
        questions: one of `QUESTIONS`.
        metrics: none: mG-Pass@k with the largest k of both.
        benchmarks: only these, by parts of their names; none: those of the old run.
        run, against: parts of the names of the new run and of old ones, where paths hold several.
        run_sd: the standard deviation of the score from run to run, where it is known; from 0 to 1.
        judge: 'rule' judges all of them anew by the rule judge.

    Raises:
        InputError: a side has no run or several, a benchmark is missing on one, or what is there cannot be
            compared; it says why, with the first question that differs.
    """
    if not 0.5 < level < 1:
        raise InputError(f'level = {level}: expected a confidence above 0.5 and below 1, such as 0.95')
    new, olds, remarks = sides(paths, run, against, with_limited, judge, benchmarks)
    rows = []
    for old in olds:
        for benchmark, ours, theirs in benchmarks_of(new, old, benchmarks):
            others = [side.results.get(benchmark, []) for side in olds if side is not old]
            for metric in metrics or [_largest_metric([*ours, *theirs])]:
                _check_metric(metric, [*ours, *theirs])
                rows.append(_row(old.name, benchmark, metric, ours, theirs, others, questions, run_sd))
            remarks += _remarks(benchmark, ours, theirs)
    intervals = [row.difference for row in rows]
    if margin is not None:
        outcome, outcomes = decide_rows(intervals, margin, level)
    else:
        outcomes = [_plain_outcome(one, level) for one in intervals]
        outcome = outcomes[0] if len(set(outcomes)) == 1 else 'worse' if 'worse' in outcomes else 'undecided'
    if any(row.open for row in rows):
        outcomes = ['undecided' if row.open else one for row, one in zip(rows, outcomes, strict=True)]
        decided = [one for one in outcomes if one != 'undecided']
        outcome = 'worse' if 'worse' in decided and outcome == 'worse' else 'undecided'
    if margin is not None and questions == 'new':
        problems = min(one.problems for one in intervals)
        if margin < (least := least_margin(problems, level)):
            said = f'two equal runs pass for no margin below {100 * least:.2f} points'
            remarks.insert(
                0, f'With {problems} source problems {said}: take more questions, or --questions same.'
            )
    remarks += [f'{one.benchmark}: {one.difference.remark}.' for one in rows if one.difference.remark]
    return Answer(outcome, new.name, rows, outcomes, margin, level, questions, list(dict.fromkeys(remarks)))


def _plain_outcome(found: Interval, level: float) -> str:
    low, high = found.at(level)
    return 'better' if low > 0 else 'worse' if high < 0 else 'undecided'


def _largest_metric(results: Sequence[Result]) -> Metric:
    least = min(one.n for one in results)
    shared = set.intersection(*({k for k in one.ks if 1 < k <= least} for one in results))
    return Metric.mg_pass_at(max(shared, default=least))


def _check_metric(metric: Metric, results: Sequence[Result]) -> None:
    if not metric.steps:
        raise InputError(f'{metric} is 0 for every model; take k of at least 2')
    for one in results:
        if one.counts.n is not None and metric.k > min(one.counts.n):
            raise InputError(
                f'{one.path}: some questions have fewer than {metric.k} samples, which {metric} takes'
            )
        if metric.k > one.n:
            raise InputError(
                f'{metric} takes {metric.k} samples a question; {one.run.model} has {one.n}: {one.path}'
            )


# The numbers


def _row(
    old_name: str,
    benchmark: str,
    metric: Metric,
    new: list[Result],
    old: list[Result],
    others: Sequence[list[Result]],
    questions: str,
    run_sd: float | None,
) -> Row:
    """Compare one metric on one benchmark."""
    first = new[0]
    ours, theirs = (
        np.stack([one.values(metric)[rows if one is not first else slice(None)] for one, rows in each])
        for each in (
            [(one, [] if one is first else matched(first, one)) for one in new],
            [(one, matched(first, one)) for one in old],
        )
    )
    problems = first.counts.problem
    between: tuple[float, float] | None = None
    known = [between_runs(one, problems) for one in (ours, theirs) if len(one) > 1]
    for results in others:
        if len(results) > 1:
            values = np.stack([one.values(metric)[matched(first, one)] for one in results])
            known.append(between_runs(values, problems))
    if run_sd is not None:
        between = (run_sd**2, math.inf)
    elif known:
        variance, freedom = pooled(known)
        between = (float(variance), float(freedom))
    table = partial(value_table, metric)
    errors = [
        [
            float(rerun_error(one.table.c, one.n, table)) if one.counts.n is None else math.nan
            for one in results
        ]
        for results in (new, old)
    ]
    rerun_variance = sum(float(np.mean(np.square(each))) / len(each) for each in errors)
    found = compare_runs(ours, theirs, problems, questions, rerun_variance, between)
    gains, _ = problem_sums(ours.mean(0) - theirs.mean(0), problems)
    moved = sorted(
        zip(first.counts.uid, theirs.mean(0).tolist(), ours.mean(0).tolist(), strict=True),
        key=lambda one: one[2] - one[1],
    )
    lost = [one for one in moved[:3] if one[2] < one[1] - 1e-9]
    why = '' if questions == 'new' or between else not_the_model_alone(first, old[0])
    return Row(
        old_name, benchmark, metric, new, old, (float(ours.mean()), float(theirs.mean())), found,
        int((gains > 1e-9).sum()), int((gains < -1e-9).sum()), lost, why and f'{benchmark}: {why}',
        _rests_on(
            first, old[0], len(new), len(old), questions, between, run_sd, math.sqrt(rerun_variance), why
        ),
    )  # fmt: skip


def _rests_on(
    new: Result,
    old: Result,
    new_runs: int,
    old_runs: int,
    questions: str,
    between: tuple[float, float] | None,
    run_sd: float | None,
    rerun: float,
    why: str,
) -> str:
    """Return what a difference rests on."""
    problems = len(set(new.counts.problem))
    of = f' of {problems} problems' if problems < len(new.table) else ''
    sizes = f'{new.n}' if new.n == old.n else f'{new.n} (new) and {old.n} (old)'
    runs = f'{new_runs} run{"s"[: new_runs != 1]} against {old_runs}'
    told = f'{len(new.table)} questions{of}, {sizes} samples each, judge {judge_line(new)}; {runs}'
    told += f'; sampling alone moves the difference by {100 * rerun:.2f} (standard error)'
    if run_sd is not None:
        told += f'; runs move by {100 * run_sd:g} points, as --run-sd says'
    elif between:
        told += f'; runs move by {100 * between[0] ** 0.5:.2f} points ({between[1]:g} degrees of freedom)'
    elif questions == 'same' and not why:
        told += '; engine, versions, hardware and settings are the same in both, so only the model differs'
    else:
        told += '; what moves a score from run to run is not in it'
    return f'{told}.'


def not_the_model_alone(new: Result, old: Result) -> str:
    """Return what else than the model differs, or is not told, of one run a side; '' if nothing."""
    facts = {
        'engine and versions': (new.engine, old.engine),
        'hardware': tuple(str(one.provenance.get('hardware') or '') for one in (new, old)),
        'settings': tuple(
            str(sorted((k, v) for k, v in one.sampling.items() if k != 'random_seed')) for one in (new, old)
        ),
        'samples a question': (str(new.n), str(old.n)),
    }
    for name, (one, two) in facts.items():
        if not one or not two or one == '[]':
            what = f'{name}: not told by both records'
        elif one != two:
            what = f'{name}: {one} and {two}'
        else:
            continue
        return (
            f'one run a side, and more than the model may differ ({what}); rerun both with other seeds '
            '(three are the least that pay), give --run-sd, or ask of --questions new'
        )
    return ''


def _remarks(benchmark: str, new: Sequence[Result], old: Sequence[Result]) -> list[str]:
    """Return what may have made a difference beside the model."""
    ours, theirs = new[0], old[0]
    told = []
    if ours.n != theirs.n:
        told.append(
            f'{ours.n} samples a question in the new run, {theirs.n} in the old: scores of any n ≥ k compare'
        )
    names = [name for name in {**theirs.sampling, **ours.sampling} if name != 'random_seed']
    pairs: dict[str, tuple[Any, Any]] = {
        name: (ours.sampling.get(name), theirs.sampling.get(name)) for name in names
    }
    pairs['engine'] = (ours.engine or None, theirs.engine or None)
    differing = [
        f'{name} {"not told" if a is None else a} in the new run, {"not told" if b is None else b} in the old'
        for name, (a, b) in pairs.items()
        if a != b and (name != 'engine' or (a and b))
    ]
    told += [f'sampled differently: {"; ".join(differing)}'] if differing else []
    cut = [one.health.share('truncated') for one in (ours, theirs)]
    if cut[0] is not None and cut[1] is not None and abs(cut[0] - cut[1]) > NOTEWORTHY:
        told.append(
            f'{100 * cut[0]:.1f} % of the responses cut off in the new run, {100 * cut[1]:.1f} % in the old'
        )
    for side, results in (('new', new), ('old', old)):
        for one in results:
            told += [
                f'{side}: {line}' for line in (*one.health.remarks(), *provenance_warnings(one), *one.remarks)
            ]
            if one.health.unjudged:
                share = 100 * one.health.unjudged / one.health.samples
                told.append(
                    f'{side}: {one.health.unjudged} samples ({share:.2g} %) are unjudged and count as '
                    'incorrect'
                )
            told += [f'{side}: a trial on {limit}' for limit in [limits_line(one)] if limit]
    if ours.n == theirs.n and (ours.table.c == theirs.table.c[matched(ours, theirs)]).all():
        told.append('every question has the same count in both: is it one run, or two with the same seeds?')
    return [f'{benchmark}: {line}' for line in told]


def _points(row: Row, level: float) -> str:
    found, (low, high) = 100 * float(row.difference.estimate), row.difference.at(level)
    return f'{found:+.2f} points [{100 * float(low):+.1f}, {100 * float(high):+.1f}]'


# Beside published scores


def published_scores() -> DataFrame:
    """Return the published scores: benchmark, here, questions, model, metric, value in percent."""
    import pandas

    return pandas.read_csv(PUBLISHED, comment='#')


def beside_published(boards: Sequence[Board], data: DataFrame, against: Sequence[str] = ()) -> Table:
    """Return our scores and the published ones of the same model and questions, in one table.

    Args:
        against: a published model for all runs whose name is not published; none: by letters and digits.

    Raises:
        InputError: nothing of ours is published.
    """
    theirs = published_scores()
    models = {_letters(name): name for name in theirs.model.unique()}
    if unknown := [name for name in against if _letters(name) not in models]:
        close = difflib.get_close_matches(unknown[0], models.values(), 3, 0.0)
        raise InputError(f'{unknown[0]!r} is not published; close: {", ".join(close)}')
    heads = [
        'model',
        'published as',
        'benchmark',
        'metric',
        'ours',
        'published',
        'difference',
        'published is',
    ]
    numbers: list[Mapping[str, Any]] = []
    table = Table('Beside published scores', heads, data=numbers)
    alone = []
    for board in boards:
        asked = theirs[(theirs.here == board.benchmark) & (theirs.questions == board.questions)]
        for entry in board.entries:
            name = models.get(_letters(entry.result.model)) or (
                models[_letters(against[0])] if against else None
            )
            known = asked[asked.model == name].set_index('metric')
            own = data[(data.benchmark == board.title) & (data.run == entry.name) & (data.group == '')]
            pairs = [
                (row, float(known.at[row.metric, 'value']))
                for row in own.itertuples()
                if row.metric in known.index
            ]
            for row, value in pairs:
                inside = 'inside' if row.low <= value <= row.high else 'outside'
                ours = f'{row.value:.2f} [{row.low:.1f}, {row.high:.1f}]'
                cells = [entry.name, name, known.benchmark.iloc[0], row.metric, ours, value]
                table.rows.append([*cells, f'{row.value - value:+.2f}', inside])
                told = {'ours': row.value, 'low': row.low, 'high': row.high, 'published': value}
                numbers.append(dict(zip(heads[:4], cells[:4], strict=True)) | told | {'published is': inside})
            if not pairs:
                what = (
                    'its questions are not published'
                    if asked.empty
                    else f'no published model {entry.result.model!r}'
                )
                close = difflib.get_close_matches(entry.result.model, models.values(), 1, 0.5)
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


def _letters(name: str) -> str:
    return re.sub(r'[\W_]', '', name).casefold()
