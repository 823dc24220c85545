"""What chose the number of samples of a run, where a goal did: the notes of `gpassk run --until`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..files import listed, mapping, read_json

UNTIL = 'until.json'
"""The notes, in `.gpassk` of a work directory."""

EARLIER = 'earlier'
"""The entry of the notes with those of goals before the last one."""

REACHED, OUT_OF_REACH, AT_CAP, GOES_ON, UNFIT = 'reached', 'out of reach', 'at the cap', 'goes on', 'unfit'
"""How a look ended. The last: its result has other questions than the looks before, or than the other run."""

_SAID = {
    REACHED: 'stopped by {goal} at look {number} of {looks}',
    OUT_OF_REACH: '{goal} given up at look {number} of {looks}',
    AT_CAP: '{goal} not reached, look {number} of {looks}',
    GOES_ON: 'look {number} of {looks} for {goal}, unfinished',
    UNFIT: 'look {number} of {looks} for {goal}, broken off',
}


_DECIDED = 'decided against '


@dataclass(frozen=True)
class Further:
    """What samples of the uncertain questions alone add to a result, which has none of them."""

    metric: str
    estimate: float
    """In percent points, unbiased: the score, or its difference to the run that it was decided against."""
    limits: tuple[float, float] | None
    """Of the interval, which holds at all looks at once; None where it is refused."""
    samples: int
    """In all."""
    first: int
    """Samples of each question in the result."""
    more: bool = True
    """Whether there are more than these."""

    def line(self, goal: str, level: float) -> str:
        """Return the estimate with its interval, and what the scores beside it are of.

        >>> told = Further('mG-Pass@16', 41.23, (39.25, 43.2), 2512, 16)
        >>> told.line('half-width<=2', 0.95)[:96]
        'mG-Pass@16 is 41.2 [39.2, 43.2] with 2,512 samples, the uncertain questions first; the interval '
        """
        decided = goal.startswith(_DECIDED)
        sign = '+' if decided else ''
        ends = '' if self.limits is None else ' [{:{}.1f}, {:{}.1f}]'
        low, high = self.limits or (0.0, 0.0)
        score = f'{self.estimate:{sign}.1f}' + ends.format(low, sign, high, sign)
        other = goal.removeprefix(_DECIDED) if decided else ''
        what = f'{self.metric}, new minus {other},' if decided else self.metric
        kind = 'the same questions again' if goal.startswith('rerun') else 'new questions'
        order = ', the uncertain questions first' if self.more else ''
        beside = (
            'Tables, ranks, comparisons and exports have none of it: they are of the first look, '
            f'n = {self.first} of all questions'
        )
        return (
            f'{what} is {score} with {self.samples:,} samples{order}; the interval is for {kind} and holds '
            f'at {100 * level:g} % for all looks at once. '
        ) + (beside if self.more else 'Those of tables are ordinary')


@dataclass(frozen=True)
class Stopped:
    """The look at a result: how many samples there were then, and what became of it."""

    goal: str
    """As it was given: 'half-width<=2'."""
    metric: str
    level: float
    """Of all looks at once."""
    rounds: tuple[int, ...]
    """n at each look that there might have been."""
    n: int
    state: str
    """One of the words above."""
    look_level: float | None
    """The level at which the interval of this look holds together with those of all others."""
    further: Further | None = None
    """Where uncertain questions were sampled first: then the result is the first look, and this the last."""

    @property
    def note(self) -> str:
        """Return for a reader what the result does not hold; '' where it holds all samples."""
        return self.further.line(self.goal, self.level) if self.further else ''

    @property
    def line(self) -> str:
        """Return in words what stopped the run, and when.

        >>> told = Stopped('half-width<=2', 'mG-Pass@16', 0.95, (16, 32, 48), 32, REACHED, 0.99)
        >>> told.line
        'stopped by half-width<=2 at look 2 of 3'
        """
        number = sum(n <= self.n for n in self.rounds)
        kind, decided, run = self.goal.partition(_DECIDED)
        short = Path(run).name.removesuffix('.py').partition('@')[0]  # names of runs are long
        goal = f'{decided}{short}' if decided and not kind else self.goal
        line = _SAID[self.state].format(goal=goal, number=number, looks=len(self.rounds))
        return f'{line}, uncertain questions first; scores: first look' if self.further else line

    @property
    def by_difference(self) -> bool:
        """Whether n was chosen by the difference to another run; that of a first look alone was not."""
        return self.goal.startswith(_DECIDED) and not self.further

    def level_for(self, metric: str, level: float) -> float:
        """Return the level at which an interval of this look is to be taken, so that it holds at `level`.

        That of other metrics, of other levels, and of a goal about something else than the score's own
        interval for new questions, is `level`: nobody has looked at these. So it is where the result is the
        first look whatever was seen later, as with uncertain questions first.

        >>> told = Stopped('half-width<=2', 'mG-Pass@16', 0.95, (16, 32, 48), 32, REACHED, 0.99)
        >>> told.level_for('mG-Pass@16', 0.95), told.level_for('accuracy', 0.95)
        (0.99, 0.95)
        """
        same = (metric, level) == (self.metric, self.level) and self.goal.startswith('half-width')
        return self.look_level if same and self.look_level is not None and not self.further else level

    def error_share(self, metric: str, *, of_new_questions: bool = True) -> float:
        """Return the part of an error 1 − level that a difference to another run may spend; at most 1.

        Where n was chosen by a difference, that of this look is one of several, and its interval has to hold
        together with those of the others. For new questions the look's own level says what that takes; for
        these very questions, where looks have less in common, each look has an equal part. To which run the
        difference was is not asked: those to others are much alike. One of another metric was not looked at.

        >>> told = Stopped('decided against old', 'mG-Pass@16', 0.95, (16, 32, 48), 32, REACHED, 0.98)
        >>> round(told.error_share('mG-Pass@16'), 9), told.error_share('accuracy')
        (0.4, 1.0)
        """
        if metric != self.metric or not self.by_difference or self.look_level is None:
            return 1.0
        if not of_new_questions:
            return 1 / len(self.rounds)
        return min((1 - self.look_level) / (1 - self.level), 1.0)


def read_stopped(work_dir: Path, n: int) -> Stopped | None:
    """Return the look at n samples a question, for the last goal that had one; None where nothing tells.

    Where uncertain questions were sampled first, the result is the first look, and it is the last one that
    says what became of the run.
    """
    with suppress(OSError, ValueError, TypeError, KeyError):
        newest = mapping(read_json(work_dir / '.gpassk' / UNTIL))
        for told in (newest, *map(mapping, listed(newest.get(EARLIER)))):
            looks = [look for look in map(mapping, listed(told.get('looks'))) if look.get('state') in _SAID]
            here = next((look for look in looks if look.get('n') == n), None)
            if here is not None and told.get('uncertain_first') is None:
                return _stopped(told, here)
            if here is not None and here is looks[0]:
                return _stopped(told, looks[-1], _further(told, looks))
    return None


def _further(told: Mapping[str, Any], looks: Sequence[Mapping[str, Any]]) -> Further | None:
    """Return the newest look that was one: the last may have been broken off; None where none was."""
    look = next((one for one in reversed(looks) if one['estimate'] is not None), None)
    if look is None:
        return None
    ends = look['low'], look['high']
    limits = None if None in ends else (float(ends[0]), float(ends[1]))
    estimate, samples = float(look['estimate']), int(look['samples'])
    first = int(looks[0]['n'])
    return Further(str(told['metric']), estimate, limits, samples, first, look['n'] != first)


def _stopped(told: Mapping[str, Any], look: Mapping[str, Any], further: Further | None = None) -> Stopped:
    level = look.get('level')
    return Stopped(
        str(told['goal']),
        str(told['metric']),
        float(told['level']),
        tuple(int(n) for n in told['rounds']),
        int(look['n']),
        str(look['state']),
        None if level is None else float(level),
        further,
    )
