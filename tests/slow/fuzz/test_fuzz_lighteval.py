"""Lighteval's details, damaged or with columns of other kinds, are read or refused, and reported on."""

from __future__ import annotations

import copy
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow
from drawn import any_text, mutated, values
from fuzzing import fuzz, gpassk
from hypothesis import strategies as st
from pyarrow import parquet

from gpassk_opencompass.collect import collect

RECORDED = Path(__file__).parents[2] / 'recorded' / 'lighteval'
[DETAILS] = RECORDED.rglob('details_*.parquet')
[SUMMARY] = RECORDED.rglob('results_*.json')
ROWS: list[dict[str, Any]] = parquet.ParquetFile(DETAILS).read().to_pylist()
PLACES = [
    *('metric', 'metric/G-Pass@k', 'metric/G-Pass@k/c', 'metric/G-Pass@k/gpassk', 'model_response'),
    *(f'model_response/{name}' for name in ('text', 'reasonings')),
    *('doc', 'doc/id', 'doc/task_name', 'doc/generation_size', 'doc/specific'),
    *(f'doc/specific/{name}' for name in ('uid', 'problem', 'question', 'split', 'language', 'benchmark')),
]
SHOWN = [f'metric/G-Pass@k/{name}' for name in ('answers', 'verdicts', 'judged_by')]


def with_file(folder: Path, file: Path, content: bytes) -> Path:
    """A copy of the recorded run in which a file has this content."""
    copied = folder / 'lighteval'
    shutil.rmtree(copied, ignore_errors=True)
    shutil.copytree(RECORDED, copied)
    (path := copied / file.relative_to(RECORDED)).write_bytes(content)
    return path


def read(folder: Path, content: bytes) -> None:
    """Read details of this content beside their results file; what is read can be written as JSON."""
    path = with_file(folder, DETAILS, content)
    for result in collect([path]).results:
        json.dumps(result.as_json())
    for part in ('tables', 'page'):
        gpassk('report', folder / 'lighteval', '-o', folder / 'report', '--only', part)
    gpassk('plan', path, '--half-width', '5', '--metric', 'mG-Pass@4')


def packed(table: Any) -> bytes:
    written = io.BytesIO()
    parquet.write_table(table, written)
    return written.getvalue()


typed = st.one_of(st.binary(max_size=3), st.datetimes(), st.timedeltas(), st.decimals(-9, 9, places=2))
changes = st.tuples(
    st.sampled_from(SHOWN) | st.sampled_from(PLACES),
    values | (any_text | typed).flatmap(lambda one: st.sampled_from([one, [one] * 8])),
    st.booleans(),  # a text that differs from row to row: values of several kinds cannot be written
    st.sampled_from([48, 48, 48, 1]),  # rows
)


@fuzz(mutated(packed(pyarrow.Table.from_pylist(ROWS))))
def test_damaged_details_are_refused_or_read(folder, content):
    read(folder, content)


@fuzz(st.lists(changes, min_size=1, max_size=2))
def test_details_of_other_contents_are_refused_or_reported(folder, changed):
    rows = copy.deepcopy(ROWS)
    for place, value, numbered, size in changed:
        *way, last = place.split('/')
        for number, row in enumerate(rows[:size]):
            holder: Any = row
            for step in way:
                holder = holder.get(step) if isinstance(holder, dict) else None
            if isinstance(holder, dict):
                holder[last] = f'{value}{number}' if numbered else value
    try:
        content = packed(pyarrow.Table.from_pylist(rows))
    except (pyarrow.ArrowException, OverflowError, TypeError, ValueError):
        return  # there is no such file
    read(folder, content)


@fuzz(mutated(SUMMARY.read_bytes()) | values.map(lambda value: json.dumps(value).encode()))
def test_a_damaged_results_file_of_lighteval_does_not_stop_a_report(folder, content):
    """Its details are reported without what it would tell, or it is named."""
    with_file(folder, SUMMARY, content)
    found = collect([folder / 'lighteval'])
    assert len(found.results) + len(found.passed_over) > 0
    gpassk('report', folder / 'lighteval', '-o', folder / 'report', '--only', 'tables')
