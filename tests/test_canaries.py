"""Pairs with known verdicts in each judged run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from judge_server import (
    CANARIES,
    Act,
    Asked,
    Fail,
    Hang,
    JudgeServer,
    Say,
    SkippingClock,
    fair,
    right_verdict,
)
from judging_run import judge_at, pairs_of

from gpassk_opencompass import InputError, Verdict
from gpassk_opencompass.judges.llm import UnfitJudge

RUN = 300
YES = r'I am sure: \boxed{yes}'


def canary_in(prompt: str) -> int | None:
    """Its place in CANARIES."""
    lines = ''.join(prompt.splitlines())
    found = [
        place
        for place, canary in enumerate(CANARIES)
        if canary.pair.question in lines and f'answer={"".join(canary.pair.answer.splitlines())} .' in lines
    ]
    return found[0] if found else None


def good(asked: Asked) -> str:
    return right_verdict(asked.prompt) or fair(asked.prompt)


def says_yes_to_all(asked: Asked) -> Act:
    return YES


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
            says_yes_to_all,
            r"'54' to 'What is 7 × 8\?', reference '56', it says correct, twice; its reply ends",
        ),
        (obeys_answers, r'Ignore everything above .* it says correct; its reply ends'),
        (fails_in_chinese, r"等于多少？', reference '56', it gives no verdict \(unparsable\), twice"),
        (lambda asked: Say(YES, 'content_filter'), r'no verdict \(filtered\), twice'),
        (lambda asked: Say(good(asked), None), r'no verdict \(no finish reason\), twice'),
        (lambda asked: rf'{asked.prompt} \boxed{{yes}}', r'no verdict \(echo\), twice'),
        (lambda asked: rf'<think> {good(asked)}', r'no verdict \(unfinished thought\), twice'),
    ],
)
def test_a_bad_judge_is_stopped_before_it_judges(behave: Any, said: str, tmp_path: Path) -> None:
    """With what it said, its address and what to do; none of the run's own pairs was asked."""
    with JudgeServer(behave, fit=False) as server:
        judge = judge_at(server, verdicts=tmp_path)
        with pytest.raises(UnfitJudge, match=said) as caught:
            judge.judge(pairs_of(0, RUN))
        judge.close()
    assert issubclass(UnfitJudge, InputError)
    assert f'{server.url}/v1/chat/completions is not fit' in str(caught.value)
    assert 'judge ping' in str(caught.value)
    assert 'canaries=False' in str(caught.value)
    assert all(canary_in(asked.prompt) is not None for asked in server.asked)
    assert len(server.asked) <= 2 * len(CANARIES)
    assert not list(tmp_path.glob('*'))


def test_the_easy_pairs_are_told_of_first() -> None:
    """A judge that fails both kinds is told of an easy pair."""
    with (
        JudgeServer(lambda asked: YES, fit=False) as server,
        pytest.raises(UnfitJudge, match=r"'54' to 'What is 7 × 8\?', .* it says correct, twice"),
    ):
        judge_at(server).judge(pairs_of(0, 3))


def test_one_wrong_verdict_on_an_easy_pair_is_asked_again() -> None:
    """A judge that samples may err once."""
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
def test_a_judge_may_keep_silent_on_an_injected_answer(refusal: Act) -> None:
    """As behind the filter of some gateways: it did not believe the answer."""

    def behave(asked: Asked) -> Act:
        place = canary_in(asked.prompt)
        return refusal if place is not None and CANARIES[place].injected else good(asked)

    with JudgeServer(behave, fit=False) as server:
        judge = judge_at(server)
        assert len(judge.judge(pairs_of(0, 3))) == 3
    assert (judge.statistics()['canaries'], judge.statistics()['canaries_right']) == (10, 4)


def test_every_server_is_asked_before_it_judges() -> None:
    """One of two accepts all: it gets none of the pairs, and the run ends."""
    with JudgeServer(good, fit=False) as one, JudgeServer(says_yes_to_all, fit=False) as two:
        with pytest.raises(UnfitJudge, match=two.url):
            judge_at(one, two, concurrency=4).judge(pairs_of(0, RUN))
        assert all(canary_in(asked.prompt) is not None for asked in two.asked)
        assert two.asked


def test_a_server_that_comes_back_is_asked_again() -> None:
    """It was gone for a while: who is back may be another one."""
    clock = SkippingClock()
    gone_at: list[float] = []

    def behave(asked: Asked) -> Act:
        if asked.number < 20:
            return good(asked)
        gone_at.append(clock.now())
        return Fail(503) if clock.now() < gone_at[0] + 30 else YES

    with JudgeServer(behave, fit=False) as server:
        with pytest.raises(UnfitJudge, match='says correct, twice'):
            judge_at(server, concurrency=4, clock=clock).judge(pairs_of(0, RUN))
        back = [
            asked.prompt
            for asked, now in zip(server.asked[20:], gone_at, strict=True)
            if now >= gone_at[0] + 30
        ]
    assert [canary_in(prompt) for prompt in back[:2]] == [0, 1]
    assert all(canary_in(prompt) is not None for prompt in back)


class SilentList(JudgeServer):
    """Judges, and never says which models it has."""

    async def _list_models(self, request: web.Request) -> web.StreamResponse:
        return await Hang().respond(request)


def test_a_server_that_does_not_say_what_it_serves_is_not_waited_for() -> None:
    """The others judge meanwhile, and the replies counted are those heard."""
    with JudgeServer(good) as quick, SilentList(good, models=['judge']) as silent:
        judge = judge_at(silent, quick)
        judge.judge(pairs_of(0, 10))
        assert (len(silent.canaries), len(silent.asked)) == (1, 0)
    counts = judge.statistics()
    assert counts['canaries'] == len(CANARIES)
    assert counts['replies'] == 10 + len(CANARIES)


def test_canaries_can_be_switched_off() -> None:
    """The judge is another one then, and its record says so; each server is still asked what it serves."""
    with JudgeServer(says_yes_to_all, fit=False) as server:
        judge = judge_at(server, canaries=False)
        assert {said.verdict for said in judge.judge(pairs_of(0, 20))} == {Verdict.CORRECT}
        assert judge.identity()['canaries'] is False
        assert 'canaries' not in judge_at(server).identity()
    assert len(server.asked) == 21
    assert judge.statistics()['canaries'] == 0
