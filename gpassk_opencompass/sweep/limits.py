"""Runs made smaller: `--limit` asks some of the questions, `--samples` sets n. Such runs are marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..errors import TemplateError
from ..naming.file_names import check_file_name
from ..naming.limits import limited_abbr
from .grid import Run

_OWN = f'{__name__.partition(".")[0]}.'
_TAKE_LIMITS = frozenset({'LiveMathBenchDataset', 'BenchmarkDataset', 'LimitedDataset'})
"""Our data sets, which have the arguments `limit` and `samples`."""

_OUTSIDE = ('abbr', 'k', 'n', 'replication', 'reader_cfg', 'infer_cfg', 'eval_cfg')
"""Fields of a data set that stay with it when what it loads is wrapped."""


@dataclass(frozen=True)
class Limits:
    """What `--limit` (questions) and `--samples` (n) say; None: nothing."""

    limit: int | None = None
    samples: int | None = None

    def __bool__(self) -> bool:
        """Return whether they say anything."""
        return self.limit is not None or self.samples is not None


NO_LIMITS = Limits()


class LimitedData(NamedTuple):
    """A data set of a config under `Limits`; `config` is the given one where nothing changes."""

    config: Mapping[str, Any]
    ks: tuple[int, ...]
    n: int | None
    limit: int | None
    """That it has now, be it of an earlier expansion; None: it is asked whole."""
    samples: int | None
    """n, where --samples said it, now or earlier."""
    notes: tuple[str, ...]

    def renamed(self, name: str) -> str:
        """Return a name that ends as the data set's abbreviation does, with its marks."""
        return limited_abbr(name, self.limit, self.samples, self.ks, self.n)

    def sizes(self, questions: int | None) -> dict[str, Any]:
        """Return k, n, the questions that are asked and the marks, as a run and its manifest entry have them.

        Args:
            questions: of the whole data set; None is not known.
        """
        if questions is not None and self.limit is not None:
            questions = min(questions, self.limit)
        marks = {'limit': self.limit, 'samples': self.samples}
        return {'k': self.ks, 'n': self.n, 'questions': questions, **marks}


class LimitedRuns(NamedTuple):
    """The runs, and lines on what is another than one might think."""

    runs: list[Run]
    notes: list[str]


def samples_of(dataset: Mapping[str, Any]) -> Any:
    """Return n; data sets of 2024 gave `replication` instead, n = replication × max(k)."""
    replication = dataset.get('replication')
    return dataset.get('n') if replication is None else replication * max(ks_of(dataset), default=1)


