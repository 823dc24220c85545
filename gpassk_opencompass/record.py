"""The result of one run: scores, what they rest on, and the pair of files that keeps it.

    <name>.json                     published keys, `details` for readers, and the block `gpassk`, a `Result`
    <name>.<hash>.samples.parquet   the samples, which the JSON names; without them only counts are known

`python -m gpassk_opencompass.record` prints the JSON Schema of a file.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr, ValidationError, model_validator

from . import __version__
from .errors import ForeignFileError, InputError
from .files import SAMPLES, digest, keep_mode, listed, mapping, read_json, sample_files, write_file
from .health import Health, Part, Whole, unless_known
from .metrics import LARGEST_N, Metric, metric_table, value_table
from .samples import Counts, Integers, Samples
from .sweep.names import DatasetName, limit_in, model_and_settings, sampling_in, without_sizes
from .text import whole_characters

if TYPE_CHECKING:
    from .sweep.folder import Entry

SCHEMA = 3  # version of the layout; raised when a reader would have to change
SYMBOLS = {'correct': '1', 'incorrect': '0', 'unjudged': '?'}  # a character a sample in `details.verdicts`
DEEPEST = 100  # levels of lists and objects that a result may have
TOLERANCE = 1e-6  # points by which a score may differ from its counts: machines add in different orders

Floats = NDArray[np.float64]
Positive = Annotated[int, Field(ge=1)]
Size = Annotated[int, Field(ge=1, le=LARGEST_N)]
Count = Annotated[int, Field(ge=0, le=LARGEST_N)]
Share = Annotated[float, Field(ge=0, le=1)]
Bounds = Annotated[list[float], Field(min_length=2, max_length=2)]
Digest = Annotated[str, Field(pattern='^[0-9a-f]{64}$')]


class Names(Part):
    """What the run is called, and how it sampled."""

    model: str = Field(default='model', description='With its settings, as in the name of its config.')
    dataset: str = Field(default='samples', description='With its k and n.')
    host: str = Field(default='file', description='Who ran it: opencompass, lighteval, or file.')
    created: str = Field(default='', description='When, ISO 8601 in UTC.')
    path: str = Field(default='', description='Path or hub name of the model.')
    written_by: str = Field(default='', description='What wrote the samples, with its version.')
    settings: dict[str, Any] = Field(default={}, description='Of the sampling.')


class QuestionCounts(Part):
    """The questions, a column each: all that the scores are computed from."""

    uid: list[str] = Field(min_length=1, json_schema_extra={'uniqueItems': True})
    problem: list[str] = Field(description='What translations of one problem share.')
    group: list[Annotated[str, Field(min_length=1)]] = Field(description='{split}_{language}, or all')
    c: list[Count] = Field(description='Correct samples.')
    unjudged: list[Count] = Field(description='Samples without a verdict; they count as incorrect.')
    undecided: list[Count] | None = unless_known('Incorrect samples on which the judge gave up.')
    n: list[Size] | None = unless_known('Samples of each; only where they differ.')


class Data(Part):
    """What was asked."""

    questions: Positive
    sha256: Digest = Field(description='Of uids, questions and references.')
    sources: list[str] | None = unless_known('What the questions were read from.')


class SampleFile(Part):
    """The Parquet file in the same folder with a row a sample."""

    name: Annotated[str, Field(pattern=r'^[^/\\]+\.samples\.parquet$')]
    sha256: Digest
    rows: Positive


class CompletedScores(Part):
    """The scores over the samples that were not cut off, mostly of easier questions: no scores of the run."""

    samples: Whole = Field(description='How many were not cut off.')
    scores: dict[str, float] = Field(description='Over the questions with at least k such samples.')
    questions: dict[str, Whole] = Field(description='How many questions those are, for each metric.')


class Result(Part):
    """One run, a model with its settings on one benchmark: the block `gpassk` of its JSON file."""

    layout: Annotated[int, Field(alias='schema', ge=SCHEMA, le=SCHEMA)] = SCHEMA
    run: Names = Names()
    n: Size = Field(description='Samples a question; the most, where they differ.')
    ks: Annotated[list[Size], Field(alias='k', min_length=1, json_schema_extra={'uniqueItems': True})]
    thresholds: list[Share]
    counts: QuestionCounts
    data: Data
    left_out: dict[str, list[str]] = Field(default={}, description='Questions not counted, by the reason.')
    limited: dict[str, Whole] = Field(default={}, description='Of a trial on some questions: limit, of.')
    bounds: dict[str, Bounds] = Field(default={}, description='Scores with all in doubt wrong, and right.')
    health: Health
    completed: CompletedScores | None = unless_known('Only where samples were cut off.')
    judge: dict[str, Any] = Field(description='Who judged: all that may change a verdict; and statistics.')
    provenance: dict[str, Any] = Field(default={}, description='Of OpenCompass: what samples are drawn with.')
    versions: dict[str, str] = Field(default={}, description='Of this package, of Python, and of the host.')
    signature: str = Field(default='', description='How the scores came about, in a line.')
    remarks: list[str] = Field(default=[], description='What a reader should know of the samples.')
    sample_file: SampleFile | None = None

    _path: Path = PrivateAttr(default=Path())
    _samples: Samples | None = PrivateAttr(default=None)
    _manifest: Entry | None = PrivateAttr(default=None)  # of the sweep, on the model

    @model_validator(mode='after')
    def _count(self) -> Result:
        """Refuse counts that contradict each other, or what is told of them; take the bounds from them."""
        counts, health, size = self.counts, self.health, len(self.counts.uid)
        for name in QuestionCounts.model_fields:
            if (column := getattr(counts, name)) is not None and len(column) != size:
                raise ValueError(f'gpassk.counts.{name} has {len(column)} entries; expected {size}')
        table = self.table
        (uid, times), *_ = Counter([*counts.uid, *chain(*self.left_out.values())]).most_common(1)
        row = int((table.c + table.doubt - table.n).argmax())
        right, n = int(table.c[row] + table.doubt[row]), int(table.n[row])
        for name, told, expected in (
            ('n', self.n, int(table.n.max())),
            ('k', self.ks, sorted({min(k, self.n) for k in self.ks})),
            ('data.questions', self.data.questions, size),
            ('health.samples', health.samples, int(table.n.sum())),
            ('health.unjudged', health.unjudged, sum(counts.unjudged)),
            ('health.undecided', health.undecided, sum(counts.undecided or [health.undecided])),
            (f'counts: c and in doubt of {counts.uid[row]!r:.60}', right, min(right, n)),
            (f'counts and left_out: the number of {uid!r:.60}', times, 1),
        ):
            if told != expected:
                raise ValueError(f'gpassk.{name} is {told}; expected {expected}')
        self.bounds = bounds(table, self.ks, self.thresholds)
        return self

    # What it is called.

    @property
    def path(self) -> Path:
        """Return the JSON file; `Path()` of a result that is not written yet."""
        return self._path

    @property
    def model(self) -> str:
        """Return the model's name without its settings."""
        return self._manifest.model if self._manifest else model_and_settings(self.run.model)[0]

    @property
    def model_path(self) -> str:
        """Return the model's path or name on the hub, as far as manifest or record tell it; else ''."""
        told = self._manifest.path if self._manifest else mapping(self.provenance.get('model')).get('path')
        return str(told or self.run.path)

    @cached_property
    def sampling(self) -> Mapping[str, int | float]:
        """Return how the model sampled: the manifest says it, else the record, else the name."""
        told = sampling_in(self.run.settings) | sampling_in(mapping(self.provenance.get('model')))
        named = model_and_settings(self.run.model)[1]
        return {**named, **told, **(self._manifest.settings if self._manifest else {})}

    @property
    def greedy(self) -> bool:
        """Whether there is one answer a question, at a temperature that is known to be 0."""
        return self.n == 1 and self.sampling.get('temperature') == 0

    @cached_property
    def limits(self) -> Mapping[str, int]:
        """Return of how many questions a trial is, limit and of; {} of a whole run."""
        limit = limit_in(self.run.dataset)
        return {name: value for name, value in {'limit': limit or 0, **self.limited}.items() if value}

    @cached_property
    def benchmark(self) -> str:
        """Return the benchmark's name without k and n; which of its questions were asked, belongs to it."""
        limit = self.limits.get('limit')
        mark = f'-limit{limit}' if limit else ''
        try:
            label = DatasetName.parse(self.run.dataset).label
        except ValueError:  # somebody else's name
            label = without_sizes(self.run.dataset)
        return label if label.endswith(mark) else f'{label}{mark}'

    @property
    def engine(self) -> str:
        """Return the packages of the engine with their versions; of servers what they say of themselves."""
        versions = mapping(self.provenance.get('versions'))
        told = [f'{name} {number}' for name, number in sorted(versions.items())]
        for one in map(mapping, listed(self.provenance.get('servers'))):
            told.append(' '.join(str(one[name]) for name in ('engine', 'version') if one.get(name)))
        return ', '.join(dict.fromkeys(filter(None, told)))

    @cached_property
    def judge_digest(self) -> str:
        """Return a digest that is the same for runs with the same judge, in every setting of it."""
        return digest_of({key: value for key, value in self.judge.items() if key != 'statistics'})

    def sign(self) -> None:
        """Say in `signature` how the scores came about; runs with the same line may be compared."""
        k, tau = ('_'.join(map(str, several)) for several in (self.ks, self.thresholds))
        judge = '-'.join(str(self.judge[part]) for part in ('name', 'model') if part in self.judge)
        self.signature = (
            f'G-Pass@k|n:{self.n}|k:{k}|tau:{tau}|judge:{judge}|rules:{self.judge_digest[:12]}'
            f'|questions:{self.data.questions}|data:{self.data.sha256[:12]}|version:{__version__}'
        )

    # What it counts.

    @cached_property
    def table(self) -> Counts:
        """Return the counts of its questions."""
        counts, integers = self.counts, partial(np.array, dtype=np.int64)
        n, c, unjudged = map(integers, (counts.n or [self.n] * len(counts.uid), counts.c, counts.unjudged))
        undecided = None if counts.undecided is None else integers(counts.undecided)
        return Counts(counts.uid, counts.problem, counts.group, n, c, unjudged, undecided)

    def values(self, metric: Metric) -> Floats:
        """Return the metric of each question, from 0 to 1, for any k ≤ n and any τ; shape (Q,)."""
        return values(self.table.n, self.table.c, metric)

    def scores(self) -> dict[str, float]:
        """Return the percentages under the published keys, of a group under `<group>/<key>`."""
        table, names = self.table, np.array(self.table.group)
        parts = {f'{group}/': table.select(names == group) for group in dict.fromkeys(table.group)}
        return {
            f'{group}{key}': 100.0 * mean
            for group, part in {'': table, **parts}.items()
            for key, mean in means(part, self.ks, self.thresholds).items()
        }

    # Its samples.

    @cached_property
    def sample_path(self) -> Path | None:
        """Return the file of its samples; None, with a warning of one line, if it is not there as written."""
        if self.sample_file is None:
            return None
        path = self._path.with_name(self.sample_file.name)
        try:
            if file_digest(path) == self.sample_file.sha256:
                return path
            wrong = 'damaged'
        except OSError:
            wrong = 'missing or cannot be read'
        warn_once(f'{path} is {wrong}: single samples cannot be shown; the scores stand')
        return None

    def samples(
        self, columns: Sequence[str] | None = None, rows: tuple[int, int] | None = None
    ) -> Samples | None:
        """Return the samples in the order of the counts, as `Samples.read`; None where they are not known."""
        if self._samples is not None:
            return self._samples if rows is None else self._samples.select(range(*rows))
        return Samples.read(self.sample_path, columns, rows) if self.sample_path else None

    def with_samples(self, samples: Samples) -> Result:
        """Return the result with samples that `write` writes beside it: in the order of its questions."""
        questions = samples.by_question()
        counted = dict.fromkeys([*self.counts.uid, *questions])  # those that are left out come last
        self._samples = samples.select([row for uid in counted for row in questions[uid]])
        return self

    def as_json(self) -> dict[str, Any]:
        """Return the content of its file: scores, `details` for readers, and the block `gpassk`."""
        details: dict[str, Any] = {}
        if (samples := self._samples) is not None:
            each = list(samples.by_question().values())[: len(self.counts.uid)]
            for name in (one for one in ('question', 'reference') if one in samples):
                details[name] = [samples[name][rows[0]] or '' for rows in each]
            if 'answer' in samples:
                details['answers'] = [[samples['answer'][row] or '' for row in rows] for rows in each]
            symbols = [SYMBOLS.get(verdict, '?') for verdict in samples.each('verdict')]
            details['verdicts'] = [''.join(symbols[row] for row in rows) for rows in each]
        block = self.model_dump(by_alias=True, exclude_none=True)
        return dict(whole_characters({**self.scores(), 'details': details, 'gpassk': block}))


