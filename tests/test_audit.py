"""What labels of some verdicts say about all: enumerations, exact chances and a simulation as oracles."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import hypergeom

from gpassk_opencompass.audit.evidence import Seen, budget, costs, most_wrong
from gpassk_opencompass.audit.extremes import PRECISION, Doubt, Extremes, Kinds
from gpassk_opencompass.audit.findings import findings
from gpassk_opencompass.audit.sample import Answer, Kind, Plan, Run, allocate, draw, in_turn, read_run
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.judges import Pair
from gpassk_opencompass.metrics import metric_table
from gpassk_opencompass.results.read import result_of
from gpassk_opencompass.results.record import Measures, data_of
from gpassk_opencompass.results.result import Result

YES, NO, NUMBER = Kind(True, 'string'), Kind(False, 'text'), Kind(True, 'number')


def run_of(questions: Sequence[Sequence[tuple[Kind, int]]], n: int, ks: Sequence[int] = (2,)) -> Run:
    """A run whose questions have these answers: the kind and the samples of each."""
    answers = [
        Answer(row, Pair(f'q{row}', 'r', f'{place}'), kind, samples, f'{row}-{place}')
        for row, question in enumerate(questions)
        for place, (kind, samples) in enumerate(question)
    ]
    correct = [sum(samples for kind, samples in question if kind.accepted) for question in questions]
    nothing = np.zeros(len(questions), dtype=np.int64)
    table = {'accuracy': np.arange(n + 1) / n, **metric_table(n, ks)}
    return Run(n, table, np.array(correct), nothing, nothing, answers, 'digest')


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


def truth_of(run: Run, wrong: set[str]) -> dict[str, float]:
    """Each metric with these verdicts turned round, question by question."""
    correct = [0] * len(run.correct)
    for answer in run.answers:
        if answer.kind.accepted is not (answer.name in wrong):
            correct[answer.question] += answer.samples
    return {name: sum(values[c] for c in correct) / len(correct) for name, values in run.table.items()}


def labels_of(run: Run, wrong: set[str]) -> dict[str, bool]:
    return {answer.name: answer.kind.accepted is not (answer.name in wrong) for answer in run.answers}


@pytest.mark.parametrize(
    'sizes', [[(6, 3)], [(8, 1)], [(5, 2), (4, 3)], [(4, 4), (7, 2)]], ids=['one', 'few', 'two', 'whole']
)
@pytest.mark.parametrize('alpha', [0.05, 0.2])
def test_the_true_numbers_of_errors_are_ruled_out_as_rarely_as_promised(
    sizes: list[tuple[int, int]], alpha: float
) -> None:
    """For every truth, the exact chance of all samples that would rule it out."""
    for truth in product(*(range(answers + 1) for answers, _ in sizes)):
        missed = 0.0
        for wrong in product(*(range(asked + 1) for _, asked in sizes)):
            chance = math.prod(
                hypergeom.pmf(x, answers, errors, asked)
                for x, errors, (answers, asked) in zip(wrong, truth, sizes, strict=True)
            )
            if chance:
                seen = [Seen(answers, asked, x) for x, (answers, asked) in zip(wrong, sizes, strict=True)]
                paid = sum(costs(one)[w - one.wrong] for one, w in zip(seen, truth, strict=True))
                missed += chance * (paid > budget(seen, alpha))
        assert missed <= alpha, truth


def test_costs_are_minus_the_logarithm_of_exact_chances() -> None:
    """By counting samples of 3 of 7, of which 1 was wrong, with W errors among the 7."""
    found = costs(Seen(7, 3, 1))
    for place, value in enumerate(found):
        errors = 1 + place
        samples = list(combinations([True] * errors + [False] * (7 - errors), 3))
        chance = Fraction(sum(sum(sample) == 1 for sample in samples), len(samples))
        assert value == (math.inf if not chance else pytest.approx(-math.log(chance)))


def test_an_answer_without_a_label_may_be_either() -> None:
    """It costs what the likelier of both labels would."""
    either = costs(Seen(9, 4, 1, 1))
    for errors in range(1, 10 - 2):
        chances = [hypergeom.pmf(wrong, 9, errors, 4) for wrong in (1, 2)]
        assert either[errors - 1] == pytest.approx(-math.log(max(chances)))


def test_kinds_share_one_budget() -> None:
    """Four clean kinds: all their errors together are hardly more than those of one alone."""
    seen = [Seen(80, 20, 0)] * 4
    alone = most_wrong([seen[0]], 0.05)[0]
    together = math.floor(budget(seen, 0.05) / costs(Seen(80, 20, 0))[1])
    assert together < 1.5 * alone
    assert most_wrong(seen, 0.05) == [most_wrong(seen, 0.05)[0]] * 4


def test_who_has_labelled_all_knows_all() -> None:
    """Nothing else of the kind may be wrong."""
    assert most_wrong([Seen(5, 5, 2), Seen(40, 10, 0)], 0.05)[0] == 2


def possible(doubts: Sequence[Doubt], kinds: Kinds) -> Iterator[tuple[Doubt, ...]]:
    """All sets of doubts whose costs are within the budgets."""
    for size in range(len(doubts) + 1):
        for chosen in combinations(doubts, size):
            number = Counter(doubt.kind for doubt in chosen)
            paid = [0.0] * len(kinds.budgets)
            for kind, side in enumerate(kinds.side):
                paid[side] += kinds.costs[kind][number[kind]]
            if all(one <= most for one, most in zip(paid, kinds.budgets, strict=True)):
                yield chosen


def relaxed(correct: Sequence[int], doubts: Sequence[Doubt], kinds: Kinds, values: Any) -> float:
    """The linear relaxation itself, over all sets of errors of each question and all numbers of each kind."""
    columns, gains = [], []
    rows = len(correct) + 2 * len(kinds.costs)
    for question, c in enumerate(correct):
        mine = [doubt for doubt in doubts if doubt.question == question]
        for size in range(len(mine) + 1):
            for chosen in combinations(mine, size):
                column = np.zeros(rows + len(kinds.budgets))
                column[question] = 1
                for doubt in chosen:
                    column[len(correct) + doubt.kind] += 1
                columns.append(column)
                gains.append(values[c + sum(doubt.change for doubt in chosen)])
    for kind, (paid, side) in enumerate(zip(kinds.costs, kinds.side, strict=True)):
        for number, cost in enumerate(paid):
            if np.isfinite(cost):
                column = np.zeros(rows + len(kinds.budgets))
                column[len(correct) + kind] = -number
                column[len(correct) + len(kinds.costs) + kind] = 1
                column[rows + side] = cost
                columns.append(column)
                gains.append(0.0)
    matrix = np.array(columns).T
    right = [1.0] * len(correct) + [0.0] * len(kinds.costs) + [1.0] * len(kinds.costs)
    found = linprog(-np.array(gains), matrix[rows:], kinds.budgets, matrix[:rows], right)
    return float(-found.fun) / len(correct)


@pytest.mark.parametrize('seed', range(5))
def test_no_set_of_errors_is_beyond_the_bounds(seed: int) -> None:
    """Against all sets within the budgets, and against the linear relaxation, solved as it stands."""
    generator = random.Random(seed)
    n, questions = 6, 3
    seen = [Seen(6, 3, 0), Seen(4, 2, generator.randrange(2)), Seen(5, 2, 0, 1), Seen(4, 2, 1)]
    side = [0, 0, 1, 1]
    left = [one.unknown for one in seen]
    budgets = [
        budget([one for one, at in zip(seen, side, strict=True) if at == which], 0.2) for which in (0, 1)
    ]
    kinds = Kinds([costs(one) for one in seen], side, budgets)
    doubts, correct, room = [], [3] * questions, [[3, 3] for _ in range(questions)]
    for kind in generator.choices(range(4), k=40):
        question, size = generator.randrange(questions), generator.choice([1, 1, 2, 3])
        if left[kind] and size <= room[question][side[kind]]:
            doubts.append(Doubt(question, kind, size if side[kind] else -size))
            left[kind] -= 1
            room[question][side[kind]] -= size
    # Answers that are left stand for no sample of these questions.
    fitting = Kinds(
        [paid[: len(paid) - rest] for paid, rest in zip(kinds.costs, left, strict=True)], side, budgets
    )
    for name, values in {'accuracy': np.arange(n + 1) / n, **metric_table(n, [2, 5])}.items():
        for sign in (1, -1):
            best = -math.inf
            for chosen in possible(doubts, fitting):
                counts = list(correct)
                for doubt in chosen:
                    counts[doubt.question] += doubt.change
                best = max(best, float(np.mean(sign * values[counts])))
            found = Extremes(np.array(correct), n, doubts, fitting).highest(sign * values)
            assert found >= best - 1e-12, name
            assert found == pytest.approx(relaxed(correct, doubts, fitting, sign * values), abs=2 * PRECISION)


def test_labels_of_all_answers_leave_nothing_open() -> None:
    """Lowest, highest and expected value are the metric by the labels."""
    run = drawn_run(12, 6, 1)
    wrong = {answer.name for answer in run.answers[::4]}
    found = findings(run, draw(run, Plan('', 0, 10_000)), labels_of(run, wrong))
    truth = truth_of(run, wrong)
    for one in found.metrics:
        assert (one.audited, one.low, one.high) == pytest.approx((truth[one.name],) * 3)
        assert one.reported == pytest.approx(truth_of(run, set())[one.name])
    assert all(one.wrong == one.most_wrong for one in found.kinds)


@pytest.mark.slow
@pytest.mark.parametrize('share', [0.0, 0.05, 0.3], ids=str)
def test_the_bounds_cover_the_truth(share: float) -> None:
    """25 draws each of a run with wrong verdicts; at a level of 80 % no more than a fifth may miss."""
    run = drawn_run(16, 4, 3)
    generator = random.Random(5)
    wrong = {answer.name for answer in run.answers if generator.random() < share}
    truth, labels, missed = truth_of(run, wrong), labels_of(run, wrong), 0
    for seed in range(25):
        drawn = draw(run, Plan('', seed, 18))
        told = {answer.name: labels[answer.name] for answer in in_turn(drawn)}
        found = findings(run, drawn, told, 0.8)
        missed += any(not one.low - 1e-9 <= truth[one.name] <= one.high + 1e-9 for one in found.metrics)
    assert missed <= 5


def test_more_labels_make_narrower_bounds_and_a_higher_level_wider_ones() -> None:
    """Half of the labels, all of them, all of them at 99 %."""
    run = drawn_run(20, 4, 2)
    drawn = draw(run, Plan('', 1, 30))
    labels = labels_of(run, set())
    order = [answer.name for answer in in_turn(drawn)]
    some = {name: labels[name] for name in order[:15]}
    every = {name: labels[name] for name in order}
    half, whole, surer = (
        findings(run, drawn, told, level).metrics
        for told, level in ((some, 0.9), (every, 0.9), (every, 0.99))
    )
    for one, two, three in zip(half, whole, surer, strict=True):
        assert two.high - two.low < one.high - one.low
        assert two.high - two.low < three.high - three.low


def test_errors_that_there_must_be_count_on_the_other_side_too() -> None:
    """Most accepted answers of the sample are wrong: the highest value is below what is reported."""
    run = run_of([[(YES, 4)]] * 40, 4)
    drawn = draw(run, Plan('', 0, 20))
    labels = {answer.name: place >= 15 for place, answer in enumerate(in_turn(drawn))}
    [accuracy, *_] = findings(run, drawn, labels).metrics
    assert accuracy.reported == 1
    assert accuracy.audited == pytest.approx(0.25)
    assert accuracy.low < 0.25 < accuracy.high < 1 - 15 / 40


def test_the_expected_value_is_that_of_an_enumeration() -> None:
    """Every answer without a label wrong or not, at the rate of its kind."""
    run = run_of([[(YES, 2), (NO, 1)], [(YES, 3)], [(YES, 1), (NO, 2)], [(YES, 1), (NO, 1), (NO, 1)]], 3)
    drawn = {YES: [run.answers[0], run.answers[2]], NO: [run.answers[1]]}
    labels = {'0-0': False, '1-0': True, '0-1': False}
    rates = {YES: Fraction(1, 2), NO: Fraction(0)}
    open_ones = [answer for answer in run.answers if answer.name not in labels]
    expected: Counter[str] = Counter()
    for flipped in product([False, True], repeat=len(open_ones)):
        chance = math.prod(
            rates[answer.kind] if flip else 1 - rates[answer.kind]
            for answer, flip in zip(open_ones, flipped, strict=True)
        )
        wrong = {answer.name for answer, flip in zip(open_ones, flipped, strict=True) if flip} | {'0-0'}
        for name, value in truth_of(run, wrong).items():
            expected[name] += float(chance) * value
    for one in findings(run, drawn, labels).metrics:
        assert one.audited == pytest.approx(expected[one.name])


@pytest.mark.parametrize('level', [0.0, 1.0, 95.0, float('nan')], ids=str)
def test_a_level_is_a_share(level: float) -> None:
    """Not a percentage."""
    run = drawn_run(4, 2, 0)
    with pytest.raises(InputError, match='expected a number between 0 and 1'):
        findings(run, draw(run, Plan('', 0, 5)), {}, level)


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
    small, large = (draw(run, Plan('', 7, pairs)) for pairs in (20, 35))
    for kind, answers in small.items():
        assert large[kind][: len(answers)] == answers
    assert small == draw(run, Plan('', 7, 20))
    assert in_turn(small) != in_turn(draw(run, Plan('', 8, 20)))
    assert sum(map(len, small.values())) == 20


def test_every_answer_is_drawn_as_often() -> None:
    """Each of 12 in half of 2,000 draws of 6, within five standard errors."""
    run = run_of([[(YES, 1)]] * 12, 1, ks=[1])
    counts = Counter(answer.name for seed in range(2000) for answer in draw(run, Plan('', seed, 6))[YES])
    assert len(counts) == 12
    assert all(abs(count - 1000) < 5 * math.sqrt(2000) / 2 for count in counts.values())


def test_the_first_half_of_the_order_is_half_of_each_kind() -> None:
    """So that who stops early knows as much of each."""
    run = drawn_run(40, 4, 0)
    drawn = draw(run, Plan('', 0, 48))
    half = Counter(answer.kind for answer in in_turn(drawn)[:24])
    assert all(abs(half[kind] - len(answers) / 2) <= 1 for kind, answers in drawn.items())


def test_trusted_types_are_not_drawn_and_cannot_be_wrong() -> None:
    """Only the rejected answers may turn."""
    run = run_of([[(YES, 2), (NO, 2)]] * 6, 4)
    drawn = draw(run, Plan('', 0, 2, ('string',)))
    assert list(drawn) == [NO]
    found = findings(run, drawn, {})
    assert all(one.low == pytest.approx(one.reported) for one in found.metrics)
    assert [one.most_wrong for one in found.kinds] == [None, 6]


@pytest.mark.parametrize(
    ('plan', 'message'),
    [
        (Plan('', 0, 1), 'there are 2 kinds of verdicts; give one each'),
        (
            Plan('', 0, 9, ('interval',)),
            '--trust interval: no verdict is of that type; there are string, text',
        ),
        (Plan('', 0, 9, ('string', 'text')), 'there is no verdict to ask about'),
        (Plan('', 0, 0), '--pairs'),
    ],
    ids=['few', 'unknown', 'all', 'none'],
)
def test_a_plan_that_draws_nothing_is_refused(plan: Plan, message: str) -> None:
    """With what would do."""
    with pytest.raises(InputError, match=message):
        draw(run_of([[(YES, 2), (NO, 2)]] * 6, 4), plan)


def result_of_samples(
    answers: list[list[str]], verdicts: list[str], judged_by: list[str], change: dict[str, Any] | None = None
) -> Result:
    """The result of questions with reference 2, of as many samples each, as it is read; None leaves out."""
    n, c = len(verdicts[0]), [row.count('1') for row in verdicts]
    uids = [f'u{number}' for number in range(len(answers))]
    details = {
        'question': [f'{uid}?' for uid in uids],
        'reference': ['2'] * len(uids),
        'answers': answers,
        'verdicts': verdicts,
        'judged_by': judged_by,
        'judges': {
            'a': 'string',
            'b': 'number (percent-sign)',
            'c': 'number',
            'd': 'empty',
            'e': 'llm',
            'f': 'down',
        },
    }
    counts = {'uid': uids, 'problem': uids, 'group': ['A_cn'] * len(uids), 'c': c}
    counts['unjudged'] = [row.count('?') for row in verdicts]
    data = data_of(uids, details['question'], details['reference'])
    block = {'schema': 2, 'n': n, 'k': [2], 'thresholds': [1.0], 'data': data, 'counts': counts, 'judge': {}}
    kept = {name: value for name, value in (details | (change or {})).items() if value is not None}
    return result_of(Path('x'), {'gpassk': block, 'details': kept})


def test_answers_of_one_normal_form_are_one() -> None:
    """The shortest spelling stands for them; lenient rules do not count; blanks are certain or in doubt."""
    run = read_run(result_of_samples([['2', '$2$', '2%', '7', '', '', '', '9']], ['11100?10'], ['aabcdfee']))
    assert [(one.pair.answer, one.kind, one.samples) for one in run.answers] == [
        ('2', Kind(True, 'string'), 2),
        ('2%', Kind(True, 'number'), 1),
        ('7', Kind(False, 'number'), 1),
        ('9', Kind(False, 'llm'), 1),
    ]
    assert run.answers[0].pair == Pair('u0?', '2', '2', 'cn')
    assert (run.unaccepted.tolist(), run.unrejected.tolist()) == ([1], [1])


def test_unjudged_samples_are_bounded_as_in_the_record() -> None:
    """All verdicts checked: what is left is what `gpassk.bounds` has."""
    answers = [['2', '2', '3', '4'], ['2', '5', '6', '6']]
    run = read_run(result_of_samples(answers, ['11?0', '1???'], ['aafc', 'afff']))
    found = findings(run, draw(run, Plan('', 0, 9)), labels_of(run, set()))
    bounds = Measures(4, [2], [1.0]).bounds(np.array([2, 1]), np.array([1, 3]))
    assert {one.name: [100 * one.low, 100 * one.high] for one in found.metrics} == pytest.approx(bounds)


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'answers': None}, 'x does not say what was answered'),
        ({'verdicts': ['11']}, 'x is damaged: details.verdicts has 1 entries; expected 2'),
        ({'verdicts': ['11', '00']}, "details.verdicts of 'u1' are '00', but gpassk.counts.c is 1"),
        ({'answers': [['2', '2'], ['2']]}, "details.answers of 'u1' has 1 samples; expected n = 2"),
        ({'verdicts': ['11', '1x']}, r"details.verdicts\[1\] = '1x'; expected"),
        ({'question': ['a', 3]}, r'details.question\[1\] = 3; expected a text'),
        ({'judged_by': ['aa', 3]}, r'details.judged_by\[1\] = 3; expected a text'),
        ({'judged_by': ['aa', 'a']}, "details.judged_by of 'u1' has 1 samples; expected n = 2"),
    ],
    ids=['none', 'rows', 'counts', 'answers', 'symbols', 'texts', 'no letters', 'letters'],
)
def test_a_result_that_says_something_else_is_refused(change: dict[str, Any], message: str) -> None:
    """With the question."""
    with pytest.raises(InputError, match=message):
        read_run(result_of_samples([['2', '2'], ['2', '3']], ['11', '10'], ['aa', 'ac'], change))
