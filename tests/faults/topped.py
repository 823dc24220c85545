"""A run that takes samples from a store and adds to it, to be disturbed and looked at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dying import Fault
from forks import Copy, Forks
from hosts import dataset_config, results_of, write_bench, write_config
from kept_model import TRACE, asked

from gpassk_opencompass.demo import MODEL

QUESTIONS, FIRST, LATER, BATCH = 6, 2, 6, 4
SAMPLES, KEPT = QUESTIONS * LATER, QUESTIONS * FIRST


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

    def start(
        self,
        name: str,
        n: int = LATER,
        *options: str,
        fault: Fault | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Copy:
        """Type the command in a folder of its own."""
        folder = self.root / name
        folder.mkdir(exist_ok=True)
        model = {'type': 'kept_model.SeededModel', 'abbr': 'kept', 'path': MODEL, 'random_seed': 42}
        model |= {'max_out_len': 64, 'batch_size': BATCH, 'run_cfg': {'num_gpus': 0}}
        config = write_config(
            folder / f'{name}.py', model, dataset_config(self.root / 'data', k=2, n=n, abbr=f'bench{n}')
        )
        line = ('opencompass', config, '-w', self.root / 'out' / name, *options)
        told = {TRACE: str(self._trace(name)), 'GPASSK_SAMPLES': '', 'GPASSK_REUSE': '', **(variables or {})}
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

    def asked(self, name: str) -> int:
        """How many samples a run has asked for."""
        return asked(self._trace(name)).total()

    def forget(self, name: str) -> None:
        """Take out of the store what a run has put there."""
        for file in self.files:
            if file.name not in self.kept:
                file.unlink()

    def _trace(self, name: str) -> Path:
        return self.root / f'{name}.trace'
