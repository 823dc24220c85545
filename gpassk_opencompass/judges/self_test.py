"""The self-test of the rule judge: references that it cannot tell from a wrong answer.

Of each reference the mutants with one token changed are given to the judge as answers. A reference of which
it accepts one fails: what it accepts there may be wrong as well. Nothing is asked of anybody else, no process
is started, and what came out is kept on disk, by the rules of the judge and the reference.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from loguru import logger

from ..answers import final_answer, mutants_of, options_of
from ..errors import IncompleteError, InputError
from .protocol import Judge, Pair
from .rule import RuleJudge
from .store import SELF_TESTS_VARIABLE, VerdictStore, cache_folder, verdict_key

MOST_REFERENCES = 5000
"""Of one result: more than any benchmark has, and a minute of work."""

_MOST_ACCEPTED = 3


class Asked(NamedTuple):
    """What a self-test is about: a reference, and the question for the options that it lists."""

    question: str
    reference: str


class SelfTest:
    """Tries a rule judge on references, each once.

    Args:
        judge: asked by `accepts`, which counts nothing.
        folder: where results are kept and found; None: `$GPASSK_SELF_TESTS`, else
            `~/.cache/gpassk_opencompass/self-tests`. A folder that cannot be used or holds damaged lines
            costs time, nothing else.
    """

    def __init__(self, judge: RuleJudge, folder: str | os.PathLike[str] | None = None) -> None:
        self._judge = judge
        self._folder = folder or os.environ.get(SELF_TESTS_VARIABLE) or cache_folder('self-tests')
        self._rules = {'self-test': _digest_of_code(), **judge.identity()}
        self._known: dict[str, tuple[str, ...]] | None = None

    def failed(self, asked: Iterable[Asked]) -> dict[Asked, tuple[str, ...]]:
        """Return those that fail, each with the mutants that the judge accepts, at most three."""
        keys = {one: self._key(one) for one in dict.fromkeys(asked)}
        if self._known is None and keys:
            self._known = self._kept()
        known = {} if self._known is None else self._known
        new = {key: one for one, key in keys.items() if key not in known}
        for key, one in new.items():
            with _told_if_it_fails(one):
                known[key] = self._accepted(one)
        self._keep({key: (one, known[key]) for key, one in new.items() if key in known})
        return {one: known[key] for one, key in keys.items() if known.get(key)}

    def _key(self, asked: Asked) -> str:
        return verdict_key(self._rules, json.dumps(options_of(asked.question)), asked.reference)

    def _accepted(self, asked: Asked) -> tuple[str, ...]:
        stated = final_answer(asked.reference).text or asked.reference
        accepted = []
        for mutant in mutants_of(stated):
            pair = Pair(asked.question, asked.reference, mutant.text)
            if self._judge.accepts(pair) is not False and not _is_same(stated, mutant.text):
                accepted.append(mutant.text)
        return tuple(accepted[:_MOST_ACCEPTED])

    def _kept(self) -> dict[str, tuple[str, ...]]:
        with suppress(InputError, OSError):
            notes = VerdictStore(self._folder).notes
            return {key: tuple(note['accepted']) for key, note in notes.items() if _is_sound(note)}
        return {}

    def _keep(self, tried: Mapping[str, tuple[Asked, Sequence[str]]]) -> None:
        if not tried:
            return
        with suppress(InputError, IncompleteError, OSError), closing(VerdictStore(self._folder)) as store:
            for key, (asked, accepted) in tried.items():
                store.note(key, {'reference': asked.reference, 'accepted': list(accepted)})


def tested(judge: Judge) -> RuleJudge | None:
    """Return the rule judge that `judge` is, or that is the first of a cascade; None of any other."""
    first = getattr(judge, 'first', judge)
    return first if isinstance(first, RuleJudge) else None


def self_test_block(
    judge: Judge, uids: Sequence[str], questions: Sequence[str], references: Sequence[str]
) -> dict[str, Any]:
    """Return the entry `self_test` of a record, in a dict; {} where no rule judge is at work.

    Args:
        uids, questions, references: of each question; the first 5,000 are tried.
    """
    rule = tested(judge)
    if rule is None:
        return {}
    rows = list(zip(uids, map(Asked, questions, references), strict=True))[:MOST_REFERENCES]
    failed = SelfTest(rule).failed(one for _, one in rows)
    told = [
        {'uid': uid, 'reference': one.reference, 'accepted': list(failed[one])}
        for uid, one in rows
        if one in failed
    ]
    return {'self_test': {'references': len(rows), 'failed': told}}


@contextmanager
def _told_if_it_fails(asked: Asked) -> Iterator[None]:
    """Warn of an error, whatever it is: no run depends on a self-test."""
    try:
        yield
    except Exception as error:
        logger.warning(f'no self-test of {asked.reference!r:.60}: {type(error).__name__}: {error}')


def _is_same(stated: str, mutant: str) -> bool:
    from .same_value import same_value  # mpmath: hardly ever needed

    return same_value(stated, mutant)


def _is_sound(note: Any) -> bool:
    accepted = note.get('accepted') if isinstance(note, dict) else None
    return isinstance(accepted, list) and all(isinstance(text, str) for text in accepted)


@lru_cache(maxsize=1)
def _digest_of_code() -> str:
    """Return a digest of all code that decides: another version of it has other results."""
    here = Path(__file__).parent
    files = sorted([*here.parent.joinpath('answers').glob('*.py'), here / 'rule.py', here / 'same_value.py'])
    digest = hashlib.sha256()
    for file in [*files, Path(__file__)]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
