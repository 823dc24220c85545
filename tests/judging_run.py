"""Pairs whose verdicts are known, and a judge of them."""

from __future__ import annotations

from typing import Any

from judge_server import PROMPTS, JudgeServer, SkippingClock

from gpassk_opencompass import Pair
from gpassk_opencompass.judges.llm import LLMJudge


def pairs_of(first: int, count: int) -> list[Pair]:
    """Pairs whose right verdicts `judge_server.fair` knows."""
    return [Pair(f'Is {number} even?', 'yes', str(number)) for number in range(first, first + count)]


def judge_at(*servers: JudgeServer, **settings: Any) -> LLMJudge:
    """A judge that asks these servers, and waits for nothing."""
    settings = {'prompts': PROMPTS, 'progress': False, 'clock': SkippingClock(), **settings}
    return LLMJudge('judge', [server.url for server in servers], **settings)
