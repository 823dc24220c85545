"""What a template may say, and how it is read.

A template is Python with flat assignments. `Template` and `Model` say which settings there are and what each
may be; all mistakes are told at once, before anything is written. Any other name is a helper of the template.
"""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    create_model,
    model_validator,
)

from ..benchmarks import BENCHMARKS, LIVE_MATH_BENCH
from ..errors import InputError, MissingExtraError, TemplateError
from ..judges import judge_config, served_judge
from ..keys import is_literal_key, without_user
from ..serving import read_judge_server
from .engines import DEFAULT_ENGINE, ENGINES, OWN, Count, Engine, Positive, Whole, addresses, with_home
from .folder import LARGEST, NO_LITERAL, literal, plain
from .names import Settings, clean, in_file_name, last_part

DEFAULT_SUMMARIZER = {'type': f'{OWN}GPassKSummarizer'}
PARTS = ('summarizer', 'infer', 'eval')
"""Parts of an OpenCompass config that a template may give as they are."""
ANY_VERSION = LIVE_MATH_BENCH.lower()
"""The benchmark whose rows a template's version, dataset_splits and dataset_languages say."""

_NAMES = [ANY_VERSION, *BENCHMARKS]
_BEGINNINGS = {name.rsplit('-', cuts)[0] for name in _NAMES for cuts in range(name.count('-') + 1)}
_T = TypeVar('_T')

# What a template may say


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]  # a single value is an axis of one


def _nested(value: Any) -> list[Any]:
    items = _listed(value)
    return list(map(_listed, items if any(isinstance(item, list) for item in items) else [items]))


def _distinct(values: list[_T]) -> list[_T]:
    for i, value in enumerate(values):
        if value in values[:i]:
            raise ValueError(f'{value!r} twice would give two runs one name; remove one')
    return values


def _known(name: Any, names: Iterable[str] = _NAMES) -> str:
    if str(name).lower() not in names:
        raise ValueError(_unknown('benchmark', name, names))
    return str(name).lower()


def _benchmark(value: Any) -> Any:
    return OwnBenchmark.model_validate(value) if isinstance(value, dict) else _known(value)


Axis = Annotated[list[_T], BeforeValidator(_listed), Field(min_length=1), AfterValidator(_distinct)]
KLists = Annotated[
    list[Annotated[list[Count], Field(min_length=1), AfterValidator(_distinct), AfterValidator(sorted)]],
    BeforeValidator(_nested),
    AfterValidator(_distinct),
]
Word = Annotated[str, Field(min_length=1)]
Part = Annotated[str, Field(pattern='^[A-Za-z0-9]+$')]
Share = Annotated[float, Field(ge=0, le=1)]
Temperature = Annotated[float, Field(ge=0), AfterValidator(lambda value: value + 0.0)]  # no negative zero
TopP = Annotated[float, Field(gt=0, le=1)]
ByBenchmark = Annotated[
    dict[Annotated[str, AfterValidator(lambda name: _known(name, _BEGINNINGS))], Word],
    BeforeValidator(lambda value: value if isinstance(value, dict) else {ANY_VERSION: value}),
]
"""Benchmark, or the beginning of its name up to a `-` → its folder, file, hub name or revision."""
Urls = Annotated[
    list[str],
    BeforeValidator(lambda urls: _listed(urls or [])),
    AfterValidator(addresses),
    AfterValidator(_distinct),
]
ModelPath = Annotated[Word, Field(pattern='[^./ ]')]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra='forbid', allow_inf_nan=False)


class OwnBenchmark(_Strict):
    """A benchmark of the template's own: a JSON Lines file or hub data set, and two of its fields."""

    name: Annotated[str, Field(pattern=r'^[A-Za-z0-9][A-Za-z0-9_+-]{0,63}$')]
    path: Word
    question: Word = 'question'
    answer: Word = 'answer'
    revision: Word | None = None

    @model_validator(mode='after')
    def _has_a_name_of_its_own(self) -> OwnBenchmark:
        if self.name.lower() in BENCHMARKS or self.name.lower().startswith(ANY_VERSION):
            raise ValueError(f'one of your own is called {self.name!r}: give it another name')
        return self


