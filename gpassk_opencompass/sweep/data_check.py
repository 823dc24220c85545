"""Whether the questions of a sweep can be read, before anything is expanded."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..question_sets import BENCHMARKS, LIVE_MATH_BENCH_HUB, STANDARD_LANGUAGES, STANDARD_SPLITS, QuestionSet
from ..questions.benchmarks import benchmark_rows, live_math_bench_rows
from ..questions.files import read_lines
from ..questions.hub import Answer, Hub, missing_subsets, subsets_of_card
from ..questions.places import HubPart, Place, benchmark_places, live_math_bench_places
from .grid import Run

_OWN = f'{__name__.partition(".")[0]}.'
_QUESTIONS = ('type', 'path', 'benchmark', 'version', 'dataset_splits', 'dataset_languages', 'revision', 'of')
"""Fields of a data set that say which questions; data sets that agree in them are looked at once."""

OPENCOMPASS_COPIES: Mapping[str, str] = {
    'opencompass/aime2024': './data/aime.jsonl',
    'opencompass/aime2025': './data/aime2025/aime2025.jsonl',
}
"""Data that OpenCompass downloads when they are first needed: its name for them, and where it looks first."""


class DataCheck(NamedTuple):
    """What was found, a line a data set."""

    problems: list[str]
    """Why questions cannot be read."""
    unknown: list[str]
    """What could not be looked at from here."""


class _Questions(NamedTuple):
    """The questions of a data set: where they are, and how they are read."""

    source: str
    """Where they come from unless a path is given."""
    places: list[Place]
    read: Callable[[], Sequence[Any]]


def check_data(runs: Iterable[Run], variables: Mapping[str, str]) -> DataCheck:
    """Look for the questions of each data set: files of this machine are read, the hub is asked.

    Relative paths count from the directory that this is called in, as for `gpassk run`. Without a network,
    and of data sets of others, it is said that they were not looked at.

    Args:
        variables: of the environment, see `questions.hub`, and COMPASS_DATA_CACHE.
    """
    distinct: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for run in runs:
        for dataset in run.config['datasets']:
            key = json.dumps({name: dataset.get(name) for name in _QUESTIONS}, sort_keys=True, default=str)
            distinct.setdefault(key, (run.benchmark, dataset))
    hub = Hub(variables)
    found = [(label, _answer(dataset, hub, variables)) for label, dataset in distinct.values()]
    return DataCheck(
        [f'{label}: {answer.problem}' for label, answer in found if answer.problem], _unknown(found)
    )


def _unknown(found: Sequence[tuple[str, Answer]]) -> list[str]:
    """Return a line for each reason why data sets were not looked at."""
    reasons: dict[str, list[str]] = {}
    for label, answer in found:
        if answer.unknown and not answer.problem:
            reasons.setdefault(answer.unknown, []).append(label)
    return [f'{", ".join(dict.fromkeys(labels))}: {reason}' for reason, labels in reasons.items()]


def _answer(dataset: Mapping[str, Any], hub: Hub, variables: Mapping[str, str]) -> Answer:
    try:
        questions = _questions_of(dataset)
        if questions is None:
            return _of_others(dataset)
        for place in questions.places:
            if isinstance(place, Path) and not place.is_file():
                read_lines(place)  # which says what is missing, and what is there
        if all(isinstance(place, Path) for place in questions.places):
            questions.read()
            return Answer()
    except InputError as error:
        return Answer(f'{str(error).splitlines()[0]}{_from_here(dataset)}')
    except (OSError, RuntimeError) as error:  # where one may not look; `~` of nobody
        return Answer(f'cannot look at path={dataset.get("path")!r}: {error}')
    parts = [place for place in questions.places if isinstance(place, HubPart)]
    return _told(_on_hub(parts, hub, variables), parts[0], questions.source)


def _questions_of(dataset: Mapping[str, Any]) -> _Questions | None:
    """Return the questions of a data set of this package, None for any other."""
    kind = str(dataset.get('type'))
    path, revision = str(dataset.get('path', '')), dataset.get('revision')
    if not kind.startswith(_OWN):
        return None
    if kind.endswith('.LiveMathBenchDataset'):
        arguments = (
            path,
            dataset.get('version', '202412'),
            dataset.get('dataset_splits', STANDARD_SPLITS),
            dataset.get('dataset_languages', STANDARD_LANGUAGES),
            revision,
        )
        places = live_math_bench_places(*arguments)
        return _Questions(
            LIVE_MATH_BENCH_HUB, list(places.values()), lambda: live_math_bench_rows(*arguments)
        )
    name = dataset.get('benchmark')
    if not kind.endswith('.BenchmarkDataset') or not isinstance(name, str) or name not in BENCHMARKS:
        return None
    found = BENCHMARKS[name]
    if not isinstance(found, QuestionSet):
        return None
    there = list(benchmark_places(found, path, revision))
    return _Questions(found.source, there, lambda: benchmark_rows(name, path, revision=revision))


def _of_others(dataset: Mapping[str, Any]) -> Answer:
    """Say of a data set of OpenCompass what a path alone tells."""
    inner = dataset.get('of')
    path = (inner if isinstance(inner, dict) else dataset).get('path')
    if isinstance(path, str) and os.path.isabs(path) and not os.path.exists(path):
        return Answer(f'{path} does not exist')
    return Answer(unknown='a data set of OpenCompass, which finds or downloads it when it is first needed')


def _on_hub(parts: Sequence[HubPart], hub: Hub, variables: Mapping[str, str]) -> Answer:
    """Say of parts of one data set, on the hub or in a copy of it, whether they can be had."""
    first = parts[0]
    subsets = [part.subset for part in parts]
    if first.copied:
        return _in_copy(first.path, subsets)
    if first.path in OPENCOMPASS_COPIES and first.revision is None:
        places = [Path(variables.get('COMPASS_DATA_CACHE') or ''), Path('~/.cache/opencompass').expanduser()]
        if any((place / OPENCOMPASS_COPIES[first.path]).is_file() for place in places):
            return Answer()
        return Answer(
            unknown='a data set of OpenCompass, which finds or downloads it when it is first needed'
        )
    return hub.ask(first.path, subsets, first.revision)


def _in_copy(folder: str, subsets: Sequence[str | None]) -> Answer:
    try:
        card = Path(folder, 'README.md').read_text('utf-8', errors='replace')
    except OSError as error:
        return Answer(f'cannot read {folder}/README.md: {error.strerror}')
    return Answer(missing_subsets(folder, subsets, subsets_of_card(card)))


def _told(answer: Answer, part: HubPart, source: str) -> Answer:
    """Return an answer that says of another name than the usual one what it was taken for."""
    if part.copied or part.path == source:
        return answer
    taken = f'{part.path} is no folder in {os.getcwd()}, so it is taken for a data set of the hub; '
    return Answer(*(text and f'{taken}{text}' for text in answer))


def _from_here(dataset: Mapping[str, Any]) -> str:
    """Return from where a relative path was looked at; '' for any other."""
    path = str(dataset.get('path', ''))
    relative = path and not os.path.isabs(os.path.expanduser(path))
    return f' (looked for from {os.getcwd()})' if relative else ''
