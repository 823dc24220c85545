"""A small server of OpenAI's protocol, one model on a CPU: `python -m gpassk_opencompass.demo.server MODEL`.

For the demo: it batches what is asked at the same time, gives each request the random numbers of its seed,
says how a response ended and how many tokens it took. It refuses what it does not do. For models that
matter take vLLM or lmdeploy.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

LONGEST_BODY = 1 << 20
"""Bytes of a request."""

LONGEST = 2048
"""Tokens of prompt and response together, if the model can have as many."""

READY = 'listens on '
"""What the server says before its address, once it takes requests."""

_NEUTRAL: dict[str, tuple[Any, ...]] = {
    'n': (1,),
    'stream': (False,),
    'top_p': (1, 1.0),
    'frequency_penalty': (0, 0.0),
    'presence_penalty': (0, 0.0),
    'stop': ([],),
}
"""Fields with the values that mean the same as none."""

_KNOWN = {
    *('model', 'messages', 'max_tokens', 'max_completion_tokens', 'temperature', 'seed'),
    'structured_outputs',
}


class Refused(Exception):
    """A request that cannot be answered; the text says why."""


class ChatModel:
    """One model: chats in, OpenAI's chat completions out.

    Args:
        folder: of the model, in transformers' layout; its name is the name of the model.
        dtype: 'float32', 'bfloat16', or 'auto', which is bfloat16 where the processor computes with it.
        rows: responses under way at a time.
    """

    def __init__(self, folder: Path, dtype: str = 'auto', rows: int = 64) -> None:
        from transformers import AutoTokenizer

        from .batching import Batcher, load_model, native_dtype

        self.name = folder.name
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        model = load_model(str(folder), native_dtype() if dtype == 'auto' else dtype)
        ends = model.generation_config.eos_token_id
        longest = min(LONGEST, model.config.max_position_embeddings)
        self._batcher = Batcher(model, ends if isinstance(ends, list) else [ends], rows, longest)

    def complete(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a request to `/v1/chat/completions`.

        Raises:
            Refused: it asks for what this server does not do.
        """
        prompt = self._prompt(request)
        limit = request.get('max_completion_tokens') or request.get('max_tokens') or 256
        temperature, seed = request.get('temperature'), request.get('seed')
        if seed is None:
            seed = int.from_bytes(os.urandom(6), 'big')
        temperature = 1.0 if temperature is None else temperature
        if not (_is(limit, int) and _is(seed, int) and _is(temperature, (int, float))):
            raise Refused(
                f'max_tokens {limit!r}, seed {seed!r}, temperature {temperature!r}: expected numbers'
            )
        if temperature < 0 or seed < 0:
            raise Refused(f'temperature {temperature}, seed {seed}: expected none below 0')
        choices = self._choices(request.get('structured_outputs'))
        try:
            reply = self._batcher.submit(prompt, limit, float(temperature), seed, choices).result()
        except ValueError as error:
            raise Refused(f"this model's maximum context length is exceeded: {error}") from error
        text = self._tokenizer.decode(reply.tokens, skip_special_tokens=True)
        message = {'role': 'assistant', 'content': text}
        return {
            'id': f'chatcmpl-{os.urandom(8).hex()}',
            'object': 'chat.completion',
            'created': int(time.time()),
            'model': self.name,
            'choices': [{'index': 0, 'message': message, 'finish_reason': reply.finish_reason}],
            'usage': {
                'prompt_tokens': len(prompt),
                'completion_tokens': reply.counted,
                'total_tokens': len(prompt) + reply.counted,
            },
        }

    def _prompt(self, request: Mapping[str, Any]) -> list[int]:
        if request.get('model') != self.name:
            raise Refused(f'model {request.get("model")!r}: this server has {self.name!r}')
        strange = [
            name
            for name, value in request.items()
            if name not in _KNOWN and value is not None and value not in _NEUTRAL.get(name, ())
        ]
        if strange:
            raise Refused(f'{", ".join(strange)}: this server knows {", ".join(sorted(_KNOWN))}')
        messages = request.get('messages')
        if not (isinstance(messages, list) and messages and all(map(_is_message, messages))):
            raise Refused('messages: expected a list of objects with the texts role and content')
        text = self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return self._tokens(text)

    def _choices(self, told: Any) -> list[list[int]]:
        """Return the tokens of vLLM's `structured_outputs={'choice': […]}`."""
        if told is None:
            return []
        texts = told.get('choice') if isinstance(told, dict) and len(told) == 1 else None
        if not (isinstance(texts, list) and texts and all(isinstance(text, str) and text for text in texts)):
            raise Refused(f"structured_outputs {told!r}: this server knows {{'choice': [texts]}}")
        return [self._tokens(text) for text in texts]

    def _tokens(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False).input_ids)


