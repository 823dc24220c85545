"""Verdict stores, damaged or made up by somebody: no verdict but those that were put, no exception."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

from drawn import any_text, deep, mutated, values
from fuzzing import fuzz
from hypothesis import strategies as st

from gpassk_opencompass.judges import Verdict
from gpassk_opencompass.judges.verdicts import VerdictStore, verdict_key

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


def written(folder: Path, content: bytes) -> Path:
    store = folder / 'store'
    store.mkdir(exist_ok=True)
    (store / '1.jsonl').write_bytes(content)
    return store


@fuzz(st.data(), share=3)
def test_a_damaged_store_holds_nothing_but_what_was_put(folder: Path, data: st.DataObject) -> None:
    """A line whose checksum does not hold is not there; all others say what was put."""
    whole = Path(folder / 'sound')
    content = next(whole.glob('*.jsonl')).read_bytes() if whole.exists() else sound_store(whole)
    place = written(folder, data.draw(mutated(content)))
    store = VerdictStore(place)
    assert all(store.get(key) in (None, verdict) for key, verdict in PUT.items())
    assert len(store) <= len(PUT)
    assert all(PUT[line.key] is line.verdict for line in store.lines())


forged_fields = st.dictionaries(
    st.sampled_from(
        ['key', 'verdict', 'question', 'answer', 'reference', 'language', 'reply', 'judge', 'sum', 'time']
    ),
    values | st.sampled_from(['unjudged', 'correct', 'f' * 32]),
    max_size=6,
)


def forged(key: str, verdict: str, more: str) -> bytes:
    """A line that nobody but the store should write, with its right checksum."""
    content = f'{{"key": "{key}", "verdict": "{verdict}", {more}'.encode('utf-8', 'surrogatepass')
    return content + f', "sum": "{zlib.crc32(content):08x}"}}\n'.encode()


@fuzz(
    st.lists(
        st.builds(
            forged,
            st.sampled_from(['0' * 32, 'ab' * 16]),
            st.sampled_from(['correct', 'incorrect']),
            forged_fields.map(lambda fields: json.dumps(fields)[1:-1] or '"a": 1')
            | deep.map('"judge": {}'.format)
            | any_text,
        ),
        min_size=1,
        max_size=4,
    ),
    share=3,
)
def test_forged_lines_harm_nobody(folder: Path, lines: list[bytes]) -> None:
    VerdictStore(written(folder, b''.join(lines)))
