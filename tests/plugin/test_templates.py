"""The shipped templates: each expands, and OpenCompass takes what comes out."""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from sweeping import NOT_INSTALLED

from gpassk_opencompass.cli.expand import dump_configs as main
from gpassk_opencompass.sweep.expansion import expand

TEMPLATES = Path(__file__).resolve().parents[2] / 'config_templates'
NAMES = sorted(path.stem for path in TEMPLATES.glob('*.py'))


def load_with_mmengine(path: Path) -> dict[str, Any]:
    pytest.importorskip('mmengine', reason=NOT_INSTALLED)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return dict(import_module('mmengine.config').Config.fromfile(path).to_dict())


@pytest.mark.parametrize('name', NAMES)
def test_every_emitted_config_loads_in_mmengine_as_it_was_meant(name, tmp_path):
    assert main(['-tc', str(TEMPLATES / f'{name}.py'), '--output-dir', str(tmp_path)]) == 0
    configs = expand(TEMPLATES / f'{name}.py').configs
    assert {path.name for path in tmp_path.glob('*.py')} == set(configs)
    for file, config in configs.items():
        assert load_with_mmengine(tmp_path / file) == config
        model, dataset = config['models'][0]['abbr'], config['datasets'][0]['abbr']
        assert file == f'{model.replace(".", "-")}@{dataset}.py'
