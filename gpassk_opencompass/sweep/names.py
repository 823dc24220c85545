"""Names of runs: this module writes them and reads them, for files, abbreviations and result folders.

    [MODEL]_t[TEMPERATURE]_p[TOP_P]_k[TOP_K]_rp[REPETITION_PENALTY]_rs[RANDOM_SEED]_l[MAX_OUT_LEN]
    @[BENCHMARK]-k[K_LIST]-r[REPLICATION].py

Left of the `@` is the model abbreviation of OpenCompass, right of it that of the data set; a part is there
for what was passed. In abbreviations numbers have a point, `Qwen2.5-7B_t0.3_l8192`; in a file name every `.`
is a `-`, `Qwen2-5-7B_t0-3_l8192@….py`. A benchmark is a label such as `AIME2024`, or `LiveMathBench-v202412`,
with `-AMC_CCEE-en` behind it where splits and languages are not the standard ones.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ..benchmarks import LIVE_MATH_BENCH, STANDARD_LANGUAGES, STANDARD_SPLITS
from ..errors import InputError
from ..files import mapping

MAX_MODEL, MAX_LABEL = 96, 64
"""Bytes of a model's (the hub's longest) and of a benchmark's name above which they are cut, see `_cut`."""
MAX_FILE_NAME = 255
"""Bytes that usual file systems allow for one name."""
AROUND_DATASET = len('_99999.json.20260101_000000.aside')
"""Bytes that the names of a run's own files have at most beside the data set abbreviation."""

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
_WORDS = r'(?!limit[0-9]+(?:-|$))[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*'
"""Splits and languages are not called as the mark of a trial is, which may stand in their place."""
_STANDARD = f'-{"_".join(STANDARD_SPLITS)}-{"_".join(STANDARD_LANGUAGES)}'
_ROWS = rf'{LIVE_MATH_BENCH}-v(?:\w+(?:-{_WORDS}-{_WORDS})?(?<!{_STANDARD})|[\w-]+~[0-9a-f]{{8}})'
"""A part of LiveMathBench, whose name may have been cut; no other name has a `~`."""
_DATASET = re.compile(
    rf'(?P<label>{_ROWS}|(?!{LIVE_MATH_BENCH})[A-Za-z0-9][A-Za-z0-9_+-]{{0,63}}?)'
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
        """Write numbers without exponent: 0.3, 1 as 1.0, 1e-05 as 0.00001, 0 as 0."""
        parts = []
        for field, value in self.passed(*_TAGS).items():
            tag, pattern = _TAGS[field]
            whole = pattern is _INT or value == 0
            text = str(int(value)) if whole else format(Decimal(repr(float(value))), 'f')
            parts.append(f'_{tag}{text}' if whole or '.' in text else f'_{tag}{text}.0')
        return ''.join(parts)


@dataclass(frozen=True)
class ModelName:
    """The left part of a name, OpenCompass's model abbreviation; a long `model` is cut when it is written."""

    model: str
    settings: Settings

    def __post_init__(self) -> None:
        if clean(self.model) != self.model or model_and_settings(str(self))[0] != _cut(self.model, MAX_MODEL):
            raise InputError(
                f'model name {self.model!r} cannot be told from the settings behind it in {str(self)!r}; '
                "give the model another one: name='…'"
            )

    def __str__(self) -> str:
        return f'{_cut(self.model, MAX_MODEL)}{self.settings}'


def model_and_settings(abbr: str) -> tuple[str, dict[str, int | float]]:
    """Return the model and the settings that a name tells, whoever wrote it; with no length, no settings."""
    match = _MODEL.fullmatch(abbr)
    if match is None or match['max_out_len'] is None:
        return abbr, {}
    return match['model'], {
        field: int(text) if pattern is _INT else float(text.replace('-', '.'))
        for field, (_, pattern) in _TAGS.items()
        if (text := match[field]) is not None
    }


@dataclass(frozen=True)
class DatasetName:
    """The right part of a name, OpenCompass's data set abbreviation; a long `label` is cut when written.

    >>> str(DatasetName('LiveMathBench-v202412', (4, 8, 16), n=48))
    'LiveMathBench-v202412-k4_8_16-r3'
    >>> DatasetName.parse('AIME2024-nocot-limit10-k4-n50')
    DatasetName(label='AIME2024', ks=(4,), n=50, cot=False, limit=10)
    """

    label: str
    ks: tuple[int, ...]
    n: int
    cot: bool = True
    limit: int | None = None

    def __post_init__(self) -> None:
        if not self.ks or not 1 <= min(self.ks) <= max(self.ks) <= self.n:
            raise InputError(f'k = {list(self.ks)} of n = {self.n} samples: every k must be in 1 … n')
        if _fields(str(self)) != {**vars(self), 'label': _cut(self.label, MAX_LABEL)}:
            raise InputError(
                f'{self.label!r} cannot be the name of a benchmark: expected LiveMathBench-v[VERSION], or at '
                'most 64 letters, digits, "_", "+" and "-" that do not end in -nocot or -limit10'
            )

    def __str__(self) -> str:
        replication, rest = divmod(self.n, max(self.ks))
        marks = ('' if self.cot else '-nocot') + ('' if self.limit is None else f'-limit{self.limit}')
        size = f'n{self.n}' if rest else f'r{replication}'
        return f'{_cut(self.label, MAX_LABEL)}{marks}-k{"_".join(map(str, self.ks))}-{size}'

    @classmethod
    def parse(cls, text: str) -> DatasetName:
        """Read what `str` wrote; InputError for anything else."""
        fields = _fields(text)
        if fields is None or str(name := cls(**fields)) != text:
            raise InputError(f'{text!r} is not [BENCHMARK]-k[K_LIST]-r[REPLICATION]')
        return name


def _fields(text: str) -> dict[str, Any] | None:
    match = _DATASET.fullmatch(text)
    if match is None:
        return None
    ks, count = tuple(map(int, match['ks'].split('_'))), int(match['count'])
    n = count * max(ks) if match['unit'] == 'r' else count
    limit = match['limit'] and int(match['limit'])
    return {'label': match['label'], 'ks': ks, 'n': n, 'cot': match['direct'] is None, 'limit': limit}


def _cut(name: str, limit: int) -> str:
    """Return the name, or if it has more bytes than the limit, its beginning, `~` and a hash of all of it."""
    data = name.encode()
    if len(data) <= limit:
        return name
    whole = hashlib.sha256(in_file_name(name).encode()).hexdigest()[:8]
    return f'{data[: limit - 9].decode(errors="ignore")}~{whole}'


# Parts of any name, whoever wrote it


def without_sizes(abbr: str) -> str:
    """Return any data set abbreviation without k and n: 'mine-limit10' of 'mine-limit10-k4-r1'."""
    return re.sub(r'-k[0-9]+(?:_[0-9]+)*-[rn][0-9]+$', '', abbr)


def limit_in(abbr: str) -> int | None:
    """Return of how many questions any data set abbreviation says that it is a trial, or None."""
    found = re.search(r'-limit([1-9][0-9]*)$', without_sizes(abbr))
    return int(found[1]) if found else None


def clean(model: str) -> str:
    """Return a model's name with `-` for all but letters, digits, `_`, `+`, `-` and dots within it.

    A dot in front would hide the folder of results.
    """
    return re.sub(r'[^\w.+-]|^\.', '-', model)


def in_file_name(abbr: str) -> str:
    """Return a model's name or abbreviation as it stands in file names: a `.` is a `-`."""
    return abbr.replace('.', '-')


def last_part(path: str) -> str:
    """Return what a model is called: 'Qwen2.5-7B' of '/models/Qwen2.5-7B/' or 'Qwen/Qwen2.5-7B'."""
    return path.rstrip('/').rpartition('/')[2]


def file_name(model: str, dataset: str) -> str:
    """Return the name of the config of two abbreviations; InputError if no file can be called so."""
    name, most = f'{in_file_name(model)}@{dataset}.py', MAX_FILE_NAME - AROUND_DATASET
    too_long = len(name.encode()) > MAX_FILE_NAME or len(dataset.encode()) > most
    if too_long or re.search('[/\0]', name):
        raise InputError(
            f'{name!r} cannot be a file name: it may have {MAX_FILE_NAME} bytes, {most} behind the @, and no '
            '"/"; give the model a shorter name=…, or leave out some k'
        )
    return name


def sampling_in(told: Mapping[str, Any]) -> dict[str, int | float]:
    """Return the settings of the sampling that a model's config, or another program's file, tells.

    Greedy decoding is temperature 0, however an engine calls it: `do_sample` is False, or `top_k` is 1.

    >>> sampling_in({'max_out_len': 64, 'generation_kwargs': {'do_sample': False}})
    {'max_out_len': 64, 'temperature': 0.0}
    """
    for part in ('generation_kwargs', 'gen_config', 'openai_extra_kwargs', 'extra_body'):
        told = {**told, **mapping(told.get(part))}
    others = {'max_out_len': ('max_tokens', 'max_gen_toks', 'max_new_tokens'), 'random_seed': ('seed',)}
    found: dict[str, int | float] = {}
    for name in Settings.__dataclass_fields__:
        whole = _TAGS[name][1] is _INT
        for value in (told.get(called) for called in (name, *others.get(name, ()))):
            if type(value) in (int, float) and abs(value) < 1e15 and (not whole or value == int(value)):  # type: ignore[arg-type]
                found[name] = int(value) if whole else float(value)  # type: ignore[arg-type]
                break
    if told.get('do_sample') is False or found.get('top_k') == 1 or found.get('temperature') == 0:
        # The likeliest token is taken, whatever it is chosen from.
        found = {name: value for name, value in found.items() if name not in ('top_p', 'top_k')}
        found['temperature'] = 0.0
    return found
