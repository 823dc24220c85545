"""Equality of answers: symmetric, transitive, and never kept by a mutation."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_suite import generated, written

from gpassk_opencompass import InputError, Pair, RuleJudge, Verdict
from gpassk_opencompass.answers import RULES, Answered, as_tree, compare_answers, normal_form
from gpassk_opencompass.judges.verifier import equivalent

EXACT: frozenset[str] = frozenset()
CASES = [case for case in (*written(), *generated(20)) if not case.question]
REFERENCES = sorted({case.reference for case in CASES})


def equal(one: str, other: str, rules: frozenset[str] = EXACT) -> bool | None:
    """Whether two answers are the same, None where a proof is left to math-verify."""
    if normal_form(one) == normal_form(other):
        return True
    return compare_answers(one, other, rules=rules).equal


def proven(said: Answered) -> bool:
    """Whether the worker accepts what is left open."""
    ours, theirs = (json.dumps([as_tree(pair[side]) for pair in said.open]) for side in (0, 1))
    return equivalent((ours, theirs))


@given(st.sampled_from(CASES))
@settings(max_examples=300)
def test_equality_is_symmetric(case: tuple[str, ...]) -> None:
    """With all lenient rules but the one that lets a reference be rounded, and with none."""
    symmetric = frozenset(RULES) - {'rounded', 'stated'}
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


@given(st.integers(1, 10**12), st.data())
def test_a_changed_digit_is_another_number(value: int, data: st.DataObject) -> None:
    """Anywhere in an integer, a fraction, a root, a set, an interval."""
    digits = str(value)
    place = data.draw(st.integers(0, len(digits) - 1))
    changed = (
        digits[:place] + data.draw(st.sampled_from(DIGIT.replace(digits[place], ''))) + digits[place + 1 :]
    )
    form = data.draw(
        st.sampled_from(
            [
                '{}',
                r'\frac{{{}}}{{7}}',
                r'\sqrt{{{}}}',
                r'\{{1, {}\}}',
                '(-1, {}]',
                'x={}',
                '{} cm',
                '{}元',
                '{}x',
                'x>{}',
                r'\ln {}',
                'A({}, 1)',
                '3, {}',
                '{}:7',
                'y={}x+1',
                '2^{{{}}}',
            ]
        )
    )
    if int(changed) != value:
        said = compare_answers(form.format(digits), form.format(changed))
        assert said.equal is False or (said.equal is None and not proven(said))


@given(
    st.sampled_from(LETTER),
    st.sampled_from(['{}', '2{}+1', r'\frac{{{}}}{{3}}', '{}^2', r'\sin {}', '{}=5', '{}>5', r'\sqrt{{{}}}']),
)
def test_the_case_of_a_symbol_counts(letter: str, form: str) -> None:
    """R is not r, in whatever stands around it."""
    assert equal(form.format(letter), form.format(letter.swapcase()), frozenset(RULES)) is False


@given(
    st.integers(-50, 50),
    st.integers(1, 50),
    st.sampled_from(['[]', '[)', '(]', '()']),
    st.sampled_from(['[]', '[)', '(]', '()']),
)
def test_the_ends_of_an_interval_count(low: int, length: int, one: str, other: str) -> None:
    """Each bracket, in each of three notations."""

    def forms(brackets: str) -> list[str]:
        interval = f'{brackets[0]}{low}, {low + length}{brackets[1]}'
        signs = [r'\le' if bracket in '[]' else '<' for bracket in brackets]
        return [interval, rf'x \in {interval}', rf'{low} {signs[0]} x {signs[1]} {low + length}']

    assert {equal(left, right) for left in forms(one) for right in forms(other)} == {one == other}


NEGATED = [
    ('5', 'not 5'),
    ('5', '不等于5'),
    ('x=5', r'x \ne 5'),
    ('连续', '不连续'),
    ('continuous', 'not continuous'),
    ('Yes', 'No'),
    ('存在', '不存在'),
    ('rational', 'not rational'),
    ('the answer is $5$', 'the answer is not $5$'),
    ('充分条件', '不充分条件'),
    ('x>5', r'x \le 5'),
    ('甲胜', '甲不胜'),
    ('Alice wins', 'Alice never wins'),
]


@pytest.mark.parametrize(('one', 'other'), NEGATED)
def test_a_negation_is_never_the_same(one: str, other: str) -> None:
    """In words, signs, both languages and both directions."""
    everything = frozenset(RULES)
    assert equal(one, other, everything) is False
    assert equal(other, one, everything) is False


@given(
    st.integers(2, 99),
    st.lists(
        st.sampled_from(
            ['mm', 'cm', 'm', 'km', 'g', 'kg', 's', 'min', 'h', '元', '角', '米', '小时', 'm^2', 'km/h']
        ),
        min_size=2,
        max_size=2,
        unique=True,
    ),
)
def test_another_unit_is_another_quantity(value: int, units: list[str]) -> None:
    """Unless it is the same unit in the other language."""
    same = {*units} in ({'m', '米'}, {'h', '小时'})
    assert equal(f'{value} {units[0]}', f'{value} {units[1]}', frozenset(RULES)) is same


@given(st.text(max_size=60))
@settings(max_examples=300)
def test_any_text_is_read_or_refused(text: str) -> None:
    """Never an error, and nothing but itself equals what cannot be read."""
    assert compare_answers(text, '5').equal in {True, False, None}
    assert compare_answers('\\frac{1}{2}', text).equal is not None or normal_form(text)


EXAMPLES = {
    'brackets': ('(3, -1)', '[3, -1]'),
    'condition-missing': (r'2n-1 (n \in \mathbb{N}^*)', '2n-1'),
    'half-day': ('4:30 p.m.', '4:30'),
    'label': ('每瓶墨水10元', '墨水10元'),
    'list-as-set': (r'\{2, 5\}', '2, 5'),
    'list-as-tuple': ('(2, 5)', '2, 5'),
    'list-order': ('2, 5', '5, 2'),
    'long-decimal': (r'\frac{\pi}{2}', '1.5707963268'),
    'name-missing': ('x = 5', '5'),
    'percent-sign': (r'28\%', '28'),
    'ratio-as-fraction': ('1:2', '1/2'),
    'rounded': ('0.667', '2/3'),
    'stated': ('5', 'The area is $5$.'),
    'unit-missing': ('5 cm', '5'),
}


@pytest.mark.parametrize('rule', sorted(RULES))
def test_a_lenient_rule_stands_in_the_origin_and_can_be_switched_off(rule: str) -> None:
    """And the identity of the judge says so."""
    pair = Pair('?', *EXAMPLES[rule])
    with RuleJudge() as judge, RuleJudge(without=[rule]) as strict:
        [said], [refused] = judge.judge([pair]), strict.judge([pair])
        assert judge.identity()['without'] == []
        assert strict.identity()['without'] == [rule]
    assert said.verdict is Verdict.CORRECT
    assert f'({rule})' in said.origin
    assert refused.verdict is Verdict.INCORRECT


@pytest.mark.parametrize('without', ['unit-missing', ['unit_missing'], 5])
def test_a_rule_that_is_none_is_refused(without: object) -> None:
    """With what was received and the rules that there are."""
    with pytest.raises(InputError, match=r'without=.*unit-missing'):
        RuleJudge(without=without)
