"""Records with one or two damages each, as Hypothesis draws them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st
from result_files import THIRDS, block

from gpassk_opencompass.record import data_of

Step = str | int

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 6)
    | st.just(10**18)
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(['\ud800', '=1', '<b>', 'u0', 'm_t0_l' + 5000 * '9', 400 * 'x', '..', '/'])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def good_record() -> dict[str, Any]:
    """Four answers to each of 24 questions, with everything that an evaluator writes."""
    names = {
        'run': {'model': 'm_t1-0_l100', 'dataset': 'MATH500-L5', 'host': 'file', 'created': '2026-01-01'}
    }
    judge = {'name': 'cascade', 'first': {'name': 'rule'}, 'second': {'name': 'llm', 'model': 'Q'}}
    unjudged = [0] * 23 + [1]
    details = {
        'question': ['q'] * 24, 'reference': ['1'] * 24, 'answers': [['1', '2', '3', '4']] * 24,
        'verdicts': ['1' * c + '?' * u + '0' * (4 - c - u) for c, u in zip(THIRDS, unjudged, strict=True)],
    }  # fmt: skip
    asked = data_of([f'u{number}' for number in range(24)], details['question'], details['reference'])
    whole = block(THIRDS, 4, unjudged=unjudged)
    told = {'unjudged_reasons': {'silent': 1}, 'judged_by': {'rule': 48, 'llm': 47}, 'warnings': ['w']}
    more = {'data': asked.model_dump(exclude_none=True), 'judge': judge, 'health': whole['health'] | told}
    record = {'accuracy': 50.0, 'details': details, 'gpassk': {**whole, **names, **more}}
    return copy.deepcopy(json.loads(json.dumps(record)))


def places(value: Any, path: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """The way to each part, but of a list only to its first and its last."""
    yield path
    steps = list(value) if isinstance(value, dict) else []
    if isinstance(value, list):
        steps = sorted({0, len(value) - 1}) if value else []
    for step in steps:
        yield from places(value[step], (*path, step))


PLACES = [place for place in places(good_record()) if place]


@st.composite
def damaged_records(draw: st.DrawFn) -> dict[str, Any]:
    record = good_record()
    for place in draw(st.lists(st.sampled_from(PLACES), min_size=1, max_size=2)):
        holder: Any = record
        try:
            for step in place[:-1]:
                holder = holder[step]
            if draw(st.booleans()):
                holder[place[-1]] = draw(VALUES)
            else:
                del holder[place[-1]]
        except (LookupError, TypeError):
            continue  # the first damage took away the place of the second
    return record
