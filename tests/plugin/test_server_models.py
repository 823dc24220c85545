"""Models behind servers that fail in every way: samples get a state, runs go on, wrong settings end them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import pytest
from engine_fakes import SERVERS, VLLM, infer
from hosts import drawn, import_plugin
from judge_server import Act, Asked, Fail, Hang, JudgeServer, Reset, Say, SkippingClock

from gpassk_opencompass import IncompleteError, InputError
from gpassk_opencompass.completion import reply_of
from gpassk_opencompass.demo import MODEL
from gpassk_opencompass.health import NOT_DRAWN, STATES, Generation

plugin = import_plugin()
seeds = import_plugin('.seeds')
marks = import_module('gpassk_opencompass.marks')

pytestmark = [pytest.mark.filterwarnings('ignore')]
PROMPTS = [f'prompt {number}' for number in range(6)]
EXPECTED = [seeds.sample_seed(42, '202412/AMC_en/0', replica, 31) for replica in range(6)]


def model_of(engine: str, url: Any, **settings: Any) -> Any:
    """A model with time that passes when it is waited for."""
    if engine == 'openai':
        fixed = {'path': 'm', 'key': 'EMPTY', 'tokenizer_path': MODEL, 'max_workers': 8, 'random_seed': 42}
        model = plugin.SeededOpenAISDK(openai_api_base=url, **{**fixed, **settings})
    else:
        model = plugin.SeededTurboMindAPI('m', url, **{'random_seed': 42, **settings})
    model.clock = SkippingClock()
    return model


@contextmanager
def model_at(
    engine: str, behave: Callable[[Asked], Act], **settings: Any
) -> Iterator[tuple[Any, JudgeServer]]:
    with JudgeServer(behave) as server:
        yield model_of(engine, f'{server.url}{"/v1" if engine == "openai" else ""}', **settings), server


def ask(model: Any, count: int = 6) -> list[tuple[str, Generation]]:
    return [answer[:2] for answer in drawn(model, [f'prompt {number}' for number in range(count)])]


def echo(asked: Asked) -> Act:
    return f'to {asked.prompt}'


# one sample

TOO_LONG = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."
ACTS: dict[str, tuple[Act, str, str | None]] = {
    'null': (Say(None), '', 'empty'),
    'aborted': (Say('par', 'abort'), '', 'aborted'),
    'fewer choices': (Say(None, more={'choices': []}), '', 'no choice'),
    'too long': (Fail(400, {'error': {'message': TOO_LONG}}), '', 'too long'),
    'a filter before it': (Fail(400, {'error': {'message': 'content management policy'}}), '', 'filtered'),
    'refused': (Fail(422, {'detail': 'no'}), '', 'refused'),
    'an error each time': (Fail(500), '', 'failed'),
    'no JSON': (Fail(200, b'{"choices": ['), '', 'failed'),
    'a dropped connection': (Reset(), '', 'failed'),
    'no reply': (Hang(), '', 'failed'),
}


@pytest.mark.parametrize('name', ACTS)
def test_one_bad_sample_has_a_state_and_ends_nothing(name):
    """Also if it is the first that the server gets, and it then looks as if it took none."""
    act, text, state = ACTS[name]
    bad = 5 * (list(ACTS).index(name) % 2)

    def behave(asked):
        return act if asked.prompt == f'prompt {bad}' else echo(asked)

    given = {'timeout': 1.5} if isinstance(act, Hang) else {}
    with model_at('openai', behave, retry=3, max_workers=1, **given) as (model, _):
        answers = ask(model)
    expected = [(text, state) if number == bad else (f'to prompt {number}', None) for number in range(6)]
    assert [(found, told.state) for found, told in answers] == expected


# settings that no request can have


def says(status: int, message: str, **more: str) -> Fail:
    return Fail(status, {'error': {'message': message, **more}})


SETTINGS: dict[str, tuple[Fail, str]] = {
    'wrong key': (says(401, 'Incorrect API key provided'), 'key_env'),
    'unknown model': (says(404, 'The model `m` does not exist.'), '/v1/models'),
    'no seed': (says(400, 'Unknown name "seed": Cannot find field.'), 'random_seeds = None'),
    'no top_k': (says(400, 'Unrecognized request argument: top_k'), 'top_ks'),
    'max_out_len': (says(400, 'max_tokens is too large: 99999.'), 'max_out_lens'),
    'no money': (
        says(429, 'You exceeded your current quota', code='insufficient_quota'),
        'account',
    ),
}


@pytest.mark.parametrize('name', SETTINGS)
def test_settings_that_no_server_takes_end_the_run_at_once(name):
    """With the server's words, and the setting; after a handful of requests."""
    act, advice = SETTINGS[name]
    with model_at('openai', lambda asked: act) as (model, server), pytest.raises(InputError) as caught:
        ask(model, [1, 40][list(SETTINGS).index(name) % 2])
    said = str(caught.value)
    assert act.body['error']['message'] in said
    assert advice in said
    assert '\n' not in said
    assert len(server.asked) <= 17  # twice what may be under way, and the probe


# what a server says of itself


