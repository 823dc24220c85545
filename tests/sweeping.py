"""What the tests of the expander share: a small template, and expanding a template given as text."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from gpassk_opencompass.cli.expand import dump_configs as main
from gpassk_opencompass.sweep.expansion import expand_variables

BASE = """
engine = 'huggingface'
llm_infos = [dict(path='org/model-7b', tp=2, batch_size=8)]
temperatures = [0.3]
greedy = False
max_out_lens = [100]
k_lists = [[4, 8, 16]]
replications = 3
"""

NAME = 'model-7b_t0-3_rs42_l100@LiveMathBench-v202412-k4_8_16-r3.py'

NOT_INSTALLED = 'OpenCompass is not installed in this environment'

Configs = dict[str, dict[str, Any]]


def dump(folder: Path, text: str, *options: str) -> int:
    template = folder / 'template.py'
    template.write_text(text, encoding='utf-8')
    where = ['--output-dir', str(folder / 'configs'), '--no-data-check']
    return main(['-tc', str(template), *where, *options])


def expanded(folder: Path, text: str) -> Configs:
    assert dump(folder, text) == 0
    return {path.name: load(path) for path in (folder / 'configs').glob('*.py')}


def configs_of(variables: dict[str, Any]) -> dict[str, Any]:
    return dict(expand_variables(variables).configs)


def load(path: Path) -> dict[str, Any]:
    return {name: value for name, value in runpy.run_path(str(path)).items() if name[0] != '_'}


def dataset_of(configs: Configs) -> dict[str, Any]:
    (config,) = configs.values()
    (dataset,) = config['datasets']
    assert isinstance(dataset, dict)
    return dataset
