"""Which answers are asked about: so many of each kind, in an order that a seed decides."""

from __future__ import annotations

import hashlib
import heapq
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ..arguments import as_whole
from ..errors import InputError
from .judged import Answer, Kind, Run

MOST_PAIRS = 1_000_000


@dataclass(frozen=True)
class Plan:
    """How a sample was drawn; with the run it gives the same sample again."""

    run: str
    """`Run.digest`."""
    seed: int
    pairs: int
    trusted: tuple[str, ...] = ()
    """Types whose verdicts are taken for right."""


def draw(run: Run, plan: Plan) -> dict[Kind, list[Answer]]:
    """Draw answers of each kind, without replacement, in the order in which they are to be asked.

    The number of each kind is `allocate`'s. Which they are, a hash of the seed and the answer decides: the
    same everywhere, and a plan with more pairs draws the same ones and more.

    Args:
        run: whose answers.
        plan: `pairs` of all kinds together; all there are, where there are fewer.

    Returns:
        An entry a kind that is not trusted, as ordered in `run.kinds`.

    Raises:
        InputError: fewer pairs than kinds, or a trusted type that the run has not.
    """
    kinds = {kind: answers for kind, answers in run.kinds.items() if kind.type not in plan.trusted}
    _check(run, plan, kinds)
    numbers = allocate([[answer.samples for answer in answers] for answers in kinds.values()], plan.pairs)
    return {
        kind: sorted(answers, key=lambda answer: _ticket(plan.seed, answer))[:number]
        for (kind, answers), number in zip(kinds.items(), numbers, strict=True)
    }


def in_turn(drawn: Mapping[Kind, Sequence[Answer]]) -> list[Answer]:
    """Return all drawn answers, the kinds mixed, so that the first half of them is half of each kind.

    Within a kind the order stays.
    """
    places = (
        ((place + 0.5) / len(answers), number, answer)
        for number, answers in enumerate(drawn.values())
        for place, answer in enumerate(answers)
    )
    return [answer for _, _, answer in sorted(places, key=lambda item: item[:2])]


def allocate(samples: Sequence[Collection[int]], pairs: int) -> list[int]:
    """Return how many to draw of each stratum: at least 1 each, then as the size times the spread has it.

    Neyman's allocation, where an error is as likely everywhere and then costs as many samples as the answer
    has: in proportion to N·√(mean of samples²). Whole numbers by Wright's rule: one after the other, to the
    stratum with the largest N·√(…)/√(n(n + 1)).

    Args:
        samples: of each stratum, how many samples each of its answers stands for; none is empty.
        pairs: at least one a stratum.

    Sources: Neyman 1934, J. R. Stat. Soc. 97, 558; Wright 2012, Am. Stat. 66, 217.

    >>> allocate([[4, 4, 4, 4], [1, 1, 1, 1], [9]], 6)
    [4, 1, 1]
    """
    weights = [math.sqrt(len(one) * sum(size * size for size in one)) for one in samples]
    numbers = [1] * len(samples)
    queue = [(-weight / math.sqrt(2), place) for place, weight in enumerate(weights)]
    heapq.heapify(queue)
    left = pairs - len(samples)
    while left > 0 and queue:
        _, place = heapq.heappop(queue)
        if numbers[place] < len(samples[place]):
            numbers[place] += 1
            left -= 1
            n = numbers[place]
            heapq.heappush(queue, (-weights[place] / math.sqrt(n * (n + 1)), place))
    return numbers


def _check(run: Run, plan: Plan, kinds: Mapping[Kind, object]) -> None:
    as_whole('--pairs', plan.pairs, 1, MOST_PAIRS)
    known = sorted({kind.type for kind in run.kinds})
    if unknown := [name for name in plan.trusted if name not in known]:
        raise InputError(f'--trust {unknown[0]}: no verdict is of that type; there are {", ".join(known)}')
    if not kinds:
        raise InputError(
            'there is no verdict to ask about: all types are trusted, or no response has an answer'
        )
    if plan.pairs < len(kinds):
        raise InputError(
            f'--pairs {plan.pairs}: there are {len(kinds)} kinds of verdicts; give one each at least'
        )


def _ticket(seed: int, answer: Answer) -> bytes:
    return hashlib.sha256(f'{seed}\0{answer.name}'.encode()).digest()
