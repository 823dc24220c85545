"""A rule judge that says when it starts and waits, so that a test can kill it at work."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from gpassk_opencompass import Judgement, Pair, RuleJudge


class SlowJudge(RuleJudge):
    """Leaves a file `judging` in the working directory, waits while there is a `gate`, and judges by rule."""

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        Path('judging').touch()
        while Path('gate').exists():
            time.sleep(0.05)
        judgements: list[Judgement] = super().judge(pairs)
        return judgements
