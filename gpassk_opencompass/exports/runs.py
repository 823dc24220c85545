"""What a result tells of its run in the terms of other programs: samples, judge, moment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..files import mapping
from ..results.result import Result
from ..results.samples import WORDS, SampleColumns
from ..times import seconds_of

UNKNOWN = 'unknown'
"""In the place of a name that nothing tells."""


def samples_of(result: Result, folder: Path) -> SampleColumns | None:
    """Return what is known of each sample, question by question; None where only counts are known.

    Of verdicts without answers, which have no sample file, uid, replica and verdict are known.

    Args:
        folder: from which `file` is seen.
    """
    known = result.sample_columns(folder)
    if known is None and not result.verdicts:
        return None
    return {
        'replica': list(range(result.n)) * len(result.uids),
        'verdict': [WORDS[symbol] for symbols in result.verdicts for symbol in symbols],
        **(known or {}),
        'uid': [uid for uid in result.uids for _ in range(result.n)],
    }


def judge_name(judge: Mapping[str, Any]) -> str:
    """Return the name of a judge, and of its model where it has one.

    >>> judge_name({'name': 'llm', 'model': 'Qwen2.5-72B-Instruct'}), judge_name({})
    ('llm-Qwen2.5-72B-Instruct', '')
    """
    return '-'.join(str(judge[part]) for part in ('name', 'model') if judge.get(part))


def begun(result: Result) -> float | None:
    """Return when the run began or its record was made, in seconds since 1970; None where it is not told."""
    for part in ('provenance', 'run'):
        seconds = seconds_of(mapping(result.block.get(part)).get('created'))
        if seconds is not None:
            return seconds
    return None
