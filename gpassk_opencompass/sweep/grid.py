"""A template of flat assignments → one config for each combination."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, partial
from typing import Any

from ..errors import InputError, TemplateError
from ..naming.file_names import check_file_name
from ..naming.manifest import ModelFacts
from ..naming.names import DatasetName, ModelName, RunName, Settings, in_file_name, last_part
from .axes import (
    MODEL_LINES,
    POSITIVE,
    SAMPLING_AXES,
    Number,
    Sampling,
    read_axis,
    read_k_lists,
    read_sampling,
    read_settings,
    read_words,
    unknown,
    with_lines,
)
from .benchmarks import BENCHMARK_LINES, TemplateBenchmark, read_benchmarks
from .engines import DEFAULT_ENGINE, ENGINES, Engine, model_config
from .models import FLAGS, Llm, read_llms, read_option

DEFAULT_SUMMARIZER = {'type': 'gpassk_opencompass.GPassKSummarizer'}

PARTS = ('summarizer', 'infer', 'eval')
"""Parts of an OpenCompass config that a template may give as they are."""

VARIABLES = frozenset({'engine', 'llm_infos', 'exclude', *FLAGS, *MODEL_LINES, *BENCHMARK_LINES, *PARTS})
"""What a template may assign, beside the options of its engine."""


@dataclass(frozen=True)
class Run:
    """One config of a sweep, and what it says in short.

    `model` and `benchmark` are their names in the template, `settings` what is passed, `questions` the
    size of the benchmark where it is known, `facts` what the template says of the model. `limit` is how many
    of the questions are asked (None: all), `samples` is n where `--samples` said it.
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
    facts: ModelFacts = field(default=ModelFacts())
    limit: int | None = None
    samples: int | None = None


def runs(variables: Mapping[str, Any]) -> list[Run]:
    """Return a run for each model × benchmark × setting × k list × n that `exclude` leaves.

    A temperature of 0 is the greedy run: one a model and benchmark, with n = 1 and the largest
    max_out_len, whatever the other axes say. It is there without a 0 in `temperatures` too, unless
    `greedy = False`. An axis that is not given is not passed to the model; `random_seeds` (42), `k_lists`
    ([4, 8, 16]) and `replications` (3) have defaults. A line that a model of `llm_infos` has for itself
    stands for that model in place of the template's.

    Args:
        variables: of the template, see `VARIABLES` and the `options` of its engine.

    Raises:
        InputError: a variable or value that is not allowed, or two combinations with one name.
    """
    engine = _read_engine(variables)
    llms = _read_llms(engine, variables)
    exclude = read_exclude(variables.get('exclude', ()))
    parts = _read_parts(variables)
    found = distinct(
        (
            run
            for llm in llms
            for run in _runs_of(llm, engine, with_lines(variables, llm.lines), exclude, parts)
        ),
        'combinations',
    )
    if not found:
        raise TemplateError('exclude leaves out every combination of the template')
    exclude.warn_of_unused()
    return found


def distinct(found: Iterable[Run], what: str) -> list[Run]:
    """Return the runs; raise TemplateError if two would be written to one file."""
    runs: dict[str, Run] = {}
    for run in found:
        if run.file in runs:
            raise TemplateError(f'two {what} would both be written to {run.file}')
        runs[run.file] = run
    return list(runs.values())


