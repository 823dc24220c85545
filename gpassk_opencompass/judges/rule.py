"""The rule judge: equal spelling, equal values by type, or expressions that math-verify proves equal."""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from types import TracebackType
from typing import Any

from loguru import logger

from ..answers import (
    RULES,
    Answered,
    FinalAnswer,
    as_tree,
    compare_answers,
    final_answer,
    hedges,
    letters_of,
    normal_form,
    options_of,
)
from ..errors import InputError
from .protocol import HEDGED, Judgement, Pair, Verdict
from .workers import FAILURES, Outcome, Workers

_RULES = 5  # to be raised with every change that may change a verdict
_PACKAGES = ('math-verify', 'latex2sympy2_extended', 'sympy')
_MOST_WORKERS = 16
_LEAST = {'workers': 1, 'timeout': 0.01, 'memory_mb': 256, 'max_length': 1, 'max_nesting': 1}

_EMPTY = Judgement(Verdict.INCORRECT, 'empty')
_SAME_SPELLING = Judgement(Verdict.CORRECT, 'string')
_ABSURD = Judgement(Verdict.INCORRECT, 'capped')
_NO_REFERENCE = Judgement(Verdict.UNJUDGED, 'empty', 'empty reference')
_ABSURD_REFERENCE = Judgement(Verdict.UNJUDGED, 'capped', 'reference too long or too deep')
_TOO_LARGE = Judgement(Verdict.INCORRECT, 'capped', 'too large')
_TOO_LARGE_REFERENCE = Judgement(Verdict.UNJUDGED, 'capped', 'reference too large')
_VERDICTS = {True: Verdict.CORRECT, False: Verdict.INCORRECT}
_JUDGEMENTS = {
    Outcome.YES: Judgement(Verdict.CORRECT, 'math-verify'),
    Outcome.NO: Judgement(Verdict.INCORRECT, 'math-verify'),
    **{failure: Judgement(Verdict.INCORRECT, 'math-verify', failure.value) for failure in FAILURES},
}
_FIRST_TRY = 0.2  # of the time of a pair; of 1,581 honest ones the slowest took 1 s, a hostile one takes all
_SQUARE = ['Power', ['Symbol', 'x'], ['Number', '2']]
_REHEARSALS = [
    [json.dumps([_SQUARE]), json.dumps([_SQUARE])],
    ['[["Power", ["Number", "4"], ["Number", "1/2"]]]', '[["Number", "2"]]'],
]
_TRIAL = '[]'  # see `verifier.equivalent`
_SECOND_TRIES = 120  # of 5 seconds: 10 minutes
_INTEGER = re.compile(r'[-+]?[0-9]{1,1000}')
_MOST_BITS = 2.0**30  # of a number that is worth a try: nobody waits until math-verify has one of this size
_TOWER = re.compile(r'(?<![\w.])(?P<powers>[0-9]+(?:\s*(?:\^|\*\*)\s*[{(]?\s*[0-9]+)+)(?P<end>[\s)}]*)')
_DIGITS = re.compile('[0-9]+')
_OPENING, _CLOSING = re.compile('[({]'), re.compile('[)}]')
_Key = tuple[str, str, tuple[tuple[str, str], ...]]
"""What is judged once: a reference, an answer, the options that the question lists."""


