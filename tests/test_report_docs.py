"""docs/report.md and docs/statistics.md say what works."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from gpassk_opencompass.cli import main, parser_for
from gpassk_opencompass.uncertainty.intervals import FEWEST_EFFECTIVE, FEWEST_IN_ALL, FEWEST_PROBLEMS

DOCS = Path(__file__).resolve().parents[1] / 'docs'
REPORT, STATISTICS = ((DOCS / name).read_text(encoding='utf-8') for name in ('report.md', 'statistics.md'))


def commands() -> list[list[str]]:
    blocks = re.findall(r'^```sh\n(.*?)^```$', REPORT, re.DOTALL | re.MULTILINE)
    return [shlex.split(line)[1:] for block in blocks for line in block.splitlines()]


@pytest.mark.parametrize('arguments', commands(), ids=' '.join)
def test_its_commands_are_understood(arguments: list[str]) -> None:
    """To the last option."""
    assert parser_for(arguments[0]).parse_args(arguments)


def test_the_plan_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    """Line by line."""
    [arguments] = [words for words in commands() if '--beta' in words]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    rows = [line for line in REPORT.splitlines() if line.startswith('| ') and line in printed]
    assert len([row for row in rows if '%' in row]) == 3


def test_the_rules_of_refusal_are_those_of_the_code() -> None:
    """The numbers in the table."""
    assert (FEWEST_PROBLEMS, FEWEST_EFFECTIVE, FEWEST_IN_ALL) == (20, 6.0, 2.0)
    assert 'fewer than 20*' in STATISTICS
    assert 'fewer than 6*' in STATISTICS
    assert 'fewer than 2*' in STATISTICS
