"""What the old evaluation said: scores, verdicts, and the replies of its judge."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import read_json
from ..results.read import read
from .old_runs import OldRun

_AVERAGE = re.compile(r' \(\d+ runs average\)$')


@dataclass(frozen=True)
class OldScores:
    """The old result; empty where there is none."""

    metrics: Mapping[str, float] = field(default_factory=dict)
    """Metric → percent, of all questions; with the published names."""
    groups: Mapping[str, float] = field(default_factory=dict)
    """The same of parts, as `<part>/<metric>`."""
    verdicts: tuple[tuple[int, ...], ...] | None = None
    """1 or 0 for each of the n samples of each question; None where the file does not hold them."""
    problem: str = ''
    """Why there are none."""


@dataclass(frozen=True)
class OldReplies:
    """What the built-in evaluator kept of its judge: an entry a place among the questions."""

    prompts: Mapping[int, str]
    replies: Mapping[int, str]
    labels: Mapping[int, int]


def old_scores(run: OldRun, n: int, questions: int) -> OldScores:
    """The result of the old evaluation.

    Args:
        n, questions: how many the run has; verdicts of another number are not taken for theirs.
    """
    record = _read(run.result)
    if record is None:
        there = 'cannot be read' if run.result.exists() else 'was never written: the evaluation did not end'
        return OldScores(problem=f'results/{run.model}/{run.dataset}.json {there}')
    if 'gpassk' in record:
        return _of_this_package(run.result)
    return OldScores(_numbers(record, ''), _numbers(record, '/'), _verdicts(record, n, questions))


def _of_this_package(path: Path) -> OldScores:
    try:
        record = read(path).record
    except InputError as error:
        return OldScores(problem=str(error))
    return OldScores(_numbers(record, ''), problem='the old result is of this package already')


def old_replies(run: OldRun) -> OldReplies:
    """The judge's replies that the built-in evaluator kept; none without an LLM judge."""
    entries = {
        int(place): entry
        for place, entry in (_read(run.replies) or {}).items()
        if len(place) < 10 and place.isdecimal() and isinstance(entry, dict)
    }
    return OldReplies(
        {place: str(entry.get('prompt', '')) for place, entry in entries.items()},
        {place: str(entry.get('response') or '') for place, entry in entries.items()},
        {place: int(entry.get('postprocess_response') == 1) for place, entry in entries.items()},
    )


def _read(path: Path) -> dict[str, Any] | None:
    try:
        record = read_json(path)
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def _numbers(record: Mapping[str, Any], mark: str) -> dict[str, float]:
    """The numbers of a result whose names hold `mark`; with '', those of all questions."""
    return {
        _AVERAGE.sub('', name): float(value)
        for name, value in record.items()
        if isinstance(value, (int, float)) and -1e9 < value < 1e9 and ('/' in name) == bool(mark)
    }


def _verdicts(record: Mapping[str, Any], n: int, questions: int) -> tuple[tuple[int, ...], ...] | None:
    details = record.get('details')
    entries = details if isinstance(details, list) else []
    found = [_labels(entry, n) for entry in entries]
    known = tuple(labels for labels in found if labels is not None)
    return known if len(known) == len(found) == questions else None


def _labels(entry: object, n: int) -> tuple[int, ...] | None:
    labels = entry.get('correct') if isinstance(entry, dict) else None
    if not isinstance(labels, list) or len(labels) != n or any(label not in (0, 1) for label in labels):
        return None
    return tuple(map(int, labels))
