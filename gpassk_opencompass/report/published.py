"""Published leaderboards: those that are shipped, those that are read, and our scores in their layout.

The layout of the JSON: one object a model, percent by metric and benchmark.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import parse_json
from ..metrics import Kind, Metric
from ..results.result import Result
from .leaderboard import Board
from .published_markdown import Printed, printed_numbers
from .scores import ALL, Measure, Scored, measure_of, measures_of

_METRIC = re.compile(r'G-Pass@\d+[-_][0-9.]+|mG-Pass@\d+|Greedy')

_PAGE_METRICS = ('Greedy', 'G-Pass@16-0.5', 'G-Pass@16-0.75', 'G-Pass@16-1.0', 'mG-Pass@16')
"""What the page of the published leaderboard looks up for every model; it stops where one is missing."""


@dataclass(frozen=True)
class QuestionCount:
    """What a benchmark of the published leaderboard consists of; `label` is what it is called here."""

    label: str
    questions: int
    problems: int


BENCHMARKS: Mapping[str, QuestionCount] = {
    'LiveMathBench-2412': QuestionCount('LiveMathBench-v202412', 238, 119),
    # 24 Chinese questions, 21 of them in English too (section F.1.5 of arXiv 2412.13147).
    'LiveMathBench-Hard-2412': QuestionCount('LiveMathBench-v202412-hard-cn_en', 45, 24),
    'MATH500-L5': QuestionCount('MATH500-L5', 134, 134),
    'AIME2024-45': QuestionCount('AIME2024-45', 45, 45),
    # Its greedy accuracies are multiples of 1/15: the first part alone.
    'AIME2025': QuestionCount('AIME2025-I', 15, 15),
}
"""Name in the published leaderboard → what it is."""

_MOST_DIGITS = 15
"""More digits behind the point tell nothing of a percentage."""

_SAME_BENCHMARK = {
    'LiveMathBench-202412': 'LiveMathBench-2412',
    'LiveMathBench-Hard-202412': 'LiveMathBench-Hard-2412',
}
"""Another published name of a benchmark → the one in `BENCHMARKS`."""

SHIPPED: Mapping[str, Path] = {
    'published': Path(__file__).with_name('leaderboards') / 'page.md',
    'published-readme': Path(__file__).with_name('leaderboards') / 'readme.md',
}
"""Name of a leaderboard that comes with this package → its file, which tells its source."""


@dataclass(frozen=True)
class Published:
    """Aggregates of a leaderboard."""

    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    metrics: tuple[Measure, ...]
    values: Mapping[tuple[str, str, Measure], float]
    """(model, benchmark, metric) → percent; what was not published is not there."""
    decimals: Mapping[tuple[str, str, Measure], int] = field(default_factory=dict)
    """The same → the digits behind the point that are printed: the value was rounded to as many."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """Model → 'general', 'mathematical' or 'o1-like', as far as the leaderboard says it."""
    closed: frozenset[str] = frozenset()
    """Models whose weights are not published, as far as the leaderboard says it."""
    source: str = ''
    """Where the numbers come from, as the file says it in a line `- Source: …`."""

    @property
    def leading(self) -> Measure:
        """The metric that ranks: mG-Pass@k of the largest k, else the last one."""
        means = [one for one in self.metrics if isinstance(one, Metric) and one.kind is Kind.MG_PASS]
        return max(means, default=self.metrics[-1])

    def ranked(self, benchmark: str, metric: Measure) -> list[str]:
        """Return the models that have the metric, best first."""
        known = [model for model in self.models if (model, benchmark, metric) in self.values]
        return sorted(known, key=lambda model: -self.values[model, benchmark, metric])


def read_published(path: Path) -> Published:
    """Read a leaderboard: the JSON of its page, or a Markdown text with a table a benchmark.

    Raises:
        InputError: the file cannot be read, is laid out otherwise, or has a score twice.
    """
    try:
        text = path.read_text('utf-8-sig')
    except FileNotFoundError as error:
        names = ', '.join(SHIPPED)
        raise InputError(f'{path}: no such file; leaderboards that come along: {names}') from error
    except (OSError, ValueError) as error:
        raise InputError(f'{path} cannot be read: {error}') from error
    in_json = path.suffix == '.json' or text.lstrip()[:1] in ('{', '[')
    try:
        models, printed = _of_json(text) if in_json else _of_markdown(text)
        scores = _scores(printed)
        values = {key: _percent(one) for key, one in scores.items()}
    except InputError as error:
        raise InputError(f'{path}: {error}') from error
    if not values:
        raise InputError(f'{path} has no score: expected Greedy, G-Pass@16-0.5, mG-Pass@16 or the like')
    decimals = {key: min(len(one.number.partition('.')[2]), _MOST_DIGITS) for key, one in scores.items()}
    benchmarks = tuple(dict.fromkeys(benchmark for _, benchmark, _ in values))
    metrics = tuple(dict.fromkeys(metric for _, _, metric in values))
    kinds = {one.model: one.kind for one in printed if one.kind}
    closed = frozenset(one.model for one in printed if one.closed)
    source = re.search(r'^- Source: (.+)$', '' if in_json else text, re.MULTILINE)
    return Published(
        models, benchmarks, metrics, values, decimals, kinds, closed, source[1] if source else ''
    )


def as_published(scored: Scored) -> dict[str, dict[str, Any]]:
    """Return our boards in the layout of the published leaderboard, as its page reads it.

    A model has its own name where it has one setting, the abbreviation with the settings where it has
    several. Facts on it that are not known are null, and `link` is ''. Each model has all columns of the
    published page for each benchmark, null where there is no score. Beside the layout there are `parameters`,
    where they are known, and `health`, for a model with many cut or empty responses: benchmark -> what is to
    be said beside its scores.
    """
    columns = [(published_benchmark(board), board) for board, _ in scored]
    names = _names([board for board, _ in scored])
    models: dict[str, dict[str, Any]] = {}
    for (benchmark, board), (_, rows) in zip(columns, scored, strict=True):
        for entry, scores in zip(board.entries, rows, strict=True):
            facts = models.setdefault(names[entry.run], _facts(entry.result))
            if mark := entry.result.health.mark:
                facts.setdefault('health', {})[benchmark] = mark
            values = {str(one).replace('_', '-'): scores.get((ALL, one)) for one in measures_of(board)}
            for metric in dict.fromkeys((*_PAGE_METRICS, *values)):
                row = facts.setdefault(metric, {name: None for name, _ in columns})
                if score := values.get(metric):
                    row[benchmark] = round(score.value, 2)
    return models


def published_benchmark(board: Board) -> str:
    """Return the published name where it is the same set of questions, else the board's title."""
    for name, known in BENCHMARKS.items():
        if (known.label, known.questions) == (board.title, board.questions):
            return name
    return board.title