def test_what_servers_are_is_noted_and_other_weights_end_the_run(tmp_path):
    """As after a restart with another release; a folder of the same name elsewhere is asked about."""
    asked = []

    def noted(version, root):
        card = {'id': 'm', 'owned_by': 'vllm', 'root': root}
        with JudgeServer(echo, [card], places={'/version': {'version': version}}) as server:
            model = model_of('openai', server.url)
            model.folder = tmp_path
            asked.append(server.asked)
            ask(model, 3)
        return marks.servers_told(marks.read_notes(tmp_path))

    for number, version in enumerate(('0.13.0', '0.13.0', '0.32.0')):
        told, warnings = noted(version, '/models/a')
        assert [one['version'] for one in told] == ['0.13.0', '0.32.0'][: 1 + (number == 2)]
    assert [(one['engine'], one['root']) for one in told] == [('vllm', 'a')] * 2
    assert warnings == ['servers of 2 versions drew the samples: vllm 0.13.0, vllm 0.32.0']
    assert all('127.0.0.1' not in json.dumps(one) for one in told)
    _, warnings = noted('0.32.0', '/scratch/a')
    assert warnings[1:] == ["the servers have their weights in 2 places that end in 'a': are they the same?"]
    with pytest.raises(IncompleteError, match="serves 'b'"):
        noted('0.32.0', '/models/b')
    assert asked[-1] == []


# the classes


@pytest.mark.parametrize('engine', SERVERS)
def test_seed_text_tokens_and_time_go_with_their_prompt(engine):

    def behave(asked):
        number = int(asked.prompt.split()[-1])
        usage = {'prompt_tokens': 100 + number, 'completion_tokens': 10 + number, 'total_tokens': 0}
        reason = 'length' if number % 2 else 'stop'
        return Say(
            f'{asked.prompt}: {asked.body["seed"]}', reason, delay=0.1 * (6 - number), more={'usage': usage}
        )

    with model_at(engine, behave) as (model, server):
        found = drawn(model, PROMPTS)
    for number, (text, told, _) in enumerate(found):
        assert text == f'prompt {number}: {EXPECTED[number]}'
        assert told[:3] == ('length' if number % 2 else 'stop', 100 + number, 10 + number)
        assert told.seconds >= 0.1 * (6 - number)
    assert len(server.asked) == 6


@pytest.mark.parametrize('engine', SERVERS)
def test_inferencers_of_opencompass_get_a_seed_a_prompt_and_call(engine):
    """Not the same seed for the same prompt twice; the next process has the same ones."""
    found = []
    for _ in range(2):
        with model_at(engine, lambda asked: str(asked.body['seed'])) as (model, _):
            found.append(
                [*model.generate(PROMPTS, max_out_len=16), *model.generate(PROMPTS[:1], max_out_len=16)]
            )
    assert found[0] == found[1]
    assert len(set(found[0])) == 7


@pytest.mark.parametrize('engine', SERVERS)
def test_key_organization_and_stop_words_go_with_each_request(engine, monkeypatch):
    """The models of one template may have different providers; without a random seed no seed is sent."""
    monkeypatch.setenv('MY_PROVIDER_KEY', 'secret-1')
    monkeypatch.setenv('OPENAI_PROJECT_ID', 'proj-1')
    settings = {'key_env': 'MY_PROVIDER_KEY', 'random_seed': None, 'org': 'org-1'}
    settings |= {'end_str': '###'} if engine == 'lmdeploy_server' else {}
    with model_at(engine, lambda asked: 'x', **settings) as (model, server):
        assert [text for text, *_ in drawn(model, PROMPTS, stopping_criteria=['Q:'])] == ['x'] * 6
    for asked in server.asked:
        assert asked.headers['Authorization'] == 'Bearer secret-1'
        named = [asked.headers[f'OpenAI-{name}'] for name in ('Organization', 'Project')]
        assert named == ['org-1', 'proj-1']
        assert asked.body['stop'] == [*(['###'] if 'end_str' in settings else []), 'Q:']
        assert 'seed' not in asked.body
    monkeypatch.delenv('MY_PROVIDER_KEY')
    with pytest.raises(InputError, match='export MY_PROVIDER_KEY'):
        model_of(engine, 'http://10.0.0.1', key_env='MY_PROVIDER_KEY')


@pytest.mark.parametrize(
    ('engine', 'settings'),
    [
        ('openai', {'openai_proxy_url': 'socks5://127.0.0.1:9'}),
        ('openai', {'openai_extra_kwargs': {'n': 2}}),
        ('openai', {'extra_body': {'seed': 1}}),
        ('openai', {'path': 'o1-mini', 'temperature': 1.0}),
        # OpenCompass's own example, `gen_config=dict(random_seed=…)`, is dropped by the server.
        *(
            ('lmdeploy_server', {'gen_config': {key: 1}})
            for key in ('seed', 'random_seed', 'n', 'do_sample', 'max_new_tokens')
        ),
    ],
)
def test_what_cannot_be_honoured_is_refused(engine, settings):
    name = next(iter(settings.get('gen_config', {})), '')
    with pytest.raises(InputError, match=name):
        model_of(engine, **{'url': 'http://10.0.0.1/v1', **settings})


