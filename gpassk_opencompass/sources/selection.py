"""Which questions of a run count, and how many samples of each."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from ..errors import InputError
from .source import About, Counted, Question, Responded, Run


@dataclass
class Selection:
    """Chooses questions, and the first samples of each.

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

    @property
    def everything(self) -> bool:
        """Return whether all samples of all questions count."""
        return self._everything and self.first is None

    def takes(self, about: About) -> bool:
        """Whether a question counts."""
        if self._everything:
            return True
        self._seen['split'].add(about.split)
        self._seen['language'].add(about.language)
        if self.uids is not None:
            if about.uid not in self.uids:
                return False
            self._found.add(about.uid)
        return (not self.splits or about.split in self.splits) and (
            not self.languages or about.language in self.languages
        )

    def of(self, run: Run) -> Iterator[Question]:
        """Return the chosen questions of a run, one after the other, each with its first samples alone.

        Raises:
            InputError: a question has fewer samples, or its samples have no order.
        """
        if self.everything:
            return iter(run.questions)
        return (self._cut(run, question) for question in run.questions if self.takes(question.about))

    def check(self, questions: int) -> None:
        """Raise InputError unless a run held what was asked for; then begin anew, for the next run.

        Args:
            questions: how many were chosen.
        """
        seen, found = {name: set(values) for name, values in self._seen.items()}, set(self._found)
        for values in (*self._seen.values(), self._found):
            values.clear()
        for name, wanted in (('split', self.splits), ('language', self.languages)):
            if absent := sorted(set(wanted) - seen[name]):
                there = ', '.join(map(repr, sorted(seen[name])[:20])) or 'none'
                raise InputError(f'no question is of {name} {absent[0]!r}; the file has {there}')
        if absent := sorted(set(self.uids or ()) - found):
            raise InputError(f'{len(absent)} of {len(self.uids or ())} uids are not there: {absent[0]!r}, …')
        if not questions:
            raise InputError(
                'no question is left; the split and the language asked for do not occur together'
            )

    def _cut(self, run: Run, question: Question) -> Question:
        if self.first is None:
            return question
        try:
            return _first_samples(question, self.first)
        except InputError as error:
            if run.where is None:
                raise
            raise InputError(f'{run.where(question.about.number)}: {error}') from error


def _first_samples(question: Question, first: int) -> Question:
    if isinstance(question, Counted):
        raise InputError(
            f'counts have no order, so there are no first {first}; '
            f'--n {first} takes the mean over all subsets of {first}'
        )
    samples = question.responses if isinstance(question, Responded) else question.verdicts
    if len(samples) < first:
        raise InputError(f'{len(samples)} samples, fewer than --first {first}')
    if isinstance(question, Responded):
        return question._replace(
            responses=question.responses[:first],
            generations=question.generations[:first],
            verdicts=question.verdicts[:first],
            places=question.places[:first],
            answers=question.answers[:first],
        )
    answers = None if question.answers is None else question.answers[:first]
    return question._replace(verdicts=question.verdicts[:first], answers=answers)
