"""What labels of some verdicts say about all: enumerations and exact chances as oracles."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pytest
from scipy.stats import beta, hypergeom

from gpassk_opencompass.audit.rates import TOTAL, Rate, Seen, rates
from gpassk_opencompass.audit.sample import Answer, Kind, Run, allocate, draw, in_turn, read_run
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.judges import Pair
from gpassk_opencompass.record import Result
from gpassk_opencompass.samples import Samples
from gpassk_opencompass.scoring import score

YES, NO, NUMBER = Kind(True, 'string'), Kind(False, 'text'), Kind(True, 'number')


def run_of(questions: Sequence[Sequence[tuple[Kind, int]]], n: int) -> Run:
    """A run whose questions have these answers: the kind and the samples of each."""
    answers = [
        Answer(row, Pair(f'q{row}', 'r', f'{place}'), kind, samples, f'{row}-{place}')
        for row, question in enumerate(questions)
        for place, (kind, samples) in enumerate(question)
    ]
    return Run(len(questions), n, answers, 'digest')


def drawn_run(questions: int, n: int, seed: int) -> Run:
    """A run of questions that are hard and easy, with several accepted and rejected answers."""
    generator = random.Random(seed)
    rows = []
    for _ in range(questions):
        chance = generator.betavariate(0.5, 0.5)
        counts: Counter[tuple[Kind, int]] = Counter()
        for _ in range(n):
            kind = generator.choice([YES, YES, NUMBER]) if generator.random() < chance else NO
            counts[kind, 0 if kind.accepted else generator.randrange(3)] += 1
        rows.append([(kind, samples) for (kind, _), samples in counts.items()])
    return run_of(rows, n)


def labels_of(run: Run, wrong: set[str]) -> dict[str, bool]:
    return {answer.name: answer.kind.accepted is not (answer.name in wrong) for answer in run.answers}


def wrong_at_least_and_most(answers: int, asked: int, wrong: int, alpha: Fraction) -> tuple[int, int]:
    """By counting samples: the numbers of errors under which neither tail is rarer than alpha/2."""
    samples = math.comb(answers, asked)

    def chance(errors: int, found: int) -> Fraction:
        return Fraction(math.comb(errors, found) * math.comb(answers - errors, asked - found), samples)

    possible = [
        errors
        for errors in range(wrong, answers - asked + wrong + 1)
        if sum(chance(errors, x) for x in range(wrong, asked + 1)) >= alpha / 2
        and sum(chance(errors, x) for x in range(wrong + 1)) >= alpha / 2
    ]
    return possible[0], possible[-1]


@pytest.mark.parametrize(('answers', 'asked'), [(6, 3), (9, 1), (12, 8), (7, 7), (40, 15)])
def test_the_limits_are_those_of_an_enumeration(answers: int, asked: int) -> None:
    """Of all samples, in fractions."""
    for wrong in range(asked + 1):
        for alpha in (Fraction(1, 20), Fraction(1, 5)):
            found = Seen(answers, answers, asked, asked, wrong).wrong_in_all(float(alpha))
            assert found == wrong_at_least_and_most(answers, asked, wrong, alpha), (wrong, alpha)


def test_of_very_many_answers_the_limits_are_those_of_clopper_and_pearson() -> None:
    """As the quantiles of Beta distributions give them."""
    answers, asked = 1_000_000, 60
    for wrong in (0, 1, 7, 60):
        low, high = Seen(answers, answers, asked, asked, wrong).wrong_in_all(0.05)
        assert low / answers == pytest.approx(beta.ppf(0.025, wrong, 61 - wrong) if wrong else 0, abs=1e-4)
        assert high / answers == pytest.approx(
            beta.ppf(0.975, wrong + 1, 60 - wrong) if wrong < 60 else 1, abs=1e-4
        )


@pytest.mark.parametrize('errors', range(13))
def test_the_true_number_is_missed_as_rarely_as_promised(errors: int) -> None:
    """For every truth, the exact chance of all samples whose limits leave it out."""
    answers, asked, alpha = 12, 5, 0.2
    missed = 0.0
    for wrong in range(asked + 1):
        if chance := float(hypergeom.pmf(wrong, answers, errors, asked)):
            low, high = Seen(answers, answers, asked, asked, wrong).wrong_in_all(alpha)
            missed += chance * (not low <= errors <= high)
    assert missed <= alpha


@pytest.mark.parametrize('truth', [(0, 0), (1, 4), (5, 2), (8, 6)])
def test_the_sum_of_kinds_is_missed_as_rarely_as_promised(truth: tuple[int, int]) -> None:
    """Two kinds of 8 and of 6 answers, of which 3 and 4 are asked."""
    sizes, alpha, missed = ((8, 3), (6, 4)), 0.1, 0.0
    for wrong in product(*(range(asked + 1) for _, asked in sizes)):
        chance = math.prod(
            float(hypergeom.pmf(x, answers, errors, asked))
            for x, errors, (answers, asked) in zip(wrong, truth, sizes, strict=True)
        )
        if chance:
            limits = [
                Seen(answers, answers, asked, asked, x).wrong_in_all(alpha / 2)
                for x, (answers, asked) in zip(wrong, sizes, strict=True)
            ]
            missed += chance * (not sum(low for low, _ in limits) <= sum(truth) <= sum(h for _, h in limits))
    assert missed <= alpha


def rate_of(found: Sequence[Rate], accepted: bool, name: str) -> Rate:
    [one] = [one for one in found if (one.accepted, one.type) == (accepted, name)]
    return one


def test_kinds_add_up_to_the_rate_of_false_acceptances() -> None:
    """Each weighted with its answers; the limits are sums of limits at half of the level's rest each."""
    run = run_of([[(YES, 2), (NUMBER, 1), (NO, 1)]] * 8 + [[(YES, 4)]] * 12, 4)
    drawn = draw(run, 18)
    labels = labels_of(run, {drawn[YES][0].name, drawn[NUMBER][0].name})
    found = rates(run, drawn, {name: labels[name] for name in (one.name for one in in_turn(drawn))})
    asked = {kind: len(answers) for kind, answers in drawn.items()}
    total = rate_of(found, True, TOTAL)
    assert (total.answers, total.labelled, total.wrong) == (28, asked[YES] + asked[NUMBER], 2)
    assert total.share == pytest.approx((20 / asked[YES] + 8 / asked[NUMBER]) / 28)
    limits = [
        Seen(size, 0, asked[kind], asked[kind], 1).wrong_in_all(0.025)
        for kind, size in ((YES, 20), (NUMBER, 8))
    ]
    assert total.low == pytest.approx(sum(low for low, _ in limits) / 28)
    assert total.high == pytest.approx(sum(high for _, high in limits) / 28)
    rejected = rate_of(found, False, 'text')
    assert (rejected.wrong, rejected.share, rejected.low) == (0, 0.0, 0.0)
    assert not [one for one in found if (one.accepted, one.type) == (False, TOTAL)]


