"""The store of samples: what is kept comes back, damage costs what it touches, and what may be taken."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpassk_opencompass import IncompleteError, InputError
from gpassk_opencompass.sample_store.choice import MIX, NONE, REUSE, SAME, Held, check_reuse, choose
from gpassk_opencompass.sample_store.identity import IDENTITY, Identity, Origin, read_identity, sample_key
from gpassk_opencompass.sample_store.store import SampleStore, identity_folders, samples_in

MODEL = {'type': 'a.Model', 'path': 'org/model', 'temperature': 0.7, 'random_seed': 1}
ONE = Identity(MODEL, {'path': {'commit': '1'}}, {'engine': '1.0'}, {'max_out_len': 64})
RUN = Origin('run', '2026-01-01T00:00:00.000000Z')


def key(number: int, identity: Identity = ONE) -> str:
    return sample_key(identity, 'uid', number, number, 'a prompt')


def about(number: int) -> dict[str, Any]:
    return {'uid': 'uid', 'replica': number, 'response': f'{number} 是\n{{"key": "\u2028\\boxed{{1}}'}


def filled(root: Path, count: int = 4, identity: Identity = ONE, origin: Origin = RUN) -> Path:
    """A store with samples; returns its one new file."""
    store = SampleStore(root, identity)
    before = set(store.folder.glob('*.jsonl'))
    for number in range(count):
        store.put(key(number), origin, about(number))
    store.close()
    [file] = set(store.folder.glob('*.jsonl')) - before
    return file


def read(root: Path, count: int, identity: Identity = ONE, origin: Origin = RUN) -> list[str | None]:
    """The responses under the first keys."""
    store = SampleStore(root, identity)
    found: list[str | None] = []
    for number in range(count):
        place = store.places(key(number)).get(origin.id)
        kept = None if place is None else store.read(place)
        found.append(None if kept is None else kept.response)
    return found


def test_samples_come_back(tmp_path: Path) -> None:
    """From another store object, with all that was said, in plain text beside what a person can read."""
    file = filled(tmp_path / 'deep' / 'store')
    assert read(tmp_path / 'deep' / 'store', 5) == [*(about(number)['response'] for number in range(4)), None]
    assert '0 是' in file.read_text(encoding='utf-8')
    told = json.loads((file.parent / IDENTITY).read_text())
    assert told == {
        'model': MODEL,
        'files': {'path': {'commit': '1'}},
        'versions': {'engine': '1.0'},
        'inference': {'max_out_len': 64},
    }
    kept = next(samples_in(file.parent))
    assert kept is not None
    assert (kept.about['run'], kept.about['since']) == RUN


def test_a_key_is_all_that_a_sample_is_drawn_from() -> None:
    """Each part of it changes it, the order of settings and the version of the engine do not."""
    base = sample_key(ONE, 'u', 1, 2, 'p')
    turned = Identity(dict(reversed(MODEL.items())), ONE.files, {'engine': '2.0'}, ONE.inference)
    assert sample_key(turned, 'u', 1, 2, 'p') == base
    others = [
        sample_key(ONE, 'v', 1, 2, 'p'),
        sample_key(ONE, 'u', 2, 2, 'p'),
        sample_key(ONE, 'u', 1, 3, 'p'),
        sample_key(ONE, 'u', 1, None, 'p'),
        sample_key(ONE, 'u', 1, 2, 'q'),
        sample_key(ONE, 'u', 1, 2, [{'role': 'HUMAN', 'prompt': 'p'}]),
        *(
            sample_key(Identity(model, files, {}, inference), 'u', 1, 2, 'p')
            for model, files, inference in (
                ({**MODEL, 'temperature': 0.8}, ONE.files, ONE.inference),
                (MODEL, {}, ONE.inference),
                (MODEL, ONE.files, {'max_out_len': 65}),
            )
        ),
    ]
    assert len({base, *others}) == 10


@pytest.mark.slow
def test_a_file_cut_anywhere_loses_only_the_cut_line(tmp_path: Path) -> None:
    """Every byte at which a kill can leave a file."""
    file = filled(tmp_path, 3)
    content = file.read_bytes()
    for length in range(len(content)):
        file.write_bytes(content[:length])
        whole = content[:length].count(b'\n')
        assert [text is not None for text in read(tmp_path, 3)] == [number < whole for number in range(3)]
        assert SampleStore(tmp_path, ONE).damaged == (length > 0 and not content[:length].endswith(b'\n'))


@pytest.mark.slow
def test_a_changed_byte_never_changes_a_sample(tmp_path: Path) -> None:
    """Each byte of a line in turn: the line is skipped and counted, the others count."""
    file = filled(tmp_path, 2)
    content = file.read_bytes()
    for place in range(content.index(b'\n')):
        bent = bytearray(content)
        bent[place] ^= 1
        file.write_bytes(bent)
        assert read(tmp_path, 2) == [None, about(1)['response']]
        assert SampleStore(tmp_path, ONE).damaged >= 1


def test_a_file_that_changes_behind_the_index_is_not_believed(tmp_path: Path) -> None:
    """A run that reads later than it has looked: the sample is missing, and is no other one."""
    file = filled(tmp_path, 2)
    store = SampleStore(tmp_path, ONE)
    [place] = store.places(key(0)).values()
    file.write_bytes(b' ' + file.read_bytes())
    assert store.read(place) is None
    file.unlink()
    assert store.read(place) is None


def test_runs_and_versions_are_told_apart(tmp_path: Path) -> None:
    """Both are found under one key, each in the folder of its version."""
    new = Identity(ONE.model, ONE.files, {'engine': '2.0'}, ONE.inference)
    other = Origin('other', '2026-02-01T00:00:00.000000Z')
    filled(tmp_path, 1)
    filled(tmp_path, 2, new, other)
    store = SampleStore(tmp_path, new)
    assert store.origins == {RUN.id: RUN, other.id: other}
    assert set(store.places(key(0))) == {RUN.id, other.id}
    assert (store.folder_of(RUN.id) == store.folder, store.folder_of(other.id) == store.folder) == (
        False,
        True,
    )
    assert store.versions_of(RUN.id) == {'engine': '1.0'}
    assert len(identity_folders(tmp_path)) == 2


def test_other_settings_are_not_even_read(tmp_path: Path) -> None:
    """Nor is what somebody else has put there."""
    filled(tmp_path)
    (tmp_path / 'notes').mkdir()
    (tmp_path / 'notes' / 'a.jsonl').write_text('{}\n')
    hot = Identity({**MODEL, 'temperature': 1.0}, ONE.files, ONE.versions, ONE.inference)
    store = SampleStore(tmp_path, hot)
    assert (store.origins, store.damaged) == ({}, 0)


def test_a_damaged_identity_is_mended_by_the_next_run(tmp_path: Path) -> None:
    """The samples count all the same: the folder's name says what they are."""
    folder = filled(tmp_path).parent
    for mend in (
        lambda: filled(tmp_path, 1, origin=Origin('later', '')),
        lambda: SampleStore(tmp_path, ONE).touch(),  # of a run that takes all and draws nothing
    ):
        (folder / IDENTITY).write_text('{')
        assert read_identity(folder) is None
        assert read(tmp_path, 1) == [about(0)['response']]
        mend()
        assert read_identity(folder) == ONE


