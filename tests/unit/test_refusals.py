"""What a server's errors mean: which requests it never takes, and why."""

from __future__ import annotations

import pytest

from gpassk_opencompass.completion import Kind, kind_of, state_of_refusal

SAID = {
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.": 'too long',
    'The decoder prompt (length 5000) is longer than the maximum model length of 4096.': 'too long',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).': 'too long',
    '`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 + 500': 'too long',
    'max_tokens: 99999 > 8192, which is the maximum': 'too long',
    'context_length_exceeded': 'too long',
    'max_tokens must be at least 1': 'refused',
    "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.": 'refused',
    'safety_identifier is not a known field; at your own risk': 'refused',
    "The response was filtered due to Azure OpenAI's content management policy.": 'filtered',
    'Content Exists Risk': 'filtered',
    'Your request was rejected by the safety system.': 'filtered',
}
ONE_TOO_LARGE = (
    'Request too large for m in organization o on tokens per min (TPM): Limit 30000, Requested 40000. The '
    'input or output tokens must be reduced in order to run successfully.'
)
TOO_MANY = 'Rate limit reached for m on tokens per min (TPM): Limit 30000, Used 28000, Requested 4000.'


@pytest.mark.parametrize(
    ('status', 'message', 'state'),
    [
        *((400, *each) for each in SAID.items()),
        (413, '<html>', 'too long'),  # a page of a gateway
        (429, ONE_TOO_LARGE, 'too long'),  # however many attempts it gets
    ],
)
def test_what_a_server_says_of_a_refusal_gives_its_state(status, message, state):
    """In the words of vLLM, TGI, OpenAI, Azure, Anthropic, Gemini and DeepSeek."""
    assert state_of_refusal(status, message) == state


@pytest.mark.parametrize(
    ('status', 'message', 'kind'),
    [
        (429, ONE_TOO_LARGE, Kind.REFUSED),
        (429, 'tokens per min: Limit 30000, Requested 40000', Kind.REFUSED), (429, TOO_MANY, Kind.BUSY),
        (429, '', Kind.BUSY), (504, '', Kind.LOST), (409, '', Kind.LOST), (451, '', Kind.REFUSED),
        (503, '', Kind.DOWN), (500, '', Kind.BROKEN), (401, '', Kind.SETTING),
    ],
)  # fmt: skip
def test_a_status_means(status, message, kind):
    """No waiting helps with a request that alone is above what a minute allows."""
    assert kind_of(status, message) is kind
