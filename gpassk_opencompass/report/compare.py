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
from typing import Any

import numpy as np
import pandas

from .. import __version__, statistics
from ..collect import LeftOut, collect, run_of
from ..errors import InputError
from ..health import NOTEWORTHY
from ..judges import Pair, Verdict, build_judge
from ..metrics import Kind, Metric, value_table
from ..record import Result
from ..scoring import score_run
from ..text import Table, markdown, markdown_line
from . import frame

PUBLISHED = Path(__file__).with_name('published.csv')  # the leaderboard of the authors of G-Pass@k

QUESTIONS = {
    'same': 'are answers to these very questions better or worse, which is what CI asks',
    'new': 'would they be on new questions of the same kind',
}
"""What a comparison is about → the question that it answers."""


@dataclass
class Answer:
    """What is said of a new run beside an old one."""

    outcome: str  # 'better', 'equivalent', 'not worse', 'worse' or 'undecided'
    runs: str  # which is compared with which
    rows: list[dict[str, Any]]  # of each benchmark and metric what --json tells
    margin: float | None
    level: float
    questions: str
    remarks: list[str]

    @property
    def exit_code(self) -> int:
        """Return 0 where the new run passes or no margin is given, 1 where it is worse, 2 if not decided."""
        passes = self.margin is None or self.outcome in statistics.PASSES
        return 0 if passes else 1 if self.outcome == 'worse' else 2

    @property
    def line(self) -> str:
        """Return the answer in a line."""
        undecided = 'not told apart' if self.margin is None else 'not decided'
        outcome = undecided if self.outcome == 'undecided' else self.outcome
        worse = dict.fromkeys(row['benchmark'] for row in self.rows if row['outcome'] == 'worse')
        told = f'{len(self.rows)} rows{"; worse on " if worse else ""}{", ".join(worse)}'
        if len(self.rows) == 1:
            points = '{metric} on {benchmark}: {difference:+.2f} points [{low:+.1f}, {high:+.1f}]'
            told = points.format(**self.rows[0])
        return f'{outcome}: {self.runs}, {told}'

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
        """Return a row a benchmark and metric; the title is the answer."""
        heads = ['benchmark', 'metric', 'new', 'old', 'new − old', 'won', 'lost', 'outcome']
        table = Table(self.line, heads, data=[*self.rows])
        for row in self.rows:
            cells = [row[name] for name in ('benchmark', 'metric', 'score new', 'score old')]
            cells += ['{difference:+.2f} [{low:+.1f}, {high:+.1f}]'.format(**row), row['won'], row['lost']]
            cells.append('not decided' if row['outcome'] == 'undecided' else row['outcome'])
            table.rows.append(cells)
            where = '{benchmark}, {metric}'.format(**row) if len(self.rows) > 1 else 'It rests on'
            moved = 'Lost most on {benchmark}: {lost most}'.format(**row) if row['lost most'] else ''
            undecided = '{benchmark}: {open}'.format(**row) if row['open'] else ''
            table.notes += filter(None, [f'{where}: {row["rests on"]}', undecided, moved])
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
) -> Answer:
    """Say whether a new run is better than an old one, or worse.

    Args:
        paths: of the new run, of the old one, and of reruns of the two, which are told by their settings.
            Records, work directories or logs of other programs.
        margin: what does not matter, from 0 to 1; None: only what the interval says.
        questions: one of `QUESTIONS`.
        metrics: none: mG-Pass@k with the largest k of both.
        benchmarks: only these, by parts of their names; none: those of the old run.
        run_sd: the standard deviation of the score from run to run, from 0 to 1, where it is known.
        judge: 'rule' judges all of them anew.

    Raises InputError, which says why, where they cannot be compared.
    """
    frame.check_level(level)
    new, old, remarks = _sides(paths, judge, benchmarks)
    rows: list[dict[str, Any]] = []
    intervals: list[statistics.Interval] = []
    for benchmark, ours, theirs in _benchmarks_of(new, old, benchmarks):
        orders = [[matched(ours[0], one) for one in runs] for runs in (ours, theirs)]
        least = min(one.n for one in (*ours, *theirs))
        shared = set.intersection(*({k for k in one.ks if 1 < k <= least} for one in (*ours, *theirs)))
        for metric in metrics or [Metric(Kind.MG_PASS, max(shared, default=least))]:
            found, told = _row(metric, (ours, theirs), orders, questions, run_sd)
            intervals.append(found)
            rows.append({'benchmark': benchmark, **told})
        known = _remarks(ours, theirs)
        if ours[0].n == theirs[0].n and (ours[0].table.c == theirs[0].table.c[orders[1][0]]).all():
            known.append('every question has the same count in both: one run, or two with the same seeds?')
        remarks += [f'{benchmark}: {line}' for line in known]
    outcome, outcomes = statistics.decide_rows(intervals, margin, level)
    outcomes = ['undecided' if row['open'] else one for row, one in zip(rows, outcomes, strict=True)]
    if any(row['open'] for row in rows) and not (outcome == 'worse' and 'worse' in outcomes):
        outcome = 'undecided'
    about = {'answer': outcome, 'new': new.name, 'old': old.name, 'level': level, 'questions': questions}
    about['margin'] = None if margin is None else 100 * margin
    for row, one, found in zip(rows, outcomes, intervals, strict=True):
        low, high = (100 * float(end) for end in found.at(level))
        row.update(about, outcome=one, low=low, high=high)
        remarks += [f'{row["benchmark"]}: {found.remark}.'] if found.remark else []
    problems = min(one.problems for one in intervals)
    least_passed = statistics.least_margin(problems, level)
    if margin is not None and questions == 'new' and margin < least_passed:
        equal = f'With {problems} source problems two equal runs pass for no margin below'
        advice = 'take more questions, or --questions same.'
        remarks.insert(0, f'{equal} {100 * least_passed:.2f} points: {advice}')
    runs = f'{new.name} against {old.name}'
    return Answer(outcome, runs, rows, margin, level, questions, list(dict.fromkeys(remarks)))


