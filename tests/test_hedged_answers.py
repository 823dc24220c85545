"""A model that states every candidate never wins, and a legitimate list or a repeated answer never loses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from gpassk_opencompass import FunctionJudge, Samples, score
from gpassk_opencompass.judges import Judge, Pair
from gpassk_opencompass.judges.rule import RuleJudge
from gpassk_opencompass.record import Result


class Case(NamedTuple):
    """A response to a question with this reference, whether it counts, and why."""

    response: str
    reference: str
    correct: bool
    reason: str


HEDGED = [
    Case(r'\boxed{4}\boxed{5}', '5', False, 'two boxes side by side'),
    Case(r'\boxed{5}\boxed{4}', '5', False, 'in whatever order'),
    Case('1. \\boxed{4}\n2. \\boxed{5}', '5', False, 'a list of candidates'),
    Case('(a) \\boxed{4}\n(b) \\boxed{5}', '5', False, 'a list of candidates by letters'),
    Case('- \\boxed{4}\n- \\boxed{5}\n- \\boxed{6}', '5', False, 'a list with bullets'),
    Case('Option 1: \\boxed{4}\nOption 2: \\boxed{5}', '5', False, 'numbered options'),
    Case('**\\boxed{4}**\n\n**\\boxed{5}**', '5', False, 'a blank line between'),
    Case(r'\boxed{4} or \boxed{5}', '5', False, 'or'),
    Case(r'\boxed{4} and \boxed{5}', '5', False, 'and'),
    Case(r'$\boxed{4}$, $\boxed{5}$', '5', False, 'a comma'),
    Case(r'\boxed{4} vs. \boxed{5}', '5', False, 'against each other'),
    Case(r'\boxed{4} / \boxed{5}', '5', False, 'a slash'),
    Case(r'\boxed{4} or maybe \boxed{5}', '5', False, 'doubt'),
    Case(r'\boxed{4}. It could also be \boxed{5}.', '5', False, 'doubt in a sentence of its own'),
    Case(r'$x=\boxed{4}$ or $x=\boxed{5}$', '5', False, 'named candidates'),
    Case(r'\boxed{4 \text{ or } 5}', '5', False, 'two values in one box'),
    Case(r'\boxed{4, 5}', '5', False, 'a list in one box'),
    Case(r'\boxed{4; 5}', '5', False, 'a list with a semicolon'),
    Case(r'\boxed{3,4,5}', '5', False, 'a list without blanks'),
    Case(r'\boxed{4 \quad 5}', '5', False, 'a gap between values'),
    Case(r'\boxed{\pm 5}', '5', False, 'both signs'),
    Case(r'$x = \pm\boxed{5}$', '5', False, 'both signs before the box'),
    Case(r'\boxed{5} or 6', '5', False, 'a candidate behind the box'),
    Case(r'\boxed{5}. Or 6.', '5', False, 'a candidate behind the stop'),
    Case(r'\boxed{5}. It might also be 6.', '5', False, 'doubt behind the box'),
    Case('The answer is **5** or **6**.', '5', False, 'in words, set off'),
    Case('answer: 5 or 6', '5', False, 'in words'),
    Case('The answer is 5, 6', '6', False, 'in words, with a comma'),
    Case('The answer is either $5$ or $6$.', '6', False, 'in words, formulas'),
    Case('The answer is 5. Or 6.', '5', False, 'in words, two sentences'),
    Case(r'\boxed{A} or \boxed{B}', 'B', False, 'two options'),
    Case('ANSWER: A or B', 'A', False, 'two options in words'),
    Case('\\boxed{A}\\boxed{B}\\boxed{C}\\boxed{D}', 'C', False, 'all options'),
    Case(r'\boxed{1}, \boxed{2}, \boxed{3}, \boxed{4}', '1, 2', False, 'more than are asked for'),
    Case(r'\boxed{(1,2)} or \boxed{[1,2]}', '(1,2)', False, 'two intervals where one is asked for'),
    Case(r'\boxed{4}或\boxed{5}', '5', False, 'Chinese or'),
    Case('①\\boxed{4}\n②\\boxed{5}', '5', False, 'Chinese list'),
    Case('\\boxed{4}，也可能是\\boxed{5}', '5', False, 'Chinese doubt'),
    Case('\\boxed{5}或6', '5', False, 'Chinese candidate behind the box'),
    Case('\\boxed{5}。也可能是6。', '5', False, 'Chinese doubt behind the box'),
    Case('答案是5或6', '5', False, 'Chinese words'),
    Case('答案可能是5，也可能是6', '6', False, 'Chinese doubt in words'),
    Case('【答案】5、6', '6', False, 'Chinese list in words'),
    Case('故选A或B。', 'B', False, 'Chinese options'),
]  # fmt: skip

LEGITIMATE = [
    Case(r'\boxed{1} \text{ and } \boxed{2}', '1, 2', True, 'both values are asked for'),
    Case(r'\boxed{1} \text{ and } \boxed{2}', '1 and 2', True, 'in words'),
    Case(r'x = \boxed{2} or x = \boxed{3}', '2, 3', True, 'both roots'),
    Case('1. \\boxed{2}\n2. \\boxed{3}', '2, 3', True, 'a list that is asked for'),
    Case(r'\boxed{(1, 2)}, \boxed{(2, 1)}', '(1, 2), (2, 1)', True, 'all pairs'),
    Case(
        r'$\theta = \boxed{\frac{\pi}{2}}$, $f\left(\frac{\pi}{3}\right) = \boxed{1}$', r'\frac{\pi}{2}, 1',
        True,
        'parts',
    ),
    Case(r'\boxed{3}, \boxed{4}. Together: \boxed{3, 4}', '3, 4', True, 'the list repeated'),
    Case(r'\boxed{\{1, 2\}}', r'\{1, 2\}', True, 'a set in one box'),
    Case(r'\boxed{\pm 3}', r'\pm 3', True, 'both signs are asked for'),
    Case(r'\boxed{B} and \boxed{C}', 'BC', True, 'several options are right'),
    Case(r'\boxed{\frac{1}{2}} or \boxed{0.5}', r'\frac{1}{2}', True, 'one value in two spellings'),
    Case(
        r'\boxed{\frac{\sqrt{6}}{2}} or \boxed{\sqrt{\frac{3}{2}}}', r'\frac{\sqrt{6}}{2}',
        True,
        'roots in two spellings',
    ),
    Case(r'\boxed{5}, \boxed{5}', '5', True, 'a repetition'),
    Case(r'\boxed{50\%} or \boxed{0.5}', '0.5', True, 'a percentage'),
    Case(r'\boxed{1,234}', '1234', True, 'thousands'),
    Case(r'\boxed{2 \text{ hours and } 5 \text{ minutes}}', '2 hours and 5 minutes', True, 'one measure'),
    Case(
        'Step 1 gives \\boxed{3}. We use this. Therefore the final answer is \\boxed{5}.', '5',
        True,
        'steps',
    ),
    Case(
        '$a = \\boxed{3}$. Then 2a − 1 is what is asked for, so we get\n\\[ \\boxed{5} \\]', '5',
        True,
        'steps',
    ),
    Case(r'\boxed{3}. No, wait: \boxed{5}', '5', True, 'a correction in a box'),
    Case(r'\boxed{5}. Check: 2 + 3 = 5. So the answer is \boxed{5}.', '5', True, 'a check'),
    Case(r'\boxed{5}', '5', True, 'nothing else'),
    Case(r'\boxed{5} square units or so, as the answer is 5.', '5', True, 'a remark'),
    Case('答案是2或3', '2或3', True, 'Chinese list that is asked for'),
    Case('最终答案：$\\theta = \\boxed{2}$，$x = \\boxed{3}$', '2, 3', True, 'Chinese parts'),
    Case('\\boxed{5}。检验：2+3=5，所以答案是5。', '5', True, 'Chinese check'),
]  # fmt: skip

TAKEN_BACK = [
    Case('\\boxed{5}\nCorrection: the final answer is 6', '5', False, 'taken back'),
    Case('\\boxed{5}\nCorrection: the final answer is 6', '6', True, 'the correction counts'),
    Case('\\boxed{5}. Wait, it should be 6.', '5', False, 'taken back'),
    Case('\\boxed{5}. Correction: 6', '6', True, 'without more words'),
    Case('The sum is \\boxed{5}. ANSWER: No', '5', False, 'a later answer of another kind'),
    Case('The sum is \\boxed{5}. ANSWER: No', 'No', True, 'a later answer of another kind'),
    Case('So it is \\boxed{12}.\nANSWER: C', 'C', True, 'the letter of the option is the answer'),
    Case(
        'Option \\boxed{C} is right; the answer is 12.', 'C',
        True,
        'a letter is not taken back by what it says',
    ),
    Case(r'\boxed{5}. So the answer is 5 cm.', '5', True, 'the same with a unit'),
    Case(r'\boxed{\frac{\pi}{2}}. The answer is 1.57.', r'\frac{\pi}{2}', True, 'rounded'),
    Case(r'\boxed{1, 2}. The answer to part (a) is 1.', '1, 2', True, 'a part'),
    Case(r'\boxed{5}. The answer is the number of ways.', '5', True, 'no value'),
    Case(r'\boxed{5}. The answer is 5 or 6.', '5', False, 'taken back by a hedge'),
    Case('\\boxed{5}\n更正：答案是6', '5', False, 'Chinese correction'),
    Case('\\boxed{5}\n更正：答案是6', '6', True, 'Chinese correction counts'),
    Case('\\boxed{5}。不对，应该是6。', '6', True, 'Chinese correction without 答案'),
]  # fmt: skip

SIGNS = [
    Case(r'$x=-\boxed{5}$', '5', False, 'the sign belongs to the box'),
    Case(r'$x=-\boxed{5}$', '-5', True, 'the sign belongs to the box'),
    Case(r'The value is $-\boxed{5}$.', '-5', True, 'a sign at the start of a formula'),
    Case(r'The value is −\boxed{5}.', '-5', True, 'a typed minus'),
    Case(r'$x = -\boxed{a-b}$', 'b-a', True, 'the sign of all that is in the box'),
    Case(r'$x \ge \boxed{5}$', r'x \ge 5', True, 'the relation belongs to the box'),
    Case(r'$x \ge \boxed{5}$', '5', False, 'the relation belongs to the box'),
    Case(r'$x \neq \boxed{5}$', '5', False, 'all but 5'),
    Case(r'$x > \boxed{5}$', r'(5, \infty)', True, 'an inequality for an interval'),
    Case(r'$x = \boxed{5}$', '5', True, 'equality is no relation to keep'),
    Case(r'$x \approx \boxed{5}$', '5', True, 'nor is near equality'),
    Case(r'a dash — \boxed{5}', '5', True, 'no sign'),
    Case('\n- \\boxed{5}', '5', True, 'a bullet'),
    Case(r'Answer - \boxed{5}', '5', True, 'a hyphen as a dash'),
    Case(r'$12 - \boxed{5}$', '5', True, 'a difference'),
    Case('<answer>\\boxed{5}</answer>', '5', True, 'a tag is no relation'),
    Case('> \\boxed{5}', '5', True, 'nor is a quote'),
    Case('-> \\boxed{5}', '5', True, 'nor an arrow'),
    Case('答案是$-\\boxed{5}$', '-5', True, 'Chinese'),
]  # fmt: skip

SPOKEN = [
    Case('【答案】5', '5', True, 'a Chinese label'),
    Case('由此可得，故填5。', '5', True, 'fill in'),
    Case('故答案为$\\frac12$。', r'\frac{1}{2}', True, 'hence'),
    Case('综上，正确选项为D。', 'D', True, 'the right option'),
    Case('【答案】 D <eoa>', 'D', True, 'a mark of the end'),
    Case('The answer is 3.14 m, i.e. 314 cm.', '3.14 m, i.e. 314 cm', True, 'an abbreviation ends nothing'),
    Case(
        'The answer is every even number, e.g. the number 2.', 'every even number, e.g. the number 2',
        True,
        'nor this',
    ),
]  # fmt: skip

ALL = HEDGED + LEGITIMATE + TAKEN_BACK + SIGNS + SPOKEN


def scored(cases: Sequence[Case], judge: Judge) -> Result:
    """All cases as questions of one sample."""
    rows = range(len(cases))
    samples = Samples(
        {
            'uid': [f'q{row}' for row in rows],
            'replica': [0] * len(cases),
            'question': [f'question {row}' for row in rows],
            'reference': [case.reference for case in cases],
            'response': [case.response for case in cases],
        }
    )
    return score(samples, judge, n=1, k=1)


@pytest.fixture(scope='module')
def verdicts() -> dict[Case, bool]:
    """Of the rule judge, for all cases."""
    with RuleJudge() as judge:
        result = scored(ALL, judge)
    assert result.health.unjudged == 0
    return {case: c == 1 for case, c in zip(ALL, result.counts.c, strict=True)}


@pytest.mark.parametrize('case', ALL, ids=lambda case: f'{case.reason}: {case.response}')
def test_a_response_counts_by_the_written_rule(case: Case, verdicts: dict[Case, bool]) -> None:
    """As docs/judging.md says it, from the response to the verdict."""
    assert verdicts[case] is case.correct


def test_no_judge_is_asked_about_a_hedge() -> None:
    """A judge that accepts everything gets none of them, and the record counts them."""
    seen: list[Pair] = []
    judge = FunctionJudge(lambda pair: not seen.append(pair), name='yes')
    result = scored(HEDGED, judge)
    assert seen == []
    assert result.scores()['accuracy'] == 0.0
    assert result.health.hedged == result.health.judged_by['hedged'] == len(HEDGED)


def test_a_judge_is_asked_about_all_else() -> None:
    """Lists that are asked for, repetitions, corrections, signs: none of them is refused unasked."""
    result = scored([case for case in ALL if case.correct], FunctionJudge(lambda pair: True))
    assert result.scores()['accuracy'] == 100.0
    assert result.health.hedged == 0


def test_one_answer_of_one_text_may_be_hedged_and_another_not() -> None:
    """Two boxes and two words in one box are not taken for one another."""
    cases = [
        Case(r'\boxed{\text{even}} or \boxed{\text{odd}}', 'even, odd or both', True, ''),
        Case(r'\boxed{\text{even}} or \boxed{\text{odd}}', 'odd', False, ''),
        Case(r'\boxed{\text{even}, \text{odd}}', 'odd', True, ''),
    ]
    result = scored(cases, FunctionJudge(lambda pair: True))
    assert result.counts.c == [int(case.correct) for case in cases]
