"""Old work directories, damaged or made up: a clean error, or every result whole; the old files stay."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest
from fuzzing import fuzz, gpassk
from old_runs import KINDS, WORK_DIR, Files, old_runs, put, whole_run
from old_work_dir import EXACT, contents

from gpassk_opencompass.answers import final_answer
from gpassk_opencompass.results.read import read

LONGEST = 20_000
"""Characters that the command may print about two runs of four questions."""


@pytest.fixture(scope='module', autouse=True)
def place(folder: Path) -> Iterator[Path]:
    """The working directory: what is written to a relative path is seen."""
    here = folder / 'here'
    here.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        yield here


@pytest.mark.parametrize('kind', range(len(KINDS)))
def test_what_is_damaged_is_whole_before(folder: Path, kind: int) -> None:
    """So that a refusal below is one of the damage."""
    root = folder / 'undamaged'
    put(root, whole_run(kind))
    judge = EXACT if all(row['origin_prompt'] for row in KINDS[kind].rows) else ['--judge', 'rule']
    for time in KINDS[kind].times:
        put(root, whole_run(kind))
        code, _ = scored(root, Path(WORK_DIR, time), judge)
        assert code == 0
        assert [counts_in(path) for path in written(root)] == [{'6': (4, 3), '7': (4, 2)}]


@fuzz(old_runs(), share=2)
def test_an_old_run_is_scored_whole_or_refused(folder: Path, files: Files) -> None:
    """The responses of each result are those of the files, and each is judged for itself."""
    root = folder / 'whole'
    put(root, files)
    scored(root, WORK_DIR, EXACT)
    for path in written(root):
        read(path)
        assert counts_in(path) == counts_in_predictions(path)


def scored(root: Path, place: str | Path, judge: Sequence[str]) -> tuple[int, str]:
    """What the command says, which changes nothing but what is in its output folder."""
    before = contents(root)
    code, said = gpassk('score', root / place, '-o', root / 'new', *judge)
    after = contents(root)
    assert {path: after[path] for path in after if not path.startswith('new/')} == before
    assert not [*Path().iterdir()]
    assert len(said) < LONGEST
    return code, said


def written(root: Path) -> list[Path]:
    """The new results."""
    return [path for path in (root / 'new').rglob('*') if path.suffix == '.json' and path.is_file()]


Counts = dict[str, tuple[int, int]]
"""Reference answer → how many responses there are to its questions, and how many are right."""


def counts_in(result: Path) -> Counts:
    """By the record."""
    record = json.loads(result.read_bytes())
    counts, n = record['gpassk']['counts']['c'], record['gpassk']['n']
    return counted(
        (reference, right)
        for reference, c in zip(record['details']['reference'], counts, strict=True)
        for right in [True] * c + [False] * (n - c)
    )


def counts_in_predictions(result: Path) -> Counts:
    """By the prediction files that the sample file names."""
    samples = read(result).samples
    parts = {result.parent / file for file in (samples and samples.column('file')) or ()}
    rows = [row for part in parts for row in json.loads(part.read_bytes()).values()]
    return counted(
        (row['gold'], final_answer(text).text == row['gold'])
        for row in rows
        for text in (row['prediction'] if isinstance(row['prediction'], list) else [row['prediction']])
    )


def counted(judged: Iterable[tuple[str, bool]]) -> Counts:
    found: Counts = {}
    for reference, right in judged:
        responses, correct = found.get(reference, (0, 0))
        found[reference] = responses + 1, correct + right
    return found
