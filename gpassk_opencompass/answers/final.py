r"""The final answer of a response.

A response states its answer in a box (`\boxed{…}`, `\fbox{…}`) or in words ("the answer is …", "答案是…").
The last box wins, unless a later statement takes it back; without a box, the last spoken form; otherwise
there is no answer. Several that differ are no choice: see `hedges`. Whatever a model writes up to `</think>`
counts only if nothing after it holds an answer. All of it takes time linear in the response.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from .boxes import last_boxes
from .candidates import asks_for, covering, distinct, is_option, letter_first, values_of
from .spoken import later_answer, other_candidate, spoken_answer

_THOUGHT = ('<think>', '</think>')

# A text without an answer that stops after one of these was not finished.
_UNFINISHED = re.compile(r'[A-Za-z\u4e00-\u9fff,，、;；:：=+\-*/^_<(\[{（\\]$')


class FinalAnswer(NamedTuple):
    """The final answer of a response, as written (use `answers.normal_form` to compare it)."""

    text: str
    """The answer; '' where the response has none. Several are joined with ', '."""
    boxed: bool
    """Whether the answer stood in a box."""
    cut_off: bool
    """Whether the response looks cut off: its last box or its thinking is not closed, or it has no answer
    and stops in the middle of a sentence. An answer may have been found before that place."""
    hedged: bool = False
    """Whether the response states several answers that differ, in boxes of their own or in words. They can
    be right only where the reference asks for several, see `hedges`."""


class _Found(NamedTuple):
    answers: list[str]
    boxed: bool
    open_box: bool


def final_answer(response: str) -> FinalAnswer:
    r"""Return the final answer that `response` states.

    - The last box with balanced braces counts, with the sign and the relation before it. Boxes tied to it
      make one answer together: taking the last alone would make a guess of several values right. A box in a
      box is opened; an empty one is passed over.
    - A later "the answer is …" or "Correction: …" with another value takes the place of the box; a later
      "or 6" is one more answer.
    - Without a box, what follows the last "the answer is", "Answer:", "答案是", "最终答案", … up to the end
      of the sentence, without its math delimiters.
    - If the last box never closes, the last one that does is taken, then a spoken form.

    >>> final_answer(r'So $x = \boxed{\frac{1}{2}}$, as claimed.')
    FinalAnswer(text='\\frac{1}{2}', boxed=True, cut_off=False, hedged=False)
    >>> final_answer('<think>Perhaps \\boxed{3}?</think> 所以答案是 $4$。').text
    '4'
    >>> final_answer(r'\boxed{4} or \boxed{5}').hedged
    True
    >>> final_answer(r'Therefore the result is \boxed{12').cut_off
    True
    """
    thought, closed, reply = response.rpartition(_THOUGHT[1])
    found = _search(reply)
    cut_off = found.open_box or _THOUGHT[0] in reply or (not found.answers and _unfinished(reply))
    if closed and not found.answers:
        found = _search(thought)
    return FinalAnswer(', '.join(found.answers), found.boxed, cut_off, _several(found))


def hedges(answer: FinalAnswer, reference: str) -> bool:
    r"""Return whether `answer` states more values than `reference` asks for: such an answer is incorrect.

    Values that are equal as plain numbers or in normal form are one. What `reference` asks for is read
    generously, by its commas, conjunctions and the like.

    >>> hedges(final_answer(r'\boxed{4} or \boxed{5}'), '5'), hedges(final_answer('答案是4或5'), '4, 5')
    (True, False)
    """
    values = values_of(answer.text)
    count = max(len(values), 2 if answer.hedged else 1)
    return count > 1 and count > asks_for(_stated(reference), values)


@lru_cache(maxsize=4096)  # every sample of a question is held against one reference
def _stated(reference: str) -> str:
    """The final answer of a reference that is a whole solution, else itself."""
    return final_answer(reference).text or reference


def _search(text: str) -> _Found:
    boxes = last_boxes(text)
    if not boxes.answers:
        spoken = spoken_answer(text)
        return _Found([spoken] if spoken else [], False, boxes.open)
    rest = text[boxes.end :]
    if later := later_answer(rest, boxes.answers):
        return _Found([later], False, boxes.open)
    other = other_candidate(rest, boxes.answers[-1])
    answers = covering(distinct([*boxes.answers, *([other] if other else [])]))
    return _Found(letter_first(answers) if len(answers) == 2 else answers, True, boxes.open)


def _several(found: _Found) -> bool:
    """Whether several answers were found; the letter of an option and what it says are one."""
    if len(found.answers) == 2 and sum(map(is_option, found.answers)) == 1:
        return False
    return len(found.answers) > 1 or (not found.boxed and len(values_of(''.join(found.answers))) > 1)


def _unfinished(reply: str) -> bool:
    return bool(_UNFINISHED.search(reply.rstrip()[-1:]))
