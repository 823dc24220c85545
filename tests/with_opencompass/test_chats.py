"""A model behind servers that fail in every way: samples get a state, runs go on, wrong settings end them."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from hosts import import_plugin
from judge_server import Act, Asked, Fail, Hang, JudgeServer, Reset, Say, SkippingClock

from gpassk_opencompass import IncompleteError, InputError
from gpassk_opencompass.chat.exchange import Access
from gpassk_opencompass.chat.limits import Limits
from gpassk_opencompass.chat.routes import endpoints
from gpassk_opencompass.demo import MODEL
from gpassk_opencompass.health import Generation

plugin = import_plugin()
chats = import_plugin('.models.chats')
served = import_plugin('.served')

pytestmark = [pytest.mark.filterwarnings('ignore')]
INF = float('inf')


def limits(**given: Any) -> Limits:
    return Limits(**{'concurrency': 8, 'total_time': INF, 'patience': 600.0, 'attempts': 12, **given})


def asker(*servers: JudgeServer, keys: tuple[str, ...] = ('',), clock: Any = None, **given: Any) -> Any:
    """The part that both classes of models share, with time that passes when it is waited for."""
    urls = endpoints([server.url for server in servers])
    return chats.Chats('m', urls, limits(**given), Access(keys), clock=clock or SkippingClock())


def bodies(count: int, **fields: Any) -> list[dict[str, Any]]:
    return [
        {'model': 'm', 'messages': [{'role': 'user', 'content': f'prompt {number}'}], **fields}
        for number in range(count)
    ]


def echo(asked: Asked) -> Act:
    return f'to {asked.prompt}'


def asked_of(behave: Callable[[Asked], Act], count: int = 6, **given: Any) -> list[tuple[str, Generation]]:
    with JudgeServer(behave) as server:
        answers, _ = asker(server, **given).ask(bodies(count))
    return list(answers)


def states(answers: list[tuple[str, Generation]]) -> list[str | None]:
    return [generation.state for _, generation in answers]


# one sample

TOO_LONG = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."
ACTS: dict[str, tuple[Act, str, str | None]] = {
    'an empty text': (Say(''), '', 'empty'),
    'null': (Say(None), '', 'empty'),
    'filtered': (Say('par', 'content_filter'), '', 'filtered'),
    'aborted': (Say('par', 'abort'), '', 'aborted'),
    'fewer choices': (Say(None, more={'choices': []}), '', 'no choice'),
    'too long': (Fail(400, {'error': {'message': TOO_LONG}}), '', 'too long'),
    'too large': (Fail(413, b'<html>413</html>'), '', 'too long'),
    'a filter before it': (Fail(400, {'error': {'message': 'content management policy'}}), '', 'filtered'),
    'refused': (Fail(422, {'detail': 'no'}), '', 'refused'),
    'an error each time': (Fail(500), '', 'failed'),
    'no JSON': (Fail(200, b'{"choices": ['), '', 'failed'),
    'a dropped connection': (Reset(), '', 'failed'),
    'no reply': (Hang(), '', 'failed'),
}


@pytest.mark.parametrize(
    ('act', 'text', 'state', 'first'),
    [(act, text, state, first) for (act, text, state), first in zip(ACTS.values(), cycle([True, False]))],
    ids=ACTS,
)
def test_one_bad_sample_has_a_state_and_ends_nothing(
    act: Act, text: str, state: str | None, first: bool
) -> None:
    """Also if it is the first that the server gets, and it then looks as if it took none."""
    bad = 0 if first else 5

    def behave(asked: Asked) -> Act:
        return act if asked.prompt == f'prompt {bad}' else echo(asked)

    given = {'timeout': 0.2} if isinstance(act, Hang) else {}
    answers = asked_of(behave, attempts=3, concurrency=1, **given)
    assert states(answers) == [state if number == bad else None for number in range(6)]
    assert [found for found, _ in answers] == [
        text if number == bad else f'to prompt {number}' for number in range(6)
    ]


def test_a_batch_of_one_bad_sample_ends_nothing() -> None:
    """The server is asked whether it takes anything with these settings; it does."""

    def behave(asked: Asked) -> Act:
        return Fail(400, {'error': {'message': TOO_LONG}}) if 'prompt' in asked.prompt else 'hello'

    assert states(asked_of(behave, count=1)) == ['too long']


def test_many_failures_of_many_kinds_lose_no_sample() -> None:
    """Half of all requests fail in some way before the server answers; every text is with its own prompt."""
    lock, seen = threading.Lock(), Counter[str]()
    busy = Fail(429, headers={'Retry-After': '3'})
    ways: list[Act] = [busy, Fail(503), Fail(500), Reset(), Say('', 'abort')]

    def behave(asked: Asked) -> Act:
        with lock:
            seen[asked.prompt] += 1
            times, number = seen[asked.prompt], int(asked.prompt.split()[-1])
        return ways[(number + times) % 5] if times <= number % 3 else echo(asked)

    answers = asked_of(behave, count=60)
    assert states(answers) == [None] * 60
    assert [text for text, _ in answers] == [f'to prompt {number}' for number in range(60)]


POISON: dict[str, tuple[Act, str]] = {
    'HTTP 500': (Fail(500), 'failed'),
    'HTTP 503': (Fail(503), 'failed'),
    'HTTP 504': (Fail(504), 'failed'),
    'HTTP 409': (Fail(409), 'failed'),
    'a dropped connection': (Reset(), 'failed'),
    'HTTP 403': (Fail(403), 'refused'),
    'HTTP 451': (Fail(451), 'refused'),
    'HTTP 429 for itself': (Fail(429, {'error': 'Request too large: Limit 30, Requested 40'}), 'too long'),
}


@pytest.mark.parametrize(
    ('act', 'state', 'number'),
    [(act, state, number) for (act, state), number in zip(POISON.values(), cycle([0, 5]))],
    ids=POISON,
)
def test_one_request_that_fails_always_never_ends_a_run(act: Act, state: str, number: int) -> None:
    """With all attempts, and a patience that is over long before them; the others have their replies."""

    def behave(asked: Asked) -> Act:
        return act if asked.prompt == f'prompt {number}' else echo(asked)

    found = states(asked_of(behave, concurrency=1, attempts=12, patience=3.0))
    assert found == [state if place == number else None for place in range(6)]


@pytest.mark.parametrize('status', [403, 500, 503])
def test_a_server_that_fails_for_all_ends_the_run(status: int) -> None:
    """After replies, too: the probe fails as well."""
    with (
        JudgeServer(lambda asked: Fail(status) if asked.number >= 3 else echo(asked)) as server,
        pytest.raises((InputError, IncompleteError)),
    ):
        asker(server, concurrency=1, patience=30.0, attempts=1000).ask(bodies(9))
    assert len(server.asked) < 200


def test_servers_are_asked_again_after_a_run_that_was_broken_off() -> None:
    """With requests under way: what was under way then is not waited for."""
    fails = [True]

    def behave(asked: Asked) -> Act:
        if fails[0]:
            return Fail(401) if asked.prompt == 'prompt 3' else Say('late', delay=1.0)
        return 'fine'

    with JudgeServer(behave) as server:
        asking = asker(server, concurrency=4)
        for _ in range(2):
            with pytest.raises(InputError, match='401'):
                asking.ask(bodies(4))
        fails[0], answers = False, []
        thread = threading.Thread(target=lambda: answers.extend(asking.ask(bodies(9))[0]), daemon=True)
        thread.start()
        thread.join(20)
        assert states(answers) == [None] * 9


# settings that no request can have


def says(status: int, message: str, **more: str) -> Fail:
    return Fail(status, {'error': {'message': message, **more}})


NO_MONEY = says(429, 'You exceeded your current quota', code='insufficient_quota')
SETTINGS: dict[str, tuple[Fail, str]] = {
    'wrong key': (says(401, 'Incorrect API key provided'), 'key_env'),
    'unknown model': (says(404, 'The model `m` does not exist.'), '/v1/models'),
    'no seed': (says(400, 'Unknown name "seed": Cannot find field.'), 'random_seeds = None'),
    'no top_k': (says(400, 'Unrecognized request argument: top_k'), 'top_ks'),
    'max_out_len': (says(400, 'max_tokens is too large: 99999.'), 'max_out_lens'),
    'no money': (NO_MONEY, 'account'),
}


@pytest.mark.parametrize(
    ('act', 'advice', 'count'),
    [(act, advice, count) for (act, advice), count in zip(SETTINGS.values(), cycle([1, 40]))],
    ids=SETTINGS,
)
def test_settings_that_no_server_takes_end_the_run_at_once(act: Fail, advice: str, count: int) -> None:
    """With the server's words, and the setting; after a handful of requests."""
    with JudgeServer(lambda asked: act) as server, pytest.raises(InputError) as caught:
        asker(server).ask(bodies(count))
    said = str(caught.value)
    assert act.body['error']['message'] in said
    assert advice in said
    assert '\n' not in said
    assert len(server.asked) <= 17  # twice what may be under way, and the probe


