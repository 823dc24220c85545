"""Names of runs: this module writes them and reads them back, for files, abbreviations and result folders.

    [MODEL]_t[TEMPERATURE]_p[TOP_P]_k[TOP_K]_rp[REPETITION_PENALTY]_rs[RANDOM_SEED]_l[MAX_OUT_LEN]
    @[BENCHMARK]-k[K_LIST]-r[REPLICATION].py

Left of the `@` is the model abbreviation of OpenCompass, right of it the data set abbreviation. A part is
there only for what was passed. In abbreviations numbers are written with a point, `Qwen2.5-7B_t0.3_l8192`; in
a file name every `.` is a `-`, `Qwen2-5-7B_t0-3_l8192@….py`. Both are read. Lists are joined by `_`. A
benchmark is `AIME2024` or another label, or `LiveMathBench-v202412`, where the standard splits and languages
are not written; others are: `LiveMathBench-v202412-AMC_CCEE-en-k4-r3` (OpenCompass remembers the size of a
data set by its abbreviation alone). A trial on 10 questions is `LiveMathBench-v202412-limit10-k4-r1`.

A model name of more than 96 bytes and a benchmark of more than 64 are written as their beginning, `~` and 8
hexadecimal digits that stand for the whole, so a model has one name in all its runs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeVar

from ..benchmarks import LIVE_MATH_BENCH, STANDARD_LANGUAGES, STANDARD_SPLITS
from ..errors import InputError

MAX_MODEL, MAX_LABEL = 96, 64
"""Bytes of a model's and of a benchmark's name above which they are cut. Names on the hub have at most 96."""
MAX_FILE_NAME = 255
"""Bytes that usual file systems allow for one name."""
AROUND_DATASET = len('_99999.json.20260101_000000.aside')
"""Bytes that the names of a run's own files have at most beside the data set abbreviation."""

_Name = TypeVar('_Name')
_FLOAT, _INT = r'[0-9]+(?:[.-][0-9]+)?', r'[0-9]{1,40}'
_TAGS = {
    'temperature': ('t', _FLOAT),
    'top_p': ('p', _FLOAT),
    'top_k': ('k', _INT),
    'repetition_penalty': ('rp', _FLOAT),
    'random_seed': ('rs', _INT),
    'max_out_len': ('l', _INT),
}
"""Fields of Settings in the order of the name: the tag and what follows it."""
_MODEL = re.compile(
    '(?P<model>.+?)' + ''.join(f'(?:_{tag}(?P<{field}>{value}))?' for field, (tag, value) in _TAGS.items())
)
_CUT = r'~[0-9a-f]{8}'
"""What stands for the rest of a name that was cut; no other name has a `~`."""
_WORDS = r'(?!limit[0-9]+(?:-|$))[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*'
"""Splits and languages are not called as the mark of a trial is, which may stand in their place."""
_ROWS = rf'{LIVE_MATH_BENCH}-v\w+(?:-{_WORDS}-{_WORDS})?'
_STANDARD = f'-{"_".join(STANDARD_SPLITS)}-{"_".join(STANDARD_LANGUAGES)}'
_LABEL = re.compile(
    rf'(?!{LIVE_MATH_BENCH})(?!.*-(?:nocot|limit[0-9]+)$)(?!.*-k[0-9_]+-[rn][0-9]+$)'
    r'[A-Za-z0-9][A-Za-z0-9_+-]{0,63}'
)
_DATASET = re.compile(
    rf'(?P<label>{_ROWS}|{LIVE_MATH_BENCH}-v[\w-]+{_CUT}|[A-Za-z0-9][\w+-]*?)'
    r'(?P<direct>-nocot)?(?:-limit(?P<limit>[1-9][0-9]{0,17}))?'
    r'-k(?P<ks>[0-9]{1,18}(?:_[0-9]{1,18})*)-(?P<unit>[rn])(?P<count>[0-9]{1,18})',
    re.ASCII,
)


