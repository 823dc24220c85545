"""A chat model behind an address of this machine, whose replies a script decides, and commands."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

Reply = tuple[int, dict[str, Any]]


def completion(
    model: str, message: dict[str, Any], reason: str = 'stop', prompt: int = 9, used: int = 20
) -> Reply:
    choice = {'index': 0, 'message': {'role': 'assistant', **message}, 'finish_reason': reason}
    usage = {'prompt_tokens': prompt, 'completion_tokens': used, 'total_tokens': prompt + used}
    about = {'id': 'scripted', 'object': 'chat.completion', 'created': 0, 'model': model}
    return 200, {**about, 'choices': [choice], 'usage': usage}


@contextmanager
def served(reply: Callable[[str, dict[str, Any]], Reply]) -> Iterator[int]:
    """Answer requests by their path and body, several at once, on a port of the loopback; gives the port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'

        def log_message(self, *_: object) -> None:
            pass

        def do_PUT(self) -> None:
            self._send(200, {})

        def do_POST(self) -> None:
            self._send(*reply(self.path, json.loads(self.rfile.read(int(self.headers['Content-Length'])))))

        def _send(self, status: int, body: dict[str, Any]) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header('Content-Type', 'application/json')
            self.send_header('Content-Length', str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def run(folder: Path, log: Path, command: Sequence[str | Path], **variables: str) -> None:
    """Run a command in a folder without the hub; what it says is kept in a file, however it ends."""
    paths = filter(None, [str(Path(__file__).parent), os.environ.get('PYTHONPATH')])
    offline = {'HF_HUB_OFFLINE': '1', 'OMP_NUM_THREADS': '1', 'PYTHONPATH': os.pathsep.join(paths)}
    with log.open('w') as said:
        subprocess.run(
            [*map(str, command)], cwd=folder, env={**os.environ, **offline, **variables}, stdout=said,
            stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    return path
