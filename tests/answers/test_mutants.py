"""Answers with one token changed, so that they say something else: the rule judge refuses each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpassk_opencompass import RuleJudge, Verdict
from gpassk_opencompass.judges import Pair

FILE = Path(__file__).parent / 'mutants.json'
MUTANTS: dict[str, list[str]] = json.loads(FILE.read_text(encoding='utf-8'))
"""Reference → what no judge should accept for it: another digit, sign, end, letter, unit, word, …"""


@pytest.fixture
def judge() -> Iterator[RuleJudge]:
    with RuleJudge() as shared:
        yield shared


def test_the_rule_judge_tells_the_references_of_benchmarks_from_their_mutants(judge: RuleJudge) -> None:
    """Of each kind of reference: no answer with one token changed is accepted, or left to a proof."""
    pairs = [(reference, text) for reference, texts in MUTANTS.items() for text in texts]
    said = {pair: judge.at_once(Pair('?', *pair)) for pair in pairs}
    assert len(said) > 200
    assert [pair for pair, one in said.items() if one is None or one.verdict is not Verdict.INCORRECT] == []


@pytest.mark.parametrize(('reference', 'others'), [('A', 'BCDE'), ('C', 'ABDE'), ('3', ('4', '-3', 'not 3'))])
def test_letters_are_told_apart_where_two_options_say_the_same(
    reference: str, others: str, judge: RuleJudge
) -> None:
    """By the options of the question."""
    question = 'Which is it? (A) $1/2$ (B) $0.5$ (C) $3$'
    for other in others:
        said = judge.at_once(Pair(question, reference, other))
        assert said is not None
        assert said.verdict is Verdict.INCORRECT
