"""What LLM judges were asked and replied, from the verdict stores of runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ..errors import GPassKError, InputError
from .prompts import Prompts, find_prompts
from .verdicts import FOLDER, STORE_VARIABLE, Line, cache_folder, line_at, line_places, store_files

_ABOVE = 6
"""Folders above a result in which a store is looked for: a model with slashes lies deeper than others."""


class Asked(NamedTuple):
    """What an LLM judge was asked of a sample, and what it replied."""

    name: str
    """Of its model."""
    prompt: str | None
    """None: its prompts are not known here."""
    reply: str | None


class Replies:
    """Finds what a judge was asked and replied by the `reply_key` of a sample; a store is read once."""

    def __init__(self) -> None:
        self._places: dict[Path, dict[str, tuple[Path, int]]] = {}

    def find(self, stores: tuple[Path, ...], key: str) -> Asked | None:
        """Return what stands under a key; None where no store has it."""
        for store in stores:
            if store not in self._places:
                places = self._places[store] = {}
                for file in _files(store):
                    for known, start in line_places(file):
                        places.setdefault(known, (file, start))
            place = self._places[store].get(key)
            line = line_at(*place) if place else None
            if line is not None and line.key == key:
                return _asked(line)
        return None


def stores_near(path: Path, common: bool = False) -> tuple[Path, ...]:
    """Return the verdict stores that a run may have had: those beside its result and above, and the one named
    by the environment.

    Args:
        path: of the result.
        common: also the one that all judges of this user share.
    """
    above = path.parents[: _ABOVE + 1]
    named = [os.environ.get(STORE_VARIABLE), cache_folder(FOLDER) if common else None]
    candidates = [
        *(folder / FOLDER for folder in above),
        *sorted(path.parent.glob(f'*.{FOLDER}')),  # as `gpassk score` names them
        *(Path(one).expanduser() for one in named if one),
    ]
    return tuple(dict.fromkeys(one for one in candidates if next(_files(one), None)))


def _files(store: Path) -> Iterator[Path]:
    try:
        yield from (file for file in store_files(store) if file.is_file())
    except (InputError, OSError):  # a file of that name, or a folder of somebody else
        return


def _asked(line: Line) -> Asked:
    judge = line.about.get('judge')
    said = judge if isinstance(judge, dict) else {}
    texts = {name: line.about.get(name) for name in ('question', 'reference', 'answer', 'language', 'reply')}
    reply, prompts = texts.pop('reply'), _prompts(str(said.get('prompts')))
    prompt = None
    if prompts is not None and all(isinstance(text, str) for text in texts.values()):
        language, answer = str(texts.pop('language')), str(texts.pop('answer'))
        prompt = prompts.fill(language, **{**texts, 'candidate': answer}).prompt  # type: ignore[arg-type]
    return Asked(str(said.get('model', 'llm')), prompt, reply if isinstance(reply, str) else None)


@lru_cache(maxsize=64)
def _prompts(told: str) -> Prompts | None:
    """Return the prompts that a verdict names, '<name>:<digest>'; None where they are others now, or mine."""
    try:
        prompts = find_prompts(told.partition(':')[0])
    except GPassKError:  # also where OpenCompass, whose prompts they are, is not installed
        return None
    return prompts if told == f'{prompts.name}:{prompts.digest}' else None
