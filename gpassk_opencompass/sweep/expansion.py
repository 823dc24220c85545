"""A template expanded: one OpenCompass config a model × sampling setting × benchmark × k list × n.

Or, of a template that is an OpenCompass config with `models` and `datasets` of its own, one a pair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ..benchmarks import (
    BENCHMARKS,
    LIVE_MATH_BENCH_HUB,
    STANDARD_ROWS,
    LiveMathBenchRows,
    QuestionSet,
    live_math_bench_questions,
)
from ..errors import InputError, TemplateError
from ..judges import refuse_extraction
from .engines import ENGINES, OWN, TOKENIZER, Llm, no_temperature
from .folder import Entry, SweepRun
from .names import DatasetName, ModelName, Settings, file_name, in_file_name, last_part
from .template import (
    ANY_VERSION,
    DEFAULT_SUMMARIZER,
    PARTS,
    Model,
    OwnBenchmark,
    Template,
    plain_settings,
    raise_mistakes,
    read_overrides,
    read_settings,
    read_template,
)


class Expansion(NamedTuple):
    """The runs of a template, lines on what is another than one might think, and whether it is a trial."""

    runs: list[SweepRun]
    notes: list[str]
    trial: bool

    @property
    def configs(self) -> dict[str, Mapping[str, Any]]:
        """File name → config."""
        return {entry.file: config for entry, config in self.runs}


def expand(
    template: Path,
    overrides: Sequence[str] = (),
    *,
    limit: int | None = None,
    n: int | None = None,
) -> Expansion:
    """Run a template, with lines of `--override` in place of its own, and expand it; nothing is written.

    Args:
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
    if lines or n is not None:
        raise TemplateError(
            'this template has models and datasets of its own, so --override, --limit and --n change nothing '
            'in it: change the template, or write one (gpassk init)'
        )
    return _expansion(*older_runs(variables), trial=False)


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
    runs: list[SweepRun] = []
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
    return _expansion(runs, notes, trial=n is not None or template.limit is not None)


def _expansion(runs: list[SweepRun], notes: list[str], *, trial: bool) -> Expansion:
    if twice := [file for file, count in Counter(run.entry.file for run in runs).items() if count > 1]:
        raise TemplateError(f'two combinations would both be written to {twice[0]}')
    return Expansion(runs, list(dict.fromkeys(notes)), trial)


def _runs_of(
    model: Model,
    template: Template,
    evaluator: Mapping[str, Any],
    used: set[int],
    notes: list[str],
    mistakes: list[str],
) -> Iterator[SweepRun]:
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
            shared = DatasetName(benchmark.label, ks, n, template.cot, limit), one.max_out_len
            if one not in models:  # not before: an engine may refuse what is left out
                models[one] = [engine.config(ModelName(label, one), llm)]
            if shared not in datasets:
                datasets[shared] = [dataset_config(*shared, benchmark.rows, evaluator, inferencer)]
            abbrs = models[one][0]['abbr'], str(shared[0])
            entry = Entry(
                file=file_name(*abbrs),
                model=label,
                path=models[one][0]['path'],
                benchmark=benchmark.label,
                settings=passed,
                k=ks,
                n=n,
                questions=questions if limit is None or questions is None else limit,
                limit=limit,
                model_abbr=abbrs[0],
                dataset_abbr=abbrs[1],
            )
            yield SweepRun(entry, {'models': models[one], 'datasets': datasets[shared], **parts})
    mistakes += llm.mistakes


class _Benchmark(NamedTuple):
    """What a template calls it, what names call it, and the fields of a data set that say which rows."""

    key: str
    label: str
    questions: int | None
    rows: dict[str, Any]


def _benchmarks(model: Model, template: Template) -> list[_Benchmark]:
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


def _rows_of(key: str | OwnBenchmark, versions: Sequence[str], template: Template) -> Iterator[_Benchmark]:
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


# An OpenCompass config as a template: its LiveMathBench, its evaluator and the models that sample for it are
# replaced by ours

