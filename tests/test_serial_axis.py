"""`serial_links` of a template: which runs it makes, what they are called, and who refuses it."""

from __future__ import annotations

from typing import Any

import pytest

from gpassk_opencompass import TemplateError
from gpassk_opencompass.naming.names import ModelName, Settings
from gpassk_opencompass.sweep.configs import signature
from gpassk_opencompass.sweep.engines import ENGINES
from gpassk_opencompass.sweep.grid import expand

TEMPLATE: dict[str, Any] = {
    'engine': 'huggingface',
    'llm_infos': ['org/m'],
    'temperatures': [1.0],
    'max_out_lens': [64],
    'k_lists': [[4]],
    'benchmarks': ['aime2024'],
}


def models(**lines: Any) -> dict[str, Any]:
    """The model of each run, by its name."""
    configs = expand({**TEMPLATE, **lines}).values()
    return {config['models'][0]['abbr']: config['models'][0] for config in configs}


def test_each_count_of_links_is_a_run() -> None:
    """The name says how many; the greedy run has none; the words stand beside it."""
    found = models(serial_links=[0, 1, 4], serial_link_text='Wait')
    assert list(found) == ['m_t0_l64', *(f'm_t1.0_rs42_sl{links}_l64' for links in (0, 1, 4))]
    told = [(one.get('serial_links'), one.get('serial_link_text')) for one in found.values()]
    assert told == [(None, None), (0, 'Wait'), (1, 'Wait'), (4, 'Wait')]


def test_without_the_line_nothing_changes() -> None:
    """No name has the tag, and no class gets the argument."""
    for name, model in models().items():
        assert '_sl' not in name
        assert not {'serial_links', 'serial_link_text'} & set(model)


def test_the_name_is_read_back() -> None:
    """As settings of the run."""
    name = ModelName('m', Settings(64, 1.0, random_seed=42, serial_links=2))
    assert str(name) == 'm_t1.0_rs42_sl2_l64'
    assert ModelName.parse(str(name)) == name


def test_other_links_and_other_words_are_another_run() -> None:
    """By the signature; a model of its own may have other words."""
    lines = [
        {},
        {'serial_links': [1]},
        {'serial_links': [2]},
        {'serial_links': [2], 'serial_link_text': 'Wait'},
        {'serial_links': [2], 'llm_infos': [{'path': 'org/m', 'serial_link_text': 'Hm'}]},
    ]
    configs = [list(expand({**TEMPLATE, 'greedy': False, **one}).values()) for one in lines]
    assert len({signature(config) for [config] in configs}) == len(lines)


def test_a_rule_may_speak_of_links() -> None:
    """As of any number."""
    rules = [{'serial_links': [1, 4]}]
    assert list(models(serial_links=[0, 1, 4], exclude=rules, greedy=False)) == ['m_t1.0_rs42_sl0_l64']


@pytest.mark.parametrize(
    ('lines', 'message'),
    [
        ({'serial_links': [-1]}, 'serial_links'),
        ({'serial_links': [1.5]}, 'serial_links'),
        ({'serial_links': [65]}, 'serial_links'),
        ({'serial_links': []}, 'serial_links is empty'),
        ({'serial_link_text': 'Wait'}, 'does nothing without serial_links'),
        ({'serial_links': [1], 'serial_link_text': 5}, 'serial_link_text is of type int'),
        ({'serial_links': [1], 'serial_link_text': ' '}, 'expected words such as'),
        ({'serial_links': [1], 'engine': 'turbomind'}, 'vllm, huggingface, completions'),
        ({'serial_links': [0], 'engine': 'pytorch'}, 'vllm, huggingface, completions'),
        ({'serial_link_text': 'Wait', 'engine': 'turbomind'}, 'is for engine'),
    ],
)
def test_what_would_not_be_done_is_refused(lines: dict[str, Any], message: str) -> None:
    """No name says what never happened."""
    with pytest.raises(TemplateError, match=message):
        models(**lines)


def test_the_engines_that_take_links_have_the_option() -> None:
    """And no other has it."""
    able = [name for name in ENGINES if ENGINES[name].takes_links]
    assert able == ['vllm', 'huggingface', 'completions', 'serve']


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'tokenizer_path': '/m'}, 'openai_api_base is missing'),
        ({'openai_api_base': 'http://h:1/v1'}, 'tokenizer_path is missing'),
        ({'openai_api_base': 'http://h:1/v1/completions', 'tokenizer_path': '/m'}, 'leave out'),
        (
            {'openai_api_base': 'http://h:1', 'tokenizer_path': '/m', 'extra_body': {'prompt': 'x'}},
            'that of the sample',
        ),
    ],
)
def test_a_server_of_texts_needs_an_address_and_a_tokenizer(options: dict[str, Any], message: str) -> None:
    """Prompts are made here, with the template that the tokenizer has."""
    with pytest.raises(TemplateError, match=message):
        models(engine='completions', **options)


def test_a_server_of_texts_takes_links() -> None:
    """Beside the lines of `openai`; a greedy run has no words for links."""
    lines = {'openai_api_base': 'http://h:1', 'tokenizer_path': '/m', 'key': 'EMPTY', 'serial_links': 1}
    greedy, sampled = models(engine='completions', serial_link_text='Hm', **lines).values()
    assert sampled['type'] == 'gpassk_opencompass.SeededCompletions'
    assert (sampled['serial_links'], sampled['serial_link_text'], sampled['tokenizer_path']) == (
        1,
        'Hm',
        '/m',
    )
    assert not {'serial_links', 'serial_link_text'} & set(greedy)
