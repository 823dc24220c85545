"""Runs of an LLM judge that are killed, and runs at once on one store of verdicts."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from hosts import TESTS
from judge_server import JudgeServer, Say, fair
from judging_run import CONCURRENCY, pairs_of

from gpassk_opencompass import Pair, Verdict
from gpassk_opencompass.judges.verdicts import VerdictStore

pytestmark = pytest.mark.e2e

KILLS = int(os.environ.get('GPASSK_FAULTS', '4'))


def start_run(server: JudgeServer, store: Path, first: int, count: int) -> subprocess.Popen[str]:
    script = TESTS / 'judging_run.py'
    command = [sys.executable, str(script), server.url, str(store), str(first), str(count)]
    paths = [str(TESTS.parent), os.environ.get('PYTHONPATH', '')]
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(filter(None, paths))}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def kill_after(run: subprocess.Popen[str], server: JudgeServer, requests: int) -> None:
    """kill -9 when the server has got so many requests, or when the run ends before."""
    while len(server.asked) < requests and run.poll() is None:
        time.sleep(0.001)
    run.kill()
    run.communicate()


def test_killed_runs_resume_where_they_were(tmp_path: Path) -> None:
    """kill -9 at random moments: nothing that had been received is asked again, and the end is the same."""
    chance = random.Random(11)
    pairs = pairs_of(0, 25 * KILLS)
    with JudgeServer(lambda asked: Say(fair(asked.prompt), delay=0.02 * chance.random())) as server:
        for _ in range(KILLS):
            run = start_run(server, tmp_path, 0, len(pairs))
            kill_after(run, server, len(server.asked) + chance.randrange(1, 25))
            # All that it asked but what was under way when it died is known to the next one.
            assert len(VerdictStore(tmp_path)) >= len({asked.prompt for asked in server.asked}) - CONCURRENCY
        last = start_run(server, tmp_path, 0, len(pairs))
        printed, _ = last.communicate(timeout=60)
    assert [Verdict(verdict) for verdict in json.loads(printed)] == truth(pairs)
    times = Counter(asked.prompt for asked in server.asked)
    assert len(times) == len(pairs)
    assert times.total() <= len(pairs) + KILLS * CONCURRENCY
    store = VerdictStore(tmp_path)
    assert len(store) == len(pairs)
    assert store.damaged <= KILLS


def truth(pairs: list[Pair]) -> list[Verdict]:
    """Whether each number is even."""
    return [Verdict.CORRECT if int(pair.answer) % 2 == 0 else Verdict.INCORRECT for pair in pairs]
