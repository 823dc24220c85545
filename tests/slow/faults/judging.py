"""A judge of the pairs of `judge_server.pairs_of`, with the verdicts in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from judge_server import PROMPTS, JudgeServer

from gpassk_opencompass.judges.llm import LLMJudge


def judge_with(store: Path | None, *servers: JudgeServer, **settings: Any) -> LLMJudge:
    """Four requests at once to each server, in short prompts."""
    settings = {'prompts': PROMPTS, 'concurrency': 4, 'progress': False, **settings}
    return LLMJudge('judge', [server.url for server in servers], verdicts=store, **settings)
