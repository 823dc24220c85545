"""What `gpassk run` says while it is at work: how far each run is on a terminal, lines elsewhere."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest
from fake_opencompass import QUESTIONS, drawn, run, write, write_configs

from gpassk_opencompass.runs.drawn import DrawnSamples
from gpassk_opencompass.runs.plan import Planned
from gpassk_opencompass.runs.work_dir import Start, Starts, Wanted

TOTAL = 4 * QUESTIONS
TIME = '20260101_000000'
RUN = Planned('run', (Wanted('m-run', 'd-run', 4, (2, 4), QUESTIONS),))


def lines(rows: range) -> str:
    return ''.join(f'{json.dumps(drawn(row))}\n' for row in rows)


def begun(folder: Path, rows: range, time: str = TIME, shard: str = '') -> Path:
    """The resume file of a shard with these rows."""
    return write(folder / time / f'predictions/m-run/tmp_d-run{shard}.jsonl', lines(rows))


_PIECES = re.compile(r'\x1b\[(\d*)([AKJ])|\x1b\[[0-9;?]*[A-Za-z]|.', re.DOTALL)


def picture(sent: str) -> list[str]:
    """The lines that a terminal shows of this: line ends, up, erase; no other sequence may be sent."""
    lines, row, column = [''], 0, 0
    for found in _PIECES.finditer(sent):
        if found[2] == 'A':
            row -= int(found[1] or 1)
            assert row >= 0, 'above the first line'
        elif found[2] == 'K':
            lines[row] = ''
        elif found[2] == 'J':
            lines[row:] = [lines[row][:column]]
        elif found[0] == '\n':
            row += 1
            lines += [''] * (row + 1 - len(lines))
        elif found[0] == '\r':
            column = 0
        elif len(found[0]) == 1:
            lines[row] = lines[row].ljust(column)[:column] + found[0] + lines[row][column + 1 :]
            column += 1
        else:
            assert re.fullmatch(r'\x1b\[([0-9;]*m|\?25[hl])', found[0]), repr(found[0])  # colours, the cursor
    return [line.rstrip() for line in lines]


class Typed:
    """`gpassk run` of the configs here, in a pseudo-terminal; a context manager that ends it."""

    def __init__(self, sweep: Path, *options: str) -> None:
        code = (
            'import sys, gpassk_opencompass.runs.command as command\n'
            f'command.program = lambda: {str(sweep / "control" / "opencompass")!r}\n'
            'from gpassk_opencompass.cli import main\n'
            'sys.exit(main(sys.argv[1:]))'
        )
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', 30, 500, 0, 0))
        own = {name: value for name, value in os.environ.items() if name not in ('COLUMNS', 'NO_COLOR')}
        self._process = subprocess.Popen(
            [sys.executable, '-c', code, 'run', 'configs', '-w', 'out', *options],
            **dict.fromkeys(('stdin', 'stdout', 'stderr'), theirs),
            env={**own, 'TERM': 'xterm-256color', 'PYTHONIOENCODING': 'utf-8'},
            start_new_session=True,
        )
        os.close(theirs)
        self._sent = b''

    def __enter__(self) -> Typed:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._ours)

    @property
    def lines(self) -> list[str]:
        """What is shown."""
        return picture(self._sent.decode(errors='ignore'))

    def until(self, *texts: str) -> list[str]:
        """Wait until all of these are shown; return the lines."""
        while not all(text in '\n'.join(self.lines) for text in texts):
            assert self._read(), self.lines
        return self.lines

    def interrupt(self) -> None:
        """Type Ctrl-C."""
        os.kill(self._process.pid, signal.SIGINT)

    def end(self) -> int:
        """Wait for its end; return its exit code."""
        while self._read():
            pass
        return self._process.wait(60)

    def _read(self) -> bytes:
        """What comes next, or nothing at the end."""
        assert select.select([self._ours], [], [], 60.0)[0], self.lines
        with suppress(OSError):  # the other side is closed
            data = os.read(self._ours, 1 << 16)
            self._sent += data
            return data
        return b''


@pytest.mark.slow
def test_a_terminal_shows_how_far_each_run_is(sweep: Path) -> None:
    """Half of one is drawn while another fails; at the end its line is gone, and every other stands."""
    write_configs(sweep, 'ok', 'broken', 'draw')
    with Typed(sweep, '--jobs', '2') as terminal:
        [row] = [line for line in terminal.until('16/32', 'failed') if '16/32' in line]
        assert row.startswith('[2/3] draw ')
        write(sweep / 'control' / 'go', '')
        assert terminal.end() == 1
    said = terminal.lines
    for line in ('[1/3] broken: started', '[2/3] draw: started', '[3/3] ok: started'):
        assert said.count(line) == 1
    assert [line for line in said if re.fullmatch(r'\[2/3\] draw: complete, \d+ s', line)]
    assert 'RuntimeError: broken' in said, 'the end of the log'
    assert not [line for line in said if re.search(r'\d+/32', line)], 'no bar is left'
    assert '3 runs: 2 complete, 1 failed' in said[-2:]


@pytest.mark.slow
def test_ctrl_c_takes_the_lines_away_and_says_how_to_go_on(sweep: Path) -> None:
    """As without them."""
    write_configs(sweep, 'draw', 'never')
    with Typed(sweep) as terminal:
        terminal.until('16/32')
        terminal.interrupt()
        assert terminal.end() == 130
    text = '\n'.join(terminal.lines)
    assert '16/32' not in text
    assert '16 of 32 predictions' in text
    assert 'gpassk run configs -w out' in text


@pytest.mark.slow
def test_a_log_has_starts_and_ends_alone(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And the states at the end."""
    write_configs(sweep, 'ok')
    assert run() == 0
    said = capsys.readouterr().out
    begin, end = [line for line in said.splitlines() if line.startswith('[')]
    assert begin == '[1/1] ok: started'
    assert re.fullmatch(r'\[1/1\] ok: complete, \d+ s', end)
    assert said.endswith('\n1 run: 1 complete\n')


