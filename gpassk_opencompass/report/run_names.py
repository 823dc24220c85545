"""What tells runs of one name apart, on every benchmark alike: a run has one row of all benchmarks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ..adapter import sizes_name
from ..record import Result
from .greedy_runs import ON_HUB


def called(name: str, *marks: str) -> str:
    """Return a name with those of the marks behind it that say anything.

    >>> called('m_t1.0', '', 'k4-r2', '10 questions'), called('m_t1.0', '')
    ('m_t1.0 (k4-r2, 10 questions)', 'm_t1.0')
    """
    told = ', '.join(filter(None, marks))
    return f'{name} ({told})' if told else name


def told_apart(tables: Sequence[Sequence[Result]]) -> dict[int, str]:
    """Return for each result, by its `id`, what tells its run from others of its host and name; or ''.

    Such are models of one name from two owners on the hub, and runs of one model with other k or n. A run is
    called so on every benchmark, also where nothing else has its name there: what belongs together is found
    by that name. What is of one benchmark alone, such as how many questions it was asked, is no part of it.

    Args:
        tables: the sampled results of each table.
    """
    alike: defaultdict[tuple[str, str], list[list[Result]]] = defaultdict(list)
    for table in tables:
        here: defaultdict[tuple[str, str], list[Result]] = defaultdict(list)
        for result in table:
            here[result.run.host, result.run.model].append(result)
        for name, members in here.items():
            alike[name].append(members)
    return {
        id(result): ', '.join(filter(None, facts))
        for members in alike.values()
        for result, facts in _facts(members)
    }


def _facts(tables: Sequence[Sequence[Result]]) -> Iterator[tuple[Result, list[str]]]:
    """Yield the results of one name with the facts that tell them apart."""
    owners = {name for table in tables for one in table if ON_HUB.fullmatch(name := one.run.path)}
    with_owner = len(owners) > 1 or any(len({one.run.path for one in table}) > 1 for table in tables)
    with_sizes = any(len({sizes_name(one) for one in table}) > 1 for table in tables)
    for table in tables:
        for one in table:
            yield one, [one.run.path] * with_owner + [sizes_name(one)] * with_sizes
