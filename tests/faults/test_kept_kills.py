"""kill -9 of a run that takes samples from the store and adds to it; two such runs at once; a full disk."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from dying import ENDLESS, Fault, random_death
from forks import COUNTED, Copy, Forks
from hosts import dataset_config, results_of, write_bench, write_config

pytest.importorskip('opencompass', reason='OpenCompass is not installed in this environment')
from kept_model import TRACE, asked

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('faults')]

QUESTIONS, FIRST, LATER, BATCH = 6, 2, 6, 4
SAMPLES, KEPT = QUESTIONS * LATER, QUESTIONS * FIRST
BYTES = (1, 12_000)
"""In this range are the sizes of all files that are written here."""


class Topped:
    """A run of n = 6 beside one of n = 2, whose samples are in a store."""

    def __init__(self, forks: Forks, root: Path) -> None:
        self.forks, self.root = forks, root
        write_bench(root / 'data', {'AMC_en': [(f'{i}+{i}=?', '$7$') for i in range(QUESTIONS)]})
        assert self.start('first', FIRST).wait() == 0
        self.kept = {file.name: file.read_bytes() for file in self.files}

    @property
    def store(self) -> Path:
        """Where the samples are."""
        return self.root / 'out/.gpassk/samples'

    @property
    def files(self) -> list[Path]:
        """Those of the store."""
        return sorted(self.store.glob('*/*.jsonl'))

    def start(self, name: str, n: int = LATER, *options: str, fault: Fault | None = None) -> Copy:
        """Type the command in a folder of its own."""
        folder = self.root / name
        folder.mkdir(exist_ok=True)
        model = {'type': 'kept_model.SeededModel', 'abbr': 'kept', 'path': 'kept', 'random_seed': 42}
        model |= {'max_out_len': 64, 'batch_size': BATCH, 'run_cfg': {'num_gpus': 0}}
        config = write_config(
            folder / f'{name}.py', model, dataset_config(self.root / 'data', k=2, n=n, abbr=f'bench{n}')
        )
        line = ('opencompass', config, '-w', self.root / 'out' / name, *options)
        told = {TRACE: str(self._trace(name)), 'GPASSK_SAMPLES': '', 'GPASSK_REUSE': ''}
        return self.forks.start(*line, folder=folder, fault=fault, variables=told)

    def complete(self, name: str) -> None:
        """Type it until there is a result."""
        resumes = ['-r'] if any((self.root / 'out' / name).glob('2*')) else []
        copy = self.start(name, LATER, *resumes)
        assert copy.wait() == 0, copy.said[-3000:]

    def check(self, name: str, least: int, most: int) -> None:
        """Every response is that of its sample, and so many were asked for, in all."""
        [result] = results_of(self.root / 'out' / name)
        assert result['gpassk']['n'] == LATER
        counts = asked(self._trace(name))
        assert least <= counts.total() <= most, counts
        assert self.responses(name) == self.responses('direct')
        for file, content in self.kept.items():
            assert next(self.store.glob(f'*/{file}')).read_bytes() == content

    def responses(self, name: str) -> list[Any]:
        """(sample, seed, response) of each row."""
        [path] = (self.root / 'out' / name).glob('*/predictions/*/*.json')
        rows = json.loads(path.read_text()).values()
        return [
            [row['sample'][key] for key in ('uid', 'replica', 'seed')] + [row['prediction']] for row in rows
        ]

    def forget(self, name: str) -> None:
        """Take out of the store what a run has put there."""
        for file in self.files:
            if file.name not in self.kept:
                file.unlink()

    def _trace(self, name: str) -> Path:
        return self.root / f'{name}.trace'


@pytest.fixture
def topped(forks: Forks, tmp_path: Path) -> Topped:
    """With a run beside it that drew all at once, and left the store as it was."""
    made = Topped(forks, tmp_path)
    whole = made.start('direct', LATER, fault=Fault('opencompass', str(tmp_path / 'out'), ENDLESS))
    assert whole.wait() == 0
    made.forget('direct')
    return made


def changes_of(topped: Topped) -> int:
    """How many changes of files there are in a run of which nothing dies."""
    said = (topped.root / 'direct/said').read_text()
    return max(map(int, re.findall(rf'{COUNTED}(\d+)', said)))


def test_a_killed_run_draws_nothing_twice_but_what_was_under_way(
    topped: Topped, times: int, chance: random.Random, tried: Counter[str]
) -> None:
    """At any change of a file and any byte of one, up to three times; kept samples stay as they were."""
    changes = changes_of(topped)
    for number in range(times):
        name, deaths = f'run{number}', 0
        for _ in range(3):
            resumes = ['-r'] if any((topped.root / 'out' / name).glob('2*')) else []
            fault = random_death(chance, 'opencompass', topped.root / 'out', changes, BYTES)
            if topped.start(name, LATER, *resumes, fault=fault).wait() == 0:
                break
            deaths += 1
        tried[f'{deaths} deaths'] += 1
        topped.complete(name)
        topped.check(name, SAMPLES - KEPT, SAMPLES - KEPT + deaths * BATCH)
        topped.forget(name)


def test_a_run_begun_anew_takes_what_the_killed_one_has_drawn(
    topped: Topped, times: int, chance: random.Random
) -> None:
    """In another work directory: of what was drawn before, only the batch under way is asked for again."""
    for number in range(times):
        name = f'run{number}'
        fault = Fault('opencompass', str(topped.root / 'out'), size=chance.randrange(2000, 8000))
        topped.start(f'{name}-killed', fault=fault).wait()
        before = asked(topped.root / f'{name}-killed.trace').total()
        topped.complete(name)
        left = SAMPLES - KEPT - before
        topped.check(name, left, left + BATCH)
        topped.forget(name)


def test_two_runs_at_once_add_to_one_store(topped: Topped, times: int) -> None:
    """Each has every sample right, whoever drew it; nothing that one has written is lost to a third."""
    for number in range(times):
        names = [f'run{number}a', f'run{number}b']
        copies = [topped.start(name) for name in names]
        assert [copy.wait() for copy in copies] == [0, 0]
        for name in names:
            topped.check(name, 0, SAMPLES - KEPT)
        topped.complete(f'run{number}c')
        topped.check(f'run{number}c', 0, 0)
        for name in names:
            topped.forget(name)


def test_a_full_disk_loses_no_sample(topped: Topped, times: int, chance: random.Random) -> None:
    """Files that cannot grow: it says so, and goes on when they can, asking for the rest."""
    for number in range(times):
        name = f'run{number}'
        fault = Fault('opencompass', str(topped.root), size=chance.randrange(300, 12_000), deadly=False)
        disturbed = topped.start(name, fault=fault).wait() != 0 or not results_of(topped.root / 'out' / name)
        topped.complete(name)
        topped.check(name, SAMPLES - KEPT, SAMPLES - KEPT + disturbed * BATCH)
        topped.forget(name)
