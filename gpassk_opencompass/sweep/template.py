"""A template expanded: one OpenCompass config a model × sampling setting × benchmark × k list × n.

A template is Python with flat assignments. `Template` says which settings there are and what each may be; all
mistakes are told at once, before anything is written. Any other name is a helper of the template's own.
"""

from __future__ import annotations

import ast
import os
import re
import runpy
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
    model_validator,
)

from ..benchmarks import (
    BENCHMARKS,
    LIVE_MATH_BENCH,
    LIVE_MATH_BENCH_HUB,
    LiveMathBenchRows,
    live_math_bench_questions,
)
from ..errors import InputError, MissingExtraError, TemplateError
from ..judges.build import judge_config, served_judge, with_server
from ..keys import is_literal_key
from ..serving import read_judge_server
from .engines import DEFAULT_ENGINE, ENGINES, Count, Engine, Llm, Positive, Whole, with_home
from .folder import LARGEST, NO_LITERAL, ModelFacts, Run, literal, plain
from .names import (
    DatasetName,
    LiveMathBenchName,
    ModelName,
    RunName,
    Settings,
    check_file_name,
    clean,
    in_file_name,
    last_part,
)
from .older import DEFAULT_SUMMARIZER, PARTS, older_runs

ANY_VERSION = LIVE_MATH_BENCH.lower()
"""The benchmark whose rows a template's version, dataset_splits and dataset_languages say."""

OWN = f'{__name__.partition(".")[0]}.'

_T = TypeVar('_T')


# What a template may say


def _listed(value: Any) -> list[Any]:
    """Return the values of an axis; a single one is an axis of one, and numbers of numpy are Python's."""
    items = list(value) if isinstance(value, (list, tuple, range)) else [value]
    return [item.item() if hasattr(item, 'item') else item for item in items]


def _nested(value: Any) -> list[Any]:
    items = _listed(value)
    return list(map(_listed, items if any(isinstance(item, (list, tuple)) for item in items) else [items]))


def _distinct(values: list[_T]) -> list[_T]:
    for i, value in enumerate(values):
        if value in values[:i]:
            raise ValueError(f'{value!r} twice would give two runs one name; remove one')
    return values


def _text_of_path(value: Any) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _benchmark(value: Any) -> Any:
    if isinstance(value, dict):
        return OwnBenchmark.model_validate(value)
    if not isinstance(value, str):
        raise ValueError("expected a name, or dict(name='Mine', path='mine.jsonl') of your own")
    if value.lower() not in {ANY_VERSION, *BENCHMARKS}:
        raise ValueError(_unknown('benchmark', value, [ANY_VERSION, *BENCHMARKS]))
    return value.lower()


def _by_benchmark(value: Any) -> dict[str, str]:
    """Return benchmark, or the beginning of its name up to a `-` → its folder, file, hub name or revision."""
    value = _text_of_path(value)
    given = {ANY_VERSION: value} if isinstance(value, str) else value
    if not isinstance(given, dict):
        raise ValueError(f"expected text such as '{LIVE_MATH_BENCH_HUB}', or a dict of it by benchmark")
    names = [ANY_VERSION, *BENCHMARKS]
    known = {name.rsplit('-', cuts)[0] for name in names for cuts in range(name.count('-') + 1)}
    found = {}
    for key, item in given.items():
        if not isinstance(key, str) or key.lower() not in known:
            raise ValueError(_unknown('benchmark', key, known))
        found[key.lower()] = _text_of_path(item)
        if not isinstance(found[key.lower()], str) or not item:
            raise ValueError(f'{key!r} has {item!r}; expected text that is not empty')
    return found


def _urls(value: Any) -> list[str]:
    urls = [] if value is None or value in ('', [], ()) else _listed(value)
    for url in urls:
        if not isinstance(url, str) or not url.startswith(('http://', 'https://')):
            raise ValueError(f'it has {url!r}; expected http://… or https://…')
    return _distinct(urls)


def _one_or_more(value: Any) -> Any:
    return list(value) if isinstance(value, (list, tuple)) else [value]


