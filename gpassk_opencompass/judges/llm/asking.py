r"""How a pair is put to an LLM judge, and its verdict: its own last `\boxed{yes}` or `\boxed{no}`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ...answers.thoughts import part
from ...chat.completion import ENDS, Reply, around_prompt
from ...chat.jobs import Job
from ..filling import Asked, squeezed
from ..prompts import Prompts
from ..protocol import Pair, Verdict

_CONTEXT = 24
"""Characters around a box, blanks not counted, that make it a copy where they stand in the prompt as well."""

_MORE_THAN_A_BOX = 8
"""Characters of a reply beside its boxes; one with fewer may say by chance what the prompt says."""

_MOST_BOXES = 100
"""Boxes of a reply that are looked at, from its end."""

_LAST_WORD = re.compile(r'(?!\s*[`"\'”’」》])[\W_]*\Z')


class Copies:
    """Tells what a reply says itself from what it repeats.

    Args:
        asked: what it replies to.
        box: finds the boxes with a verdict.
    """

    def __init__(self, asked: Asked, box: re.Pattern[str]) -> None:
        self._asked, self._box = asked, box

    @cached_property
    def _prompt(self) -> str:
        return self._asked.squeezed

    def echoed_by(self, reply: str) -> bool:
        """Whether `reply` holds the whole prompt or a stretch of its instructions, or is a part of it."""
        plain = squeezed(reply)
        if len(self._box.sub('', plain)) < _MORE_THAN_A_BOX:
            return False
        return (
            any(mark in plain for mark in self._asked.marks) or self._prompt in plain or plain in self._prompt
        )

    def last_own(self, reply: str) -> re.Match[str] | None:
        """Return the last box of the reply that is a verdict of its own.

        It is none inside a verbatim copy of the prompt: with `_CONTEXT` characters beside it that stand
        beside such a box in the prompt. Where the question, the reference or the answer holds such a box, a
        shorter quotation could carry it: there the box must be the last word of the reply.
        """
        boxes = list(self._box.finditer(reply))[-_MOST_BOXES:]
        if self._box.search(self._asked.slots):
            boxes = [box for box in boxes[-1:] if _LAST_WORD.match(reply, box.end())]
        return next((box for box in reversed(boxes) if not self._is_copied(reply, box)), None)

    def _is_copied(self, reply: str, box: re.Match[str]) -> bool:
        # More than the context, for its blanks; not all of the reply, for each of its boxes.
        reach = 4 * _CONTEXT
        before = squeezed(reply[max(0, box.start() - reach) : box.start()])[-_CONTEXT:]
        after = squeezed(reply[box.end() : box.end() + reach])[:_CONTEXT]
        if len(before) + len(after) < _CONTEXT:
            return False
        said, half = squeezed(box[0]), _CONTEXT // 2
        # One half of the context at least is on one side.
        if before[-half:] + said not in self._prompt and said + after[:half] not in self._prompt:
            return False
        return any(
            before[len(before) - share :] + said + after[: _CONTEXT - share] in self._prompt
            for share in range(max(0, _CONTEXT - len(after)), len(before) + 1)
        )


WHOLE = frozenset({'stop', 'eos', 'eos_token', 'stop_sequence', 'end_turn'})
"""Finish reasons of a reply that came to its own end, in any case: `stop` of OpenAI's protocol (also vLLM,
lmdeploy, SGLang, transformers, Gemini), and what others document for the same: `eos` (Together), `eos_token`
and `stop_sequence` (TGI), `end_turn` (Anthropic)."""

_REASONS = {'': 'no finish reason', **ENDS}
_LONGEST_NAME = 40

_EXPLAINED = {
    'cut': 'was cut at max_tokens or at the end of the context',
    'filtered': 'was withheld by a filter',
    'aborted': 'was broken off by the server',
    'no finish reason': 'does not say why it ended (finish_reason)',
    'thought only': 'has nothing but a thought',
    'unfinished thought': 'ends within a thought',
    'echo': 'repeats the prompt',
    'unparsable': r'holds neither \boxed{yes} nor \boxed{no} of its own',
}

# No two alternatives of a repetition begin alike and none spans a `\boxed`, so that a search takes linear
# time.
BOX = re.compile(
    r'\\boxed\s*\{'
    r'(?:[\s{*$"\']|\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mathsf|operatorname|bf|rm)(?![a-z]))*'
    r'(?P<said>yes|no|是|否)'
    r'[\s*$"\'.。!！}]*?\}',
    re.IGNORECASE,
)
_MEANING = {
    'yes': Verdict.CORRECT,
    '是': Verdict.CORRECT,
    'no': Verdict.INCORRECT,
    '否': Verdict.INCORRECT,
}


class Heard(NamedTuple):
    """What a reply says."""

    verdict: Verdict | None
    reason: str = ''
    """Why there is no verdict, in a word or two; '' where there is one."""


def hear(reply: Reply, asked: Asked, also_whole: Collection[str] = ()) -> Heard:
    """Return the verdict of a reply to what was asked, or the reason why it has none.

    Args:
        reply: what the server sent.
        asked: the prompt; what the reply copies of it is nobody's verdict.
        also_whole: finish reasons besides `WHOLE` of replies that are whole, in small letters; '' for a
            missing one.

    Returns:
        A verdict, or None with one of: 'cut', 'filtered', 'aborted', 'no finish reason', 'finish reason …'
        (the reply did not come to its own end), 'thought only', 'unfinished thought', 'echo' (it sends the
        instructions of the prompt back), 'unparsable' (no box of its own with a verdict).
    """
    finish = reply.finish.casefold()
    if finish not in WHOLE and finish not in also_whole:
        return Heard(None, _not_whole(reply.finish))
    if not reply.text.strip() and reply.thought:
        return Heard(None, 'thought only')
    said = _behind_thoughts(reply.text, asked.slots)
    if said is None:
        return Heard(None, 'unfinished thought')
    copies = Copies(asked, BOX)
    if copies.echoed_by(said):
        return Heard(None, 'echo')
    box = copies.last_own(said)
    return Heard(_meaning(box)) if box else Heard(None, 'unparsable')


def explained(reason: str) -> str:
    """Return what a reason of `hear` says of the reply, to stand behind "a reply …"."""
    return _EXPLAINED.get(reason, f'did not come to its own end ({reason})')


def _not_whole(finish: str) -> str:
    known = _REASONS.get(finish.casefold())
    return known or f'finish reason {" ".join(finish.split())[:_LONGEST_NAME]}'


def _behind_thoughts(text: str, slots: str) -> str | None:
    """Return what follows the last end of a thought; None if another one begins there and does not end."""
    parted = part(text, slots)
    return None if parted.open or parted.doubtful else parted.said


def _meaning(box: re.Match[str]) -> Verdict:
    return _MEANING[box['said'].casefold()]  # casefold: in any case, ſ is an s


@dataclass(frozen=True)
class Asking:
    """What all requests of a judge have in common.

    Args:
        model: the name that the servers know it by.
        prompts: what they are asked with.
        sampling: further fields of each request.
        also_whole: see `asking.hear`.
    """

    model: str
    prompts: Prompts
    sampling: Mapping[str, Any]
    also_whole: frozenset[str] = frozenset()

    def asked(self, pair: Pair) -> Asked:
        """Return the prompt for a pair with an answer."""
        return self.prompts.asked(
            pair.language, question=pair.question, reference=pair.reference, candidate=pair.answer
        )

    def request(self, asked: Asked) -> bytes:
        """Return the body of the request."""
        head, tail = self._around
        return f'{head}{asked.as_json}{tail}'.encode()

    @cached_property
    def _around(self) -> tuple[str, str]:
        return around_prompt(self.model, self.sampling)

    def job(self, item: Any, asked: Asked) -> Job:
        """Return the request as a job that the caller recognises by `item`."""
        return Job(item, self.request(asked))

    def hear(self, reply: Reply, asked: Asked) -> Heard:
        """Return the verdict of the reply, or why there is none."""
        return hear(reply, asked, self.also_whole)
