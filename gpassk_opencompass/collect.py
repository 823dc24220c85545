"""Which results are in the files and folders that somebody gives: one rule for all commands.

A folder with results of this package gives those; any other, and any other file, is read as logs of another
program, of which each run is scored: by its verdicts, or by the rule judge where it has none.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import ForeignFileError, GPassKError, IncompleteError, InputError
from .files import SAMPLES
from .json_rows import first_object
from .record import Names, Result, read
from .runs.plan import entries_in
from .samples import Run
from .scoring import score_run
from .sweep.folder import models_below
from .text import progress, seconds_of, seconds_of_folder

if TYPE_CHECKING:
    from .formats import Options

_SCORES = re.compile(rb'\s*\{\s*"accuracy":')
_ENDING = re.compile(r'(\.gpassk)?\.(jsonl?|eval|parquet|csv|tsv)(\.gz)?$', re.IGNORECASE)


class LeftOut(NamedTuple):
    """A file or folder that does not count."""

    path: Path
    why: str  # in one line, which names the file
    foreign: bool = False  # whether it holds something else than a result; one that is damaged otherwise
    newer: Path | None = None  # the result that counts for its run; None: it is no complete result itself


class Collected(NamedTuple):
    """What was found."""

    results: list[Result]  # sorted by benchmark and model, each with its model's entry of the manifests
    left_out: list[LeftOut]

    @property
    def passed_over(self) -> list[str]:
        """Return a line for each file or folder that is no complete result."""
        return [one.why for one in self.left_out if one.newer is None]

    @property
    def older(self) -> list[str]:
        """Return a line for each result of which there is a newer one."""
        return [one.why for one in self.left_out if one.newer is not None]


def collect(
    paths: Iterable[Path], *, configs: Iterable[Path] = (), format: str | None = None, k: int | None = None
) -> Collected:
    """Return all results in files and folders: records, work directories, logs of other programs.

    Of several results of one run the newest counts: for one model and data set in one work directory, and
    across them where questions and judge are the same (with others it is another run). How new one is,
    `provenance.created` tells, else its folder in a work directory, else `run.created`, else the file.
    Results of a work directory whose config was changed since, which OpenCompass keeps, are left out.

    Args:
        configs: more folders with a sweep's manifest.
        format: of all files, one of `formats.FORMATS`; None: as they themselves tell.
        k: for which logs are scored; None: those that they were made for, or the usual ones.
    """
    paths = list(dict.fromkeys(paths))
    if absent := [path for path in paths if not path.exists()]:
        raise InputError(f'{absent[0]} is neither a file nor a folder; give results, or a folder above them')
    found, left_out, logs = ([], [], paths) if format else _parted(paths)
    for run in _runs(logs, format, left_out):
        judged = run.samples is None or any(run.samples.each('verdict'))
        judge = None if judged else {'type': 'rule'}
        try:
            found.append(score_run(run, judge, names_of(run), k=[k] if k else []))
            found[-1]._path = run.files[0]
        except (InputError, IncompleteError) as error:
            left_out.append(LeftOut(run.files[0], f'{run.files[0]}: {run.name}: {error}', foreign=True))
    results = _newest([one for one in found if not _changed(one, left_out)], left_out)
    models = models_below(paths, configs)
    for result in results:
        result._manifest = models.get(result.run.model)
    results.sort(key=lambda one: (one.benchmark, one.model, one.run.model, one.run.dataset, str(one.path)))
    return Collected(results, left_out)


def collect_one(path: Path) -> Result:
    """Return the one result in a file or folder; InputError where there is none, or several."""
    found = collect([path])
    if not found.results:
        raise InputError([*found.passed_over, f'{path} holds no result'][0])
    if len(found.results) > 1:
        names = ', '.join(str(result.path) for result in found.results[:5])
        raise InputError(f'{path} holds {len(found.results)} results; give one of the files: {names}')
    return found.results[0]


def find_runs(
    paths: Sequence[Path], format: str | None, options: Options, tell: Callable[[str], None]
) -> list[Run]:
    """Return the runs of records, work directories, and logs of other programs, read with `options`.

    An InputError says that a given file cannot be read, or a folder holds nothing to score; `tell` gets a
    sentence for each file that is passed over, or 'left out: ' and why one cannot be read.
    """
    from .formats import read_samples

    results, left_out, logs = ([], [], paths) if format else _parted(paths)
    if lost := [one for one in left_out if one.path in {path.resolve() for path in paths}]:
        raise InputError(lost[0].why)
    told = [f'passed over: {one.path}' if one.foreign else f'left out: {one.why}' for one in left_out]
    if not (results or logs):
        raise InputError('\n'.join([*told, f'no result of G-Pass@k in {", ".join(map(str, paths))}']))
    for line in dict.fromkeys(told):
        tell(line)
    if not logs and (options.fields or options.correct_from is not None):
        raise InputError('--field and --correct-from go with files of other programs, not with results')
    return [*map(run_of, results), *(read_samples(logs, format, options, tell) if logs else [])]


def run_of(result: Result) -> Run:
    """Return the run that a result is of, with its samples where they are known."""
    samples, run = result.samples(), result.run
    return Run(
        samples,
        result.table if samples is None else None,
        run.model,
        run.dataset,
        judge=result.judge,
        ks=tuple(result.ks),
        settings=run.settings,
        created=str(result.provenance.get('created') or run.created),
        remarks=tuple(result.remarks),
        files=(result.path,),
        record=result,
    )


def names_of(run: Run) -> Names:
    """Return what a run is called; where logs do not tell its model, as the first of its files."""
    if run.record:
        return run.record.run  # type: ignore[no-any-return]
    writer = run.written_by.lower()
    told = {name: getattr(run, name) for name in ('dataset', 'created', 'path', 'written_by')}
    told['model'] = run.model or (_ENDING.sub('', run.files[0].name) if run.files else '')
    told['host'] = next((one for one in ('opencompass', 'lighteval') if writer.startswith(one)), '')
    return Names(settings=dict(run.settings), **{name: text for name, text in told.items() if text})


# Which files are results of this package


def _parted(paths: Iterable[Path]) -> tuple[list[Result], list[LeftOut], list[Path]]:
    """Return the results of this package, what beside them does not count, and the paths of logs.

    The details of Lighteval are logs also where they lie among results: each has a task.
    """
    results: dict[Path, Result] = {}
    left_out: list[LeftOut] = []
    logs: list[Path] = []
    for path in dict.fromkeys(paths):
        own: dict[Path, Result] = {}
        lost: list[LeftOut] = []
        for file in progress('reading results', sorted(_candidates(path, left_out))):
            try:
                own[file] = results.get(file) or read(file)
            except InputError as error:
                lost.append(LeftOut(file, str(error), isinstance(error, ForeignFileError)))
        if not own and (not lost or any(one.foreign for one in lost)):
            logs.append(path)
            left_out += [one for one in lost if not one.foreign]
            continue
        results |= own
        left_out += lost
        if path.is_dir():
            logs += (details := sorted(path.rglob('details_*.parquet')))
            known = {*own, *details, *(one.path for one in lost)}
            folders = {one.parent for one in known - {*details}}
            for file in sorted({file for folder in folders for file in folder.iterdir()} - known):
                other = _ENDING.search(file.name) and not file.name.endswith(SAMPLES) and file.name[0] != '.'
                if other and file.is_file():
                    left_out.append(LeftOut(file, f'{file} is passed over', foreign=True))
    return list(results.values()), list(dict.fromkeys(left_out)), logs


def _candidates(path: Path, left_out: list[LeftOut]) -> Iterator[Path]:
    """Yield what may be a result: a file, and what lies in a folder where results do."""
    if not path.is_dir():
        yield from [path.resolve()] if _holds_record(path) else []
        return

    def tell(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):  # which a run at work has removed meanwhile
            why = f'{error.filename} cannot be read: {error.strerror}'
            left_out.append(LeftOut(Path(error.filename), why, foreign=True))

    def is_scored(file: Path) -> bool:  # as `gpassk score -o` writes it, wherever it lies
        with suppress(OSError), file.open('rb') as opened:
            return _SCORES.match(opened.read(64)) is not None and b'"gpassk"' in opened.read()
        return False

    ending = '.json' if 'results' in path.resolve().parts[-3:] else '.gpassk.json'
    for root, folders, names in os.walk(path, onerror=tell):
        files = [Path(root, name) for name in names if name.endswith('.json')]
        found = [file for file in files if file.name.endswith(ending) or is_scored(file)]
        for depth in range(1, 5) if 'results' in folders else ():  # a model's name may have slashes
            found += Path(root, 'results').glob('*/' * depth + '*.json')
        found = [file for file in found if not file.name.startswith('results_')]  # other harnesses' means
        known = set(map(str, found))  # beside a result lies a folder of its name with what its evaluator left
        own = [file for file in found if not any(f'{one}.json' in known for one in file.parents)]
        yield from (file.resolve() for file in own if file.is_file())


def _holds_record(path: Path) -> bool:
    """Whether a file is a result of this package, damaged or not: by its name, and by how it begins."""
    if path.suffix != '.json' or path.name.endswith('.gpassk.json'):
        return path.suffix == '.json' or path.name.endswith(SAMPLES)
    first: Mapping[str, Any] = {}
    with suppress(InputError):
        first = first_object(path) or {}
    in_place = path.resolve().parent.parent.name == 'results'
    return 'gpassk' in first or 'accuracy' in first or (in_place and not first)


# Logs of other programs


def _runs(logs: Sequence[Path], format: str | None, left_out: list[LeftOut]) -> list[Run]:
    """Return the runs of logs; where they cannot be read together, those of each."""
    from .formats import read_samples

    told: list[str] = []
    try:
        runs = read_samples(logs, format, tell=told.append) if logs else []
    except GPassKError as error:
        if len(logs) > 1:
            return [run for log in logs for run in _runs([log], format, left_out)]
        told, runs = [f'left out: {error}'], []
    for line in told:
        kind, _, rest = line.partition(': ')
        why = f'{rest} is passed over' if kind == 'passed over' else rest
        left_out.append(LeftOut(logs[0].resolve(), why, foreign=True))
    return runs


# Which result of a run counts


def _changed(result: Result, left_out: list[LeftOut]) -> bool:
    """Whether a result in a work directory is not of the config of the last start there; then say it."""
    from .marks import changed

    time = next((above.parent for above in result.path.parents if above.name == 'results'), None)
    if time is None or result.run.host != 'opencompass':
        return False
    models, datasets = _entries(time)
    model = models.get(result.path.parent.relative_to(time / 'results').as_posix())
    dataset = datasets.get(result.path.stem)
    why = changed(result, model, dataset) if model and dataset else ''
    if why:
        left_out.append(LeftOut(result.path, f'{result.path}: {why}; run it anew, or move it away'))
    return bool(why)


_entries = lru_cache(maxsize=1)(entries_in)  # the results of a work directory follow each other


def _newest(results: Iterable[Result], left_out: list[LeftOut]) -> list[Result]:
    """Return the newest result of each run."""
    kept: defaultdict[tuple[str, ...], list[Result]] = defaultdict(list)
    for result in sorted(results, key=_age, reverse=True):
        run, asked = result.run, (result.data.sha256, result.judge_digest)
        namesakes, folder = kept[run.host, run.model, run.dataset, run.path], result.path.parents[3:4]
        for other in namesakes:
            one_folder = run.host == 'opencompass' and folder == other.path.parents[3:4]
            if one_folder or asked == (other.data.sha256, other.judge_digest):
                why = f'{result.path}: there is a newer result of this run, {other.path}'
                left_out.append(LeftOut(result.path, why, newer=other.path))
                break
        else:
            namesakes.append(result)
    return [result for namesakes in kept.values() for result in namesakes]


def _age(result: Result) -> tuple[float, str]:
    """Return what sorts results of one host by age; a folder tells it in local time, all else in UTC."""
    begun = seconds_of(result.provenance.get('created'))
    if begun is None and result.run.host == 'opencompass':
        begun = next(filter(None, (seconds_of_folder(part.name) for part in result.path.parents[2:3])), None)
    begun = seconds_of(result.run.created) if begun is None else begun
    return result.path.stat().st_mtime if begun is None else begun, str(result.path)