def expand(variables: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return file name → config of each run of a template, see `runs`."""
    return {run.file: run.config for run in runs(variables)}


def _runs_of(
    llm: Llm, engine: Engine, variables: Mapping[str, Any], exclude: Exclude, parts: Mapping[str, Any]
) -> Iterator[Run]:
    """Yield the runs of one model; a part that several share is one object, so it is rendered once."""
    sampling, settings, benchmarks = _read_own(llm, engine, variables)
    models = cache(lambda setting: [model_config(engine, ModelName(llm.name, setting), llm)])
    names = frozenset({llm.name, in_file_name(llm.name), llm.path, last_part(llm.path)})
    for benchmark in benchmarks:
        datasets = cache(partial(_datasets, benchmark))
        words = frozenset({benchmark.key, benchmark.label})
        for setting in settings:
            passed = {name: value for name, value in vars(setting).items() if value is not None}
            for k, n in sampling.runs(setting):
                if not exclude.leaves_out(Facts(names, words, {**passed, 'k': k, 'n': n})):
                    name = RunName(ModelName(llm.name, setting), benchmark.name(k, n))
                    model, dataset = models(setting), datasets(name.dataset, setting.max_out_len)
                    yield Run(
                        file=check_file_name(str(name)),
                        config={'models': model, 'datasets': dataset, **parts},
                        model=llm.name,
                        path=model[0]['path'],
                        benchmark=benchmark.label,
                        settings=passed,
                        k=k,
                        n=n,
                        questions=benchmark.questions,
                        facts=llm.facts,
                    )


def _datasets(benchmark: TemplateBenchmark, name: DatasetName, max_out_len: int) -> list[dict[str, Any]]:
    return [benchmark.config(name, max_out_len)]


def _read_own(
    llm: Llm, engine: Engine, variables: Mapping[str, Any]
) -> tuple[Sampling, list[Settings], Sequence[TemplateBenchmark]]:
    """Return what the axes are for one model; an error says which, if it has lines of its own."""
    try:
        settings = read_settings(
            variables,
            temperature_needed=engine.needs_temperature,
            seed=engine.default_seed,
            may_be_unseeded=engine.may_be_unseeded,
        )
        return read_sampling(variables), settings, read_benchmarks(variables)
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
        if variable not in VARIABLES and variable not in engine.options:
            takers = [
                repr(other)
                for other, found in ENGINES.each()
                if isinstance(found, Engine) and variable in found.options
            ]
            if takers:
                raise TemplateError(
                    f'{variable} is for engine {" or ".join(takers)}; engine {name!r} would ignore it'
                )
            raise unknown('variable', variable, {*VARIABLES, *engine.options})
    return engine


def _read_llms(engine: Engine, variables: Mapping[str, Any]) -> tuple[Llm, ...]:
    if 'llm_infos' not in variables:
        raise TemplateError('llm_infos is missing: a list of dict(path=…, tp=…, batch_size=…)')
    options = engine.options
    shared = {
        name: read_option(options[name], raw, name) for name, raw in variables.items() if name in options
    }
    flags = {name: variables[name] for name in variables if name in FLAGS}
    return read_llms(variables['llm_infos'], options, shared, engine.default_tp, flags)


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


_NUMBERS: dict[str, Number] = {**dict(SAMPLING_AXES.values()), 'n': POSITIVE}
EXCLUDE_FIELDS = frozenset({'model', 'benchmark', 'k', *_NUMBERS})
"""What a rule of `exclude` may speak of."""


@dataclass(frozen=True)
class Facts:
    """What a rule sees of a combination: names that a pattern may fit, and the values of its settings.

    A setting that is not passed has no value here, so no rule on it holds.
    """

    model: frozenset[str]
    benchmark: frozenset[str]
    values: Mapping[str, Any]


Condition = Callable[[Facts], bool]


class Exclude:
    """The rules of a template; it notes which of them left something out."""

    def __init__(self, rules: Iterable[Iterable[Condition]] = ()) -> None:
        self._rules = [tuple(rule) for rule in rules]
        self._used: set[int] = set()

    def leaves_out(self, facts: Facts) -> bool:
        """Return whether all conditions of some rule hold."""
        matching = [i for i, rule in enumerate(self._rules) if all(holds(facts) for holds in rule)]
        self._used.update(matching)
        return bool(matching)

    def warn_of_unused(self) -> None:
        """Warn of each rule that nothing fits: it may be misspelt, or a leftover."""
        from loguru import logger  # half of the time that `gpassk expand --help` would take

        for i in range(len(self._rules)):
            if i not in self._used:
                logger.warning(f'exclude[{i}] fits no combination of the template, so it leaves nothing out')


def read_exclude(raw: Any) -> Exclude:
    """Read `exclude`: `[dict(model='Qwen*', temperature=1.0), dict(top_p=0.8, top_k=0)]`.

    A combination is left out if all conditions of one rule hold. A condition is a value or a list of
    them, any of which fits: `model` (name, path or its last part) and `benchmark` are patterns as of the
    shell, `*` for anything, upper and lower case alike; `k` is a whole k list; the others are numbers.

    Raises:
        TemplateError: no list of dicts, an unknown field, a value that no axis could have, or a rule
            without conditions, which would leave out everything.
    """
    rules = [raw] if isinstance(raw, dict) else raw
    if not isinstance(rules, (list, tuple)):
        raise TemplateError(
            f"exclude is {raw!r}; expected a list like [dict(model='Qwen*', temperature=1.0)]"
        )
    return Exclude(_read_rule(rule, f'exclude[{i}]') for i, rule in enumerate(rules))


def _read_rule(rule: Any, where: str) -> list[Condition]:
    if not isinstance(rule, dict) or not rule:
        raise TemplateError(
            f"{where} is {rule!r}; expected conditions like dict(model='Qwen*', temperature=1.0)"
        )
    for name in rule:
        if name not in EXCLUDE_FIELDS:
            raise unknown(f'field of {where}', name, EXCLUDE_FIELDS)
    return [_read_condition(name, value, f'{where}.{name}') for name, value in rule.items()]


def _read_condition(name: str, raw: Any, where: str) -> Condition:
    if name in ('model', 'benchmark'):
        patterns = [word.lower() for word in read_words(where, raw)]
        return lambda facts: any(
            fnmatchcase(text.lower(), pattern) for text in getattr(facts, name) for pattern in patterns
        )
    if name == 'k':
        wanted = frozenset(read_k_lists(raw, where))
    else:
        wanted = frozenset(read_axis(where, raw, _NUMBERS[name]))
    return lambda facts: facts.values.get(name) in wanted
