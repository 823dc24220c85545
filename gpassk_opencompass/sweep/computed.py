"""A template of the older style: it computes `models` and `datasets` itself."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from ..errors import TemplateError
from ..naming.names import check_file_name
from .grid import PARTS, Run, distinct


def is_computed(variables: Mapping[str, Any]) -> bool:
    """Return whether the template computes its own models or data sets."""
    return not {'models', 'datasets'}.isdisjoint(variables)


def computed_runs(variables: Mapping[str, Any]) -> list[Run]:
    """Return a run for each model × data set, named by their abbreviations.

    Everything else that the template assigns helped to compute them and is left out, but for
    `summarizer`, `infer` and `eval`.

    Raises:
        InputError: no list of dicts, an abbreviation that is missing or cannot be a file name, two pairs
            with one name, or k > n.
    """
    models, datasets = _entries(variables, 'models'), _entries(variables, 'datasets')
    for dataset in datasets:
        _check_samples(dataset)
    parts = {name: variables[name] for name in PARTS if name in variables}
    pairs = product(models, datasets)
    runs = distinct((_run(*pair, parts) for pair in pairs), 'pairs of models and datasets')
    if any(dataset.get('n', 1) != 1 for dataset in datasets):
        _warn_of_fixed_seeds(models)
    return runs


def check_overrides(lines: Mapping[str, Any]) -> None:
    """Raise TemplateError for a line that comes too late: the template has computed its models already."""
    late = sorted(set(lines) - set(PARTS))
    if late:
        raise TemplateError(
            f'--override {late[0]}: this template computes models and datasets itself, so only '
            f'{", ".join(PARTS)} can be given; change the template'
        )


def _run(model: dict[str, Any], dataset: dict[str, Any], parts: Mapping[str, Any]) -> Run:
    length = model.get('max_out_len')
    return Run(
        file=check_file_name(f'{model["abbr"]}@{dataset["abbr"]}.py'),
        config={'models': [model], 'datasets': [dataset], **parts},
        model=model['abbr'],
        path=str(model.get('path', '')),
        benchmark=dataset['abbr'],
        settings={'max_out_len': length} if _is_whole(length) else {},
        k=_ks(dataset),
        n=dataset.get('n'),
    )


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


def _ks(dataset: Mapping[str, Any]) -> tuple[Any, ...]:
    k = dataset.get('k')
    return tuple(k) if isinstance(k, (list, tuple)) else () if k is None else (k,)


def _check_samples(dataset: Mapping[str, Any]) -> None:
    abbr, ks, n = dataset['abbr'], _ks(dataset), dataset.get('n')
    if not all(map(_is_whole, ks)):
        raise TemplateError(f'{abbr}: k = {dataset["k"]!r}; expected a whole number or a list of such')
    if n is not None and not _is_whole(n):
        raise TemplateError(f'{abbr}: n = {n!r}; expected a whole number of samples a question')
    if ks and n is not None and max(ks) > n:
        raise TemplateError(f'{abbr}: k = {max(ks)}, but n = {n}: at most n of n samples can be drawn')


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _warn_of_fixed_seeds(models: list[dict[str, Any]]) -> None:
    seeded = [model['abbr'] for model in models if fixed_seeds(model)]
    if seeded:
        from loguru import logger  # slow to import

        logger.warning(
            f'{len(seeded)} of {len(models)} models ({seeded[0]}, …) give all n samples of a question one '
            'fixed seed: the samples may be copies of each other, and G-Pass@k of copies says nothing; a '
            'template with llm_infos and axes gives each sample a seed of its own'
        )


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
