"""How long does `gpassk score` take for a million questions, and how much memory?

    python -m benchmarks.score_counts                       # 1,000,000 questions, 48 samples each
    python -m benchmarks.score_counts --questions 100000

Generated counts (Beta(0.4, 0.4), seed 0) are scored by the command in a process of its own, beside a process
that only parses the same lines with `json.loads`, and one that scores 1,000 of them: what is left over is
the work a question. Seconds are those of the processor. Lines with a source problem take a cluster each two.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

N = 48

SCORE = 'import sys; from gpassk_opencompass.cli import main; sys.exit(main(["score", sys.argv[1]]))'
PARSE = 'import json, sys\nwith open(sys.argv[1]) as lines:\n    for line in lines: json.loads(line)'
MEASURE = """
import json, resource
usage = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]), file=sys.stderr)
"""


class Cost(NamedTuple):
    """Of one process."""

    seconds: float
    mebibytes: float
    """The most memory that it had at once."""
    output: str


def write_counts(path: Path, questions: int, problems: bool) -> None:
    """Counts of a U-shaped population, a line a question."""
    generator = np.random.default_rng(0)
    counts = generator.binomial(N, generator.beta(0.4, 0.4, size=questions))
    with path.open('w', encoding='utf-8') as file:
        for question, c in enumerate(counts.tolist()):
            row = {'uid': f'question-{question}', 'n': N, 'c': c}
            file.write(json.dumps(row | ({'problem': f'problem-{question // 2}'} if problems else {})) + '\n')


def cost(code: str, path: Path) -> Cost:
    """Run a program on a file."""
    program = f'import sys\ntry:\n    exec({code!r})\nexcept SystemExit: pass\n{MEASURE}'
    done = subprocess.run(
        [sys.executable, '-c', program, str(path)], capture_output=True, text=True, check=True
    )
    seconds, mebibytes = json.loads(done.stderr.splitlines()[-1])
    return Cost(seconds, mebibytes, done.stdout)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--questions', type=int, default=1_000_000)
    questions = parser.parse_args().questions
    print(f'{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}\n')
    print('| questions | file MB | score s | json.loads s | ratio | start s | peak MB | start MB |')
    print('|---|---|---|---|---|---|---|---|')
    with TemporaryDirectory() as folder:
        few, many = Path(folder) / 'few.jsonl', Path(folder) / 'many.jsonl'
        for problems in (False, True):
            write_counts(few, min(1_000, questions), problems)
            write_counts(many, questions, problems)
            start, ours, parsing = cost(SCORE, few), cost(SCORE, many), cost(PARSE, many)
            print(
                f'| {questions:,}{", clustered" if problems else ""} | {many.stat().st_size / 1e6:.0f} '
                f'| {ours.seconds:.1f} | {parsing.seconds:.1f} | {ours.seconds / parsing.seconds:.1f} '
                f'| {start.seconds:.1f} | {ours.mebibytes:.0f} | {start.mebibytes:.0f} |'
            )
    print(f'\n{ours.output}')


if __name__ == '__main__':
    main()
