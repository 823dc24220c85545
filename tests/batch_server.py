"""An imitation of the batch endpoints of OpenAI and Anthropic on the loopback, after their documentation.

What it says is checked in `test_batch_server.py` against the types of the providers' own clients.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.message import Message
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType, TracebackType
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

KEY = 'sk-imitated-0123456789'
DAY = 86400
ENDPOINT = '/v1/chat/completions'
NAME = re.compile('[a-zA-Z0-9_-]{1,64}')
VERSIONS = ('2023-06-01', '2026-10-21')


class Said(NamedTuple):
    """A response of the model; `more` are further fields of the choice or message."""

    text: str | None
    reason: str = 'stop'
    more: Mapping[str, Any] = MappingProxyType({})


class Erred(NamedTuple):
    """An error in place of a response."""

    status: int
    code: str
    message: str


class Expired(NamedTuple):
    """Not reached within the window."""


class Cancelled(NamedTuple):
    """Not reached before somebody cancelled the batch."""


class Silent(NamedTuple):
    """No line at all, which no documentation foresees."""


Outcome = Said | Erred | Expired | Cancelled | Silent
Model = Callable[[str, dict[str, Any]], Outcome]


@dataclass
class Fault:
    """What the next request of this sort gets in place of its answer.

    Args:
        where: a pattern for 'METHOD path'.
        status: 0 drops the connection.
        done: the request is carried out before.
        times: how many requests.
        cut: the content of the answer is only this many bytes of what it would be, under its full status.
    """

    where: str
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = field(default_factory=lambda: {'error': {'message': 'out of order', 'type': 'server_error'}})
    done: bool = False
    times: int = 1
    cut: int | None = None


@dataclass
class Batch:
    """A batch of either provider."""

    id: str
    made: float
    requests: dict[str, dict[str, Any]]
    input: str = ''
    metadata: dict[str, str] | None = None
    looks: int = 0
    status: str = ''
    errors: list[dict[str, Any]] = field(default_factory=list)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)


class BatchServer:
    """Serves both APIs on a port of the loopback, in threads, as long as the context lasts.

    Args:
        model: what a request gets, by its custom_id and body.
        looks: how often a batch is looked at before it has ended.
        most: requests that one batch may have.
    """

    def __init__(self, model: Model, looks: int = 1, most: int = 50_000) -> None:
        self.model, self.looks, self.most = model, looks, most
        self.held = threading.Event()
        self.faults: list[Fault] = []
        self.asked: list[str] = []
        """'METHOD path' of each request."""
        self.answers: list[tuple[str, Any]] = []
        """Each request and the JSON that it got."""
        self.batches: dict[str, Batch] = {}
        self.files: dict[str, bytes] = {}
        self.queue = 10**9
        """Requests that may be under way."""
        self.lock = threading.RLock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_GET(self) -> None:
                server.serve(self, 'GET')

            def do_POST(self) -> None:
                server.serve(self, 'POST')

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._http = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f'http://127.0.0.1:{self._http.server_address[1]}'

    @property
    def submitted(self) -> list[Batch]:
        """The batches, in the order of their submission."""
        return list(self.batches.values())

    def __enter__(self) -> BatchServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def serve(self, http: BaseHTTPRequestHandler, method: str) -> None:
        """Answer one request."""
        content = http.rfile.read(int(http.headers.get('Content-Length') or 0))
        parts = urlsplit(http.path)
        with self.lock:
            self.asked.append(f'{method} {http.path}')
            fault = self._fault(f'{method} {parts.path}')
            if fault is None or fault.done or fault.cut is not None:
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                status, body = self._answer(method, parts.path, query, http.headers, content)
            headers: dict[str, str] = {}
            if fault is not None and fault.cut is None:
                status, body, headers = fault.status, fault.body, fault.headers
        if status == 0:
            http.close_connection = True
            return
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        if fault is not None and fault.cut is not None:
            sent = sent[: fault.cut]
        if fault is None and not isinstance(body, bytes):
            self.answers.append((f'{method} {parts.path}', body))
        http.send_response(status)
        for name, value in {'Content-Type': 'application/json', **headers}.items():
            http.send_header(name, value)
        http.send_header('Content-Length', str(len(sent)))
        http.end_headers()
        http.wfile.write(sent)

    def _fault(self, request: str) -> Fault | None:
        for fault in self.faults:
            if fault.times and re.fullmatch(fault.where, request):
                fault.times -= 1
                return fault
        return None

    def _answer(
        self, method: str, path: str, query: dict[str, str], headers: Any, content: bytes
    ) -> tuple[int, Any]:
        if path.startswith('/v1/messages/'):
            return _Anthropic(self).answer(method, path, query, headers, content)
        return _OpenAI(self).answer(method, path, query, headers, content)

    def under_way(self) -> int:
        """Requests of batches that have not ended."""
        return sum(len(batch.requests) for batch in self.batches.values() if not batch.outcomes)

    def run(self, batch: Batch) -> bool:
        """Whether a batch that is looked at has ended; then it has its outcomes, in an order of their own."""
        batch.looks += 1
        if not batch.outcomes and batch.looks > self.looks and not self.held.is_set():
            batch.outcomes = {name: self.model(name, body) for name, body in reversed(batch.requests.items())}
        return bool(batch.outcomes)


def page_of(batches: Sequence[Any], query: dict[str, str], after: str) -> tuple[list[Any], bool]:
    """The batches of a list behind the cursor, the newest first, and whether there are more."""
    known = [batch.id for batch in batches]
    start = known.index(query[after]) + 1 if after in query else 0
    limit = int(query.get('limit', 20))
    return list(batches[start : start + limit]), len(batches) > start + limit


@dataclass
class _OpenAI:
    """`/v1/files` and `/v1/batches`."""

    server: BatchServer

    def answer(
        self, method: str, path: str, query: dict[str, str], headers: Any, content: bytes
    ) -> tuple[int, Any]:
        if headers.get('Authorization') != f'Bearer {KEY}':
            return _refusal(401, 'Incorrect API key provided', 'invalid_api_key')
        return self._routed(method, path, query, headers, content)

    def _routed(
        self, method: str, path: str, query: dict[str, str], headers: Any, content: bytes
    ) -> tuple[int, Any]:
        match method, path.strip('/').split('/')[1:]:
            case 'POST', ['files']:
                return self._upload(headers, content)
            case 'GET', ['files', name, 'content']:
                return (200, self.server.files[name]) if name in self.server.files else _unknown(name)
            case 'POST', ['batches']:
                return self._create(json.loads(content))
            case 'GET', ['batches']:
                batches, more = page_of(self.server.submitted[::-1], query, 'after')
                data = [self._shown(batch) for batch in batches]
                ends = {'first_id': data[0]['id'], 'last_id': data[-1]['id']} if data else {}
                return 200, {'object': 'list', 'data': data, 'has_more': more, **ends}
            case 'GET', ['batches', name]:
                return (
                    (200, self._looked_at(self.server.batches[name]))
                    if name in self.server.batches
                    else (_unknown(name))
                )
        return _refusal(404, f'Unknown request URL: {method} {path}', 'unknown_url')

    def _upload(self, headers: Any, content: bytes) -> tuple[int, Any]:
        parts = dict(_form(headers['Content-Type'], content))
        if parts.get('purpose') != b'batch':
            return _refusal(400, f'{parts.get("purpose")!r} is not a valid purpose', 'invalid_purpose')
        name = f'file-{secrets.token_hex(8)}'
        self.server.files[name] = parts['file']
        about = {'object': 'file', 'filename': 'input.jsonl', 'purpose': 'batch', 'status': 'processed'}
        return 200, {'id': name, 'bytes': len(parts['file']), 'created_at': int(time.time()), **about}

    def _create(self, asked: dict[str, Any]) -> tuple[int, Any]:
        if asked.get('completion_window') != '24h' or asked.get('endpoint') != ENDPOINT:
            return _refusal(400, 'Invalid completion_window or endpoint', 'invalid_value')
        if asked['input_file_id'] not in self.server.files:
            return _unknown(asked['input_file_id'])
        lines = self.server.files[asked['input_file_id']].decode().splitlines()
        name = f'batch_{secrets.token_hex(8)}'
        made = Batch(name, time.time(), {}, asked['input_file_id'], asked.get('metadata'))
        made.errors = list(_mistakes(lines, self.server.most))
        if not made.errors:
            if self.server.under_way() + len(lines) > self.server.queue:
                made.errors = [_error('token_limit_exceeded', 'Enqueued token limit reached for m', None)]
            made.requests = {(row := json.loads(line))['custom_id']: row['body'] for line in lines}
        made.status = 'validating'
        if made.errors:
            made.requests = {}
        self.server.batches[name] = made
        return 200, self._shown(made)

    def _looked_at(self, batch: Batch) -> dict[str, Any]:
        if batch.errors:
            batch.status = 'failed'
        elif batch.status in ('validating', 'in_progress'):
            batch.status = 'in_progress'
            if self.server.run(batch):
                late = any(isinstance(one, Expired) for one in batch.outcomes.values())
                cancelled = any(isinstance(one, Cancelled) for one in batch.outcomes.values())
                batch.status = 'cancelled' if cancelled else 'expired' if late else 'completed'
                self._write(batch)
        return self._shown(batch)

    def _write(self, batch: Batch) -> None:
        rows: dict[str, list[str]] = {'output_file_id': [], 'error_file_id': []}
        for name, outcome in batch.outcomes.items():
            if not isinstance(outcome, (Cancelled, Silent)):
                kind = 'output_file_id' if isinstance(outcome, Said) else 'error_file_id'
                # Not as ASCII: some servers write U+2028 as it is.
                rows[kind].append(json.dumps(_line(name, outcome), ensure_ascii=False))
        for kind, lines in rows.items():
            if lines:
                batch.files[kind] = f'file-{secrets.token_hex(8)}'
                self.server.files[batch.files[kind]] = '\n'.join([*lines, '']).encode()

    def _shown(self, batch: Batch) -> dict[str, Any]:
        done = sum(isinstance(one, Said) for one in batch.outcomes.values())
        failed = sum(isinstance(one, (Erred, Expired)) for one in batch.outcomes.values())
        counts = {'total': len(batch.requests), 'completed': done, 'failed': failed}
        errors = {'object': 'list', 'data': batch.errors} if batch.errors else None
        return {
            'id': batch.id,
            'object': 'batch',
            'endpoint': ENDPOINT,
            'errors': errors if batch.status == 'failed' else None,
            'input_file_id': batch.input,
            'completion_window': '24h',
            'status': batch.status,
            'output_file_id': batch.files.get('output_file_id'),
            'error_file_id': batch.files.get('error_file_id'),
            'created_at': int(batch.made),
            'expires_at': int(batch.made) + DAY,
            'request_counts': counts,
            'metadata': batch.metadata,
        }


def _form(kind: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    whole = BytesParser().parsebytes(f'Content-Type: {kind}\r\n\r\n'.encode() + content)
    for part in whole.get_payload():
        assert isinstance(part, Message)
        name = str(part.get_param('name', header='content-disposition'))
        payload = part.get_payload(decode=True)
        assert isinstance(payload, bytes)
        yield name, payload


def _mistakes(lines: list[str], most: int) -> Iterator[dict[str, Any]]:
    if len(lines) > most:
        yield _error('too_many_requests', f'The batch has {len(lines)} requests; at most {most}', None)
    seen: set[str] = set()
    models = set()
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except ValueError:
            yield _error('invalid_json_line', 'This line is not parseable as valid JSON.', number)
            continue
        if row.get('custom_id') in seen:
            yield _error('duplicate_custom_id', 'The custom_id of this line is not unique.', number)
        seen.add(row.get('custom_id'))
        if (row.get('method'), row.get('url')) != ('POST', ENDPOINT):
            yield _error('mismatched_url', 'The URL of this line is not that of the batch.', number)
        body = row['body']
        models.add(body.get('model'))
        if body.get('model') == 'no-such-model':
            yield _error('model_not_found', "The provided model 'no-such-model' is not supported.", number)
        if len(models) > 1:
            yield _error('mismatched_model', 'The lines of a batch must have one model.', number)


def _error(code: str, message: str, line: int | None) -> dict[str, Any]:
    return {'code': code, 'message': message, 'line': line, 'param': None}


def _line(name: str, outcome: Outcome) -> dict[str, Any]:
    row: dict[str, Any] = {'id': f'batch_req_{secrets.token_hex(8)}', 'custom_id': name}
    if isinstance(outcome, Said):
        response = {'status_code': 200, 'request_id': 'req_1', 'body': _completion(outcome)}
        return {**row, 'response': response, 'error': None}
    if isinstance(outcome, Erred):
        error = {
            'message': outcome.message,
            'type': 'invalid_request_error',
            'param': None,
            'code': outcome.code,
        }
        response = {'status_code': outcome.status, 'request_id': 'req_1', 'body': {'error': error}}
        return {**row, 'response': response, 'error': None}
    message = 'This request could not be executed before the completion window expired.'
    return {**row, 'response': None, 'error': {'code': 'batch_expired', 'message': message}}


def _completion(said: Said) -> dict[str, Any]:
    message = {'role': 'assistant', 'content': said.text, 'refusal': None, **said.more}
    choice = {'index': 0, 'message': message, 'logprobs': None, 'finish_reason': said.reason}
    length = len(said.text or '')
    return {
        'id': 'chatcmpl-1',
        'object': 'chat.completion',
        'created': int(time.time()),
        'model': 'm',
        'choices': [choice],
        'usage': {'prompt_tokens': 7, 'completion_tokens': length, 'total_tokens': 7 + length},
    }


def _refusal(status: int, message: str, code: str) -> tuple[int, Any]:
    return status, {
        'error': {'message': message, 'type': 'invalid_request_error', 'param': None, 'code': code}
    }


def _unknown(name: str) -> tuple[int, Any]:
    return _refusal(404, f'No such object: {name}', 'not_found')


@dataclass
class _Anthropic:
    """`/v1/messages/batches`."""

    server: BatchServer

    def answer(
        self, method: str, path: str, query: dict[str, str], headers: Any, content: bytes
    ) -> tuple[int, Any]:
        # Clients since 2026-10 send the key as OpenAI's do.
        if KEY not in (headers.get('x-api-key'), headers.get('Authorization', '').removeprefix('Bearer ')):
            return _problem(401, 'authentication_error', 'invalid x-api-key')
        if headers.get('anthropic-version') not in VERSIONS:
            return _problem(400, 'invalid_request_error', 'anthropic-version: header is required')
        return self._routed(method, path, query, content)

    def _routed(self, method: str, path: str, query: dict[str, str], content: bytes) -> tuple[int, Any]:
        match method, path.strip('/').split('/')[3:]:
            case 'POST', []:
                return self._create(json.loads(content))
            case 'GET', []:
                batches, more = page_of(self.server.submitted[::-1], query, 'after_id')
                data = [self._shown(batch) for batch in batches]
                ends = (data[0]['id'], data[-1]['id']) if data else (None, None)
                return 200, {'data': data, 'has_more': more, 'first_id': ends[0], 'last_id': ends[1]}
            case 'GET', [name] if name in self.server.batches:
                self.server.run(self.server.batches[name])
                return 200, self._shown(self.server.batches[name])
            case 'GET', [name, 'results'] if name in self.server.batches:
                outcomes = self.server.batches[name].outcomes.items()
                lines = [json.dumps(_result(*one), ensure_ascii=False) for one in outcomes]
                return 200, '\n'.join([*lines, '']).encode()
        return _problem(404, 'not_found_error', 'Not found')

    def _create(self, asked: dict[str, Any]) -> tuple[int, Any]:
        requests = asked['requests']
        if not 1 <= len(requests) <= self.server.most:
            return _problem(400, 'invalid_request_error', 'requests: List should have at most 100000 items')
        for number, request in enumerate(requests):
            if not NAME.fullmatch(request['custom_id']):
                message = (
                    f"requests.{number}.custom_id: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'"
                )
                return _problem(400, 'invalid_request_error', message)
            if request['params'].get('max_tokens', 0) < 1:
                message = f'requests.{number}.params.max_tokens: Field required'
                return _problem(400, 'invalid_request_error', message)
        if len({request['custom_id'] for request in requests}) < len(requests):
            return _problem(400, 'invalid_request_error', 'requests: custom_id must be unique')
        name = f'msgbatch_{secrets.token_hex(8)}'
        params = {request['custom_id']: request['params'] for request in requests}
        self.server.batches[name] = Batch(name, time.time(), params)
        return 200, self._shown(self.server.batches[name])

    def _shown(self, batch: Batch) -> dict[str, Any]:
        counts = dict.fromkeys(('processing', 'succeeded', 'errored', 'canceled', 'expired'), 0)
        for name in batch.requests:
            outcome = batch.outcomes.get(name)
            counts['processing' if outcome is None else _result(name, outcome)['result']['type']] += 1
        ended = bool(batch.outcomes)
        results = f'{self.server.url}/v1/messages/batches/{batch.id}/results'
        return {
            'id': batch.id,
            'type': 'message_batch',
            'processing_status': 'ended' if ended else 'in_progress',
            'request_counts': counts,
            'created_at': _rfc3339(batch.made),
            'expires_at': _rfc3339(batch.made + DAY),
            'ended_at': _rfc3339(time.time()) if ended else None,
            'cancel_initiated_at': _rfc3339(batch.made) if counts['canceled'] else None,
            'archived_at': None,
            'results_url': results if ended else None,
        }


def _result(name: str, outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, Said):
        return {'custom_id': name, 'result': {'type': 'succeeded', 'message': _message(outcome)}}
    if isinstance(outcome, Erred):
        _, error = _problem(outcome.status, outcome.code, outcome.message)
        return {'custom_id': name, 'result': {'type': 'errored', 'error': error}}
    return {
        'custom_id': name,
        'result': {'type': 'canceled' if isinstance(outcome, Cancelled) else 'expired'},
    }


def _message(said: Said) -> dict[str, Any]:
    reasons = {'stop': 'end_turn', 'length': 'max_tokens'}
    blocks = [] if said.text is None else [{'type': 'text', 'text': said.text, 'citations': None}]
    usage = {'input_tokens': 5, 'output_tokens': len(said.text or ''), 'service_tier': 'batch'}
    return {
        'id': 'msg_1',
        'type': 'message',
        'role': 'assistant',
        'model': 'm',
        'content': blocks,
        'stop_reason': reasons.get(said.reason, said.reason),
        'stop_sequence': None,
        'usage': {**usage, 'cache_creation_input_tokens': 0, 'cache_read_input_tokens': 2},
        **said.more,
    }


def _problem(status: int, kind: str, message: str) -> tuple[int, Any]:
    error = {'type': kind, 'message': message}
    return status, {'type': 'error', 'error': error, 'request_id': 'req_1'}


def _rfc3339(moment: float) -> str:
    return datetime.fromtimestamp(moment, timezone.utc).isoformat().replace('+00:00', 'Z')
