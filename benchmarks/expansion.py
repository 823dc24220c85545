"""How fast does a template become configs, against mmengine's own `Config.dump`?

    python -m benchmarks.expansion

Ours is the whole command: the template is run and checked, configs and manifest are written. mmengine is
given the same configs, ready in memory, and only writes them. Of the sample, each file of either is loaded
by mmengine and must give the config that was meant.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gpassk_opencompass.cli.expand import dump_configs
from gpassk_opencompass.sweep.expansion import expand

from .measuring import cost, progress, unwarned
from .tables import Row, Section, Size, duration, main, megabytes, overview, times

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
CASES = {'tiny': ((1, 1),), 'quick': ((2, 1), (21, 1)), 'full': ((2, 1), (21, 1), (21, 5))}
"""(models, seeds): models × (48 settings × seeds × 2 k lists + a greedy run)."""

SAMPLE = {'tiny': 2, 'quick': 25, 'full': 100}
"""Configs that mmengine writes and loads."""


def measure(size: Size) -> Section:
    """Every case of this size."""
    with unwarned():
        from mmengine.config import Config
    rows: list[Row] = []
    for models, seeds in CASES[size]:
        with TemporaryDirectory() as name:
            template, ours, theirs = (Path(name, part) for part in ('template.py', 'ours', 'theirs'))
            template.write_text(TEMPLATE.format(models=models, seeds=seeds), encoding='utf-8')
            theirs.mkdir()
            configs = expand(template).configs
            progress(f'expansion: {len(configs):,} configs')
            first, again = (cost(partial(run_command, template, ours)) for _ in range(2))
            chosen = [*configs][:: max(1, len(configs) // SAMPLE[size])][: SAMPLE[size]]

            def dump(chosen: list[str] = chosen, configs: Any = configs, folder: Path = theirs) -> None:
                for name in chosen:
                    Config(configs[name]).dump(folder / name)

            dumped = cost(dump).scaled(len(configs) / len(chosen))
            for file in (folder / name for folder in (ours, theirs) for name in chosen):
                if Config.fromfile(file).to_dict() != configs[file.name]:
                    raise RuntimeError(f'{file} does not load to the config that was meant')
        row = {'configs': f'{len(configs):,}', 'ours': duration(first.cpu)}
        row |= {'a config': duration(first.cpu / len(configs)), 'again': duration(again.cpu)}
        row |= {'mmengine, a config': duration(dumped.cpu / len(configs))}
        rows.append(
            row | {'mmengine / ours': times(dumped.cpu / first.cpu), 'memory, ours': megabytes(first)}
        )
    return Section(
        'Expansion',
        "A template becomes configs, beside mmengine's `Config.dump`, which is given the finished "
        'configs and only '
        'writes them. "Again": nothing has changed since.',
        rows,
        f'mmengine wrote {len(chosen)} configs of each case. Every file of these, of either, was loaded '
        'by mmengine '
        'and gave the config that was meant.',
        [overview(f'Expansion, {len(configs):,} configs', "mmengine's dump", first, dumped)],
    )


def run_command(template: Path, folder: Path) -> None:
    """Expand a template into a folder."""
    if dump_configs(['-tc', str(template), '--output-dir', str(folder)]):
        raise RuntimeError('the template was refused')


if __name__ == '__main__':
    main(measure, __doc__)
