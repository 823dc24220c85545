"""The shipped templates: each expands, and OpenCompass takes what comes out."""

from __future__ import annotations

import inspect
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hosts import import_plugin
from sweeping import NOT_INSTALLED

from gpassk_opencompass.cli.expand import dump_configs as main
from gpassk_opencompass.sweep.expansion import expand

TEMPLATES = Path(__file__).resolve().parents[2] / 'config_templates'
NAMES = sorted(path.stem for path in TEMPLATES.glob('*.py'))


def load_with_mmengine(path: Path) -> dict[str, Any]:
    """The config as OpenCompass reads it."""
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


def test_close_asks_openaisdk_only_for_what_it_takes():
    """Regression for the published template, whose `max_completion_tokens` the class does not know."""
    from opencompass.models import OpenAISDK

    classes = import_plugin().SeededOpenAISDK, OpenAISDK
    accepted = {name for cls in classes for name in inspect.signature(cls).parameters}
    for config in expand(TEMPLATES / 'close.py').configs.values():
        (model,) = config['models']
        # OpenCompass takes these out before it builds the model.
        assert set(model) - {'type', 'abbr', 'max_out_len', 'batch_size', 'run_cfg'} <= accepted
        assert ('key' in model) is (model['path'].startswith('gpt'))
        assert model.get('key', 'ENV') == 'ENV'
        assert model.get('key_env', 'SOME_API_KEY').endswith('_API_KEY')


OLDER = """
from mmengine.config import read_base
from opencompass.models import TurboMindModelwithChatTemplate

with read_base():
    from opencompass.configs.datasets.livemathbench.livemathbench_gen import livemathbench_datasets

gen_config = dict(do_sample=True, temperature=0.5)
models = [dict(type=TurboMindModelwithChatTemplate, abbr='a_t0.5', path='org/a', gen_config=gen_config)]
livemathbench_dataset = livemathbench_datasets[0]
livemathbench_dataset.update(dict(k=[4, 8], n=16, abbr='LiveMathBench-k4_8-n16'))
datasets = [livemathbench_dataset]
"""


def test_a_template_on_opencompass_configs_expands(tmp_path):
    """With `read_base`: classes become dotted names that mmengine loads."""
    pytest.importorskip('mmengine', reason=NOT_INSTALLED)
    template, folder = tmp_path / 'older.py', tmp_path / 'configs'
    template.write_text(OLDER)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        assert main(['-tc', str(template), '--output-dir', str(folder)]) == 0
    assert [path.name for path in folder.glob('*.py')] == ['a_t0-5@LiveMathBench-k4_8-n16.py']
    config = load_with_mmengine(folder / 'a_t0-5@LiveMathBench-k4_8-n16.py')
    assert set(config) == {'models', 'datasets', 'summarizer'}
    assert config['models'][0]['type'] == 'gpassk_opencompass.SeededTurboMind'
    assert config['datasets'][0]['type'] == 'gpassk_opencompass.LiveMathBenchDataset'
    assert config['datasets'][0]['k'] == [4, 8]
