"""Says at the end how many inputs each target had."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from fuzzing import tried

INPUTS = 'inputs'


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For the files of all inputs of a test file, one after the other."""
    return tmp_path_factory.mktemp('fuzz')


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Note with the test how many inputs it had, those that shrink a failure too."""
    before = sum(tried.values())
    try:
        return (yield)
    finally:
        item.user_properties.append((INPUTS, sum(tried.values()) - before))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A line a target, and the sum."""
    found = [
        (report, dict(report.user_properties).get(INPUTS, 0))
        for outcome in ('passed', 'failed')
        for report in terminalreporter.stats.get(outcome, [])
        if report.when == 'call'
    ]
    targets = [(report, inputs) for report, inputs in found if inputs]
    if not targets:
        return
    terminalreporter.section('fuzzed')
    for report, inputs in targets:
        terminalreporter.write_line(f'{inputs:9,}  {report.outcome}  {report.nodeid.rpartition("/")[2]}')
    crashes = sum(report.failed for report, _ in targets)
    total = sum(inputs for _, inputs in targets)
    terminalreporter.write_line(f'{total:9,}  inputs, {len(targets)} targets, {crashes} of them with a crash')
