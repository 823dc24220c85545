"""Which results are in the files and folders that somebody gives: one rule for all commands.

A folder with results of this package gives those; any other, and any other file, is read as logs of another
program, of which each run is scored: by its verdicts, or by the rule judge where it has none.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import ForeignFileError, GPassKError, IncompleteError, InputError
from .files import SAMPLES
from .json_rows import first_object
from .record import Names, Result, read
from .samples import Run
from .sweep.folder import models_below
from .text import progress, seconds_of, seconds_of_folder

if TYPE_CHECKING:
    from .formats import Options

RECORD = 'record'
"""The format of the results of this package."""

NAMELESS = 'samples'
"""The data set of a run whose files do not say it."""

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
    scored: list[Result]  # those of them that were scored now, of logs
    left_out: list[LeftOut]
    told: list[str]  # lines on folders that cannot be read, and on files in them that no format recognises

    @property
    def passed_over(self) -> list[str]:
        """Return a line for each file or folder that is no complete result."""
        told = [one.removeprefix('left out: ') for one in self.told]
        told = [re.sub('^passed over: (.*)', r'\1 is passed over', one, flags=re.DOTALL) for one in told]
        return [*told, *(one.why for one in self.left_out if one.newer is None)]

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

    Args:
        configs: more folders with a sweep's manifest.
        format: of all files, one of `formats.FORMATS`; None: as they themselves tell.
        k: for which logs are scored; None: those that they were made for, or the usual ones.

    Results of a work directory whose config was changed since, which OpenCompass keeps, are left out.

    Raises:
        InputError: a path is not there, or a manifest is damaged.
    """
    paths, told = list(dict.fromkeys(paths)), list[str]()
    if absent := [path for path in paths if not path.exists()]:
        raise InputError(f'{absent[0]} is neither a file nor a folder; give results, or a folder above them')
    ours, logs = ([], paths) if format else _parted(paths, told)
    runs, left_out = _runs(logs, format, told)
    left_out += [one for one in ours if isinstance(one, LeftOut)]
    scored = []
    for run in runs:
        try:
            scored.append(_scored(run, k))
        except (InputError, IncompleteError) as error:
            left_out.append(LeftOut(run.files[0], f'{run.files[0]}: {run.name}: {error}', foreign=True))
    found = []
    for result in (*(one for one in ours if isinstance(one, Result)), *scored):
        if why := _changed(result):
            left_out.append(LeftOut(result.path, f'{result.path}: {why}; run it anew, or move it away'))
        else:
            found.append(result)
    models = models_below(paths, configs)
    for result in found:
        result._manifest = models.get(result.run.model)
    results, replaced = _newest(found)
    results.sort(key=lambda one: (one.benchmark, one.model, one.run.model, one.run.dataset, str(one.path)))
    new = {id(one) for one in scored}
    return Collected(results, [one for one in results if id(one) in new], left_out + replaced, told)


def _changed(result: Result) -> str:
    """Say in what a result in a work directory is not of the config of the last start there."""
    from .marks import changed

    time = next((above.parent for above in result.path.parents if above.name == 'results'), None)
    if time is None or result.run.host != 'opencompass':
        return ''
    models, datasets = _entries(time)
    model = models.get(result.path.parent.relative_to(time / 'results').as_posix())
    dataset = datasets.get(result.path.stem)
    return changed(result, model, dataset) if model and dataset else ''