def test_looking_leaves_nothing_behind(tmp_path: Path) -> None:
    """No folder for a run that draws nothing, no empty file of one that was about to."""
    store = SampleStore(tmp_path / 'store', ONE)
    store.touch()
    store.close()
    assert not (tmp_path / 'store').exists()
    store.open()
    store.close()
    assert [path.name for path in (tmp_path / 'store').glob('*/*')] == [IDENTITY]


def test_a_place_that_is_none_is_refused(tmp_path: Path) -> None:
    """With a word on what it should be."""
    place = tmp_path / 'store'
    place.write_text('')
    with pytest.raises(InputError, match='a store of samples is a folder'):
        SampleStore(place, ONE)
    with pytest.raises(InputError, match='cannot write samples to'):
        SampleStore(place / 'below', ONE).open()


def test_a_failed_write_does_not_spoil_the_next_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that was full for a moment, in the middle of a line."""
    store = SampleStore(tmp_path, ONE)
    store.open()
    write, calls = os.write, iter([10])

    def failing(descriptor: int, data: bytes) -> int:
        room = next(calls, None)
        if room is None:
            raise OSError(28, 'No space left on device')
        return write(descriptor, data[:room])

    with monkeypatch.context() as full:
        full.setattr(os, 'write', failing)
        with pytest.raises(IncompleteError, match=r'cannot write samples to .*: No space left.*make room'):
            store.put(key(0), RUN, about(0))
    store.put(key(1), RUN, about(1))
    store.close()
    assert read(tmp_path, 2) == [None, about(1)['response']]


def _write_many(root: Path, start: int) -> None:
    store = SampleStore(root, ONE)
    for number in range(start, start + 100):
        store.put(key(number), RUN, about(number))
    os._exit(0)  # no flush, no close


@pytest.mark.slow
def test_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    """Four processes on one folder, their ranges overlapping, none of them saying goodbye."""
    context = multiprocessing.get_context('spawn')
    writers = [context.Process(target=_write_many, args=(tmp_path, 60 * place)) for place in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert read(tmp_path, 281) == [*(about(number)['response'] for number in range(280)), None]
    assert SampleStore(tmp_path, ONE).damaged == 0


OWN, ALIKE, OTHER = 'own', ('a', 'b'), ('x', 'y')
NAMES = {name: Origin(name, '2026') for name in (OWN, *ALIKE, *OTHER)}


@given(
    st.lists(st.sets(st.sampled_from(sorted(NAMES))), min_size=1, max_size=6),
    st.booleans(),
    st.sampled_from(REUSE),
)
def test_what_is_taken_is_what_is_promised(samples: list[set[str]], promised: bool, reuse: str) -> None:
    """All combinations of who has what: by the rules, spelled out one by one."""
    held = Held(samples, OWN, ALIKE, '' if promised else 'it is a server', NAMES)
    anybody = set().union(*samples)
    of_others = anybody - {OWN}
    sure = {OWN, *ALIKE} if promised else {OWN}
    whole = {name for name in of_others if all(name in sample for sample in samples)}
    if reuse == SAME and of_others and not anybody & sure and not whole:
        with pytest.raises(IncompleteError, match='other runs have drawn'):
            choose(held, reuse, 'bench')
        return
    origins, taken_as = choose(held, reuse, 'bench')
    taken = set(origins) & anybody
    assert origins[0] == OWN
    assert taken_as[OWN] == ''
    assert set(taken_as) == set(origins)
    if reuse == NONE:
        assert taken <= {OWN}
    elif reuse == MIX:
        assert taken == anybody
    elif anybody & sure:
        assert taken == anybody & sure
    else:
        assert len(taken) == bool(of_others)
        assert taken <= whole
    seeded = {name for name, how in taken_as.items() if how == 'seeded'}
    assert seeded == (set(ALIKE) if promised and reuse != NONE else set()) & anybody


def test_a_refusal_says_how_many_whose_why_and_what_now() -> None:
    """The first three runs are named."""
    origins = {name: Origin(f'run {name}', f'2026-01-0{at}') for at, name in enumerate('abcd', 1)}
    samples = [{'a', 'b'}, {'a', 'c'}, {'d'}, set()]
    with pytest.raises(IncompleteError) as error:
        choose(Held(samples, 'own', [], 'it is a server', origins), SAME, 'bench')
    assert str(error.value) == (
        'bench: other runs have drawn 3 of its 4 samples: 2 of run a (2026-01-01); 1 of run b (2026-01-02); '
        '1 of run c (2026-01-03), and of 1 more. They are kept, and may not be those that would be drawn '
        'now: it is a server. Say what shall be: take them and draw the rest, which the result will say '
        '(gpassk run … --reuse mix, or GPASSK_REUSE=mix), or draw all anew (--reuse none, or '
        'GPASSK_REUSE=none). A run that broke off goes on with -r'
    )


def test_a_word_for_what_is_taken() -> None:
    """Nothing said is `same`."""
    assert [check_reuse(value) for value in (None, '', 'mix')] == ['same', 'same', 'mix']
    with pytest.raises(InputError, match="GPASSK_REUSE = 'Same': expected one of same, mix, none"):
        check_reuse('Same')


@pytest.mark.parametrize('reuse', REUSE)
def test_a_look_at_a_hosted_model_does_not_stop_the_whole_run(reuse: str) -> None:
    """Nothing of it is taken unless all is wanted; where it has all, it is one run as any other."""
    origins = {'own': Origin('m@AIME2024-k4-r1', ''), 'look': Origin('m@AIME2024-limit1-k4-r1', '')}
    some = choose(Held([{'look'}, set()], 'own', [], 'behind a server', origins), reuse, 'it')
    assert list(some.origins) == (['own', 'look'] if reuse == 'mix' else ['own'])
    whole = choose(Held([{'look'}, {'look'}], 'own', [], 'behind a server', origins), reuse, 'it')
    assert list(whole.origins) == (['own'] if reuse == 'none' else ['own', 'look'])
