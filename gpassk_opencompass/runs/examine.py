"""In what state a run is, from what lies in its work directory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from .changes import Change, changed_since
from .failures import Failure, failure_in
from .lock import is_in_use
from .plan import Planned, Wanted, wanted_by
from .records import state_of_result
from .starts import Start, Starts
from .state import Finding, State, merged
from .work_dir import Predictions, TimeDir, rows_of, time_dirs


def examine(run: Planned, work_dir: Path, *, holding: bool = False) -> Finding:
    """The state of a run; nothing is written.

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
    """OpenCompass was started and has not come as far as its time directory."""
    failure = failure_in(work_dir, [], start)
    if failure is None:
        return Finding(run.name, State.MISSING, 'stopped before anything was sampled', work_dir)
    return Finding(run.name, State.FAILED, failure.text, work_dir, logs=failure.logs)


def _in_time_dir(run: Planned, work_dir: Path, time_dir: TimeDir, starts: Starts) -> Finding:
    wanted = run.wanted or (wanted_by(time_dir.configs[-1]) if time_dir.configs else ())
    about = Finding(
        run.name, State.FAILED, 'no model or data set with an abbr in its config', work_dir, time_dir.time
    )
    change = changed_since(run, time_dir, starts)
    findings = [_of_result(about, time_dir, one, change, starts) for one in wanted]
    return merged(findings) if findings else about


def _of_result(about: Finding, time_dir: TimeDir, wanted: Wanted, change: Change, starts: Starts) -> Finding:
    result = time_dir.result(wanted)
    if not result.exists():
        return _without_result(about, time_dir, wanted, change, starts)
    state, detail = state_of_result(result, wanted, time_dir, change)
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
    failure = _failure(about, time_dir, wanted, predictions, starts.last_of(time_dir.time))
    if failure is not None:
        detail = f'{failure.text}; {about.progress}'
        return replace(about, state=State.FAILED, detail=detail, logs=failure.logs)
    return replace(
        about, state=State.PARTIAL, detail=f'{"not evaluated, " if about.sampled else ""}{about.progress}'
    )


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
    return failure_in(about.work_dir, logs, start)
