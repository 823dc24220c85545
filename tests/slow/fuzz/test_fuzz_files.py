"""Files of rows, results and manifests, damaged, are read or refused by each command."""

from __future__ import annotations

import contextlib
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from damaged_records import damaged_records, good_record
from drawn import deep, mutated, values
from fuzzing import fuzz, gpassk
from hypothesis import strategies as st
from result_files import ABBR, THIRDS, entry_of, write_result

from gpassk_opencompass.collect import collect
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.json_rows import json_rows
from gpassk_opencompass.report.frame import boards
from gpassk_opencompass.sweep.folder import manifest_text, read_manifest

ROWS = [
    {'uid': 'a', 'question': '1 + 1?', 'answer': '2', 'responses': [r'\boxed{2}', '3'], 'language': 'en'},
    {'uid': 'b', 'problem': 'p', 'split': 'AMC', 'correct': [True, False, None], 'answers': ['1', '2', '']},
    {'uid': 'c', 'n': 4, 'c': 2, 'unjudged': 1},
    {'uid': 'd', 'correct': '10?1'},
    {'question': 'q', 'reference': '1', 'answer': '1', 'label': 'correct', 'language': 'cn', 'source': 's'},
]


def lines_of(rows: Sequence[Any]) -> bytes:
    return ''.join(json.dumps(row) + '\n' for row in rows).encode()


row_sets = st.sampled_from([[ROWS[place]] * 3 for place in range(len(ROWS))]).map(lines_of)
FIELDS = sorted({name for row in ROWS for name in row})
changed_rows = st.builds(
    lambda row, more: {**row, **more},
    st.sampled_from(ROWS),
    st.dictionaries(st.sampled_from(FIELDS), values, max_size=2),
)
row_values = st.lists(changed_rows, min_size=1, max_size=4).map(lines_of)


@fuzz(st.binary(max_size=40) | row_sets.map(gzip.compress).flatmap(mutated))
def test_a_damaged_archive_is_refused(folder: Path, content: bytes) -> None:
    path = folder / 'damaged.jsonl.gz'
    path.write_bytes(content)
    with contextlib.suppress(InputError):
        list(json_rows(path))


@fuzz(
    row_sets.flatmap(mutated) | row_values | deep.map('{{"uid": {}, "n": 1, "c": 1}}'.format).map(str.encode),
    share=2,
)
def test_scoring_reads_rows_or_refuses_them(folder: Path, content: bytes) -> None:
    """Labels and counts, to a record and to a table; responses are left out, as they need a judge."""
    path = folder / 'scored.jsonl'
    path.write_bytes(content)
    gpassk('score', path, '--judge', 'none', '-o', folder / 'scored.json')
    gpassk('score', path, '--judge', 'none', '-o', folder / 'scored.csv')


results = (
    st.just(json.dumps(good_record()).encode()).flatmap(mutated)
    | damaged_records().map(lambda record: json.dumps(record).encode())
    | st.builds(
        lambda place, text: json.dumps(good_record()).replace(place, text).encode(),
        st.sampled_from(['"rule"', '"Q"', '"w"', '["1111", ', '"cascade"', '"silent": 1', '"q"']),
        deep,
    )
)


@fuzz(results, share=2)
def test_a_damaged_result_is_refused_or_reported(folder: Path, content: bytes) -> None:
    path = folder / 'r.gpassk.json'
    path.write_bytes(content)
    gpassk('report', path, '-o', folder / 'report', '--only', 'tables')
    gpassk('score', path, '-o', folder / 'rescored.json')
    gpassk('plan', path, '--half-width', '5', '--metric', 'mG-Pass@2')


ENTRY = entry_of(ABBR.format(1), dataset_abbr='MATH500-L5-k2-r2')
entries = st.builds(
    lambda fields: (
        manifest_text([ENTRY]).encode()
        + json.dumps({**json.loads(manifest_text([ENTRY])), **fields}).encode()
        + b'\n'
    ),
    st.dictionaries(st.sampled_from(sorted(vars(ENTRY))), values, max_size=2),
)


@fuzz(
    st.just(manifest_text([ENTRY])).map(str.encode).flatmap(mutated) | entries | deep.map(str.encode), share=2
)
def test_a_damaged_manifest_is_refused_or_used(folder: Path, content: bytes) -> None:
    """By whoever reads it: no file outside its folder is named, and a report can be made."""
    work = folder / 'swept'
    write_result(work, ABBR.format(1), THIRDS)
    (work / 'manifest.jsonl').write_bytes(content)
    try:
        for entry in read_manifest(work):
            assert Path(entry.file).name == entry.file
        boards(collect([work]).results)
    except InputError:
        pass
    gpassk('report', work, '-o', folder / 'swept_report', '--only', 'tables')
