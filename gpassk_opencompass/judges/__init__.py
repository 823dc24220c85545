"""Judges: pairs in, one of three verdicts a pair out. What all of them share, and a judge from a config."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from enum import Enum
from importlib import import_module
from inspect import signature
from typing import Annotated, Any, NamedTuple, Protocol, TypeVar

from pydantic import AfterValidator, BaseModel, ValidationError

from ..errors import InputError
from ..keys import without_user

TAIL_LENGTH = 2000
"""Characters of a response without a final answer that a judge gets to see."""

JUDGES = {
    'rule': 'gpassk_opencompass.judges.rule.RuleJudge',
    'llm': 'gpassk_opencompass.judges.llm.LLMJudge',
    'cascade': 'gpassk_opencompass.judges.CascadeJudge',
}
"""The classes of judges by the names that settings and `--judge` take."""

Model = TypeVar('Model', bound=BaseModel)


class Verdict(str, Enum):
    """What a judge says of one answer; unjudged (an outage, an unreadable reply) is never incorrect."""

    CORRECT = 'correct'
    INCORRECT = 'incorrect'
    UNJUDGED = 'unjudged'


class Pair(NamedTuple):
    """One answer to be judged against its reference. Equal pairs are judged once."""

    question: str
    reference: str
    answer: str
    """The final answer of a response, or '' where the response has none."""
    language: str = 'en'
    tail: str = ''
    """The last `TAIL_LENGTH` characters of the response, given only where `answer` is ''; a rule cannot use
    them, an LLM can."""


class Judgement(NamedTuple):
    """A verdict and where it came from."""

    verdict: Verdict
    origin: str
    """The check that decided, e.g. 'empty', 'string', 'number'."""
    reason: str = ''
    """Why there is no real verdict, e.g. 'timeout'; '' where there is one."""
    reply_key: str = ''
    """The key under which a verdict store has the reply of an LLM judge; '' where no LLM gave the verdict."""

    @property
    def undecided(self) -> bool:
        """Whether the answer is incorrect only because its judge gave up on it."""
        return self.verdict is Verdict.INCORRECT and bool(self.reason)


EMPTY, SAME = Judgement(Verdict.INCORRECT, 'empty'), Judgement(Verdict.CORRECT, 'string')
HEDGED = Judgement(Verdict.INCORRECT, 'hedged')
"""Of an answer that states more values than its reference asks for; given without asking a judge."""


class Judge(Protocol):
    """Anything that judges pairs."""

    def identity(self) -> Mapping[str, object]:
        """Return, JSON-able, everything that may change a verdict (name, versions, prompts, settings)."""

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """Return one judgement a pair, in the order of `pairs`."""

    def statistics(self) -> Mapping[str, int | float]:
        """Return counts of what was done so far (pairs, time-outs, calls, …), JSON-able."""

    def close(self) -> None:
        """Release processes and connections. May be called twice."""


# Settings


def checked(model: type[Model], given: Mapping[str, Any]) -> Model:
    """Return settings as a pydantic model; raise InputError with all that is wrong at once."""
    try:
        return model(**given)
    except ValidationError as error:
        raise InputError(problems(error, model)) from None


def problems(error: ValidationError, model: type[BaseModel]) -> str:
    """Return what is wrong with settings, each by its name; no value that may hold a key is shown."""
    found = []
    for one in error.errors():
        name, said = '.'.join(map(str, one['loc'])), one['msg'].removeprefix('Value error, ')
        if one['type'] == 'extra_forbidden':
            near = get_close_matches(name, model.model_fields, 1)
            hint = f'did you mean {near[0]!r}?' if near else f'it takes {", ".join(model.model_fields)}'
            found.append(f'{name}: no such setting, {hint}')
        elif one['type'] in ('value_error', 'missing') or name in ('api_key_env', 'extra_body', 'urls'):
            found.append(said if said.startswith(name) or not name else f'{name}: {said}')
        else:
            found.append(f'{name} = {one["input"]!r}: {said}')
    return '; '.join(found)


def build_judge(config: Mapping[str, Any] | None = None) -> Judge:
    """Build a judge from `dict(type=…, **arguments)`; None is the rule judge.

    `type` is a name of `JUDGES`, a class, or the dotted path of one. An LLM judge that has a model and no
    urls is the rule judge, whose identity names the model.
    """
    arguments = check_judge({'type': 'rule'} if config is None else config)
    judge: Judge = _class_of(arguments.pop('type'))(**arguments)
    return judge


def check_judge(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config of the judge that `build_judge` builds; refuse what shows without building it."""
    _check_dict(config)
    arguments = dict(config)
    kind, model = arguments.pop('type', None), config.get('model')
    if _own_name(kind) == 'llm' and model and not config.get('urls'):
        from loguru import logger  # which takes asyncio along, and a --help needs neither

        logger.warning(
            f'the judge {model!r} has no address (urls, eval_urls): the rule judge judges in its place. Name '
            'the address of its server, or leave its name out'
        )
        return {'type': 'rule', 'in_place_of': model}
    factory = _class_of(kind)
    try:
        if _own_name(kind):
            checked(factory.Settings, arguments)
        signature(factory).bind(**arguments)
    except (InputError, TypeError) as error:
        takes = (
            '' if isinstance(error, InputError) else f'; it takes {", ".join(signature(factory).parameters)}'
        )
        raise InputError(f'judge {kind!r}: {error}{takes}') from error
    return dict(config)


