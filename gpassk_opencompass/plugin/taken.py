"""What a result says of samples that were not drawn for it, but taken from earlier runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..files import mapping
from ..sample_store.choice import MIXED, ROUND, SEEDED, TAKEN_AS, WHOLE


def taken_told(rows: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """Return the field `reused` of a record's provenance, in an object, and warnings.

    Args:
        rows: of predictions; what the field `sample` of each says of its `origin` is counted.

    Returns:
        ({}, []) where all were drawn by the run itself.
    """
    found = [mapping(mapping(row.get('sample')).get('origin')) for row in rows]
    counts = Counter(json.dumps(one, sort_keys=True) for one in found if one)
    if not counts:
        return {}, []
    drawn = len(rows) - counts.total()
    origins = [_origin(json.loads(text), count) for text, count in counts.items()]
    origins.sort(key=lambda one: (one['since'], one['run']))
    return {'reused': {'drawn': drawn, 'taken': counts.total(), 'from': origins}}, _warnings(origins, drawn)


def _origin(told: Mapping[str, Any], count: int) -> dict[str, Any]:
    """Return what is said of the samples of one run."""
    as_ = told.get('taken_as')
    why = TAKEN_AS.get(as_, TAKEN_AS[MIXED]) if isinstance(as_, str) else TAKEN_AS[MIXED]
    versions = mapping(told.get('versions'))
    known = {'versions': dict(versions)} if versions else {}
    return {
        'run': str(told.get('run', '')),
        'since': str(told.get('since', '')),
        'samples': count,
        **known,
        'why': why,
    }


def _warnings(origins: Sequence[Mapping[str, Any]], drawn: int) -> list[str]:
    """Return a sentence each where samples of one result may be of engines that differ."""
    sure = (TAKEN_AS[SEEDED], TAKEN_AS[ROUND])
    loose = [one for one in origins if one['why'] not in sure]
    whole = all(one['why'] == TAKEN_AS[WHOLE] for one in loose)
    warnings = []
    if loose and (drawn or len(origins) > 1 or not whole):
        names = ', '.join(f'{one["samples"]} of {one["run"]} ({one["since"]})' for one in loose)
        warnings.append(
            f'samples of several runs are mixed, of an engine that does not promise them a second time: '
            f'{drawn} drawn by this run, {names}'
        )
    for one in origins:
        if versions := one.get('versions'):
            shown = ', '.join(f'{name} {version}' for name, version in sorted(versions.items()))
            warnings.append(f'{one["samples"]} samples of {one["run"]} were drawn with {shown}')
    return warnings
