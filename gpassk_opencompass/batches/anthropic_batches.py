"""Anthropic's Message Batches, over plain HTTP: four calls, of which none needs more than JSON.

The `anthropic` package would be a dependency for them alone, its retries give up after a Retry-After of more
than a minute, and its current major version speaks an API version that takes no temperature.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from http.client import HTTPException
from typing import Any, NoReturn
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPRedirectHandler, build_opener
from urllib.request import Request as HttpRequest

from ..chat.trouble import server_message, state_of_refusal
from ..chat.waiting import retry_after
from ..errors import InputError
from ..files import mapping, parse_json
from ..keys import hidden, without_user
from .claude import reply_in
from .protocol import Answer, Progress, Request, Unreachable, lines_of

API = 'https://api.anthropic.com'

VERSION = '2023-06-01'
"""The version of the API; that of 2026-10-21 refuses temperature, top_p and top_k of any model."""

MOST_REQUESTS = 100_000
MOST_BYTES = 256_000_000
"""What Anthropic says of a batch: 100,000 requests, and 256 MB in all."""

_SKEW = 600.0
_PAGES = 20
_AGAIN = frozenset({408, 409, 425, 429})
_ERRORS_AGAIN = frozenset({'api_error', 'overloaded_error', 'rate_limit_error', 'timeout_error'})


class AnthropicBatches:
    """The batches of a workspace.

    Args:
        key: the API key.
        base_url: where the API is.
        timeout: seconds for one request to it.
    """

    name = 'Anthropic'
    most_requests = MOST_REQUESTS
    most_bytes = MOST_BYTES - 1000  # of what stands around the requests

    def __init__(self, key: str, base_url: str | None = None, timeout: float = 600.0) -> None:
        self._key, self._timeout = key, timeout
        self._base = (base_url or API).rstrip('/')
        self._batches = f'{self._base}/v1/messages/batches'
        self._opener = build_opener(_Unmoved())

    def line(self, request: Request) -> bytes:
        """Return a request as it stands in the list."""
        return json.dumps({'custom_id': request.custom_id, 'params': request.body}).encode()

    def submit(self, lines: Sequence[bytes], mark: str) -> str:
        """See `BatchApi`; the API keeps no mark."""
        return str(self._object('', b'{"requests": [' + b', '.join(lines) + b']}')['id'])

    def find(self, mark: str, count: int, since: float) -> list[str]:
        """See `BatchApi`: those with as many requests, made since then; which it is, their results tell."""
        found: list[str] = []
        after: dict[str, Any] = {}
        for _ in range(_PAGES):
            page = self._object(f'?{urlencode({"limit": 100, **after})}')
            batches = [mapping(batch) for batch in page.get('data') or []]
            young = [batch for batch in batches if _made(batch) >= since - _SKEW]
            found += [str(batch['id']) for batch in young if sum(_counts(batch).values()) == count]
            if len(young) < len(batches) or not page.get('has_more') or not batches:
                break
            after = {'after_id': batches[-1]['id']}
        return found

    def look(self, batch: str) -> Progress:
        """See `BatchApi`."""
        found = self._object(f'/{batch}')
        status, counts = str(found.get('processing_status')), _counts(found)
        done = ', '.join(f'{count:,} {name}' for name, count in counts.items() if count)
        cancelled = bool(found.get('cancel_initiated_at') or counts.get('canceled'))
        told = f'{done} of {sum(counts.values()):,}'
        return Progress(status, status == 'ended', told, cancelled=cancelled)

    def answers(self, batch: str) -> Iterator[tuple[str, Answer]]:
        """See `BatchApi`.

        Raises:
            Unreachable: the results have fewer lines than the batch has requests.
            InputError: they are no longer there.
        """
        found = self._object(f'/{batch}')
        address = found.get('results_url')
        if not isinstance(address, str):
            raise InputError(
                f'{self.name} has no results of batch {batch} any more (it keeps them for 29 days); delete '
                'the file of notes beside the predictions to submit its requests anew'
            )
        done = 0
        for row in lines_of(self._fetch(address)):
            done += 1
            yield str(row.get('custom_id')), self._answer(mapping(row.get('result')))
        if done < sum(_counts(found).values()):
            raise Unreachable(f'{done:,} lines of {sum(_counts(found).values()):,} results came over')

    def close(self) -> None:
        """See `BatchApi`."""
        self._opener.close()

    def _answer(self, result: Mapping[str, Any]) -> Answer:
        kind = result.get('type')
        if kind == 'succeeded':
            return Answer(reply_in(mapping(result.get('message'))).hiding(self._key))
        error = mapping(mapping(result.get('error')).get('error'))
        name, message = str(error.get('type') or ''), str(error.get('message') or '')
        said = hidden(': '.join(filter(None, (str(kind), name, message))), self._key)
        if kind != 'errored' or name in _ERRORS_AGAIN:
            return Answer(None, 'failed', said, again=True)
        return Answer(None, state_of_refusal(None, f'{name} {message}'), said)

    def _object(self, path: str, body: bytes | None = None) -> Mapping[str, Any]:
        content = self._fetch(f'{self._batches}{path}', body)
        try:
            found = parse_json(content)
        except ValueError:
            found = None
        if not isinstance(found, dict) or not {'id', 'data'} & set(found):
            said = hidden(f'no object of the API but {content[:80]!r}', self._key)
            raise Unreachable(said, unknown=True)
        return found

    def _fetch(self, address: str, body: bytes | None = None) -> bytes:
        if not address.startswith(f'{self._base}/'):
            raise InputError(
                f'{self.name} names results at another host, {without_user(address)}: not fetched'
            )
        headers = {'x-api-key': self._key, 'anthropic-version': VERSION, 'content-type': 'application/json'}
        try:
            with self._opener.open(HttpRequest(address, body, headers), timeout=self._timeout) as response:
                content: bytes = response.read()
                return content
        except HTTPError as error:
            with error:
                self._refused(error)
        except (OSError, HTTPException) as error:
            said = hidden(without_user(f'{type(error).__name__}: {error}'), self._key)
            raise Unreachable(said, unknown=True) from None

    def _refused(self, error: HTTPError) -> NoReturn:
        said = hidden(f'HTTP {error.code}: {server_message(error.read())}', self._key)
        if error.code in _AGAIN or error.code >= 500:
            wait = retry_after({'Retry-After': error.headers.get('retry-after') or ''})
            raise Unreachable(said, wait, unknown=error.code >= 500) from None
        raise InputError(
            f'{without_user(self._batches)} refuses a request about batches with {said}'
        ) from None


class _Unmoved(HTTPRedirectHandler):
    """Follows no redirect: the key would go along."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _counts(batch: Mapping[str, Any]) -> dict[str, int]:
    counts = mapping(batch.get('request_counts'))
    return {name: count for name, count in counts.items() if isinstance(count, int)}


def _made(batch: Mapping[str, Any]) -> float:
    try:
        return datetime.fromisoformat(str(batch.get('created_at')).replace('Z', '+00:00')).timestamp()
    except ValueError:
        return 0.0
