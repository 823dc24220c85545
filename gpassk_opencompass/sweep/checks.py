"""What of a sweep cannot be had on this machine: questions, model files, keys, tokenizers."""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..benchmarks import (
    BENCHMARKS,
    LIVE_MATH_BENCH_HUB,
    STANDARD_LANGUAGES,
    STANDARD_SPLITS,
    HubPart,
    Place,
    QuestionSet,
    benchmark_places,
    benchmark_rows,
    live_math_bench_places,
    live_math_bench_rows,
    own_benchmark,
    read_lines,
)
from ..errors import InputError
from .engines import TOKENIZER
from .folder import Run

_OWN = f'{__name__.partition(".")[0]}.'
_QUESTIONS = (
    *('type', 'path', 'benchmark', 'fields', 'version', 'dataset_splits', 'dataset_languages', 'revision'),
)
"""Fields of a data set that say which questions; data sets that agree in them are looked at once."""
_SECONDS = 4.0
"""How long a server is waited for."""

OPENCOMPASS_COPIES: Mapping[str, str] = {
    'opencompass/aime2024': './data/aime.jsonl',
    'opencompass/aime2025': './data/aime2025/aime2025.jsonl',
}
"""Data that OpenCompass downloads when they are first needed: its name for them, and where it looks first."""
_ITS_MATTER = 'a data set of OpenCompass, which finds or downloads it when it is first needed'

_ENCODINGS = 'https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken'
"""What tiktoken downloads for the tokens of gpt-4o."""


_NO_TOKENIZER = (
    f'prompts are counted with the tokenizer of {TOKENIZER}, which is not on this machine and cannot be '
    "fetched from here: give tokenizer_path='…', a hub name or a folder with a tokenizer"
)


class Checked(NamedTuple):
    """What was found, a line each."""

    problems: list[str]
    """Why questions cannot be read."""
    notes: list[str]
    """What could not be looked at from here, and what is missing here but may be there where it is run."""


class _Answer(NamedTuple):
    """What is known of a data set; both are '' where it can be had."""

    problem: str = ''
    unknown: str = ''


def check(runs: Iterable[Run]) -> Checked:
    """Look for what the runs need: files of this machine are read, the hub is asked.

    Relative paths count from the directory that this is called in, as for `gpassk run`.
    """
    runs = list(runs)
    distinct: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for run in runs:
        for dataset in run.config['datasets']:
            key = json.dumps({name: dataset.get(name) for name in _QUESTIONS}, sort_keys=True, default=str)
            distinct.setdefault(key, (run.benchmark, dataset))
    hub, problems = _Hub(), []
    unknown: dict[str, list[str]] = {}
    for label, dataset in distinct.values():
        answer = _answer(dataset, hub)
        if answer.problem:
            problems.append(f'{label}: {answer.problem}')
        if answer.unknown:
            unknown.setdefault(answer.unknown, []).append(label)
    notes = [f'data not checked: {", ".join(labels)}: {reason}' for reason, labels in unknown.items()]
    return Checked(problems, [*notes, *dict.fromkeys(_missing(runs))])


def _missing(runs: Sequence[Run]) -> Iterator[str]:
    """Yield what models need and this machine does not have: weights, keys, a tokenizer."""
    has_tokenizer: bool | None = None
    for run in runs:
        for model in run.config['models']:
            kind, path = str(model.get('type', '')), str(model.get('path', ''))
            loads = kind.startswith(_OWN) and not kind.endswith(('.SeededOpenAISDK', '.SeededTurboMindAPI'))
            if loads and path.startswith(('/', './', '../')) and not os.path.exists(path):
                yield f'{path} does not exist here (the path of {run.model})'
            variable = model.get('key_env') or ('OPENAI_API_KEY' if model.get('key') == 'ENV' else '')
            if variable and not os.environ.get(variable):
                yield f'${variable} is not set here: {run.model} is asked with the key in it'
            if model.get('tokenizer_path') == TOKENIZER and kind.endswith('.SeededOpenAISDK'):
                has_tokenizer = _has_tokenizer() if has_tokenizer is None else has_tokenizer
                if not has_tokenizer:
                    yield _NO_TOKENIZER


