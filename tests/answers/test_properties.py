"""Equality of answers: symmetric, transitive, and never kept by a mutation."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_suite import generated, written

from gpassk_opencompass import Pair, RuleJudge, Verdict
from gpassk_opencompass.answers import RULES, compare_answers, normal_form

EXACT: frozenset[str] = frozenset()
CASES = [case for case in (*written(), *generated(20)) if not case.question]
REFERENCES = sorted({case.reference for case in CASES})


def equal(one: str, other: str, rules: frozenset[str] = EXACT) -> bool:
    """Whether two answers are the same."""
    if normal_form(one) == normal_form(other):
        return True
    return compare_answers(one, other, rules=rules).equal


@given(st.sampled_from(CASES))
@settings(max_examples=300)
def test_equality_is_symmetric(case: tuple[str, ...]) -> None:
    """With the lenient rules that do not ask which side is the reference, and with none."""
    symmetric = frozenset(RULES) - {'rounded', 'stated', 'percent-sign'}
    for rules in (EXACT, symmetric):
        assert equal(case.reference, case.answer, rules) is equal(case.answer, case.reference, rules)


@given(st.sampled_from(REFERENCES))
def test_equality_is_reflexive(reference: str) -> None:
    """Blanks and delimiters around it make no difference."""
    assert equal(reference, f' {reference} ')
    assert compare_answers(reference, reference).equal is not False


@given(st.fractions(max_denominator=40), st.sampled_from(REFERENCES))
def test_exact_equality_is_transitive(value: Fraction, other: str) -> None:
    """Three notations of one number agree with each other, and with the same other answers."""
    above, below = value.numerator, value.denominator
    forms = [f'{above}/{below}', rf'\frac{{{2 * above}}}{{{2 * below}}}', f'{3 * above}÷{3 * below}']
    assert all(equal(one, two) for one in forms for two in forms)
    assert len({equal(form, other) for form in forms}) == 1


DIGIT, LETTER = '0123456789', 'abcnxyRSTk'


@given(st.text(max_size=60))
@settings(max_examples=300)
def test_any_text_is_read_or_refused(text: str) -> None:
    """Never an error, and nothing but itself equals what cannot be read."""
    assert compare_answers(text, '5').equal in {True, False}
    assert compare_answers('\\frac{1}{2}', text).equal in {True, False}


EXAMPLES = {
    'asked': ('75', 'm + n = 75'), 'bound-names': ('f(z) = z', 'f(x) = x'),
    'chain': ('1024', '2^{10} = 1024'), 'remark': ('2n', r'2n \text{ for all } n'),
    'half-day': ('4:30 p.m.', '4:30'),
    'list-as-set': (r'\{2, 5\}', '2, 5'), 'list-as-tuple': ('(2, 5)', '2, 5'),
    'list-order': ('2, 5', '5, 2'), 'long-decimal': (r'\frac{\pi}{2}', '1.5707963268'),
    'name-missing': ('x = 5', '5'), 'percent-sign': (r'28\%', '28'), 'ratio-as-fraction': ('1:2', '1/2'),
    'rounded': ('0.667', '2/3'), 'stated': ('5', 'The area is $5$.'), 'unit-missing': ('5 cm', '5'),
}  # fmt: skip


@pytest.mark.parametrize('rule', sorted(RULES))
def test_a_lenient_rule_stands_in_the_origin_and_can_be_switched_off(rule: str) -> None:
    """And the identity of the judge says so."""
    pair = Pair('Find $m + n$.' if rule == 'asked' else '', *EXAMPLES[rule])
    with RuleJudge() as judge, RuleJudge(without=[rule]) as strict:
        [said], [refused] = judge.judge([pair]), strict.judge([pair])
        assert judge.identity()['without'] == []
        assert strict.identity()['without'] == [rule]
    assert said.verdict is Verdict.CORRECT
    assert f'({rule})' in said.origin
    assert refused.verdict is Verdict.INCORRECT
