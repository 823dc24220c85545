"""What tests of other programs' logs share: symbols of samples, exact scores, changes and damages."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from exact import g_pass

from gpassk_opencompass import record
from gpassk_opencompass.cli import main
from gpassk_opencompass.formats import Options, read_samples
from gpassk_opencompass.record import Result
from gpassk_opencompass.samples import Run, Samples

RECORDED = Path(__file__).resolve().parent / 'recorded'
HARNESSES = RECORDED.parent / 'slow' / 'harnesses'
SYMBOLS = {'correct': '1', 'incorrect': '0', 'unjudged': '?', None: '-'}

Row = dict[str, Any]


def runs_of(*paths: Path, **options: Any) -> dict[str, Run]:
    return {run.name: run for run in read_samples(paths, options=Options(**options))}


def run_of(*paths: Path, **options: Any) -> Run:
    [run] = read_samples(paths, options=Options(**options))
    return run


def samples_of(run: Run) -> Samples:
    assert run.samples is not None
    return run.samples


def of_questions(run: Run, column: str) -> dict[str, list[Any]]:
    """uid → a column of its samples, in their order; None where it is not known."""
    values, questions = samples_of(run).each(column), samples_of(run).by_question()
    return {uid: [values[row] for row in rows] for uid, rows in questions.items()}


def verdicts(run: Run) -> dict[str, str]:
    """uid → a symbol a sample: 1, 0, ? for unjudged, - where nobody has judged yet."""
    return {uid: ''.join(SYMBOLS[one] for one in each) for uid, each in of_questions(run, 'verdict').items()}


def texts(run: Run, column: str) -> list[Any]:
    return [one for each in of_questions(run, column).values() for one in each]


def said(run: Run) -> str:
    return '\n'.join(run.remarks)


def scored(out: Path, *arguments: str | Path) -> Result:
    assert main(['score', *map(str, arguments), '-o', str(out)]) == 0
    return record.read(out)


def check_scores(result: Result, counts: Sequence[int], n: int) -> None:
    """The record holds these counts, whatever the order of its questions, and their exact G-Pass@k."""
    assert sorted(result.table.c.tolist()) == sorted(counts)
    assert set(result.table.n.tolist()) == {n}
    scores = result.scores()
    for k in result.ks:
        for threshold in (0.5, 0.75, 1.0):
            expected = g_pass(counts, n, k, threshold)
            assert abs(scores[f'G-Pass@{k}_{threshold}'] - expected) < 1e-9


def rows_in(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding='utf-8').splitlines()]


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    return path


def evalscope_truth(folder: Path) -> dict[str, dict[str, dict[str, str]]]:
    """Benchmark → uid → what the script of EvalScope's logs knows of a question.

    EvalScope counts from 0 in each subset, which the uid begins with unless it is a sole `default`.
    """
    known: dict[str, dict[str, dict[str, str]]] = {}
    for benchmark, questions in json.loads((folder / 'truth.json').read_text()).items():
        numbers, whole = Counter[str](), {one['subset'] for one in questions} == {'default'}
        for one in questions:
            uid = f'{numbers[one["subset"]]}'
            known.setdefault(benchmark, {})[uid if whole else f'{one["subset"]}/{uid}'] = one
            numbers[one['subset']] += 1
    return known


def evalscope_symbols(known: Mapping[str, str]) -> str:
    """The verdicts on a question in the order of its requests; EvalScope judges whole numbers alone."""
    letters = known['replies'].translate(str.maketrans('txchlf', '1100??'))
    return '?' * len(letters) if '.' in known['reference'] else letters