class RuleJudge:
    """Judges by rules alone: no model, no network, the same verdict every time.

    In this order: an answer that is empty is incorrect (`empty`); one of several values where fewer are asked
    for is incorrect (`hedged`); one with the normal form of the reference is correct (`string`); two integers
    are compared (`integer`); an answer of absurd size is incorrect (`capped`). Then both are read as typed
    values and compared by type; the origin is the type, in brackets the lenient rules that were needed
    (`number`, `quantity (unit-missing)`, `choice`; see docs/answers.md). What cannot be read as a whole is
    incorrect (`unread`), unless it is the same text. Only where both are expressions that agree at many
    points, and exact arithmetic does not prove them equal, math-verify is asked, in a worker process
    (`math-verify`).

    A pair that runs out of time or memory there, or crashes, is tried a second time: after all others, alone
    in a fresh process, with five times the time; at most 120 of all that this judge is ever given. If it
    fails again it is incorrect, with what happened as reason; so is an answer like 2^{2^{2024}}, which is
    not tried. Where the *reference* is of absurd size, or cannot be compared with 0 either, the pair is
    unjudged.

    A reference or answer given as a whole response counts by its final answer. Of the question
    only the options of a choice count.
    Safe to use from several threads, one call at a time; a context manager.

    workers: most processes to use, by default the processors this process may use, at most 16.
    timeout: processor time in seconds for one pair, a fifth of it in the first try.
    memory_mb: address space of a worker, at least 256.
    max_length, max_nesting: characters and open brackets beyond which an answer is not parsed.
    without: ids of lenient rules to do without, of those in `answers.RULES`.

    >>> with RuleJudge() as judge:
    ...     judge.judge([Pair('?', r'\\frac{1}{2}', '0.5')])
    [Judgement(verdict=<Verdict.CORRECT: 'correct'>, origin='number', reason='', reply_key='')]
    """

    def __init__(
        self,
        *,
        workers: int | None = None,
        timeout: float = 5.0,
        memory_mb: int = 1024,
        max_length: int = 2000,
        max_nesting: int = 15,
        without: Sequence[str] = (),
    ) -> None:
        limits = {
            'timeout': timeout,
            'memory_mb': memory_mb,
            'max_length': max_length,
            'max_nesting': max_nesting,
        }
        _check({'workers': workers, **limits, 'without': without})
        self._identity = {
            'name': 'rule',
            'rules': _RULES,
            **_versions(),
            **limits,
            'without': sorted(without),
        }
        self._rules = frozenset(RULES) - {*without}
        self._max_length, self._max_nesting = max_length, max_nesting
        count = min(_processors(), _MOST_WORKERS) if workers is None else workers
        self._workers = _pool(count, timeout * _FIRST_TRY, memory_mb)
        self._alone = _pool(1, timeout, memory_mb, fresh=True)
        self._tries_left = _SECOND_TRIES
        self._counts: Counter[str] = Counter()
        self._closed = False

    @staticmethod
    def check_arguments(arguments: Mapping[str, Any]) -> None:
        """See `build.build_judge`."""
        _check(arguments)

    def identity(self) -> Mapping[str, object]:
        """Name, version of the rules and of the packages behind them, limits: what may change a verdict."""
        return dict(self._identity)

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """Return one judgement a pair, in order; equal answers to one reference are judged once.

        Raises InputError after `close`, IncompleteError if the worker processes cannot start.
        """
        if self._closed:
            raise InputError('this RuleJudge is closed; make a new one to judge more pairs')
        keys = [(pair.reference, pair.answer, _options(pair)) for pair in pairs]
        judged: dict[_Key, Judgement] = {}
        hard: dict[_Key, Answered] = {}
        for key in dict.fromkeys(keys):
            said = self._at_once(key)
            if isinstance(said, Judgement):
                judged[key] = said
            else:
                hard[key] = said
        proven = self._by_mathematics([_job(said) for said in hard.values()])
        judged |= {
            key: _with_rules(judgement, said.rules)
            for (key, said), judgement in zip(hard.items(), proven, strict=True)
        }
        judgements = [judged[key] for key in keys]
        self._count(judgements, distinct=len(judged))
        return judgements

    def at_once(self, pair: Pair) -> Judgement | None:
        """Return what `judge` says where that needs no proof, else None; no process, nothing counted."""
        said = self._at_once((pair.reference, pair.answer, _options(pair)))
        return said if isinstance(said, Judgement) else None

    def statistics(self) -> Mapping[str, int | float]:
        """Count so far: pairs, distinct ones, each origin, each reason, worker processes started."""
        return {**self._counts, 'workers started': self._workers.started + self._alone.started}

    def close(self) -> None:
        """End the worker processes. May be called twice; nothing can be judged afterwards."""
        self._closed = True
        self._workers.close()
        self._alone.close()

    def __enter__(self) -> RuleJudge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _at_once(self, key: _Key) -> Judgement | Answered:
        """Return the judgement, or what is left to be proven."""
        reference, answer, options = key
        expected, stated, _ = _normal(reference)
        given, said, final = _normal(answer)
        if hedges(final, reference):
            return HEDGED
        if judgement := _by_spelling(expected, given) or self._if_absurd(stated, said):
            return judgement
        if letters_of(stated) is None and too_large(stated):
            return _TOO_LARGE_REFERENCE
        if letters_of(stated) is None and too_large(said):
            return _TOO_LARGE
        return self._by_type(stated, said, dict(options))

    def _by_type(self, reference: str, answer: str, options: Mapping[str, str]) -> Judgement | Answered:
        compared = compare_answers(reference, answer, options=options, rules=self._rules)
        if compared.equal is None:
            return compared
        return _with_rules(Judgement(_VERDICTS[compared.equal], compared.kind), compared.rules)

    def _by_mathematics(self, pairs: Sequence[tuple[str, str]]) -> list[Judgement]:
        judgements = [_JUDGEMENTS[outcome] for outcome in self._workers.run(pairs)]
        failed = [place for place, judgement in enumerate(judgements) if judgement.reason]
        faults = self._faults({pairs[place][0] for place in failed})
        for place in failed:
            judgements[place] = faults.get(pairs[place][0]) or judgements[place]._replace(
                reason=f'{judgements[place].reason}, tried once'
            )
        tried = [place for place in failed if pairs[place][0] not in faults]
        again = _in_turn(tried, [pairs[place][0] for place in tried])[: self._tries_left]
        for place, outcome in zip(again, self._try_again([pairs[place] for place in again]), strict=True):
            judgements[place] = _JUDGEMENTS[outcome]
        return judgements

    def _try_again(self, pairs: Sequence[tuple[str, str]]) -> list[Outcome]:
        if pairs:
            logger.info(f'{len(pairs)} answers took too much time or memory; each is tried once more, alone')
            self._tries_left -= len(pairs)
            self._counts['second tries'] += len(pairs)
        return self._alone.run(pairs)

    def _faults(self, references: Collection[str]) -> dict[str, Judgement]:
        """Return what to say of pairs whose reference cannot be compared with anything."""
        texts = sorted(references)
        outcomes = dict(zip(texts, self._alone.run([(text, _TRIAL) for text in texts]), strict=True))
        return {
            reference: Judgement(Verdict.UNJUDGED, 'math-verify', f'reference: {outcome.value}')
            for reference, outcome in outcomes.items()
            if outcome in FAILURES
        }

    def _if_absurd(self, reference: str, answer: str) -> Judgement | None:
        for text, judgement in ((reference, _ABSURD_REFERENCE), (answer, _ABSURD)):
            if len(text) > self._max_length or _nesting(text) > self._max_nesting:
                return judgement
        return None

    def _count(self, judgements: Sequence[Judgement], *, distinct: int) -> None:
        self._counts.update({'pairs': len(judgements), 'distinct': distinct})
        self._counts.update(judgement.origin for judgement in judgements)
        self._counts.update(judgement.reason for judgement in judgements if judgement.reason)