def test_of_several_keys_one_that_is_turned_away_is_given_up() -> None:
    """The others go on; what they may be asked is counted for each."""

    def behave(asked: Asked) -> Act:
        return Fail(401) if asked.headers['Authorization'] == 'Bearer key-bad' else echo(asked)

    with JudgeServer(behave) as server:
        answers, _ = asker(server, keys=('key-good', 'key-bad', 'key-also')).ask(bodies(300))
    assert states(answers) == [None] * 300
    used = Counter(asked.headers['Authorization'] for asked in server.asked)
    assert set(used) == {'Bearer key-good', 'Bearer key-bad', 'Bearer key-also'}
    with JudgeServer(lambda asked: Fail(401)) as server, pytest.raises(InputError, match='401'):
        asker(server, keys=('key-a', 'key-b')).ask(bodies(30))


@pytest.mark.parametrize('key', ['sk-no-key-required', '1234', 'test', 'token-abc123'])
def test_a_key_that_is_a_word_changes_no_answer(key: str) -> None:
    """Such keys are given to servers that want none; all that a model says stays what it says."""
    said = f'The {key} of 1234 is a test with {key[:9]}.'
    choice = {'message': {'content': said, 'reasoning': said}, 'finish_reason': 'stop'}
    with JudgeServer(lambda asked: Say(said, more={'choices': [choice]})) as server:
        [(text, _)], _ = asker(server, keys=(key,)).ask(bodies(1))
    assert text == f'{said}</think>{said}'


