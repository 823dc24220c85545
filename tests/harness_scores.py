"""What tests of the harnesses' logs share: the scores of the command, runs, and damages."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from exact import g_pass

from gpassk_opencompass import record
from gpassk_opencompass.cli import main
from gpassk_opencompass.formats import read_samples
from gpassk_opencompass.record import Result
from gpassk_opencompass.samples import Run


def check_scores(result: Result, counts: Sequence[int], n: int) -> None:
    """The record holds these counts, whatever the order of its questions, and their exact G-Pass@k."""
    assert sorted(result.table.c.tolist()) == sorted(counts)
    assert set(result.table.n.tolist()) == {n}
    scores = result.scores()
    for k in result.ks:
        for threshold in (0.5, 0.75, 1.0):
            expected = g_pass(counts, n, k, threshold)
            assert abs(scores[f'G-Pass@{k}_{threshold}'] - expected) < 1e-9


def scored(out: Path, *arguments: str | Path) -> Result:
    """The record of `gpassk score … -o OUT`."""
    assert main(['score', *map(str, arguments), '-o', str(out)]) == 0
    return record.read(out)


def runs_of(*paths: Path) -> list[Run]:
    """The runs in files and folders."""
    return read_samples(paths)


def verdicts_of(run: Run) -> dict[str, str]:
    """uid → verdicts of a run."""
    assert run.samples is not None
    told, symbols = run.samples['verdict'], {'correct': '1', 'incorrect': '0', 'unjudged': '?'}
    return {
        uid: ''.join(symbols[told[row]] for row in rows) for uid, rows in run.samples.by_question().items()
    }


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
