"""Two judges in a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from gpassk_opencompass.judges import CascadeJudge, FunctionJudge, Judgement, Pair, Verdict

PAIRS = [Pair('q', 'r', answer) for answer in ('right', 'wrong', 'open', 'right', 'odd')]


class Recorder(FunctionJudge):
    """Remembers what it was given."""

    def __init__(self, answers: dict[str, bool | None], name: str) -> None:
        super().__init__(lambda pair: answers[pair.answer], name)
        self.given: list[str] = []
        self.closed = 0

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        self.given += [pair.answer for pair in pairs]
        return super().judge(pairs)

    def close(self) -> None:
        self.closed += 1
        if self._name == 'rule':
            raise RuntimeError('stuck')


def cascade() -> tuple[CascadeJudge, Recorder, Recorder]:
    rule = Recorder({'right': True, 'wrong': False, 'open': None, 'odd': None}, 'rule')
    llm = Recorder({'wrong': True, 'open': False, 'odd': None}, 'llm')
    return CascadeJudge(rule, llm), rule, llm


def test_the_second_judges_only_what_the_first_does_not_accept() -> None:
    """Rejected and unjudged pairs alike, and each judgement says whose it is."""
    judge, rule, llm = cascade()
    judgements = judge.judge(PAIRS)
    assert rule.given == [pair.answer for pair in PAIRS]
    assert llm.given == ['wrong', 'open', 'odd']
    assert [judgement.verdict for judgement in judgements] == [
        Verdict.CORRECT,
        Verdict.CORRECT,
        Verdict.INCORRECT,
        Verdict.CORRECT,
        Verdict.UNJUDGED,
    ]
    assert [judgement.origin for judgement in judgements] == ['rule', 'llm', 'llm', 'rule', 'llm']


def test_its_identity_is_that_of_both_in_order() -> None:
    """Another order is another judge."""
    judge, rule, llm = cascade()
    first, second = {'name': 'rule'}, {'name': 'llm'}
    assert judge.identity() == {'name': 'cascade', 'first': first, 'second': second}
    assert CascadeJudge(llm, rule).identity() != judge.identity()


def test_both_are_closed_even_if_one_fails() -> None:
    """Neither keeps its processes and connections."""
    judge, rule, llm = cascade()
    with pytest.raises(RuntimeError, match='stuck'):
        judge.close()
    assert (rule.closed, llm.closed) == (1, 1)


def test_a_config_names_both() -> None:
    """As a run's config gives them."""

    def part(answer: bool, name: str) -> dict[str, Any]:
        return {'type': FunctionJudge, 'grader': lambda pair: answer, 'name': name}

    pytest.importorskip('gpassk_opencompass.judges.rule')
    judge = CascadeJudge(first=part(False, 'one'), second=part(True, 'two'))
    assert judge.judge(PAIRS[:1]) == [Judgement(Verdict.CORRECT, 'two')]