class Model(_Strict):
    """A model of `llm_infos`, with the template's lines where it has none of its own."""

    path: ModelPath
    name: ModelPath | None = None
    tp: Whole | None = None
    batch_size: Count = 64

    temperatures: Axis[Temperature] | None = None
    top_ps: Axis[TopP] | None = None
    top_ks: Axis[Whole] | None = None
    repetition_penalties: Axis[Positive] | None = None
    random_seeds: Axis[Whole] | None = None
    max_out_lens: Axis[Count] | None = None
    greedy: bool = True
    k_lists: KLists = [[4, 8, 16]]
    replications: Axis[Count] = [3]
    n: Axis[Count] | None = None
    benchmarks: Axis[Annotated[Any, BeforeValidator(_benchmark)]] = [ANY_VERSION]
    version: Axis[Word] = ['202412']

    @property
    def label(self) -> str:
        """What it is called in names."""
        return clean(self.name or last_part(self.path))

    @model_validator(mode='after')
    def _can_be(self, info: ValidationInfo) -> Model:
        engine, trial = info.context or (ENGINES[DEFAULT_ENGINE], False)
        given, temperatures, wrong = self.model_fields_set, self.temperatures or [], []
        if {'n', 'replications'} <= given:
            wrong.append('both n and replications are given; n = replication × max(k): give one of them')
        if 'random_seeds' in given and self.random_seeds is None and not engine.unseeded:
            wrong.append('random_seeds is None, but this engine draws each sample from a seed; give numbers')
        if self.max_out_lens is None:
            wrong.append('max_out_lens is missing: how many tokens may a response have? e.g. [8192]')
        if not (engine.api or temperatures):
            wrong.append('temperatures is missing: e.g. [0.3, 1.0]; a greedy run is added')
        if not self.greedy and 0 in temperatures:
            wrong.append('temperatures has 0.0, the greedy run, and greedy = False turns it off: remove one')
        if 'greedy' in given and self.greedy and engine.api and not temperatures:
            wrong.append('greedy = True needs temperatures: without them the model is told none')
        largest, least = max(map(max, self.k_lists)), min(self.n or [LARGEST])
        if not trial and 'k_lists' in given and largest > least:
            wrong.append(f'k_lists has k = {largest}, but n = {least}: n samples have no more')
        if wrong:
            raise ValueError('\n'.join(wrong))
        return self

    def settings(self, seed: int | None) -> Iterator[Settings]:
        """Yield all combinations of the sampling axes, the greedy run first."""
        axes = {field: values for line, field in _AXES.items() if (values := getattr(self, line)) is not None}
        if 'random_seeds' not in self.model_fields_set and seed is not None:
            axes['random_seed'] = [seed]
        if self.greedy and self.temperatures:
            yield Settings(max(axes['max_out_len']), temperature=0.0)
            axes['temperature'] = [value for value in self.temperatures if value]
        for values in product(*axes.values()):
            yield Settings(**dict(zip(axes, values, strict=True)))

    def sizes(self, notes: list[str]) -> list[tuple[tuple[int, ...], int]]:
        """Return (k list, n) of each sampled run: n = replication × max(k), or these n.

        A k above n is left out of a trial, and where the template has no `k_lists`.
        """
        if not self.n:
            return [(tuple(ks), each * max(ks)) for ks in self.k_lists for each in self.replications]
        found = []
        for ks, n in product(self.k_lists, self.n):
            left = tuple(k for k in ks if k <= n) or (n,)
            if above := [k for k in ks if k > n]:
                instead = '' if left[0] in ks else f', k = {n} in its place'
                notes.append(f'k = {", ".join(map(str, above))} left out, above n = {n}{instead}')
            found.append((left, n))
        return list(dict.fromkeys(found))


