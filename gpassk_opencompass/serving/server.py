"""A server that is started here, waited for, watched and ended."""

from __future__ import annotations

import atexit
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import gpassk_opencompass

from ..errors import IncompleteError, InputError
from ..keys import hidden
from ..times import utc_folder
from ..unseen import printable
from .keeper import ENDED, GRACE, NOTE, READY, SHARED, Orders, described
from .line import Serve
from .ports import HOST, free_port, listens_elsewhere

PORTS = 5
"""Ports that are tried, should others take one between its choice and its use."""

_POLL = 0.2
_SAYS_EVERY = 30.0
_LISTED = 60.0  # seconds that a server may take requests and not list its model
_TAIL = 2500
_TAKEN = re.compile(
    rb'(?i)address already in use|EADDRINUSE|errno 98\b|port \d+ is (?:already )?(?:in use|occupied)'
    rb"|couldn't bind|cannot bind|failed to bind"
)
_BOOT = (
    'import sys; sys.path.insert(0, sys.argv.pop());'
    'from gpassk_opencompass.serving.keeper import main; main()'
)
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Asked(NamedTuple):
    """Which model a server is to have.

    Args:
        model: the weights, as the command line names them.
        name: what requests call them.
        tp, pp: over how many GPUs they are spread.
        gpus: as CUDA_VISIBLE_DEVICES names them; None: those that this process has.
        key: the server's API key, '' if it wants none.
    """

    model: str
    name: str
    tp: int = 1
    pp: int = 1
    gpus: str | None = None
    key: str = ''

    def visible(self) -> str:
        """Return the GPUs, as CUDA_VISIBLE_DEVICES names them."""
        here = os.environ.get('CUDA_VISIBLE_DEVICES') if self.gpus is None else self.gpus
        return ','.join(map(str, range(self.tp * self.pp))) if here is None else here


def _silent(text: str) -> None:
    """Say nothing."""


