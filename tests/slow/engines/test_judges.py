"""A real model behind a real server as a judge: held to a verdict by a grammar or a schema."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from llama_server import NAME, LlamaServer, llama_server

from gpassk_opencompass.judges import Pair, Verdict
from gpassk_opencompass.judges.llm import LLMJudge

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
def server(tmp_path_factory):
    """One for all tests of this file."""
    with llama_server(tmp_path_factory.mktemp('llama')) as one:
        yield one


def asking(server: LlamaServer, constraint: dict[str, Any]) -> LLMJudge:
    """The judge that asks it; it is too small to pass any canary."""
    settings = {'max_tokens': 200, 'canaries': False, 'progress': False, 'patience': 300}
    return LLMJudge(NAME, [server.address], prompts=SHORT, extra_body=constraint, **settings)


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


@pytest.mark.parametrize('constraint', [BARE, REASONED, SCHEMA], ids=['bare', 'reasoned', 'schema'])
def test_a_constraint_makes_every_reply_a_verdict(server, constraint):
    """Each form; nothing is unjudged."""
    judge = asking(server, constraint)
    said = judge.judge(PAIRS)
    assert Counter(one.verdict is Verdict.UNJUDGED for one in said) == {False: len(PAIRS)}
    assert judge.statistics()['repeated'] == 0


def test_the_weights_are_part_of_the_judge(server):
    """What llama.cpp says of them tells two models under one name apart."""
    judge = asking(server, BARE)
    judge.judge(PAIRS[:1])
    [told] = server.ask('v1/models')['data']
    assert str(told['meta']['n_params']) in judge.identity()['served']['root']
