"""How fast is a data set of n replicas built, against OpenCompass's LiveMathBenchDataset?

    python -m benchmarks.dataset_build            # 238 × 16, 238 × 48, 4,760 × 48
    python -m benchmarks.dataset_build --quick    # 238 × 16, 238 × 48, 1,190 × 48

Both read the same files; prompts and answers of all rows are compared. The floor only parses the lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from .made import VERSION, dataset_arguments, write_questions
from .measuring import Cost, cost, progress, unwarned
from .sections import Section, Size, added, duration, headline, main, times

CASES: Mapping[Size, tuple[tuple[float, int], ...]] = {
    'tiny': ((0.05, 4),),
    'quick': ((1, 16), (1, 48), (5, 48)),
    'full': ((1, 16), (1, 48), (20, 48)),
}
"""(how many times the 238 questions, n)"""

REPEATS = 5


class Row(NamedTuple):
    """One data set."""

    questions: int
    n: int
    ours: Cost
    theirs: Cost
    floor: Cost


def measure(size: Size) -> Section:
    """Every case of this size."""
    with unwarned():
        from opencompass.datasets.livemathbench import LiveMathBenchDataset as Theirs

        from gpassk_opencompass.plugin import LiveMathBenchDataset as Ours
    rows = []
    for scale, n in CASES[size]:
        with TemporaryDirectory() as folder:
            rows.append(_row(Path(folder), scale, n, Ours, Theirs))
    return _section(rows)


def _row(root: Path, scale: float, n: int, ours: Any, theirs: Any) -> Row:
    questions = write_questions(root, scale)
    progress(f'data set: {questions:,} × {n}')
    arguments = dataset_arguments(root, n)
    if len({cost(partial(_digest, kind, arguments)).value for kind in (ours, theirs)}) > 1:
        raise RuntimeError(f'{questions} × {n}: the prompts or answers differ')
    return Row(
        questions,
        n,
        cost(partial(_build, ours, arguments), warm=1, repeats=REPEATS),
        cost(partial(_build, theirs, arguments), warm=1, repeats=REPEATS),
        cost(partial(_parse, root), warm=1, repeats=REPEATS),
    )


def _build(kind: Callable[..., Any], arguments: Mapping[str, Any]) -> int:
    return len(kind(**arguments).test)


def _digest(kind: Callable[..., Any], arguments: Mapping[str, Any]) -> str:
    rows = kind(**arguments).test
    content = json.dumps([list(rows[name]) for name in ('prompt', 'answer')])
    return sha256(content.encode()).hexdigest()


def _parse(root: Path) -> int:
    lines = [line for file in (root / VERSION).iterdir() for line in file.read_text().splitlines()]
    return len([json.loads(line) for line in lines])


def _section(rows: list[Row]) -> Section:
    main_row = rows[min(1, len(rows) - 1)]
    return Section(
        'Data set',
        "Files of questions become a data set of n × Q rows, beside OpenCompass's own "
        'LiveMathBenchDataset on the same files. Floor: parsing the lines.',
        [
            'questions × n',
            'ours',
            'a question',
            'OpenCompass',
            'OpenCompass / ours',
            'ours / floor',
            'memory, ours',
            'OpenCompass',
        ],
        [
            [
                f'{row.questions:,} × {row.n}',
                duration(row.ours.cpu),
                duration(row.ours.cpu / row.questions),
                duration(row.theirs.cpu),
                times(row.theirs.cpu / row.ours.cpu),
                times(row.ours.cpu / row.floor.cpu),
                added(row.ours),
                added(row.theirs),
            ]
            for row in rows
        ],
        [
            f'Median of {REPEATS} calls. Prompts and answers of all rows are the same. Most of the memory is '
            'the imports of OpenCompass.'
        ],
        [
            headline(
                f'Data set, {main_row.questions:,} × {main_row.n}',
                'OpenCompass',
                main_row.ours,
                main_row.theirs,
            )
        ],
    )


if __name__ == '__main__':
    main(measure, __doc__)