class Rule(_Strict):
    """Conditions of `exclude`: a combination is left out if all of one rule hold.

    A condition is a value or a list of them, any of which fits: `model` (name, path or its last part) and
    `benchmark` are patterns as of the shell, upper and lower case alike; `k` is a whole k list.
    """

    model: Axis[Word] | None = None
    benchmark: Axis[Word] | None = None
    temperature: Axis[Temperature] | None = None
    top_p: Axis[TopP] | None = None
    top_k: Axis[Whole] | None = None
    repetition_penalty: Axis[Positive] | None = None
    random_seed: Axis[Whole] | None = None
    max_out_len: Axis[Count] | None = None
    k: KLists | None = None
    n: Axis[Count] | None = None

    @model_validator(mode='after')
    def _is_a_rule(self) -> Rule:
        if not self.model_fields_set:
            raise ValueError("expected conditions like dict(model='Qwen*', temperature=1.0)")
        return self

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Return whether all conditions hold of a combination; none on a setting that is not passed does."""

        def fits(value: Any, wanted: list[Any]) -> bool:
            if isinstance(value, set):
                return any(fnmatchcase(text.lower(), one.lower()) for text, one in product(value, wanted))
            return value in wanted

        return all(fits(values.get(name), getattr(self, name)) for name in self.model_fields_set)


def _named_apart(models: list[Model]) -> list[Model]:
    names = [in_file_name(model.label) for model in models]
    for i, name in enumerate(names):
        if (first := names.index(name)) < i:
            raise ValueError(
                f'llm_infos[{first}] and llm_infos[{i}] are both called {name!r} in file names, so one would '
                "overwrite the runs of the other; give it another: name='…'"
            )
    return models


class Template(_Strict):
    """The settings of a template that all its models share, and its models, see `_template_for`."""

    engine: str = DEFAULT_ENGINE
    llm_infos: Annotated[list[Model], Field(min_length=1), AfterValidator(_named_apart)]
    exclude: Annotated[list[Rule], BeforeValidator(_listed)] = []
    limit: Count | None = None
    dataset_path: ByBenchmark = {}
    dataset_revision: ByBenchmark = {}
    dataset_splits: Axis[Part] | None = None
    dataset_languages: Axis[Part] | None = None
    cot: bool = True
    eval_urls: Urls = []
    eval_model_name: str = ''
    thresholds: Axis[Share] | None = None
    judge: dict[str, Any] | None = None
    judge_serve: Any = None
    unjudged_tolerance: Share | None = None
    most_failed: Share | None = None
    summarizer: dict[Any, Any] = DEFAULT_SUMMARIZER
    infer: dict[Any, Any] | None = None
    eval: dict[Any, Any] | None = None


_LINES = frozenset(Model.model_fields) - {'path', 'name', 'tp', 'batch_size'}
"""Lines of a template that a model may have for itself, beside options of its engine."""

SETTINGS = _LINES.union(['not_keys'], Template.model_fields, *(one.options for one in ENGINES.values()))
"""What a template may assign, with the options of all engines."""

_AXES = {
    'temperatures': 'temperature',
    'top_ps': 'top_p',
    'top_ks': 'top_k',
    'repetition_penalties': 'repetition_penalty',
    'random_seeds': 'random_seed',
    'max_out_lens': 'max_out_len',
}
"""Template line: the field of `Settings` that it varies."""

_TOLD = {
    'too_short': 'it is empty; give it at least one value, or remove the line',
    'string_pattern_mismatch': 'expected text, e.g. Qwen/Qwen2.5-7B-Instruct; names have letters and digits',
}
_MEANT = {'k': 'k_lists', 'ks': 'k_lists'}
"""Names that are no helper, and are not close to the setting that is meant."""


@cache
def _template_for(engine: str) -> type[Template]:
    """Return what reads a template of an engine, whose options its models have."""
    options: dict[str, Any] = {name: (kind | None, None) for name, kind in ENGINES[engine].options.items()}
    models: Any = list[create_model('Model', __base__=Model, **options)]  # type: ignore[misc]
    models = Annotated[models, Field(min_length=1), AfterValidator(_named_apart)]
    return create_model('Template', __base__=Template, llm_infos=(models, ...))


# Mistakes


def _unknown(what: str, name: object, allowed: Iterable[str]) -> str:
    names = sorted(allowed)
    longer = sorted((other for other in names if other.startswith(str(name))), key=len)
    near = next(iter(longer or get_close_matches(str(name), names, n=1)), None)
    question = f': did you mean {near!r}?' if near else ';'
    return f'unknown {what} {name!r}{question} Allowed: {", ".join(names)}'


def _told(error: ValidationError, entries: Sequence[Any], engine: Engine) -> Iterator[str]:
    """Yield of each mistake where it is, what came and what may be; `entries`: the models as given."""
    fields = {'exclude': [*Rule.model_fields], 'benchmarks': [*OwnBenchmark.model_fields]}
    for found in error.errors(include_url=False):
        loc, kind, said = found['loc'], found['type'], found['msg'].removeprefix('Value error, ')
        entry = entries[int(loc[1])] if loc[0] == 'llm_infos' and loc[1:] else None
        if entry is not None and loc[2:] and loc[2] not in entry and kind != 'missing':
            loc = loc[2:]  # a line of the template, told of each of its models
        where = ''.join(f'[{part}]' if isinstance(part, int) else f'.{part}' for part in loc).lstrip('.')
        above, _, name = where.rpartition('.')
        if kind == 'missing':
            yield f'{where} is missing'
        elif kind == 'extra_forbidden':
            allowed = fields.get(str(loc[-3]) if loc[2:] else '', [*Model.model_fields, *engine.options])
            yield _unknown(f'key of {above}', name, allowed)
        elif entry is not None and len(found['loc']) == 2 and kind == 'value_error':
            lines = ', '.join(name for name in Model.model_fields if name in entry and name in _LINES)
            title = f'{entry["path"]}, with its own {lines}: ' if lines else ''
            yield from (f'{title}{line}' for line in said.splitlines())
        elif name in ('key', 'key_env'):  # what stands there may be the key itself
            yield (
                f"{where}: expected key='ENV' (that in $OPENAI_API_KEY), key='EMPTY' (a server without one), "
                "or the name of another environment variable, key_env='MY_API_KEY'"
            )
        else:
            said = _TOLD.get(kind) or said.replace('Input should', 'it should')
            yield f'{where} is {without_user(repr(found["input"]))[:200]}: {said}'


def raise_mistakes(mistakes: Iterable[str]) -> None:
    """Raise one TemplateError for all mistakes, if there are some."""
    lines = list(dict.fromkeys(mistakes))
    if lines:
        head = f'{len(lines)} mistakes\n  ' if len(lines) > 1 else ''
        raise TemplateError(head + '\n  '.join(lines))


def plain_settings(variables: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return those of a template's variables in literals alone.

    TemplateError for all that cannot be written, and for all literal keys, which would land in every config,
    log and work directory; no message repeats one.
    """
    allowed = variables.get('not_keys', ())
    if not isinstance(allowed, (list, tuple)):  # before anything else: it says what may be written
        raise TemplateError('not_keys must be a list of the values that are no keys')
    settings, mistakes = {}, []
    for name in sorted(variables.keys() & set(names)):
        try:
            settings[name] = plain(variables[name], name)
        except TemplateError as error:
            mistakes.append(str(error))
        except RecursionError:
            mistakes.append(f'{name} holds itself, or is nested too deep')
    for where, text in [leaf for name, value in settings.items() for leaf in _leaves(value, name)]:
        if text not in allowed and is_literal_key(re.sub(r'\[\d+\]$', '', where).rpartition('.')[2], text):
            advice = "write key_env='MY_API_KEY', or key='ENV' (the default, for OPENAI_API_KEY)"
            if re.search(r'^eval_(?:urls|model_name)|(?:^|\.)judge(?:\.|$)', where):
                advice = "give the judge api_key_env='JUDGE_KEY', the name of an environment variable"
            mistakes.append(
                f'{where} looks like a literal API key; keys come from the environment: {advice}, and export '
                'the key in it before running opencompass. If it is none, repeat it in not_keys = […]'
            )
    raise_mistakes(mistakes)
    return settings


