"""The formats in which every run has files of its own; tables take many runs, see `samples`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..registry import Registry
from ..results.result import Result

WriteRun = Callable[[Result, Path], list[Path]]
"""Writes the files of a run into a folder, which it makes, and returns them; raises InputError."""

RUN_FORMATS: Registry[WriteRun] = Registry(
    'gpassk_opencompass.exports',
    'format',
    {
        'eee': 'gpassk_opencompass.exports.eee:write_eee',
        'lm-eval': 'gpassk_opencompass.exports.lm_eval:write_lm_eval',
    },
    lambda _, found: callable(found),
    'a function of a result and a folder, which returns the files that it wrote',
)
"""Name of a format → what writes a run in it."""
