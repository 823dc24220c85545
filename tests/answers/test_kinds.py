"""Each kind of answer that real responses give: read right, and its near misses stay incorrect."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from gpassk_opencompass import RuleJudge
from gpassk_opencompass.answers import RULES
from gpassk_opencompass.samples import Samples
from gpassk_opencompass.scoring import judge_samples


class Case(NamedTuple):
    """A response to a question, and whether it is right; see kinds.txt."""

    kind: str
    right: bool
    question: str
    reference: str
    response: str


def cases() -> list[Case]:
    """Read kinds.txt: `# kind`, then lines `T or F ¦ question ¦ reference ¦ response`, ⏎ for a line break."""
    found: list[Case] = []
    kind = ''
    for line in (Path(__file__).parent / 'kinds.txt').read_text(encoding='utf-8').splitlines():
        if line.startswith('# '):
            kind = line[2:]
        elif line:
            label, *texts = (part.strip(' ').replace('⏎', '\n') for part in line.split('¦'))
            found.append(Case(kind, label == 'T', *texts))
    return found


CASES = cases()


def judged(cases: list[Case], without: list[str]) -> list[tuple[bool, str]]:
    """Whether each is correct, and the origin of the verdict."""
    samples = Samples(
        {
            'uid': [str(place) for place in range(len(cases))],
            'replica': [0] * len(cases),
            'question': [case.question for case in cases],
            'reference': [case.reference for case in cases],
            'response': [case.response for case in cases],
        }
    )
    with RuleJudge(without=without) as judge:
        told, _ = judge_samples(samples, judge)
    return [
        (verdict == 'correct', origin or '')
        for verdict, origin in zip(told['verdict'], told['judged_by'], strict=True)
    ]


SAID = judged(CASES, [])


def test_each_kind_has_ten_right_answers_and_ten_near_misses() -> None:
    """So that no rule is looser or stricter than its kind."""
    counts = Counter((case.kind, case.right) for case in CASES)
    assert {kind: count for kind, count in counts.items() if count < 9} == {}


@pytest.mark.parametrize('kind', sorted({case.kind for case in CASES}))
def test_answers_of_a_kind_are_told_from_its_near_misses(kind: str) -> None:
    """Right ones are correct, near misses incorrect."""
    wrong = [
        (case, origin)
        for case, (correct, origin) in zip(CASES, SAID, strict=True)
        if case.kind == kind and correct is not case.right
    ]
    assert wrong == []


USED = {rule for _, origin in SAID for rule in re.findall(r'[a-z-]+(?=[,)])', origin) if rule in RULES}


@pytest.mark.parametrize('rule', sorted(USED))
def test_what_a_rule_reads_is_incorrect_without_it(rule: str) -> None:
    """Unless another rule reads it too; no near miss comes in by its switch."""
    without = judged(CASES, [rule])
    used = [correct and bool(re.search(rf'[( ]{rule}[,)]', origin)) for correct, origin in SAID]
    still = [correct for correct, _ in without]
    assert [case for case, accepted in zip(CASES, still, strict=True) if accepted and not case.right] == []
    assert sum(a and not b for a, b in zip(used, still, strict=True)) >= 0.6 * sum(used) > 0


def test_the_rules_of_answers_as_responses_give_them_are_tried_here() -> None:
    """Each has examples in the table."""
    assert {'asked', 'bound-names', 'chain', 'remark', 'rounded', 'percent-sign', 'unit-missing'} <= USED
