"""Chain-of-Embedding of the stored responses of a run: correct against incorrect, stable against unstable."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from ..judges.protocol import Verdict
from ..metrics import required_correct
from ..results.result import Result
from ..tables import csv_text
from .embedding_chain import Chain, chain_of
from .journal import Journal, key_of
from .layer_means import LayerMeans
from .separation import Samples, Separation, separations
from .stored import Asked

LENGTH = 'log tokens'
"""The length itself, beside the values: what it tells alone."""

NUMBERS = (*Chain._fields, LENGTH)
"""What is compared."""


class Value(NamedTuple):
    """One response and its chain."""

    asked: Asked
    chain: Chain

    @property
    def numbers(self) -> list[float]:
        """Return `NUMBERS` of it."""
        return [*self.chain, math.log(len(self.asked.tokens.response))]


@dataclass(frozen=True)
class Contrast:
    """Two kinds of samples, or of questions, and how far each of `NUMBERS` tells them apart."""

    name: str
    kinds: tuple[str, str]
    sizes: tuple[int, int]
    found: Mapping[str, Separation]
    """Of each of `NUMBERS`; empty where there is no contrast."""
    why_not: str = ''
    """Why there is none."""

    @property
    def title(self) -> str:
        """Say what is compared, for a heading."""
        return f'{self.sizes[0]} {self.kinds[0]} against {self.sizes[1]} {self.kinds[1]}'


def chains_of(
    asked: Sequence[Asked],
    means: LayerMeans,
    journal: Journal,
    batch_size: int,
    done: Callable[[int], object] = lambda count: None,
) -> list[Value]:
    """Return the chains of responses; those that the journal does not know are computed, the longest first.

    Args:
        batch_size: responses that go through the model together.
        done: is told how many more are computed, batch by batch.
    """
    keys = [key_of(one.tokens) for one in asked]
    missing = {key: one.tokens for key, one in zip(keys, asked, strict=True) if journal.get(key) is None}
    ordered = iter(sorted(missing.items(), key=lambda each: -len(each[1].all)))
    while batch := list(islice(ordered, batch_size)):
        computed = map(chain_of, means.of([tokens for _, tokens in batch]))
        journal.add(zip((key for key, _ in batch), computed, strict=True))
        done(len(batch))
    known = ((one, journal.get(key)) for one, key in zip(asked, keys, strict=True))
    return [Value(one, chain) for one, chain in known if chain is not None]


def values_csv(values: Sequence[Value]) -> str:
    """Return a row a response: which it is, its verdict, its length, and the four numbers of its chain."""
    heads = [
        'uid',
        'replica',
        'problem',
        'group',
        'verdict',
        'prompt_tokens',
        'output_tokens',
        *Chain._fields,
    ]
    rows = (
        [
            *(one.asked.stored.uid, one.asked.stored.replica, one.asked.stored.problem),
            *(one.asked.stored.group, one.asked.stored.verdict),
            *(len(one.asked.tokens.prompt), len(one.asked.tokens.response)),
            *(None if math.isnan(number) else number for number in one.chain),
        ]
        for one in values
    )
    return csv_text([heads, *rows])


def judged_of(values: Sequence[Value]) -> list[Value]:
    """Return the responses that can be compared: judged, with all numbers of their chains defined."""
    return [
        one
        for one in values
        if one.asked.stored.verdict != Verdict.UNJUDGED and not any(map(math.isnan, one.chain))
    ]


def contrasts(
    result: Result, values: Sequence[Value], stable: float = 1.0, level: float = 0.95
) -> list[Contrast]:
    """Return correct against incorrect samples, and stable against unstable questions.

    Unjudged samples are of no kind. Of a question its correct samples count, with the mean of their numbers,
    so that a stable question differs from an unstable one in more than its share of incorrect samples. One
    that the model never solves is of no kind.

    Args:
        stable: a question is stable if at least this share of all its n samples is correct (the τ of
            G-Pass@n_τ), and unstable if fewer are, but at least one.
        level: of confidence.
    """
    judged = judged_of(values)
    correct = [one for one in judged if one.asked.stored.verdict == Verdict.CORRECT]
    found = [_of_samples(judged, level)]
    return [*found, _of_questions(result, correct, stable, level)] if result.n > 1 else found


def _of_samples(judged: Sequence[Value], level: float) -> Contrast:
    stored = [one.asked.stored for one in judged]
    samples = Samples(
        np.array([one.verdict == Verdict.CORRECT for one in stored], dtype=np.bool_),
        np.array([one.numbers[-1] for one in judged]),
        [one.problem for one in stored],
        [one.uid for one in stored],
    )
    kinds = 'correct samples', 'incorrect samples'
    return _contrast('samples', kinds, samples, [one.numbers for one in judged], level)


def _of_questions(result: Result, correct: Sequence[Value], stable: float, level: float) -> Contrast:
    of_each: defaultdict[str, list[Value]] = defaultdict(list)
    for one in correct:
        of_each[one.asked.stored.uid].append(one)
    counts = dict(zip(result.uids, result.counts.tolist(), strict=True))
    least = required_correct(result.n, stable)
    numbers = [np.mean([one.numbers for one in own], axis=0).tolist() for own in of_each.values()]
    samples = Samples(
        np.array([counts[uid] >= least for uid in of_each], dtype=np.bool_),
        np.array([row[-1] for row in numbers]),
        [own[0].asked.stored.problem for own in of_each.values()],
        list(of_each),
    )
    kinds = f'stable questions ({least} of {result.n} correct or more)', 'unstable questions'
    return _contrast('questions', kinds, samples, numbers, level)


def _contrast(
    name: str,
    kinds: tuple[str, str],
    samples: Samples,
    numbers: Sequence[Sequence[float]],
    level: float,
) -> Contrast:
    sizes = int(samples.positive.sum()), int((~samples.positive).sum())
    if 0 in sizes:
        return Contrast(name, kinds, sizes, {}, f'there are no {kinds[sizes.index(0)]}')
    columns = dict(zip(NUMBERS, np.array(numbers).T, strict=True))
    return Contrast(name, kinds, sizes, separations(columns, samples, level))
