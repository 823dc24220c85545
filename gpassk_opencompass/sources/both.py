"""Verdicts that came with responses, beside those of a judge that is asked about the same responses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..errors import InputError
from ..judges.protocol import Judge
from ..results.samples import WORDS
from ..tables import Column, Table
from .samples import Notes
from .scored import Choices, Scored, score_run
from .source import Responded, Run
from .tables import score_cell

MOST_SHOWN = 10
"""Differing samples that are shown; a file has all of them."""


@dataclass(frozen=True)
class BothJudged:
    """One run scored twice."""

    theirs: Scored
    """By the verdicts that came with the responses."""
    anew: Scored
    """By the judge."""


def both_judged(run: Run, choices: Choices, judge: Judge) -> BothJudged:
    """Score a run by its own verdicts and by a judge's.

    Raises:
        InputError: as `score_run`; or a question has no responses.
    """
    asked = list(run.questions)
    if bare := [one.about.uid for one in asked if not isinstance(one, Responded)]:
        raise InputError(f'{len(bare)} questions have no responses to judge, the first is {bare[0]!r:.60}')
    kept = replace(choices, keep=True)
    theirs = score_run(replace(run, questions=iter(asked)), 'labels', kept, lambda: judge)
    same = replace(kept, settings=theirs.settings)
    anew = score_run(replace(run, questions=iter(asked)), 'responses', same, lambda: judge)
    return BothJudged(theirs, anew)


def described_both(judged: BothJudged) -> Iterator[Table | str]:
    """Return both scores, how the verdicts go together, the first samples on which they differ, remarks."""
    scores = _scores(judged)
    yield scores
    yield from scores.noted()
    yield _crossed(judged)
    differing = differing_table(judged)
    if differing.rows:
        shown = Table(differing.title, differing.columns, differing.rows[:MOST_SHOWN])
        yield shown
    if len(differing.rows) > MOST_SHOWN:
        yield f'{len(differing.rows)} samples in all; -o FILE.csv writes all of them'
    if judged.anew.judged:
        yield from judged.anew.judged.remarks()
    own = judged.theirs.run.remarks
    yield from own.beside(own_verdicts=True) if isinstance(own, Notes) else own


def _names(judged: BothJudged) -> tuple[str, str]:
    return tuple(str(one.judge.get('name', 'theirs')) for one in (judged.theirs, judged.anew))  # type: ignore[return-value]


def _scores(judged: BothJudged) -> Table:
    theirs, anew = _names(judged)
    difference = Column('difference', 'right', '{:+.2f}')
    table = Table('scores', ['metric', Column(theirs, 'left'), Column(anew, 'left'), difference])
    total = judged.theirs.lines[-1].group
    anew_by = {line.metric: line for line in judged.anew.lines if line.group == total}
    for one in judged.theirs.lines:
        if one.group == total and (other := anew_by.get(one.metric)):
            table.add(one.metric, score_cell(one), score_cell(other), 100 * (other.score - one.score))
    return table


def _crossed(judged: BothJudged) -> Table:
    """Return how often the one says this where the other says that."""
    theirs, anew = _names(judged)
    pairs = Counter((one, other) for *_, one, other, _ in _pairs(judged))
    table = Table('samples', [Column(f'{theirs} \\ {anew}', 'left'), *WORDS.values()])
    for symbol, word in WORDS.items():
        if any(pairs[symbol, other] for other in WORDS):
            table.add(word, *(pairs[symbol, other] for other in WORDS))
    return table


def _pairs(judged: BothJudged) -> Iterator[tuple[str, int, str, str, str, str, str]]:
    """Return question, number, reference, answer, both verdicts and who decided anew, of each sample."""
    assert judged.anew.judged is not None
    judgements = iter(judged.anew.judged.judgements)
    for one, other in zip(judged.theirs.kept, judged.anew.judged.questions, strict=True):
        answers = other.answers or [''] * len(other.verdicts)
        for place, (theirs, anew, answer) in enumerate(
            zip(one.verdicts, other.verdicts, answers, strict=True)  # type: ignore[union-attr]
        ):
            said = next(judgements)
            yield other.about.uid, place, other.reference, answer, theirs, anew, said.reason or said.origin


def differing_table(judged: BothJudged) -> Table:
    """Return a row a sample on which the two differ."""
    theirs, anew = _names(judged)
    columns = ['question', 'sample', 'reference', 'answer', theirs, anew, 'decided by']
    table = Table('samples on which they differ', [Column(name, 'left') for name in columns])
    for uid, place, reference, answer, one, other, origin in _pairs(judged):
        if one != other:
            table.add(uid, place, reference, answer, WORDS[one], WORDS[other], origin)
    return table
