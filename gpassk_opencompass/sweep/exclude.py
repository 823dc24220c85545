"""`exclude`: which combinations of a template are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from loguru import logger

from ..errors import TemplateError
from .axes import POSITIVE, SAMPLING_AXES, Number, read_axis, read_k_lists, read_words
from .spelling import unknown

NUMBERS: dict[str, Number] = {**dict(SAMPLING_AXES.values()), 'n': POSITIVE}
FIELDS = frozenset({'model', 'benchmark', 'k', *NUMBERS})
"""What a rule may speak of."""


@dataclass(frozen=True)
class Facts:
    """What a rule sees of a combination: names that a pattern may fit, and the values of its settings.

    A setting that is not passed has no value here, so no rule on it holds.
    """

    model: frozenset[str]
    benchmark: frozenset[str]
    values: Mapping[str, Any]


Condition = Callable[[Facts], bool]


class Exclude:
    """The rules of a template; it notes which of them left something out."""

    def __init__(self, rules: Iterable[Iterable[Condition]] = ()) -> None:
        self._rules = [tuple(rule) for rule in rules]
        self._used: set[int] = set()

    def leaves_out(self, facts: Facts) -> bool:
        """Whether all conditions of some rule hold."""
        matching = [i for i, rule in enumerate(self._rules) if all(holds(facts) for holds in rule)]
        self._used.update(matching)
        return bool(matching)

    def warn_of_unused(self) -> None:
        """A rule that nothing fits may be misspelt, or a leftover."""
        for i in range(len(self._rules)):
            if i not in self._used:
                logger.warning(f'exclude[{i}] fits no combination of the template, so it leaves nothing out')


def read_exclude(raw: Any) -> Exclude:
    """Read `exclude`: `[dict(model='Qwen*', temperature=1.0), dict(top_p=0.8, top_k=0)]`.

    A combination is left out if all conditions of one rule hold. A condition is a value or a list of
    them, any of which fits: `model` (name, path or its last part) and `benchmark` are patterns as of the
    shell, `*` for anything, upper and lower case alike; `k` is a whole k list; the others are numbers.

    Raises:
        TemplateError: no list of dicts, an unknown field, a value that no axis could have, or a rule
            without conditions, which would leave out everything.
    """
    rules = [raw] if isinstance(raw, dict) else raw
    if not isinstance(rules, (list, tuple)):
        raise TemplateError(
            f"exclude is {raw!r}; expected a list like [dict(model='Qwen*', temperature=1.0)]"
        )
    return Exclude(_read_rule(rule, f'exclude[{i}]') for i, rule in enumerate(rules))


def _read_rule(rule: Any, where: str) -> list[Condition]:
    if not isinstance(rule, dict) or not rule:
        raise TemplateError(
            f"{where} is {rule!r}; expected conditions like dict(model='Qwen*', temperature=1.0)"
        )
    for name in rule:
        if name not in FIELDS:
            raise unknown(f'field of {where}', name, FIELDS)
    return [_read_condition(name, value, f'{where}.{name}') for name, value in rule.items()]


def _read_condition(name: str, raw: Any, where: str) -> Condition:
    if name in ('model', 'benchmark'):
        patterns = [word.lower() for word in read_words(where, raw)]
        return lambda facts: any(
            fnmatchcase(text.lower(), pattern) for text in getattr(facts, name) for pattern in patterns
        )
    if name == 'k':
        wanted = frozenset(read_k_lists(raw, where))
    else:
        wanted = frozenset(read_axis(where, raw, NUMBERS[name]))
    return lambda facts: facts.values.get(name) in wanted
