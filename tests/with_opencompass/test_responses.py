"""Whatever a server sends for a sample becomes a text and a named state, and never an answer by accident."""

from __future__ import annotations

from typing import Any

import pytest
from hosts import import_plugin

from gpassk_opencompass import final_answer
from gpassk_opencompass.health import NOT_DRAWN, STATES

responses = import_plugin('.seeds')

USAGE = {
    'prompt_tokens': 30,
    'completion_tokens': 200,
    'completion_tokens_details': {'reasoning_tokens': 150},
}


def completion(finish: Any = 'stop', **message: Any) -> dict[str, Any]:
    return {'choices': [{'message': message, 'finish_reason': finish}], 'usage': USAGE}


TOOLS = [{'id': 'a', 'type': 'function', 'function': {'name': 'add', 'arguments': '{}'}}]
BOX = r'\boxed{7}'
TEXT, THINKING = {'type': 'text', 'text': BOX}, {'type': 'thinking', 'thinking': 'so'}
CASES: dict[str, tuple[dict[str, Any], str, str | None]] = {
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
    'parts': (completion(content=[TEXT, TEXT]), 2 * BOX, None),
    'parts and a thought': (completion(content=[THINKING, TEXT]), f'so</think>{BOX}', None),
    'parts of a thought': (completion(content=[{'thinking': [{'text': 'so'}]}]), '<think>so', 'thought only'),
    'no parts': (completion(content=[]), '', 'empty'),
    'an end in a thought': (completion(reasoning=f'so</think>{BOX}'), f'<think>so{BOX}', 'thought only'),
    'tool call cut': (completion('length', content=None, tool_calls=TOOLS), '', None),
    'filtered': (completion('content_filter', content=BOX), '', 'filtered'),
    'aborted': (completion('abort', content=BOX), '', 'aborted'),
    'no choice': ({'choices': [], 'usage': USAGE}, '', 'no choice'),
    'an error in place of it': ({'error': {'message': 'engine died'}}, '', 'failed'),
    'content of another kind': (completion(content=[1]), '', 'failed'),
    'no object': ([], '', 'failed'),
}  # fmt: skip


@pytest.mark.parametrize(('sent', 'text', 'state'), CASES.values(), ids=CASES)
def test_a_reply_becomes_a_text_and_a_state(sent: dict[str, Any], text: str, state: str | None) -> None:
    """The states are those that records know; without a response there is no text."""
    found, generation = responses.response_of(sent)
    assert (found, generation.state) == (text, state)
    assert state is None or state in STATES
    assert state not in NOT_DRAWN or not found


@pytest.mark.parametrize('case', ['thought cut', 'thought cut, no content', 'thought only'])
def test_an_answer_within_an_open_thought_is_seen_as_cut_off(case: str) -> None:
    """Nobody takes such a response for a finished one."""
    assert final_answer(responses.response_of(CASES[case][0])[0]).cut_off


def test_counts_and_times_go_with_it() -> None:
    """Those of the server, as far as it sent numbers."""
    _, told = responses.response_of(completion(content='x', reasoning='y'), 1.5)
    assert told.as_json() == {
        'finish_reason': 'stop',
        'prompt_tokens': 30,
        'output_tokens': 200,
        'seconds': 1.5,
        'reasoning_tokens': 150,
    }