# Which runs are compared


@dataclass
class Side:
    """A model with its settings, and its results on each benchmark: one, or reruns with other seeds."""

    path: Path
    config: Any = None
    results: dict[str, list[Result]] = field(default_factory=dict)
    name: str = ''


def _sides(
    paths: Sequence[Path], judge: str | None, benchmarks: Sequence[str]
) -> tuple[Side, Side, list[str]]:
    """Return the new run, the old one, and lines on what was left out of their folders."""
    if len(paths) < 2:
        raise InputError(f'{paths[0]}: give the old run as the second path')
    new, old = sides = Side(paths[0]), Side(paths[1])
    remarks: list[str] = []
    damaged: list[LeftOut] = []
    for place, path in enumerate(paths):
        runs, limited, broken = _runs_in(path)
        remarks += [f'left out: {line}' for line in limited]
        damaged += broken
        if place < 2 and len(runs) > 1:
            some = ', '.join(frame.run_names([one for one, *_ in runs.values()])[:8])
            advice = 'give the folder of one, <work_dir>/<time>/results/<model>'
            raise InputError(f'{path} holds {len(runs)} runs, {some}{", …" * (len(runs) > 8)}: {advice}')
        for config, members in runs.items():
            twins = [sides[place]] if place < 2 else [side for side in sides if side.config == config]
            if len(twins) != 1:
                what = 'may have a rerun of either run' if twins else 'has a run that is a rerun of neither'
                advice = 'give NEW OLD and reruns of one of the two, and other old runs in a call each'
                raise InputError(f'{path} {what}; {advice}')
            twins[0].config = config
            for one in members:
                twins[0].results.setdefault(one.benchmark, []).append(_rejudged(one) if judge else one)
    new.name, old.name = frame.run_names([next(iter(side.results.values()))[0] for side in sides])
    if new.name.removesuffix(' (2)') == old.name.removesuffix(' (2)'):
        for side in sides:
            side.name = f'{side.name.removesuffix(" (2)")} ({side.path.resolve().name})'
    _refuse_damaged(damaged, sides, benchmarks)
    return new, old, remarks