def test_an_answer_that_was_skipped_may_be_either() -> None:
    """Those behind the last label were not asked."""
    run = run_of([[(YES, 1)]] * 20, 1)
    drawn = draw(run, 10)
    names = [answer.name for answer in drawn[YES]]
    [found] = rates(run, drawn, {names[0]: False, names[2]: True})
    assert (found.labelled, found.wrong, found.share) == (2, 1, 0.5)
    fewest, _ = wrong_at_least_and_most(20, 3, 1, Fraction(1, 20))
    _, most = wrong_at_least_and_most(20, 3, 2, Fraction(1, 20))
    assert (found.low, found.high) == (fewest / 20, min(most, 19) / 20)


@pytest.mark.parametrize('seed', range(5))
def test_the_allocation_is_the_best_of_all(seed: int) -> None:
    """Of all whole numbers that add up, none gives a smaller variance, N²·(mean of samples²)/n in all."""
    generator = random.Random(seed)
    strata = [[generator.randint(1, 6) for _ in range(generator.randint(2, 6))] for _ in range(3)]
    pairs = 7

    def variance(numbers: Sequence[int]) -> Fraction:
        return sum(
            (
                Fraction(len(one) * sum(size**2 for size in one), n)
                for one, n in zip(strata, numbers, strict=True)
            ),
            Fraction(0),
        )

    choices = [
        numbers for numbers in product(*(range(1, len(one) + 1) for one in strata)) if sum(numbers) == pairs
    ]
    found = allocate(strata, pairs)
    assert sum(found) == pairs
    assert variance(found) == min(map(variance, choices))


