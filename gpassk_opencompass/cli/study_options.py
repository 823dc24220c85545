"""What both studies are given: runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..unseen import printable

if TYPE_CHECKING:
    from ..results.result import Result


def results_of(runs: Sequence[Path]) -> list[Result]:
    """Return the results in files and below folders; what is left out is said.

    Raises:
        InputError: there is none.
    """
    from ..results.read import collect

    folders = [one for one in runs if one.is_dir()]
    found = collect(folders, [one for one in runs if not one.is_dir()], details=False)
    for line in (*found.passed_over, *found.older):
        print(f'left out: {printable(line)}', file=sys.stderr)
    if not found.results:
        raise InputError(f'{", ".join(map(str, runs))}: no result of G-Pass@k; see `gpassk check`')
    return found.results
