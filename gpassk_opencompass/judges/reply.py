r"""The verdict in an LLM's reply: the last `\boxed{yes}` or `\boxed{no}`."""

from __future__ import annotations

import re

from .protocol import Verdict

_THOUGHT_END = '</think>'

# No two alternatives of a repetition begin alike and none spans a `\boxed`, so that a search takes linear
# time.
_BOX = re.compile(
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


def read_verdict(reply: str) -> Verdict | None:
    r"""What `reply` says in its last box with a verdict; None where there is no such box.

    Case, blanks, full stops, Markdown and TeX wrappers (`\text{}`, `\mathrm{}`, …) in the box do not matter;
    是 and 否 are yes and no. Boxes with anything else are passed over. Of a reply that thinks aloud first,
    only what follows `</think>` counts. Takes time linear in the reply.

    >>> read_verdict(r'It could be \boxed{no}, but 1/2 = 0.5, so: \boxed{\text{ Yes. }}')
    <Verdict.CORRECT: 'correct'>
    >>> read_verdict(r'一致，所以 \boxed{是}') is Verdict.CORRECT
    True
    >>> read_verdict(r'\boxed{yes/no}') is None
    True
    """
    said = None
    for box in _BOX.finditer(reply.rpartition(_THOUGHT_END)[2]):
        said = box['said']
    return _MEANING[said.casefold()] if said else None  # casefold: in any case, ſ is an s
