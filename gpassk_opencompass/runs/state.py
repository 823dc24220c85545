"""In what state the runs of a sweep are, from files alone: what was planned beside what lies there."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files import mapping, read_json
from ..log_errors import error_in, last_lines, last_said
from ..marks import changed, evaluation_settings, first_difference, plain, settings_of
from ..processes import described
from ..record import read, result_of
from ..text import seconds_of
from .plan import Config, Planned, Wanted, configs_in, planned_runs
from .work_dir import (
    HOLDER,
    LOG,
    STARTS,
    Start,
    count_rows,
    expected_rows,
    holder_of,
    read_starts,
    samples_in,
    time_dirs,
)

LOG_LINES = 40
# Signals that say nothing of the run, also where the system needs its memory; others are of a crash.
_ENDED_BY_SOMEBODY = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class State(str, Enum):
    """What can be said of a run, the worst first."""

    MISSING = 'missing'
    STALE = 'stale'  # the result is of another config
    DAMAGED = 'damaged'  # the result cannot be read, or contradicts itself
    FAILED = 'failed'  # a task ended with an error, or left a file that cannot be read
    PARTIAL = 'partial'  # stopped or killed, or still at work
    COMPLETE = 'complete'


class Excerpt(NamedTuple):
    """The end of a log."""

    path: Path
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """The state of a run, and what it rests on."""

    name: str
    state: State
    detail: str = ''  # why; of a complete run, what has to be known before its scores are quoted
    work_dir: Path = Path()
    time: str | None = None  # the time directory that it is about
    resumable: bool = False  # whether the samples there are of the config as it is now
    sampled: bool = False  # whether all are drawn
    predictions: int = 0
    expected: int | None = None
    results: tuple[Path, ...] = ()
    in_the_way: tuple[Path, ...] = ()  # what OpenCompass would take for finished, to be put aside to go on
    logs: tuple[Excerpt, ...] = field(default=(), repr=False)  # the ends of those of what failed

    @property
    def progress(self) -> str:
        """Return how many predictions there are."""
        return f'{self.predictions} of {"?" if self.expected is None else self.expected} predictions'


def discovered_runs(outputs: Path) -> list[tuple[Planned, Path]]:
    """Return the runs of the work directories in a folder, or of a work directory, with these.

    What a run should be is told by the configs that `gpassk run` was given, if they are still there, else by
    what OpenCompass keeps in the time directories. InputError where there is none.
    """

    def is_work_dir(path: Path) -> bool:
        return path.is_dir() and bool(
            time_dirs(path) or any((path / one).exists() for one in (STARTS, HOLDER))
        )

    def run_of(work_dir: Path) -> Planned:
        configs = [Path(one) for start in read_starts(work_dir)[-1:] for one in start.configs]
        with suppress(InputError, ValueError):  # as of none, or of several runs
            [run] = planned_runs(configs)
            if run.name == work_dir.name:
                return run
        kept = (config for time_dir in time_dirs(work_dir) for config in configs_in(time_dir)[-1:])
        return Planned(work_dir.name, next(kept, {}))

    if not outputs.is_dir():
        raise InputError(f'{outputs} is no folder; expected work directories of OpenCompass')
    folders = [outputs] if is_work_dir(outputs) else sorted(filter(is_work_dir, outputs.iterdir()))
    if not folders:
        raise InputError(
            f'no work directory of OpenCompass in {outputs}: expected <work_dir>/<YYYYmmdd_HHMMSS>/configs; '
            'with --configs FOLDER, runs that were never started are listed'
        )
    return [(run_of(path), path) for path in folders]


def examine(run: Planned, work_dir: Path, *, holding: bool = False) -> Finding:
    """Return the state of a run in its work directory.

    The newest time directory with a complete result counts. Without one it is the newest whose samples are of
    the config as it is now, else the newest. `holding`: the caller holds the lock of the work directory.
    """
    starts, found = read_starts(work_dir), []
    for time_dir in time_dirs(work_dir):
        found.append(_in_time_dir(run, work_dir, time_dir, starts))
        if found[-1].state is State.COMPLETE:
            return found[-1]
    if starts and not (work_dir / starts[-1].time).is_dir():
        found.insert(0, _unsampled(Finding(run.name, State.MISSING, '', work_dir), starts[-1]))
    never = Finding(run.name, State.MISSING, 'never started', work_dir)
    best = next((finding for finding in found if finding.resumable), (found or [never])[0])
    holder = None if holding else holder_of(work_dir)
    if holder is None or not holder.is_alive:
        return best
    who = '' if holder.is_here else f' ({holder})'
    return replace(best, state=State.PARTIAL, detail=f'at work, {best.progress}{who}', logs=())


def _in_time_dir(run: Planned, work_dir: Path, time_dir: Path, starts: Sequence[Start]) -> Finding:
    """Return what a time directory says of a run: the worst state of its results, and the files of all."""
    kept = configs_in(time_dir)
    nothing = 'no model or data set with an abbr in its config'
    about = Finding(run.name, State.FAILED, nothing, work_dir, time_dir.name)
    left = (path for kind in ('predictions', 'results') for path in time_dir.glob(f'{kind}/**/*.json*'))
    last = next((start for start in reversed(starts) if start.time == time_dir.name), None)
    if not kept and not any(left):  # ended before its config was kept, as on a full disk
        return _unsampled(about, last)
    found = [_of_result(about, time_dir, wanted, kept, last) for wanted in run.wanted] or [about]
    worst = min(found, key=lambda finding: list(State).index(finding.state))
    detail, bad = worst.detail, sum(finding.state is not State.COMPLETE for finding in found)
    if len(found) > 1:
        remarks = '; '.join(dict.fromkeys(finding.detail for finding in found if finding.detail))
        detail = f'{bad} of {len(found)} results: {detail}' if bad else remarks
    return replace(
        worst,
        detail=detail,
        resumable=all(finding.resumable for finding in found),
        sampled=all(finding.sampled for finding in found),
        results=tuple(path for finding in found for path in finding.results),
        in_the_way=tuple(path for finding in found for path in finding.in_the_way),
    )


def _of_result(
    about: Finding, time_dir: Path, wanted: Wanted, kept: Sequence[Config], last: Start | None
) -> Finding:
    samples, verdicts = _changes(wanted, time_dir, kept)
    path = time_dir / 'results' / f'{wanted.part}.json'
    if not path.exists():
        return _unjudged(about, time_dir, wanted, samples, last)
    state, detail = _state_of_result(path, wanted, samples or verdicts)
    about = replace(about, state=state, detail=detail, resumable=not samples, sampled=not samples)
    return replace(about, results=(path,), in_the_way=() if state is State.COMPLETE else (path,))


def _changes(wanted: Wanted, time_dir: Path, kept: Sequence[Config]) -> tuple[str, str]:
    """Say how samples and verdicts in a time directory are of another config; '' where they are of this one.

    Every start there may have drawn samples, the last one has judged them.
    """
    if not kept:
        return f'no readable config in {time_dir.name}/configs tells its settings', ''
    drawn, judged = _marks(wanted)
    same = True
    for was in (one for config in kept for one in Planned('', config).wanted if one.part == wanted.part):
        drawn_then, judged_then = _marks(was)
        if found := first_difference(drawn_then, drawn):
            return f'the config was changed since: it had {found.lstrip(".")}', ''
        same = judged_then == judged
    return '', '' if same else 'k or the judge was changed since, the samples hold'


def _marks(wanted: Wanted) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what of a config draws samples, and what judges them; of results see `marks.changed`."""
    model, dataset = wanted.model, wanted.dataset
    data = {name: value for name, value in dataset.items() if name not in ('eval_cfg', 'infer_cfg', 'k')}
    rest = {name: part for name, part in mapping(dataset.get('eval_cfg')).items() if name != 'evaluator'}
    drawn, judged = settings_of(model, dataset), evaluation_settings(dataset)
    return {**drawn, 'data': plain(data)}, {**judged, 'rest': plain(rest)}