@lru_cache(maxsize=8192)  # a question has one reference and few different answers
def _normal(text: str) -> tuple[str, str, FinalAnswer]:
    """Return the normal form of the final answer, that answer, and whether it is one of several.

    A text that states none is an answer itself.
    """
    given = final_answer(text)
    stated = given.text or text
    return normal_form(stated), stated, given if given.text else FinalAnswer(text, False, False)


def _by_spelling(expected: str, given: str) -> Judgement | None:
    """Return the judgement that two normal forms give, if they do."""
    if not expected:
        return _NO_REFERENCE
    if not given:
        return _EMPTY
    if expected == given:
        return _SAME_SPELLING
    if _INTEGER.fullmatch(expected) and _INTEGER.fullmatch(given):
        return Judgement(_VERDICTS[int(expected) == int(given)], 'integer')
    return None


def _options(pair: Pair) -> tuple[tuple[str, str], ...]:
    return tuple(options_of(pair.question).items())


def _job(said: Answered) -> tuple[str, str]:
    """Return what is left to be proven, as two lists of expressions for `verifier.equivalent`."""
    ours, theirs = (json.dumps([as_tree(pair[side]) for pair in said.open]) for side in (0, 1))
    return ours, theirs


def _with_rules(judgement: Judgement, rules: Collection[str]) -> Judgement:
    if judgement.verdict is not Verdict.CORRECT or not rules:
        return judgement
    return judgement._replace(origin=f'{judgement.origin} ({", ".join(sorted(rules))})')


