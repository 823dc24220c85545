"""The rule judge agrees with every pair of the suite, and the suite is what its script makes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from make_suite import FAMILIES, generated, written

from gpassk_opencompass import Pair, RuleJudge, Verdict

SUITE = [
    json.loads(line)
    for line in (Path(__file__).parent / 'suite.jsonl').read_text(encoding='utf-8').splitlines()
]


@pytest.fixture(scope='module')
def judge() -> Iterator[RuleJudge]:
    """One judge for the module."""
    with RuleJudge() as shared:
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
    rows = [case._asdict() for case in written() if not case.equal]
    assert wrong(judge, rows) == []


def test_no_equal_pair_written_by_hand_is_missed(judge: RuleJudge) -> None:
    """In two notations, two languages, or by a lenient rule."""
    rows = [case._asdict() for case in written() if case.equal]
    assert wrong(judge, rows) == []


@pytest.mark.slow
def test_the_whole_suite_is_judged_right(judge: RuleJudge) -> None:
    """5,000 pairs and more."""
    assert wrong(judge, SUITE) == []


@pytest.mark.slow
def test_generated_pairs_that_nobody_has_seen_are_judged_right(judge: RuleJudge) -> None:
    """`make_suite.py --check` is the long form: a million pairs."""
    rows = [case._asdict() for case in generated(60, seed=7)]
    assert len(rows) == 60 * len(FAMILIES)
    assert wrong(judge, rows) == []


def test_the_file_is_what_the_script_makes() -> None:
    """The first pairs of each family, and all that were written, stand in it."""
    listed = {(row['type'], row['equal'], row['reference'], row['answer'], row['question']) for row in SUITE}
    cases = [*generated(3), *written()]
    assert {(case.type, case.equal, case.reference, case.answer, case.question) for case in cases} <= listed
