"""What in a published table cannot be, or is doubtful: contradictions, repeated rows, differences."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

from ..errors import InputError
from ..metrics import Metric
from ..tables import Column, Table, csv_text
from .attainable import Limits, attainable, possible
from .published import BENCHMARKS, Published
from .scores import GREEDY, Measure

IMPOSSIBLE, NO_COUNT, ROUNDING = 'impossible', 'no count', 'rounding'
REPEATED, DIFFERS = 'repeated', 'differs'

KINDS: Mapping[str, str] = {
    IMPOSSIBLE: 'no answers give these values together, even if each is one off in its last digit',
    NO_COUNT: 'no number of right answers, one a question, gives this accuracy; a mean over several may',
    ROUNDING: 'possible only if a value is one off in its last digit: cut off, or rounded twice',
    REPEATED: 'values of another model of the same table: all, or three or more and not 0 or 100',
    DIFFERS: 'another table has another value, also with the digits that both print',
}
"""Kind of a finding → what it says."""

MOST_SAMPLES = 1024
"""With more samples a question the limits hardly move, and fractions take long."""

_FEWEST_REPEATED = 3

Row = Mapping[Measure, float]


class Finding(NamedTuple):
    """One thing that is wrong or doubtful in a row of a published table."""

    benchmark: str
    model: str
    kind: str
    """One of `KINDS`."""
    text: str


class Differences(NamedTuple):
    """Two tables beside each other; a row is a model on a benchmark."""

    findings: list[Finding]
    """One for each row with a value that differs."""
    shared: int
    """Rows that both have."""
    alone: list[tuple[str, str]]
    """(model, benchmark) of those that the second lacks."""


def audit(published: Published, n: int) -> list[Finding]:
    """Return what is wrong or doubtful in a table.

    Values of one row must fit together, whatever answers they come from; `attainable` says how that is
    known. A printed value stands for all those that are rounded to it. Where the number of questions is not
    known (`BENCHMARKS`), what follows from it is not asked for.

    Args:
        published: the table.
        n: samples a question behind it.

    Raises:
        InputError: n is less than a k of the table, or more than `MOST_SAMPLES`.
    """
    largest = max((one.k for one in published.metrics if isinstance(one, Metric)), default=1)
    if not largest <= n <= MOST_SAMPLES:
        raise InputError(f'n = {n}: expected from {largest}, the largest k of the table, to {MOST_SAMPLES}')
    findings = []
    for benchmark in published.benchmarks:
        rows = _rows(published, benchmark)
        known = BENCHMARKS.get(benchmark)
        questions = known.questions if known else None
        for model, row in rows.items():
            printed = {metric: _Printed.of(published, (model, benchmark, metric)) for metric in row}
            findings += [
                Finding(benchmark, model, *found) for found in _contradictions(printed, n, questions)
            ]
        findings += [Finding(benchmark, *rest) for rest in _repeated(rows)]
    return findings


def differences(first: Published, second: Published, names: Mapping[str, str] | None = None) -> Differences:
    """Return where two tables of the same thing differ.

    Two values agree if one is the other rounded to fewer digits; half-way, up or down.

    Args:
        first, second: the tables; models are matched by the letters and digits of their names.
        names: name of a model in the first → its name in the second, for others.
    """
    others = {_plain(model): model for model in second.models}
    findings, shared, alone = [], 0, []
    for benchmark in first.benchmarks:
        theirs = _rows(second, benchmark)
        for model, row in _rows(first, benchmark).items():
            partner = (names or {}).get(model) or others.get(_plain(model), '')
            if partner not in theirs:
                alone.append((model, benchmark))
                continue
            shared += 1
            pairs = {
                metric: (
                    _Printed.of(first, (model, benchmark, metric)),
                    _Printed.of(second, (partner, benchmark, metric)),
                )
                for metric in row
                if metric in theirs[partner]
            }
            if differing := [
                f'{metric} {one.text} and {other.text}'
                for metric, (one, other) in pairs.items()
                if not one.agrees(other)
            ]:
                findings.append(Finding(benchmark, model, DIFFERS, ', '.join(differing)))
    return Differences(findings, shared, alone)


def findings_table(findings: Sequence[Finding]) -> Table:
    """Return a row a finding."""
    columns = [Column(name, 'left') for name in ('benchmark', 'model', 'kind', 'finding')]
    return Table('Findings', columns, [tuple(one) for one in findings])


def findings_csv(findings: Sequence[tuple[str, Finding]]) -> str:
    """Return a line a finding, with the name of its table before it."""
    return csv_text([['table', *Finding._fields], *([table, *one] for table, one in findings)])


def _rows(published: Published, benchmark: str) -> Mapping[str, Row]:
    rows: dict[str, dict[Measure, float]] = {}
    for (model, of, metric), value in published.values.items():
        if of == benchmark:
            rows.setdefault(model, {})[metric] = value
    return rows


def _contradictions(
    printed: Mapping[Measure, _Printed], n: int, questions: int | None
) -> Iterator[tuple[str, str]]:
    """Return kind and text of what no answers give: the greedy accuracy, and the metrics together."""
    if GREEDY in printed and questions and (text := _no_accuracy(printed[GREEDY], questions)):
        yield (NO_COUNT if _no_accuracy(printed[GREEDY], questions, 1) else ROUNDING), text
    metrics = {
        metric: printed[metric] for metric in sorted(one for one in printed if isinstance(one, Metric))
    }
    if metrics and (text := _no_counts(metrics, n, questions)):
        yield (IMPOSSIBLE if _no_counts(metrics, n, questions, 1) else ROUNDING), text


class _Printed(NamedTuple):
    """A value in percent as it is printed."""

    value: Fraction
    unit: Fraction
    """One in its last digit."""
    text: str

    @classmethod
    def of(cls, published: Published, key: tuple[str, str, Measure]) -> _Printed:
        digits = published.decimals.get(key, 1)
        text = f'{published.values[key]:.{digits}f}'
        return cls(Fraction(text), Fraction(1, 10**digits), text)

    def agrees(self, other: _Printed) -> bool:
        """Return whether the two are equal, or one is the other rounded."""
        return 2 * abs(self.value - other.value) <= max(self.unit, other.unit)

    def limits(self, units: Fraction | float) -> Limits:
        """Return all values that are as many units off, as fractions of 1."""
        off = self.unit * Fraction(units)
        return Limits(max((self.value - off) / 100, Fraction(0)), min((self.value + off) / 100, Fraction(1)))


def _no_accuracy(printed: _Printed, questions: int, off: float = 0.5) -> str:
    """Return why no number of right answers, one a question, gives an accuracy; '' if one does."""
    low, high = printed.limits(off)
    if math.ceil(low * questions) <= high * questions:
        return ''
    below = math.floor(low * questions)
    near = ' and '.join(
        f'{count}/{questions} = {100 * count / questions:.2f}' for count in (below, below + 1)
    )
    return f'{GREEDY} {printed.text}: the nearest are {near}'


def _no_counts(printed: Mapping[Metric, _Printed], n: int, questions: int | None, off: float = 0.5) -> str:
    """Return why no counts give these values together; '' if some do, or nobody knows."""
    row = {metric: one.limits(off) for metric, one in printed.items()}
    if possible(row, n, questions):
        return ''
    largest = max(metric.k for metric in row)
    for size, condition in ((largest, 'whatever the number of samples'), (n, f'with {n} samples a question')):
        before: dict[Metric, Limits] = {}
        for metric, limits in row.items():
            lowest, highest = attainable(metric, before, size) or (limits.low, limits.high)
            if limits.low > highest or limits.high < lowest:
                above = limits.low > highest
                end = f'at most {_percent(highest, up=True)}' if above else f'at least {_percent(lowest)}'
                given = ', '.join(f'{other} {printed[other].text}' for other in before)
                beside = f' beside {given}' if given else ''
                return f'{metric} {printed[metric].text}: {end}{beside}, {condition}'
            before[metric] = limits
    if questions and possible(row, n):
        return f'no {questions} questions with {n} samples each give all of these values'
    return ''  # the solver refused what the exact limits allow: too close to call


def _percent(value: Fraction, *, up: bool = False) -> str:
    """Return a percentage with two digits, rounded outwards so that the limit still holds."""
    scaled = value * 10_000
    return f'{(math.ceil(scaled) if up else math.floor(scaled)) / 100:.2f}'


def _repeated(rows: Mapping[str, Row]) -> Iterator[tuple[str, str, str]]:
    """Return (model, kind, text) of rows that have values of an earlier one."""
    for first, second in combinations(rows, 2):
        shared = [metric for metric in rows[second] if metric in rows[first]]
        equal = [metric for metric in shared if rows[first][metric] == rows[second][metric]]
        telling = [metric for metric in equal if 0 < rows[second][metric] < 100]
        if len(telling) >= _FEWEST_REPEATED:
            which = 'all values' if equal == shared else ', '.join(map(str, telling))
            yield second, REPEATED, f'{which} as {first}'


def _plain(name: str) -> str:
    return re.sub(r'[\W_]', '', name).casefold()
