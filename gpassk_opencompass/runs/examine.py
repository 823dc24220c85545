"""In what state a run is, from what lies in its work directory."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InputError
from ..files import FROM_ENVIRONMENT, mapping, read_json
from ..judges.build import own_name
from ..serving import described, variable_digest
from ..sweep.folder import signature
from ..times import seconds_of_folder
from .config_file import Config, dicts_of, sampling_signature
from .lock import is_in_use
from .log_errors import error_in, last_said
from .plan import Planned
from .state import Excerpt, Finding, State, merged
from .work_dir import (
    LOG,
    Predictions,
    Start,
    Starts,
    TimeDir,
    Wanted,
    changed_at,
    last_lines,
    rows_of,
    time_dirs,
    wanted_by,
)

if TYPE_CHECKING:
    from ..record import Result

LOG_LINES = 40
"""Lines of a log that are worth showing."""

_ENDED_BY_SOMEBODY = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that say nothing of the run, also where the system needs its memory; others are of a crash."""

_JUDGES_WITHIN = ('first', 'second')
"""Fields of a cascade, in its config and in its identity, that are judges themselves."""


def examine(run: Planned, work_dir: Path, *, holding: bool = False) -> Finding:
    """Return the state of a run; nothing is written.

    The newest time directory with a complete result counts. Without one it is the newest whose samples are
    of the config as it is now, else the newest, and the detail names the others.

    Args:
        run: what there should be.
        work_dir: `-w` of its commands.
        holding: the caller holds the lock of the work directory, so nobody else is at work.
    """
    starts = Starts(work_dir)
    found: list[Finding] = []
    for time_dir in time_dirs(work_dir):
        found.append(_in_time_dir(run, work_dir, time_dir, starts))
        if found[-1].state is State.COMPLETE:
            return found[-1]
    last = starts.last
    if last is not None and last.resumes is None and not (found and str(found[0].time) >= last.started):
        found.insert(0, _before_time_dir(run, work_dir, last))
    if not found:
        found = [Finding(run.name, State.MISSING, 'never started', work_dir)]
    chosen = next((finding for finding in found if finding.resumable), found[0])
    others = [f'{other.time} {other.state.value}' for other in found if other is not chosen and other.time]
    detail = '; '.join([chosen.detail, *(['older: ' + ', '.join(others)] if others else [])])
    chosen = replace(chosen, detail=detail)
    return chosen if holding or not is_in_use(work_dir) else _at_work(chosen)


def _at_work(finding: Finding) -> Finding:
    return replace(finding, state=State.PARTIAL, detail=f'at work, {finding.progress}', logs=())


def _before_time_dir(run: Planned, work_dir: Path, start: Start) -> Finding:
    """Return the state of a run whose last command made no time directory."""
    return _without_samples(Finding(run.name, State.MISSING, '', work_dir), start)


def _without_samples(about: Finding, start: Start | None) -> Finding:
    failure = _failure_in(about.work_dir, [], start)
    if failure is None:
        detail = f'{_stopped(start) if start else "stopped"} before anything was sampled'
        return replace(about, state=State.MISSING, detail=detail)
    return replace(about, state=State.FAILED, detail=failure.text, logs=failure.logs)


def _in_time_dir(run: Planned, work_dir: Path, time_dir: TimeDir, starts: Starts) -> Finding:
    wanted = run.wanted or (wanted_by(time_dir.configs[-1]) if time_dir.configs else ())
    about = Finding(
        run.name, State.FAILED, 'no model or data set with an abbr in its config', work_dir, time_dir.time
    )
    if time_dir.is_bare:
        return _without_samples(about, starts.last_of(time_dir.time))
    change = _changed_variable(time_dir) or _changed_since(run, time_dir, starts)
    findings = [_of_result(about, time_dir, one, change, starts) for one in wanted]
    return merged(findings) if findings else about


def _of_result(about: Finding, time_dir: TimeDir, wanted: Wanted, change: Change, starts: Starts) -> Finding:
    result = time_dir.result(wanted)
    if not result.exists():
        return _without_result(about, time_dir, wanted, change, starts)
    state, detail = _state_of_result(result, wanted, time_dir, change)
    usable = not change.sampling
    about = replace(about, state=state, detail=detail, results=(result,), resumable=usable, sampled=usable)
    return about if state is State.COMPLETE else replace(about, in_the_way=(result,))


def _without_result(
    about: Finding, time_dir: TimeDir, wanted: Wanted, change: Change, starts: Starts
) -> Finding:
    predictions = time_dir.predictions(wanted)
    expected = _expected(about.work_dir, wanted)
    about = replace(about, predictions=predictions.done, expected=expected, in_the_way=predictions.damaged)
    if change.sampling:
        return replace(about, state=State.STALE, detail=f'{change.sampling}; {about.progress} of before')
    about = replace(about, resumable=True, sampled=_is_sampled(predictions, expected))
    start = starts.last_of(time_dir.time)
    failure = _failure(about, time_dir, wanted, predictions, start)
    if failure is not None:
        detail = f'{failure.text}; {about.progress}'
        return replace(about, state=State.FAILED, detail=detail, logs=failure.logs)
    if not predictions.done and start is not None:
        return replace(about, state=State.PARTIAL, detail=f'{_stopped(start)} before anything was sampled')
    killed = (
        f'{_stopped(start)}, ' if start is not None and (start.code or 0) < 0 and not start.stopped else ''
    )
    unjudged = 'not evaluated, ' if about.sampled else ''
    return replace(about, state=State.PARTIAL, detail=f'{killed}{unjudged}{about.progress}')


