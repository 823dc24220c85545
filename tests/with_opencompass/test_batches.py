"""Batches from submission to answers, over a real socket: what comes back, what is lost, what is paid for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from batch_server import KEY, BatchServer, Cancelled, Erred, Expired, Fault, Model, Outcome, Said, Silent

from gpassk_opencompass import IncompleteError, InputError
from gpassk_opencompass.batches import Answer, Collector, Patience, Request
from gpassk_opencompass.batches.anthropic_batches import AnthropicBatches
from gpassk_opencompass.batches.notes import Notes
from gpassk_opencompass.batches.openai_batches import OpenAIBatches
from gpassk_opencompass.batches.protocol import Unreachable, custom_id
from gpassk_opencompass.chat.completion import Reply

APIS = ('openai', 'anthropic')
SUBMIT = {'openai': 'POST /v1/batches', 'anthropic': 'POST /v1/messages/batches'}
LOOK = {'openai': 'GET /v1/batches/.*', 'anthropic': 'GET /v1/messages/batches/[^/]*'}
RESULTS = {'openai': 'GET /v1/files/.*', 'anthropic': 'GET .*/results'}


pytest.importorskip('openai', reason='OpenCompass brings the client of OpenAI')


class Time:
    """A clock that goes on only when somebody sleeps."""

    def __init__(self) -> None:
        self.passed, self.slept = 1_790_000_000.0, list[float]()

    def now(self) -> float:
        return self.passed

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.passed += seconds


def body(number: int) -> dict[str, Any]:
    return {'model': 'm', 'max_tokens': 9, 'messages': [{'role': 'user', 'content': f'{number} + 1?'}]}


def requests(count: int) -> list[Request]:
    return [Request(custom_id(f'sums/{number}', 0, body(number)), body(number)) for number in range(count)]


def number_in(asked: dict[str, Any]) -> int:
    return int(re.findall(r'\d+', asked['messages'][0]['content'])[0])


def sums(_: str, asked: dict[str, Any]) -> Outcome:
    return Said(f'it is {number_in(asked) + 1}')


TEXTS = [f'it is {number + 1}' for number in range(50)]


def texts_of(answers: list[Answer]) -> list[str]:
    return ['' if answer.reply is None else answer.reply.text for answer in answers]


class Setting:
    """An imitated provider, and collectors of one work directory."""

    def __init__(self, api: str, folder: Path, server: BatchServer) -> None:
        self.kind, self.server, self.notes = api, server, folder / 'sums.batches'
        self.time, self.said = Time(), list[str]()
        self._apis: list[Any] = []

    def api(self, key: str = KEY) -> Any:
        kinds: dict[str, Callable[[], Any]] = {
            'openai': lambda: OpenAIBatches(key, f'{self.server.url}/v1', timeout=5),
            'anthropic': lambda: AnthropicBatches(key, self.server.url, timeout=5),
        }
        self._apis.append(kinds[self.kind]())
        return self._apis[-1]

    def collector(
        self, api: Any = None, check: Callable[[], object] = lambda: None, **patience: Any
    ) -> Collector:
        def say(line: str, level: str) -> None:
            self.said.append(f'{level}: {line}')

        limits = Patience(**{'poll': 10.0, 'unreachable': 600.0, 'retry': 2, **patience})
        notes = Notes(self.notes)
        return Collector(api or self.api(), notes, limits, say, check, self.time.sleep, self.time.now)

    def texts(self, count: int, **patience: Any) -> list[str]:
        return texts_of(self.collector(**patience).answers(requests(count)))

    def close(self) -> None:
        for api in self._apis:
            api.close()


Make = Callable[..., Setting]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Starts an imitation: `make(api, model, …)`."""
    made: list[Setting] = []

    def start(api: str, model: Model = sums, **settings: Any) -> Setting:
        server = BatchServer(model, **settings).__enter__()
        made.append(Setting(api, tmp_path, server))
        return made[-1]

    yield start
    for setting in made:
        setting.close()
        setting.server.__exit__(None, None, None)