def _state_of_result(path: Path, wanted: Wanted, change: str) -> tuple[State, str]:
    """Return that a result is complete, with what has to be known of it, or what speaks against that.

    What it says of itself counts too: a directory resumed with another config keeps a finished result.
    """
    record: Mapping[str, Any] = {}  # where it cannot be read `read` says what is wrong with it
    with suppress(OSError, ValueError):
        record = mapping(read_json(path))
    if 'error' in record:
        return State.FAILED, f'the evaluation returned an error: {record["error"]}'
    remarks: list[str] = []
    if not record or 'gpassk' in record:  # else it is of another evaluator, which does not say
        try:
            result = result_of(path, record) if record else read(path)
        except InputError as error:
            return State.DAMAGED, str(error)
        change = change or changed(result, wanted.model, wanted.dataset)
        if not change and wanted.questions not in (None, result.data.questions):
            change = f'questions = {result.data.questions} in the result, {wanted.questions} in the config'
        health = result.health
        remarks = [*health.remarks('copies'), *filter(None, [health.mark]), *health.remarks('states')]
    return (State.STALE, change) if change else (State.COMPLETE, '; '.join(remarks))


def _unsampled(about: Finding, start: Start | None) -> Finding:
    failure, logs = _failure(about.work_dir, (), start)
    if failure:
        return replace(about, state=State.FAILED, detail=failure, logs=logs)
    end = start.end if start else 'stopped'
    return replace(about, state=State.MISSING, detail=f'{end} before anything was sampled')


