"""What a run is at."""

from __future__ import annotations

import re
from pathlib import Path

from .work_dir import changed_at


def step_of(work_dir: Path, started: float) -> str:
    """As far as the logs of OpenCompass's tasks tell, in steps of 5 %.

    Args:
        work_dir: of the run.
        started: when its command was started, in seconds since the epoch; older logs do not count.
    """
    try:
        logs = [log for log in work_dir.glob('*/logs/*/*/*.out') if changed_at(log) >= started]
    except OSError:  # an old time directory that is removed meanwhile, a network disk: the run goes on
        logs = []
    if any('eval' in log.parts for log in logs):
        return 'judging the answers'
    percents = [percent for log in logs if (percent := _percent(log)) is not None]
    if not percents:
        return 'starting OpenCompass'
    return f'sampling, {int(sum(percents) / len(logs)) // 5 * 5} %'


def _percent(log: Path) -> int | None:
    try:
        with log.open('rb') as file:
            file.seek(max(0, log.stat().st_size - 4000))
            found = re.findall(rb'(\d+)%\|', file.read())
    except OSError:
        return None
    return int(found[-1]) if found else None
