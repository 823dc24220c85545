"""How samples came to their end: what the engine said of each, and the health of a run, beside every score.

A run whose responses were cut off gets 0 like one that cannot do the task; only this tells them apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum, isfinite
from typing import Any, NamedTuple

from ..files import mapping

CUT_OFF = 'length'
"""The finish reason of a response that was longer than it might be."""

UNKNOWN = 'unknown'
"""Stands in a tally for a sample of which no finish reason is known."""

NOTEWORTHY = 0.01
"""Share of responses above which a count of them is worth a warning."""

_SUSPECT = {
    'truncated': 'look cut off: max_out_len is short',
    'unanswered': 'are empty or have no final answer',
    'hedged': 'state more answers than are asked for and count as incorrect',
}


_CUT_OFF = {
    'engine': 'were cut off: max_out_len is short',
    'both': 'were cut off, or look so where the engine says nothing: max_out_len is short',
}
"""Where an engine says so, of all or of some."""

LIMITS = {'truncated': 0.05, 'unanswered': 0.01}
"""Share of samples above which a run is marked beside its score."""

WORDS = {
    'truncated': 'cut off',
    'unanswered': 'without an answer',
    'unjudged': 'unjudged',
    'unusual': 'no usual response',
    'copies': 'copies',
}
"""What is counted of the samples -> how it is called for a reader."""


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

_LONGEST_REASON = 64
_LARGEST = 2**53


class Generation(NamedTuple):
    """What an engine said of one sample; None is what it did not say.

    finish_reason: 'stop', 'length' for a response that was cut off, or another word of the engine's.
    prompt_tokens: of the prompt with its chat template, without padding.
    output_tokens: all that were generated: with the thinking, and with the token that ended it.
    seconds: from request to reply of this sample alone; None where a batch is answered at once.
    reasoning_tokens: those of the thinking, which `output_tokens` counts too.
    state: one of `STATES`; None for a usual response, also for one that was cut off.
    """

    finish_reason: str | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float | None = None
    reasoning_tokens: int | None = None
    state: str | None = None

    @classmethod
    def from_json(cls, told: object) -> Generation:
        """Read what `as_json` wrote, or any engine said; what makes no sense is taken as not known.

        >>> Generation.from_json({'finish_reason': 'stop', 'output_tokens': -7, 'seconds': 'long'})
        Generation(finish_reason='stop', prompt_tokens=None, output_tokens=None, seconds=None, \
reasoning_tokens=None, state=None)
        """
        fields = mapping(told)
        return cls(
            _reason(fields.get('finish_reason')),
            _count(fields.get('prompt_tokens')),
            _count(fields.get('output_tokens')),
            _seconds(fields.get('seconds')),
            _count(fields.get('reasoning_tokens')),
            state if isinstance(state := fields.get('state'), str) and state in STATES else None,
        )

    def as_json(self) -> dict[str, Any]:
        """Return the fields that are known."""
        return {name: value for name, value in self._asdict().items() if value is not None}


NOT_TOLD = Generation()
"""Of a sample of which an engine said nothing."""


def totals_of(generations: Sequence[Generation]) -> dict[str, Any]:
    """Return what a run cost and how its samples ended, for the block `gpassk`.

    A sum is there only if it is known for every sample that was drawn; one that was broken off adds what is
    known of it, one that the engine never computed nothing.

    >>> totals_of([Generation('stop', 9, 20), Generation('length', 9, 50), Generation(state='failed')])
    {'states': {'failed': 1}, 'prompt_tokens': 18, 'output_tokens': 70, 'finish_reasons': {'stop': 1, \
'length': 1, 'unknown': 1}}
    >>> totals_of([Generation('stop', 9, 20), Generation()])
    {'states': {}, 'finish_reasons': {'stop': 1, 'unknown': 1}}
    """
    if not generations:
        return {}
    totals: dict[str, Any] = {'states': dict(Counter(one.state for one in generations if one.state))}
    for name in ('prompt_tokens', 'output_tokens', 'reasoning_tokens', 'seconds'):
        told = [getattr(one, name) for one in generations if one.state not in NOT_DRAWN]
        if told and None not in told:
            more = [getattr(one, name) or 0 for one in generations if one.state in _BROKEN_OFF]
            totals[name] = round(fsum([*told, *more]), 3) if name == 'seconds' else sum([*told, *more])
    if any(one.finish_reason for one in generations):
        totals['finish_reasons'] = dict(Counter(one.finish_reason or UNKNOWN for one in generations))
    return totals


def cut_off(generations: Sequence[Generation], looks: Sequence[bool]) -> tuple[list[bool], dict[str, Any]]:
    """Say which responses were cut off: by the engine's word, where it says nothing by the look of the text.

    Args:
        generations: one a sample, or none at all.
        looks: whether the text of each looks cut off; none at all if nobody looked.

    Returns:
        Of each sample whether it was cut off, and how many were, for the block `gpassk`; ([], {}) where
        that is not known of all.

    >>> cut_off([Generation('length'), Generation(), Generation('stop')], [False, True, True])
    ([True, True, False], {'truncated': 2, 'truncated_by': 'both', 'truncated_known': {'engine': 2, \
'text': 1}})
    """
    told = generations or [Generation()] * len(looks)
    by_engine = [bool(one.finish_reason) or one.state in NOT_DRAWN for one in told]
    if not told or not (looks or all(by_engine)):
        return [], {}
    cut = [
        one.finish_reason == CUT_OFF and one.state not in NOT_DRAWN if known else looks[place]
        for place, (one, known) in enumerate(zip(told, by_engine, strict=True))
    ]
    known = {'engine': sum(by_engine), 'text': len(told) - sum(by_engine)}
    who = [name for name, count in known.items() if count]
    by = who[0] if len(who) == 1 else 'both'
    return cut, {'truncated': sum(cut), 'truncated_by': by, 'truncated_known': known}


class Health(NamedTuple):
    """Counts of the samples of a run; None where nobody looked, as in files of labels.

    truncated: cut off before their end.
    unanswered: without a final answer.
    unjudged: without a verdict; they count as incorrect.
    unusual: in one of the `STATES`: empty, a refusal, never drawn, …
    copies: repeat a long response of another replica word for word.
    output_tokens: of all samples together.
    not_drawn: in one of the states `NOT_DRAWN`, of which there is no response.
    """

    samples: int
    truncated: int | None
    unanswered: int | None
    unjudged: int
    unusual: int | None
    copies: int | None
    output_tokens: int | None
    not_drawn: int = 0

    def share(self, what: str) -> float | None:
        """Return the share of samples that are `what`, one of `WORDS`; None if it is not known."""
        count: int | None = getattr(self, what)
        return None if count is None else count / self.samples

    @property
    def mark(self) -> str:
        """Return what is said beside the score of a run above one of the `LIMITS`, else ''.

        >>> Health(240, 212, 235, 0, 0, 0, None).mark
        '88.3 % cut off, 97.9 % without an answer'
        """
        shares = {what: self.share(what) for what in LIMITS}
        return ', '.join(
            f'{100 * share:.1f} % {WORDS[what]}'
            for what, share in shares.items()
            if share is not None and share > LIMITS[what]
        )

    @property
    def tokens_a_response(self) -> float | None:
        """Return the mean of `output_tokens`, with those of samples that were broken off; None if unknown."""
        responses = self.samples - self.not_drawn
        return None if self.output_tokens is None or not responses else self.output_tokens / responses

    @property
    def cells(self) -> dict[str, str]:
        """Return all of it for a table: column -> text, '–' for what is not known."""
        shares = {WORDS[what]: self.share(what) for what in WORDS}
        tokens, mean = self.output_tokens, self.tokens_a_response
        return {
            **{name: '–' if share is None else f'{100 * share:.1f} %' for name, share in shares.items()},
            'output tokens a response': '–' if mean is None else f'{mean:,.0f}',
            'in all': '–' if tokens is None else f'{tokens:,}',
        }

    @property
    def line(self) -> str:
        """Return all that is known in one line.

        >>> Health(240, 12, 0, 0, 3, 0, 48_000).line
        'cut off 5.0 %, without an answer 0.0 %, unjudged 0.0 %, no usual response 1.2 %, copies 0.0 %, \
output tokens a response 200, in all 48,000'
        """
        return ', '.join(f'{name} {text}' for name, text in self.cells.items() if text != '–')


def count_not_drawn(states: Mapping[str, int]) -> int:
    """Return how many samples have no response, from the `states` of a record."""
    return sum(count for state, count in states.items() if state in NOT_DRAWN)


def health_of(block: Mapping[str, Any]) -> Health:
    """Return the health of a run from the entry `gpassk` of its record."""
    counts, states = block['counts'], block.get('states')
    return Health(
        samples=block['n'] * len(counts['c']),
        truncated=block.get('truncated'),
        unanswered=block.get('unanswered'),
        unjudged=block.get('unjudged', sum(counts.get('unjudged', ()))),
        unusual=None if states is None else sum(states.values()),
        copies=mapping(block.get('replicas')).get('long_repeats'),
        output_tokens=block.get('output_tokens'),
        not_drawn=count_not_drawn(states or {}),
    )


def undecided_notes(block: Mapping[str, Any]) -> list[str]:
    """Return a sentence on the samples that count as incorrect because the judge gave up, if there are any.

    Args:
        block: the entry `gpassk` of a record; of one that does not tell, there is no sentence.

    >>> undecided_notes({'undecided': 3, 'samples': 96, 'undecided_reasons': {'timeout': 2, 'too large': 1}})
    ['3 of 96 samples count as incorrect because the judge gave up on them (timeout: 2, too large: 1)']
    """
    count, reasons = block.get('undecided'), block.get('undecided_reasons')
    if not isinstance(count, int) or count <= 0:
        return []
    told = reasons.items() if isinstance(reasons, dict) else ()
    why = ', '.join(f'{reason!s:.60}: {number!s:.12}' for reason, number in told)
    what = f'{count} of {block.get("samples")} samples count as incorrect because the judge gave up on them'
    return [f'{what} ({why})' if why else what]


def answer_warnings(block: Mapping[str, Any]) -> list[str]:
    """Return what a reader should know of the responses before quoting a score; [] if nothing.

    Args:
        block: `gpassk` of a record, or `samples` and the counts of `scoring.answer_counts`. Counts that it
            lacks (nobody looked for final answers) warn of nothing.
    """
    samples = block.get('samples')
    if not isinstance(samples, int):
        return []
    counts = {name: block.get(name) for name in _SUSPECT}
    by = block.get('truncated_by')
    known = {'truncated': _CUT_OFF[by]} if isinstance(by, str) and by in _CUT_OFF else {}
    said = [
        (f'{count} of {samples} responses {(_SUSPECT | known)[name]}', count)
        for name, count in counts.items()
    ]
    counted = [text for text, count in said if isinstance(count, int) and count > NOTEWORTHY * samples]
    return [*counted, *_state_warnings(block)]


def _state_warnings(block: Mapping[str, Any]) -> list[str]:
    samples, states = block.get('samples'), mapping(block.get('states'))
    told = ((name, states.get(name)) for name in STATES)
    return [
        f'{count} of {samples} samples {STATES[name]}'
        for name, count in told
        if isinstance(samples, int) and isinstance(count, int) and count > NOTEWORTHY * samples
    ]


def copies_warnings(block: Mapping[str, Any]) -> list[str]:
    """Return what speaks against the n responses to a question being n samples; [] if nothing.

    Args:
        block: the entry `gpassk` of a record.
    """
    told = mapping(block.get('replicas')).get('warnings')
    return list(map(str, told)) if isinstance(told, list) else []


def reservations(block: Mapping[str, Any]) -> list[str]:
    """Return why a finished run may not be what was wanted; [] if nothing speaks against it.

    Its samples are copies, many of them were cut off, have no answer, or are no usual response.
    """
    mark = health_of(block).mark
    return [*copies_warnings(block), *([mark] if mark else []), *_state_warnings(block)]


def remarks_of(block: Mapping[str, Any]) -> list[str]:
    """Return all that a reader should know before quoting a score: of its samples and its judge."""
    return [*copies_warnings(block), *answer_warnings(block), *undecided_notes(block)]


def _reason(told: object) -> str | None:
    return told if isinstance(told, str) and 0 < len(told) <= _LONGEST_REASON else None


def _count(told: object) -> int | None:
    whole = isinstance(told, int) and not isinstance(told, bool)
    return told if whole and 0 <= told <= _LARGEST else None  # type: ignore[operator, return-value]


def _seconds(told: object) -> float | None:
    number = isinstance(told, (int, float)) and not isinstance(told, bool)
    if not number or not 0 <= told <= _LARGEST or not isfinite(told):  # type: ignore[operator, arg-type]
        return None
    return float(told)  # type: ignore[arg-type]
