"""Old work directories, damaged or made up: a clean error, or every result whole; the old files stay."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from fuzzing import fuzz, gpassk
from hypothesis import strategies as st
from old_runs import DATA, KINDS, WORK_DIR, Files, old_runs, put, whole_run
from old_work_dir import EXACT, contents

from gpassk_opencompass.answers import final_answer
from gpassk_opencompass.results.read import read
from gpassk_opencompass.sources.opencompass import find_runs

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
    code, _ = rejudged(root, '--questions', root / DATA)
    times = KINDS[kind].times
    assert (code, len(written(root))) == (0, len(times))
    assert [counts_in(path) for path in written(root)] == [{'6': (4, 3), '7': (4, 2)}] * len(times)


@fuzz(old_runs(), share=2)
def test_an_old_run_is_rejudged_whole_or_refused(folder: Path, files: Files) -> None:
    """The responses of each result are those of the files, and each is judged for itself."""
    root = folder / 'whole'
    put(root, files)
    code, _ = rejudged(root)
    results = written(root)
    for path in results:
        read(path)
        assert counts_in(path) == counts_in_predictions(path)
    if code == 0:
        assert len(results) == len(find_runs(root / WORK_DIR).runs)


@fuzz(old_runs())
def test_an_old_run_is_named_by_data_or_refused(folder: Path, files: Files) -> None:
    """With the questions of a folder, which may be damaged, too."""
    root = folder / 'named'
    put(root, files)
    rejudged(root, '--questions', root / DATA)
    for path in written(root):
        read(path)


@fuzz(old_runs(), st.booleans())
def test_a_check_of_an_old_run_writes_nothing(folder: Path, files: Files, data: bool) -> None:
    """Whatever it says."""
    root = folder / 'checked'
    put(root, files)
    rejudged(root, '--check', *(['--questions', root / DATA] if data else []))
    assert not (root / 'new').exists()


def rejudged(root: Path, *options: str | Path) -> tuple[int, str]:
    """What the command says, which changes nothing but what is in its output folder."""
    before = contents(root)
    code, said = gpassk('rejudge', root / WORK_DIR, '-o', root / 'new', *EXACT, *options)
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
    """By the prediction files that the record names."""
    parts = json.loads(result.read_bytes())['gpassk']['rejudged']['predictions']
    rows = [row for part in parts for row in json.loads(Path(part).read_bytes()).values()]
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
