"""What servers say that they serve, and whose verdicts are reused."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from judge_server import Act, Asked, JudgeServer, Say, fair, right_verdict
from judging_run import judge_at, pairs_of
from loguru import logger

from gpassk_opencompass import Pair, Verdict
from gpassk_opencompass.judges.llm import LLMJudge, UnfitJudge
from gpassk_opencompass.judges.verdicts import VerdictStore

PAIRS = pairs_of(0, 10)
CORRECT = [Verdict.CORRECT if int(pair.answer) % 2 == 0 else Verdict.INCORRECT for pair in PAIRS]
WRONG = [Verdict.INCORRECT if said is Verdict.CORRECT else Verdict.CORRECT for said in CORRECT]


@pytest.fixture
def logged() -> Iterator[list[str]]:
    lines: list[str] = []
    sink = logger.add(lines.append, format='{message}')
    yield lines
    logger.remove(sink)


class Model:
    """A model behind a server: judges well or, but for canaries, always wrong, and says what it is."""

    def __init__(self, right: bool = True, **words: Any) -> None:
        self.right, self.words = right, words

    def __call__(self, asked: Asked) -> Act:
        text = right_verdict(asked.prompt)
        if text is None:
            text = fair(asked.prompt)
            if not self.right:
                text = r'\boxed{no}' if 'yes' in text else r'\boxed{yes}'
        return Say(text, more=self.words)


def served(model: Model, card: dict[str, Any] | None = None) -> JudgeServer:
    return JudgeServer(model, models=None if card is None else [{'id': 'judge', **card}], fit=False)


def judged(store: Path, *servers: JudgeServer, **settings: Any) -> tuple[list[Verdict], LLMJudge]:
    judge = judge_at(*servers, verdicts=store, **settings)
    try:
        return [said.verdict for said in judge.judge(PAIRS)], judge
    finally:
        judge.close()


ROOT_A, ROOT_B = {'root': '/runs/a/checkpoint-500'}, {'root': '/runs/b/checkpoint-500'}


@pytest.mark.parametrize(
    ('first', 'second'),
    [
        (({'model': 'judge-0601'}, {}), ({'model': 'judge-0901'}, {})),
        (({}, ROOT_A), ({}, ROOT_B)),
        (
            ({'system_fingerprint': 'vllm-0.27.1-934a3247'}, {}),
            ({'system_fingerprint': 'vllm-0.27.1-5fc21ed4'}, {}),
        ),
        (({}, {'meta': {'n_params': 7, 'size': 5}}), ({}, {'meta': {'n_params': 72, 'size': 50}})),
    ],
    ids=['name', 'path', 'fingerprint', 'llama.cpp'],
)
def test_another_model_under_the_same_name_is_asked_anew(first: Any, second: Any, tmp_path: Path) -> None:
    """And when the first one is back, its verdicts are there."""
    with served(Model(False, **first[0]), first[1]) as server:
        assert judged(tmp_path, server)[0] == WRONG
    with served(Model(True, **second[0]), second[1]) as server:
        said, judge = judged(tmp_path, server)
        assert said == CORRECT
        assert judge.statistics()['stored'] == 0
    with served(Model(False, **first[0]), first[1]) as server:
        said, judge = judged(tmp_path, server)
        assert said == WRONG
        assert (judge.statistics()['stored'], judge.statistics()['asked']) == (10, 0)
    assert len({line.key for line in VerdictStore(tmp_path).lines()}) == 20


@pytest.mark.parametrize(
    'words',
    [
        {'created': 1, 'id': 'x'},
        {'system_fingerprint': 'fp_44709d6fcb'},
        {'system_fingerprint': None},
    ],
)
def test_what_changes_without_another_model_changes_no_key(words: dict[str, Any], tmp_path: Path) -> None:
    """The time of the reply, `created` in the list of models, the fingerprints of hosted APIs."""
    with served(Model(), {'created': 1}) as server:
        assert judged(tmp_path, server)[0] == CORRECT
    with served(Model(False, **words), {'created': int(time.time()), 'permission': [{'id': 'p'}]}) as server:
        said, judge = judged(tmp_path, server)
    assert said == CORRECT
    assert judge.statistics()['asked'] == 0


@pytest.mark.parametrize(
    ('words', 'card', 'different'),
    [
        ({'model': 'other'}, {}, ("model '", "'other'", "'judge'")),
        ({}, ROOT_B, ("root '", '/runs/a', '/runs/b')),
    ],
)
def test_servers_that_serve_different_models_are_refused(
    words: dict[str, Any], card: dict[str, Any], different: tuple[str, ...], tmp_path: Path
) -> None:
    """With what each says; no verdict of two models is mixed."""

    with served(Model(), ROOT_A) as one, served(Model(False, **words), card) as two:
        with pytest.raises(UnfitJudge) as caught:
            judged(tmp_path, one, two)
        asked_of_the_other = [right_verdict(asked.prompt) for asked in two.asked]
    said = str(caught.value)
    assert all(word in said for word in different)
    assert one.url in said
    assert two.url in said
    assert None not in asked_of_the_other


def test_a_model_that_is_exchanged_on_the_way_is_noticed(tmp_path: Path) -> None:
    """By the name in its replies; the verdicts so far are kept for the first one."""
    before, after = Model(), Model(False, model='other')
    with (
        JudgeServer(lambda asked: (before if asked.number < 14 else after)(asked), fit=False) as server,
        pytest.raises(UnfitJudge, match="model 'other' instead of 'judge', which it said before"),
    ):
        judged(tmp_path, server, concurrency=1)
    kept = VerdictStore(tmp_path)
    assert 1 <= len(kept) <= 4
    with served(before) as server:
        assert judged(tmp_path, server)[0] == CORRECT


def test_what_is_all_stored_needs_no_server(tmp_path: Path, logged: list[str]) -> None:
    """A run judged on one day is evaluated on another; the log says whose verdicts these are."""
    with served(Model(), ROOT_A) as server:
        judged(tmp_path, server)
    server_is_gone = server
    said, judge = judged(tmp_path, server_is_gone)
    assert said == CORRECT
    assert judge.statistics()['replies'] == 0
    assert judge.identity()['served'] == {'root': 'checkpoint-500'}
    assert any('no server of judge answers' in line and '/runs/a/checkpoint-500' in line for line in logged)


def test_a_key_that_a_list_of_models_quotes_is_kept_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gateway may name its weights by whom it serves."""
    key = 'q7Zt2LmX9bVw4KsR8nPy3HdJ6'
    monkeypatch.setenv('JUDGE_KEY', key)
    cards = [{'id': 'judge', 'root': f'/weights/{key}/m'}]
    with JudgeServer(lambda asked: r'\boxed{yes}', cards) as server:
        judge = LLMJudge('judge', server.url, verdicts=tmp_path, api_key_env='JUDGE_KEY', progress=False)
        assert judge.judge([Pair('q', 'r', 'a')])[0].verdict is Verdict.CORRECT
        judge.close()
    kept = {path.suffix: path.read_text() for path in tmp_path.iterdir()}
    assert all(key not in text and '***' in text for text in kept.values())
