"""Mutants of answers: each says something else, and the rule judge tells it from the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutants import MOST_MUTANTS, mutants_of

from gpassk_opencompass import RuleJudge, Verdict
from gpassk_opencompass.judges import Pair

REFERENCES = [
    '4049', r'\frac{3}{4}', '-5', '0.39', r'2\sqrt{2}-2', '10^{2^n-n-1}', r'\{2,5\}',
    r'(-\infty,-1)\cup(6,+\infty)',
    r'\left[2, \frac{4}{3}\right)', '3, 5, 7', '(6,31,-1)', r'\begin{pmatrix} 1/5 \\ -18/5 \end{pmatrix}',
    r'\{x \mid -1 < x \le 2\}', '[[1, 2], [3, 4]]', '5 cm', '12个', r'115^\circ', r'y = 2x + 3', 'a > b > c',
    '充分不必要条件', '单调递增', 'sufficient but not necessary condition', 'B', 'A, B, D', '4:30 p.m.',
    '3R^2',
    '2024年5月3日', '52_8', '1:2', r'2k\pi + \frac{\pi}{6}', r'\cot x', r'1 \pm \sqrt{19}', '三分之二',
    r'\$36',
]  # fmt: skip


@pytest.fixture
def judge() -> Iterator[RuleJudge]:
    with RuleJudge() as shared:
        yield shared


@pytest.mark.parametrize(
    ('answer', 'kind', 'mutant'),
    [
        ('591', 'digit', '592'),
        ('591', 'digit', '691'),
        ('.0000672', 'digit', '.0000673'),
        ('59', 'digit', '58'),
        ('三分之二', 'digit', '三分之三'),
        ('twenty-one', 'digit', 'twenty-two'),
        (r'\frac{1}{2}', 'sign', r'\frac{-1}{2}'),
        ('-3', 'sign', '3'),
        ('a-b', 'sign', 'a+b'),
        (r'1 \pm \sqrt{19}', 'sign', r'1 + \sqrt{19}'),
        (r'(2,\infty)', 'sign', r'(2,-\infty)'),
        ('x>5', 'relation', 'x<5'),
        (r'x \le 5', 'relation', 'x < 5'),
        (r'k \in \mathbb{Z}', 'relation', r'k \notin  \mathbb{Z}'),
        ('[0, 1)', 'end', '(0, 1)'),
        (r'\left[ 0, 1 \right)', 'end', r'\left[ 0, 1 \right]'),
        ('R-r', 'case', 'R-R'),
        ('x=5', 'letter', 'w=5'),
        (r'2\alpha', 'letter', r'2\beta'),
        ('5 cm', 'unit', '5 mm'),
        ('5 cm', 'unit', '5 mg'),
        ('3小时', 'unit', '3毫米'),
        (r'115^\circ', 'unit', r'115^\text{ rad}'),
        (r'\$36', 'unit', '€36'),
        ('increasing', 'opposite', 'decreasing'),
        ('单调递增', 'opposite', '单调递减'),
        ('For all $n$, Bob wins.', 'opposite', 'For all $n$, Alice wins.'),
        ('collinear', 'negation', 'not collinear'),
        ('not continuous', 'negation', ' continuous'),
        ('充分不必要', 'negation', '充分必要'),
        ('平行', 'negation', '不平行'),
        (r'\{2,5\}', 'element', r'\{5\}'),
        ('3, 5, 7', 'element', '3, 5'),
        (r'x<1 \cup x>2', 'element', 'x<1 '),
        (r'\sin x', 'function', r'\cos x'),
        (r'\sqrt{3}', 'function', ' {3}'),
        (r'3 \times 4', 'operator', '3 + 4'),
        ('B', 'choice', 'C'),
        ('sampling survey', 'word', 'sampling table'),
        ('抽样调查', 'word', '抽样桌查'),
    ],
)
def test_a_mutant_differs_in_one_token(answer: str, kind: str, mutant: str) -> None:
    """Of each kind, in both languages; the rest of the text is as it was."""
    assert (kind, mutant) in mutants_of(answer)


@pytest.mark.parametrize(
    ('answer', 'mutant'),
    [
        ('A quadrilateral', 'a quadrilateral'),
        ('16 km/h', '16 km/H'),
        ('4:30 p.m.', '4:30 P.m.'),
        ('B', 'b'),
        ('0', '-0'),
        ('5 cm', '5'),
        (r'28\%', '28'),
        ('2, 2', '2'),
        ('58,500', '58'),
        ('x = 5', '5'),
        (r'2n-1, n \in \mathbb{N}', '2n-1'),
    ],
)
def test_what_means_the_same_or_is_left_open_on_purpose_is_no_mutant(answer: str, mutant: str) -> None:
    """An article, a unit's case, -0, and what the lenient rules are there for."""
    assert mutant not in [made.text.strip() for made in mutants_of(answer)]


@given(st.text(max_size=80))
@settings(max_examples=300)
def test_any_text_has_few_mutants_and_always_the_same(text: str) -> None:
    """Never the text itself, never one twice."""
    made = mutants_of(text)
    texts = [mutant.text for mutant in made]
    assert made == mutants_of(text)
    assert len(made) <= MOST_MUTANTS
    assert text not in texts
    assert len({*made}) == len(made)


def test_a_long_answer_is_bounded_with_all_kinds_of_changes() -> None:
    """No kind takes the place of another; beyond 2,000 characters nothing is tried."""
    long = ', '.join(rf'x_{{{number}}} = -\frac{{{number}}}{{7}}' for number in range(100, 160))
    made = mutants_of(long[:1990])
    assert len(made) == MOST_MUTANTS
    assert {'digit', 'sign', 'relation', 'case', 'letter', 'element'} <= {mutant.kind for mutant in made}
    assert mutants_of('1+' * 1001) == []


_RATIONAL = re.compile(r'(-?)\\frac\{(-?\d+)\}\{(-?\d+)\}')


@given(st.integers(1, 10**9), st.integers(2, 10**6), st.booleans())
def test_each_mutant_of_a_number_is_another_number(above: int, below: int, negative: bool) -> None:
    """By exact fractions, for those that still are fractions."""
    reference = rf'{"-" if negative else ""}\frac{{{above}}}{{{below}}}'
    value = Fraction(-above if negative else above, below)
    numbers = [match for mutant in mutants_of(reference) if (match := _RATIONAL.fullmatch(mutant.text))]
    assert len(numbers) >= 4
    for sign, *parts in (match.groups() for match in numbers):
        changed = Fraction(int(parts[0]), int(parts[1]))
        assert (-changed if sign else changed) != value


def test_the_rule_judge_tells_the_references_of_benchmarks_from_their_mutants(judge: RuleJudge) -> None:
    """Of each kind of reference: no answer with one token changed is accepted, or left to a proof."""
    said = {
        (reference, mutant.text): judge.at_once(Pair('?', reference, mutant.text))
        for reference in REFERENCES
        for mutant in mutants_of(reference)
    }
    assert len(said) > 200
    assert [pair for pair, one in said.items() if one is None or one.verdict is not Verdict.INCORRECT] == []


def test_letters_are_told_apart_where_two_options_say_the_same(judge: RuleJudge) -> None:
    """By the options of the question."""
    question = 'Which is it? (A) $1/2$ (B) $0.5$ (C) $3$'
    for reference in ('A', 'C', '3'):
        for mutant in mutants_of(reference):
            said = judge.at_once(Pair(question, reference, mutant.text))
            assert said is not None
            assert said.verdict is Verdict.INCORRECT
