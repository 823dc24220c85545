"""Are these predictions what the data set and the config ask for now?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opencompass.utils import get_logger

from ..errors import IncompleteError
from ..files import PROVENANCE
from .asked import asked_of, check_fingerprints, check_rows, fingerprints_digest, sample_of_row
from .provenance import (
    Provenance,
    Task,
    current_task,
    difference,
    files_of,
    kept_tasks,
    read_provenance,
)
from .seals import Predictions


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
        `provenance` for the block `gpassk` of the result: what the samples were drawn with and when, a digest
        of their fingerprints, and warnings.

    Raises:
        IncompleteError: a file was changed since it was written, or something else differs; it says what.
    """
    if not found.rows:  # the caller has responses from elsewhere
        return {}
    task = current_task(out, 'results', kept=True)
    template = {} if task is None else task.inference_settings
    asked = asked_of(rows, _references(task, rows, references), template)

    def where(number: int) -> str:
        path, own = found.places[number]
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
    for warning in warnings:
        get_logger().warning(f'{out.name}: {warning}')
    return {'provenance': _told(known, found, warnings)}


def _check_count(found: Predictions, rows: Any) -> None:
    if len(found.rows) == len(rows):
        return
    counts = Counter(path.name for path, _ in found.places)
    held = ', '.join(f'{name} has {count}' for name, count in counts.items())
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
    now = files_of(known.model)
    local = {name: was for name, was in known.files.items() if name in now and 'commit' not in was}
    changed = difference(local, {name: now[name] for name in local})
    return f'.files{changed}' if changed else ''


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
