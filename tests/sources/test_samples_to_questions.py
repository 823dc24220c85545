"""Samples that come one at a time, put together to questions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.results.health import Generation
from gpassk_opencompass.sources.samples import Notes, Sample, questions_of
from gpassk_opencompass.sources.source import Reading, Responded


def test_a_question_with_all_of_its_samples_is_handed_on_at_once() -> None:
    """Where a file says how many there are, no more is kept than the questions that are open."""
    drawn: list[tuple[str, int]] = []

    def samples() -> Iterator[Sample]:
        for uid, replica in [('a', 1), ('b', 0), ('a', 0), ('c', 0), ('b', 1), ('c', 1), ('d', 0)]:
            drawn.append((uid, replica))
            yield Sample(uid, response='', verdict='01'[replica], replica=replica)

    reading = Reading()
    found = questions_of(samples(), reading, Notes(reading), size=2)
    assert [(next(found).about.uid, len(drawn)) for _ in range(4)] == [('a', 3), ('b', 5), ('c', 6), ('d', 7)]
    assert next(found, None) is None


def test_a_sample_twice_is_refused_also_where_the_size_is_known() -> None:
    """Two samples with one number are not the two samples of a question."""
    reading = Reading()
    twice = [Sample('a', response='x', verdict='1', replica=0)] * 2
    with pytest.raises(InputError, match="sample 0 of 'a' is there twice"):
        list(questions_of(twice, reading, Notes(reading), size=2))


def test_a_question_without_any_response_is_still_one_of_responses() -> None:
    """All of its samples failed: they are unjudged, and a judge is not asked about them."""
    reading = Reading()
    failed = [
        Sample('a', verdict='?', replica=place, generation=Generation(state='failed')) for place in range(2)
    ]
    [question] = questions_of(failed, reading, Notes(reading))
    assert isinstance(question, Responded)
    assert (question.responses, question.verdicts) == (('', ''), '??')