def test_vllms_server_knows_every_field_of_a_request(tmp_path):
    """In the recorded versions; as lmdeploy's, it drops others without a word."""
    for sent in infer('openai', tmp_path).sent:
        for entry in VLLM:
            assert {*sent.settings, 'seed', 'messages'} <= set(entry['ChatCompletionRequest']['fields'])


def test_a_reasoning_model_at_ones_own_server_gets_its_temperature(tmp_path):
    """Regression: OpenAISDK leaves it out for any path with `o1` in it, so of Skywork-o1-Open too."""
    lines = {'llm_infos': [{'path': 'Skywork/Skywork-o1-Open-Llama-3.1-8B', 'batch_size': 4}]}
    for sent in infer('openai', tmp_path, **lines).sent:
        assert sent.settings['temperature'] == 0.8
        assert sent.settings['max_completion_tokens'] == 16


# what a server sends becomes a text and a named state, and never an answer by accident

USAGE = {
    'prompt_tokens': 30,
    'completion_tokens': 200,
    'completion_tokens_details': {'reasoning_tokens': 150},
}


def completion(finish: Any = 'stop', **message: Any) -> dict[str, Any]:
    return {'choices': [{'message': message, 'finish_reason': finish}], 'usage': USAGE}


TOOLS = [{'id': 'a', 'type': 'function', 'function': {'name': 'add', 'arguments': '{}'}}]
BOX = r'\boxed{7}'
PART, THINKING = {'type': 'text', 'text': BOX}, {'type': 'thinking', 'thinking': 'so'}
REPLIES: dict[str, tuple[dict[str, Any], str, str | None]] = {
    'content': (completion(content=BOX), BOX, None),
    'no finish reason': (completion(None, content=BOX), BOX, None),
    'reasoning': (completion(content=BOX, reasoning='so'), f'so</think>{BOX}', None),
    'reasoning_content': (completion(content=BOX, reasoning_content='so'), f'so</think>{BOX}', None),
    'both names': (completion(content=BOX, reasoning='so', reasoning_content='so'), f'so</think>{BOX}', None),
    'thought cut': (completion('length', content=None, reasoning=f'so {BOX}'), f'<think>so {BOX}', None),
    'thought cut, no content': (completion('length', reasoning=BOX), f'<think>{BOX}', None),
    'thought only': (completion(content=None, reasoning=BOX), f'<think>{BOX}', 'thought only'),
    'thought and a blank': (completion(content='\n\n', reasoning=BOX), f'<think>{BOX}', 'thought only'),
    'thought in the text': (completion(content=f'<think>{BOX}'), f'<think>{BOX}', 'thought only'),
    'thought in the text, closed': (completion(content='so</think> '), 'so</think> ', 'thought only'),
    'thought in the text, cut': (completion('length', content='<think>so'), '<think>so', None),
    'null': (completion(content=None), '', 'empty'),
    'empty': (completion(content=''), '', 'empty'),
    'blank': (completion(content=' \n'), ' \n', 'empty'),
    'empty and cut': (completion('length', content=''), '', None),
    'tool call': (completion('tool_calls', content=None, tool_calls=TOOLS), '', 'tool call'),
    'tool call without content': (completion('tool_calls', tool_calls=TOOLS), '', 'tool call'),
    'tool call behind an answer': (completion('tool_calls', content=BOX, tool_calls=TOOLS), BOX, None),
    'refusal': (completion(content=None, refusal='I cannot.'), 'I cannot.', 'refusal'),
    'refusal by its end': (completion('refusal', content=''), '', 'refusal'),
    'no refusal': (completion(content=BOX, refusal=False), BOX, None),
    'no reasoning': (completion(content=BOX, reasoning=[]), BOX, None),
    'reasoning is false': (completion(content=None, reasoning=False), '', 'empty'),
    'parts': (completion(content=[PART, PART]), 2 * BOX, None),
    'parts and a thought': (completion(content=[THINKING, PART]), f'so</think>{BOX}', None),
    'parts of a thought': (completion(content=[{'thinking': [{'text': 'so'}]}]), '<think>so', 'thought only'),
    'no parts': (completion(content=[]), '', 'empty'),
    'an end in a thought': (completion(reasoning=f'so</think>{BOX}'), f'<think>so{BOX}', 'thought only'),
    'tool call cut': (completion('length', content=None, tool_calls=TOOLS), '', None),
    'filtered': (completion('content_filter', content=BOX), '', 'filtered'),
    'aborted': (completion('abort', content=BOX), '', 'aborted'),
}  # fmt: skip


@pytest.mark.parametrize(('sent', 'text', 'state'), REPLIES.values(), ids=REPLIES)
def test_a_reply_becomes_a_text_and_a_state(sent, text, state):
    """The states are those that records know; without a response there is no text."""
    found, generation = seeds.response_of(reply_of(sent))
    assert (found, generation.state) == (text, state)
    assert state is None or state in STATES
    assert state not in NOT_DRAWN or not found
