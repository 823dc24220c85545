"""The types of the questions of a report, from the questions themselves: results do not have them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from ..report.leaderboard import Board

_UID = re.compile(r'([^/]+)/(.+)_([^_/]+)/[0-9a-f]+')
"""Version, split and language of a question of LiveMathBench."""


def question_types(folder: Path, boards: Sequence[Board]) -> dict[str, str]:
    """Return the `question_type` of each question of LiveMathBench that the boards have, by its uid.

    Args:
        folder: holds `<version>/<SPLIT>_<language>.jsonl`, a copy of the data set.
        boards: those of other benchmarks are passed over.

    Raises:
        InputError: the questions cannot be read, or are others.
    """
    from ..questions.benchmarks import live_math_bench_rows

    asked = {
        uid: found
        for board in boards
        for uid in board.entries[0].result.uids
        if (found := _UID.fullmatch(uid))
    }
    files = dict.fromkeys(found.groups() for found in asked.values())
    rows = [
        row
        for version, split, language in files
        for row in live_math_bench_rows(str(folder), version, [split], [language])
    ]
    types = {row['uid']: row['question_type'] for row in rows if row['uid'] in asked}
    if missing := [uid for uid in asked if uid not in types]:
        raise InputError(
            f'--question-types {folder}: {len(missing)} of {len(asked)} questions of LiveMathBench are not '
            f'there with the text that was asked, such as {missing[0]}'
        )
    if not types:
        raise InputError('--question-types is for LiveMathBench, and no result here is of it')
    return types
