"""A template expanded: its runs, the files of a folder that they make, and what they would cost."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files import digest, replace_file
from ..naming.manifest import MANIFEST, Entry, manifest_text, merged, read_manifest
from .configs import canonical_parts, config_source, part_sources, signature
from .grid import Run, runs
from .limits import NO_LIMITS, Limits, limited_runs
from .older import older_runs
from .runners import check_runner
from .template import read_overrides, read_template

_HEADERS = ('model', 'benchmark', 'configs', 'questions', 'samples', 'verdicts, at most', 'tokens, at most')


class Expansion(NamedTuple):
    """The runs of a template, and file name → text of the config of each.

    `notes` say what limits made another; `limited` is whether there were some.
    """

    runs: list[Run]
    texts: dict[str, str]
    notes: Sequence[str] = ()
    limited: bool = False


def expand_template(
    template: Path,
    overrides: Sequence[str] = (),
    *,
    keep_built_in: bool = False,
    limits: Limits = NO_LIMITS,
) -> Expansion:
    """Run a template, with lines of `--override` in place of its own; nothing is written.

    `keep_built_in` is for one with models and datasets of its own, see `older`. With `limits` runs have fewer
    questions or another n.

    Raises:
        InputError: the template cannot be expanded.
        MissingExtraError: the template needs an optional package.
    """
    lines = read_overrides(overrides)
    variables = read_template(template, lines)
    if 'models' in variables or 'datasets' in variables:
        found = older_runs(variables, lines, keep_built_in=keep_built_in)
    else:
        found = runs(variables)
    found, smaller = limited_runs(found, limits)
    _check_runners(variables)
    texts = part_sources()
    sources = {run.file: config_source(run.config, template.name, texts) for run in found}
    return Expansion(found, sources, smaller, bool(limits))


def _check_runners(variables: Mapping[str, Any]) -> None:
    """Check the runners of clusters; they stand in every config as they are."""
    parts = {stage: variables[stage] for stage in ('infer', 'eval') if isinstance(variables.get(stage), dict)}
    untested = [stage for stage, part in parts.items() if check_runner(stage, part)]
    if untested:
        from loguru import logger  # slow to import

        logger.warning(
            f'the runner of {" and ".join(untested)} is passed on to OpenCompass as it is: its arguments '
            'are those that the installed version takes, but it was never tried with this package'
        )


def entries(expansion: Expansion, template: str) -> list[Entry]:
    """Return what the manifest says of each config."""
    texts = canonical_parts()
    return [
        Entry(
            file=run.file,
            template=template,
            model=run.model,
            path=run.path,
            model_abbr=run.config['models'][0]['abbr'],
            dataset_abbr=run.config['datasets'][0]['abbr'],
            settings=run.settings,
            benchmark=run.benchmark,
            k=run.k,
            n=run.n,
            questions=run.questions,
            signature=signature(run.config, texts),
            sha256=digest(expansion.texts[run.file].encode()),
            facts=run.facts,
            limit=run.limit,
            samples=run.samples,
        )
        for run in expansion.runs
    ]


@dataclass(frozen=True)
class Changes:
    """What an expansion would do to its folder.

    Names of files: `written` are missing or say something else, `replaced` are those of them that are there
    and not as they were written (edited by hand, or another's), `stale` come from an earlier expansion of
    the template and are as they were written, `edited` are stale and not as they were written.
    """

    written: Sequence[str]
    replaced: Sequence[str]
    stale: Sequence[str]
    edited: Sequence[str]
    entries: Sequence[Entry]
    """The manifest afterwards, if nothing is removed."""
    announced: Sequence[Entry]
    """The manifest that is written first: an expansion that is killed leaves no unknown files."""


def changes(folder: Path, expansion: Expansion, template: str) -> Changes:
    """Compare a folder with the configs that a template gives; what has not changed will not be touched.

    Raises:
        InputError: the manifest of the folder cannot be read.
    """
    texts, current = expansion.texts, entries(expansion, template)
    earlier = {entry.file: entry for entry in read_manifest(folder)}
    contents = {name: _content(folder / name) for name in texts}
    written = [name for name, text in texts.items() if contents[name] != text.encode()]
    left = []
    stale: dict[bool, list[str]] = {False: [], True: []}
    for entry in merged(list(earlier.values()), current, template, expansion.limited):
        content = _content(folder / entry.file) if entry.stale else None
        if content is not None and entry.template == template:
            stale[digest(content) != entry.sha256].append(entry.file)
        if content is not None or not entry.stale:
            left.append(entry)
    return Changes(
        written=written,
        replaced=[name for name in written if _is_foreign(contents[name], earlier.get(name))],
        stale=stale[False],
        edited=stale[True],
        entries=left,
        announced=[*earlier.values(), *(entry for entry in left if entry.file not in earlier)],
    )


def apply(folder: Path, texts: Mapping[str, str], changes: Changes, prune: bool) -> None:
    """Write what differs, then the manifest; with `prune` remove what is stale and unedited.

    A reader of a file sees the old one or the new one, never a part.

    Raises:
        InputError: the folder cannot be made or written to.
    """
    removed = frozenset(changes.stale if prune else ())
    left = [entry for entry in changes.entries if entry.file not in removed]
    draft = folder / f'.writing-{os.getpid()}'  # shorter than the names of configs may be
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_manifest(folder, changes.announced, draft)
        for name in changes.written:
            replace_file(folder / name, texts[name].encode(), draft)
        for name in removed:
            (folder / name).unlink()
        _write_manifest(folder, left, draft)
    except OSError as error:
        raise InputError(f'cannot write configs to {folder}: {error}; choose another --output_dir') from error


def _write_manifest(folder: Path, entries: Sequence[Entry], draft: Path) -> None:
    content = manifest_text(entries).encode()
    if _content(folder / MANIFEST) != content:
        replace_file(folder / MANIFEST, content, draft)


def _is_foreign(content: bytes | None, entry: Entry | None) -> bool:
    return content is not None and (entry is None or entry.sha256 != digest(content))


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def estimate_table(runs: Sequence[Run]) -> str:
    """Return a row a model and benchmark, and a last one with the totals; `?` where a size is not known.

    samples: n × questions. verdicts: a judge is asked once for each different answer to a question, so at
    most once a sample. tokens: sampled ones, if every response were as long as `max_out_len` allows.
    """
    from tabulate import tabulate

    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.model, f'{run.benchmark}{_limit(run)}'), []).append(run)
    rows = [[*names, *_cells(group)] for names, group in groups.items()]
    total = ['total', '', *_cells(runs)]
    total[3] = ''
    return tabulate(
        [*rows, total],
        _HEADERS,
        tablefmt='github',
        colalign=('left', 'left', *['right'] * 5),
        disable_numparse=True,
    )


def _limit(run: Run) -> str:
    return '' if run.limit is None else f', {run.limit} questions'


def _questions(run: Run) -> int | None:
    """Return how many there are, or where that is not known, how many at most."""
    return run.limit if run.questions is None else run.questions


def _samples(run: Run) -> int | None:
    questions = _questions(run)
    return None if run.n is None or questions is None else run.n * questions


def _tokens(run: Run) -> int | None:
    drawn, length = _samples(run), run.settings.get('max_out_len')
    return None if drawn is None or length is None else drawn * int(length)


def _cells(runs: Sequence[Run]) -> list[str]:
    drawn = _sum(_samples, runs)
    asked = _questions(runs[0])
    questions = '?' if asked is None else f'{asked:,}'
    return [f'{len(runs):,}', questions, drawn, drawn, _sum(_tokens, runs)]


def _sum(count: Callable[[Run], int | None], runs: Iterable[Run]) -> str:
    counts = [count(run) for run in runs]
    known = [number for number in counts if number is not None]
    if not known:
        return '?'
    return f'{sum(known):,}' + (' + ?' if len(known) < len(counts) else '')
