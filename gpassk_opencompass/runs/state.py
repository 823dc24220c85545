"""In what state the runs of a sweep are: what was planned, beside what lies in work directories.

All of it is read from files, and nothing here starts or changes a run.
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files import mapping, read_json
from ..log_errors import error_in, last_lines, last_said
from ..marks import changed, difference, evaluation_settings, plain, settings_of
from ..processes import described
from ..record import read, result_of
from ..text import seconds_of
from .plan import Config, Planned, Wanted, planned_runs
from .work_dir import (
    HOLDER,
    LOG,
    STARTS,
    Start,
    count_rows,
    expected_rows,
    holder_of,
    kept_configs,
    read_starts,
    samples_in,
    time_dirs,
)

LOG_LINES = 40
_ENDED_BY_SOMEBODY = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that say nothing of the run, also where the system needs its memory; others are of a crash."""


class State(str, Enum):
    """What can be said of a run, the worst first."""

    MISSING = 'missing'
    STALE = 'stale'  # the result is of another config
    DAMAGED = 'damaged'  # the result file cannot be read, or its parts contradict each other
    FAILED = 'failed'  # a task ended with an error, or left a file that cannot be read
    PARTIAL = 'partial'  # stopped or killed, or still at work
    COMPLETE = 'complete'


class Excerpt(NamedTuple):
    """The end of a log."""

    path: Path
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """The state of a run, and what it rests on.

    Args:
        name: of the run.
        detail: why it is in this state; of a complete run, what has to be known before its scores are quoted.
        time: the time directory that it is about.
        resumable: whether the samples in that directory are of the config as it is now.
        sampled: whether all samples are drawn.
        in_the_way: files that OpenCompass would take for finished ones, to be put aside to go on.
        logs: the ends of the logs of what failed.
    """

    name: str
    state: State
    detail: str = ''
    work_dir: Path = Path()
    time: str | None = None
    resumable: bool = False
    sampled: bool = False
    predictions: int = 0
    expected: int | None = None
    results: tuple[Path, ...] = ()
    in_the_way: tuple[Path, ...] = ()
    logs: tuple[Excerpt, ...] = field(default=(), repr=False)

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
        notes = (path / STARTS, path / HOLDER)
        return path.is_dir() and (bool(time_dirs(path)) or any(note.exists() for note in notes))

    def run_of(work_dir: Path) -> Planned:
        configs = [Path(one) for start in read_starts(work_dir)[-1:] for one in start.configs]
        if configs and all(config.is_file() for config in configs):
            with suppress(InputError):
                [run] = planned_runs(configs)
                if run.name == work_dir.name:
                    return run
        kept = (config for time_dir in time_dirs(work_dir) for config in kept_configs(time_dir)[-1:])
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
        own = [start for start in starts if start.time == time_dir.name]
        found.append(_in_time_dir(run, work_dir, time_dir, own))
        if found[-1].state is State.COMPLETE:
            return found[-1]
    if starts and not (work_dir / starts[-1].time).is_dir():
        found.insert(0, _unsampled(Finding(run.name, State.MISSING, '', work_dir), starts[-1]))
    found = found or [Finding(run.name, State.MISSING, 'never started', work_dir)]
    best = next((finding for finding in found if finding.resumable), found[0])
    holder = None if holding else holder_of(work_dir)
    if holder is None or not holder.is_alive:
        return best
    who = '' if holder.is_here else f' ({holder})'
    return replace(best, state=State.PARTIAL, detail=f'at work, {best.progress}{who}', logs=())


def _in_time_dir(run: Planned, work_dir: Path, time_dir: Path, starts: Sequence[Start]) -> Finding:
    """Return what a time directory says of a run: the worst state of its results, and the files of all."""
    kept = kept_configs(time_dir)
    nothing = 'no model or data set with an abbr in its config'
    about = Finding(run.name, State.FAILED, nothing, work_dir, time_dir.name)
    left = (path for kind in ('predictions', 'results') for path in time_dir.glob(f'{kind}/**/*.json*'))
    last = starts[-1] if starts else None
    if not kept and not any(left):  # ended before its config was kept, as on a full disk
        return _unsampled(about, last)
    found = []
    for wanted in run.wanted:
        samples, verdicts = _changes(wanted, time_dir, kept)
        result = time_dir / 'results' / f'{wanted.part}.json'
        if not result.exists():
            found.append(_unjudged(about, time_dir, wanted, samples, last))
            continue
        state, detail = _state_of_result(result, wanted, samples or verdicts)
        usable, aside = not samples, () if state is State.COMPLETE else (result,)
        one = replace(about, state=state, detail=detail, results=(result,), in_the_way=aside)
        found.append(replace(one, resumable=usable, sampled=usable))
    if len(found) < 2:
        return found[0] if found else about
    worst = min(found, key=lambda finding: list(State).index(finding.state))
    if bad := sum(finding.state is not State.COMPLETE for finding in found):
        detail = f'{bad} of {len(found)} results: {worst.detail}'
    else:
        detail = '; '.join(dict.fromkeys(finding.detail for finding in found if finding.detail))
    return replace(
        worst,
        detail=detail,
        resumable=all(finding.resumable for finding in found),
        sampled=all(finding.sampled for finding in found),
        results=tuple(path for finding in found for path in finding.results),
        in_the_way=tuple(path for finding in found for path in finding.in_the_way),
    )


