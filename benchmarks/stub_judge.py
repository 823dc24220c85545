"""A judge server that says yes after a fixed time, and judges canaries right, in a process of its own.

    python -m benchmarks.stub_judge 0.2 2    # seconds a reply, ports; prints the ports

It ends when its input does.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web

from gpassk_opencompass import Verdict
from gpassk_opencompass.judges.llm.canaries import CANARIES

from . import ROOT

MODEL = 'judge'

WRONG = 'sic'
"""Within the prompt, as a word of the answer: the server says no."""

_MARK = f' {WRONG} '.encode()
_WRONG = [canary.pair for canary in CANARIES if canary.verdict is Verdict.INCORRECT]
_QUESTIONS = {json.dumps(pair.question)[1:-1].encode() for pair in _WRONG}
"""As a request has them."""


@contextmanager
def stub_judge(latency: float, ports: int) -> Iterator[list[str]]:
    """Its URLs, as long as the context lasts."""
    command = [sys.executable, '-m', 'benchmarks.stub_judge', str(latency), str(ports)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert server.stdout is not None  # a pipe
    try:
        yield [f'http://127.0.0.1:{port}' for port in json.loads(server.stdout.readline())]
    finally:
        server.communicate()


async def _serve(latency: float, ports: int) -> None:
    yes, no = _completion(r'\boxed{yes}'), _completion(r'\boxed{no}')

    requests = 0

    async def answer(request: web.Request) -> web.Response:
        nonlocal requests
        requests += 1
        asked = await request.read()
        await asyncio.sleep(latency)
        return web.Response(body=no if _is_wrong(asked) else yes, content_type='application/json')

    async def count(_: web.Request) -> web.Response:
        return web.json_response(requests)

    app = web.Application(client_max_size=2**26)
    app.router.add_get('/requests', count)
    app.router.add_post('/v1/chat/completions', answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    for _ in range(ports):
        await web.TCPSite(runner, '127.0.0.1', 0).start()
    print(json.dumps([address[1] for address in runner.addresses]), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await runner.cleanup()


def _is_wrong(asked: bytes) -> bool:
    """Whether it is marked, or a canary with a wrong answer; only canaries are taken apart."""
    if _MARK in asked:
        return True
    if not any(question in asked for question in _QUESTIONS):
        return False
    prompt = json.loads(asked)['messages'][-1]['content']
    return any(pair.question in prompt and pair.answer in prompt for pair in _WRONG)


def _completion(text: str) -> bytes:
    choice = {'index': 0, 'message': {'role': 'assistant', 'content': text}, 'finish_reason': 'stop'}
    reply = {'id': 'x', 'object': 'chat.completion', 'created': 0, 'model': MODEL, 'choices': [choice]}
    return json.dumps(reply).encode()


if __name__ == '__main__':
    asyncio.run(_serve(float(sys.argv[1]), int(sys.argv[2])))
