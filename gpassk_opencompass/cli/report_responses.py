"""The responses beside the page of a report: where they are read, and what is said of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..exports.replies import Replies
from ..exports.responses import ResponseFiles
from ..unseen import printable

if TYPE_CHECKING:
    from ..report.leaderboard import Board
    from ..report.page.shards import Shards
    from ..results.found import Read


def reader() -> Read:
    """Return what opens the responses of results; verdict stores are read once for all of them."""
    return partial(ResponseFiles, replies=Replies())


def write_responses(boards: Sequence[Board], folder: Path) -> Shards:
    """Write the responses of all runs for the page in a folder, and say of which they are lost."""
    from ..report.page.shards import RESPONSES, write_shards

    shards = write_shards(boards, folder, reader())
    for line in shards.remarks:
        print(f'responses: {printable(line)}', file=sys.stderr)
    if count := len(shards.folders):
        print(f'responses of {count} run{"" if count == 1 else "s"} are in {folder / RESPONSES}')
    return shards
