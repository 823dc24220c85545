"""What of an answer an LLM judge gets to see, and what can be said of it without asking."""

from __future__ import annotations

from typing import NamedTuple

from ..answers import normal_form
from .prompts import is_chinese
from .protocol import Judgement, Pair, Verdict

EMPTY = Judgement(Verdict.INCORRECT, 'empty')
EQUAL = Judgement(Verdict.CORRECT, 'string')


class Candidate(NamedTuple):
    """A pair as it is asked."""

    question: str
    reference: str
    text: str
    """The answer or, where there is none, the end of the response; shortened if it is too long."""
    known_by: str
    """Answers with one normal form are one candidate."""
    language: str
    """'en' or 'cn', the language to ask in."""
    unboxed: bool
    """Whether it is the end of a response without an answer."""
    shortened: bool


def settle(pair: Pair, accept_equal: bool, longest: int) -> Judgement | Candidate:
    """The judgement where nobody has to be asked, else what to ask.

    Args:
        pair: its answer counts or, if that is blank, its tail.
        accept_equal: take an answer that has the normal form of the reference for correct.
        longest: characters that are shown; of a longer answer the first and the last half as many, of a
            longer tail the last. Answers above it are not normalised.
    """
    answer, tail = pair.answer.strip(), pair.tail.strip()
    if not answer:
        if not tail:
            return EMPTY
        return _candidate(pair, tail[-longest:], '', unboxed=True, shortened=len(tail) > longest)
    if len(answer) > longest:
        return _candidate(pair, _shortened(answer, longest), '', unboxed=False, shortened=True)
    form = normal_form(answer)
    if accept_equal and form and form == normal_form(pair.reference):
        return EQUAL
    return _candidate(pair, answer, form, unboxed=False, shortened=False)


def _candidate(pair: Pair, text: str, form: str, *, unboxed: bool, shortened: bool) -> Candidate:
    known_by = f'form {form}' if form else f'text {text}'
    question, reference, text, known_by = map(_encodable, (pair.question, pair.reference, text, known_by))
    language = 'cn' if is_chinese(pair.language) else 'en'
    return Candidate(question, reference, text, known_by, language, unboxed, shortened)


def _shortened(answer: str, longest: int) -> str:
    half = longest // 2
    return f'{answer[:half]} […] {answer[-half:]}'


def _encodable(text: str) -> str:
    """With U+FFFD for halves of characters, which no server takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')
    return text
