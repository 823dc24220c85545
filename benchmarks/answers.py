"""How often the rule judge errs, by type of answer, and how fast it is, beside the graders of other programs.

    python -m benchmarks.answers                       # the suite of tests/answers, all graders installed
    python -m benchmarks.answers --every 20            # each 20th pair: some take their time
    python -m benchmarks.answers --keep FOLDER         # what graders say is kept there, and asked for once
    python -m benchmarks.answers --grader opencompass verl-prime=ENVIRONMENT/bin/python    # these alone
    python -m benchmarks.answers PAIRS --save NOW      # labelled pairs, as for `gpassk judge agreement`
    python -m benchmarks.answers PAIRS --before THEN   # the same, and every verdict that differs from THEN

A false positive is a wrong answer accepted, a false negative an equal one refused. `make graders` installs
the graders; how each is called stands in `graders/adapters.py`. The speed is that of the rule judge and of
plain math-verify, in a loop without limits, timed by the processor in one run, on the same pairs; the bare
loop compares texts and does nothing else.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from gpassk_opencompass.agreement import read_labelled
from gpassk_opencompass.answers import final_answer
from gpassk_opencompass.judges import Judgement, Pair, Verdict
from gpassk_opencompass.judges.rule import RuleJudge

from . import ROOT
from .graders import ADAPTERS, Asked, Graded, NoGrader, grade, python_of
from .graders.adapters import GRADERS
from .sections import table, times

SUITE = ROOT / 'tests/answers/suite.jsonl'
INTEGERS = 2_000
TIMED = 250
"""Pairs on which the speed is measured, of the suite or the file."""


class Labelled(NamedTuple):
    """A pair, whether it is equal, and the group that it is counted in."""

    pair: Pair
    equal: bool
    group: str
    name: str = ''


class Timed(NamedTuple):
    """What a judge said, and what that took."""

    accepted: list[bool]
    seconds: float


def main() -> None:
    options = _options()
    logging.disable(logging.WARNING)
    pairs = (_from_file(options.pairs) if options.pairs else _suite())[:: options.every]
    judged, ours = _ours(pairs)
    graded, missing = _graded(pairs, options)
    print(_by_group(pairs, {'ours': ours.accepted, **{name: one.accepted for name, one in graded.items()}}))
    print(_foot(graded, missing))
    if not options.no_speed:
        some = pairs[:: max(1, len(pairs) // TIMED)]
        cases = {'pairs': some} if options.pairs else {'suite': some, 'integers': _integers()}
        print(_speed({name: _timings(timed) for name, timed in cases.items()}))
    if options.save:
        options.save.write_text(json.dumps(_by_name(pairs, judged), indent=0), encoding='utf-8')
    if options.before:
        _print_changes(pairs, judged, json.loads(options.before.read_text(encoding='utf-8')))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n')[0])
    parser.add_argument('pairs', type=Path, nargs='?', help='labelled pairs; default: the suite')
    parser.add_argument('--every', type=int, default=1, metavar='N', help='only each Nth pair')
    parser.add_argument(
        '--grader',
        nargs='*',
        type=_grader,
        default=[(name, '') for name in GRADERS],
        metavar='NAME[=PYTHON]',
        help=f'only these; there are {", ".join(GRADERS)}',
    )
    parser.add_argument(
        '--limit', type=float, default=20.0, metavar='SECONDS', help='for one pair, default: 20'
    )
    parser.add_argument('--keep', type=Path, metavar='FOLDER', help="keep the graders' verdicts there")
    parser.add_argument('--no-speed', action='store_true', help='measure no speed')
    parser.add_argument('--save', type=Path, metavar='FILE', help='write the verdicts there')
    parser.add_argument('--before', type=Path, metavar='FILE', help='list what differs from these verdicts')
    return parser.parse_args()


def _suite() -> list[Labelled]:
    rows = map(json.loads, SUITE.read_text(encoding='utf-8').splitlines())
    return [
        Labelled(
            Pair(row['question'], row['reference'], row['answer']), row['equal'], row['type'], f'suite-{line}'
        )
        for line, row in enumerate(rows, 1)
    ]


def _from_file(path: Path) -> list[Labelled]:
    return [Labelled(one.pair, one.label, one.source, one.name) for one in read_labelled(path)]


def _integers() -> list[Labelled]:
    """Integers from 0 to 999, half of them right."""
    chance = Random(0)
    values = [(chance.randint(0, 999), chance.random() < 0.5) for _ in range(INTEGERS)]
    return [Labelled(Pair('', str(one), str(one if same else one + 1)), same, '') for one, same in values]


def _timings(pairs: Sequence[Labelled]) -> tuple[Timed, Timed, Timed]:
    """Ours, math-verify, a bare loop."""
    loop = _timed(pairs, lambda pair: pair.reference == pair.answer)
    return _ours(pairs)[1], _timed(pairs, _plain), loop


def _graded(
    pairs: Sequence[Labelled], options: argparse.Namespace
) -> tuple[dict[str, Graded], dict[str, str]]:
    """Each grader's verdicts, and why others have none."""
    asked = [Asked(_unboxed(one.pair.reference), _unboxed(one.pair.answer)) for one in pairs]
    graded, missing = {}, {}
    for name, python in options.grader:
        kept = options.keep / f'{name}.jsonl' if options.keep else None
        try:
            command = [python or python_of(name), ADAPTERS, name]
            graded[name] = grade(command, asked, options.limit, kept)
        except NoGrader as error:
            missing[name] = str(error)
    return graded, missing


