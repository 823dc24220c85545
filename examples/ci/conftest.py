"""A fixture for tests of a training run: put it into your conftest.py.

def test_step_2000_is_not_worse(assert_not_worse):
    assert_not_worse('outputs/step-2000', 'outputs/step-1000', margin=2)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gpassk_opencompass.report.compare import compare


@pytest.fixture
def assert_not_worse() -> Callable[..., None]:
    """Fail where a new run is worse than an old one, skip where that is not decided."""

    def check(new: str, old: str, margin: float, questions: str = 'same') -> None:
        answer = compare([Path(new), Path(old)], margin=margin / 100, questions=questions)
        if answer.outcome == 'worse':
            pytest.fail(answer.markdown())
        if answer.outcome == 'undecided':
            pytest.skip(answer.line)

    return check
