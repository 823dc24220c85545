"""How fast are verdicts by rule, against a process for each pair, as OpenCompass's MATHVerifyEvaluator has?

    python -m benchmarks.rule_judge            # 250, 1,000 and 4,000 pairs, 100 of them by OpenCompass
    python -m benchmarks.rule_judge --quick    # 50, 150 and 450 pairs, 20 of them

The pairs are all different, and none is decided by its spelling, so each needs mathematics or words. The
floor is math-verify called in a loop in one process: no limit of time or memory, so that one bad answer can
stop it for good. How well each judges is `benchmarks.rule_judge_agreement`'s question, on labelled pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from gpassk_opencompass.judges import Pair, Verdict
from gpassk_opencompass.judges.rule import RuleJudge

from .made import MadePair, made_pairs
from .measuring import Cost, cost, progress, unwarned
from .sections import Section, Size, added, duration, headline, main, megabytes, share, times

CASES: Mapping[Size, tuple[int, ...]] = {'tiny': (8,), 'quick': (50, 150, 450), 'full': (250, 1_000, 4_000)}
SAMPLE: Mapping[Size, int] = {'tiny': 2, 'quick': 20, 'full': 100}
"""Pairs that OpenCompass judges."""


class Row(NamedTuple):
    """One number of pairs; each `value` is whether the verdicts are right."""

    pairs: int
    ours: Cost
    theirs: Cost
    """Of all pairs, scaled up from the sample."""
    floor: Cost


def measure(size: Size) -> Section:
    """Every case of this size."""
    with unwarned():
        from opencompass.evaluator import MATHVerifyEvaluator
    import math_verify  # noqa: F401  # before the clock runs

    return _section([_row(count, SAMPLE[size], MATHVerifyEvaluator) for count in CASES[size]])


def _row(count: int, sample: int, evaluator: Any) -> Row:
    progress(f'rule judge: {count:,} pairs')
    pairs = made_pairs(count)
    return Row(
        count,
        cost(partial(_ours, pairs)),
        cost(partial(_theirs, evaluator, pairs[:sample])).scaled(count / min(sample, count)),
        cost(partial(_plain, pairs)),
    )


def _ours(pairs: Sequence[MadePair]) -> list[bool]:
    with RuleJudge() as judge:
        judgements = judge.judge([Pair('', pair.reference, pair.answer) for pair in pairs])
    return [
        (judgement.verdict is Verdict.CORRECT) is pair.right
        for judgement, pair in zip(judgements, pairs, strict=True)
    ]


def _theirs(evaluator: Any, pairs: Sequence[MadePair]) -> list[bool]:
    # It finds answers in formulas and boxes only.
    found = evaluator().score(
        [rf'$\boxed{{{pair.answer}}}$' for pair in pairs], [pair.reference for pair in pairs]
    )
    details = found['details']
    return [detail['correct'] is pair.right for detail, pair in zip(details, pairs, strict=True)]


def _plain(pairs: Sequence[MadePair]) -> list[bool]:
    from math_verify import parse, verify

    limits = {'parsing_timeout': 0}
    return [
        verify(parse(f'${pair.reference}$', **limits), parse(f'${pair.answer}$', **limits), timeout_seconds=0)
        is pair.right
        for pair in pairs
    ]


def _section(rows: list[Row]) -> Section:
    last = rows[-1]
    return Section(
        'Rule judge',
        "Verdicts on different pairs of reference and answer, beside OpenCompass's `MATHVerifyEvaluator`, "
        'which starts a process for each pair. Floor: math-verify in a loop, without any limit.',
        [
            'pairs',
            'ours, by the clock',
            'pairs/s',
            'OpenCompass',
            'pairs/s',
            'OpenCompass / ours',
            'ours / floor',
            'right: ours, OpenCompass, floor',
            'memory, ours',
            'OpenCompass',
        ],
        [_cells(row) for row in rows],
        [
            f'OpenCompass judged the first {len(last.theirs.value)} pairs, scaled up. Ours has as '
            'many processes as there are processors; memory is that of the largest one. The ratios are of '
            'processor time, all processes together.'
        ],
        [headline(f'Rule judge, {last.pairs:,} pairs', 'OpenCompass', last.ours, last.theirs)],
    )


def _cells(row: Row) -> list[str]:
    return [
        f'{row.pairs:,}',
        duration(row.ours.seconds),
        f'{row.pairs / row.ours.seconds:,.0f}',
        duration(row.theirs.seconds),
        f'{row.pairs / row.theirs.seconds:,.0f}',
        times(row.theirs.cpu / row.ours.cpu),
        times(row.ours.cpu / row.floor.cpu),
        ', '.join(share(cost.value) for cost in (row.ours, row.theirs, row.floor)),
        added(row.ours),
        megabytes(row.theirs),
    ]


if __name__ == '__main__':
    main(measure, __doc__)
