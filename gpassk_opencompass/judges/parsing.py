r"""The verdict in a judge's reply: the last one of its own, in the words that its prompt asks for."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from ..answers.thoughts import part
from ..completion import ENDS, Reply
from .prompts import Asked, squeezed
from .protocol import Verdict

WHOLE = frozenset({'stop', 'eos', 'eos_token', 'stop_sequence', 'end_turn'})
"""Finish reasons of a reply that came to its own end, in any case: `stop` of OpenAI's protocol (also vLLM,
lmdeploy, SGLang, transformers, Gemini), and what others document for the same: `eos` (Together), `eos_token`
and `stop_sequence` (TGI), `end_turn` (Anthropic)."""

EXPLAINED = {
    'cut': 'was cut at max_tokens or at the end of the context',
    'filtered': 'was withheld by a filter',
    'aborted': 'was broken off by the server',
    'no finish reason': 'does not say why it ended (finish_reason)',
    'thought only': 'has nothing but a thought',
    'unfinished thought': 'ends within a thought',
    'echo': 'repeats the prompt',
    'unparsable': 'holds no verdict of its own in the words that the prompt asks for',
}
"""Reason → what it says of the reply, to stand behind "a reply …"."""

_CONTEXT = 24
"""Characters around a verdict, blanks not counted, that make it a copy where they stand in the prompt as
well."""

_MORE_THAN_A_VERDICT = 8
"""Characters of a reply beside its verdicts; one with fewer may say by chance what the prompt says."""

_MOST_VERDICTS = 100
"""Verdicts of a reply that are looked at, from its end."""

_LAST_WORD = re.compile(r'(?!\s*[`"\'”’」》])[\W_]*\Z')


class Heard(NamedTuple):
    """What a reply says; `reason` is why there is no verdict, in a word or two."""

    verdict: Verdict | None
    reason: str = ''


def parse_verdict(reply: Reply, asked: Asked, also_whole: Collection[str] = ()) -> Heard:
    """Return the verdict of a reply to what was asked, or the reason why it has none.

    What the reply copies of its prompt is nobody's verdict: neither the whole prompt or a stretch of its
    instructions, nor a verdict with the characters beside it that stand beside such a verdict in the prompt.
    Where question, reference or answer hold such words, a shorter quotation could carry them: there the
    verdict must be the last word of the reply.

    Args:
        also_whole: finish reasons besides `WHOLE` of whole replies, in small letters; '' for a missing one.
    """
    finish = reply.finish.casefold()
    if finish not in WHOLE and finish not in also_whole:
        shown = f'finish reason {" ".join(reply.finish.split())[:40]}'
        return Heard(None, {'': 'no finish reason', **ENDS}.get(finish, shown))
    if not reply.text.strip() and reply.thought:
        return Heard(None, 'thought only')
    parted, pattern = part(reply.text, asked.slots), asked.style.pattern
    if parted.open or parted.doubtful:
        return Heard(None, 'unfinished thought')
    said, prompt = squeezed(parted.said), asked.squeezed
    if len(pattern.sub('', said)) >= _MORE_THAN_A_VERDICT and (
        any(mark in said for mark in asked.marks) or prompt in said or said in prompt
    ):
        return Heard(None, 'echo')
    verdicts = list(pattern.finditer(parted.said))[-_MOST_VERDICTS:]
    if pattern.search(asked.slots):
        verdicts = [one for one in verdicts[-1:] if _LAST_WORD.match(parted.said, one.end())]
    own = next((one for one in reversed(verdicts) if not _is_copied(parted.said, one, prompt)), None)
    return Heard(asked.style.meaning(own)) if own else Heard(None, 'unparsable')


def _is_copied(reply: str, found: re.Match[str], prompt: str) -> bool:
    """Return whether `_CONTEXT` characters beside a verdict stand beside such a verdict in the prompt."""
    # More than the context, for its blanks; not all of the reply, for each of its verdicts.
    reach = 4 * _CONTEXT
    before = squeezed(reply[max(0, found.start() - reach) : found.start()])[-_CONTEXT:]
    after = squeezed(reply[found.end() : found.end() + reach])[:_CONTEXT]
    if len(before) + len(after) < _CONTEXT:
        return False
    said, half = squeezed(found[0]), _CONTEXT // 2
    # One half of the context at least is on one side.
    if before[-half:] + said not in prompt and said + after[:half] not in prompt:
        return False
    return any(
        before[len(before) - share :] + said + after[: _CONTEXT - share] in prompt
        for share in range(max(0, _CONTEXT - len(after)), len(before) + 1)
    )
