"""A server that several processes use at once: the first starts it, the last one's end is its end.

Whoever uses it holds a lock on a file, which the system frees with its holder, however that dies. The process
that keeps the server looks whether anybody has the lock. A `gpassk run` holds one too, so that one server
judges all of its runs.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from ..files import read_json, replace_file
from .keeper import is_locked
from .line import Serve
from .server import Asked, Server

SERVERS = 'servers'
"""The folder of the servers of all runs, in `.gpassk` beside their work directories."""

JOB = 'SLURM_JOB_ID'
"""The variable that names the job of Slurm in which this process is."""

_POLL = 0.2


class Shared(NamedTuple):
    """A server in use."""

    address: str
    log: str


@contextmanager
def run_in_progress(folder: Path) -> Iterator[None]:
    """Keep servers of a folder that are to last for a whole `gpassk run` until the end of the block.

    Args:
        folder: see `SERVERS`; where it cannot be made, as nothing may be written there, nothing happens.
    """
    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            held.enter_context(_locked(_run_lock(folder), fcntl.LOCK_SH))
        except OSError:
            pass
        yield


@contextmanager
def shared_server(
    folder: Path, serve: Serve, asked: Asked, say: Callable[[str], None], *, lasts: bool
) -> Iterator[Shared]:
    """Use a server as long as the block lasts; start it if nobody has.

    Args:
        folder: see `SERVERS`.
        serve, asked: what is started; who asks for the same gets the same one.
        say: is told what happens.
        lasts: keep it until the end of the `gpassk run` in progress, else until its last use.

    Raises:
        InputError, IncompleteError: see `Server.start`.
    """
    place = folder / _key(serve, asked)
    try:
        place.mkdir(parents=True, exist_ok=True)
        users = open(place / 'users', 'ab')  # noqa: SIM115 # closed below
        fcntl.flock(users, fcntl.LOCK_SH)
    except OSError:  # a disk without locks, or that may only be read: one for this process alone
        with Server(serve, asked, Path.cwd() / 'logs' / 'server', say) as own:
            yield Shared(own.address, str(own.log))
        return
    with users:
        yield _found_or_started(place, serve, asked, say, [_run_lock(folder)] if lasts else [])


def _found_or_started(
    place: Path, serve: Serve, asked: Asked, say: Callable[[str], None], run: list[Path]
) -> Shared:
    note, alive = place / 'server.json', place / 'alive'
    with _locked(place / 'starting', fcntl.LOCK_EX):
        while is_locked(alive) and _noted(note) is None:  # one that nobody wanted any more is ending
            time.sleep(_POLL)
        if is_locked(alive) and (found := _noted(note)) is not None:
            say(f'the server of {asked.name!r} is at {found.address} already, log: {found.log}')
            return found
        note.unlink(missing_ok=True)
        server = Server(serve, asked, place, say, users=[place / 'users', *run], alive=alive, note=note)
        try:
            started = Shared(server.start(), str(server.log))
            replace_file(note, json.dumps(started._asdict()).encode(), place / f'draft-{os.getpid()}')
        except BaseException:
            server.close()
            raise
        server.let_go()
        return started


def _noted(note: Path) -> Shared | None:
    try:
        told = read_json(note)
        return Shared(str(told['address']), str(told['log']))
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _key(serve: Serve, asked: Asked) -> str:
    """Return the name of a folder that is the same for who asks for the same here."""
    return _digest([serve.config(), asked._replace(key='')._asdict(), asked.visible(), *_here()])


def _run_lock(folder: Path) -> Path:
    """Return the file that each `gpassk run` here has locked."""
    return folder / f'run-{_digest(_here())}.lock'


def _here() -> list[str]:
    """Return what tells who can share a server: processes of one machine, and of one job of Slurm.

    With a job Slurm ends all that it has started; and the folder may be shared by many machines.
    """
    return [socket.gethostname(), os.environ.get(JOB, '')]


def _digest(told: Any) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


@contextmanager
def _locked(path: Path, kind: int) -> Iterator[IO[bytes]]:
    with path.open('ab') as file:
        fcntl.flock(file, kind)
        yield file
