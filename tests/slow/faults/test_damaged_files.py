"""Predictions that were cut, doubled, mixed and changed: the right numbers again, or an error."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import pytest

from gpassk_opencompass import IncompleteError
from gpassk_opencompass.health import Generation
from gpassk_opencompass.marks import note
from gpassk_opencompass.predictions import Rows, Sample, load_predictions
from gpassk_opencompass.record import digest_of

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('faults')]


KINDS = 'cut|hole|zeros|bit flipped|part doubled|lines doubled|lines exchanged|two files mixed'.split('|')


def damaged(kind: str, data: bytes, other: bytes, chance: random.Random) -> bytes:
    """The data after one damage; file systems leave zeros behind after a crash, two writers mix."""
    start, length = chance.randrange(len(data) + 1), chance.randrange(600)
    before, part, behind = data[:start], data[start : start + length], data[start + length :]
    lines = data.splitlines(keepends=True)
    line = chance.randrange(len(lines) + 1)
    few = chance.sample(lines[line : line + 9], len(lines[line : line + 9]))
    cuts = range(0, max(len(data), len(other)), 1 + chance.randrange(700))
    pieces = [one[at : at + cuts.step] for at in cuts for one in (data, other)]
    return {
        'cut': before,
        'hole': before + behind,
        'zeros': before + bytes(len(part)) + behind,
        'bit flipped': before + bytes(one ^ 1 << chance.randrange(8) for one in part[:1]) + part[1:] + behind,
        'part doubled': before + part + part + behind,
        'lines doubled': b''.join([*lines[:line], *lines[max(0, line - chance.randrange(9)) :]]),
        'lines exchanged': b''.join([*lines[:line], *few, *lines[line + 9 :]]),
        'two files mixed': b''.join(pieces),
    }[kind]


CHEAP = 20
"""Tries of what costs milliseconds, for each of what costs a command."""


def _damage(files: list[Path], chance: random.Random) -> list[str]:
    """Damage one to four times; what was done."""
    done = []
    for _ in range(chance.randint(1, 4)):
        kind, file, other = chance.choice(KINDS), chance.choice(files), chance.choice(files)
        file.write_bytes(damaged(kind, file.read_bytes(), other.read_bytes(), chance))
        done.append(kind)
    return done


SETTINGS = {'model': {'path': 'm'}, 'inference': {}}
SAMPLES = [
    Sample(f'q/{row % 8}', row // 8, row % 8, f'mark {row % 8}', '7', digest_of(SETTINGS)[:16], 'What?', row)
    for row in range(32)
]


def write(folder: Path, samples: Sequence[Sample], name: str = 'bench', publish: bool = True) -> None:
    """Draw what is missing of some samples, as a task does."""
    note(folder, settings=SETTINGS)
    note(folder, source={})
    with closing(Rows(folder / f'{name}.json', 'bench', samples, SETTINGS, identity={})) as rows:
        for sample in rows.find():
            rows.add(rows.row(sample, digest_of({})[:16], text_of(sample), Generation()))
        if publish:
            rows.publish()


def text_of(sample: Sample) -> str:
    return f'{sample.uid} {sample.replica} ' * 9


def test_of_a_damaged_journal_only_rows_as_they_were_written_are_kept(tmp_path, times, chance, tried):
    """The others are drawn anew, and the predictions are those of an undisturbed run."""
    for _ in range(CHEAP * times):
        write(tmp_path, SAMPLES[: chance.randint(1, 32)], publish=False)
        tried.update(_damage([tmp_path / 'bench.rows.jsonl'], chance))
        write(tmp_path, SAMPLES)
        found = load_predictions(tmp_path / 'bench.json', SAMPLES, SETTINGS)
        assert [one.told['prediction'] for one in found.rows] == list(map(text_of, SAMPLES))
        (tmp_path / 'bench.json').unlink()
        (tmp_path / 'bench.rows.jsonl').unlink(missing_ok=True)


def test_damaged_predictions_are_never_scored(tmp_path, times, chance, tried):
    """Whatever was done to one of them: all rows are as they were written, or none is taken."""
    for number in range(2):
        write(tmp_path, SAMPLES[16 * number : 16 * number + 16], f'bench_{number}')
    files = sorted(tmp_path.glob('bench_?.json'))
    sound = [file.read_bytes() for file in files]
    for _ in range(CHEAP * times):
        tried.update(_damage(files, chance))
        with suppress(IncompleteError):
            found = load_predictions(tmp_path / 'bench.json', SAMPLES, SETTINGS)
            assert [one.told['prediction'] for one in found.rows] == list(map(text_of, SAMPLES))
        for path in tmp_path.glob('bench*.rows.jsonl'):  # a row was missing, so they may be gone on with
            path.unlink()
        for file, content in zip(files, sound, strict=True):
            file.write_bytes(content)
