"""The rule judge agrees with every pair of the suite, and with pairs that no rule was written for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from suite_pairs import SUITE, WRITTEN, pairs_of

from gpassk_opencompass import Pair, RuleJudge, Verdict


@pytest.fixture(scope='module')
def judge() -> Iterator[RuleJudge]:
    """One judge for the module."""
    with RuleJudge(workers=1) as shared:
        yield shared


def wrong(judge: RuleJudge, rows: list[dict[str, object]]) -> list[object]:
    """The rows whose verdict is not the one that they name, with what was said."""
    pairs = [Pair(str(row['question']), str(row['reference']), str(row['answer'])) for row in rows]
    judged = zip(rows, judge.judge(pairs), strict=True)
    return [(said, row) for row, said in judged if (said.verdict is Verdict.CORRECT) is not row['equal']]


def test_the_suite_has_thousands_of_pairs_of_every_type() -> None:
    """At least 3,000, equal and different ones of each type, each with a reason, none twice."""
    assert len(SUITE) >= 3000
    assert len({(row['question'], row['reference'], row['answer']) for row in SUITE}) == len(SUITE)
    kinds = Counter((row['type'], row['equal']) for row in SUITE)
    for kind in {row['type'] for row in SUITE}:
        assert min(kinds[kind, True], kinds[kind, False]) >= 1, kind
    assert all(row['reason'] for row in SUITE)


def test_no_adversarial_pair_is_accepted(judge: RuleJudge) -> None:
    """Those written by hand: two symbols that differ in case, a fragment that agrees, half an answer, …"""
    assert wrong(judge, [row for row in WRITTEN if not row['equal']]) == []


def test_no_equal_pair_written_by_hand_is_missed(judge: RuleJudge) -> None:
    """In two notations, two languages, or by a lenient rule."""
    assert wrong(judge, [row for row in WRITTEN if row['equal']]) == []


@pytest.mark.slow
def test_the_whole_suite_is_judged_right(judge: RuleJudge) -> None:
    """5,000 pairs and more; hardly one of them needs a worker."""
    assert wrong(judge, SUITE) == []
    assert judge.statistics()['math-verify'] < len(SUITE) / 200


@pytest.mark.slow
def test_pairs_outside_of_the_suite_are_judged_right(judge: RuleJudge) -> None:
    """Sixty more of each kind that was generated."""
    rows = pairs_of('unseen.jsonl')
    assert len(rows) == 60 * 21
    assert wrong(judge, rows) == []
