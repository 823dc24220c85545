"""`gpassk view`: the page of results in a browser, while they come, with every response."""

from __future__ import annotations

import os
import sys
import webbrowser
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..unseen import printable
from .options import WITH_LIMITED, path, positive, requested

if TYPE_CHECKING:
    from ..report.leaderboard import Board

_EPILOG = """\
examples:
  gpassk view                                   of the work directories in outputs
  gpassk view outputs --port 8765 --no-browser  on a server; docs/view.md says how to look from elsewhere
  gpassk view report                            a report that `gpassk report --responses` wrote

Nothing is written. Only who has the address that is printed can see the page. Ctrl-C ends it, and stops no
run.
"""

DEFAULT = Path('outputs')

PAGE = 'index.html'
_GENERATOR = b'<meta name="generator" content="gpassk_opencompass '
_HEAD = 4096
"""Bytes within which a page says who made it."""


@dataclass(frozen=True)
class ViewRequest:
    """What to show, and where.

    Args:
        paths: work directories, folders above several, and results; or one folder with a report.
        k: of the metrics; None: the largest that all have.
        with_limited: also runs that were made smaller with --limit or --samples.
        port: on which the page is served; None: one that is free.
        browser: open it.
    """

    paths: Sequence[Path]
    k: int | None
    with_limited: bool
    port: int | None
    browser: bool


def add_arguments(parser: ArgumentParser) -> None:
    """Add what to show, and where."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    add = parser.add_argument
    where = 'work directories, folders above several, results, or one folder with a report (default: outputs)'
    add('paths', nargs='*', type=path, metavar='WORK_DIR', help=where)
    add('--k', type=positive, help='of the metrics (default: the largest that all have)')
    add('--with-limited', action='store_true', help=WITH_LIMITED)
    add('--port', type=_port, metavar='N', help='of 127.0.0.1 (default: one that is free)')
    add('--no-browser', dest='browser', action='store_false', help='only print the address')


def run(arguments: Namespace) -> int:
    """Serve the page until Ctrl-C.

    Raises:
        InputError: there is nothing there, or the port cannot be had.
        KeyboardInterrupt: it was ended.
    """
    from ..viewing.server import serve
    from ..viewing.site import WrittenReport

    request = requested(ViewRequest, arguments, paths=arguments.paths or [DEFAULT])
    if absent := [one for one in request.paths if not one.exists()]:
        raise InputError(f'{absent[0]} is neither a file nor a folder; expected one with work directories')
    request = replace(request, paths=[_folder_of_page(one) for one in request.paths])
    opened = _Opened(request.browser)
    if reports := [one for one in request.paths if is_report(one)]:
        if len(request.paths) > 1:
            raise InputError(f'{reports[0]} is a report; give it alone, or the folders with results alone')
        if request.k or request.with_limited:
            raise InputError(
                f'{reports[0]} is a report, which is shown as it was written: --k and --with-limited go with '
                'results, or with `gpassk report`'
            )
        serve(WrittenReport(reports[0]), request.port, opened)
    else:
        _serve_live(request, opened)
    return 0


def _folder_of_page(path: Path) -> Path:
    """Return the folder of a report for its page, and else what is given."""
    return path.parent if path.name == PAGE and path.is_file() and is_report(path.parent) else path


def is_report(folder: Path) -> bool:
    """Whether a folder holds the page of a report, alone or with all that was written with it."""
    page = folder / PAGE
    try:
        with page.open('rb') as file:
            return _GENERATOR in file.read(_HEAD)
    except OSError:
        return False


def _serve_live(request: ViewRequest, opened: _Opened) -> None:
    from ..viewing.live import LivePage
    from ..viewing.server import serve
    from .report_responses import reader
    from .sweep_line import SweepLine

    results = FoundResults(request)
    with (
        SweepLine([one for one in request.paths if one.is_dir()]) as sweep,
        closing(LivePage(results, reader(), sweep.look)) as page,
    ):
        results.check()
        page.get('')  # so that what is left out is said before the browser is opened
        serve(page, request.port, opened)


class FoundResults:
    """The results in folders and files, as `viewing.live.Results`; what is left out is said once."""

    def __init__(self, request: ViewRequest) -> None:
        from ..report.leaderboard import boards

        boards((), request.k)  # refuses a k that is none
        self._request = request
        self._folders = [one for one in request.paths if one.is_dir()]
        self._files = [one for one in request.paths if one not in self._folders]
        self._said: set[str] = set()

    def check(self) -> None:
        """Refuse files of which none is a result; in folders there may be some later."""
        if not self._folders and not self.boards():
            raise InputError(f'{self._files[0]} holds no result that can be shown, see above')

    def version(self) -> str:
        """Return a digest of names, sizes and times of all results."""
        from ..results.read import files_below
        from ..results.record import digest_of

        try:
            found = [*self._files, *files_below(self._folders)]
            return digest_of([_state(file) for file in found])[:16]
        except InputError:  # a folder is gone
            return ''

    def boards(self) -> Sequence[Board]:
        """Return their tables."""
        from ..report.leaderboard import boards
        from ..results.read import collect, full_runs

        found = collect(self._folders, self._files)
        chosen, limited = full_runs(found.results, self._request.with_limited)
        tables, left_out = boards(chosen, self._request.k, with_limited=self._request.with_limited)
        lines = [f'left out: {line}' for line in (*found.passed_over, *left_out, *limited)]
        self._say([*lines, *([] if tables else ['there is no complete result yet'])])
        return tables

    def _say(self, lines: Sequence[str]) -> None:
        for line in lines:
            if line not in self._said:
                print(printable(line), file=sys.stderr, flush=True)
        self._said.update(lines)


class _Opened:
    """Prints the address of the page, and opens it."""

    def __init__(self, browser: bool) -> None:
        self._browser = browser

    def __call__(self, address: str) -> None:
        """Print it, and open it."""
        print(f'{address}\nOnly who has this address can see the page. Ctrl-C ends it.', flush=True)
        if self._browser and not (_has_screen() and webbrowser.open(address)):
            print('no browser could be opened here; open the address yourself', file=sys.stderr, flush=True)


def _has_screen() -> bool:
    """Whether a browser may have a window; else one may be found that takes over the terminal."""
    return sys.platform != 'linux' or any(map(os.environ.get, ('DISPLAY', 'WAYLAND_DISPLAY', 'BROWSER')))


def _state(file: Path) -> list[object]:
    try:
        status = file.stat()
    except OSError:
        return [os.fspath(file)]
    return [os.fspath(file), status.st_size, status.st_mtime_ns]


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        raise ArgumentTypeError(f'{text!r}: expected a port from 1 to 65535')
    return int(text)
