"""What servers say of themselves: which model, which weights, which version."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import aiohttp
from yarl import URL

from ..keys import hidden
from .completion import Reply
from .exchange import read_body
from .trouble import Trouble

_LIST_TIMEOUT = 15.0
_HOSTED = 'fp_'
"""How fingerprints of hosted APIs begin (OpenAI, Azure, DeepSeek). They change from request to request under
one model."""


class Served(NamedTuple):
    """The words of a server; '' where it is silent."""

    model: str = ''
    """What its replies call the model, e.g. the dated name behind an alias."""
    root: str = ''
    """The weights: `root` of its list of models (vLLM: the path), or the size that llama.cpp tells there."""
    fingerprint: str = ''
    """`system_fingerprint` of its replies if it lasts as long as the server: vLLM's stands for model,
    version and parallelism. Not that of hosted APIs."""

    def told(self) -> dict[str, str]:
        """Return what is known, JSON-able."""
        return {name: value for name, value in self._asdict().items() if value}

    def shown(self, name: str) -> dict[str, str]:
        """Return what a result says of a model called `name`: of a path the last part, and nothing that only
        repeats the name or tells how it is run.
        """
        known = {'model': self.model, 'root': PurePosixPath(self.root).name}
        return {
            part: value for part, value in known.items() if value not in ('', name, PurePosixPath(name).name)
        }

    def filled(self, other: Served) -> Served:
        """Return this with what only the other one tells."""
        return Served(*(mine or its for mine, its in zip(self, other, strict=True)))

    def hiding(self, secret: str) -> Served:
        """Return this without the secret, which a server can quote anywhere."""
        return Served(*(hidden(text, secret) for text in self))

    def differs(self, other: Served) -> str:
        """Return in words where both speak and say different things; '' if nowhere."""
        pairs = zip(self._fields, self, other, strict=True)
        return ', '.join(
            f'{name} {its!r} instead of {mine!r}' for name, mine, its in pairs if mine and its and mine != its
        )


def told_by(reply: Reply) -> Served:
    """Return what a reply says of the model."""
    steady = '' if reply.fingerprint.startswith(_HOSTED) else reply.fingerprint
    return Served(reply.model, '', steady)


def told_in_list(models: Any, name: str) -> Served:
    """Return what a server's list of models (`GET /v1/models`) says of one of them.

    `created` is passed over: vLLM, SGLang and lmdeploy put the time of the request there.
    """
    try:
        [card] = [card for card in models['data'] if card['id'] == name]
        return Served(root=_text(card.get('root')) or _sizes(card.get('meta')))
    except (ValueError, LookupError, TypeError, AttributeError):
        return Served()


def served_of(told: Any) -> Served:
    """Return what `Served.told` gave."""
    known = told if isinstance(told, Mapping) else {}
    return Served(*(_text(known.get(name)) for name in Served._fields))


def _sizes(meta: Any) -> str:
    names = ('n_params', 'size', 'n_vocab')
    sizes = {name: meta.get(name) for name in names} if isinstance(meta, Mapping) else {}
    return ', '.join(f'{name} {value}' for name, value in sizes.items() if isinstance(value, int))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ''


async def list_of_models(session: aiohttp.ClientSession, url: URL) -> Any:
    """Return what a server's `GET /v1/models` says; None where there is no such thing."""
    address = url.parent.parent / 'models'
    timeout = aiohttp.ClientTimeout(total=_LIST_TIMEOUT)
    with suppress(aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError, RecursionError, Trouble):
        async with session.get(address, allow_redirects=False, timeout=timeout) as response:
            if response.status == 200:
                return json.loads(await read_body(response))
    return None
