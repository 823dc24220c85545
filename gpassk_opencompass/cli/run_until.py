"""`gpassk run --until`: rounds of samples until a goal is reached."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..results.stopped import AT_CAP, GOES_ON, OUT_OF_REACH, REACHED, UNFIT
from ..runs.plan import Planned
from ..runs.state import Finding, State
from ..tables import Cell, Column, Table
from ..unseen import printable

if TYPE_CHECKING:
    from ..metrics import Metric
    from ..results.result import Result
    from ..runs.against import Against
    from ..runs.rounds import Stepwise
    from ..runs.until import Look, Rule
    from .live import Screen

_STATES = {REACHED: 'reached', OUT_OF_REACH: 'given up', AT_CAP: 'cap', UNFIT: 'broken off'}
_ENDS = {REACHED: ', goal reached', OUT_OF_REACH: ', goal given up', AT_CAP: ' at the cap'}


@dataclass(frozen=True)
class UntilRequest:
    """What sampling is to reach, and how.

    Args:
        goal: as it was given.
        metric: of which; None: mG-Pass@k of the largest k.
        rounds: n of each round; none: the usual ones.
        level: of confidence, of all looks of a run at once.
        uncertain_first: whether rounds after the first ask only the questions that are uncertain.
    """

    goal: str
    metric: str | None = None
    rounds: tuple[int, ...] = ()
    level: float = 0.95
    uncertain_first: bool = False

    def words(self) -> list[str]:
        """Return the options that ask for this again."""
        words = ['--until', self.goal]
        words += ['--metric', self.metric] if self.metric else []
        words += ['--rounds', ','.join(map(str, self.rounds))] if self.rounds else []
        words += ['--level', f'{self.level:g}'] if self.level != UntilRequest.level else []
        words += ['--uncertain-first'] if self.uncertain_first else []
        return words


def add_until_arguments(parser: ArgumentParser) -> None:
    """Add when sampling stops."""
    group = parser.add_argument_group(
        'sampling that stops', 'n of each config is the most there may be; see docs/until.md'
    )
    group.add_argument(
        '--until',
        metavar='GOAL',
        help="draw samples in rounds until 'half-width<=2', 'rerun-half-width<=0.5' (percent points), or "
        "'decided against RUN' (a config, a result or a work directory)",
    )
    group.add_argument('--metric', help='that the goal is about (default: mG-Pass@k of the largest k)')
    group.add_argument(
        '--rounds',
        type=_rounds,
        default=(),
        metavar='N,N,…',
        help='samples a question after each round (default: multiples of the largest k, at most 8 rounds)',
    )
    group.add_argument(
        '--level', type=float, default=0.95, help='of confidence, of all rounds at once (default: 0.95)'
    )
    group.add_argument(
        '--uncertain-first',
        action='store_true',
        help='after the first round, sample only the questions where more samples are worth it',
    )
    parser.add_argument(
        '--dry-run', action='store_true', help='say what would be run, and in which rounds; run nothing'
    )


def until_of(arguments: Namespace) -> UntilRequest | None:
    """Return what was asked for; None without --until.

    Raises:
        InputError: options that do not go together.
    """
    goal = arguments.until
    if goal is None:
        given = [
            f'--{name.replace("_", "-")}'
            for name in ('metric', 'rounds', 'uncertain_first')
            if getattr(arguments, name)
        ]
        given += ['--level'] if arguments.level != UntilRequest.level else []
        if given:
            raise InputError(f"{given[0]} goes with --until, such as --until 'half-width<=2'")
        return None
    if arguments.samples is not None:
        raise InputError(
            f'--samples {arguments.samples} sets n, which --until chooses, up to the n of each config: leave '
            'one of the two out; --rounds says which n are looked at'
        )
    rounds = tuple(arguments.rounds)
    return UntilRequest(goal, arguments.metric, rounds, arguments.level, arguments.uncertain_first)


class Sampling:
    """The rounds of the configs of a command, and what was seen after each.

    Args:
        request: what is to be reached.
        runs: of the configs, as they were given.
        outputs: the folder of the work directories.

    Raises:
        InputError: no goal, no metric, no such run to be decided against, or a config that has no rounds.
    """

    def __init__(self, request: UntilRequest, runs: Sequence[Planned], outputs: Path) -> None:
        from ..metrics import Metric
        from ..runs.rounds import rounds_plan
        from ..runs.until import Rule, default_metric
        from ..uncertainty import parse_goal
        from ..uncertainty.intervals import check_level

        goal = parse_goal(request.goal)
        check_level(request.level)
        metric = Metric.parse(request.metric) if request.metric else None
        outputs = outputs.resolve()
        self.against = _against(goal.run, runs, outputs)
        others = [run for run in runs if self.against is None or run is not self.against.run]
        plan = rounds_plan(others, request.rounds, metric.k if metric else 1, outputs)
        self.stepwise, self.greedy = plan.stepwise, plan.greedy
        for one in plan.stepwise:
            if not (chosen := metric or default_metric(one.ks)).steps:
                raise InputError(f'{chosen} is 0 for every model; take k of at least 2')
        self.rule: Rule = Rule(
            goal, metric, request.level, plan.stepwise, self._look, request.uncertain_first
        )
        self._check()
        self._told: Callable[[Stepwise, Metric, Look], None] = lambda *_: None

    @property
    def before(self) -> tuple[Planned, ...]:
        """Return what is drawn whole before the rounds: the run to be decided against, if it is a config."""
        run = None if self.against is None else self.against.run
        return () if run is None else (run,)

    def first(self) -> list[Planned]:
        """Return the first round of each config, and those with one sample a question as they are."""
        return [*map(self.rule.first, self.stepwise), *self.greedy]

    @property
    def names(self) -> list[Planned]:
        """Return all runs under the names that they have in all rounds; nothing is written."""
        return [*self.before, *(one.planned(one.ns[0]) for one in self.stepwise), *self.greedy]

    def tell(self, screen: Screen) -> None:
        """Have each look told on a screen."""

        def told(one: Stepwise, metric: Metric, look: Look) -> None:
            fields = {'metric': str(metric), 'goal': str(self.rule.goal), 'rounds': list(one.ns)}
            screen.looked(one.name, _line(one, metric, look), {**fields, **look.as_json()})

        self._told = told

    def drawn_before(self, findings: Sequence[Finding]) -> bool:
        """Take in the run to be decided against; whether it is complete."""
        from ..results.read import read

        if any(finding.state is not State.COMPLETE for finding in findings):
            return False
        for finding in findings:
            result = read(finding.results[0])
            for one in self.stepwise:
                self.rule.decide_against(one, result)
        return True

    def table(self) -> Table:
        """Return a row a config: how many samples were drawn, and why no more."""
        return outcome_table(self.rule, self.stepwise)

    def rounds_table(self) -> Table:
        """Return a row a config: its rounds, and how many samples the last one would have."""
        table = Table(
            'rounds', [Column('run', 'left'), Column('rounds', 'left'), 'questions', 'samples at most']
        )
        for one in self.stepwise:
            count = None if one.questions is None else one.questions * one.cap
            table.add(one.name, ', '.join(map(str, one.ns)), one.questions, count)
        return table

    @property
    def all_seen(self) -> bool:
        """Whether each config was sampled as far as the rule asks."""
        ends = [
            looks[-1].state if (looks := self.rule.looks.get(one.name)) else GOES_ON for one in self.stepwise
        ]
        return not {GOES_ON, UNFIT} & set(ends)

    def _look(self, one: Stepwise, metric: Metric, look: Look) -> None:
        self._told(one, metric, look)

    def _check(self) -> None:
        from ..runs.against import fitting

        for one in self.stepwise:
            if self.against is not None:
                result: Result | None = fitting(self.against, one, self.rule.metric_of(one))
                if result is not None:
                    self.rule.decide_against(one, result)
        self.rule.check()


def outcome_table(rule: Rule, runs: Sequence[Stepwise]) -> Table:
    """Return a row a config: n, what it saved, and the interval that holds whenever sampling stops."""
    decides = bool(rule.goal.run)
    metrics = {str(rule.metric_of(one)) for one in runs}
    what = metrics.pop() if len(metrics) == 1 else 'score'
    head = f'{what}, difference' if decides else what
    counts = [Column(name, 'right') for name in ('n', 'of', 'look', 'samples', 'saved')]
    limits = '[{:+.1f}, {:+.1f}]' if decides else '[{:.1f}, {:.1f}]'
    score = Column(head, 'right', '{:+.1f}' if decides else '{:.1f}', limits)
    table = Table('sampling', [Column('run', 'left'), *counts, score, Column('stopped', 'left')])
    for one in runs:
        looks = rule.looks.get(one.name)
        if not looks:
            table.add(one.name, None, one.cap, None, None, None, None, 'nothing was seen')
            continue
        look = looks[-1]
        number = one.ns.index(look.n) + 1
        # Where all questions have the same n, another goal may have had more drawn.
        samples = look.samples if rule.by_worth else max(look.n, rule.drawn(one)) * look.questions
        ended = look.state in (REACHED, OUT_OF_REACH, AT_CAP)
        saved = one.cap * look.questions - samples if ended else 0
        n = f'{look.samples / look.questions:.1f}' if rule.by_worth and look.samples else look.n
        table.add(
            *(one.name, n, one.cap, f'{number}/{len(one.ns)}', samples, saved),
            _score(look),
            f'{_STATES.get(look.state, look.state)}: {look.why}',
        )
    return table


def how_to_read(rule: Rule) -> str:
    """Return what the intervals of `outcome_table` promise."""
    what = 'the same questions again' if rule.goal.kind.value.startswith('rerun') else 'new questions'
    text = (
        f'The intervals are for {what}, and hold at {100 * rule.level:g} % for all looks of a run at once, '
        f'so also at the one where it stopped ({rule.goal}).'
    )
    if not rule.by_worth:
        return text
    return (
        f'{text} n is the mean of all questions: the uncertain ones have more, and scores are unbiased with '
        'that. The result of a run is its first round, of all questions.'
    )


def _score(look: Look) -> Cell:
    if look.estimate is None or look.interval is None:
        return Cell(None)
    limits = look.limits and (100 * look.limits[0], 100 * look.limits[1])
    return Cell(100 * look.estimate, limits, look.interval.refused)


def _line(one: Stepwise, metric: Metric, look: Look) -> str:
    """Return what was seen, in a line."""
    number = one.ns.index(look.n) + 1
    some = f' for {look.asked} of {look.questions} questions' if look.asked < look.questions else ''
    head = f'look {number} of {len(one.ns)}, n = {look.n} of {one.cap}{some}'
    if look.estimate is None:
        return f'{head}: {printable(look.why)}'
    estimate = f'{metric} {_share(look)}, '
    end = 'goes on' if look.state == GOES_ON else f'stops{_ENDS.get(look.state, "")}'
    return f'{head}: {estimate}{printable(look.why)}: {end}'


def _share(look: Look) -> str:
    from ..uncertainty import Comparison

    assert look.estimate is not None
    sign = '+' if isinstance(look.interval, Comparison) else ''
    ends = '' if look.limits is None else ' [{:{}.1f}, {:{}.1f}]'
    low, high = look.limits or (0.0, 0.0)
    return f'{100 * look.estimate:{sign}.1f}' + ends.format(100 * low, sign, 100 * high, sign)


def _against(name: str, runs: Sequence[Planned], outputs: Path) -> Against | None:
    from ..runs.against import find_against

    return find_against(name, runs, outputs) if name else None


def _rounds(text: str) -> tuple[int, ...]:
    """Read numbers of samples with commas between them.

    >>> _rounds('16,32')
    (16, 32)
    """
    parts = [part.strip() for part in text.split(',')]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 and int(part) for part in parts):
        raise ArgumentTypeError(f'{text!r}: expected numbers of samples with commas between them: 16,32,64')
    return tuple(map(int, parts))
