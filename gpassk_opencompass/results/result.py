"""One run as its result file tells it: a model with its settings on one benchmark."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..files import mapping
from ..metrics import Metric, value_table
from ..naming.limits import limit_marks, limits_in, without_sizes
from ..naming.manifest import Entry as ManifestEntry
from ..naming.manifest import ModelFacts
from ..naming.names import DatasetName, Settings
from ..naming.sampling import sampling_in
from ..naming.tags import parted
from .asked import Asked, asked
from .details import table_of_details
from .health import Health, health_of
from .record import DOUBTS, digest_of
from .samples import COLUMNS, SampleColumns, SampleTable, read_samples, warn_once

if TYPE_CHECKING:  # scipy: who only asks in what state runs are needs none
    from ..uncertainty import Interval

Floats = NDArray[np.float64]

_Name = TypeVar('_Name')

_PACKAGES = ('math-verify', 'latex2sympy2_extended', 'sympy')
"""What the rule judge's identity names a version of."""


def model_settings(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the config of a run says of its model; {} where the record does not tell.

    Args:
        block: the entry `gpassk` of a record.
    """
    return mapping(mapping(block.get('provenance')).get('model'))


@dataclass(frozen=True)
class Result:
    """One result file: a model with its settings on one benchmark.

    `model_abbr` and `dataset_abbr` are those of OpenCompass, the first as this version writes it, whatever
    the folder of a run of an earlier one is called; `host` is who ran it; `manifest` is the entry of the
    sweep's manifest for the model, which tells its path and what a name that was cut does not;
    `sample_file` is the file with a row a sample, where there is one that belongs to this result.
    """

    model_abbr: str
    dataset_abbr: str
    record: Mapping[str, Any]
    path: Path
    host: str = 'opencompass'
    manifest: ManifestEntry | None = None
    sample_file: Path | None = None

    @property
    def block(self) -> Mapping[str, Any]:
        """Return `gpassk` of the record: counts and what they rest on."""
        block: Mapping[str, Any] = self.record['gpassk']
        return block

    @cached_property
    def model(self) -> str:
        """Return the model's name without its settings."""
        if self.manifest:
            return self.manifest.model
        return self._named[0]

    @cached_property
    def sampling(self) -> Mapping[str, int | float]:
        """Return how the model sampled, by the names of `Settings`, as far as it is told.

        The manifest says it, else the record (the model's config, or what another program wrote), else the
        abbreviation: a run is what it was drawn with, whatever it is called.
        """
        _, told = self._named
        run = mapping(mapping(self.block.get('run')).get('settings'))
        known = {**told, **sampling_in(run), **sampling_in(model_settings(self.block))}
        if self.manifest:
            known |= self.manifest.settings
        return {field.name: known[field.name] for field in fields(Settings) if field.name in known}

    @property
    def settings(self) -> Settings | None:
        """Return `sampling` where it says how long a response may be."""
        return Settings(**self.sampling) if 'max_out_len' in self.sampling else None  # type: ignore[arg-type]

    @cached_property
    def _named(self) -> tuple[str, Mapping[str, int | float]]:
        """Return the model and its settings as far as the abbreviation tells them."""
        try:
            return parted(self.model_abbr)
        except ValueError:  # a number of too many digits
            return self.model_abbr, {}

    @property
    def facts(self) -> ModelFacts:
        """Return what the manifest says of the model beside its settings; without one nothing is known."""
        return self.manifest.facts if self.manifest else ModelFacts()

    @cached_property
    def benchmark(self) -> str:
        """Return the benchmark's name without k and n; which of its questions were asked, belongs to it."""
        name = _parsed(DatasetName.parse, self.dataset_abbr)
        label = name.label if name else without_sizes(self.dataset_abbr)
        mark = limit_marks(self.limits.get('limit'), None)
        return label if label.endswith(mark) else f'{label}{mark}'

    @cached_property
    def limits(self) -> Mapping[str, int]:
        """Return what made the run smaller: limit, of, samples, as far as known; {} of a whole run.

        The record tells it, and of one that was judged anew the name.
        """
        told = {name: value for name, value in mapping(self.block.get('limited')).items() if value}
        return told or limits_in(self.dataset_abbr)

    @property
    def limits_line(self) -> str:
        """Return for a reader what made the run smaller: '10 of 238 questions, n = 4 by --samples'; or ''."""
        limit, of, samples = (self.limits.get(name) for name in ('limit', 'of', 'samples'))
        questions = f'{min(limit, of or limit)}{f" of {of}" if of else ""} questions' if limit else ''
        return ', '.join(filter(None, [questions, f'n = {samples} by --samples' if samples else '']))

    @property
    def sizes_name(self) -> str:
        """Return what the data set's abbreviation says of k and n: 'k4_8-r3'."""
        mark = limit_marks(self.limits.get('limit'), None)
        behind = self.dataset_abbr.removeprefix(self.benchmark.removesuffix(mark))
        return behind.replace(mark, '', 1).lstrip('-')

    @property
    def n(self) -> int:
        """Return how many samples a question has."""
        return int(self.block['n'])

    @property
    def greedy(self) -> bool:
        """Whether there is one answer a question, at a temperature that is known to be 0."""
        return self.n == 1 and self.temperature == 0

    @property
    def temperature(self) -> float | None:
        """Return the temperature, as far as it is told; see `sampling`."""
        return self.sampling.get('temperature')

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Return correct answers of each question, shape (Q,)."""
        return np.asarray(self.block['counts']['c'], dtype=np.int64)

    @property
    def uids(self) -> list[str]:
        """Return the questions."""
        return list(self.block['counts']['uid'])

    @property
    def questions(self) -> Sequence[str]:
        """Return the text of each question; empty if they are not known."""
        return self._details('question')

    @property
    def references(self) -> Sequence[str]:
        """Return the reference answer of each question; empty if they are not known."""
        return self._details('reference')

    @property
    def verdicts(self) -> Sequence[str]:
        """Return '1', '0' or '?' for each sample of each question; empty if only counts are known."""
        return self._details('verdicts') or (self.samples.verdicts() if self.samples else ())

    @property
    def answers(self) -> Sequence[Sequence[str]]:
        """Return the n final answers to each question, '' for none; empty if they are not known."""
        return self._details('answers') or (self.samples and self.samples.by_question('answer')) or ()

    @cached_property
    def samples(self) -> SampleTable | None:
        """Return what is known of each sample: from the sample file, or else what the JSON tells.

        None where only counts are known.
        """
        if self.sample_file is not None:
            try:
                return read_samples(self.sample_file, self.n)
            except InputError as error:
                warn_once(f'{error}; what the JSON beside it tells of the samples is used')
        undecided = mapping(self.block.get('undecided_reasons'))
        return table_of_details(self.n, mapping(self.record.get('details')), undecided)

    def sample_columns(self, folder: Path) -> SampleColumns | None:
        """Return what is known of its samples, for a result in a folder, from which `file` is seen then."""
        if self.samples is None:
            return None
        known = {one.name: self.samples.column(one.name) for one in COLUMNS}
        columns = {name: column for name, column in known.items() if column is not None}
        if 'file' in columns:
            here = self.path.parent
            moved = {file: file and os.path.relpath(here / file, folder) for file in set(columns['file'])}
            columns['file'] = [moved[file] for file in columns['file']]
        return columns

    def _details(self, name: str) -> Sequence[Any]:
        column: Sequence[Any] = mapping(self.record.get('details')).get(name, ())
        return column

    @property
    def problems(self) -> list[str]:
        """Return the source problem of each question."""
        return list(self.block['counts']['problem'])

    @property
    def groups(self) -> list[str]:
        """Return `{split}_{language}` of each question, 'all' where a file says nothing."""
        return [group or 'all' for group in self.block['counts']['group']]

    @cached_property
    def data(self) -> str:
        """Return a digest that is the same for runs on the same questions with the same reference answers."""
        known = mapping(self.block.get('data')).get('sha256')
        return str(known) if known else digest_of(self.uids)

    @property
    def judge(self) -> Mapping[str, Any]:
        """Return the identity of who judged."""
        told = mapping(self.block.get('judge'))
        return {key: value for key, value in told.items() if key != 'statistics'}

    @cached_property
    def judge_digest(self) -> str:
        """Return a digest that is the same for runs with the same judge, in every setting of it."""
        return digest_of(self.judge)

    @cached_property
    def judge_kind(self) -> str:
        """Return a digest of the judge without the versions of the packages behind the rule."""
        return digest_of(_without_packages(self.judge))

    @property
    def judge_packages(self) -> Mapping[str, str]:
        """Return the versions of the packages behind the rule judge, also of one within a cascade."""
        return dict(_packages(self.judge))

    @property
    def engine(self) -> str:
        """Return the packages of the engine with their versions; '' where the record does not tell them.

        Of servers it is what they say of themselves.
        """
        told = mapping(self.block.get('provenance'))
        packages = [f'{name} {number}' for name, number in sorted(mapping(told.get('versions')).items())]
        servers = told.get('servers')
        for one in map(mapping, servers if isinstance(servers, list) else ()):
            packages.append(' '.join(str(one[name]) for name in ('engine', 'version') if one.get(name)))
        return ', '.join(dict.fromkeys(filter(None, packages)))

    @property
    def model_path(self) -> str:
        """Return the model's path or its name on the hub, as far as manifest or record tell it; else ''."""
        told = self.manifest.path if self.manifest else model_settings(self.block).get('path')
        return str(told or self.whole_name)

    @property
    def whole_name(self) -> str:
        """Return the model's path or name on the hub, if a result of another host tells it; else ''."""
        return str(mapping(self.block.get('run')).get('path', ''))

    @property
    def unjudged(self) -> int:
        """Return samples without a verdict; they count as incorrect."""
        return int(self.block.get('unjudged', sum(self.block['counts'].get('unjudged', ()))))

    @cached_property
    def health(self) -> Health:
        """Return how its samples came to their end."""
        return health_of(self.block)

    @property
    def unjudged_of_each(self) -> NDArray[np.int64]:
        """Return samples of each question without a verdict, shape (Q,)."""
        column = self.block['counts'].get('unjudged') or [0] * self.counts.size
        return np.asarray(column, dtype=np.int64)

    @cached_property
    def in_doubt(self) -> NDArray[np.int64]:
        """Return how many samples of each question are unjudged or undecided; shape (Q,)."""
        columns = [self.block['counts'].get(name) or [0] * self.counts.size for name in DOUBTS]
        in_doubt: NDArray[np.int64] = np.array(columns, dtype=np.int64).sum(0)
        return in_doubt

    @property
    def signature(self) -> str:
        """Return one line that says how the numbers came about."""
        return str(self.block.get('signature', ''))

    def bounds(self, metric: Metric) -> tuple[float, float]:
        """Return the mean of a metric with all samples in doubt wrong, and with all right; from 0 to 1."""
        table = value_table(metric, self.n)
        high = np.minimum(self.counts + self.in_doubt, self.n)
        return float(table[self.counts].mean()), float(table[high].mean())

    def rows_of(self, uids: Iterable[str]) -> list[int]:
        """Return where these questions stand, all of which it has: results may have them in any order."""
        place = {uid: row for row, uid in enumerate(self.uids)}
        return [place[uid] for uid in uids]

    def values(self, metric: Metric) -> Floats:
        """Return the metric of each question, from 0 to 1, for any k ≤ n and any τ; shape (Q,).

        Raises:
            InputError: k > n.
        """
        return value_table(metric, self.n)[self.counts]

    def interval(self, metric: Metric, level: float = 0.95) -> Interval:
        """Return the mean of the metric with its interval for new questions of the same kind.

        Args:
            metric: of the samples.
            level: of confidence.
        """
        [found] = self.intervals([metric], level)
        return found

    def intervals(self, metrics: Sequence[Metric], level: float = 0.95) -> list[Interval]:
        """Return `interval` of each metric; of many together it takes little more time than of one."""
        from ..uncertainty.intervals import check_level, mean_intervals

        check_level(level)
        return mean_intervals(self.table(metrics), self.asked.design, [level] * len(metrics))

    def intervals_by_group(self, metrics: Sequence[Metric], level: float = 0.95) -> dict[str, list[Interval]]:
        """Return the mean and interval of each metric for the questions of each group that has some."""
        from ..uncertainty.intervals import check_level, mean_intervals

        check_level(level)
        values, levels = self.table(metrics), [level] * len(metrics)
        return {
            group: mean_intervals(values[:, rows], design, levels)
            for group, (rows, design) in self.asked.groups.items()
        }

    @cached_property
    def sizes_of_groups(self) -> Mapping[str, int]:
        """Return how many questions each group has."""
        return Counter(self.groups)

    @cached_property
    def histogram(self) -> Floats:
        """Return how many questions have c = 0 … n of n correct, shape (n + 1,)."""
        return np.bincount(self.counts, minlength=self.n + 1).astype(np.float64)

    def table(self, metrics: Sequence[Metric]) -> Floats:
        """Return `values` of each metric, shape (metrics, Q)."""
        return np.stack([value_table(metric, self.n) for metric in metrics])[:, self.counts]

    @cached_property
    def asked(self) -> Asked:
        """Return what the means over its questions have in common; runs on the same ones share it."""
        return asked(tuple(self.problems), tuple(self.groups))


def _without_packages(judge: Any) -> Any:
    if not isinstance(judge, dict):
        return judge
    return {key: _without_packages(value) for key, value in judge.items() if key not in _PACKAGES}


def _packages(judge: Any) -> Iterator[tuple[str, str]]:
    for key, value in judge.items():
        if isinstance(value, dict):
            yield from _packages(value)
        elif key in _PACKAGES:
            yield key, str(value)


def _parsed(parse: Callable[[str], _Name], text: str) -> _Name | None:
    try:
        return parse(text)
    except ValueError:  # also a number of too many digits
        return None
