"""A command in a pseudo-terminal, and what a user would see of it: enough of a terminal for bars."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from unicodedata import east_asian_width

_PIECES = re.compile(r'\x1b\[(\d*)([A-Za-z])|\x1b\[[0-9;]*m|\x1b\[\?25[hl]|.', re.DOTALL)
_LIMIT = 60.0


class Picture:
    """What stands on a terminal, with all that has scrolled away above it.

    Lines wrap at its width; only what bars need is understood: line ends, colours, up, erase, the cursor.
    Anything else is an error, so that nothing unexpected is sent unseen.
    """

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._lines: list[list[str]] = [[]]
        self._row, self._column = 0, 0

    def feed(self, text: str) -> None:
        """Show more; a sequence must come whole."""
        for found in _PIECES.finditer(text):
            if found[2] == 'A':
                self._row -= int(found[1] or 1)
                assert self._row >= 0, 'above the first line'
            elif found[2] == 'K':
                assert found[1] == '2', 'the whole line'
                self._lines[self._row].clear()
            elif found[2] == 'J':
                del self._lines[self._row + 1 :]
                del self._lines[self._row][self._column :]
            elif found[0].startswith('\x1b[?25'):
                pass  # the cursor is hidden, or shown
            elif found[0].startswith('\x1b'):
                assert found[0].endswith('m'), repr(found[0])
            else:
                self._put(found[0])

    def _put(self, character: str) -> None:
        if character == '\r':
            self._column = 0
        elif character == '\n':
            self._go_on(self._row + 1)
        else:
            width = 2 if east_asian_width(character) in 'WF' else 1
            if self._column + width > self._columns:
                self._go_on(self._row + 1)
                self._column = 0
            line = self._lines[self._row]
            line.extend(' ' * (self._column - len(line)))
            line[self._column : self._column + width] = [character] + [''] * (width - 1)
            self._column += width

    def _go_on(self, row: int) -> None:
        self._row = row
        while len(self._lines) <= row:
            self._lines.append([])

    @property
    def lines(self) -> list[str]:
        """Return all lines, without blanks at their ends."""
        return [''.join(line).rstrip() for line in self._lines]

    @property
    def text(self) -> str:
        """Return all lines as one text."""
        return '\n'.join(self.lines)


class Terminal:
    """A `gpassk` command in a pseudo-terminal; a context manager that ends it.

    Args:
        program: of `opencompass` in that command.
        width, height: of the terminal.
    """

    def __init__(
        self,
        arguments: list[str],
        program: Path,
        environment: Mapping[str, str] | None = None,
        width: int = 120,
        height: int = 30,
    ) -> None:
        code = (
            'import sys, gpassk_opencompass.runs.command as command\n'
            f'command.program = lambda: {str(program)!r}\n'
            'from gpassk_opencompass.cli import main\n'
            'sys.exit(main(sys.argv[1:]))'
        )
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', height, width, 0, 0))
        names = {'COLUMNS', 'LINES', 'NO_COLOR', 'FORCE_COLOR', 'TERM', 'TTY_COMPATIBLE', 'TTY_INTERACTIVE'}
        own = {name: value for name, value in os.environ.items() if name not in names}
        self._process = subprocess.Popen(
            [sys.executable, '-c', code, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**own, 'TERM': 'xterm-256color', 'PYTHONIOENCODING': 'utf-8', **(environment or {})},
            start_new_session=True,
        )
        os.close(theirs)
        self._left = b''
        self.picture = Picture(width)
        self.sent = ''
        """All that was sent to the terminal."""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._ours)

    def until(self, seen: Callable[[str], object]) -> str:
        """Wait until the picture is as wanted; return it."""
        deadline = time.monotonic() + _LIMIT
        while not seen(self.picture.text):
            assert time.monotonic() < deadline, self.picture.text
            assert self._read(), self.picture.text
        return self.picture.text

    def interrupt(self) -> None:
        """Type Ctrl-C."""
        os.kill(self._process.pid, signal.SIGINT)

    def end(self) -> int:
        """Wait for its end; return its exit code."""
        deadline = time.monotonic() + _LIMIT
        while self._read():
            assert time.monotonic() < deadline, self.picture.text
        return self._process.wait(_LIMIT)

    def _read(self) -> bool:
        """Show what has come; return whether more may come."""
        ready, _, _ = select.select([self._ours], [], [], 1.0)
        if not ready:
            return True
        try:
            data = self._left + os.read(self._ours, 1 << 16)
        except OSError:  # the other side is closed
            return False
        end = data.rfind(b'\n') + 1 if self._is_cut(data) else len(data)
        whole, self._left = data[:end], data[end:]
        self.sent += whole.decode()
        self.picture.feed(whole.decode())
        return bool(data)

    @staticmethod
    def _is_cut(data: bytes) -> bool:
        """Whether a character or a sequence may be cut at the end."""
        return bool(re.search(rb'\x1b(\[[0-9;]*)?$', data[-20:])) or data[-1:] >= b'\x80'
