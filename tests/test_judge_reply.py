"""The verdict in a reply."""

from __future__ import annotations

import time

import pytest

from gpassk_opencompass.judges.protocol import Verdict
from gpassk_opencompass.judges.reply import read_verdict

YES = [
    r'\boxed{yes}',
    r'\boxed{Yes}',
    r'\boxed{YES}',
    r'\boxed{ yes }',
    r'\boxed{yes.}',
    r'\boxed {yes}',
    r'\boxed{\text{yes}}',
    r'\boxed{\text{ Yes }}',
    r'\boxed{\mathrm{yes}}',
    r'\boxed{\mathbf{\text{yes}}}',
    r'\boxed{**yes**}',
    r'\boxed{{yes}}',
    r'\\boxed{yes}',
    r'\boxed{是}',
    r'\boxed{\text{是}}',
    '\\boxed{\nyes\n}',
    r'Not \boxed{no} but \boxed{yes}.',
    r'\boxed{yes}, as \boxed{42} is 42.',
    r'<think>\boxed{no}</think> \boxed{yes}',
    r'$\boxed{yes}$ {unbalanced',
]
NO = [r'\boxed{no}', r'\boxed{No}', r'\boxed{\text{NO}}', r'\boxed{否}', r'\boxed{yes} … no: \boxed{no}']
NEITHER = [
    '',
    'yes',
    'The answer is yes.',
    r'\boxed{}',
    r'\boxed{maybe}',
    r'\boxed{yes/no}',
    r'\boxed{yes or no}',
    r'\boxed{yesterday}',
    r'\boxed{不是}',
    r'\boxed{yes',
    r'\boxed yes',
    r'\boxed{n o}',
    r'<think>\boxed{yes}</think> So they agree.',
    'boxed{yes}',
    '\x08oxed{yes}',
]


@pytest.mark.parametrize('reply', YES)
def test_a_boxed_yes_is_correct(reply: str) -> None:
    """However it is dressed up, and whatever came before."""
    assert read_verdict(reply) is Verdict.CORRECT


@pytest.mark.parametrize('reply', NO)
def test_a_boxed_no_is_incorrect(reply: str) -> None:
    """Of several verdicts the last one counts."""
    assert read_verdict(reply) is Verdict.INCORRECT


@pytest.mark.parametrize('reply', NEITHER)
def test_no_verdict_offered_is_no_verdict(reply: str) -> None:
    """Neither correct nor, as OpenCompass has it, silently wrong."""
    assert read_verdict(reply) is None


@pytest.mark.parametrize(
    'unit',
    [r'\boxed{', r'\boxed', r'\boxed{yes', '{', ' ', r'\boxed{\text{', r'\boxed{yes }} ', '\\', r'\text{'],
)
def test_a_huge_reply_takes_linear_time(unit: str) -> None:
    """A megabyte of whatever might make a search look twice."""
    start = time.process_time()
    read_verdict(unit * (1_000_000 // len(unit)))
    read_verdict(r'\boxed{' + unit * (1_000_000 // len(unit)))
    assert time.process_time() - start < 2.0
