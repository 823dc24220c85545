"""A judging run in a process of its own, to be killed: python judging_run.py URL STORE FIRST COUNT

Prints the verdicts as JSON when it comes to its end.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from judge_server import PROMPTS, JudgeServer, SkippingClock

from gpassk_opencompass import Pair
from gpassk_opencompass.judges.llm import LLMJudge

CONCURRENCY = 8


def pairs_of(first: int, count: int) -> list[Pair]:
    """Pairs whose right verdicts `judge_server.fair` knows."""
    return [Pair(f'Is {number} even?', 'yes', str(number)) for number in range(first, first + count)]


def judge_at(*servers: JudgeServer, **settings: Any) -> LLMJudge:
    """A judge that asks these servers, and waits for nothing."""
    settings = {'prompts': PROMPTS, 'progress': False, 'clock': SkippingClock(), **settings}
    return LLMJudge('judge', [server.url for server in servers], **settings)


def main() -> None:
    url, store, first, count = sys.argv[1:]
    judge = LLMJudge('judge', url, prompts=PROMPTS, verdicts=store, concurrency=CONCURRENCY, progress=False)
    judgements = judge.judge(pairs_of(int(first), int(count)))
    judge.close()
    print(json.dumps([judgement.verdict.value for judgement in judgements]))


if __name__ == '__main__':
    main()
