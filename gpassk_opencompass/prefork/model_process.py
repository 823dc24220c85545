"""A process in which a model stays loaded: the tasks of its runs are done there, one after the other.

As a program it is one that has imported nothing yet, with the socket of its tasks as a file number.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from . import kept
from .client import receive, send
from .scripts import Order, become, end, let_go, run

_SEED = 67280421310721
"""With which torch begins in a new process."""


def do_tasks(control: socket.socket) -> NoReturn:
    """Do task after task until there are no more, or one fails: what it broke must not meet the next one.

    Args:
        control: tasks come from there, exit codes go back.
    """
    kept.keep()
    code = 0
    let_go()
    while code == 0 and (received := _next(control)) is not None:
        message, fds = received
        with _undone():
            code = _done(Order.of(message), fds)
        for fd in fds[3:]:
            os.close(fd)
        with suppress(OSError):  # nobody waits for it any more
            send(control, {'code': code, 'made': kept.made()})
    end(code)


def _next(control: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    try:
        return receive(control)
    except OSError:
        return None


def _done(order: Order, fds: list[int]) -> int:
    try:
        become(order, fds)
        return run(order.words)
    except OSError as error:
        print(f'gpassk: {error}', file=sys.stderr)
        return 1
    finally:
        if sys.exc_info()[0] is None:
            let_go()


@contextmanager
def _undone() -> Iterator[None]:
    """Undo what a task does to this process, but for what it loads."""
    search, arguments = list(sys.path), list(sys.argv)
    torch = sys.modules.get('torch')
    if torch is not None:
        torch.manual_seed(_SEED)
    yield
    folder = os.path.join(os.getcwd(), '')
    for name, module in list(sys.modules.items()):  # another run has other files of the same name
        if (getattr(module, '__file__', None) or '').startswith(folder):
            del sys.modules[name]
    sys.path[:], sys.argv[:] = search, arguments
    sys.modules['__main__'] = sys.modules[__name__]
    utils = sys.modules.get('opencompass.utils')
    if utils is not None:
        utils.get_logger().filters.clear()
    os.chdir('/')
    gc.collect()


if __name__ == '__main__':
    do_tasks(socket.socket(fileno=int(sys.argv[1])))
