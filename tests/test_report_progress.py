"""`gpassk report` says how far it is, and at its end what it wrote."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from result_files import write_three

from gpassk_opencompass.cli import main, progress


@pytest.mark.slow
def test_lines_say_how_far_and_how_long_yet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On standard error; at most one in ten seconds, so that a quick report says nothing."""
    pytest.importorskip('matplotlib')
    write_three(tmp_path / 'outputs')
    line = ['report', str(tmp_path / 'outputs'), '-o', str(tmp_path / 'report')]
    assert main(line) == 0
    assert 'left' not in capsys.readouterr().err
    monkeypatch.setattr(progress, 'EVERY', 0.0)
    assert main(line) == 0
    said = capsys.readouterr().err.splitlines()
    assert [one for one in said if re.fullmatch(r'gpassk report: reading results: 1 of 3, \d+ s left', one)]
    drawn = [re.fullmatch(r'gpassk report: drawing figures: (\d+) of (\d+), .+ left', one) for one in said]
    numbers = [(int(found[1]), int(found[2])) for found in drawn if found]
    assert [number for number, _ in numbers] == list(range(1, numbers[0][1]))


@pytest.mark.slow
def test_a_terminal_has_a_bar_and_standard_output_none_of_it(tmp_path: Path) -> None:
    """Which is gone at the end."""
    write_three(tmp_path / 'outputs')
    ours, theirs = pty.openpty()
    line = ['report', str(tmp_path / 'outputs'), '-o', str(tmp_path / 'report'), '--only', 'tables']
    with subprocess.Popen(
        [sys.executable, '-m', 'gpassk_opencompass.cli', *line],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        env={**os.environ, 'TERM': 'xterm'},
    ) as report:
        os.close(theirs)
        shown = all_shown(ours)
        printed = report.communicate()[0]
    os.close(ours)
    assert report.returncode == 0
    assert 'reading results' in shown
    assert '3/3' in shown
    assert shown.rstrip().endswith('\x1b[2K'), 'the last bar is taken away'
    assert 'reading results' not in printed
    assert '\x1b' not in printed


def all_shown(terminal: int) -> str:
    """Read what comes to a terminal until nobody has it open; a single read gives 4,095 bytes at most."""
    parts: list[bytes] = []
    with suppress(OSError):  # Linux says so at the end
        while part := os.read(terminal, 1 << 16):
            parts.append(part)
    return b''.join(parts).decode()
