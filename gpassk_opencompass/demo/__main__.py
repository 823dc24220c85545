"""Run OpenCompass on every config of a folder and print one G-Pass@k table: `make demo`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from ..cli import main as gpassk
from ..report.table import Run, results_table
from ..results.read import read
from ..runs import examine, planned_runs


def main(arguments: list[str] | None = None) -> int:
    """`gpassk run` on all configs, then their table; 0 when every one left a result."""
    parser = argparse.ArgumentParser(prog='python -m gpassk_opencompass.demo', description=__doc__)
    parser.add_argument('configs', type=Path, help='a folder of configs, as dump_configs.py writes it')
    parser.add_argument('--work_dir', type=Path, default=Path('outputs/demo'))
    options = parser.parse_args(arguments)
    started = time.monotonic()
    # Matrices of this size gain nothing from threads, which wait for one another on a busy machine.
    os.environ.setdefault('OMP_NUM_THREADS', '1')
    code = gpassk(['run', str(options.configs), '-w', str(options.work_dir)])
    if code != 0:
        return code
    runs = sorted(_results(options.configs, options.work_dir), key=lambda run: run.record['gpassk']['n'])
    path = options.work_dir / 'table.csv'
    path.write_text(results_table(runs, every_metric=True).to_csv(), encoding='utf-8')
    print(f'\n{results_table(runs).without("dataset").to_markdown()}\n')
    print(f'{time.monotonic() - started:.0f} s. Every metric: {path}; the runs: {options.work_dir}/<config>/')
    return 0


def _results(configs: Path, work_dir: Path) -> Iterator[Run]:
    for planned in planned_runs([configs]).runs:
        for path in examine(planned, work_dir / planned.name).results:
            yield Run(path.parent.name, path.stem, read(path).record)


if __name__ == '__main__':
    sys.exit(main())