def _runs_in(path: Path) -> tuple[dict[Any, list[Result]], list[str], list[LeftOut]]:
    """Return the sampled results of each config below a path, a line on trials, and damaged files."""
    collected = collect([path])
    full, limited = frame.full_runs(collected.results)
    runs: dict[Any, list[Result]] = {}
    for one in full:
        config, seed = frame.config_of(one)
        if one.n > 1:
            runs.setdefault((config, seed is None), []).append(one)
    if not runs:
        reasons = [*collected.passed_over, *limited]
        reasons += ['one answer a question does not tell how far a rerun moves'] if full else []
        count = len(collected.results)
        raise InputError('; '.join([f'{path} has no sampled result: {count} found', *reasons]))
    return runs, limited, [one for one in collected.left_out if one.newer is None and not one.foreign]


def _refuse_damaged(damaged: Sequence[LeftOut], sides: Sequence[Side], benchmarks: Sequence[str]) -> None:
    """Let no older result stand for a damaged file of one of the runs, and no benchmark go unseen."""
    chosen = [results for side in sides for results in _chosen(side.results, benchmarks).values()]
    files = [one.path for results in chosen for one in results]
    for path, why, *_ in damaged:
        beside = path.parent.name in {file.parent.name for file in files}
        if beside and (not benchmarks or path.name in {file.name for file in files}):
            advice = 'mend it or take it away, or name the files that count, or --benchmark'
            raise InputError(f'{why}; it may be a result of one of the runs: {advice}')


def _rejudged(result: Result) -> Result:
    """Return a result whose answers are judged anew by the rule judge."""
    run = run_of(result)
    if run.samples is None or 'response' not in run.samples:
        raise InputError(f'{result.path} has no responses to judge anew; leave --judge out')
    anew = score_run(run, {'type': 'rule'}, result.run, k=[k for k in result.ks if k <= result.n])
    anew._path, anew._manifest = result._path, result._manifest
    return anew


def _chosen(results: Mapping[str, Any], parts: Sequence[str]) -> dict[str, Any]:
    """Return those whose names have one of these parts in them; all of them if there are none."""
    folded = [part.casefold() for part in parts] or ['']
    return {name: own for name, own in results.items() if any(one in name.casefold() for one in folded)}


def _benchmarks_of(
    new: Side, old: Side, wanted: Sequence[str]
) -> Iterator[tuple[str, list[Result], list[Result]]]:
    """Yield each benchmark with the runs of both; a run that lacks one must not pass without it."""
    ours, theirs = new.results, old.results
    if len(ours) == len(theirs) == 1 and not wanted:  # logs of two programs call one benchmark differently
        ours = dict(zip(theirs, ours.values(), strict=True))
    both = {**theirs, **ours}
    if unknown := [part for part in wanted if not _chosen(both, [part])]:
        raise InputError(f'{unknown[0]!r} is no benchmark here; there is {", ".join(both)}')
    for name in _chosen(both, wanted) if wanted else theirs:
        for side, results in ((new, ours), (old, theirs)):
            if name not in results:
                advice = '--benchmark NAME decides on some alone'
                has = f'it has {", ".join(results)}; {advice}'
                raise InputError(f'{side.name} has no complete result on {name}; {has}')
            seeds = [frame.config_of(one)[1] for one in results[name]]
            if len(seeds) > 1 and (None in seeds or len(set(seeds)) < len(seeds)):
                told = zip(results[name], seeds, strict=True)
                files = ', '.join(f'{one.path.name} (seed {seed})' for one, seed in told)
                why = 'reruns need different seeds that their records tell; give the path of one of them'
                raise InputError(f'{side.name} has {len(seeds)} results on {name}: {files}; {why}')
        yield name, ours[name], theirs[name]


# The same questions


