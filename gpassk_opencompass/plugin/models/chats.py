"""The servers of a model under test: a batch of chat requests over all of them at once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from yarl import URL

from ...chat.exchange import Access, open_session
from ...chat.jobs import Job
from ...chat.limits import Limits
from ...chat.served import about
from ...chat.traffic import Traffic
from ...completion import ABOUT_LENGTH, Kind, Reply, Trouble, state_of_refusal
from ...health import Generation
from ...servers import Clock, in_own_loop
from ..responses import CLOSE, response_of
from ..served import ServerNotes

PATIENCE = 600.0
"""Seconds without a reply from any server after which a run ends; a large model takes minutes to load."""

ATTEMPTS = 12
"""Of a request that a server answers with an error, or loses; one that it cannot take now is none."""

TIMEOUT = 3600.0
"""Seconds that a reply may take."""

_ABOUT_TIMEOUT = 15.0
_TOO_LONG = '', Generation(state='too long')

_ADVICE = {
    r'\bseed\b': (
        'It takes no seed: write random_seeds = None into the template (random_seed=None in a config)'
    ),
    r'\btop_k\b': 'Leave top_ks out of the template',
    r'\brepetition_penalty\b': 'Leave repetition_penalties out of the template',
    r'\btop_p\b': 'Leave top_ps out of the template, or change them',
    r'\btemperature\b': 'Leave temperatures out of the template, or change them',
    ABOUT_LENGTH.pattern: (
        'Lower max_out_lens of the template (max_out_len in a config), or serve the model with a longer '
        'context'
    ),
    r'quota|billing': 'See to the account that the key belongs to',
}
_BY_STATUS = {
    401: 'Is the key right, and for this address? key_env names the environment variable that holds it',
    403: 'Is the key right, and for this address? key_env names the environment variable that holds it',
    404: 'Is the name (path) one that the server lists at /v1/models, and the address right?',
}
_OTHERWISE = 'Check path (the name of the model), the address, the key and extra_body'


def advise(trouble: Trouble) -> str:
    """Return what to do where a server takes no request at all; what it says names the setting most often.

    >>> advise(Trouble(Kind.REFUSED, 'HTTP 400', 'Unknown name "seed": Cannot find field.'))[:20]
    'It takes no seed: wr'
    """
    if trouble.status in _BY_STATUS:
        return _BY_STATUS[trouble.status]
    found = (text for words, text in _ADVICE.items() if re.search(words, trouble.message, re.IGNORECASE))
    return next(found, _OTHERWISE)


class Chats:
    """Asks for chat completions, batch after batch; what was learnt of the servers is kept between them.

    A request goes to the least loaded server. It is tried again while there is hope; one without a reply in
    the end is a sample with a state. A server that is killed and comes back costs time only.

    Args:
        name: of the model at the servers.
        urls: endpoints, see `chat.routes.endpoints`.
        limits: how hard to try.
        access: how the servers are reached.
        think_tag, texts: `think_tag` and `status_code_mappings` of OpenAISDK.
        clock: the time to live by, for tests.
    """

    def __init__(
        self,
        name: str,
        urls: Sequence[URL],
        limits: Limits,
        access: Access,
        *,
        think_tag: str = CLOSE,
        texts: Mapping[int, str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.notes = ServerNotes()
        self._name, self._access, self._think_tag = name, access, think_tag
        self._answers: dict[int, tuple[str, Generation]] = {}
        self._said = ''
        self._traffic_to = partial(
            Traffic,
            limits=limits,
            received=self._received,
            abandoned=self._abandoned,
            access=access,
            clock=clock,
            greet=self._greet,
            probe=_probe_of,
            texts=texts,
            advice=advise,
            kept='The samples of the batches before',
        )
        self._traffic = self._traffic_to(urls)

    def go_to(self, urls: Sequence[URL], check: Callable[[], None]) -> None:
        """Ask other servers from now on.

        Args:
            urls: as for the class.
            check: called when one gave no reply; what it raises ends the run.
        """
        self._traffic = self._traffic_to(urls, check=check)

    def ask(self, bodies: Sequence[Mapping[str, Any] | None]) -> tuple[list[tuple[str, Generation]], str]:
        """Ask for one completion a body.

        Args:
            bodies: what is sent; None for a prompt that does not fit the context.

        Returns:
            Text and generation of each, in their order; and what a server said of the first that has no
            response, '' if all have one.

        Raises:
            InputError: the servers take no requests with these settings.
            IncompleteError: no server answered for the patience given, or one has other weights.
        """
        self._answers = {number: _TOO_LONG for number, body in enumerate(bodies) if body is None}
        self._said = 'the prompt is longer than max_seq_len' if self._answers else ''
        jobs = (
            Job(number, json.dumps(body).encode()) for number, body in enumerate(bodies) if body is not None
        )
        in_own_loop(partial(self._traffic.run, jobs))
        return [self._answers[number] for number in range(len(bodies))], self._said

    def _received(self, job: Job, reply: Reply) -> bool:
        text, generation = response_of(reply, job.seconds, self._think_tag)
        if generation.state == 'aborted':  # as by a server that is being stopped
            raise Trouble(Kind.BROKEN, 'aborted', f'finish_reason {reply.finish}')
        self.notes.heard(job.url, reply)
        self._answers[job.item] = text, generation
        return True

    def _abandoned(self, job: Job, reason: str) -> None:
        self._said = self._said or str(job.trouble or reason)
        self._answers[job.item] = '', Generation(state=_state_of(job.trouble))

    async def _greet(self, url: URL, came_back: bool) -> None:
        if self.notes.knows(str(url)) and not came_back:
            return
        async with open_session(_ABOUT_TIMEOUT, self._access) as session:
            told = await about(session, url, self._name, self._access.proxy_for(url))
        self.notes.met(str(url), told.hiding(*self._access.keys))


def _probe_of(job: Job) -> bytes:
    """Return the same request with a prompt that no server has a reason to refuse."""
    body = json.loads(job.body)
    return json.dumps(body | {'messages': [{'role': 'user', 'content': 'Hi'}]}).encode()


def _state_of(trouble: Trouble | None) -> str:
    if trouble is None:
        return 'failed'
    if trouble.reason in ('aborted', 'no choice'):
        return trouble.reason
    if trouble.kind is not Kind.REFUSED:
        return 'failed'
    return state_of_refusal(trouble.status, trouble.message)