DATASET, EVALUATOR = 'LiveMathBenchDataset', 'LiveMathBenchEvaluator'
MODELS = {
    'TurboMindModelwithChatTemplate': 'SeededTurboMind',
    'VLLMwithChatTemplate': 'SeededVLLM',
    'HuggingFacewithChatTemplate': 'SeededHuggingFace',
    'OpenAISDK': 'SeededOpenAISDK',
}
_SEEDS = ('random_seed', 'seed')

Part = dict[str, Any]


def older_runs(variables: Mapping[str, Any]) -> tuple[list[SweepRun], list[str]]:
    """Return a run for each model × data set, under the name that the published script gives it, and notes.

    What is replaced is said. Of the other variables only `PARTS` count.
    """
    parts = plain_settings(variables, ('models', 'datasets', *PARTS))
    models, datasets = (_entries(parts.pop(name, None), name) for name in ('models', 'datasets'))
    said: Counter[str] = Counter()
    datasets = [_our_dataset(dataset, said) if _is_built_in(dataset) else dataset for dataset in datasets]
    replaces = any(map(_is_ours, datasets))
    pairs = [(model, _our_model(model, said) if replaces else model) for model in models]
    runs, copies = [], set()
    for (model, seeded), dataset in product(pairs, datasets):
        own, rest, chosen = dataset, parts, model
        # The questions of others do not know which sample a row is, as a seeded model must.
        if ours := _is_ours(dataset):
            rest, chosen = {'summarizer': DEFAULT_SUMMARIZER, **parts}, seeded
            given = [model, *_settings(model).values()]
            if any(one.get('do_sample') is False or one.get('temperature') == 0 for one in given):
                own = {**dataset, 'k': [1], 'n': 1}  # not n equal answers
        if _n_of(own) != 1 and any(set(one) & set(_SEEDS) for one in _settings(chosen).values()):
            copies.add(model['abbr'])
        length = model.get('max_out_len')
        entry = Entry(
            file=file_name(model['abbr'], own['abbr']),
            model=model['abbr'],
            path=str(model.get('path', '')),
            benchmark=own['abbr'],
            settings={'max_out_len': length} if length else {},
            k=_ks_of(own),
            n=_n_of(own),
            limit=own.get('limit') if ours else None,
            model_abbr=model['abbr'],
            dataset_abbr=own['abbr'],
        )
        runs.append(SweepRun(entry, {'models': [chosen], 'datasets': [own], **rest}))
    notes = []
    if copies:
        notes.append(
            f'{len(copies)} models ({min(copies)}, …) give all samples of a question one fixed seed: they '
            'may be copies of each other, and G-Pass@k of copies says nothing'
        )
    if said:
        lines = [f'  {count} × {change}' for change, count in said.items()]
        notes.append('\n'.join(['replaced in the configs:', *lines]))
    return runs, notes


def _entries(entries: Any, name: str) -> list[Part]:
    if not isinstance(entries, list) or not entries:
        raise TemplateError(f'{name} is {entries!r}; expected a list of dicts, as in a config of OpenCompass')
    for i, entry in enumerate(entries):
        if not isinstance(entry, dict) or not isinstance(entry.get('abbr'), str) or not entry['abbr']:
            raise TemplateError(f"{name}[{i}] is {entry!r:.80}; expected a dict with abbr='…'")
        sizes = {key: entry[key] for key in ('k', 'n', 'replication') if entry.get(key) is not None}
        counts = [*_ks_of(entry), *(count for key, count in sizes.items() if key != 'k')]
        whole = all(type(count) is int and count > 0 for count in counts)
        if not whole or (sizes.keys() - {'k'} and max(_ks_of(entry), default=0) > _n_of(entry)):
            told = ', '.join(f'{key} = {value!r}' for key, value in sizes.items())
            raise TemplateError(f'{entry["abbr"]}: {told}; expected whole numbers above 0, each k at most n')
    return entries


def _ks_of(dataset: Mapping[str, Any]) -> tuple[Any, ...]:
    k = dataset.get('k')
    return tuple(k) if isinstance(k, list) else () if k is None else (k,)


def _n_of(dataset: Mapping[str, Any]) -> Any:
    """Return n; data sets of 2024 gave `replication` instead, n = replication × max(k)."""
    replication = dataset.get('replication')
    return dataset.get('n') if replication is None else replication * max(_ks_of(dataset), default=1)