def _has_tokenizer() -> bool:
    """Return whether tiktoken has the encoding in its cache, or can be expected to fetch it."""
    folder = os.environ.get('TIKTOKEN_CACHE_DIR') or os.environ.get('DATA_GYM_CACHE_DIR')
    folder = folder or os.path.join(os.path.realpath('/tmp'), 'data-gym-cache')
    if Path(folder, hashlib.sha1(_ENCODINGS.encode()).hexdigest()).exists():
        return True
    if any(os.environ.get(name) for name in ('HTTPS_PROXY', 'https_proxy', 'ALL_PROXY')):
        return True  # which may reach what this machine does not
    try:
        socket.create_connection((_ENCODINGS.split('/')[2], 443), _SECONDS).close()
    except OSError:
        return False
    return True


def _answer(dataset: Mapping[str, Any], hub: _Hub) -> _Answer:
    path = str(dataset.get('path', ''))
    try:
        questions = _questions_of(dataset)
        if questions is None:
            missing = os.path.isabs(path) and not os.path.exists(path)
            return _Answer(f'{path} does not exist') if missing else _Answer(unknown=_ITS_MATTER)
        source, places, read = questions
        for place in places:
            if isinstance(place, Path) and not place.is_file():
                read_lines(place)  # which says what is missing, and what is there
        parts = [place for place in places if isinstance(place, HubPart)]
        if not parts:
            read()
            return _Answer()
    except InputError as error:
        relative = path and not os.path.isabs(os.path.expanduser(path))
        here = f' (looked for from {os.getcwd()})' if relative else ''
        return _Answer(f'{str(error).splitlines()[0]}{here}')
    except (OSError, RuntimeError) as error:  # where one may not look; `~` of nobody
        return _Answer(f'cannot look at path={path!r}: {error}')
    answer = _on_hub(parts, hub)
    if parts[0].copied or parts[0].path == source:
        return answer
    taken = f'{parts[0].path} is no folder in {os.getcwd()}, so it is taken for a data set of the hub; '
    return _Answer(*(text and f'{taken}{text}' for text in answer))


def _questions_of(
    dataset: Mapping[str, Any],
) -> tuple[str, list[Place], Callable[[], Sequence[Any]]] | None:
    """Return the usual source of a data set of ours, where its questions are, and how they are read."""
    kind, path, revision = str(dataset.get('type')), str(dataset.get('path', '')), dataset.get('revision')
    if kind == f'{_OWN}LiveMathBenchDataset':
        splits = dataset.get('dataset_splits', STANDARD_SPLITS)
        languages = dataset.get('dataset_languages', STANDARD_LANGUAGES)
        told = path, dataset.get('version', '202412'), splits, languages, revision
        places = list(live_math_bench_places(*told).values())
        return LIVE_MATH_BENCH_HUB, places, lambda: live_math_bench_rows(*told)
    name, fields = str(dataset.get('benchmark')), dataset.get('fields')
    found = own_benchmark(name, path, fields) if fields else BENCHMARKS.get(name)
    if kind != f'{_OWN}BenchmarkDataset' or not isinstance(found, QuestionSet):
        return None
    read = lambda: benchmark_rows(name, path, revision=revision, fields=fields)  # noqa: E731
    return found.source, list(benchmark_places(found, path, revision)), read


def _on_hub(parts: Sequence[HubPart], hub: _Hub) -> _Answer:
    """Say of parts of one data set, on the hub or in a copy of it, whether they can be had."""
    first, subsets = parts[0], [part.subset for part in parts]
    if first.copied:
        try:
            card = Path(first.path, 'README.md').read_text('utf-8', errors='replace')
        except OSError as error:
            return _Answer(f'cannot read {first.path}/README.md: {error.strerror}')
        head = card[3:].partition('\n---')[0]
        known = re.findall(r'^[ \t-]*config_name:[ \t]*["\']?([^"\'\s#]+)', head, re.MULTILINE)
        return _Answer(_missing_subsets(first.path, subsets, known))
    if first.path in OPENCOMPASS_COPIES and first.revision is None:
        places = [Path(os.environ.get('COMPASS_DATA_CACHE') or ''), Path('~/.cache/opencompass').expanduser()]
        there = any((place / OPENCOMPASS_COPIES[first.path]).is_file() for place in places)
        return _Answer() if there else _Answer(unknown=_ITS_MATTER)
    return hub.ask(first.path, subsets, first.revision)