def _leaves(value: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield f'the name of an entry of {where}', str(key)
            yield from _leaves(item, f'{where}.{key}')
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _leaves(item, f'{where}[{i}]')
    else:
        yield where, value if isinstance(value, str) else ''


# Reading


def read_template(path: Path) -> dict[str, Any]:
    """Run the template and return its variables in lower case: settings, and helpers but for functions.

    A template with mmengine's `read_base` is loaded by mmengine.
    """
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except OSError as error:
        raise TemplateError(f'cannot read the template: {error.strerror}') from error
    except NO_LITERAL as error:
        raise TemplateError(f'the template is not valid Python: {error}') from error
    by_mmengine = any(isinstance(node, ast.Name) and node.id == 'read_base' for node in ast.walk(tree))
    if by_mmengine and find_spec('mmengine') is None:
        raise MissingExtraError('mmengine', 'opencompass')
    try:
        if by_mmengine:
            from mmengine.config import Config

            names = Config.fromfile(str(path)).to_dict()
        else:
            names = runpy.run_path(str(path))
    except (Exception, SystemExit) as error:
        raise TemplateError(f'running the template failed: {type(error).__name__}: {error}') from error
    return {
        name: value
        for name, value in names.items()
        if name in SETTINGS
        or (
            name == name.lower() and name[0] != '_' and not (callable(value) or isinstance(value, ModuleType))
        )
    }


def read_overrides(texts: Iterable[str]) -> dict[str, Any]:
    """Return setting → value of each `NAME=VALUE`, whose value is what a template has behind the `=`.

    That is a literal, or `dict(…)` of such. Words that are none are text: `engine=vllm`.
    """
    lines: dict[str, Any] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition('='))
        if not equals or not value:
            raise TemplateError(f'--override {text!r}: expected NAME=VALUE, e.g. temperatures=[0.3,0.7]')
        if name not in SETTINGS:
            raise TemplateError(_unknown('setting of --override', name, SETTINGS))
        if name in lines:
            raise TemplateError(f'--override gives {name} twice; give it once, a list is an axis')
        try:
            lines[name] = literal(ast.parse(value, mode='eval'))
        except NO_LITERAL as error:
            if value[0] in '[({\'"' or value.startswith('dict('):
                said = f'--override {name}={value}: the value cannot be read as Python: {error}'
                raise TemplateError(said) from error
            lines[name] = value
        if name in ('dataset_path', 'eval_model_name', 'version') and isinstance(lines[name], (int, float)):
            lines[name] = value  # that needs no quotes
    return lines


