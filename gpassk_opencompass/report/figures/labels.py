"""What runs are called in figures: the model, and the settings in which the runs of a board differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import NamedTuple

from ..leaderboard import Board, Entry
from .lettering import drawable

SHORT = {
    'temperature': 't',
    'top_p': 'p',
    'top_k': 'top-k',
    'repetition_penalty': 'rp',
    'random_seed': 'seed',
    'max_out_len': 'len',
}
"""Settings as they stand in labels, in this order."""

NAME_WIDTH = 36
"""Columns of a label at the head of a panel."""


class Labelled(NamedTuple):
    """A run and what it is called."""

    entry: Entry
    label: str


def labelled(board: Board, width: int = NAME_WIDTH) -> list[Labelled]:
    """The runs of a board with labels that tell them apart, of at most `width` columns.

    A label is the model with the settings that not all runs share, or the whole abbreviation where that
    does not tell runs apart. Labels that are cut to the same text get their place in the table.
    """
    fields = varying(board.entries)
    texts = [' '.join([e.model, written(settings_of(e), fields)]).strip() for e in board.entries]
    twice = _repeated(texts)
    texts = [entry.name if text in twice else text for entry, text in zip(board.entries, texts, strict=True)]
    cut = [drawable(text, width) for text in texts]
    twice = _repeated(cut)
    labels = [
        f'{drawable(text, width - 6)} ({place})' if label in twice else label
        for place, (text, label) in enumerate(zip(texts, cut, strict=True), 1)
    ]
    return [Labelled(entry, label) for entry, label in zip(board.entries, labels, strict=True)]


def settings_of(entry: Entry) -> dict[str, float | None]:
    """The settings of a run by their names; empty where they are not known."""
    return asdict(entry.result.settings) if entry.result.settings else {}


def varying(entries: Sequence[Entry]) -> list[str]:
    """The settings in which some of the runs differ."""
    settings = [settings_of(entry) for entry in entries]
    return [field for field in SHORT if len({one.get(field) for one in settings}) > 1]


def written(settings: dict[str, float | None], fields: Iterable[str]) -> str:
    """Some settings of a run in few letters: t=0.3 p=0.8.

    >>> written({'temperature': 0.3, 'top_k': 50, 'top_p': None}, ['temperature', 'top_p'])
    't=0.3'
    """
    given = ((field, settings.get(field)) for field in fields)
    return ' '.join(f'{SHORT[field]}={value:g}' for field, value in given if value is not None)


def shared(board: Board) -> list[str]:
    """The note about the settings that stand in no label, for all runs have them."""
    differing = varying(board.entries)
    common = {f: v for f, v in settings_of(board.entries[0]).items() if f not in differing and v is not None}
    text = ', '.join(f'{field} {value:g}' for field, value in common.items())
    return [f'All runs: {text}.'] if common and len(board.entries) > 1 else []


def _repeated(texts: Iterable[str]) -> set[str]:
    return {text for text, count in Counter(texts).items() if count > 1}