@pytest.mark.parametrize('api', APIS)
def test_answers_come_in_the_order_of_the_requests(api: str, make: Make) -> None:
    """The results come in another order; all requests of a shard are one batch."""
    setting = make(api)
    assert setting.texts(20) == TEXTS[:20]
    [batch] = setting.server.submitted
    assert len(batch.requests) == 20


@pytest.mark.parametrize('api', APIS)
def test_a_second_time_costs_nothing(api: str, make: Make) -> None:
    """With the notes of the first, nothing is sent at all."""
    setting = make(api)
    first = setting.collector().answers(requests(5))
    asked = len(setting.server.asked)
    assert setting.collector().answers(requests(5)) == first
    assert len(setting.server.asked) == asked


@pytest.mark.parametrize('api', APIS)
def test_a_batch_is_waited_for_and_told_of(api: str, make: Make) -> None:
    """One look an interval, a line for each change, with the batch's id and counts."""
    setting = make(api, looks=5)
    assert setting.texts(3) == TEXTS[:3]
    [batch] = setting.server.submitted
    assert setting.time.slept == [10.0] * 5
    told = [line for line in setting.said if f'batch {batch.id}: ' in line]
    assert len(told) == len(set(told)) >= 2
    assert setting.said[-1] == f'info: collected batch {batch.id}: 3 responses of 3'


@pytest.mark.parametrize('api', APIS)
def test_requests_beyond_the_limits_are_several_batches_at_once(api: str, make: Make) -> None:
    """By count and by bytes; all are submitted before the first is waited for."""
    setting = make(api, most=4)
    few = setting.api()
    few.most_requests = 4
    assert texts_of(setting.collector(few).answers(requests(10))) == TEXTS[:10]
    assert [len(batch.requests) for batch in setting.server.submitted] == [4, 4, 2]
    order = [request for request in setting.server.asked if 'batches' in request]
    assert order[:3] == [SUBMIT[api]] * 3
    setting.notes.unlink()
    small = setting.api()
    small.most_bytes = 2 * len(small.line(requests(10)[0])) + 2
    assert texts_of(setting.collector(small).answers(requests(5))) == TEXTS[:5]
    assert [len(batch.requests) for batch in setting.server.submitted[3:]] == [2, 2, 1]


@pytest.mark.parametrize('api', APIS)
def test_what_expired_is_submitted_again_and_nothing_else(api: str, make: Make) -> None:
    """Partial results are kept; after the last try the sample has failed."""
    seen: dict[str, int] = {}

    def slow(name: str, asked: dict[str, Any]) -> Outcome:
        seen[name] = seen.get(name, 0) + 1
        late = number_in(asked) == 3 or (number_in(asked) == 1 and seen[name] == 1)
        return Expired() if late else sums(name, asked)

    setting = make(api, slow)
    answers = setting.collector().answers(requests(5))
    assert texts_of(answers) == ['it is 1', 'it is 2', 'it is 3', '', 'it is 5']
    assert [one.state for one in answers] == ['', '', '', 'failed', '']
    assert 'expired' in answers[3].said
    assert [len(batch.requests) for batch in setting.server.submitted] == [5, 2, 1]


@pytest.mark.parametrize('api', APIS)
def test_a_batch_that_was_cancelled_is_not_submitted_again_unasked(api: str, make: Make) -> None:
    """One line names it and says how to go on; its answers and those of the other batch are kept."""

    def stopped(name: str, asked: dict[str, Any]) -> Outcome:
        return Cancelled() if number_in(asked) in (1, 3) else sums(name, asked)

    setting = make(api, stopped)
    parts = setting.api()
    parts.most_requests = 4
    with pytest.raises(IncompleteError) as raised:
        setting.collector(parts).answers(requests(6))
    first, second = setting.server.submitted
    assert f'batch {first.id} (2 of 4 answered) was cancelled at {parts.name}' in str(raised.value)
    assert '-r submits what is missing' in str(raised.value)
    assert second.id not in str(raised.value)
    setting.server.model = sums
    assert setting.texts(6) == TEXTS[:6]
    assert [len(batch.requests) for batch in setting.server.submitted] == [4, 2, 2]


