"""How a model is sampled: its settings, its k lists, and how many answers a question gets."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from ..errors import TemplateError
from ..naming.names import Settings
from .axes import POSITIVE, SAMPLING_AXES, read_axis, read_k_lists
from .engine import Engine

DEFAULT_K_LISTS = ((4, 8, 16),)
DEFAULT_REPLICATIONS = (3,)


@dataclass(frozen=True)
class Sampling:
    """How many answers a question gets: n = replication × max(k) for every k list, or these n."""

    k_lists: tuple[tuple[int, ...], ...]
    replications: tuple[int, ...]
    ns: tuple[int, ...]

    def runs(self, settings: Settings) -> Iterator[tuple[tuple[int, ...], int]]:
        """(k list, n) of each run; a greedy run has one answer a question."""
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
    if {'n', 'replications'} <= set(variables):
        raise TemplateError('both n and replications are given; n = replication × max(k): give one of them')
    k_lists = read_k_lists(variables['k_lists']) if 'k_lists' in variables else DEFAULT_K_LISTS
    ns = read_axis('n', variables['n'], POSITIVE) if 'n' in variables else ()
    largest = max(map(max, k_lists))
    if ns and largest > min(ns):
        raise TemplateError(
            f'k_lists has k = {largest}, but n = {min(ns)}: at most n of n samples can be drawn'
        )
    replications = (
        read_axis('replications', variables['replications'], POSITIVE)
        if 'replications' in variables
        else DEFAULT_REPLICATIONS
    )
    return Sampling(k_lists, replications, ns)


def read_settings(engine: Engine, variables: Mapping[str, Any]) -> list[Settings]:
    """All combinations of the sampling axes, the greedy run first.

    Raises:
        TemplateError: an axis that is missing, or with another value.
    """
    axes = {}
    for name, (field, number) in SAMPLING_AXES.items():
        if name in variables and not (field == 'random_seed' and _unseeded(engine, variables[name])):
            axes[field] = read_axis(name, variables[name], number)
    if 'max_out_len' not in axes:
        raise TemplateError('max_out_lens is missing: how many tokens may a response have? e.g. [8192]')
    if engine.needs_temperature and 'temperature' not in axes:
        raise TemplateError('temperatures is missing: e.g. [0.3, 1.0]; a greedy run is added')
    if 'random_seeds' not in variables and engine.default_seed is not None:
        axes['random_seed'] = (engine.default_seed,)
    return list(_cross(axes, _read_greedy(variables, axes.get('temperature', ()))))


def _unseeded(engine: Engine, seeds: Any) -> bool:
    """Whether a template asks for samples without seeds: `random_seeds = None`."""
    if seeds is None and not engine.may_be_unseeded:
        raise TemplateError(
            'random_seeds is None, but this engine draws every sample from a seed; give whole numbers'
        )
    return seeds is None


def _read_greedy(variables: Mapping[str, Any], temperatures: Collection[float]) -> bool:
    """Whether there is a greedy run: wherever a temperature is passed, unless it is turned off."""
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
