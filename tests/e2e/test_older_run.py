"""A template with OpenCompass's own data set and model class, from template to result."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hosts import environment, import_plugin, results_of, write_bench

from gpassk_opencompass.cli import main
from gpassk_opencompass.demo import MODEL

import_plugin()
pytestmark = [pytest.mark.e2e]

TEMPLATE = """
from mmengine.config import read_base

with read_base():
    from opencompass.configs.datasets.livemathbench.livemathbench_gen import livemathbench_datasets

from opencompass.models import HuggingFacewithChatTemplate

models = [
    dict(
        type=HuggingFacewithChatTemplate,
        abbr=f'demo-1.0_t{{temperature}}_l24',
        path={model!r},
        model_kwargs=dict(torch_dtype='torch.float32', device_map='cpu'),
        generation_kwargs=dict(do_sample=temperature > 0, temperature=temperature),
        max_out_len=24,
        batch_size=8,
        run_cfg=dict(num_gpus=0),
    ) for temperature in [1.0]
]
questions = livemathbench_datasets[0]
questions.update(dict(
    abbr='bench-k2-n4',
    path={data!r},
    version='test',
    k=2,
    n=4,
    dataset_splits=['AMC'],
    dataset_languages=['en'],
))
questions['infer_cfg']['inferencer'].update(dict(max_out_len=24))
datasets = [questions]
"""


def test_an_older_template_runs_to_its_end(tmp_path, monkeypatch, capsys):
    """Built on OpenCompass's own config: n samples a question, every one judged, and a score."""
    data = write_bench(
        tmp_path / 'data', {'AMC_en': [(f'What is {i} + 7?', str(i + 7)) for i in range(3)]}, 'test'
    )
    text = TEMPLATE.format(model=MODEL, data=str(data))
    (tmp_path / 'old.py').write_text(text, encoding='utf-8')
    monkeypatch.chdir(tmp_path)
    assert main(['expand', 'old.py', '--output-dir', 'configs']) == 0
    capsys.readouterr()
    assert [path.name for path in (tmp_path / 'configs').glob('*.py')] == ['demo-1-0_t1-0_l24@bench-k2-n4.py']
    command = [sys.executable, '-m', 'gpassk_opencompass.cli', 'run', 'configs', '-w', 'outputs']
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert main(['check', 'outputs', '--configs', 'configs']) == 0
    assert '1 complete' in capsys.readouterr().out
    (result,) = [found for place in (tmp_path / 'outputs').glob('*') for found in results_of(place)]
    block = result['gpassk']
    assert (block['n'], block['k']) == (4, [2])
    assert list(map(len, result['details']['verdicts'])) == [4, 4, 4]
    assert {'G-Pass@2_1.0', 'mG-Pass@2', 'accuracy'} <= set(result)
