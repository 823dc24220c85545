"""Ports of the loopback: one that is free, and whose process listens on one."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

HOST = '127.0.0.1'

_RANGE = range(18000, 32000)
"""Below the ports that the system gives to connections by itself, so that none is taken while a server is
started again."""
_ATTEMPTS = 200
_LISTENS = '0A'


def free_port(but: Collection[int] = ()) -> int:
    """Return a port that nobody listens on now; OSError if none is found.

    Args:
        but: ports that are not to be tried.
    """
    chance = random.SystemRandom()  # copies of one process must not choose alike
    for _ in range(_ATTEMPTS):
        port = chance.choice(_RANGE)
        if port not in but and _is_free(port):
            return port
    raise OSError(f'no free port found between {_RANGE[0]} and {_RANGE[-1]}')


def _is_free(port: int) -> bool:
    for address in (HOST, '0.0.0.0'):  # a server may listen on all
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
            except OSError:
                return False
    return True


def listens_elsewhere(port: int, keeper: int) -> bool:
    """Whether a process that does not descend from `keeper` listens on a port, as far as /proc tells."""
    sockets = _listening(port)
    owners = (
        {int(path.parts[2]) for path in _open_sockets() if _target(path) in sockets} if sockets else set()
    )
    return bool(owners) and not any(keeper in _ancestors(owner) for owner in owners)


def _listening(port: int) -> set[str]:
    found = set()
    for table in ('/proc/net/tcp', '/proc/net/tcp6'):
        with suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENS and int(fields[1].rpartition(':')[2], 16) == port:
                    found.add(f'socket:[{fields[9]}]')
    return found


def _open_sockets() -> list[Path]:
    found: list[Path] = []
    for folder in Path('/proc').glob('[0-9]*/fd'):
        with suppress(OSError):  # another user's, or gone
            found += folder.iterdir()
    return found


def _target(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ''


def _ancestors(process: int) -> set[int]:
    found: set[int] = set()
    while process > 1 and process not in found:
        found.add(process)
        try:
            stat = Path(f'/proc/{process}/stat').read_text(errors='replace')
        except OSError:
            break
        process = int(stat.rpartition(')')[2].split()[1])
    return found
