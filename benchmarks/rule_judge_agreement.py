"""How well the rule judge agrees with labelled pairs, beside plain math-verify.

    python -m benchmarks.rule_judge_agreement PAIRS [--leave-out ID …] [--samples FILE]

PAIRS is a file as `gpassk judge-agreement` takes it, which gives the rates of any judge with their intervals;
this script sets the counts of three beside each other. Plain math-verify gets reference and answer as they
stand, and a second time each in $…$. FILE holds JSON lines with the fields question, answer (the reference),
code (responses) and score (their labels).
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from math_verify import parse, verify

from gpassk_opencompass.agreement.comparisons import LabelledPair, read_labelled
from gpassk_opencompass.agreement.rates import Agreement, content, grouped
from gpassk_opencompass.answers import final_answer
from gpassk_opencompass.judges import Pair, Verdict
from gpassk_opencompass.judges.rule import RuleJudge

Verdicts = Sequence[bool | None]

_MEANING = {Verdict.CORRECT: True, Verdict.INCORRECT: False, Verdict.UNJUDGED: None}


def main() -> None:
    arguments = _arguments()
    logging.disable(logging.WARNING)
    pairs = [one for one in read_labelled(arguments.pairs) if one.name not in arguments.leave_out]
    columns = {
        'plain': [_plain(one.pair.reference, one.pair.answer) for one in pairs],
        'plain in $…$': [_plain(f'${one.pair.reference}$', f'${one.pair.answer}$') for one in pairs],
        'rule judge': _rule_judge([one.pair for one in pairs]),
    }
    _print_agreement(pairs, columns)
    if arguments.samples:
        samples = _samples(arguments.samples)
        print(f'\n{len(samples)} responses')
        _print_agreement(samples, {'rule judge': _rule_judge([one.pair for one in samples])})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n')[0])
    parser.add_argument('pairs', type=Path)
    parser.add_argument(
        '--leave-out', nargs='*', default=[], metavar='ID', help='pairs with a known label error'
    )
    parser.add_argument('--samples', type=Path, help='full responses with labels')
    return parser.parse_args()


def _plain(gold: str, pred: str) -> bool:
    return bool(verify(parse(gold), parse(pred)))


def _rule_judge(pairs: Sequence[Pair]) -> Verdicts:
    with RuleJudge() as judge:
        return [_MEANING[judgement.verdict] for judgement in judge.judge(pairs)]


def _samples(path: Path) -> list[LabelledPair]:
    """The final answer of each response, as in a run."""
    with path.open(encoding='utf-8') as lines:
        questions = [json.loads(line) for line in lines if line.strip()]
    return [
        LabelledPair(
            Pair(row['question'], row['answer'], final_answer(response).text), bool(label), 'samples', 0, ''
        )
        for row in questions
        for response, label in zip(row['code'], row['score'], strict=True)
    ]


def _print_agreement(pairs: Sequence[LabelledPair], columns: Mapping[str, Verdicts]) -> None:
    print('| source | pairs |', ' | '.join(f'{name}: agree / FP / FN / unjudged' for name in columns), '|')
    print('| --- | ---: |', ' | '.join('---:' for _ in columns), '|')
    groups = [(one.source,) for one in pairs]
    labels = [one.label for one in pairs]
    contents = [content(one.pair) for one in pairs]
    tables = [grouped(groups, verdicts, labels, contents) for verdicts in columns.values()]
    for rows in zip(*tables, strict=True):
        cells = ' | '.join(_counts(row.found) for row in rows)
        print(f'| {rows[0].group[0]} | {rows[0].found.pairs} | {cells} |')


def _counts(found: Agreement) -> str:
    agreeing = found.both_correct + found.both_incorrect
    return f'{agreeing} / {found.false_positives} / {found.false_negatives} / {found.unjudged}'


if __name__ == '__main__':
    main()
