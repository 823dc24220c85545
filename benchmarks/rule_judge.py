"""How fast is the rule judge, and how often does it err, beside math-verify and OpenCompass?

    python -m benchmarks.rule_judge
    python -m benchmarks.rule_judge PAIRS.jsonl                     # labelled pairs of your own
    python -m benchmarks.rule_judge PAIRS.jsonl --save NOW
    python -m benchmarks.rule_judge PAIRS.jsonl --before THEN       # every verdict that differs from THEN

Speed is measured on made pairs that are all different, none decided by its spelling, so each needs
mathematics or words. Errors are counted on the suite of tests/unit/answers, or on the pairs that are named: a
false accept is a wrong answer accepted, a miss an equal one refused. math-verify is called in a loop,
without a limit of time; OpenCompass's `MATHVerifyEvaluator` starts a process for each pair.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gpassk_opencompass.answers import final_answer
from gpassk_opencompass.judges import Judgement, Pair, Verdict
from gpassk_opencompass.judges.rule import RuleJudge

from .made import made_pairs
from .measuring import cost, progress, unwarned
from .tables import Row, Section, Size, main, megabytes, overview, table, times

SUITE = Path(__file__).parents[1] / 'tests/unit/answers/suite.jsonl'
CASES = {'tiny': (8,), 'quick': (50, 450), 'full': (250, 1_000, 4_000)}
SAMPLE = {'tiny': 2, 'quick': 20, 'full': 100}
"""Pairs that OpenCompass judges."""

EVERY = {'tiny': 1_000, 'quick': 100, 'full': 10}
"""Of the suite each so manieth pair is judged."""


class Labelled(NamedTuple):
    """A pair, whether it is equal, and the group that it is counted in."""

    pair: Pair
    equal: bool
    group: str


def measure(size: Size) -> Section:
    """Every case of this size, and the errors on the suite."""
    with unwarned():
        from opencompass.evaluator import MATHVerifyEvaluator
    import math_verify  # noqa: F401  # before the clock runs

    rows: list[Row] = []
    for count in CASES[size]:
        progress(f'rule judge: {count:,} pairs')
        pairs = [Labelled(Pair('', one.reference, one.answer), one.right, '') for one in made_pairs(count)]
        some = pairs[: SAMPLE[size]]
        ours, bare = cost(partial(our_verdicts, pairs)), cost(partial(math_verify_verdicts, pairs))
        theirs = cost(partial(_opencompass_verdicts, MATHVerifyEvaluator, some)).scaled(count / len(some))
        if wrong := sum(said is not one.equal for one, said in zip(pairs, ours.value, strict=True)):
            raise RuntimeError(f'the rule judge errs on {wrong} of {count} made pairs')
        row = {'pairs': f'{count:,}', 'ours, pairs/s': f'{count / ours.cpu:,.0f}'}
        row |= {'math-verify': f'{count / bare.cpu:,.0f}', 'OpenCompass': f'{count / theirs.cpu:,.0f}'}
        row |= {'math-verify / ours': times(bare.cpu / ours.cpu)}
        row |= {'OpenCompass / ours': times(theirs.cpu / ours.cpu), 'memory, ours': megabytes(ours)}
        rows.append(row)
    errors = error_table(read_suite()[:: EVERY[size]])
    return Section(
        'Rule judge',
        "Verdicts on different pairs of reference and answer, beside math-verify in a loop and OpenCompass's "
        '`MATHVerifyEvaluator`, which starts a process for each pair; a second of the processor.',
        rows,
        f'OpenCompass judged the first {SAMPLE[size]} pairs, scaled up.\n\n'
        f'Wrong answers accepted / equal ones refused, on each {EVERY[size]}th pair of the '
        f'suite:\n\n{errors}',
        [
            overview(f'Rule judge, {count:,} pairs', 'OpenCompass', ours, theirs),
            overview(f'Rule judge, {count:,} pairs', 'math-verify in a loop', ours, bare),
        ],
    )


def read_suite() -> list[Labelled]:
    """The labelled pairs of tests/unit/answers."""
    rows = map(json.loads, SUITE.read_text(encoding='utf-8').splitlines())
    return [
        Labelled(Pair(row['question'], row['reference'], row['answer']), row['equal'], row['type'])
        for row in rows
    ]


def read_pairs(path: Path) -> list[Labelled]:
    """Pairs with `reference`, `answer`, `label`, perhaps `question` and `source`; JSON lines."""
    rows = map(json.loads, path.read_text(encoding='utf-8').splitlines())
    return [
        Labelled(
            Pair(str(row.get('question', '')), str(row['reference']), str(row['answer'])),
            row['label'] in (True, 1, 'correct'),
            str(row.get('source', path.name)),
        )
        for row in rows
    ]


def error_table(pairs: Sequence[Labelled]) -> str:
    """False accepts / misses of ours and math-verify, a row a group."""
    verdicts = {'ours': our_verdicts(pairs), 'math-verify': math_verify_verdicts(pairs)}
    total = Counter(one.group for one in pairs) + Counter(all=len(pairs))
    wrong = Counter(
        (judge, group, said)
        for judge, accepted in verdicts.items()
        for one, said in zip(pairs, accepted, strict=True)
        if said is not one.equal
        for group in (one.group, 'all')
    )
    return table(
        [
            {'group': group, 'pairs': f'{count:,}'}
            | {judge: f'{wrong[judge, group, True]} / {wrong[judge, group, False]}' for judge in verdicts}
            for group, count in sorted(total.items(), key=lambda item: (item[0] == 'all', item))
        ]
    )


def judgements(pairs: Sequence[Labelled]) -> list[Judgement]:
    """What the rule judge says of each."""
    with RuleJudge() as judge:
        return list(judge.judge([one.pair for one in pairs]))


def our_verdicts(pairs: Sequence[Labelled]) -> list[bool]:
    """Whether the rule judge accepts each."""
    return [said.verdict is Verdict.CORRECT for said in judgements(pairs)]


def math_verify_verdicts(pairs: Sequence[Labelled]) -> list[bool]:
    """Whether math-verify accepts each; it is given what stands in the box of a whole response."""
    from math_verify import parse, verify

    logging.disable(logging.WARNING)
    accepted = []
    for one in pairs:
        reference, answer = (
            final_answer(text).text or text if '\\boxed' in text else text
            for text in (one.pair.reference, one.pair.answer)
        )
        parsed = (parse(f'${text}$', parsing_timeout=5) for text in (reference, answer))
        accepted.append(bool(verify(*parsed, timeout_seconds=5)))
    return accepted


def _opencompass_verdicts(evaluator: Any, pairs: Sequence[Labelled]) -> None:
    # It finds answers in formulas and boxes only.
    responses = [rf'$\boxed{{{one.pair.answer}}}$' for one in pairs]
    evaluator().score(responses, [one.pair.reference for one in pairs])


def judge_file() -> None:
    """Print the errors on labelled pairs, and what changed since verdicts were saved."""
    parser = argparse.ArgumentParser()
    parser.add_argument('pairs', type=Path)
    parser.add_argument('--every', type=int, default=1, metavar='N', help='only each Nth pair')
    parser.add_argument('--save', type=Path, metavar='FILE', help='write the verdicts there')
    parser.add_argument('--before', type=Path, metavar='FILE', help='list what differs from these verdicts')
    options = parser.parse_args()
    pairs = read_pairs(options.pairs)[:: options.every]
    print(error_table(pairs))
    verdicts = [f'{said.verdict.value} {said.origin}' for said in judgements(pairs)]
    if options.save:
        options.save.write_text(json.dumps(verdicts), encoding='utf-8')
    if options.before:
        before = json.loads(options.before.read_text(encoding='utf-8'))
        for one, then, now in zip(pairs, before, verdicts, strict=True):
            if then.split()[0] != now.split()[0]:
                print(f'{then} -> {now}; equal: {one.equal}; {one.pair.reference!r} | {one.pair.answer!r}')


if __name__ == '__main__':
    import sys

    if len(sys.argv) > 1 and not sys.argv[1].startswith('-'):
        judge_file()
    else:
        main(measure, __doc__)