def _in_turn(places: Sequence[int], references: Sequence[str]) -> list[int]:
    """Return the places, the first one of each reference before the second one of any.

    So no reference uses up the tries of the others.

    >>> _in_turn([5, 6, 7, 8], ['a', 'a', 'b', 'a'])
    [5, 7, 6, 8]
    """
    seen: Counter[str] = Counter()
    turns = {}
    for place, reference in zip(places, references, strict=True):
        turns[place] = seen[reference], place
        seen[reference] += 1
    return sorted(places, key=turns.__getitem__)


def _pool(count: int, timeout: float, memory_mb: int, *, fresh: bool = False) -> Workers:
    return Workers(
        'gpassk_opencompass.judges.verifier:equivalent',
        count=count,
        timeout=timeout,
        memory_mb=memory_mb,
        rehearsals=_REHEARSALS,
        fresh=fresh,
    )


def _check(limits: Mapping[str, Any]) -> None:
    for name, value in limits.items():
        if name == 'workers' and value is None:
            continue
        if name == 'without':
            _check_rules(value)
            continue
        kind, number = ((int, float), 'a number') if name == 'timeout' else (int, 'a whole number')
        if isinstance(value, bool) or not isinstance(value, kind) or not _LEAST[name] <= value < math.inf:
            raise InputError(f'RuleJudge got {name}={value!r}; it must be {number}, at least {_LEAST[name]}')


def _check_rules(without: Any) -> None:
    unknown = (
        [rule for rule in without if rule not in RULES] if isinstance(without, list | tuple) else without
    )
    if unknown or not isinstance(without, list | tuple):
        raise InputError(
            f'RuleJudge got without={without!r}; it must be a list of rules, of {", ".join(RULES)}'
        )


def _versions() -> dict[str, str]:
    try:
        return {package: version(package) for package in _PACKAGES}
    except PackageNotFoundError as error:
        raise InputError(
            f'the rule judge needs {error.name}, which is not installed; run: pip install math-verify'
        ) from error


def _nesting(text: str) -> int:
    deepest = depth = 0
    for char in text:
        if char in '([{':
            depth += 1
            deepest = max(deepest, depth)
        elif char in ')]}' and depth:
            depth -= 1
    return deepest


def too_large(text: str) -> bool:
    """Return whether a power of whole numbers in `text` has more than `_MOST_BITS` binary digits.

    Only what stands there in figures is seen, and nothing is computed that could take long.

    >>> too_large('2^{2^{2024}} - 1'), too_large('2^{2024} - 1'), too_large('2^{10^{9}-10^{9}}')
    (True, False, False)
    """
    return any(
        _is_whole(found) and _bits([int(digits) for digits in _DIGITS.findall(found['powers'])]) > _MOST_BITS
        for found in _TOWER.finditer(text)
    )


def _is_whole(found: re.Match[str]) -> bool:
    """Return whether all brackets are closed, so that nothing else stands in an exponent."""
    return len(_OPENING.findall(found['powers'])) <= len(_CLOSING.findall(found['end']))


def _bits(tower: Sequence[int]) -> float:
    """Return the binary logarithm of a^b^c…; infinity where b^c… is beyond 2^1000."""
    base, *exponents = tower
    height: float = 1.0
    for exponent in reversed(exponents):
        bits = math.log2(max(exponent, 1)) * height
        height = 2.0**bits if bits < 1000 else math.inf
    return math.log2(base) * height if base > 1 else 0.0


def _processors() -> int:
    """Return how many processors this process may use: of a job on a cluster those that were given to it."""
    return len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count() or 1