def _unjudged(about: Finding, time_dir: Path, wanted: Wanted, change: str, start: Start | None) -> Finding:
    files = samples_in(time_dir, wanted)
    whole = {stem for stem, path in files.items() if path.suffix == '.json'}
    counts = {path: count_rows(path)[0] for path in files.values()}
    damaged = tuple(path for path, count in counts.items() if count is None)
    done, expected = sum(count or 0 for count in counts.values()), expected_rows(about.work_dir, wanted)
    about = replace(about, predictions=done, expected=expected, in_the_way=damaged)
    if change:
        return replace(about, state=State.STALE, detail=f'{change}; {about.progress} of before')
    infer, judge = (
        [*(time_dir / 'logs' / one / wanted.part).parent.glob('*.out')] for one in ('infer', 'eval')
    )
    infer = [log for log in infer if log.stem not in whole]
    sampled = bool(done) and not damaged and whole == {*files} and not infer and done == (expected or done)
    failure, logs = '', about.logs
    if damaged:
        failure = f'{", ".join(path.name for path in damaged)} cannot be read'
    elif not (sampled and start is not None and start.mode == 'infer'):
        failure, logs = _failure(about.work_dir, judge if sampled else infer, start)
    detail = f'{"not evaluated, " if sampled else ""}{about.progress}'
    if failure:
        detail = f'{failure}; {about.progress}'
    elif not done and start is not None:
        detail = f'{start.end} before anything was sampled'
    elif start is not None and (start.code or 0) < 0 and not start.stopped:
        detail = f'{start.end}, {detail}'
    state = State.FAILED if failure else State.PARTIAL
    return replace(about, state=state, detail=detail, resumable=True, sampled=sampled, logs=logs)


def _failure(work_dir: Path, logs: Iterable[Path], start: Start | None) -> tuple[str, tuple[Excerpt, ...]]:
    """Return why there is no result, and the logs that say so; '' if it was stopped before it could fail.

    The reason is the error in one of the logs, of tasks that have not done what they should, else in that of
    the command, else the end of the newest log of a task, else of the command's. A command that nobody has
    seen end tells by tracebacks alone.
    """
    code = None if start is None else start.code
    if start is not None and (start.cause or start.stopped or -(code or 0) in _ENDED_BY_SOMEBODY):
        return start.cause, ()
    began = 0.0 if start is None or code is None else (seconds_of(start.began) or 0.0) - 1
    times = sorted(((log.stat().st_mtime, log) for log in logs if log.exists()), reverse=True)
    said = {log: lines for time, log in times if time >= began and (lines := last_lines(log))}
    text, log = next(((text, log) for log in said if (text := error_in(said[log]))), ('', work_dir / LOG))
    said[work_dir / LOG] = ours = last_lines(work_dir / LOG)
    if code == 0 and not text and len(said) > 1:  # killed for memory, aborted by CUDA, refused by srun, …
        log = next(iter(said))
        text = f'{last_said(said[log]) or "nothing"} (end of {log.name}, which has no traceback)'
    elif code is not None and not (text := text or error_in(ours)):
        full = '' if shutil.disk_usage(work_dir).free else f'No space left on the disk of {work_dir}'
        why = '; '.join(filter(None, [last_said(ours), full]))  # what it had to say may not be in its log
        how = f'opencompass {"was killed by" if code < 0 else "ended with"} {described(code)}'
        text = 'no task left a result' if code == 0 else f'{how}: {why}' if why else how
    errors = [line for line in ours if ' ERROR ' in line or ' failed with code ' in line]
    excerpts = [Excerpt(log, tuple(said[log][-LOG_LINES:]))] if text else []
    if excerpts and errors and code is not None and log != work_dir / LOG:
        excerpts.append(Excerpt(work_dir / LOG, tuple(errors[-2:])))
    return text, tuple(excerpts)


def summary(findings: Sequence[Finding]) -> str:
    """Return how many are in which state, in words."""
    states = [finding.state for finding in findings]
    parts = [f'{states.count(state)} {state.value}' for state in reversed(State) if state in states]
    if remarked := sum(bool(one.detail) for one in findings if one.state is State.COMPLETE):
        parts[0] += f' ({remarked} of them with a remark)'
    return f'{len(states)} run{"" if len(states) == 1 else "s"}: {", ".join(parts) or "none"}'
