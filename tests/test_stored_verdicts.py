"""One pass over verdict stores."""

from __future__ import annotations

import os
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest

from gpassk_opencompass import InputError, Verdict
from gpassk_opencompass.judges.verdicts import (
    STORE_VARIABLE,
    StoredVerdicts,
    VerdictStore,
    find_stores,
    verdict_key,
)

YES, NO = Verdict.CORRECT, Verdict.INCORRECT


def fill(folder: Path, *verdicts: tuple[int, Verdict], text: str = '') -> Path:
    store = VerdictStore(folder)
    for number, verdict in verdicts:
        store.put(verdict_key({}, str(number)), verdict, {'answer': f'{number}{text}'})
    store.close()
    return folder


def test_of_two_stores_the_earlier_counts(tmp_path: Path) -> None:
    """The later one's other verdict is a contradiction."""
    first, second = fill(tmp_path / 'b', (1, YES), (2, YES)), fill(tmp_path / 'a', (1, NO), (3, NO))
    verdicts = StoredVerdicts([first, second])
    assert [(line.about['answer'], line.verdict) for line in verdicts] == [('1', YES), ('2', YES), ('3', NO)]
    assert verdicts.contradictions == {verdict_key({}, '1')}
    assert (len(verdicts), verdicts.repeated, verdicts.damaged, verdicts.files) == (3, 1, 0, 2)


def test_a_second_pass_counts_anew(tmp_path: Path) -> None:
    """And finds what has been added since."""
    verdicts = StoredVerdicts([fill(tmp_path, (1, YES), (1, NO))])
    assert len(list(verdicts)) == 1
    fill(tmp_path, (2, YES))
    assert len(list(verdicts)) == 2
    assert (verdicts.repeated, len(verdicts.contradictions), verdicts.files) == (1, 1, 2)


def test_it_agrees_with_the_judges_own_reading(tmp_path: Path) -> None:
    """Over several files with torn, foreign and repeated lines."""
    fill(tmp_path, *((number, YES if number % 3 else NO) for number in range(50)))
    fill(tmp_path, *((number, NO) for number in range(25, 75)))
    for file in tmp_path.iterdir():
        file.write_bytes(file.read_bytes()[:-9])
    (tmp_path / '0.jsonl').write_bytes(b'[]\n\n{"key": 1}\n')
    verdicts, store = StoredVerdicts([tmp_path]), VerdictStore(tmp_path)
    said = {line.key: line.verdict for line in verdicts}
    assert len(said) == len(store) == len(verdicts)
    assert all(store.get(key) is verdict for key, verdict in said.items())
    assert verdicts.damaged == store.damaged == 4


@pytest.mark.slow
def test_texts_are_not_kept(tmp_path: Path) -> None:
    """2,000 verdicts with 20 MB of text, of which a reader holds a line and a buffer at a time."""
    fill(tmp_path, *((number, YES) for number in range(2000)), text='x' * 10_000)
    verdicts = StoredVerdicts([tmp_path])
    tracemalloc.start()
    count = sum(1 for _ in verdicts)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 2000
    assert peak < 1_000_000


def test_a_line_with_a_right_checksum_over_wrong_content_is_damaged(tmp_path: Path) -> None:
    """No writer of this package makes one."""
    content = b'{"key": "' + b'0' * 32 + b'", "verdict": "correct", "answer": oops'
    (tmp_path / 'a.jsonl').write_bytes(content + f', "sum": "{zlib.crc32(content):08x}"}}\n'.encode())
    verdicts = StoredVerdicts([tmp_path])
    assert (list(verdicts), verdicts.damaged) == ([], 1)


def test_a_store_may_lie_in_a_store(tmp_path: Path) -> None:
    """Each folder is found once, in the order of the places given."""
    outer = fill(tmp_path / 'outer', (1, YES))
    inner = fill(outer / 'deep' / 'verdicts', (2, YES))
    assert find_stores([inner, outer]) == [inner, outer]
    assert find_stores([outer, inner, outer]) == [outer, inner]


@pytest.mark.parametrize('content', [None, b'', b'{"question": "q", "label": "correct"}\n', b'{"key": "torn'])
def test_a_folder_without_a_sound_line_is_no_store(tmp_path: Path, content: bytes | None) -> None:
    """It may be a wrong path: a folder of labelled pairs, or a store in which nothing was kept yet."""
    (tmp_path / 'verdicts').mkdir()
    if content is not None:
        (tmp_path / 'pairs.jsonl').write_bytes(content)
        (tmp_path / 'verdicts' / 'pairs.jsonl').write_bytes(content)
    with pytest.raises(InputError, match=r'holds no verdicts.*verdicts=…'):
        find_stores([tmp_path])


def test_a_store_below_may_have_any_name(tmp_path: Path) -> None:
    """If a file of it begins with a sound line; one named `verdicts` may begin with damaged ones."""
    odd = fill(tmp_path / 'work' / 'judged', (1, YES))
    usual = fill(tmp_path / 'work' / 'verdicts', (2, YES))
    (file,) = usual.iterdir()
    file.write_bytes(b'damaged\n' + file.read_bytes())
    other = fill(tmp_path / 'work' / 'other', (3, YES))
    (file,) = other.iterdir()
    file.write_bytes(b'foreign\n' + file.read_bytes())
    assert find_stores([tmp_path]) == [odd, usual]
    assert find_stores([other]) == [other]


def test_stores_are_found_while_a_run_is_at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which removes folders while they are searched, and may have a pipe of any name."""
    store = fill(tmp_path / 'run' / 'kept', (1, YES))
    (tmp_path / 'run' / 'tmp').mkdir()
    os.mkfifo(tmp_path / 'run' / 'pipe.jsonl')
    scandir = os.scandir

    def vanishing(path: str) -> Any:
        if Path(path).name == 'tmp':
            Path(path).rmdir()
        return scandir(path)

    monkeypatch.setattr(os, 'scandir', vanishing)
    assert find_stores([tmp_path]) == [store]
    assert not (tmp_path / 'run' / 'tmp').exists()


def test_a_tilde_is_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For writers, readers and the environment variable; no folder named ~ appears."""
    monkeypatch.setenv('HOME', str(tmp_path / 'home'))
    monkeypatch.chdir(tmp_path)
    fill(Path('~/store'), (1, YES))
    home = tmp_path / 'home' / 'store'
    assert len(VerdictStore('~/store')) == 1
    assert find_stores(['~/store']) == [home]
    monkeypatch.setenv(STORE_VARIABLE, '~/store')
    assert find_stores() == [home]
    assert [path.name for path in tmp_path.iterdir()] == ['home']
    with pytest.raises(InputError, match='no-such-person'):
        VerdictStore('~no-such-person/store')