class Server:
    """A server at an address of the loopback that stays the same when it is started again.

    It lives as long as this process, or as somebody has one of `users` locked; see `keeper`. Should it die it
    is started once more by itself, while requests are tried again.

    Args:
        serve: how it is started.
        asked: with which model.
        log: the folder of its log.
        say: is told what happens, in lines.
        users, alive, note, grace: see `keeper.Orders`.
    """

    def __init__(
        self,
        serve: Serve,
        asked: Asked,
        log: Path,
        say: Callable[[str], None] = _silent,
        *,
        users: Sequence[Path] = (),
        alive: Path | None = None,
        note: Path | None = None,
        grace: float = GRACE,
    ) -> None:
        self._serve, self._asked, self._say = serve, asked, say
        self._users = [str(path) for path in users]
        self._alive, self._note = ('' if path is None else str(path) for path in (alive, note))
        name = re.sub(r'[^\w.-]+', '-', asked.name)[:80]
        self.log = log / f'{name}-{utc_folder()}-{os.getpid()}.log'
        self.address = ''
        self._keeper: subprocess.Popen[bytes] | None = None
        self._maker, self._grace = os.getpid(), grace
        self._from = 0  # where in its log this start begins

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> str:
        """Start it, wait until it takes requests for its model, and return its address.

        Raises:
            InputError: the program cannot be found, an environment variable is not set, or the server has
                its model under another name.
            IncompleteError: it ended, or was not ready in time; the error has the end of its log.
        """
        self.log.parent.mkdir(parents=True, exist_ok=True)
        tried: set[int] = set()
        while True:
            tried.add(port := free_port(tried))
            try:
                self._begin(port)
                taken = self._wait(port)
            except BaseException:
                self.close()
                raise
            if not taken:
                atexit.register(self.close)
                return self.address
            self.close()
            if len(tried) >= PORTS:
                raise IncompleteError(f'{PORTS} ports in a row were taken by others: {self._end_of_log()}')
            self._say(f'port {port} was taken by another process, the server is started on another one')

    def check(self) -> None:
        """Raise IncompleteError if the server has ended for good, with the end of its log."""
        if self._keeper is not None and self._keeper.poll() is not None:
            self._check_keeper(self._keeper.returncode)
            raise IncompleteError(
                f'the server of {self._asked.name!r} died, and once more after it was started again: '
                f'{self._end_of_log()}'
            )

    def let_go(self) -> None:
        """Leave a server that is shared to its users."""
        atexit.unregister(self.close)
        if self._keeper is not None and self._keeper.stdin is not None:
            self._keeper.stdin.close()
            self._keeper.returncode = 0  # it outlives this process; nobody waits for it
        self._keeper = None

    def close(self) -> None:
        """End it, with all that it has started; again, or in a copy of the process, nothing happens."""
        if os.getpid() != self._maker:
            return
        atexit.unregister(self.close)
        keeper, self._keeper = self._keeper, None
        if keeper is None:
            return
        if keeper.stdin is not None:
            with suppress(OSError):
                keeper.stdin.close()
        with suppress(ProcessLookupError):
            keeper.terminate()
        try:
            keeper.wait(self._grace + 2 * GRACE)
        except subprocess.TimeoutExpired:  # a process that even SIGKILL does not end
            self._say(f'the server of {self._asked.name!r} does not end, see {self.log}')

    def _begin(self, port: int) -> None:
        asked = self._asked
        values = {**asked._asdict(), 'host': HOST, 'port': port, 'gpus': asked.visible()}
        self._serve.check_program(values)
        devices = {} if asked.gpus is None else {'CUDA_VISIBLE_DEVICES': asked.gpus}
        orders = Orders(
            self._serve.words(values),
            str(self.log.absolute()),
            {**devices, **self._serve.variables()},
            [secret for secret in [*self._serve.secrets(), asked.key] if secret],
            self._users,
            self._alive,
            self._note,
            self._grace,
        )
        root = str(Path(gpassk_opencompass.__file__).parent.parent)
        self._say(f'starting the server of {asked.name!r}, log: {self.log}')
        with self.log.open('ab') as output:
            self._from = output.tell()
            self._keeper = subprocess.Popen(
                [sys.executable, '-c', _BOOT, str(os.getpid()), *([SHARED] if self._users else []), root],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=output,
                start_new_session=bool(self._users),  # else it is ended with the group of its owner
            )
        self._tell(orders.line())
        self.address = f'http://{HOST}:{port}'

    def _wait(self, port: int) -> bool:
        """Wait until it is ready; return whether another process has its port.

        Raises:
            InputError, IncompleteError: see `start`.
        """
        start = said = time.monotonic()
        ready_since = None
        while True:
            assert self._keeper is not None
            if self._keeper.poll() is not None:
                self._check_keeper(self._keeper.returncode)
                if self._port_was_taken(port):
                    return True
                raise IncompleteError(
                    f'the server of {self._asked.name!r} ended before it was ready: {self._end_of_log()}'
                )
            now = time.monotonic()
            if self._answers():
                if listens_elsewhere(port, self._keeper.pid):
                    return True
                ready_since = ready_since or now
                if self._lists_model(now - ready_since):
                    self._tell_ready(now - start)
                    return False
            if now - start > self._serve.timeout:
                raise IncompleteError(
                    f'the server of {self._asked.name!r} was not ready after {self._serve.timeout:g} s '
                    f'(timeout of serve): {self._end_of_log()}'
                )
            if now - said >= _SAYS_EVERY:
                said = now
                self._say(f'waiting for the server, {now - start:.0f} s; it says: {self._last_line()}')
            time.sleep(_POLL)

    def _check_keeper(self, code: int) -> None:
        """Raise IncompleteError if not the server has ended, but the process that keeps it was killed."""
        if code < 0:
            raise IncompleteError(
                f'the process that keeps the server of {self._asked.name!r} was ended by {described(code)}, '
                f'and the server with it: was the memory of this machine full? {self._end_of_log()}'
            )

    def _tell_ready(self, seconds: float) -> None:
        self._tell(READY)
        self._say(f'the server of {self._asked.name!r} is ready at {self.address} after {seconds:.0f} s')

    def _tell(self, line: bytes) -> None:
        """Send a line to the keeper; whether it lives is seen elsewhere."""
        assert self._keeper is not None
        assert self._keeper.stdin is not None
        with suppress(BrokenPipeError):
            self._keeper.stdin.write(line)
            self._keeper.stdin.flush()

    def _answers(self) -> bool:
        return self._get(self._serve.ready) is not None

    def _lists_model(self, waited: float) -> bool:
        """Whether it lists its model; a server without a list is taken at its word.

        Raises:
            InputError: it takes requests, and lists others alone.
        """
        content = self._get('/v1/models')
        try:
            names = [card['id'] for card in json.loads(content or b'')['data']]
        except (ValueError, LookupError, TypeError):
            return True
        if self._asked.name in names:
            return True
        if waited > _LISTED:
            raise InputError(
                f'the server has {", ".join(map(repr, names)) or "no model"}, and not {self._asked.name!r}: '
                'its command line needs {name} where it says what the model is called'
            )
        return False

    def _get(self, path: str) -> bytes | None:
        """Return what it gives at a path; None for anything but 200."""
        request = urllib.request.Request(f'{self.address}{path}')
        if self._asked.key:
            request.add_header('Authorization', f'Bearer {self._asked.key}')
        try:
            with _DIRECT.open(request, timeout=5) as reply:
                content: bytes = reply.read(1 << 20)
                return content if reply.status == 200 else None
        except (OSError, ValueError):
            return None
        except Exception:  # of http.client, for what is no HTTP
            return None

    def _port_was_taken(self, port: int) -> bool:
        return bool(_TAKEN.search(self._said())) or listens_elsewhere(port, 0)

    def _said(self) -> bytes:
        try:
            with self.log.open('rb') as file:
                file.seek(max(self._from, self.log.stat().st_size - 4 * _TAIL))
                return file.read()
        except OSError:
            return b''

    def _last_line(self) -> str:
        """Return the last line of the server itself, without what its keeper notes of it."""
        lines = self._said().decode('utf-8', 'replace').splitlines()
        said = [line.strip() for line in lines if line.strip('\0 \t') and not line.startswith(NOTE)]
        return printable(said[-1][-300:]) if said else 'nothing'

    def _end_of_log(self) -> str:
        end = self._said().decode('utf-8', 'replace')[-_TAIL:].strip()
        how = end.rpartition('\n')[2].partition(f': {ENDED}')[2]  # killed for memory, it says nothing itself
        last = f'{how + ", " if how else ""}it said last: {self._last_line()}; {self.log} ends in\n{end}'
        return hidden(last, self._asked.key)
