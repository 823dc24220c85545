"""Scores of stored counts and answers: enumeration of subsets, orders and groups as the oracle."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.metrics import Metric, required_correct
from gpassk_opencompass.sources.ballots import ballot_of
from gpassk_opencompass.sources.source import About, Counted, Question, Sampled
from gpassk_opencompass.sources.summary import (
    Line,
    Settings,
    metric_keys,
    rerun_error,
    subset_histograms,
    summarise,
)
from gpassk_opencompass.sources.tally import Tally, Unjudged
from gpassk_opencompass.uncertainty import mean_interval, rerun_interval, value_table
from gpassk_opencompass.votes import (
    Ballot,
    answer_entropy,
    ballot,
    distinct_answers,
    majority,
    sizes_of,
    total_agreement,
)

LETTERS = ['a', 'b', 'c', '']
ANSWERS = st.lists(st.sampled_from(LETTERS), min_size=1, max_size=6)


def about(number: int, problem: str | None = None, split: str = '', language: str = '') -> About:
    return About(number, f'q{number}', problem, split, language)


def tallied(questions: Sequence[Question], unjudged: Unjudged = Unjudged.WRONG) -> Tally:
    tally = Tally()
    for question in questions:
        tally.add(question)
    return tally


def scores(
    questions: Sequence[Question], chosen: Settings, unjudged: Unjudged = Unjudged.WRONG
) -> dict[tuple[str, str], Line]:
    asked = questions if chosen.majorities or chosen.agreement else []
    ballots = [ballot_of(question, unjudged) for question in asked]
    lines = summarise(tallied(questions).counts(unjudged), ballots, chosen)
    return {(line.group, line.metric): line for line in lines}


def g_pass(verdicts: Sequence[bool], k: int, threshold: Fraction) -> Fraction:
    """By drawing every subset of k."""
    draws = list(combinations(verdicts, k))
    needed = max(1, math.ceil(k * threshold))
    return Fraction(sum(sum(draw) >= needed for draw in draws), len(draws))


def first_seen_winner(votes: Sequence[str]) -> str | None:
    """The most frequent vote; of several, the one that occurs first."""
    cast = [vote for vote in votes if vote]
    return max(cast, key=lambda vote: (cast.count(vote), -cast.index(vote))) if cast else None


@settings(max_examples=60)
@given(ANSWERS, st.sets(st.sampled_from('abc')), st.data())
def test_a_majority_is_that_of_every_ordered_draw(
    votes: list[str], right: set[str], data: st.DataObject
) -> None:
    """maj@m over all orders of all subsets, where the first seen of tied answers wins."""
    m = data.draw(st.integers(1, len(votes)))
    draws = list(permutations(votes, m))
    won = Fraction(sum(first_seen_winner(draw) in right for draw in draws), len(draws))
    assert majority(Ballot(tuple(votes), frozenset(right), 0), m) == pytest.approx(float(won), abs=1e-15)


@settings(max_examples=60)
@given(ANSWERS, st.sets(st.sampled_from('abc')), st.data())
def test_a_majority_is_that_of_every_subset_with_ties_shared(
    votes: list[str], right: set[str], data: st.DataObject
) -> None:
    """The other reading of a tie, by chance among the tied, gives the same numbers."""
    m = data.draw(st.integers(1, len(votes)))
    won = Fraction(0)
    for draw in combinations(votes, m):
        counts = Counter(vote for vote in draw if vote)
        tops = [vote for vote, count in counts.items() if count == max(counts.values())]
        won += Fraction(sum(vote in right for vote in tops), len(tops) or 1)
    expected = float(won / math.comb(len(votes), m))
    assert majority(Ballot(tuple(votes), frozenset(right), 0), m) == pytest.approx(expected, abs=1e-15)


@pytest.mark.slow
def test_a_large_question_with_many_answers_is_quick_and_exact() -> None:
    """n = 64 with 20 answers, against a simulation of 40,000 votes."""
    votes = ['r'] * 20 + ['w'] * 14 + [str(place) for place in range(18)] + [''] * 12
    generator = np.random.default_rng(0)
    wins = [
        first_seen_winner([votes[place] for place in generator.permutation(64)[:9]]) == 'r'
        for _ in range(40_000)
    ]
    assert majority(Ballot(tuple(votes), frozenset('r'), 0), 9) == pytest.approx(np.mean(wins), abs=0.01)


def test_answers_that_are_spelled_differently_vote_together() -> None:
    """By normal form; what is called both correct and incorrect counts as most of its labels say."""
    found = ballot(['0.5', r'\frac12', r'$\dfrac{1}{2}$', r'\frac{1}{2}'], [False, True, True, False])
    assert len(set(found.votes)) == 2
    assert found.contradicted == 1
    assert found.right == {r'\frac{1}{2}'}


@settings(max_examples=60)
@given(ANSWERS, st.data())
def test_agreement_is_the_mean_over_all_subsets(votes: list[str], data: st.DataObject) -> None:
    """TARa@N, distinct answers and entropy by enumeration; a missing answer agrees with nothing."""
    size = data.draw(st.integers(1, len(votes)))
    draws = list(combinations(votes, size))
    sizes, blank = sizes_of(votes)
    alike = sum('' not in draw and len(set(draw)) == 1 for draw in draws) / len(draws)
    distinct = sum(len(set(draw) - {''}) for draw in draws) / len(draws)
    shares = [[count / size for count in Counter(draw).values()] for draw in draws]
    entropy = sum(-p * math.log2(p) for draw in shares for p in draw) / len(draws)
    assert total_agreement(sizes, blank, size) == pytest.approx(alike, abs=1e-12)
    assert distinct_answers(sizes, blank, size) == pytest.approx(distinct, abs=1e-12)
    assert answer_entropy(sizes, blank, size) == pytest.approx(entropy, abs=1e-12)


@settings(max_examples=40)
@given(st.lists(st.text('01', min_size=4, max_size=6), min_size=1, max_size=4), st.integers(1, 3), st.data())
def test_all_subsets_of_a_size_give_the_score_itself(
    verdicts: list[str], k: int, data: st.DataObject
) -> None:
    """`--n N`: enumerate the subsets of N of each question, and of each the draws of k."""
    size = data.draw(st.integers(max(k, 2), 4))
    threshold = data.draw(st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(2, 3), Fraction(1)]))
    questions = [Counted(about(place), len(text), text.count('1'), 0) for place, text in enumerate(verdicts)]
    means = []
    for text in verdicts:
        subsets = list(combinations([mark == '1' for mark in text], size))
        means.append(sum(g_pass(subset, k, threshold) for subset in subsets) / len(subsets))
    found = scores(questions, Settings((k,), (float(threshold),), size=size))
    [line] = [line for (_, name), line in found.items() if name.startswith('G-Pass')]
    assert line.score == pytest.approx(float(sum(means) / len(means)), abs=1e-12)


def test_a_threshold_that_is_no_decimal_means_what_it_says() -> None:
    """2/3 of 3 is 2, though the name of the metric rounds τ up."""
    [metric] = [
        metric for name, metric in metric_keys(Settings((3,), (2 / 3,)), 6).items() if '_0.66' in name
    ]
    assert metric.steps == (required_correct(3, 2 / 3),) == (2,)


@pytest.mark.parametrize('metric', ['accuracy', 'G-Pass@2_1.0', 'G-Pass@8_0.5', 'mG-Pass@4'])
def test_the_rerun_error_is_that_of_the_rerun_interval(metric: str) -> None:
    """With and without n ≥ 2k."""
    counts = np.random.default_rng(1).integers(0, 9, size=50)
    metric = Metric.parse(metric)
    found = rerun_error({8: np.bincount(counts, minlength=9).astype(float)}, metric)
    assert found == pytest.approx(rerun_interval(counts, 8, metric).error)


def test_the_rerun_error_of_fewer_samples_is_the_mean_over_all_subsets() -> None:
    """One question, 5 of 8 correct: that of a question for each of its subsets of 4, but for their number."""
    metric, histogram = Metric.parse('G-Pass@3_0.5'), np.zeros(9)
    histogram[5] = 1
    subsets = Counter(sum(subset) for subset in combinations([1] * 5 + [0] * 3, 4))
    each = rerun_interval(list(subsets.elements()), 4, metric).error
    drawn = subset_histograms({8: histogram}, 4)
    assert rerun_error(drawn, metric) == pytest.approx(each * math.sqrt(math.comb(8, 4)), rel=1e-4)
    assert rerun_error(drawn, metric) != rerun_error({8: histogram}, metric)


def test_intervals_are_clustered_by_problem_in_every_group() -> None:
    """As `mean_interval` has them, of a group and of all questions."""
    generator = np.random.default_rng(2)
    counts = generator.integers(0, 9, size=120)
    questions = [
        Counted(about(place, f'p{place // 2}', 'S', 'en' if place % 2 else 'cn'), 8, int(c), 0)
        for place, c in enumerate(counts)
    ]
    found = scores(questions, Settings((4,), (0.5,)))
    values = value_table(Metric.parse('G-Pass@4_0.5'), 8)[counts]
    problems = [place // 2 for place in range(120)]
    for group, rows in (('total', slice(None)), ('S_en', slice(1, None, 2))):
        interval, expected = (
            found[group, 'G-Pass@4_0.5'].interval,
            mean_interval(values[rows], problems[rows]),
        )
        assert interval is not None
        assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
        assert interval.problems == expected.problems == 60
    assert found['S_en', 'G-Pass@4_0.5'].questions == 60


@pytest.mark.parametrize(
    ('unjudged', 'expected'),
    [(Unjudged.WRONG, 2 / 4), (Unjudged.RIGHT, 3 / 4), (Unjudged.LEAVE_OUT, 2 / 3)],
)
def test_unjudged_samples_count_as_they_are_told(unjudged: Unjudged, expected: float) -> None:
    """Of four samples two are correct and one has no verdict; the same of labels as of counts."""
    for question in (Sampled(about(1), '1?01', None), Counted(about(1), 4, 2, 1)):
        line = scores([question], Settings((2,), (1.0,)), unjudged)['total', 'accuracy']
        assert line.score == pytest.approx(expected)
        assert line.bounds == (None if unjudged is Unjudged.LEAVE_OUT else (0.5, 0.75))


def test_unjudged_samples_can_be_refused() -> None:
    """Only where there are some."""
    refuse = Unjudged.REFUSE
    assert scores([Counted(about(1), 4, 2, 0)], Settings((2,), (1.0,)), refuse)
    with pytest.raises(InputError, match='1 of 4 samples are unjudged'):
        scores([Counted(about(1), 4, 2, 1)], Settings((2,), (1.0,)), refuse)


def test_left_out_samples_do_not_vote_and_right_ones_vote_right() -> None:
    """A majority follows the same policy."""
    question = Sampled(about(1), '1??', ('1', '2', '2'))
    chosen = Settings((1,), (1.0,), majorities=(1,))
    found = {
        way: scores([question], chosen, way)['total', 'maj@1'].score
        for way in (Unjudged.WRONG, Unjudged.RIGHT, Unjudged.LEAVE_OUT)
    }
    assert found == {
        Unjudged.WRONG: pytest.approx(1 / 3), Unjudged.RIGHT: 1.0, Unjudged.LEAVE_OUT: 1.0
    }  # fmt: skip


def test_stability_of_a_majority_is_g_pass_of_its_groups() -> None:
    """Two groups of two: correct and wrong, so that both are correct with chance 0 and one with chance 1."""
    question = Sampled(about(1), '1100', ('1', '1', '2', '2'))
    found = scores([question], Settings((2,), (0.5, 1.0), majorities=(2,)))
    assert found['total', 'G-Pass@2_0.5 of maj@2'].score == 1.0
    assert found['total', 'G-Pass@2_1.0 of maj@2'].score == 0.0
    assert found['total', 'maj@2'].score == pytest.approx(0.5)


def test_repeated_uids_are_refused_with_both_rows() -> None:
    """The first pair in the file."""
    questions = [Counted(About(line, uid, None, '', ''), 4, 1, 0) for line, uid in enumerate('abcbc', 1)]
    with pytest.raises(InputError, match=r'rows 2 and 4 have the same uid \(2 such rows'):
        tallied(questions).counts()


def test_a_problem_is_not_a_question_that_is_called_like_it() -> None:
    """A question without a problem is its own, also where another one's problem has the name of its uid."""
    questions = [
        Counted(About(1, 'a', 'b', '', ''), 4, 1, 0),
        Counted(About(2, 'b', None, '', ''), 4, 1, 0),
        Counted(About(3, 'c', 'b', '', ''), 4, 1, 0),
    ]
    _, sizes = tallied(questions).counts().clusters
    assert sorted(sizes.tolist()) == [1, 2]


def test_more_samples_than_there_are_cannot_be_asked_for() -> None:
    """k, N and m."""
    questions = [Counted(about(1), 4, 1, 0), Counted(about(2), 4, 1, 0)]
    for chosen, message in (
        (Settings((8,), (1.0,)), 'k = 8 is more than the 4 samples'),
        (Settings((2,), (1.0,), size=5), '--n 5 is more than the 4 samples'),
        (Settings((3,), (1.0,), size=2), 'k = 3 is more than the 2 samples'),
    ):
        with pytest.raises(InputError, match=message):
            scores(questions, chosen)