def test_a_long_key_that_a_gateway_quotes_as_a_reply_is_hidden() -> None:
    """To the letter; nothing that only resembles it."""
    key = 'sk-0123456789abcdefghij'
    with JudgeServer(lambda asked: f'Your key {key} expires; {key[:15]} {key.upper()}') as server:
        [(text, _)], _ = asker(server, keys=(key,)).ask(bodies(1))
    assert text == f'Your key *** expires; {key[:15]} {key.upper()}'


# patience


def test_a_server_that_is_killed_and_restarted_costs_time_alone() -> None:
    """In the middle of a batch, with everything under way, twice; by the real clock."""
    started = threading.Event()

    def behave(asked: Asked) -> Act:
        if asked.number >= 20:
            started.set()
        return Say(f'to {asked.prompt}', delay=0.02)

    with JudgeServer(behave) as server:

        def restart() -> None:
            for _ in range(2):
                started.wait(30)
                server.stop()
                started.clear()
                time.sleep(0.7)
                server.start()

        thread = threading.Thread(target=restart)
        thread.start()
        asking = chats.Chats('m', endpoints(server.url), limits(concurrency=16), Access())
        answers, said = asking.ask(bodies(200))
        thread.join()
    assert [text for text, _ in answers] == [f'to prompt {number}' for number in range(200)]
    assert states(answers) == [None] * 200
    assert said == ''