@lru_cache(maxsize=1)  # the results of a work directory follow each other
def _entries(time: Path) -> tuple[dict[str, Mapping[str, Any]], dict[str, Mapping[str, Any]]]:
    """Return the models and data sets of the configs of a time directory; of several the last one counts."""
    from .runs.state import dicts_of, read_config

    models: dict[str, Mapping[str, Any]] = {}
    datasets: dict[str, Mapping[str, Any]] = {}
    for path in sorted(time.glob('configs/*.py')):
        with suppress(InputError):  # cut off by a kill
            config = read_config(path) or {}
            models |= {str(one.get('abbr')): one for one in dicts_of(config, 'models')}
            datasets |= {str(one.get('abbr')): one for one in dicts_of(config, 'datasets')}
    return models, datasets


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
    """Return the runs in files and folders: of records, work directories, and logs of other programs.

    Args:
        format: one of `formats.FORMATS`, or `RECORD`; None: as the files themselves tell.
        options: of the reader of logs.
        tell: gets a sentence for each file that is passed over, or 'left out: ' and why one cannot be read.

    Raises:
        InputError: a file that is given cannot be read, or a folder holds nothing to score.
    """
    from .formats import read_samples

    told: list[str] = []
    ours, logs = _parted(paths, told) if format in (None, RECORD) else ([], list(paths))
    logs = [] if format == RECORD else logs
    given_files = {path.resolve() for path in paths if not path.is_dir()}
    for one in ours:
        if isinstance(one, LeftOut):
            if one.path in given_files:
                raise InputError(one.why)
            told.append(f'passed over: {one.path}' if one.foreign else f'left out: {one.why}')
    runs = [run_of(one) for one in ours if isinstance(one, Result)]
    if not (runs or logs):
        raise InputError('\n'.join([*told, f'no result of G-Pass@k in {", ".join(map(str, paths))}']))
    for line in dict.fromkeys(told):
        tell(line)
    given = [f'--field {name}={path}' for name, path in options.fields.items()]
    given += [f'--correct-from {options.correct_from:g}'] if options.correct_from is not None else []
    if given and not logs:
        raise InputError(f'{given[0]} goes with files of other programs, not with results')
    column = {'responses': 'response', 'labels': 'verdict'}.get(options.kind or '', '')
    for run in runs if column else ():
        if run.samples is None or column not in run.samples:
            raise InputError(
                f'{run.files[0]} has no {options.kind}: its samples have none, or the file of its samples is '
                'not there or damaged'
            )
    return [*runs, *(read_samples(logs, format, options, tell) if logs else [])]


def run_of(result: Result) -> Run:
    """Return the run that a result is of, with its samples where they are known."""
    samples = result.samples()
    return Run(
        samples,
        result.table if samples is None else None,
        model=result.run.model,
        dataset=result.run.dataset,
        judge=result.judge,
        ks=tuple(result.ks),
        settings=result.run.settings,
        created=str(result.provenance.get('created') or result.run.created),
        remarks=tuple(result.remarks),
        files=(result.path,),
        record=result,
    )


def names_of(run: Run) -> Names:
    """Return what a run of logs is called; where they do not tell its model, as the first of its files."""
    writer = run.written_by.lower()
    return Names(
        model=run.model or (_ENDING.sub('', run.files[0].name) if run.files else '') or 'model',
        dataset=run.dataset or NAMELESS,
        host=next((one for one in ('opencompass', 'lighteval') if writer.startswith(one)), 'file'),
        created=run.created,
        path=run.path,
        written_by=run.written_by,
        settings=dict(run.settings),
    )


def holds_record(path: Path) -> bool:
    """Whether a file is a result of this package, damaged or not: by its name, and by how it begins."""
    if path.suffix != '.json' or path.name.endswith('.gpassk.json'):
        return path.suffix == '.json' or path.name.endswith(SAMPLES)
    try:
        first = first_object(path) or {}
    except InputError:
        first = {}
    in_place = path.resolve().parent.parent.name == 'results'
    return 'gpassk' in first or 'accuracy' in first or (in_place and not first)


