"""A template expanded: one OpenCompass config a model × sampling setting × benchmark × k list × n."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..benchmarks import (
    BENCHMARKS,
    LIVE_MATH_BENCH_HUB,
    STANDARD_ROWS,
    LiveMathBenchRows,
    QuestionSet,
    live_math_bench_questions,
)
from ..errors import InputError, TemplateError
from .engines import ENGINES, Llm
from .folder import Run
from .names import DatasetName, ModelName, RunName, Settings, check_file_name, in_file_name, last_part
from .older import OWN, PARTS, older_runs
from .template import (
    ANY_VERSION,
    Model,
    OwnBenchmark,
    Template,
    raise_mistakes,
    raise_unfit,
    read_overrides,
    read_settings,
    read_template,
)


class Expansion(NamedTuple):
    """The runs of a template, lines on what is another than one might think, and whether it is a trial."""

    runs: list[Run]
    notes: list[str]
    trial: bool

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
    raise_unfit(own, variables.get('not_keys', ()))
    if n is not None:
        raise TemplateError('--n: this template has datasets of its own, each with its n; change it there')
    runs, notes = older_runs(variables, lines, keep_built_in=keep_built_in)
    return _expansion(runs, notes, limit is not None)


def expand_variables(variables: Mapping[str, Any], n: int | None = None) -> Expansion:
    """Expand the variables of a template: a run for each combination that `exclude` leaves.

    A temperature of 0 is the greedy run: one a model and benchmark, with n = 1 and the largest
    max_out_len, whatever the other axes say. It is there without a 0 in `temperatures` too, unless
    `greedy = False`. An axis that is not given is not passed to the model.
    """
    notes: list[str] = []
    template, evaluator = read_settings(variables, n, notes)
    used: set[int] = set()
    mistakes: list[str] = []
    runs: list[Run] = []
    for model in template.llm_infos:
        try:
            runs += _runs_of(model, template, evaluator, used, notes, mistakes)
        except InputError as error:
            mistakes.append(str(error))
    raise_mistakes(mistakes)
    if not runs:
        raise TemplateError('exclude leaves out every combination of the template')
    for i in sorted(set(range(len(template.exclude))) - used):
        notes.append(f'exclude[{i}] fits no combination of the template, so it leaves nothing out')
    return _expansion(runs, notes, n is not None or template.limit is not None)


def _expansion(runs: list[Run], notes: list[str], trial: bool) -> Expansion:
    if twice := [file for file, count in Counter(run.file for run in runs).items() if count > 1]:
        raise TemplateError(f'two combinations would both be written to {twice[0]}')
    return Expansion(runs, list(dict.fromkeys(notes)), trial)


def _runs_of(
    model: Model,
    template: Template[Any],
    evaluator: Mapping[str, Any],
    used: set[int],
    notes: list[str],
    mistakes: list[str],
) -> Iterator[Run]:
    """Yield the runs of one model; a part that several share is one object, so it is rendered once.

    Args:
        used, mistakes: get the numbers of the rules of `exclude` that fit, and what the engine would not do.
    """
    engine = ENGINES[template.engine]
    options = {name: value for name in engine.options if (value := getattr(model, name)) is not None}
    tp = int(engine.gpus[1] > 0) if model.tp is None else model.tp
    llm, label = Llm(model.path, tp, model.batch_size, options), model.label
    sizes, greedy = model.sizes(notes), [((1,), 1)]
    settings = list(model.settings(None if engine.api else 42))
    combinations = [(one, *size) for one in settings for size in (greedy if one.greedy else sizes)]
    parts = {name: value for name in PARTS if (value := getattr(template, name)) is not None}
    names = {label, in_file_name(label), llm.path, last_part(llm.path)}
    inferencer = {} if template.most_failed is None else {'most_failed': template.most_failed}
    models: dict[Settings, list[dict[str, Any]]] = {}
    for benchmark in _benchmarks(model, template):
        limit, questions = template.limit, benchmark.questions
        if limit is not None and questions is not None and limit >= questions:
            notes.append(
                f'{benchmark.label}: limit = {limit} is not below its {questions} questions: all are asked'
            )
            limit = None
        datasets: dict[tuple[DatasetName, int], list[dict[str, Any]]] = {}
        for one, ks, n in combinations:
            passed = one.passed()
            values = {**passed, 'k': list(ks), 'n': n, 'model': names, 'benchmark': set(benchmark[:2])}
            if rules := [i for i, rule in enumerate(template.exclude) if rule.holds(values)]:
                used.update(rules)
                continue
            name = RunName(ModelName(label, one), DatasetName(benchmark.label, ks, n, template.cot, limit))
            if one not in models:  # not before: an engine may refuse what is left out
                models[one] = [engine.config(name.model, llm)]
            shared = name.dataset, one.max_out_len
            if shared not in datasets:
                datasets[shared] = [dataset_config(*shared, benchmark.rows, evaluator, inferencer)]
            yield Run(
                file=check_file_name(str(name)),
                config={'models': models[one], 'datasets': datasets[shared], **parts},
                model=label,
                path=models[one][0]['path'],
                benchmark=benchmark.label,
                settings=passed,
                k=ks,
                n=n,
                questions=questions if limit is None or questions is None else limit,
                limit=limit,
            )
    mistakes += llm.mistakes


class _Benchmark(NamedTuple):
    """What a template calls it, what names call it, and the fields of a data set that say which rows."""

    key: str
    label: str
    questions: int | None
    rows: dict[str, Any]


def _benchmarks(model: Model, template: Template[Any]) -> list[_Benchmark]:
    path, keys = template.dataset_path.get(ANY_VERSION, LIVE_MATH_BENCH_HUB), model.benchmarks
    named = [key for key in keys if isinstance(key, str)]
    of_ours = any(key.startswith(ANY_VERSION) for key in named)
    if not of_ours and len(template.dataset_path) == 1 and path != LIVE_MATH_BENCH_HUB:
        raise TemplateError(
            f'dataset_path is {path!r}, which is for LiveMathBench, and benchmarks does not have it; for '
            f"another write dataset_path = {{'{(*named, 'math500-l5')[0]}': {path!r}}}"
        )
    found = [each for key in keys for each in _rows_of(key, model.version, template)]
    labels = [each.label for each in found]
    if twice := [label for label in labels if labels.count(label) > 1]:
        raise TemplateError(f'benchmarks has two that are both {twice[0]}; remove one')
    return found


def _rows_of(
    key: str | OwnBenchmark, versions: Sequence[str], template: Template[Any]
) -> Iterator[_Benchmark]:
    if isinstance(key, OwnBenchmark):
        at = {} if key.revision is None else {'revision': key.revision}
        fields = {'question': key.question, 'answer': key.answer}
        rows = {'benchmark': key.name, 'path': key.path, **at, 'fields': fields}
        yield _Benchmark(key.name.lower(), key.name, None, {'type': f'{OWN}BenchmarkDataset', **rows})
        return

    def given(values: Mapping[str, str]) -> str | None:
        parts = [part for part in values if f'{key}-'.startswith(f'{part}-')]
        return values[max(parts, key=len)] if parts else None

    path, revision = given(template.dataset_path), given(template.dataset_revision)
    at = {} if revision is None else {'revision': revision}
    known = BENCHMARKS.get(key)
    if isinstance(known, QuestionSet):
        rows = {'benchmark': key, 'path': path or known.source, **at}
        yield _Benchmark(key, known.label, known.questions, {'type': f'{OWN}BenchmarkDataset', **rows})
        return
    for version in [known.version] if known else versions:
        which = known or STANDARD_ROWS.get(version, LiveMathBenchRows(version, (), ()))
        own = template if known is None else Template.model_construct()
        splits = tuple(own.dataset_splits or which.splits)
        languages = tuple(own.dataset_languages or which.languages)
        if not (splits and languages):
            line = 'dataset_languages' if splits else 'dataset_splits'
            has = ', '.join(STANDARD_ROWS)
            raise TemplateError(f'{line} is missing: {version!r} has no standard ones, only {has} have')
        rows = {
            'type': f'{OWN}LiveMathBenchDataset',
            'path': path or LIVE_MATH_BENCH_HUB,
            **at,
            'version': version,
            'dataset_splits': list(splits),
            'dataset_languages': list(languages),
        }
        label = str(LiveMathBenchRows(version, splits, languages))
        yield _Benchmark(key, label, live_math_bench_questions(version, splits, languages), rows)


def dataset_config(
    name: DatasetName,
    max_out_len: int | None,
    rows: Mapping[str, Any],
    evaluator: Mapping[str, Any],
    inferencer: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a data set of this package, as OpenCompass takes it; `rows`: its class, and which questions."""
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
    [one] = _rows_of(key, ['202412'], Template.model_construct())
    return dataset_config(
        DatasetName(one.label, (4, 8, 16), 48), None, one.rows, {'model_name': '', 'url': []}, {}
    )
