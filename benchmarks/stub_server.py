"""A server of OpenAI's protocol that answers after a fixed time, in a process of its own.

    python -m benchmarks.stub_server 0.2 2    # seconds a reply, ports; prints the ports

It says yes, and judges canaries right. It ends when its input does. It knows as much of HTTP/1.1 as its
clients send (a Content-Length, and one request of a connection after the other), so that it takes a small
part of the processor that they do.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpassk_opencompass import Verdict
from gpassk_opencompass.judges.prompts import canaries

MODEL = 'stub'

_WRONG = [canary.pair for canary in canaries() if canary.verdict is Verdict.INCORRECT]
_QUESTIONS = {json.dumps(pair.question)[1:-1].encode() for pair in _WRONG}
"""As a request has them."""

_LENGTH = re.compile(rb'\r\ncontent-length: *([0-9]+)', re.IGNORECASE)
_WAITING = 4096
"""Connections that wait to be accepted: a client opens all of its own at once."""


@contextmanager
def stub_server(latency: float, ports: int) -> Iterator[list[str]]:
    """Give its URLs, as long as the context lasts."""
    command = [sys.executable, '-m', 'benchmarks.stub_server', str(latency), str(ports)]
    root = Path(__file__).parents[1]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root)
    assert server.stdout is not None  # a pipe
    try:
        yield [f'http://127.0.0.1:{port}' for port in json.loads(server.stdout.readline())]
    finally:
        server.communicate()


async def _serve(latency: float, ports: int) -> None:
    loop = asyncio.get_running_loop()
    servers = [
        await loop.create_server(lambda: _Connection(loop, latency), '127.0.0.1', 0, backlog=_WAITING)
        for _ in range(ports)
    ]
    print(json.dumps([server.sockets[0].getsockname()[1] for server in servers]), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


class _Connection(asyncio.Protocol):
    """Replies to one request after the other."""

    def __init__(self, loop: asyncio.AbstractEventLoop, latency: float) -> None:
        self._loop, self._latency = loop, latency
        self._received = b''
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b'\r\n\r\n')
        length = _LENGTH.search(head)
        if not end or len(body) < (int(length[1]) if length else 0):
            return
        self._received = b''
        if head.startswith(b'POST /v1/chat/completions '):
            self._loop.call_later(self._latency, self._transport.write, _NO if _is_wrong(body) else _YES)
        else:
            found = head.startswith(b'GET /v1/models ')
            self._transport.write(_MODELS if found else _response('404 Not Found', 'no such thing'))


def _is_wrong(body: bytes) -> bool:
    """Whether it is a canary with a wrong answer; only canaries are taken apart."""
    if not any(question in body for question in _QUESTIONS):
        return False
    prompt = json.loads(body)['messages'][-1]['content']
    return any(pair.question in prompt and pair.answer in prompt for pair in _WRONG)


def _completion(text: str) -> dict[str, Any]:
    choice = {'index': 0, 'message': {'role': 'assistant', 'content': text}, 'finish_reason': 'stop'}
    usage = {'prompt_tokens': 100, 'completion_tokens': 5, 'total_tokens': 105}
    identity = {'id': 'x', 'object': 'chat.completion', 'created': 0, 'model': MODEL}
    return {**identity, 'choices': [choice], 'usage': usage}


def _response(status: str, content: Any) -> bytes:
    body = json.dumps(content).encode()
    head = f'HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n'
    return head.encode() + body


_YES = _response('200 OK', _completion(r'\boxed{yes}'))
_NO = _response('200 OK', _completion(r'\boxed{no}'))
_MODELS = _response('200 OK', {'object': 'list', 'data': [{'id': MODEL, 'object': 'model'}]})


if __name__ == '__main__':
    asyncio.run(_serve(float(sys.argv[1]), int(sys.argv[2])))
