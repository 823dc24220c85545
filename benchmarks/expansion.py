"""How fast does a template become configs, against mmengine's own `Config.dump`?

    python -m benchmarks.expansion            # 194, 2,037 and 10,101 configs, 100 of each by mmengine
    python -m benchmarks.expansion --quick    # 25 of each, and no 10,101

Ours is the whole command: the template is run and checked, configs and manifest are written. mmengine is
given the same configs, ready in memory, and only writes them. Of the sample, each file of either is loaded
by mmengine and must give the config that was meant. The floor writes the same bytes to as many files.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from gpassk_opencompass.cli.expand import dump_configs
from gpassk_opencompass.sweep.template import expand

from .measuring import Cost, cost, progress, unwarned
from .sections import Section, Size, added, duration, headline, main, megabytes, times

TEMPLATE = """
llm_infos = [dict(path=f'org/model-{{i}}b', tp=8) for i in range({models})]
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
CASES: Mapping[Size, tuple[tuple[int, int], ...]] = {
    'tiny': ((1, 1),),
    'quick': ((2, 1), (7, 1), (21, 1)),
    'full': ((2, 1), (21, 1), (21, 5)),
}
"""(models, seeds): models × (48 settings × seeds × 2 k lists + a greedy run)."""

SAMPLE: Mapping[Size, int] = {'tiny': 2, 'quick': 25, 'full': 100}
"""Configs that mmengine writes and loads."""


class Row(NamedTuple):
    """One number of configs."""

    configs: int
    ours: Cost
    again: Cost
    floor: Cost
    theirs: Cost
    """Of all configs, scaled up from the sample."""


def measure(size: Size) -> Section:
    """Every case of this size."""
    with unwarned():
        from mmengine.config import Config
    rows = []
    for models, seeds in CASES[size]:
        with TemporaryDirectory() as folder:
            text = TEMPLATE.format(models=models, seeds=seeds)
            rows.append(_row(Path(folder), text, Config, SAMPLE[size]))
    return _section(rows, SAMPLE[size])


def _row(folder: Path, text: str, mmengine_config: Any, sample: int) -> Row:
    template, ours, theirs, copy = (folder / name for name in ('template.py', 'ours', 'theirs', 'copy'))
    template.write_text(text, encoding='utf-8')
    theirs.mkdir()
    configs = expand(template).configs
    progress(f'expansion: {len(configs):,} configs')
    first = cost(partial(run_command, template, ours))
    again = cost(partial(run_command, template, ours))
    chosen = [*configs][:: max(1, len(configs) // sample)][:sample]

    def dump() -> None:
        for name in chosen:
            mmengine_config(configs[name]).dump(theirs / name)

    dumped = cost(dump).scaled(len(configs) / len(chosen))
    for place in (ours, theirs):
        _check_loaded(mmengine_config, place, {name: configs[name] for name in chosen})
    return Row(len(configs), first, again, written_again(ours, copy), dumped)


def run_command(template: Path, folder: Path) -> None:
    """Expand a template into a folder."""
    if dump_configs(['-tc', str(template), '--output-dir', str(folder)]):
        raise RuntimeError('the template was refused')


def _check_loaded(mmengine_config: Any, folder: Path, configs: Mapping[str, Any]) -> None:
    for name, config in configs.items():
        if mmengine_config.fromfile(folder / name).to_dict() != config:
            raise RuntimeError(f'{folder.name}/{name} does not load to the config that was meant')


def written_again(written: Path, copy: Path) -> Cost:
    """Return what writing the same bytes to as many files costs, which no program goes below."""
    contents = {path.name: path.read_bytes() for path in written.iterdir() if path.is_file()}
    copy.mkdir()

    def write() -> None:
        for name, content in contents.items():
            (copy / 'part').write_bytes(content)
            (copy / 'part').replace(copy / name)

    return cost(write)


def _section(rows: list[Row], sample: int) -> Section:
    cells = [
        [
            f'{row.configs:,}',
            duration(row.ours.cpu),
            duration(row.ours.cpu / row.configs),
            duration(row.again.cpu),
            duration(row.theirs.cpu / row.configs),
            times(row.theirs.cpu / row.ours.cpu),
            times(row.ours.cpu / row.floor.cpu),
            added(row.ours),
            megabytes(row.theirs),
        ]
        for row in rows
    ]
    last = rows[-1]
    return Section(
        'Expansion',
        "A template becomes configs, beside mmengine's `Config.dump`, which is given the finished "
        'configs and only writes them. "Again": nothing has changed since. Floor: writing the same bytes to '
        'as many files.',
        [
            'configs',
            'ours',
            'a config',
            'again',
            'mmengine, a config',
            'mmengine / ours',
            'ours / floor',
            'memory, ours',
            'mmengine',
        ],
        cells,
        [
            f'mmengine wrote {min(sample, last.configs)} configs of each case. Every file of these, '
            'of either, was loaded by mmengine and gave the config that was meant.'
        ],
        [headline(f'Expansion, {last.configs:,} configs', "mmengine's dump", last.ours, last.theirs)],
    )


if __name__ == '__main__':
    main(measure, __doc__)
