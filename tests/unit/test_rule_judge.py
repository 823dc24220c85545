"""The rule judge gives right verdicts, and one verdict for every pair whatever the answers are."""

from __future__ import annotations

import json

import pytest
from loguru import logger

from gpassk_opencompass.judges import Pair, Verdict
from gpassk_opencompass.judges import rule as rule_module
from gpassk_opencompass.judges.rule import RuleJudge
from gpassk_opencompass.judges.verdicts import verdict_key
from gpassk_opencompass.samples import Samples
from gpassk_opencompass.scoring import score

RIGHT, OPEN = Verdict.CORRECT, Verdict.UNJUDGED


@pytest.fixture(scope='module')
def judge():
    """One judge for all tests that leave it open."""
    with RuleJudge() as shared:
        yield shared


@pytest.mark.parametrize(
    ('reference', 'answer', 'origin'),
    [
        ('5', '', 'empty'), ('5', '$$', 'empty'), ('5', '(' * 16 + '5' + ')' * 16, 'capped'),
        (r'$\frac12$', r'\dfrac{1}{2}.', 'string'), ('7', '8', 'integer'),
        ('C', 'A. 12', 'choice'), ('5', '5' * 2001 + 'x', 'capped'), ('5', 'sqrt(25)', 'number'),
        ('5', '5 cm', 'number (unit-missing)'), ('x = 5 cm', '5', 'named (name-missing, unit-missing)'),
        ('5', '5 ??', 'unread'), ('1', r'\sin^2 x + \cos^2 x', 'number'),
    ],
)  # fmt: skip
def test_a_judgement_tells_where_it_came_from(judge, reference, answer, origin):
    """The cheapest check that can decide does."""
    assert judge.judge([Pair('?', reference, answer)])[0].origin == origin


def test_a_reference_that_cannot_be_used_leaves_its_pairs_unjudged(judge):
    """That is no fault of the answer, unless it is spelled the same."""
    long = '+'.join(['x'] * 1500)
    judgements = judge.judge([Pair('?', long, '5'), Pair('?', long, long), Pair('?', ' ', '5')])
    assert [judgement.verdict for judgement in judgements] == [OPEN, RIGHT, OPEN]
    assert judgements[0].reason == 'reference too long or too deep'


def test_the_order_of_the_pairs_and_duplicates_do_not_matter(judge):
    """Each pair gets the verdict it gets alone; equal pairs are worked on once."""
    answers = ['sqrt(4)', '2.0', 'sqrt(5)', '', '2', '3/1', 'x']
    alone = {answer: judge.judge([Pair('?', '2', answer)])[0] for answer in answers}
    pairs = [Pair('?', '2', answers[place * 5 % 7]) for place in range(500)]
    before = judge.statistics()
    assert judge.judge(pairs) == [alone[pair.answer] for pair in pairs]
    after = judge.statistics()
    assert (after['pairs'] - before['pairs'], after['distinct'] - before['distinct']) == (500, 7)


def test_the_identity_holds_what_may_change_a_verdict():
    """Limits and rules; it survives JSON."""
    identity = RuleJudge().identity()
    assert json.loads(json.dumps(identity)) == identity == RuleJudge().identity()
    assert identity != RuleJudge(max_length=1000).identity()
    assert identity != RuleJudge(without=['rounded']).identity()


def test_verdicts_of_two_versions_are_told_apart(monkeypatch):
    """The record names the version of the rules; neither signature nor store takes it for another one."""
    same = {name: ['1', '1'] for name in ('uid', 'question', 'reference')}
    samples = Samples({**same, 'replica': [0, 1], 'response': [r'\boxed{1}', r'\boxed{2}']})
    results = []
    for number in (1, 2):
        monkeypatch.setattr(rule_module, '_VERSION', number)
        with RuleJudge() as judge:
            results.append(score(samples, judge, n=2, k=2))
    here, other = results
    assert (here.judge['rules'], other.judge['rules']) == (1, 2)
    assert here.signature != other.signature
    keys = [verdict_key({**one.judge, 'statistics': None}, 'question', '1', '2') for one in results]
    assert keys[0] != keys[1]


def test_a_reference_that_is_not_read_is_said_once(judge, logged):
    with RuleJudge() as fresh:
        fresh.judge([Pair('?', 'the fox & the hen', answer) for answer in ('1', '2', '3')])
        fresh.judge([Pair('?', 'the fox & the hen', '4')])
    [said] = [line for line in logged if 'the fox' in line]
    assert 'LLM judge' in said


@pytest.fixture
def logged():
    lines: list[str] = []
    handler = logger.add(lambda message: lines.append(str(message)), level='WARNING')
    yield lines
    logger.remove(handler)
