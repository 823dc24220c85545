"""The server of a judge: what a template or a config says of it as `judge_serve`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..keys import read_key
from .line import Serve, read_serve
from .ports import HOST
from .server import Asked
from .shared import SERVERS, shared_server

_FIELDS = ('server', 'path', 'name', 'tp', 'pp', 'gpus', 'key_env', 'serve')


@dataclass(frozen=True)
class JudgeServer:
    """A server for a judge, checked.

    Args:
        serve: how it is started.
        path: the weights: {model}.
        name: what requests call them: {name}.
        tp, pp: over how many GPUs they are spread; tp 0: it needs none.
        gpus: of its own, as CUDA_VISIBLE_DEVICES names them; None: those of the evaluation.
        key_env: the environment variable with the server's key, if its command line gives it one.
    """

    serve: Serve
    path: str
    name: str
    tp: int = 1
    pp: int = 1
    gpus: str | None = None
    key_env: str = ''

    def config(self) -> dict[str, Any]:
        """Return this as it stands in a config."""
        told = {'path': self.path, 'name': self.name, 'tp': self.tp, 'serve': self.serve.config()}
        if self.pp > 1:
            told['pp'] = self.pp
        if self.gpus is not None:
            told['gpus'] = self.gpus
        return {**told, 'key_env': self.key_env} if self.key_env else told

    def asked(self, host: str = HOST) -> Asked:
        """Return which model the server is to have, and where it listens.

        Raises:
            InputError: the key in the environment cannot be sent.
        """
        key = read_key(self.key_env) if self.key_env else ''
        return Asked(self.path, self.name, max(1, self.tp), self.pp, self.gpus, host, key)

    def settings(self) -> dict[str, Any]:
        """Return what an LLM judge is told of it beside its name and address."""
        known = {'patience': self.serve.timeout}  # it may be started again meanwhile
        return {**known, 'api_key_env': self.key_env} if self.key_env else known

    @contextmanager
    def started(self, notes: Path, say: Callable[[str], None]) -> Iterator[str]:
        """Start it, or find it started, and give its address as long as the block lasts.

        One that needs no GPUs, or has some for its own, is kept for all evaluations of a `gpassk run`;
        another one ends with the last evaluation that uses it, so that the models have the GPUs again.

        Args:
            notes: `.gpassk` beside the work directories.
            say: is told what happens.

        Raises:
            InputError, IncompleteError: see `Server.start`.
        """
        asked = self.asked()
        lasts = self.gpus is not None or self.tp == 0
        with shared_server(notes / SERVERS, self.serve, asked, say, lasts=lasts) as server:
            yield server.address


def read_judge_server(given: Any) -> JudgeServer:
    """Read `judge_serve`: dict(server='vllm', path='Qwen/Qwen2.5-72B-Instruct', tp=4, gpus='4,5,6,7').

    `serve` is as of the engine `serve`: dict(command=…, arguments=…, ready=…, timeout=…, env=…).

    Raises:
        InputError: an unknown field, no path, or a value of another type.
    """
    if not isinstance(given, Mapping):
        raise InputError(f"judge_serve = {given!r}: expected a dict like dict(server='vllm', path='org/m')")
    if unknown := sorted(set(map(str, given)) - set(_FIELDS)):
        raise InputError(f'judge_serve has {unknown}; it takes {", ".join(_FIELDS)}')
    path = given.get('path')
    if not isinstance(path, str) or not path.strip('./ '):
        raise InputError(f"judge_serve.path = {path!r}: which model judges? e.g. 'Qwen/Qwen2.5-72B-Instruct'")
    texts = {name: given[name] for name in ('name', 'gpus', 'key_env') if name in given}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise InputError(f'judge_serve.{name} = {text!r}: expected a text')
    numbers = {name: given[name] for name, least in (('tp', 0), ('pp', 1)) if name in given}
    for name, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, int) or number < (name == 'pp'):
            raise InputError(f'judge_serve.{name} = {number!r}: expected a whole number of GPUs')
    try:
        serve = read_serve(given.get('serve', {}), given.get('server'))
    except InputError as error:
        raise InputError(f'judge_serve: {error}') from error
    called = texts.pop('name', '') or path.rstrip('/').rpartition('/')[2]
    return JudgeServer(serve, path, called, **numbers, **texts)
