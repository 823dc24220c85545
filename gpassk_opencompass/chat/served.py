"""What servers say of themselves: which model, which weights, which version."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from yarl import URL

from ..completion import Kind, Reply, Trouble, kind_of
from ..keys import hidden
from .exchange import read_body
from .routes import base_of

if TYPE_CHECKING:
    import aiohttp

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


def _sizes(meta: Any) -> str:
    names = ('n_params', 'size', 'n_vocab')
    sizes = {name: meta.get(name) for name in names} if isinstance(meta, Mapping) else {}
    return ', '.join(f'{name} {value}' for name, value in sizes.items() if isinstance(value, int))


_VERSIONS = {
    'vllm': ('version', 'version'),
    'llamacpp': ('props', 'build_info'),
    'sglang': ('get_server_info', 'version'),
}
"""`owned_by` in a list of models → where its server tells its version, and under which name."""


class About(NamedTuple):
    """What a server says of itself when asked; '' where it is silent."""

    engine: str = ''
    """`owned_by` of its list of models: vllm, llamacpp, sglang, lmdeploy …"""
    version: str = ''
    """Of the engine."""
    root: str = ''
    """See `Served`."""

    def hiding(self, *secrets: str) -> About:
        """Return this without the secrets, which a server can quote anywhere."""
        return About(*(hidden(text, *secrets) for text in self))


async def about(session: aiohttp.ClientSession, url: URL, name: str, proxy: str | None = None) -> About:
    """Ask a server what serves a model, as far as it says so.

    Args:
        url: its endpoint.
        name: of the model there.
        proxy: the proxy to go through.

    Raises:
        Trouble: it cannot be reached.
    """
    base = base_of(url)
    models = await _json_at(session, base / 'models', proxy)
    engine = _owner(models, name)
    place, field = _VERSIONS.get(engine, ('', ''))
    root = base.parent if base.name == 'v1' else base
    told = await _json_at(session, root / place, proxy) if place else None
    version = _text(told.get(field)) if isinstance(told, Mapping) else ''
    return About(engine, version, told_in_list(models, name).root)


async def _json_at(session: aiohttp.ClientSession, address: URL, proxy: str | None) -> Any:
    """Return what stands at an address; None for anything but JSON."""
    import aiohttp

    try:
        async with session.get(address, allow_redirects=False, proxy=proxy) as response:
            if response.status == 200:
                return json.loads(await read_body(response))
            if kind_of(response.status) is Kind.DOWN:
                raise Trouble(Kind.DOWN, f'HTTP {response.status}')
    except aiohttp.ClientConnectorError as error:
        raise Trouble(Kind.DOWN, 'no connection', str(error)) from error
    except Trouble as trouble:
        if trouble.kind is Kind.DOWN:
            raise
    except (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError, RecursionError):
        pass
    return None


def _owner(models: Any, name: str) -> str:
    try:
        return next((_text(card.get('owned_by')) for card in models['data'] if card['id'] == name), '')
    except (LookupError, TypeError, AttributeError):
        return ''


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ''