def judge_config(
    model_name: str, url: str | Sequence[str], judge: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the config of the judge meant, one of: `judge`, an LLM of that name at `url`, or the rules."""
    shown = without_user(f'model_name = {model_name!r}, url = {url!r}')
    config = None if judge is None else check_judge(judge)
    if config and (url or model_name):
        raise InputError(f'both judge = {without_user(repr(config))} and {shown}: give one of them')
    if url and not model_name:
        raise InputError(f'{shown}: an LLM judge needs the name of its model, too')
    llm = {'type': 'llm', 'model': model_name, 'urls': [url] if isinstance(url, str) and url else [*url]}
    return config or check_judge(llm if model_name else {'type': 'rule'})


def with_verdicts(config: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return the config with `folder` for the verdicts of its LLM judges, where it names no other.

    >>> with_verdicts({'type': 'llm', 'model': 'm', 'urls': ['http://j']}, 'there')['verdicts']
    'there'
    """
    return _with_llms(config, lambda llm: {'verdicts': folder, **llm})


def served_judge(
    judge: Mapping[str, Any] | None, model: str, url: str | Sequence[str], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the config of a judge (None: an LLM) with its LLMs at a server that is started for them.

    Args:
        url: one or several; '' for a server that has no address yet: then no more is checked.
        settings: arguments of its LLMs, where the config has no others.
    """
    urls = {'urls': [url] if isinstance(url, str) else [*url]} if url else {}
    llms = []

    def at_server(llm: Mapping[str, Any]) -> dict[str, Any]:
        llms.append(llm)
        if 'urls' in llm:
            shown = without_user(repr(llm['urls']))
            raise InputError(f'judge has urls = {shown}, and judge_serve starts a server: give one')
        if llm.get('model', model) != model:
            raise InputError(f'judge has model = {llm["model"]!r}, and judge_serve starts {model!r}')
        return {**settings, **llm, 'model': model, **urls}

    config = _with_llms({'type': 'llm'} if judge is None else judge, at_server)
    if not llms:
        raise InputError(
            f'judge = {judge!r} asks no LLM, for which judge_serve would start a server: write '
            "judge=dict(type='llm') or leave it out"
        )
    return check_judge(config) if url else config


def refuse_extraction(use_extract_model: Any) -> None:
    """Raise InputError for what OpenCompass's own evaluator calls `use_extract_model`."""
    if use_extract_model:
        raise InputError(
            f'use_extract_model = {use_extract_model!r}: no model extracts answers here but a written rule. '
            'Remove use_extract_model, extract_url and extract_model_name; to let an LLM judge, give '
            'model_name and url (in a template eval_model_name and eval_urls)'
        )


def _check_dict(judge: Any) -> None:
    if not isinstance(judge, Mapping):
        example = judge if isinstance(judge, str) and judge in JUDGES else 'rule'
        raise InputError(f'judge = {judge!r}: expected a dict, e.g. judge=dict(type={example!r})')


def _own_name(kind: Any) -> str:
    """Return the name in `JUDGES` of what a `type` means, '' for others; nothing is imported."""
    path = f'{kind.__module__}.{kind.__qualname__}' if isinstance(kind, type) else kind
    for name, place in JUDGES.items():
        if path in (name, place, f'gpassk_opencompass.{place.rpartition(".")[2]}'):
            return name
    return ''


def _class_of(kind: Any) -> Any:
    """Return the class that a `type` means."""
    factory = kind
    if isinstance(kind, str):
        module, _, name = JUDGES.get(kind, kind).rpartition('.')
        # A file's path, such as ../judge.txt, is no relative import.
        is_path = module and all(part.isidentifier() for part in module.split('.'))
        try:
            factory = getattr(import_module(module), name, None) if is_path else None
        except ImportError as error:
            raise InputError(f'judge type {kind!r} cannot be imported: {error}') from error
    if not isinstance(factory, type) or not hasattr(factory, 'judge'):
        raise InputError(f'judge type {kind!r}: expected {", ".join(JUDGES)}, a class or its dotted path')
    return factory


def _with_llms(
    config: Mapping[str, Any], change: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """Return the config with its LLM judges changed, also those of a cascade, of no other judge."""
    _check_dict(config)
    name = _own_name(config.get('type'))
    if name != 'cascade':  # whatever stands in the config of a judge of somebody's own is its own affair
        return change(config) if name == 'llm' else dict(config)
    parts = {key: _with_llms(part, change) for key, part in config.items() if isinstance(part, Mapping)}
    return {**config, **parts}


# Two judges in a row


def _is_judge(judge: Any) -> Any:
    if isinstance(judge, Mapping) and 'type' in judge:
        check_judge(judge)
    elif isinstance(judge, (Mapping, type)) or not hasattr(judge, 'judge'):
        raise ValueError(f"{judge!r}: expected a judge's dict, e.g. dict(type='rule')")
    return judge


class _Judges(BaseModel, extra='forbid'):
    first: Annotated[Any, AfterValidator(_is_judge)]
    second: Annotated[Any, AfterValidator(_is_judge)]


class CascadeJudge(Judge):
    """Takes the first judge's word for correct and asks the second about all the rest.

    That suits a first judge which is hardly ever wrong when it accepts, as the rule judge. What the second
    leaves unjudged stays so. Each judgement keeps the origin and reason of the judge that gave it.

    Args:
        first, second: judges or, as in a config, `dict(type=…, **arguments)`.
    """

    Settings = _Judges

    def __init__(self, first: Judge | Mapping[str, Any], second: Judge | Mapping[str, Any]) -> None:
        given = {'first': first, 'second': second}
        checked(_Judges, given)
        self._parts: dict[str, Judge] = {
            place: build_judge(one) if isinstance(one, Mapping) else one for place, one in given.items()
        }
        self._pairs = self._saved = 0

    def identity(self) -> dict[str, Any]:
        """Return the identities of both judges."""
        return {'name': 'cascade', **{place: dict(judge.identity()) for place, judge in self._parts.items()}}

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """Return one judgement a pair, in the order of `pairs`."""
        judgements = self._parts['first'].judge(pairs)
        rest = [place for place, said in enumerate(judgements) if said.verdict is not Verdict.CORRECT]
        second = self._parts['second'].judge([pairs[place] for place in rest])
        for place, said in zip(rest, second, strict=True):
            judgements[place] = said
        self._pairs += len(pairs)
        self._saved += len(pairs) - len(rest)
        return judgements

    def statistics(self) -> dict[str, int | float]:
        """Count pairs, those `saved` (not given to the second), and all of both as `first_…`, `second_…`."""
        parts = {place: judge.statistics() for place, judge in self._parts.items()}
        counts = {f'{place}_{name}': count for place, part in parts.items() for name, count in part.items()}
        return {'pairs': self._pairs, 'saved': self._saved, **counts}

    def close(self) -> None:
        """Close both."""
        try:
            self._parts['first'].close()
        finally:
            self._parts['second'].close()
