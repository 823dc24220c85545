"""Serial scaling: where a model ends its thought or its answer, a break-link is put, and it goes on.

The end is taken away and a text appended that makes the model look again: "Wait", as in budget forcing (s1,
arXiv 2501.19393), or a sentence. This is done up to m times, and what stands there at last is the response.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from opencompass.models.huggingface_above_v4_33 import _convert_chat_messages

from ..answers.thoughts import END_MARKS, opening_of, part
from ..errors import InputError
from ..responses import with_states
from ..results.health import CUT_OFF, NOT_DRAWN, Generation
from .responses import mended

LINK = 'Before I settle on this, let me go through the problem once more and check every step.'
"""The break-link unless another is given."""


class Piece(NamedTuple):
    """What a model shall go on from."""

    text: str
    """The prompt with its chat template, and the response so far, with its links."""
    seed: int | None
    room: int
    """How many tokens it may add; at least one."""


Draw = Callable[[Sequence[Piece], Sequence[str]], Sequence[tuple[str, Generation]]]
"""Has a model go on from each piece until it ends by itself, at one of the stop words, or for want of room.

Returns what it added, without its end, and what the engine tells of it.
"""


@dataclass(frozen=True)
class BreakLinks:
    """How often a response is made to go on, and with which words.

    Args:
        count: m, the most links of a response; with 0 it is drawn as it would be without.
        text: a link; it stands in a paragraph of its own.
    """

    count: int
    text: str = LINK

    def responses(
        self,
        prompts: Sequence[str],
        seed_of: Callable[[int, int], int | None],
        limit: int,
        draw: Draw,
    ) -> list[tuple[str, Generation]]:
        """Draw the response to each prompt in up to m + 1 rounds.

        Each round but the last ends where the model ends its thought (`END_MARKS`) or, if it does not think,
        its answer. If tokens are left it goes on behind a link. Only the last round goes on behind the end of
        a thought. So with the same seeds the response for m begins like that for m + 1, up to where the
        latter has its last link.

        Args:
            prompts: as the model reads them, with its chat template.
            seed_of: (place of the prompt, number of the round from 0) → the seed.
            limit: tokens that a response may have in all; those of the links do not count.
            draw: the engine.

        Returns:
            The text of each, and what is known of it: `output_tokens` and `seconds` of all rounds together,
            `prompt_tokens` of the first, the finish reason of the last, and how many `links` it has. A
            response that the limit cut in any round has the finish reason 'length'. One that the
            engine loses in any round has its state of `results.health.NOT_DRAWN` and no text.

        Raises:
            InputError: the engine does not tell how many tokens a response has.
        """
        growing = [_Growing(prompt) for prompt in prompts]
        places = list(range(len(prompts)))
        for number in range(self.count + 1):
            if not places:
                break
            last = number == self.count
            pieces = [
                Piece(one.prompt + one.text, seed_of(place, number), limit - one.tokens)
                for place, one in ((place, growing[place]) for place in places)
            ]
            drawn = draw(pieces, () if last else END_MARKS)
            for place, (text, told) in zip(places, drawn, strict=True):
                growing[place].add(text, told)
            if not last:
                places = [place for place in places if growing[place].goes_on(self.text, limit)]
        return [one.response() for one in growing]


def break_links(count: Any, text: Any) -> BreakLinks | None:
    """Return the links that a config asks for; None where it says nothing of them.

    Args:
        count: `serial_links` of a model.
        text: its `serial_link_text`.

    Raises:
        InputError: no whole number from 0, no text, or a text without a number.

    >>> break_links(2, 'Wait')
    BreakLinks(count=2, text='Wait')
    """
    if count is None:
        if text is not None:
            raise InputError('serial_link_text without serial_links does nothing: give both, or none')
        return None
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise InputError(f'serial_links = {count!r}: expected a whole number from 0 on')
    if text is None:
        return BreakLinks(count)
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"serial_link_text = {text!r}: expected words such as 'Wait'")
    return BreakLinks(count, text.strip())


def templated(inputs: Sequence[Any], tokenizer: Any, options: Mapping[str, Any]) -> list[str]:
    """Return prompts of OpenCompass as the model reads them, up to where its response begins.

    Args:
        inputs: as a model of OpenCompass is given them.
        tokenizer: with the chat template.
        options: further arguments of the chat template.
    """
    return [
        tokenizer.apply_chat_template(one, add_generation_prompt=True, tokenize=False, **options)
        for one in _convert_chat_messages(inputs)
    ]


class AsItIs:
    """Stands where a wrapper of OpenCompass has its tokenizer, for prompts that have their template already.

    Args:
        tokenizer: does everything else.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)

    def __call__(self, *given: Any, **options: Any) -> Any:
        return self._tokenizer(*given, **options)

    def apply_chat_template(self, messages: Sequence[Mapping[str, str]], **_: Any) -> str:
        """Return the one message as it is."""
        [message] = messages
        return message['content']


class _Growing:
    """A response on its way through the rounds."""

    def __init__(self, prompt: str) -> None:
        self.prompt = prompt
        self.text = ''
        self.tokens = 0
        self._before_link = ''
        self._links = 0
        self._told: list[Generation] = []

    def add(self, text: str, told: Generation) -> None:
        """Take what a round has drawn."""
        if told.state == 'too long' and self._told:  # what stands there fills the context
            self.text, self._links = self._before_link, self._links - 1
            self._cut_in_a_thought()
            return
        self.text += text
        self.tokens += told.output_tokens or 0
        self._told.append(told)

    def goes_on(self, link: str, limit: int) -> bool:
        """Put a link behind the end, if it is one of the model's own and tokens are left."""
        last = self._told[-1]
        if last.state in NOT_DRAWN or last.finish_reason == CUT_OFF:
            return False
        if not self.text.strip() and not opening_of(self.prompt):  # of an empty thought the answer is to come
            return False
        if last.output_tokens is None:
            raise InputError(
                'the engine does not tell how many tokens a response has, so nobody knows how many are left '
                'for the next round: serial_links needs an engine that does'
            )
        if self.tokens >= limit:
            self._cut_in_a_thought()
            return False
        self._before_link = self.text
        self.text = f'{self.text.rstrip()}\n\n{link}'
        self._links += 1
        return True

    def _cut_in_a_thought(self) -> None:
        """Call a response cut that has no room to go on, if its thought has no end: no answer is there."""
        if part(opening_of(self.prompt) + self.text).open:
            self._told[-1] = self._told[-1]._replace(finish_reason=CUT_OFF)

    def response(self) -> tuple[str, Generation]:
        """Return the text, and what is known of it."""
        first, last = self._told[0], self._told[-1]
        lost = last.state if last.state in NOT_DRAWN else None
        told = Generation(
            finish_reason=last.finish_reason,
            prompt_tokens=first.prompt_tokens,
            output_tokens=_sum([one.output_tokens for one in self._told]),
            seconds=_sum([one.seconds for one in self._told]),
            state=lost,
            links=self._links,
        )
        if lost:
            return '', told
        [told] = with_states([self.text], [told])
        return mended(self.text, told, self.prompt), told


def _sum(parts: Sequence[Any]) -> Any:
    return None if None in parts else sum(parts)