def _missing_subsets(name: str, wanted: Sequence[str | None], known: Sequence[str]) -> str:
    missing = [subset for subset in wanted if subset is not None and subset not in known]
    return f'{name} has no subset {", ".join(missing)}, only {", ".join(known)}' if known and missing else ''


class _Hub:
    """The hub, asked through `huggingface_hub`; once it cannot be reached, it is not asked again."""

    def __init__(self) -> None:
        offline = (name for name in ('HF_HUB_OFFLINE', 'HF_DATASETS_OFFLINE')
                   if os.environ.get(name, '').upper() in ('1', 'ON', 'YES', 'TRUE'))  # fmt: skip
        self._silent = next((f'{name} is set' for name in offline), '')

    def ask(self, name: str, subsets: Sequence[str | None], revision: str | None) -> _Answer:
        """Say whether a data set can be had, with these subsets; None is the only one."""
        if revision is None and all(_is_cached(name, subset) for subset in subsets):
            return _Answer()
        if self._silent:
            return _Answer(unknown=self._silent)
        try:
            import huggingface_hub  # slow to import, and not needed for files
            from huggingface_hub import errors
        except ModuleNotFoundError:
            self._silent = 'huggingface_hub is not installed here'
            return _Answer(unknown=self._silent)
        token = huggingface_hub.get_token()
        page = f'https://huggingface.co/datasets/{name}'
        advice = f'your token has no access: ask for it at {page}'
        private = ''
        if not token:
            advice = f'there is no token here: ask for access at {page}, then run `hf auth login` or '
            advice += 'export HF_TOKEN=…'
            private = ', or it is private and there is no token here (HF_TOKEN)'
        told = {
            errors.GatedRepoError: f'{name} is gated, and {advice}',
            errors.RevisionNotFoundError: f'{name} has no revision {revision!r} on the hub',
            errors.RepositoryNotFoundError: f'the hub has no data set {name}{private}',
        }
        try:
            api = huggingface_hub.HfApi(endpoint=os.environ.get('HF_ENDPOINT') or None)
            info = api.dataset_info(name, revision=revision, timeout=_SECONDS)
            if info.gated:
                api.auth_check(name, repo_type='dataset')
        except errors.HfHubHTTPError as error:
            said = next((text for kind, text in told.items() if isinstance(error, kind)), '')
            return _Answer(said, '' if said else f'the hub refuses ({type(error).__name__})')
        except (
            Exception
        ) as error:  # requests or httpx, by the version; their texts may have the token in them
            self._silent = f'the hub cannot be reached ({type(error).__name__})'
            return _Answer(unknown=self._silent)
        configs = info.card_data.get('configs') if info.card_data else None
        known = [str(one.get('config_name')) for one in configs or () if isinstance(one, dict)]
        return _Answer(_missing_subsets(name, subsets, known))


def _is_cached(name: str, subset: str | None) -> bool:
    """Return whether `datasets` has prepared it."""
    home = os.environ.get('HF_HOME') or os.path.join(
        os.environ.get('XDG_CACHE_HOME') or '~/.cache', 'huggingface'
    )
    cache = Path(os.environ.get('HF_DATASETS_CACHE') or os.path.join(os.path.expandvars(home), 'datasets'))
    owner, _, own = name.rpartition('/')
    snake = re.sub(r'([a-z\d])([A-Z])', r'\1_\2', re.sub(r'([A-Z]+)([A-Z][a-z])', r'\1_\2', own)).lower()
    folder = cache.expanduser() / f'{owner}___{snake}' / (subset or 'default')
    try:
        return any(folder.glob('*/*/dataset_info.json'))
    except OSError:
        return False
