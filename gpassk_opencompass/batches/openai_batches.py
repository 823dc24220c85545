"""OpenAI's Batch API, and servers that speak it: a file of requests in, files of answers and errors out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ..chat.completion import reply_of
from ..chat.trouble import Trouble, state_of_refusal
from ..chat.waiting import retry_after
from ..errors import InputError
from ..files import mapping
from ..keys import hidden, without_user
from .protocol import Answer, Progress, Request, Unreachable, lines_of

if TYPE_CHECKING:
    from openai import OpenAI

T = TypeVar('T')

MOST_REQUESTS = 50_000
MOST_BYTES = 200_000_000
"""What OpenAI says of a batch: 50,000 requests, and an input file of 200 MB."""

ENDPOINT: Literal['/v1/chat/completions'] = '/v1/chat/completions'
MARK = 'gpassk_mark'
"""The field of a batch's metadata by which it is found again."""

_ENDED = frozenset({'completed', 'failed', 'expired', 'cancelled'})
_QUEUE_FULL = 'token_limit_exceeded'
_SKEW = 86400.0
_PAGES = 20
_AGAIN = frozenset({0, 408, 409, 425, 429})


class OpenAIBatches:
    """The batches of an account, through OpenAI's client.

    Args:
        key: the API key; '' for a server that wants none.
        base_url: of the API, such as 'http://node1:8000/v1'; None: OpenAI's, or $OPENAI_BASE_URL.
        timeout: seconds for one request to it, the upload of a file among them.
    """

    name = 'OpenAI'
    most_requests = MOST_REQUESTS
    most_bytes = MOST_BYTES

    def __init__(self, key: str, base_url: str | None = None, timeout: float = 600.0) -> None:
        self._key, self._base, self._timeout = key, base_url, timeout

    @cached_property
    def _client(self) -> OpenAI:
        from openai import OpenAI

        # Its own retries end at a Retry-After of more than a minute.
        return OpenAI(
            api_key=self._key or 'EMPTY', base_url=self._base or None, timeout=self._timeout, max_retries=0
        )

    def line(self, request: Request) -> bytes:
        """Return the line of the input file."""
        row = {'custom_id': request.custom_id, 'method': 'POST', 'url': ENDPOINT, 'body': request.body}
        return json.dumps(row).encode()

    def submit(self, lines: Sequence[bytes], mark: str) -> str:
        """Upload the input file and make a batch of it."""
        content = b'\n'.join(lines) + b'\n'
        file = self._object(
            lambda: self._client.files.create(file=(f'gpassk-{mark}.jsonl', content), purpose='batch')
        )
        batch = self._object(
            lambda: self._client.batches.create(
                input_file_id=file.id, endpoint=ENDPOINT, completion_window='24h', metadata={MARK: mark}
            )
        )
        return str(batch.id)

    def find(self, mark: str, count: int, since: float) -> list[str]:
        """See `BatchApi`; the mark is in the metadata, so that what is found is it."""

        def search() -> list[str]:
            page = self._client.batches.list(limit=100)
            for _ in range(_PAGES):
                for batch in page.data:
                    if (batch.metadata or {}).get(MARK) == mark:
                        return [batch.id]
                if not page.has_next_page() or page.data[-1].created_at < since - _SKEW:
                    break
                page = page.get_next_page()
            return []

        return self._ask(search)

    def look(self, batch: str) -> Progress:
        """See `BatchApi`."""
        found = self._object(lambda: self._client.batches.retrieve(batch))
        counts = found.request_counts
        told = (
            ''
            if counts is None
            else f'{counts.completed:,} of {counts.total:,} done, {counts.failed:,} failed'
        )
        if found.status != 'failed':
            return Progress(found.status, found.status in _ENDED, told, cancelled=found.status == 'cancelled')
        errors = (found.errors.data if found.errors else None) or []
        refusal = '; '.join(map(self._said_of, errors[:3])) or 'it does not say why'
        more = f' (and {len(errors) - 3} more)' if len(errors) > 3 else ''
        full = any(error.code == _QUEUE_FULL for error in errors)
        return Progress(found.status, True, told, refusal + more, full)

    def answers(self, batch: str) -> Iterator[tuple[str, Answer]]:
        """See `BatchApi`; responses and errors are in two files.

        Raises:
            Unreachable: the file of responses has fewer lines than were answered.
        """
        found = self._object(lambda: self._client.batches.retrieve(batch))
        done = 0
        for file in filter(None, (found.output_file_id, found.error_file_id)):
            for row in lines_of(self._content(file)):
                done += 1
                yield str(row.get('custom_id')), self._answer(row)
        counts = found.request_counts
        if counts is not None and done < counts.completed:
            raise Unreachable(f'{done:,} lines of {counts.completed:,} responses came over')

    def close(self) -> None:
        """See `BatchApi`."""
        if client := vars(self).pop('_client', None):
            client.close()

    def _answer(self, row: Mapping[str, Any]) -> Answer:
        response, error = mapping(row.get('response')), mapping(row.get('error'))
        status, body = response.get('status_code'), mapping(response.get('body'))
        if status == 200 and not error:
            return self._completed(response.get('body'))
        error = mapping(body.get('error')) or error
        code, message = str(error.get('code') or ''), str(error.get('message') or '')
        said = hidden(' '.join(filter(None, (f'{status}' if status else '', code, message))), self._key)
        state, again = verdict_on_error(status, f'{code} {message}')
        return Answer(None, state, said or 'it does not say why', again)

    def _completed(self, completion: Any) -> Answer:
        try:
            return Answer(reply_of(completion).hiding(self._key))
        except Trouble as trouble:
            empty, said = trouble.reason == 'no choice', hidden(str(trouble), self._key)
            return Answer(None, 'no choice' if empty else 'failed', said, again=not empty)

    def _said_of(self, error: Any) -> str:
        where = f'line {error.line} of the input file: ' if error.line is not None else ''
        return hidden(f'{where}{error.message} ({error.code})', self._key)

    def _content(self, file: str) -> bytes:
        return self._ask(lambda: self._client.files.content(file).content)

    def _object(self, ask: Callable[[], T]) -> T:
        """Ask for an object with an id: the client returns an HTML page or other JSON as it is."""
        found = self._ask(ask)
        if not isinstance(getattr(found, 'id', None), str):
            said = hidden(without_user(f'no object of the API but {str(found)[:80]!r}'), self._key)
            raise Unreachable(said, unknown=True)
        return found

    def _ask(self, ask: Callable[[], T]) -> T:
        from openai import APIConnectionError, APIStatusError, OpenAIError

        try:
            return ask()
        except APIStatusError as error:
            said = hidden(f'HTTP {error.status_code}: {error.message}', self._key)
            if error.status_code in _AGAIN or error.status_code >= 500:
                wait = retry_after(error.response.headers)
                raise Unreachable(said, wait, unknown=error.status_code >= 500) from None
            raise InputError(f'{self._where()} refuses a request about batches with {said}') from None
        except APIConnectionError as error:
            said = hidden(without_user(f'{error} {error.__cause__ or ""}'.strip()), self._key)
            raise Unreachable(said, unknown=True) from None
        except (OpenAIError, ValueError, TypeError, AttributeError) as error:  # no JSON, or another
            said = hidden(f'{type(error).__name__}: {error}', self._key)
            raise Unreachable(said, unknown=True) from None

    def _where(self) -> str:
        return without_user(str(self._client.base_url))


def verdict_on_error(status: Any, said: str) -> tuple[str, bool]:
    """Return the state of a sample whose request met an error, and whether it may be sent again.

    Args:
        status: of the reply; None for what has none, such as a request that expired.
        said: code and message of the error.

    >>> verdict_on_error(400, 'context_length_exceeded'), verdict_on_error(None, 'batch_expired')
    (('too long', False), ('failed', True))
    """
    if status is None or status in _AGAIN or (isinstance(status, int) and status >= 500):
        return 'failed', True
    return state_of_refusal(status, said), False
