"""What the JSON of a result tells of each sample, where no sample file does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from ..judges.protocol import Verdict
from .record import SYMBOLS
from .samples import TOLD, WORDS, SampleTable


def table_of_details(n: int, details: Mapping[str, Any], undecided: Mapping[str, int]) -> SampleTable | None:
    """Return what the JSON of a result tells of its samples; None if answers or verdicts are not there.

    Args:
        details: of a record; those of Lighteval have tokens too.
        undecided: the reasons for which samples are undecided.
    """
    if not details.get('answers') or not details.get('verdicts'):
        return None
    return _DetailTable(n, partial(_column_of_details, details, undecided), details)


@dataclass(frozen=True)
class _DetailTable(SampleTable):
    """Samples of the JSON of a result, which has some columns as they are asked for.

    Args:
        details: of the record.
    """

    details: Mapping[str, Any]

    def verdicts(self) -> list[str]:
        return list(self.details['verdicts'])

    def deciders(self) -> list[str]:
        return _deciders(self.details) or [''] * len(''.join(self.verdicts()))


def _column_of_details(
    details: Mapping[str, Any], undecided: Mapping[str, int], name: str
) -> list[Any] | None:
    if name == 'verdict':
        return [WORDS[symbol] for symbol in chain.from_iterable(details['verdicts'])]
    if name in ('reason', 'decided_by'):
        return _decided(details, undecided, name == 'reason')
    key = 'answers' if name == 'answer' else name
    return _flat(details[key]) if key in ('answers', *TOLD) and details.get(key) else None


def _decided(
    details: Mapping[str, Any], undecided: Mapping[str, int], reasons: bool
) -> list[str | None] | None:
    """Return why samples have no real verdict, or who decided the others; None where neither is known."""
    names, verdicts = _deciders(details), chain.from_iterable(details['verdicts'])
    why = [
        symbol == SYMBOLS[Verdict.UNJUDGED] or (symbol == SYMBOLS[Verdict.INCORRECT] and name in undecided)
        for name, symbol in zip(names, verdicts, strict=bool(names))
    ]
    return [name if is_why == reasons else None for name, is_why in zip(names, why, strict=True)] or None


def _deciders(details: Mapping[str, Any]) -> list[str]:
    """Return who decided each sample, whose name a letter stands for; [] where it is not known."""
    words = details.get('judges') or {}
    return [words[letter] for letter in chain.from_iterable(details.get('judged_by') or ())]


def _flat(column: Sequence[Sequence[Any]]) -> list[Any]:
    return list(chain.from_iterable(column))