@pytest.mark.parametrize('api', APIS)
def test_a_batch_of_which_nothing_was_left_to_cancel_is_usual(api: str, make: Make) -> None:
    """What is missing then was refused, and would be again."""
    refused = Erred(400, 'invalid_request_error', 'no')
    setting = make(api, lambda name, asked: refused if number_in(asked) else sums(name, asked))
    account = setting.api()
    look = account.look
    account.look = lambda batch: look(batch)._replace(cancelled=True)
    answers = setting.collector(account).answers(requests(2))
    assert [one.state for one in answers] == ['', 'refused']


STATES: dict[str, list[tuple[Outcome, str, int]]] = {
    'openai': [
        (Erred(400, 'context_length_exceeded', "This model's maximum context length is 9"), 'too long', 1),
        (Erred(400, 'content_policy_violation', 'Your request was rejected'), 'filtered', 1),
        (Erred(400, 'unsupported_value', 'temperature does not support 0.3'), 'refused', 1),
        (Erred(404, 'model_not_found', 'The model does not exist'), 'refused', 1),
        (Erred(429, 'rate_limit_exceeded', 'Rate limit reached'), 'failed', 3),
        (Erred(500, 'server_error', 'The server had an error'), 'failed', 3),
        (Erred(0, '', 'no status at all'), 'failed', 3),
        (Silent(), 'failed', 3),
    ],
    'anthropic': [
        (Erred(400, 'invalid_request_error', 'prompt is too long: 213 tokens > 200 maximum'), 'too long', 1),
        (Erred(400, 'invalid_request_error', 'Output blocked by content filtering policy'), 'filtered', 1),
        (Erred(400, 'invalid_request_error', '`temperature` is deprecated for this model.'), 'refused', 1),
        (Erred(404, 'not_found_error', 'model: claude-nothing'), 'refused', 1),
        (Erred(529, 'overloaded_error', 'Overloaded'), 'failed', 3),
        (Erred(500, 'api_error', 'Internal server error'), 'failed', 3),
    ],
}


@pytest.mark.parametrize(
    ('api', 'outcome', 'state', 'tries'),
    [pytest.param(api, *row, id=f'{api}-{number}') for api in APIS for number, row in enumerate(STATES[api])],
)
def test_an_error_of_a_request_is_a_state_of_its_sample(
    api: str, outcome: Outcome, state: str, tries: int, make: Make
) -> None:
    """What the server said goes along; what will never work is not sent a second time."""
    setting = make(api, lambda name, asked: outcome if number_in(asked) == 1 else sums(name, asked))
    answers = setting.collector().answers(requests(3))
    assert [one.state for one in answers] == ['', state, '']
    assert texts_of(answers) == ['it is 1', '', 'it is 3']
    if isinstance(outcome, Erred):
        assert outcome.message in answers[1].said
    assert [len(batch.requests) for batch in setting.server.submitted] == [3] + [1] * (tries - 1)


@pytest.mark.parametrize('reason', ['abort', 'error', 'Cancelled'])
def test_a_response_that_the_server_broke_off_is_asked_for_again(reason: str, make: Make) -> None:
    """As often as what expired, and again by the next task; what came whole is kept."""

    def breaking(name: str, asked: dict[str, Any]) -> Outcome:
        return Said('it i', reason) if number_in(asked) == 1 else sums(name, asked)

    setting = make('openai', breaking)
    answers = setting.collector().answers(requests(3))
    assert [(one.state, one.reply is None) for one in answers] == [
        ('', False),
        ('aborted', True),
        ('', False),
    ]
    assert reason in answers[1].said
    assert [len(batch.requests) for batch in setting.server.submitted] == [3, 1, 1]
    setting.server.model = sums
    assert setting.texts(3) == TEXTS[:3]
    assert [len(batch.requests) for batch in setting.server.submitted] == [3, 1, 1, 1]


def test_a_broken_off_response_in_notes_is_none(make: Make) -> None:
    """Earlier versions kept such a one."""
    setting, [one] = make('openai'), requests(1)
    Notes(setting.notes).ended('earlier', {one.custom_id: Reply('it i', 'error')})
    assert setting.texts(1) == TEXTS[:1]


