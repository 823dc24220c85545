"""A judge that says yes and no to the same question in turn."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from judge_server import Act, Asked, JudgeServer, Reset, Say
from judging import judge_with
from judging_run import pairs_of

from gpassk_opencompass import IncompleteError, Judgement
from gpassk_opencompass.judges.verdicts import VerdictStore

pytestmark = pytest.mark.e2e

PAIRS = pairs_of(0, 40)


class Flipping:
    """Says the other thing each time that it is asked the same."""

    def __init__(self, chance: random.Random, failing: float = 0.0) -> None:
        self._chance, self._failing = chance, failing
        self._asked: Counter[str] = Counter()

    def __call__(self, asked: Asked) -> Act:
        if self._chance.random() < self._failing:
            return Reset()
        self._asked[asked.prompt] += 1
        said = r'\boxed{yes}' if self._asked[asked.prompt] % 2 else r'\boxed{no}'
        return Say(said, delay=0.002 * self._chance.random())


def test_what_it_said_first_stays(tmp_path: Path, times: int, chance: random.Random) -> None:
    """However often the run breaks off and is begun again: one verdict an answer, the same in every rerun."""
    for number in range(times):
        store = tmp_path / f'store{number}'
        judgements: list[Judgement] = []
        with JudgeServer(Flipping(chance, failing=0.2)) as server:
            while not judgements:
                judge = judge_with(store, server, attempts=1, patience=0.1)
                with suppress(IncompleteError):
                    judgements = judge.judge(PAIRS)
                judge.close()
                if any(said.verdict.value == 'unjudged' for said in judgements):
                    judgements = []
        lines = list(VerdictStore(store).lines())
        assert {line.about['answer']: line.verdict for line in lines} == {
            pair.answer: said.verdict for pair, said in zip(PAIRS, judgements, strict=True)
        }
        assert len(lines) == len(PAIRS)
        with JudgeServer(Flipping(chance)) as server:
            judge = judge_with(store, server)
            assert judge.judge(PAIRS) == judgements
            judge.close()
            assert not server.asked
