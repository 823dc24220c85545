"""Results of several hosts in one table: which may stand together, and what a reader has to know of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..record import Result, digest_of

Key = tuple[str, str]
"""The hash of the data and of the judge."""

_PACKAGES = ('math-verify', 'latex2sympy2_extended', 'sympy')
"""What the rule judge's identity names a version of."""


def across_hosts(parts: Mapping[Key, list[Result]]) -> dict[Key, list[Result]]:
    """Return the parts of one benchmark; those of different hosts are one where packages alone differ.

    Hosts pin packages: Lighteval another math-verify than OpenCompass's environment has, and both stand in
    the identity of the rule judge. Where one host has results of two such judges nobody could say which to
    take, and all stay apart.

    Args:
        parts: results by their data and judge.
    """
    alike: defaultdict[Key, list[Key]] = defaultdict(list)
    for key, members in parts.items():
        alike[key[0], _kind_of_judge(members[0])].append(key)
    joined = {}
    for keys in alike.values():
        hosts = [host for key in keys for host in {result.run.host for result in parts[key]}]
        if len(hosts) == len(set(hosts)):
            joined[keys[0]] = [result for key in keys for result in parts[key]]
        else:
            joined |= {key: parts[key] for key in keys}
    return {key: joined[key] for key in parts if key in joined}


def judges_differ(results: Sequence[Result]) -> bool:
    """Whether not all were judged alike: by one judge a host, and these but for packages the same."""
    judges = {(result.run.host, result.judge_digest) for result in results}
    hosts = {result.run.host for result in results}
    return len({_kind_of_judge(result) for result in results}) > 1 or len(judges) > len(hosts)


def notes_on_hosts(results: Sequence[Result]) -> list[str]:
    """Return sentences for who compares runs of one host with those of another; none where there is one."""
    hosts = sorted({result.run.host for result in results})
    if len(hosts) < 2:
        return []
    notes = [
        f'Runs of {" and ".join(hosts)} stand together. Questions and references are the same; the prompt '
        "around a question and the chat template are each host's own, and a difference between hosts may "
        'come from them.'
    ]
    versions = {host: _packages([one for one in results if one.run.host == host]) for host in hosts}
    if len(set(map(tuple, versions.values()))) > 1:
        shared = set.intersection(*map(set, versions.values()))
        told = '; '.join(
            f'{", ".join(one for one in packages if one not in shared) or "no packages"} ({host})'
            for host, packages in versions.items()
        )
        notes.append(f'The rule judge rests on {told}, which give a few answers another verdict.')
    return notes


def _packages(results: Sequence[Result]) -> list[str]:
    return sorted({f'{name} {number}' for one in results for name, number in _versions(one.judge)})


def _kind_of_judge(result: Result) -> str:
    """Return a digest of the judge without the versions of the packages behind the rule."""
    return digest_of(_without_packages({**result.judge, 'statistics': None}))


def _without_packages(judge: Any) -> Any:
    if not isinstance(judge, dict):
        return judge
    return {key: _without_packages(value) for key, value in judge.items() if key not in _PACKAGES}


def _versions(judge: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the packages behind the rule judge with their versions, also of one within a cascade."""
    for key, value in judge.items():
        if isinstance(value, dict) and key != 'statistics':
            yield from _versions(value)
        elif key in _PACKAGES:
            yield key, str(value)