def test_a_request_without_a_response_is_sent_again_by_the_next_task(make: Make) -> None:
    """Only responses are kept: what was refused may be taken once the account is in order."""
    setting = make('openai', lambda name, asked: Erred(403, 'unsupported_country', 'not here'))
    assert [one.state for one in setting.collector().answers(requests(2))] == ['refused'] * 2
    setting.server.model = sums
    assert setting.texts(2) == TEXTS[:2]


@pytest.mark.parametrize('api', APIS)
@pytest.mark.parametrize('at', ['submit', 'look', 'results'])
def test_a_busy_server_gets_the_pause_that_it_asks_for(api: str, at: str, make: Make) -> None:
    """Retry-After in full, also when it is longer than any pause of our own; no batch twice."""
    setting = make(api)
    where = {'submit': SUBMIT, 'look': LOOK, 'results': RESULTS}[at][api]
    setting.server.faults = [Fault(where, 429, {'Retry-After': '437'}, times=1)]
    assert setting.texts(3) == TEXTS[:3]
    assert 437.0 in setting.time.slept
    assert len(setting.server.submitted) == 1


@pytest.mark.parametrize('api', APIS)
def test_a_pause_beyond_all_patience_is_not_waited_for(api: str, make: Make) -> None:
    """The run ends at once, with how long the server asks to wait and what was allowed."""
    setting = make(api)
    setting.server.faults = [Fault(LOOK[api], 429, {'Retry-After': '86400'}, times=1)]
    with pytest.raises(IncompleteError, match=r'asks to wait 86400 s .*; patience is 600 s\. .*-r'):
        setting.texts(3)
    assert sum(setting.time.slept) < 600
    assert setting.texts(3) == TEXTS[:3]
    assert len(setting.server.submitted) == 1


@pytest.mark.parametrize('api', APIS)
@pytest.mark.parametrize('status', [0, 500, 503])
@pytest.mark.parametrize('at', ['submit', 'look', 'results'])
def test_a_server_that_fails_for_a_while_is_waited_for(api: str, status: int, at: str, make: Make) -> None:
    """Dropped connections too; a submission that was carried out is not repeated."""
    setting = make(api)
    where = {'submit': SUBMIT, 'look': LOOK, 'results': RESULTS}[at][api]
    setting.server.faults = [Fault(where, status, done=True, times=1), Fault(where, status, times=2)]
    assert setting.texts(3) == TEXTS[:3]
    assert len(setting.server.submitted) == 1


@pytest.mark.parametrize('api', APIS)
@pytest.mark.parametrize('page', [b'<html>maintenance</html>', b'[]', b'{"error": "busy"}', b'{"id": '])
@pytest.mark.parametrize('kind', ['text/html', 'application/json'])
def test_a_page_of_a_gateway_in_place_of_a_reply_is_no_reply(
    api: str, page: bytes, kind: str, make: Make
) -> None:
    """Under status 200, whatever was asked for: it is asked for again, and nothing is paid for twice."""
    setting = make(api)
    for where in (SUBMIT, LOOK, RESULTS, {'openai': 'POST /v1/files', 'anthropic': SUBMIT[api]}):
        setting.server.faults.append(Fault(where[api], 200, {'Content-Type': kind}, page, times=1))
    assert setting.texts(3) == TEXTS[:3]
    assert len(setting.server.submitted) == 1


@pytest.mark.parametrize('page', [b'<html>maintenance</html>', b'[]', b'{"data": null}', b'{"id": '])
@pytest.mark.parametrize('kind', ['text/html', 'application/json'])
def test_a_page_in_place_of_the_list_of_batches_shows_none(page: bytes, kind: str, make: Make) -> None:
    """The client of OpenAI fails on it in ways of its own."""
    setting, lost = make('openai'), requests(3)
    account = setting.api()
    account.submit([account.line(one) for one in lost], 'lost')
    setting.server.faults = [Fault('GET /v1/batches', 200, {'Content-Type': kind}, page, times=2)]
    Notes(setting.notes).plan('lost', setting.time.now(), [one.custom_id for one in lost])
    assert setting.texts(3) == TEXTS[:3]
    assert len(setting.server.submitted) == 1


