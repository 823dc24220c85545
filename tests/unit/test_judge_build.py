"""A judge from a config: what is refused before it is built; and two judges in a row."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from exact import FunctionJudge
from loguru import logger

from gpassk_opencompass import InputError, Judgement, Pair, Verdict
from gpassk_opencompass.judges import CascadeJudge, build_judge, judge_config


@pytest.mark.parametrize('judge', ['rule', 'llm', 'Qwen', ['rule'], 5])
def test_a_judge_that_is_no_dict_is_refused(judge):
    for refuse in (build_judge, lambda config: judge_config('', (), config)):
        with pytest.raises(InputError, match=r"judge=dict\(type='(rule|llm)'\)"):
            refuse(judge)
    with pytest.raises(InputError, match=r"judge=dict\(type='rule'\)"):
        judge_config('m', 'http://x', 'rule')


def test_all_that_is_wrong_is_said_at_once():
    """Each argument by its name, with the one that was probably meant, and no value that may hold a key."""
    wrong = {'model': ' ', 'urls': ['h:1', 'x'], 'verdict': '/there', 'temperature': -1, 'extra_body': [1]}
    with pytest.raises(InputError) as caught:
        build_judge({'type': 'llm', **wrong})
    said = str(caught.value)
    named = "verdict: no such setting, did you mean 'verdicts'?"
    assert all(part in said for part in ("model = ' '", "url 'h:1'", named, 'temperature = -1', 'extra_body'))
    missing = r'model: Field required; urls: Field required; modle: no such setting, did you mean .model.'
    with pytest.raises(InputError, match=missing):
        build_judge({'type': 'llm', 'modle': 'm'})
    nested = r"first: Field required; second: .*url 'h:1'.*; thrid: no such setting"
    with pytest.raises(InputError, match=nested):
        build_judge({'type': 'cascade', 'thrid': 1, 'second': {'type': 'llm', 'model': 'm', 'urls': 'h:1'}})


@pytest.mark.parametrize(
    'config',
    [judge_config('Qwen', '', None), judge_config('', '', {'type': 'llm', 'model': 'Qwen', 'urls': []})],
)
def test_a_judge_that_is_named_without_an_address_is_the_rule_judge(config):
    """As the README promises; the log says so when the config is read, and the identity in each result."""
    said: list[str] = []
    sink = logger.add(said.append, format='{message}')
    assert judge_config('Qwen', '', None) == judge_config('', '', config) == config
    logger.remove(sink)
    assert len(said) == 1
    assert "the judge 'Qwen' has no address" in said[0]
    judge = build_judge(config)
    identity = judge.identity()
    assert (identity['name'], identity['in_place_of']) == ('rule', 'Qwen')
    [said_of] = judge.judge([Pair('q', '0.5', r'\frac12')])
    judge.close()
    assert said_of.verdict is Verdict.CORRECT


# Two judges in a row

PAIRS = [Pair('q', 'r', answer) for answer in ('right', 'wrong', 'open', 'right', 'odd')]


class Recorder(FunctionJudge):
    """Remembers what it was given."""

    def __init__(self, answers: dict[str, bool | None], name: str) -> None:
        super().__init__(lambda pair: answers[pair.answer], name)
        self.given: list[str] = []
        self.closed = 0

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        self.given += [pair.answer for pair in pairs]
        return super().judge(pairs)

    def close(self) -> None:
        self.closed += 1
        if self.name == 'rule':
            raise RuntimeError('stuck')


def test_the_second_judges_only_what_the_first_does_not_accept():
    """Rejected and unjudged pairs alike, each says whose it is; both are closed if one fails."""
    rule = Recorder({'right': True, 'wrong': False, 'open': None, 'odd': None}, 'rule')
    llm = Recorder({'wrong': True, 'open': False, 'odd': None}, 'llm')
    judge = CascadeJudge(rule, llm)
    judgements = judge.judge(PAIRS)
    assert (rule.given, llm.given) == ([pair.answer for pair in PAIRS], ['wrong', 'open', 'odd'])
    right, wrong, unjudged = Verdict.CORRECT, Verdict.INCORRECT, Verdict.UNJUDGED
    assert [judgement.verdict for judgement in judgements] == [right, right, wrong, right, unjudged]
    assert [judgement.origin for judgement in judgements] == ['rule', 'llm', 'llm', 'rule', 'llm']
    assert judge.statistics()['saved'] == 2
    assert judge.identity() == {'name': 'cascade', 'first': {'name': 'rule'}, 'second': {'name': 'llm'}}
    with pytest.raises(RuntimeError, match='stuck'):
        judge.close()
    assert (rule.closed, llm.closed) == (1, 1)
