"""Twenty-four hours with a judge, by a clock that need not wait."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from judge_server import Act, Asked, Fail, JudgeServer, Reset, SkippingClock, fair
from judging import judge_with
from judging_run import pairs_of

from gpassk_opencompass import IncompleteError, Pair, Verdict
from gpassk_opencompass.judges.llm import LLMJudge
from gpassk_opencompass.judges.stored import StoredVerdicts

pytestmark = pytest.mark.e2e

HOUR = 3600.0
DAY = 24 * HOUR
SERVERS = 2


class Day:
    """The clock of the day, and what the servers do at each time of it."""

    def __init__(self, chance: random.Random) -> None:
        self._chance, self.clock = chance, DayClock()
        self.outages = [
            (hour * HOUR, (hour + 0.25) * HOUR) for hour in sorted(chance.sample(range(1, 22), 3))
        ]
        """All servers gone for a quarter of an hour."""
        self.gone = [chance.uniform(0, DAY / 2) for _ in range(SERVERS)]
        """Each server gone for four hours from then on."""

    def is_there(self, server: int) -> bool:
        now = self.clock.now()
        return not (
            any(begin <= now < end for begin, end in self.outages) or 0 <= now - self.gone[server] < 4 * HOUR
        )

    def server(self, number: int) -> JudgeServer:
        return JudgeServer(self.behaviour(number), fit=lambda: self.is_there(number))

    def behaviour(self, server: int) -> Callable[[Asked], Act]:
        def behave(asked: Asked) -> Act:
            luck = self._chance.random()
            if not self.is_there(server):
                return Reset()
            if luck < 0.05:
                return Fail(429, headers={'Retry-After': '60'})
            if luck < 0.1:
                return Fail(500)
            return 'let me think' if luck < 0.12 else fair(asked.prompt)

        return behave


class DayClock(SkippingClock):
    """That goes on where the last run has stopped."""

    def skip(self, seconds: float) -> None:
        """Let time pass while nobody judges."""
        self._now += seconds
        self._sleepers.clear()


def test_a_day_with_outages_ends_with_every_verdict(
    tmp_path: Path, times: int, chance: random.Random, tried: Counter[str]
) -> None:
    """Slow servers that come and go; the command is typed again a quarter of an hour after it gave up."""
    pairs = pairs_of(0, 60 * times)
    rate = len(pairs) / SERVERS / (18 * HOUR)
    day = Day(chance)
    verdicts: list[Verdict] = [Verdict.UNJUDGED]
    requests: Counter[str] = Counter()
    with day.server(0) as one, day.server(1) as two:
        while Verdict.UNJUDGED in verdicts:
            judge = judge_with(
                tmp_path, one, two, clock=day.clock, rate=rate, total_time=DAY, patience=HOUR / 6
            )
            tried['commands'] += 1
            verdicts = _judged(judge, pairs)
            requests.update(judge.statistics())
            judge.close()
            day.clock.skip(HOUR / 4)
        tried['requests'] += len(one.asked) + len(two.asked)
    tried['hours'] += round(day.clock.now() / HOUR)
    assert day.clock.now() >= DAY
    assert [verdict is Verdict.CORRECT for verdict in verdicts] == [
        int(pair.answer) % 2 == 0 for pair in pairs
    ]
    stored = StoredVerdicts([tmp_path])
    assert (len(list(stored)), stored.repeated, stored.damaged) == (len(pairs), 0, 0)
    replies = requests['replies'] - requests['repeated'] - requests['unjudged'] - requests['canaries']
    assert replies <= len(pairs)


def _judged(judge: LLMJudge, pairs: list[Pair]) -> list[Verdict]:
    """Unjudged if it gave up."""
    with suppress(IncompleteError):
        return [judgement.verdict for judgement in judge.judge(pairs)]
    return [Verdict.UNJUDGED]
