"""What tests of the harnesses' logs share: exact scores of known counts, and the scores of the command."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, comb
from pathlib import Path
from typing import Any

from gpassk_opencompass.cli import main
from gpassk_opencompass.errors import GPassKError
from gpassk_opencompass.results.read import read
from gpassk_opencompass.results.result import Result
from gpassk_opencompass.sources.finding import find_runs
from gpassk_opencompass.sources.source import Question, Reading, Run

THRESHOLDS = (Fraction(1, 2), Fraction(3, 4), Fraction(1))


def exact(counts: Sequence[int], n: int, k: int, threshold: Fraction) -> float:
    """G-Pass@k_τ in percent, in rational numbers: at least ⌈kτ⌉ of k drawn samples are correct."""
    least = max(ceil(k * threshold), 1)
    ways = [sum(comb(c, right) * comb(n - c, k - right) for right in range(least, k + 1)) for c in counts]
    return float(100 * Fraction(sum(ways), len(counts) * comb(n, k)))


def check_scores(result: Result, counts: Sequence[int], n: int) -> None:
    """The record holds these counts, whatever the order of its questions, and their exact G-Pass@k."""
    assert sorted(result.counts.tolist()) == sorted(counts)
    assert result.n == n
    for k in result.block['k']:
        for threshold in THRESHOLDS:
            expected = exact(counts, n, k, threshold)
            assert abs(result.record[f'G-Pass@{k}_{float(threshold)}'] - expected) < 1e-9


def scored(out: Path, *arguments: str | Path) -> Result:
    """The record of `gpassk score … -o OUT`."""
    assert main(['score', *map(str, arguments), '-o', str(out)]) == 0
    return read(out)


def runs_of(*paths: Path, texts: bool = True, source: str | None = None) -> list[Run]:
    """The runs in files and folders."""
    return [one.run for one in find_runs(paths, Reading(texts=texts), source).runs]


def verdicts_of(run: Run) -> dict[str, str]:
    """uid → verdicts of a run."""
    return {one.about.uid: getattr(one, 'verdicts', '') for one in run.questions}


def read_all(path: Path, source: str) -> list[list[Question]] | str:
    """All questions of all runs of a file or folder, or what the error says."""
    try:
        return [list(run.questions) for run in runs_of(path, source=source)]
    except GPassKError as error:
        return str(error)


def damaged(content: bytes, seed: int, times: int) -> Iterator[bytes]:
    """The content cut off, with bytes turned, and with a piece missing, at drawn places."""
    draw = random.Random(seed)
    for _ in range(times):
        at = draw.randrange(len(content))
        yield content[:at]
        yield content[:at] + bytes([draw.randrange(256)]) + content[at + 1 :]
        yield content[:at] + content[at + draw.randrange(1, 200) :]


def changed(value: Any, draw: random.Random) -> Any:
    """JSON with one of its values, drawn, replaced by one of another type."""
    odd: list[Any] = [None, True, -1, 2.5, float('nan'), 'text', [], {}, [None], {'0': 1}]
    inner: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not inner:
        return value
    key = draw.choice(inner)
    copy = dict(value) if isinstance(value, dict) else list(value)
    deeper = isinstance(copy[key], (dict, list)) and copy[key] and draw.random() < 0.8
    copy[key] = changed(copy[key], draw) if deeper else draw.choice(odd)
    return copy
