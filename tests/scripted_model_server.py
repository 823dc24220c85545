"""A server of OpenAI's protocol as a command line, up at once, that dies, hangs and speaks as files say.

    python scripted_model_server.py FOLDER --port PORT --name NAME

In FOLDER it adds a line to `starts` when it starts and to `replied` when it has replied. These files there
change what it does: `unready` (never takes requests), `lives` (`[5, 3]`: at which request its first and its
second life end by SIGKILL), `broken` (ends at once, with its text), `stubborn` (ignores SIGTERM, and so does
a child that it has), `reply` (what it replies).
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

OPTIONS: Any = None
LOCK = threading.Lock()


class Life:
    """Which one this is, from 0, and the requests that came in it."""

    number = asked = 0


class Handler(BaseHTTPRequestHandler):
    """Replies with the question and the seed, or what `reply` says."""

    protocol_version = 'HTTP/1.1'

    def do_GET(self) -> None:
        if (OPTIONS.folder / 'unready').exists():
            return self._send(503, {})
        if self.path == '/v1/models':
            card = {'id': OPTIONS.name, 'object': 'model', 'root': OPTIONS.name}
            return self._send(200, {'object': 'list', 'data': [card]})
        return self._send(200 if self.path == '/health' else 404, {})

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        with LOCK:
            Life.asked += 1
            lives = json.loads(text) if (text := read('lives')) else []
            if len(lives) > Life.number and lives[Life.number] <= Life.asked:
                os.kill(os.getpid(), signal.SIGKILL)
            prompt, seed = request['messages'][-1]['content'], request.get('seed')
            with (OPTIONS.folder / 'replied').open('a') as file:
                file.write(json.dumps({'prompt': prompt, 'seed': seed, 'life': Life.number}) + '\n')
        message = {
            'role': 'assistant',
            'content': read('reply') or f'{seed} makes \\boxed{{{(seed or 0) % 3}}}',
        }
        choice = {'index': 0, 'message': message, 'finish_reason': 'stop'}
        usage = {'prompt_tokens': 1, 'completion_tokens': 1, 'total_tokens': 2}
        self._send(200, {'model': OPTIONS.name, 'choices': [choice], 'usage': usage})

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def _send(self, status: int, content: Any) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


def read(name: str) -> str:
    path = OPTIONS.folder / name
    return path.read_text() if path.exists() else ''


def main() -> None:
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument('folder', type=Path)
    parser.add_argument('--port', type=int, required=True)
    parser.add_argument('--name', required=True)
    OPTIONS, _ = parser.parse_known_args()
    print('arguments:', sys.argv[1:], 'secret:', os.environ.get('SCRIPT_SECRET'), flush=True)
    if broken := read('broken'):
        sys.exit(broken)
    if (OPTIONS.folder / 'stubborn').exists():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])  # inherits what is ignored
    Life.number = len(read('starts').splitlines())
    with (OPTIONS.folder / 'starts').open('a') as file:
        file.write(json.dumps({'pid': os.getpid(), 'port': OPTIONS.port, 'gpus': visible()}) + '\n')
    Server(('127.0.0.1', OPTIONS.port), Handler).serve_forever()


def visible() -> str | None:
    return os.environ.get('CUDA_VISIBLE_DEVICES')


if __name__ == '__main__':
    main()