def _stopped(start: Start) -> str:
    """Return how a command came to an end that is no failure."""
    if start.stopped:
        return 'stopped'
    if start.code is None:
        return 'gpassk run was killed, or its machine went down,'
    return f'killed by {described(start.code)}' if start.code < 0 else 'ended'


def _expected(work_dir: Path, wanted: Wanted) -> int | None:
    if wanted.n is not None and wanted.questions is not None:
        return wanted.n * wanted.questions
    return rows_of(work_dir, wanted.dataset)


def _is_sampled(predictions: Predictions, expected: int | None) -> bool:
    if predictions.damaged or predictions.unfinished:
        return False
    return predictions.done > 0 and predictions.done == (expected or predictions.done)


def _failure(
    about: Finding, time_dir: TimeDir, wanted: Wanted, predictions: Predictions, start: Start | None
) -> Failure | None:
    if predictions.damaged:
        return Failure(f'{", ".join(path.name for path in predictions.damaged)} cannot be read')
    if about.sampled and start is not None and start.mode == 'infer':
        return None
    logs = time_dir.logs('eval' if about.sampled else 'infer', wanted)
    if not about.sampled:
        logs = [log for log in logs if log.stem in predictions.unfinished]
    return _failure_in(about.work_dir, logs, start)


@dataclass(frozen=True)
class Change:
    """How the config differs; '' where it does not."""

    sampling: str = ''
    """Then the samples are of no use any more."""
    evaluation: str = ''
    """Then they are, and only need to be judged again."""


def _changed_since(run: Planned, time_dir: TimeDir, starts: Starts) -> Change:
    """Compare the config of a run with those that OpenCompass kept in a time directory.

    A config that computes its values is compared by its bytes, if `gpassk run` has noted them.
    """
    if run.signature is None:
        made = starts.made(time_dir.time)
        same = made is None or run.sha256 in (None, made.sha256)
        return Change() if same else Change(sampling='the config file was changed since')
    kept = [signature(config) for config in time_dir.configs]
    if not kept:
        return Change(sampling=f'no readable config in {time_dir.time}/configs tells its settings')
    if set(kept) == {run.signature}:
        return Change()
    # Every start in a directory may have drawn samples, the last one has judged them.
    if {sampling_signature(config) for config in time_dir.configs} != {_sampling_of(run, time_dir, kept)}:
        return Change(sampling='the config was changed since')
    if kept[-1] != run.signature:
        return Change(evaluation='k or the judge was changed since, the samples hold')
    return Change()


def _changed_variable(time_dir: TimeDir) -> Change | None:
    """Say which variable has another value now that the server of a model was started with."""
    told = [item for one in time_dir.provenances for item in mapping(one.get('files')).items()]
    for name, was in told:
        variable = name.removeprefix(FROM_ENVIRONMENT)
        if variable != name and os.environ.get(variable) and variable_digest(variable) != was:
            return Change(f'${variable}, with which the server was started, has another value now')
    return None


def _sampling_of(run: Planned, time_dir: TimeDir, kept: list[str]) -> str | None:
    if run.signature in kept:
        return sampling_signature(time_dir.configs[kept.index(run.signature)])
    values = run.values()
    return None if values is None else sampling_signature(values)


def _state_of_result(path: Path, wanted: Wanted, time_dir: TimeDir, change: Change) -> tuple[State, str]:
    """Return that a result is complete, with what has to be known of it, or what speaks against that.

    What the result says of itself goes before what the configs say: a directory can be resumed with a
    changed config, which leaves a finished result as it is.
    """
    from ..record import read, result_of  # pydantic: who only looks for results needs none

    try:
        record = mapping(read_json(path))
    except (OSError, ValueError):
        record = {}  # `read` says what is wrong with it
    if 'error' in record:
        return State.FAILED, f'the evaluation returned an error: {record["error"]}'
    if record and 'gpassk' not in record:  # of another evaluator, which does not say
        return _unless_changed(change)
    try:
        result = result_of(path, record) if record else read(path)
    except InputError as error:
        return State.DAMAGED, str(error)
    if wanted.n is not None and result.n != wanted.n:
        return State.WRONG_N, f'n = {result.n} in the result, {wanted.n} in the config'
    for name, (had, has) in _facts(result, wanted, time_dir).items():
        if None not in (had, has) and had != has:
            return State.STALE, f'{name} = {had} in the result, {has} in the config'
    return _unless_changed(change, '; '.join(result.health.reservations()))