@dataclass(frozen=True)
class Settings:
    """What reaches the model beside the prompt; None: not passed, so not in the name."""

    max_out_len: int
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None
    random_seed: int | None = None

    @property
    def greedy(self) -> bool:
        """Return whether the temperature is 0: one answer, no sampling."""
        return self.temperature == 0

    def passed(self, *fields: str) -> dict[str, Any]:
        """Return those of the fields that are given, of all without names."""
        return {name: value for name in fields or vars(self) if (value := getattr(self, name)) is not None}

    def __str__(self) -> str:
        """Write numbers without exponent: 0.3, 1 as 1.0, 1e-05 as 0.00001, 0 as 0.

        >>> str(Settings(8192, 0.3, top_k=50))
        '_t0.3_k50_l8192'
        """
        parts = []
        for field, value in self.passed(*_TAGS).items():
            tag, pattern = _TAGS[field]
            whole = pattern is _INT or value == 0
            text = str(int(value)) if whole else format(Decimal(repr(float(value))), 'f')
            parts.append(f'_{tag}{text}' if whole or '.' in text else f'_{tag}{text}.0')
        return ''.join(parts)


@dataclass(frozen=True)
class ModelName:
    """The left part of a name, OpenCompass's model abbreviation; a long `model` is cut when it is written.

    >>> str(ModelName('deepseek-math-7b-rl', Settings(8192, 0.3, top_k=50, random_seed=42)))
    'deepseek-math-7b-rl_t0.3_k50_rs42_l8192'
    """

    model: str
    settings: Settings

    def __post_init__(self) -> None:
        allowed = clean(self.model) == self.model or _is_cut(self.model, MAX_MODEL)
        if not allowed or model_and_settings(str(self))[0] != _cut(self.model, MAX_MODEL):
            raise InputError(
                f'model name {self.model!r} cannot be told from the settings behind it in {str(self)!r}; '
                "give the model another one: name='…'"
            )

    def __str__(self) -> str:
        return f'{_cut(self.model, MAX_MODEL)}{self.settings}'

    @classmethod
    def parse(cls, text: str) -> ModelName:
        """Read what `str` wrote, or what stands in a file name; else InputError.

        >>> ModelName.parse('Qwen2.5-7B_t0.3_l9').model, ModelName.parse('Qwen2-5-7B_t0-3_l9').model
        ('Qwen2.5-7B', 'Qwen2-5-7B')
        """
        model, values = model_and_settings(text)
        if not values:
            raise InputError(f'{text!r} is not [MODEL]_t…_p…_k…_rp…_rs…_l[MAX_OUT_LEN]')
        name = cls(model, Settings(**values))  # type: ignore[arg-type]
        return name if in_file_name(str(name)) == text else _as_written(text, name)


def model_and_settings(abbr: str) -> tuple[str, dict[str, int | float]]:
    """Return the model and the settings that a name tells, whoever wrote it and whatever the model is called.

    >>> model_and_settings('my model (v2)_t0.0_l64'), model_and_settings('gpt-4o')
    (('my model (v2)', {'temperature': 0.0, 'max_out_len': 64}), ('gpt-4o', {}))
    """
    match = _MODEL.fullmatch(abbr)
    if match is None or match['max_out_len'] is None:
        return abbr, {}
    told = {field: text for field in _TAGS if (text := match[field]) is not None}
    return match['model'], {
        field: int(text) if _TAGS[field][1] is _INT else float(text.replace('-', '.'))
        for field, text in told.items()
    }