# The numbers


def values(n: Integers, c: Integers, metric: Metric) -> Floats:
    """Return a metric of each question with c of n ≥ k samples correct, from 0 to 1, shape (Q,)."""
    found = np.zeros(len(n))
    for size in np.unique(n).tolist():
        rows = n == size
        found[rows] = value_table(metric, size)[c[rows]]
    return found


_tables = lru_cache(maxsize=64)(metric_table)  # runs of one sweep have the same n, k and τ


def means(counts: Counts, ks: Sequence[int], thresholds: Sequence[float]) -> dict[str, float]:
    """Return the mean of each metric over the questions with at least k samples, from 0 to 1.

    With one sample a question there is the accuracy alone. mG-Pass@1 is left out: its published sum is empty,
    and its 0 would read like a result.
    """
    sizes = np.unique(counts.n).tolist()
    alike = len(sizes) == 1
    mean = float(counts.c.mean()) / sizes[0] if alike else math.fsum(counts.c / counts.n) / len(counts)
    terms: dict[str, list[float]] = {}
    questions: Counter[str] = Counter()
    for size in reversed(sizes if sizes != [1] else []):  # the largest has all metrics, in their order
        if own := [k for k in ks if k <= size]:
            weights = np.bincount(counts.c[counts.n == size], minlength=size + 1)
            for name, column in _tables(size, tuple(own), tuple(thresholds)).items():
                terms.setdefault(name, []).extend((weights * column).tolist())
                questions[name] += int(weights.sum())
    terms.pop('mG-Pass@1', None)
    return {'accuracy': mean} | {name: math.fsum(each) / questions[name] for name, each in terms.items()}