def _unless_changed(change: Change, remark: str = '') -> tuple[State, str]:
    changed = change.sampling or change.evaluation
    return (State.STALE, changed) if changed else (State.COMPLETE, remark)


def _facts(result: Result, wanted: Wanted, time_dir: TimeDir) -> dict[str, tuple[Any, Any]]:
    """Name → (what the result says, what the config says); None is unknown."""
    ks = None if wanted.ks is None else sorted(set(wanted.ks))
    asked = _evaluator(time_dir.configs[-1], wanted.dataset) if time_dir.configs else {}
    thresholds = asked.get('thresholds')
    return {
        'k': (result.ks, ks),
        'thresholds': (result.thresholds, thresholds if isinstance(thresholds, list) else None),
        'questions': (result.data.questions, wanted.questions),
        'judge': (models_of_judge(result.judge), asked_judge(asked)),
    }


def _evaluator(config: Config, dataset: str) -> Mapping[str, Any]:
    """Return the settings of this package's evaluator for a data set; {} for another evaluator."""
    for entry in dicts_of(config, 'datasets'):
        evaluator = mapping(entry.get('eval_cfg')).get('evaluator')
        if entry.get('abbr') == dataset and isinstance(evaluator, dict):
            return evaluator if str(evaluator.get('type')).endswith('GPassKEvaluator') else {}
    return {}


def asked_judge(evaluator: Mapping[str, Any]) -> list[str] | None:
    """Return the models of the LLM judges asked for; None where another package's judge is."""
    if not evaluator or evaluator.get('evaluator') is not None:
        return None
    name, judge = evaluator.get('model_name'), evaluator.get('judge')
    if name or judge is None:
        return [name] if name else []
    return models_of_judge(judge) if _is_built_in(judge) else None


def _is_built_in(judge: Any) -> bool:
    """Whether its identity has the fields that its config has: so it is for judges of this package alone."""
    if not isinstance(judge, dict) or not own_name(judge.get('type')):
        return False
    return all(_is_built_in(judge[part]) for part in _JUDGES_WITHIN if part in judge)


def models_of_judge(judge: Any) -> list[str]:
    """Return the models of a judge and of those within it."""
    if not isinstance(judge, dict):
        return []
    own = judge.get('model')
    within = {model for part in _JUDGES_WITHIN for model in models_of_judge(judge.get(part))}
    return sorted({*([own] if isinstance(own, str) else []), *within})


class Failure(NamedTuple):
    """What went wrong, in a line, and the logs that say so."""

    text: str
    logs: tuple[Excerpt, ...] = ()


def _failure_in(work_dir: Path, logs: Sequence[Path], start: Start | None) -> Failure | None:
    """Return why there is no result; None if all was stopped or killed before it could fail.

    Args:
        logs: of the tasks that have not done what they should.
        start: the command that worked last, if `gpassk run` started it.
    """
    if start is not None and start.code is not None:
        if start.stopped or -start.code in _ENDED_BY_SOMEBODY:
            return None
        begun = seconds_of_folder(start.started, start.utc) or 0.0  # logs before that are of other commands
        return _shown(work_dir, [log for log in logs if changed_at(log) >= begun], start.code)
    for log in logs:
        lines = last_lines(log)
        error = error_in(lines)
        if error:
            return Failure(error, (_end_of(log, lines),))
    return None


def _shown(work_dir: Path, logs: Sequence[Path], code: int) -> Failure:
    """Return the log with an error in it, else the end of a task's newest log, else of the command's."""
    own = work_dir / LOG
    said = last_lines(own)
    tasks = [(log, lines) for log in sorted(logs, key=changed_at, reverse=True) if (lines := last_lines(log))]
    log, lines = next(((log, lines) for log, lines in tasks if error_in(lines)), (own, said))
    text = error_in(lines)
    if code == 0 and tasks and log == own:  # killed for memory, aborted by CUDA, refused by srun, …
        log, lines = tasks[0]
        text = f'{last_said(lines) or "nothing"} (end of {log.name}, which has no traceback)'
    errors = [line for line in said if ' ERROR ' in line or ' failed with code ' in line]
    more = (_end_of(own, errors[-2:]),) if errors and log != own else ()
    return Failure(text or _ended_with(code, said, work_dir), (_end_of(log, lines), *more))


def _ended_with(code: int, said: Sequence[str], work_dir: Path) -> str:
    if code == 0:
        return 'no task left a result'
    how = f'was killed by {described(code)}' if code < 0 else f'ended with code {code}'
    full = '' if shutil.disk_usage(work_dir).free else f'No space left on the disk of {work_dir}'
    why = '; '.join(filter(None, [last_said(said), full]))  # what it had to say may not be in its log
    return f'opencompass {how}' + (f': {why}' if why else '')


def _end_of(log: Path, lines: Sequence[str]) -> Excerpt:
    return Excerpt(log, tuple(lines[-LOG_LINES:]))
