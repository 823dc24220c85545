"""Lighteval's details, damaged or with columns of other kinds, are read or refused, and reported on."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from drawn import any_text, mutated, values
from fuzzing import fuzz, gpassk
from hypothesis import strategies as st

from gpassk_opencompass.collect import collect
from gpassk_opencompass.record import data_of

parquet = pytest.importorskip('pyarrow.parquet', reason='pyarrow is not installed')
pyarrow = pytest.importorskip('pyarrow')

RECORDED = Path(__file__).parents[2] / 'recorded' / 'lighteval'
[DETAILS] = RECORDED.rglob('details_*.parquet')
[SUMMARY] = RECORDED.rglob('results_*.json')

Rows = list[dict[str, Any]]


def read(folder: Path, content: bytes) -> None:
    """Read details of this content beside their results file; what is read can be written as JSON."""
    path = folder / 'lighteval' / DETAILS.relative_to(RECORDED)
    if not path.exists():
        shutil.copytree(RECORDED, folder / 'lighteval')
    path.write_bytes(content)
    for result in collect([path]).results:
        json.dumps(result.as_json())
    for part in ('tables', 'page'):
        gpassk('report', folder / 'lighteval', '-o', folder / 'report', '--only', part)
    gpassk('plan', path, '--half-width', '5', '--metric', 'mG-Pass@4')


@cache
def recorded_rows() -> Rows:
    rows: Rows = parquet.ParquetFile(DETAILS).read().to_pylist()
    return rows


METRIC = ('metric', 'G-Pass@k')
SPECIFIC = ('doc', 'specific')
SHOWN = [(*METRIC, name) for name in ('answers', 'verdicts', 'judged_by')]
PLACES: list[tuple[str, ...]] = [
    ('metric',), METRIC, ('model_response',), ('model_response', 'text'), ('model_response', 'reasonings'),
    (*METRIC, 'c'), (*METRIC, 'gpassk'), ('doc',), ('doc', 'id'),
    ('doc', 'task_name'), ('doc', 'generation_size'), SPECIFIC,
    *((*SPECIFIC, name) for name in ('uid', 'problem', 'question', 'split', 'language', 'benchmark')),
]  # fmt: skip


def sealed(rows: Rows) -> None:
    """The digest of the questions as they are now, so that what comes behind its check is reached, too."""
    with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):
        columns = [
            [row['doc']['specific'][name] for row in rows] for name in ('uid', 'question', 'reference')
        ]
        block = json.loads(rows[0]['metric']['G-Pass@k']['gpassk'])
        text = json.dumps({**block, 'data': data_of(*columns).model_dump(exclude_none=True)})
        for row in rows:
            row['metric']['G-Pass@k']['gpassk'] = text


class Change(NamedTuple):
    """Another value in one place of the first rows."""

    place: tuple[str, ...]
    value: object
    numbered: bool
    """Made a text that differs from row to row: a column with values of several kinds cannot be written."""
    rows: int

    def put_into(self, rows: Rows) -> None:
        for number, row in enumerate(rows[: self.rows]):
            holder: Any = row
            for step in self.place[:-1]:
                holder = holder.get(step) if isinstance(holder, dict) else None
            if isinstance(holder, dict):
                holder[self.place[-1]] = f'{self.value}{number}' if self.numbered else self.value


typed = st.one_of(st.binary(max_size=3), st.datetimes(), st.timedeltas(), st.decimals(-9, 9, places=2))
changes = st.builds(
    Change,
    st.sampled_from(SHOWN) | st.sampled_from(PLACES),
    values | (any_text | typed).flatmap(lambda one: st.sampled_from([one, [one] * 8])),
    st.booleans(),
    st.sampled_from([48, 48, 48, 1]),
)


def packed(table: Any) -> bytes:
    written = io.BytesIO()
    parquet.write_table(table, written)
    return written.getvalue()


@fuzz(mutated(packed(pyarrow.Table.from_pylist(recorded_rows()))))
def test_damaged_details_are_refused_or_read(folder: Path, content: bytes) -> None:
    read(folder, content)


@fuzz(st.lists(changes, min_size=1, max_size=2), st.booleans())
def test_details_of_other_contents_are_refused_or_reported(
    folder: Path, changed: list[Change], seal: bool
) -> None:
    rows = copy.deepcopy(recorded_rows())
    for change in changed:
        change.put_into(rows)
    if seal:
        sealed(rows)
    try:
        content = packed(pyarrow.Table.from_pylist(rows))
    except (pyarrow.ArrowException, OverflowError, TypeError, ValueError):
        return  # there is no such file
    read(folder, content)


@fuzz(mutated(SUMMARY.read_bytes()) | values.map(lambda value: json.dumps(value).encode()))
def test_a_damaged_results_file_of_lighteval_does_not_stop_a_report(folder: Path, content: bytes) -> None:
    """Its details are reported without what it would tell, or it is named."""
    copied = folder / 'summary'
    if not copied.exists():
        shutil.copytree(RECORDED, copied)
    (copied / SUMMARY.relative_to(RECORDED)).write_bytes(content)
    found = collect([copied])
    assert len(found.results) + len(found.passed_over) > 0
    gpassk('report', copied, '-o', folder / 'report', '--only', 'tables')