def _parted(paths: Iterable[Path], told: list[str]) -> tuple[list[Result | LeftOut], list[Path]]:
    """Return the results of this package, those too that cannot be read, and the paths of logs.

    The details of Lighteval are logs also where they lie among results: each has a task.
    """
    candidates = {path: sorted(_candidates(path, told)) for path in dict.fromkeys(paths)}
    files = list(dict.fromkeys(file for each in candidates.values() for file in each))
    known: dict[Path, Result | LeftOut] = {}
    for file in progress('reading results', files):
        try:
            known[file] = read(file)
        except InputError as error:
            known[file] = LeftOut(file, str(error), isinstance(error, ForeignFileError))
    foreign = {file for file, one in known.items() if isinstance(one, LeftOut) and one.foreign}
    good = {file for file, one in known.items() if isinstance(one, Result)}
    logs = [
        path
        for path, each in candidates.items()
        if good.isdisjoint(each) and (not each or not foreign.isdisjoint(each))
    ]
    ours = [path for path in candidates if path not in logs]
    damaged = (known[file] for path in logs for file in candidates[path] if file not in foreign)
    told += [f'left out: {one.why}' for one in damaged if isinstance(one, LeftOut)]
    tasks = [file for path in ours if path.is_dir() for file in sorted(path.rglob('details_*.parquet'))]
    of_ours = dict.fromkeys(file for path in ours for file in candidates[path])
    for folder in dict.fromkeys(file.parent for path in ours if path.is_dir() for file in candidates[path]):
        beside = sorted(one for one in folder.iterdir() if _ENDING.search(one.name) and one not in of_ours)
        others = (one for one in beside if not one.name.endswith(SAMPLES) and one not in tasks)
        told += [f'passed over: {one}' for one in others if one.name[0] != '.' and one.is_file()]
    return [known[file] for file in of_ours], [*logs, *tasks]


def _candidates(path: Path, told: list[str]) -> Iterator[Path]:
    """Yield what may be a result: a file, and what lies in a folder where results do."""
    if not path.is_dir():
        yield from [path.resolve()] if holds_record(path) else []
        return

    def tell(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):  # which a run at work has removed meanwhile
            told.append(f'{error.filename} cannot be read: {error.strerror}')

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


def _runs(logs: Sequence[Path], format: str | None, told: list[str]) -> tuple[list[Run], list[LeftOut]]:
    """Return the runs of logs; where they cannot be read together, those of each."""
    if not logs:
        return [], []
    from .formats import read_samples

    new: list[str] = []
    try:
        runs = read_samples(logs, format, tell=new.append)
    except GPassKError as error:
        if len(logs) == 1:
            return [], [LeftOut(logs[0].resolve(), str(error), foreign=True)]
        each = [_runs([log], format, told) for log in logs]
        return [run for runs, _ in each for run in runs], [one for _, out in each for one in out]
    told += new
    return runs, []


def _scored(run: Run, k: int | None) -> Result:
    """Return the result of a run; errors are those of `scoring.score`."""
    from .judges.build import build_judge
    from .scoring import score_run

    known: Result | None = run.record
    if known is not None:
        return known
    ks = [k] if k else []
    if run.samples is None or any(run.samples.each('verdict')):
        result = score_run(run, None, names_of(run), k=ks)
    else:
        with closing(build_judge({'type': 'rule'})) as rule:
            result = score_run(run, rule, names_of(run), k=ks)
    result._path = run.files[0]
    return result


def _newest(results: Iterable[Result]) -> tuple[list[Result], list[LeftOut]]:
    """Return the newest result of each run, and the others."""
    kept: defaultdict[tuple[str, ...], list[Result]] = defaultdict(list)
    replaced = []
    for result in sorted(results, key=_age, reverse=True):
        run, asked = result.run, (result.data.sha256, result.judge_digest)
        namesakes, folder = kept[run.host, run.model, run.dataset, run.path], result.path.parents[3:4]
        for other in namesakes:
            one_folder = run.host == 'opencompass' and folder == other.path.parents[3:4]
            if one_folder or asked == (other.data.sha256, other.judge_digest):
                why = f'{result.path}: there is a newer result of this run, {other.path}'
                replaced.append(LeftOut(result.path, why, newer=other.path))
                break
        else:
            namesakes.append(result)
    return [result for namesakes in kept.values() for result in namesakes], replaced[::-1]


def _age(result: Result) -> tuple[float, str]:
    """Return what sorts results of one host by age; a folder tells it in local time, all else in UTC."""
    begun = seconds_of(result.provenance.get('created'))
    if begun is None and result.run.host == 'opencompass':
        begun = next(filter(None, (seconds_of_folder(part.name) for part in result.path.parents[2:3])), None)
    begun = seconds_of(result.run.created) if begun is None else begun
    return result.path.stat().st_mtime if begun is None else begun, str(result.path)
