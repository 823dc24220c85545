"""The resume file of a shard after kills, with other shards, and with two tasks at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hosts import import_plugin

from gpassk_opencompass import IncompleteError
from gpassk_opencompass.files import digest

import_plugin()
journal = import_plugin('.journal')
seals = import_plugin('.predictions')
Sample = import_plugin('.handover').Sample

SAMPLES = [Sample('q', replica) for replica in range(8)]


def task(predictions: Path, samples: Sequence[Any] = SAMPLES) -> Any:
    return journal.Journal(predictions, digest(repr(samples).encode()), len(samples))


def seal(draft: Path) -> None:
    """What the inferencer does with a draft that is whole."""
    seals.write_seal(draft.with_suffix('.json'), draft, '', {})


def lines(rows: Sequence[int]) -> str:
    return ''.join(json.dumps({'idx': str(row), 'prediction': 'x' * 50}) + '\n' for row in rows)


@pytest.mark.parametrize(
    ('found', 'kept'),
    [
        (lines(range(3)), lines(range(3))),
        (lines(range(3)) + '{"idx": "3", "predic', lines(range(3))),
        (lines(range(3)) + '{"idx": "3", "pr' + lines([4, 5]), lines(range(3))),
        (lines([0, 1, 2, 1, 2, 3]), lines([0, 1, 2, 1, 2, 3])),
        (lines([0, 1, 3, 4]), lines([0, 1])),
        (lines([4, 5]), ''),
        (lines([0, 1, -1, 2]), lines([0, 1])),
        ('[]\n', ''),
        ('', ''),
        (lines([0]) + '[' * 100_000 + '\n', lines([0])),
        (lines([0]) + '{"idx": 1e999}\n', lines([0])),
    ],
    ids=[
        'whole',
        'torn end',
        'torn middle',
        'rows twice',
        'gap',
        'no beginning',
        'no such row',
        'other JSON',
        'empty',
        'nested without end',
        'no number',
    ],
)
def test_what_is_kept_of_a_resume_file(tmp_path: Path, found: str, kept: str) -> None:
    """All rows from the first one on, without a gap: OpenCompass goes on at their number."""
    file = tmp_path / 'tmp_bench.jsonl'
    file.write_text(found)
    for _ in range(2):
        journal.drop_damage(file)
        assert file.read_text() == kept
    journal.drop_damage(tmp_path / 'not there')


def test_a_resume_file_of_other_samples_is_refused(tmp_path: Path) -> None:
    """With another number of workers a shard of the same name has other rows; positions would lie."""
    predictions = tmp_path / 'bench_1.json'
    task(predictions, SAMPLES[:4]).claim()
    (tmp_path / 'tmp_bench_1.jsonl').write_text(lines([0]))
    task(predictions, SAMPLES[:4]).claim()
    with pytest.raises(IncompleteError, match='--max-num-workers'):
        task(predictions, SAMPLES[4:]).claim()
    (tmp_path / 'tmp_bench_1.samples').unlink()
    with pytest.raises(IncompleteError, match='other samples'):
        task(predictions, SAMPLES[:4]).claim()


def test_of_two_tasks_with_one_shard_the_later_one_goes_on(tmp_path: Path) -> None:
    """The first one, on a node that was given up, stops at its next batch and publishes nothing."""
    predictions = tmp_path / 'bench_0.json'
    first, second = (task(predictions, SAMPLES) for _ in range(2))
    first.claim()
    first.check()
    second.claim()
    with pytest.raises(IncompleteError, match='taken over by another task'):
        first.check()
    first.draft.write_text('first')
    with pytest.raises(IncompleteError, match='taken over'):
        first.publish(seal)
    second.check()
    second.draft.write_text('second')
    second.publish(seal)
    assert {path.name for path in tmp_path.iterdir()} == {'bench_0.json', 'bench_0.seal'}
    assert predictions.read_text() == 'second'
    with pytest.raises(IncompleteError, match='taken over'):
        first.check()


def test_a_seal_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """Nobody knows then whether what lies there is as it was written; without a seal it is taken as it is."""
    predictions = tmp_path / 'bench.json'
    predictions.write_text('{}')
    for damage in ('[' * 100_000, '["samples", "one"]', '{"content": 1}', '7'):
        predictions.with_suffix('.seal').write_text(damage)
        with pytest.raises(IncompleteError, match=r'bench\.seal cannot be read as a seal: .* or remove it'):
            seals.read_predictions(predictions)
    predictions.with_suffix('.seal').unlink()
    assert seals.read_predictions(predictions).seals == {}


def test_a_seal_that_a_kill_left_is_no_draft(tmp_path: Path) -> None:
    """Even if the shard has as many rows as a seal has entries."""
    predictions = tmp_path / 'bench_0.json'
    killed = task(predictions, SAMPLES[:3])
    killed.claim()
    killed.draft.with_name(killed.draft.name + '.seal').write_text('["samples", 3, "content"]')
    assert not task(predictions, SAMPLES[:3]).claim()


def test_a_response_that_changed_on_disk_is_drawn_again(tmp_path: Path) -> None:
    """With the rest of its batch and those behind it; what a kill cut of the checksums does no harm."""
    predictions, file = tmp_path / 'bench.json', tmp_path / 'tmp_bench.jsonl'
    owner = task(predictions, SAMPLES)
    owner.claim()
    for batch in (range(2), range(2, 4), range(4, 6)):
        with file.open('a') as written:
            written.write(lines(batch))
        owner.check()
    with file.open('a') as written:
        written.write(lines([6]))
    with (tmp_path / 'tmp_bench.samples').open('a') as mark:
        mark.write('99')
    file.write_text(file.read_text().replace('"3", "prediction": "x', '"3", "prediction": "y'))
    task(predictions, SAMPLES).claim()
    assert file.read_text() == lines(range(2))


def test_a_kill_between_the_last_response_and_the_predictions_loses_nothing(tmp_path: Path) -> None:
    """OpenCompass removes its resume file before the draft has become the predictions."""
    predictions = tmp_path / 'bench_0.json'
    killed = task(predictions, SAMPLES)
    assert not killed.claim()
    (tmp_path / 'tmp_bench_0.jsonl').write_text(lines(range(8)))
    killed.check()
    (tmp_path / 'tmp_bench_0.jsonl').unlink()
    killed.draft.write_text(json.dumps({str(row): {} for row in range(len(SAMPLES))}))
    killed_too, last = (task(predictions, SAMPLES) for _ in range(2))
    assert killed_too.claim()
    assert last.claim()
    last.publish(seal)
    assert len(json.loads(predictions.read_text())) == len(SAMPLES)
    assert sorted(path.name for path in tmp_path.iterdir()) == ['bench_0.json', 'bench_0.seal']


def test_a_draft_that_cannot_be_read_is_written_again(tmp_path: Path) -> None:
    """However it is damaged."""
    predictions = tmp_path / 'bench_0.json'
    killed = task(predictions, SAMPLES)
    killed.claim()
    killed.draft.write_text('[' * 100_000)
    assert not task(predictions, SAMPLES).claim()


def test_a_disk_that_is_full_does_not_lock_the_samples_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mark that says whose they are is replaced in one step."""
    predictions = tmp_path / 'bench.json'
    task(predictions, SAMPLES).claim()
    (tmp_path / 'tmp_bench.jsonl').write_text(lines(range(3)))
    with monkeypatch.context() as full:
        full.setattr(Path, 'write_bytes', _no_room)
        with pytest.raises(OSError, match='no room'):
            task(predictions, SAMPLES).claim()
    assert not task(predictions, SAMPLES).claim()
    assert (tmp_path / 'tmp_bench.jsonl').read_text() == lines(range(3))


def _no_room(path: Path, content: bytes) -> int:
    path.open('w').close()
    raise OSError(28, 'no room')
