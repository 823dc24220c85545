"""What scripted models say, a chat model behind an address of this machine, and commands."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

Reply = tuple[int, dict[str, Any]]


class Sums:
    """What is said to `What is N + 10?`: of each question the first so many samples are right.

    Args:
        counts: right samples of each question.
        text: of a sample, with {number}, {replica} and {said}.
    """

    def __init__(self, counts: Sequence[int], text: str) -> None:
        self.counts, self.text = counts, text

    def questions(self) -> dict[str, str]:
        return {f'What is {number} + 10?': str(number + 10) for number in range(len(self.counts))}

    def is_right(self, number: int, replica: int) -> bool:
        return replica < self.counts[number]

    def response(self, number: int, replica: int, right: str = '') -> str:
        said = (right or number + 10) if self.is_right(number, replica) else '99'
        return self.text.format(number=number, replica=replica, said=said)

    def number(self, prompt: str) -> int:
        return int(re.findall(r'What is (\d+) \+', prompt)[-1])


def completion(model: str, message: dict[str, Any], reason: str = 'stop') -> Reply:
    choice = {'index': 0, 'message': {'role': 'assistant', **message}, 'finish_reason': reason}
    usage = {'prompt_tokens': 9, 'completion_tokens': 20, 'total_tokens': 29}
    about = {'id': 'scripted', 'object': 'chat.completion', 'created': 0, 'model': model}
    return 200, {**about, 'choices': [choice], 'usage': usage}


@contextmanager
def served(reply: Callable[[str, dict[str, Any]], Reply]) -> Iterator[int]:
    """Answer requests by their path and body, several at once, on a port of the loopback; gives the port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'

        def log_message(self, *_: object) -> None:
            pass

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
