"""The verdict store."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path

import pytest

from gpassk_opencompass import IncompleteError, InputError, Verdict
from gpassk_opencompass.judges.verdicts import VerdictStore, verdict_key

YES, NO = Verdict.CORRECT, Verdict.INCORRECT
ABOUT = {'question': '1 + 1 = ? 是\n', 'reference': '2', 'answer': '{"key": "', 'reply': '\\boxed{yes}'}


def key(number: int) -> str:
    return verdict_key({'model': 'm'}, str(number))


def filled(folder: Path, count: int = 5) -> Path:
    """A store with `count` verdicts; returns its one file."""
    store = VerdictStore(folder)
    for number in range(count):
        store.put(key(number), YES if number % 2 else NO, ABOUT)
    store.close()
    [file] = folder.iterdir()
    return file


def test_verdicts_come_back(tmp_path):
    """In another store object, with all that was said about them, in plain text."""
    file = filled(tmp_path / 'deep' / 'store')
    store = VerdictStore(file.parent)
    assert [store.get(key(number)) for number in range(6)] == [NO, YES, NO, YES, NO, None]
    assert (len(store), store.damaged) == (5, 0)
    lines = list(store.lines())
    assert [(line.key, line.about) for line in lines] == [(key(number), ABOUT) for number in range(5)]
    assert '1 + 1 = ? 是' in file.read_text(encoding='utf-8')
    assert json.loads(file.read_text(encoding='utf-8').splitlines()[0])['answer'] == '{"key": "'


def test_a_line_is_json_with_a_checksum(tmp_path):
    judge = {'model': '模型 "m"', 'sampling': {'temperature': 0.0, 'seed': None}}
    about = {**ABOUT, 'judge': judge, 'number': 1.5}
    store = VerdictStore(tmp_path)
    store.put(key(1), YES, {**about, 'judge': judge})
    store.close()
    [file] = tmp_path.iterdir()
    content = json.dumps({'key': key(1), 'verdict': 'correct', **about}, ensure_ascii=False)[:-1].encode()
    expected = content + f', "sum": "{zlib.crc32(content):08x}"}}\n'.encode()
    assert file.read_bytes() == expected


@pytest.mark.slow
def test_a_file_cut_anywhere_loses_only_the_cut_line(tmp_path):
    """Every byte at which a kill can leave a file: whole lines count, the torn one is skipped and counted."""
    content = filled(tmp_path / 'whole', count=3).read_bytes()
    folder = tmp_path / 'cut'
    folder.mkdir()
    for length in range(len(content)):
        (folder / 'a.jsonl').write_bytes(content[:length])
        store = VerdictStore(folder)
        assert len(store) == content[:length].count(b'\n')
        assert store.damaged == (not content[:length].endswith(b'\n') and length > 0)


@pytest.mark.slow
def test_a_changed_byte_never_changes_a_verdict(tmp_path):
    """Each byte of a line in turn: the line is skipped and counted, the others count."""
    content = filled(tmp_path / 'whole', count=2).read_bytes()
    folder = tmp_path / 'bent'
    folder.mkdir()
    for place in range(content.index(b'\n')):
        bent = bytearray(content)
        bent[place] ^= 1
        (folder / 'a.jsonl').write_bytes(bent)
        store = VerdictStore(folder)
        assert store.get(key(0)) is None
        assert store.get(key(1)) is YES
        assert store.damaged >= 1


def test_all_readers_agree_where_verdicts_differ(tmp_path):
    for name, verdict in (('b', YES), ('a', NO)):
        store = VerdictStore(tmp_path / name)
        store.put(key(0), verdict, ABOUT)
        store.close()
        [file] = (tmp_path / name).iterdir()
        file.rename(tmp_path / f'{name}.jsonl')
    assert VerdictStore(tmp_path).get(key(0)) is NO
    assert [line.verdict for line in VerdictStore(tmp_path).lines()] == [NO, YES]


def test_a_store_that_is_a_file_is_refused(tmp_path):
    path = tmp_path / 'store'
    path.write_text('')
    with pytest.raises(InputError, match='folder'):
        VerdictStore(path)
    with pytest.raises(InputError, match='cannot write'):
        VerdictStore(path / 'below').put(key(0), YES, ABOUT)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    """Of a shared store perhaps a colleague's; here one whose first byte the system does not give."""
    (tmp_path / 'theirs.jsonl').symlink_to('/proc/self/mem')
    with pytest.raises(InputError, match=r'cannot read verdicts from .*theirs\.jsonl: Input/output error'):
        VerdictStore(tmp_path)


def test_a_disk_that_loses_what_it_took_is_told_of(tmp_path, monkeypatch):
    """As a network disk over its quota, which says so at the sync; the store can be closed all the same."""

    def failing(descriptor: int) -> None:
        raise OSError(122, 'Disk quota exceeded')

    store = VerdictStore(tmp_path)
    store.put(key(0), YES, ABOUT)
    monkeypatch.setattr(os, 'fsync', failing)
    with pytest.raises(IncompleteError, match='Disk quota exceeded'):
        store.flush()
    with pytest.raises(IncompleteError, match='Disk quota exceeded'):
        store.close()
    store.close()


def test_a_failed_write_does_not_spoil_the_next_line(tmp_path, monkeypatch):
    store, write, calls = VerdictStore(tmp_path), os.write, []

    def failing(descriptor: int, data: bytes) -> int:
        if calls:
            raise OSError(28, 'disk full')
        calls.append(data)
        return write(descriptor, data[:20])

    def closing(descriptor, close=os.close):
        close(descriptor)
        raise OSError(28, 'disk full')  # as on a network disk

    with monkeypatch.context() as full:
        full.setattr(os, 'close', closing)
        full.setattr(os, 'write', failing)
        with pytest.raises(IncompleteError, match='make room'):
            store.put(key(0), YES, ABOUT)
    store.put(key(1), YES, ABOUT)
    store.close()
    again = VerdictStore(tmp_path)
    assert (again.get(key(0)), again.get(key(1)), again.damaged) == (None, YES, 1)
