"""How samples came to their end, and what a reader should know of them before quoting a score.

A run whose responses were cut off gets 0 like one that cannot do the task; only this tells them apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from .files import mapping
from .judges.protocol import HEDGED
from .samples import Samples

if TYPE_CHECKING:  # a third of a second
    from .answers import FinalAnswer

CUT_OFF = 'length'
"""The finish reason of a response that was longer than it might be."""

STATES = {
    'empty': 'are empty',
    'thought only': 'are nothing but a thought',
    'tool call': 'call a tool and answer nothing',
    'refusal': 'are refusals of the model',
    'filtered': 'were withheld by a filter',
    'aborted': 'were broken off by the engine',
    'no choice': 'came back from the server without a choice',
    'too long': 'were not drawn: the prompt does not fit the context',
    'refused': 'were not drawn: the server refuses the request',
    'failed': 'were not drawn: no reply after all attempts',
}
"""State of a sample that is no usual response → what is said of several."""

NOT_DRAWN = frozenset({'filtered', 'aborted', 'no choice', 'too long', 'refused', 'failed'})
"""The states in which there is no response of the model to judge: the sample is unjudged, not incorrect."""

_BROKEN_OFF = NOT_DRAWN - {'too long', 'refused'}
"""The states that may have cost tokens all the same."""

WORDS = {
    'truncated': 'cut off',
    'unanswered': 'without an answer',
    'unjudged': 'unjudged',
    'unusual': 'no usual response',
    'copies': 'copies',
}
"""What is counted of the samples → how it is called for a reader."""

LIMITS = {'truncated': 0.05, 'unanswered': 0.01}
"""Share of samples above which a run is marked beside its score."""

NOTEWORTHY = 0.01
"""Share of samples above which a count of them is worth a warning."""

_LONG = 200
"""Characters from which on two independent samples seldom are equal word for word."""

_IDENTICAL = 0.9
"""Share of questions with n times one text from which on a warning is due. Short answers may agree by
themselves: at a low temperature, for half of the questions of an easy set."""

_REPEATED = 0.5
"""Share of long responses that repeat another one from which on a warning is due. Independent samples of easy
questions do repeat: one in ten of 800 real responses with 8 samples a question."""

_LARGEST = 2**53
Whole = Annotated[int, Field(ge=0)]


class Generation(NamedTuple):
    """What an engine said of one sample; None is what it did not say."""

    finish_reason: str | None = None  # 'stop', 'length' for one that was cut off, or the engine's own word
    prompt_tokens: int | None = None  # with the chat template, without padding
    output_tokens: int | None = None  # all that were generated, with the thinking and the token at the end
    seconds: float | None = None  # of this sample alone; None where a batch is answered at once
    reasoning_tokens: int | None = None  # of the thinking, which `output_tokens` counts too
    state: str | None = None  # one of `STATES`; None for a usual response, also for one that was cut off

    @classmethod
    def from_json(cls, told: object) -> Generation:
        """Read what `as_json` wrote, or any engine said; what makes no sense is taken as not known.

        >>> Generation.from_json({'finish_reason': 'stop', 'output_tokens': -7, 'seconds': 'long'}).as_json()
        {'finish_reason': 'stop'}
        """
        fields = dict(mapping(told))
        for name in ('prompt_tokens', 'output_tokens', 'reasoning_tokens', 'seconds'):
            types = (int, float) if name == 'seconds' else (int,)
            if type(fields.get(name)) not in types or not 0 <= fields[name] <= _LARGEST:
                fields[name] = None
        reason, seconds, state = (fields.get(name) for name in ('finish_reason', 'seconds', 'state'))
        return cls(
            reason if isinstance(reason, str) and 0 < len(reason) <= 64 else None,
            fields['prompt_tokens'],
            fields['output_tokens'],
            None if seconds is None else float(seconds),
            fields['reasoning_tokens'],
            state if isinstance(state, str) and state in STATES else None,
        )

    def as_json(self) -> dict[str, Any]:
        """Return the fields that are known."""
        return {name: value for name, value in self._asdict().items() if value is not None}


def state_of(text: str, said: str, thought: str | None, finish_reason: str | None) -> str | None:
    """Return the state that a response shows where its engine named none."""
    if finish_reason == CUT_OFF:
        return None
    if not text.strip() and not (thought or '').strip():
        return 'empty'
    # Where the engine does not say why it ended, a thought without more may have been cut off.
    return 'thought only' if finish_reason and not said.strip() else None


class Part(BaseModel):
    """A part of a record: no value is taken for one of another type, fields of later versions stay."""

    model_config = ConfigDict(strict=True, extra='allow', allow_inf_nan=False, populate_by_name=True)


def unless_known(description: str) -> Any:
    """Return the field of a record that is left out where it is not known."""
    return Field(default=None, description=description)


class Copies(Part):
    """Whether the responses to a question look like independent samples.

    An engine that gives every request one seed returns n copies of one response; G-Pass@k of copies says
    nothing about stability.
    """

    distinct: Annotated[float, Field(ge=0)] = Field(description='Different responses a question, on average.')
    identical_questions: Whole = Field(description='Questions whose responses are all one text.')
    long_repeats: Whole = Field(
        description='Responses of 200 characters or more that repeat another one of their question.'
    )
    warnings: list[str] = Field(default=[], description='Sentences for a reader.')


class Health(Part):
    """Counts of the samples of a run; what is not known is left out."""

    samples: Annotated[int, Field(ge=1)] = Field(description='All of them.')
    unjudged: Whole = Field(default=0, description='Without a verdict; they count as incorrect.')
    undecided: Whole = Field(default=0, description='Incorrect because the judge gave up on them.')
    unjudged_reasons: dict[str, Whole] = Field(default={}, description='Unjudged samples by reason.')
    undecided_reasons: dict[str, Whole] = Field(default={}, description='Undecided samples by reason.')
    judged_by: dict[str, Whole] = Field(default={}, description='Samples by the check that decided.')
    unboxed: Whole | None = unless_known('Responses without a boxed answer.')
    unanswered: Whole | None = unless_known('Responses without a final answer.')
    hedged: Whole | None = unless_known(
        'Responses that state more answers than are asked for; they are incorrect.'
    )
    truncated: Whole | None = unless_known('Responses that were cut off.')
    truncated_by: Literal['engine', 'text', 'both'] | None = unless_known(
        'Who says so: the engine of each, the look of the text, or the one and the other.'
    )
    states: dict[str, Whole] | None = unless_known('Samples that are no usual response, by what they are.')
    finish_reasons: dict[str, Whole] | None = unless_known(
        'Samples by why the engine ended them; unknown where it did not say.'
    )
    prompt_tokens: Whole | None = unless_known('Of all prompts together.')
    output_tokens: Whole | None = unless_known('Of all responses together.')
    reasoning_tokens: Whole | None = unless_known('Of all thoughts, counted in output_tokens too.')
    seconds: float | None = unless_known('From request to reply, of all samples together.')
    copies_of: Copies | None = unless_known('Whether the samples are copies of each other.')

    @property
    def unusual(self) -> int | None:
        """Return how many samples are in one of `STATES`; None where nobody looked."""
        return None if self.states is None else sum(self.states.values())

    @property
    def copies(self) -> int | None:
        """Return how many responses repeat a long one of another sample; None where nobody looked."""
        return self.copies_of.long_repeats if self.copies_of else None

    def share(self, what: str) -> float | None:
        """Return the share of samples that are `what`, one of `WORDS`; None if it is not known."""
        count: int | None = getattr(self, what)
        return None if count is None else count / self.samples

    @property
    def mark(self) -> str:
        """Return what is said beside the score of a run above one of the `LIMITS`, else ''.

        >>> Health(samples=240, truncated=212, unanswered=235).mark
        '88.3 % cut off, 97.9 % without an answer'
        """
        shares = {what: self.share(what) or 0.0 for what in LIMITS}
        above = (what for what in LIMITS if shares[what] > LIMITS[what])
        return ', '.join(f'{100 * shares[what]:.1f} % {WORDS[what]}' for what in above)

    @property
    def line(self) -> str:
        """Return all that is known in one line.

        >>> Health(samples=240, truncated=12, states={'empty': 3}, output_tokens=48_000).line
        'cut off 5.0 %, unjudged 0.0 %, no usual response 1.2 %, output tokens a response 200, in all 48,000'
        """
        shares = {WORDS[what]: self.share(what) for what in WORDS}
        told = [f'{name} {100 * share:.1f} %' for name, share in shares.items() if share is not None]
        if (tokens := self.output_tokens) is not None:
            lost = sum(count for state, count in (self.states or {}).items() if state in NOT_DRAWN)
            drawn = self.samples - lost
            told += [f'output tokens a response {tokens / drawn:,.0f}'] if drawn else []
            told.append(f'in all {tokens:,}')
        return ', '.join(told)

    def copies_warnings(self) -> list[str]:
        """Return what speaks against the samples being independent; [] if nothing."""
        return list(self.copies_of.warnings) if self.copies_of else []

    def state_warnings(self) -> list[str]:
        """Return which states more than `NOTEWORTHY` of the samples have."""
        counts = self.states or {}
        return [
            f'{counts[name]} of {self.samples} samples {STATES[name]}'
            for name in STATES
            if counts.get(name, 0) > NOTEWORTHY * self.samples
        ]

    def answer_warnings(self) -> list[str]:
        """Return what a reader should know of the responses before quoting a score; [] if nothing."""
        cut = {
            'engine': 'were cut off: max_out_len is short',
            'both': 'were cut off, or look so where the engine says nothing: max_out_len is short',
        }
        said = {
            'truncated': cut.get(self.truncated_by or '', 'look cut off: max_out_len is short'),
            'unanswered': 'are empty or have no final answer',
            'hedged': 'state more answers than are asked for and count as incorrect',
        }
        counts = {name: getattr(self, name) or 0 for name in said}
        least = NOTEWORTHY * self.samples
        told = [f'{n} of {self.samples} responses {said[name]}' for name, n in counts.items() if n > least]
        return [*told, *self.state_warnings()]

    def undecided_notes(self) -> list[str]:
        """Return a sentence on the samples that are incorrect because the judge gave up, if there are any.

        >>> Health(samples=96, undecided=3, undecided_reasons={'timeout': 3}).undecided_notes()
        ['3 of 96 samples count as incorrect because the judge gave up on them (timeout: 3)']
        """
        if not self.undecided:
            return []
        reasons = ', '.join(f'{reason:.60}: {count}' for reason, count in self.undecided_reasons.items())
        told = (
            f'{self.undecided} of {self.samples} samples count as incorrect because the judge gave up on them'
        )
        return [f'{told} ({reasons})' if reasons else told]

    def remarks(self) -> list[str]:
        """Return all that a reader should know before quoting a score: of the samples and their judge."""
        return [*self.copies_warnings(), *self.answer_warnings(), *self.undecided_notes()]

    def reservations(self) -> list[str]:
        """Return why a finished run may not be what was wanted; [] if nothing speaks against it."""
        return [*self.copies_warnings(), *([self.mark] if self.mark else []), *self.state_warnings()]


def health_of(samples: Samples, answers: Sequence[FinalAnswer | None] = ()) -> Health:
    """Count how samples came to their end.

    Args:
        samples: judged.
        answers: of each, as it was taken out of its response; None of one that was not drawn; () where nobody
            looked at the responses.
    """
    states, reasons = samples.each('state'), samples.each('finish_reason')
    verdict, why, judged_by = (samples.each(name) for name in ('verdict', 'why', 'judged_by'))
    unjudged = [row for row, one in enumerate(verdict) if one not in ('correct', 'incorrect')]
    undecided = [row for row, one in enumerate(verdict) if one == 'incorrect' and why[row]]
    known: dict[str, Any] = {}
    if answers:
        drawn = [answer for answer in answers if answer is not None]
        known['unboxed'] = sum(not answer.boxed for answer in drawn)
        known['unanswered'] = sum(not answer.text for answer in drawn)
        known['hedged'] = sum(one == HEDGED.origin for one in judged_by)
    if (cut := cut_off_rows(samples, answers)) is not None:
        told = [bool(one) or state in NOT_DRAWN for one, state in zip(reasons, states, strict=True)]
        known['truncated'] = sum(cut)
        known['truncated_by'] = 'engine' if all(told) else 'both' if any(told) else 'text'
    if any(name in samples for name in ('state', 'finish_reason', 'response')):
        known['states'] = dict(Counter(state for state in states if state))
    if any(reasons):
        known['finish_reasons'] = dict(Counter(reason or 'unknown' for reason in reasons))
    for name in ('prompt_tokens', 'output_tokens', 'reasoning_tokens', 'seconds'):
        pairs = list(zip(samples.each(name), states, strict=True))
        costs = [value for value, state in pairs if state not in NOT_DRAWN]
        if costs and None not in costs:  # of each that was drawn; one that was broken off adds what is known
            costs += [value or 0 for value, state in pairs if state in _BROKEN_OFF]
            known[name] = round(fsum(costs), 3) if name == 'seconds' else int(sum(costs))
    return Health(
        samples=len(samples),
        unjudged=len(unjudged),
        undecided=len(undecided),
        unjudged_reasons=dict(Counter(why[row] or judged_by[row] or 'no verdict' for row in unjudged)),
        undecided_reasons=dict(Counter(str(why[row]) for row in undecided)),
        judged_by=dict(Counter(one for one in judged_by if one)),
        copies_of=_copies(samples) if 'response' in samples else None,
        **known,
    )


def cut_off_rows(samples: Samples, answers: Sequence[FinalAnswer | None] = ()) -> list[bool] | None:
    """Return which samples were cut off: by the engine's word, where it says nothing by the look of the text.

    None where that is not known of all.
    """
    cut: list[bool] = []
    reasons, states = samples.each('finish_reason'), samples.each('state')
    for reason, state, answer in zip(reasons, states, answers or [None] * len(samples), strict=True):
        if state in NOT_DRAWN or reason:
            cut.append(reason == CUT_OFF and state not in NOT_DRAWN)
        elif answer is None:
            return None
        else:
            cut.append(answer.cut_off)
    return cut


def _copies(samples: Samples) -> Copies:
    """Count responses that are one text with another one of their question."""
    responses, questions = samples['response'], samples.by_question()
    texts = [[responses[row] or '' for row in rows] for rows in questions.values()]
    identical = sum(len(set(each)) == 1 and bool(each[0].strip()) for each in texts)
    lengthy = [[text for text in each if len(text) >= _LONG] for each in texts]
    long = sum(map(len, lengthy))
    repeats = long - sum(len(set(each)) for each in lengthy)
    warnings = []
    sizes = {len(rows) for rows in questions.values()}
    n = f'n = {sizes.pop()}' if len(sizes) == 1 else 'their'
    if len(samples) > len(questions) and identical >= _IDENTICAL * len(questions):
        warnings.append(
            f'all {n} responses are one text for {identical} of {len(questions)} questions: the samples are '
            'copies (one fixed seed, or greedy decoding) and G-Pass@k says little about stability'
        )
    elif repeats and repeats >= _REPEATED * long:
        warnings.append(
            f'{repeats} of {long} long responses repeat another replica of the same question word for word: '
            'the samples look like copies; check the seeds of the engine'
        )
    return Copies(
        distinct=sum(len(set(each)) for each in texts) / len(questions),
        identical_questions=identical,
        long_repeats=repeats,
        warnings=warnings,
    )


def generation_columns(generations: Sequence[Generation]) -> Mapping[str, Sequence[Any]]:
    """Return what an engine said of each sample, as the columns of `Samples` of which something is known."""
    columns = zip(Generation._fields, zip(*generations, strict=True), strict=False)
    return {name: list(values) for name, values in columns if any(one is not None for one in values)}