def read_settings(
    variables: Mapping[str, Any], n: int | None, notes: list[str]
) -> tuple[Template, dict[str, Any]]:
    """Return what the variables of a template say, and the arguments of its `GPassKEvaluator`."""
    mistakes: list[str] = []
    settings = _settings_in(variables, mistakes, notes)
    name = settings.get('engine', DEFAULT_ENGINE)
    own = {name: settings.pop(name) for name in Template.model_fields if name in settings}
    if not (entries := [_entry(one) for one in _listed(own.get('llm_infos', []))]):
        mistakes.append("llm_infos is missing, or empty: which models? e.g. ['Qwen/Qwen2.5-7B-Instruct']")
        entries = [{'path': 'none'}]  # to tell what is wrong with the other lines
    own['llm_infos'] = [_joined(settings, one, n) if isinstance(one, dict) else one for one in entries]
    engine = ENGINES[name]
    try:
        template = _template_for(name).model_validate(own, context=(engine, n is not None))
        evaluator = _evaluator(template, notes)
    except ValidationError as error:
        mistakes += _told(error, entries, engine)
    except InputError as error:
        mistakes.append(str(error))
    raise_mistakes(mistakes)
    return template, evaluator


def _settings_in(variables: Mapping[str, Any], mistakes: list[str], notes: list[str]) -> dict[str, Any]:
    """Return those of a template's variables that are settings of its engine."""
    settings = plain_settings(variables, SETTINGS - {'not_keys'})
    helpers = []
    for name in sorted(variables.keys() - SETTINGS):
        if near := _MEANT.get(name) or ''.join(get_close_matches(name, sorted(SETTINGS), 1, 0.8)):
            mistakes.append(f'unknown setting {name!r}: did you mean {near!r}? Else give it another name')
        else:
            helpers.append(name)
    if helpers:
        notes.append(f'not taken for settings: {", ".join(helpers)}')
    engine = settings.get('engine', DEFAULT_ENGINE)
    if not isinstance(engine, str) or engine not in ENGINES:
        raise_mistakes([*mistakes, _unknown('engine', engine, ENGINES)])
    options = ENGINES[engine].options.keys()
    for name in sorted(settings.keys() - _LINES - Template.model_fields.keys() - options):
        takers = ' or '.join(repr(other) for other in ENGINES if name in ENGINES[other].options)
        mistakes.append(f'{name} is for engine {takers}; engine {engine!r} would ignore it')
        del settings[name]
    return settings