def matched(first: Result, other: Result) -> list[int]:
    """Return where in `other` the questions of `first` stand.

    Questions are matched by their names, where those differ by their texts. References count as the same
    where the rule judge takes one for the other: 12 and 12.0. Raises InputError where the judges differ, or a
    question is in one alone, or another one in both.
    """
    uids, there = first.counts.uid, set(other.counts.uid)
    if first is other:
        return list(range(len(uids)))
    if (first.path.resolve(), first.run) == (other.path.resolve(), other.run) and first.path.name:
        raise InputError(f'{first.path} is the new and the old run: a run is not compared with itself')
    whole = f'{first.path} and {other.path} cannot be compared'
    if first.judge_digest != other.judge_digest:
        judges = f'{frame.judge_line(first)} and {frame.judge_line(other)}'
        advice = '--judge rule judges both anew, where they have responses'
        raise InputError(f'{whole}: another judge, or one with other settings ({judges}); {advice}')
    if first.data.sha256 == other.data.sha256 and set(uids) == there:
        return frame.rows_of(other, uids)
    ours, theirs = _texts(first), _texts(other)
    by_text = {question: uid for uid, (question, _) in theirs.items() if question}
    partner = {
        uid: uid if question == theirs.get(uid, ('', ''))[0] else by_text.get(question, uid)
        for uid, (question, _) in ((uid, ours.get(uid, ('', ''))) for uid in uids)
    }
    taken = {*partner.values()}
    for result, texts, missing in (
        (first, ours, [uid for uid, match in partner.items() if match not in there]),
        (other, theirs, [uid for uid in other.counts.uid if uid not in taken]),
    ):
        if missing:
            text = texts.get(missing[0], ('', ''))[0]
            sizes = (
                f'of {len(uids)} and {len(there)} questions {len(missing)} are in {result.run.model} alone'
            )
            raise InputError(
                f'{whole}: {sizes}, first {missing[0]!r:.60}{f" ({text!r:.80})" if text else ""}'
            )
    if not (ours and theirs):
        raise InputError(
            f'{whole}: their questions have the same names, but data.sha256 differs, and without both sample '
            'files nobody can say where: keep the .samples.parquet beside the .json'
        )
    if different := _first_difference({uid: (ours[uid], theirs[match]) for uid, match in partner.items()}):
        raise InputError(f'{whole}: {different}')
    return frame.rows_of(other, partner.values())


def _first_difference(pairs: Mapping[str, tuple[tuple[str, str], tuple[str, str]]]) -> str:
    """Say where two questions, or two references of one question, are not the same; '' where all are."""
    unlike: dict[str, Pair] = {}
    for uid, ((question, reference), (another, answer)) in pairs.items():
        if question and another and question != another:
            both = f'{question!r:.80} in one and {another!r:.80} in the other'
            return f'question {uid!r:.60} asks {both}'
        if reference != answer:
            unlike[uid] = Pair(question=question, reference=reference, answer=answer)
    with closing(build_judge({'type': 'rule'})) as rule:
        for (uid, pair), judged in zip(unlike.items(), rule.judge([*unlike.values()]), strict=True):
            if judged.verdict is not Verdict.CORRECT:
                both = f'{pair.reference!r:.60} in one and {pair.answer!r:.60} in the other'
                return f'question {uid!r:.60} has the reference {both}'
    return ''


def _texts(result: Result) -> dict[str, tuple[str, str]]:
    """Return question, on one line, and reference by the name of the question; {} where nobody knows."""
    samples = result.samples(['question', 'reference'])
    if samples is None or 'reference' not in samples:
        return {}
    each, first = samples.by_question(), samples.each('question')
    return {
        uid: (' '.join((first[each[uid][0]] or '').split()), samples['reference'][each[uid][0]] or '')
        for uid in result.counts.uid
    }


# The numbers


