"""The votes of a question that was read from a file."""

from __future__ import annotations

from ..errors import InputError
from ..votes import Ballot, ballot
from .source import Question, Sampled
from .tally import Unjudged


def ballot_of(question: Question, unjudged: Unjudged) -> Ballot:
    """Return the votes of a question; samples that nobody judged count as `unjudged` says.

    Raises:
        InputError: its answers are not known.
    """
    if not isinstance(question, Sampled) or question.answers is None:
        raise InputError(
            f'row {question.about.number}: majorities and agreement need the answers, which it does not '
            'have; give responses, or labels with "answers"'
        )
    right = '1?' if unjudged is Unjudged.RIGHT else '1'
    dropped = '?' if unjudged is Unjudged.LEAVE_OUT else ''
    kept = [
        (answer, verdict in right)
        for answer, verdict in zip(question.answers, question.verdicts, strict=True)
        if verdict != dropped
    ]
    return ballot([answer for answer, _ in kept], [correct for _, correct in kept])
