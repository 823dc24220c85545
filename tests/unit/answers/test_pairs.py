"""The rule judge agrees with the suite, keeps the laws of equality, and tells answers from mutants."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_suite import FAMILIES, Case, generated, written

from gpassk_opencompass import Pair, RuleJudge, Verdict
from gpassk_opencompass.answers import compare_answers, normal_form
from gpassk_opencompass.answers.equal import RULES

SUITE = [
    Case(**json.loads(line))
    for line in (Path(__file__).parent / 'suite.jsonl').read_text(encoding='utf-8').splitlines()
]


def wrong(cases: Iterable[Case]) -> list[object]:
    """The cases whose verdict is not the one that they name, with what was said."""
    cases = list(cases)
    with RuleJudge() as judge:
        said = judge.judge([Pair(case.question, case.reference, case.answer) for case in cases])
    judged = zip(cases, said, strict=True)
    return [(one, case) for case, one in judged if (one.verdict is Verdict.CORRECT) is not case.equal]


def test_the_suite_has_thousands_of_pairs_of_every_type_and_is_what_its_script_makes():
    assert len(SUITE) >= 3000
    assert len({(case.question, case.reference, case.answer) for case in SUITE}) == len(SUITE)
    kinds = Counter((case.type, case.equal) for case in SUITE)
    assert all(kinds[case.type, equal] and case.reason for case in SUITE for equal in (True, False))
    listed = {case._replace(reason='') for case in SUITE}
    assert {case._replace(reason='') for case in [*generated(3), *written()]} <= listed


@pytest.mark.parametrize('equal', [True, False])
def test_pairs_written_by_hand_are_judged_right(equal):
    assert wrong(case for case in written() if case.equal is equal) == []


@pytest.mark.slow
def test_the_whole_suite_is_judged_right():
    assert wrong(SUITE) == []


@pytest.mark.slow
def test_generated_pairs_that_nobody_has_seen_are_judged_right():
    cases = list(generated(60, seed=7))
    assert len(cases) == 60 * len(FAMILIES)
    assert wrong(cases) == []


# Laws

CASES = [case for case in (*written(), *generated(20)) if not case.question]
TEXTS = sorted({case.reference for case in CASES})


def equal(one: str, other: str, rules: frozenset[str] = frozenset()) -> bool:
    """Whether two answers are the same."""
    return normal_form(one) == normal_form(other) or compare_answers(one, other, rules=rules).equal


@given(st.sampled_from(CASES))
@settings(max_examples=300)
def test_equality_is_symmetric(case):
    """With the lenient rules that do not ask which side is the reference, and with none."""
    for rules in (frozenset[str](), frozenset(RULES) - {'rounded', 'stated', 'percent-sign'}):
        assert equal(case.reference, case.answer, rules) is equal(case.answer, case.reference, rules)


@given(st.sampled_from(TEXTS))
def test_equality_is_reflexive(reference):
    assert equal(reference, f' {reference} ')


@given(st.fractions(max_denominator=40), st.sampled_from(TEXTS))
def test_exact_equality_is_transitive(value, other):
    """Three notations of one number agree with each other, and with the same other answers."""
    above, below = value.numerator, value.denominator
    forms = [f'{above}/{below}', rf'\frac{{{2 * above}}}{{{2 * below}}}', f'{3 * above}÷{3 * below}']
    assert all(equal(one, two) for one in forms for two in forms)
    assert len({equal(form, other) for form in forms}) == 1


@given(st.text(max_size=60))
@settings(max_examples=300)
def test_any_text_is_read_or_refused(text):
    assert {compare_answers(*pair).equal for pair in [(text, '5'), (r'\frac{1}{2}', text)]} <= {True, False}


# Mutants

REFERENCES = [
    '4049', r'\frac{3}{4}', '-5', '0.39', r'2\sqrt{2}-2', '10^{2^n-n-1}', r'\{2,5\}',
    r'(-\infty,-1)\cup(6,+\infty)', r'\left[2, \frac{4}{3}\right)', '3, 5, 7', '(6,31,-1)',
    r'\begin{pmatrix} 1/5 \\ -18/5 \end{pmatrix}', r'\{x \mid -1 < x \le 2\}', '[[1, 2], [3, 4]]', '5 cm',
    '12个', r'115^\circ', r'y = 2x + 3', 'a > b > c', '充分不必要条件', '单调递增',
    'sufficient but not necessary condition', 'B', 'A, B, D', '4:30 p.m.', '3R^2', '1:2',
    r'2k\pi + \frac{\pi}{6}', r'\cot x', r'1 \pm \sqrt{19}', '三分之二', r'\$36', 'yes', '无解', r'7!', 'x=5',
    r'e^{-x}', r'\log_2 5', r'f(x) = x^2', r'x \in [0, 1)', '2 或 3', '28%', '60 km/h', r'\binom{10}{3}',
]  # fmt: skip

OTHERS = {
    r'\pi': r'\alpha ', r'\cot': r'\tan', r'\log': r'\sin', r'\pm': '+', r'\binom': r'\frac',
    r'\cup': r'\cap', 'cm': 'm', 'km': 'm', '个': 'kg', r'\circ': r'{\text{ rad}}', r'\$': '€',
    '不必要': '必要', '无解': '有', '三': '五', '单调递增': '单调递减', 'sufficient': 'necessary',
    'p.m': 'a.m', 'yes': 'no', '<': r'\le ', '>': r'\ge ', r'\le': '<', r'\ge': '>', '(': '[', '[': '(',
    ')': ']', ']': ')', '+': '-', '-': '+', '%': r'^\circ',
}  # fmt: skip
CHANGES = {
    r'\d(?!\d)': lambda digit: [str((int(digit) + 1) % 10), str((int(digit) + 8) % 10)],
    r'(?<=[\d}a-zA-Z)] )[-+](?= )|(?<=[\d}a-zA-Z])[-+](?=[\d\\a-zA-Z])': lambda sign: [OTHERS[sign]],
    r'(?:(?<=^)|(?<=[(\[{,=<]))-(?=\S)': lambda _: [''],
    r'(?:(?<=^)|(?<=[(\[,]))(?=\\frac|[1-9])': lambda _: ['-'],
    r'<|>|\\le(?!f)|\\ge': lambda sign: [OTHERS[sign], '= '],
    r'(?<![f{\\])[\[(](?=[^\[\]()]*,[^\[\](),]*[\])])': lambda bracket: [OTHERS[bracket]],
    r'(?<=\d)[\])](?=$)': lambda bracket: [OTHERS[bracket]],
    r'(?<![a-zA-Z\\])[a-zA-Z](?![a-zA-Z.])': lambda letter: [letter.swapcase(), 'w'],
    r'\\pi|\\sqrt|\\cot|\\log|\\pm|\\binom|\\cup|cm|km|个|\\circ|\\\$': lambda name: [OTHERS.get(name, '')],
    r'(?<=[\[({,]) ?[-\d]+, ?': lambda _: [''],
    r'^(?=[a-zA-Z一-鿿])': lambda _: ['not ', '不'],
    r'不必要|单调递增|sufficient|not |p\.m|yes|无解|三|!|%': lambda words: [OTHERS.get(words, '')],
}  # fmt: skip
"""What is changed in the text as written, and into what: it leaves no doubt that the answer is another."""


def mutants_of(answer: str) -> Iterator[str]:
    if re.fullmatch('[A-H](?:, [A-H])*', answer):
        yield from (answer.replace(answer[-1], letter) for letter in 'CEFG')
        return
    for pattern, others in CHANGES.items():
        for match in re.finditer(pattern, answer):
            for other in others(match[0]):
                yield answer[: match.start()] + other + answer[match.end() :]


def test_the_references_of_benchmarks_are_told_from_their_mutants():
    mutants = [(one, other) for one in REFERENCES for other in mutants_of(one)]
    cases = {Case('', False, *pair, '', '?') for pair in mutants}
    assert len(cases) > 250
    assert wrong(cases) == []