def _row(
    metric: Metric,
    sides: Sequence[list[Result]],
    orders: Sequence[list[list[int]]],
    questions: str,
    run_sd: float | None,
) -> tuple[statistics.Interval, dict[str, Any]]:
    """Return the difference, and what is told of it; `sides`: new runs and old ones."""
    (new, old), first = sides, sides[0][0]
    if not metric.steps:
        raise InputError(f'{metric} is 0 for every model; take k of at least 2')
    for one in (*new, *old):
        if metric.k > (least := min(one.table.n)):
            few = f'{metric} takes {metric.k} samples a question; {one.run.model} has {least}'
            raise InputError(f'{few}: {one.path}')
    each = [zip(runs, places, strict=True) for runs, places in zip(sides, orders, strict=True)]
    values = [np.stack([one.values(metric)[order] for one, order in runs]) for runs in each]
    problems = first.counts.problem
    moves, why = 'what moves a score from run to run is not in it', ''
    variance, freedom = statistics.between_runs(values, problems)
    between = (float(variance), float(freedom)) if freedom else None
    if run_sd is not None:
        between, moves = (run_sd**2, math.inf), f'runs move by {100 * run_sd:g} points, as --run-sd says'
    elif between:
        moves = f'runs move by {100 * between[0] ** 0.5:.2f} points ({freedom:g} degrees of freedom)'
    elif questions == 'same' and not (why := not_the_model_alone(first, old[0])):
        files = first.provenance.get('files')
        alike = files and files == old[0].provenance.get('files')
        all_else = 'hardware, settings and files of the model' if alike else 'hardware and settings'
        moves = f'engine, versions, {all_else} are the same in both, so only the '
        moves += 'samples differ' if alike else 'model differs'
    sampling, table = 0.0, partial(value_table, metric)
    for runs in (new, old):
        errors = [float(statistics.rerun_error(one.table.c, one.table.n, table)) for one in runs]
        sampling += float(np.mean(np.square(errors))) / len(runs)
    found = statistics.compare_runs(values[0], values[1], problems, questions, sampling, between)
    now, was = values[0].mean(0), values[1].mean(0)
    gains, _ = statistics.problem_sums(now - was, problems)
    worst = [row for row in np.argsort(now - was, kind='stable')[:3] if now[row] < was[row] - 0.005]
    lost = (f'{first.counts.uid[row]:.40} {100 * was[row]:.0f} → {100 * now[row]:.0f}' for row in worst)
    of = f' of {found.problems} problems' if found.problems < len(problems) else ''
    samples = f'{first.n}' if first.n == old[0].n else f'{first.n} (new) and {old[0].n} (old)'
    told = {
        'metric': str(metric),
        'score new': 100 * float(now.mean()),
        'score old': 100 * float(was.mean()),
        'difference': 100 * float(found.estimate),
        'problems': found.problems,
        'problems in effect': found.effective,
        'won': int((gains > 1e-9).sum()),  # source problems
        'lost': int((gains < -1e-9).sum()),
        'runs new': len(new),
        'runs old': len(old),
        'lost most': ', '.join(lost),
        'rests on': f'{len(problems)} questions{of}, {samples} samples each, judge {frame.judge_line(first)};'
        f' {len(new)} run{"s"[: len(new) != 1]} against {len(old)}; sampling alone moves the difference by '
        f'{100 * math.sqrt(sampling):.2f} (standard error); {moves}.',
        'open': why,
    }
    return found, told


def _facts(new: Result, old: Result) -> dict[str, tuple[str, str]]:
    """Return what may move a score beside the model, of both; '' where it is not told."""
    each: list[dict[str, str]] = []
    for one in (new, old):
        settings = {name: str(value) for name, value in one.sampling.items() if name != 'random_seed'}
        engine, hardware = one.engine, str(one.provenance.get('hardware') or '')
        about = {'engine and versions': engine, 'hardware': hardware, 'samples a question': str(one.n)}
        each.append({**about, 'temperature': '', **settings})
    ours, theirs = each
    return {name: (ours.get(name, ''), theirs.get(name, '')) for name in {**ours, **theirs}}


