"""The one reader of result files: of one, and of all below folders, where the newest of each run counts.

What it refuses, every command refuses, with the same line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from ..counting import counted
from ..errors import ForeignFileError, InputError
from ..files import SAMPLES, mapping, read_json
from ..naming.manifest import MANIFEST, read_manifest
from ..naming.manifest import Entry as ManifestEntry
from . import lighteval
from .newest import Replaced, newest_of
from .result import Result
from .samples import sound_sample_file

FOREIGN = 'logs of other programs become results with `gpassk score PATH -o NAME.gpassk.json`'
"""What to do where nothing was found that is a result."""


NAMELESS = 'samples'
"""The data set of a result that neither says it nor lies in `results/<model>/` of a work directory."""


class Unread(NamedTuple):
    """A file that was found by name and place, and is no complete result."""

    path: Path
    why: str
    """In one line, which names the file."""
    foreign: bool
    """Whether it holds something else; a result that is damaged otherwise."""


class Collected(NamedTuple):
    """What was found; `passed_over` and `older` are lines for a reader, of one file each."""

    results: list[Result]
    passed_over: list[str]
    """Files that are no complete result, and folders that cannot be read."""
    older: list[str]
    """Complete results that a newer one replaces."""
    unread: Sequence[Unread] = ()
    """The files of `passed_over`."""
    replaced: Sequence[Replaced] = ()
    """The results of `older`."""


def read(path: Path) -> Result:
    """Read one result file: `results/<model>/<dataset>.json` of OpenCompass, or what another host wrote.

    That is a record of `gpassk score` or the details of a Lighteval task (`details_<task>_<time>.parquet`);
    they say in `gpassk.run` what the model, the data set and the host are called.

    Raises:
        InputError: it cannot be read, is no result of G-Pass@k, or is damaged; in one line.
    """
    return result_of(path, _record_of(path))


def result_of(path: Path, record: Any) -> Result:
    """Return the result that `read` gives for a file of this content, which somebody has read already.

    Raises:
        InputError: as `read`.
    """
    from .check import check  # pydantic: who only looks for results needs none

    check(str(path), record)
    block = record['gpassk']
    samples = sound_sample_file(path, block)
    names = mapping(block.get('run'))
    model = names.get('model') or path.name.removesuffix('.json').removesuffix('.gpassk')
    dataset, host = names.get('dataset') or NAMELESS, names.get('host', 'file')
    if 'run' not in block and (results := _results_above(path)):
        model, dataset, host = path.parent.relative_to(results).as_posix(), path.stem, 'opencompass'
    return Result(_text(model), _text(dataset), record, path, _text(host), sample_file=samples)


def collect(
    folders: Iterable[Path],
    files: Iterable[Path] = (),
    configs: Iterable[Path] = (),
    details: bool = True,
) -> Collected:
    """Read all results of G-Pass@k below the folders and of the files.

    A result is `results/<model>/<dataset>.json` of an OpenCompass work directory, a `*.gpassk.json`, or the
    `details_<task>_<time>.parquet` of Lighteval. Of several for one run the newest complete one counts: for
    one model and data set in one work directory, and across work directories where questions and judge are
    the same, too (with other questions or another judge it is another run). How new one is,
    `gpassk.provenance.created` tells, else the name of its folder in a work directory, else
    `gpassk.run.created`, else the time of the file.

    Args:
        folders: work directories, or folders above several.
        files: more results, whatever they are called.
        configs: folders with a sweep's manifest, beside those below `folders`.
        details: keep the answers and verdicts of each question, which are most of a file.

    Returns:
        Results, sorted by benchmark and model, each with its model's entry of the manifests.

    Raises:
        InputError: a folder or file is missing, or a manifest is damaged.
    """
    folders, explicit = list(folders), [_existing(path) for path in files]
    unreadable: dict[str, None] = {}
    found = dict.fromkeys(path.resolve() for folder in folders for path in _below(folder, unreadable))
    summaries = [path for path in sorted(found) if lighteval.is_summary(path)]
    paths = dict.fromkeys([*sorted(set(found).difference(summaries)), *(path.resolve() for path in explicit)])
    results: list[Result] = []
    unread: list[Unread] = []
    for path in counted('reading results', list(paths)):
        one = _read_or_why_not(details, path)
        if isinstance(one, Result):
            results.append(one)
        else:
            unread.append(one)
    models = _models([*_homes(folders), *configs])
    told = (replace(result, manifest=models.get(result.model_abbr)) for result in results)
    counting, replaced = newest_of(told)
    counting.sort(key=lambda r: (r.benchmark, r.model, r.model_abbr, r.dataset_abbr, str(r.path)))
    passed_over = [*unreadable, *lighteval.without_details(summaries, paths), *(one.why for one in unread)]
    return Collected(counting, passed_over, [one.why for one in replaced], unread, replaced)


def _read_or_why_not(details: bool, path: Path) -> Result | Unread:
    try:
        result = read(path)
    except InputError as error:
        return Unread(path, str(error), isinstance(error, ForeignFileError))
    return result if details else replace(result, record={'gpassk': result.block})


def full_runs(results: Sequence[Result], with_limited: bool = False) -> tuple[list[Result], list[str]]:
    """Return the runs that may stand beside each other in a leaderboard, and a line on those that may not.

    Runs that were made smaller with --limit or --samples are no runs of the benchmark.

    Args:
        with_limited: keep them.
    """
    full = [result for result in results if with_limited or not result.limits]
    count = len(results) - len(full)
    runs = f'{count} run{"" if count == 1 else "s"}'
    line = f'{runs} made smaller with --limit or --samples: --with-limited takes them, too'
    return full, [line] if count else []


def _record_of(path: Path) -> Any:
    """Return the content of a file."""
    if path.name.endswith(SAMPLES):
        raise InputError(f'{path} has the samples of a result; give the .json beside it')
    return lighteval.read_details(path) if path.suffix == '.parquet' else _read_json(path)


def _read_json(path: Path) -> Any:
    if lighteval.is_summary(path):
        raise InputError(
            f'{path} has the means of a run of Lighteval and no counts; give its details_….parquet, which '
            '`lighteval … --save-details` writes, or the folder above both'
        )
    if path.is_dir():
        raise InputError(f'{path} is a folder; give one result file: …/results/<model>/<dataset>.json')
    try:
        return read_json(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise InputError(f'{path} cannot be read: {reason}') from error


def _results_above(path: Path) -> Path | None:
    """Return `results` of a work directory of OpenCompass; a model with slashes lies deeper in it."""
    found = next((above for above in path.parents[1:] if above.name == 'results'), None)
    near = found == path.parent.parent
    return found if found and (near or (found.parent / 'configs').is_dir()) else None


def _text(value: object) -> str:
    """Return a text without halves of surrogate pairs, which no file can hold."""
    return str(value).encode('utf-8', 'backslashreplace').decode('utf-8')


def _below(folder: Path, unreadable: dict[str, None]) -> Iterator[Path]:
    """Yield what may be a result by name and place; add a line for each folder that cannot be read."""
    if not folder.is_dir():
        raise InputError(
            f'{folder} is no folder; give a work directory of OpenCompass, one of Lighteval or one above, '
            'and single files with --file'
        )

    def tell(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):  # which a run at work has removed meanwhile
            unreadable[f'{error.filename} cannot be read: {error.strerror}'] = None

    for root, folders, names in os.walk(folder, onerror=tell):
        models = _within(Path(root, 'results')) if 'results' in folders else []
        found = [path for model in models for path in _results_of(model)]
        found += [Path(root, name) for name in names if _is_result(name)]
        yield from filter(Path.is_file, found)


def _results_of(model: Path, levels: int = 3) -> Iterator[Path]:
    """Yield the results in a model's folder, or below it: a name with slashes has a folder for each part.

    The folder `<dataset>/` beside `<dataset>.json` holds what evaluators leave.
    """
    inside = _within(model)
    names = {path.stem for path in inside if path.suffix == '.json'}
    for path in inside:
        if path.suffix == '.json':
            yield path
        elif levels and path.name not in names:
            yield from _results_of(path, levels - 1)


def _is_result(name: str) -> bool:
    """Whether a file is a result by its name, wherever it lies; `results_*.json` alone may be anybody's."""
    if name.endswith(SAMPLES):
        return False
    return (
        name.endswith('.gpassk.json')
        or fnmatchcase(name, lighteval.DETAILS)
        or lighteval.is_summary(Path(name))
    )


def _within(folder: Path) -> list[Path]:
    """Return what is in a folder; nothing of a file or an unreadable folder, of which `_below` tells."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f'{path} is no file; expected a result that OpenCompass or `gpassk score` wrote')
    return path


def _homes(folders: Iterable[Path]) -> list[Path]:
    walks = (os.walk(folder) for folder in folders)
    return list(dict.fromkeys(Path(root) for walk in walks for root, _, names in walk if MANIFEST in names))


def _models(folders: Iterable[Path]) -> dict[str, ManifestEntry]:
    """Return the abbreviation of each model of some manifests → its entry, unless two tell different paths.

    Of several the last one counts, and what a template says now before what is stale.
    """
    entries = [entry for folder in folders for entry in read_manifest(folder)]
    entries.sort(key=lambda entry: not entry.stale)
    models = {entry.model_abbr: entry for entry in entries}
    unclear = {entry.model_abbr for entry in entries if entry.path != models[entry.model_abbr].path}
    return {abbr: entry for abbr, entry in models.items() if abbr not in unclear}
