"""The journal of a study: what a kill leaves behind, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.studies.embedding_chain import Chain
from gpassk_opencompass.studies.journal import Journal, key_of
from gpassk_opencompass.studies.layer_means import Tokens

WITH = {'model': {'model.safetensors': 'digest'}, 'dtype': 'float32'}
KEYS = [key_of(Tokens([1, 2], [number])) for number in range(3)]
CHAINS = [Chain(0.5, 0.25, 0.25, float(number)) for number in range(3)]


def written(path: Path) -> bytes:
    """A journal of three responses."""
    Journal(path, WITH).add(zip(KEYS, CHAINS, strict=True))
    return path.read_bytes()


def test_a_study_killed_at_any_byte_goes_on(tmp_path: Path) -> None:
    """Whole lines are known, a torn one is not, not even the first; then all is as if written in one go."""
    path = tmp_path / 'values.jsonl'
    whole = written(path)
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        journal = Journal(path, WITH)
        known = [journal.get(key) for key in KEYS]
        lines = whole[:cut].count(b'\n')
        there = max(lines - 1, 0)
        assert known == [*CHAINS[:there], *[None] * (3 - there)]
        journal.add(zip(KEYS[there:], CHAINS[there:], strict=True))
        assert path.read_bytes() == whole


@pytest.mark.parametrize('first', [b'{}\n', b'notes of mine\n', b'{"study": "coe", "dtype": "bfloat16"}\n'])
def test_a_whole_first_line_of_something_else_is_refused(first: bytes, tmp_path: Path) -> None:
    """The file stays as it is."""
    path = tmp_path / 'values.jsonl'
    path.write_bytes(first)
    with pytest.raises(InputError, match='give another folder with -o, or remove it'):
        Journal(path, WITH)
    assert path.read_bytes() == first
