"""Equality of answers: symmetric, transitive, and never kept by a mutation."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from make_suite import generated, written

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
