"""What a Lighteval task is told about n, k and the judge: by its parameters or by the environment."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import InputError
from .judges.build import check_judge
from .metrics import DEFAULT_THRESHOLDS
from .record import Measures

VARIABLES: Mapping[str, str] = {
    'n': 'GPASSK_N',
    'k': 'GPASSK_K',
    'thresholds': 'GPASSK_THRESHOLDS',
    'judge': 'GPASSK_JUDGE',
    'judge_model': 'GPASSK_JUDGE_MODEL',
    'judge_urls': 'GPASSK_JUDGE_URLS',
    'unjudged_tolerance': 'GPASSK_UNJUDGED_TOLERANCE',
}
"""Parameter of a task (`task@n=16`): the environment variable that gives it where the task does not."""

_DEFAULTS: Mapping[str, Any] = {
    'n': 48,
    'k': (4, 8, 16),
    'thresholds': DEFAULT_THRESHOLDS,
    'judge': '',
    'judge_model': '',
    'judge_urls': (),
    'unjudged_tolerance': 0.01,
}
_JUDGES = ('rule', 'llm', 'cascade')


@dataclass(frozen=True)
class Settings:
    """How the responses to a task are judged and counted; see `scoring.score`."""

    n: int
    k: tuple[int, ...]
    thresholds: tuple[float, ...]
    unjudged_tolerance: float
    judge: Mapping[str, Any]
    """A config for `judges.build.build_judge`."""

    @property
    def measures(self) -> Measures:
        """The metrics as a function of the counts."""
        return Measures(self.n, self.k, self.thresholds)


def read_settings(given: Mapping[str, Any], environment: Mapping[str, str]) -> Settings:
    """Settings from a task's parameters, before the environment's variables, before the defaults.

    Args:
        given: parameters by the names of `VARIABLES`; one that is None is not given. Lists may be lists or
            texts with commas or spaces between their items.
        environment: usually `os.environ`.

    Raises:
        InputError: naming the parameter and its variable, what was received and what is allowed.

    >>> settings = read_settings({'n': 16}, {'GPASSK_K': '4,8'})
    >>> settings.n, settings.k, settings.judge
    (16, (4, 8), {'type': 'rule'})
    """
    values = {name: _value(name, given, environment) for name in VARIABLES}
    settings = Settings(
        n=_read('n', values['n'], int),
        k=tuple(_read('k', item, int) for item in _items(values['k'])),
        thresholds=tuple(_read('thresholds', item, float) for item in _items(values['thresholds'])),
        unjudged_tolerance=_share(values['unjudged_tolerance']),
        judge=_judge(values['judge'], values['judge_model'], _items(values['judge_urls'])),
    )
    _ = settings.measures  # refuses an n below a k here, before anything is generated
    return settings


def _value(name: str, given: Mapping[str, Any], environment: Mapping[str, str]) -> Any:
    if given.get(name) is not None:
        return given[name]
    return environment.get(VARIABLES[name], '').strip() or _DEFAULTS[name]


def _items(value: Any) -> list[Any]:
    if isinstance(value, str):
        return value.replace(',', ' ').split()
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _read(name: str, value: Any, kind: Callable[[Any], Any]) -> Any:
    number = value
    if isinstance(value, str):
        try:
            number = ast.literal_eval(value)
        except (SyntaxError, ValueError):
            number = None
    allowed = (int, float) if kind is float else (int,)
    if isinstance(number, bool) or not isinstance(number, allowed):
        what = 'numbers from 0 to 1' if kind is float else 'whole numbers'
        raise InputError(f'{_where(name)} = {value!r}: expected {what}')
    return kind(number)


def _share(value: Any) -> float:
    share: float = _read('unjudged_tolerance', value, float)
    if not 0 <= share <= 1:
        raise InputError(f'{_where("unjudged_tolerance")} = {value!r}: expected a share from 0 to 1')
    return share


def _judge(kind: str, model: str, urls: list[str]) -> dict[str, Any]:
    kind = kind or ('llm' if model or urls else 'rule')
    if kind not in _JUDGES:
        raise InputError(f'{_where("judge")} = {kind!r}: expected {", ".join(_JUDGES)}')
    if kind == 'rule' and (model or urls):
        raise InputError(
            f'judge = rule and judge_model = {model!r}, judge_urls = {urls!r}: the rule judge has neither; '
            'say judge = llm or cascade, or unset them'
        )
    if kind != 'rule' and not (model and urls):
        raise InputError(
            f'{_where("judge_model")} = {model!r}, {_where("judge_urls")} = {urls!r}: '
            f'judge = {kind} needs both'
        )
    llm: dict[str, Any] = {'type': 'llm', 'model': model, 'urls': urls}
    rule: dict[str, Any] = {'type': 'rule'}
    config = {'rule': rule, 'llm': llm}.get(kind, {'type': 'cascade', 'first': rule, 'second': llm})
    check_judge(config)
    return config


def _where(name: str) -> str:
    return f'{name} (or ${VARIABLES[name]})'
