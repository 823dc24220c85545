"""Time and memory of `gpassk report` on many runs: made results, then the real command.

    python -m benchmarks.report_of_many_runs [--runs 200] [--questions 238] [--samples 48] [--parts tables …]

The results are those of the evaluator, answers and all, of models of different strength on questions of
different hardness, each in Chinese and English. Each part of the report runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpassk_opencompass import FunctionJudge, Judgement, Samples, Verdict
from gpassk_opencompass.scoring import score_judged

SPLITS, LANGUAGES, SEED = ('CNMO', 'CCEE', 'AMC', 'WLPMC'), ('cn', 'en'), 20241219
PARTS = ('tables', 'figures', 'page', 'all')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--runs', type=int, default=200)
    parser.add_argument('--questions', type=int, default=238)
    parser.add_argument('--samples', type=int, default=48)
    parser.add_argument('--parts', nargs='+', choices=PARTS, default=list(PARTS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outputs, report = Path(folder, 'outputs'), Path(folder, 'report')
        started = time.perf_counter()
        size = make_results(outputs, options.runs, options.questions, options.samples)
        print(
            f'{options.runs} runs × {options.questions} questions × {options.samples} samples: '
            f'{size / 1e6:.0f} MB in {time.perf_counter() - started:.0f} s',
            flush=True,
        )
        for part in options.parts:
            seconds, megabytes = measure(outputs, report, part)
            written = sum(path.stat().st_size for path in report.rglob('*') if path.is_file())
            print(
                f'{part}: {seconds:.1f} s, {megabytes:.0f} MB at most, {written / 1e6:.0f} MB of report',
                flush=True,
            )
    return 0


def make_results(outputs: Path, runs: int, questions: int, n: int) -> int:
    """Write the result files of sampled runs, four settings a model; the bytes written."""
    generator = np.random.default_rng(SEED)
    hardness = np.repeat(generator.normal(size=(questions + 1) // 2), 2)[:questions]
    columns = question_columns(questions, n)
    size = 0
    for run in range(runs):
        strength = generator.normal(scale=1.5)
        chances = 1 / (1 + np.exp(-3 * (strength - hardness)))
        right = generator.random((questions, n)) < chances[:, None]
        abbr = f'model-{run // 4}_t{("0-3", "0-5", "0-7", "1-0")[run % 4]}_p0-8_k50_rp1-0_rs42_l8192'
        path = outputs / f'run-{run}' / f'20261121_{run:06d}' / 'results' / abbr
        path.mkdir(parents=True)
        file = path / f'LiveMathBench-v202412-k16-n{n}.json'
        size += file.write_text(json.dumps(record(columns, right, n, generator)))
    return size


def question_columns(questions: int, n: int) -> dict[str, list[Any]]:
    """What all runs share, a row a sample."""
    rows = [(question, replica) for question in range(questions) for replica in range(n)]
    return {
        'uid': [f'u{question}' for question, _ in rows],
        'replica': [replica for _, replica in rows],
        'question': [f'Problem {question // 2}: what is $x_{{{question}}}$?' for question, _ in rows],
        'reference': [str(question) for question, _ in rows],
        'split': [SPLITS[question // 2 % 4] for question, _ in rows],
        'language': [LANGUAGES[question % 2] for question, _ in rows],
        'problem': [f'p{question // 2}' for question, _ in rows],
    }


def record(
    columns: dict[str, list[Any]], right: NDArray[np.bool_], n: int, generator: np.random.Generator
) -> dict[str, Any]:
    """Of one run: wrong answers are some of a few that many give."""
    wrong = generator.integers(1, 9, size=right.size)
    answers = [
        reference if hit else rf'\frac{{{reference}}}{{{other}}}'
        for reference, hit, other in zip(
            columns['reference'], right.ravel().tolist(), wrong.tolist(), strict=True
        )
    ]
    judgements = [
        Judgement(Verdict.CORRECT if hit else Verdict.INCORRECT, 'rule') for hit in right.ravel().tolist()
    ]
    judge = FunctionJudge(lambda pair: pair.answer == pair.reference, name='equal')
    responses = [f'{answer} (thought {number})' for number, answer in enumerate(answers)]
    return score_judged(Samples(**columns, response=responses), judgements, answers, judge, n=n, k=16)


def measure(outputs: Path, report: Path, part: str) -> tuple[float, float]:
    """Seconds, and the most memory in MB, of one `gpassk report`."""
    only = [] if part == 'all' else ['--only', part]
    command = [
        sys.executable,
        '-m',
        'gpassk_opencompass.cli',
        'report',
        str(outputs),
        '-o',
        str(report),
        *only,
    ]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f'gpassk report failed: {os.waitstatus_to_exitcode(status)}')
    return time.perf_counter() - started, peak(usage)


def peak(usage: resource.struct_rusage) -> float:
    """Megabytes; Linux counts kilobytes, macOS bytes."""
    return usage.ru_maxrss / (1e6 if sys.platform == 'darwin' else 1e3)


if __name__ == '__main__':
    sys.exit(main())
