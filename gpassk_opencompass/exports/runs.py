"""What a result tells of its run in the terms of other programs: sampling settings, judge, moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..files import mapping
from ..naming.names import Settings
from ..results.result import Result
from ..results.samples import WORDS, SampleColumns
from ..times import seconds_of

UNKNOWN = 'unknown'
"""In the place of a name that nothing tells."""

_CALLED = {
    'max_out_len': ('max_tokens', 'max_gen_toks', 'max_new_tokens'),
    'random_seed': ('seed',),
}
"""Setting → what other programs call it."""

_WHOLE = frozenset({'top_k', 'random_seed', 'serial_links', 'max_out_len'})


def sampling_of(result: Result) -> dict[str, int | float]:
    """Return how the model sampled, by the names of `Settings`, as far as it is known."""
    if result.settings:
        return {name: value for name, value in asdict(result.settings).items() if value is not None}
    told = mapping(mapping(result.block.get('run')).get('settings'))
    found = {}
    for name in Settings.__dataclass_fields__:
        values = (told.get(called) for called in (name, *_CALLED.get(name, ())))
        if (value := next(filter(_is_number, values), None)) is not None and (
            name not in _WHOLE or float(value).is_integer()
        ):
            found[name] = int(value) if name in _WHOLE else float(value)
    return found


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


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15