@dataclass(frozen=True)
class DatasetName:
    """The right part of a name, OpenCompass's data set abbreviation; a long `label` is cut when written.

    >>> str(DatasetName('LiveMathBench-v202412', (4, 8, 16), n=48))
    'LiveMathBench-v202412-k4_8_16-r3'
    >>> str(DatasetName('AIME2024', (4,), n=50, cot=False, limit=10))
    'AIME2024-nocot-limit10-k4-n50'
    """

    label: str
    ks: tuple[int, ...]
    n: int
    cot: bool = True
    limit: int | None = None

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise InputError(f'limit = {self.limit}: expected at least 1 question')
        if not self.ks or not 1 <= min(self.ks) <= max(self.ks) <= self.n:
            raise InputError(f'k = {list(self.ks)} of n = {self.n} samples: every k must be in 1 … n')
        written = {**vars(self), 'label': _cut(self.label, MAX_LABEL)}
        if not _is_label(self.label) or _dataset_fields(str(self)) != written:
            raise InputError(
                f'{self.label!r} cannot be the name of a benchmark: expected LiveMathBench-v[VERSION], or at '
                'most 64 letters, digits, "_", "+" and "-" that do not end like the rest of a name (-nocot, '
                '-limit10, -k4-r3)'
            )

    def __str__(self) -> str:
        replication, rest = divmod(self.n, max(self.ks))
        sizes = f'-k{"_".join(map(str, self.ks))}-{f"n{self.n}" if rest else f"r{replication}"}'
        direct = '' if self.cot else '-nocot'
        return f'{_cut(self.label, MAX_LABEL)}{direct}{limit_mark(self.limit)}{sizes}'

    @classmethod
    def parse(cls, text: str) -> DatasetName:
        """Read what `str` wrote; InputError for anything else."""
        if (fields := _dataset_fields(text)) is None:
            raise InputError(f'{text!r} is not [BENCHMARK]-k[K_LIST]-r[REPLICATION]')
        return _as_written(text, cls(**fields))


def _dataset_fields(text: str) -> dict[str, Any] | None:
    match = _DATASET.fullmatch(text)
    if match is None or not _is_label(match['label']):
        return None
    ks, count = tuple(map(int, match['ks'].split('_'))), int(match['count'])
    n = count * max(ks) if match['unit'] == 'r' else count
    limit = match['limit'] and int(match['limit'])
    return {'label': match['label'], 'ks': ks, 'n': n, 'cot': match['direct'] is None, 'limit': limit}


@lru_cache
def _is_label(label: str) -> bool:
    standard = re.fullmatch(_ROWS, label, re.ASCII) and not label.endswith(_STANDARD)
    return bool(standard or _LABEL.fullmatch(label) or _is_cut(label, MAX_LABEL))


@dataclass(frozen=True)
class RunName:
    """Both parts: the name of a config file.

    >>> name = 'deepseek-math-7b-rl_t0-3_p0-8_k50_rp1-0_rs42_l8192@LiveMathBench-v202412-k4_8_16-r3.py'
    >>> run = RunName.parse(name)
    >>> run.model.settings.temperature, run.dataset.n, str(run) == name
    (0.3, 48, True)
    """

    model: ModelName
    dataset: DatasetName

    def __str__(self) -> str:
        return f'{in_file_name(str(self.model))}@{self.dataset}.py'

    @classmethod
    def parse(cls, text: str) -> RunName:
        """Read a file name (with or without `.py`), in which a `.` of the model is a `-`; else InputError."""
        left, at, right = text.removesuffix('.py').partition('@')
        if not at:
            raise InputError(f'{text!r} is not [MODEL ABBREVIATION]@[DATASET ABBREVIATION].py: it has no @')
        return _as_written(f'{left}@{right}.py', cls(ModelName.parse(left), DatasetName.parse(right)))


def _as_written(text: str, name: _Name) -> _Name:
    """Return the name that was read, if `str` writes it so: one run has one name."""
    if str(name) != text:
        raise InputError(f'{text!r} is not how this name is written: {str(name)!r} is')
    return name


def _cut(name: str, limit: int) -> str:
    """Return the name, or if it has more bytes than the limit, its beginning, `~` and a hash of all of it."""
    data = name.encode()
    if len(data) <= limit:
        return name
    whole = hashlib.sha256(in_file_name(name).encode()).hexdigest()[:8]
    return f'{data[: limit - 9].decode(errors="ignore")}~{whole}'


def _is_cut(name: str, limit: int) -> bool:
    """Return whether `_cut` may have written it; a character that was split misses up to three bytes."""
    return bool(re.fullmatch(rf'[\w.+-]+{_CUT}', name)) and limit - 3 <= len(name.encode()) <= limit


