"""A template of the older style: it computes `models` and `datasets` itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Any

from ..errors import TemplateError
from ..naming.file_names import check_file_name
from ..naming.names import in_file_name
from .grid import PARTS, Run, distinct
from .older_datasets import is_built_in, ks_of, samples_of


def is_computed(variables: Mapping[str, Any]) -> bool:
    """Return whether the template computes its own models or data sets."""
    return not {'models', 'datasets'}.isdisjoint(variables)


def computed_runs(variables: Mapping[str, Any]) -> list[Run]:
    """Return a run for each model × data set, as the template computed them.

    Everything else that the template assigns helped to compute them and is left out, but for
    `summarizer`, `infer` and `eval`. What is known to make the numbers wrong is warned of.

    Raises:
        InputError: no list of dicts, an abbreviation that is missing or cannot be a file name, two pairs
            with one name, or k > n.
    """
    models, datasets = read_entries(variables)
    parts = read_parts(variables)
    runs = distinct((computed_run(*pair, parts) for pair in product(models, datasets)), PAIRS)
    warn_of_defects(runs)
    return runs


PAIRS = 'pairs of models and datasets'


def check_overrides(lines: Mapping[str, Any]) -> None:
    """Raise TemplateError for a line that comes too late: the template has computed its models already."""
    late = sorted(set(lines) - set(PARTS))
    if late:
        raise TemplateError(
            f'--override {late[0]}: this template computes models and datasets itself, so only '
            f'{", ".join(PARTS)} can be given; change the template, or write it anew with gpassk migrate'
        )


def computed_run(model: dict[str, Any], dataset: dict[str, Any], parts: Mapping[str, Any]) -> Run:
    """Return the run of one model and data set as they are."""
    length = model.get('max_out_len')
    return Run(
        file=computed_file(model, dataset),
        config={'models': [model], 'datasets': [dataset], **parts},
        model=model['abbr'],
        path=str(model.get('path', '')),
        benchmark=dataset['abbr'],
        settings={'max_out_len': length} if _is_whole(length) else {},
        k=ks_of(dataset),
        n=samples_of(dataset),
    )


def computed_file(model: Mapping[str, Any], dataset: Mapping[str, Any]) -> str:
    """Return the name of a config, as it was before templates had axes: the model's dots are written `-`."""
    return check_file_name(f'{in_file_name(model["abbr"])}@{dataset["abbr"]}.py')


def read_entries(variables: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the models and the data sets of a template.

    Raises:
        TemplateError: no list of dicts, an abbreviation that is missing, or k > n.
    """
    models, datasets = (with_dotted_names(_entries(variables, name)) for name in ('models', 'datasets'))
    for dataset in datasets:
        _check_samples(dataset)
    return models, datasets


def dotted_name(kind: Any) -> str | None:
    """Return the dotted path of a class of this package that is named alone, None for any other `type`.

    OpenCompass looks a name without dots up among the classes that are imported at that moment. It imports a
    dotted one.

    >>> dotted_name('GPassKEvaluator'), dotted_name('GenInferencer')
    ('gpassk_opencompass.GPassKEvaluator', None)
    """
    own = isinstance(kind, str) and re.fullmatch(r'(?:GPassKEvaluator|GPassKSummarizer|Seeded\w+)', kind)
    return f'{__name__.partition(".")[0]}.{kind}' if own else None


def with_dotted_names(value: Any) -> Any:
    """Return a part of a config with the dotted path of each class of this package that is named alone."""
    if isinstance(value, list):
        return [with_dotted_names(item) for item in value]
    if not isinstance(value, dict):
        return value
    written = {name: with_dotted_names(item) for name, item in value.items()}
    dotted = dotted_name(value.get('type'))
    return {**written, 'type': dotted} if dotted else written


def read_parts(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of `PARTS` that the template has."""
    return {name: with_dotted_names(variables[name]) for name in PARTS if name in variables}


def _entries(variables: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    entries = variables.get(name)
    if not isinstance(entries, (list, tuple)) or not entries:
        raise TemplateError(
            f'{name} is {entries!r}; a template that computes models and datasets needs lists of both'
        )
    for i, entry in enumerate(entries):
        if not isinstance(entry, dict) or not isinstance(entry.get('abbr'), str) or not entry['abbr']:
            raise TemplateError(f"{name}[{i}] needs to be a dict with abbr='…', which names its files")
    return list(entries)


def _check_samples(dataset: Mapping[str, Any]) -> None:
    abbr, ks = dataset['abbr'], ks_of(dataset)
    if not all(map(_is_whole, ks)):
        raise TemplateError(f'{abbr}: k = {dataset["k"]!r}; expected a whole number or a list of such')
    for name in ('n', 'replication'):
        if (count := dataset.get(name)) is not None and not _is_whole(count):
            raise TemplateError(f'{abbr}: {name} = {count!r}; expected a whole number of samples a question')
    n = samples_of(dataset)
    if ks and n is not None and max(ks) > n:
        raise TemplateError(f'{abbr}: k = {max(ks)}, but n = {n}: at most n of n samples can be drawn')


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def warn_of_defects(runs: Sequence[Run]) -> None:
    """Say what of configs that are left as they were computed would make their numbers wrong."""
    _warn_of_fixed_seeds([run for run in runs if run.n != 1])
    built_in = [run for run in runs if any(map(is_built_in, run.config['datasets']))]
    if not built_in:
        return
    troubles = sorted({trouble for run in built_in for trouble in _troubles(run.config)})
    ends = f'; as they are, OpenCompass 0.5.4 does not run them: {", ".join(troubles)}' if troubles else ''
    _warn(
        f"{len(built_in)} of {len(runs)} configs keep OpenCompass's own LiveMathBenchEvaluator: its LLM "
        'judge is asked about the first sample of a question, and all n get that verdict, so that every '
        f'G-Pass@k is wrong; replies that it cannot read count as wrong answers{ends}'
    )


def _troubles(config: Mapping[str, Any]) -> Collection[str]:
    """Return what of a config with OpenCompass's own LiveMathBench ends its run."""
    (model,), (dataset,) = config['models'], config['datasets']
    found = {
        "path='' has no data": not dataset.get('path'),
        'replication is no argument any more': 'replication' in dataset,
        'max_completion_tokens is no argument any more': 'max_completion_tokens' in model,
        'use_extract_model ends in a ValueError': dataset['eval_cfg']['evaluator'].get('use_extract_model'),
    }
    return [trouble for trouble, is_there in found.items() if is_there]


def _warn_of_fixed_seeds(runs: Sequence[Run]) -> None:
    models = {run.model: run.config['models'][0] for run in runs}
    seeded = [abbr for abbr, model in models.items() if fixed_seeds(model)]
    if seeded:
        _warn(
            f'{len(seeded)} of {len(models)} models ({seeded[0]}, …) give all n samples of a question one '
            'fixed seed: the samples may be copies of each other, and G-Pass@k of copies says nothing; a '
            'template with llm_infos and axes gives each sample a seed of its own'
        )


def _warn(text: str) -> None:
    from loguru import logger  # slow to import

    logger.warning(text)


def fixed_seeds(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings in a model's config that give every request one seed.

    >>> fixed_seeds({'gen_config': {'random_seed': 42, 'top_p': 0.8}})
    {'gen_config.random_seed': 42}
    """
    places = ('gen_config', 'generation_kwargs', 'openai_extra_kwargs', 'extra_body')
    return {
        f'{place}.{name}': settings[name]
        for place in places
        for settings in [model.get(place)]
        for name in ('random_seed', 'seed')
        if isinstance(settings, Mapping) and name in settings
    }
