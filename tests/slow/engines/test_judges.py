"""A real model behind real servers as a judge: held to a verdict by a grammar, killed and started again."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Any

import pytest
from llama_server import NAME, LlamaServer, llama_servers

from gpassk_opencompass.judges import CascadeJudge, Judgement, Pair, Verdict
from gpassk_opencompass.judges.llm import LLMJudge, ping
from gpassk_opencompass.judges.rule import RuleJudge

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('llama')]

SHORT = {
    'name': 'short',
    'english': 'Question: {question} Reference: {gold_answer} Answer: {answer}\n'
    'Are reference and answer the same? Say why, then end with \\boxed{{yes}} or \\boxed{{no}}.',
    'chinese': '{question} {gold_answer} {answer} \\boxed{{yes}} \\boxed{{no}}',
}
"""A model of this size reads a few hundred tokens a second."""

BARE = {'grammar': r'root ::= "\\boxed{" ("yes" | "no") "}"'}
"""No word but the verdict."""


@pytest.fixture(scope='module')
def servers(tmp_path_factory):
    """Two of the same model."""
    with llama_servers(tmp_path_factory.mktemp('llama'), 2) as two:
        yield two


def asking(servers: list[LlamaServer], extra_body: dict[str, Any] | None, max_tokens: int = 200) -> LLMJudge:
    """The judge that asks them; it is too small to pass any canary."""
    return LLMJudge(
        NAME,
        [server.address for server in servers],
        prompts=SHORT,
        extra_body=extra_body,
        max_tokens=max_tokens,
        canaries=False,
        progress=False,
        patience=300,
    )


REASONED = {'grammar': r'root ::= [^\\]{0,400} "\\boxed{" ("yes" | "no") "}"'}
"""As docs/judging.md has it, in the words of llama.cpp."""

FIELDS = {
    'reasoning': {'type': 'string', 'maxLength': 400},
    'verdict': {'type': 'string', 'enum': [r'\boxed{yes}', r'\boxed{no}']},
}
OBJECT = {'type': 'object', 'properties': FIELDS, 'required': list(FIELDS), 'additionalProperties': False}
SCHEMA = {
    'response_format': {
        'type': 'json_schema',
        'json_schema': {'name': 'verdict', 'strict': True, 'schema': OBJECT},
    }
}

PAIRS = [Pair(f'What is {n} + {n}?', str(2 * n), str(2 * n + n % 2)) for n in range(3, 11)]


def test_without_a_constraint_a_small_model_says_little_that_is_a_verdict(servers):
    """What the constraints below are for; what it says is unjudged with its reason, not incorrect."""
    said = asking(servers, None).judge(PAIRS)
    lost = [one.reason for one in said if one.verdict is Verdict.UNJUDGED]
    assert lost
    assert {*lost} <= {'unparsable', 'cut', 'echo'}


@pytest.mark.parametrize('constraint', [BARE, REASONED, SCHEMA], ids=['bare', 'reasoned', 'schema'])
def test_a_constraint_makes_every_reply_a_verdict(servers, constraint):
    """Each form; nothing is unjudged."""
    judge = asking(servers, constraint)
    said = judge.judge(PAIRS)
    assert Counter(one.verdict is Verdict.UNJUDGED for one in said) == {False: len(PAIRS)}
    assert judge.statistics()['repeated'] == 0


def test_the_weights_are_part_of_the_judge(servers):
    """What llama.cpp says of them tells two models under one name apart."""
    judge = asking(servers, BARE)
    judge.judge(PAIRS[:1])
    [told] = servers[0].ask('v1/models')['data']
    assert str(told['meta']['n_params']) in judge.identity()['served']['root']


def test_ping_says_that_it_cannot_judge(servers):
    """Each reply is a verdict, and the verdicts are no better than the model."""
    health, same = ping(
        NAME, [server.address for server in servers], prompts='own', max_tokens=16, extra_body=BARE
    )
    assert not health.failure
    assert not health.fit
    assert health.served == same.served
    assert not any('no verdict' in outcome.problem for outcome in health.outcomes)


def cascade(servers: list[LlamaServer]) -> tuple[CascadeJudge, LLMJudge]:
    """The rule judge, then the servers, 64 requests under way at each."""
    second = asking(servers, BARE, max_tokens=16)
    return CascadeJudge(RuleJudge(), second), second


def sums(count: int) -> list[Pair]:
    """Half of them for the rule judge to accept, all different."""
    answers = [(2 * n, 2 * n if n % 2 else 2 * n + 1 + n % 7) for n in range(count)]
    return [Pair(f'What is {n} + {n}?', str(right), f'{said}.0') for n, (right, said) in enumerate(answers)]


class Disturbance(threading.Thread):
    """kill -9 of each server at its share of the replies; each comes back after two seconds."""

    def __init__(self, judge: LLMJudge, servers: list[LlamaServer], total: int) -> None:
        super().__init__(daemon=True)
        self._judge, self._servers, self._total = judge, servers, total
        self.killed_at: list[int] = []

    def run(self) -> None:
        for number, server in enumerate(self._servers):
            while self._judge.statistics()['replies'] < self._total * (1 + 2 * number) // 5:
                time.sleep(0.01)
            server.kill()
            self.killed_at.append(self._judge.statistics()['replies'])
            time.sleep(2)
            server.start()


def test_servers_that_are_killed_change_no_verdict(servers):
    """A cascade with 128 requests under way, each server killed and restarted: as an undisturbed run."""
    pairs = sums(280)
    calm, _ = cascade(servers)
    expected: list[Judgement] = calm.judge(pairs)
    calm.close()
    asked = sum(one.origin == 'llm' for one in expected)
    assert asked == len(pairs) // 2
    assert {one.verdict for one in expected} <= {Verdict.CORRECT, Verdict.INCORRECT}

    disturbed, llm = cascade(servers)
    disturbance = Disturbance(llm, servers, asked)
    disturbance.start()
    said = disturbed.judge(pairs)
    disturbance.join(60)
    counts = llm.statistics()
    disturbed.close()
    assert [kill for kill in disturbance.killed_at if kill < asked] == disturbance.killed_at
    assert len(disturbance.killed_at) == 2
    assert counts['failures'] > 0
    assert [(one.verdict, one.origin) for one in said] == [(one.verdict, one.origin) for one in expected]
    assert counts['unjudged'] == 0
