"""Stores and predictions that were cut, doubled, mixed and changed: the right numbers again, or an error."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from damage import DAMAGES, damaged
from hosts import import_plugin, results_of
from judge_server import JudgeServer, fair
from judging import judge_with
from judging_run import pairs_of
from sweep_run import COUNTS, SweepRun

from gpassk_opencompass import IncompleteError, Verdict
from gpassk_opencompass.files import digest
from gpassk_opencompass.judges.verdicts import VerdictStore

journal = import_plugin('.journal')
seals = import_plugin('.predictions')

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('faults')]

CHEAP = 20
"""Tries of what costs milliseconds, for each of what costs a command."""

PAIRS = pairs_of(0, 30)


def test_a_damaged_store_never_lies_and_is_filled_up_again(
    tmp_path: Path, times: int, chance: random.Random, tried: Counter[str]
) -> None:
    """Two files with one to four damages: only what is missing is asked for, and all verdicts are right."""
    with JudgeServer(lambda asked: fair(asked.prompt)) as server:
        whole = tmp_path / 'whole'
        for part in (PAIRS[:15], PAIRS[10:]):
            judge = judge_with(whole, server)
            judge.judge(part)
            judge.close()
        for number in range(CHEAP * times):
            store = tmp_path / f'damaged{number}'
            shutil.copytree(whole, store)
            tried.update(_damage(list(store.iterdir()), chance))
            sound = {line.about['answer']: line.verdict for line in VerdictStore(store).lines()}
            assert all((said is Verdict.CORRECT) == (int(n) % 2 == 0) for n, said in sound.items())
            before = len(server.asked)
            judge = judge_with(store, server)
            assert [said.verdict is Verdict.CORRECT for said in judge.judge(PAIRS)] == [True, False] * 15
            judge.close()
            assert len(server.asked) - before == len(PAIRS) - len(sound)
            assert len(VerdictStore(store)) == len(PAIRS)


def _damage(files: list[Path], chance: random.Random) -> list[str]:
    """Damage one to four times; what was done."""
    done = []
    for _ in range(chance.randint(1, 4)):
        kind, file, other = chance.choice(sorted(DAMAGES)), chance.choice(files), chance.choice(files)
        file.write_bytes(damaged(kind, file.read_bytes(), other.read_bytes(), chance))
        done.append(kind)
    return done


SAMPLES = [(f'q/{row % 8}', row // 8) for row in range(32)]


def task(predictions: Path, samples: Sequence[tuple[str, int]] = SAMPLES) -> Any:
    return journal.Journal(predictions, digest(repr(samples).encode()), len(samples))


def test_a_damaged_resume_file_is_cut_behind_its_last_sound_row(
    tmp_path: Path, times: int, chance: random.Random, tried: Counter[str]
) -> None:
    """What is kept are rows as they were written, from the first on, so that the next one is the next one."""
    rows = [json.dumps({'idx': str(row), 'prediction': f'{row} ' * 20}) + '\n' for row in range(32)]
    predictions = tmp_path / 'bench.json'
    file = tmp_path / 'tmp_bench.jsonl'
    for _ in range(CHEAP * times):
        written = _written(predictions, file, rows[: chance.randint(1, 32)], chance)
        tried.update(_damage([file], chance))
        task(predictions).claim()
        kept = [json.loads(line) for line in file.read_bytes().splitlines()] if file.exists() else []
        last = {int(row['idx']): row['prediction'] for row in kept}
        assert sorted(last) == list(range(len(last)))
        assert all(text == f'{row} ' * 20 for row, text in last.items())
        assert len(last) <= written
        file.unlink(missing_ok=True)


def _written(predictions: Path, file: Path, rows: list[str], chance: random.Random) -> int:
    """As a task writes it, in batches; returns the number of rows."""
    owner = task(predictions)
    owner.claim()
    start = 0
    while start < len(rows):
        owner.check()
        end = start + chance.randint(1, 8)
        with file.open('a') as lines:
            lines.write(''.join(rows[start:end]))
        start = end
    owner.check()
    return len(rows)


def write_shards(folder: Path) -> None:
    """Two files of 16 rows, as tasks leave them."""
    for number in range(2):
        owner = task(folder / f'bench_{number}.json', SAMPLES[16 * number : 16 * number + 16])
        owner.claim()
        owner.draft.write_text(
            json.dumps({str(row): {'prediction': f'{number} {row} ' * 9} for row in range(16)})
        )
        owner.publish(partial(seals.write_seal, owner.draft.with_suffix('.json'), samples='', inference={}))


def test_damaged_predictions_are_never_scored(
    tmp_path: Path, times: int, chance: random.Random, tried: Counter[str]
) -> None:
    """Whatever was done to one of them; the message says how to go on."""
    write_shards(tmp_path)
    files = sorted(tmp_path.glob('*.json'))
    sound = [file.read_bytes() for file in files]
    for _ in range(CHEAP * times):
        seals.read_predictions(tmp_path / 'bench.json')
        tried.update(_damage(files, chance))
        if [file.read_bytes() for file in files] != sound:
            with pytest.raises(IncompleteError, match='move both away and run the same command again'):
                seals.read_predictions(tmp_path / 'bench.json')
        for file, content in zip(files, sound, strict=True):
            file.write_bytes(content)


def test_predictions_without_a_seal_are_taken_as_they_are(tmp_path: Path) -> None:
    """Of an older version, or of a user who means it."""
    write_shards(tmp_path)
    (tmp_path / 'bench_0.json').write_text('{}')
    (tmp_path / 'bench_0.seal').unlink()
    seals.read_predictions(tmp_path / 'bench.json')
    (tmp_path / 'bench_1.json').write_text('{}')
    with pytest.raises(IncompleteError, match=r'bench_1\.json is not as it was written'):
        seals.read_predictions(tmp_path / 'bench.json')


def test_a_cut_result_is_named_and_not_taken_for_one(run: SweepRun) -> None:
    """OpenCompass would skip it for ever: its table says what to do, and `gpassk run` does it."""
    config = run.write('run')
    run.complete('run')
    [result] = run.root.glob('out/run/*/results/*/*.json')
    result.write_bytes(result.read_bytes()[:2000])
    line = (config, '-w', run.root / 'out/run', '-r', result.parents[2].name)
    by_hand = run.forks.start('opencompass', *line, folder=run.root)
    by_hand.wait()
    assert f'no result at {result}: {result} cannot be read: ' in by_hand.said
    assert 'OpenCompass would keep it: move it away, and use -r' in by_hand.said
    run.complete('run')
    run.check('run', deaths=0)


def test_a_run_with_a_changed_response_stops_until_it_is_drawn_again(run: SweepRun) -> None:
    """One character of one response: no result and a message; without the file it is drawn anew."""
    run.write('run')
    run.complete('run')
    [result] = run.root.glob('out/run/*/results/*/*.json')
    [predictions] = run.root.glob('out/run/*/predictions/*/bench.json')
    result.unlink()
    predictions.write_text(predictions.read_text().replace('boxed{101}', 'boxed{100}'))
    assert run.start('run').wait() == 1
    assert 'bench.json is not as it was written' in (run.root / 'out/run/.gpassk/opencompass.log').read_text()
    predictions.unlink()
    run.complete('run')
    [again] = results_of(run.root / 'out/run')
    assert again['gpassk']['counts']['c'] == COUNTS
