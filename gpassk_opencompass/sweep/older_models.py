"""A model of a template of the older style, in the lines of a template of today."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from ..errors import TemplateError
from ..naming.names import last_part
from .axes import SAMPLING_AXES
from .configs import plain
from .engines import ENGINES
from .server_engines import NO_KEYS, NO_TEMPERATURE
from .template import ENVIRONMENT_NAME

API_ROLES = {
    'round': [
        {'role': 'HUMAN', 'api_role': 'HUMAN'},
        {'role': 'BOT', 'api_role': 'BOT', 'generate': True},
    ]
}
"""The `meta_template` that every API model has."""

KEYS_OF_HOSTS = {
    'api.anthropic.com': 'ANTHROPIC_API_KEY',
    'api.deepseek.com': 'DEEPSEEK_API_KEY',
    'dashscope.aliyuncs.com': 'DASHSCOPE_API_KEY',
    'generativelanguage.googleapis.com': 'GEMINI_API_KEY',
}
"""Where a template only says that a key belongs here: host → the variable in which its key usually is."""

_AXES = {field: name for name, (field, _) in SAMPLING_AXES.items()}
_NUMBER = '[0-9]+(?:[.-][0-9]+)?(?:e-?[0-9]+)?'
_SETTINGS = re.compile(''.join(f'(?:_{name}{_NUMBER})?' for name in ('t', 'p', 'k', 'rp', 'rs', 'l')) + '$')
"""The end of a label, each setting at most once."""

_LABELLED_TEMPERATURE = re.compile(r'_t[0-9.]+(?=_|$)')
_PLACEHOLDER = re.compile('YOUR?_.*')


class Fields:
    """The fields of a dict, each taken once, so that none is left behind without a word.

    A field that is None is not one that is not there: what takes it says which of the two is meant.
    """

    def __init__(self, where: str, fields: Any) -> None:
        if not isinstance(fields, Mapping):
            raise TemplateError(f'{where} is {fields!r}; expected a dict')
        self._where = where
        self._left = dict(fields)

    def take(self, name: str, default: Any = None, *kinds: type) -> Any:
        """Return a field's value and forget it; the default if it is not there.

        Raises:
            TemplateError: it is None, or of none of the kinds, where some are given.
        """
        if name not in self._left:
            return default
        value = self._left.pop(name)
        if value is None or (kinds and not isinstance(value, kinds)):
            expected = ' or '.join(kind.__name__ for kind in kinds) or 'a value'
            raise TemplateError(f'{self._where}: {name} is {value!r}; expected {expected}')
        return value

    def take_all(self, *names: str) -> dict[str, Any]:
        """Return and forget those of the fields that are there; raise TemplateError if one is None."""
        return {name: self.take(name) for name in names if name in self._left}

    def inner(self, name: str) -> Fields:
        """Return the fields of a dict among them, and forget it."""
        return Fields(f'{self._where}: {name}', self.take(name, {}))

    def rest(self) -> dict[str, Any]:
        """Return and forget all that are left."""
        left, self._left = self._left, {}
        return left

    def forget(self, *names: str) -> None:
        """Forget fields that change nothing, whatever they are."""
        for name in names:
            self._left.pop(name, None)

    def forget_unset(self, *names: str) -> set[str]:
        """Forget and return those that are None or {}, which their class takes as not given."""
        unset = {name for name in names if name in self._left and self._left[name] in (None, {})}
        self.forget(*unset)
        return unset

    def expect(self, name: str, *expected: Any) -> None:
        """Forget a field.

        Raises:
            TemplateError: it is there, with another value than these.
        """
        if name in self._left and self._left.pop(name) not in expected:
            raise TemplateError(f'{self._where} has another {name} than templates of today can have')

    def done(self, *, empty_is_none: bool = True) -> None:
        """Raise TemplateError if a field is left: it would be lost.

        Args:
            empty_is_none: whether an empty value is the same as none, as with what OpenCompass's classes take
                themselves; what they hand on to an engine may say something.
        """
        empty: tuple[Any, ...] = (None, '', [], (), {}) if empty_is_none else ()
        if left := [str(name) for name, value in self._left.items() if value not in empty]:
            raise TemplateError(f'{self._where} has {", ".join(left)}, which no line of a template says')


@dataclass(frozen=True)
class TodaysModel:
    """A model of an older template as a template of today has it.

    Args:
        engine: the template's engine.
        info: its entry in `llm_infos`, without lines.
        lines: its sampling axes, one value each; `max_out_lens` only if no data set can change it.
        max_out_len: of a model whose data set says none.
        changed: what is another than it was, a phrase each.
    """

    engine: str
    info: Mapping[str, Any]
    lines: Mapping[str, Any]
    max_out_len: int | None
    changed: tuple[str, ...]


@dataclass
class _Parts:
    """What one class makes of its fields: `sampling` has fields of `naming.Settings`."""

    engine: str
    tp: int
    options: dict[str, Any] = field(default_factory=dict)
    sampling: dict[str, Any] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)


def todays_model(model: Mapping[str, Any]) -> TodaysModel:
    """Translate the config of a model of one of OpenCompass's own classes, those of `CLASSES`.

    Raises:
        TemplateError: another class, or something that a template of today cannot say; the message is the
            reason.
    """
    kind = class_name(model.get('type'))
    if kind not in CLASSES:
        raise TemplateError(f'{kind} is none of the model classes that have a seeded one here')
    abbr = model['abbr']
    fields = Fields(abbr, model)
    fields.forget('abbr', 'type')
    fields.forget_unset('batch_size', 'max_out_len')
    path, batch_size = fields.take('path', '', str), fields.take('batch_size')
    length = fields.take('max_out_len', None, int)
    gpus = fields.inner('run_cfg').take('num_gpus', None, int)
    parts = CLASSES[kind](fields, path, gpus)
    fields.done()
    path = parts.options.pop('path', path)
    last = last_part(path)
    name = _name(abbr, last)
    lines = _lines(abbr, parts.sampling)
    return TodaysModel(
        engine=parts.engine,
        info={
            'path': path,
            **({} if name == last else {'name': name}),
            **({'tp': parts.tp} if parts.tp or ENGINES[parts.engine].default_tp else {}),
            **({} if batch_size is None else {'batch_size': batch_size}),
            **parts.options,
        },
        lines=lines,
        max_out_len=length,
        changed=tuple(_changes(kind, abbr, parts, lines)),
    )


def _name(abbr: str, last: str) -> str:
    """Return a label without its settings; what of it is the end of the path is no setting.

    >>> _name('flan_t5_t1.0_l100', 'flan_t5'), _name('mine_t1.0_l100', 'flan_t5')
    ('flan_t5', 'mine')
    """
    kept = last if abbr.startswith(last) else ''
    return kept + _SETTINGS.sub('', abbr[len(kept) :], count=1) or abbr


def class_name(kind: Any) -> str:
    """Return the name of a class of OpenCompass, of another package its dotted path.

    >>> class_name('opencompass.models.OpenAISDK'), class_name('mine.OpenAISDK')
    ('OpenAISDK', 'mine.OpenAISDK')
    """
    text = str(plain(kind, 'type'))
    return text.rpartition('.')[2] if text.startswith('opencompass.') else text


def _changes(kind: str, abbr: str, parts: _Parts, lines: Mapping[str, Any]) -> list[str]:
    wrapper = ENGINES[parts.engine].type.rpartition('.')[2]
    found = [f'{wrapper} in place of {kind}', *parts.changed]
    seed = parts.sampling.get('random_seed')
    if lines.get('temperatures') == [0]:
        found.append('greedy, so one answer a question is asked for, not n equal ones')
    elif seed is not None:
        found.append(
            f'each sample has a seed of its own, derived from random_seed = {seed}; all had that one'
        )
    elif (default := ENGINES[parts.engine].default_seed) is not None:
        found.append(f'each sample has a seed of its own, derived from random_seed = {default}; it had none')
    if 'temperatures' not in lines and _LABELLED_TEMPERATURE.search(abbr):
        found.append('the label told a temperature that is not passed to the model; the new one does not')
    return found


def _lines(abbr: str, sampling: Mapping[str, Any]) -> dict[str, Any]:
    lines = {_AXES[name]: [value] for name, value in sampling.items()}
    if sampling.get('temperature') != 0:
        return {**lines, **({'greedy': False} if 'temperatures' in lines else {})}
    if sampling.get('repetition_penalty', 1) != 1:
        raise TemplateError(f'{abbr} is greedy with a repetition penalty; greedy runs have none today')
    return {name: lines[name] for name in ('temperatures', 'max_out_lens') if name in lines}


def _turbomind(fields: Fields, path: str, gpus: int | None) -> _Parts:
    engine, gen = fields.inner('engine_config'), fields.inner('gen_config')
    fields.forget_unset('max_seq_len')
    parts = _Parts(fields.take('backend', 'turbomind'), engine.take('tp', gpus or 1))
    if parts.engine not in ('turbomind', 'pytorch'):
        raise TemplateError(f'backend is {parts.engine!r}; expected turbomind or pytorch')
    options = engine.rest()
    parts.options = {**fields.take_all('max_seq_len'), **({'engine_config': options} if options else {})}
    gen.forget('max_new_tokens')  # the class puts max_out_len in its place
    parts.sampling = _sampled_if_said(gen)
    gen.done(empty_is_none=False)
    return parts


def _vllm(fields: Fields, path: str, gpus: int | None) -> _Parts:
    engine, gen = fields.inner('model_kwargs'), fields.inner('generation_kwargs')
    gen.forget('do_sample')  # which the class drops
    gen.forget_unset('seed')
    fields.forget_unset('max_seq_len', 'chat_template_kwargs')
    parts = _Parts('vllm', engine.take('tensor_parallel_size', gpus or 1))
    options = engine.rest()
    parts.options = {
        **fields.take_all('max_seq_len', 'chat_template_kwargs'),
        **({'model_kwargs': options} if options else {}),
    }
    parts.sampling = {'temperature': 0.0, **_sampled(gen), **_renamed(gen.take('seed'))}
    gen.done(empty_is_none=False)
    return parts


def _huggingface(fields: Fields, path: str, gpus: int | None) -> _Parts:
    gen = fields.inner('generation_kwargs')
    fields.expect('tokenizer_path', path, None)
    fields.forget_unset('model_kwargs', 'tokenizer_kwargs', 'max_seq_len')
    parts = _Parts('huggingface', gpus or 0)
    parts.options = fields.take_all('model_kwargs', 'tokenizer_kwargs', 'max_seq_len')
    parts.sampling = _sampled_if_said(gen)
    gen.done(empty_is_none=False)
    return parts


def _openai(fields: Fields, path: str, gpus: int | None) -> _Parts:
    parts = _Parts('openai', gpus or 0)
    fields.forget_unset(
        'extra_body',
        'max_completion_tokens',
        'max_workers',
        'openai_api_base',
        'openai_extra_kwargs',
        'temperature',
        'tokenizer_path',
    )
    parts.options = fields.take_all(
        'openai_api_base',
        'query_per_second',
        'retry',
        'timeout',
        'max_workers',
        'max_seq_len',
        'tokenizer_path',
    )
    fields.forget('verbose', 'rpm_verbose')
    fields.expect('meta_template', API_ROLES, None, {})
    fields.expect('think_tag', '</think>')
    fields.expect('mode', 'none')
    reasoning = any(part in path for part in NO_TEMPERATURE)
    if (length := fields.take('max_completion_tokens')) is not None:
        means = 'dropped: it was never sent to a model of this name, max_out_len was'
        if reasoning:
            parts.sampling['max_out_len'] = length
            means = 'max_out_lens'
        parts.changed.append(f'max_completion_tokens, which OpenAISDK does not take any more, is {means}')
    _read_key(fields, parts)
    temperature = fields.take_all('temperature')
    if reasoning and temperature:
        parts.changed.append(
            'no temperature: OpenAISDK sends none to models with o1, o3, o4 or gpt-5 in the path'
        )
        temperature = {}
    arguments, body = fields.inner('openai_extra_kwargs'), fields.inner('extra_body')
    arguments.forget_unset('seed')
    body.forget_unset('seed')
    seed, of_body = arguments.take('seed'), body.take('seed')
    if None not in (seed, of_body):
        raise TemplateError('a seed stands in openai_extra_kwargs and in extra_body; a request has one')
    seed = of_body if seed is None else seed
    parts.sampling |= {**temperature, **arguments.take_all('top_p'), **_renamed(seed)}
    parts.sampling |= body.take_all('top_p', 'top_k', 'repetition_penalty')
    if more := {**arguments.rest(), **body.rest()}:  # all of them are fields of the request's body
        parts.options['extra_body'] = more
    return parts


def _lmdeploy_server(fields: Fields, path: str, gpus: int | None) -> _Parts:
    parts = _Parts('lmdeploy_server', gpus or 0)
    fields.expect('meta_template', API_ROLES, None, {})
    fields.forget('max_seq_len')  # which reaches no request
    fields.forget_unset('gen_config', 'model_name', 'temperature')
    parts.options = {
        'path': fields.take('model_name', path, str),
        'api_addr': fields.take('api_addr', 'http://0.0.0.0:23333', str),
        **fields.take_all('query_per_second', 'retry'),
    }
    gen = fields.inner('gen_config')
    gen.forget_unset('random_seed', 'seed')
    seed = gen.take('random_seed', gen.take('seed'))
    defaults = {'temperature': 1.0, 'top_p': 0.8, 'top_k': 50}  # of the class and its `generate`
    for name in fields.forget_unset('top_p', 'top_k'):  # the class sends none then
        del defaults[name]
    own = fields.take_all('temperature', 'top_p', 'top_k')
    parts.sampling = {**defaults, **own, **_sampled(gen), **_renamed(seed)}
    if more := gen.rest():
        parts.options['extra_body'] = more
    return parts


CLASSES: Mapping[str, Callable[[Fields, str, int | None], _Parts]] = {
    'TurboMindModelwithChatTemplate': _turbomind,
    'VLLMwithChatTemplate': _vllm,
    'HuggingFacewithChatTemplate': _huggingface,
    'OpenAISDK': _openai,
    'TurboMindAPIModel': _lmdeploy_server,
}
"""OpenCompass's model classes that have a seeded one here."""


