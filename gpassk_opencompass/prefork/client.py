"""A command that is done by a copy of the warm process: its place in the tree of processes.

Run as a program, by file and without the package, since it starts with every task:

    python -IS client.py SOCKET SCRIPT [ARGUMENT …]

does what `python SCRIPT ARGUMENT …` does: the same output, exit code, directory and environment; signals are
passed on. What cannot be done by a copy, or where no server answers, Python itself does.
"""

from __future__ import annotations

import array
import json
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

GPUS = 'GPASSK_GPUS'
"""Environment variable: the real ids of the GPUs that a command may use, as its virtual number 0, 1, …"""

VISIBLE = 'CUDA_VISIBLE_DEVICES'

PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

_LENGTH = struct.Struct('>I')
_MOST_FDS = 253


def send(connection: socket.socket, message: Mapping[str, Any], fds: Sequence[int] = ()) -> None:
    """Send a message, and open files with it.

    Raises:
        OSError: nobody listens (any more).
    """
    text = json.dumps(message).encode()
    data = _LENGTH.pack(len(text)) + text
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))] if fds else []
    sent = connection.sendmsg([data], rights)
    if sent < len(data):  # sending nothing is an error, too, where the other side is done and gone
        connection.sendall(data[sent:])


def receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Receive a message and the files that came with it; None where the other side has ended.

    Raises:
        OSError: of the connection, also a time limit of it.
    """
    fds: list[int] = []
    head = _read(connection, _LENGTH.size, fds)
    text = head and _read(connection, _LENGTH.unpack(head)[0], fds)
    if not text:
        for fd in fds:
            os.close(fd)
        return None
    return json.loads(text), fds


def _read(connection: socket.socket, size: int, fds: list[int]) -> bytes:
    data = b''
    while len(data) < size:
        room = socket.CMSG_SPACE(_MOST_FDS * 4)
        try:
            part, rights, _, _ = connection.recvmsg(size - len(data), room, socket.MSG_CMSG_CLOEXEC)
        except ConnectionResetError:
            return b''
        for _, _, packed in rights:
            fds.extend(array.array('i', packed[: len(packed) // 4 * 4]))
        if not part:
            return b''
        data += part
    return data


def is_command(words: Sequence[str]) -> bool:
    """Whether words are the `opencompass` command itself, and not one of its tasks."""
    return os.path.basename(words[0]) == 'opencompass'


def with_real_gpus(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment with the real ids of the GPUs in the place of virtual numbers.

    >>> with_real_gpus({'CUDA_VISIBLE_DEVICES': '1,0', 'GPASSK_GPUS': 'GPU-a,GPU-b'})
    {'CUDA_VISIBLE_DEVICES': 'GPU-b,GPU-a'}

    Raises:
        ValueError: there is no GPU of such a number.
    """
    others = {name: value for name, value in environment.items() if name != GPUS}
    if GPUS not in environment or not environment.get(VISIBLE):
        return others
    ids = [one for one in environment[GPUS].split(',') if one]
    numbers = environment[VISIBLE].split(',')
    unknown = [one for one in numbers if not one.strip().isdigit() or int(one) >= len(ids)]
    if unknown:
        raise ValueError(f'{VISIBLE} has {unknown[0]!r}; {GPUS} names {len(ids)} GPUs: {environment[GPUS]!r}')
    return {**others, VISIBLE: ','.join(ids[int(one)] for one in numbers)}


def main() -> NoReturn:
    """Have the words done, and end as they end."""
    address, words = sys.argv[1], sys.argv[2:]
    fds = _open_files()
    environment = dict(os.environ)
    if not is_command(words):
        try:
            environment = with_real_gpus(environment)
        except ValueError as error:
            sys.exit(str(error))
    connection = socket.socket(socket.AF_UNIX)
    order = {
        'words': words,
        'folder': os.getcwd(),
        'environment': environment,
        'mask': _mask(),
        'session': os.getsid(0),
    }
    try:
        connection.connect(address)
        send(connection, order, fds)
    except OSError:
        _plainly(words, environment)
    _wait(connection, words, environment)


def _wait(connection: socket.socket, words: list[str], environment: dict[str, str]) -> NoReturn:
    group = 0
    for number in PASSED_ON:  # from now on: what does it may be at work before it has said so
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda found, _: _pass_on(connection, found))
    while (received := _next(connection)) is not None:
        answer, _ = received
        if 'plain' in answer:
            _plainly(words, environment)
        if 'code' in answer:
            _end(answer['code'])
        group = answer['group']
    if not group:
        _plainly(words, environment)
    _end_group(group)
    sys.exit('gpassk: the process that does this was killed, and what it did has been ended')


def _end_group(group: int) -> None:
    """End a process group: asked first, so that clients in it end what they wait for."""
    with suppress(ProcessLookupError):
        for number in (signal.SIGTERM, signal.SIGKILL):
            os.killpg(group, number)
            for _ in range(100):
                time.sleep(0.05)
                os.killpg(group, 0)


def _next(connection: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    try:
        return receive(connection)
    except OSError:
        return None


def _pass_on(connection: socket.socket, number: int) -> None:
    with suppress(OSError):
        send(connection, {'signal': number})


def _plainly(words: list[str], environment: dict[str, str]) -> NoReturn:
    """Become the Python that does it."""
    if is_command(words) and GPUS in environment:  # its tasks will be plain, too, and see real numbers
        environment = {**environment, VISIBLE: environment[GPUS]}
        del environment[GPUS]
    os.execve(sys.executable, [sys.executable, *words], environment)


def _end(code: int) -> NoReturn:
    if code < 0:
        with suppress(OSError):  # of SIGKILL nothing can be changed
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)


def _open_files() -> list[int]:
    """Return the three standard streams, then whatever else was handed to this process."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
    others = []
    for name in os.listdir('/proc/self/fd'):
        with suppress(OSError):  # that of the listing itself
            os.fstat(int(name))
            others.append(int(name))
    return [0, 1, 2, *(number for number in sorted(others) if number > 2)]


def _mask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


if __name__ == '__main__':
    main()