def bounds(counts: Counts, ks: Sequence[int], thresholds: Sequence[float]) -> dict[str, list[float]]:
    """Return each score of all questions with all samples in doubt wrong, and with all of them right."""
    low = high = means(counts, ks, thresholds)
    if counts.doubt.any():
        high = means(replace(counts, c=counts.c + counts.doubt), ks, thresholds)
    return {key: [100.0 * low[key], 100.0 * high[key]] for key in low}


# What tells one run from another


def digest_of(settings: object) -> str:
    """Return the SHA-256 of settings, the same for equal JSON in any order of keys."""
    return digest(_encoded(settings).encode())


_encoded = json.JSONEncoder(sort_keys=True, default=str).encode
"""`json.dumps` would make an encoder anew each time, and each sample has its digest."""


def data_of(uid: Sequence[str], question: Sequence[str], reference: Sequence[str]) -> Data:
    """Sum up what was asked: two runs with one hash have the same uids, questions and references."""
    found = hashlib.sha256()
    for texts in zip(uid, question, reference, strict=True):
        for content in ((text or '').encode('utf-8', 'surrogatepass') for text in texts):
            found.update(len(content).to_bytes(8, 'big') + content)
    return Data(questions=len(uid), sha256=found.hexdigest())


# The files


def read(path: Path) -> Result:
    """Read a result; a ForeignFileError says that it is none, another InputError what is damaged."""
    if path.name.endswith(SAMPLES):
        raise InputError(f'{path} has the samples of a result; give the .json beside it')
    if path.is_dir():
        raise InputError(f'{path} is a folder; give one result file: …/results/<model>/<dataset>.json')
    try:
        content = read_json(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise InputError(f'{path} cannot be read: {reason}') from error
    return result_of(path, content)


def result_of(path: Path, content: Any) -> Result:
    """Return the result that `read` gives for a file of this content."""
    block = mapping(content).get('gpassk')
    if not isinstance(block, dict):
        if error := mapping(content).get('error'):  # as OpenCompass notes it
            raise InputError(f'{path} says that its evaluation failed: {str(error)[:200]}')
        raise ForeignFileError(f'{path} is no result of G-Pass@k: it has no "gpassk"')
    if block.get('schema') != SCHEMA:
        raise InputError(f'{path} has schema {block.get("schema")!r:.60}; this version reads {SCHEMA}')
    try:
        if _too_deep(block):
            raise ValueError(f'it is nested more than {DEEPEST} deep')
        result = Result.model_validate(block)
        for key, value in result.scores().items():
            told = content.get(key, value)
            if not isinstance(told, (int, float)) or not value - TOLERANCE <= told <= value + TOLERANCE:
                raise ValueError(f'{key} = {told!r:.60}, but its counts give {value:.6f}')
    except ValidationError as errors:
        first = errors.errors(include_url=False)[0]
        said = f' = {first["input"]!r:.60}; {first["msg"]}' if first['type'] != 'missing' else ' is missing'
        place = '.'.join(map(str, ('gpassk', *first['loc'])))
        told = f'{place}{said}' if first['loc'] else first['msg'].removeprefix('Value error, ')
        raise InputError(f'{path} is damaged: {told}') from None
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise InputError(f'{path} is damaged: {error}') from None
    result._path = path
    return result


def _too_deep(value: Any, levels: int = DEEPEST) -> bool:
    """Whether lists and objects are nested so deep that they could not be written again."""
    inner = value.values() if isinstance(value, dict) else value
    nested = (one for one in inner if isinstance(one, (dict, list)))
    return levels == 0 or any(_too_deep(one, levels - 1) for one in nested)


def write(path: Path, result: Result) -> None:
    """Write a result and the file of its samples; whoever reads sees the old pair or the new one.

    The samples come first, under the name of their content; the JSON then names them; the old ones go last.
    Samples that cannot be written are a warning; a JSON that cannot is an OSError, and the old pair stays.
    """
    path = path.resolve()  # beside the file, not beside a link to it
    path.parent.mkdir(parents=True, exist_ok=True)
    folder, wrong = os.open(path.parent, os.O_RDONLY), ''
    try:
        with suppress(OSError):  # else one process takes the samples of another for old ones
            fcntl.flock(folder, fcntl.LOCK_EX)
        before = [file.name for file in sample_files(path)]
        try:
            try:
                result._samples, result.sample_file = result.samples(), None
                result.sample_file = _write_samples(path, result._samples)
            except Exception as error:  # whatever it is, hours of judging shall not be lost by it
                result.sample_file, wrong = None, f'{type(error).__name__}: {error}'
            content = json.dumps(result.as_json(), ensure_ascii=False, indent=1) + '\n'
            write_file(path, content.encode())
        except BaseException:  # Ctrl-C too; what was there is what still counts
            _remove_samples(path, before)
            raise
        result._path = path
        _remove_samples(path, [result.sample_file.name] if result.sample_file else [])
    finally:
        os.close(folder)
    if wrong:
        warn_once(f'the samples of {path} were not written ({wrong}); the scores stand')


def _write_samples(path: Path, samples: Samples | None) -> SampleFile | None:
    """Write samples beside the JSON of their result, under the name of their content."""
    if samples is None:
        return None
    draft = path.with_name(f'.{path.name}.{os.getpid()}')
    try:
        samples.write(draft)
        keep_mode(path, draft)
        sha256 = file_digest(draft)
        name = f'{path.name.removesuffix(".json")}.{sha256[:12]}{SAMPLES}'
        draft.replace(path.with_name(name))
    finally:
        with suppress(OSError):  # it is in its place, or never was
            draft.unlink()
    return SampleFile(name=name, sha256=sha256, rows=len(samples))


def _remove_samples(path: Path, keep: Sequence[str]) -> None:
    """Remove the files of samples beside the JSON of a result, also those of earlier ones, all but some."""
    for file in sample_files(path):
        if file.name not in keep:
            with suppress(OSError):
                file.unlink()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    found = hashlib.sha256()
    with path.open('rb') as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()


@lru_cache(maxsize=4096)
def warn_once(text: str) -> None:
    """Warn, but only once a process: a command may read a result twice."""
    from loguru import logger  # it brings asyncio

    logger.warning(text)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a result file."""
    block = Result.model_json_schema(by_alias=True, ref_template='#/$defs/{model}')
    score = r'^(.+/)?(accuracy|pass@[1-9][0-9]*|G-Pass@[1-9][0-9]*_[0-9][0-9.e-]*|mG-Pass@[1-9][0-9]*)$'
    return {
        '$schema': 'https://json-schema.org/draft/2020-12/schema',
        '$id': f'urn:gpassk_opencompass:result:{SCHEMA}',
        'title': 'Result of G-Pass@k',
        '$defs': {**block.pop('$defs'), 'Result': {**block, 'required': ['schema', *block['required']]}},
        'type': 'object',
        'required': ['accuracy', 'gpassk'],
        'properties': {
            'gpassk': {'$ref': '#/$defs/Result'},
            'details': {'type': 'object', 'description': 'For readers: questions, answers, verdicts.'},
        },
        'patternProperties': {score: {'type': 'number', 'minimum': 0, 'maximum': 100}},
        'additionalProperties': False,
    }


if __name__ == '__main__':
    print(json.dumps(json_schema(), indent=2))