def _unboxed(text: str) -> str:
    """The final answer of a whole response: a grader is given what its harness would find in the box."""
    return (final_answer(text).text or text) if '\\boxed' in text else text


def _grader(text: str) -> tuple[str, str]:
    """The name of a grader and its Python, '' where that is not said."""
    name, _, python = text.partition('=')
    if name not in GRADERS:
        raise argparse.ArgumentTypeError(f'unknown grader {name!r}; there are {", ".join(GRADERS)}')
    return name, python


def _ours(pairs: Sequence[Labelled]) -> tuple[list[Judgement], Timed]:
    with RuleJudge() as judge:
        started = time.process_time()
        judged = judge.judge([one.pair for one in pairs])
        seconds = time.process_time() - started
    return judged, Timed([said.verdict is Verdict.CORRECT for said in judged], seconds)


def _timed(pairs: Sequence[Labelled], accepts: Callable[[Pair], bool]) -> Timed:
    started = time.process_time()
    accepted = [accepts(one.pair) for one in pairs]
    return Timed(accepted, time.process_time() - started)


def _plain(pair: Pair) -> bool:
    from math_verify import parse, verify

    return bool(verify(parse(f'${pair.reference}$'), parse(f'${pair.answer}$')))


def _by_group(pairs: Sequence[Labelled], verdicts: Mapping[str, Sequence[bool]]) -> str:
    """False positives / false negatives, a row a group, a column a judge."""
    total: Counter[str] = Counter(one.group for one in pairs)
    wrong: Counter[tuple[str, str, bool]] = Counter()
    for judge, accepted in verdicts.items():
        for one, said in zip(pairs, accepted, strict=True):
            if said is not one.equal:
                wrong.update([(judge, group, said) for group in (one.group, 'all')])
    total['all'] = len(pairs)
    rows = [
        [group, f'{total[group]:,}']
        + [f'{wrong[judge, group, True]:,} / {wrong[judge, group, False]:,}' for judge in verdicts]
        for group in sorted(total, key=lambda group: (group == 'all', group))
    ]
    return table(['FP / FN', 'pairs', *verdicts], rows) + '\n'


def _foot(graded: Mapping[str, Graded], missing: Mapping[str, str]) -> str:
    """Versions, pairs without a verdict, and who is not there."""
    lines = []
    for name, one in graded.items():
        failed = (
            f'; no verdict on {one.failed.total():,} pairs, which count as refused: ' if one.failed else ''
        )
        reasons = ', '.join(f'{reason} {count:,}' for reason, count in one.failed.most_common())
        lines.append(f'{name} {one.version}{failed}{reasons}')
    lines += [f'{name}: {why}' for name, why in missing.items()]
    return '\n'.join(f'- {line}' for line in lines) + '\n'


def _speed(cases: Mapping[str, tuple[Timed, Timed, Timed]]) -> str:
    rows = []
    for name, timings in cases.items():
        ours, theirs, loop = (timing.seconds / len(timing.accepted) for timing in timings)
        rate = [f'{1 / seconds:,.0f}' for seconds in (ours, theirs)]
        rows.append([name, *rate, times(theirs / ours), times(ours / loop)])
    return table(['pairs', 'ours, pairs/s', 'math-verify', 'math-verify / ours', 'ours / bare loop'], rows)


def _by_name(pairs: Sequence[Labelled], judged: Sequence[Judgement]) -> dict[str, list[str]]:
    return {one.name: [said.verdict.value, said.origin] for one, said in zip(pairs, judged, strict=True)}


def _print_changes(
    pairs: Sequence[Labelled], judged: Sequence[Judgement], before: Mapping[str, Sequence[str]]
) -> None:
    now = _by_name(pairs, judged)
    for one in pairs:
        if one.name in before and before[one.name][0] != now[one.name][0]:
            label = 'equal' if one.equal else 'not equal'
            print(f'{one.name}: {" ".join(before[one.name])} -> {" ".join(now[one.name])}; labelled {label}')
            print(f'    {one.pair.reference[:100]!r} | {one.pair.answer[-100:]!r}')


if __name__ == '__main__':
    main()