@pytest.mark.parametrize('api', APIS)
def test_results_that_come_over_in_part_are_fetched_again(api: str, make: Make) -> None:
    """Cut within a line or behind one: what is missing is there, and is not paid for again."""
    setting = make(api)
    setting.server.faults = [Fault(RESULTS[api], cut=cut) for cut in (40, 0)]
    assert setting.texts(3) == TEXTS[:3]
    assert len(setting.server.submitted) == 1


@pytest.mark.parametrize('api', APIS)
def test_a_server_that_stays_away_ends_the_wait_and_the_next_task_goes_on(api: str, make: Make) -> None:
    """The error names the batch and what to do; nothing is submitted again."""
    setting = make(api)
    setting.server.faults = [Fault(LOOK[api], 503, times=10**6)]
    with pytest.raises(IncompleteError) as raised:
        setting.texts(3)
    [batch] = setting.server.submitted
    assert batch.id in str(raised.value)
    assert '-r' in str(raised.value)
    setting.server.faults.clear()
    assert setting.texts(3) == TEXTS[:3]
    assert setting.server.submitted == [batch]


@pytest.mark.parametrize('api', APIS)
def test_a_wrong_key_is_one_line_without_the_key(api: str, make: Make) -> None:
    """At once, with the server's words."""
    setting = make(api)
    with pytest.raises(InputError, match=r'401.*(Incorrect API key|invalid x-api-key)') as raised:
        setting.collector(setting.api('sk-wrong-9876543210')).answers(requests(2))
    assert 'sk-wrong' not in str(raised.value)
    assert setting.time.slept == []


class Died(BaseException):
    """The task was killed."""


