"""The axes of a template: which values each may take, and a scalar is an axis of one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from operator import index
from typing import Any

from ..errors import TemplateError


@dataclass(frozen=True)
class Number:
    """Which numbers are allowed.

    >>> print(Number(above=0, most=1))
    a number > 0 and <= 1
    """

    least: float | None = None
    above: float | None = None
    most: float | None = None
    whole: bool = False

    def __str__(self) -> str:
        limits = (('>=', self.least), ('>', self.above), ('<=', self.most))
        stated = ' and '.join(f'{sign} {limit}' for sign, limit in limits if limit is not None)
        return f'a {"whole " if self.whole else ""}number {stated}'

    def read(self, value: Any, where: str) -> Any:
        """The value as int or float; TemplateError naming `where` if it is not allowed."""
        kind: Any = Integral if self.whole else Real
        if isinstance(value, bool) or not isinstance(value, kind) or not self._holds(value):
            raise TemplateError(f'{where} is {value!r}; expected {self}')
        return index(value) if self.whole else float(value) + 0.0  # + 0.0: no negative zero

    def _holds(self, value: Any) -> bool:
        return (
            (self.whole or math.isfinite(value))
            and (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.most is None or value <= self.most)
        )


POSITIVE = Number(least=1, whole=True)
NOT_NEGATIVE = Number(least=0, whole=True)

SAMPLING_AXES: dict[str, tuple[str, Number]] = {
    'temperatures': ('temperature', Number(least=0)),
    'top_ps': ('top_p', Number(above=0, most=1)),
    'top_ks': ('top_k', NOT_NEGATIVE),
    'repetition_penalties': ('repetition_penalty', Number(above=0)),
    'random_seeds': ('random_seed', NOT_NEGATIVE),
    'max_out_lens': ('max_out_len', POSITIVE),
}
"""Template variable: the field of `names.Settings` that it varies, and its values."""

MODEL_LINES = frozenset({*SAMPLING_AXES, 'benchmarks', 'greedy', 'k_lists', 'n', 'replications', 'version'})
"""Lines of a template that a model of `llm_infos` may have for itself."""

SAMPLE_COUNTS = frozenset({'n', 'replications'})
"""Two ways to say one thing: a line with the one takes the place of the other."""


def with_lines(variables: Mapping[str, Any], lines: Mapping[str, Any]) -> dict[str, Any]:
    """A template's variables with other lines in place of its own.

    >>> with_lines({'replications': 3, 'top_ps': 0.8}, {'n': 64})
    {'top_ps': 0.8, 'n': 64}
    """
    replaced = SAMPLE_COUNTS if SAMPLE_COUNTS & set(lines) else frozenset()
    return {**{name: value for name, value in variables.items() if name not in replaced}, **lines}


def read_axis(name: str, raw: Any, number: Number) -> tuple[Any, ...]:
    """The values of a numeric axis; TemplateError if it is empty, repeats itself or holds something else."""
    items = as_list(name, raw)
    single = len(items) == 1 and items[0] is raw
    values = [number.read(item, name if single else f'{name}[{i}]') for i, item in enumerate(items)]
    return distinct(name, values)


def read_k_lists(raw: Any, name: str = 'k_lists') -> tuple[tuple[int, ...], ...]:
    """One k list as `[4, 8, 16]`, several as `[[4, 8, 16], [32]]`; each comes back sorted."""
    items = as_list(name, raw)
    if not any(isinstance(item, (list, tuple)) for item in items):
        items = [items]
    lists = [
        read_axis(f'{name}[{i}]' if len(items) > 1 else name, item, POSITIVE) for i, item in enumerate(items)
    ]
    return distinct(name, [tuple(sorted(ks)) for ks in lists])


def read_words(name: str, raw: Any) -> tuple[str, ...]:
    """A list of different non-empty strings; one string is a list of one."""
    words = as_list(name, raw)
    for word in words:
        if not isinstance(word, str) or not word:
            raise TemplateError(f'{name} has {word!r}; expected strings')
    return distinct(name, words)


def as_list(name: str, raw: Any) -> Sequence[Any]:
    """A scalar is a list of one; an empty list is an error."""
    items = raw if isinstance(raw, (list, tuple, range)) else [raw]
    if not items:
        raise TemplateError(f'{name} is empty; give it at least one value or remove the line')
    return items


def distinct(name: str, values: Sequence[Any]) -> tuple[Any, ...]:
    """The values as a tuple; TemplateError if one comes twice, for that would write one file twice."""
    for i, value in enumerate(values):
        if value in values[:i]:
            raise TemplateError(f'{name} has {value!r} twice, which would give two runs one name; remove one')
    return tuple(values)