def test_all_servers_are_asked_and_the_free_one_more() -> None:
    """One is ten times as slow as the other."""
    with (
        JudgeServer(lambda asked: Say('slow', delay=0.1)) as slow,
        JudgeServer(lambda asked: Say('fast', delay=0.01)) as fast,
    ):
        answers, _ = asker(slow, fast, concurrency=4).ask(bodies(60))
    count = Counter(text for text, _ in answers)
    assert count['slow'] + count['fast'] == 60
    assert 0 < 2 * count['slow'] < count['fast']


def test_without_any_server_a_run_ends_when_the_patience_does() -> None:
    """In one line that names them and says which samples are kept."""
    with socket.socket() as unused:
        unused.bind(('127.0.0.1', 0))
        url = f'http://127.0.0.1:{unused.getsockname()[1]}'
    clock = SkippingClock()
    asking = chats.Chats('m', endpoints(url), limits(), Access(), clock=clock)
    with pytest.raises(
        IncompleteError, match=r'no server answers .*The samples of the batches before are kept'
    ) as caught:
        asking.ask(bodies(10))
    assert '\n' not in str(caught.value)
    assert 540 <= clock.now() <= 660


# limits of hosted APIs


@pytest.mark.parametrize('status', [429, 503])
def test_a_server_says_how_long_to_wait(status: int) -> None:
    """Nobody asks it before that."""
    clock, asked_at = SkippingClock(), []

    def behave(asked: Asked) -> Act:
        asked_at.append(clock.now())
        return Fail(status, headers={'Retry-After': '47'}) if len(asked_at) == 1 else echo(asked)

    assert states(asked_of(behave, clock=clock, concurrency=1)) == [None] * 6
    assert asked_at[1] >= 47


def test_a_rate_is_kept() -> None:
    """`query_per_second`, by the clock."""
    clock, asked_at = SkippingClock(), []

    def behave(asked: Asked) -> Act:
        asked_at.append(clock.now())
        return 'x'

    asked_of(behave, count=20, clock=clock, rate=2.0)
    assert 9.0 <= asked_at[-1] <= 11.0


# what a server says of itself


@contextmanager
def known(*versions: str, root: str = '/models/a', owner: str = 'vllm') -> Iterator[list[JudgeServer]]:
    """Servers of these versions."""
    with ExitStack() as stack:
        card = {'id': 'm', 'owned_by': owner, 'root': root}
        yield [
            stack.enter_context(JudgeServer(echo, [card], places={'/version': {'version': version}}))
            for version in versions
        ]


def test_versions_are_noted_and_a_change_is_a_warning(tmp_path: Path) -> None:
    """As after a restart with another release: the note says since when, the warning which ones."""
    for number, version in enumerate(('0.13.0', '0.13.0', '0.32.0')):
        with known(version) as servers:
            asking = asker(*servers)
            asking.notes.keep_in(tmp_path)
            asking.ask(bodies(3))
        told, warnings = served.servers_told(served.read_servers(tmp_path))
        assert [one['version'] for one in told] == ['0.13.0', '0.32.0'][: 1 + (number == 2)]
    assert [(one['engine'], one['root']) for one in told] == [('vllm', 'a')] * 2
    assert warnings == ['servers of 2 versions drew the samples: vllm 0.13.0, vllm 0.32.0']
    assert all('127.0.0.1' not in json.dumps(one) for one in told)


def test_other_weights_end_the_run(tmp_path: Path) -> None:
    """Samples of two models would be one run; a folder of the same name elsewhere is asked about."""
    for root in ('/models/a', '/scratch/a'):
        with known('1', root=root) as servers:
            asking = asker(*servers)
            asking.notes.keep_in(tmp_path)
            asking.ask(bodies(3))
    _, warnings = served.servers_told(served.read_servers(tmp_path))
    assert warnings == ["the servers have their weights in 2 places that end in 'a': are they the same?"]
    with known('1', root='/models/b') as servers:
        asking = asker(*servers)
        asking.notes.keep_in(tmp_path)
        with pytest.raises(IncompleteError, match="serves 'b'"):
            asking.ask(bodies(3))
    assert servers[0].asked == []


