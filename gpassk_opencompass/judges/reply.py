r"""The verdict in an LLM's reply: its own last `\boxed{yes}` or `\boxed{no}`; or why there is none."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from .copies import Asked, Copies
from .exchange import Reply
from .protocol import Verdict

WHOLE = frozenset({'stop', 'eos', 'eos_token', 'stop_sequence', 'end_turn'})
"""Finish reasons of a reply that came to its own end, in any case: `stop` of OpenAI's protocol (also vLLM,
lmdeploy, SGLang, transformers, Gemini), and what others document for the same: `eos` (Together), `eos_token`
and `stop_sequence` (TGI), `end_turn` (Anthropic)."""

_REASONS = {
    '': 'no finish reason',
    'length': 'cut',
    'max_tokens': 'cut',
    'model_length': 'cut',
    'max_length': 'cut',
    'model_context_window_exceeded': 'cut',
    'content_filter': 'filtered',
    'safety': 'filtered',
    'refusal': 'filtered',
    'abort': 'aborted',
    'cancelled': 'aborted',
    'error': 'aborted',
    'time_limit': 'aborted',
}
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

# How models mark what they think aloud: DeepSeek, Qwen and most others, Seed-OSS; Magistral; OpenThinker;
# Kimi; gpt-oss, whose thought ends where another channel begins.
_TAG = re.compile(
    r'<(?P<end>/?)(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning)>'
    r'|\[(?P<end2>/?)think\]'
    r'|<\|(?:begin|(?P<end3>end))_of_thought\|>'
    r'|◁(?P<end4>/?)think▷'
    r'|<\|channel\|>(?:analysis|(?P<end5>final|commentary))',
    re.IGNORECASE,
)
_QUOTES = frozenset('`"\'“”‘’「」')


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


def read_verdict(reply: str) -> Verdict | None:
    r"""Return what `reply` says in its last box with a verdict; None where there is no such box.

    Case, blanks, full stops, Markdown and TeX wrappers (`\text{}`, `\mathrm{}`, …) in the box do not matter;
    是 and 否 are yes and no. Boxes with anything else are passed over. Of a reply that thinks aloud first,
    only what follows the thought counts, and nothing if the thought has no end. Takes time linear in the
    reply. `hear` also knows the prompt, and how the reply ended.

    >>> read_verdict(r'It could be \boxed{no}, but 1/2 = 0.5, so: \boxed{\text{ Yes. }}')
    <Verdict.CORRECT: 'correct'>
    >>> read_verdict(r'一致，所以 \boxed{是}') is Verdict.CORRECT
    True
    >>> read_verdict(r'\boxed{yes/no}') is None
    True
    >>> read_verdict(r'<think>They agree: \boxed{yes}') is None
    True
    """
    said = _behind_thoughts(reply, '')
    boxes = [] if said is None else list(BOX.finditer(said))
    return _meaning(boxes[-1]) if boxes else None


def _not_whole(finish: str) -> str:
    known = _REASONS.get(finish.casefold())
    return known or f'finish reason {" ".join(finish.split())[:_LONGEST_NAME]}'


def _behind_thoughts(text: str, slots: str) -> str | None:
    """What follows the last end of a thought; None if another one begins there and does not end.

    A tag in quotation marks is talked about. One that stands in the slots of the prompt may be quoted without
    them; it begins a thought only where the reply begins with it.
    """
    start, opened = 0, False
    for tag in _TAG.finditer(text):
        if _is_quoted(text, tag):
            continue
        if any(tag.groups()):
            start, opened = tag.end(), False
        else:
            opened = opened or not text[start : tag.start()].strip() or tag[0] not in slots
    return None if opened else text[start:]


def _is_quoted(text: str, tag: re.Match[str]) -> bool:
    before, after = text[tag.start() - 1 : tag.start()], text[tag.end() : tag.end() + 1]
    return before in _QUOTES and after in _QUOTES


def _meaning(box: re.Match[str]) -> Verdict:
    return _MEANING[box['said'].casefold()]  # casefold: in any case, ſ is an s