def _changes(wanted: Wanted, time_dir: Path, kept: Sequence[Config]) -> tuple[str, str]:
    """Say how samples and verdicts in a time directory are of another config; '' where they are of this one.

    Every start there may have drawn samples, the last one has judged them.
    """
    if not kept:
        return f'no readable config in {time_dir.name}/configs tells its settings', ''
    drawn, judged = _marks(wanted)
    then = [one for config in kept for one in Planned('', config).wanted if one.part == wanted.part]
    for was in then:
        if found := difference(_marks(was)[0], drawn):
            return f'the config was changed since: it had {found.lstrip(".")}', ''
    same = not then or _marks(then[-1])[1] == judged
    return '', '' if same else 'k or the judge was changed since, the samples hold'


def _marks(wanted: Wanted) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what of a config draws samples, and what judges them; of results see `marks.changed`."""
    model, dataset = wanted.model, wanted.dataset
    data = {name: value for name, value in dataset.items() if name not in ('eval_cfg', 'infer_cfg', 'k')}
    judging = {name: plain(part) for name, part in mapping(dataset.get('eval_cfg')).items()}
    judging.pop('evaluator', None)
    return {**settings_of(model, dataset), 'data': plain(data)}, {**evaluation_settings(dataset), **judging}


def _state_of_result(path: Path, wanted: Wanted, change: str) -> tuple[State, str]:
    """Return that a result is complete, with what has to be known of it, or what speaks against that.

    What it says of itself counts too: a directory resumed with another config keeps a finished result.
    """
    try:
        record = mapping(read_json(path))
    except (OSError, ValueError):
        record = {}  # `read` says what is wrong with it
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
        remarks = result.health.reservations()
    return (State.STALE, change) if change else (State.COMPLETE, '; '.join(remarks))


def _unsampled(about: Finding, start: Start | None) -> Finding:
    failure, logs = _failure(about.work_dir, (), start)
    if failure:
        return replace(about, state=State.FAILED, detail=failure, logs=logs)
    end = start.end if start else 'stopped'
    return replace(about, state=State.MISSING, detail=f'{end} before anything was sampled')


def _unjudged(about: Finding, time_dir: Path, wanted: Wanted, change: str, start: Start | None) -> Finding:
    whole, begun = samples_in(time_dir, wanted)
    counts = {path: count_rows(path)[0] for path in (*whole.values(), *begun.values())}
    damaged = tuple(path for path, count in counts.items() if count is None)
    done, expected = sum(count or 0 for count in counts.values()), expected_rows(about.work_dir, wanted)
    about = replace(about, predictions=done, expected=expected, in_the_way=damaged)
    if change:
        return replace(about, state=State.STALE, detail=f'{change}; {about.progress} of before')
    infer, judge = (
        [*(time_dir / 'logs' / stage / wanted.part).parent.glob('*.out')] for stage in ('infer', 'eval')
    )
    infer = [log for log in infer if log.stem not in whole]
    sampled = bool(done) and not damaged and not begun and not infer and done == (expected or done)
    about = replace(about, resumable=True, sampled=sampled)
    failure, logs = '', about.logs
    if damaged:
        failure = f'{", ".join(path.name for path in damaged)} cannot be read'
    elif not (sampled and start is not None and start.mode == 'infer'):
        failure, logs = _failure(about.work_dir, judge if sampled else infer, start)
    if failure:
        return replace(about, state=State.FAILED, detail=f'{failure}; {about.progress}', logs=logs)
    detail = f'{"not evaluated, " if sampled else ""}{about.progress}'
    if not done and start is not None:
        detail = f'{start.end} before anything was sampled'
    elif start is not None and (start.code or 0) < 0 and not start.stopped:
        detail = f'{start.end}, {detail}'
    return replace(about, state=State.PARTIAL, detail=detail)


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
    changed_at = {log: log.stat().st_mtime for log in logs if log.exists()}
    newest = sorted(
        (log for log in changed_at if changed_at[log] >= began), key=changed_at.__getitem__, reverse=True
    )
    said = {log: lines for log in newest if (lines := last_lines(log))}
    own = work_dir / LOG
    log = next((log for log in said if error_in(said[log])), own)
    if code is None:
        text = error_in(said.get(log, ()))
        return text, (Excerpt(log, tuple(said[log][-LOG_LINES:])),) if text else ()
    ours = last_lines(own)
    if log == own and said and code == 0:  # killed for memory, aborted by CUDA, refused by srun, …
        log = next(iter(said))
        text = f'{last_said(said[log]) or "nothing"} (end of {log.name}, which has no traceback)'
    elif not (text := error_in(said.get(log, ours))):
        full = '' if shutil.disk_usage(work_dir).free else f'No space left on the disk of {work_dir}'
        why = '; '.join(filter(None, [last_said(ours), full]))  # what it had to say may not be in its log
        how = f'opencompass {"was killed by" if code < 0 else "ended with"} {described(code)}'
        text = 'no task left a result' if code == 0 else f'{how}: {why}' if why else how
    errors = [line for line in ours if ' ERROR ' in line or ' failed with code ' in line]
    more = (Excerpt(own, tuple(errors[-2:])),) if errors and log != own else ()
    return text, (Excerpt(log, tuple(said.get(log, ours)[-LOG_LINES:])), *more)


def summary(findings: Iterable[Finding]) -> str:
    """Return how many are in which state, in words.

    >>> findings = [Finding('a', State.COMPLETE), Finding('b', State.FAILED)]
    >>> summary([*findings, Finding('c', State.COMPLETE, 'cut')])
    '3 runs: 2 complete (1 of them with a remark), 1 failed'
    """
    states = [finding.state for finding in findings]
    remarked = sum(bool(one.detail) for one in findings if one.state is State.COMPLETE)
    parts = [f'{states.count(state)} {state.value}' for state in reversed(State) if state in states]
    if remarked:
        parts[0] += f' ({remarked} of them with a remark)'
    return f'{len(states)} run{"" if len(states) == 1 else "s"}: {", ".join(parts) or "none"}'
