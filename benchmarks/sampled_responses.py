"""Real sampled responses through GPassKEvaluator, against the verdicts of their own grader.

    python -m benchmarks.sampled_responses FILE.jsonl

A line is a question with `question`, `answer`, `response` (n texts) and `score` (n labels). Labels that are
plainly wrong are listed in LABEL_ERRORS; the metrics are compared with the labels as they are and as mended.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from datasets import Dataset

from gpassk_opencompass.metrics import metric_means, metric_table
from gpassk_opencompass.plugin import GPassKEvaluator

KS = (4, 8)

LABEL_ERRORS = {
    (r'\text{4:30 p.m.}', r'4:30 \text{ p.m.}'): True,
    ('10{,}000', '10000'): True,
}
"""(reference, answer) → the right label, where the file has the other one."""


class Disagreement(NamedTuple):
    """A response that we judge unlike its label."""

    reference: str
    answer: str
    label: bool
    verdict: str


class Report(NamedTuple):
    """What came out."""

    agreement: float
    disagreements: list[Disagreement]
    metrics: dict[str, tuple[float, float, float]]
    """Key → (ours, from the file's labels, from the labels with LABEL_ERRORS mended), in percent."""


def compare(path: Path) -> Report:
    """Evaluate every response of the file with the rule judge."""
    questions = [json.loads(line) for line in path.read_text(encoding='utf-8').splitlines() if line.strip()]
    n = len(questions[0]['response'])
    rows = Dataset.from_list(
        [
            {'question': q['question'], 'answer': q['answer'], 'uid': str(number), 'replica': replica}
            for replica in range(n)
            for number, q in enumerate(questions)
        ]
    )
    responses = [q['response'][replica] for replica in range(n) for q in questions]
    result = GPassKEvaluator().evaluate(list(KS), n, rows, predictions=responses, references=rows['answer'])
    return _report(questions, result, n)


def _report(questions: list[dict[str, Any]], result: dict[str, Any], n: int) -> Report:
    labels, mended, disagreements = [], [], []
    for question, verdicts, answers in zip(
        questions, result['details']['verdicts'], result['details']['answers'], strict=True
    ):
        right = [
            LABEL_ERRORS.get((question['answer'], answer), label)
            for answer, label in zip(answers, question['score'], strict=True)
        ]
        labels.append(sum(question['score']))
        mended.append(sum(right))
        disagreements += [
            Disagreement(question['answer'], answer, label, verdict)
            for answer, label, verdict in zip(answers, question['score'], verdicts, strict=True)
            if label != (verdict == '1')
        ]
    table = metric_table(n, list(KS))
    raw, right_means = metric_means(table, labels), metric_means(table, mended)
    metrics = {key: (result[key], 100 * raw[key], 100 * right_means[key]) for key in table}
    return Report(1 - len(disagreements) / (n * len(questions)), disagreements, metrics)


def main() -> None:
    """Print the agreement, every disagreement, and both sets of metrics."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('file', type=Path)
    report = compare(parser.parse_args().file)
    print(f'agreement: {report.agreement:.2%}')
    for case, times in Counter(report.disagreements).items():
        print(f'{times} × {case}')
    print('\n| metric | ours | labels | labels, errors mended |\n| --- | --- | --- | --- |')
    for key, values in report.metrics.items():
        print(f'| {key} | ' + ' | '.join(f'{value:.2f}' for value in values) + ' |')


if __name__ == '__main__':
    main()