# Parts of any name, whoever wrote it


def limit_mark(limit: int | None) -> str:
    """Return what marks a trial in any name: '-limit10' for 10 questions; '' for a whole run."""
    return '' if limit is None else f'-limit{limit}'


def without_sizes(abbr: str) -> str:
    """Return any data set abbreviation without k and n: 'mine-limit10' of 'mine-limit10-k4-r1'."""
    return re.sub(r'-k[0-9]+(?:_[0-9]+)*-[rn][0-9]+$', '', abbr)


def limit_in(abbr: str) -> int | None:
    """Return of how many questions any data set abbreviation says that it is a trial, or None."""
    found = re.search(r'-limit([1-9][0-9]*)$', without_sizes(abbr))
    return int(found[1]) if found else None


def clean(model: str) -> str:
    """Return a model's name with `-` for all but letters, digits, `_`, `+`, `-` and dots within it.

    >>> clean('Qwen2.5-7B-Instruct'), clean('.llama3:8b')  # a dot in front would hide the folder of results
    ('Qwen2.5-7B-Instruct', '-llama3-8b')
    """
    return re.sub(r'[^\w.+-]|^\.', '-', model)


def in_file_name(abbr: str) -> str:
    """Return a model's name or abbreviation as it stands in file names: a `.` is a `-`."""
    return abbr.replace('.', '-')


def last_part(path: str) -> str:
    """Return what a model is called, of its path or its name on the hub.

    >>> last_part('Qwen/Qwen2.5-7B-Instruct'), last_part('/models/checkpoint-1200/')
    ('Qwen2.5-7B-Instruct', 'checkpoint-1200')
    """
    return path.rstrip('/').rpartition('/')[2]


def check_file_name(name: str) -> str:
    """Return the name; raise InputError if a file or a folder of OpenCompass cannot be called so."""
    dataset = name.removesuffix('.py').rpartition('@')[2]
    for what, text, most in (
        ('it', name, MAX_FILE_NAME),
        ('the data set', dataset, MAX_FILE_NAME - AROUND_DATASET),
    ):
        if '/' in text or '\0' in text or len(text.encode()) > most:
            raise InputError(
                f'{name!r} cannot be a file name: {what} has {len(text.encode())} bytes, of which '
                f'OpenCompass can write {most}, and none may be "/"; give the model a shorter name=…, or '
                'leave out some k'
            )
    return name


_NESTED = ('generation_kwargs', 'gen_config', 'openai_extra_kwargs', 'extra_body')
"""Fields of a model's config in which engines have settings of the sampling."""
_CALLED = {'max_out_len': ('max_tokens', 'max_gen_toks', 'max_new_tokens'), 'random_seed': ('seed',)}
"""Setting → what other programs call it."""


def sampling_in(told: Mapping[str, Any]) -> dict[str, int | float]:
    """Return the settings of the sampling that a model's config, or another program's file, tells.

    Greedy decoding is temperature 0, however an engine calls it: `do_sample` is False, or `top_k` is 1.

    >>> sampling_in({'max_out_len': 64, 'generation_kwargs': {'do_sample': False}})
    {'max_out_len': 64, 'temperature': 0.0}
    """
    for part in _NESTED:
        told = {**told, **nested} if isinstance(nested := told.get(part), Mapping) else told
    found: dict[str, int | float] = {}
    for name in Settings.__dataclass_fields__:
        whole = _TAGS[name][1] is _INT
        for value in (told.get(called) for called in (name, *_CALLED.get(name, ()))):
            if type(value) in (int, float) and abs(value) < 1e15 and (not whole or float(value).is_integer()):  # type: ignore[arg-type]
                found[name] = int(value) if whole else float(value)  # type: ignore[arg-type]
                break
    if told.get('do_sample') is False or found.get('top_k') == 1 or found.get('temperature') == 0:
        # The likeliest token is taken, whatever it is chosen from.
        found = {name: value for name, value in found.items() if name not in ('top_p', 'top_k')}
        found['temperature'] = 0.0
    return found