def ks_of(dataset: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the k list."""
    k = dataset.get('k')
    return tuple(k) if isinstance(k, (list, tuple)) else () if k is None else (k,)


def limited_runs(runs: Sequence[Run], limits: Limits) -> LimitedRuns:
    """Return the runs with fewer questions and another n; those that become the same are one.

    Args:
        runs: with one data set each.

    Raises:
        InputError: a name would be too long, or two runs would have one.
    """
    if not limits:
        return LimitedRuns(list(runs), [])
    known: dict[int, LimitedData] = {}
    kept: dict[str, Run] = {}
    found = []
    for run in runs:
        (dataset,) = run.config['datasets']
        if id(dataset) not in known:  # runs that share one go on sharing one
            known[id(dataset)] = limited_data(dataset, limits, run.questions)
        data = known[id(dataset)]
        found.append(data)
        smaller = _smaller(run, data)
        other = kept.setdefault(smaller.file, smaller)
        if other.config != smaller.config:
            raise TemplateError(f'with {said(limits)} two runs would both be written to {smaller.file}')
    return LimitedRuns(list(kept.values()), notes_on(found, limits, len(runs) - len(kept)))


def limited_data(dataset: Mapping[str, Any], limits: Limits, questions: int | None) -> LimitedData:
    """Return a data set of a config with fewer questions and another n, under a name that says so.

    One sample a question (greedy) stays one. k above n are left out; without any left, k is n. A limit that
    is not below what there is changes nothing. A data set that is not of this package is wrapped.

    Args:
        questions: how many it has; None where that is not known.

    Raises:
        TemplateError: it has no abbreviation.
    """
    if not isinstance(dataset.get('abbr'), str):
        raise TemplateError(f"{said(limits)}: a data set without abbr='…' cannot get a name that says so")
    n, ks = samples_of(dataset), ks_of(dataset)
    earlier = _known_limit(dataset), _count(dataset.get('samples'))
    limit, samples = earlier
    notes = []
    known = questions if limit is None else limit
    if limits.limit is not None:
        if known is None or limits.limit < known:
            limit = limits.limit
        else:
            notes.append(f'the limit is not below its {known} questions: all of them are asked')
    if limits.samples is not None and limits.samples != n:
        if n in (None, 1):
            notes.append('one sample a question stays one sample')
        else:
            samples = n = limits.samples
            ks, note = _ks_within(ks, n)
            notes += note
    if (limit, samples) == earlier:
        return LimitedData(dataset, ks, n, limit, samples, tuple(notes))
    data = LimitedData(dataset, ks, n, limit, samples, tuple(notes))
    return data._replace(config=_config(dataset, data))


def notes_on(found: Sequence[LimitedData], limits: Limits, same: int) -> list[str]:
    """Return what is to be said of data sets that were limited, a line each with its number of configs.

    Args:
        same: configs that are left out, as they became what others are.
    """
    counted = Counter((str(data.config.get('abbr')), note) for data in found for note in data.notes)
    lines: dict[str, list[tuple[str, int]]] = {}
    for (abbr, note), count in counted.items():
        lines.setdefault(note, []).append((abbr, count))
    said_here = [
        f'{said(limits)}: {_configs(sum(count for _, count in each))} ({each[0][0]}'
        f'{", …" if len(each) > 1 else ""}): {note}'
        for note, each in lines.items()
    ]
    alike = [f'{said(limits)}: {_configs(same)} left out, which became what others are'] if same else []
    return [*said_here, *alike]


def said(limits: Limits) -> str:
    """Return the options as they were given.

    >>> said(Limits(10, 4))
    '--limit 10 --samples 4'
    """
    given = (('--limit', limits.limit), ('--samples', limits.samples))
    return ' '.join(f'{option} {count}' for option, count in given if count is not None)


def _smaller(run: Run, data: LimitedData) -> Run:
    if data.config is run.config['datasets'][0]:
        return run
    return replace(
        run,
        file=check_file_name(f'{data.renamed(run.file.removesuffix(".py"))}.py'),
        config={**run.config, 'datasets': [data.config]},
        **data.sizes(run.questions),
    )


def _ks_within(ks: tuple[int, ...], n: int) -> tuple[tuple[int, ...], list[str]]:
    above = ', '.join(str(k) for k in ks if k > n)
    if not above:
        return ks, []
    left = tuple(k for k in ks if k <= n)
    instead = '' if left else f', k = {n} in its place'
    return left or (n,), [f'k = {above} left out, above n = {n}{instead}']


def _config(dataset: Mapping[str, Any], data: LimitedData) -> dict[str, Any]:
    """Return the config of a data set with its limits."""
    marks = {name: value for name, value in (('limit', data.limit), ('samples', data.samples)) if value}
    changed: dict[str, Any] = {'abbr': data.renamed(str(dataset['abbr']))}
    if data.n is not None:
        changed['n'] = data.n
    if data.ks:
        changed['k'] = list(data.ks)
    if takes_limits(dataset):
        return {**dataset, **changed, **marks}
    of = {name: value for name, value in dataset.items() if name not in _OUTSIDE}
    outside = {name: value for name, value in dataset.items() if name in _OUTSIDE and name != 'replication'}
    return {'type': f'{_OWN}LimitedDataset', **outside, **changed, **marks, 'of': of}


def takes_limits(dataset: Mapping[str, Any]) -> bool:
    """Return whether a data set of a config is one of ours, which can be limited by itself."""
    kind = dataset.get('type')
    name = f'{kind.__module__}.{kind.__qualname__}' if isinstance(kind, type) else str(kind)
    return name.startswith(_OWN) and name.rpartition('.')[2] in _TAKE_LIMITS


def _known_limit(dataset: Mapping[str, Any]) -> int | None:
    return _count(dataset.get('limit')) if takes_limits(dataset) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _configs(count: int) -> str:
    return f'{count} config{"" if count == 1 else "s"}'
