"""A server that is started here for the model: `OpenAISDK` with a seed a sample, and its server with it."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import Any

from opencompass.registry import MODELS
from opencompass.utils import get_logger

from ...chat.routes import endpoints
from ...errors import InputError
from ...serving import Running, read_serve, served_model, server
from .chats import PATIENCE
from .openai_api import SeededOpenAISDK

_NOWHERE = 'http://127.0.0.1:9/v1'  # until the server has an address; port 9 discards what it gets
_GIVEN = ('openai_api_base', 'openai_proxy_url', 'http_client_cfg')


@MODELS.register_module()
class SeededServed(SeededOpenAISDK):
    """A server that is started for this model, at the first need, and asked as `SeededOpenAISDK` asks one.

    It ends with the process. Should it die the run ends, with the end of its log in the error; the log is in
    `<work_dir>/<time>/logs/server`. Under `gpassk run` the server is there already, for all runs of the
    model.

    Args:
        path: the weights, as the command line names them: {model}.
        serve: how the server is started: command, ready, timeout, env; see `serving.Serve`.
        served_name: what requests call the model: {name}; by default the last part of `path`.
        tp, pp: {tp} and {pp}; the GPUs are those that the task has.
        key_env: the environment variable with the server's key, if its command line gives it one.
        patience: seconds to go on without a single reply; by default as long as the server may take to be
            ready.
        tokenizer_path: counts tokens, where `max_seq_len` is to shorten prompts; by default the server says
            which are too long.
        kwargs: as for `SeededOpenAISDK`.

    Raises:
        InputError: as for `SeededOpenAISDK`, or see `serving.read_serve`.
    """

    loads = True
    """The weights behind `path` are loaded for this model, whoever answers its requests."""

    def __init__(
        self,
        path: str,
        *,
        serve: Mapping[str, Any],
        served_name: str | None = None,
        tp: int = 1,
        pp: int = 1,
        key_env: str | None = None,
        patience: float | None = None,
        tokenizer_path: str | None = None,
        **kwargs: Any,
    ) -> None:
        if taken := sorted(set(_GIVEN) & set(kwargs)):
            raise InputError(f'{taken[0]}: the server is started here, and asked without a proxy; remove it')
        self._serve = read_serve(serve)
        self._counts = tokenizer_path is not None
        self._running: Running | None = None
        self._stack = ExitStack()
        name = served_name or PurePosixPath(path).name or path
        super().__init__(
            name,
            openai_api_base=_NOWHERE,
            key_env=key_env,
            key='EMPTY',
            patience=max(PATIENCE, self._serve.timeout) if patience is None else patience,
            http_client_cfg={'trust_env': False},
            tokenizer_path=tokenizer_path,
            **kwargs,
        )
        told = {'path': path, 'serve': serve, 'served_name': name, 'tp': tp, 'pp': pp, 'key_env': key_env}
        self._served = served_model(told)

    def generate(
        self, inputs: list[Any], max_out_len: int = 512, temperature: float = 0.7, **kwargs: Any
    ) -> list[str]:
        """See the base class; the server is started at the first call.

        Raises:
            InputError, IncompleteError: it cannot be started, or has died; see `serving.server`.
        """
        self._bring_up().check()
        return super().generate(inputs, max_out_len, temperature, **kwargs)

    def _generate(self, input: Any, max_out_len: int, temperature: float) -> str:
        """See the base class."""
        self._bring_up().check()
        return super()._generate(input, max_out_len, temperature)

    def _bring_up(self) -> Running:
        if self._running is None:
            self._running = self._stack.enter_context(server(self._served, self._logs(), get_logger().info))
            # With --debug the process goes on, to other models and to the evaluation.
            weakref.finalize(self, self._stack.close)
            urls = [url for address in self._running.addresses for url in endpoints(address)]
            self.chats.go_to(urls, self._running.check)
        return self._running

    def _logs(self) -> Path:
        """Return `<work_dir>/<time>/logs/server`, for another caller than OpenCompass ./logs/server."""
        folder = self.chats.notes.folder
        above = [] if folder is None else [path for path in folder.parents if path.name == 'predictions']
        return (above[-1].parent if above else Path.cwd()) / 'logs' / 'server'

    def _init_tokenizer(self) -> None:
        """Load one only if it was named; the base class downloads that of GPT-4."""
        if self._counts:
            super()._init_tokenizer()

    def get_token_len(self, prompt: str) -> int:
        """Return the tokens of a text, 0 where the server counts them."""
        return int(super().get_token_len(prompt)) if self._counts else 0
