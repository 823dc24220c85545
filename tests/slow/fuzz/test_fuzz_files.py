"""Files of rows, results, manifests and verdicts, damaged or made up, are read or refused."""

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
from gpassk_opencompass.judges import Verdict
from gpassk_opencompass.judges.verdicts import VerdictStore, verdict_key
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
def test_a_damaged_archive_is_refused(folder, content):
    path = folder / 'damaged.jsonl.gz'
    path.write_bytes(content)
    with contextlib.suppress(InputError):
        list(json_rows(path))


@fuzz(
    row_sets.flatmap(mutated) | row_values | deep.map('{{"uid": {}, "n": 1, "c": 1}}'.format).map(str.encode),
    share=2,
)
def test_scoring_reads_rows_or_refuses_them(folder, content):
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
def test_a_damaged_result_is_refused_or_reported(folder, content):
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
def test_a_damaged_manifest_is_refused_or_used(folder, content):
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


# Verdict stores: no verdict but those that were put

JUDGE = {'model': 'Q', 'prompts': 'p', 'sampling': {'temperature': 0.0}}
PUT = {
    verdict_key(JUDGE, str(number)): Verdict.CORRECT if number % 3 else Verdict.INCORRECT
    for number in range(12)
}


def sound_store(folder: Path) -> bytes:
    store = VerdictStore(folder)
    for number, (key, verdict) in enumerate(PUT.items()):
        about = {'question': f'求 {number}?', 'reference': '1', 'answer': str(number), 'language': 'cn'}
        store.put(key, verdict, {**about, 'reply': r'\boxed{yes}', 'judge': JUDGE, 'time': '2026-01-01'})
    store.close()
    [file] = folder.glob('*.jsonl')
    return file.read_bytes()


@fuzz(st.data(), share=3)
def test_a_damaged_store_holds_nothing_but_what_was_put(folder, data):
    """A line whose checksum does not hold is not there; all others say what was put."""
    whole, damaged = folder / 'sound', folder / 'store'
    content = next(whole.glob('*.jsonl')).read_bytes() if whole.exists() else sound_store(whole)
    damaged.mkdir(exist_ok=True)
    (damaged / '1.jsonl').write_bytes(data.draw(mutated(content)))
    store = VerdictStore(damaged)
    assert all(store.get(key) in (None, verdict) for key, verdict in PUT.items())
    assert len(store) <= len(PUT)
    assert all(PUT[line.key] is line.verdict for line in store.lines())