def _entry(entry: Any) -> Any:
    if isinstance(entry, str):
        return {'path': entry}
    whole = isinstance(entry, list) and len(entry) == 3
    return dict(zip(('path', 'tp', 'batch_size'), entry, strict=True)) if whole else entry


def _joined(shared: Mapping[str, Any], own: Mapping[str, Any], n: int | None) -> dict[str, Any]:
    """Return a model's own lines, and the template's where it has none; dicts of options are joined."""
    sizes = {'n', 'replications'}  # they are one
    left_out = sizes if n is not None or sizes & own.keys() else set()
    values = {key: value for key, value in shared.items() if key not in left_out}
    for key, value in own.items():
        both = isinstance(value, dict) and isinstance(values.get(key), dict)
        values[key] = {**values[key], **value} if both else value
    return values if n is None else {key: values[key] for key in values.keys() - sizes} | {'n': [n]}


def _evaluator(template: Template, notes: list[str]) -> dict[str, Any]:
    """Return the arguments of `GPassKEvaluator`, checked as far as that shows without servers and keys."""
    name, urls, own = template.eval_model_name, template.eval_urls, template.judge
    if name and not urls and own is None and template.judge_serve is None:
        notes.append(f'eval_model_name is {name!r} and eval_urls is empty: answers are judged by rule')
        name = ''
    given = template.model_dump(include={'thresholds', 'unjudged_tolerance', 'judge'}, exclude_none=True)
    arguments = {'model_name': name, 'url': urls, **given}
    if template.judge_serve is None:
        judge_config(name, urls, own)
        return arguments
    if name or urls:
        raise TemplateError('both judge_serve and eval_model_name or eval_urls are given: give one of them')
    server = read_judge_server(template.judge_serve)
    server = replace(server, path=with_home(server.path))
    judge = own or {'type': 'llm'}
    served_judge(judge, server.name, 'http://127.0.0.1', server.settings())
    return {**arguments, 'judge': served_judge(judge, server.name, '', {}), 'judge_serve': server.config()}