# the classes


def model_of(engine: str, urls: Any, **settings: Any) -> Any:
    if engine == 'openai':
        fixed = {'key': 'EMPTY', 'tokenizer_path': MODEL, 'max_workers': 4}
        return plugin.SeededOpenAISDK('m', openai_api_base=urls, **{**fixed, **settings})
    return plugin.SeededTurboMindAPI('m', urls, **settings)


@pytest.mark.parametrize('engine', ['openai', 'lmdeploy_server'])
def test_both_engines_ask_all_servers_of_a_list(engine: str) -> None:
    """OpenAISDK picks one by chance and keeps to it."""
    slowly = Say('x', delay=0.01)
    with JudgeServer(lambda asked: slowly) as one, JudgeServer(lambda asked: slowly) as two:
        base = '/v1' if engine == 'openai' else ''
        model = model_of(engine, [f'{one.url}{base}', f'{two.url}{base}'])
        prompts = [f'prompt {number}' for number in range(12)]
        for _ in range(50):  # the first batch may be over before the second server said who it is
            assert model.generate(prompts, max_out_len=8) == ['x'] * 12
            if one.asked and two.asked:
                return
    raise AssertionError(f'{len(one.asked)} and {len(two.asked)} requests')


def test_a_prompt_beyond_the_context_is_not_sent() -> None:
    """`max_seq_len` of OpenAISDK, for which it ends the run."""
    with JudgeServer(echo) as server:
        model = model_of('openai', f'{server.url}/v1', max_seq_len=300)
        texts = model.generate(['short', 'long ' * 400], max_out_len=8)
        told = model.generations.take(2)
    assert texts == ['to short', '']
    assert [one.state for one in told] == [None, 'too long']
    assert 'max_seq_len' in model.generations.take_said()


def test_what_the_server_said_of_the_first_is_there_for_an_error() -> None:
    """So that a run with too many of them can say why."""
    with JudgeServer(
        lambda asked: Fail(422, {'detail': 'no such thing'}) if '1' in asked.prompt else 'x'
    ) as server:
        model = model_of('lmdeploy_server', server.url)
        model.generate(['a 0', 'a 1'], max_out_len=8)
    assert model.generations.take_said() == 'HTTP 422: no such thing'


PROXY = 'http://127.0.0.1:9'


@pytest.mark.parametrize(
    ('settings', 'proxy'),
    [
        ({}, ''),
        ({'openai_proxy_url': PROXY}, PROXY),
        ({'http_client_cfg': {'proxy': PROXY, 'verify': False}}, PROXY),
        ({'http_client_cfg': {'proxies': {'http://': PROXY, 'https://': PROXY}}}, PROXY),
    ],
    ids=['none', 'openai_proxy_url', 'proxy', 'proxies'],
)
def test_a_proxy_is_used(settings: dict[str, Any], proxy: str) -> None:
    """The one that OpenAI's client would use."""
    model = model_of('openai', 'http://10.0.0.1/v1', **settings)
    assert model.chats._access.proxy == proxy


@pytest.mark.parametrize(
    'settings',
    [
        {'http_client_cfg': {'http2': True}},
        {'openai_proxy_url': 'socks5://127.0.0.1:9'},
        {'openai_extra_kwargs': {'extra_headers': {'a': 'b'}}},
        {'extra_body': {'stream': True}},
        {'openai_api_base': []},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_what_cannot_be_honoured_is_refused(settings: dict[str, Any]) -> None:
    """Before anything is asked."""
    with pytest.raises(InputError):
        model_of('openai', **{'urls': 'http://10.0.0.1/v1', **_as_urls(settings)})


def _as_urls(settings: dict[str, Any]) -> dict[str, Any]:
    return {'urls' if name == 'openai_api_base' else name: value for name, value in settings.items()}
