"""One old run, judged anew: its record, and the old scores beside the new ones."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from ..judges.protocol import Judge, Verdict
from ..metrics import DEFAULT_THRESHOLDS
from ..results.record import SYMBOLS
from ..scoring import Samples, Scored, score_samples
from .findings import findings, seed_warnings
from .old_runs import OldRun
from .old_scores import OldScores, old_scores
from .predictions import Replicas, read_replicas
from .questions import Questions, questions_in


@dataclass(frozen=True)
class Read:
    """An old run as it was read."""

    run: OldRun
    replicas: Replicas
    questions: Questions
    old: OldScores
    findings: list[str]
    data: str | None
    """Where the questions come from; None: from the prompts."""


@dataclass(frozen=True)
class Choices:
    """What may be chosen of a new judging, beside the judge.

    Args:
        ks: of G-Pass@k; empty: those of the old config.
        thresholds: τ.
        unjudged_tolerance: the largest share of samples that may stay unjudged.
    """

    ks: Sequence[int] = ()
    thresholds: Sequence[float] = DEFAULT_THRESHOLDS
    unjudged_tolerance: float = 0.01


class Change(NamedTuple):
    """One metric; percent, None where there was no such score."""

    metric: str
    old: float | None
    new: float


class Flips(NamedTuple):
    """Samples whose verdict is another one now."""

    now_right: int
    now_wrong: int


def read_run(run: OldRun, data: str | None = None) -> Read:
    """Read a run; nothing is judged.

    Args:
        data: a folder or hub name of LiveMathBench's questions; None: the questions in the prompts.

    Raises:
        IncompleteError: predictions are missing.
        InputError: a file is damaged, or the questions cannot be told.
    """
    replicas = read_replicas(run)
    questions = questions_in(run, replicas.questions, data)
    old = old_scores(run, replicas.n, len(replicas.questions))
    return Read(run, replicas, questions, old, findings(run, replicas, questions, old), data)


def rejudged(read: Read, judge: Judge, choices: Choices, folder: Path) -> Scored:
    """Return what `GPassKEvaluator` would have written of these responses.

    Args:
        folder: of the result, from which the sample file names the files of the responses.

    Beside the usual entries, `gpassk.rejudged` holds where the responses came from, the old scores, and what
    was found wrong with them. One seed for all samples is told in `gpassk.replicas.warnings`, too.

    Raises:
        InputError: k > n.
        IncompleteError: more samples than tolerated stayed unjudged.
    """
    run = read.run
    scored = score_samples(
        _samples(read, folder),
        judge,
        n=read.replicas.n,
        k=list(choices.ks) or run.ks,
        thresholds=choices.thresholds,
        unjudged_tolerance=choices.unjudged_tolerance,
    )
    block = scored.record['gpassk']
    block['replicas']['warnings'][:0] = seed_warnings(run, read.replicas.n)
    block['rejudged'] = {
        'predictions': [str(part) for part in run.parts],
        'created': datetime.now(timezone.utc).isoformat(timespec='microseconds'),
        'questions': read.data or 'prompts',
        'old': dict(read.old.metrics),
        'findings': read.findings,
    }
    return scored


def changes(read: Read, record: Mapping[str, Any]) -> list[Change]:
    """Each metric of all questions, before and after."""
    names = [name for name in record if '/' not in name and name not in {'details', 'gpassk'}]
    return [Change(name, read.old.metrics.get(name), record[name]) for name in names]


def flips(read: Read, record: Mapping[str, Any]) -> Flips | None:
    """How many verdicts are other ones now; None where the old ones are not known."""
    if read.old.verdicts is None:
        return None
    pairs = [
        (old, new)
        for before, after in zip(read.old.verdicts, record['details']['verdicts'], strict=True)
        for old, new in zip(before, after, strict=True)
    ]
    right, wrong = SYMBOLS[Verdict.CORRECT], SYMBOLS[Verdict.INCORRECT]
    return Flips(pairs.count((0, right)), pairs.count((1, wrong)))


def _samples(read: Read, folder: Path) -> Samples:
    """Return a row a response, question by question."""
    n = read.replicas.n
    rows = [question for question in read.questions.rows for _ in range(n)]
    return Samples(
        uid=[row.uid for row in rows],
        replica=list(range(n)) * len(read.questions.rows),
        question=[row.text for row in rows],
        reference=[row.reference for row in rows],
        response=[text for texts in read.replicas.responses for text in texts],
        split=[row.split for row in rows],
        language=[row.language for row in rows],
        problem=[row.problem for row in rows],
        generation=read.replicas.generations,
        file=[os.path.relpath(path, folder) for path, _ in read.replicas.places],
        row=[row for _, row in read.replicas.places],
    )
