"""A run of a source scored: its questions chosen, judged where they are responses, counted and summed up."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..judges.protocol import Judge
from ..results.record import Measures
from ..results.samples import SampleColumns
from ..votes import Ballot
from .ballots import ballot_of
from .samples import Notes
from .selection import Selection
from .source import Counted, Responded, Run, Sampled
from .summary import Line, Settings, check_sizes, summarise
from .tally import Counts, Tally, Unjudged
from .written import result_record

if TYPE_CHECKING:
    from .judged import Judged

USUAL_KS = (4, 8, 16)
"""The k of a run that was made for none, as far as its questions have as many samples."""


@dataclass(frozen=True)
class Choices:
    """What of a run is scored, and how.

    Args:
        kind: as what, see `Run.kinds`; None: as the only thing that it is.
        selection: the questions and samples that count.
        settings: the metrics; without ks, those that the run was made for, or the usual ones.
        unjudged: what becomes of samples that nobody judged.
        keep: keep the questions, for a record.
    """

    kind: str | None
    selection: Selection
    settings: Settings
    unjudged: Unjudged
    keep: bool

    @property
    def votes(self) -> bool:
        """Return whether a metric needs the answers."""
        return bool(self.settings.majorities) or self.settings.agreement


@dataclass(frozen=True)
class Scored:
    """A scored run."""

    run: Run
    kind: str
    counts: Counts
    ballots: list[Ballot]
    """The answers to each question; [] where no metric needs them."""
    kept: list[Counted | Sampled]
    settings: Settings
    lines: list[Line]
    judged: Judged | None
    """What became of each response."""

    @property
    def judge(self) -> Mapping[str, Any]:
        """Return the identity of who judged; {} where the files do not say."""
        return self.judged.judge.identity() if self.judged else self.run.judge

    def record(
        self, names: Mapping[str, str], labelled_by: str | None, folder: Path
    ) -> tuple[dict[str, Any], SampleColumns | None]:
        """Return the result record, and the columns of its sample file as far as samples are known.

        Args:
            names: of the model and the data set.
            labelled_by: who judged, where somebody says so.
            folder: of the result.
        """
        [n] = {kind.n for kind in self.counts.kinds}
        return result_record(
            self.kept,
            Measures(n, self.settings.ks, self.settings.thresholds),
            {'name': labelled_by} if labelled_by else self.judge or {'name': self.kind},
            {
                **names,
                **({'written_by': self.run.written_by} if self.run.written_by else {}),
                **({'settings': dict(self.run.settings)} if self.run.settings else {}),
            },
            self.judged,
            self.run.record,
            self._known_samples(folder),
        )

    def _known_samples(self, folder: Path) -> SampleColumns | None:
        if self.judged:
            from .judged import seen_from

            return seen_from(folder, self.judged.places)
        return self.run.samples_for(folder) if self.run.samples_for else None

    def remarks(self, record: Mapping[str, Any] | None) -> Sequence[str]:
        """Return what a reader should know before quoting a score; `record` saves trying references twice."""
        if self.judged:
            more = self.run.remarks
            if isinstance(more, Notes):
                more = more.beside(own_verdicts=self.kind == 'labels')
            return [*self.judged.remarks(record and record['gpassk']), *more]
        known = self.run.record
        if known is None or self.counts.samples == known['gpassk']['n'] * len(
            known['gpassk']['counts']['uid']
        ):
            return self.run.remarks
        return [f'of all samples of the result, not of this part: {remark}' for remark in self.run.remarks]


def score_run(run: Run, kind: str, choices: Choices, judge: Callable[[], Judge]) -> Scored:
    """Score a run.

    Args:
        kind: `run.kind(choices.kind)`.
        judge: makes the judge of responses, once it is known that what it will say can be scored.

    Raises:
        InputError: the files are damaged, or do not hold what is chosen.
    """
    judged: Judged | None
    if kind == 'responses':
        judged = _judged(run, choices, judge)
    else:
        run, judged = _told(run, choices)
    tally = Tally()
    ballots: list[Ballot] = []
    kept: list[Counted | Sampled] = []
    with _no_search_for_cycles():
        for question in judged.questions if judged else _labelled(run, choices.selection):
            tally.add(question)
            if choices.votes:
                ballots.append(ballot_of(question, choices.unjudged))
            if choices.keep:
                kept.append(question)
    counts = tally.counts(choices.unjudged)
    if judged is None:
        choices.selection.check(len(counts))
    settings = _settings(choices.settings, run.ks, counts)
    lines = summarise(counts, ballots, settings)
    return Scored(run, kind, counts, ballots, kept, settings, lines, judged)


@contextmanager
def _no_search_for_cycles() -> Iterator[None]:
    """Keep the garbage collector from going through samples again and again: none is in a cycle."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _settings(chosen: Settings, known: Sequence[int], counts: Counts) -> Settings:
    least = chosen.size or min(counts.sizes)
    ks = chosen.ks or [k for k in known or USUAL_KS if k <= least] or [max(least, 1)]
    return replace(chosen, ks=tuple(ks))


def _told(run: Run, choices: Choices) -> tuple[Run, Judged | None]:
    """Return what is known of responses that came with verdicts, where a record or votes are made of them.

    The run comes back with the questions that are left to read.
    """
    if 'responses' not in run.kinds or not (choices.keep or choices.votes):
        return run, None
    from .judged import Gathered, told_with  # what takes responses apart: who scores counts needs none

    asked = Gathered()
    questions = choices.selection.of(run)
    for question in questions:
        if not isinstance(question, Responded):
            before = told_with(run.judge, asked).questions
            return replace(run, questions=chain(before, [question], questions)), None
        asked.add(question)
    choices.selection.check(len(asked.questions))
    return run, told_with(run.judge, asked)


def _labelled(run: Run, selection: Selection) -> Iterator[Counted | Sampled]:
    for question in selection.of(run):
        yield _with_own_verdicts(question) if isinstance(question, Responded) else question


def _with_own_verdicts(question: Responded) -> Sampled:
    from .judged import with_own_verdicts

    return with_own_verdicts(question)


def _judged(run: Run, choices: Choices, make_judge: Callable[[], Judge]) -> Judged:
    from .judged import Gathered, judged_by

    tally = Tally()
    asked = Gathered()
    for question in choices.selection.of(run):
        if not isinstance(question, Responded):
            kind = type(question).__name__
            raise InputError(f'{question.about.uid!r:.60} is a {kind} question in a run of responses')
        tally.add(question)
        asked.add(question)
    choices.selection.check(len(tally))
    unjudged = tally.counts()
    check_sizes(unjudged, _settings(choices.settings, run.ks, unjudged))
    return judged_by(make_judge(), asked)