@pytest.mark.parametrize('api', APIS)
@pytest.mark.parametrize('moment', ['submitted', 'ended', 'plan'])
def test_a_task_that_dies_anywhere_pays_once(
    api: str, moment: str, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before or after each note; a batch without a note is found on the server."""
    setting = make(api)
    with monkeypatch.context() as dying:

        def die(*_: Any) -> None:
            raise Died

        dying.setattr(Notes, moment, die)
        with pytest.raises(Died):
            setting.texts(4)
    setting.time.passed = (
        max(one.made for one in setting.server.submitted) if setting.server.submitted else 0.0
    )
    ours = list(setting.server.submitted)
    assert setting.texts(4) == TEXTS[:4]
    assert setting.server.submitted[: len(ours)] == ours
    assert len(setting.server.submitted) == 1


@pytest.mark.parametrize('api', APIS)
def test_a_batch_of_others_is_not_taken_for_a_lost_one(api: str, make: Make, tmp_path: Path) -> None:
    """One of the same size in the same account brings other names; the requests go out then."""
    setting = make(api)
    others = [Request(f'theirs-{number}', body(number)) for number in range(4)]
    stranger = setting.api()
    stranger.submit([stranger.line(one) for one in others], 'theirs')
    setting.time.passed = setting.server.submitted[0].made
    Notes(setting.notes).plan('lost', setting.time.now(), [one.custom_id for one in requests(4)])
    assert setting.texts(4) == TEXTS[:4]
    assert [len(batch.requests) for batch in setting.server.submitted] == [4, 4]
    assert Notes(setting.notes).open == []


@pytest.mark.parametrize('ours', [0, 1])
def test_of_several_batches_that_may_be_the_lost_one_the_right_one_is_taken(ours: int, make: Make) -> None:
    """All of the same size, and all ended at the same time; nothing is submitted again."""
    setting, lost = make('anthropic'), requests(4)
    others = [Request(f'theirs-{number}', body(number)) for number in range(4)]
    account = setting.api()
    for batch in [lost, others] if ours == 0 else [others, lost]:
        account.submit([account.line(one) for one in batch], '')
    setting.time.passed = setting.server.submitted[0].made
    Notes(setting.notes).plan('lost', setting.time.now(), [one.custom_id for one in lost])
    assert setting.texts(4) == TEXTS[:4]
    assert len(setting.server.submitted) == 2
    assert Notes(setting.notes).open == []


def test_each_of_two_lost_batches_of_one_size_is_found(make: Make) -> None:
    """An API without marks shows both for both."""
    setting, both = make('anthropic'), requests(8)
    account = setting.api()
    for name, part in (('first', both[:4]), ('second', both[4:])):
        account.submit([account.line(one) for one in part], '')
        made = setting.server.submitted[0].made
        Notes(setting.notes).plan(name, made, [one.custom_id for one in part])
    setting.time.passed = made
    assert setting.texts(8) == TEXTS[:8]
    assert len(setting.server.submitted) == 2
    assert Notes(setting.notes).open == []


@pytest.mark.parametrize('api', APIS)
def test_a_list_that_lags_behind_a_long_submission_is_waited_for(
    api: str, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its reply is lost after ten minutes, and the list shows the batch half a minute later."""
    setting = make(api)
    collected, lost = setting.api(), list[float]()
    submit, find = collected.submit, collected.find

    def slow(lines: Any, mark: str) -> str:
        submit(lines, mark)
        setting.time.passed += 600.0
        lost.append(setting.time.now())
        raise Unreachable('timed out', unknown=True)

    def lagging(mark: str, count: int, since: float) -> list[str]:
        return find(mark, count, 0.0) if setting.time.now() > lost[0] + 30 else []

    monkeypatch.setattr(collected, 'submit', slow)
    monkeypatch.setattr(collected, 'find', lagging)
    answers = setting.collector(collected, unreachable=3600.0).answers(requests(3))
    assert texts_of(answers) == TEXTS[:3]
    assert len(setting.server.submitted) == 1


@pytest.mark.parametrize('api', APIS)
def test_a_list_that_lags_behind_a_killed_task_is_waited_for(
    api: str, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long ago it was planned: the upload may have ended a moment before."""
    setting, lost = make(api), requests(3)
    account = setting.api()
    account.submit([account.line(one) for one in lost], 'lost')
    find, began = account.find, setting.time.now()

    def lagging(mark: str, count: int, since: float) -> list[str]:
        return find(mark, count, 0.0) if setting.time.now() > began + 30 else []

    monkeypatch.setattr(account, 'find', lagging)
    Notes(setting.notes).plan('lost', began - 900.0, [one.custom_id for one in lost])
    assert texts_of(setting.collector(account).answers(lost)) == TEXTS[:3]
    assert len(setting.server.submitted) == 1


@pytest.mark.parametrize('api', APIS)
def test_a_lost_batch_is_found_on_a_later_page(api: str, make: Make) -> None:
    """Behind more batches than a list shows at once."""
    setting = make(api)
    lost, ours = setting.api(), requests(4)
    lost.submit([lost.line(one) for one in ours], 'lost')
    [made] = setting.server.submitted
    for number in range(130):
        setting.server.batches[f'other_{number}'] = replace(
            made, id=f'other_{number}', metadata=None, requests={}
        )
    setting.time.passed = setting.server.submitted[0].made
    Notes(setting.notes).plan('lost', setting.time.now(), [one.custom_id for one in ours])
    assert setting.texts(4) == TEXTS[:4]
    assert len(setting.server.submitted) == 131


def test_a_batch_that_fails_validation_is_one_error_with_the_line(make: Make) -> None:
    """With the server's words; the next task submits anew."""
    setting = make('openai')
    wrong = [Request('a', {**body(0), 'model': 'no-such-model'})]
    with pytest.raises(InputError, match=r"line 1 of the input file: .*'no-such-model' is not supported"):
        setting.collector().answers(wrong)
    assert Notes(setting.notes).open == []


def test_a_full_queue_is_waited_for(make: Make) -> None:
    """OpenAI fails a batch as a whole if too many tokens are enqueued; it says to try again later."""
    setting = make('openai', looks=3)
    setting.server.queue = 5
    few = setting.api()
    few.most_requests = 4
    assert texts_of(setting.collector(few).answers(requests(8))) == TEXTS[:8]
    assert any('queue is full' in line for line in setting.said)


def test_a_queue_that_stays_full_for_a_day_ends_the_run(make: Make) -> None:
    """With what to do about it."""
    setting = make('openai')
    setting.server.queue = 0
    with pytest.raises(IncompleteError, match='smaller batch_size'):
        setting.texts(2, poll=7200.0)


@pytest.mark.parametrize('api', APIS)
def test_ctrl_c_leaves_the_batch_and_says_so(api: str, make: Make) -> None:
    """The id, that it costs, and how to go on."""
    setting = make(api)
    setting.server.held.set()
    collector = setting.collector()

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    collector._sleep = interrupt
    with pytest.raises(KeyboardInterrupt):
        collector.answers(requests(2))
    [batch] = setting.server.submitted
    assert setting.said[-1].startswith('warning: ')
    assert batch.id in setting.said[-1]
    assert '-r collects it' in setting.said[-1]


def test_a_task_that_lost_its_shard_submits_nothing(make: Make) -> None:
    """Of two tasks with one shard the earlier one stops."""
    setting = make('openai')

    def taken_over() -> None:
        raise IncompleteError('taken over')

    with pytest.raises(IncompleteError, match='taken over'):
        setting.collector(check=taken_over).answers(requests(2))
    assert setting.server.submitted == []


def test_torn_notes_are_passed_over(tmp_path: Path) -> None:
    """A kill may cut the last line; what is added behind it is read."""
    notes = Notes(tmp_path / 'a.batches')
    notes.plan('one', 1.0, ['a'])
    notes.submitted('one', 'batch_1')
    with (tmp_path / 'a.batches').open('a') as file:
        file.write('{"ended": "on')
    again = Notes(tmp_path / 'a.batches')
    again.plan('two', 2.0, ['b'])
    assert [planned.batch for planned in Notes(tmp_path / 'a.batches').open] == ['batch_1', None]


def test_texts_keep_every_character(make: Make) -> None:
    """Line separators of Unicode within a text end no line of the results."""
    text = 'a\u2028b\x85c\x0b中'
    setting = make('openai', lambda *_: Said(text))
    assert setting.texts(2) == [text, text]
    assert setting.texts(2) == [text, text]


@pytest.mark.parametrize(
    'uid', ['202412/AMC_en/3', '题目' * 50, 'a' * 300, ''], ids=['usual', 'cjk', 'long', 'none']
)
def test_names_of_requests_are_what_anthropic_allows(uid: str) -> None:
    """At most 64 of [A-Za-z0-9_-]; another sample or another body has another name."""
    names = {custom_id(uid, replica, body(number)) for replica in range(12) for number in range(3)}
    assert len(names) == 36
    assert all(re.fullmatch(r'[a-zA-Z0-9_-]{1,64}', name) for name in names)
    assert custom_id(uid, 1, body(2)) in names


def test_notes_hold_no_key(make: Make) -> None:
    """Only names, ids and responses."""
    setting = make('openai', lambda *_: Said('fine'))
    setting.texts(2)
    assert KEY not in setting.notes.read_text()
    assert all(isinstance(json.loads(line), dict) for line in setting.notes.read_text().splitlines())


@pytest.mark.parametrize('address', ['http://127.0.0.1.example/results', 'http://elsewhere/v1/results'])
def test_the_key_goes_to_no_other_host(address: str, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anthropic names where the results are; a gateway in between might name anything."""
    setting = make('anthropic', looks=0)
    api = setting.api()
    found = api._object
    monkeypatch.setattr(api, '_object', lambda *asked: {**found(*asked), 'results_url': address})
    with pytest.raises(InputError, match='at another host'):
        setting.collector(api).answers(requests(1))


@pytest.mark.parametrize('api', APIS)
def test_a_key_in_a_reply_is_hidden(api: str, make: Make) -> None:
    """Some gateways quote it in what they send as a response."""
    setting = make(api, lambda *_: Said(f'no credit for {KEY}'))
    assert setting.texts(1) == ['no credit for ***']
    assert KEY not in setting.notes.read_text()


def test_a_key_in_a_reply_that_is_none_is_hidden() -> None:
    """Under status 200, in the line of the results."""
    api = OpenAIBatches(KEY, 'http://127.0.0.1:9/v1')
    for content in ({'error': {'message': f'bad key {KEY}'}}, {'choices': [], 'why': KEY}):
        answer = api._answer({'custom_id': 'a', 'response': {'status_code': 200, 'body': content}})
        assert '***' in answer.said
        assert KEY not in answer.said
    api.close()