def metric_name(published: str) -> str:
    """Return the key of a metric by its published name: 'G-Pass@16_0.5' of 'G-Pass@16-0.5'."""
    return re.sub(r'(@\d+)-', r'\1_', published)


def _names(boards: Sequence[Board]) -> dict[str, str]:
    """Run of an entry → name of the model, where that says which is meant."""
    models = {entry.run: entry.model for board in boards for entry in board.entries}
    taken = list(models.values())
    return {run: model if taken.count(model) == 1 else run for run, model in models.items()}


def _facts(result: Result) -> dict[str, Any]:
    """Return what the layout says of a model: texts, as in the published file."""
    path, facts = result.manifest.path if result.manifest else '', result.facts
    hub = f'https://huggingface.co/{path}' if re.fullmatch(r'[\w.-]+/[\w.-]+', path) else ''
    flags = {'opensourced': facts.open_source, 'mathLM': facts.mathematical, 'o1-like': facts.o1_like}
    return {
        'link': facts.link or hub,
        **{name: None if flag is None else str(flag).upper() for name, flag in flags.items()},
        **({'parameters': facts.parameters} if facts.parameters else {}),
    }


def _scores(printed: Iterable[Printed]) -> dict[tuple[str, str, Measure], Printed]:
    """Return each number by its model, its benchmark and its metric, under one name where it has several.

    Raises:
        InputError: a column is no metric, or two numbers are the same score of the same model.
    """
    scores: dict[tuple[str, str, Measure], Printed] = {}
    for one in printed:
        benchmark = _SAME_BENCHMARK.get(one.benchmark, one.benchmark)
        key = one.model, benchmark, measure_of(metric_name(one.metric))
        first = scores.setdefault(key, one)
        if first is not one:
            names = ' and '.join(dict.fromkeys(f'{it.benchmark} {it.metric}' for it in (first, one)))
            raise InputError(
                f'{one.model}, {benchmark}, {key[2]}: two values, {first.number} and {one.number} (under '
                f'{names}); expected one: delete the wrong one, or rename its model, heading or column'
            )
    return scores


def _of_json(text: str) -> tuple[tuple[str, ...], list[Printed]]:
    """Return the models of the JSON and its numbers, also those of a key that stands there twice."""
    try:
        content = parse_json(text, objects=tuple)
    except ValueError as error:
        raise InputError(f'no JSON: {error}') from error
    if not isinstance(content, tuple) or not all(isinstance(facts, tuple) for _, facts in content):
        raise InputError('no leaderboard: expected {model: {metric: {benchmark: percent}}}')
    models: dict[str, list[tuple[str, Any]]] = {}
    for model, facts in content:
        models.setdefault(model, []).extend(facts)
    kinds = {model: _kind(dict(facts)) for model, facts in models.items()}
    closed = {model for model, facts in models.items() if _flag(dict(facts), 'opensourced') == 'FALSE'}
    return tuple(models), [
        Printed(benchmark, model, kinds[model], metric, _digits(model, benchmark, value), model in closed)
        for model, facts in models.items()
        for metric, row in facts
        if isinstance(row, tuple) and _METRIC.fullmatch(metric)
        for benchmark, value in row
        if value is not None
    ]


def _of_markdown(text: str) -> tuple[tuple[str, ...], list[Printed]]:
    printed = list(printed_numbers(text))
    return tuple(dict.fromkeys(one.model for one in printed)), printed


def _kind(facts: Mapping[str, Any]) -> str:
    """Return the kind of a model by the leaderboard's flags, 'TRUE' or 'FALSE'; '' where it has none."""
    mathematical, o1_like = (_flag(facts, name) for name in ('mathLM', 'o1-like'))
    if 'TRUE' in (mathematical, o1_like):
        return 'o1-like' if o1_like == 'TRUE' else 'mathematical'
    return 'general' if mathematical == o1_like == 'FALSE' else ''


def _flag(facts: Mapping[str, Any], name: str) -> str:
    """Return a flag of the page, which may be a text or true or false, in capitals."""
    return str(facts.get(name)).upper()


def _digits(model: str, benchmark: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InputError(_no_percentage(model, benchmark, repr(value)))
    return f'{Decimal(repr(value)):f}'


def _percent(one: Printed) -> float:
    if not 0 <= float(one.number) <= 100:
        raise InputError(_no_percentage(one.model, one.benchmark, one.number))
    return float(one.number)


def _no_percentage(model: str, benchmark: str, value: str) -> str:
    return f'{model}, {benchmark}: {value:.40}; expected a percentage from 0 to 100, or null'