def _class_of(part: Mapping[str, Any]) -> str:
    text = str(part.get('type', ''))
    return text.rpartition('.')[2] if text.startswith('opencompass.') else text


def _is_ours(part: Mapping[str, Any]) -> bool:
    return _class_of(part).startswith(OWN)


def _is_built_in(dataset: Mapping[str, Any]) -> bool:
    evaluator = (dataset.get('eval_cfg') or {}).get('evaluator') or {}
    return (_class_of(dataset), _class_of(evaluator)) == (DATASET, EVALUATOR)


def _settings(model: Mapping[str, Any]) -> dict[str, Part]:
    places = ('gen_config', 'generation_kwargs', 'openai_extra_kwargs', 'extra_body')
    return {place: dict(model[place]) for place in places if isinstance(model.get(place), Mapping)}


def _our_model(model: Mapping[str, Any], said: Counter[str]) -> Part:
    if (kind := _class_of(model)) not in MODELS:
        return dict(model)
    said[f'{MODELS[kind]} in place of {kind}'] += 1
    settings = _settings(model)
    seeds = [one.pop(name) for one in settings.values() for name in _SEEDS if name in one]
    for one in settings.values():
        if one.get('do_sample') is False:
            for name in ('temperature', 'top_p', 'top_k', 'min_p'):  # which reach no greedy run
                one.pop(name, None)
    config = {**model, 'type': f'{OWN}{MODELS[kind]}', **settings}
    if seeds:
        said[f'a seed a sample, derived from random_seed = {seeds[0]}, in place of this one for all'] += 1
        config['random_seed'] = seeds[0]
    if kind != 'OpenAISDK':
        return config
    config.setdefault('tokenizer_path', TOKENIZER)  # only counts tokens; else it is looked up on the hub
    if config.pop('max_completion_tokens', None) is not None:
        said['no max_completion_tokens, which OpenAISDK does not take any more; max_out_len counts'] += 1
    if no_temperature(config['path']) and config.pop('temperature', None) is not None:
        said['no temperature: OpenAISDK sends none to a model of this name'] += 1
    if (key := config.get('key', 'ENV')) not in ('ENV', 'EMPTY'):  # it would be sent as it stands
        host = urlsplit(str(config.get('openai_api_base', ''))).hostname or 'api.openai.com'
        placeholder = key.startswith(('YOU_', 'YOUR_'))
        config['key_env'] = f'{".".join(host.split(".")[-2:-1]).upper()}_API_KEY' if placeholder else key
        said[f'the key in ${config["key_env"]}, in place of {config.pop("key")!r} as the key itself'] += 1
    return config


def _our_dataset(dataset: Mapping[str, Any], said: Counter[str]) -> Part:
    evaluator = dataset['eval_cfg']['evaluator']
    refuse_extraction(evaluator.get('use_extract_model'))
    judge = {name: evaluator.get(name) for name in ('model_name', 'url')}
    judge = judge if all(judge.values()) else {}
    path = dataset.get('path')
    path = LIVE_MATH_BENCH_HUB if path in (None, '', f'{LIVE_MATH_BENCH_HUB}202412') else path
    inference = dict(dataset.get('infer_cfg') or {})
    inferencer = {**inference.get('inferencer', {}), 'type': f'{OWN}SeededGenInferencer'}
    inferencer.pop('temperature', None)  # of OpenCompass's own configs; it reaches no model
    said[f'{DATASET}, SeededGenInferencer of this package, with questions of {path}'] += 1
    judged = f'judged by {judge["model_name"]}' if judge else 'judged by rule, for want of a judge with URLs'
    said[f'GPassKEvaluator in place of {EVALUATOR}: each sample is {judged}'] += 1
    return {
        **{name: value for name, value in dataset.items() if name != 'replication'},
        'type': f'{OWN}{DATASET}',
        'path': path,
        'k': [*_ks_of(dataset)] or [1],
        'n': _n_of(dataset) or 1,
        'infer_cfg': {**inference, 'inferencer': inferencer},
        'eval_cfg': {**dataset['eval_cfg'], 'evaluator': {'type': f'{OWN}GPassKEvaluator', **judge}},
    }
