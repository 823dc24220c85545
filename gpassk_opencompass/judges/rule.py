"""The rule judge: equal spelling, or equal values of a type, in this process and at once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, repeat
from typing import Any

from loguru import logger
from pydantic import BaseModel, ConfigDict, PositiveInt, field_validator

from ..answers import compare_answers, final_answer, normal_form
from ..answers.equal import RULES, is_read
from . import EMPTY, SAME, Judge, Judgement, Pair, Verdict, checked

_VERSION = 11
"""Of the rules; to be raised with every change that may change a verdict."""

_DEPTH = {**dict.fromkeys('([{', 1), **dict.fromkeys(')]}', -1)}
_VERDICTS = {True: Verdict.CORRECT, False: Verdict.INCORRECT}
_INTEGER = re.compile(r'[-+]?[0-9]{1,1000}')


class RuleSettings(BaseModel):
    """What a rule judge is set to."""

    model_config = ConfigDict(extra='forbid', strict=True)

    max_length: PositiveInt = 2000
    """Characters beyond which an answer is not read; where it is the reference, its pairs are unjudged."""
    max_nesting: PositiveInt = 15
    """The same of open brackets."""
    without: list[str] | tuple[str, ...] = ()
    """Ids of lenient rules to do without, of those in `answers.equal.RULES`."""
    in_place_of: str = ''
    """The LLM in whose place it judges, for the record."""

    @field_validator('without')
    @classmethod
    def _are_rules(cls, names: Sequence[str]) -> Sequence[str]:
        if unknown := [name for name in names if name not in RULES]:
            raise ValueError(f'without = {unknown[0]!r}: expected names of rules, of {", ".join(RULES)}')
        return names


class RuleJudge(Judge):
    """Judges by rules alone: no model, no network, no other process, the same verdict every time.

    In this order: an answer that is empty is incorrect (`empty`); one with the normal form of the reference
    is correct (`string`); two integers are compared (`integer`); an answer of absurd size is incorrect
    (`capped`). Then both are read as typed values and compared by type, expressions in numbers of 60 digits;
    the origin is the type, in brackets the lenient rules that were needed (`number`, `choice`,
    `quantity (unit-missing)`; see docs/answers.md). What cannot be read as a whole is incorrect (`unread`),
    unless it is the same text.

    A reference or answer given as a whole response counts by its final answer. Of the question the options of
    a choice count, and the expression that it asks for.
    Safe to use from several threads; a context manager.

    Args:
        settings: see `RuleSettings`.

    >>> RuleJudge().judge([Pair('?', r'\\frac{1}{2}', '0.5')])
    [Judgement(verdict=<Verdict.CORRECT: 'correct'>, origin='number', reason='', reply_key='')]
    """

    Settings = RuleSettings

    def __init__(self, **settings: Any) -> None:
        self._settings = checked(RuleSettings, settings)
        self._rules = frozenset(RULES) - {*self._settings.without}
        self._counts: Counter[str] = Counter()
        self._seen: set[str] = set()  # references that were looked at, whether they are read

    def identity(self) -> dict[str, object]:
        """Return name, version of the rules and limits: what may change a verdict."""
        settings = {**self._settings.model_dump(), 'without': sorted(self._settings.without)}
        if not settings['in_place_of']:
            del settings['in_place_of']
        return {'name': 'rule', 'rules': _VERSION, **settings}

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """Return one judgement a pair, in order; equal answers to one reference are judged once."""
        keys = [pair[:3] for pair in pairs]
        judged = {key: self._judgement(*key) for key in dict.fromkeys(keys)}
        judgements = [judged[key] for key in keys]
        self._counts.update({'pairs': len(pairs), 'distinct': len(judged)})
        self._counts.update(judgement.origin for judgement in judgements)
        self._counts.update(judgement.reason for judgement in judgements if judgement.reason)
        new = dict.fromkeys(pair.reference for pair in pairs if pair.reference not in self._seen)
        self._seen |= {*new}
        if unread := [text for text in new if not _is_read(text)]:
            self._counts['references unread'] += len(unread)
            shown = ', '.join(f'{text!r:.60}' for text in unread[:3])
            logger.warning(
                f'{len(unread)} references are no mathematics that the rule judge reads ({shown}): only '
                'their own spelling is accepted; an LLM judge reads them (judge=dict(type="cascade", …))'
            )
        return judgements

    def statistics(self) -> dict[str, int]:
        """Count so far: pairs, distinct ones, each origin, each reason."""
        return dict(self._counts)

    def __enter__(self) -> RuleJudge:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _judgement(self, question: str, reference: str, answer: str) -> Judgement:
        (expected, stated), (given, said) = _final(reference), _final(answer)
        if not expected:
            return Judgement(Verdict.UNJUDGED, 'empty', 'empty reference')
        if not given or expected == given:
            return SAME if given else EMPTY
        if _INTEGER.fullmatch(expected) and _INTEGER.fullmatch(given):
            return Judgement(_VERDICTS[int(expected) == int(given)], 'integer')
        if self._is_absurd(stated):
            return Judgement(Verdict.UNJUDGED, 'capped', 'reference too long or too deep')
        if self._is_absurd(said):
            return Judgement(Verdict.INCORRECT, 'capped')
        found = compare_answers(stated, said, question=question, rules=self._rules)
        rules = f' ({", ".join(sorted(found.rules))})' if found.equal and found.rules else ''
        return Judgement(_VERDICTS[found.equal], found.kind + rules)

    def _is_absurd(self, text: str) -> bool:
        if len(text) > self._settings.max_length:
            return True
        depths = accumulate(map(_DEPTH.get, text, repeat(0)), lambda depth, step: max(0, depth + step))
        deepest = self._settings.max_nesting
        return sum(map(text.count, '([{')) > deepest and max(depths) > deepest


@lru_cache(maxsize=8192)  # a question has one reference and few different answers
def _final(text: str) -> tuple[str, str]:
    """Return the normal form of the final answer, and that answer; a text that states none is one itself."""
    if _INTEGER.fullmatch(text):
        return text, text
    stated = final_answer(text).text or text
    return normal_form(stated), stated


@lru_cache(maxsize=8192)
def _is_read(reference: str) -> bool:
    expected, stated = _final(reference)
    return not expected or _INTEGER.fullmatch(expected) is not None or len(stated) > 2000 or is_read(stated)
