"""Published leaderboards: those that are shipped, those that are read, and our scores in their layout.

The layout of the JSON: one object a model, percent by metric and benchmark.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files import parse_json
from ..metrics import Kind, Metric
from ..record import Result
from ..sweep.folder import ModelFacts
from .leaderboard import Board
from .scores import ALL, Measure, Scored, measure_of, measures_of

_METRIC = re.compile(r'G-Pass@\d+[-_][0-9.]+|mG-Pass@\d+|Greedy')
_HEADING = re.compile(r'#{1,6}\s+(.*)')
_TO_ZERO = re.compile(r'(?:→|\\to|\\rightarrow)0(?:\.0+)?')
_RULE = re.compile(r':?-+:?')
_COLUMN = re.compile(r'Greedy|accuracy|(?:pass|m?G-Pass)@[0-9].*')
_NUMBER = re.compile(r'[0-9]+(?:\.[0-9]+)?')
_NOTHING = frozenset({'', '-', '–', '—'})
_MARKS = re.compile('[⚽🏐🏀]')
"""Behind the names of models in the published tables: general, mathematical, o1-like."""

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

    @property
    def leading(self) -> Measure:
        """The metric that ranks: mG-Pass@k of the largest k, else the last one."""
        means = [one for one in self.metrics if isinstance(one, Metric) and one.kind is Kind.MG_PASS]
        return max(means, default=self.metrics[-1])


class Printed(NamedTuple):
    """One number of a table as it is printed: '24.0'."""

    benchmark: str
    model: str
    metric: str
    """As a key: 'G-Pass@16_0.5' also of 'G-Pass@$16_{0.5}$'."""
    number: str


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
    benchmarks = tuple(dict.fromkeys(benchmark for _, benchmark, _ in values))
    metrics = tuple(dict.fromkeys(metric for _, _, metric in values))
    return Published(models, benchmarks, metrics, values)


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
    manifest = result.manifest
    path, facts = (manifest.path, manifest.facts) if manifest else ('', ModelFacts())
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
    return tuple(models), [
        Printed(benchmark, model, metric, _digits(model, benchmark, value))
        for model, facts in models.items()
        for metric, row in facts
        if isinstance(row, tuple) and _METRIC.fullmatch(metric)
        for benchmark, value in row
        if value is not None
    ]


def _of_markdown(text: str) -> tuple[tuple[str, ...], list[Printed]]:
    printed = list(_printed_numbers(text))
    return tuple(dict.fromkeys(one.model for one in printed)), printed


def _printed_numbers(text: str) -> Iterator[Printed]:
    """Return the numbers of all score tables; tables without a column of scores are passed over.

    A table belongs to the heading before it. Emphasis, links, `$`, `%` and the mark ‡ are taken off.

    Raises:
        InputError: a table has no heading, a row has another number of cells than its head, a model stands
            there twice, or a cell is no number. The message begins with the number of the line.
    """
    benchmark, head, models = '', list[str](), set[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if heading := _HEADING.fullmatch(line):
            benchmark = _plain(heading[1].rstrip('# \t'))
        cells = _cells(line)
        if not cells:
            head = []
        elif not head:
            head, models = [_metric(cell) for cell in cells], set()
        elif any(head) and not all(map(_RULE.fullmatch, cells)):
            yield from _row(f'line {number}', benchmark, head, cells, models)


def _row(
    where: str, benchmark: str, head: Sequence[str], cells: Sequence[str], models: set[str]
) -> Iterator[Printed]:
    model = _plain(_MARKS.sub('', cells[0])).rstrip('†‡ ')
    if not benchmark:
        raise InputError(f'{where}: a table of scores without a heading above it that names the benchmark')
    if len(cells) != len(head):
        raise InputError(f'{where}: {len(cells)} cells, and the head of the table has {len(head)}')
    if model in models:
        raise InputError(f'{where}: {model} has two rows on {benchmark}')
    models.add(model)
    for metric, cell in zip(head, cells, strict=True):
        value = _plain(cell).rstrip('%†‡ ')
        if not metric or value in _NOTHING:
            continue
        if not _NUMBER.fullmatch(value):
            raise InputError(f'{where}: {model}, {metric}: {cell!r:.40}; expected a percentage, or –')
        yield Printed(benchmark, model, metric, value)


def _cells(line: str) -> list[str]:
    """Return the cells of a line of a table, [] of any other line."""
    line = line.strip()
    if '|' not in line:
        return []
    return [cell.strip() for cell in re.split(r'(?<!\\)\|', line.removeprefix('|').removesuffix('|'))]


def _metric(cell: str) -> str:
    """Return the key of a column's metric, 'G-Pass@4_0.0' of 'G-Pass@4_→0'; '' of a column that has none."""
    key = _TO_ZERO.sub('0.0', re.sub(r'[${}*\s]', '', cell).replace(r'\_', '_'))
    return key if _COLUMN.fullmatch(key) else ''


def _plain(text: str) -> str:
    """Return a text without links, emphasis and escapes."""
    text = re.sub(r'\[([^\[\]]*)\]\([^()]*\)', r'\1', text)
    return re.sub(r'\\([\W_])', r'\1', re.sub(r'(?<!\\)[*$`]', '', text)).strip().strip('_')


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
