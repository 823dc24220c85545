"""Which neighbours of a published table are further apart than questions of that number can tell.

A leaderboard without counts has no intervals. What its numbers of questions can resolve still follows from
how hard the questions were, which the scores themselves tell, under assumptions that are stated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..metrics import Kind, Metric
from ..tables import Cell, Column, Table, csv_text, markdown_line
from ..uncertainty import Population
from ..uncertainty.comparison import ADDED_PROBLEMS
from ..uncertainty.intervals import check_level, problems_refusal, quantile, solved_refusal
from ..uncertainty.planning import expected_effective
from ..uncertainty.rerun import beta_mean
from .published import BENCHMARKS, Published, QuestionCount
from .scores import Measure
from .written import write_texts

Floats = NDArray[np.float64]

NO_COUNTS = 'aggregates without counts: no interval can be given'

_POPULATED = (Kind.G_PASS, Kind.MG_PASS)
"""Metrics of a published table of which a statement on neighbours is made."""


@dataclass(frozen=True)
class Assumptions:
    """What the published table does not tell.

    Args:
        n: samples a question.
        translations: correlation between the true values of the translations of one problem, from 0 to 1.
        models: correlation between the true values of two models over the problems, from 0 to 1. 0.8 halves
            the error against two models on different questions.
        level: of confidence of a difference, between 0 and 1.

    Raises:
        InputError: a number out of range.
    """

    n: int = 48
    translations: float = 0.9
    models: float = 0.8
    level: float = 0.95

    def __post_init__(self) -> None:
        if self.n < 1:
            raise InputError(f'n = {self.n} samples a question: expected at least 1')
        for what, value in (('translations', self.translations), ('models', self.models)):
            if not 0 <= value <= 1:
                raise InputError(f'correlation between {what} {value}: expected a number from 0 to 1')
        check_level(self.level)


@dataclass(frozen=True)
class Neighbours:
    """Two models that follow each other in a table; in percent."""

    better: str
    worse: str
    gap: float
    least: float | None
    """The least difference that a paired comparison resolves; None where `refused` says why."""
    unpaired: float | None
    """The least difference for two models that answered different questions; None as above."""
    refused: str = ''

    @property
    def distinguishable(self) -> bool:
        """Whether they are further apart than the least difference."""
        return self.least is not None and self.gap >= self.least


def neighbours(
    published: Published, benchmark: str, metric: Measure, assumptions: Assumptions | None = None
) -> list[Neighbours]:
    """Return all neighbouring pairs of a benchmark, best first.

    Each model's questions are taken as a Beta population that gives its published G-Pass values
    (`fit_to_means`). The difference of two models has the variance (V₁ + V₂ − 2·C)/J over J source
    problems, where V is `Population.variance` and C the assumed covariance of their true values; the least
    difference is Student's t with J − 1 degrees of freedom times its root.

    Raises:
        InputError: a benchmark whose number of questions is not known, or no metric of G-Pass@k.
    """
    assumptions = assumptions or Assumptions()
    if benchmark not in BENCHMARKS:
        raise InputError(f'{benchmark!r}: its questions are not known; known are {", ".join(BENCHMARKS)}')
    if not isinstance(metric, Metric):
        raise InputError('one greedy answer has no population; take a metric of G-Pass@k')
    ranked = published.ranked(benchmark, metric)
    found = {model: _population(published, model, benchmark, assumptions) for model in ranked}
    pairs = []
    for better, worse in pairwise(ranked):
        gap = published.values[better, benchmark, metric] - published.values[worse, benchmark, metric]
        least, unpaired, refused = _least(
            (found[better], found[worse]), metric, BENCHMARKS[benchmark], assumptions
        )
        pairs.append(Neighbours(better, worse, gap, least, unpaired, refused))
    return pairs


@lru_cache(maxsize=1024)
def fit_to_means(means: tuple[tuple[Metric, float], ...]) -> tuple[float, float] | None:
    """Return a and b of the Beta population whose metrics come closest to these, by least squares.

    Args:
        means: (metric, its mean from 0 to 1).

    Returns:
        a and b, or None where all means are 0 or all are 1: then there is nothing to fit.
    """
    targets = np.array([mean for _, mean in means])
    if not targets.size or targets.max() == 0 or targets.min() == 1:
        return None

    def misfit(logs: Floats) -> Floats:
        a, b = np.exp(logs)
        return np.asarray(np.concatenate([beta_mean(metric, a, b) for metric, _ in means]) - targets)

    from scipy.optimize import least_squares  # only a published table is fitted

    bounds = (np.log(1e-3), np.log(1e3))
    found = least_squares(misfit, np.log([0.3, 0.3]), bounds=bounds)
    a, b = np.exp(found.x)
    return float(a), float(b)


def _population(
    published: Published, model: str, benchmark: str, assumptions: Assumptions
) -> Population | None:
    known = BENCHMARKS[benchmark]
    means = [
        (metric, published.values[model, benchmark, metric] / 100)
        for metric in published.metrics
        if isinstance(metric, Metric)
        and metric.kind is Kind.G_PASS
        and (model, benchmark, metric) in published.values
    ]
    fitted = fit_to_means(tuple(means))
    if fitted is None:
        return None
    return Population(*fitted, max(1, round(known.questions / known.problems)), assumptions.translations)


def _least(
    pair: Sequence[Population | None], metric: Metric, known: QuestionCount, assumptions: Assumptions
) -> tuple[float | None, float | None, str]:
    if refused := problems_refusal(np.ones(known.problems, dtype=np.intp)):
        return None, None, refused
    first, second = pair
    if first is None or second is None:
        return None, None, 'no problem solved, or all: nothing to tell hardness from'
    solved = max(_solved(population, metric, known, assumptions) for population in (first, second))
    if refused := solved_refusal('solved', solved, math.inf):
        return None, None, refused
    apart = first.variance(metric, assumptions.n) + second.variance(metric, assumptions.n)
    shared = 2 * assumptions.models * math.sqrt(first.true_variance(metric) * second.true_variance(metric))
    scale = 100 * quantile(assumptions.level, known.problems - 1)
    added = ADDED_PROBLEMS / known.problems**2
    paired = math.sqrt(max(apart - shared, 0.0) / known.problems + added)
    return scale * paired, scale * math.sqrt(apart / known.problems), ''


def _solved(population: Population, metric: Metric, known: QuestionCount, assumptions: Assumptions) -> float:
    """Return how many solved problems, in effect, the model has."""
    mean = population.moments(metric, metric.k)[0]
    return expected_effective(mean, population.variance(metric, assumptions.n), known.problems)


def resolved(pairs: Sequence[Neighbours]) -> Mapping[str, float]:
    """Return how many pairs there are and are told apart, and the median least difference of those known."""
    least = [pair.least for pair in pairs if pair.least is not None]
    return {
        'pairs': len(pairs),
        'apart': sum(pair.distinguishable for pair in pairs),
        'median': float(np.median(least)) if least else math.nan,
    }


def write_published(published: Published, folder: Path) -> list[Path]:
    """Write `published.md`, `published.csv` and `tables/published.tex`; the folder is made.

    Returns:
        The paths written.
    """
    tables = [published_table(published, benchmark) for benchmark in published.benchmarks]
    files = {
        'published.md': '# Published scores\n\n'
        + '\n'.join(f'## {markdown_line(table.title)}\n\n{table.to_markdown()}\n' for table in tables),
        'published.csv': csv_text(
            [
                ['model', 'benchmark', 'metric', 'value'],
                *([*key, one] for key, one in published.values.items()),
            ]
        ),
        'tables/published.tex': '\n'.join(table.to_latex(titled=True) for table in tables),
    }
    return write_texts(folder, files)


def published_table(published: Published, benchmark: str) -> Table:
    """Return a row a model, best first, with its lead over the next one and whether that can be told."""
    ranked_by = published.leading
    models = published.ranked(benchmark, ranked_by)
    columns = [Column(str(name), 'right') for name in (*published.metrics, 'lead', 'told apart')]
    table = Table(benchmark, [Column('model', 'left'), *columns], notes=[NO_COUNTS])
    leads = _leads(published, benchmark, ranked_by)
    for model in models:
        cells = [published.values.get((model, benchmark, metric)) for metric in published.metrics]
        table.add(model, *cells, *_lead(leads.get(model)))
    return table


def _leads(published: Published, benchmark: str, metric: Measure) -> Mapping[str, Neighbours]:
    """Return each model with the next one; nothing where the number of questions is not known."""
    if benchmark not in BENCHMARKS or not isinstance(metric, Metric) or metric.kind not in _POPULATED:
        return {}
    return {pair.better: pair for pair in neighbours(published, benchmark, metric)}


def _lead(pair: Neighbours | None) -> tuple[str | None, str | Cell | None]:
    if pair is None:
        return None, None
    if pair.least is None:
        return f'{pair.gap:.1f}', Cell('', note=f'no statement: {pair.refused}')
    return f'{pair.gap:.1f} of {pair.least:.1f}', 'yes' if pair.distinguishable else 'no'
