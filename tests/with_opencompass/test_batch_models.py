"""The model classes behind batch endpoints: what a request says, and what becomes of a reply."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from batch_server import KEY, BatchServer, Erred, Outcome, Said
from hosts import import_plugin

from gpassk_opencompass import InputError
from gpassk_opencompass.batches.claude import reply_in

plugin = import_plugin()
handover = import_plugin('.handover')
responses = import_plugin('.responses')

pytestmark = [pytest.mark.filterwarnings('ignore')]
SAMPLES = [handover.Sample('202412/AMC_en/0', replica) for replica in range(4)]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ('OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'OTHER_KEY'):
        monkeypatch.setenv(variable, KEY)


Ask = Callable[..., tuple[list[str], list[Any], list[dict[str, Any]]]]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Draws four samples: their texts, generations, and the bodies in the order of the samples."""

    def run(engine: str, outcome: Outcome, prompt: Any = '2+2?', **settings: Any) -> Any:
        with BatchServer(lambda *_: outcome, looks=0) as server:
            if engine == 'openai':
                model = plugin.OpenAIBatchModel(
                    'm', openai_api_base=f'{server.url}/v1', poll=0.01, **settings
                )
            else:
                model = plugin.AnthropicBatchModel('m', base_url=server.url, poll=0.01, **settings)
            if model.seeds is not None:
                model.seeds.announce(SAMPLES)
            model.notes.announce(SAMPLES, tmp_path / 'run.json', lambda: None)
            texts = model.generate([prompt] * 4, max_out_len=64)
            sent = server.submitted[0].requests
        order = sorted(sent, key=lambda name: int(name.split('_')[-2]))
        return texts, list(model.generations.take(4)), [sent[name] for name in order]

    return run


def test_an_openai_request_says_what_was_passed(ask: Ask) -> None:
    """A seed a sample, as from other servers; the length in the field that reasoning models take too."""
    texts, _, bodies = ask(
        'openai', Said('4'), temperature=0.7, top_p=0.9, random_seed=42, extra_body={'logit_bias': {}}
    )
    seeds = [handover.sample_seed(42, sample, 31) for sample in SAMPLES]
    common = {
        'model': 'm',
        'messages': [{'role': 'user', 'content': '2+2?'}],
        'max_completion_tokens': 64,
        'temperature': 0.7,
        'top_p': 0.9,
        'logit_bias': {},
    }
    assert bodies == [{**common, 'seed': seed} for seed in seeds]
    assert texts == ['4'] * 4


def test_nothing_that_was_not_passed_is_sent(ask: Ask) -> None:
    """No seed, no temperature: the API's own defaults hold."""
    for engine, length in (('openai', 'max_completion_tokens'), ('anthropic', 'max_tokens')):
        _, _, bodies = ask(engine, Said('4'))
        assert all(set(body) == {'model', 'messages', length} for body in bodies)


def test_a_dialogue_becomes_messages(ask: Ask) -> None:
    """What the system says stands apart at Anthropic; few-shot turns keep their speakers."""
    turns = [
        {'role': 'SYSTEM', 'prompt': 'Add.'},
        {'role': 'HUMAN', 'prompt': '1+1?'},
        {'role': 'BOT', 'prompt': '2'},
        {'role': 'HUMAN', 'prompt': '2+2?'},
    ]
    spoken = [
        {'role': 'user', 'content': '1+1?'},
        {'role': 'assistant', 'content': '2'},
        {'role': 'user', 'content': '2+2?'},
    ]
    _, _, bodies = ask('openai', Said('4'), turns)
    assert bodies[0]['messages'] == [{'role': 'system', 'content': 'Add.'}, *spoken]
    _, _, bodies = ask('anthropic', Said('4'), turns, temperature=0.5, top_k=3)
    assert (bodies[0]['messages'], bodies[0]['system']) == (spoken, 'Add.')
    assert (bodies[0]['temperature'], bodies[0]['top_k'], bodies[0]['max_tokens']) == (0.5, 3, 64)


def test_an_error_is_a_state_and_an_empty_text(ask: Ask) -> None:
    """For the one sample, beside the engine's word for how the others ended."""
    for engine, code in (('openai', 'context_length_exceeded'), ('anthropic', 'invalid_request_error')):
        texts, told, _ = ask(engine, Erred(400, code, 'prompt is too long'))
        assert texts == [''] * 4
        assert [one.state for one in told] == ['too long'] * 4


def test_a_usual_reply_tells_its_tokens(ask: Ask) -> None:
    """Of Anthropic's prompt also those from the cache."""
    for engine, prompt_tokens in (('openai', 7), ('anthropic', 7)):
        _, told, _ = ask(engine, Said('four'))
        assert told[0][:3] == ('stop', prompt_tokens, 4)
        assert told[0].state is None


