"""`fuzz`: a test that takes drawn inputs, and ends one that takes too long; `gpassk`: a command.

`make test-faults` draws few inputs, the same each time; with FUZZ=N (GPASSK_FUZZ=N) N a target, new ones.
"""

from __future__ import annotations

import functools
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from traceback import walk_stack
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

from gpassk_opencompass.cli import main
from gpassk_opencompass.text import UNSEEN

LONG = int(os.environ.get('GPASSK_FUZZ') or 0)
"""Inputs a target of the long form; 0: the short form."""

SHORT = 25

LIMIT = 10.0
"""Seconds of this process's CPU time that one input may take; what is usual are milliseconds."""

FRAMES = 1000
"""What Python allows by default."""


class TookTooLong(AssertionError):
    """An input for which the time grows out of bounds."""


def fuzz(
    *strategies: SearchStrategy[Any], share: float = 1.0, limit: float = LIMIT
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`hypothesis.given` for the last parameters of a test, with a bound on the time of each input.

    Args:
        strategies: of the parameters that are drawn; fixtures come before them.
        share: of the usual number of inputs, for targets that take long.
        limit: seconds of CPU time.
    """

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @settings(
            max_examples=max(5, round(share * (LONG or SHORT))),
            deadline=None,
            derandomize=not LONG,
            database=None,
            suppress_health_check=[
                HealthCheck.too_slow,
                HealthCheck.data_too_large,
                HealthCheck.large_base_example,
            ],
        )
        @given(*strategies)
        @functools.wraps(test)
        def counted(*arguments: Any, **named: Any) -> None:
            with within(limit), usual_depth():
                test(*arguments, **named)

        return pytest.mark.slow(counted)

    return decorate


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """TookTooLong after so much CPU time of this process; regular expressions are interrupted, too."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TookTooLong(f'more than {seconds:g} s of CPU time')

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def usual_depth() -> Iterator[None]:
    """As many frames as a command has: Hypothesis gives more, and nothing would be nested too deep."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(sum(1 for _ in walk_stack(None)) + FRAMES)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def gpassk(*command: str | Path) -> tuple[int, str]:
    """The exit code of a command and what it printed, which steers no terminal."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(list(map(str, command)))
    said = out.getvalue() + err.getvalue()
    assert code in (0, 1, 2)
    assert not UNSEEN.search(said.replace('\n', ''))
    return code, said
