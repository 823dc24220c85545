"""Results in the files of Every Eval Ever, schema 0.3.0: one JSON of scores a run, and a line a sample.

    <folder>/data/<benchmark>/<developer>/<model>/<uuid>.json
    <folder>/data/<benchmark>/<developer>/<model>/<uuid>_samples.jsonl

This is how its datastore wants them. The uuid is made of what the run is, so a run that is exported once more
replaces its own files.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ..errors import InputError
from ..files import keep_mode, mapping
from ..naming.names import MAX_MODEL, cut
from ..results.record import digest_of
from ..results.result import Result, model_settings
from ..unseen import json_text, with_whole_characters
from ..version import __version__
from .eee_samples import sample_lines
from .eee_scores import Json, scores_in
from .runs import UNKNOWN, begun

SCHEMA_VERSION = '0.3.0'
"""Version of the two schemas, of scores and of samples."""

RELATIONSHIPS = ('first_party', 'third_party', 'collaborative', 'other')
"""Of who evaluated to who made the model."""

_ENGINES = {'vllm': 'vLLM', 'lmdeploy': 'LMDeploy', 'transformers': 'transformers'}
"""Package → the engine that it is; the first of which a version is known sampled."""

_RESERVED = re.compile(r'(?i)(?:con|prn|aux|nul|com[1-9]|lpt[1-9]|data)(?:\..*)?')
"""Names that no folder of the datastore may have."""


@dataclass(frozen=True)
class Evaluator:
    """What the files of Every Eval Ever say that no record tells.

    Args:
        organization: who evaluated.
        relationship: one of `RELATIONSHIPS`.
        model_ids: name of a model → its id, `<developer>/<model>`.
        level: of confidence of the intervals.
        responses: write the whole responses.
    """

    organization: str = UNKNOWN
    relationship: str = 'other'
    model_ids: Mapping[str, str] = field(default_factory=dict)
    level: float = 0.95
    responses: bool = False


def write_eee(result: Result, folder: Path, evaluator: Evaluator = Evaluator()) -> list[Path]:
    """Write the files of a run, and return them: first the samples, where they are known, then the scores.

    A result of counts alone has no file of samples.

    Args:
        folder: in which `data/` is; made where it is not there.

    Raises:
        InputError: a file cannot be written, or the responses are not there.
    """
    identity = evaluation_id(result)
    model = model_info(result, evaluator.model_ids)
    place = PurePosixPath('data', *_components(result, model['id']))
    name = str(uuid.UUID(bytes=hashlib.sha256(identity.encode()).digest()[:16], version=4))
    record: Json = {
        'schema_version': SCHEMA_VERSION,
        'evaluation_id': identity,
        'retrieved_timestamp': str(int(time.time())),
        **_moment(result),
        'source_metadata': {
            'source_name': 'gpassk_opencompass',
            'source_type': 'evaluation_run',
            'source_organization_name': evaluator.organization,
            'evaluator_relationship': evaluator.relationship,
        },
        'eval_library': _library(result),
        'model_info': model,
        'evaluation_results': scores_in(result, identity, evaluator.level),
    }
    written = []
    if result.verdicts:
        linked = {name: record[name] for name in ('schema_version', 'evaluation_id')}
        lines = sample_lines(result, {**linked, 'model_id': model['id']}, evaluator.responses)
        target = place / f'{name}_samples.jsonl'
        digest, rows = _write(folder / target, lines)
        record['detailed_evaluation_results'] = {
            'format': 'jsonl',
            'file_path': str(target),
            'hash_algorithm': 'sha256',
            'checksum': digest,
            'total_rows': rows,
        }
        written.append(folder / target)
    text = json_text(with_whole_characters(record), indent=2)
    _write(folder / place / f'{name}.json', [f'{text}\n'])
    return [*written, folder / place / f'{name}.json']


def evaluation_id(result: Result) -> str:
    """Return an id that is the same for the same run, and another one for every other run.

    It is made of the names in the record, not of the id that somebody gives the model.
    """
    told = [
        *(result.host, result.model_abbr, result.dataset_abbr, result.data, result.judge_digest),
        *(result.signature, result.n, begun(result), result.counts.tolist()),
    ]
    return f'{result.dataset_abbr}/{result.model_abbr}/{digest_of(told)[:16]}'


def model_info(result: Result, ids: Mapping[str, str]) -> Json:
    """Return which model it is, as far as the record tells.

    Args:
        ids: name of a model → `<developer>/<model>`.
    """
    told = mapping(result.block.get('provenance'))
    versions = mapping(told.get('versions'))
    engine = next((name for name in _ENGINES if versions.get(name)), None)
    model = ids.get(result.model) or _hub_name(result) or f'{UNKNOWN}/{result.model}'
    developer = model.partition('/')[0]
    return {
        'name': result.model,
        'id': model,
        **({'developer': developer} if developer != UNKNOWN else {}),
        **({'inference_engine': {'name': _ENGINES[engine], 'version': versions[engine]}} if engine else {}),
        'additional_details': {
            # An engine with a version of its own on this side is one that somebody ran; servers are unknown.
            'deployment_type': 'self_deployed' if engine else UNKNOWN,
            'model_availability': UNKNOWN,
            'run': result.model_abbr,
        },
    }


def _hub_name(result: Result) -> str:
    """Return what the hub calls the model, where the record tells that it came from there; else ''."""
    files = mapping(mapping(result.block.get('provenance')).get('files')).get('path')
    of_hub = set(mapping(files)) == {'commit'}
    path = str(model_settings(result.block).get('path')) if of_hub else result.whole_name
    return path if re.fullmatch(r'\w[\w.-]*/[\w.-]+', path) else ''


def _library(result: Result) -> Json:
    """Return who made the scores, and which program sampled."""
    versions = mapping(result.block.get('versions'))
    others = {name: str(number) for name, number in versions.items() if name != 'gpassk_opencompass'}
    return {
        'name': 'gpassk_opencompass',
        'version': str(versions.get('gpassk_opencompass') or UNKNOWN),
        'additional_details': {
            'host': result.host,
            'signature': result.signature,
            'exported_by': f'gpassk_opencompass {__version__}',
            **({'versions': json_text(others)} if others else {}),
        },
    }


def _moment(result: Result) -> dict[str, str]:
    seconds = begun(result)
    return {} if seconds is None else {'evaluation_timestamp': str(int(seconds))}


def _components(result: Result, model: str) -> tuple[str, str, str]:
    """Return the folders of a run: benchmark, developer and model."""
    developer, _, name = model.partition('/')
    return _folder(result.benchmark), _folder(developer), _folder(name)


def _folder(name: str) -> str:
    r"""Return a name that every file system and the datastore take for one folder.

    >>> _folder('a/b:c'), _folder('data'), _folder('..')
    ('a_b_c', '_data', '_')
    """
    plain = re.sub(r'[<>:"/\\|?*\x00-\x1f]', '_', with_whole_characters(name)).rstrip('. ') or '_'
    return cut(f'_{plain}' if _RESERVED.fullmatch(plain) else plain, MAX_MODEL)


def _write(path: Path, lines: Iterable[str]) -> tuple[str, int]:
    """Write a file in one step, and return its SHA-256 and how many lines were given."""
    draft = path.with_name(f'.writing-{os.getpid()}')
    digest, count = hashlib.sha256(), 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open('wb') as file:
            for line in lines:
                content = line.encode()
                digest.update(content)
                file.write(content)
                count += 1
        keep_mode(path, draft)
        draft.replace(path)
    except OSError as error:
        raise InputError(f'cannot write {path}: {error.strerror}') from error
    finally:
        with suppress(OSError):  # it is in its place, or never was
            draft.unlink()
    return digest.hexdigest(), count


def check_model_ids(ids: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return name of a model → id.

    Raises:
        InputError: an id is none of the form `<developer>/<model>`, or a model has two.
    """
    found: dict[str, str] = {}
    for name, model in ids:
        if not re.fullmatch(r'[^/\s]+(/[^/\s]+)+', model):
            raise InputError(f'--model-id {name}={model}: expected NAME=DEVELOPER/MODEL')
        if found.setdefault(name, model) != model:
            raise InputError(f'--model-id {name}: it is given as {found[name]} and as {model}')
    return found
