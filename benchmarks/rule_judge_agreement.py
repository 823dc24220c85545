"""How well the rule judge agrees with labelled pairs, beside plain math-verify.

    python benchmarks/rule_judge_agreement.py PAIRS [--leave-out ID …] [--final-answers] [--samples FILE]

PAIRS is a file of JSON lines with the fields id, source, gold, pred and correct. Plain math-verify gets
gold and pred as they stand, and a second time each in $…$; the rule judge gets them as they stand or, with
--final-answers, the final answer of pred. FILE holds JSON lines with the fields answer, code (responses)
and score (their labels).
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from math_verify import parse, verify

from gpassk_opencompass.answers import final_answer
from gpassk_opencompass.judges import Pair, Verdict
from gpassk_opencompass.judges.rule import RuleJudge

Row = dict[str, Any]


class Tally(NamedTuple):
    """Verdicts (None: unjudged) against labels."""

    agreeing: int
    false_positives: int
    false_negatives: int
    unjudged: int

    @classmethod
    def of(cls, verdicts: Sequence[bool | None], labels: Sequence[bool]) -> Tally:
        both = list(zip(verdicts, labels, strict=True))
        return cls(
            sum(verdict is label for verdict, label in both),
            sum(verdict is True and not label for verdict, label in both),
            sum(verdict is False and label for verdict, label in both),
            sum(verdict is None for verdict, _ in both),
        )


def main() -> None:
    arguments = _arguments()
    logging.disable(logging.WARNING)
    rows = [row for row in _lines(arguments.pairs) if row['id'] not in arguments.leave_out]
    answers = [_stated(row['pred']) if arguments.final_answers else row['pred'] for row in rows]
    pairs = [
        Pair(row.get('question', ''), row['gold'], answer) for row, answer in zip(rows, answers, strict=True)
    ]
    columns = {
        'plain': _timed(lambda: [_plain(row['gold'], row['pred']) for row in rows]),
        'plain in $…$': _timed(lambda: [_plain(f'${row["gold"]}$', f'${row["pred"]}$') for row in rows]),
        'rule judge': _timed(lambda: _rule_judge(pairs)),
    }
    _print_agreement(rows, {name: verdicts for name, (verdicts, _) in columns.items()})
    _print_speed(len(rows), {name: seconds for name, (_, seconds) in columns.items()})
    if arguments.disagreements:
        _print_disagreements(rows, columns['rule judge'][0])
    if arguments.samples:
        _compare_samples(list(_lines(arguments.samples)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n')[0])
    parser.add_argument('pairs', type=Path)
    parser.add_argument(
        '--leave-out', nargs='*', default=[], metavar='ID', help='pairs with a known label error'
    )
    parser.add_argument(
        '--final-answers', action='store_true', help='give the judge the final answer of pred'
    )
    parser.add_argument('--disagreements', action='store_true', help='list the pairs the judge disagrees on')
    parser.add_argument('--samples', type=Path, help='full responses with labels')
    return parser.parse_args()


def _lines(path: Path) -> Iterator[Row]:
    with path.open(encoding='utf-8') as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def _stated(response: str) -> str:
    return final_answer(response).text or response


def _plain(gold: str, pred: str) -> bool:
    return bool(verify(parse(gold), parse(pred)))


def _rule_judge(pairs: Sequence[Pair]) -> list[bool | None]:
    meaning = {Verdict.CORRECT: True, Verdict.INCORRECT: False, Verdict.UNJUDGED: None}
    with RuleJudge() as judge:
        return [meaning[judgement.verdict] for judgement in judge.judge(pairs)]


def _timed(verdicts: Callable[[], Sequence[bool | None]]) -> tuple[Sequence[bool | None], float]:
    start = time.perf_counter()
    return verdicts(), time.perf_counter() - start


def _print_agreement(rows: Sequence[Row], columns: dict[str, Sequence[bool | None]]) -> None:
    print('| source | pairs |', ' | '.join(f'{name}: agree / FP / FN / unjudged' for name in columns), '|')
    print('| --- | ---: |', ' | '.join('---:' for _ in columns), '|')
    for source in sorted({row['source'] for row in rows}):
        places = [place for place, row in enumerate(rows) if row['source'] == source]
        labels = [rows[place]['correct'] for place in places]
        tallies = [Tally.of([verdicts[place] for place in places], labels) for verdicts in columns.values()]
        print(
            f'| {source} | {len(places)} |', ' | '.join(' / '.join(map(str, tally)) for tally in tallies), '|'
        )


def _print_speed(pairs: int, seconds: dict[str, float]) -> None:
    print('\n| | seconds | pairs/s |\n| --- | ---: | ---: |')
    for name, taken in seconds.items():
        print(f'| {name} | {taken:.1f} | {pairs / taken:.0f} |')


def _print_disagreements(rows: Sequence[Row], verdicts: Sequence[bool | None]) -> None:
    print()
    for row, verdict in zip(rows, verdicts, strict=True):
        if verdict is not row['correct']:
            print(f'{row["id"]}: {verdict}, label {row["correct"]}')
            print(f'    gold {row["gold"][-80:]!r}, pred {row["pred"][-120:]!r}')


def _compare_samples(questions: Sequence[Row]) -> None:
    answers = [[final_answer(response).text for response in row['code']] for row in questions]
    pairs = [
        Pair(row['question'], row['answer'], text)
        for row, texts in zip(questions, answers, strict=True)
        for text in texts
    ]
    labels = [bool(label) for row in questions for label in row['score']]
    (verdicts, seconds) = _timed(lambda: _rule_judge(pairs))
    tally = Tally.of(verdicts, labels)
    print(f'\n{len(labels)} responses in {seconds:.1f} s: {tally}')
    for pair, verdict, label in zip(pairs, verdicts, labels, strict=True):
        if verdict is not label:
            print(f'reference {pair.reference!r}, answer {pair.answer!r}: {verdict}, label {label}')


if __name__ == '__main__':
    main()
