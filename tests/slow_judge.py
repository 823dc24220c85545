"""A rule judge that says when it starts and takes its time, so that a test can kill it at work."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from gpassk_opencompass import Judgement, Pair, RuleJudge


class SlowJudge(RuleJudge):
    """Leaves a file `judging` in the working directory, waits, and judges by rule."""

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        Path('judging').touch()
        time.sleep(3)
        judgements: list[Judgement] = super().judge(pairs)
        return judgements