Axis = Annotated[list[_T], BeforeValidator(_listed), Field(min_length=1), AfterValidator(_distinct)]
KLists = Annotated[
    list[Annotated[list[Count], Field(min_length=1), AfterValidator(_distinct), AfterValidator(sorted)]],
    BeforeValidator(_nested),
    AfterValidator(_distinct),
]
Word = Annotated[str, Field(min_length=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Temperature = Annotated[float, Field(ge=0), AfterValidator(lambda value: value + 0.0)]  # no negative zero
TopP = Annotated[float, Field(gt=0, le=1)]
ByBenchmark = Annotated[dict[str, str], BeforeValidator(_by_benchmark)]
ModelPath = Annotated[str, BeforeValidator(_text_of_path), Field(pattern=r'[^./ ]')]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra='forbid', allow_inf_nan=False)


class OwnBenchmark(_Strict):
    """A benchmark of the template's own: a JSON Lines file or hub data set, and two of its fields."""

    name: Annotated[str, Field(pattern=r'^[A-Za-z0-9][A-Za-z0-9_+-]{0,63}$')]
    path: Annotated[Word, BeforeValidator(_text_of_path)]
    question: Word = 'question'
    answer: Word = 'answer'
    revision: Word | None = None


class Facts(_Strict):
    """What a leaderboard says of a model, in a template of all its models."""

    open_source: bool | None = None
    mathematical: bool | None = None
    o1_like: bool | None = None


class Lines(_Strict):
    """Lines of a template that a model of `llm_infos` may have for itself."""

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


class Model(Facts, Lines):
    """An entry of `llm_infos`; the options of its engine are added."""

    path: ModelPath
    name: ModelPath | None = None
    tp: Whole | None = None
    batch_size: Count = 64
    parameters: Annotated[str, Field(pattern=r'^[0-9]+(\.[0-9]+)?[MBT]$')] | None = None
    link: Annotated[str, Field(pattern=r'^https?://[^\s/]\S*$')] | None = None

    @property
    def label(self) -> str:
        """What it is called in names."""
        return clean(self.name or last_part(self.path))

    @model_validator(mode='before')
    @classmethod
    def _read(cls, value: Any) -> Any:
        if isinstance(value, (str, os.PathLike)):
            return {'path': value}
        if isinstance(value, (list, tuple)) and len(value) == 3:
            return dict(zip(('path', 'tp', 'batch_size'), value, strict=True))
        if not isinstance(value, dict):
            raise ValueError('expected dict(path=…, tp=…, batch_size=…) or (path, tp, batch_size)')
        return value


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

    def holds(self, words: Mapping[str, Collection[str]], values: Mapping[str, Any]) -> bool:
        """Return whether all conditions hold of a combination; none on a setting that is not passed does."""
        for name in self.model_fields_set:
            wanted = getattr(self, name)
            if name in words:
                pairs = product(words[name], wanted)
                if not any(fnmatchcase(text.lower(), pattern.lower()) for text, pattern in pairs):
                    return False
            elif values.get(name) not in wanted:
                return False
        return True


class Template(Facts, Lines):
    """The settings of a template; the options of its engine are added."""

    engine: str = DEFAULT_ENGINE
    llm_infos: Annotated[list[Model], BeforeValidator(_one_or_more), Field(min_length=1)]
    exclude: Annotated[list[Rule], BeforeValidator(_one_or_more)] = []
    limit: Count | None = None
    dataset_path: ByBenchmark = {}
    dataset_revision: ByBenchmark = {}
    dataset_splits: Axis[Word] | None = None
    dataset_languages: Axis[Word] | None = None
    cot: bool = True
    eval_urls: Annotated[list[str], BeforeValidator(_urls)] = []
    eval_model_name: str = ''
    thresholds: Axis[Share] | None = None
    judge: dict[str, Any] | None = None
    judge_serve: Any = None
    unjudged_tolerance: Share | None = None
    most_failed: Share | None = None
    summarizer: dict[Any, Any] = DEFAULT_SUMMARIZER
    infer: dict[Any, Any] | None = None
    eval: dict[Any, Any] | None = None
    not_keys: list[str] = []

    @model_validator(mode='after')
    def _has_a_name_a_model(self) -> Template:
        first: dict[str, int] = {}
        for i, model in enumerate(self.llm_infos):
            name = in_file_name(model.label)
            if (other := first.setdefault(name, i)) != i:
                raise ValueError(
                    f'llm_infos[{other}] and llm_infos[{i}] are both called {name!r} in file names, so their '
                    "runs would overwrite each other; give one of them another: name='…'"
                )
        return self


SETTINGS = frozenset(Template.model_fields) | {option for each in ENGINES.values() for option in each.options}
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

_MEANT = {'k': 'k_lists', 'ks': 'k_lists', 'parameters': 'parameters of an entry of llm_infos'}
"""Names that are no helper, and are not close to the setting that is meant."""


@cache
def _with_options(engine: str) -> tuple[type[Template], type[Model]]:
    """Return `Template`, and `Model` in it, with the options of an engine."""
    options: dict[str, Any] = {name: (kind | None, None) for name, kind in ENGINES[engine].options.items()}
    entry = create_model('Model', __base__=Model, **options)
    llms: Any = Annotated[list[entry], BeforeValidator(_one_or_more), Field(min_length=1)]  # type: ignore
    return create_model('Template', __base__=Template, llm_infos=(llms, ...), **options), entry


# Mistakes


def _unknown(what: str, name: object, allowed: Iterable[str]) -> str:
    names = sorted(allowed)
    longer = sorted((other for other in names if other.startswith(str(name))), key=len)
    near = next(iter(longer or get_close_matches(str(name), names, n=1)), None)
    question = f': did you mean {near!r}?' if near else ';'
    return f'unknown {what} {name!r}{question} Allowed: {", ".join(names)}'


_WORDS = {
    'Input should be a valid dictionary or instance of Rule': 'expected dict(…)',
    'Input should be a valid dictionary': 'expected dict(…)',
    'Input should be a valid boolean': 'expected True or False',
    'Input should be a valid integer': 'expected a whole number',
    'Input should be a valid string': 'expected text',
    'Input should be a valid ': 'expected a ',
    'Input should be a ': 'expected a ',
    'Input should be ': 'expected a number ',
}
"""How pydantic says it: how it is said here."""

_FORMS = {
    'parameters': "'7B', '1.5B' or '500M'",
    'link': "an address, 'https://…'",
    'path': "text, e.g. 'Qwen/Qwen2.5-7B-Instruct'",
}


def _mistakes_in(error: ValidationError, of: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each mistake: where it is, what was received and what is allowed."""
    for found in error.errors(include_url=False):
        where = ''.join(f'[{part}]' if isinstance(part, int) else f'.{part}' for part in found['loc'])[1:]
        place, _, name = where.rpartition('.')
        if found['type'] == 'missing':
            yield f'{where} is missing' + (': a list of dict(path=…, tp=…)' if where == 'llm_infos' else '')
        elif found['type'] == 'extra_forbidden':
            yield _unknown(f'key of {place}', name, Rule.model_fields if place.startswith('exclude') else of)
        else:
            said = found['msg'].removeprefix('Value error, ')
            for theirs, ours in _WORDS.items():
                said = said.replace(theirs, ours)
            if found['type'] == 'too_short':
                said = 'it is empty; give it at least one value, or remove the line'
            if found['type'] == 'string_pattern_mismatch':
                said = f'expected {_FORMS.get(name, _FORMS["path"])}'
            yield f'{where} is {found["input"]!r:.200}: {said}' if where else said


def _raise(mistakes: Iterable[str]) -> None:
    """Raise one TemplateError for all mistakes, if there are some."""
    lines = list(dict.fromkeys(mistakes))
    if lines:
        head = f'{len(lines)} mistakes\n  ' if len(lines) > 1 else ''
        raise TemplateError(head + '\n  '.join(lines))


_JUDGE = re.compile(r'^eval_(?:urls|model_name)|(?:^|\.)judge(?:\.|$)')


def _raise_unfit(settings: Mapping[str, Any], allowed: Any) -> None:
    """Raise one TemplateError for all values of a template that must not be written."""
    if not isinstance(allowed, (list, tuple)):  # before anything else: it says what may be written
        raise TemplateError('not_keys must be a list of the values that are no keys')
    texts = set(allowed)
    try:
        _raise(line for name, value in settings.items() for line in _unfit(value, texts, name))
    except RecursionError:
        raise TemplateError('a value holds itself, or is nested too deep') from None


def _unfit(value: Any, allowed: Collection[str], where: str) -> Iterator[str]:
    """Yield what of a value must not be written: keys, numbers without end, halves of characters."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, str):
                yield from _unfit_text(key, allowed, f'the name of an entry of {where}')
            yield from _unfit(item, allowed, f'{where}.{key}')
    elif isinstance(value, (list, tuple, set)):
        for i, item in enumerate(value):
            yield from _unfit(item, allowed, f'{where}[{i}]')
    elif isinstance(value, (str, os.PathLike)):
        yield from _unfit_text(str(os.fspath(value)), allowed, where)
    elif isinstance(value, int) and abs(value) > LARGEST:
        yield f'{where} is a whole number of more than 40 digits; no setting is as large'


def _unfit_text(text: str, allowed: Collection[str], where: str) -> Iterator[str]:
    """A literal key would land in every config, log and work directory; no message repeats it."""
    if any('\ud800' <= character <= '\udfff' for character in text):  # from a file name that is no UTF-8
        yield f'{where} has a half of a character, which no file can hold: give it in UTF-8'
    if text not in allowed and is_literal_key(re.sub(r'\[\d+\]$', '', where).rpartition('.')[2], text):
        advice = "write key_env='MY_API_KEY', or key='ENV' (the default, for OPENAI_API_KEY)"
        if _JUDGE.search(where):
            advice = "give the judge api_key_env='JUDGE_KEY', the name of an environment variable"
        yield (
            f'{where} looks like a literal API key; keys come from the environment: {advice}, and export the '
            'key in it before running opencompass. If it is none, repeat the value in a list not_keys = […]'
        )


# Reading


def read_template(path: Path) -> dict[str, Any]:
    """Run the template and return its variables in lower case: settings and helpers.

    Modules and functions are none, nor are names that start with `_`. A template with mmengine's `read_base`
    is loaded by mmengine.

    Raises:
        TemplateError: the file is missing or does not run.
        MissingExtraError: it needs mmengine.
    """
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except OSError as error:
        raise TemplateError(f'cannot read the template: {error.strerror}') from error
    except NO_LITERAL as error:
        raise TemplateError(f'the template is not valid Python: {error}') from error
    try:
        if any(isinstance(node, ast.Name) and node.id == 'read_base' for node in ast.walk(tree)):
            try:
                from mmengine.config import Config
            except ModuleNotFoundError as error:
                raise MissingExtraError('mmengine', 'opencompass') from error
            names: dict[str, Any] = Config.fromfile(path).to_dict()
        else:
            names = runpy.run_path(str(path))
    except MissingExtraError:
        raise
    except (Exception, SystemExit) as error:
        raise TemplateError(f'running the template failed: {type(error).__name__}: {error}') from error
    return {
        name: value
        for name, value in names.items()
        if name == name.lower()
        and name[0] != '_'
        and (name in SETTINGS or not (callable(value) or isinstance(value, ModuleType)))
    }


def read_overrides(texts: Iterable[str]) -> dict[str, Any]:
    """Return setting → value of each `NAME=VALUE`.

    A value is what a template would have behind the `=`: a Python literal, or `dict(…)` of such. Words
    that are none are text: `engine=vllm`.

    Raises:
        TemplateError: no `NAME=VALUE`, an unknown name, a name given twice, or a value that starts like
            a literal and is none.

    >>> read_overrides(['temperatures=[0.3, 0.7]', 'engine=vllm', 'version=202505'])
    {'temperatures': [0.3, 0.7], 'engine': 'vllm', 'version': '202505'}
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
                raise TemplateError(
                    f'--override {name}={value}: the value cannot be read as Python: {error}'
                ) from error
            lines[name] = value
        if name in ('dataset_path', 'eval_model_name', 'version') and isinstance(lines[name], (int, float)):
            lines[name] = value  # that needs no quotes
    return lines


def _read(variables: Mapping[str, Any]) -> tuple[Template, list[str]]:
    """Return the settings of a template and what is to be said of its other names."""
    settings = {name: value for name, value in variables.items() if name in SETTINGS}
    _raise_unfit(settings, settings.pop('not_keys', ()))
    mistakes, helpers = [], []
    for name in sorted(variables.keys() - SETTINGS):
        near = _MEANT.get(name, ''.join(get_close_matches(name, sorted(SETTINGS), n=1, cutoff=0.8)))
        if near:
            mistakes.append(
                f'unknown setting {name!r}: did you mean {near!r}? Else give the helper another name'
            )
        else:
            helpers.append(name)
    engine = settings.get('engine', DEFAULT_ENGINE)
    if not isinstance(engine, str) or engine not in ENGINES:
        _raise([*mistakes, _unknown('engine', engine, ENGINES)])
    for name in sorted(settings.keys() - Template.model_fields.keys() - ENGINES[engine].options.keys()):
        takers = [repr(other) for other in ENGINES if name in ENGINES[other].options]
        mistakes.append(f'{name} is for engine {" or ".join(takers)}; engine {engine!r} would ignore it')
        del settings[name]
    for name in sorted({*PARTS, 'judge', *ENGINES[engine].options} & settings.keys()):
        try:
            plain(settings[name], name)
        except TemplateError as error:
            mistakes.append(str(error))
    kind, entry = _with_options(engine)
    try:
        template = kind.model_validate(settings)
    except ValidationError as error:
        _raise([*mistakes, *_mistakes_in(error, entry.model_fields)])
        raise
    try:
        _evaluator(template, [])
    except InputError as error:
        mistakes.append(str(error))
    _raise(mistakes)
    return template, [f'not taken for settings: {", ".join(helpers)}'] if helpers else []


def _evaluator(template: Template, notes: list[str]) -> dict[str, Any]:
    """Return the arguments of `GPassKEvaluator`, checked as far as that shows without servers and keys.

    Raises:
        InputError: two judges at once, half a judge, or arguments that one does not take.
    """
    name, urls = template.eval_model_name, template.eval_urls
    if name and not urls and template.judge is None and template.judge_serve is None:
        notes.append(f'eval_model_name is {name!r} and eval_urls is empty: answers are judged by rule')
        name = ''
    arguments: dict[str, Any] = {'model_name': name, 'url': urls}
    for line in ('thresholds', 'unjudged_tolerance', 'judge'):
        if (value := getattr(template, line)) is not None:
            arguments[line] = value
    if template.judge_serve is None:
        judge_config(name, urls, template.judge)
        return arguments
    if name or urls:
        raise TemplateError('both judge_serve and eval_model_name or eval_urls are given: give one of them')
    server = read_judge_server(template.judge_serve)
    server = replace(server, path=with_home(server.path))
    judge = template.judge or {'type': 'llm'}
    served_judge(judge, server.name, 'http://127.0.0.1', server.settings())
    return {**arguments, 'judge': with_server(judge, server.name, ''), 'judge_serve': server.config()}


# Expanding


class Expansion(NamedTuple):
    """The runs of a template, and lines on what is another than one might think."""

    runs: list[Run]
    notes: list[str]
    trial: bool
    """Whether runs were made smaller for a look."""

    @property
    def configs(self) -> dict[str, Mapping[str, Any]]:
        """File name → config."""
        return {run.file: run.config for run in self.runs}


def expand(
    template: Path,
    overrides: Sequence[str] = (),
    *,
    keep_built_in: bool = False,
    limit: int | None = None,
    n: int | None = None,
) -> Expansion:
    """Run a template, with lines of `--override` in place of its own, and expand it; nothing is written.

    Args:
        keep_built_in: for a template with models and datasets of its own, see `older`.
        limit, n: make a trial: so many questions of each benchmark, n samples a question; k above n are left
            out, greedy runs keep their one sample.

    Raises:
        InputError: the template cannot be expanded; all that is wrong is told at once.
        MissingExtraError: it needs an optional package.
    """
    lines = {**read_overrides(overrides), **({} if limit is None else {'limit': limit})}
    variables = read_template(template)
    if 'models' not in variables and 'datasets' not in variables:
        if {'n', 'replications'} & set(lines):  # they are one
            variables = {name: variables[name] for name in variables.keys() - {'n', 'replications'}}
        return expand_variables({**variables, **lines}, n)
    variables |= lines
    own = {name: variables.get(name) for name in ('models', 'datasets', *PARTS)}
    _raise_unfit(own, variables.get('not_keys', ()))
    if n is not None:
        raise TemplateError('--n: this template has datasets of its own, each with its n; change it there')
    runs, notes = older_runs(variables, lines, keep_built_in=keep_built_in)
    return Expansion(_distinct_files(runs, 'pairs of models and datasets'), notes, limit is not None)


def expand_variables(variables: Mapping[str, Any], n: int | None = None) -> Expansion:
    """Expand the variables of a template: a run for each combination that `exclude` leaves.

    A temperature of 0 is the greedy run: one a model and benchmark, with n = 1 and the largest
    max_out_len, whatever the other axes say. It is there without a 0 in `temperatures` too, unless
    `greedy = False`. An axis that is not given is not passed to the model; `random_seeds` (42), `k_lists`
    ([4, 8, 16]) and `replications` (3) have defaults. A line that a model of `llm_infos` has for itself
    stands for that model in place of the template's.

    Raises:
        TemplateError: a variable or value that is not allowed, or two combinations with one name.
    """
    template, notes = _read(variables)
    evaluator = _evaluator(template, notes)
    used: set[int] = set()
    mistakes: list[str] = []
    runs: list[Run] = []
    for model in template.llm_infos:
        try:
            runs += _runs_of(model, template, evaluator, n, used, notes)
        except InputError as error:
            own = [name for name in Lines.model_fields if name in model.model_fields_set]
            path = f'{model.path}, with its own {", ".join(own)}: ' if own else ''
            mistakes.append(f'{path}{error}')
    _raise(mistakes)
    if not runs:
        raise TemplateError('exclude leaves out every combination of the template')
    for i in sorted(set(range(len(template.exclude))) - used):
        notes.append(f'exclude[{i}] fits no combination of the template, so it leaves nothing out')
    trial = n is not None or template.limit is not None
    return Expansion(_distinct_files(runs, 'combinations'), list(dict.fromkeys(notes)), trial)


def _distinct_files(runs: list[Run], what: str) -> list[Run]:
    counted = Counter(run.file for run in runs)
    if twice := [file for file, count in counted.items() if count > 1]:
        raise TemplateError(f'two {what} would both be written to {twice[0]}')
    return runs


def _runs_of(
    model: Model,
    template: Template,
    evaluator: Mapping[str, Any],
    n: int | None,
    used: set[int],
    notes: list[str],
) -> Iterator[Run]:
    """Yield the runs of one model; a part that several share is one object, so it is rendered once."""
    engine = ENGINES[template.engine]
    lines = _lines_of(model, template)
    llm = _llm(model, template, engine)
    facts = ModelFacts(
        **{
            name: getattr(source, name)
            for source in (template, model)
            for name in ModelFacts.__dataclass_fields__.keys() & source.model_fields_set
        }
    )
    sizes = _sizes(lines, n, notes)
    combinations = [
        (each, *size) for each in _settings(lines, engine) for size in ([((1,), 1)] if each.greedy else sizes)
    ]
    parts = {name: value for name in PARTS if (value := getattr(template, name)) is not None}
    names = {llm.name, in_file_name(llm.name), llm.path, last_part(llm.path)}
    inferencer = {} if template.most_failed is None else {'most_failed': template.most_failed}
    models: dict[Settings, list[dict[str, Any]]] = {}
    for key, label, questions, rows in _benchmarks(lines, template):
        limit = template.limit
        if limit is not None and questions is not None and limit >= questions:
            notes.append(f'{label}: limit = {limit} is not below its {questions} questions: all are asked')
            limit = None
        datasets: dict[tuple[DatasetName, int], list[dict[str, Any]]] = {}
        for each, ks, size in combinations:
            passed = each.passed()
            words, values = {'model': names, 'benchmark': {key, label}}, {**passed, 'k': list(ks), 'n': size}
            if rules := [i for i, rule in enumerate(template.exclude) if rule.holds(words, values)]:
                used.update(rules)
                continue
            name = RunName(ModelName(llm.name, each), DatasetName(label, ks, size, template.cot, limit))
            if each not in models:  # not before: an engine may refuse what is left out
                models[each] = [engine.config(name.model, llm)]
            shared = name.dataset, each.max_out_len
            if shared not in datasets:
                datasets[shared] = [dataset_config(*shared, rows, evaluator, inferencer)]
            yield Run(
                file=check_file_name(str(name)),
                config={'models': models[each], 'datasets': datasets[shared], **parts},
                model=llm.name,
                path=models[each][0]['path'],
                benchmark=label,
                settings=passed,
                k=ks,
                n=size,
                questions=questions if None in (limit, questions) else limit,
                facts=facts,
                limit=limit,
            )


def _lines_of(model: Model, template: Template) -> Lines:
    """Return the axes of a model: its own lines, else the template's."""
    given: dict[str, Any] = {}
    for source in (template, model):
        own = {name: getattr(source, name) for name in Lines.model_fields.keys() & source.model_fields_set}
        if {'n', 'replications'} & own.keys():  # they are one
            given = {name: given[name] for name in given.keys() - {'n', 'replications'}}
        given |= own
    return Lines.model_construct(_fields_set=set(given), **given)


def _llm(model: Model, template: Template, engine: Engine) -> Llm:
    options: dict[str, Any] = {}
    for name, source in product(engine.options, (template, model)):
        if (value := getattr(source, name)) is not None:
            both = isinstance(value, dict) and name in options
            options[name] = {**options[name], **value} if both else value
    tp = engine.tp if model.tp is None else model.tp
    return Llm(model.path, model.label, tp, model.batch_size, options)


def _settings(lines: Lines, engine: Engine) -> Iterator[Settings]:
    """Yield all combinations of the sampling axes, the greedy run first."""
    given, temperatures = lines.model_fields_set, lines.temperatures or []
    if 'random_seeds' in given and lines.random_seeds is None and not engine.may_be_unseeded:
        raise TemplateError(
            'random_seeds is None, but this engine draws every sample from a seed; give whole numbers'
        )
    if lines.max_out_lens is None:
        raise TemplateError('max_out_lens is missing: how many tokens may a response have? e.g. [8192]')
    if engine.needs_temperature and not temperatures:
        raise TemplateError('temperatures is missing: e.g. [0.3, 1.0]; a greedy run is added')
    if not lines.greedy and 0 in temperatures:
        raise TemplateError(
            'temperatures has 0.0, which is the greedy run, and greedy = False turns it off: remove one'
        )
    if 'greedy' in given and lines.greedy and not temperatures:
        raise TemplateError(
            'greedy = True needs temperatures: without them the model is told none; remove the line'
        )
    axes = {field: getattr(lines, line) for line, field in _AXES.items() if getattr(lines, line) is not None}
    if 'random_seeds' not in given and engine.seed is not None:
        axes['random_seed'] = [engine.seed]
    if lines.greedy and temperatures:
        yield Settings(max(lines.max_out_lens), temperature=0.0)
        axes['temperature'] = [value for value in temperatures if value]
    for values in product(*axes.values()):
        yield Settings(**dict(zip(axes, values, strict=True)))


def _sizes(lines: Lines, n: int | None, notes: list[str]) -> list[tuple[tuple[int, ...], int]]:
    """Return (k list, n) of each sampled run: n = replication × max(k), or these n."""
    given = lines.model_fields_set
    if n is None and {'n', 'replications'} <= given:
        raise TemplateError('both n and replications are given; n = replication × max(k): give one of them')
    ns = [n] if n is not None else lines.n
    if not ns:
        return [(tuple(ks), each * max(ks)) for ks in lines.k_lists for each in lines.replications]
    found = []
    for ks, size in product(lines.k_lists, ns):
        left = tuple(k for k in ks if k <= size) or (size,)
        if above := [k for k in ks if k > size]:
            if n is None and 'k_lists' in given:
                raise TemplateError(
                    f'k_lists has k = {max(ks)}, but n = {size}: at most n of n samples can be drawn'
                )
            instead = '' if len(above) < len(ks) else f', k = {size} in its place'
            notes.append(f'k = {", ".join(map(str, above))} left out, above n = {size}{instead}')
        found.append((left, size))
    return list(dict.fromkeys(found))


def _benchmarks(lines: Lines, template: Template) -> Iterator[tuple[str, str, int | None, dict[str, Any]]]:
    """Yield (key, label, number of questions, fields of the data set that say which) of each benchmark."""
    keys = [key for key in lines.benchmarks if isinstance(key, str)]
    path = template.dataset_path.get(ANY_VERSION, LIVE_MATH_BENCH_HUB)
    alone = len(template.dataset_path) == 1 and path != LIVE_MATH_BENCH_HUB
    if alone and not any(key.startswith(ANY_VERSION) for key in keys):
        raise TemplateError(
            f'dataset_path is {path!r}, which is for LiveMathBench, and benchmarks does not have it; for '
            f"another write dataset_path = {{'{keys[0] if keys else 'math500-l5'}': {path!r}}}"
        )
    seen: dict[str, str] = {}
    for key in lines.benchmarks:
        for label, questions, rows in _questions_of(key, lines, template):
            if label in seen:
                raise TemplateError(
                    f'benchmarks has {seen[label]!r} and {key!r}, which are both {label}; remove one'
                )
            seen[label] = str(key)
            yield (key if isinstance(key, str) else key.name.lower()), label, questions, rows


def _questions_of(
    key: str | OwnBenchmark, lines: Lines, template: Template
) -> Iterator[tuple[str, int | None, dict[str, Any]]]:
    if isinstance(key, OwnBenchmark):
        if key.name.lower() in BENCHMARKS or key.name.lower().startswith(ANY_VERSION):
            raise TemplateError(f'benchmarks has one of your own called {key.name!r}: give it another name')
        at = {} if key.revision is None else {'revision': key.revision}
        fields = {'question': key.question, 'answer': key.answer}
        rows = {'type': f'{OWN}BenchmarkDataset', 'benchmark': key.name, 'path': key.path, **at}
        yield key.name, None, {**rows, 'fields': fields}
        return
    path, revision = (_of(given, key) for given in (template.dataset_path, template.dataset_revision))
    at = {} if revision is None else {'revision': revision}
    found = None if key == ANY_VERSION else BENCHMARKS[key]
    if found is not None and not isinstance(found, LiveMathBenchRows):
        rows = {'type': f'{OWN}BenchmarkDataset', 'benchmark': key, 'path': path or found.source, **at}
        yield found.label, found.questions, rows
        return
    standard = {rows.version: rows for name, rows in BENCHMARKS.items()
                if isinstance(rows, LiveMathBenchRows) and not name.endswith('-hard')}  # fmt: skip
    for version in [found.version] if found else lines.version:
        which = found or standard.get(version, LiveMathBenchRows(version, (), ()))
        splits, languages = which.splits, which.languages
        if found is None:
            splits = tuple(template.dataset_splits or splits)
            languages = tuple(template.dataset_languages or languages)
        for line, words in (('dataset_splits', splits), ('dataset_languages', languages)):
            if not words:
                raise TemplateError(
                    f'{line} is missing: version {version!r} has no standard ones, only '
                    f'{", ".join(sorted(standard))} have'
                )
        yield (
            str(LiveMathBenchName(version, splits, languages)),
            live_math_bench_questions(version, splits, languages),
            {
                'type': f'{OWN}LiveMathBenchDataset',
                'path': path or LIVE_MATH_BENCH_HUB,
                **at,
                'version': version,
                'dataset_splits': list(splits),
                'dataset_languages': list(languages),
            },
        )


def _of(given: Mapping[str, str], key: str) -> str | None:
    """Return what is given for the longest beginning of a benchmark's name."""
    hits = [part for part in given if f'{key}-'.startswith(f'{part}-')]
    return given[max(hits, key=len)] if hits else None


def dataset_config(
    name: DatasetName,
    max_out_len: int | None,
    rows: Mapping[str, Any],
    evaluator: Mapping[str, Any],
    inferencer: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a data set of this package, as OpenCompass takes it.

    Args:
        name: its k, n and limit, and whether the prompts ask for step-by-step reasoning.
        max_out_len: None leaves it to the model.
        rows: its class and the arguments that say which questions.
        evaluator, inferencer: arguments of `GPassKEvaluator` and `SeededGenInferencer`.
    """
    length = {} if max_out_len is None else {'max_out_len': max_out_len}
    return {
        'type': rows['type'],
        'abbr': str(name),
        **rows,
        'cot': name.cot,
        'k': list(name.ks),
        'n': name.n,
        **({} if name.limit is None else {'limit': name.limit}),
        'reader_cfg': {'input_columns': ['prompt'], 'output_column': 'answer'},
        'infer_cfg': {
            'prompt_template': {
                'type': 'opencompass.openicl.icl_prompt_template.PromptTemplate',
                'template': {'round': [{'role': 'HUMAN', 'prompt': '{prompt}'}]},
            },
            'retriever': {'type': 'opencompass.openicl.icl_retriever.ZeroRetriever'},
            'inferencer': {'type': f'{OWN}SeededGenInferencer', **length, **inferencer},
        },
        'eval_cfg': {'evaluator': {'type': f'{OWN}GPassKEvaluator', **evaluator}},
    }


def dataset(key: str) -> dict[str, Any]:
    """Return a benchmark as the configs of `gpassk_opencompass.configs` have it: k = 4, 8, 16 and n = 48.

    >>> dataset('aime2024')['abbr']
    'AIME2024-k4_8_16-r3'
    """
    [(label, _, rows)] = _questions_of(key, Lines(), Template.model_construct())
    judge = {'model_name': '', 'url': []}
    return dataset_config(DatasetName(label, (4, 8, 16), 48), None, rows, judge, {})
