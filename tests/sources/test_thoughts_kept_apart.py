"""Thoughts that programs keep apart from the responses that they ended in."""

from __future__ import annotations

from itertools import product

from gpassk_opencompass.answers import final_answer
from gpassk_opencompass.sources.samples import with_thought

ENDS = ['', '.', '"', "'", '```', '`', '\n', '$', '(', '“']


def test_no_answer_is_taken_out_of_a_thought() -> None:
    """Whatever the thought ends with and the response begins with, quotation marks above all."""
    for end, begin in product(ENDS, ENDS):
        thought, text = f'First I guess \\boxed{{7}}{end}', f'{begin}no idea'
        assert final_answer(with_thought(thought, text)).text == ''
        assert final_answer(with_thought(thought, f'{begin} \\boxed{{8}}')).text == '8'