def test_a_larger_draw_holds_the_smaller_one_and_a_seed_decides() -> None:
    """Labels are never lost to a larger plan."""
    run = drawn_run(30, 4, 0)
    small, large = (draw(run, pairs, 7) for pairs in (20, 35))
    for kind, answers in small.items():
        assert large[kind][: len(answers)] == answers
    assert small == draw(run, 20, 7)
    assert in_turn(small) != in_turn(draw(run, 20, 8))
    assert sum(map(len, small.values())) == 20


def test_the_first_half_of_the_order_is_half_of_each_kind() -> None:
    """So that who stops early knows as much of each."""
    run = drawn_run(40, 4, 0)
    drawn = draw(run, 48, 0)
    half = Counter(answer.kind for answer in in_turn(drawn)[:24])
    assert all(abs(half[kind] - len(answers) / 2) <= 1 for kind, answers in drawn.items())


def test_trusted_types_are_not_drawn_and_cannot_be_wrong() -> None:
    """Only the rejected answers may turn."""
    run = run_of([[(YES, 2), (NO, 2)]] * 6, 4)
    drawn = draw(run, 2, 0, ('string',))
    assert list(drawn) == [NO]
    found = rates(run, drawn, {}, ('string',))
    assert [(one.trusted, one.share, one.low, one.high) for one in found] == [
        (True, 0.0, 0.0, 0.0),
        (False, None, 0.0, 1.0),
    ]


@pytest.mark.parametrize(
    ('pairs', 'trusted', 'message'),
    [
        (1, (), 'there are 2 kinds of verdicts; give one each'),
        (9, ('interval',), '--trust interval: no verdict is of that type; there are string, text'),
        (9, ('string', 'text'), 'there is no verdict to ask about'),
        (0, (), '--pairs'),
    ],
    ids=['few', 'unknown', 'all', 'none'],
)
def test_a_plan_that_draws_nothing_is_refused(pairs: int, trusted: tuple[str, ...], message: str) -> None:
    """With what would do."""
    with pytest.raises(InputError, match=message):
        draw(run_of([[(YES, 2), (NO, 2)]] * 6, 4), pairs, trusted=trusted)


def result_of_samples(answers: list[list[str]], verdicts: list[str], judged_by: list[str]) -> Result:
    """The result of questions with reference 2, of as many samples each."""
    letters = {'a': 'string', 'b': 'number (percent-sign)', 'c': 'number', 'd': 'empty', 'e': 'llm'}
    words = {'1': 'correct', '0': 'incorrect', '?': 'unjudged'}
    rows = [
        (f'u{number}', replica, f'u{number}?', '2', 'cn', answer, words[verdict], letters.get(letter))
        for number, (of, told, by) in enumerate(zip(answers, verdicts, judged_by, strict=True))
        for replica, (answer, verdict, letter) in enumerate(zip(of, told, by, strict=True))
    ]
    names = 'uid', 'replica', 'question', 'reference', 'language', 'answer', 'verdict', 'judged_by'
    samples = Samples(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    samples = samples.replace(why=['down' if one is None else None for one in samples['judged_by']])
    return score(samples, {'name': 'made'}, n=len(verdicts[0]), k=2, unjudged_tolerance=1)


def test_answers_of_one_normal_form_are_one() -> None:
    """The shortest spelling stands for them; lenient rules do not count; blanks are not asked about."""
    run = read_run(result_of_samples([['2', '$2$', '2%', '7', '', '', '', '9']], ['11100?10'], ['aabcdfee']))
    assert [(one.pair.answer, one.kind, one.samples) for one in run.answers] == [
        ('2', Kind(True, 'string'), 2),
        ('2%', Kind(True, 'number'), 1),
        ('7', Kind(False, 'number'), 1),
        ('9', Kind(False, 'llm'), 1),
    ]
    assert run.answers[0].pair == Pair('u0?', '2', '2', 'cn')


def test_a_result_without_answers_is_refused() -> None:
    """With its file, and what an audit needs."""
    result = result_of_samples([['2', '2'], ['2', '3']], ['11', '10'], ['aa', 'ac'])
    samples = result.samples()
    assert samples is not None
    result.with_samples(samples.replace(answer=None))
    with pytest.raises(InputError, match='does not say what was answered'):
        read_run(result)
