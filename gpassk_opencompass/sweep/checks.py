"""What of a sweep cannot be had on this machine: questions, model files, keys, tokenizers."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..benchmarks import HubPart, dataset_rows, is_cached, places_of, question_set
from ..errors import InputError
from ..serving import judges_missing_here
from .engines import OWN, TOKENIZER
from .folder import SweepRun

_SECONDS = 4.0
"""How long a server is waited for."""
OPENCOMPASS_COPIES: Mapping[str, str] = {
    'opencompass/aime2024': './data/aime.jsonl',
    'opencompass/aime2025': './data/aime2025/aime2025.jsonl',
}
"""Data that OpenCompass downloads when they are first needed: its name for them, and where it looks first."""
_ENCODINGS = 'https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken'
"""What tiktoken downloads for the tokens of gpt-4o."""
_OF_RUNS = {'abbr', 'k', 'n', 'limit', 'cot', 'reader_cfg', 'infer_cfg', 'eval_cfg'}
"""Fields of a data set that do not say which questions it has."""
_ITS_MATTER = 'a data set of OpenCompass, which finds or downloads it when it is first needed'


class _Unknown(Exception):
    """It cannot be told from here whether a data set can be had."""


def check(runs: Iterable[SweepRun]) -> tuple[list[str], list[str]]:
    """Look for what the runs need: files of this machine are read, the hub is asked.

    Relative paths count from the directory that this is called in, as for `gpassk run`. Returned are why
    questions cannot be read; and what could not be looked at, or may be there where the runs are.
    """
    runs, problems, unknown = list(runs), [], dict[str, list[str]]()
    hub = _Hub()
    distinct: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for run in runs:
        for dataset in run.config['datasets']:
            of_questions = {name: value for name, value in dataset.items() if name not in _OF_RUNS}
            distinct.setdefault(json.dumps(of_questions, default=str), (run.entry.benchmark, dataset))
    for label, dataset in distinct.values():
        path = str(dataset.get('path', ''))
        try:
            _look_for(dataset, path, hub)
        except _Unknown as error:
            unknown.setdefault(str(error), []).append(label)
        except InputError as error:
            said = str(error).splitlines()[0]
            if path and 'huggingface' not in str(error) and not os.path.isabs(os.path.expanduser(path)):
                said += f' (looked for from {os.getcwd()})'
            problems.append(f'{label}: {said}')
        except (OSError, RuntimeError) as error:  # where one may not look; `~` of nobody
            problems.append(f'{label}: cannot look at path={path!r}: {error}')
    notes = [f'data not checked: {", ".join(labels)}: {reason}' for reason, labels in unknown.items()]
    return problems, [*notes, *dict.fromkeys(_missing(runs))]


def _look_for(dataset: Mapping[str, Any], path: str, hub: _Hub) -> None:
    """Raise InputError if the questions of a data set cannot be had, _Unknown if that cannot be told."""
    if dataset.get('type') not in (f'{OWN}LiveMathBenchDataset', f'{OWN}BenchmarkDataset'):
        if os.path.isabs(path) and not os.path.exists(path):
            raise InputError(f'{path} does not exist')
        raise _Unknown(_ITS_MATTER)
    questions, revision = question_set(dataset), dataset.get('revision')
    parts = [place for place in places_of(questions, path, revision) if isinstance(place, HubPart)]
    if not parts:
        dataset_rows(dataset)
    elif (copy := OPENCOMPASS_COPIES.get(parts[0].path)) and revision is None:
        homes = [Path(os.environ.get('COMPASS_DATA_CACHE') or ''), Path('~/.cache/opencompass').expanduser()]
        if not any((home / copy).is_file() for home in homes):
            raise _Unknown(_ITS_MATTER)
    elif not parts[0].copied:
        taken = f'{path} is no folder in {os.getcwd()}, so it is taken for a data set of the hub; '
        hub.ask(parts, '' if path == questions.source else taken)


class _Hub:
    """The hub, asked through `huggingface_hub`; once it cannot be reached, it is not asked again."""

    silent = ''

    def ask(self, parts: Sequence[HubPart], taken: str) -> None:
        """Raise InputError, which begins with `taken`, if parts of a data set cannot be had, or _Unknown."""
        name, revision = parts[0].path, parts[0].revision
        if self.silent:
            raise _Unknown(self.silent)
        try:
            import huggingface_hub  # slow to import, and not needed for files
            from huggingface_hub import errors
        except ModuleNotFoundError:
            self.silent = 'huggingface_hub is not installed here'
            raise _Unknown(self.silent) from None
        page = f'https://huggingface.co/datasets/{name}'
        advice, private = f'your token has no access: ask for it at {page}', ''
        if not huggingface_hub.get_token():
            advice = f'there is no token here: ask for access at {page}, then export HF_TOKEN=…'
            private = ', or it is private and there is no token here (HF_TOKEN)'
        said: dict[Any, str] = {
            errors.GatedRepoError: f'{name} is gated, and {advice}',
            errors.RevisionNotFoundError: f'{name} has no revision {revision!r} on the hub',
            errors.RepositoryNotFoundError: f'the hub has no data set {name}{private}',
        }
        try:
            api = huggingface_hub.HfApi(endpoint=os.environ.get('HF_ENDPOINT') or None)
            info = api.dataset_info(name, revision=revision, timeout=_SECONDS)
            if info.gated:
                api.auth_check(name, repo_type='dataset')
        except tuple(said) as error:
            if revision is None and all(map(is_cached, parts)):
                return
            why = next(text for kind, text in said.items() if isinstance(error, kind))
            raise InputError(f'{taken}{why}') from None
        except errors.HfHubHTTPError as error:
            raise _Unknown(f'the hub refuses ({type(error).__name__})') from None
        except Exception as error:  # of requests or httpx; their texts may have the token in them
            self.silent = f'the hub cannot be reached ({type(error).__name__})'
            raise _Unknown(self.silent) from None
        configs = info.card_data.get('configs') if info.card_data else None
        known = [str(one.get('config_name')) for one in configs or () if isinstance(one, dict)]
        if known and (missing := [str(part.subset) for part in parts if part.subset not in (None, *known)]):
            raise InputError(f'{taken}{name} has no subset {", ".join(missing)}, only {", ".join(known)}')


def _missing(runs: Sequence[SweepRun]) -> Iterator[str]:
    """Yield what models need and this machine does not have: weights, keys, a tokenizer."""
    counts_with_ours = False
    for run in runs:
        for model in run.config['models']:
            kind, path = str(model.get('type', '')), str(model.get('path', ''))
            loads = kind.startswith(OWN) and not kind.endswith(('.SeededOpenAISDK', '.SeededTurboMindAPI'))
            if loads and path.startswith(('/', './', '../')) and not os.path.exists(path):
                yield f'{path} does not exist here (the path of {run.entry.model})'
            variable = model.get('key_env') or ('OPENAI_API_KEY' if model.get('key') == 'ENV' else '')
            if variable and not os.environ.get(variable):
                yield f'${variable} is not set here: {run.entry.model} is asked with the key in it'
            counts_with_ours |= model.get('tokenizer_path') == TOKENIZER and kind.endswith('.SeededOpenAISDK')
    served = [run.config for run in runs if 'judge_serve' in str(run.config['datasets'])]
    yield from (f'no judge here, gpassk run would refuse: {line}' for line in judges_missing_here(served))
    folder = os.environ.get('TIKTOKEN_CACHE_DIR') or os.environ.get('DATA_GYM_CACHE_DIR')
    folder = folder or os.path.join(os.path.realpath('/tmp'), 'data-gym-cache')
    if counts_with_ours and not Path(folder, hashlib.sha1(_ENCODINGS.encode()).hexdigest()).exists():
        yield (
            f'prompts are counted with the tokenizer of {TOKENIZER}, which is downloaded when it is first '
            "needed; without a network give tokenizer_path='…', a hub name or a folder with a tokenizer"
        )
