"""A response with one box at its end is read from the end, with what going through it all finds."""

from __future__ import annotations

import random

from gpassk_opencompass.answers.extract import last_boxes

_PIECES = (
    *('{', '}', r'\{', r'\}', '\\', r'\\', '$', '5', ' ', '-', r'\pm ', ' or ', '，', '答案是', '\n'),
    *(r'\boxed{', r'\boxed {', r'\boxed', r'\fbox{', r'\\boxed{', r'\boxed 5', r'\boxed{}', 'a box', 'boxes'),
    *(r'\frac{1}{2}', r'\text{cm}', '{a{b{c}}}', r'\le ', '中' * 125),
)
_LEAD = 'x' * 100
"""More than is looked at before a box."""
_EMPTY = r'\fbox{} '
"""A box that is passed over: behind it nobody can know that the last box is the only one."""


def test_one_box_is_what_going_through_the_whole_response_finds() -> None:
    generator = random.Random(7)
    for _ in range(20_000):
        text = ''.join(generator.choices(_PIECES, k=generator.randint(0, 6)))
        content = ''.join(generator.choices(_PIECES, k=generator.randint(1, 4)))
        text = f'{_LEAD}{text}\\boxed{{{content}}}{generator.choice(["", "$.", " or 6", "}"])}'
        found, whole = last_boxes(text), last_boxes(_EMPTY + text)
        end = found.end and found.end + len(_EMPTY)
        assert (found.answers, end, found.open) == tuple(whole), text
