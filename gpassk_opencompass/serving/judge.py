"""The server of a judge: what a template or a config says of it as `judge_serve`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..keys import read_key
from .line import Serve, choosing, read_serve, taken_from_environment
from .ports import HOST
from .server import Asked
from .shared import SERVERS, shared_server

JUDGE_GPUS = 'GPASSK_JUDGE_GPUS'
"""Environment variable of an evaluation: the GPUs of a judge that has none of its own, as `gpassk run` gives
them; CUDA_VISIBLE_DEVICES of its server."""

_FIELDS = ('server', 'path', 'name', 'tp', 'pp', 'gpus', 'key_env', 'serve')


@dataclass(frozen=True)
class JudgeServer:
    """A server for a judge, checked.

    Args:
        serve: how it is started.
        path: the weights: {model}.
        name: what requests call them: {name}.
        tp, pp: over how many GPUs they are spread; tp 0: it needs none.
        gpus: of its own, as CUDA_VISIBLE_DEVICES names them; None: those that `gpassk run` gives it, by hand
            those of the evaluation.
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

    def asked(self) -> Asked:
        """Return which model the server is to have.

        Raises:
            InputError: the key in the environment cannot be sent.
        """
        key = read_key(self.key_env) if self.key_env else ''
        return Asked(self.path, self.name, max(1, self.tp), self.pp, self.gpus, key)

    @property
    def count(self) -> int:
        """Return how many GPUs it takes."""
        return self.tp * self.pp

    def check_here(self) -> None:
        """Refuse a server that cannot be started on this machine; nothing is started.

        Raises:
            InputError: its program is not there, an environment variable is not set, or its key cannot be
                sent.
        """
        asked = self.asked()
        values = {**asked._asdict(), 'host': HOST, 'port': 0, 'gpus': asked.visible()}
        try:
            self.serve.check_program(values, 'judge_serve.serve')
        except InputError as error:
            raise error if 'judge_serve' in str(error) else InputError(f'judge_serve: {error}') from error

    def settings(self) -> dict[str, Any]:
        """Return what an LLM judge is told of it beside its name and address."""
        known = {'patience': self.serve.timeout}  # it may be started again meanwhile
        return {**known, 'api_key_env': self.key_env} if self.key_env else known

    def choosing(self) -> dict[str, Any]:
        """Return what of its command line may change its verdicts, as of a server that samples."""
        serve = self.serve.config()
        return {**choosing(serve), 'variables': taken_from_environment(serve)}

    @contextmanager
    def started(self, notes: Path, say: Callable[[str], None]) -> Iterator[str]:
        """Start it, or find it started, and give its address as long as the block lasts.

        One that needs no GPUs, has some for its own, or is given some by `gpassk run` (`JUDGE_GPUS`), is kept
        for all evaluations of that command; another one ends with the last evaluation that uses it, so that
        the models have the GPUs again.

        Args:
            notes: `.gpassk` beside the work directories.
            say: is told what happens.

        Raises:
            InputError, IncompleteError: see `Server.start`.
        """
        self.check_here()
        asked = self.asked()
        if self.gpus is None and self.count and os.environ.get(JUDGE_GPUS):
            asked = asked._replace(gpus=os.environ[JUDGE_GPUS])
        lasts = asked.gpus is not None or self.tp == 0
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
    _check_gpus(texts.get('gpus'), numbers.get('tp', 1) * numbers.get('pp', 1))
    called = texts.pop('name', '') or path.rstrip('/').rpartition('/')[2]
    return JudgeServer(serve, path, called, **numbers, **texts)


def _check_gpus(named: str | None, count: int) -> None:
    """Refuse fewer GPUs than the server takes; none at all is how one is kept off them."""
    found = [name for name in (named or '').split(',') if name.strip()]
    if found and len(found) < count:
        raise InputError(
            f'judge_serve.gpus = {named!r}: tp × pp = {count}, so it takes {count} GPUs; name them all, or '
            'leave gpus out, and gpassk run gives it some'
        )
