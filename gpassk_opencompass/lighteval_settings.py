"""What a Lighteval task is told about n, k and the judge: by its parameters or by the environment."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from .errors import InputError
from .judges.build import JUDGES, check_judge, llm_or_cascade, with_store
from .judges.store import STORE_VARIABLE, cache_folder
from .metrics import DEFAULT_THRESHOLDS
from .results.record import Measures

VARIABLES: Mapping[str, str] = {
    'n': 'GPASSK_N',
    'k': 'GPASSK_K',
    'thresholds': 'GPASSK_THRESHOLDS',
    'judge': 'GPASSK_JUDGE',
    'judge_model': 'GPASSK_JUDGE_MODEL',
    'judge_urls': 'GPASSK_JUDGE_URLS',
    'judge_options': 'GPASSK_JUDGE_OPTIONS',
    'unjudged_tolerance': 'GPASSK_UNJUDGED_TOLERANCE',
}
"""Parameter of a task (`task@n=16`): the environment variable that gives it where the task does not."""

QUESTIONS_VARIABLE = 'GPASSK_QUESTIONS'
"""Names a folder with `202412/CNMO_en.jsonl`, `aime2024.jsonl`, … to be used instead of the hub."""

LENGTH_VARIABLE = 'GPASSK_MAX_NEW_TOKENS'
"""The most tokens of a response; `lighteval accelerate` heeds a task's limit alone, not the model's."""

_PREFIX = 'GPASSK_'
_KNOWN = (*VARIABLES.values(), STORE_VARIABLE, QUESTIONS_VARIABLE, LENGTH_VARIABLE)

_DEFAULTS: Mapping[str, Any] = {
    'n': 48,
    'k': (4, 8, 16),
    'thresholds': DEFAULT_THRESHOLDS,
    'judge': '',
    'judge_model': '',
    'judge_urls': (),
    'judge_options': {},
    'unjudged_tolerance': 0.01,
}


@dataclass(frozen=True)
class Settings:
    """How the responses to a task are judged and counted; see `scoring.score`."""

    n: int
    k: tuple[int, ...]
    thresholds: tuple[float, ...]
    unjudged_tolerance: float
    judge: Mapping[str, Any]
    """A config for `judges.build.build_judge`, as JSON has it."""

    @property
    def measures(self) -> Measures:
        """Return the metrics as a function of the counts."""
        return Measures(self.n, self.k, self.thresholds)


def read_settings(given: Mapping[str, Any], environment: Mapping[str, str]) -> Settings:
    """Return the settings: a task's parameters, else the environment's variables, else the defaults.

    Args:
        given: parameters by the names of `VARIABLES`; one that is None is not given. `k`, `thresholds` and
            `judge_urls` may be lists or texts with commas or spaces between their items. `judge` is a name,
            the dotted path of a class, or a whole config as a dict or as JSON; `judge_options` (a dict or
            JSON) are more arguments of the judge named, in a cascade of its second.
        environment: usually `os.environ`.

    Raises:
        InputError: naming the parameter and its variable, what was received and what is allowed.

    >>> settings = read_settings({'n': 16}, {'GPASSK_K': '4,8', 'GPASSK_JUDGE_OPTIONS': '{"timeout": 9}'})
    >>> settings.n, settings.k, settings.judge
    (16, (4, 8), {'type': 'rule', 'timeout': 9})
    """
    values = {name: _value(name, given, environment) for name in VARIABLES}
    settings = Settings(
        n=_read('n', values['n'], int),
        k=tuple(_read('k', item, int) for item in _items(values['k'])),
        thresholds=tuple(_read('thresholds', item, float) for item in _items(values['thresholds'])),
        unjudged_tolerance=_share(values['unjudged_tolerance']),
        judge=with_store(_judge(values), default_store(environment)),
    )
    check_judge(settings.judge)
    _ = settings.measures  # refuses an n below a k here, before anything is generated
    return settings


def unread(environment: Mapping[str, str], judge: Mapping[str, Any]) -> dict[str, str]:
    """Return each variable that begins as ours do and is not read → the one that may be meant, or ''.

    Args:
        judge: its config, which may name one: `api_key_env`.

    >>> unread({'GPASSK_THRESHOLD': '1', 'GPASSK_TAU': '1', 'GPASSK_K': '4', 'PATH': '/bin'}, judge={})
    {'GPASSK_TAU': '', 'GPASSK_THRESHOLD': 'GPASSK_THRESHOLDS'}
    """
    known = {name.removeprefix(_PREFIX): name for name in _KNOWN}
    read = {*_KNOWN, *_texts_in(judge)}
    names = sorted(name for name in environment if name.startswith(_PREFIX) and name not in read)
    alike = {name: get_close_matches(name.removeprefix(_PREFIX), known, 1) for name in names}
    return {name: known[found[0]] if found else '' for name, found in alike.items()}


def _texts_in(config: Mapping[str, Any]) -> Iterator[str]:
    for value in config.values():
        if isinstance(value, Mapping):
            yield from _texts_in(value)
        elif isinstance(value, str):
            yield value


def default_store(environment: Mapping[str, str]) -> str:
    """Return where LLM verdicts are kept unless `$GPASSK_VERDICTS` or the judge's config says.

    Lighteval tells a metric no output folder. Verdicts are keyed by content, so all runs of a user share one.

    >>> default_store({})
    '~/.cache/gpassk_opencompass/verdicts'
    """
    return cache_folder('verdicts', environment)


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


def _judge(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the judge's config, from a whole one or from its parts."""
    model, urls = values['judge_model'], _items(values['judge_urls'])
    options = _table('judge_options', values['judge_options'], '{"concurrency": 8, "max_tokens": 2048}')
    kind = values['judge'] or ('llm' if model or urls else 'rule')
    if isinstance(kind, Mapping) or (isinstance(kind, str) and kind.startswith('{')):
        if model or urls or options:
            raise InputError(
                f'{_where("judge")} is a whole config: put judge_model, judge_urls and judge_options into it'
            )
        return dict(_table('judge', kind, '{"type": "llm", "model": "…", "urls": ["http://host:port"]}'))
    if kind in ('llm', 'cascade'):
        return llm_or_cascade(kind, _with_options({'type': 'llm', **_server(kind, model, urls)}, options))
    if not isinstance(kind, str) or (kind not in JUDGES and '.' not in kind):
        expected = f'{", ".join(JUDGES)}, the dotted path of a class or a JSON config'
        raise InputError(f'{_where("judge")} = {kind!r}: expected {expected}')
    if model or urls:
        raise InputError(
            f'judge = {kind} and judge_model = {model!r}, judge_urls = {urls!r}: these are of llm and '
            'cascade; say judge = llm or cascade, or unset them'
        )
    return _with_options({'type': kind}, options)


def _server(kind: str, model: Any, urls: list[Any]) -> dict[str, Any]:
    if not (model and urls):
        raise InputError(
            f'{_where("judge_model")} = {model!r}, {_where("judge_urls")} = {urls!r}: '
            f'judge = {kind} needs both'
        )
    return {'model': model, 'urls': urls}


def _with_options(config: dict[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    if taken := sorted(set(config) & set(options)):
        raise InputError(
            f'{_where("judge_options")} holds {", ".join(taken)}: say that as judge, judge_model, judge_urls'
        )
    return {**config, **options}


def _table(name: str, value: Any, example: str) -> Mapping[str, Any]:
    """Return a dict, given as one or as JSON; what JSON cannot hold no variable could say."""
    try:
        table = json.loads(value) if isinstance(value, str) else json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f'{_where(name)} = {value!r} is no JSON: {error}; expected e.g. {example}'
        ) from error
    if not isinstance(table, dict):
        raise InputError(f'{_where(name)} = {value!r}: expected an object, e.g. {example}')
    return table


def _where(name: str) -> str:
    return f'{name} (or ${VARIABLES[name]})'
