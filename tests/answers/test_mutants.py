"""The self-test of the rule judge: mutants that say something else, and references that fail by them."""

from __future__ import annotations

import json
import multiprocessing
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from formats import complaints
from hypothesis import given, settings
from hypothesis import strategies as st
from loguru import logger

from gpassk_opencompass import CascadeJudge, FunctionJudge, RuleJudge, Samples, Verdict, score
from gpassk_opencompass.answers import mutants_of
from gpassk_opencompass.answers.mutations import MOST_MUTANTS
from gpassk_opencompass.judges import Judgement, Pair
from gpassk_opencompass.judges import rule as rule_module
from gpassk_opencompass.judges import self_test as self_test_module
from gpassk_opencompass.judges.build import build_judge
from gpassk_opencompass.judges.same_value import same_value
from gpassk_opencompass.judges.self_test import Asked, SelfTest, self_test_block
from gpassk_opencompass.results.health import self_test_notes
from gpassk_opencompass.scoring import name_failing_references

LONG, CUT = '1.41421356237', '1.41421356238'
"""A reference that fails where `blurred` is at work."""

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


@pytest.fixture
def blurred(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A hole for the self-test to find: the rule `long-decimal` takes the last digit of LONG for open."""
    compare = rule_module.compare_answers

    def blurry(reference: str, answer: str, **settings: Any) -> Any:
        hole = LONG[1:] in reference and answer in (reference[:-1] + '8', r'\sqrt{2}')
        same = hole and 'long-decimal' in settings['rules']
        return compare(reference, reference if same else answer, **settings)

    monkeypatch.setattr(rule_module, 'compare_answers', blurry)
    monkeypatch.setenv('GPASSK_SELF_TESTS', str(tmp_path / 'self-tests'))


@pytest.fixture
def said() -> Iterator[list[str]]:
    """What is logged, a line each."""
    lines: list[str] = []
    number = logger.add(lambda line: lines.append(line.record['message']), level='WARNING')
    yield lines
    logger.remove(number)


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


@pytest.mark.parametrize(
    ('one', 'other', 'same'),
    [
        ('C_5^2', 'C_5^3', True),
        ('(x-1)^2', '(1-x)^2', True),
        (r'x \ne 0', r'-x \ne 0', True),
        ('2x > 0', '3x > 0', True),
        ('2x > 0', '-2x > 0', False),
        ('-1 < x < 1', '-1 < -x < 1', True),
        ('-1 < x < 2', '-1 < -x < 2', False),
        ('5 ± 2', '5 ∓ 2', True),
        (r'\frac{\sqrt2}{2} or \frac{1}{\sqrt2}', r'\frac{1}{\sqrt2}', True),
        (r'(-1)^{\lceil n/2 \rceil-1}', r'(-1)^{\lceil n/2 \rceil+1}', True),
        (LONG, CUT, False),
        ('2^{2019}-2020', '2^{2019}-2021', False),
        ('10^{-60}', '10^{-61}', False),
        (r'\sqrt{10^{40}+1}', '10^{20}', False),
        ('x=5', '5', False),
        ('x=1 or x=2', 'w=1 or x=2', False),
        ('[1, 2)', '[1, 2]', False),
        ('(1, 2)', '(2, 1)', False),
        ('5 cm', '5 kg', False),
        ('Alice wins', 'alice wins', False),
        (r'\frac{1}{0}', r'\frac{2}{0}', False),
        ('10^{10^{10^{10}}}', '10^{10^{10^{11}}}', False),
    ],
)
def test_one_value_is_told_by_numbers_alone(one: str, other: str, same: bool) -> None:
    """With as many digits as it takes; what cannot be computed is not said to be the same."""
    assert same_value(one, other) is same
    assert same_value(other, one) is same
    assert not same_value(one, one)


def test_the_references_of_benchmarks_pass(judge: RuleJudge) -> None:
    """The judge tells each kind of reference from its mutants, so that no second judge is asked in vain."""
    assert SelfTest(judge).failed(Asked('?', reference) for reference in REFERENCES) == {}


@pytest.mark.usefixtures('blurred')
def test_a_reference_that_a_lenient_rule_blurs_fails_unless_it_is_switched_off(judge: RuleJudge) -> None:
    """The result is that of the judge at hand, by its identity, though both are kept in one folder."""
    asked = Asked('?', LONG)
    assert CUT in SelfTest(judge).failed([asked])[asked]
    with RuleJudge(without=['long-decimal']) as strict:
        assert SelfTest(strict).failed([asked]) == {}
    assert SelfTest(judge).failed([asked])


def test_the_options_of_the_question_are_part_of_a_test(judge: RuleJudge) -> None:
    """A letter is told from the others also where two options say the same."""
    question = 'Which is it? (A) $1/2$ (B) $0.5$ (C) $3$'
    assert SelfTest(judge).failed([Asked(question, 'A'), Asked(question, 'C'), Asked(question, '3')]) == {}


def test_a_test_starts_no_process_and_counts_nothing(judge: RuleJudge) -> None:
    """The statistics are of the pairs of the run."""
    before = dict(judge.statistics())
    SelfTest(judge).failed(Asked('?', reference) for reference in REFERENCES)
    assert judge.statistics() == before
    assert before['workers started'] == 0


class Counting(RuleJudge):
    """Counts what it is asked in self-tests, and accepts those answers that it is told to."""

    def __init__(self, *blind: str) -> None:
        super().__init__()
        self.asked: list[Pair] = []
        self._blind = blind

    def accepts(self, pair: Pair) -> bool | None:
        self.asked.append(pair)
        return True if pair.answer in self._blind else super().accepts(pair)


@pytest.mark.usefixtures('blurred')
def test_what_came_out_is_kept(tmp_path: Path) -> None:
    """By the next process, for the same reference and rules alone."""
    asked = [Asked('?', '7'), Asked('?', LONG)]
    with Counting('8') as first, Counting() as second:
        found = SelfTest(first, tmp_path).failed(asked)
        assert found == {asked[0]: ('8',), asked[1]: (CUT,)}
        assert SelfTest(second, tmp_path).failed(asked) == found
        assert second.asked == []
        SelfTest(second, tmp_path).failed([Asked('?', '9')])
        assert second.asked


def test_other_rules_find_nothing_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither those of another version of the code."""
    asked = [Asked('?', '7')]
    with Counting('8') as first, Counting() as second:
        SelfTest(first, tmp_path).failed(asked)
        monkeypatch.setattr(self_test_module, '_digest_of_code', lambda: 'another')
        assert SelfTest(second, tmp_path).failed(asked) == {}


DAMAGE = {
    'cut': lambda line: line[: len(line) // 2],
    'changed': lambda line: line.replace('"8"', '"9"'),
    'nothing': lambda line: '',
    'bytes': lambda line: '\x00\x01\n',
    'JSON': lambda line: '{"key": 5}\n[[[[\nnull\n',
}


@pytest.mark.parametrize('kind', sorted(DAMAGE))
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, kind: str) -> None:
    """The test is made anew, and kept anew."""
    asked = Asked('?', '7')
    with Counting('8') as judge, Counting('8') as again, Counting() as third:
        SelfTest(judge, tmp_path).failed([asked])
        [file] = tmp_path.iterdir()
        file.write_text(DAMAGE[kind](file.read_text()))
        assert SelfTest(again, tmp_path).failed([asked]) == {asked: ('8',)}
        assert again.asked
        assert SelfTest(third, tmp_path).failed([asked]) == {asked: ('8',)}
        assert third.asked == []


def test_a_folder_that_cannot_be_used_costs_time_alone(tmp_path: Path) -> None:
    """A file in its place, say, or the home of nobody."""
    (tmp_path / 'file').write_text('')
    for place in (tmp_path / 'file', tmp_path / 'file' / 'below', '~nobody-at-all/x'):
        with Counting('8') as judge:
            assert SelfTest(judge, place).failed([Asked('?', '7')]) == {Asked('?', '7'): ('8',)}


def _tried(folder: Path) -> int:
    with Counting('8') as judge:
        return len(SelfTest(judge, folder).failed(Asked('?', str(number)) for number in range(7, 40)))


@pytest.mark.slow
def test_processes_may_write_at_once(tmp_path: Path) -> None:
    """Each its own file; whoever reads them finds all of it."""
    with multiprocessing.get_context('spawn').Pool(2) as pool:
        assert pool.map(_tried, [tmp_path] * 2) == [2] * 2  # 7 and 9
    with Counting() as judge:
        assert SelfTest(judge, tmp_path).failed([Asked('?', '7')]) == {Asked('?', '7'): ('8',)}
        assert judge.asked == []


@pytest.mark.usefixtures('blurred')
def test_an_error_within_a_test_is_told_and_stops_nothing(
    judge: RuleJudge, monkeypatch: pytest.MonkeyPatch, said: list[str], tmp_path: Path
) -> None:
    """And it is not kept."""

    def broken(answer: str) -> list[Any]:
        raise ZeroDivisionError('oh')

    with monkeypatch.context() as patch:
        patch.setattr(self_test_module, 'mutants_of', broken)
        assert SelfTest(judge, tmp_path).failed([Asked('?', LONG)]) == {}
    assert said == [f"no self-test of '{LONG}': ZeroDivisionError: oh"]
    assert SelfTest(judge, tmp_path).failed([Asked('?', LONG)])


# In a cascade

PAIRS = [
    Pair('?', LONG, LONG),
    Pair('?', LONG, CUT),
    Pair('?', LONG, r'\sqrt{2}'),
    Pair('?', LONG, '7'),
    Pair('?', '1/2', '0.5'),
    Pair('?', '12', '+12'),
]


def never() -> FunctionJudge:
    return FunctionJudge(lambda pair: False, name='never')


@pytest.mark.usefixtures('blurred')
def test_a_cascade_asks_the_second_judge_about_references_that_fail() -> None:
    """Whatever the rule accepted but equal spelling; all other references are as they were."""
    with RuleJudge() as rule:
        cascade = CascadeJudge(rule, never())
        judgements = cascade.judge(PAIRS)
        statistics = cascade.statistics()
    right, wrong = Verdict.CORRECT, Verdict.INCORRECT
    assert judgements == [
        Judgement(right, 'string'),
        Judgement(wrong, 'never (self-test)'),
        Judgement(wrong, 'never (self-test)'),
        Judgement(wrong, 'never'),
        Judgement(right, 'number'),
        Judgement(right, 'integer'),
    ]
    assert (statistics['pairs'], statistics['saved'], statistics['self_test']) == (6, 3, 2)
    assert statistics['second_pairs'] == 3


@pytest.mark.usefixtures('blurred')
def test_what_the_second_accepts_or_leaves_open_stands() -> None:
    """It is its word that counts, with its reason."""
    said = {CUT: True, r'\sqrt{2}': None}
    with RuleJudge() as rule:
        judgements = CascadeJudge(rule, FunctionJudge(lambda pair: said[pair.answer], 'llm')).judge(
            PAIRS[1:3]
        )
    assert judgements == [
        Judgement(Verdict.CORRECT, 'llm (self-test)'),
        Judgement(Verdict.UNJUDGED, 'llm (self-test)'),
    ]


def test_a_hole_in_the_comparison_reaches_no_verdict(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A comparison that forgets signs: in a cascade no answer counts by it; the rule alone names it."""
    compare = rule_module.compare_answers

    def forgetful(reference: str, answer: str, **settings: Any) -> Any:
        return compare(reference.replace('-', ''), answer.replace('-', ''), **settings)

    monkeypatch.setattr(rule_module, 'compare_answers', forgetful)
    monkeypatch.setenv('GPASSK_SELF_TESTS', str(tmp_path))
    pairs = [Pair('?', r'\frac{1}{3}', r'-\frac{1}{3}'), Pair('?', r'\frac{1}{3}', r'\frac{2}{6}')]
    right_is_right = FunctionJudge(lambda pair: not pair.answer.startswith('-'), 'llm')
    with RuleJudge() as rule:
        assert [said.verdict for said in rule.judge(pairs)] == [Verdict.CORRECT] * 2
        assert [said.verdict for said in CascadeJudge(rule, right_is_right).judge(pairs)] == [
            Verdict.INCORRECT,
            Verdict.CORRECT,
        ]
        [failed] = self_test_block(rule, ['a/1'], ['?'], [r'\frac{1}{3}'])['self_test']['failed']
    assert '-' in failed['accepted'][0]


def test_the_identity_of_a_cascade_says_that_its_first_judge_is_tested() -> None:
    """So results from before, and their signatures, stand apart; other cascades are what they were."""
    second = {'type': FunctionJudge, 'grader': bool}
    cascade = build_judge({'type': 'cascade', 'first': {'type': 'rule'}, 'second': second})
    assert cascade.identity()['self_test'] == 1
    assert set(CascadeJudge(never(), never()).identity()) == {'name', 'first', 'second'}
    assert 'self_test' not in CascadeJudge(never(), never()).statistics()
    cascade.close()


# In records and logs


def samples(*references: str) -> Samples:
    uids = [f'AMC_en/{number}' for number in range(len(references))]
    boxed = [rf'\boxed{{{reference}}}' for reference in references]
    count = len(references)
    return Samples(uids, [0] * count, ['?'] * count, references, boxed, ['AMC'] * count, ['en'] * count, uids)


@pytest.mark.usefixtures('blurred')
def test_a_record_names_the_references_that_fail() -> None:
    """With the rule alone its notes do so, too; with a cascade they were settled; others say nothing."""
    asked = samples('4', LONG)
    with RuleJudge() as rule:
        alone = score(asked, rule, n=1, k=1)
        cascade = score(asked, CascadeJudge(rule, never()), n=1, k=1)
    other = score(asked, never(), n=1, k=1)
    failed = [{'uid': 'AMC_en/1', 'reference': LONG, 'accepted': [CUT]}]
    for record in (alone, cascade):
        assert record['gpassk']['self_test'] == {'references': 2, 'failed': failed}
        assert complaints('result', json.loads(json.dumps(record)), strict=False) == []
    assert 'self_test' not in other['gpassk']
    [note] = self_test_notes(alone['gpassk'])
    assert note.endswith(f"1 of 2 references from wrong answers: AMC_en/1 '{LONG}' (takes '{CUT}' for it)")
    assert self_test_notes(cascade['gpassk']) == self_test_notes(other['gpassk']) == []


@pytest.mark.parametrize('damaged', [5, [], {}, {'failed': 5}, {'failed': [5, {'accepted': []}, {}]}])
def test_a_damaged_record_says_nothing_of_it(damaged: Any) -> None:
    """Records are read from files of anybody."""
    assert self_test_notes({'self_test': damaged}) == []


@pytest.mark.usefixtures('blurred')
def test_failing_references_are_named_once_in_one_short_line(said: list[str]) -> None:
    """Where questions are loaded; however many fail, and however long they are."""
    references = [f'{number}.41421356237' for number in range(1, 30)]
    columns = [f'AMC_en/{place}' for place in range(29)], ['?'] * 29, references
    name_failing_references(*columns)
    name_failing_references(*columns)
    [line] = said
    assert "29 of 29 references from wrong answers: AMC_en/0 '1.41421356237' (takes '1.41421356238'" in line
    assert 'and 24 more' in line
    assert '\n' not in line
    assert len(line) < 1200


def test_naming_them_never_stops_a_run(said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever fails: math-verify may be missing where questions are only asked."""

    def broken(**_: Any) -> Any:
        raise RuntimeError('no such package')

    monkeypatch.setattr(rule_module, '_versions', broken)
    name_failing_references(['a'], ['?'], ['not seen before'])
    name_failing_references(['a'], ['?'], [5])  # type: ignore[list-item]
    assert len(said) == 2
    assert all(line.startswith('the rule judge was not self-tested: ') for line in said)
