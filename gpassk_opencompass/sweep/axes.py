"""The axes of a template: which values each may take, and the sampling settings that they make."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product
from numbers import Integral, Real
from operator import index
from typing import Any

from ..errors import TemplateError
from ..naming.names import Settings


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
        """Return the value as int or float; raise TemplateError naming `where` if it is not allowed."""
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

DEFAULT_K_LISTS = ((4, 8, 16),)
DEFAULT_REPLICATIONS = (3,)


def with_lines(variables: Mapping[str, Any], lines: Mapping[str, Any]) -> dict[str, Any]:
    """Return a template's variables with other lines in place of its own.

    >>> with_lines({'replications': 3, 'top_ps': 0.8}, {'n': 64})
    {'top_ps': 0.8, 'n': 64}
    """
    replaced = SAMPLE_COUNTS if SAMPLE_COUNTS & set(lines) else frozenset()
    return {**{name: value for name, value in variables.items() if name not in replaced}, **lines}


def read_axis(name: str, raw: Any, number: Number) -> tuple[Any, ...]:
    """Return the values of a numeric axis; a single value is an axis of one.

    Raises:
        TemplateError: it is empty, repeats itself or holds something else.
    """
    items = _as_list(name, raw)
    single = len(items) == 1 and items[0] is raw
    return _distinct(
        name, [number.read(item, name if single else f'{name}[{i}]') for i, item in enumerate(items)]
    )


def read_k_lists(raw: Any, name: str = 'k_lists') -> tuple[tuple[int, ...], ...]:
    """Read one k list as `[4, 8, 16]`, several as `[[4, 8, 16], [32]]`; return each sorted."""
    items = _as_list(name, raw)
    if not any(isinstance(item, (list, tuple)) for item in items):
        items = [items]
    lists = [
        read_axis(f'{name}[{i}]' if len(items) > 1 else name, item, POSITIVE) for i, item in enumerate(items)
    ]
    return _distinct(name, [tuple(sorted(ks)) for ks in lists])


def read_words(name: str, raw: Any) -> tuple[str, ...]:
    """Read a list of different non-empty strings; one string is a list of one."""
    words = _as_list(name, raw)
    for word in words:
        if not isinstance(word, str) or not word:
            raise TemplateError(f'{name} has {word!r}; expected strings')
    return _distinct(name, words)


def _as_list(name: str, raw: Any) -> Sequence[Any]:
    items = raw if isinstance(raw, (list, tuple, range)) else [raw]
    if not items:
        raise TemplateError(f'{name} is empty; give it at least one value or remove the line')
    return items


def _distinct(name: str, values: Sequence[Any]) -> tuple[Any, ...]:
    for i, value in enumerate(values):
        if value in values[:i]:
            raise TemplateError(f'{name} has {value!r} twice, which would give two runs one name; remove one')
    return tuple(values)


def words(text: str) -> frozenset[str]:
    """Return the words of a text, which have blanks between them."""
    return frozenset(text.split())


def unknown(what: str, name: object, allowed: Collection[str]) -> TemplateError:
    """Return an error that says what was received, the nearest allowed name and all of them.

    >>> print(unknown('variable', 'temperature', ['temperatures', 'top_ps']))
    unknown variable 'temperature': did you mean 'temperatures'? Allowed: temperatures, top_ps
    """
    near = nearest(str(name), allowed)
    question = f': did you mean {near!r}?' if near else ';'
    return TemplateError(f'unknown {what} {name!r}{question} Allowed: {", ".join(sorted(allowed))}')


def nearest(name: str, allowed: Collection[str]) -> str | None:
    """Return the allowed name that was most likely meant; None if none is near."""
    longer = sorted((other for other in allowed if other.startswith(name)), key=len)
    return next(iter(longer or get_close_matches(name, sorted(allowed), n=1)), None)


@dataclass(frozen=True)
class Sampling:
    """How many answers a question gets: n = replication × max(k) for every k list, or these n."""

    k_lists: tuple[tuple[int, ...], ...]
    replications: tuple[int, ...]
    ns: tuple[int, ...]

    def runs(self, settings: Settings) -> Iterator[tuple[tuple[int, ...], int]]:
        """Yield (k list, n) of each run; a greedy run has one answer a question."""
        if settings.greedy:
            yield (1,), 1
            return
        for ks in self.k_lists:
            for n in self.ns or (replication * max(ks) for replication in self.replications):
                yield ks, n


def read_sampling(variables: Mapping[str, Any]) -> Sampling:
    """Read `k_lists`, `replications` and `n`, which have defaults.

    Raises:
        TemplateError: both of `replications` and `n`, or a k above n.
    """
    if set(variables) >= SAMPLE_COUNTS:
        raise TemplateError('both n and replications are given; n = replication × max(k): give one of them')
    k_lists = read_k_lists(variables['k_lists']) if 'k_lists' in variables else DEFAULT_K_LISTS
    given = {name: read_axis(name, variables[name], POSITIVE) for name in SAMPLE_COUNTS & set(variables)}
    ns, largest = given.get('n', ()), max(map(max, k_lists))
    if ns and largest > min(ns):
        raise TemplateError(
            f'k_lists has k = {largest}, but n = {min(ns)}: at most n of n samples can be drawn'
        )
    return Sampling(k_lists, given.get('replications', DEFAULT_REPLICATIONS), ns)


def read_settings(
    variables: Mapping[str, Any], *, temperature_needed: bool, seed: int | None, may_be_unseeded: bool
) -> list[Settings]:
    """Return all combinations of the sampling axes, the greedy run first.

    Args:
        variables: of the template.
        temperature_needed: whether a template without temperatures is refused.
        seed: the run's seed where there are no `random_seeds`; None for none.
        may_be_unseeded: whether `random_seeds = None` is allowed.

    Raises:
        TemplateError: an axis that is missing, or with another value.
    """
    unseeded = 'random_seeds' in variables and variables['random_seeds'] is None
    if unseeded and not may_be_unseeded:
        raise TemplateError(
            'random_seeds is None, but this engine draws every sample from a seed; give whole numbers'
        )
    axes = {
        field: read_axis(name, variables[name], number)
        for name, (field, number) in SAMPLING_AXES.items()
        if name in variables and not (unseeded and name == 'random_seeds')
    }
    if 'max_out_len' not in axes:
        raise TemplateError('max_out_lens is missing: how many tokens may a response have? e.g. [8192]')
    if temperature_needed and 'temperature' not in axes:
        raise TemplateError('temperatures is missing: e.g. [0.3, 1.0]; a greedy run is added')
    if 'random_seeds' not in variables and seed is not None:
        axes['random_seed'] = (seed,)
    return list(_cross(axes, _read_greedy(variables, axes.get('temperature', ()))))


def _read_greedy(variables: Mapping[str, Any], temperatures: Collection[float]) -> bool:
    """Return whether there is a greedy run: wherever a temperature is passed, unless it is turned off."""
    greedy = variables.get('greedy', True)
    if not isinstance(greedy, bool):
        raise TemplateError(f'greedy is {greedy!r}; expected True or False')
    if not greedy and 0 in temperatures:
        raise TemplateError(
            'temperatures has 0.0, which is the greedy run, and greedy = False turns it off: remove one'
        )
    if 'greedy' in variables and greedy and not temperatures:
        raise TemplateError(
            'greedy = True needs temperatures: without them the model is told none; remove the line'
        )
    return greedy and bool(temperatures)


def _cross(axes: dict[str, tuple[Any, ...]], greedy: bool) -> Iterator[Settings]:
    if greedy:
        yield Settings(max(axes['max_out_len']), temperature=0.0)
        axes = {**axes, 'temperature': tuple(t for t in axes['temperature'] if t)}
    for values in product(*axes.values()):
        yield Settings(**dict(zip(axes, values, strict=True)))