def test_a_growing_file_is_counted_by_its_lines(tmp_path: Path) -> None:
    """Half a line is no sample; of two shards both count."""
    counted = DrawnSamples(RUN, tmp_path)
    assert counted.count() == (0, TOTAL)
    path = begun(tmp_path, range(8), shard='_0')
    begun(tmp_path, range(3), shard='_1')
    assert counted.count() == (11, TOTAL)
    with path.open('a') as file:
        file.write(lines(range(8, 10)) + '{"idx": 10')
    assert counted.count() == (13, TOTAL)
    with path.open('a') as file:
        file.write('}\n')
    assert counted.count() == (14, TOTAL)


@pytest.mark.parametrize('kept', [0, 1, 5])
def test_a_file_that_was_cut_is_counted_anew(tmp_path: Path, kept: int) -> None:
    """A resume drops what is damaged."""
    counted = DrawnSamples(RUN, tmp_path)
    begun(tmp_path, range(8))
    assert counted.count()[0] == 8
    begun(tmp_path, range(kept))
    assert counted.count()[0] == kept


def test_predictions_take_the_place_of_their_resume_file(tmp_path: Path) -> None:
    """Nothing counts twice."""
    counted = DrawnSamples(RUN, tmp_path)
    path = begun(tmp_path, range(8))
    assert counted.count()[0] == 8
    write(path.with_name('d-run.json'), {str(row): drawn(row) for row in range(TOTAL)})
    assert counted.count() == (TOTAL, TOTAL)
    path.unlink()
    assert counted.count() == (TOTAL, TOTAL)


def test_a_new_start_is_not_the_old_one(tmp_path: Path) -> None:
    """Samples of an earlier time directory are not those of a command that began anew."""
    begun(tmp_path, range(16))
    starts = Starts(tmp_path)
    starts.begin(Start('20260102_000000', None, None, 'c', 'x', utc=True))
    counted = DrawnSamples(RUN, tmp_path)
    assert counted.count()[0] == 0
    begun(tmp_path, range(3), time='20260102_000001')
    assert counted.count()[0] == 3
    starts.begin(Start('20260103_000000', TIME, None, 'c', 'x', utc=True))
    assert counted.count()[0] == 16
