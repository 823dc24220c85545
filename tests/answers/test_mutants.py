"""Mutants of answers: each says something else, and the rule judge tells it from the answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mutants import mutants_of

from gpassk_opencompass import RuleJudge, Verdict
from gpassk_opencompass.judges import Pair

REFERENCES = [
    '4049', r'\frac{3}{4}', '-5', '0.39', r'2\sqrt{2}-2', '10^{2^n-n-1}', r'\{2,5\}',
    r'(-\infty,-1)\cup(6,+\infty)',
    r'\left[2, \frac{4}{3}\right)', '3, 5, 7', '(6,31,-1)', r'\begin{pmatrix} 1/5 \\ -18/5 \end{pmatrix}',
    r'\{x \mid -1 < x \le 2\}', '[[1, 2], [3, 4]]', '5 cm', '12个', r'115^\circ', r'y = 2x + 3', 'a > b > c',
    '充分不必要条件', '单调递增', 'sufficient but not necessary condition', 'B', 'A, B, D', '4:30 p.m.',
    '3R^2',
    '1:2', r'2k\pi + \frac{\pi}{6}', r'\cot x', r'1 \pm \sqrt{19}', '三分之二',
    r'\$36',
]  # fmt: skip


@pytest.fixture
def judge() -> Iterator[RuleJudge]:
    with RuleJudge() as shared:
        yield shared


def test_the_rule_judge_tells_the_references_of_benchmarks_from_their_mutants(judge: RuleJudge) -> None:
    """Of each kind of reference: no answer with one token changed is accepted."""
    pairs = [
        Pair('?', reference, mutant.text) for reference in REFERENCES for mutant in mutants_of(reference)
    ]
    assert len(pairs) > 200
    judged = zip(pairs, judge.judge(pairs), strict=True)
    assert [pair for pair, said in judged if said.verdict is not Verdict.INCORRECT] == []


def test_letters_are_told_apart_where_two_options_say_the_same(judge: RuleJudge) -> None:
    """By the options of the question."""
    question = 'Which is it? (A) $1/2$ (B) $0.5$ (C) $3$'
    for reference in ('A', 'C', '3'):
        pairs = [Pair(question, reference, mutant.text) for mutant in mutants_of(reference)]
        assert {said.verdict for said in judge.judge(pairs)} == {Verdict.INCORRECT}
