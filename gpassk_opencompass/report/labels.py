"""What runs are called beside each other: the model, and the settings that tell its runs apart."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from ..adapter import limits_line, sizes_name
from ..record import Result
from .greedy_runs import ON_HUB

SHORT = {
    'temperature': 't',
    'top_p': 'p',
    'top_k': 'top-k',
    'repetition_penalty': 'rp',
    'random_seed': 'seed',
    'max_out_len': 'len',
}
"""Settings of the sampling as they stand in labels, in this order."""

_RUN = ('smaller', 'host', 'path', 'n', 'k')
"""What else may tell runs apart, in this order."""

_PLAIN = frozenset({'host', 'path', 'smaller'})
"""Facts that speak for themselves: without their name before them."""

_Facts = Mapping[str, str]


class Label(NamedTuple):
    """What a run is called.

    model: its name, without settings; with its owner where models of one name are of several.
    settings: those in which the runs differ, by their names; a run that does not tell one lacks it. `host`,
        `path` (the part of the model's path that is its own), `n`, `k` and `smaller` (how it was made
        smaller) stand among them where runs differ in them.
    text: the model with as few settings as tell all runs apart: those in which runs of one model differ.
    """

    model: str
    settings: Mapping[str, str]
    text: str


def labels_of(results: Sequence[Result]) -> list[Label]:
    """Return what results are called beside each other, in their order.

    What a run was drawn with counts, not its name: manifest, record and abbreviation tell it. A run that
    tells no settings changes no label of another. All results of one run, on several benchmarks, have the
    same label; different runs on one benchmark have different ones, if need be with a number.
    """
    numbers = _runs(results)
    firsts = [results[own[0]] for own in numbers]
    models, facts = _models(firsts), _facts(firsts)
    differing = [name for name in (*SHORT, *_RUN) if len(_values(facts, name)) > 1]
    texts = _texts(models, facts)
    labels: dict[int, Label] = {}
    for own, model, told, text in zip(numbers, models, facts, texts, strict=True):
        settings = {name: told[name] for name in differing if name in told}
        labels |= dict.fromkeys(own, Label(model, settings, text))
    return _numbered([labels[number] for number in range(len(results))], results)


def between_models(results: Sequence[Result]) -> list[str]:
    """Return the settings in which models differ and the runs of each do not, so that no label has them."""
    facts = _facts(results)
    inside = _inside(_models(results), facts)
    return [name for name in SHORT if len(_values(facts, name)) > 1 and name not in inside]


def shared(results: Sequence[Result]) -> dict[str, str]:
    """Return the settings that all runs have which tell any, as they are written."""
    facts = [one for one in map(_settings, results) if one]
    return {
        name: value
        for name, value in (facts[0] if facts else {}).items()
        if all(name in f for f in facts) and len(_values(facts, name)) == 1
    }


def varying(results: Iterable[Result]) -> list[str]:
    """Return the settings of the sampling in which some of the runs differ that tell any."""
    told = [one for one in map(_settings, results) if one]
    return [name for name in SHORT if len({one.get(name) for one in told}) > 1]


def written(result: Result, fields: Iterable[str]) -> str:
    """Return some settings of a run in few letters: 't=0.3 p=0.8'."""
    settings = _settings(result)
    return ' '.join(_said(name, settings[name]) for name in fields if name in settings)


def _runs(results: Sequence[Result]) -> list[list[int]]:
    """Return the numbers of the results of each run; those of one name with other k or n are two."""
    names = [(one.run.host, one.run.model, one.model_path, str(_settings(one))) for one in results]
    times = Counter((one.benchmark, one.judge_digest, name) for one, name in zip(results, names, strict=True))
    several = {name for (_, _, name), count in times.items() if count > 1}
    runs: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, (one, name) in enumerate(zip(results, names, strict=True)):
        runs[(*name, sizes_name(one)) if name in several else name].append(number)
    return list(runs.values())


def _models(results: Sequence[Result]) -> list[str]:
    """Return what the models are called: with their owners where there are several of one name."""
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for one in results:
        owners[one.model] |= {one.model_path} - {''}
    several = {
        model for model, paths in owners.items() if len(paths) > 1 and all(map(ON_HUB.fullmatch, paths))
    }
    return [
        f'{one.model_path.partition("/")[0]}/{one.model}'
        if one.model in several and one.model_path
        else one.model
        for one in results
    ]


def _facts(results: Sequence[Result]) -> list[_Facts]:
    """Return what may tell runs apart, each as it is written."""
    return [
        _settings(one)
        | ({'path': path} if path else {})
        | ({'smaller': f'({limits_line(one)})'} if one.limits else {})
        | {'host': one.run.host, 'n': str(one.n), 'k': '_'.join(map(str, one.ks))}
        for one, path in zip(results, _places(results), strict=True)
    ]


def _settings(result: Result) -> dict[str, str]:
    sampling = result.sampling
    return {
        name: str(sampling[name]) if isinstance(sampling[name], int) else f'{sampling[name]:g}'
        for name in SHORT
        if name in sampling
    }


def _places(results: Sequence[Result]) -> list[str]:
    """Return of each model's path the part in which it differs from those of other models of this name.

    >>> from types import SimpleNamespace as Of
    >>> _places([Of(model='m', model_path=path) for path in ('/a/step-1/m', '/a/step-2/m', '')])
    ['step-1', 'step-2', '']
    """
    paths = [tuple(filter(None, one.model_path.split('/'))) for one in results]
    known: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for one, path in zip(results, paths, strict=True):
        known[one.model] |= {path} - {()}
    before = {model: _alike(own) for model, own in known.items()}
    after = {model: _alike(path[::-1] for path in own) for model, own in known.items()}
    return [
        '/'.join(path[before[one.model] : max(len(path) - after[one.model], before[one.model] + 1)])
        if len(known[one.model]) > 1
        else ''
        for one, path in zip(results, paths, strict=True)
    ]


def _alike(paths: Iterable[Sequence[str]]) -> int:
    """Return how many parts all paths have alike, from the first."""
    return len(list(takewhile(lambda parts: len(set(parts)) == 1, zip(*paths, strict=False))))


def _values(facts: Iterable[_Facts], name: str) -> set[str]:
    return {one[name] for one in facts if name in one}


def _inside(models: Sequence[str], facts: Sequence[_Facts]) -> set[str]:
    """Return what runs of one model differ in; those that tell no settings do not count for these."""
    members: defaultdict[tuple[str, str], set[str | None]] = defaultdict(set)
    for model, told in zip(models, facts, strict=True):
        settings = SHORT if any(name in told for name in SHORT) else {}
        for name in (*settings, 'host'):
            members[model, name].add(told.get(name))
    return {name for (_, name), values in members.items() if len(values) > 1}


def _texts(models: Sequence[str], facts: Sequence[_Facts]) -> list[str]:
    """Return the texts of labels: what runs of one model differ in, and more where texts are still alike."""
    texts, always = list(models), {*_inside(models, facts), 'smaller'}
    for name in (name for name in (*SHORT, *_RUN) if name in always):
        texts = [_with(text, name, told) for text, told in zip(texts, facts, strict=True)]
    for name in (name for name in (*SHORT, *_RUN) if name not in always):
        values: defaultdict[str, set[str | None]] = defaultdict(set)
        for text, told in zip(texts, facts, strict=True):
            values[text].add(told.get(name))
        texts = [
            _with(text, name, told) if len(values[text]) > 1 else text
            for text, told in zip(texts, facts, strict=True)
        ]
    return texts


def _with(text: str, name: str, told: _Facts) -> str:
    return f'{text} {_said(name, told[name])}' if name in told else text


def _said(name: str, value: str) -> str:
    return value if name in _PLAIN else f'{SHORT.get(name, name)}={value}'


def _numbered(labels: Sequence[Label], results: Sequence[Result]) -> list[Label]:
    """Return the labels with a number behind the second, third, … of a text on one benchmark."""
    seen: Counter[tuple[str, ...]] = Counter()
    told = []
    for label, one in zip(labels, results, strict=True):
        place = (one.benchmark, one.data.sha256, one.judge_digest, label.text)
        seen[place] += 1
        told.append(label._replace(text=f'{label.text} ({seen[place]})') if seen[place] > 1 else label)
    return told
