"""The process that has OpenCompass imported, of which commands and tasks are copies.

As a program: `python -m gpassk_opencompass.prefork.server LISTENER OWNER MODULES [LOG]`, with the file
numbers of a socket that listens and of a pipe that ends with the owner, what to import, with commas between,
and a file that gets a line of JSON an event.
"""

from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import socket
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import IO, Any, NoReturn

from . import client
from .client import is_command, receive, send
from .groups import Group, Job, Model
from .model_process import do_tasks
from .preload import differs, has_touched_a_gpu, preload
from .scripts import Order, become, end, freeze, run, settle_in
from .tasks import Held, Release, held_by, script_of

POLL = 0.02
"""Seconds between two looks at what comes to its end."""

REQUEST = 10.0
"""Seconds that a client may take for its request, which it sends at once."""


class Server:
    """Copies this process for whoever asks; one thread, so that copies are whole.

    Args:
        listener: where clients ask.
        owner: a pipe that ends when the owner does.
        imported: the environment in which all was imported.
        log: takes a line an event; None: none.
    """

    def __init__(
        self, listener: socket.socket, owner: int, imported: Mapping[str, str], log: IO[str] | None
    ) -> None:
        self._listener, self._owner, self._imported, self._log = listener, owner, imported, log
        self._touched = has_touched_a_gpu()
        self._jobs: list[Job] = []
        self._models: list[Model] = []
        self._releases: list[tuple[socket.socket, Release]] = []
        self._closing = self._hurried = False
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._watch(self._woken, lambda: os.read(self._woken, 4096))
        self._watch(owner, self._close)
        self._watch(listener, self._accept)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._hurry)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)

    def serve(self) -> None:
        """Serve until the owner ends; then end all that was started here, and return.

        SIGTERM kills all of it at once.
        """
        self._note('ready', touched=self._touched)
        while not self._closing or self._jobs or self._models:
            for key, _ in self._selector.select(POLL if self._is_restless() else None):
                if key in self._selector.get_map().values():  # not closed meanwhile
                    key.data()
            if self._hurried:
                self._kill_all()
            self._reap()
            self._settle()

    def _hurry(self, number: int, frame: FrameType | None) -> None:
        """Take note of SIGTERM: all is to end at once."""
        self._hurried = True

    def _kill_all(self) -> None:
        self._closing, self._hurried = True, False
        for group in self._groups():
            group.kill()

    def _is_restless(self) -> bool:
        waiting = any(job.group is None for job in self._jobs)
        return waiting or bool(self._releases) or any(group.is_ending for group in self._groups())

    def _groups(self) -> list[Group]:
        copies = [job.group for job in self._jobs if job.group and not isinstance(job.group, Model)]
        return [*copies, *self._models]

    def _watch(self, file: Any, react: Callable[[], object]) -> None:
        self._selector.register(file, selectors.EVENT_READ, react)

    def _note(self, event: str, **fields: Any) -> None:
        if self._log:
            print(json.dumps({'event': event, 'at': time.time(), **fields}), file=self._log, flush=True)

    # What comes in

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        connection.settimeout(REQUEST)
        received = _received(connection)
        if received is None:
            connection.close()
        elif 'release' in received[0]:
            self._release(connection, Release(received[0]['release'], frozenset(received[0]['gpus'])))
        else:
            self._take(connection, Order.of(received[0]), received[1])

    def _take(self, connection: socket.socket, order: Order, fds: list[int]) -> None:
        found = script_of(order.words, order.folder, order.environment)
        held = None
        why = 'not one script'
        if found is not None:
            words, environment = found
            order = Order(words, order.folder, environment, order.mask, order.session)
            held = held_by(words, order.folder, environment)
            why = self._why_plain(order, held)
        job = Job(connection, order, fds, held)
        if why:
            self._note('plain', words=order.words, why=why)
            self._say(job, {'plain': why})
            self._leave(job)
        else:
            self._jobs.append(job)
            self._watch(connection, lambda: self._hear(job))

    def _why_plain(self, order: Order, held: Held | None) -> str:
        if name := differs(order.environment, self._imported):
            return f'${name} is not as it was when OpenCompass was imported'
        on_gpu = order.environment.get(client.VISIBLE) and not is_command(order.words)
        return (
            'it needs a GPU, and this process has touched one'
            if on_gpu and self._touched and not held
            else ''
        )

    def _hear(self, job: Job) -> None:
        """Pass on a signal; where the client is gone, what it asked for is ended with it."""
        assert job.connection is not None
        received = _received(job.connection)
        if received is not None:
            number = received[0]['signal']
            job.group.signal(number) if job.group else self._answer(job, -number)
        else:
            self._hang_up(job)
            if job.group is None:
                self._leave(job)
            else:
                job.group.kill()

    def _release(self, connection: socket.socket, release: Release) -> None:
        for model in self._models:
            if release.is_of(model.held):
                model.end() if model.job else model.retire()
        self._releases.append((connection, release))

    def _told(self, model: Model) -> None:
        """Take the exit code of the task of a model process."""
        received = _received(model.control)
        if received is None:
            self._selector.unregister(model.control)
            return
        code, made = received[0]['code'], received[0]['made']
        self._note('done', pid=model.pid, code=code, made=made)
        if code == 0 and (job := model.done()):
            self._answer(job, 0)
        elif code:
            model.failed = code
            model.end_soon()

    def _close(self) -> None:
        self._closing = True
        self._selector.unregister(self._owner)
        for group in self._groups():
            if isinstance(group, Model) and not group.job:
                group.retire()
            else:
                group.end()

    # What comes to its end

    def _reap(self) -> None:
        groups = {group.pid: group for group in self._groups()}
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] in groups:
                    groups[ended[0]].code = os.waitstatus_to_exitcode(ended[1])

    def _settle(self) -> None:
        for model in [model for model in self._models if model.look()]:
            self._models.remove(model)
            self._drop(model.control)
            self._note('model ended', pid=model.pid, code=model.code)
            if model.job:
                self._answer(model.job, model.code if model.failed is None else model.failed)
        for job in list(self._jobs):
            if job.group is None:
                self._begin(job)
            elif not isinstance(job.group, Model) and job.group.look() and self._is_alone(job.group):
                self._answer(job, job.group.code)
        for waiting in list(self._releases):
            connection, release = waiting
            if not any(release.is_of(model.held) for model in self._models):
                self._releases.remove(waiting)
                with suppress(OSError):
                    send(connection, {'released': release.session})
                connection.close()

    def _is_alone(self, group: Group) -> bool:
        """Whether no task is left of a command that has ended; they are asked to end."""
        left = [job for job in self._jobs if job.order.session == group.pid]
        for job in left:
            if job.group:
                job.group.end()
            else:
                self._answer(job, -signal.SIGTERM)
        return not left

    def _answer(self, job: Job, code: int | None) -> None:
        self._note('ended', words=job.order.words, code=code)
        self._say(job, {'code': code})
        self._leave(job)

    def _say(self, job: Job, message: Mapping[str, Any]) -> None:
        with suppress(OSError):
            if job.connection:
                send(job.connection, message)

    def _leave(self, job: Job) -> None:
        self._hang_up(job)
        job.close_files()
        if job in self._jobs:
            self._jobs.remove(job)

    def _hang_up(self, job: Job) -> None:
        if job.connection:
            self._drop(job.connection)
            job.connection = None

    def _drop(self, connection: socket.socket) -> None:
        with suppress(KeyError, ValueError):
            self._selector.unregister(connection)
        connection.close()

    # What begins

    def _begin(self, job: Job) -> None:
        if self._closing:
            self._answer(job, -signal.SIGTERM)
            return
        try:
            if job.held is None:
                self._started(job, Group(self._fork(lambda: self._copy(job), 'copy', job.order.words)))
            else:
                self._find_model(job, job.held)
        except OSError as error:  # no memory, no more processes: Python itself will say so
            self._say(job, {'plain': str(error)})
            self._leave(job)

    def _find_model(self, job: Job, held: Held) -> None:
        """Hand a task to the process that has its model, or to a new one when there is room."""
        model = next((model for model in self._models if model.held == held and model.is_idle), None)
        if model is None:
            rivals = [model for model in self._models if model.competes_with(held)]
            for rival in rivals:
                rival.retire()
            if rivals:
                return
            model = self._new_model(job.order, held)
        try:
            send(model.control, asdict(job.order), job.fds)
        except OSError:  # it has just died, as the next look will show
            return
        model.job = job
        self._started(job, model)

    def _started(self, job: Job, group: Group) -> None:
        job.group = group
        self._say(job, {'group': group.pid})
        job.close_files()

    def _new_model(self, order: Order, held: Held) -> Model:
        own, its = socket.socketpair()
        pid = self._fork(lambda: self._model(its, order), 'model', [held.session, *sorted(held.gpus)])
        its.close()
        model = Model(pid, held, own)
        self._models.append(model)
        self._watch(own, lambda: self._told(model))
        return model

    def _fork(self, work: Callable[[], NoReturn], what: str, words: list[str]) -> int:
        """Copy this process; return its number when it is the leader of a session of its own."""
        ready, settled = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', DeprecationWarning)  # of a fork beside idle threads of libraries
            pid = os.fork()
        if pid == 0:
            try:
                settle_in()
                os.close(ready)
                os.close(settled)
                work()
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        os.close(settled)
        os.read(ready, 1)
        os.close(ready)
        self._note(what, pid=pid, words=words)
        return pid

    # In a copy

    def _copy(self, job: Job) -> NoReturn:
        fds, job.fds = job.fds, []
        address = self._listener.getsockname()
        self._forget()
        code = 1
        try:
            become(job.order, fds)
            if is_command(job.order.words):
                sys.executable = client_words(address)
            code = run(job.order.words)
        except OSError as error:
            print(f'gpassk: {error}', file=sys.stderr)
        end(code)

    def _model(self, control: socket.socket, order: Order) -> NoReturn:
        self._forget()
        if self._touched:
            os.set_inheritable(control.fileno(), True)
            line = [sys.executable, '-m', f'{__package__}.model_process', str(control.fileno())]
            os.execve(sys.executable, line, order.environment)
        do_tasks(control)

    def _forget(self) -> None:
        """Close what belongs to the process that was copied."""
        self._selector.close()
        self._listener.close()
        for fd in (self._owner, self._woken, self._wake):
            os.close(fd)
        for connection in (
            *(job.connection for job in self._jobs),
            *(model.control for model in self._models),
            *(connection for connection, _ in self._releases),
        ):
            if connection:
                connection.close()
        for job in self._jobs:
            job.close_files()


def _received(connection: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    try:
        return receive(connection)
    except (OSError, ValueError):
        return None


def client_words(address: str) -> str:
    """Return what stands on a command line in the place of Python, for a copy to do it."""
    return f'{sys.executable} -IS {client.__file__} {address}'


def main() -> None:
    """Import, then serve."""
    handed, owner, modules, *log = sys.argv[1:]
    imported = preload(filter(None, modules.split(',')))
    freeze()
    with (Path(log[0]) if log else Path(os.devnull)).open('a', encoding='utf-8') as file:
        listener = socket.socket(fileno=int(handed))
        folder = os.path.dirname(listener.getsockname())
        Server(listener, int(owner), imported, file if log else None).serve()
        shutil.rmtree(folder, ignore_errors=True)  # the owner may be dead


if __name__ == '__main__':
    main()
