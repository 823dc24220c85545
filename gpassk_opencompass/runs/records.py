"""Whether a result file is what a config asks for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import mapping, read_json
from ..judges.build import own_name
from ..results.read import read, result_of
from .changes import Change
from .config_file import Config, dicts_of
from .plan import Wanted
from .state import State
from .work_dir import TimeDir

PARTS = ('first', 'second')
"""Fields of a cascade, in its config and in its identity, that are judges themselves."""


def state_of_result(path: Path, wanted: Wanted, time_dir: TimeDir, change: Change) -> tuple[State, str]:
    """Complete, or what speaks against that.

    What the result says of itself goes before what the configs say: a directory can be resumed with a
    changed config, which leaves a finished result as it is.
    """
    try:
        record = mapping(read_json(path))
    except (OSError, ValueError):
        record = {}  # `read` says what is wrong with it
    if 'error' in record:
        return State.FAILED, f'the evaluation returned an error: {record["error"]}'
    if record and 'gpassk' not in record:  # of another evaluator, which does not say
        return _unless_changed(change)
    try:
        block = (result_of(path, record) if record else read(path)).block
    except InputError as error:
        return State.DAMAGED, str(error)
    if wanted.n is not None and block.get('n') != wanted.n:
        return State.WRONG_N, f'n = {block.get("n")} in the result, {wanted.n} in the config'
    for name, (had, has) in _facts(block, wanted, time_dir).items():
        if None not in (had, has) and had != has:
            return State.STALE, f'{name} = {had} in the result, {has} in the config'
    return _unless_changed(change)


def _unless_changed(change: Change) -> tuple[State, str]:
    changed = change.sampling or change.evaluation
    return (State.STALE, changed) if changed else (State.COMPLETE, '')


def _facts(block: Mapping[str, Any], wanted: Wanted, time_dir: TimeDir) -> dict[str, tuple[Any, Any]]:
    """Name → (what the result says, what the config says); None is unknown."""
    ks = None if wanted.ks is None else sorted(set(wanted.ks))
    asked = _evaluator(time_dir.configs[-1], wanted.dataset) if time_dir.configs else {}
    thresholds = asked.get('thresholds')
    return {
        'k': (block.get('k'), ks),
        'thresholds': (block.get('thresholds'), thresholds if isinstance(thresholds, list) else None),
        'questions': (mapping(block.get('data')).get('questions'), wanted.questions),
        'judge': (_models(block.get('judge')), _judge(asked)),
    }


def _evaluator(config: Config, dataset: str) -> Mapping[str, Any]:
    """The settings of our own evaluator for a data set; empty for any other one."""
    for entry in dicts_of(config, 'datasets'):
        evaluator = mapping(entry.get('eval_cfg')).get('evaluator')
        if entry.get('abbr') == dataset and isinstance(evaluator, dict):
            return evaluator if str(evaluator.get('type')).endswith('GPassKEvaluator') else {}
    return {}


def _judge(evaluator: Mapping[str, Any]) -> list[str] | None:
    """Models of the LLM judges asked for; None if something judges that may say anything of itself."""
    if not evaluator or evaluator.get('evaluator') is not None:
        return None
    name, judge = evaluator.get('model_name'), evaluator.get('judge')
    if name or judge is None:
        return [name] if name else []
    return _models(judge) if _is_built_in(judge) else None


def _is_built_in(judge: Any) -> bool:
    """Whether its identity has the fields that its config has: so it is for judges of this package alone."""
    if not isinstance(judge, dict) or not own_name(judge.get('type')):
        return False
    return all(_is_built_in(judge[part]) for part in PARTS if part in judge)


def _models(judge: Any) -> list[str]:
    """Of a judge and of those within it."""
    if not isinstance(judge, dict):
        return []
    own = judge.get('model')
    within = {model for part in PARTS for model in _models(judge.get(part))}
    return sorted({*([own] if isinstance(own, str) else []), *within})