def _is(value: Any, kinds: type | tuple[type, ...]) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _is_message(message: Any) -> bool:
    return isinstance(message, dict) and all(isinstance(message.get(key), str) for key in ('role', 'content'))


class Handler(BaseHTTPRequestHandler):
    """Answers `GET /v1/models` and `POST /v1/chat/completions`."""

    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True
    model: ChatModel

    def do_GET(self) -> None:
        """List the one model."""
        if self.path != '/v1/models':
            return self._send(404, _error(f'{self.path}: there are /v1/models and /v1/chat/completions'))
        card = {'id': self.model.name, 'object': 'model', 'root': self.model.name}
        return self._send(200, {'object': 'list', 'data': [card]})

    def do_POST(self) -> None:
        """Answer one chat."""
        length = self.headers.get('Content-Length', '')
        if not length.isdecimal() or int(length) > LONGEST_BODY:
            self.close_connection = True
            return self._send(413, _error(f'Content-Length {length!r}: expected at most {LONGEST_BODY}'))
        body = self.rfile.read(int(length))
        if self.path != '/v1/chat/completions':
            return self._send(404, _error(f'{self.path}: there are /v1/models and /v1/chat/completions'))
        try:
            request = json.loads(body)
            if not isinstance(request, dict):
                raise Refused('expected a JSON object')
            return self._send(200, self.model.complete(request))
        except (ValueError, Refused) as error:
            return self._send(400, _error(str(error)))
        except Exception as error:
            return self._send(500, _error(f'{type(error).__name__}: {error}'))

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a line a request would be thousands."""

    def _send(self, status: int, content: Mapping[str, Any]) -> None:
        body = json.dumps(content, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


def _error(message: str) -> dict[str, Any]:
    return {'error': {'message': message, 'type': 'invalid_request_error'}}


def serve(model: ChatModel, port: int) -> ThreadingHTTPServer:
    """Return a server of the model on the loopback, not yet started; port 0 takes a free one.

    Raises:
        OSError: the port is taken.
    """
    handler = type('Handler', (Handler,), {'model': model})
    return _Server(('127.0.0.1', port), handler)


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve a model of transformers on the loopback until interrupted."""
    parser = argparse.ArgumentParser(
        prog='python -m gpassk_opencompass.demo.server', description=main.__doc__
    )
    parser.add_argument('model', type=Path, help='its folder')
    parser.add_argument('--port', type=int, default=8135, help='0: a free one (default: %(default)s)')
    parser.add_argument('--dtype', choices=['auto', 'float32', 'bfloat16'], default='auto')
    parser.add_argument('--rows', type=int, default=64, help='responses at a time (default: %(default)s)')
    parser.add_argument(
        '--while-stdin', action='store_true', help='end when standard input does, so with who started it'
    )
    options = parser.parse_args(arguments)
    if options.while_stdin:
        threading.Thread(target=_end_with_stdin, daemon=True).start()
    server = serve(ChatModel(options.model, options.dtype, options.rows), options.port)
    print(f'{READY}http://127.0.0.1:{server.server_port}', flush=True)
    server.serve_forever()


def _end_with_stdin() -> None:
    while sys.stdin.buffer.read(1 << 10):
        pass
    os._exit(0)


if __name__ == '__main__':
    main()
