"""Greedy runs: which one stands beside a sampled run, and why a result stands in no table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..record import Result

ON_HUB = re.compile(r'[\w-][\w.-]*/[\w.-]+')
"""What a model is called on the hub: its owner and its name."""


def greedy_of(result: Result, members: Sequence[Result]) -> Result | None:
    """Return the host's greedy run of the same model with responses of the same length, else of the largest.

    A sweep has one greedy run a model, with the largest max_out_len of its settings.
    """
    runs = [other for other in members if other.greedy and _of_one_model(other, result)]
    same = [run for run in runs if run.model_path == result.model_path] or runs
    alike = [run for run in same if length_of(run) == length_of(result)]
    return next(iter(alike), max(same, key=lambda run: length_of(run) or 0, default=None))


def _of_one_model(one: Result, other: Result) -> bool:
    """Whether two runs of a host are of one model: by its name, or by its path whatever they are called.

    Models of one name from two owners on the hub are two.
    """
    paths = {one.model_path, other.model_path}
    if one.run.host != other.run.host or (len(paths) == 2 and all(map(ON_HUB.fullmatch, paths))):
        return False
    return one.model == other.model or (len(paths) == 1 and '' not in paths)


def length_of(result: Result) -> float | None:
    """Return how long a response may be, in tokens; None where it is not told."""
    return result.sampling.get('max_out_len')


def why_not(result: Result, k: int | None, has_samples: bool) -> str:
    """Return why a result stands in no table.

    Args:
        k: of the table; None: there is none.
        has_samples: sampled runs of its model stand there.
    """
    if result.greedy:
        beside = 'another greedy run of its model stands beside its samples'
        return beside if has_samples else 'a greedy run without samples of its model beside it'
    if result.n == 1 and result.sampling.get('temperature') is None:
        return (
            'one sample a question at a temperature that is not known: neither its record nor its name tells '
            "it, and no sweep's manifest (--configs); a greedy run may be called model_t0_l8192"
        )
    if result.n == 1:
        return 'one sample at a temperature above 0 says nothing of stability'
    if k is None:
        return f'it was evaluated for k = {result.ks}, and one answer says nothing of stability'
    return f'n = {result.n} is less than k = {k}'
