"""What labels of some answers say about the verdicts of all, and about each metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .evidence import Seen, budget, costs, most_wrong
from .extremes import Doubt, Extremes, Kinds
from .sample import Answer, Floats, Integers, Kind, Labels, Run


class KindFound(NamedTuple):
    """What was found out about the verdicts of one kind."""

    kind: Kind
    answers: int
    samples: int
    drawn: int
    """0 where the kind is trusted."""
    labelled: int
    wrong: int
    most_wrong: int | None
    """No more of its answers are wrong, all kinds at once; None where the kind is trusted."""


class MetricFound(NamedTuple):
    """What was found out about one metric, from 0 to 1."""

    name: str
    reported: float
    audited: float | None
    """Its expected value if every answer without a label is wrong as often as those of its kind that have
    one; None without any label."""
    low: float
    high: float


class Findings(NamedTuple):
    """What an audit says."""

    kinds: list[KindFound]
    metrics: list[MetricFound]


def findings(
    run: Run, drawn: Mapping[Kind, Sequence[Answer]], labels: Labels, level: float = 0.95
) -> Findings:
    """Return what the labels of a sample say; all limits hold at once with the probability `level`.

    The labels are taken for true. A sample in which not every answer has a label counts, of each kind, up to
    the last one that has; those before it may be either, and when to stop must not depend on what the labels
    say.

    Args:
        run: the verdicts.
        drawn: of each kind that is not trusted, the sample in its order (`sample.draw`).
        labels: of answers in `drawn`.
        level: above 0 and below 1; half of what is left goes to false acceptances, half to false rejections.

    Raises:
        InputError: no such level.
    """
    check_level(level)
    seen = {kind: _seen(len(run.kinds[kind]), sample, labels) for kind, sample in drawn.items()}
    alpha = (1 - level) / 2
    most: dict[Kind, int] = {}
    for side in (True, False):
        mine = [kind for kind in seen if kind.accepted is side]
        most |= dict(zip(mine, most_wrong([seen[kind] for kind in mine], alpha), strict=True))
    kinds = [_kind_found(kind, answers, drawn, seen, most) for kind, answers in run.kinds.items()]
    audited = _audited(run, seen, labels)
    low, high = _extremes(run, seen, labels, alpha)
    metrics = [
        MetricFound(name, value, audited[name] if audited else None, low[name], high[name])
        for name, value in run.reported().items()
    ]
    return Findings(kinds, metrics)


def check_level(level: float) -> None:
    """Raise InputError unless a level is above 0 and below 1."""
    if not 0 < level < 1:
        raise InputError(f'--level {level:g}: expected a number between 0 and 1, such as 0.95')


def _seen(answers: int, sample: Sequence[Answer], labels: Labels) -> Seen:
    told = [labels.get(answer.name) for answer in sample]
    asked = max((place for place, label in enumerate(told, 1) if label is not None), default=0)
    wrong = sum(
        label is not None and label is not answer.kind.accepted
        for answer, label in zip(sample, told, strict=True)
    )
    return Seen(answers, asked, wrong, told[:asked].count(None))


def _kind_found(
    kind: Kind,
    answers: Sequence[Answer],
    drawn: Mapping[Kind, Sequence[Answer]],
    seen: Mapping[Kind, Seen],
    most: Mapping[Kind, int],
) -> KindFound:
    samples = sum(answer.samples for answer in answers)
    if kind not in seen:
        return KindFound(kind, len(answers), samples, 0, 0, 0, None)
    one = seen[kind]
    return KindFound(kind, len(answers), samples, len(drawn[kind]), one.labelled, one.wrong, most[kind])


def _corrected(run: Run, labels: Labels) -> Integers:
    """Return c of each question with the labels in the place of the verdicts that they contradict."""
    correct = run.correct.copy()
    for answer in run.answers:
        if labels.get(answer.name, answer.kind.accepted) is not answer.kind.accepted:
            correct[answer.question] += -answer.samples if answer.kind.accepted else answer.samples
    return correct


def _extremes(
    run: Run, seen: Mapping[Kind, Seen], labels: Labels, alpha: float
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the lowest and the highest value of each metric."""
    correct = _corrected(run, labels)
    found = []
    for sign, counts in ((-1, correct - run.unaccepted), (1, correct + run.unrejected)):
        kinds = [kind for kind, one in seen.items() if _matters(kind, one, sign)]
        number = {kind: place for place, kind in enumerate(kinds)}
        doubts = [
            Doubt(
                answer.question,
                number[answer.kind],
                -answer.samples if answer.kind.accepted else answer.samples,
            )
            for answer in run.answers
            if answer.kind in number and answer.name not in labels
        ]
        extremes = Extremes(counts, run.n, doubts, _kinds(kinds, seen, alpha))
        found.append({name: sign * extremes.highest(sign * values) for name, values in run.table.items()})
    return found[0], found[1]


def _matters(kind: Kind, one: Seen, sign: int) -> bool:
    """Return whether errors of a kind can move a metric that way: those that help, and those that must be."""
    helps = kind.accepted is (sign < 0)
    return one.unknown > 0 and (helps or float(costs(one)[0]) > 0)


def _kinds(kinds: Sequence[Kind], seen: Mapping[Kind, Seen], alpha: float) -> Kinds:
    budgets = []
    for side in (True, False):
        mine = [one for kind, one in seen.items() if kind.accepted is side]
        left_out = [one for kind, one in seen.items() if kind.accepted is side and kind not in kinds]
        budgets.append(budget(mine, alpha) - sum(float(costs(one).min()) for one in left_out))
    return Kinds([costs(seen[kind]) for kind in kinds], [int(not kind.accepted) for kind in kinds], budgets)


def _audited(run: Run, seen: Mapping[Kind, Seen], labels: Labels) -> dict[str, float] | None:
    """Return the expected value of each metric where errors are as frequent as among the labelled answers.

    A kind without labels has the rate of all labelled answers with its verdict.
    """
    if not any(one.labelled for one in seen.values()):
        return None
    rates = {kind: _rate(kind, seen) for kind in seen}
    chances = np.zeros((len(run.correct), run.n + 1))
    chances[np.arange(len(run.correct)), _corrected(run, labels)] = 1.0
    for answer in run.answers:
        rate = 0.0 if answer.name in labels else rates.get(answer.kind, 0.0)
        if rate:
            change = -answer.samples if answer.kind.accepted else answer.samples
            chances[answer.question] = _moved(chances[answer.question], change, rate)
    return {name: float((chances @ values).mean()) for name, values in run.table.items()}


def _rate(kind: Kind, seen: Mapping[Kind, Seen]) -> float:
    same = (
        [seen[kind]]
        if seen[kind].labelled
        else [one for other, one in seen.items() if other.accepted is kind.accepted]
    )
    labelled = sum(one.labelled for one in same)
    return sum(one.wrong for one in same) / labelled if labelled else 0.0


def _moved(chances: NDArray[np.float64], change: int, rate: float) -> Floats:
    """Return the chances of each count once it has changed with the probability `rate`, within 0 … n."""
    return (1 - rate) * chances + rate * np.roll(chances, change)
