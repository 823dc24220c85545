"""A template of flat assignments → one config for each combination."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from ..errors import TemplateError
from .axes import POSITIVE, SAMPLING_AXES, read_axis, read_k_lists
from .benchmark import Benchmark, read_benchmark
from .engines import ENGINES, Engine, model_config
from .llms import OPTIONS, Llm, read_llms, read_option
from .names import ModelName, RunName, Settings, check_file_name
from .spelling import unknown

DEFAULT_ENGINE = 'turbomind'
DEFAULT_RANDOM_SEED = 42
DEFAULT_K_LISTS = ((4, 8, 16),)
DEFAULT_REPLICATIONS = (3,)
DEFAULT_SUMMARIZER = {'type': 'gpassk_opencompass.GPassKSummarizer'}

PARTS = ('summarizer', 'infer', 'eval')
"""Parts of an OpenCompass config that a template may give as they are."""

VARIABLES = frozenset(
    {'engine', 'llm_infos', *SAMPLING_AXES, 'k_lists', 'replications', 'n', *Benchmark.VARIABLES, *PARTS}
)
"""What a template may assign, beside the options of its engine."""


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


def expand(variables: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """File name → config, for each model × version × setting × k list × n.

    A temperature of 0 gives one greedy run a model and version, with n = 1 and the largest max_out_len,
    whatever the other axes say. An axis that is not given is not passed to the model; `random_seeds`
    (42), `k_lists` ([4, 8, 16]) and `replications` (3) have defaults.

    Args:
        variables: of the template, see `VARIABLES` and the `options` of `ENGINES`.

    Raises:
        InputError: a variable or value that is not allowed, or two combinations with one name.
    """
    engine = _read_engine(variables)
    llms = _read_llms(engine, variables)
    settings = _read_settings(engine, variables)
    sampling = _read_sampling(variables)
    benchmark = read_benchmark(variables)
    parts = _read_parts(variables)
    configs: dict[str, dict[str, Any]] = {}
    for llm, version, setting in product(llms, benchmark.versions, settings):
        model = ModelName(llm.name, setting)
        for ks, n in sampling.runs(setting):
            name = RunName(model, benchmark.name(version, ks, n))
            file_name = check_file_name(str(name))
            if file_name in configs:
                raise TemplateError(f'two combinations would both be written to {file_name}')
            configs[file_name] = {
                'models': [model_config(engine, model, llm)],
                'datasets': [benchmark.config(name.dataset, setting.max_out_len)],
                **parts,
            }
    return configs


def _read_engine(variables: Mapping[str, Any]) -> Engine:
    name = variables.get('engine', DEFAULT_ENGINE)
    if not isinstance(name, str) or name not in ENGINES:
        raise unknown('engine', name, ENGINES)
    engine = ENGINES[name]
    for variable in variables:
        if variable in OPTIONS and variable not in engine.options:
            takers = ' or '.join(repr(other) for other, e in ENGINES.items() if variable in e.options)
            raise TemplateError(f'{variable} is for engine {takers}; engine {name!r} would ignore it')
        if variable not in VARIABLES | engine.options:
            raise unknown('variable', variable, VARIABLES | engine.options)
    return engine


def _read_llms(engine: Engine, variables: Mapping[str, Any]) -> tuple[Llm, ...]:
    if 'llm_infos' not in variables:
        raise TemplateError('llm_infos is missing: a list of dict(path=…, tp=…, batch_size=…)')
    shared = {name: read_option(name, raw, name) for name, raw in variables.items() if name in engine.options}
    return read_llms(variables['llm_infos'], engine.options, shared, engine.default_tp)


def _read_settings(engine: Engine, variables: Mapping[str, Any]) -> list[Settings]:
    axes = {}
    for name, (field, number) in SAMPLING_AXES.items():
        if name in variables and field not in engine.axes:
            raise TemplateError(f'{name}: this engine would not pass it on to the model; remove the line')
        if name in variables:
            axes[field] = read_axis(name, variables[name], number)
    if 'max_out_len' not in axes:
        raise TemplateError('max_out_lens is missing: how many tokens may a response have? e.g. [8192]')
    if engine.needs_temperature and 'temperature' not in axes:
        raise TemplateError('temperatures is missing: e.g. [0.0, 1.0]; 0 is one greedy answer a question')
    if 'random_seed' in engine.axes:
        axes.setdefault('random_seed', (DEFAULT_RANDOM_SEED,))
    return list(_cross(axes))


def _cross(axes: dict[str, tuple[Any, ...]]) -> Iterator[Settings]:
    if 0 in axes.get('temperature', ()):
        yield Settings(max(axes['max_out_len']), temperature=0.0)
        axes = {**axes, 'temperature': tuple(t for t in axes['temperature'] if t)}
    for values in product(*axes.values()):
        yield Settings(**dict(zip(axes, values, strict=True)))


def _read_sampling(variables: Mapping[str, Any]) -> Sampling:
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


def _read_parts(variables: Mapping[str, Any]) -> dict[str, Any]:
    parts = {'summarizer': DEFAULT_SUMMARIZER}
    for name in PARTS:
        if name in variables:
            if not isinstance(variables[name], dict):
                raise TemplateError(
                    f"{name} is {variables[name]!r}; expected a dict as in OpenCompass's configs"
                )
            parts[name] = variables[name]
    return parts
