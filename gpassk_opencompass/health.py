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
from .judges import HEDGED
from .samples import Samples

if TYPE_CHECKING:  # a third of a second
    from .answers import FinalAnswer

CUT_OFF = 'length'  # the finish reason of a response that was longer than allowed

STATES = {  # of a sample that is no usual response → what is said of several
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
# In these states there is no response of the model to judge: the sample is unjudged, not incorrect.
NOT_DRAWN = frozenset({'filtered', 'aborted', 'no choice', 'too long', 'refused', 'failed'})
_NEVER_BEGUN = 'too long', 'refused'  # of these an engine drew nothing that it could count

WORDS = {  # what is counted of the samples → how it is called for a reader
    'truncated': 'cut off',
    'unanswered': 'without an answer',
    'unjudged': 'unjudged',
    'unusual': 'no usual response',
    'copies': 'copies',
}
LIMITS = {'truncated': 0.05, 'unanswered': 0.01}  # shares above which a run is marked beside its score
NOTEWORTHY = 0.01  # share of samples above which a count of them is worth a sentence
_SENTENCES = {
    'truncated': 'look cut off: max_out_len is short',
    'truncated by engine': 'were cut off: max_out_len is short',
    'truncated by both': 'were cut off, or look so where the engine says nothing: max_out_len is short',
    'unanswered': 'are empty or have no final answer',
    'hedged': 'state more answers than are asked for and count as incorrect',
}

_LONG = 200  # characters from which on two independent samples seldom are equal word for word
_IDENTICAL = 0.9  # share of questions with n times one text from which on a warning is due: short texts agree
_REPEATED = 0.5  # … of long responses that repeat another one: of independent ones one in ten did

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
        """Read what `as_json` wrote, or any engine said; what makes no sense is taken as not known."""
        known: dict[str, Any] = {}
        for name in cls._fields:
            value: Any = mapping(told).get(name)
            if name in ('finish_reason', 'state'):
                sound = isinstance(value, str) and 0 < len(value) <= 64
                sound = sound and (name == 'finish_reason' or value in STATES)
            else:
                sound = type(value) is int or (type(value) is float and name == 'seconds')
                sound = sound and 0 <= value <= 2**53
            known[name] = value if sound else None
        return cls(**known)

    def as_json(self) -> dict[str, Any]:
        """Return the fields that are known."""
        return {name: value for name, value in self._asdict().items() if value is not None}


def generation_columns(generations: Sequence[Generation]) -> Mapping[str, Sequence[Any]]:
    """Return what an engine said of each sample, as the columns of `Samples` of which something is known."""
    columns = zip(Generation._fields, zip(*generations, strict=True), strict=False)
    return {name: list(values) for name, values in columns if any(one is not None for one in values)}


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


class Health(Part):
    """Counts of the samples of a run; what is not known is left out."""

    samples: Annotated[int, Field(ge=1)] = Field(description='All of them.')
    unjudged: Whole = Field(default=0, description='Without a verdict; they count as incorrect.')
    undecided: Whole = Field(default=0, description='Incorrect because the judge gave up on them.')
    unjudged_reasons: dict[str, Whole] = Field(default={}, description='Unjudged samples by reason.')
    undecided_reasons: dict[str, Whole] = Field(default={}, description='Undecided samples by reason.')
    judged_by: dict[str, Whole] = Field(default={}, description='Samples by the check that decided.')
    unanswered: Whole | None = unless_known('Responses without a final answer.')
    hedged: Whole | None = unless_known('Responses with more answers than are asked for: incorrect.')
    truncated: Whole | None = unless_known('Responses that were cut off.')
    truncated_by: Literal['engine', 'text', 'both'] | None = unless_known('Who says so.')
    states: dict[str, Whole] | None = unless_known('Samples that are no usual response, by what they are.')
    finish_reasons: dict[str, Whole] | None = unless_known('Samples by why the engine ended them.')
    prompt_tokens: Whole | None = unless_known('Of all prompts together.')
    output_tokens: Whole | None = unless_known('Of all responses together.')
    reasoning_tokens: Whole | None = unless_known('Of all thoughts, counted in output_tokens too.')
    seconds: float | None = unless_known('From request to reply, of all samples together.')
    distinct: Annotated[float, Field(ge=0)] | None = unless_known(
        'Different responses a question, on average.'
    )
    copies: Whole | None = unless_known('Long responses that repeat another one of their question.')
    warnings: list[str] = Field(default=[], description='Of samples that look like copies of each other.')

    @property
    def unusual(self) -> int | None:
        """Return how many samples are in one of `STATES`; None where nobody looked."""
        return None if self.states is None else sum(self.states.values())

    def share(self, what: str) -> float | None:
        """Return the share of samples that are `what`, one of `WORDS`; None if it is not known."""
        count: int | None = getattr(self, what)
        return None if count is None else count / self.samples

    @property
    def mark(self) -> str:
        """Return what is said beside the score of a run above one of the `LIMITS`, else ''."""
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

    def remarks(self, *kinds: str) -> list[str]:
        """Return what to know of copies, truncated, unanswered, hedged, states, undecided, or some of it."""
        told, few = {'copies': self.warnings}, NOTEWORTHY * self.samples
        for what in ('truncated', 'unanswered', 'hedged'):
            by = f'truncated by {self.truncated_by}' if what == 'truncated' else what
            count, said = getattr(self, what) or 0, _SENTENCES.get(by, _SENTENCES[what])
            told[what] = [f'{count} of {self.samples} responses {said}'] if count > few else []
        states = ((name, (self.states or {}).get(name, 0)) for name in STATES)
        told['states'] = [f'{n} of {self.samples} samples {STATES[name]}' for name, n in states if n > few]
        reasons = ', '.join(f'{reason:.60}: {count}' for reason, count in self.undecided_reasons.items())
        gave_up = 'samples count as incorrect because the judge gave up on them'
        sentence = f'{self.undecided} of {self.samples} {gave_up}{f" ({reasons})" if reasons else ""}'
        told['undecided'] = [sentence] if self.undecided else []
        return [one for kind in told if not kinds or kind in kinds for one in told[kind]]


def health_of(
    samples: Samples, answers: Sequence[FinalAnswer | None] = ()
) -> tuple[Health, list[bool] | None]:
    """Count how judged samples came to their end; and say which were cut off, None where it is not known.

    That tells the engine, where it says nothing the look of the text: of `answers`, which has None for one
    that was not drawn, and is empty where nobody looked at the responses.
    """
    states, reasons = samples.each('state'), samples.each('finish_reason')
    verdict, why, judged_by = (samples.each(name) for name in ('verdict', 'why', 'judged_by'))
    unjudged = [row for row, one in enumerate(verdict) if one not in ('correct', 'incorrect')]
    undecided = [row for row, one in enumerate(verdict) if one == 'incorrect' and why[row]]
    known: dict[str, Any] = _copies(samples) if 'response' in samples else {}
    if answers:
        known['unanswered'] = sum(answer is not None and not answer.text for answer in answers)
        known['hedged'] = sum(one == HEDGED.origin for one in judged_by)
    drawn = [state not in NOT_DRAWN for state in states]
    told = [bool(reason) or not there for reason, there in zip(reasons, drawn, strict=True)]
    cut = None
    if answers or all(told):
        looks = (answer is not None and answer.cut_off for answer in answers or [None] * len(samples))
        ends = zip(drawn, reasons, looks, strict=True)
        cut = [there and (reason == CUT_OFF if reason else look) for there, reason, look in ends]
        known['truncated'] = sum(cut)
        known['truncated_by'] = 'engine' if all(told) else 'both' if any(told) else 'text'
    if any(name in samples for name in ('state', 'finish_reason', 'response')):
        known['states'] = dict(Counter(filter(None, states)))
    if any(reasons):
        known['finish_reasons'] = dict(Counter(reason or 'unknown' for reason in reasons))
    for name in ('prompt_tokens', 'output_tokens', 'reasoning_tokens', 'seconds'):
        column = list(zip(samples.each(name), drawn, states, strict=True))
        costs = [value for value, there, _ in column if there]
        if costs and None not in costs:  # of each that was drawn; one that was broken off adds what is known
            costs += [value or 0 for value, there, state in column if not there and state not in _NEVER_BEGUN]
            known[name] = round(fsum(costs), 3) if name == 'seconds' else int(sum(costs))
    health = Health(
        samples=len(samples),
        unjudged=len(unjudged),
        undecided=len(undecided),
        unjudged_reasons=dict(Counter(why[row] or judged_by[row] or 'no verdict' for row in unjudged)),
        undecided_reasons=dict(Counter(str(why[row]) for row in undecided)),
        judged_by=dict(Counter(filter(None, judged_by))),
        **known,
    )
    return health, cut


def _copies(samples: Samples) -> dict[str, Any]:
    """Count responses that are one text with another one of their question: copies tell no stability."""
    responses, questions = samples['response'], samples.by_question()
    texts = [[responses[row] or '' for row in rows] for rows in questions.values()]
    identical = sum(len(set(each)) == 1 and bool(each[0].strip()) for each in texts)
    lengthy = [[text for text in each if len(text) >= _LONG] for each in texts]
    long = sum(map(len, lengthy))
    repeats = long - sum(len(set(each)) for each in lengthy)
    warnings, sizes = [], set(map(len, texts))
    if len(samples) > len(questions) and identical >= _IDENTICAL * len(questions):
        n = f'n = {sizes.pop()}' if len(sizes) == 1 else 'their'
        what = 'the samples are copies (one fixed seed, or greedy decoding)'
        where = f'all {n} responses are one text for {identical} of {len(questions)} questions'
        warnings.append(f'{where}: {what} and G-Pass@k says little about stability')
    elif repeats and repeats >= _REPEATED * long:
        what = 'repeat another replica of the same question word for word: the samples look like copies'
        warnings.append(f'{repeats} of {long} long responses {what}; check the seeds of the engine')
    distinct = sum(len(set(each)) for each in texts) / len(questions)
    return {'distinct': distinct, 'copies': repeats, 'warnings': warnings}
