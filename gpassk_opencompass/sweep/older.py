"""An OpenCompass config with `models` and `datasets` of its own, as a template: a config a pair.

OpenCompass's LiveMathBench, its evaluator and the models that sample for it are replaced by ours, unless the
user wants them kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from itertools import product
from typing import Any
from urllib.parse import urlsplit

from ..benchmarks import LIVE_MATH_BENCH_HUB
from ..errors import TemplateError
from ..judges import refuse_extraction
from .engines import NO_TEMPERATURE, TOKENIZER
from .folder import Run, plain
from .names import check_file_name, in_file_name, without_sizes

DEFAULT_SUMMARIZER = {'type': 'gpassk_opencompass.GPassKSummarizer'}
PARTS = ('summarizer', 'infer', 'eval')
"""Parts of an OpenCompass config that a template may give as they are."""

OWN = f'{__name__.partition(".")[0]}.'
DATASET, EVALUATOR = 'LiveMathBenchDataset', 'LiveMathBenchEvaluator'
MODELS = {
    'TurboMindModelwithChatTemplate': 'SeededTurboMind',
    'VLLMwithChatTemplate': 'SeededVLLM',
    'HuggingFacewithChatTemplate': 'SeededHuggingFace',
    'OpenAISDK': 'SeededOpenAISDK',
}
_SEEDS = ('random_seed', 'seed')

Part = dict[str, Any]


def older_runs(
    variables: Mapping[str, Any], overrides: Collection[str] = (), *, keep_built_in: bool = False
) -> tuple[list[Run], list[str]]:
    """Return a run for each model × data set, under the name that the published script gives it, and notes.

    What is replaced is said; with `keep_built_in` nothing is. Of the other lines only `PARTS` and `limit`
    count, and only they may be among `overrides`, the lines given in place of the template's.
    """
    if late := sorted(set(overrides) - {*PARTS, 'limit'}):
        raise TemplateError(
            f'--override {late[0]}: this template has models and datasets of its own, so only '
            f'{", ".join(PARTS)} and limit can be given; change the template, or write one (gpassk init)'
        )
    models, datasets = (_entries(variables, name) for name in ('models', 'datasets'))
    parts = {name: variables[name] for name in PARTS if name in variables}
    said: Counter[str] = Counter()
    if not keep_built_in:
        datasets = [_our_dataset(dataset, said) if _is_built_in(dataset) else dataset for dataset in datasets]
    if (limit := variables.get('limit')) is not None:
        datasets = [_limited(dataset, limit) for dataset in datasets]
    replaces = not keep_built_in and any(map(_is_ours, datasets))
    pairs = [(model, _our_model(model, said) if replaces else model) for model in models]
    runs = []
    for (model, seeded), dataset in product(pairs, datasets):
        own, rest = dataset, parts
        # The questions of others do not know which sample a row is, as a seeded model must.
        if ours := replaces and _is_ours(dataset):
            rest = {'summarizer': DEFAULT_SUMMARIZER, **parts}
            given = [model, *_settings(model).values()]
            if any(one.get('do_sample') is False or one.get('temperature') == 0 for one in given):
                own = {**dataset, 'k': [1], 'n': 1}  # not n equal answers
        run = Run(
            file=check_file_name(f'{in_file_name(model["abbr"])}@{own["abbr"]}.py'),
            config={'models': [seeded if ours else model], 'datasets': [own], **rest},
            model=model['abbr'],
            path=str(model.get('path', '')),
            benchmark=own['abbr'],
            settings={'max_out_len': model['max_out_len']} if model.get('max_out_len') else {},
            k=_ks_of(own),
            n=_n_of(own),
            limit=own.get('limit') if _is_ours(own) else None,
        )
        runs.append(run)
    notes = _wrong(runs)
    if said:
        lines = [f'  {count} × {change}' for change, count in said.items()]
        notes.append('\n'.join(['replaced in the configs (--keep-built-in leaves all as it is):', *lines]))
    return runs, notes


def _entries(variables: Mapping[str, Any], name: str) -> list[Part]:
    entries = variables.get(name)
    if not isinstance(entries, (list, tuple)) or not entries:
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
    return list(entries)


def _ks_of(dataset: Mapping[str, Any]) -> tuple[Any, ...]:
    k = dataset.get('k')
    return tuple(k) if isinstance(k, (list, tuple)) else () if k is None else (k,)


def _n_of(dataset: Mapping[str, Any]) -> Any:
    """Return n; data sets of 2024 gave `replication` instead, n = replication × max(k)."""
    replication = dataset.get('replication')
    return dataset.get('n') if replication is None else replication * max(_ks_of(dataset), default=1)


def _limited(dataset: Part, limit: Any) -> Part:
    abbr, whole = dataset['abbr'], without_sizes(dataset['abbr'])
    if not _is_ours(dataset) or type(limit) is not int or limit < 1:
        raise TemplateError(
            f'{abbr}: limit is {limit!r}; expected a whole number of questions, 1 or more, and a data set of '
            f'this package, not a {_class_of(dataset)}'
        )
    return {**dataset, 'abbr': f'{whole}-limit{limit}{abbr[len(whole) :]}', 'limit': limit}


def _class_of(part: Mapping[str, Any]) -> str:
    text = str(plain(part.get('type', ''), 'type'))
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
    if any(part in config['path'] for part in NO_TEMPERATURE) and config.pop('temperature', None) is not None:
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


def _wrong(runs: list[Run]) -> list[str]:
    """Return what of the configs, as they are written, makes their numbers wrong."""
    lines = []
    if kept := sum(_is_built_in(run.config['datasets'][0]) for run in runs):
        lines.append(
            f"{kept} of {len(runs)} configs keep OpenCompass's {EVALUATOR}: its LLM judge is asked about the "
            'first sample of a question, and all n get that verdict, so that every G-Pass@k is wrong'
        )
    drawn = [(run.model, _settings(run.config['models'][0]).values()) for run in runs if run.n != 1]
    if copies := {model for model, each in drawn if any(set(one) & set(_SEEDS) for one in each)}:
        lines.append(
            f'{len(copies)} models ({min(copies)}, …) give all samples of a question one fixed seed: they '
            'may be copies of each other, and G-Pass@k of copies says nothing'
        )
    return lines