BLOCKS: dict[str, tuple[list[dict[str, Any]], str, str, tuple[str, str | None]]] = {
    'text': ([{'type': 'text', 'text': '4'}], 'end_turn', '4', ('stop', None)),
    'several': (
        [{'type': 'text', 'text': 'it '}, {'type': 'text', 'text': 'is'}],
        'stop_sequence',
        'it is',
        ('stop', None),
    ),
    'thought': (
        [{'type': 'thinking', 'thinking': '2·2', 'signature': 's'}, {'type': 'text', 'text': '4'}],
        'end_turn',
        '2·2</think>4',
        ('stop', None),
    ),
    'thought not shown': (
        [{'type': 'redacted_thinking', 'data': 'x'}, {'type': 'text', 'text': '4'}],
        'end_turn',
        '4',
        ('stop', None),
    ),
    'cut thought': (
        [{'type': 'thinking', 'thinking': 'so 2·', 'signature': 's'}],
        'max_tokens',
        '<think>so 2·',
        ('length', None),
    ),
    'thought only': (
        [{'type': 'thinking', 'thinking': 'so 4', 'signature': 's'}],
        'end_turn',
        '<think>so 4',
        ('stop', 'thought only'),
    ),
    'thought only, not shown': (
        [{'type': 'redacted_thinking', 'data': 'x'}],
        'end_turn',
        '<think>[redacted]',
        ('stop', 'thought only'),
    ),
    'cut': ([{'type': 'text', 'text': 'it i'}], 'max_tokens', 'it i', ('length', None)),
    'context full': (
        [{'type': 'text', 'text': 'it i'}],
        'model_context_window_exceeded',
        'it i',
        ('length', None),
    ),
    'refusal': ([{'type': 'text', 'text': 'I'}], 'refusal', 'I', ('refusal', 'refusal')),
    'tool': (
        [{'type': 'tool_use', 'id': 't', 'name': 'add', 'input': {}}],
        'tool_use',
        '',
        ('tool_use', 'tool call'),
    ),
    'empty': ([], 'end_turn', '', ('stop', 'empty')),
}


@pytest.mark.parametrize('case', BLOCKS)
def test_a_message_of_anthropic_is_a_response(case: str) -> None:
    """Thoughts as from other servers; each stop reason of the documentation has its word and state."""
    blocks, reason, text, (finish, state) = BLOCKS[case]
    usage = {
        'input_tokens': 9,
        'cache_read_input_tokens': 2,
        'output_tokens': 30,
        'output_tokens_details': {'thinking_tokens': 12},
    }
    found, told = responses.response_of(reply_in({'content': blocks, 'stop_reason': reason, 'usage': usage}))
    assert (found, told.finish_reason, told.state) == (text, finish, state)
    assert (told.prompt_tokens, told.output_tokens, told.reasoning_tokens) == (11, 30, 12)


@pytest.mark.parametrize('message', [{}, {'content': 'text'}, {'content': [3, None], 'usage': []}])
def test_a_message_that_is_none_is_empty(message: dict[str, Any]) -> None:
    """A gateway may send anything."""
    text, told = responses.response_of(reply_in(message))
    assert (text, told.state) == ('', 'empty')


@pytest.mark.parametrize(
    ('kind', 'settings', 'message'),
    [
        ('OpenAIBatchModel', {'extra_body': {'seed': 1}}, 'same random numbers'),
        ('OpenAIBatchModel', {'extra_body': {'n': 4}}, 'a sample is one request'),
        ('OpenAIBatchModel', {'extra_body': {'max_tokens': 4}}, 'max_out_len decides'),
        ('OpenAIBatchModel', {'extra_body': {'messages': []}}, 'that of the sample'),
        ('AnthropicBatchModel', {'extra_body': {'model': 'another'}}, 'named by path'),
        ('SeededOpenAISDK', {'extra_body': {'model': 'another'}}, 'named by path'),
        ('SeededOpenAISDK', {'openai_extra_kwargs': {'messages': []}}, 'that of the sample'),
        ('OpenAIBatchModel', {'key_env': 'NO_SUCH_KEY'}, 'export NO_SUCH_KEY'),
        ('OpenAIBatchModel', {'key': 'sk-a-key-itself'}, "^key must be one of .'ENV', 'EMPTY'.; .*key_env"),
        ('AnthropicBatchModel', {'random_seed': 42}, 'takes no seed'),
        ('AnthropicBatchModel', {'extra_body': {'seed': 1}}, 'takes no seed'),
        ('AnthropicBatchModel', {'extra_body': {'stream': True}}, 'no streams'),
    ],
    ids=lambda value: value if isinstance(value, str) else '-'.join(value),
)
def test_a_config_by_hand_is_refused_what_would_be_wrong(
    kind: str, settings: dict[str, Any], message: str
) -> None:
    """As a template is."""
    with pytest.raises(InputError, match=message):
        getattr(plugin, kind)('m', **settings)


def test_another_inferencer_is_named_as_the_reason() -> None:
    """Without the samples there are no names for the requests."""
    model = plugin.OpenAIBatchModel('m', key_env='OTHER_KEY')
    with pytest.raises(RuntimeError, match='SeededGenInferencer'):
        model.generate(['2+2?'])


@pytest.mark.filterwarnings('error::ResourceWarning')
def test_no_connection_stays_open_and_the_next_batch_makes_new_ones(tmp_path: Path) -> None:
    """A model draws one batch after the other."""
    with BatchServer(lambda *_: Said('4'), looks=0) as server:
        model = plugin.OpenAIBatchModel('m', openai_api_base=f'{server.url}/v1', poll=0.01)
        clients = []
        for number in range(2):
            model.notes.announce(SAMPLES, tmp_path / f'{number}.json', lambda: None)
            clients.append(model._api._client)
            assert model.generate(['2+2?'] * 4) == ['4'] * 4
        assert [client.is_closed() for client in clients] == [True, True]


def test_a_server_without_keys_needs_none(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable is read; a placeholder is sent, as the client cannot send nothing."""
    monkeypatch.delenv('OPENAI_API_KEY')
    with pytest.raises(InputError, match=r'401.*Incorrect API key'):
        ask('openai', Said('4'), key='EMPTY')
