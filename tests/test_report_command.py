"""`gpassk report` as a user runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from result_files import ABBR, THIRDS, write_result, write_three

from gpassk_opencompass.cli import main


def report(*arguments: object) -> int:
    return main(['report', *map(str, arguments), '--only', 'tables'])


def test_a_report_is_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The leaderboard on the screen, the paths below it."""
    write_three(tmp_path / 'outputs')
    assert report(tmp_path / 'outputs', '-o', tmp_path / 'report') == 0
    printed, said = capsys.readouterr()
    assert '77.78 [59.7, 89.2]' in printed
    assert f'the tables: {tmp_path / "report"}: leaderboard.md, scores.csv, results.json' in printed
    assert said == ''
    assert {path.name for path in (tmp_path / 'report').iterdir()} == {
        'leaderboard.md',
        'scores.csv',
        'results.json',
        'signatures.txt',
        'tables',
    }


@pytest.mark.slow
def test_figures_are_drawn_whatever_backend_a_notebook_has_chosen(tmp_path: Path) -> None:
    """Jupyter sets MPLBACKEND for all that it starts; its backend need not be installed here."""
    write_three(tmp_path / 'outputs')
    arguments = ['report', str(tmp_path / 'outputs'), '-o', str(tmp_path / 'report'), '--only', 'figures']
    done = subprocess.run(
        [sys.executable, '-m', 'gpassk_opencompass.cli', *arguments],
        env={**os.environ, 'MPLBACKEND': 'module://no_such_notebook.backend_inline'},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / 'report' / 'figures').glob('*.png'))


def test_without_the_extra_the_tables_are_written_all_the_same(tmp_path: Path) -> None:
    """What is missing is said last."""
    write_three(tmp_path / 'outputs')
    code = (
        'import sys; sys.modules |= dict.fromkeys(["matplotlib"])\n'
        'from gpassk_opencompass.cli import main; sys.exit(main(sys.argv[1:]))'
    )
    arguments = ['report', str(tmp_path / 'outputs'), '-o', str(tmp_path / 'report')]
    done = subprocess.run(
        [sys.executable, '-c', code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f'the tables: {tmp_path / "report"}: leaderboard.md' in done.stdout
    assert done.stderr.startswith('gpassk report: no figures: matplotlib is not installed; run: pip')
    assert done.stderr.endswith('--only tables takes none of it\n')
    assert (tmp_path / 'report' / 'index.html').exists()
    assert not (tmp_path / 'report' / 'figures').exists()


@pytest.mark.slow
def test_files_that_cannot_grow_leave_the_earlier_report_whole(tmp_path: Path) -> None:
    """A full disk or a quota: exit code 2, and no table or page is cut."""
    outputs, folder = tmp_path / 'outputs', tmp_path / 'report'
    write_three(outputs)
    parts = [['--only', part, '-o', str(folder)] for part in ('tables', 'page')]
    assert [main(['report', str(outputs), *part]) for part in parts] == [0, 0]
    before = {path: path.read_bytes() for path in folder.rglob('*.*')}
    write_result(outputs, 'another', THIRDS)
    for part in parts:
        line = [sys.executable, '-m', 'gpassk_opencompass.cli', 'report', str(outputs), *part]
        done = subprocess.run(
            ['sh', '-c', 'ulimit -f 1; exec "$@"', 'sh', *line], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2, done.stderr
        assert 'File too large' in done.stderr
    assert {path: path.read_bytes() for path in folder.rglob('*.*')} == before


def test_what_was_left_out_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On stderr and in the file; only --strict makes it a failure, and an older result never does."""
    write_three(tmp_path)
    write_result(tmp_path, ABBR.format(1), THIRDS, time='20250101_000000')
    folder = tmp_path / 'report'
    assert report(tmp_path, '-o', folder, '--strict') == 0
    assert 'there is a newer result' in capsys.readouterr().err
    write_result(tmp_path, ABBR.format(3), THIRDS).write_text('{')
    assert report(tmp_path, '-o', folder) == 0
    assert report(tmp_path, '-o', folder, '--strict') == 1
    assert 'cannot be read' in capsys.readouterr().err
    assert 'cannot be read' in (folder / 'leaderboard.md').read_text()


def test_nothing_found_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what was expected, and where to look."""
    assert report(tmp_path, '-o', tmp_path / 'report') == 2
    assert 'gpassk check' in capsys.readouterr().err
    assert not (tmp_path / 'report').exists()
    assert report('-o', tmp_path / 'report') == 2
    assert 'give a folder' in capsys.readouterr().err


def test_folders_taken_for_those_of_configs_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`gpassk report --configs configs outputs`: an option of several values takes all that follow."""
    assert report('--configs', 'configs', 'outputs') == 2
    assert '--configs took configs outputs: folders of results stand before it' in capsys.readouterr().err


def test_k_and_level_are_those_asked_for(tmp_path: Path) -> None:
    """Any k up to n, from the counts."""
    write_three(tmp_path / 'outputs')
    assert report(tmp_path / 'outputs', '--k', 4, '--level', 0.9, '-o', tmp_path / 'r') == 0
    text = (tmp_path / 'r' / 'leaderboard.md').read_text()
    assert 'mG-Pass@4' in text
    assert 'the 90 % interval' in text


@pytest.mark.slow
def test_an_interrupt_ends_a_report_and_leaves_whole_files(tmp_path: Path) -> None:
    """With the exit code of an interrupt and without a traceback, while figures are drawn; no draft stays."""
    pytest.importorskip('matplotlib')
    write_three(tmp_path / 'outputs')
    line = ['report', tmp_path / 'outputs', '-o', tmp_path / 'report', '--only', 'figures']
    process = subprocess.Popen(
        [sys.executable, '-m', 'gpassk_opencompass.cli', *map(str, line)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    drawn = tmp_path / 'report' / 'figures'
    while process.poll() is None and not (drawn.is_dir() and any(drawn.iterdir())):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert 'gpassk report: stopped' in said
    assert 'Traceback' not in said
    left = {path.name: path.read_bytes() for path in drawn.iterdir()}
    assert not [name for name in left if name.startswith('.writing')]
    assert main([*map(str, line)]) == 0
    assert left.items() <= {path.name: path.read_bytes() for path in drawn.iterdir()}.items()
