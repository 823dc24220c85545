"""Keys are read as they can be sent, and hidden however they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from marked_keys import JUDGE_KEY, NEEDLES, quotations

from gpassk_opencompass import InputError, LLMJudge
from gpassk_opencompass.keys import hidden, without_user
from gpassk_opencompass.servers import endpoints


def test_a_key_is_hidden_in_every_encoding():
    for way, quoted in quotations(JUDGE_KEY).items():
        assert NEEDLES.search(quoted.encode()), way
        text = hidden(f'Incorrect key <{quoted}>, ask us', JUDGE_KEY)
        assert not NEEDLES.search(text.encode()), way
        assert text.startswith('Incorrect key <')
        assert text.endswith('>, ask us')
        assert '***' in text


@given(st.text(max_size=60), st.text('abcXYZ019-_/+.%&\\"', min_size=8, max_size=40), st.text(max_size=60))
def test_what_is_hidden_is_the_key_alone(before, key, behind):
    text = hidden(f'{before} {key} {behind}', key)
    assert key not in text
    assert len(text) <= len(f'{before} {key} {behind}')
    assert hidden(before, 'sk-Zq9x8W7v6U5t4') == before


@pytest.mark.parametrize('key', ['', 'EMPTY', 'none', 'ENV', 'dummy', 'abc', 'sk-no-key-required'])
def test_a_stand_in_hides_nothing(key):
    """Servers without keys get one, and it is a word of their messages."""
    said = 'ENV is EMPTY, none of the dummy abc sk-no-key-required'
    assert hidden(said, key) == said


@pytest.mark.parametrize(
    'bad', ['{}\r{}', '{}\n{}', 'Bearer {}{}', '{}\x01{}', '{}é{}', '{}\u200b{}', '{}\x7f{}']
)
def test_a_key_that_cannot_be_sent_is_one_error_without_it(monkeypatch, bad):
    monkeypatch.setenv('MARKED', bad.format(JUDGE_KEY[:20], JUDGE_KEY[20:]))
    with pytest.raises(InputError, match=r'variable MARKED has a blank.*export MARKED=') as caught:
        LLMJudge('m', 'http://h', prompts='own', api_key_env='MARKED')
    assert not NEEDLES.search(str(caught.value).encode())
    assert len(str(caught.value).splitlines()) == 1
    monkeypatch.setenv('MARKED', ' \r\n')
    with pytest.raises(InputError, match='not set'):
        LLMJudge('m', 'http://h', prompts='own', api_key_env='MARKED')


ADDRESSES = [
    'http://user:pa/ss-hush@host', 'http://user:hush@host/v1', 'http://hush@host/v1',
    'http://user:hu%40sh-hush@host:80/v1', 'http://user:p@ss-hush@host', 'https://u:123/hush@host/v1',
    'user:hush@host/v1', '://hush@host', 'http://host/v1?key=hush',
]  # fmt: skip


@pytest.mark.parametrize('address', ADDRESSES)
def test_the_user_of_an_address_is_never_shown(address):
    """Whatever the password consists of, and whether anybody can read the address."""
    with pytest.raises(InputError) as caught:
        endpoints(address)
    assert 'hush' not in str(caught.value)
    with pytest.raises(InputError) as caught:
        endpoints([f'http://{address.rpartition("/")[2]}', 5])
    assert 'hush' not in str(caught.value) or '?' in address
    shown = without_user(f'{address} refuses')
    assert 'hush' not in shown or '://' not in address or '?' in address
