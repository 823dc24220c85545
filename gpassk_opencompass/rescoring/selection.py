"""Which questions of a file count, and how many samples of each."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TypeVar

from ..errors import InputError
from .rows import About, Counted, Question, Sampled

Samples = TypeVar('Samples', str, tuple[str, ...])


@dataclass
class Selection:
    """A part of a file.

    Args:
        splits, languages: those that count; empty: all.
        uids: the questions that count; None: all.
        first: samples of each question that count, the first ones; None: all.
    """

    splits: Collection[str] = ()
    languages: Collection[str] = ()
    uids: Collection[str] | None = None
    first: int | None = None
    _seen: dict[str, set[str]] = field(default_factory=lambda: {'split': set(), 'language': set()})
    _found: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._everything = not self.splits and not self.languages and self.uids is None

    def takes(self, about: About) -> bool:
        """Whether a question counts."""
        if self._everything:
            return True
        if self.splits or self.languages:
            self._seen['split'].add(about.split)
            self._seen['language'].add(about.language)
        if self.uids is not None:
            if about.uid not in self.uids:
                return False
            self._found.add(about.uid)
        return (not self.splits or about.split in self.splits) and (
            not self.languages or about.language in self.languages
        )

    def cut(self, question: Question) -> Question:
        """The question with its first samples alone.

        Raises:
            InputError: it has fewer, or its samples have no order.
        """
        if self.first is None:
            return question
        if isinstance(question, Counted):
            raise InputError(
                f'counts have no order, so there are no first {self.first}; '
                f'--n {self.first} takes the mean over all subsets of {self.first}'
            )
        return Sampled(
            question.about,
            self.head(question.verdicts),
            None if question.answers is None else question.answers[: self.first],
            question.question,
            question.reference,
        )

    def head(self, samples: Samples) -> Samples:
        """The first of a question's samples.

        Raises:
            InputError: it has fewer.
        """
        if self.first is not None and len(samples) < self.first:
            raise InputError(f'{len(samples)} samples, fewer than --first {self.first}')
        return samples[: self.first]

    def check(self, questions: int) -> None:
        """That the file held what was asked for.

        Raises:
            InputError: a split, a language or a uid that is not there, or nothing is left.
        """
        for name, wanted in (('split', self.splits), ('language', self.languages)):
            if absent := sorted(set(wanted) - self._seen[name]):
                there = ', '.join(map(repr, sorted(self._seen[name])[:20])) or 'none'
                raise InputError(f'no question is of {name} {absent[0]!r}; the file has {there}')
        if absent := sorted(set(self.uids or ()) - self._found):
            raise InputError(f'{len(absent)} of {len(self.uids or ())} uids are not there: {absent[0]!r}, …')
        if not questions:
            raise InputError(
                'no question is left; the split and the language asked for do not occur together'
            )