def not_the_model_alone(new: Result, old: Result) -> str:
    """Return what else than the model differs, or is not told, of one run a side; '' if nothing."""
    for name, (now, was) in _facts(new, old).items():
        if not now or now != was:
            both = f'{now} and {was}' if now and was else 'not told by both records'
            return (
                f'one run a side, and more than the model may differ ({name}: {both}); rerun both with other '
                'seeds (three are the least that pay), give --run-sd, or ask of --questions new'
            )
    return ''


def _remarks(new: Sequence[Result], old: Sequence[Result]) -> list[str]:
    """Return what may have made a difference beside the model."""
    ours, theirs = new[0], old[0]
    lines = [
        f'{name} {now or "not told"} in the new run, {was or "not told"} in the old'
        for name, (now, was) in _facts(ours, theirs).items()
        if now != was and ((now and was) or name in {**ours.sampling, **theirs.sampling})
    ]
    cut, before = (one.health.share('truncated') for one in (ours, theirs))
    if cut is not None and before is not None and abs(cut - before) > NOTEWORTHY:
        share = '{:.1f} % of the responses cut off in the new run, {:.1f} % in the old'
        lines.append(share.format(100 * cut, 100 * before))
    for side, one in [('new', one) for one in new] + [('old', one) for one in old]:
        own = [*one.health.remarks(), *frame.provenance_warnings(one), *one.remarks]
        if lost := one.health.unjudged:
            share = f'{100 * lost / one.health.samples:.2g} %'
            own.append(f'{lost} samples ({share}) are unjudged and count as incorrect')
        own += [f'a trial on {limit}' for limit in [frame.limits_line(one)] if limit]
        lines += [f'{side}: {line}' for line in own]
    return lines


# Beside published scores


def beside_published(paths: Sequence[Path], level: float = 0.95, against: str | None = None) -> Table:
    """Return our scores and the published ones of the same model and questions, in one table.

    A model is found by its letters and digits, else it is `against`. Raises InputError where none is found.
    """

    def letters(name: str) -> str:
        return re.sub(r'[\W_]', '', name).casefold()

    results = collect(paths).results
    k = 16 if any(one.n >= 16 for one in results) else None  # that of the published columns
    boards, left_out = frame.boards(results, k, level)
    # benchmark, here (what it is called here), questions, model, metric, value in percent
    theirs = pandas.read_csv(PUBLISHED, comment='#').rename(
        columns={'model': 'named', 'benchmark': 'as', 'value': 'published'}
    )
    models = {letters(name): name for name in theirs.named.unique()}
    if against and letters(against) not in models:
        close = difflib.get_close_matches(against, models.values(), 3, 0.0)
        raise InputError(f'{against!r} is not published; close: {", ".join(close)}')
    ours = frame.frame(boards).query('group == ""')
    named = {model: models.get(letters(model), models.get(letters(against or ''))) for model in ours.model}
    here = {board.title: board.benchmark for board in boards}
    ours = ours.assign(named=ours.model.map(named), here=ours.benchmark.map(here))
    both = ours.merge(theirs, on=['here', 'questions', 'named', 'metric'])
    both['difference'] = both.value - both.published
    both['place'] = np.where(both.published.between(both.low, both.high), 'inside', 'outside')
    columns = ['run', 'named', 'as', 'metric', 'value', 'low', 'high', 'published', 'difference', 'place']
    heads = ['model', 'published as', 'benchmark', 'metric', 'ours', *columns[5:9], 'published is']
    table = Table('Beside published scores', heads, both[columns].to_numpy().tolist())
    alone = [
        f'{board.title}: {entry.name}: nothing is published of {entry.result.model!r} on these '
        f'{len(board.uids)} questions; --against NAME is for a model of another name'
        for board in boards
        for entry in board.entries
        if not ((both.benchmark == board.title) & (both.run == entry.name)).any()
    ]
    if not table.rows:
        raise InputError('\n'.join(['nothing of these runs is published', *alone]))
    table.notes = [
        'inside: the published score lies in our interval [low, high], for new questions of the same kind. '
        'Theirs come without counts and have no interval; prompt, engine, judge and settings may differ.',
        *alone,
        *(f'left out: {line}' for line in left_out),
    ]
    return table
