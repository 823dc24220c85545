"""Names of runs: this module writes them and reads them back, for files, abbreviations and result folders.

    [MODEL]_t[TEMPERATURE]_p[TOP_P]_k[TOP_K]_rp[REPETITION_PENALTY]_rs[RANDOM_SEED]_l[MAX_OUT_LEN]
    @[BENCHMARK]-k[K_LIST]-r[REPLICATION].py

Left of the `@` is the model abbreviation of OpenCompass, right of it the data set abbreviation. A part is
there only for what was passed. The abbreviation has the model as it is called and numbers as they are
written, `Qwen2.5-7B_t0.3_l8192`; in a file name every `.` of it is a `-`, `Qwen2-5-7B_t0-3_l8192@….py`.
Both are read. Lists are joined by `_`. A benchmark is
`AIME2024` or another label of `question_sets`, or `LiveMathBench-v202412`; there the standard splits and
languages are not written, others are: `LiveMathBench-v202412-AMC_CCEE-en-k4-r3` (OpenCompass remembers the
size of a data set by its abbreviation alone, so other rows need another name).

A run that was made smaller for a trial is marked: `LiveMathBench-v202412-limit10-k4-r1` has the first 10
questions of `--limit 10`, `LiveMathBench-v202412-samples4-k4-r1` the n = 4 of `--samples 4`.

A model name of more than 96 bytes and a benchmark of more than 64 are written as their beginning, `~` and
8 hexadecimal digits that stand for the whole as file names have it. What they are cut to depends on nothing
else, so a model has one name in all its runs, and file, abbreviations and folders agree.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from ..errors import InputError
from ..question_sets import BENCHMARKS, LIVE_MATH_BENCH, STANDARD_LANGUAGES, STANDARD_SPLITS, QuestionSet
from .limits import limit_marks, sizes
from .tags import MODEL, parted, tagged

MAX_MODEL, MAX_LABEL = 96, 64
"""Bytes of a model's and of a benchmark's name above which they are cut. Names on the hub have at most 96."""

_CUT = r'~[0-9a-f]{8}'
"""What stands for the rest of a name that was cut; no other name has a `~`."""

_Name = TypeVar('_Name')

_WORDS = r'[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*'
_NO_MARK = r'(?!(?:limit|samples)[0-9]+(?:-|$))'
"""Splits and languages are not called as marks are, which may stand in their place."""

_ROWS = (
    rf'{LIVE_MATH_BENCH}-v(?P<version>\w+)'
    rf'(?:-{_NO_MARK}(?P<splits>{_WORDS})-{_NO_MARK}(?P<languages>{_WORDS}))?'
)
_DATASET = re.compile(
    rf'(?P<label>{_ROWS}|{LIVE_MATH_BENCH}-v[\w-]+{_CUT}|[A-Za-z0-9][\w+-]*?)'
    r'(?P<direct>-nocot)?(?:-limit(?P<limit>[1-9][0-9]{0,17}))?(?:-samples(?P<samples>[1-9][0-9]{0,17}))?'
    r'-k(?P<ks>[0-9]{1,18}(?:_[0-9]{1,18})*)-(?P<unit>[rn])(?P<count>[0-9]{1,18})',
    re.ASCII,
)


@dataclass(frozen=True)
class Settings:
    """What reaches the model beside the prompt; None: not passed, so not in the name.

    >>> Settings(8192, temperature=0.0).greedy
    True
    """

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


@dataclass(frozen=True)
class ModelName:
    """The left part of a name, OpenCompass's model abbreviation.

    A long `model` is cut when it is written (see above); read back, it is the cut one.

    >>> str(ModelName('deepseek-math-7b-rl', Settings(8192, 0.3, top_k=50, random_seed=42)))
    'deepseek-math-7b-rl_t0.3_k50_rs42_l8192'
    >>> ModelName.parse(str(ModelName(96 * 'a' + 'b', Settings(8192)))).model[80:]
    'aaaaaaa~4d70064f'

    Raises:
        InputError: the model name has characters that do not go into a name (see `clean`), or ends in
            what would be read back as a setting.
    """

    model: str
    settings: Settings

    def __post_init__(self) -> None:
        allowed = clean(self.model) == self.model or _is_cut(self.model, MAX_MODEL)
        match = MODEL.fullmatch(str(self))
        if not allowed or match is None or match['model'] != cut(self.model, MAX_MODEL):
            raise InputError(
                f'model name {self.model!r} cannot be told from the settings behind it in {str(self)!r}; '
                "give the model another one: name='…'"
            )

    def __str__(self) -> str:
        return cut(self.model, MAX_MODEL) + tagged(vars(self.settings))

    @classmethod
    def parse(cls, text: str) -> ModelName:
        """Read what `str` wrote, or what stands in a file name; else InputError.

        The latter does not tell a `.` in the name of the model from a `-`.

        >>> ModelName.parse('Qwen2.5-7B_t0.3_l9').model, ModelName.parse('Qwen2-5-7B_t0-3_l9').model
        ('Qwen2.5-7B', 'Qwen2-5-7B')
        """
        model, values = parted(text)
        if not values:
            raise InputError(f'{text!r} is not [MODEL]_t…_p…_k…_rp…_rs…_l[MAX_OUT_LEN]')
        name = cls(model, Settings(**values))  # type: ignore[arg-type]
        return name if in_file_name(str(name)) == text else _as_written(text, name)


@dataclass(frozen=True)
class LiveMathBenchName:
    """LiveMathBench's label: which of its questions a data set has.

    >>> str(LiveMathBenchName('202412')), str(LiveMathBenchName('202412', ('hard',)))
    ('LiveMathBench-v202412', 'LiveMathBench-v202412-hard-cn_en')

    Raises:
        InputError: words that cannot stand in a name.
    """

    version: str
    splits: tuple[str, ...] = STANDARD_SPLITS
    languages: tuple[str, ...] = STANDARD_LANGUAGES

    def __post_init__(self) -> None:
        if _rows(str(self)) != (self.version, self.splits, self.languages):
            raise InputError(
                f'version {self.version!r}, splits {list(self.splits)}, languages {list(self.languages)} do '
                'not go into a name: write each with letters and digits only (a version may have "_")'
            )

    def __str__(self) -> str:
        standard = (self.splits, self.languages) == (STANDARD_SPLITS, STANDARD_LANGUAGES)
        rows = '' if standard else f'-{"_".join(self.splits)}-{"_".join(self.languages)}'
        return f'{LIVE_MATH_BENCH}-v{self.version}{rows}'

    @classmethod
    def parse(cls, text: str) -> LiveMathBenchName:
        """Read what `str` wrote; InputError for anything else, and for a label that was cut."""
        rows = _rows(text)
        if rows is None:
            raise InputError(
                f'{text!r} is not LiveMathBench-v[VERSION] or LiveMathBench-v…-[SPLITS]-[LANGUAGES]'
            )
        return _as_written(text, cls(*rows))


@dataclass(frozen=True)
class DatasetName:
    """The right part of a name, OpenCompass's data set abbreviation.

    A long `label` is cut when it is written (see above); read back, it is the cut one.

    >>> str(DatasetName('LiveMathBench-v202412', (4, 8, 16), n=48))
    'LiveMathBench-v202412-k4_8_16-r3'
    >>> str(DatasetName('MATH500-L5', (4, 8, 16), n=50, cot=False))
    'MATH500-L5-nocot-k4_8_16-n50'
    >>> str(DatasetName('AIME2024', (4,), n=4, limit=10, samples=True))
    'AIME2024-limit10-samples4-k4-r1'

    Args:
        limit: how many of the questions were asked for with `--limit`; None: all are.
        samples: whether n is what `--samples` says.

    Raises:
        InputError: a k that is not in 1 … n, a limit below 1, or a label that is no benchmark's.
    """

    label: str
    ks: tuple[int, ...]
    n: int
    cot: bool = True
    limit: int | None = None
    samples: bool = False

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise InputError(f'limit = {self.limit}: expected at least 1 question')
        if not self.ks or not 1 <= min(self.ks) <= max(self.ks) <= self.n:
            raise InputError(f'k = {list(self.ks)} of n = {self.n} samples: every k must be in 1 … n')
        fields = {**vars(self), 'label': cut(self.label, MAX_LABEL)}
        if _dataset_fields(str(self)) != fields or not _is_label(self.label):
            raise InputError(
                f'{self.label!r} is no benchmark: expected LiveMathBench-v[VERSION] or one of '
                f'{", ".join(BENCHMARKS)}, in upper or lower case as the benchmark writes it'
            )

    def __str__(self) -> str:
        direct = '' if self.cot else '-nocot'
        marks = limit_marks(self.limit, self.n if self.samples else None)
        return f'{cut(self.label, MAX_LABEL)}{direct}{marks}-{sizes(self.ks, self.n)}'

    @classmethod
    def parse(cls, text: str) -> DatasetName:
        """Read what `str` wrote; InputError for anything else."""
        fields = _dataset_fields(text)
        if fields is None:
            raise InputError(f'{text!r} is not [BENCHMARK]-k[K_LIST]-r[REPLICATION]')
        return _as_written(text, cls(**fields))


@dataclass(frozen=True)
class RunName:
    """Both parts: the name of a config file.

    >>> name = 'deepseek-math-7b-rl_t0-3_p0-8_k50_rp1-0_rs42_l8192@LiveMathBench-v202412-k4_8_16-r3.py'
    >>> run = RunName.parse(name)
    >>> run.model.settings.temperature, run.dataset.n, str(run) == name
    (0.3, 48, True)
    >>> print(run.model)
    deepseek-math-7b-rl_t0.3_p0.8_k50_rp1.0_rs42_l8192
    """

    model: ModelName
    dataset: DatasetName

    def __str__(self) -> str:
        return f'{in_file_name(str(self.model))}@{self.dataset}.py'

    @classmethod
    def parse(cls, text: str) -> RunName:
        """Read a file name (with or without `.py`); InputError for anything else.

        It has no `.` of the model's name any more: `Qwen2-5-7B`.
        """
        left, at, right = text.removesuffix('.py').partition('@')
        if not at:
            raise InputError(f'{text!r} is not [MODEL ABBREVIATION]@[DATASET ABBREVIATION].py: it has no @')
        return _as_written(f'{left}@{right}.py', cls(ModelName.parse(left), DatasetName.parse(right)))


def clean(model: str) -> str:
    """Return a model's name as it goes into names: all but letters, digits, `_`, `+`, `-`, `.` become `-`.

    A `.` at the beginning does, too: it would hide the folder of the results.

    >>> clean('Qwen2.5-7B-Instruct'), clean('.llama3:8b')
    ('Qwen2.5-7B-Instruct', '-llama3-8b')
    """
    return re.sub(r'[^\w.+-]|^\.', '-', model)


def in_file_name(abbr: str) -> str:
    """Return a model's name or abbreviation as it stands in file names.

    >>> in_file_name('Qwen2.5-7B_t0.3_l8192')
    'Qwen2-5-7B_t0-3_l8192'
    """
    return abbr.replace('.', '-')


def last_part(path: str) -> str:
    """Return what a model is called, of its path or its name on the hub.

    >>> last_part('Qwen/Qwen2.5-7B-Instruct'), last_part('/models/checkpoint-1200/')
    ('Qwen2.5-7B-Instruct', 'checkpoint-1200')
    """
    return path.rstrip('/').rpartition('/')[2]


def _as_written(text: str, name: _Name) -> _Name:
    """Return the name that was read, if `str` writes it so: one run has one name."""
    if str(name) != text:
        raise InputError(f'{text!r} is not how this name is written: {str(name)!r} is')
    return name


def _rows(label: str) -> tuple[str, tuple[str, ...], tuple[str, ...]] | None:
    """Return version, splits and languages of a LiveMathBench label."""
    match = re.fullmatch(_ROWS, label, re.ASCII)
    if match is None:
        return None
    splits = tuple(match['splits'].split('_')) if match['splits'] else STANDARD_SPLITS
    languages = tuple(match['languages'].split('_')) if match['languages'] else STANDARD_LANGUAGES
    return match['version'], splits, languages


@lru_cache
def _is_label(label: str) -> bool:
    rows = _rows(label)
    if rows is not None:
        return str(LiveMathBenchName(*rows)) == label
    if label.lower() not in BENCHMARKS:
        return _is_cut(label, MAX_LABEL)
    questions = BENCHMARKS[label.lower()]
    return isinstance(questions, QuestionSet) and questions.label == label


def _dataset_fields(text: str) -> dict[str, Any] | None:
    match = _DATASET.fullmatch(text)
    if match is None or not _is_label(match['label']):
        return None
    ks = tuple(map(int, match['ks'].split('_')))
    count = int(match['count'])
    n = count * max(ks) if match['unit'] == 'r' else count
    return {
        'label': match['label'],
        'ks': ks,
        'n': n,
        'cot': match['direct'] is None,
        'limit': None if match['limit'] is None else int(match['limit']),
        'samples': match['samples'] is not None,
    }


def cut(name: str, limit: int) -> str:
    """Return the name, or if it has more bytes than the limit, its beginning, `~` and a hash of all of it.

    >>> cut('short', 12), cut('much-too-long', 12)
    ('short', 'muc~1c7b00c4')
    """
    data = name.encode()
    if len(data) <= limit:
        return name
    digest = hashlib.sha256(in_file_name(name).encode()).hexdigest()[:8]
    return f'{data[: limit - 9].decode(errors="ignore")}~{digest}'


def _is_cut(name: str, limit: int) -> bool:
    """Return whether `cut` may have written it; a character that was split misses up to three bytes."""
    whole = re.fullmatch(rf'[\w.+-]+{_CUT}', name)
    return whole is not None and limit - 3 <= len(name.encode()) <= limit
