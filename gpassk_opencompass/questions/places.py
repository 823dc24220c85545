"""Where the questions of a benchmark lie: files of this machine, or parts of a data set of the hub.

Nothing is read but names of files; `benchmarks` reads what lies there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError
from ..question_sets import QuestionFile, QuestionSet

HUB_NAME = re.compile(r'[\w.-]+/[\w.-]+')


class HubPart(NamedTuple):
    """A subset of a data set on the hub, or of a folder laid out as there."""

    path: str
    """A hub name, or the folder."""
    subset: str | None
    alternative: str
    """What to do without the hub, for messages."""
    revision: str | None = None
    copied: bool = False
    """Whether it is a folder here."""


Place = Path | HubPart
"""A file, which may be missing, or a part of the hub."""


def benchmark_places(questions: QuestionSet, path: str, revision: str | None = None) -> Iterator[Place]:
    """Yield where each file of a benchmark other than LiveMathBench is.

    Args:
        path: a folder with the benchmark's files, such a file, a copy of a hub data set, or a hub name;
            '' for where the benchmark comes from.

    Raises:
        InputError: nothing of these, or a revision of what is here.
    """
    for file in questions.files:
        yield _place_of(questions, file, path or questions.source, revision)


def _place_of(questions: QuestionSet, file: QuestionFile, path: str, revision: str | None) -> Place:
    check_revision(path, revision)
    local = Path(path).expanduser()
    alternative = f'give path= a folder that holds {file.names[0]}.'
    if local.is_dir():
        there = [local / name for name in file.names if (local / name).is_file()]
        if not there and is_hub_copy(local):
            return HubPart(str(local), file.subset, alternative, copied=True)
        return there[0] if there else local / file.names[0]
    if local.suffix == '.jsonl':
        if len(questions.files) > 1:
            names = ', '.join(part.names[0] for part in questions.files)
            raise InputError(f'{path}: {questions.label} has several files; give path= a folder with {names}')
        return local
    if not HUB_NAME.fullmatch(path):
        raise InputError(
            f'no data at path={path!r}: expected a folder that holds {file.names[0]}, such a file, or a hub '
            f'name such as {questions.source}'
        )
    return HubPart(path, file.subset, alternative, revision)


def live_math_bench_places(
    path: str, version: str, splits: Iterable[str], languages: Iterable[str], revision: str | None = None
) -> dict[tuple[str, str], Place]:
    """Return (split, language) → where its questions are.

    Args:
        path: a folder with `<version>/<SPLIT>_<lang>.jsonl`, a copy of the hub data set, or a hub name.

    Raises:
        InputError: nothing of these, or a revision of what is here.
    """
    return {
        (split, language): _live_math_bench_place(path, version, split, language, revision)
        for split, language in product(splits, languages)
    }


def _live_math_bench_place(path: str, version: str, split: str, language: str, revision: str | None) -> Place:
    root = Path(path).expanduser()
    file = root / version / f'{split}_{language}.jsonl'
    check_revision(path, revision)
    if path and (root / version).is_dir():
        return file
    if not path or (not root.is_dir() and not HUB_NAME.fullmatch(path)):
        raise InputError(
            f'no data at path={path!r}: expected a folder that holds {version}/{split}_{language}.jsonl, '
            'or a hub name such as opencompass/LiveMathBench'
        )
    copied = root.is_dir()
    if copied and not is_hub_copy(root):
        raise InputError(f'{file} does not exist: expected one question a line, as JSON')
    return HubPart(
        str(root) if copied else path,
        f'v{version}_{split}_{language}',
        'give path= a folder that holds <version>/<SPLIT>_<lang>.jsonl.',
        revision,
        copied,
    )


def check_revision(path: str, revision: str | None) -> None:
    """Raise InputError where a revision is given for data that lie on this machine."""
    if revision is not None and Path(path).expanduser().exists():
        raise InputError(
            f'revision = {revision!r} with path = {path!r}, which is a file or folder here: only data of '
            'the hub have revisions; leave one of the two out'
        )


def is_hub_copy(folder: Path) -> bool:
    """Whether a folder has the card of a data set on the hub: a README that begins with its metadata."""
    card = folder / 'README.md'
    return card.is_file() and card.read_bytes()[:3] == b'---'