def _sampled_if_said(fields: Fields) -> dict[str, Any]:
    """Return the sampling settings of a class that samples only with do_sample=True."""
    fields.forget_unset('do_sample', 'random_seed')
    if fields.take('do_sample'):
        return _sampled(fields)
    fields.forget_unset('temperature', 'top_p', 'top_k')  # which reach no greedy run
    return {**_sampled(fields), 'temperature': 0.0}


def _sampled(fields: Fields) -> dict[str, Any]:
    return fields.take_all('temperature', 'top_p', 'top_k', 'repetition_penalty', 'random_seed')


def _renamed(seed: int | None) -> dict[str, int]:
    return {} if seed is None else {'random_seed': seed}


def _read_key(fields: Fields, parts: _Parts) -> None:
    """Note which variable holds the key: none is written anywhere."""
    key = fields.take('key', 'ENV')
    if isinstance(key, str) and key in NO_KEYS:
        parts.options |= {} if key == 'ENV' else {'key': key}
        return
    if not isinstance(key, str) or not ENVIRONMENT_NAME.fullmatch(key):
        raise TemplateError('key is neither ENV nor EMPTY nor the name of an environment variable')
    base = parts.options.get('openai_api_base', '')
    try:
        host = urlsplit(base).hostname if isinstance(base, str) else ''
    except ValueError as error:
        raise TemplateError(f'openai_api_base is {base!r}, which is no address: {error}') from error
    variable = KEYS_OF_HOSTS.get(host or '') if _PLACEHOLDER.fullmatch(key) else key
    parts.options |= {'key_env': variable} if variable else {}
    parts.changed.append(
        f'key={key!r} was sent as it stands; the key comes from ${variable or "OPENAI_API_KEY"}'
    )
