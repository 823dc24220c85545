"""A template of flat assignments → one config for each combination."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from ..errors import InputError, TemplateError
from ..naming.lengths import check_file_name
from ..naming.names import DatasetName, ModelName, RunName, Settings
from .axes import MODEL_LINES, with_lines
from .benchmark import Benchmark, read_benchmarks
from .engines import ENGINES, Engine, model_config
from .exclude import Exclude, Facts, read_exclude
from .llms import OPTIONS, Llm, read_llms, read_option
from .sampling import Sampling, read_sampling, read_settings
from .spelling import unknown

DEFAULT_ENGINE = 'turbomind'
DEFAULT_SUMMARIZER = {'type': 'gpassk_opencompass.GPassKSummarizer'}

PARTS = ('summarizer', 'infer', 'eval')
"""Parts of an OpenCompass config that a template may give as they are."""

VARIABLES = frozenset({'engine', 'llm_infos', 'exclude', *MODEL_LINES, *Benchmark.VARIABLES, *PARTS})
"""What a template may assign, beside the options of its engine."""


@dataclass(frozen=True)
class Run:
    """One config of a sweep, and what it says in short.

    `model` and `benchmark` are their names in the template, `settings` what is passed, `questions` the
    size of the benchmark where it is known.
    """

    file: str
    config: Mapping[str, Any]
    model: str
    path: str
    benchmark: str
    settings: Mapping[str, Any]
    k: tuple[int, ...]
    n: int | None
    questions: int | None = None


def runs(variables: Mapping[str, Any]) -> list[Run]:
    """A run for each model × benchmark × setting × k list × n that `exclude` leaves.

    A temperature of 0 is the greedy run: one a model and benchmark, with n = 1 and the largest
    max_out_len, whatever the other axes say. It is there without a 0 in `temperatures` too, unless
    `greedy = False`. An axis that is not given is not passed to the model; `random_seeds` (42), `k_lists`
    ([4, 8, 16]) and `replications` (3) have defaults. A line that a model of `llm_infos` has for itself
    stands for that model in place of the template's.

    Args:
        variables: of the template, see `VARIABLES` and the `options` of `ENGINES`.

    Raises:
        InputError: a variable or value that is not allowed, or two combinations with one name.
    """
    engine = _read_engine(variables)
    llms = _read_llms(engine, variables)
    exclude = read_exclude(variables.get('exclude', ()))
    parts = _read_parts(variables)
    found: dict[str, Run] = {}
    for llm in llms:
        for run in _runs_of(llm, engine, with_lines(variables, llm.lines), exclude, parts):
            if run.file in found:
                raise TemplateError(f'two combinations would both be written to {run.file}')
            found[run.file] = run
    if not found:
        raise TemplateError('exclude leaves out every combination of the template')
    exclude.warn_of_unused()
    return list(found.values())


def expand(variables: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """File name → config of each run of a template, see `runs`."""
    return {run.file: run.config for run in runs(variables)}


def _runs_of(
    llm: Llm, engine: Engine, variables: Mapping[str, Any], exclude: Exclude, parts: Mapping[str, Any]
) -> Iterator[Run]:
    """Parts that several configs share are one object, which is then written out once."""
    sampling, settings, benchmarks = _read_own(llm, engine, variables)
    models = cache(lambda setting: [model_config(engine, ModelName(llm.name, setting), llm)])
    for benchmark in benchmarks:
        datasets = cache(partial(_datasets, benchmark))
        for setting in settings:
            for k, n in sampling.runs(setting):
                if not exclude.leaves_out(_facts(llm, benchmark, setting, k, n)):
                    name = RunName(ModelName(llm.name, setting), benchmark.name(k, n))
                    model, dataset = models(setting), datasets(name.dataset, setting.max_out_len)
                    yield Run(
                        file=check_file_name(str(name)),
                        config={'models': model, 'datasets': dataset, **parts},
                        model=llm.name,
                        path=model[0]['path'],
                        benchmark=benchmark.label,
                        settings=_passed(setting),
                        k=k,
                        n=n,
                        questions=benchmark.questions,
                    )


def _datasets(benchmark: Benchmark, name: DatasetName, max_out_len: int) -> list[dict[str, Any]]:
    return [benchmark.config(name, max_out_len)]


def _facts(llm: Llm, benchmark: Benchmark, setting: Settings, k: tuple[int, ...], n: int) -> Facts:
    return Facts(
        model=frozenset({llm.name, llm.path, llm.path.rstrip('/').rpartition('/')[2]}),
        benchmark=frozenset({benchmark.key, benchmark.label}),
        values={**_passed(setting), 'k': k, 'n': n},
    )


def _passed(setting: Settings) -> dict[str, float | int]:
    return {name: value for name, value in vars(setting).items() if value is not None}


def _read_own(
    llm: Llm, engine: Engine, variables: Mapping[str, Any]
) -> tuple[Sampling, list[Settings], Sequence[Benchmark]]:
    """What the axes are for one model; an error says which, if it has lines of its own."""
    try:
        return (
            read_sampling(variables),
            read_settings(engine, variables),
            read_benchmarks(variables),
        )
    except InputError as error:
        if not llm.lines:
            raise
        raise TemplateError(f'{llm.path}, with its own {", ".join(llm.lines)}: {error}') from error


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
