"""Each kind of answer that real responses give: read right, and its near misses stay incorrect."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from exact import FunctionJudge

from gpassk_opencompass import RuleJudge, Samples, score
from gpassk_opencompass.answers.equal import RULES
from gpassk_opencompass.judges import Judge
from gpassk_opencompass.record import Result


class Case(NamedTuple):
    """A response to a question, and whether it is right; see kinds.txt."""

    kind: str
    right: bool
    question: str
    reference: str
    response: str


def rows_of(name: str) -> list[list[str]]:
    """Read a table: `# kind`, then lines whose cells stand between ¦, ⏎ for a line break."""
    rows: list[list[str]] = []
    kind = ''
    for line in (Path(__file__).parent / name).read_text(encoding='utf-8').splitlines():
        if line.startswith('# '):
            kind = line[2:]
        elif line:
            rows.append([kind, *(part.strip(' ').replace('⏎', '\n') for part in line.split('¦'))])
    return rows


CASES = [Case(kind, label == 'T', *texts) for kind, label, *texts in rows_of('kinds.txt')]


def samples_of(cases: list[Case]) -> Samples:
    columns = {name: [getattr(case, name) for case in cases] for name in Case._fields[2:]}
    return Samples({'uid': [*map(str, range(len(cases)))], 'replica': [0] * len(cases), **columns})


def judged(cases: list[Case], without: list[str]) -> list[tuple[bool, str]]:
    """Whether each is correct, and the origin of the verdict."""
    samples = samples_of(cases)
    with RuleJudge(without=without) as judge:
        told = score(samples, judge, unjudged_tolerance=1.0).samples()
    assert told is not None
    rows = zip(told['uid'], told['verdict'], told['judged_by'], strict=True)
    by_uid = {uid: (verdict == 'correct', origin or '') for uid, verdict, origin in rows}
    return [by_uid[uid] for uid in samples['uid']]  # what has no reference comes last


SAID = judged(CASES, [])


def test_each_kind_has_ten_right_answers_and_ten_near_misses():
    counts = Counter((case.kind, case.right) for case in CASES)
    assert {kind: count for kind, count in counts.items() if count < 9} == {}


@pytest.mark.parametrize('kind', sorted({case.kind for case in CASES}))
def test_answers_of_a_kind_are_told_from_its_near_misses(kind):
    verdicts = zip(CASES, SAID, strict=True)
    assert [(case, said) for case, said in verdicts if case.kind == kind and said[0] is not case.right] == []


USED = {rule for _, origin in SAID for rule in re.findall(r'[a-z-]+(?=[,)])', origin) if rule in RULES}


@pytest.mark.parametrize('rule', sorted(USED))
def test_what_a_rule_reads_is_incorrect_without_it(rule):
    """Unless another rule reads it too; no near miss comes in by its switch."""
    still = [correct for correct, _ in judged(CASES, [rule])]
    used = [correct and bool(re.search(rf'[( ]{rule}[,)]', origin)) for correct, origin in SAID]
    assert [case for case, accepted in zip(CASES, still, strict=True) if accepted and not case.right] == []
    assert sum(a and not b for a, b in zip(used, still, strict=True)) >= 0.6 * sum(used) > 0


def test_every_rule_has_examples_here():
    assert {*RULES} == USED


HEDGED = [case for case, (_, origin) in zip(CASES, SAID, strict=True) if origin == 'hedged']


def scored(cases: list[Case], judge: Judge) -> Result:
    return score(samples_of(cases), judge, n=1, k=1)


def test_no_judge_is_asked_about_a_hedge():
    """A judge that accepts everything gets none of them, and the record counts them; it gets all else."""
    result = scored(HEDGED, FunctionJudge(lambda pair: pytest.fail(f'{pair} was asked'), name='none'))
    assert result.scores()['accuracy'] == 0.0
    assert result.health.hedged == result.health.judged_by['hedged'] == len(HEDGED) > 40
    others = [case for case in CASES if case.right]
    result = scored(others, FunctionJudge(lambda pair: True))
    assert (result.scores()['accuracy'], result.health.hedged) == (100.0, 0)


def test_one_answer_of_one_text_may_be_hedged_and_another_not():
    boxes, words = r'\boxed{\text{even}} or \boxed{\text{odd}}', r'\boxed{\text{even}, \text{odd}}'
    rows = [('even, odd or both', boxes, True), ('odd', boxes, False), ('odd', words, True)]
    cases = [Case('', right, '', reference, response) for reference, response, right in rows]
    result = scored(cases, FunctionJudge(lambda pair: True))
    assert result.counts.c == [int(case.right) for case in cases]
