"""Sampling that stops: a look at each round of a run, which says whether another one follows."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..files import listed, mapping, read_json, replace_file
from ..metrics import Metric
from ..results.read import read, read_round
from ..results.result import Result
from ..results.stopped import EARLIER, GOES_ON, UNFIT, UNTIL
from ..sample_store.store import BESIDE
from ..sweep.configs import signature
from ..uncertainty import (
    Allocation,
    Comparison,
    Goal,
    GoalKind,
    Interval,
    adjusted_level,
    rerun_level_of_errors,
    uncertain_first,
)
from ..unseen import json_text
from .against import unlike, unlike_part
from .plan import Planned
from .reach import interval_of, out_of_reach, verdict
from .rounds import Stepwise
from .seen import Seen, going_on, seen_of
from .state import Finding
from .work_dir import NOTES

Floats = NDArray[np.float64]

SCHEMA = 1

BESIDE_OUTPUTS = Path(*BESIDE)
"""Where the samples of a folder of work directories are."""


@dataclass(frozen=True)
class Look:
    """What was seen of a run after one of its rounds.

    `level` is that at which the interval was taken, so that those of all looks hold at once. `state` is one
    of the words of `results.stopped`, and `why` says it in numbers.
    """

    n: int
    questions: int
    level: float | None = None
    interval: Interval | Comparison | None = None
    state: str = GOES_ON
    why: str = ''
    result: str = ''
    """The result file, relative to the work directory."""
    asked: int = 0
    """Questions of this round; those of the others went no further."""
    samples: int = 0
    """Of all questions, in this round and those before."""
    following: tuple[str, ...] = ()
    """Uids of the questions that the next round asks; none: all."""

    @property
    def estimate(self) -> float | None:
        """Return the score, or the difference to the other run, from −1 to 1."""
        if self.interval is None:
            return None
        return self.interval.difference if isinstance(self.interval, Comparison) else self.interval.estimate

    @property
    def limits(self) -> tuple[float, float] | None:
        """Return the ends of the interval; None where it is refused, or there is none."""
        if self.interval is None or self.interval.refused:
            return None
        return self.interval.low, self.interval.high

    def as_json(self) -> dict[str, Any]:
        """Return what the notes and the events say of it, in percent points."""
        low, high = self.limits or (None, None)
        return {
            'n': self.n,
            'questions': self.questions,
            'estimate': _points(self.estimate),
            'low': _points(low),
            'high': _points(high),
            'level': self.level,
            'refused': self.interval.refused if self.interval is not None else '',
            'state': self.state,
            'why': self.why,
            'result': self.result,
            'asked': self.asked,
            'samples': self.samples,
        }


class Rule:
    """Says of each run whether it goes on, as `driver.Following`; what it says stands beside the results.

    Args:
        goal: what is to be reached.
        metric: of which.
        level: of all looks of a run at once, between 0 and 1.
        runs: the configs in rounds.
        told: is told of each look.
        by_worth: whether rounds after the first ask only the questions that are uncertain.

    Raises:
        InputError: `by_worth` with a metric for which it saves nothing, or a data set that cannot be parted.
    """

    def __init__(
        self,
        goal: Goal,
        metric: Metric | None,
        level: float,
        runs: Sequence[Stepwise],
        told: Callable[[Stepwise, Metric, Look], object] = lambda *_: None,
        by_worth: bool = False,
    ) -> None:
        self.goal, self.level = goal, level
        self._metric, self._told = metric, told
        self._runs = {one.name: one for one in runs}
        self._against: dict[str, Result] = {}
        self._results: dict[str, list[Result]] = {}
        self.looks: dict[str, list[Look]] = {}
        """Name of a run → its looks so far."""
        self.by_worth = by_worth
        self._plans = {one.name: self._plan(one) for one in runs} if by_worth else {}

    def metric_of(self, one: Stepwise) -> Metric:
        """Return the metric that was asked for, else mG-Pass@k of the largest k; accuracy where k is 1."""
        return self._metric or default_metric(one.ks)

    def decide_against(self, one: Stepwise, result: Result) -> None:
        """Take note of the result that a run is to be decided against."""
        self._against[one.name] = result

    def check(self) -> None:
        """Refuse what would break the promise of looks that were taken already, for whatever goal.

        Raises:
            InputError: a run was begun with other rounds, or to reach another half-width of the same metric.
        """
        for one in self._runs.values():
            for told in _plans(one):
                self._check_plan(one, told)
                rounds, now = listed(told.get('rounds')), list(one.ns)
                if rounds and rounds[-1] != now[-1]:
                    _refuse(one, 'n in its config, the cap,', rounds[-1], now[-1], f'Set n = {rounds[-1]}')
                plan: list[tuple[str, object, object]] = [('--rounds', rounds, now)]
                if self._plans_again(one, told):
                    plan += [('--until', told.get('goal'), str(self.goal))]
                    plan += [('--level', told.get('level'), self.level)]
                for option, was, given in plan:
                    if was != given:
                        _refuse(one, option, was, given, f'Give {option} {_said(was)}')

    def _plans_again(self, one: Stepwise, told: Mapping[str, Any]) -> bool:
        """Whether notes are of a plan for what is to be reached now: the same interval of the same metric."""
        return _about(str(told.get('goal'))) == _about(str(self.goal)) and told.get('metric') == str(
            self.metric_of(one)
        )

    def drawn(self, one: Stepwise) -> int:
        """Return how many samples a question there are, drawn for any goal."""
        looks = [look for told in _plans(one) for look in map(mapping, listed(told.get('looks')))]
        return max((int(look.get('n') or 0) for look in looks), default=0)

    def first(self, one: Stepwise) -> Planned:
        """Return the first round of a run; its config is written."""
        return one.at(one.ns[0])

    def may_follow(self, run: Planned) -> bool:
        """Whether there may be another round."""
        one = self._runs.get(run.name)
        return one is not None and one.following(_n_of(run)) is not None

    def after(self, run: Planned, finding: Finding) -> Planned | None:
        """Look at a round that is complete; return the next one, None where sampling stops."""
        one = self._runs.get(run.name)
        if one is None:
            return None
        look = self._look(one, _n_of(run), finding)
        looks = self.looks.setdefault(one.name, [])
        looks[:] = [*(earlier for earlier in looks if earlier.n < look.n), look]
        self._keep(one, looks)
        self._told(one, self.metric_of(one), look)
        later = one.following(look.n)
        return one.at(later, look.following) if look.state == GOES_ON and later is not None else None

    def _plan(self, one: Stepwise) -> Allocation:
        one.check_chosen()
        try:
            return uncertain_first(self.metric_of(one), one.ns)
        except InputError as error:
            raise InputError(f'--uncertain-first: {one.name}: {error}') from error

    def _check_plan(self, one: Stepwise, told: Mapping[str, Any]) -> None:
        """Refuse another plan of which questions go on."""
        was, now = told.get('uncertain_first'), self._plan_told(one)
        if (was is None) is not (now is None):
            advice = f'Type the line {"without" if was is None else "with"} --uncertain-first'
            _refuse(one, 'uncertain questions first:', _yes(was), _yes(now), advice)
        same = (told.get('metric'), told.get('rounds')) == (str(self.metric_of(one)), list(one.ns))
        if was != now and same:
            _refuse(
                one,
                'another plan of which questions go on:',
                was,
                now,
                'Use the version of this package that began it',
            )

    def _plan_told(self, one: Stepwise) -> list[str] | None:
        """Return of each look a digit for each c = 0 … n, 1 where a question goes on; None: all do."""
        plan = self._plans.get(one.name)
        return None if plan is None else [''.join('01'[on] for on in row) for row in plan.go_on]

    def _look(self, one: Stepwise, n: int, finding: Finding) -> Look:
        plan = self._plans.get(one.name)
        try:
            result = (read if plan is None else read_round)(finding.results[0])
        except InputError as error:
            return Look(n, 0, state=UNFIT, why=str(error))
        results = [earlier for earlier in self._results.get(one.name, []) if earlier.n < n]
        against = self._against.get(one.name)
        path = os.path.relpath(result.path, one.work_dir)
        look = Look(n, len((results or [result])[0].uids), result=path, asked=len(result.uids))
        look = replace(look, samples=_drawn([*results, result]))
        if why := _unfit(result, results[:1], against, parted=plan is not None):
            return replace(look, state=UNFIT, why=why)
        self._results[one.name] = results = [*results, result]
        metric = self.metric_of(one)
        try:
            seen = seen_of(results, metric, plan)
        except InputError as error:
            return replace(look, state=UNFIT, why=str(error))
        newest = seen[-1]
        following = () if plan is None else tuple(going_on(newest, plan, len(results) - 1))
        never = out_of_reach(self.goal, interval_of(self.goal, newest, metric, self.level, against), newest)
        level = self._level_of(seen, metric, against, len(one.ns), given_up=bool(never))
        interval = interval_of(self.goal, newest, metric, level, against)
        capped = n >= one.cap or (plan is not None and not following)
        state, why = verdict(self.goal, interval, never, capped)
        return replace(look, level=level, interval=interval, state=state, why=why, following=following)

    def _level_of(
        self, seen: Sequence[Seen], metric: Metric, against: Result | None, looks: int, given_up: bool
    ) -> float:
        """Return the level of the newest look; where the goal is given up, it spends all that is left."""
        first, half_width = seen[0].first, self.goal.at_most
        if self.goal.kind is GoalKind.RERUN_HALF_WIDTH:
            errors = [one.rerun(self.level).error for one in seen]
            return rerun_level_of_errors(errors, looks, self.level, half_width)
        values = np.array([one.values for one in seen])
        if against is None:
            return adjusted_level(
                values, looks, first.problems, self.level, first.strata, half_width, last=given_up
            )
        values = values - against.values(metric)[against.rows_of(first.uids)]
        return adjusted_level(values, looks, first.problems, self.level, first.strata)

    def _keep(self, one: Stepwise, looks: Sequence[Look]) -> None:
        """Write what was seen beside the results, in one step."""
        notes = {
            'schema': SCHEMA,
            'goal': str(self.goal),
            'metric': str(self.metric_of(one)),
            'level': self.level,
            'rounds': list(one.ns),
            'uncertain_first': self._plan_told(one),
            'config': _config_of(one),
            'looks': [look.as_json() for look in looks],
            EARLIER: [told for told in _plans(one) if not self._plans_again(one, told)],
        }
        if _notes(one) == notes:
            return
        path = one.work_dir / NOTES / UNTIL
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, json_text(notes, indent=1).encode(), path.with_name(f'{UNTIL}.{os.getpid()}'))
        except OSError as error:
            raise InputError(
                f'cannot write {path}: {error.strerror}; mend that, and the same line goes on from here'
            ) from error


def default_metric(ks: Sequence[int]) -> Metric:
    """Return the metric that a k list is about.

    >>> print(default_metric([4, 16]), default_metric([1]))
    mG-Pass@16 accuracy
    """
    return Metric.mg_pass_at(max(ks)) if max(ks) > 1 else Metric.parse('accuracy')


def _drawn(results: Sequence[Result]) -> int:
    """Return how many samples the rounds of a run have drawn, each of them once."""
    ns = [0, *(result.n for result in results)]
    return sum((result.n - before) * len(result.uids) for before, result in zip(ns, results, strict=False))


def _unfit(result: Result, first: Sequence[Result], against: Result | None, parted: bool) -> str:
    """Return why a round cannot be looked at; '' if it can.

    Args:
        first: the first round, if this is another one.
        parted: whether rounds after the first have some of the questions.
    """
    if first and parted:
        return unlike_part(result, first[0])
    other = first[0] if first else against
    why = unlike(result, other) if other is not None else ''
    return why or (unlike(result, against) if against is not None else '')


def _said(planned: object) -> str:
    return ','.join(map(str, planned)) if isinstance(planned, list) else str(planned)


def _points(share: float | None) -> float | None:
    return None if share is None or math.isnan(share) else 100 * float(share)


def _n_of(run: Planned) -> int:
    n = run.wanted[0].n
    assert n is not None  # of a round
    return n


def _config_of(one: Stepwise) -> str:
    """Return what tells whether the notes of an earlier command are of the same samples and judge."""
    dataset = {
        name: value for name, value in one.dataset.items() if name not in ('n', 'replication', 'samples')
    }
    return signature({**one.config, 'datasets': [dataset]})


def _about(goal: str) -> str:
    """Return of which interval a goal is, without its width."""
    return goal.partition('<')[0]


def _refuse(one: Stepwise, what: str, was: object, now: object, advice: str) -> None:
    raise InputError(
        f'{one.name} was begun with {what} {_said(was)}, and now it is {_said(now)}: intervals hold for what '
        f'was planned before the first look. {advice}, or another -w; with '
        f'$GPASSK_SAMPLES={one.outputs / BESIDE_OUTPUTS} that one draws no sample again'
    )


def _yes(plan: object) -> str:
    return 'no' if plan is None else 'yes'


def _plans(one: Stepwise) -> list[Mapping[str, Any]]:
    """Return the notes of all goals for which looks were taken at these samples, the last one first."""
    newest, config = _notes(one), _config_of(one)
    told = [newest, *map(mapping, listed(newest.get(EARLIER)))]
    found = [{name: value for name, value in plan.items() if name != EARLIER} for plan in told]
    return [plan for plan in found if plan.get('config') == config and plan.get('looks')]


def _notes(one: Stepwise) -> Mapping[str, Any]:
    try:
        return mapping(read_json(one.work_dir / NOTES / UNTIL))
    except (OSError, ValueError):
        return {}
