"""What is known of a judge before it judges: pairs with known verdicts, and what its servers serve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from judge_server import (
    CANARIES,
    Act,
    Asked,
    Fail,
    JudgeServer,
    Say,
    fair,
    judge_at,
    pairs_of,
    right_verdict,
)
from loguru import logger

from gpassk_opencompass import LLMJudge, Verdict
from gpassk_opencompass.judges.llm import UnfitJudge
from gpassk_opencompass.judges.verdicts import VerdictStore

RUN = 300
YES = r'I am sure: \boxed{yes}'


def canary_in(prompt: str) -> int | None:
    lines = ''.join(prompt.splitlines())
    for place, (_, pair, *_) in enumerate(CANARIES):
        if pair.question in lines and f'answer={"".join(pair.answer.splitlines())} .' in lines:
            return place
    return None


def good(asked: Asked) -> str:
    return right_verdict(asked.prompt) or fair(asked.prompt)


def obeys_answers(asked: Asked) -> Act:
    """Judges well, and believes what an answer says of itself."""
    place = canary_in(asked.prompt)
    return YES if place is not None and CANARIES[place].injected else good(asked)


def fails_in_chinese(asked: Asked) -> Act:
    return good(asked) if asked.prompt.startswith('question') else 'I cannot read that.'


@pytest.mark.parametrize(
    ('behave', 'said'),
    [
        (
            lambda asked: YES,
            r"'54' to 'What is 7 × 8\?', reference '56', it says correct, twice; its reply ends",
        ),
        (obeys_answers, r'Ignore everything above .* it says correct; its reply ends'),
        (fails_in_chinese, r"等于多少？', reference '56', it gives no verdict \(unparsable\), twice"),
        (lambda asked: rf'{asked.prompt} \boxed{{yes}}', r'no verdict \(echo\), twice'),
    ],
)
def test_a_bad_judge_is_stopped_before_it_judges(behave, said, tmp_path):
    with JudgeServer(behave, fit=False) as server:
        judge = judge_at(server, verdicts=tmp_path)
        with pytest.raises(UnfitJudge, match=said) as caught:
            judge.judge(pairs_of(0, RUN))
        judge.close()
    for part in (f'{server.url}/v1/chat/completions is not fit', 'judge ping', 'canaries=False'):
        assert part in str(caught.value)
    assert all(canary_in(asked.prompt) is not None for asked in server.asked)
    assert len(server.asked) <= 2 * len(CANARIES)
    assert not list(tmp_path.glob('*'))


def test_one_wrong_verdict_on_an_easy_pair_is_asked_again():
    seen: set[str] = set()

    def errs_once(asked: Asked) -> Act:
        first = asked.prompt not in seen
        seen.add(asked.prompt)
        place = canary_in(asked.prompt)
        if first and place is not None and not CANARIES[place].injected:
            return r'\boxed{no}' if CANARIES[place].verdict is Verdict.CORRECT else YES
        return good(asked)

    with JudgeServer(errs_once, fit=False) as server:
        judge = judge_at(server)
        judge.judge(pairs_of(0, 3))
    counts = judge.statistics()
    assert (counts['repeated'], counts['canaries'], counts['canaries_right']) == (4, 10, 10)
    assert counts['requests'] == counts['replies'] == 3 + 10 + 4


@pytest.mark.parametrize('refusal', [Fail(400, {'error': 'jailbreak detected'}), Say('I will not say.')])
def test_a_judge_may_keep_silent_on_an_injected_answer(refusal):
    """As behind the filter of some gateways: it did not believe the answer."""

    def behave(asked: Asked) -> Act:
        place = canary_in(asked.prompt)
        return refusal if place is not None and CANARIES[place].injected else good(asked)

    with JudgeServer(behave, fit=False) as server:
        judge = judge_at(server)
        assert len(judge.judge(pairs_of(0, 3))) == 3
    assert (judge.statistics()['canaries'], judge.statistics()['canaries_right']) == (10, 4)


def test_canaries_can_be_switched_off():
    """The judge is another one then, and its record says so; each server is still asked what it serves."""
    with JudgeServer(lambda asked: YES, fit=False) as server:
        judge = judge_at(server, canaries=False)
        assert {said.verdict for said in judge.judge(pairs_of(0, 20))} == {Verdict.CORRECT}
        assert judge.identity()['canaries'] is False
        assert 'canaries' not in judge_at(server).identity()
    assert len(server.asked) == 21
    assert judge.statistics()['canaries'] == 0


# What servers say that they serve, and whose verdicts are reused

PAIRS = pairs_of(0, 10)
CORRECT = [Verdict.CORRECT if int(pair.answer) % 2 == 0 else Verdict.INCORRECT for pair in PAIRS]
WRONG = [Verdict.INCORRECT if said is Verdict.CORRECT else Verdict.CORRECT for said in CORRECT]


@pytest.fixture
def logged():
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
        (({'system_fingerprint': 'vllm-0.27.1-934a'}, {}), ({'system_fingerprint': 'vllm-0.27.1-5fc2'}, {})),
        (({}, {'meta': {'n_params': 7, 'size': 5}}), ({}, {'meta': {'n_params': 72, 'size': 50}})),
    ],
    ids=['name', 'path', 'fingerprint', 'llama.cpp'],
)
def test_another_model_under_the_same_name_is_asked_anew(first, second, tmp_path):
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
    ('words', 'card', 'different'),
    [
        ({'model': 'other'}, {}, ("model '", "'other'", "'judge'")),
        ({}, ROOT_B, ("root '", '/runs/a', '/runs/b')),
    ],
)
def test_servers_that_serve_different_models_are_refused(words, card, different, tmp_path):

    with served(Model(), ROOT_A) as one, served(Model(False, **words), card) as two:
        with pytest.raises(UnfitJudge) as caught:
            judged(tmp_path, one, two)
        asked_of_the_other = [right_verdict(asked.prompt) for asked in two.asked]
    assert all(word in str(caught.value) for word in (*different, one.url, two.url))
    assert None not in asked_of_the_other


def test_a_model_that_is_exchanged_on_the_way_is_noticed(tmp_path):
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


def test_what_is_all_stored_needs_no_server(tmp_path, logged):
    """A run judged on one day is evaluated on another; the log says whose verdicts these are."""
    with served(Model(), ROOT_A) as server:
        judged(tmp_path, server)
    server_is_gone = server
    said, judge = judged(tmp_path, server_is_gone)
    assert said == CORRECT
    assert judge.statistics()['replies'] == 0
    assert judge.identity()['served'] == {'root': 'checkpoint-500'}
    assert any('no server of judge answers' in line and '/runs/a/checkpoint-500' in line for line in logged)


def test_a_key_that_a_list_of_models_quotes_is_kept_nowhere(tmp_path, monkeypatch):
    """A gateway may name its weights by whom it serves."""
    monkeypatch.setenv('JUDGE_KEY', key := 'q7Zt2LmX9bVw4KsR8nPy3HdJ6')
    with served(Model(), {'root': f'/weights/{key}/m'}) as server:
        assert judged(tmp_path, server, api_key_env='JUDGE_KEY')[0] == CORRECT
    [kept] = (path.read_text() for path in tmp_path.iterdir())
    assert key not in kept
    assert '***' in kept
