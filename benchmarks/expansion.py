"""How fast does a template become configs, against mmengine's own `Config.dump`?

    python -m benchmarks.expansion                  # 2,037 and 10,101 configs, a sample of each by mmengine
    python -m benchmarks.expansion --sample 2037    # all of the first by mmengine: two minutes or more

One process, one disk. Ours is the whole command: the template is run and checked, configs and manifest are
written. mmengine is given the same configs, ready in memory, and only writes them. Of the sample, each file
of either is loaded by mmengine and must give the config that was meant.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from gpassk_opencompass.sweep import main as dump_configs
from gpassk_opencompass.sweep.grid import expand
from gpassk_opencompass.sweep.template import read_template

TEMPLATE = """
llm_infos = [dict(path=f'org/model-{{i}}b', tp=8) for i in range(21)]
temperatures = [0.3, 0.6, 0.8, 1.0]
top_ps = [0.8, 0.95]
top_ks = [0, 50]
repetition_penalties = [1.0, 1.05, 1.1]
max_out_lens = [32768]
random_seeds = range({seeds})
k_lists = [[4, 8, 16], [32]]
eval_urls = ['http://node1:23333', 'http://node2:23333']
eval_model_name = 'Qwen2.5-72B-Instruct'
"""
SEEDS = (1, 5)
"""Of the two cases: 21 models × (48 settings × seeds × 2 k lists + a greedy run)."""

LEAST_RATIO = 20
REPEATS = 3


class Row(NamedTuple):
    """One case, in seconds: of all configs, and of the sample."""

    configs: int
    ours: float
    again: float
    theirs: float
    sample: int
    unequal: int

    @property
    def ratio(self) -> float:
        """A config of mmengine's over one of ours."""
        return (self.theirs / self.sample) / (self.ours / self.configs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--sample', type=int, default=100, help='configs that mmengine dumps and loads')
    sample = parser.parse_args().sample
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        from mmengine.config import Config
    rows = []
    for seeds in SEEDS:
        with TemporaryDirectory() as folder:
            rows.append(measure(Path(folder), TEMPLATE.format(seeds=seeds), Config, sample))
    print('\n'.join(report(rows)))
    if any(row.unequal for row in rows):
        sys.exit('a file does not load to the config that was meant')
    if min(row.ratio for row in rows) < LEAST_RATIO:
        sys.exit(f'less than {LEAST_RATIO} times as fast as mmengine')


def measure(folder: Path, text: str, mmengine_config: Any, sample: int) -> Row:
    template, theirs = folder / 'template.py', folder / 'theirs'
    template.write_text(text)
    theirs.mkdir()
    places = [folder / f'ours{number}' for number in range(REPEATS)]
    first = statistics.median(timed(partial(run_command, template, place)) for place in places)
    again = statistics.median(timed(partial(run_command, template, place)) for place in places)
    configs = expand(read_template(template))
    chosen = [*configs][:: max(1, len(configs) // sample)][:sample]

    def dump() -> None:
        for name in chosen:
            mmengine_config(configs[name]).dump(theirs / name)

    seconds = timed(dump)
    unequal = sum(
        load(mmengine_config, place / name) != configs[name]
        for name in chosen
        for place in (places[0], theirs)
    )
    return Row(len(configs), first, again, seconds, len(chosen), unequal)


def run_command(template: Path, folder: Path) -> None:
    with redirect_stdout(StringIO()):
        if dump_configs(['-tc', str(template), '--output_dir', str(folder)]):
            sys.exit('the template was refused')


def load(mmengine_config: Any, path: Path) -> dict[str, Any]:
    config: dict[str, Any] = mmengine_config.fromfile(path).to_dict()
    return config


def timed(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def report(rows: list[Row]) -> list[str]:
    heads = ['configs', 'ours', 'a config', 'again', 'mmengine, a config', 'ratio', 'loaded, unequal']
    return [
        f'{os.cpu_count()} cores; Python {platform.python_version()}, mmengine {mmengine_version()}; '
        f'ours: median of {REPEATS}; "again": nothing changed since',
        '',
        '| ' + ' | '.join(heads) + ' |',
        '| --- ' * len(heads) + '|',
        *('| ' + ' | '.join(cells(row)) + ' |' for row in rows),
    ]


def mmengine_version() -> str:
    from mmengine import __version__

    return str(__version__)


def cells(row: Row) -> list[str]:
    return [
        f'{row.configs:,}',
        f'{row.ours:.2f} s',
        f'{1e3 * row.ours / row.configs:.2f} ms',
        f'{row.again:.2f} s',
        f'{1e3 * row.theirs / row.sample:.1f} ms (of {row.sample:,})',
        f'{row.ratio:.0f}×',
        f'{2 * row.sample:,}, {row.unequal}',
    ]


if __name__ == '__main__':
    main()
