"""The settings in a name: `_t0.3_p0.8_k50_rp1.0_rs42_l8192`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

_FLOAT, _INT = r'[0-9]+(?:[.-][0-9]+)?', r'[0-9]{1,40}'

_TAGS: dict[str, tuple[str, str]] = {
    'temperature': ('t', _FLOAT),
    'top_p': ('p', _FLOAT),
    'top_k': ('k', _INT),
    'repetition_penalty': ('rp', _FLOAT),
    'random_seed': ('rs', _INT),
    'max_out_len': ('l', _INT),
}
"""Fields of Settings in the order of the name: the tag and what follows it."""

MODEL = re.compile(
    '(?P<model>.+?)' + ''.join(f'(?:_{tag}(?P<{field}>{value}))?' for field, (tag, value) in _TAGS.items())
)


def tagged(settings: Mapping[str, int | float | None]) -> str:
    """Return the settings as they stand in a name, in its order; those that are None are not there.

    >>> tagged({'max_out_len': 8192, 'temperature': 0.3, 'top_p': None})
    '_t0.3_l8192'
    """
    given = ((settings.get(field), tag, pattern) for field, (tag, pattern) in _TAGS.items())
    return ''.join(f'_{tag}{_written(value, pattern)}' for value, tag, pattern in given if value is not None)


def parted(abbr: str) -> tuple[str, dict[str, int | float]]:
    """Return the model and the settings that a name tells, whoever wrote it and whatever the model is called.

    >>> parted('my model (v2)_t0.0_l64'), parted('gpt-4o')
    (('my model (v2)', {'temperature': 0.0, 'max_out_len': 64}), ('gpt-4o', {}))
    """
    match = MODEL.fullmatch(abbr)
    if match is None or match['max_out_len'] is None:
        return abbr, {}
    tags = ((field, pattern) for field, (_, pattern) in _TAGS.items() if match[field] is not None)
    return match['model'], {field: _read(match[field], pattern) for field, pattern in tags}


def _written(value: float, pattern: str) -> str:
    """Write a number without exponent: 0.3, 1 as 1.0, 1e-05 as 0.00001, 0 as 0."""
    if pattern is _INT or value == 0:
        return str(int(value))
    text = format(Decimal(repr(float(value))), 'f')
    return text if '.' in text else text + '.0'


def _read(text: str, pattern: str) -> float | int:
    return int(text) if pattern is _INT else float(text.replace('-', '.'))
