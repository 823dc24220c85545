"""What reports, audits and comparisons of judges ask of a result that it has no attribute for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .benchmarks import language_of
from .record import SYMBOLS, Result
from .samples import Samples
from .sweep.names import limit_mark


def rows_of(result: Result, uids: Iterable[str]) -> list[int]:
    """Return where these questions stand, all of which it has: results may have them in any order."""
    place = {uid: row for row, uid in enumerate(result.counts.uid)}
    return [place[uid] for uid in uids]


def limits_line(result: Result) -> str:
    """Return for a reader how small a trial is: '10 of 238 questions'; '' of a whole run."""
    limit, of = (result.limits.get(name) for name in ('limit', 'of'))
    return f'{min(limit, of or limit)}{f" of {of}" if of else ""} questions' if limit else ''


def sizes_name(result: Result) -> str:
    """Return what the data set's abbreviation says of k and n: 'k4_8-r3'."""
    mark = limit_mark(result.limits.get('limit'))
    behind = result.run.dataset.removeprefix(result.benchmark.removesuffix(mark))
    return behind.replace(mark, '', 1).lstrip('-')


def unequal(result: Result) -> str:
    """Return why a result of questions with different numbers of samples stands beside no other; else ''."""
    sizes = result.counts.n
    if sizes is None:
        return ''
    return (
        f'its questions have from {min(sizes)} to {max(sizes)} samples: runs are compared with as many '
        'samples of each question (`gpassk score` shows it alone)'
    )


class Question(NamedTuple):
    """What is known of a question and of its samples, an entry a sample."""

    question: str
    reference: str
    language: str
    answers: list[str]
    verdicts: str
    """'1', '0' or '?' a sample."""
    deciders: list[str]
    """Who judged, or why nobody did; '' where it is not known."""


def questions_of(result: Result) -> list[Question] | None:
    """Return the questions with the answers to them; None where answers are not known."""
    texts = 'question', 'reference', 'language'
    samples = counted_samples(result, *texts, 'answer', 'verdict', 'judged_by', 'why')
    if samples is None or 'answer' not in samples:
        return None
    question, reference, language = (samples.each(name) for name in texts)
    answer, verdict, decider = samples['answer'], verdicts_of(samples), deciders_of(samples)
    return [
        Question(
            question[rows[0]] or '',
            reference[rows[0]] or '',
            language[rows[0]] or language_of(question[rows[0]] or ''),
            [answer[row] or '' for row in rows],
            ''.join(verdict[row] for row in rows),
            [decider[row] for row in rows],
        )
        for rows in samples.by_question().values()
    ]


def counted_samples(result: Result, *columns: str) -> Samples | None:
    """Return the samples of the questions that are counted, in their order; None where they are not known."""
    return result.samples(columns, (0, int(result.table.n.sum())))


def verdicts_of(samples: Samples) -> str:
    """Return '1', '0' or '?' for each sample."""
    return ''.join(SYMBOLS.get(one, '?') for one in samples.each('verdict'))


def deciders_of(samples: Samples) -> list[str]:
    """Return who judged each sample, or why nobody did; '' where it is not known."""
    pairs = zip(samples.each('why'), samples.each('judged_by'), strict=True)
    return [why or judge or '' for why, judge in pairs]
